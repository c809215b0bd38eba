//! Objects of which not everything is known that they ask for, and since when.
//!
//! In: what is not known of each object. Out: whether something is not known under a label. What must hold: doubt that passes counts
//! for the grace from its first moment, whatever its reason becomes.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use thin_vec::ThinVec;

use super::claimant::Claimant;
use crate::clock::Timestamp;
use crate::endpoint::Unknown;

/// What is not known of one object.
#[derive(Debug)]
struct Doubt {
    all: ThinVec<Unknown>,
    /// Since when there is some that passes.
    since: Option<Timestamp>,
}

impl Doubt {
    fn counts(&self, unknown: &Unknown, grace: Duration, now: Timestamp) -> bool {
        !unknown.passing || self.since.is_none_or(|since| since.plus(grace) > now)
    }
}

/// What is not known of any object.
#[derive(Debug, Default)]
pub(super) struct Unknowns(BTreeMap<Arc<Claimant>, Doubt>);

impl Unknowns {
    /// This is not known of an object, and nothing else. Returns whether something else was not known before.
    pub(super) fn put(&mut self, claimant: &Arc<Claimant>, all: &ThinVec<Unknown>, now: Timestamp) -> bool {
        let before = self.0.remove(claimant);
        let begun = before.as_ref().and_then(|before| before.since);
        if !all.is_empty() {
            let since = all.iter().any(|unknown| unknown.passing).then(|| begun.unwrap_or(now));
            self.0.insert(claimant.clone(), Doubt { all: all.clone(), since });
        }
        before.is_some_and(|before| before.all != *all)
    }

    /// An object is gone. Returns whether something was not known of it.
    pub(super) fn remove(&mut self, claimant: &Arc<Claimant>) -> bool {
        self.0.remove(claimant).is_some()
    }

    /// What is not known under a label.
    pub(super) fn find(&self, resource: Option<&Arc<str>>, grace: Duration, now: Timestamp) -> Option<&Unknown> {
        self.counting(grace, now).find(|unknown| unknown.resource.as_ref() == resource)
    }

    /// Whether anything is not known.
    pub(super) fn any(&self, grace: Duration, now: Timestamp) -> bool {
        self.counting(grace, now).next().is_some()
    }

    fn counting(&self, grace: Duration, now: Timestamp) -> impl Iterator<Item = &Unknown> {
        self.0.values().flat_map(move |doubt| doubt.all.iter().filter(move |one| doubt.counts(one, grace, now)))
    }

    /// The objects, each with the reason.
    pub(super) fn iter(&self) -> impl Iterator<Item = (String, &str)> {
        self.0.iter().filter_map(|(who, doubt)| Some((who.to_string(), &*doubt.all.first()?.reason)))
    }

    /// The next moment after `now` at which a grace ends.
    pub(super) fn next_end(&self, grace: Duration, now: Timestamp) -> Option<Timestamp> {
        let ends = self.0.values().filter_map(|doubt| Some(doubt.since?.plus(grace)));
        ends.filter(|end| *end > now).min()
    }

    /// Number of objects.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}
