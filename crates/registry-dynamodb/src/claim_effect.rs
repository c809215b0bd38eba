//! What the table must say before a group is sent, and after it.
//!
//! In: a group as it was decorated, and the rows in memory. Out: the writes that open it, then those that close it. What must
//! hold: nothing is sent while another owner holds the row; every opening is a conditional write, so that an owner edited by
//! hand is respected at once; a group that was refused leaves the right of each record as it was.

use std::collections::BTreeSet;
use std::sync::Arc;

use zonewright_core::change::{Change, Group, Role, Step, StoreEffect, StoreStep};
use zonewright_core::claim::OwnerId;
use zonewright_core::intent::digest;
use zonewright_core::{RecordKey, RecordSet};

use super::key;
use super::row::{Labels, Row};
use super::rows::{Found, Rows};
use super::table::Write;

/// What a group does to the right on one record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ClaimEffect<'a> {
    /// The record stands afterwards, and is ours.
    Stand {
        /// What stands before.
        from: Option<&'a RecordSet>,
        to: &'a RecordSet,
        resource: Option<&'a Arc<str>>,
        labels: &'a Labels,
        /// Whether a row may come to a record that stands already: it is ours by a TXT record, or nobody's and taken over.
        takes: bool,
    },
    /// The record goes.
    Go {
        from: &'a RecordSet,
        /// Whether it is ours by a TXT record alone.
        by_txt: bool,
    },
    /// The record stays, is `from`'s by our own effect, and becomes ours again.
    Return { record: &'a RecordSet, from: &'a OwnerId },
    /// The record stays and becomes this owner's, or nobody's.
    Give { record: &'a RecordSet, owner: Option<&'a OwnerId> },
    /// The record is gone, and the right with it.
    End { key: &'a RecordKey },
}

/// Everything that a group does to rows: by the records that it changes, and by what it says of claims in the table.
pub(crate) fn effects<'a>(group: &'a Group, me: &OwnerId) -> Vec<ClaimEffect<'a>> {
    let records = group.steps.iter().filter_map(of_record);
    records.chain(group.stored.iter().map(|step| of_claim(step, me))).collect()
}

fn of_record(step: &Step) -> Option<ClaimEffect<'_>> {
    let by_txt = step.held.as_ref().is_some_and(|claim| claim.site.is_some());
    let stand = |from, to, takes| ClaimEffect::Stand {
        from,
        to,
        resource: step.resource.as_ref(),
        labels: &step.labels,
        takes,
    };
    match (&step.change, step.role) {
        (_, Role::Claim) => None,
        (Change::Create { to }, Role::Record) => Some(stand(None, to, true)),
        (Change::Update { from, to }, Role::Record) => Some(stand(Some(from), to, by_txt)),
        (Change::Delete { from }, Role::Record) => Some(ClaimEffect::Go { from, by_txt }),
    }
}

fn of_claim<'a>(step: &'a StoreStep, me: &OwnerId) -> ClaimEffect<'a> {
    match &step.effect {
        StoreEffect::End(key) => ClaimEffect::End { key },
        StoreEffect::Assign { record, owner: Some(owner), resource, labels } if owner == me => {
            match step.held.as_ref().map(|held| &held.owner).filter(|held| *held != me) {
                Some(from) => ClaimEffect::Return { record, from },
                None => ClaimEffect::Stand {
                    from: Some(record),
                    to: record,
                    resource: resource.as_ref(),
                    labels,
                    takes: true,
                },
            }
        }
        StoreEffect::Assign { record, owner, .. } => ClaimEffect::Give { record, owner: owner.as_ref() },
    }
}

