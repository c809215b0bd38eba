//! Claims that change hands while their record stays: what an entry says of them, and how that is read off a group.
//!
//! In: a group that changes claims and no record, and what was published before it. Out: for each record that it is about,
//! who claimed it before and who will. What must hold: the group alone decides, by the registry's own reading of the zone as
//! it will be, so that whatever a registry writes (texts, rows, entries) reads the same.

use std::fmt;

use serde::{Deserialize, Serialize};
use zonewright_core::change::{Group, Precondition, StoreEffect, StoreStep};
use zonewright_core::claim::{OwnerId, Ownership, judge};
use zonewright_core::name::DnsName;
use zonewright_core::record::{RecordKey, RecordSet};
use zonewright_core::registry::{ClaimAnomaly, ClaimFormat, Published};
use zonewright_core::zone::{Zone, ZoneKey};

use super::terms::ClaimTerms;

/// A record whose claim changes hands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Handover {
    /// The record whose claim changes hands.
    pub key: RecordKey,
    /// How it stands; `None` where the claim speaks for a record that is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record: Option<RecordSet>,
    /// What the claim said before; nothing where nobody claimed it.
    #[serde(default, skip_serializing_if = "ClaimTerms::is_empty")]
    pub had: ClaimTerms,
    /// What it shall say.
    #[serde(default, skip_serializing_if = "ClaimTerms::is_empty")]
    pub has: ClaimTerms,
}

impl fmt::Display for Handover {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&line(&self.key, &self.had, &self.has))
    }
}

/// A claim that changes hands, as people read it.
pub(crate) fn line(key: &RecordKey, had: &ClaimTerms, has: &ClaimTerms) -> String {
    let who = |terms: &ClaimTerms| terms.owner.as_ref().map_or_else(|| "nobody".to_owned(), ToString::to_string);
    format!("claim of {key}: owner {} -> {}", who(had), who(has))
}

impl Handover {
    /// The records whose claims change hands by a group, which stand as `published` shows them. A group that changes records
    /// shows its claims by itself.
    pub fn of(registry: &dyn ClaimFormat, zone: &Zone, group: &Group, published: &dyn Published) -> Vec<Self> {
        if registry.owner().is_none() || group.records().next().is_some() {
            return Vec::new();
        }
        if !group.stored.is_empty() {
            return group.stored.iter().map(Self::stored).filter(Self::counts).collect();
        }
        let after = After { group, zone: &zone.key, published };
        let handover = |(key, record): (RecordKey, Option<RecordSet>)| {
            let terms = |published: &dyn Published| {
                ClaimTerms::of(&judge(&registry.claims(zone, &key, published), registry.owner()), registry.owner())
            };
            let (had, has) = (terms(published), terms(&after));
            Self { key, record, had, has }
        };
        about(registry, zone, group, published).into_iter().map(handover).filter(Self::counts).collect()
    }

    /// What a step says of a claim that is kept outside the zones.
    fn stored(step: &StoreStep) -> Self {
        let had = step.held.as_deref().map(ClaimTerms::from).unwrap_or_default();
        let has = match &step.effect {
            StoreEffect::Assign { owner: owner @ Some(_), resource, labels, .. } => {
                ClaimTerms { owner: owner.clone(), resource: resource.clone(), labels: labels.clone() }
            }
            StoreEffect::Assign { owner: None, .. } | StoreEffect::End(_) => ClaimTerms::default(),
        };
        Self { key: step.key().clone(), record: step.record().cloned(), had, has }
    }

    fn counts(&self) -> bool {
        self.had.owner != self.has.owner
    }

    /// Whether what it should be is so: `owner` is whose the record is now. `None` where neither that nor what was before
    /// is so.
    pub(crate) fn is_done(&self, owner: Option<&OwnerId>) -> Option<bool> {
        match owner {
            owner if owner == self.has.owner.as_ref() => Some(true),
            owner if owner == self.had.owner.as_ref() => Some(false),
            _ => None,
        }
    }
}

/// Whose a record is, if that is one owner.
pub fn owner_of(ownership: &Ownership, me: Option<&OwnerId>) -> Option<OwnerId> {
    match ownership {
        Ownership::Ours(_) => me.cloned(),
        Ownership::Foreign(owner) => Some(owner.clone()),
        Ownership::Unclaimed | Ownership::Disputed(_) => None,
    }
}

