//! One provider instance: its provider and registry, the zones that it was last seen to have, and whose a record in them is.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use tokio::time::Instant;
use zonewright_core::choice::Chooser;
use zonewright_core::claim::{Ownership, judge};
use zonewright_core::endpoint::Endpoint;
use zonewright_core::error::Error;
use zonewright_core::filter::DomainFilter;
use zonewright_core::interpret::interpret;
use zonewright_core::name::DnsName;
use zonewright_core::options::OptionReader;
use zonewright_core::provider::{Listing as Answer, Provider};
use zonewright_core::record::{RecordKey, RecordSet};
use zonewright_core::registry::{Published, Registry, holds_claims};
use zonewright_core::zone::{InstanceId, Zone, ZoneId, ZoneKey, route_ranked};

use crate::audit_lane::AuditLane;
use crate::config::Instance;
use crate::in_set;
use crate::layer::AmbiguousZones;
use crate::zone_handle::ZoneHandle;

/// One provider instance with the zones that it was last seen to have.
pub(crate) struct ProviderInstance {
    pub(crate) id: InstanceId,
    /// The provider, with the layers around it.
    pub(crate) provider: Arc<dyn Provider>,
    pub(crate) registry: Arc<dyn Registry>,
    pub(crate) options: OptionReader,
    pub(crate) chooser: Chooser,
    pub(crate) filter: DomainFilter,
    pub(crate) ambiguous: Arc<AmbiguousZones>,
    zones: RwLock<Vec<Arc<ZoneHandle>>>,
    listing: Mutex<ZoneListStatus>,
    /// When its zones are audited.
    pub(crate) audits: AuditLane,
}

/// How the list of an instance's zones is doing.
#[derive(Debug, Default)]
pub(crate) struct ZoneListStatus {
    pub(crate) tried: bool,
    pub(crate) error: Option<(Error, Instant)>,
    /// They are not listed again.
    pub(crate) given_up: bool,
    /// Zones of an earlier process that the list leaves out, and that cannot be asked for: why.
    pub(crate) unsure: BTreeMap<ZoneId, String>,
}

impl ProviderInstance {
    pub(crate) fn new(instance: Instance) -> Self {
        let Instance { id, provider, registry, options, chooser, filter, ambiguous, webhook: _ } = instance;
        let provider = in_set::around(provider, &*registry);
        let (zones, listing, audits) = (RwLock::default(), Mutex::default(), AuditLane::default());
        Self { id, provider, registry, options, chooser, filter, ambiguous, zones, listing, audits }
    }

