//! Groups to one POST, and its answer to one outcome for each group.
//!
//! In: groups. Out: outcomes that are true. 204 is the only confirmation. A status that is about the request as such (credentials,
//! address, size, media type) means that nothing was done. 500, 400, 409, 422 and their like are what peers answer when they or their
//! back end refused any one record, and they do not say what came of the rest: so the records are read, and only groups of which
//! nothing is in force count as refused; the layer above may send halves. A peer that names them itself ([`crate::refusal`]) spares us the
//! search. All else that comes after the request was sent leaves open what was done.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use zonewright_core::change::{Blame, Change, Group, Outcome, Role};
use zonewright_core::error::Retry;
use zonewright_core::{Error, ErrorKind, RecordKey, RecordSet, Zone};

use crate::Webhook;
use crate::client::{Answer, Route};
use crate::convert::{Quoting, encode};
use crate::error::ExchangeError;
use crate::labels;
use crate::refusal::Refusals;
use crate::view::PeerListing;
use crate::wire::Changes;

const OPERATION: &str = "apply changes";

/// So many calls in a row may fail so that the records have to be read, and be split; one bad record among 500 groups is found with 10. A peer
/// whose back end is down is not asked a thousand times.
const STRIKES: u32 = 16;

/// A pause after which a failure is a new story: the halves of a refused call follow each other at once.
const LULL: Duration = Duration::from_millis(500);

/// Failures after which the records were read in a row, and the time of the last.
#[derive(Debug, Default)]
pub(crate) struct Strikes(Mutex<Option<(u32, Instant)>>);

impl Strikes {
    fn last(&self) -> MutexGuard<'_, Option<(u32, Instant)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the peer may be asked again and again now.
    fn may_split(&self) -> bool {
        self.last().is_none_or(|(count, at)| count < STRIKES || at.elapsed() > LULL)
    }

    fn add(&self) {
        let mut last = self.last();
        let count = last.filter(|(_, at)| at.elapsed() <= LULL).map_or(0, |(count, _)| count);
        *last = Some((count + 1, Instant::now()));
    }

    fn clear(&self) {
        *self.last() = None;
    }
}

/// What an answer that is no confirmation says of the groups that were sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum GroupsAfterError {
    /// None is in force, and no half would fare better: it is about the peer.
    RefusedAsSuch,
    /// None is in force; one of them may be to blame.
    Refused,
    /// Only the records show it.
    Ask,
    /// Nobody knows.
    Unknown,
}

fn verdict(status: u16) -> GroupsAfterError {
    match status {
        401 | 404 | 405 | 407 | 501 => GroupsAfterError::RefusedAsSuch,
        403 | 413 | 415 => GroupsAfterError::Refused,
        // Some of it may have been done before the time was over or the limit was reached.
        408 | 429 => GroupsAfterError::Unknown,
        // A peer that works record by record says so of the first one that it cannot take; 303 is about what was done.
        200..=299 | 303 | 400..=499 | 500 => GroupsAfterError::Ask,
        _ => GroupsAfterError::Unknown,
    }
}

impl Webhook {
    /// Carries groups out in one POST.
    pub(crate) async fn carry_out(&self, zone: &Zone, groups: &[Group]) -> Vec<Outcome> {
        let mut changes = Changes::default();
        let mut claims = Changes::default();
        let mut outcomes: Vec<Option<Outcome>> = Vec::with_capacity(groups.len());
        let mut sent: Vec<&Group> = Vec::with_capacity(groups.len());
        for group in groups {
            let objection = self.objection(zone, group).or_else(|| self.write(group, &mut changes, &mut claims).err());
            if objection.is_none() {
                sent.push(group);
            }
            outcomes.push(objection.map(Outcome::refused));
        }
        let mut given = self.post(changes.followed_by(claims), &sent).await.into_iter();
        let lost = || Outcome::Unknown(Error::new(ErrorKind::Protocol, OPERATION, "no outcome is known"));
        outcomes.into_iter().map(|outcome| outcome.or_else(|| given.next()).unwrap_or_else(lost)).collect()
    }

