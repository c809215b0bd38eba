//! Gateway API: gateways, listener sets and routes (all route kinds have one shape, as far as it is read).

use serde::Deserialize;

use super::{LabelSelector, Meta, nullable};
use crate::annotations::AnnotationFilterKeys;

/// The group of Gateway API, which references mean where they name none.
pub const GATEWAY_GROUP: &str = "gateway.networking.k8s.io";

/// A condition that says whether a controller has taken something up.
const ACCEPTED: &str = "Accepted";

/// A Gateway. Its conditions are not read: what counts is whether it took a route up, and that is for the route to say.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Gateway {
    /// Metadata.
    #[serde(deserialize_with = "nullable")]
    pub metadata: Meta,
    /// What it should be.
    #[serde(deserialize_with = "nullable")]
    pub spec: GatewaySpec,
    /// What it is.
    #[serde(deserialize_with = "nullable")]
    pub status: GatewayStatus,
}

impl Gateway {
    /// Drops annotations that are not in `keep`.
    pub fn prune(&mut self, keep: &AnnotationFilterKeys) {
        self.metadata.annotations.retain(|key| keep.keeps(key));
    }
}

/// `spec` of a Gateway.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct GatewaySpec {
    /// What it listens on.
    #[serde(deserialize_with = "nullable")]
    pub listeners: Vec<Listener>,
    /// Whose ListenerSets may add to that.
    #[serde(deserialize_with = "nullable")]
    pub allowed_listeners: AllowedListeners,
}

/// `status` of a Gateway.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct GatewayStatus {
    /// Where it can be reached.
    #[serde(deserialize_with = "nullable")]
    pub addresses: Vec<GatewayAddress>,
}

/// One address of a Gateway.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct GatewayAddress {
    /// An IP address or a host name; its `type` is not read.
    #[serde(deserialize_with = "nullable")]
    pub value: Box<str>,
}

/// One listener of a Gateway or a ListenerSet.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Listener {
    /// Its name, which `sectionName` of a parent reference means.
    #[serde(deserialize_with = "nullable")]
    pub name: Box<str>,
    /// The host that it serves, perhaps a wildcard; empty for every host.
    #[serde(deserialize_with = "nullable")]
    pub hostname: Box<str>,
    /// Port; 0 where a ListenerSet leaves it open.
    #[serde(deserialize_with = "nullable")]
    pub port: i64,
    /// `HTTP`, `HTTPS`, `TLS`, `TCP`, `UDP` ...
    #[serde(deserialize_with = "nullable")]
    pub protocol: Box<str>,
    /// Which routes it takes.
    #[serde(deserialize_with = "nullable")]
    pub allowed_routes: AllowedRoutes,
}

/// Which routes a listener takes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct AllowedRoutes {
    /// From which namespaces; by default from that of the listener's object.
    #[serde(deserialize_with = "nullable")]
    pub namespaces: FromNamespaces,
    /// Of which kinds; empty for all that the protocol can carry.
    #[serde(deserialize_with = "nullable")]
    pub kinds: Vec<RouteKind>,
}

/// Whose ListenerSets a Gateway takes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct AllowedListeners {
    /// From which namespaces; by default from none.
    #[serde(deserialize_with = "nullable")]
    pub namespaces: FromNamespaces,
}

/// A choice of namespaces.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct FromNamespaces {
    /// `All`, `Same`, `MetadataSelector` or `None`; empty for what is usual there.
    #[serde(deserialize_with = "nullable")]
    pub from: Box<str>,
    /// Labels of the namespaces, with `MetadataSelector`.
    pub selector: Option<LabelSelector>,
}

/// A kind of route.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct RouteKind {
    /// Its group; absent for [`GATEWAY_GROUP`].
    pub group: Option<Box<str>>,
    /// Its kind.
    #[serde(deserialize_with = "nullable")]
    pub kind: Box<str>,
}

