//! Names that wait for their targets, and since when.
//!
//! In: objects that ask for a name whose targets are not known. Out: the moment at which the next grace ends, without a look at
//! those that wait.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Bound::{Excluded, Unbounded};
use std::sync::Arc;
use std::time::Duration;

use super::claimant::Claimant;
use crate::clock::Timestamp;
use crate::name::DnsName;

/// Who waits for what, and since when.
#[derive(Debug, Default)]
pub(super) struct Waits {
    since: HashMap<(Arc<Claimant>, DnsName), Timestamp>,
    /// How many began at each moment.
    moments: BTreeMap<Timestamp, usize>,
}

impl Waits {
    /// A name waits from `now` on, unless it does already.
    pub(super) fn begin(&mut self, claimant: &Arc<Claimant>, name: &DnsName, now: Timestamp) {
        self.since.entry((claimant.clone(), name.clone())).or_insert_with(|| {
            *self.moments.entry(now).or_default() += 1;
            now
        });
    }

    /// A name does not wait any more.
    pub(super) fn end(&mut self, claimant: &Arc<Claimant>, name: &DnsName) {
        if self.since.is_empty() {
            return;
        }
        let Some(since) = self.since.remove(&(claimant.clone(), name.clone())) else { return };
        if let Some(count) = self.moments.get_mut(&since) {
            *count -= 1;
            if *count == 0 {
                self.moments.remove(&since);
            }
        }
    }

    /// Since when a name waits.
    pub(super) fn since(&self, claimant: &Arc<Claimant>, name: &DnsName) -> Option<Timestamp> {
        if self.since.is_empty() {
            return None;
        }
        self.since.get(&(claimant.clone(), name.clone())).copied()
    }

    /// The next moment after `now` at which a grace ends.
    pub(super) fn next_end(&self, grace: Duration, now: Timestamp) -> Option<Timestamp> {
        let (since, _) = self.moments.range((Excluded(now.minus(grace)), Unbounded)).next()?;
        Some(since.plus(grace))
    }

    /// The names whose grace ended at or before `now`.
    pub(super) fn past(&self, grace: Duration, now: Timestamp) -> BTreeSet<DnsName> {
        self.since.iter().filter(|(_, since)| since.plus(grace) <= now).map(|((_, name), _)| name.clone()).collect()
    }

    /// Number of names that wait.
    pub(super) fn len(&self) -> usize {
        self.since.len()
    }
}
