//! By what right a record stands, read anew from the texts of the zones and from what is kept beside them.

use std::collections::BTreeSet;

use zonewright_core::{RecordKey, RecordSet, RecordType, intent};

use super::{Content, Right, Truth};
use crate::names::{Saying, is_record, saying};

impl Truth {
    /// The text at a place that may speak for `key`. What another zone holds speaks for no record here while it has such a record
    /// itself.
    fn text_at(&self, zone: usize, place: &RecordKey, typed: bool, key: &RecordKey) -> Option<&RecordSet> {
        if let Some(set) = self.zones[zone].sets.get(place) {
            return Some(set);
        }
        if place.name.is_within(&self.zones[zone].zone.name) {
            return None;
        }
        let near = |other: &&Content| other.zone.key.instance == self.zones[zone].zone.key.instance;
        let mut others: Vec<&Content> =
            self.zones.iter().filter(near).filter(|other| place.name.is_within(&other.zone.name)).collect();
        others.sort_by_key(|other| std::cmp::Reverse(other.zone.name.label_count()));
        let holder = others.into_iter().find(|other| other.sets.contains_key(place))?;
        let is_meant = |other: &RecordKey| {
            let of_old = !typed && !matches!(other.rtype, RecordType::Aaaa | RecordType::Ns) && is_record(other);
            other.name == key.name && other.set_id == key.set_id && (other.rtype == key.rtype || of_old)
        };
        if holder.sets.keys().any(is_meant) { None } else { holder.sets.get(place) }
    }

    /// Who may change `key`, by what stands now.
    pub(crate) fn right(&mut self, zone: usize, key: &RecordKey) -> Right {
        let mut rows = self.right_by_objects(zone, key);
        if self.objects.as_ref().is_some_and(|objects| !objects.are_rows()) || rows == Some(Right::Several) {
            return rows.unwrap_or(Right::Nobody);
        }
        let places = self.places(zone, key);
        let announced = |set: &RecordSet| format!("{}/{}/{}", intent::digest(set), key.rtype, key.name);
        let standing = self.zones[zone].sets.get(key).map(announced);
        for wanted in [true, false] {
            // Rows count as claims whose place tells the type.
            let mut found: Vec<Right> = rows.take().into_iter().filter(|right| *right != Right::Nobody).collect();
            for (place, typed) in places.iter().filter(|(_, typed)| *typed == wanted) {
                let Some(set) = self.text_at(zone, place, *typed, key) else { continue };
                for data in set.data.as_records() {
                    match saying(data) {
                        Saying::Claim { owner, resource, policy } => found.push(Right::One { owner, resource, policy }),
                        Saying::Intent { owner, resource, policy, records }
                            if standing.as_ref().is_some_and(|r| records.contains(r)) =>
                        {
                            found.push(Right::One { owner, resource, policy });
                        }
                        _ => {}
                    }
                }
            }
            let owners: BTreeSet<&String> = found
                .iter()
                .filter_map(|right| match right {
                    Right::One { owner, .. } => Some(owner),
                    _ => None,
                })
                .collect();
            match (owners.len(), found.first()) {
                (0, _) => {}
                (1, Some(first)) => return first.clone(),
                _ => return Right::Several,
            }
        }
        Right::Nobody
    }

    /// Whether `key` is the daemon's by what stands now.
    pub(crate) fn is_of(&mut self, daemon: usize, zone: usize, key: &RecordKey) -> bool {
        match self.parties[daemon].owner.clone() {
            None => is_record(key),
            Some(ours) => matches!(self.right(zone, key), Right::One { owner, .. } if owner == ours),
        }
    }

    /// Whether `key` is any daemon's.
    pub(crate) fn is_managed(&mut self, zone: usize, key: &RecordKey) -> bool {
        (0..self.parties.len()).any(|daemon| self.is_of(daemon, zone, key))
    }
}