/// Points to what a route or a ListenerSet attaches to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ParentRef {
    /// Its group; absent for [`GATEWAY_GROUP`].
    pub group: Option<Box<str>>,
    /// Its kind; absent for `Gateway`.
    pub kind: Option<Box<str>>,
    /// Its namespace; absent for that of the object which refers to it.
    pub namespace: Option<Box<str>>,
    /// Its name.
    #[serde(deserialize_with = "nullable")]
    pub name: Box<str>,
    /// The only listener; empty for all.
    #[serde(deserialize_with = "nullable")]
    pub section_name: Box<str>,
    /// The only port; absent for all.
    pub port: Option<i64>,
}

/// A ListenerSet.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ListenerSet {
    /// Metadata.
    #[serde(deserialize_with = "nullable")]
    pub metadata: Meta,
    /// What it should be.
    #[serde(deserialize_with = "nullable")]
    pub spec: ListenerSetSpec,
    /// What it is.
    #[serde(deserialize_with = "nullable")]
    pub status: ListenerSetStatus,
}

impl ListenerSet {
    /// Drops annotations that are not in `keep`, and conditions but the one that is read.
    pub fn prune(&mut self, keep: &AnnotationFilterKeys) {
        self.metadata.annotations.retain(|key| keep.keeps(key));
        keep_acceptance(&mut self.status.conditions);
        self.status.listeners.iter_mut().for_each(|entry| keep_acceptance(&mut entry.conditions));
    }
}

/// `spec` of a ListenerSet.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ListenerSetSpec {
    /// Its Gateway.
    #[serde(deserialize_with = "nullable")]
    pub parent_ref: ParentRef,
    /// What it adds.
    #[serde(deserialize_with = "nullable")]
    pub listeners: Vec<Listener>,
}

/// `status` of a ListenerSet.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ListenerSetStatus {
    /// Conditions, after pruning only whether it is accepted.
    #[serde(deserialize_with = "nullable")]
    pub conditions: Vec<Condition>,
    /// What became of each listener.
    #[serde(deserialize_with = "nullable")]
    pub listeners: Vec<ListenerStatus>,
}

/// What became of one listener.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ListenerStatus {
    /// The listener's name.
    #[serde(deserialize_with = "nullable")]
    pub name: Box<str>,
    /// Conditions, after pruning only whether it is accepted.
    #[serde(deserialize_with = "nullable")]
    pub conditions: Vec<Condition>,
}

/// A route of any kind.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Route {
    /// Metadata.
    #[serde(deserialize_with = "nullable")]
    pub metadata: Meta,
    /// What it should be.
    #[serde(deserialize_with = "nullable")]
    pub spec: RouteSpec,
    /// What it is.
    #[serde(deserialize_with = "nullable")]
    pub status: RouteStatus,
}

impl Route {
    /// Drops annotations that are not in `keep`, and conditions but the one that is read.
    pub fn prune(&mut self, keep: &AnnotationFilterKeys) {
        self.metadata.annotations.retain(|key| keep.keeps(key));
        self.status.parents.iter_mut().for_each(|parent| keep_acceptance(&mut parent.conditions));
    }
}

/// `spec` of a route.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct RouteSpec {
    /// Hosts, perhaps wildcards; routes of TCP and UDP have none.
    #[serde(deserialize_with = "nullable")]
    pub hostnames: Vec<Box<str>>,
    /// What it attaches to.
    #[serde(deserialize_with = "nullable")]
    pub parent_refs: Vec<ParentRef>,
}

/// `status` of a route.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct RouteStatus {
    /// What controllers say about its parents.
    #[serde(deserialize_with = "nullable")]
    pub parents: Vec<RouteParent>,
}

/// What a controller says about one parent of a route.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct RouteParent {
    /// The parent.
    #[serde(deserialize_with = "nullable")]
    pub parent_ref: ParentRef,
    /// Conditions, after pruning only whether it is accepted.
    #[serde(deserialize_with = "nullable")]
    pub conditions: Vec<Condition>,
}

