//! The groups of one call, carried out in one batch, or in several.
//!
//! In: groups. Out: what became of each. What must hold: a batch rests on one reading, and goes soon after that began or not at all. So
//! where the names of all groups take too long to read, those go first whose names were read in time, and the names of the rest are read
//! after that. What cannot be sent in time by itself either goes back unsent, and the rest is tried without it.

use std::collections::BTreeMap;
use std::sync::Arc;

use tracing::warn;
use zonewright_core::change::{Change, Group, Outcome};
use zonewright_core::{DnsName, Error, ErrorKind, Result, Zone, turn};
use zonewright_http::{Delivery, Failure, Share};

use crate::beside::Beside;
use crate::operation::APPLY;
use crate::reading::{PastReadings, Reading, of_first_name};
use crate::records::Groups;
use crate::{Cloudflare, apply, convert, wire};

/// So often the names of a part are read again, of as many groups as then seems right, because its batch was not sent in time. The last
/// time those of the first name are read alone.
const READ_AGAIN: usize = 2;

/// So many parts in a row may be late before nothing more of the call is sent: then it is not they that need long.
const LATE_AT_MOST: usize = 2;

/// What became of the first groups of a call.
struct Part {
    outcomes: Vec<Outcome>,
    /// Why its batch was not sent, or it is not known what became of it.
    failure: Option<Error>,
    /// It was not sent because its reading was too old whenever that was tried.
    is_late: bool,
}

impl Cloudflare {
    /// Carries groups out. What one batch cannot hold by what could be read in time goes in the next one, at the user's distance.
    pub(crate) async fn carry_out(&self, zone: &Zone, groups: &[Group]) -> Vec<Outcome> {
        let twice = apply::written_twice(groups);
        let known = |(at, group): (usize, &Group)| {
            let text = || format!("{}: another group of the call writes the same record set", group.name);
            let refused = || Outcome::refused(Error::new(ErrorKind::Invalid, APPLY, text()));
            if group.changes_nothing() { Some(Outcome::Applied) } else { twice.contains(&at).then(refused) }
        };
        let mut outcomes: Vec<Option<Outcome>> = groups.iter().enumerate().map(known).collect();
        let (mut readings, mut late) = (PastReadings::default(), 0);
        loop {
            let open = groups.iter().zip(&outcomes).filter(|(_, outcome)| outcome.is_none());
            let waiting: Vec<&Group> = open.map(|(group, _)| group).collect();
            if waiting.is_empty() {
                break;
            }
            let part = match self.part(zone, &waiting, &mut readings).await {
                Ok(part) => part,
                Err(error) => return unread(&error, outcomes),
            };
            let more = part.outcomes.len() < waiting.len();
            let slots = outcomes.iter_mut().filter(|outcome| outcome.is_none());
            slots.zip(part.outcomes).for_each(|(slot, outcome)| *slot = Some(outcome));
            late = if part.is_late { late + 1 } else { 0 };
            if let Some(error) = part.failure.filter(|_| !part.is_late || late >= LATE_AT_MOST) {
                return outcomes
                    .into_iter()
                    .map(|done| done.unwrap_or_else(|| Outcome::NotSent(error.clone())))
                    .collect();
            }
            if more {
                turn::progress();
                turn::waiting(tokio::time::sleep(self.pace.interval)).await;
            }
        }
        outcomes.into_iter().map(|outcome| outcome.unwrap_or_else(unreached)).collect()
    }

