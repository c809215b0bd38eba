//! By what right a record stands, by what all objects say of it.

use std::collections::BTreeSet;

use zonewright_core::{RecordKey, RecordSet, intent};

use super::{Object, Objects, Place, Right, Word};

impl Objects {
    /// Whether an owner's own object gives a record to somebody who has no object here: only a human says so.
    fn marks(&self, owner: &String, place: &Place) -> bool {
        let heard = |other: &String| self.all.values().any(|object| object.holder() == Some(other));
        let own = self.all.values().filter(|object| object.holder() == Some(owner));
        let mut words = own.filter_map(|object| object.words.get(place));
        words.any(|word| word.owner != *owner && !word.given && !heard(&word.owner))
    }

    /// Whether nobody's objects but an owner's speak of a record.
    pub(in crate::truth) fn speaks_alone(&self, owner: Option<&String>, place: &Place) -> bool {
        let mut speaking = self.all.values().filter(|object| object.words.contains_key(place));
        speaking.all(|object| object.holder() == owner)
    }

    /// By what right a record stands that is as `standing`.
    pub(super) fn right(&self, zone: &str, key: &RecordKey, standing: Option<&RecordSet>) -> Right {
        let place = (zone.to_owned(), key.clone());
        let digest = standing.map(intent::digest);
        // What an object notes of others' records keeps its own daemon away, whoever hands them to it, and gives nobody a right.
        let counts = |object: &Object, word: &Word| {
            object.holder() == Some(&word.owner) || word.given && !self.marks(&word.owner, &place)
        };
        let words: Vec<&Word> = self
            .all
            .values()
            .filter_map(|object| object.words.get(&place).filter(|word| counts(object, word)))
            .collect();
        // What is confirmed counts before what is only announced.
        let firm = words.iter().any(|word| word.is_firm());
        let words = words.into_iter().filter(|word| !firm || word.is_firm() || word.given);
        let found: Vec<Right> = words.filter_map(|word| word.says(digest.as_deref())).collect();
        let owner = |right: &Right| match right {
            Right::One { owner, .. } => Some(owner.clone()),
            _ => None,
        };
        let owners: BTreeSet<String> = found.iter().filter_map(owner).collect();
        match (owners.len(), found.into_iter().next()) {
            (1, Some(first)) => first,
            (0, _) => Right::Nobody,
            _ => Right::Several,
        }
    }
}
