//! Objects of every kind that sources read, full enough that every field which a mapper reads is there, and leading to one
//! another; and the builder that makes them.

mod core;
mod families;
mod members;

use std::sync::LazyLock;

use serde_json::{Value, json};
use zonewright_source_k8s::kind::Kind;
use zonewright_source_k8s::options::{SourceKind, SourceOptions};
use zonewright_source_k8s::sources::roles;
use zonewright_source_k8s::store::{Keep, Object};

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

    /// The object as the store holds it; `None` where a field has another shape than the API gives it.
    pub(crate) fn object(&self, keep: &Keep) -> Option<Object> {
        Object::from_value(self.kind, self.body.clone(), keep).ok()
    }
}

/// Options as the vectors assume them: every source, and every switch off.
pub(crate) fn options(change: impl FnOnce(&mut SourceOptions)) -> SourceOptions {
    let sources = SourceKind::ALL.iter().map(|(source, _)| *source).collect();
    let mut options = SourceOptions { sources, exclude_unschedulable: false, ..SourceOptions::default() };
    change(&mut options);
    options
}

/// The kind of the unstructured source. Made once, since kinds that the user names live as long as the process.
pub(crate) fn custom() -> Kind {
    static CUSTOM: LazyLock<Kind> = LazyLock::new(|| Kind::custom("x.io", "v1", "things", "", true));
    *CUSTOM
}

/// The objects that are mapped by a source of this build with these options.
pub(crate) fn subjects(options: &SourceOptions) -> Vec<Thing> {
    let roles = roles(options);
    let mut all = core::subjects();
    all.extend(families::subjects());
    all.extend(members::subjects());
    all.retain(|thing| roles.iter().any(|role| role.kind == thing.kind));
    all
}

/// What they refer to.
pub(crate) fn surroundings() -> Vec<Thing> {
    let mut all = core::surroundings();
    all.extend(families::surroundings());
    all.extend(members::surroundings());
    all
}

/// Every source, and everything that sources can be made to read.
pub(crate) fn everything(change: impl FnOnce(&mut SourceOptions)) -> SourceOptions {
    options(|options| {
        options.traefik_legacy = true;
        options.resolve_load_balancer_hostname = true;
        options.gateway_listener_sets = true;
        options.unstructured = vec![custom()];
        change(options);
    })
}