    /// Carries out the first of these groups, at least one.
    async fn part(&self, zone: &Zone, groups: &[&Group], readings: &mut PastReadings) -> Result<Part> {
        let total = self.zones.known(&zone.key.zone).total;
        // What is beside the records is listed before they are read: that may take a while.
        let (beside, asked) = self.beside_changed(zone, groups).await;
        let mut share = if asked { Share::Next } else { Share::Full };
        let mut again = READ_AGAIN;
        readings.step /= 2;
        loop {
            let groups = if again > 0 { groups } else { of_first_name(groups) };
            let reading = self.records_of(zone).first_of(groups, total, readings, share).await?;
            let first = groups.get(..reading.groups.max(1)).unwrap_or(groups);
            if let Some(part) = self.written(zone, first, &beside, reading, readings, again > 0).await? {
                return Ok(part);
            }
            (again, share) = (again.saturating_sub(1), Share::Next);
        }
    }

    /// What stands beside the records of groups, and whether it was asked for now: anew where some of it is to change, since what another
    /// writer made of it meanwhile is not taken away.
    async fn beside_changed(&self, zone: &Zone, groups: &[&Group]) -> (Arc<Beside>, bool) {
        let touches = |group: &&Group| group.changes().any(|change| convert::is_proxiable(change.key().rtype));
        if !groups.iter().any(touches) {
            return (Arc::default(), false);
        }
        // Whatever stands there besides, no more than this goes.
        match self.looks.recent(zone).filter(|beside| beside.is_settled(groups, &Groups::new())) {
            Some(beside) => (beside, false),
            None => (self.look_beside(zone).await, self.defaults.hostnames.is_some() || self.defaults.region.is_some()),
        }
    }

    /// Writes groups by a reading of all their names. Nothing where that was too old when the batch could be sent, and may be repeated.
    async fn written(
        &self,
        zone: &Zone,
        groups: &[&Group],
        beside: &Beside,
        mut reading: Reading,
        readings: &mut PastReadings,
        may_repeat: bool,
    ) -> Result<Option<Part>> {
        let mut prepared = Prepared::of(zone, groups, &reading.standing, beside);
        // What a name has beside its last record goes first: the record is what it is remembered by.
        let hostnames = self.defaults.hostnames.as_ref();
        let of_part = prepared.groups(groups);
        if !beside.is_settled(groups, &reading.standing) {
            self.looks.changed(zone);
        }
        let takes_away = beside.has_to_go(&of_part, &reading.standing);
        let stays = beside.take_away(&self.service, zone, &of_part, &reading.standing, hostnames).await;
        if takes_away && reading.is_old_after(readings.step) {
            let total = self.zones.known(&zone.key.zone).total;
            reading = self.records_of(zone).all_of(groups, total, readings).await?;
            prepared = Prepared::of(zone, groups, &reading.standing, beside);
        }
        let (call, mut outcomes) = prepared.call(groups, &stays);
        let sent = match call.batch.len() {
            0 => Ok(()),
            _ => apply::send(&self.service, zone, &call.batch, reading.rest()).await,
        };
        let is_late = sent.as_ref().is_err_and(|failure| is_late(failure, &reading));
        // What was taken away is not seen once more.
        if may_repeat && !takes_away && is_late {
            return Ok(None);
        }
        let failure = sent.as_ref().err().filter(|failure| failure.delivery != Delivery::Refused);
        let failure = failure.map(|failure| failure.error.clone());
        // A group that changes no record went through whatever became of the others.
        let mut refused = sent.err().map(|failure| apply::failed(&failure, &call.sent)).unwrap_or_default();
        let is_through = |at: &&usize| !refused.contains_key(at);
        let through: Vec<&Group> =
            call.groups.iter().filter(is_through).filter_map(|at| groups.get(*at).copied()).collect();
        let failed = beside.apply(&self.service, zone, &through, hostnames).await;
        for at in &call.groups {
            let (Some(outcome), Some(group)) = (outcomes.get_mut(*at), groups.get(*at)) else { continue };
            let has_changes = call.sent.binary_search_by_key(at, |(sent, _)| *sent).is_ok();
            *outcome = Some(refused.remove(at).unwrap_or_else(|| with_beside(zone, group, &failed, has_changes)));
        }
        let outcomes = outcomes.into_iter().map(|outcome| outcome.unwrap_or_else(unreached)).collect();
        Ok(Some(Part { outcomes, failure, is_late }))
    }
}