    /// What speaks against sending a group at all.
    fn objection(&self, zone: &Zone, group: &Group) -> Option<Error> {
        if !crate::is_root(zone) {
            return Some(self.no_such_zone(zone, OPERATION));
        }
        let filter = self.filter();
        let outside = |name| filter.as_ref().is_some_and(|filter| !filter.matches(name));
        let step = group.records().find(|step| outside(&step.change.key().name))?;
        let context = format!(
            "{}: {} is outside of the domain filter that the webhook provider gave; nothing is done there",
            self.client.address(),
            step.change.key()
        );
        Some(Error::new(ErrorKind::Invalid, OPERATION, context).retry(Retry::Backoff))
    }

    /// Adds a group to what is sent; if it cannot be expressed, nothing of it.
    fn write(&self, group: &Group, records: &mut Changes, claims: &mut Changes) -> Result<(), Error> {
        let (mut of_records, mut of_claims) = (Changes::default(), Changes::default());
        for step in &group.steps {
            let (to, quoting) = match step.role {
                Role::Record => (&mut of_records, Quoting::Bare),
                Role::Claim => (&mut of_claims, Quoting::Quoted),
            };
            self.push(to, &step.change, quoting, labels::of(group, step))
                .map_err(|problem| Error::new(ErrorKind::Unsupported, OPERATION, problem))?;
        }
        records.append(of_records);
        claims.append(of_claims);
        Ok(())
    }

    fn push(&self, list: &mut Changes, change: &Change, quoting: Quoting, labels: labels::Sides) -> Result<(), String> {
        let old = |set: &RecordSet| self.spelled(set, quoting);
        let (old_labels, new_labels) = (labels.old, labels.new);
        match change {
            Change::Create { to } => list.create.push(encode(to, quoting)?.labelled(new_labels)),
            Change::Delete { from } => list.delete.push(old(from)?.labelled(old_labels)),
            Change::Update { from, to } => {
                let (from, to) = (old(from)?, encode(to, quoting)?);
                list.update_old.push(from.labelled(old_labels));
                list.update_new.push(to.labelled(new_labels));
            }
        }
        Ok(())
    }

    async fn post(&self, changes: Changes, sent: &[&Group]) -> Vec<Outcome> {
        if sent.is_empty() {
            return Vec::new();
        }
        let all = |outcome: &dyn Fn() -> Outcome| sent.iter().map(|_| outcome()).collect::<Vec<_>>();
        let body = serde_json::to_vec(&changes).unwrap_or_default();
        match self.client.send(Route::Apply, Some(body), &self.log).await {
            Ok(answer) if answer.status.as_u16() == 204 => {
                self.strikes.clear();
                all(&|| Outcome::Applied)
            }
            Ok(answer) => self.judge(&answer, sent).await,
            Err(ExchangeError::Redirected { status, to, why }) => {
                let error = self.error(OPERATION, ExchangeError::Redirected { status, to, why });
                let said = match verdict(status.as_u16()) {
                    GroupsAfterError::Ask => GroupsAfterError::Ask,
                    _ => GroupsAfterError::Refused,
                };
                self.settle(sent, said, &Said { status: status.as_u16(), error, refusals: Refusals::default() }).await
            }
            Err(fault) => {
                let was_sent = fault.was_sent();
                let error = self.error(OPERATION, fault);
                all(&|| if was_sent { Outcome::Unknown(error.clone()) } else { Outcome::NotSent(error.clone()) })
            }
        }
    }

    /// What became of the groups when the answer was not 204.
    async fn judge(&self, answer: &Answer, sent: &[&Group]) -> Vec<Outcome> {
        let status = answer.status.as_u16();
        if answer.status.is_success() {
            self.log.once(
                "status of changes",
                &format!("answered POST /records with {status}"),
                "has 204",
                "the records are read to see whether the changes are in force",
            );
        }
        let said = Said {
            status,
            error: self.error(OPERATION, answer.unexpected(204)),
            refusals: Refusals::read(&answer.body).unwrap_or_default(),
        };
        self.settle(sent, verdict(status), &said).await
    }

    async fn settle(&self, sent: &[&Group], verdict: GroupsAfterError, said: &Said) -> Vec<Outcome> {
        let blame = if sent.len() == 1 { Blame::Group } else { Blame::Batch };
        let refused = |blame| Outcome::Refused { error: said.error.clone(), blame };
        match verdict {
            GroupsAfterError::RefusedAsSuch => sent.iter().map(|_| refused(Blame::Group)).collect(),
            GroupsAfterError::Refused => sent.iter().map(|_| refused(blame)).collect(),
            GroupsAfterError::Ask if said.is_success() || self.strikes.may_split() => {
                let outcomes = self.ask(sent, blame, said).await;
                if !said.is_success() {
                    self.strikes.add();
                }
                outcomes
            }
            GroupsAfterError::Ask | GroupsAfterError::Unknown => {
                sent.iter().map(|_| Outcome::Unknown(said.error.clone())).collect()
            }
        }
    }

