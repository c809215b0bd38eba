//! Objects in a few words, and an engine that does nothing but remember what was reported to it.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::time::Instant;
use zonewright_core::endpoint::{Mapped, ObjectRef};
use zonewright_core::source::{ObjectState, SeenKinds, Update};
use zonewright_source_k8s::feed::{FeedEvent, Unreadable};
use zonewright_source_k8s::index::Index;
use zonewright_source_k8s::kind::Kind;
use zonewright_source_k8s::options::{SourceKind, SourceOptions};
use zonewright_source_k8s::store::{Object, ObjectKey};

pub(crate) fn options() -> SourceOptions {
    SourceOptions { sources: vec![SourceKind::Service, SourceKind::Ingress], ..SourceOptions::default() }
}

pub(crate) fn index() -> Index {
    Index::new(Arc::new(options()), &SeenKinds::default())
}

pub(crate) fn object(kind: Kind, value: Value) -> Object {
    Object::from_value(kind, value, &options().keep()).expect("the test's object has the API's shape")
}

fn hostname(name: &str) -> Value {
    json!({"external-dns.kubernetes.io/hostname": name})
}

/// A load-balancer Service that asks for a name; `name` empty asks for none.
pub(crate) fn balancer(namespace: &str, name: &str, host: &str, address: &str) -> Object {
    let annotations = if host.is_empty() { json!({}) } else { hostname(host) };
    object(
        Kind::Service,
        json!({
            "metadata": {"namespace": namespace, "name": name, "annotations": annotations},
            "spec": {"type": "LoadBalancer"},
            "status": {"loadBalancer": {"ingress": [{"ip": address}]}},
        }),
    )
}

/// A headless Service; `app` empty selects every pod of its namespace.
pub(crate) fn headless(namespace: &str, name: &str, host: &str, app: &str) -> Object {
    let selector = if app.is_empty() { json!({}) } else { json!({"app": app}) };
    object(
        Kind::Service,
        json!({
            "metadata": {"namespace": namespace, "name": name, "annotations": hostname(host)},
            "spec": {"type": "ClusterIP", "clusterIP": "None", "selector": selector},
        }),
    )
}

/// A Service of type NodePort; `policy` is its externalTrafficPolicy.
pub(crate) fn node_port(namespace: &str, name: &str, host: &str, app: &str, policy: &str) -> Object {
    object(
        Kind::Service,
        json!({
            "metadata": {"namespace": namespace, "name": name, "annotations": hostname(host)},
            "spec": {"type": "NodePort", "clusterIP": "10.0.0.1", "selector": {"app": app}, "externalTrafficPolicy": policy,
                     "ports": [{"port": 80, "nodePort": 30080, "protocol": "TCP"}]},
        }),
    )
}

pub(crate) fn slice(namespace: &str, name: &str, service: &str, pod: &str, address: &str, ready: bool) -> Object {
    object(
        Kind::EndpointSlice,
        json!({
            "metadata": {"namespace": namespace, "name": name, "labels": {"kubernetes.io/service-name": service}},
            "addressType": "IPv4",
            "endpoints": [{"addresses": [address], "conditions": {"ready": ready}, "targetRef": {"kind": "Pod", "name": pod}}],
        }),
    )
}

pub(crate) fn pod(namespace: &str, name: &str, app: &str, node: &str, hostname: &str) -> Object {
    object(
        Kind::Pod,
        json!({
            "metadata": {"namespace": namespace, "name": name, "labels": {"app": app, "tier": "x"}},
            "spec": {"nodeName": node, "hostname": hostname},
            "status": {"phase": "Running", "hostIP": "192.0.2.9", "conditions": [{"type": "Ready", "status": "True"}]},
        }),
    )
}

pub(crate) fn node(name: &str, address: &str, heartbeat: &str) -> Object {
    object(
        Kind::Node,
        json!({
            "metadata": {"name": name, "resourceVersion": heartbeat},
            "status": {"addresses": [{"type": "ExternalIP", "address": address}],
                       "conditions": [{"type": "Ready", "status": "True", "lastHeartbeatTime": heartbeat}]},
        }),
    )
}

pub(crate) fn ingress(namespace: &str, name: &str, host: &str, address: &str) -> Object {
    object(
        Kind::Ingress,
        json!({
            "metadata": {"namespace": namespace, "name": name},
            "spec": {"rules": [{"host": host}]},
            "status": {"loadBalancer": {"ingress": [{"ip": address}]}},
        }),
    )
}

/// What a list of a kind reports.
pub(crate) fn list(kind: Kind, objects: impl IntoIterator<Item = Object>) -> Vec<FeedEvent> {
    let mut events = vec![FeedEvent::Begin(kind)];
    events.extend(objects.into_iter().map(FeedEvent::Listed));
    events.push(FeedEvent::Done(kind));
    events
}

pub(crate) fn apply(index: &mut Index, events: impl IntoIterator<Item = FeedEvent>) {
    for event in events {
        index.apply(event, Instant::now());
    }
}

pub(crate) fn unreadable(key: ObjectKey) -> FeedEvent {
    FeedEvent::Unreadable(Unreadable { key, uid: "u-1".into(), error: Arc::from("spec: expected a map") })
}

pub(crate) fn is_blank(mapped: &Mapped) -> bool {
    mapped.endpoints.is_empty()
        && mapped.pending.is_empty()
        && mapped.unknown.is_empty()
        && mapped.notes.is_empty()
        && mapped.other_prefix.is_none()
}

/// What an engine knows: it takes over updates and nothing else.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Engine {
    pub(crate) objects: BTreeMap<(Arc<str>, ObjectRef), Arc<Mapped>>,
}

impl Engine {
    /// Takes over an update; returns `object: tombstone` of whatever went.
    pub(crate) fn take(&mut self, update: Update) -> BTreeMap<String, bool> {
        if update.complete {
            self.objects.clear();
        }
        let mut gone = BTreeMap::new();
        for change in update.objects {
            let key = (change.source, change.object);
            match change.state {
                ObjectState::Present(mapped) => {
                    self.objects.insert(key, mapped);
                }
                ObjectState::Gone { tombstone } => {
                    gone.insert(key.1.to_string(), tombstone);
                    self.objects.remove(&key);
                }
            }
        }
        gone
    }

    /// The objects that ask for something.
    pub(crate) fn asking(&self) -> BTreeMap<(Arc<str>, ObjectRef), Mapped> {
        let asking = self.objects.iter().filter(|(_, mapped)| !is_blank(mapped));
        asking.map(|(key, mapped)| (key.clone(), (**mapped).clone())).collect()
    }

    /// Every endpoint as text, sorted.
    pub(crate) fn endpoints(&self) -> Vec<String> {
        let endpoints = self.objects.values().flat_map(|mapped| &mapped.endpoints);
        let mut lines: Vec<String> = endpoints.map(ToString::to_string).collect();
        lines.sort();
        lines
    }
}
