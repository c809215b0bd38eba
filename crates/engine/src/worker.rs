//! One zone's worker: what it remembers between its turns, and what all of its tasks ask of the zone.
//!
//! Every zone has its own, so that a slow or broken zone holds up no other. `zone_loop` turns it.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::yield_now;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use zonewright_core::capability::Capability;
use zonewright_core::change::{Change, Group};
use zonewright_core::claim::Ownership;
use zonewright_core::error::Result;
use zonewright_core::flap::ContestedNames;
use zonewright_core::intent::Intent;
use zonewright_core::name::DnsName;
use zonewright_core::provider::{Listing, Read};
use zonewright_core::record::{RecordKey, RecordSet};
use zonewright_core::view::Changed;

use crate::claims::Claims;
use crate::context::EngineContext;
use crate::deletes::Deletes;
use crate::footprint::names_of;
use crate::journal::{Cause, EntryOrigin};
use crate::metrics::ByZone;
use crate::pipeline::Pipeline;
use crate::provider_instance::ProviderInstance;
use crate::reads::Reads;
use crate::retries::Retries;
use crate::tally::Tally;
use crate::zone_handle::ZoneHandle;

/// So many names are looked at, or planned, before other work of the process has its turn: it answers probes on the same threads.
pub(crate) const AT_A_TIME: usize = 256;

/// What a worker remembers between its turns.
pub(crate) struct Worker {
    pub(crate) context: Arc<EngineContext>,
    pub(crate) instance: Arc<ProviderInstance>,
    pub(crate) handle: Arc<ZoneHandle>,
    pub(crate) cancel: CancellationToken,
    pub(crate) retries: Retries,
    pub(crate) reads: Reads,
    pub(crate) deletes: Deletes,
    pub(crate) claims: Claims,
    pub(crate) tally: Tally,
    /// Names that others change.
    pub(crate) flaps: ContestedNames,
    /// What the groups belong to that are sent now, for the journal.
    pub(crate) origin: EntryOrigin,
    /// A round has planned every name: what is left to do is in the inbox.
    pub(crate) surveyed: bool,
}

impl Worker {
    pub(crate) fn new(
        context: Arc<EngineContext>,
        instance: Arc<ProviderInstance>,
        handle: Arc<ZoneHandle>,
        cancel: CancellationToken,
    ) -> Self {
        Self {
            retries: Retries::new(context.seed, handle.last_attempts.clone()),
            reads: Reads::new(),
            deletes: Deletes::default(),
            claims: Claims::new(context.metrics.clone()),
            tally: Tally::default(),
            flaps: ContestedNames::default(),
            origin: EntryOrigin::new(String::new(), Cause::Round),
            surveyed: false,
            context,
            instance,
            handle,
            cancel,
        }
    }

    /// The zone in metrics.
    pub(crate) fn label(&self) -> ByZone {
        ByZone { zone: self.handle.label() }
    }

    /// What the provider can do in this zone.
    pub(crate) fn capability(&self) -> Capability {
        self.instance.provider.capability(Some(&self.handle.zone))
    }