    pub(crate) fn zone_handles(&self) -> Vec<Arc<ZoneHandle>> {
        self.zones.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn set_zone_handles(&self, zone_handles: Vec<Arc<ZoneHandle>>) {
        *self.zones.write().unwrap_or_else(PoisonError::into_inner) = zone_handles;
    }

    pub(crate) fn listing(&self) -> MutexGuard<'_, ZoneListStatus> {
        self.listing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The zone handle that a name belongs to.
    pub(crate) fn route(&self, name: &DnsName) -> Vec<Arc<ZoneHandle>> {
        let rule = self.provider.capability(None).zone_rule;
        let zone_handles = self.zone_handles();
        let came_beside = |zone: &Zone| {
            let handle = zone_handles.iter().find(|handle| handle.zone.key == zone.key);
            handle.and_then(|handle| handle.came_beside)
        };
        let zones = route_ranked(rule, zone_handles.iter().map(|d| &d.zone), name, came_beside);
        let keys: Vec<ZoneKey> = zones.into_iter().map(|zone| zone.key.clone()).collect();
        zone_handles.into_iter().filter(|handle| keys.contains(&handle.zone.key)).collect()
    }

    /// Whether names count here, as far as the instance and the zone's own filter say.
    pub(crate) fn counts(&self, handle: &ZoneHandle, name: &DnsName) -> bool {
        self.filter.matches(name) && handle.zone.filter.matches(name)
    }

    /// Whether an endpoint may go to a zone: its name counts there, and its object chose no other instance.
    pub(crate) fn covers(&self, handle: &ZoneHandle, endpoint: &Endpoint) -> bool {
        let chosen = self.chooser.takes(endpoint.origin.choice.as_ref());
        chosen && self.filter.matches(&endpoint.name) && handle.zone.covers(&endpoint.name)
    }

    /// Whether a name belongs to the zone of `zone handle`.
    pub(crate) fn serves(&self, handle: &ZoneHandle, name: &DnsName) -> bool {
        self.candidates(handle, name).contains(&handle.zone.key.zone)
    }

    pub(crate) fn has_one_zone(&self) -> bool {
        self.zones.read().unwrap_or_else(PoisonError::into_inner).len() < 2
    }

    /// The other zones whose apex is one of these names.
    pub(crate) fn others_named(&self, zone: &ZoneKey, names: &BTreeSet<DnsName>) -> Vec<Arc<ZoneHandle>> {
        let zones = self.zones.read().unwrap_or_else(PoisonError::into_inner);
        let other = |handle: &&Arc<ZoneHandle>| handle.zone.key != *zone && names.contains(&handle.zone.name);
        zones.iter().filter(other).cloned().collect()
    }

    /// The zone that a name goes to in place of this one, which has the same name.
    pub(crate) fn in_place_of(&self, handle: &ZoneHandle, name: &DnsName) -> Option<Arc<ZoneHandle>> {
        if self.has_one_zone() {
            return None;
        }
        let serving = self.route(name);
        let own = |other: &Arc<ZoneHandle>| other.zone.key == handle.zone.key;
        let twin = |other: &&Arc<ZoneHandle>| {
            other.zone.name == handle.zone.name && other.zone.visibility == handle.zone.visibility
        };
        if serving.iter().any(own) { None } else { serving.iter().find(twin).cloned() }
    }

    /// The zones that a name belongs to, by their ids, in a stable order.
    pub(crate) fn candidates(&self, handle: &ZoneHandle, name: &DnsName) -> Vec<ZoneId> {
        // With one zone there is nothing to choose.
        if let [only] = &**self.zones.read().unwrap_or_else(PoisonError::into_inner) {
            let here = only.zone.key == handle.zone.key && name.is_within(&only.zone.name);
            return if here { vec![only.zone.key.zone.clone()] } else { Vec::new() };
        }
        self.route(name).iter().map(|other| other.zone.key.zone.clone()).collect()
    }

    /// Whether a record set stands in a zone under a key that the provider would publish an endpoint under.
    pub(crate) fn has_published(&self, handle: &ZoneHandle, endpoint: &Endpoint) -> bool {
        if !self.chooser.takes(endpoint.origin.choice.as_ref()) {
            return false;
        }
        let capability = self.provider.capability(Some(&handle.zone));
        let made = self.provider.interpret(&handle.zone, endpoint);
        let own = std::slice::from_ref(&handle.zone.key.zone);
        let forms = interpret(endpoint, &handle.zone, own, &capability, made).forms;
        let view = handle.view();
        forms.iter().any(|form| view.holds(&form.key()))
    }

    /// Whose `key` in a zone is, by the claims in all zones of the instance.
    pub(crate) fn ownership(&self, zone: &Zone, key: &RecordKey) -> Ownership {
        let owner = self.registry.owner();
        if owner.is_none() {
            return Ownership::Ours(None);
        }
        judge(&self.registry.claims(zone, key, self), owner)
    }

    /// What was read of a zone, with the names of our items. The views must not be locked.
    pub(crate) fn named(&self, listing: Answer, zone: &Zone) -> Answer {
        in_set::named(listing, zone, (&*self.provider, &*self.registry), self)
    }

    /// Whether a record set in a zone holds claims. The views must not be locked.
    pub(crate) fn is_claim(&self, zone: &Zone, set: &RecordSet) -> bool {
        holds_claims(&*self.registry, zone, set, self)
    }
}

impl Published for ProviderInstance {
    fn find(&self, near: &ZoneKey, key: &RecordKey) -> Option<(ZoneKey, RecordSet)> {
        let zone_handles = self.zones.read().unwrap_or_else(PoisonError::into_inner);
        let here = |handle: &Arc<ZoneHandle>| Some((handle.zone.key.clone(), handle.view().find(key)?));
        if let Some(found) = zone_handles.iter().find(|handle| handle.zone.key == *near).and_then(here) {
            return Some(found);
        }
        let other = |handle: &&Arc<ZoneHandle>| handle.zone.key != *near && key.name.is_within(&handle.zone.name);
        let mut others: Vec<&Arc<ZoneHandle>> = zone_handles.iter().filter(other).collect();
        others.sort_by_key(|handle| std::cmp::Reverse(handle.zone.name.label_count()));
        others.into_iter().find_map(here)
    }

    fn zones_at(&self, name: &DnsName) -> Vec<(Zone, bool)> {
        let zone_handles = self.zones.read().unwrap_or_else(PoisonError::into_inner);
        let at = zone_handles.iter().filter(|handle| handle.zone.name == *name);
        at.map(|handle| (handle.zone.clone(), handle.view().is_complete())).collect()
    }
}

/// How far the zones of an instance are since the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FirstPlans {
    /// Some zone was neither planned nor has it failed, or the zones were not listed yet.
    Open,
    /// The zones cannot be listed, and none is known.
    Unlisted,
    /// Every zone has been planned once, or has failed.
    Done,
}

impl FirstPlans {
    pub(crate) fn of(instance: &ProviderInstance) -> Self {
        let zone_handles = instance.zone_handles();
        {
            let listing = instance.listing();
            match (listing.tried, listing.error.is_some() && zone_handles.is_empty()) {
                (false, _) => return Self::Open,
                (true, true) => return Self::Unlisted,
                (true, false) => {}
            }
        }
        let done = |handle: &Arc<ZoneHandle>| {
            let status = handle.status();
            status.planned || status.failing.is_some()
        };
        if zone_handles.iter().all(done) { Self::Done } else { Self::Open }
    }
}