    /// Reads the records, and judges each group by them. A peer may have said which names it refused, and why.
    async fn ask(&self, sent: &[&Group], blame: Blame, said: &Said) -> Vec<Outcome> {
        let unknown = || Outcome::Unknown(said.error.clone());
        let Ok(listed) = self.list().await else {
            return sent.iter().map(|_| unknown()).collect();
        };
        let mut refusal = said.error.clone();
        if blame == Blame::Group && said.status == 500 {
            // The peer was asked for one group alone, and is there to be read: it is this group that it cannot take.
            refusal.kind = ErrorKind::Invalid;
        }
        let refused = || Outcome::Refused { error: refusal.clone(), blame };
        let judge = |group: &&Group| match progress(group, &listed, said) {
            // What the peer says of a name goes first: that another writer published the same is no success.
            _ if let Some((kind, why)) = said.refusals.of(group.name.as_str()) => {
                Outcome::refused(Error::new(kind, OPERATION, format!("{}: {why}", self.client.address())))
            }
            // There was nothing but this one change to be done, and the peer found something else in its place.
            Progress::After if said.is_conflict() && blame == Blame::Group && group.changes().count() == 1 => refused(),
            Progress::After if said.is_of_a_record() && may_be_foreign(group) => unknown(),
            Progress::After => Outcome::Applied,
            Progress::Before if !said.is_success() => refused(),
            Progress::Before | Progress::Between => unknown(),
        };
        sent.iter().map(judge).collect()
    }
}

/// What a peer said instead of 204.
#[derive(Debug)]
struct Said {
    status: u16,
    /// The same as an error.
    error: Error,
    /// The names that it refused, where it says so.
    refusals: Refusals,
}

impl Said {
    fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// Whether it found something else than the request states.
    fn is_conflict(&self) -> bool {
        self.status == 409
    }

    /// Whether it found fault with something in the request.
    fn is_of_a_record(&self) -> bool {
        (400..500).contains(&self.status)
    }
}

/// Whether all of a group may stand because another writer published the same: it creates something, and no claim says whose.
fn may_be_foreign(group: &Group) -> bool {
    let creates = group.changes().any(|change| matches!(change, Change::Create { .. }));
    creates && !group.steps.iter().any(|step| step.role == Role::Claim)
}

/// How far a group is in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Progress {
    Before,
    Between,
    After,
}

fn progress(group: &Group, listed: &PeerListing, said: &Said) -> Progress {
    let sets = &listed.sets;
    let is_before = |change: &Change| {
        holds(sets, change.key(), change.from()) || said.is_of_a_record() && another_stands(sets, change, said)
    };
    if group.changes().all(|change| holds(sets, change.key(), change.to())) {
        Progress::After
    } else if group.changes().all(is_before) {
        Progress::Before
    } else {
        Progress::Between
    }
}

/// Whether what stands is neither side of a change, so that it was in the way and was left: another writer's record. Where it has a
/// part of either side, or the old side is gone, the peer may have begun, unless it says itself that it found something else.
fn another_stands(sets: &BTreeMap<RecordKey, RecordSet>, change: &Change, said: &Said) -> bool {
    let sides = || change.from().into_iter().chain(change.to()).flat_map(|set| set.data.as_records());
    let is_apart = |there: &RecordSet| !sides().any(|data| there.data.as_records().contains(data));
    !holds(sets, change.key(), change.to()) && (said.is_conflict() || sets.get(change.key()).is_some_and(is_apart))
}

/// Whether exactly this stands. A TTL that was not stated is that of the peer.
fn holds(sets: &BTreeMap<RecordKey, RecordSet>, key: &RecordKey, expected: Option<&RecordSet>) -> bool {
    let open = |set: &RecordSet| RecordSet { ttl: set.ttl.filter(|ttl| ttl.secs() > 0), ..set.clone() };
    match (sets.get(key), expected) {
        (None, None) => true,
        (Some(found), Some(expected)) => open(expected).is_met_by(found),
        _ => false,
    }
}
