//! What goes out long after the reading that it rests on.
//!
//! In: groups, and what each of them takes for granted of what was written before it. Out: the same groups, ready to be sent, or what
//! became of them: their names were read again, and something there is not as it was. A provider that reads by itself what a group
//! requires ([`Preconditions::Checked`]) is told to do so.

use std::collections::BTreeSet;

use tokio::time::Instant;
use zonewright_core::capability::Preconditions;
use zonewright_core::change::{Group, Outcome, Precondition};
use zonewright_core::error::{Error, ErrorKind};
use zonewright_core::name::DnsName;
use zonewright_core::provider::{Listing, Provider, Read};
use zonewright_core::record::{RecordKey, RecordSet};
use zonewright_core::zone::Zone;

use super::retry::READ_HOLDS;
use crate::footprint::names_of;

/// What groups of one call rest on.
pub(super) struct Grounds<'a> {
    /// When it was read or written, or later.
    pub(super) since: Instant,
    /// What the group at a position takes for granted of what was written before it.
    pub(super) written: &'a (dyn Fn(usize) -> Vec<Precondition> + Send + Sync),
}

impl Grounds<'_> {
    /// Whether it is too old to write by.
    pub(super) fn are_old(&self) -> bool {
        self.since.elapsed() > READ_HOLDS
    }

    /// The groups at these positions as they may be sent now, or what became of those that may not.
    pub(super) async fn ready(
        &self,
        provider: &dyn Provider,
        zone: &Zone,
        groups: &[Group],
        positions: &[usize],
    ) -> Vec<Result<Group, Outcome>> {
        let demanding = positions.iter().filter_map(|at| {
            let mut group = groups.get(*at)?.clone();
            group.requires.extend((self.written)(*at));
            Some(group)
        });
        let demanding: Vec<Group> = demanding.collect();
        if provider.capability(Some(zone)).preconditions == Preconditions::Checked {
            return demanding.into_iter().map(Ok).collect();
        }
        let names: BTreeSet<DnsName> = demanding.iter().flat_map(names_of).cloned().collect();
        let listing = provider.records(zone, Read::Names(&names)).await;
        let own = positions.iter().filter_map(|at| groups.get(*at));
        let ready = demanding.iter().zip(own).map(|(demanding, own)| match &listing {
            Ok(Listing::Names(found) | Listing::Full { sets: found, .. }) => match changed(demanding, found) {
                Some(key) => Err(Outcome::refused(Error::new(
                    ErrorKind::Conflict,
                    "read again",
                    format!("{key} was changed by another writer meanwhile"),
                ))),
                None => Ok(own.clone()),
            },
            Ok(_) => {
                let text = "the provider did not answer by names";
                Err(Outcome::NotSent(Error::new(ErrorKind::Protocol, "read again", text)))
            }
            Err(error) => Err(Outcome::NotSent(error.clone())),
        });
        ready.collect()
    }
}

/// The first set that is not as a group expects it.
fn changed<'a>(group: &'a Group, found: &[RecordSet]) -> Option<&'a RecordKey> {
    let data = |key: &RecordKey| found.iter().find(|set| set.key == *key).map(|set| &set.data);
    let steps = group.changes().map(|change| (change.key(), change.from()));
    let required = group.requires.iter().filter_map(|one| match one {
        Precondition::Exact(set) => Some((&set.key, Some(set))),
        Precondition::Absent(key) => Some((key, None)),
        Precondition::NameNotInUse(_) => None,
    });
    let mut expected = steps.chain(required);
    expected.find(|(key, set)| data(key) != set.map(|set| &set.data)).map(|(key, _)| key)
}