/// One condition.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Condition {
    /// `Accepted` ...
    #[serde(rename = "type", deserialize_with = "nullable")]
    pub condition_type: Box<str>,
    /// `True`, `False` or `Unknown`.
    #[serde(deserialize_with = "nullable")]
    pub status: Box<str>,
    /// A word that says why.
    #[serde(deserialize_with = "nullable")]
    pub reason: Box<str>,
}

impl ParentRef {
    /// The group that is meant.
    pub fn group(&self) -> &str {
        self.group.as_deref().unwrap_or(GATEWAY_GROUP)
    }

    /// The kind that is meant.
    pub fn kind(&self) -> &str {
        self.kind.as_deref().unwrap_or("Gateway")
    }

    /// The namespace that an object in `own` means by it.
    pub fn namespace<'a>(&'a self, own: &'a str) -> &'a str {
        self.namespace.as_deref().unwrap_or(own)
    }

    /// Whether both, on an object in `own`, mean the same object; sections and ports are not compared.
    pub fn same_object(&self, other: &Self, own: &str) -> bool {
        (self.group(), self.kind(), self.namespace(own), &self.name)
            == (other.group(), other.kind(), other.namespace(own), &other.name)
    }
}

/// The condition that says whether something was accepted; `None` where nobody has said anything yet.
pub fn acceptance(conditions: &[Condition]) -> Option<&Condition> {
    conditions.iter().find(|condition| &*condition.condition_type == ACCEPTED)
}

fn keep_acceptance(conditions: &mut Vec<Condition>) {
    let first = acceptance(conditions).cloned();
    *conditions = first.into_iter().collect();
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read<T: serde::de::DeserializeOwned>(value: Value) -> T {
        serde_json::from_value(value).expect("the API can hold this")
    }

    #[test]
    fn empty_objects_and_nulls_parse() {
        for body in [json!({}), json!({"metadata": null, "spec": null, "status": null})] {
            assert_eq!(read::<Gateway>(body.clone()), Gateway::default());
            assert_eq!(read::<ListenerSet>(body.clone()), ListenerSet::default());
            assert_eq!(read::<Route>(body), Route::default());
        }
        let listener: Listener =
            read(json!({"hostname": null, "port": null, "allowedRoutes": {"namespaces": null, "kinds": null}}));
        assert_eq!(listener, Listener::default());
    }

    /// G46, L21.
    #[test]
    fn of_conditions_only_acceptance_is_kept() {
        let keep = AnnotationFilterKeys::new([], []);
        let conditions = json!([{"type": "Programmed", "status": "True"}, {"type": "Accepted", "status": "False", "lastTransitionTime": "x"}]);
        let kept: Vec<Condition> = read(json!([{"type": "Accepted", "status": "False"}]));
        let mut set: ListenerSet =
            read(json!({"status": {"conditions": conditions, "listeners": [{"name": "l", "conditions": conditions}]}}));
        set.prune(&keep);
        assert_eq!((&set.status.conditions, &set.status.listeners[0].conditions), (&kept, &kept));
        let mut route: Route = read(json!({"status": {"parents": [{"conditions": conditions}]}}));
        route.prune(&keep);
        assert_eq!(route.status.parents[0].conditions, kept);
        let parsed: Gateway =
            read(json!({"metadata": {"annotations": {"a": "b"}}, "status": {"conditions": conditions}}));
        let mut gateway = parsed;
        gateway.prune(&keep);
        assert_eq!(gateway, Gateway::default(), "nobody reads a Gateway's conditions");
    }

    #[test]
    fn what_a_reference_means() {
        let full: ParentRef =
            read(json!({"group": GATEWAY_GROUP, "kind": "Gateway", "namespace": "own", "name": "gw", "port": 80}));
        for (other, same) in [
            (json!({"name": "gw"}), true),
            (json!({"name": "gw", "sectionName": "x"}), true),
            (json!({"name": "other"}), false),
            (json!({"name": "gw", "namespace": "far"}), false),
            (json!({"name": "gw", "kind": "ListenerSet"}), false),
            (json!({"name": "gw", "group": ""}), false),
        ] {
            assert_eq!(full.same_object(&read(other.clone()), "own"), same, "{other}");
        }
    }
}
