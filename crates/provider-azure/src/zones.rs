//! The zones of a resource group, or of a whole subscription.
//!
//! <https://learn.microsoft.com/rest/api/dns/zones/list-by-resource-group>,
//! <https://learn.microsoft.com/rest/api/dns/privatedns/private-zones/list-by-resource-group>

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tracing::warn;
use zonewright_core::filter::DomainFilter;
use zonewright_core::zone::{InstanceId, Visibility, ZoneId};
use zonewright_core::{DnsName, Result, Zone};
use zonewright_http::{Request, Share};

use crate::arm::{ArmId, Kind};
use crate::client::{Service, Subject, wrong};
use crate::wire::{self, Page};

const LIST: &str = "list zones";
/// In place of a resource group: every one of the subscription.
const EVERY_GROUP: &str = "*";
/// Most pages of one list: what goes on after them goes on for ever.
const PAGES: usize = 10_000;

/// Which zones are served.
#[derive(Debug, Clone, Default)]
pub(crate) struct Selection {
    /// Ends of identifiers in lower case; every zone without any.
    pub(crate) ids: Vec<String>,
    pub(crate) filter: DomainFilter,
    /// Zones that are served whatever the other two say.
    pub(crate) names: Option<DomainFilter>,
}

impl Selection {
    fn has(&self, id: &str, name: &DnsName) -> bool {
        let id = id.to_ascii_lowercase();
        let by_id = self.ids.is_empty() || self.ids.iter().any(|end| id.ends_with(end.as_str()));
        by_id && self.filter.matches(name) || self.names.as_ref().is_some_and(|names| names.matches(name))
    }
}

/// The zones of one provider.
#[derive(Debug)]
pub(crate) struct Zones {
    pub(crate) instance: InstanceId,
    pub(crate) kind: Kind,
    pub(crate) service: Arc<Service>,
    pub(crate) subscription: String,
    pub(crate) group: String,
    pub(crate) selection: Selection,
    /// How long a list is good.
    pub(crate) keep: Duration,
    pub(crate) kept: Mutex<Option<(Instant, Vec<Zone>)>>,
}

impl Zones {
    /// The zones that are selected; those of the last list as long as it is good.
    ///
    /// # Errors
    /// The list is not whole.
    pub(crate) async fn list(&self) -> Result<Vec<Zone>> {
        if let Some((read, zones)) = &*self.kept.lock().unwrap_or_else(PoisonError::into_inner)
            && read.elapsed() < self.keep
        {
            return Ok(zones.clone());
        }
        let begun = Instant::now();
        let zones = self.read().await?;
        *self.kept.lock().unwrap_or_else(PoisonError::into_inner) = Some((begun, zones.clone()));
        Ok(zones)
    }

    async fn read(&self) -> Result<Vec<Zone>> {
        let mut request = Request::get(self.template())
            .set("subscription", &self.subscription)
            .query("api-version", self.kind.version());
        if self.group != EVERY_GROUP {
            request = request.set("group", &self.group);
        }
        let mut page: Page<wire::Zone> = self.service.read(Subject::Zones, LIST, &request).await?;
        let mut zones: Vec<Zone> = Vec::new();
        for _ in 0..PAGES {
            zones.extend(page.value.iter().filter_map(|zone| self.selected(zone)));
            let Some(next) = page.next() else {
                zones.sort_by(|one, other| one.key.cmp(&other.key));
                zones.dedup_by(|one, other| one.key == other.key);
                return Ok(zones);
            };
            let last = page.value.last().map(|zone| zone.id.clone());
            page = self.service.follow(Subject::Zones, LIST, (&next, self.template()), Share::Full).await?;
            if page.next.as_deref() == Some(next.trim()) || last == page.value.last().map(|zone| zone.id.clone()) {
                return Err(wrong(LIST, "a page says that it follows itself"));
            }
        }
        Err(wrong(LIST, format!("the list does not end after {PAGES} pages")))
    }

    fn template(&self) -> &'static str {
        match self.kind {
            Kind::Public if self.group == EVERY_GROUP => {
                "/subscriptions/{subscription}/providers/Microsoft.Network/dnsZones"
            }
            Kind::Private if self.group == EVERY_GROUP => {
                "/subscriptions/{subscription}/providers/Microsoft.Network/privateDnsZones"
            }
            Kind::Public => "/subscriptions/{subscription}/resourceGroups/{group}/providers/Microsoft.Network/dnsZones",
            Kind::Private => {
                "/subscriptions/{subscription}/resourceGroups/{group}/providers/Microsoft.Network/privateDnsZones"
            }
        }
    }

    /// One zone, if it is there and selected.
    ///
    /// # Errors
    /// It cannot be determined.
    pub(crate) async fn one(&self, id: &ZoneId) -> Result<Option<Zone>> {
        let Some(arm) = ArmId::parse(id.as_str(), self.kind) else { return Ok(None) };
        let template = match self.kind {
            Kind::Public => {
                "/subscriptions/{subscription}/resourceGroups/{group}/providers/Microsoft.Network/dnsZones/{zone}"
            }
            Kind::Private => {
                "/subscriptions/{subscription}/resourceGroups/{group}/providers/Microsoft.Network/privateDnsZones/{zone}"
            }
        };
        let request = Request::get(template)
            .set("subscription", &arm.subscription)
            .set("group", &arm.group)
            .set("zone", &arm.zone)
            .query("api-version", self.kind.version());
        match self.service.read::<wire::Zone>(Subject::Zones, "read zone", &request).await {
            Ok(zone) => Ok(self.selected(&zone)),
            Err(failure) if failure.is_not_found() => Ok(None),
            Err(failure) => Err(failure.into()),
        }
    }

    /// A zone, if it is selected.
    fn selected(&self, zone: &wire::Zone) -> Option<Zone> {
        let (name, id) = match (DnsName::parse(&zone.name), ArmId::parse(&zone.id, self.kind)) {
            (Ok(name), Some(id)) => (name, id),
            (Err(error), _) => {
                warn!(zone = zone.name, %error, "a zone is left out: its name cannot be read");
                return None;
            }
            (_, None) => {
                warn!(zone = zone.name, id = zone.id, "a zone is left out: its identifier cannot be read");
                return None;
            }
        };
        let visibility = match self.kind {
            Kind::Public => Visibility::Public,
            Kind::Private => Visibility::Private,
        };
        let selected = self.selection.has(&zone.id, &name);
        selected.then(|| Zone { visibility, ..Zone::new(&self.instance, id.id(self.kind).as_str(), name) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zones_are_selected() {
        let id = "/subscriptions/S/resourceGroups/Shop/providers/Microsoft.Network/dnsZones/Example.org";
        let filter = |domain: &str| DomainFilter::new(&[domain.to_owned()], &[], "", "").unwrap();
        for (ids, domain, named, expected) in [
            (vec![], "", None, true),
            (vec![], "example.org", None, true),
            (vec![], "example.com", None, false),
            (vec!["example.org"], "", None, true),
            (vec!["shop/providers/microsoft.network/dnszones/example.org"], "", None, true),
            (vec!["example.com"], "", None, false),
            (vec!["example.com"], "", Some("example.org"), true),
            (vec![], "example.com", Some("example.org"), true),
            (vec![], "example.com", Some("example.net"), false),
        ] {
            let selection = Selection {
                ids: ids.iter().map(|id| (*id).to_owned()).collect(),
                filter: filter(domain),
                names: named.map(filter),
            };
            let name = DnsName::parse("example.org").unwrap();
            assert_eq!(selection.has(id, &name), expected, "{ids:?} {domain} {named:?}");
        }
    }
}
