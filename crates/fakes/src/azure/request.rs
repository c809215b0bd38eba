//! A request, and which operation it is. Resource Manager does not distinguish case in paths, and clients differ in it.

use std::collections::BTreeMap;

use serde_json::Value;

use super::refusal::Refusal;
use super::zone::Kind;
use crate::http::Incoming;

/// A request as the service looks at it.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) method: String,
    /// Without its first slash.
    pub(super) path: String,
    query: BTreeMap<String, String>,
    headers: BTreeMap<String, String>,
    pub(super) body: Vec<u8>,
}

/// An operation of the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operation {
    ListZones,
    GetZone,
    ListRecordSets,
    GetRecordSet,
    PutRecordSet,
    PatchRecordSet,
    DeleteRecordSet,
}

/// An operation with what its path names, in the case of the path.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) operation: Operation,
    pub(super) kind: Kind,
    pub(super) subscription: String,
    /// None where zones of a whole subscription are listed.
    pub(super) group: Option<String>,
    /// Empty where the path has none, as the next two.
    pub(super) zone: String,
    /// In upper case: a type of record sets; `ALL` or `RECORDSETS` for all of them.
    pub(super) record_type: String,
    /// In lower case.
    pub(super) name: String,
}

impl Request {
    /// A request without headers; `target` is a path and perhaps a query.
    pub(super) fn new(method: &str, target: &str) -> Self {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let query = form_urlencoded::parse(query.as_bytes());
        let query = query.map(|(name, value)| (name.to_ascii_lowercase(), value.into_owned())).collect();
        let (method, path) = (method.to_owned(), path.trim_start_matches('/').to_owned());
        Self { method, path, query, headers: BTreeMap::new(), body: Vec::new() }
    }

    /// A request as it came.
    pub(super) fn of(incoming: Incoming) -> Self {
        let request = Self::new(&incoming.method, &incoming.target);
        Self { body: incoming.body, headers: incoming.headers.into_iter().collect(), ..request }
    }

    /// Adds a header; `name` is in lower case.
    #[cfg(test)]
    pub(super) fn set(&mut self, name: &str, value: &str) {
        self.headers.insert(name.to_owned(), value.to_owned());
    }

    /// A header; `name` is in lower case.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    /// A parameter of the query, by its name in lower case; one that is empty counts as none.
    pub(super) fn parameter(&self, name: &str) -> Option<&str> {
        self.query.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// Host and port as the client wrote them.
    pub(super) fn host(&self) -> &str {
        self.header("host").unwrap_or("localhost")
    }

    /// The address of this request without its query. Who asks by another name than that of this machine comes through a proxy that
    /// speaks TLS.
    pub(super) fn url(&self) -> String {
        let host = self.host();
        let is_here = ["127.0.0.1", "localhost"].contains(&host.split(':').next().unwrap_or_default());
        format!("{}://{host}/{}", if is_here { "http" } else { "https" }, self.path)
    }

    /// A body in JSON.
    pub(super) fn json(&self) -> Result<Value, Refusal> {
        serde_json::from_slice(&self.body).map_err(|_| Refusal::content("Could not parse the body as JSON"))
    }

    /// The fields of a body that is a form.
    pub(super) fn form(&self) -> BTreeMap<String, String> {
        form_urlencoded::parse(&self.body).into_owned().collect()
    }

    /// The parts of the path.
    pub(super) fn parts(&self) -> Vec<String> {
        self.path.split('/').map(decoded).collect()
    }

    /// Which operation on zones this is; none if it is none.
    pub(super) fn target(&self) -> Option<Target> {
        let parts = self.parts();
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        let (subscription, group, rest) = match parts.as_slice() {
            [a, subscription, b, group, rest @ ..] if is(a, "subscriptions") && is(b, "resourceGroups") => {
                (*subscription, Some((*group).to_owned()), rest)
            }
            [a, subscription, rest @ ..] if is(a, "subscriptions") => (*subscription, None, rest),
            _ => return None,
        };
        let [a, b, zones, rest @ ..] = rest else { return None };
        let kind = Kind::ALL.into_iter().find(|kind| is(zones, kind.resource_type()))?;
        let in_group = group.is_some();
        let (operation, [zone, record_type, name]) = match (self.method.as_str(), rest) {
            _ if !is(a, "providers") || !is(b, "Microsoft.Network") => return None,
            ("GET", []) => (Operation::ListZones, ["", "", ""]),
            ("GET", [zone]) if in_group => (Operation::GetZone, [*zone, "", ""]),
            ("GET", [zone, of]) if in_group => (Operation::ListRecordSets, [*zone, *of, ""]),
            (method, [zone, of, name]) if in_group => (on_set(method)?, [*zone, *of, *name]),
            _ => return None,
        };
        let (zone, subscription) = (zone.to_owned(), subscription.to_owned());
        let (record_type, name) = (record_type.to_ascii_uppercase(), name.to_ascii_lowercase());
        Some(Target { operation, kind, subscription, group, zone, record_type, name })
    }
}

/// What a method does to one record set.
fn on_set(method: &str) -> Option<Operation> {
    Some(match method {
        "GET" => Operation::GetRecordSet,
        "PUT" => Operation::PutRecordSet,
        "PATCH" => Operation::PatchRecordSet,
        "DELETE" => Operation::DeleteRecordSet,
        _ => return None,
    })
}

fn is(part: &str, name: &str) -> bool {
    part.eq_ignore_ascii_case(name)
}

impl Target {
    /// Whether it changes a zone.
    pub(super) fn writes(&self) -> bool {
        use Operation::{DeleteRecordSet, PatchRecordSet, PutRecordSet};
        matches!(self.operation, PutRecordSet | PatchRecordSet | DeleteRecordSet)
    }

