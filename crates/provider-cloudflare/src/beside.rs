//! What the service keeps beside the records of a name: custom host names that it is the origin of, and the region in which it
//! is handled.
//!
//! In: what the service lists of both, and what sets state by their options. Out: options of the sets that are read, and the requests
//! that make the one of the other. What must hold: neither costs a record anything. Where one of the lists cannot be had at all (no
//! such product, no right to it), the options are left out and it is reported on the objects; a change that fails is reported by itself.
//! Where a list cannot be had this time, what it was before stays as it is, and nothing is changed by it. What a name has goes before
//! the last of its records does: nothing else remembers it.
//!
//! <https://developers.cloudflare.com/api/resources/custom_hostnames/>,
//! <https://developers.cloudflare.com/api/resources/addressing/subresources/regional_hostnames/>

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::json;
use zonewright_core::change::{Change, Group};
use zonewright_core::options::Options;
use zonewright_core::{DnsName, Error, ErrorKind, RecordKey, RecordSet, RecordType, Zone};
use zonewright_http::{Failure, Method, Request, Share};

use crate::client::Service;
use crate::config::{Defaults, Hostnames};
use crate::convert::is_proxiable;
use crate::operation::{APPLY, LIST_HOSTNAMES, LIST_REGIONS, Operation, WRITE_HOSTNAMES, WRITE_REGIONS};
use crate::options::{HOSTNAMES, REGION, list, set as set_text, text};
use crate::records::Groups;
use crate::table::Table;
use crate::wire::Identified;

/// Custom host names on a page, the most that the service gives.
const PAGE: u64 = 50;

/// A custom host name, as it is listed.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct Hostname {
    id: String,
    #[serde(rename = "hostname")]
    name: String,
    #[serde(default)]
    custom_origin_server: Option<String>,
}

impl Identified for Hostname {
    fn id(&self) -> &str {
        &self.id
    }
}

/// A regional host name, as it is listed.
#[derive(Debug, Clone, Deserialize)]
struct Regional {
    hostname: String,
    region_key: String,
}

/// What a zone has beside its records.
#[derive(Debug, Clone, Default)]
pub(crate) struct Beside {
    hostnames: Table<Vec<Hostname>>,
    /// By host name.
    regions: Table<BTreeMap<String, String>>,
}

/// What one name has beside its records.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct OfName {
    /// Sorted, each once.
    hostnames: Vec<String>,
    /// Empty where there is none.
    region: String,
}

/// What a set asks for beside its records. Claims are given the options of their records; at texts they mean nothing.
pub(crate) fn beside_of(set: &RecordSet) -> OfName {
    if !is_proxiable(set.key.rtype) {
        return OfName::default();
    }
    OfName { hostnames: list(&text(&set.options, HOSTNAMES)), region: text(&set.options, REGION) }
}

/// A request about a custom or regional host name.
#[derive(Debug)]
enum Ask {
    /// Answered in an envelope.
    Change(Operation, Request),
    /// Takes away what may be gone already, and is answered without an envelope.
    Remove(Operation, Request),
}

impl Ask {
    /// Before what else waits: it rests on what was listed a moment ago, and a batch may wait for it.
    async fn send(self, service: &Service) -> Result<(), Error> {
        let sent = match self {
            Self::Change(operation, request) => service.change(operation, &request.share(Share::Next)).await,
            Self::Remove(operation, request) => service.remove(operation, &request.share(Share::Next)).await,
        };
        sent.or_else(gone_already)
    }
}

fn plain(name: &str) -> String {
    name.trim_end_matches('.').to_lowercase()
}

impl Beside {
    /// Asks for what is managed; without a flag for either nothing is asked. `former` is what is known up to now.
    pub(crate) async fn read(service: &Service, zone: &Zone, defaults: &Defaults, former: Option<&Self>) -> Self {
        let mut beside = Self::default();
        if defaults.hostnames.is_some() {
            let page = |number| {
                let request = Request::get("/zones/{zone}/custom_hostnames").set("zone", &zone.key.zone);
                request.query("page", number).query("per_page", PAGE)
            };
            let all = service.all::<Hostname>(LIST_HOSTNAMES, page).await;
            beside.hostnames = Table::of(zone, "custom host names", all, former.map(|former| &former.hostnames));
        }
        if defaults.region.is_some() {
            let request = Request::get("/zones/{zone}/addressing/regional_hostnames").set("zone", &zone.key.zone);
            let page = service.page::<Regional>(LIST_REGIONS, &request, 1).await;
            let all = page.map(|page| {
                page.items.into_iter().map(|of| (plain(&of.hostname), of.region_key)).collect::<BTreeMap<_, _>>()
            });
            beside.regions = Table::of(zone, "regional host names", all, former.map(|former| &former.regions));
        }
        beside
    }

    /// Whether everything could be listed that can be.
    pub(crate) fn is_complete(&self) -> bool {
        self.hostnames.error().is_none() && self.regions.error().is_none()
    }

