//! A request, and which operation it is.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::refusal::Refusal;
use crate::http::Incoming;

/// The path that every operation on zones begins with.
const BASE: &str = "dns/v1/projects/";

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

/// An operation of the service, named as its API names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operation {
    GetProject,
    ListZones,
    GetZone,
    ListRecordSets,
    GetRecordSet,
    CreateChange,
    GetChange,
    ListChanges,
}

/// An operation with what its path names.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) operation: Operation,
    pub(super) project: String,
    /// The name or id of a zone; empty where the path has none.
    pub(super) zone: String,
    /// What follows: a change's id, or the name and the type of a set.
    pub(super) rest: Vec<String>,
}

impl Request {
    /// A request without headers; `target` is a path and perhaps a query.
    pub(super) fn new(method: &str, target: &str) -> Self {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let query = form_urlencoded::parse(query.as_bytes()).into_owned().collect();
        let (method, path) = (method.to_owned(), path.trim_start_matches('/').to_owned());
        Self { method, path, query, headers: BTreeMap::new(), body: Vec::new() }
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

    /// The fields of a body in JSON.
    pub(super) fn fields(&self) -> Result<Map<String, Value>, Refusal> {
        match serde_json::from_slice(&self.body) {
            Ok(Value::Object(fields)) => Ok(fields),
            _ => Err(Refusal::parse()),
        }
    }

    /// The fields of a body that is a form, or JSON with texts.
    pub(super) fn form(&self) -> BTreeMap<String, String> {
        match serde_json::from_slice::<BTreeMap<String, Value>>(&self.body) {
            Ok(fields) => {
                let text = |value: Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                fields.into_iter().map(|(name, value)| (name, text(value))).collect()
            }
            Err(_) => form_urlencoded::parse(&self.body).into_owned().collect(),
        }
    }

    /// Which operation on zones this is; none if it is none.
    pub(super) fn target(&self) -> Option<Target> {
        let parts: Vec<String> = self.path.strip_prefix(BASE)?.split('/').map(decoded).collect();
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        let of = |operation, project: &str, zone: &str, rest: &[&str]| {
            let rest = rest.iter().map(|part| (*part).to_owned()).collect();
            Some(Target { operation, project: project.to_owned(), zone: zone.to_owned(), rest })
        };
        match (self.method.as_str(), parts.as_slice()) {
            ("GET", [project]) => of(Operation::GetProject, project, "", &[]),
            ("GET", [project, "managedZones"]) => of(Operation::ListZones, project, "", &[]),
            ("GET", [project, "managedZones", zone]) => of(Operation::GetZone, project, zone, &[]),
            ("GET", [project, "managedZones", zone, "rrsets"]) => of(Operation::ListRecordSets, project, zone, &[]),
            ("GET", [project, "managedZones", zone, "rrsets", set @ ..]) if set.len() == 2 => {
                of(Operation::GetRecordSet, project, zone, set)
            }
            ("POST", [project, "managedZones", zone, "changes"]) => of(Operation::CreateChange, project, zone, &[]),
            ("GET", [project, "managedZones", zone, "changes"]) => of(Operation::ListChanges, project, zone, &[]),
            ("GET", [project, "managedZones", zone, "changes", id]) => of(Operation::GetChange, project, zone, &[id]),
            _ => None,
        }
    }
}

/// Parts of a path may be percent-encoded.
fn decoded(part: &str) -> String {
    let plain = part.replace('+', "%2B");
    let mut pairs = form_urlencoded::parse(plain.as_bytes());
    pairs.next().map(|(name, _)| name.into_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_name_operations() {
        for (method, path, operation, zone, rest) in [
            ("GET", "p", Operation::GetProject, "", vec![]),
            ("GET", "p/managedZones?maxResults=2", Operation::ListZones, "", vec![]),
            ("GET", "p/managedZones/z", Operation::GetZone, "z", vec![]),
            ("GET", "p/managedZones/z/rrsets?name=a.", Operation::ListRecordSets, "z", vec![]),
            ("GET", "p/managedZones/z/rrsets/%2A.a./A", Operation::GetRecordSet, "z", vec!["*.a.", "A"]),
            ("POST", "p/managedZones/z/changes", Operation::CreateChange, "z", vec![]),
            ("GET", "p/managedZones/z/changes/7", Operation::GetChange, "z", vec!["7"]),
        ] {
            let target = Request::new(method, &format!("/{BASE}{path}")).target().unwrap();
            assert_eq!(
                (target.operation, target.project.as_str(), target.zone.as_str()),
                (operation, "p", zone),
                "{path}"
            );
            assert_eq!(target.rest, rest, "{path}");
        }
        for (method, path) in [("PUT", "p/managedZones/z"), ("POST", "p/managedZones/z/rrsets"), ("GET", "p/x")] {
            assert_eq!(Request::new(method, &format!("/{BASE}{path}")).target(), None, "{method} {path}");
        }
        assert_eq!(Request::new("GET", "/other").target(), None);
    }

    #[test]
    fn bodies_are_objects_or_forms() {
        let mut request = Request::new("POST", "/token?a=&b=x");
        assert_eq!((request.parameter("a"), request.parameter("b")), (None, Some("x")));
        request.body = b"grant_type=x%3Ay&n=1".to_vec();
        assert_eq!(request.form()["grant_type"], "x:y");
        assert!(request.fields().is_err());
        request.body = br#"{"grantType":"x:y","lifetime":3600}"#.to_vec();
        assert_eq!((request.form()["grantType"].as_str(), request.form()["lifetime"].as_str()), ("x:y", "3600"));
        assert!(request.fields().is_ok());
    }
}
