//! The zones, and what is remembered of each.
//!
//! A domain that moves from one account to another has a zone in each for a while: the new one is pending until the registrar delegates
//! to it, and the old one has moved then. What must hold: of zones of one name the active one is served alone.
//!
//! <https://developers.cloudflare.com/api/resources/zones/methods/list/>

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tracing::warn;
use zonewright_core::filter::DomainFilter;
use zonewright_core::zone::{InstanceId, ZoneId};
use zonewright_core::{DnsName, Error, ErrorKind, Result, Zone};
use zonewright_http::Request;

use crate::client::Service;
use crate::limits::Plan;
use crate::operation::{LIST_ZONES, READ_ZONE};
use crate::wire;

/// Zones on a page, the most that the service gives.
const PAGE: u64 = 50;

/// The zones of one provider.
#[derive(Debug)]
pub(crate) struct Zones {
    instance: InstanceId,
    service: Arc<Service>,
    /// Ids, in place of a list of all.
    ids: Vec<String>,
    filter: DomainFilter,
    known: Mutex<HashMap<ZoneId, Known>>,
    /// Whether the last list was empty.
    none: AtomicBool,
    /// What the last list was warned of.
    warned: Mutex<BTreeSet<String>>,
}

/// What is remembered of a zone.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Known {
    pub(crate) plan: Plan,
    /// Records at the last look.
    pub(crate) total: Option<u64>,
}

impl Zones {
    pub(crate) fn new(instance: InstanceId, service: Arc<Service>, ids: Vec<String>, filter: DomainFilter) -> Self {
        let (known, none, warned) = (Mutex::default(), AtomicBool::new(false), Mutex::default());
        Self { instance, service, ids, filter, known, none, warned }
    }

    /// What is remembered of a zone; nothing of one that was never listed.
    pub(crate) fn known(&self, id: &ZoneId) -> Known {
        self.lock().get(id).copied().unwrap_or_default()
    }

