//! A small language for cases: objects by builder, options by closure, and the outcome as one line for each record.
//!
//! `foo.example.org A 1.2.3.4 ttl=60 | foo.example.org pending | ! InvalidTTL` is two lines and a note.

use std::fmt::Write as _;

use serde_json::{Value, json};
use zonewright_core::RData;
use zonewright_core::endpoint::{Endpoint, Mapped, Targets};
use zonewright_source_k8s::kind::Kind;
use zonewright_source_k8s::lookup::Lookup;
use zonewright_source_k8s::options::{SourceKind, SourceOptions};
use zonewright_source_k8s::sources::{Scope, roles};
use zonewright_source_k8s::store::{Object, Store};

pub(crate) const PREFIX: &str = "external-dns.kubernetes.io/";

/// An object under construction.
#[derive(Debug, Clone)]
pub(crate) struct Thing {
    pub(crate) kind: Kind,
    pub(crate) body: Value,
}

impl Thing {
    pub(crate) fn new(kind: Kind, namespace: &str, name: &str) -> Self {
        Self { kind, body: json!({"metadata": {"namespace": namespace, "name": name}}) }
    }

    /// Sets the field at a dotted path.
    pub(crate) fn with(&self, path: &str, value: impl Into<Value>) -> Self {
        let mut thing = self.clone();
        let mut at = &mut thing.body;
        for step in path.split('.') {
            at = &mut at[step];
        }
        *at = value.into();
        thing
    }

    /// An annotation under the usual prefix.
    pub(crate) fn ann(&self, key: &str, value: &str) -> Self {
        self.annotation(&format!("{PREFIX}{key}"), value)
    }

    pub(crate) fn annotation(&self, key: &str, value: &str) -> Self {
        let mut thing = self.clone();
        thing.body["metadata"]["annotations"][key] = value.into();
        thing
    }

    pub(crate) fn label(&self, key: &str, value: &str) -> Self {
        let mut thing = self.clone();
        thing.body["metadata"]["labels"][key] = value.into();
        thing
    }

    /// Load-balancer entries: addresses and host names, separated by blanks.
    pub(crate) fn status(&self, entries: &str) -> Self {
        let entry = |text: &str| match text.parse::<std::net::IpAddr>() {
            Ok(_) => json!({ "ip": text }),
            Err(_) => json!({ "hostname": text }),
        };
        self.with("status.loadBalancer.ingress", entries.split_whitespace().map(entry).collect::<Vec<_>>())
    }

    pub(crate) fn object(&self, options: &SourceOptions) -> Option<Object> {
        Object::from_value(self.kind, self.body.clone(), &options.keep()).ok()
    }
}

/// Options as the vectors assume them: every source, and every switch off.
pub(crate) fn options(change: impl FnOnce(&mut SourceOptions)) -> SourceOptions {
    let sources = SourceKind::ALL.iter().map(|(source, _)| *source).collect();
    let mut options = SourceOptions { sources, exclude_unschedulable: false, ..SourceOptions::default() };
    change(&mut options);
    options
}

/// Maps `thing` in a cluster that holds `others`, by the first chosen source that maps its kind.
pub(crate) fn map(thing: &Thing, others: &[Thing], options: &SourceOptions) -> Mapped {
    let store: Store = others.iter().filter_map(|thing| thing.object(options)).collect();
    let roles = roles(options);
    let role = roles.iter().find(|role| role.kind == thing.kind).expect("a source in use maps this kind");
    let object = thing.object(options).expect("an object that can be read");
    (role.map)(&object, &Scope { role, options, lookup: &Lookup::new(&store, &role.reads) })
}

/// Maps `thing` alone and compares.
pub(crate) fn check(id: &str, thing: &Thing, change: impl FnOnce(&mut SourceOptions), expected: &str) {
    check_in(id, thing, &[], change, expected);
}

/// Maps `thing` among `others` and compares.
pub(crate) fn check_in(
    id: &str,
    thing: &Thing,
    others: &[Thing],
    change: impl FnOnce(&mut SourceOptions),
    expected: &str,
) {
    let mapped = map(thing, others, &options(change));
    assert_eq!(shown(&mapped), lines(expected), "{id}: {:?}", mapped.notes);
}

fn lines(expected: &str) -> Vec<String> {
    let mut lines: Vec<String> = expected
        .split('|')
        .map(|l| l.split_whitespace().collect::<Vec<_>>().join(" "))
        .filter(|l| !l.is_empty())
        .collect();
    lines.sort();
    lines
}

/// The outcome in lines, sorted.
pub(crate) fn shown(mapped: &Mapped) -> Vec<String> {
    let mut lines: Vec<String> = mapped.endpoints.iter().map(endpoint).collect();
    lines.extend(mapped.pending.iter().map(|pending| format!("{} pending", pending.name)));
    lines.extend(mapped.notes.iter().map(|note| format!("! {}", note.reason)));
    lines.sort();
    lines
}

fn endpoint(endpoint: &Endpoint) -> String {
    let mut line = format!("{} {}", endpoint.name, endpoint.rtype);
    if let Targets::Alias(alias) = &endpoint.targets {
        let _ = write!(line, " alias of {}", alias.target);
    }
    for data in endpoint.targets.as_records() {
        let _ = match data {
            RData::Cname(host) => write!(line, " {host}"),
            data => write!(line, " {data}"),
        };
    }
    if let Some(ttl) = endpoint.ttl {
        let _ = write!(line, " ttl={ttl}");
    }
    if let Some(id) = &endpoint.set_id {
        let _ = write!(line, " set={}", id.as_str());
    }
    for (key, value) in &endpoint.properties {
        let _ = write!(line, " {key}={value}");
    }
    line
}