    /// What a role must allow, as `Microsoft.Network/dnsZones/A/write`.
    pub(super) fn action(&self) -> String {
        let zones = if self.kind == Kind::Public { "dnsZones" } else { "privateDnsZones" };
        let verb = match self.operation {
            Operation::PutRecordSet | Operation::PatchRecordSet => "write",
            Operation::DeleteRecordSet => "delete",
            _ => "read",
        };
        let of = match self.record_type.as_str() {
            "" => String::new(),
            "ALL" => "/all".to_owned(),
            "RECORDSETS" => "/recordsets".to_owned(),
            of => format!("/{of}"),
        };
        format!("Microsoft.Network/{zones}{of}/{verb}")
    }

    /// The id of the zone, if one is named; else of the resource group or the subscription.
    pub(super) fn place(&self) -> String {
        let group = self.group.as_ref().map(|group| format!("/resourceGroups/{group}")).unwrap_or_default();
        let zone = match self.zone.as_str() {
            "" => String::new(),
            zone => format!("/providers/Microsoft.Network/{}/{zone}", self.kind.resource_type()),
        };
        format!("/subscriptions/{}{group}{zone}", self.subscription)
    }

    /// What the role must be given for.
    pub(super) fn scope(&self) -> String {
        let place = self.place();
        if self.name.is_empty() { place } else { format!("{place}/{}/{}", self.record_type, self.name) }
    }
}

/// Parts of a path may be percent-encoded.
fn decoded(part: &str) -> String {
    let plain = part.replace('+', "%2B").replace('&', "%26").replace('=', "%3D");
    let mut pairs = form_urlencoded::parse(plain.as_bytes());
    pairs.next().map(|(name, _)| name.into_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_name_operations_in_any_case() {
        use Operation::{DeleteRecordSet, GetRecordSet, GetZone, ListRecordSets, ListZones, PutRecordSet};
        let zones = "/subscriptions/S/resourceGroups/g/providers/Microsoft.Network/dnsZones";
        let lower = "/subscriptions/S/resourcegroups/g/providers/microsoft.network/dnszones";
        for (method, path, operation, of, name) in [
            ("GET", zones.to_owned(), ListZones, "", ""),
            ("GET", format!("{lower}/example.org?a=b"), GetZone, "", ""),
            ("GET", format!("{zones}/example.org/all"), ListRecordSets, "ALL", ""),
            ("GET", format!("{lower}/example.org/txt"), ListRecordSets, "TXT", ""),
            ("GET", format!("{zones}/example.org/A/%40"), GetRecordSet, "A", "@"),
            ("PUT", format!("{zones}/example.org/a/%2A.WWW"), PutRecordSet, "A", "*.www"),
            ("DELETE", format!("{zones}/example.org/A/www"), DeleteRecordSet, "A", "www"),
        ] {
            let target = Request::new(method, &path).target().unwrap();
            assert_eq!((target.operation, target.kind), (operation, Kind::Public), "{path}");
            assert_eq!((target.record_type.as_str(), target.name.as_str()), (of, name), "{path}");
            assert_eq!((target.subscription.as_str(), target.group.as_deref()), ("S", Some("g")), "{path}");
        }
        let all = Request::new("GET", "/subscriptions/S/providers/Microsoft.Network/privateDnsZones").target().unwrap();
        assert_eq!((all.operation, all.kind, all.group), (ListZones, Kind::Private, None));
    }

    #[test]
    fn other_paths_are_none() {
        let zones = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Network/dnsZones";
        for (method, path) in [
            ("PUT", format!("{zones}/example.org")),
            ("POST", format!("{zones}/example.org/A/www")),
            ("GET", format!("{zones}/example.org/A/www/more")),
            ("GET", zones.replace("dnsZones", "virtualNetworks")),
            ("GET", "/subscriptions/s".to_owned()),
            ("GET", "/subscriptions/s/providers/Microsoft.Network/dnsZones/example.org".to_owned()),
        ] {
            assert_eq!(Request::new(method, &path).target(), None, "{method} {path}");
        }
    }

    #[test]
    fn an_address_is_the_one_that_was_asked_for() {
        for (host, expected) in [
            (None, "http://localhost/a/b"),
            (Some("127.0.0.1:80"), "http://127.0.0.1:80/a/b"),
            (Some("management.azure.com"), "https://management.azure.com/a/b"),
        ] {
            let mut request = Request::new("GET", "/a/b?c=d");
            request.headers.extend(host.map(|host| ("host".to_owned(), host.to_owned())));
            assert_eq!(request.url(), expected);
        }
    }

    #[test]
    fn an_action_names_the_type() {
        let path = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Network/dnszones/example.org/a/www";
        let target = Request::new("PUT", path).target().unwrap();
        assert_eq!(target.action(), "Microsoft.Network/dnsZones/A/write");
        assert_eq!(target.scope(), path.replace("/a/", "/A/"));
    }
}
