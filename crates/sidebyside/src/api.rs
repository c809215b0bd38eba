//! A Kubernetes API server that answers from a list: lists, single objects, discovery, and watches without news.
//!
//! In: objects. Out: plain HTTP on a free port of the loopback interface. Nobody has to sign in, and nothing changes: a
//! written status is answered as if it had been taken. Discovery names the kinds of which an object is known
//! from anywhere ([`Kinds`]); the list of any other kind is empty.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{Method, StatusCode, Uri, header};
use axum::response::{IntoResponse as _, Response};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// Groups whose kinds external-dns knows as types of its own.
const TYPED: [&str; 3] = ["v1", "gateway.networking.k8s.io/", "networking.istio.io/"];

/// The kinds that are served: what the API calls each.
#[derive(Debug, Clone, Default)]
pub struct Kinds(BTreeMap<(String, String), Kind>);

#[derive(Debug, Clone)]
struct Kind {
    name: String,
    namespaced: bool,
}

/// A running API server. It stops on drop.
#[derive(Debug)]
pub struct Api {
    /// `http://127.0.0.1:<port>`.
    pub url: String,
    server: JoinHandle<()>,
}

/// What is asked for, from the path.
#[derive(Debug, PartialEq, Eq)]
struct Asked<'a> {
    api_version: String,
    namespace: Option<&'a str>,
    plural: &'a str,
    name: Option<&'a str>,
}

#[derive(Debug)]
struct Content {
    objects: Vec<Value>,
    kinds: Kinds,
}

impl Kinds {
    /// The kinds of these objects, and those of Kubernetes that sources read.
    pub fn of<'a>(objects: impl IntoIterator<Item = &'a Value>) -> Self {
        let mut kinds = Self::default();
        let own = [
            ("v1", "Service", true),
            ("v1", "Pod", true),
            ("v1", "Node", false),
            ("v1", "Namespace", false),
            ("v1", "Endpoints", true),
            ("discovery.k8s.io/v1", "EndpointSlice", true),
            ("networking.k8s.io/v1", "Ingress", true),
        ];
        for (api_version, name, namespaced) in own {
            kinds.add(api_version, name, namespaced);
        }
        for object in objects {
            let text = |field: &str| object[field].as_str().unwrap_or_default();
            kinds.add(text("apiVersion"), text("kind"), object["metadata"]["namespace"].is_string());
        }
        kinds
    }

    fn add(&mut self, api_version: &str, name: &str, namespaced: bool) {
        let key = (api_version.to_owned(), plural(name));
        self.0.entry(key).or_insert_with(|| Kind { name: name.to_owned(), namespaced }).namespaced |= namespaced;
    }

    fn get(&self, api_version: &str, plural: &str) -> Option<&Kind> {
        self.0.get(&(api_version.to_owned(), plural.to_owned()))
    }

    fn groups(&self) -> Value {
        let versions: BTreeSet<&str> = self.0.keys().map(|(version, _)| version.as_str()).collect();
        let mut groups: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
        for (group, version) in versions.iter().filter_map(|text| text.split_once('/')) {
            let entry = json!({ "groupVersion": format!("{group}/{version}"), "version": version });
            groups.entry(group).or_default().push(entry);
        }
        let group = |(name, versions): (&str, Vec<Value>)| json!({ "name": name, "preferredVersion": versions.first(), "versions": versions });
        let groups: Vec<Value> = groups.into_iter().map(group).collect();
        json!({ "kind": "APIGroupList", "apiVersion": "v1", "groups": groups })
    }

    fn resources(&self, api_version: &str) -> Option<Value> {
        let own = self.0.iter().filter(|((version, _), _)| version == api_version);
        let resource = |((_, plural), kind): (&(String, String), &Kind)| {
            json!({
                "name": plural, "singularName": kind.name.to_lowercase(), "kind": kind.name,
                "namespaced": kind.namespaced, "verbs": ["get", "list", "watch"],
            })
        };
        let resources: Vec<Value> = own.map(resource).collect();
        let list = json!({ "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": api_version, "resources": resources });
        (!resources.is_empty()).then_some(list)
    }
}

/// What a collection of this kind is called in paths.
fn plural(kind: &str) -> String {
    let kind = kind.to_lowercase();
    let vowel_before_y = ["ay", "ey", "oy", "uy"].iter().any(|end| kind.ends_with(end));
    match kind.strip_suffix('y') {
        Some(stem) if !vowel_before_y => format!("{stem}ies"),
        _ if kind == "endpoints" => kind,
        _ if kind.ends_with('s') || kind.ends_with('x') => format!("{kind}es"),
        _ => format!("{kind}s"),
    }
}

