//! A request, and which operation it is.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::access::Permission;
use super::refusal::Refusal;
use crate::http::Incoming;

/// The path that every operation begins with.
pub(super) const BASE: &str = "/client/v4";

/// A request as the service looks at it.
#[derive(Debug)]
pub(super) struct Request {
    method: String,
    /// Without [`BASE`] if it begins so.
    path: String,
    query: BTreeMap<String, String>,
    headers: BTreeMap<String, String>,
    pub(super) body: Vec<u8>,
}

/// An operation of the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operation {
    ListZones,
    GetZone,
    ListRecords,
    GetRecord,
    CreateRecord,
    ReplaceRecord,
    PatchRecord,
    DeleteRecord,
    BatchRecords,
    ListCustomHostnames,
    GetCustomHostname,
    CreateCustomHostname,
    PatchCustomHostname,
    DeleteCustomHostname,
    ListRegionalHostnames,
    GetRegionalHostname,
    CreateRegionalHostname,
    PatchRegionalHostname,
    DeleteRegionalHostname,
    ListRegions,
    VerifyToken,
}

/// An operation with what its path names.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) operation: Operation,
    /// The id of a zone; empty where the path has none.
    pub(super) zone: String,
    /// The id of something in the zone, a hostname, or the id of an account; empty where the path has none.
    pub(super) id: String,
}

impl Operation {
    /// What the credentials must be good for.
    pub(super) fn permission(self) -> Option<Permission> {
        Some(match self {
            Self::ListZones | Self::GetZone => Permission::ZoneRead,
            Self::ListRecords
            | Self::GetRecord
            | Self::ListRegionalHostnames
            | Self::GetRegionalHostname
            | Self::ListRegions => Permission::DnsRead,
            Self::ListCustomHostnames | Self::GetCustomHostname => Permission::CertificatesRead,
            Self::CreateCustomHostname | Self::PatchCustomHostname | Self::DeleteCustomHostname => {
                Permission::CertificatesWrite
            }
            Self::VerifyToken => return None,
            _ => Permission::DnsWrite,
        })
    }
}

impl Request {
    /// A request without headers; `target` is a path and perhaps a query.
    pub(super) fn new(method: &str, target: &str) -> Self {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let query = form_urlencoded::parse(query.as_bytes()).into_owned().collect();
        let (method, path) = (method.to_owned(), path.strip_prefix(BASE).unwrap_or(path).to_owned());
        Self { method, path, query, headers: BTreeMap::new(), body: Vec::new() }
    }

    pub(super) fn path(&self) -> String {
        format!("{BASE}{}", self.path)
    }

    /// A request as it came.
    pub(super) fn of(incoming: Incoming) -> Self {
        let mut request = Self::new(&incoming.method, &incoming.target);
        for (name, value) in &incoming.headers {
            request.set(name, value);
        }
        Self { body: incoming.body, ..request }
    }

