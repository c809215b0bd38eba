//! The zones of a project.
//!
//! <https://cloud.google.com/dns/docs/reference/rest/v1/managedZones/list>

use std::sync::{Arc, Mutex, PoisonError};

use tracing::{info, warn};
use zonewright_core::filter::DomainFilter;
use zonewright_core::zone::{InstanceId, Visibility, ZoneId};
use zonewright_core::{DnsName, Error, ErrorKind, Result, Zone};
use zonewright_http::Request;

use crate::client::Service;
use crate::operation::{LIST_ZONES, READ_PROJECT, READ_ZONE};
use crate::wire::{self, Quota};

/// Most pages of one list: what goes on after them goes on for ever.
const PAGES: usize = 10_000;

/// Which zones are served.
#[derive(Debug, Clone, Default)]
pub(crate) struct Selection {
    /// Ends of ids or names; every zone without any.
    pub(crate) ids: Vec<String>,
    pub(crate) visibility: Option<Visibility>,
    pub(crate) filter: DomainFilter,
}

impl Selection {
    fn has(&self, zone: &wire::Zone, name: &DnsName, visibility: Visibility) -> bool {
        let ends = |id: &String| zone.id.ends_with(id.as_str()) || zone.name.ends_with(id.as_str());
        self.visibility.is_none_or(|wanted| wanted == visibility)
            && (self.ids.is_empty() || self.ids.iter().any(ends))
            && self.filter.matches(name)
    }
}

/// The zones of one provider.
#[derive(Debug)]
pub(crate) struct Zones {
    instance: InstanceId,
    service: Arc<Service>,
    selection: Selection,
    /// The limits of the project, once they were read.
    quota: Mutex<Option<Quota>>,
}

impl Zones {
    pub(crate) fn new(instance: InstanceId, service: Arc<Service>, selection: Selection) -> Self {
        Self { instance, service, selection, quota: Mutex::default() }
    }

    /// The limits of the project; the documented ones as long as they were not read.
    pub(crate) fn quota(&self) -> Quota {
        self.quota.lock().unwrap_or_else(PoisonError::into_inner).unwrap_or_default()
    }

    /// Reads the limits of the project, once. Where that is not allowed the documented ones apply.
    async fn read_quota(&self) {
        if self.quota.lock().unwrap_or_else(PoisonError::into_inner).is_some() {
            return;
        }
        let read = self.service.ask::<wire::Project>(READ_PROJECT, Request::get("/projects/{project}")).await;
        let read = match read {
            Ok(project) => project.quota.unwrap_or_default(),
            // Asked for again with the next list.
            Err(failure) => {
                info!(error = %failure, "the limits of the project cannot be read; the documented ones apply");
                return;
            }
        };
        *self.quota.lock().unwrap_or_else(PoisonError::into_inner) = Some(read);
    }

    /// The zones that are selected and can be changed.
    ///
    /// # Errors
    /// The list is not whole.
    pub(crate) async fn list(&self) -> Result<Vec<Zone>> {
        let mut found: Vec<wire::Zone> = Vec::new();
        let mut token: Option<String> = None;
        for _ in 0..PAGES {
            let mut request = Request::get("/projects/{project}/managedZones");
            if let Some(token) = &token {
                request = request.query("pageToken", token);
            }
            let page: wire::Zones = self.service.ask(LIST_ZONES, request).await?;
            found.extend(page.managed_zones);
            match page.next_page_token.filter(|next| !next.is_empty()) {
                Some(next) if token.as_ref() == Some(&next) => {
                    return Err(Error::new(ErrorKind::Protocol, LIST_ZONES, "a page says that it follows itself"));
                }
                Some(next) => token = Some(next),
                None => {
                    self.read_quota().await;
                    return Ok(self.of(&found));
                }
            }
        }
        Err(Error::new(ErrorKind::Protocol, LIST_ZONES, format!("the list does not end after {PAGES} pages")))
    }

    fn of(&self, found: &[wire::Zone]) -> Vec<Zone> {
        let mut zones: Vec<Zone> = found.iter().filter_map(|zone| self.selected(zone)).collect();
        zones.sort_by(|one, other| one.key.cmp(&other.key));
        zones.dedup_by(|one, other| one.key == other.key);
        zones
    }

    /// One zone, if it is there and selected.
    ///
    /// # Errors
    /// It cannot be determined.
    pub(crate) async fn one(&self, id: &ZoneId) -> Result<Option<Zone>> {
        let request = Request::get("/projects/{project}/managedZones/{zone}").set("zone", id);
        match self.service.ask::<wire::Zone>(READ_ZONE, request).await {
            Ok(zone) => Ok(self.selected(&zone)),
            Err(failure) if failure.is_not_found() => Ok(None),
            Err(failure) => Err(failure.into()),
        }
    }

    /// A zone, if it is selected and has records of its own.
    fn selected(&self, zone: &wire::Zone) -> Option<Zone> {
        if has_no_records(zone) {
            return None;
        }
        let name = match DnsName::parse(&zone.dns_name) {
            Ok(name) => name,
            Err(error) => {
                warn!(zone = zone.name, %error, "a zone is left out: its name cannot be read");
                return None;
            }
        };
        let visibility = match zone.visibility.as_deref() {
            None | Some("" | "public") => Visibility::Public,
            Some(_) => Visibility::Private,
        };
        let selected = self.selection.has(zone, &name, visibility);
        let number = Some(zone.id.as_str()).filter(|number| !number.is_empty()).map(ZoneId::from);
        selected.then(|| Zone { visibility, other_id: number, ..Zone::new(&self.instance, &zone.name, name) })
    }
}

/// Whether the answers of a zone come from elsewhere: then its records cannot be changed.
fn has_no_records(zone: &wire::Zone) -> bool {
    let configs =
        [&zone.peering_config, &zone.forwarding_config, &zone.service_directory_config, &zone.reverse_lookup_config];
    configs.into_iter().any(|config| config.as_ref().is_some_and(|config| !config.is_null()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zones_are_selected() {
        let zone = |text: &str| -> wire::Zone { serde_json::from_str(text).unwrap() };
        let ours = zone(r#"{"id":"1234","name":"shop-zone","dnsName":"example.org.","visibility":"private"}"#);
        let name = DnsName::parse("example.org").unwrap();
        let selection = |ids: &[&str], visibility| Selection {
            ids: ids.iter().map(|id| (*id).to_owned()).collect(),
            visibility,
            ..Selection::default()
        };
        for (ids, visibility, expected) in [
            (&[][..], None, true),
            (&["1234"], None, true),
            (&["34"], None, true),
            (&["zone"], None, true),
            (&["shop-zone", "x"], None, true),
            (&["shop"], None, false),
            (&[], Some(Visibility::Private), true),
            (&[], Some(Visibility::Public), false),
        ] {
            assert_eq!(
                selection(ids, visibility).has(&ours, &name, Visibility::Private),
                expected,
                "{ids:?} {visibility:?}"
            );
        }
        for (config, expected) in [
            (r#""peeringConfig":{}"#, true),
            (r#""forwardingConfig":{"targetNameServers":[]}"#, true),
            (r#""serviceDirectoryConfig":{}"#, true),
            (r#""reverseLookupConfig":{}"#, true),
            (r#""peeringConfig":null"#, false),
            (r#""dnssecConfig":{}"#, false),
        ] {
            let zone = zone(&format!(r#"{{"id":"1","name":"z","dnsName":"example.org.",{config}}}"#));
            assert_eq!(has_no_records(&zone), expected, "{config}");
        }
    }
}
