//! Groups as writes of single record sets.
//!
//! In: groups of one call. Out: what became of each. What must hold: each write states what stood before, by its ETag or that nothing
//! did, and the service holds that against the zone; what a group requires besides is read right before, and nothing is sent long after
//! that. The service has no batches: a group of several writes may stop in between, and then it is not known what stands.
//!
//! <https://learn.microsoft.com/azure/dns/dns-zones-records#etags>

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use futures::stream::{self, StreamExt as _};
use zonewright_core::change::{Change, Group, Outcome, Precondition};
use zonewright_core::provider::Listing;
use zonewright_core::{Error, ErrorKind, RecordKey, RecordSet, Result};
use zonewright_http::{Delivery, Failure, Method, Request, Share, header};

use crate::adjust;
use crate::client::CONCURRENCY;
use crate::convert;
use crate::records::Records;
use crate::wire::Set;

const APPLY: &str = "apply changes";

/// How long what was read is good enough to write by: a write states its own set alone. Before what has to wait for
/// longer, what it requires is read again.
const READ_HOLDS: Duration = Duration::from_secs(3);

/// So often what a write requires is read once more, after a short pause that the service asked for.
const READ_AGAIN: usize = 2;

impl Records<'_> {
    /// Carries groups out, several at once.
    pub(crate) async fn apply(&self, groups: &[Group]) -> Vec<Outcome> {
        let mut written: BTreeSet<&RecordKey> = BTreeSet::new();
        let mut twice: Vec<bool> = Vec::new();
        for group in groups {
            let keys: Vec<&RecordKey> = effective(group).map(Change::key).collect();
            twice.push(keys.iter().any(|key| written.contains(*key)));
            written.extend(keys);
        }
        let groups = groups.iter().zip(twice).map(|(group, twice)| async move {
            if twice {
                let text = format!("{}: another group of the call writes the same record set", group.name);
                return Outcome::refused(Error::new(ErrorKind::Invalid, APPLY, text));
            }
            self.carry_out(group).await
        });
        let groups: Vec<_> = groups.collect();
        stream::iter(groups).buffered(CONCURRENCY as usize).collect().await
    }

    async fn carry_out(&self, group: &Group) -> Outcome {
        let mut changes: Vec<&Change> = effective(group).collect();
        // A CNAME makes room for an address and the other way round.
        changes.sort_by_key(|change| match change {
            Change::Delete { .. } => 0,
            Change::Update { .. } => 1,
            Change::Create { .. } => 2,
        });
        if changes.is_empty() {
            return Outcome::Applied;
        }
        if let Some(why) = changes.iter().find_map(|change| self.refused(change)) {
            return Outcome::refused(Error::new(ErrorKind::Invalid, APPLY, why));
        }
        let required = read_first(group, &changes);
        let _turn = self.service.turn().await;
        let mut again = READ_AGAIN;
        loop {
            let read = (!required.is_empty()).then(Instant::now);
            match self.unmet(&required).await {
                Ok(None) => {}
                Ok(Some(why)) => return Outcome::refused(Error::new(ErrorKind::Conflict, APPLY, why)),
                Err(error) if error.kind == ErrorKind::NotFound => return Outcome::refused(error),
                Err(error) => return Outcome::NotSent(error),
            }
            let outcome = self.write_all(&changes, read).await;
            let is_put_off = matches!(&outcome, Outcome::NotSent(error) if error.kind == ErrorKind::Throttled);
            if again == 0 || read.is_none() || !is_put_off || !self.service.rested().await {
                return outcome;
            }
            again -= 1;
        }
    }

    async fn write_all(&self, changes: &[&Change], read: Option<Instant>) -> Outcome {
        for (done, change) in changes.iter().enumerate() {
            match self.write(change, read).await {
                Outcome::Applied => {}
                first if done == 0 => return first,
                Outcome::Refused { error, .. } | Outcome::NotSent(error) | Outcome::Unknown(error) => {
                    return Outcome::Unknown(error);
                }
            }
        }
        Outcome::Applied
    }

    /// Why a change is not sent at all.
    fn refused(&self, change: &Change) -> Option<String> {
        let key = change.key();
        if let Err(why) = convert::relative(&key.name, &self.zone.name) {
            return Some(why);
        }
        if let Some(from) = change.from().filter(|from| convert::is_opaque(from)) {
            return Some(format!("{key} is {}; it is left alone", from.data));
        }
        let why = adjust::refusal(self.kind, change.to()?)?;
        Some(format!("{key}: {why}"))
    }

    /// The first precondition that does not hold.
    ///
    /// # Errors
    /// It cannot be determined.
    async fn unmet(&self, preconditions: &[Precondition]) -> Result<Option<String>> {
        for precondition in preconditions {
            let unmet = match precondition {
                Precondition::Exact(set) => match self.one(&set.key, Share::Next).await? {
                    Some(found) if found == *convert::as_read(set) => None,
                    Some(found) => Some(format!("{set} is expected, and {found} stands")),
                    None => Some(format!("{set} is expected, and is not there")),
                },
                Precondition::Absent(key) if !convert::types(self.kind).contains(&key.rtype) => None,
                Precondition::Absent(key) => self
                    .one(key, Share::Next)
                    .await?
                    .map(|found| format!("{key} shall not be there, and {found} stands")),
                Precondition::NameNotInUse(name) => {
                    match self.names(&BTreeSet::from([name.clone()]), Share::Next).await? {
                        Listing::Names(sets) => {
                            sets.first().map(|found| format!("{name} shall not be in use, and {found} stands"))
                        }
                        _ => None,
                    }
                }
            };
            if unmet.is_some() {
                return Ok(unmet);
            }
        }
        Ok(None)
    }

    /// One write, with what it takes for standing, by what was read from this time on.
    async fn write(&self, change: &Change, read: Option<Instant>) -> Outcome {
        let sent = match change {
            Change::Create { to } => self.put(to, (header::IF_NONE_MATCH, "*"), read).await,
            Change::Update { from, to } => match self.etag(from).await {
                Ok(etag) => self.put(to, (header::IF_MATCH, &etag), read).await,
                Err(outcome) => return outcome,
            },
            Change::Delete { from } => match self.etag(from).await {
                Ok(etag) => self.delete(&from.key, &etag, read).await,
                Err(outcome) => return outcome,
            },
        };
        match sent {
            Ok(()) => Outcome::Applied,
            Err(failure) => {
                self.etags.forget(&self.zone.key.zone, change.key());
                let error = failure.error;
                match failure.delivery {
                    Delivery::NotSent => Outcome::NotSent(error),
                    Delivery::Unknown => Outcome::Unknown(error),
                    Delivery::Refused => Outcome::refused(error),
                }
            }
        }
    }

    /// The ETag of exactly this set: the one that is known, or else as it is read now. The other way out is the outcome of the write.
    async fn etag(&self, from: &RecordSet) -> Result<String, Outcome> {
        let (zone, from) = (&self.zone.key.zone, &*convert::as_read(from));
        if let Some(etag) = self.etags.of(zone, from) {
            return Ok(etag);
        }
        let found = self.one(&from.key, Share::Next).await.map_err(|error| match error.kind {
            ErrorKind::NotFound => Outcome::refused(error),
            _ => Outcome::NotSent(error),
        })?;
        let conflict = |text: String| Outcome::refused(Error::new(ErrorKind::Conflict, APPLY, text));
        match (self.etags.of(zone, from), found) {
            (Some(etag), _) => Ok(etag),
            (None, Some(found)) if found == *from => Err(conflict(format!("{from} came without an ETag"))),
            (None, Some(found)) => Err(conflict(format!("{from} is expected, and {found} stands"))),
            (None, None) => Err(conflict(format!("{from} is expected, and is not there"))),
        }
    }

    async fn put(
        &self,
        to: &RecordSet,
        (header, value): (zonewright_http::HeaderName, &str),
        read: Option<Instant>,
    ) -> Result<(), Failure> {
        let body = convert::write(self.kind, to).map_err(|why| unsent(Error::new(ErrorKind::Invalid, APPLY, why)))?;
        let request = self.set_request(Method::PUT, &to.key).map_err(unsent)?.header(header, value).json(&body);
        let answer = self.service.write(APPLY, in_time(request, read)).await?;
        // The answer holds what stands now.
        let set: Set = answer.json().map_err(|_| unread())?;
        self.known(&set);
        Ok(())
    }

    async fn delete(&self, key: &RecordKey, etag: &str, read: Option<Instant>) -> Result<(), Failure> {
        let request = self.set_request(Method::DELETE, key).map_err(unsent)?.header(header::IF_MATCH, etag);
        let answer = self.service.write(APPLY, in_time(request, read)).await?;
        // There is nothing to say about a set that went.
        if !answer.body.is_empty() && answer.json::<serde_json::Value>().is_err() {
            return Err(unread());
        }
        self.etags.forget(&self.zone.key.zone, key);
        Ok(())
    }
}

/// The changes that change something.
fn effective(group: &Group) -> impl Iterator<Item = &Change> {
    group.changes().filter(|change| change.from() != change.to())
}

/// What has to be read before the first write. A single write states its own old side itself, and that a CNAME stands alone is a rule
/// of the service.
fn read_first(group: &Group, changes: &[&Change]) -> Vec<Precondition> {
    let [single] = changes else { return group.preconditions() };
    let rest = group.steps.iter().filter(|step| step.change != **single).cloned().collect();
    Group { steps: rest, ..group.clone() }.preconditions()
}

/// A write that is not sent long after what it rests on was read.
fn in_time(request: Request, read: Option<Instant>) -> Request {
    match read {
        Some(read) => request.share(Share::Next).within(READ_HOLDS.saturating_sub(read.elapsed())),
        None => request,
    }
}

/// A success that is none of this service's: it is not known what stands.
fn unread() -> Failure {
    let error = Error::new(ErrorKind::Protocol, APPLY, "a success was answered in a form that cannot be read");
    Failure::new(error, Delivery::Unknown)
}

fn unsent(error: Error) -> Failure {
    Failure::new(error, Delivery::NotSent)
}