impl Api {
    /// Serves these objects.
    ///
    /// # Errors
    /// No port is free.
    pub async fn start(objects: Vec<Value>, kinds: Kinds) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await.context("no port for the API server")?;
        let url = format!("http://{}", listener.local_addr()?);
        let content = Arc::new(Content { objects, kinds });
        let router = Router::new().fallback(answer).with_state(content);
        let server = tokio::spawn(async move {
            // It goes on until it is ended.
            let _ = axum::serve(listener, router).await;
        });
        Ok(Self { url, server })
    }

    /// A kubeconfig that leads here; JSON, which is YAML too.
    pub fn kubeconfig(&self) -> Value {
        json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "here",
            "clusters": [{ "name": "here", "cluster": { "server": self.url } }],
            "users": [{ "name": "nobody", "user": {} }],
            "contexts": [{ "name": "here", "context": { "cluster": "here", "user": "nobody" } }],
        })
    }
}

impl Drop for Api {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn answer(State(content): State<Arc<Content>>, method: Method, uri: Uri, body: Bytes) -> Response {
    if method != Method::GET {
        return respond(StatusCode::OK, &serde_json::from_slice(&body).unwrap_or_default());
    }
    let query = parameters(uri.query().unwrap_or_default());
    let segments: Vec<&str> = uri.path().split('/').filter(|segment| !segment.is_empty()).collect();
    let found = match segments.as_slice() {
        ["version"] => Some(json!({ "major": "1", "minor": "36", "gitVersion": "v1.36.2" })),
        ["api"] => Some(json!({ "kind": "APIVersions", "versions": ["v1"] })),
        ["apis"] => Some(content.kinds.groups()),
        ["api", version] => content.kinds.resources(version),
        ["apis", group, version] => content.kinds.resources(&format!("{group}/{version}")),
        segments => return objects(&content, Asked::parse(segments).as_ref(), &query),
    };
    found.map_or_else(not_found, |body| respond(StatusCode::OK, &body))
}

fn objects(content: &Content, asked: Option<&Asked<'_>>, query: &BTreeMap<String, String>) -> Response {
    let kind = asked.and_then(|asked| content.kinds.get(&asked.api_version, asked.plural));
    let Some(asked) = asked else { return not_found() };
    let Some(kind) = kind else { return asked.unknown() };
    let is = |flag: &str| query.get(flag).is_some_and(|value| value == "true" || value == "1");
    if is("watch") {
        return watch(is("sendInitialEvents"));
    }
    let selector = query.get("labelSelector").map_or("", String::as_str);
    let mut found: Vec<Value> = content
        .objects
        .iter()
        .filter(|object| asked.means(object, kind) && selects(selector, object))
        .cloned()
        .collect();
    for (n, object) in found.iter_mut().enumerate() {
        object["metadata"]["resourceVersion"] = json!((n + 1).to_string());
    }
    if asked.name.is_some() {
        return found.into_iter().next().map_or_else(not_found, |object| respond(StatusCode::OK, &object));
    }
    let list = json!({
        "kind": format!("{}List", kind.name), "apiVersion": asked.api_version,
        "metadata": { "resourceVersion": "1000" }, "items": found,
    });
    respond(StatusCode::OK, &list)
}

/// A watch that never has news. A list by watch is refused: clients then list in the old way.
fn watch(initial_events: bool) -> Response {
    if initial_events {
        let status = json!({
            "kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Invalid", "code": 422,
            "message": "sendInitialEvents is not served",
        });
        return respond(StatusCode::UNPROCESSABLE_ENTITY, &status);
    }
    let silence = futures::stream::pending::<Result<Bytes, Infallible>>();
    ([(header::CONTENT_TYPE, "application/json")], Body::from_stream(silence)).into_response()
}

fn respond(status: StatusCode, body: &Value) -> Response {
    (status, [(header::CONTENT_TYPE, "application/json")], body.to_string()).into_response()
}

/// The parameters of a query (`application/x-www-form-urlencoded`).
fn parameters(query: &str) -> BTreeMap<String, String> {
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    pairs.map(|(key, value)| (decoded(key), decoded(value))).collect()
}

fn decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let (mut out, mut at) = (Vec::with_capacity(bytes.len()), 0);
    while let Some(&byte) = bytes.get(at) {
        let code = text.get(at + 1..at + 3).and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match (byte, code) {
            (b'%', Some(code)) => {
                out.push(code);
                at += 2;
            }
            (b'+', _) => out.push(b' '),
            _ => out.push(byte),
        }
        at += 1;
    }
    String::from_utf8_lossy(&out).into_owned()
}

fn not_found() -> Response {
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404,
        "message": "not found",
    });
    respond(StatusCode::NOT_FOUND, &status)
}