    /// The way on which changes of this zone go out.
    pub(crate) fn pipeline(&self) -> Pipeline<'_> {
        Pipeline::of(&self.context, &self.instance, &self.handle)
    }

    /// Whose `key` is.
    pub(crate) fn ownership(&self, key: &RecordKey) -> Ownership {
        self.instance.ownership(&self.handle.zone, key)
    }

    /// Whether a record set holds claims. The view must not be locked.
    pub(crate) fn is_claim(&self, set: &RecordSet) -> bool {
        self.instance.is_claim(&self.handle.zone, set)
    }

    /// Every name that is published or wanted in the zone.
    pub(crate) fn all_names(&self) -> BTreeSet<DnsName> {
        let mut names: BTreeSet<DnsName> = self.handle.view().names().cloned().collect();
        let desired_state = self.context.desired_state();
        names.extend(desired_state.table.names().filter(|name| name.is_within(&self.handle.zone.name)).cloned());
        names
    }

    /// The next record sets of the zone, those of [`AT_A_TIME`] names. The view is not locked when it returns: whose a record is is
    /// asked of the views.
    fn next_sets(&self, last: &mut Option<DnsName>) -> Option<Vec<RecordSet>> {
        let (sets, end) = self.handle.view().after(last.as_ref(), AT_A_TIME)?;
        *last = Some(end);
        Some(sets)
    }

    /// Goes through every record set of the zone, some at a time.
    pub(crate) async fn each_set(&self, mut visit: impl FnMut(RecordSet)) {
        let mut last = None;
        while let Some(sets) = self.next_sets(&mut last) {
            if sets.len() >= AT_A_TIME {
                yield_now().await;
            }
            sets.into_iter().for_each(&mut visit);
        }
    }

    /// Whether a record set in the view is one of those that count.
    pub(crate) fn is_in_scope(&self, set: &RecordSet) -> bool {
        let config = &self.context.config;
        let name = &set.key.name;
        let managed = config.managed.contains(&set.key.rtype);
        managed && config.filter.matches(name) && self.instance.counts(&self.handle, name) && !self.is_claim(set)
    }

    /// The keys of the records in the view that count, of those that `wanted` picks.
    pub(crate) fn scope(&self, wanted: impl Fn(&RecordKey) -> bool) -> Vec<RecordKey> {
        let (mut keys, mut last) = (Vec::new(), None);
        while let Some(sets) = self.next_sets(&mut last) {
            let counted = sets.into_iter().filter(|set| wanted(&set.key) && self.is_in_scope(set));
            keys.extend(counted.map(|set| set.key));
        }
        keys
    }

    /// Number of our records in the view, as the brake counts them.
    pub(crate) async fn count_owned(&self) -> usize {
        let mut owned = 0;
        self.each_set(|set| owned += usize::from(self.is_in_scope(&set) && self.ownership(&set.key).is_ours())).await;
        owned
    }

    /// Counts our records anew, and notes in the brake's window how many there are.
    pub(crate) async fn recount(&mut self) {
        self.claims.owned = self.count_owned().await;
        let now = self.context.clock.now();
        self.context.state.note(&self.handle.label(), |state| state.window.owns(self.claims.owned, now));
    }

    /// Counts our records anew where what a reading `changed` may be one of them: what we wrote without an answer, what somebody
    /// took away, or a claim.
    pub(crate) async fn recount_changed(&mut self, changed: &Changed) {
        let registry = &self.instance.registry;
        let concerns_ours = |(name, stood): (&DnsName, &Vec<RecordSet>)| {
            let stands = self.handle.view().at(name);
            let has = |sets: &[RecordSet], set: &RecordSet| sets.iter().any(|other| other.key == set.key);
            let concerns = |set: &RecordSet| {
                let came_or_went = !(has(stood, set) && has(&stands, set));
                registry.is_claim(set) || came_or_went && self.ownership(&set.key).is_ours()
            };
            stood.iter().chain(&stands).any(concerns)
        };
        if changed.iter().any(concerns_ours) {
            self.recount().await;
        }
    }

    /// Reads names back into the view, and the claims of what turned up there. Returns what stood before at those that hold
    /// something else than was known.
    ///
    /// # Errors
    /// As [`zonewright_core::provider::Provider::records`].
    pub(crate) async fn read_names(&mut self, names: &BTreeSet<DnsName>) -> Result<Changed> {
        let (provider, zone) = (&self.instance.provider, &self.handle.zone);
        let began = Instant::now();
        let listing = provider.records(zone, Read::Names(names)).await?;
        let claims = self.unread_claims(&listing, names);
        let mut changed = Changed::new();
        if !claims.is_empty() {
            let began = Instant::now();
            let listing = provider.records(zone, Read::Names(&claims)).await?;
            changed.extend(self.take_names(listing, &claims, began));
        }
        changed.extend(self.take_names(listing, names, began));
        self.wake_claimed(&changed);
        self.recount_changed(&changed).await;
        Ok(changed)
    }

    fn take_names(&self, listing: Listing, names: &BTreeSet<DnsName>, began: Instant) -> Changed {
        let listing = self.instance.named(listing, &self.handle.zone);
        self.handle.view_mut().take(listing, Some(names), began, Duration::ZERO)
    }

    /// Where claims may stand on records that were read at `names` and that nobody knew of, and were not read with them: without
    /// these a claim in the old format, which speaks for all types of a name, would seem to be theirs.
    fn unread_claims(&self, listing: &Listing, names: &BTreeSet<DnsName>) -> BTreeSet<DnsName> {
        let Listing::Names(sets) = listing else { return BTreeSet::new() };
        let zone = &self.handle.zone;
        let is_new = |set: &&RecordSet| {
            let known = self.handle.view().at(&set.key.name);
            !known.iter().any(|known| known.key.rtype == set.key.rtype)
        };
        let managed = |set: &&RecordSet| self.context.config.managed.contains(&set.key.rtype);
        let records = sets.iter().filter(managed).filter(is_new).filter(|set| !self.instance.is_claim(zone, set));
        let claims = records.flat_map(|set| self.instance.registry.claim_names(zone, &set.key));
        claims.filter(|name| name.is_within(&zone.name) && !names.contains(name)).collect()
    }

    /// The names in this zone that a group changes or rests on.
    pub(crate) fn touched(&self, group: &Group) -> BTreeSet<DnsName> {
        let registry = &self.instance.registry;
        let mut names: BTreeSet<DnsName> = names_of(group).cloned().collect();
        for step in group.records() {
            names.extend(registry.claim_names(&self.handle.zone, step.change.key()));
        }
        // What an intent stands for decides whether it may go.
        let intents = group.changes().filter_map(Change::from).flat_map(Intent::all_in);
        names.extend(intents.flat_map(|intent| intent.records).map(|record| record.name));
        names.retain(|name| name.is_within(&self.handle.zone.name));
        names
    }

    /// Publishes the number of our records.
    pub(crate) fn publish_owned(&self) {
        let owned = i64::try_from(self.claims.owned).unwrap_or(i64::MAX);
        self.context.metrics.owned.get_or_create(&self.label()).set(owned);
    }
}
