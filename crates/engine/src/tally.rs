//! How many record sets a worker changed, and which it leaves alone.

use std::collections::{BTreeMap, BTreeSet};

use zonewright_core::change::Group;
use zonewright_core::name::DnsName;
use zonewright_core::record::RecordKey;
use zonewright_core::rtype::RecordType;

use crate::changes::Changes;

/// Numbers for people and for the outcome of a pass.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// What was sent since the start.
    sent: Changes,
    /// What was sent in this turn.
    turn: Changes,
    /// By name what a dry run would have sent: since nothing is done, the same is planned again and again.
    would_send: BTreeMap<DnsName, Changes>,
    /// All of that together.
    total_would_send: Changes,
    /// Record sets that stay as they are, which is reported to their objects.
    left_alone: BTreeSet<RecordKey>,
}

impl Tally {
    /// A turn begins in which these names are planned.
    pub(crate) fn begin_turn(&mut self, names: &BTreeMap<DnsName, tokio::time::Instant>) {
        self.turn = Changes::default();
        for name in names.keys() {
            if let Some(changes) = self.would_send.remove(name) {
                self.total_would_send -= changes;
            }
        }
    }

    /// Counts what was sent; in a dry run, what would have been.
    pub(crate) fn count(&mut self, group: &Group, dry_run: bool) {
        let changes = Changes::of(group);
        self.turn += changes;
        if dry_run {
            *self.would_send.entry(group.name.clone()).or_default() += changes;
            self.total_would_send += changes;
        } else {
            self.sent += changes;
        }
    }

    /// These names are planned anew: what is left alone there is not known any more.
    pub(crate) fn replan(&mut self, names: &[DnsName]) {
        if !self.left_alone.is_empty() {
            let planned: BTreeSet<&DnsName> = names.iter().collect();
            self.left_alone.retain(|key| !planned.contains(&key.name));
        }
    }

    /// A record set stays as it is.
    pub(crate) fn leave_alone(&mut self, key: RecordKey) {
        self.left_alone.insert(key);
    }

    /// Whether something that is asked for at a name is left undone.
    pub(crate) fn leaves_alone(&self, name: &DnsName) -> bool {
        let first = RecordKey::simple(name.clone(), RecordType::A);
        self.left_alone.range(first..).next().is_some_and(|key| key.name == *name)
    }

    /// Number of record sets that stay as they are.
    pub(crate) fn left_alone(&self) -> usize {
        self.left_alone.len()
    }

    /// What was sent in this turn.
    pub(crate) fn of_turn(&self) -> Changes {
        self.turn
    }

    /// Everything that was sent, or would have been.
    pub(crate) fn total(&self) -> Changes {
        let mut total = self.sent;
        total += self.total_would_send;
        total
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zonewright_core::change::{Change, Step};
    use zonewright_core::testing::{name, set};

    #[test]
    fn a_dry_run_counts_each_name_once() {
        let group = Group::of(Step::record(Change::Create { to: set("a.example A 192.0.2.1") }, None), Vec::new());
        let names = BTreeMap::from([(name("a.example"), tokio::time::Instant::now())]);
        for (dry_run, expected) in [(true, 1), (false, 2)] {
            let mut tally = Tally::default();
            for _ in 0..2 {
                tally.begin_turn(&names);
                tally.count(&group, dry_run);
            }
            assert_eq!((tally.of_turn().created, tally.total().created), (1, expected), "dry run: {dry_run}");
        }
    }
}
