//! What groups cost in one call, and what a call may cost.

use std::ops::Add;

use crate::capability::Batch;
use crate::change::{Change, Group};
use crate::record::{RecordData, RecordSet};

/// What one or several groups count against the limits of a call ([`Batch`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cost {
    /// Changes; an update as [`Batch::update`] says.
    pub changes: usize,
    /// Values: the records of the sets that are written or taken away.
    pub values: usize,
    /// Bytes, by [`Group::size`].
    pub size: usize,
}

impl Add for Cost {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            changes: self.changes.saturating_add(other.changes),
            values: self.values.saturating_add(other.values),
            size: self.size.saturating_add(other.size),
        }
    }
}

fn values(set: &RecordSet) -> usize {
    match &set.data {
        RecordData::Records(records) => records.len(),
        RecordData::Alias(_) => 1,
        RecordData::Items(items) => items.iter().map(|item| item.records.len()).sum(),
    }
}

impl Batch {
    /// What a group counts.
    ///
    /// ```
    /// use zonewright_core::capability::Batch;
    /// use zonewright_core::change::{Change, Group, Step};
    /// use zonewright_core::{DnsName, RData, RecordSet, RecordType};
    ///
    /// let a = |data: &[&str]| {
    ///     let name = DnsName::parse("www.example.com").unwrap();
    ///     let data = data.iter().map(|text| RData::parse(RecordType::A, text).unwrap());
    ///     RecordSet::simple(name, RecordType::A, None, data)
    /// };
    /// let change = Change::Update { from: a(&["192.0.2.1"]), to: a(&["192.0.2.1", "192.0.2.2"]) };
    /// let group = Group::of(Step::record(change, None), vec![]);
    /// assert_eq!(Batch::of(10).cost(&group).changes, 1);
    /// let apart = Batch { update: 2, ..Batch::of(10) };
    /// assert_eq!((apart.cost(&group).changes, apart.cost(&group).values), (2, 3));
    /// ```
    pub fn cost(&self, group: &Group) -> Cost {
        let one = |change: &Change| match change {
            Change::Create { to: set } | Change::Delete { from: set } => (1, values(set)),
            // Sent as a delete and a create, both sides count.
            Change::Update { from, to } if self.update > 1 => (self.update, values(from).saturating_add(values(to))),
            Change::Update { to, .. } => (self.update, values(to)),
        };
        let (changes, values) = group
            .changes()
            .map(one)
            .fold((0usize, 0usize), |sum, cost| (sum.0.saturating_add(cost.0), sum.1.saturating_add(cost.1)));
        Cost { changes, values, size: if self.size.is_some() { group.size() } else { 0 } }
    }

    /// Whether one call may cost this.
    pub fn holds(&self, cost: Cost) -> bool {
        let within = |limit: Option<usize>, cost: usize| limit.is_none_or(|limit| cost <= limit);
        cost.changes <= self.changes && within(self.values, cost.values) && within(self.size, cost.size)
    }
}