    /// Adds a header; `name` is in lower case.
    pub(super) fn set(&mut self, name: &str, value: &str) {
        self.headers.insert(name.to_owned(), value.to_owned());
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    /// A parameter of the query; one that is empty counts as none.
    pub(super) fn parameter(&self, name: &str) -> Option<&str> {
        self.query.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// All parameters of the query.
    pub(super) fn parameters(&self) -> impl Iterator<Item = (&str, &str)> {
        self.query.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// The fields of a body in JSON.
    pub(super) fn fields(&self) -> Result<Map<String, Value>, Refusal> {
        match serde_json::from_slice(&self.body) {
            Ok(Value::Object(fields)) => Ok(fields),
            _ => Err(Refusal::body()),
        }
    }

    /// Which operation this is.
    pub(super) fn target(&self) -> Result<Target, Refusal> {
        let parts: Vec<&str> = self.path.split('/').filter(|part| !part.is_empty()).collect();
        let target = route(&self.method, &parts);
        target.ok_or_else(|| Refusal::no_route(&self.path()))
    }
}

fn route(method: &str, parts: &[&str]) -> Option<Target> {
    use Operation as O;
    let (zone, rest) = match parts {
        ["user", "tokens", "verify"] if method == "GET" => return Some(named(O::VerifyToken, "", "")),
        ["accounts", account, "addressing", "regional_hostnames", "regions"] if method == "GET" => {
            return Some(named(O::ListRegions, "", account));
        }
        ["zones"] if method == "GET" => return Some(named(O::ListZones, "", "")),
        ["zones", zone, rest @ ..] => (*zone, rest),
        _ => return None,
    };
    Some(match (method, rest) {
        ("GET", []) => named(O::GetZone, zone, ""),
        ("GET", ["dns_records"]) => named(O::ListRecords, zone, ""),
        ("POST", ["dns_records"]) => named(O::CreateRecord, zone, ""),
        ("POST", ["dns_records", "batch"]) => named(O::BatchRecords, zone, ""),
        ("GET", ["dns_records", id]) => named(O::GetRecord, zone, id),
        ("PUT", ["dns_records", id]) => named(O::ReplaceRecord, zone, id),
        ("PATCH", ["dns_records", id]) => named(O::PatchRecord, zone, id),
        ("DELETE", ["dns_records", id]) => named(O::DeleteRecord, zone, id),
        ("GET", ["custom_hostnames"]) => named(O::ListCustomHostnames, zone, ""),
        ("POST", ["custom_hostnames"]) => named(O::CreateCustomHostname, zone, ""),
        ("GET", ["custom_hostnames", id]) => named(O::GetCustomHostname, zone, id),
        ("PATCH", ["custom_hostnames", id]) => named(O::PatchCustomHostname, zone, id),
        ("DELETE", ["custom_hostnames", id]) => named(O::DeleteCustomHostname, zone, id),
        ("GET", ["addressing", "regional_hostnames"]) => named(O::ListRegionalHostnames, zone, ""),
        ("POST", ["addressing", "regional_hostnames"]) => named(O::CreateRegionalHostname, zone, ""),
        ("GET", ["addressing", "regional_hostnames", name]) => named(O::GetRegionalHostname, zone, name),
        ("PATCH", ["addressing", "regional_hostnames", name]) => named(O::PatchRegionalHostname, zone, name),
        ("DELETE", ["addressing", "regional_hostnames", name]) => named(O::DeleteRegionalHostname, zone, name),
        _ => return None,
    })
}

/// Ids and hostnames in paths may be percent-encoded.
fn named(operation: Operation, zone: &str, id: &str) -> Target {
    let decoded = |part: &str| {
        let mut pairs = form_urlencoded::parse(part.as_bytes());
        pairs.next().map(|(name, _)| name.into_owned()).unwrap_or_default()
    };
    Target { operation, zone: decoded(zone), id: decoded(id) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_name_operations() {
        for (method, path, operation, zone, id) in [
            ("GET", "/zones?per_page=50", Operation::ListZones, "", ""),
            ("GET", "/zones/z", Operation::GetZone, "z", ""),
            ("POST", "/zones/z/dns_records", Operation::CreateRecord, "z", ""),
            ("POST", "/zones/z/dns_records/batch", Operation::BatchRecords, "z", ""),
            ("PATCH", "/zones/z/dns_records/r", Operation::PatchRecord, "z", "r"),
            ("DELETE", "/zones/z/custom_hostnames/h/", Operation::DeleteCustomHostname, "z", "h"),
            ("GET", "/zones/z/addressing/regional_hostnames/%2A.a.org", Operation::GetRegionalHostname, "z", "*.a.org"),
            ("GET", "/accounts/a/addressing/regional_hostnames/regions", Operation::ListRegions, "", "a"),
            ("GET", "/user/tokens/verify", Operation::VerifyToken, "", ""),
        ] {
            let target = Request::new(method, &format!("{BASE}{path}")).target().unwrap();
            assert_eq!((target.operation, target.zone.as_str(), target.id.as_str()), (operation, zone, id), "{path}");
        }
        for (method, path) in [("PUT", "/zones"), ("POST", "/zones/z"), ("GET", "/"), ("GET", "/zones/z/settings")] {
            assert_eq!(Request::new(method, path).target().unwrap_err().code, 7003, "{method} {path}");
        }
    }

    #[test]
    fn bodies_are_objects() {
        let mut request = Request::new("POST", "/zones/z/dns_records?name=A%2Ba&type=");
        assert_eq!((request.parameter("name"), request.parameter("type")), (Some("A+a"), None));
        for (body, sound) in [("{\"a\":1}", true), ("[]", false), ("", false), ("{", false)] {
            request.body = body.as_bytes().to_vec();
            assert_eq!(request.fields().is_ok(), sound, "{body}");
        }
    }
}
