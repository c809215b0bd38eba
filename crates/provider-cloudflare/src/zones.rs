//! The zones, and what is remembered of each.
//!
//! <https://developers.cloudflare.com/api/resources/zones/methods/list/>

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tracing::warn;
use zonewright_core::filter::DomainFilter;
use zonewright_core::zone::{InstanceId, ZoneId};
use zonewright_core::{DnsName, ErrorKind, Result, Zone};
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
        Self { instance, service, ids, filter, known: Mutex::default(), none: AtomicBool::new(false) }
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

    /// The zones that are selected: those of the ids, whatever their names are, or all whose names pass the filter.
    ///
    /// # Errors
    /// The list is not whole.
    pub(crate) async fn list(&self) -> Result<Vec<Zone>> {
        let mut found = Vec::new();
        if self.ids.is_empty() {
            let page = |number| Request::get("/zones").query("page", number).query("per_page", PAGE);
            found = self.service.all::<wire::Zone>(LIST_ZONES, page).await?;
            self.note_none(found.is_empty());
        } else {
            for id in &self.ids {
                let zone = self.ask(id).await?;
                if zone.is_none() {
                    warn!(zone = id, "the zone of --zone-id-filter is not there");
                }
                found.extend(zone);
            }
        }
        let mut zones: Vec<Zone> = found.iter().filter_map(|zone| self.selected(zone)).collect();
        zones.sort_by(|one, other| one.key.cmp(&other.key));
        zones.dedup_by(|one, other| one.key == other.key);
        self.lock().retain(|id, _| zones.iter().any(|zone| zone.key.zone == *id));
        Ok(zones)
    }

    /// A token without the permission is shown an empty list, and no error.
    fn note_none(&self, none: bool) {
        if none && !self.none.swap(none, Ordering::Relaxed) {
            let (place, permission) = (self.service.place(), LIST_ZONES.permission);
            warn!("Cloudflare lists no zone; asked with {place}; expected the permission {permission} on a zone");
        }
        self.none.store(none, Ordering::Relaxed);
    }

    /// One zone, if it is there and selected.
    ///
    /// # Errors
    /// It cannot be determined.
    pub(crate) async fn one(&self, id: &ZoneId) -> Result<Option<Zone>> {
        if !self.ids.is_empty() && !self.ids.iter().any(|selected| selected == id.as_str()) {
            return Ok(None);
        }
        match self.ask(id.as_str()).await {
            Ok(zone) => Ok(zone.and_then(|zone| self.selected(&zone))),
            // So the service answers too where a token sees no such zone; the list shows whether the token is good.
            Err(error) if error.kind == ErrorKind::Unauthorized && self.ids.is_empty() => {
                Ok(self.list().await?.into_iter().find(|zone| zone.key.zone == *id))
            }
            Err(error) => Err(error),
        }
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