impl ClaimTerms {
    fn of(ownership: &Ownership, me: Option<&OwnerId>) -> Self {
        let claim = ownership.claim().map(Self::from).unwrap_or_default();
        Self { owner: owner_of(ownership, me), ..claim }
    }
}

/// The records that a group of claim changes is about: the one that it requires, else those that an orphaned claim which it
/// takes away may speak for.
fn about(
    registry: &dyn ClaimFormat,
    zone: &Zone,
    group: &Group,
    published: &dyn Published,
) -> Vec<(RecordKey, Option<RecordSet>)> {
    let required = |condition: &Precondition| match condition {
        Precondition::Exact(set) if set.key.name == group.name && !registry.is_claim(set) => Some(set.clone()),
        _ => None,
    };
    if let Some(record) = group.requires.iter().find_map(required) {
        return vec![(record.key.clone(), Some(record))];
    }
    let orphaned = |set: &RecordSet| match registry.anomaly(zone, set, published) {
        Some(ClaimAnomaly::Orphan(keys)) => keys,
        Some(ClaimAnomaly::Closed(_)) | None => Vec::new(),
    };
    let keys = group.changes().filter_map(|change| change.from()).flat_map(orphaned);
    keys.map(|key| (key, None)).collect()
}

/// What is published once a group is carried out.
struct After<'a> {
    group: &'a Group,
    zone: &'a ZoneKey,
    published: &'a dyn Published,
}

impl Published for After<'_> {
    fn find(&self, near: &ZoneKey, key: &RecordKey) -> Option<(ZoneKey, RecordSet)> {
        match self.group.changes().find(|change| change.key() == key) {
            Some(change) => match change.to() {
                Some(set) => Some((self.zone.clone(), set.clone())),
                None => self.published.find(near, key).filter(|(zone, _)| zone != self.zone),
            },
            None => self.published.find(near, key),
        }
    }

    fn zones_at(&self, name: &DnsName) -> Vec<(Zone, bool)> {
        self.published.zones_at(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zonewright_core::testing::set;

    fn terms(owner: &str) -> ClaimTerms {
        ClaimTerms { owner: OwnerId::new(owner), ..ClaimTerms::default() }
    }

    #[test]
    fn a_handover_as_people_read_it_and_when_it_is_done() {
        let record = set("a.example A 192.0.2.1");
        let check = |had: &str, has: &str, text: &str| {
            let handover =
                Handover { key: record.key.clone(), record: Some(record.clone()), had: terms(had), has: terms(has) };
            assert_eq!(handover.to_string(), text);
            let line = serde_json::to_string(&handover).unwrap();
            assert_eq!(serde_json::from_str::<Handover>(&line).unwrap(), handover);
            let done = |owner: &str| handover.is_done(OwnerId::new(owner).as_ref());
            assert_eq!([done(has), done(had), done("z")], [Some(true), Some(false), None], "{text}");
        };
        check("x", "y", "claim of a.example A: owner x -> y");
        check("", "y", "claim of a.example A: owner nobody -> y");
        check("x", "", "claim of a.example A: owner x -> nobody");
    }

    #[test]
    fn a_claim_outside_the_zones_says_whose_it_was_and_will_be() {
        let record = set("a.example A 192.0.2.1");
        let held = terms("x").claim();
        let given = StoreStep::assign(record.clone(), OwnerId::new("y"), Some("r".into()), vec![]);
        let left = StoreStep::assign(record.clone(), None, Some("r".into()), vec![]);
        let check = |step: StoreStep, had: &str, stands: bool, has: &str, resource: Option<&str>| {
            let handover = Handover::stored(&step);
            assert_eq!((&handover.had.owner, &handover.has.owner), (&OwnerId::new(had), &OwnerId::new(has)), "{step}");
            assert_eq!((handover.record.is_some(), handover.has.resource.as_deref()), (stands, resource), "{step}");
            assert_eq!(handover.key, record.key, "{step}");
        };
        check(given.clone(), "", true, "y", Some("r"));
        check(StoreStep { held: held.clone(), ..given }, "x", true, "y", Some("r"));
        check(StoreStep { held: held.clone(), ..left }, "x", true, "", None);
        check(StoreStep { held, ..StoreStep::end(record.key.clone()) }, "x", false, "", None);
    }
}