    /// What the records of this type at a name have.
    pub(crate) fn of(&self, name: &DnsName, rtype: RecordType) -> OfName {
        let mut found = OfName::default();
        if !is_proxiable(rtype) {
            return found;
        }
        if let Some(all) = self.hostnames.seen() {
            let ours =
                all.iter().filter(|of| of.custom_origin_server.as_deref().is_some_and(|o| plain(o) == name.as_str()));
            found.hostnames = list(&ours.map(|of| plain(&of.name)).collect::<Vec<_>>().join(","));
        }
        if let Some(all) = self.regions.seen() {
            found.region = all.get(name.as_str()).cloned().unwrap_or_default();
        }
        found
    }

    /// Adds to a set that was read what its name has.
    pub(crate) fn add(&self, set: &mut RecordSet) {
        let OfName { hostnames, region } = self.of(&set.key.name, set.key.rtype);
        set_text(&mut set.options, HOSTNAMES, &hostnames.join(","));
        set_text(&mut set.options, REGION, &region);
    }

    /// Takes off a wanted set what cannot be had in this zone, with a sentence for each.
    pub(crate) fn narrow(&self, options: &mut Options) -> Vec<String> {
        let mut notes = Vec::new();
        let mut take = |key, why: &str| {
            if options.remove(key).is_some() {
                notes.push(format!("{why}; the records are published without"));
            }
        };
        if let Some(why) = self.hostnames.why_unseen() {
            take(HOSTNAMES, why);
        }
        if let Some(why) = self.regions.why_unseen() {
            take(REGION, why);
        }
        notes
    }

    /// Whether groups ask for what their names have already, as far as it is known.
    pub(crate) fn is_settled(&self, groups: &[&Group], standing: &Groups) -> bool {
        let has = |(name, wanted): (DnsName, OfName)| {
            let found = self.of(&name, RecordType::A);
            (found.hostnames == wanted.hostnames || matches!(self.hostnames, Table::Unmanaged))
                && (found.region == wanted.region || matches!(self.regions, Table::Unmanaged))
        };
        ending(groups, standing).into_iter().map(|name| (name, OfName::default())).chain(asked(groups)).all(has)
    }

    /// Whether [`Beside::take_away`] has something to send.
    pub(crate) fn has_to_go(&self, groups: &[&Group], standing: &Groups) -> bool {
        ending(groups, standing).iter().any(|name| self.of(name, RecordType::A) != OfName::default())
    }

    /// Takes away what names have whose last records groups take away, before those go. The names of which it failed.
    pub(crate) async fn take_away(
        &self,
        service: &Service,
        zone: &Zone,
        groups: &[&Group],
        standing: &Groups,
        manage: Option<&Hostnames>,
    ) -> BTreeMap<DnsName, Error> {
        let names = ending(groups, standing).into_iter();
        // What was never seen may be there.
        match self.hostnames.error_unseen().or(self.regions.error_unseen()) {
            Some(error) => names.map(|name| (name, error.clone())).collect(),
            None => self.make(service, zone, names.map(|name| (name, OfName::default())), manage).await,
        }
    }

    /// Makes what stands of the names of groups what their sets ask for; the groups of a name are looked at together, since the
    /// settings are its own. The names of which a change failed, with the first error of each; what came after it was tried all the
    /// same.
    pub(crate) async fn apply(
        &self,
        service: &Service,
        zone: &Zone,
        groups: &[&Group],
        manage: Option<&Hostnames>,
    ) -> BTreeMap<DnsName, Error> {
        self.make(service, zone, asked(groups), manage).await
    }

    async fn make(
        &self,
        service: &Service,
        zone: &Zone,
        wanted: impl IntoIterator<Item = (DnsName, OfName)>,
        manage: Option<&Hostnames>,
    ) -> BTreeMap<DnsName, Error> {
        let mut failed = BTreeMap::new();
        for (name, wanted) in wanted {
            for ask in self.requests(zone, &name, &wanted, manage) {
                let made = match ask {
                    Ok(ask) => ask.send(service).await,
                    Err(error) => Err(error),
                };
                if let Err(error) = made {
                    failed.entry(name.clone()).or_insert(error);
                }
            }
        }
        failed
    }

    fn requests(
        &self,
        zone: &Zone,
        name: &DnsName,
        wanted: &OfName,
        manage: Option<&Hostnames>,
    ) -> Vec<Result<Ask, Error>> {
        let found = self.of(name, RecordType::A);
        let mut requests = Vec::new();
        match (&self.hostnames, manage) {
            (Table::Known(all), Some(manage)) => {
                requests.extend(hostname_requests(zone, name, &found, wanted, all, manage));
            }
            (Table::Stale { error, .. }, _) if found.hostnames != wanted.hostnames => requests.push(Err(error.clone())),
            _ => {}
        }
        match &self.regions {
            _ if found.region == wanted.region => {}
            Table::Known(_) => {
                let request = region_request(zone, name, &found.region, &wanted.region);
                requests.push(Ok(Ask::Change(WRITE_REGIONS, request)));
            }
            Table::Stale { error, .. } => requests.push(Err(error.clone())),
            Table::Unmanaged | Table::Unknown(_) => {}
        }
        requests
    }
}

