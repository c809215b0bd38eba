//! The brake's numbers, counted a second time.
//!
//! In: the deletes of a daemon. Out: whether more went than may go within the window.

use std::collections::{BTreeMap, VecDeque};

use tokio::time::Instant;
use zonewright_core::clock::Timestamp;
use zonewright_core::{RecordKey, RecordSet, RecordType};

use super::judge::{Judged, replaced};
use super::{Author, Right, Truth, is_text_of};
use crate::cluster::Cluster;
use crate::names::MANAGED;

/// What the brake must have seen of one daemon and zone.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    /// Counted deletes: when by the daemon's own clock, and when by ours.
    deletes: VecDeque<(Timestamp, Instant)>,
    peaks: VecDeque<(Timestamp, usize)>,
    /// Until when, and when that was said.
    approved: BTreeMap<RecordKey, (Timestamp, Instant)>,
}

impl Ledger {
    /// The daemon lost its memory of what it was told after `since`. What it deleted was written down before.
    pub(super) fn forget(&mut self, since: Instant) {
        self.approved.retain(|_, (_, at)| *at <= since);
    }
}

impl Truth {
    /// Whether the brake has to count a delete.
    pub(super) fn counts(
        &mut self,
        step: &Judged<'_>,
        right: &Right,
        changes: &[(RecordKey, Option<RecordSet>)],
        cluster: &Cluster,
    ) -> bool {
        let label = match right {
            Right::One { resource, .. } => resource.as_deref(),
            _ => None,
        };
        let name = &step.key.name;
        let replaced = replaced(step.key, changes);
        let other = cluster.asks(name).iter().any(|ask| ask.key.rtype != step.key.rtype);
        let otherwise = cluster.asked_otherwise(step.key, self.patience());
        // Somebody gave the claim to another object, unseen: what was read of it counts.
        let unseen = self.excused(step.daemon, step.zone, step.key);
        !(replaced || other || otherwise || unseen || cluster.is_buried(name, label))
    }

    pub(super) fn note_owned(&mut self, daemon: usize, zone: usize, now: Timestamp) {
        let owned = self.count_owned(daemon, zone);
        let window = self.parties[daemon].brake.window;
        let ledger = self.ledgers.entry((daemon, zone)).or_default();
        // What a clock that jumped ahead has made old is forgotten, also where it jumps back.
        ledger.deletes.retain(|(at, _)| at.plus(window) > now);
        ledger.peaks.push_back((now, owned));
        if ledger.peaks.len() > 64 {
            ledger.peaks.retain(|(at, _)| at.plus(window) >= now);
        }
    }

    fn count_owned(&self, daemon: usize, zone: usize) -> usize {
        let ours = self.parties[daemon].owner.as_ref();
        let by_objects = |key: &RecordKey| match self.right_by_objects(zone, key) {
            Some(Right::One { owner, .. }) => Some(&owner) == ours,
            _ => false,
        };
        let counts = |set: &&RecordSet| match ours {
            Some(_) if self.objects.is_some() => MANAGED.contains(&set.key.rtype) && by_objects(&set.key),
            Some(_) if set.key.rtype != RecordType::Txt => false,
            Some(_) => set.data.as_records().iter().any(|data| is_text_of(ours, data)),
            None => MANAGED.contains(&set.key.rtype),
        };
        // Each record has one claim, and counting those is quick in a large zone.
        self.zones[zone].sets.values().filter(counts).count()
    }

    pub(super) fn judge_brake(&mut self, daemon: usize, zone: usize, counted: &[RecordKey], now: Timestamp) {
        let brake = self.parties[daemon].brake;
        if counted.is_empty() {
            return;
        }
        let Self { ledgers, .. } = self;
        let ledger = ledgers.entry((daemon, zone)).or_default();
        let approved = |key: &RecordKey| ledger.approved.get(key).is_some_and(|(until, _)| *until > now);
        let all_approved = counted.iter().all(approved);
        ledger.deletes.extend(counted.iter().map(|_| (now, Instant::now())));
        // A clock that was turned back brings no delete back into the window.
        ledger.deletes.retain(|(at, when)| at.plus(brake.window) > now && when.elapsed() < brake.window);
        let done = ledger.deletes.len();
        let peak = ledger.peaks.iter().map(|(_, owned)| *owned).max().unwrap_or(0);
        // A view may be behind by what others took away.
        self.changes.retain(|(_, at)| at.elapsed() < brake.window * 2);
        let others = self.changes.iter().filter(|(author, _)| *author != Author::Daemon(daemon)).count();
        let ours = &self.parties[daemon].owner;
        let sharing = self.parties.iter().filter(|party| party.owner == *ours).count();
        let owned = peak + others;
        let limit = brake.min_deletes.max(owned * brake.percent / 100);
        let keys: Vec<String> = counted.iter().map(ToString::to_string).collect();
        if brake.enabled && done > limit && !all_approved && sharing < 2 {
            let text = format!(
                "daemon {daemon}: {done} deletes within the window, at most {limit} may go; last {}",
                keys.join(", ")
            );
            self.broken("the brake holds", text);
        }
    }

    /// Approves deletes of a daemon.
    pub(crate) fn approve(
        &mut self,
        daemon: usize,
        zone: &str,
        keys: impl IntoIterator<Item = RecordKey>,
        until: Timestamp,
    ) {
        let zone = self.zones.iter().position(|content| content.zone.key.to_string() == zone).unwrap_or(0);
        for key in keys {
            self.ledgers.entry((daemon, zone)).or_default().approved.insert(key, (until, Instant::now()));
        }
    }
}
