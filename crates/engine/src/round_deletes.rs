//! The deletes of a round, gathered piece by piece, until the brake judges all of them together.
//!
//! In: plans. Out: groups that go on at once, and what the brake has to know of the others.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use zonewright_core::change::{Change, Group, Step};
use zonewright_core::guard::{AcceptedKinds, Digest};
use zonewright_core::name::DnsName;
use zonewright_core::plan::{PlannedGroup, Skip, Why};
use zonewright_core::record::RecordKey;
use zonewright_core::source::Evidence;

/// A delete that the brake counts.
#[derive(Debug, Clone)]
pub(crate) struct Deletion {
    /// What it takes away.
    pub(crate) digest: Digest,
    /// The namespace of the object that asked for it, where the claim names one.
    pub(crate) namespace: Option<Arc<str>>,
}

impl Deletion {
    fn of(step: &Step) -> Option<(RecordKey, Self)> {
        let from = step.change.from()?;
        let deletion = Self { digest: Digest::of(from, step.held.as_deref()), namespace: namespace(step) };
        Some((from.key.clone(), deletion))
    }
}

/// The namespace in the label that a step's claim carries: `shop` of `service/shop/web`.
pub(crate) fn namespace(step: &Step) -> Option<Arc<str>> {
    step.resource.as_ref()?.split('/').nth(1).filter(|namespace| !namespace.is_empty()).map(Arc::from)
}

/// The deletes that may go, each with what it takes away: another content under the same key is not meant.
pub(crate) type Passing = BTreeMap<RecordKey, Digest>;

/// The groups of counted deletes that may pass.
pub(crate) fn passing(groups: impl IntoIterator<Item = PlannedGroup>, passed: &Passing) -> impl Iterator<Item = Group> {
    let may_go = |planned: &PlannedGroup| {
        let deletions: BTreeMap<RecordKey, Deletion> = planned.group.records().filter_map(Deletion::of).collect();
        let meant = |key| deletions.get(key).is_some_and(|deletion| passed.get(key) == Some(&deletion.digest));
        !planned.counted.is_empty() && planned.counted.iter().all(meant)
    };
    groups.into_iter().filter(may_go).map(|planned| planned.group)
}

/// What the brake has to know of a whole round.
#[derive(Debug, Default)]
pub(crate) struct RoundDeletes {
    /// The deletes that the brake counts.
    pub(crate) counted: BTreeMap<RecordKey, Deletion>,
    /// Records of groups that only delete, and that it does not count; one of each.
    pub(crate) free: BTreeSet<RecordKey>,
    /// Deletes that wait for evidence, or for the end of a contest.
    pub(crate) withheld: BTreeSet<RecordKey>,
    /// Records that are asked for, where a held plan may depend on it.
    pub(crate) asked: BTreeSet<RecordKey>,
    /// What the first of them waits for.
    pub(crate) doubt: Option<String>,
    /// The kinds whose views only look doubtful, and for which some of them wait.
    pub(crate) kinds: AcceptedKinds,
}

impl RoundDeletes {
    /// Takes in the groups of a piece. Returns those that go on at once, and those of counted deletes.
    pub(crate) fn take(&mut self, groups: Vec<PlannedGroup>) -> (Vec<Group>, Vec<PlannedGroup>) {
        let (counted, go): (Vec<PlannedGroup>, Vec<PlannedGroup>) =
            groups.into_iter().partition(|planned| !planned.counted.is_empty());
        for planned in &counted {
            let deletions = planned.group.records().filter_map(Deletion::of);
            self.counted.extend(deletions.filter(|(key, _)| planned.counted.contains(key)));
        }
        let only_deletes = |g: &&PlannedGroup| g.group.records().all(|s| matches!(s.change, Change::Delete { .. }));
        let first = |g: &PlannedGroup| g.group.changes().next().map(|change| change.key().clone());
        self.free.extend(go.iter().filter(only_deletes).filter_map(first));
        (go.into_iter().map(|planned| planned.group).collect(), counted)
    }

    /// Takes in deletes that wait by themselves.
    pub(crate) fn withhold<'s>(&mut self, skips: impl Iterator<Item = &'s Skip>, evidence: &Evidence) {
        for skip in skips {
            self.withheld.insert(skip.key.clone());
            self.doubt.get_or_insert_with(|| skip.why.to_string());
            let Why::Doubt(kinds) = &skip.why else { continue };
            let doubted = |kind| Some((Arc::clone(kind), evidence.kinds.get(kind)?.doubted?));
            self.kinds.extend(kinds.iter().filter_map(doubted));
        }
    }

    /// The names of the counted deletes.
    pub(crate) fn names(&self) -> impl Iterator<Item = DnsName> {
        self.counted.keys().map(|key| key.name.clone())
    }
}
