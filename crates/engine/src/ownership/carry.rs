//! A proposal is carried out, on the way that all changes go.
//!
//! In: actions as they were shown, and the journal of the daemon that looks after the zones. Out: the outcome of each.

use std::collections::BTreeSet;
use std::time::Duration;

use tokio::time::Instant;
use zonewright_core::capability::Preconditions;
use zonewright_core::change::{Group, Outcome, Precondition, StoreEffect};
use zonewright_core::claim::judge;
use zonewright_core::error::{Error, ErrorKind};
use zonewright_core::name::DnsName;
use zonewright_core::provider::Read;
use zonewright_core::record::RecordSet;
use zonewright_core::view::ZoneView;
use zonewright_core::zone::Zone;

use super::{Action, InstanceSnapshot};
use crate::in_set;
use crate::journal::{Destination, EntryOrigin, JournalWriter, owner_of};
use crate::pipeline::Pipeline;

/// Most groups that are sent together.
const PIECE: usize = 500;

impl InstanceSnapshot {
    /// Carries actions out, each written down before. Returns the outcome of each, in order. What earlier commands had left
    /// unsettled when the zones were read is settled first, by that reading.
    pub async fn carry_out(&self, actions: &[Action], journal: &JournalWriter, origin: &EntryOrigin) -> Vec<Outcome> {
        journal.load_beside_daemon(self.began.elapsed()).await;
        for (zone, view) in &self.zones {
            let registry = &self.instance.registry;
            let ownership = |key: &_| judge(&registry.claims(zone, key, self), registry.owner());
            let owner = |key: &_| owner_of(&ownership(key), registry.owner());
            journal.settle(zone, |_| true, |key| view.find(key), owner).await;
        }
        let mut outcomes = Vec::new();
        for part in actions.chunk_by(|a, b| a.zone.key == b.zone.key).flat_map(|zone| zone.chunks(PIECE)) {
            outcomes.extend(self.send(part, journal, origin).await);
        }
        // What could not be written at the time is tried once more.
        journal.flush().await;
        outcomes
    }

    async fn send(&self, actions: &[Action], journal: &JournalWriter, origin: &EntryOrigin) -> Vec<Outcome> {
        let Some(zone) = actions.first().map(|action| &action.zone) else { return Vec::new() };
        let pipeline = self.pipeline(zone, journal);
        let stale = self.changed_since(zone, actions).await;
        let fresh = actions.iter().zip(&stale).filter(|(_, stale)| stale.is_none());
        let groups: Vec<Group> = fresh.map(|(action, _)| action.group.clone()).collect();
        let count = groups.len();
        let (mut sent, unclaimed, committed) = pipeline.carry_out(origin, groups).await;
        if let Err(error) = committed {
            pipeline.doubt(&mut sent, &error).await;
        }
        let mut sent = sent.outcomes.into_iter();
        let outcome = |index: usize| match unclaimed.iter().find(|one| one.index == index) {
            Some(one) => Outcome::NotSent(Error::new(ErrorKind::Conflict, "prepare the claim", one.reason.clone())),
            None => sent.next().unwrap_or_else(|| {
                Outcome::Unknown(Error::new(ErrorKind::Protocol, "apply changes", "the provider gave no outcome"))
            }),
        };
        let carried: Vec<Outcome> = (0..count).map(outcome).collect();
        let mut carried = carried.into_iter();
        stale.into_iter().filter_map(|stale| stale.or_else(|| carried.next())).collect()
    }

    /// What is changed of claims alone rests on the records: they are looked up right before. A claim that is kept outside of the zone has no
    /// condition there, and a listing may have lacked its end. `None` where all is as it was read.
    async fn changed_since(&self, zone: &Zone, actions: &[Action]) -> Vec<Option<Outcome>> {
        let demands = self.instance.provider.capability(Some(zone)).preconditions == Preconditions::Any;
        let rests_on: Vec<Vec<Precondition>> = actions.iter().map(|action| rests_on(&action.group, demands)).collect();
        let names: BTreeSet<DnsName> = rests_on.iter().flatten().map(|one| one.name().clone()).collect();
        if names.is_empty() {
            return vec![None; actions.len()];
        }
        let (provider, registry) = (&self.instance.provider, &self.instance.registry);
        let now = match provider.records(zone, Read::Names(&names)).await {
            Ok(listing) => {
                let listing = in_set::named(listing, zone, (&**provider, &**registry), self);
                let mut view = ZoneView::default();
                view.take(listing, Some(&names), Instant::now(), Duration::ZERO);
                Ok(view)
            }
            Err(error) => Err(error),
        };
        let against = |rests_on: Vec<Precondition>| {
            let error = match &now {
                Err(error) => rests_on.first().map(|_| error.clone()),
                Ok(now) => rests_on.iter().find(|one| !holds(one, now)).map(|one| {
                    let text = format!("{} is not as it was read; run the command again", one.name());
                    Error::new(ErrorKind::Conflict, "look up the record", text)
                }),
            };
            error.map(Outcome::NotSent)
        };
        rests_on.into_iter().map(against).collect()
    }

    fn pipeline<'a>(&'a self, zone: &'a Zone, journal: &'a JournalWriter) -> Pipeline<'a> {
        let to = Destination { zone, registry: &*self.instance.registry, published: self };
        Pipeline { journal, provider: &*self.instance.provider, to, state: None, dry_run: false }
    }
}

/// What a group that changes no record takes for granted of the records, and does not demand with its writes (`demands`: the provider takes
/// such conditions).
fn rests_on(group: &Group, demands: bool) -> Vec<Precondition> {
    if group.records().next().is_some() {
        return Vec::new();
    }
    let of_store = group.stored.iter().map(|step| match &step.effect {
        StoreEffect::Assign { record, .. } => Precondition::Exact(record.clone()),
        StoreEffect::End(key) => Precondition::Absent(key.clone()),
    });
    group.requires.iter().filter(|_| !demands || group.changes_nothing()).cloned().chain(of_store).collect()
}

/// Whether what a view shows is as it was read. A TTL is no part of what is relied on.
fn holds(one: &Precondition, now: &ZoneView) -> bool {
    let same = |now: &RecordSet, read: &RecordSet| {
        now.data == read.data && now.routing == read.routing && now.options == read.options
    };
    match one {
        Precondition::Exact(read) => now.find(&read.key).is_some_and(|now| same(&now, read)),
        Precondition::Absent(key) => now.find(key).is_none(),
        Precondition::NameNotInUse(name) => now.at(name).is_empty(),
    }
}