/// Whether a batch was not sent because its reading was too old.
fn is_late(failure: &Failure, reading: &Reading) -> bool {
    failure.delivery == Delivery::NotSent && failure.error.kind == ErrorKind::Throttled && reading.rest().is_zero()
}

fn unreached() -> Outcome {
    Outcome::NotSent(Error::new(ErrorKind::Unavailable, APPLY, "the group was not reached"))
}

/// What each group of a part sends, by its position, or what became of it.
struct Prepared {
    batches: Vec<(usize, wire::Batch)>,
    outcomes: Vec<Option<Outcome>>,
}

impl Prepared {
    fn of(zone: &Zone, groups: &[&Group], standing: &Groups, beside: &Beside) -> Self {
        let mut prepared = Self { batches: Vec::new(), outcomes: Vec::new() };
        for (at, group) in groups.iter().enumerate() {
            prepared.outcomes.push(match apply::batch(zone, group, standing, beside) {
                Ok(batch) => {
                    prepared.batches.push((at, batch));
                    None
                }
                Err(refused) => Some(refused),
            });
        }
        prepared
    }

    /// Those that send something.
    fn groups<'a>(&self, groups: &[&'a Group]) -> Vec<&'a Group> {
        self.batches.iter().filter_map(|(at, _)| groups.get(*at).copied()).collect()
    }

    /// What is sent of all, but for those that wait since something beside their names stays.
    fn call(self, groups: &[&Group], stays: &BTreeMap<DnsName, Error>) -> (Call, Vec<Option<Outcome>>) {
        let Self { batches, mut outcomes } = self;
        let mut call = Call::default();
        for (at, batch) in batches {
            let (Some(group), Some(outcome)) = (groups.get(at), outcomes.get_mut(at)) else { continue };
            match apply::kept(group, stays) {
                Some(kept) => *outcome = Some(kept),
                None => call.add(at, batch),
            }
        }
        (call, outcomes)
    }
}

/// What one batch sends, and of which groups.
#[derive(Debug, Default)]
struct Call {
    batch: wire::Batch,
    /// Positions of its groups.
    groups: Vec<usize>,
    /// Those that have changes in the batch, in the same order, with whether they leave more records than there were.
    sent: Vec<(usize, bool)>,
}

impl Call {
    fn add(&mut self, at: usize, batch: wire::Batch) {
        self.groups.push(at);
        if batch.len() > 0 {
            self.sent.push((at, batch.posts.len() > batch.deletes.len()));
        }
        self.batch.extend(batch);
    }
}

/// What became of a group whose records went through. Where what stands beside them did not follow, the group is refused if it asked
/// for nothing else; else its names are to be read, and what is missing is then asked for by itself.
fn with_beside(zone: &Zone, group: &Group, failed: &BTreeMap<DnsName, Error>, has_changes: bool) -> Outcome {
    let mut keys = group.changes().map(Change::key).filter(|key| convert::is_proxiable(key.rtype));
    match keys.find_map(|key| failed.get(&key.name)) {
        None => Outcome::Applied,
        Some(error) if has_changes => {
            warn!(zone = %zone.name, name = %group.name, %error, "the records stand; what belongs beside them does not");
            Outcome::Unknown(error.clone())
        }
        Some(error) => Outcome::refused(apply::of_group(error)),
    }
}

/// The groups whose names could not be read: nothing was sent.
fn unread(error: &Error, outcomes: Vec<Option<Outcome>>) -> Vec<Outcome> {
    let outcome = || match error.kind {
        ErrorKind::NotFound => Outcome::refused(error.clone()),
        _ => Outcome::NotSent(error.clone()),
    };
    outcomes.into_iter().map(|done| done.unwrap_or_else(outcome)).collect()
}