    /// Remembers how many records a zone holds.
    pub(crate) fn count(&self, id: &ZoneId, total: Option<u64>) {
        if let (Some(known), Some(_)) = (self.lock().get_mut(id), total) {
            known.total = total;
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ZoneId, Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The zones that are selected: those of the ids, whatever their names are, or all whose names pass the filter. Of several of one
    /// name it is the active one alone, if there is one.
    ///
    /// # Errors
    /// The list is not whole.
    pub(crate) async fn list(&self) -> Result<Vec<Zone>> {
        let mut warnings = BTreeSet::new();
        let found = if self.ids.is_empty() {
            let found = self.named(None).await?;
            self.note_none(found.is_empty());
            found
        } else {
            self.by_ids(&mut warnings).await?
        };
        let active = only_active(&found);
        let mut zones: Vec<Zone> = Vec::new();
        for (theirs, ours) in found.iter().filter_map(|zone| Some((zone, self.selected(zone)?))) {
            match active.get(&ours.name) {
                Some(other) if other.id != theirs.id => {
                    let (name, id, status) =
                        (&ours.name, &theirs.id, theirs.status.as_deref().unwrap_or("of no status"));
                    let text = format!("zone {name} ({id}) is {status} and left out: {} is active", other.id);
                    warnings.insert(text);
                }
                _ => zones.push(ours),
            }
        }
        zones.sort_by(|one, other| one.key.cmp(&other.key));
        self.lock().retain(|id, _| zones.iter().any(|zone| zone.key.zone == *id));
        self.warn_of(warnings);
        Ok(zones)
    }

    /// All zones, or those of a name.
    async fn named(&self, name: Option<&str>) -> Result<Vec<wire::Zone>> {
        let page = |number| {
            let request = Request::get("/zones").query("page", number).query("per_page", PAGE);
            match name {
                Some(name) => request.query("name", name),
                None => request,
            }
        };
        self.service.all(LIST_ZONES, page).await
    }

    /// The zones of the ids, each once. One that is not there is left out, and one that the token does not reach: the service answers as
    /// it does to a bad token, which is one where it reaches none.
    ///
    /// # Errors
    /// It cannot be determined of one of them, or none is within reach.
    async fn by_ids(&self, warnings: &mut BTreeSet<String>) -> Result<Vec<wire::Zone>> {
        let (mut found, mut denied): (Vec<wire::Zone>, Option<Error>) = (Vec::new(), None);
        for id in &self.ids {
            match self.ask(id).await {
                Ok(Some(zone)) if found.iter().any(|other| other.id == zone.id) => {}
                Ok(Some(zone)) => found.push(zone),
                Ok(None) => drop(warnings.insert(format!("zone {id} of --zone-id-filter is not there"))),
                Err(error) if error.kind == ErrorKind::Unauthorized => {
                    warnings.insert(format!("zone {id} of --zone-id-filter is left out: {}", error.chain()));
                    denied.get_or_insert(error);
                }
                Err(error) => return Err(error),
            }
        }
        match denied {
            Some(error) if found.is_empty() => Err(error),
            _ => Ok(found),
        }
    }

    /// Logs what the list before was not warned of.
    fn warn_of(&self, warnings: BTreeSet<String>) {
        let mut former = self.warned.lock().unwrap_or_else(PoisonError::into_inner);
        warnings.difference(&former).for_each(|text| warn!("{text}"));
        *former = warnings;
    }

    /// A token without the permission is shown an empty list, and no error.
    fn note_none(&self, none: bool) {
        if none && !self.none.swap(none, Ordering::Relaxed) {
            let (place, permission) = (self.service.place(), LIST_ZONES.permission);
            warn!("Cloudflare lists no zone; asked with {place}; expected the permission {permission} on a zone");
        }
        self.none.store(none, Ordering::Relaxed);
    }

    /// One zone, if it is there and selected, and not left out for another one.
    ///
    /// # Errors
    /// It cannot be determined.
    pub(crate) async fn one(&self, id: &ZoneId) -> Result<Option<Zone>> {
        if !self.ids.is_empty() && !self.ids.iter().any(|selected| selected == id.as_str()) {
            return Ok(None);
        }
        match self.ask(id.as_str()).await {
            Ok(Some(zone)) if zone.is_active() || !self.is_left_out(&zone).await? => Ok(self.selected(&zone)),
            Ok(_) => Ok(None),
            // So the service answers too where a token sees no such zone; the list shows whether the token is good.
            Err(error) if error.kind == ErrorKind::Unauthorized && self.ids.is_empty() => {
                Ok(self.list().await?.into_iter().find(|zone| zone.key.zone == *id))
            }
            Err(error) => Err(error),
        }
    }

    /// Whether another zone of the name is served in place of this one.
    async fn is_left_out(&self, zone: &wire::Zone) -> Result<bool> {
        let all = if self.ids.is_empty() {
            self.named(Some(&zone.name)).await?
        } else {
            self.by_ids(&mut BTreeSet::new()).await?
        };
        let Ok(name) = DnsName::parse(&zone.name) else { return Ok(false) };
        Ok(only_active(&all).get(&name).is_some_and(|other| other.id != zone.id))
    }

    async fn ask(&self, id: &str) -> Result<Option<wire::Zone>> {
        match self.service.ask(READ_ZONE, &Request::get("/zones/{zone}").set("zone", id)).await {
            Ok(zone) => Ok(zone),
            Err(failure) if failure.is_not_found() => Ok(None),
            Err(failure) => Err(failure.into()),
        }
    }

    /// A zone, if it is selected.
    fn selected(&self, zone: &wire::Zone) -> Option<Zone> {
        let name = match DnsName::parse(&zone.name) {
            Ok(name) => name,
            Err(error) => {
                warn!(zone = zone.id, %error, "a zone is left out: its name cannot be read");
                return None;
            }
        };
        if self.ids.is_empty() && !self.filter.matches(&name) {
            return None;
        }
        let ours = Zone::new(&self.instance, &zone.id, name);
        self.lock().entry(ours.key.zone.clone()).or_default().plan = Plan::of(zone.plan.as_ref());
        Some(ours)
    }
}

/// The zone of each name that is the only active one of it.
fn only_active(zones: &[wire::Zone]) -> BTreeMap<DnsName, &wire::Zone> {
    let mut active: BTreeMap<DnsName, Option<&wire::Zone>> = BTreeMap::new();
    for zone in zones.iter().filter(|zone| zone.is_active()) {
        let Ok(name) = DnsName::parse(&zone.name) else { continue };
        active.entry(name).and_modify(|other| *other = None).or_insert(Some(zone));
    }
    active.into_iter().filter_map(|(name, zone)| Some((name, zone?))).collect()
}
