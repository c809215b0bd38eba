//! Groups as one change.
//!
//! In: groups of one call. Out: one request with what goes and what comes, and what became of each group. What must hold: what goes is
//! named with exactly what was read; the service carries a change out as a whole or not at all, and refuses one whose deletions do
//! not stand so, or whose additions stand already.
//!
//! <https://cloud.google.com/dns/docs/reference/rest/v1/changes/create>

use std::collections::BTreeSet;

use zonewright_core::change::{Blame, Change, Group, Outcome};
use zonewright_core::{Error, ErrorKind, RecordKey, Zone};
use zonewright_http::{Delivery, Failure, Method, Repeat, Request};

use crate::adjust;
use crate::client::Service;
use crate::error::{Named, SetReference, named};
use crate::exact::Exact;
use crate::operation::APPLY;
use crate::served::Served;
use crate::wire::{self, Changes, Quota};

/// What one request carries, and whose each part is.
#[derive(Debug, Default)]
struct Call {
    changes: Changes,
    /// Positions of groups, one for each addition and deletion.
    added_by: Vec<usize>,
    deleted_by: Vec<usize>,
}

impl Call {
    fn add(&mut self, at: usize, changes: Changes) {
        self.added_by.extend(changes.additions.iter().map(|_| at));
        self.deleted_by.extend(changes.deletions.iter().map(|_| at));
        self.changes.additions.extend(changes.additions);
        self.changes.deletions.extend(changes.deletions);
    }

    /// The groups that it carries out.
    fn groups(&self) -> BTreeSet<usize> {
        self.added_by.iter().chain(&self.deleted_by).copied().collect()
    }

    /// The group whose set is named.
    fn whose(&self, named: Named<'_>) -> Option<usize> {
        let (sets, by, place) = match named {
            Named::Addition(place) => (&self.changes.additions, &self.added_by, place),
            Named::Deletion(place) => (&self.changes.deletions, &self.deleted_by, place),
        };
        let at = match place {
            SetReference::At(at) => Some(at),
            SetReference::Of(name, rtype) => sets.iter().position(|set| set.name == name && set.rtype == rtype),
        };
        by.get(at?).copied()
    }
}

/// Carries groups out in one request.
pub(crate) async fn apply(
    service: &Service,
    zone: &Zone,
    groups: &[Group],
    quota: Quota,
    (exact, served): (&Exact, &Served),
) -> Vec<Outcome> {
    let mut outcomes: Vec<Option<Outcome>> = vec![None; groups.len()];
    let mut call = Call::default();
    let mut written: BTreeSet<&RecordKey> = BTreeSet::new();
    for ((at, group), outcome) in groups.iter().enumerate().zip(&mut outcomes) {
        if group.changes_nothing() {
            *outcome = Some(Outcome::Applied);
            continue;
        }
        if group.changes().any(|change| written.contains(change.key())) {
            let text = format!("{}: another group of the call writes the same record set", group.name);
            *outcome = Some(Outcome::refused(Error::new(ErrorKind::Invalid, APPLY, text)));
            continue;
        }
        match changes(zone, group, quota, exact) {
            Ok(changes) => {
                written.extend(group.changes().map(Change::key));
                call.add(at, changes);
            }
            Err(why) => {
                let text = format!("{}: {why}", group.name);
                *outcome = Some(Outcome::refused(Error::new(ErrorKind::Invalid, APPLY, text)));
            }
        }
    }
    let sent = call.groups();
    if !sent.is_empty() {
        let made = send(service, zone, &call.changes).await.map(|change| served.accepted(&zone.key.zone, change));
        for at in &sent {
            let Some(outcome) = outcomes.get_mut(*at) else { continue };
            *outcome = Some(match &made {
                Ok(()) => Outcome::Applied,
                Err(failure) => failed(failure, *at, &call, sent.len()),
            });
        }
    }
    let unsent = || Outcome::NotSent(Error::new(ErrorKind::Unavailable, APPLY, "the group was not reached"));
    outcomes.into_iter().map(|outcome| outcome.unwrap_or_else(unsent)).collect()
}

/// What a group sends.
fn changes(zone: &Zone, group: &Group, quota: Quota, exact: &Exact) -> Result<Changes, String> {
    let mut changes = Changes::default();
    for change in group.changes().filter(|change| change.from() != change.to()) {
        let key = change.key();
        if !key.name.is_within(&zone.name) {
            return Err(format!("{key} is outside zone {}", zone.name));
        }
        if key.set_id.is_some() {
            return Err(format!("{key}: record sets of Cloud DNS have no identifiers"));
        }
        let stood = change.from().map(|from| exact.spelling(&zone.key.zone, from)).transpose()?;
        if let Some(to) = change.to() {
            if let Some(why) = adjust::refusal(to, quota) {
                return Err(format!("{key}: {why}"));
            }
            changes.additions.push(crate::convert::write(to, stood.as_ref())?);
        }
        changes.deletions.extend(stood);
    }
    Ok(changes)
}

/// Sends one change. It is not repeated where it may have been carried out.
async fn send(service: &Service, zone: &Zone, changes: &Changes) -> Result<wire::Change, Failure> {
    let request = Request::new(Method::POST, "/projects/{project}/managedZones/{zone}/changes");
    let request = request.set("zone", &zone.key.zone).json(changes).repeat(Repeat::IfNotCarriedOut);
    service.ask(APPLY, request).await
}

/// What became of one of `count` groups of a request that failed. The service names the first set that it refuses: its group is at
/// fault, and the others are tried without it.
fn failed(failure: &Failure, at: usize, call: &Call, count: usize) -> Outcome {
    let error = failure.error.clone();
    match failure.delivery {
        Delivery::NotSent => return Outcome::NotSent(error),
        Delivery::Unknown => return Outcome::Unknown(error),
        Delivery::Refused => {}
    }
    let guilty = failure.code.as_deref().and_then(named).and_then(|named| call.whose(named));
    // The zone is gone for all of them.
    if count == 1 || guilty == Some(at) || guilty.is_none() && error.kind == ErrorKind::NotFound {
        return Outcome::refused(error);
    }
    Outcome::Refused { error, blame: Blame::Batch }
}