impl<'a> Asked<'a> {
    fn parse(segments: &[&'a str]) -> Option<Self> {
        let (api_version, rest) = match segments {
            ["api", version, rest @ ..] => ((*version).to_owned(), rest),
            ["apis", group, version, rest @ ..] => (format!("{group}/{version}"), rest),
            _ => return None,
        };
        let (namespace, plural, name) = match rest {
            ["namespaces", namespace, plural] => (Some(*namespace), *plural, None),
            ["namespaces", namespace, plural, name] => (Some(*namespace), *plural, Some(*name)),
            [plural] => (None, *plural, None),
            [plural, name] => (None, *plural, Some(*name)),
            _ => return None,
        };
        Some(Self { api_version, namespace, plural, name })
    }

    /// The answer for a kind of which no object is known: its list is empty, so that nobody waits for it to be installed.
    fn unknown(&self) -> Response {
        if self.name.is_some() {
            return not_found();
        }
        // Clients that know the kind take its name from there; those that do not take any list.
        let mut list =
            json!({ "apiVersion": self.api_version, "metadata": { "resourceVersion": "1000" }, "items": [] });
        if !TYPED.iter().any(|group| self.api_version.starts_with(group)) {
            list["kind"] = json!("List");
        }
        respond(StatusCode::OK, &list)
    }

    fn means(&self, object: &Value, kind: &Kind) -> bool {
        let metadata = &object["metadata"];
        object["apiVersion"] == self.api_version
            && object["kind"] == kind.name
            && self.namespace.is_none_or(|namespace| metadata["namespace"] == namespace)
            && self.name.is_none_or(|name| metadata["name"] == name)
    }
}

/// Whether a label selector takes an object: `a`, `!a`, `a=b`, `a==b`, `a!=b`, `a in (b,c)`, `a notin (b,c)`, with commas
/// between them.
fn selects(selector: &str, object: &Value) -> bool {
    let label = |key: &str| object["metadata"]["labels"][key.trim()].as_str();
    requirements(selector).iter().all(|text| {
        let text = text.trim();
        let among = |list: &str, value: Option<&str>| {
            let list = list.trim().trim_start_matches('(').trim_end_matches(')');
            value.is_some_and(|value| list.split(',').any(|entry| entry.trim() == value))
        };
        if let Some((key, list)) = text.split_once(" notin ") {
            !among(list, label(key))
        } else if let Some((key, list)) = text.split_once(" in ") {
            among(list, label(key))
        } else if let Some((key, value)) = text.split_once("!=") {
            label(key) != Some(value.trim())
        } else if let Some((key, value)) = text.split_once('=') {
            label(key) == Some(value.trim_start_matches('=').trim())
        } else if let Some(key) = text.strip_prefix('!') {
            label(key).is_none()
        } else {
            label(text).is_some()
        }
    })
}

/// A selector cut at the commas that stand outside parentheses.
fn requirements(selector: &str) -> Vec<String> {
    let (mut parts, mut inside) = (vec![String::new()], false);
    for c in selector.chars() {
        inside = (inside || c == '(') && c != ')';
        match parts.last_mut() {
            Some(part) if c != ',' || inside => part.push(c),
            _ => parts.push(String::new()),
        }
    }
    parts.retain(|part| !part.trim().is_empty());
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plurals_are_the_api_servers() {
        let check = |kind: &str, expected: &str| assert_eq!(plural(kind), expected);
        check("Ingress", "ingresses");
        check("Gateway", "gateways");
        check("HTTPProxy", "httpproxies");
        check("Proxy", "proxies");
        check("EndpointSlice", "endpointslices");
        check("Endpoints", "endpoints");
        check("VirtualService", "virtualservices");
    }

    #[test]
    fn paths_are_read() {
        let check = |path: &str, expected: Option<(&str, Option<&str>, &str, Option<&str>)>| {
            let segments: Vec<&str> = path.split('/').collect();
            let asked = Asked::parse(&segments);
            let got =
                asked.as_ref().map(|asked| (asked.api_version.as_str(), asked.namespace, asked.plural, asked.name));
            assert_eq!(got, expected, "{path}");
        };
        check("api/v1/services", Some(("v1", None, "services", None)));
        check("api/v1/namespaces", Some(("v1", None, "namespaces", None)));
        check("api/v1/namespaces/a", Some(("v1", None, "namespaces", Some("a"))));
        check("api/v1/namespaces/a/pods", Some(("v1", Some("a"), "pods", None)));
        check("apis/g.test/v2/namespaces/a/things/b", Some(("g.test/v2", Some("a"), "things", Some("b"))));
        check("healthz", None);
    }

    #[test]
    fn queries_are_decoded() {
        let query = parameters("watch=true&labelSelector=app+in+%28web%2Cdb%29&odd=100%");
        let get = |key: &str| query.get(key).map(String::as_str);
        assert_eq!((get("watch"), get("labelSelector")), (Some("true"), Some("app in (web,db)")));
        assert_eq!(get("odd"), Some("100%"));
    }

    #[test]
    fn selectors_choose_by_label() {
        let object = json!({ "metadata": { "labels": { "app": "web", "tier": "front" } } });
        let check = |selector: &str, expected| assert_eq!(selects(selector, &object), expected, "{selector}");
        check("", true);
        check("app=web", true);
        check("app==web,tier=back", false);
        check("app!=web", false);
        check("other!=web", true);
        check("app in (db,web),tier", true);
        check("app notin (db, web)", false);
        check("!other", true);
        check("!app", false);
    }
}