impl ClaimEffect<'_> {
    /// The record.
    pub(crate) fn key(&self) -> &RecordKey {
        match self {
            Self::Stand { to, .. } => &to.key,
            Self::Go { from, .. } => &from.key,
            Self::Give { record, .. } | Self::Return { record, .. } => &record.key,
            Self::End { key } => key,
        }
    }

    fn digests(&self) -> BTreeSet<String> {
        match self {
            Self::Stand { from, to, .. } => from.iter().chain([to]).map(|set| digest(set)).collect(),
            Self::Go { from, .. } => BTreeSet::from([digest(from)]),
            Self::Give { .. } | Self::Return { .. } | Self::End { .. } => BTreeSet::new(),
        }
    }

    /// What must be written before it is sent. It holds only as long as the row is ours.
    ///
    /// # Errors
    /// Why the row keeps it from being sent.
    pub(crate) fn opening(&self, me: &OwnerId, zone: &str, rows: &Rows) -> Result<Option<Write>, String> {
        let record = self.key();
        let key = key::text(record)?;
        let found = rows.only(&key).map_err(|problem| format!("{record}: {problem}"))?;
        let Some(Found { key, row }) = found else { return self.opening_without_row(me, zone, key) };
        if let Self::Return { from, .. } = self
            && row.owner == **from
        {
            return self.taking_back(me, from, zone, key, row);
        }
        if row.owner != *me {
            return Err(format!(
                "{record} belongs to another owner: the row {key:?} is that of {:?}",
                row.owner.as_str()
            ));
        }
        let stays = match self {
            Self::Stand { from, .. } => from.is_some() && row.is_confirmed(zone),
            Self::Give { .. } | Self::Return { .. } | Self::End { .. } => true,
            Self::Go { .. } => false,
        };
        let row = if stays { row.clone() } else { row.opened(zone, self.digests()) };
        Ok(Some(Write::Update { key: key.to_owned(), owner: me.clone(), row }))
    }

    /// What we gave comes back on the condition that it is still that owner's, and speaks for no other zone.
    fn taking_back(
        &self,
        me: &OwnerId,
        from: &OwnerId,
        zone: &str,
        key: &str,
        row: &Row,
    ) -> Result<Option<Write>, String> {
        let others = row.other_zones(zone);
        if others.is_empty() {
            return Ok(Some(Write::Update { key: key.to_owned(), owner: from.clone(), row: row.given(me) }));
        }
        let (record, others) = (self.key(), others.join(", "));
        Err(format!("{record}: the row {key:?} of {:?} also speaks for zone {others} now", from.as_str()))
    }

    fn opening_without_row(&self, me: &OwnerId, zone: &str, key: String) -> Result<Option<Write>, String> {
        match self {
            Self::Stand { resource, labels, takes: true, .. } => {
                let row = Row::begun(me.clone(), *resource, labels, zone, self.digests());
                Ok(Some(Write::Insert { key, row }))
            }
            Self::Go { by_txt: true, .. } | Self::End { .. } => Ok(None),
            Self::Stand { .. } | Self::Go { .. } | Self::Give { .. } | Self::Return { .. } => {
                Err(format!("{} has no row {key:?} any more, so it is not ours to change", self.key()))
            }
        }
    }

    /// What is to be written once it is known whether it took effect. `before` is the row before it was opened, with the other zones in
    /// which the record stands.
    pub(crate) fn closing(
        &self,
        me: &OwnerId,
        zone: &str,
        rows: &Rows,
        (before, elsewhere): (Option<&Row>, &BTreeSet<String>),
        applied: bool,
    ) -> Option<Write> {
        // Whatever cannot be read, or is not ours any more, is left alone.
        let Found { key, row } = rows.only(&key::text(self.key()).ok()?).ok().flatten()?;
        if row.owner != *me {
            return None;
        }
        let next = match (self, applied) {
            (Self::Give { .. } | Self::End { .. }, false) | (Self::Return { .. }, true) => return None,
            (Self::Return { .. }, false) => Some(before?.clone()),
            (_, false) => row.undone(zone, before),
            (Self::Stand { resource, labels, .. }, true) => Some(row.settled(zone, *resource, labels)),
            (Self::Go { .. } | Self::Give { owner: None, .. } | Self::End { .. }, true) => {
                row.without_zone(zone, elsewhere)
            }
            (Self::Give { owner: Some(owner), .. }, true) => Some(row.given(owner)),
        };
        let (key, owner) = (key.to_owned(), me.clone());
        match next {
            Some(next) if next == *row => None,
            Some(row) => Some(Write::Update { key, owner, row }),
            None => Some(Write::Delete { key, owner }),
        }
    }
}
