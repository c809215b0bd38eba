//! Which requests were sent: verb and resource, read from the request itself, so that no caller can forget to count.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use http::{Method, Request};

/// A kind of request, named as RBAC names it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Call {
    /// `get`, `list`, `watch`, `create`, `update`, `patch` or `delete`.
    pub verb: &'static str,
    /// The resource with its group (`services`, `ingresses.networking.k8s.io`), or the path of a request that concerns
    /// no resource (`/version`).
    pub resource: String,
}

/// How many requests of each kind were sent since the start.
#[derive(Debug, Default)]
pub struct Calls(Mutex<BTreeMap<Call, u64>>);

/// A path of the API, taken apart.
struct Path<'a> {
    group: &'a str,
    plural: &'a str,
    named: bool,
}

impl Call {
    pub(crate) fn of<B>(request: &Request<B>) -> Self {
        let path = request.uri().path();
        let watch = request.uri().query().is_some_and(|query| query.split('&').any(|pair| pair == "watch=true"));
        match Path::parse(path) {
            Some(parts) => Self { verb: verb(request.method(), parts.named, watch), resource: parts.resource() },
            None => Self { verb: verb(request.method(), true, false), resource: path.to_owned() },
        }
    }

    pub(crate) fn is_watch(&self) -> bool {
        self.verb == "watch"
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.verb, self.resource)
    }
}

impl Calls {
    pub(crate) fn count(&self, call: Call) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(call).or_default() += 1;
    }

    /// Every kind of request so far, with its number.
    pub fn all(&self) -> BTreeMap<Call, u64> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The number of requests of one kind, e.g. `("list", "services")`.
    pub fn of(&self, verb: &str, resource: &str) -> u64 {
        let all = self.all();
        all.iter().find(|(call, _)| call.verb == verb && call.resource == resource).map_or(0, |(_, count)| *count)
    }

    /// The number of all requests.
    pub fn total(&self) -> u64 {
        self.all().values().sum()
    }
}

impl<'a> Path<'a> {
    /// `/api/v1/...` or `/apis/<group>/<version>/...`, then `[namespaces/<ns>/]<plural>[/<name>[/<subresource>]]`.
    fn parse(path: &'a str) -> Option<Self> {
        let mut parts = path.trim_start_matches('/').split('/').filter(|part| !part.is_empty());
        let group = match parts.next()? {
            "api" => "",
            "apis" => parts.next()?,
            _ => return None,
        };
        let _version = parts.next()?;
        let rest: Vec<&str> = parts.collect();
        let (["namespaces", _, plural, name @ ..] | [plural, name @ ..]) = rest.as_slice() else { return None };
        Some(Self { group, plural, named: !name.is_empty() })
    }

    fn resource(&self) -> String {
        if self.group.is_empty() { self.plural.to_owned() } else { format!("{}.{}", self.plural, self.group) }
    }
}

fn verb(method: &Method, named: bool, watch: bool) -> &'static str {
    match *method {
        Method::GET if watch => "watch",
        Method::GET if !named => "list",
        Method::POST => "create",
        Method::PUT => "update",
        Method::PATCH => "patch",
        Method::DELETE => "delete",
        _ => "get",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_counted_as_rbac_names_it() {
        let check = |method: &str, uri: &str, expected: &str| {
            let request = Request::builder().method(method).uri(uri).body(()).unwrap();
            assert_eq!(Call::of(&request).to_string(), expected, "{method} {uri}");
        };
        check("GET", "/api/v1/services?limit=500", "list services");
        check("GET", "/api/v1/services?watch=true&timeoutSeconds=290", "watch services");
        check("GET", "/api/v1/namespaces/a/services", "list services");
        check("GET", "/api/v1/namespaces/a/configmaps/x", "get configmaps");
        check("GET", "/api/v1/namespaces/a", "get namespaces");
        check("PUT", "/api/v1/namespaces/a/configmaps/x", "update configmaps");
        check("POST", "/apis/events.k8s.io/v1/namespaces/a/events", "create events.events.k8s.io");
        check(
            "PATCH",
            "/apis/networking.k8s.io/v1/namespaces/a/ingresses/x/status",
            "patch ingresses.networking.k8s.io",
        );
        check("DELETE", "/api/v1/namespaces/a/pods/x", "delete pods");
        check("GET", "/version", "get /version");
        check("GET", "/apis", "get /apis");
        check("GET", "/apis/networking.k8s.io/v1", "get /apis/networking.k8s.io/v1");
    }

    #[test]
    fn kinds_are_counted_apart() {
        let calls = Calls::default();
        let call = |verb| Call { verb, resource: "services".to_owned() };
        calls.count(call("list"));
        calls.count(call("watch"));
        calls.count(call("watch"));
        assert_eq!((calls.of("watch", "services"), calls.of("list", "services"), calls.of("list", "pods")), (2, 1, 0));
        assert_eq!(calls.total(), 3);
    }
}