/// What groups change of addresses and CNAMEs.
fn changes<'a>(groups: &'a [&Group]) -> impl Iterator<Item = &'a Change> {
    groups.iter().flat_map(|group| group.changes()).filter(|change| is_proxiable(change.key().rtype))
}

/// The names whose last address or CNAME groups take away. One of which something else is answered keeps what it has.
fn ending(groups: &[&Group], standing: &Groups) -> BTreeSet<DnsName> {
    let goes: BTreeSet<&RecordKey> = changes(groups).filter(|change| change.to().is_none()).map(Change::key).collect();
    let comes: BTreeSet<&DnsName> =
        changes(groups).filter(|change| change.to().is_some()).map(|change| &change.key().name).collect();
    let stays = standing.keys().filter(|key| is_proxiable(key.rtype) && !goes.contains(key)).map(|key| &key.name);
    let kept: BTreeSet<&DnsName> = stays.chain(comes).collect();
    goes.into_iter().map(|key| &key.name).filter(|name| !kept.contains(name)).cloned().collect()
}

/// The names of which groups write addresses or CNAMEs, with what they shall have.
fn asked(groups: &[&Group]) -> BTreeMap<DnsName, OfName> {
    let mut asked: BTreeMap<DnsName, OfName> = BTreeMap::new();
    for to in changes(groups).filter_map(Change::to) {
        let OfName { hostnames, region } = beside_of(to);
        let of = asked.entry(to.key.name.clone()).or_default();
        of.hostnames.extend(hostnames);
        of.hostnames.sort();
        of.hostnames.dedup();
        if of.region.is_empty() {
            of.region = region;
        }
    }
    asked
}

fn hostname_requests(
    zone: &Zone,
    name: &DnsName,
    found: &OfName,
    wanted: &OfName,
    all: &[Hostname],
    manage: &Hostnames,
) -> Vec<Result<Ask, Error>> {
    let is = |of: &&Hostname, hostname: &String| plain(&of.name) == *hostname;
    let known = |hostname: &String| all.iter().find(|of| is(of, hostname));
    let gone = found.hostnames.iter().filter(|hostname| !wanted.hostnames.contains(hostname)).filter_map(known);
    let delete = |of: &Hostname| {
        let request = Request::new(Method::DELETE, "/zones/{zone}/custom_hostnames/{id}");
        Ok(Ask::Remove(WRITE_HOSTNAMES, request.set("zone", &zone.key.zone).set("id", &of.id)))
    };
    let new = wanted.hostnames.iter().filter(|hostname| !found.hostnames.contains(hostname));
    let create = |hostname: &String| match known(hostname) {
        None => {
            let request = Request::new(Method::POST, "/zones/{zone}/custom_hostnames").set("zone", &zone.key.zone);
            Ok(Ask::Change(WRITE_HOSTNAMES, request.json(&creation(hostname, name, manage))))
        }
        Some(of) => {
            let origin = of.custom_origin_server.as_deref().unwrap_or("the zone's own origin");
            let text = format!("{name}: the custom host name {hostname} belongs to {origin} already; it is left there");
            Err(Error::new(ErrorKind::Conflict, APPLY, text))
        }
    };
    gone.map(delete).chain(new.map(create)).collect()
}

/// A custom host name as it is made, with the settings of external-dns.
fn creation(hostname: &str, origin: &DnsName, manage: &Hostnames) -> serde_json::Value {
    let mut ssl = json!({
        "type": "dv",
        "method": "http",
        "bundle_method": "ubiquitous",
        "settings": { "min_tls_version": manage.min_tls },
    });
    if let (Some(authority), Some(ssl)) = (&manage.authority, ssl.as_object_mut()) {
        ssl.insert("certificate_authority".to_owned(), json!(authority));
    }
    json!({ "hostname": hostname, "custom_origin_server": origin.as_str(), "ssl": ssl })
}

fn region_request(zone: &Zone, name: &DnsName, found: &str, wanted: &str) -> Request {
    let one = |method| {
        let request = Request::new(method, "/zones/{zone}/addressing/regional_hostnames/{name}");
        request.set("zone", &zone.key.zone).set("name", name.as_str())
    };
    match (found, wanted) {
        ("", _) => {
            let request = Request::new(Method::POST, "/zones/{zone}/addressing/regional_hostnames");
            let body = json!({ "hostname": name.as_str(), "region_key": wanted });
            request.set("zone", &zone.key.zone).json(&body)
        }
        (_, "") => one(Method::DELETE),
        _ => one(Method::PATCH).json(&json!({ "region_key": wanted })),
    }
}

/// What is to be taken away may be gone already; else the failure as an error.
fn gone_already(failure: Failure) -> Result<(), Error> {
    if failure.is_not_found() { Ok(()) } else { Err(failure.error) }
}

#[cfg(test)]
#[path = "beside_tests.rs"]
mod tests;
