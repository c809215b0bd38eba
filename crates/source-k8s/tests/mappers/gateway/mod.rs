//! Sections G and L: Gateway API routes.

mod attachment;
mod conformance;
mod hosts;
mod listener_sets;

use serde_json::{Value, json};
use zonewright_source_k8s::kind::Kind;
use zonewright_source_k8s::options::{SourceKind, SourceOptions};

use crate::scene::{Thing, check_in};

/// A Gateway `infra/NAME` at 1.2.3.4 with one listener for every host and every namespace.
fn gateway(name: &str) -> Thing {
    let thing = Thing::new(Kind::Gateway, "infra", name).with("status.addresses", json!([{"value": "1.2.3.4"}]));
    thing.with("spec.listeners", json!([listener("http", "")]))
}

/// A listener of HTTP on port 80 that takes routes of every namespace.
fn listener(name: &str, host: &str) -> Value {
    let host = if host.is_empty() { Value::Null } else { host.into() };
    json!({"name": name, "protocol": "HTTP", "port": 80, "hostname": host, "allowedRoutes": {"namespaces": {"from": "All"}}})
}

/// A route `web/test` of a kind with hosts, without parents.
fn route(kind: Kind, hosts: &[&str]) -> Thing {
    let route = Thing::new(kind, "web", "test");
    if hosts.is_empty() { route } else { route.with("spec.hostnames", hosts.to_vec()) }
}

fn http(hosts: &[&str]) -> Thing {
    route(Kind::HttpRoute, hosts).to("gw")
}

fn to_gateway(name: &str) -> Value {
    json!({"name": name, "namespace": "infra"})
}

impl Thing {
    /// A route that refers to the Gateway `infra/NAME`, and was accepted.
    fn to(&self, name: &str) -> Thing {
        self.refers(to_gateway(name)).answered(&to_gateway(name), "True")
    }

    fn refers(&self, reference: Value) -> Thing {
        self.push("spec", "parentRefs", reference)
    }

    fn answered(&self, reference: &Value, accepted: &str) -> Thing {
        let condition = json!({"type": "Accepted", "status": accepted, "reason": "Because"});
        self.push("status", "parents", json!({"parentRef": reference, "conditions": [condition]}))
    }

    fn push(&self, part: &str, list: &str, value: Value) -> Thing {
        let mut thing = self.clone();
        match thing.body[part][list].as_array_mut() {
            Some(list) => list.push(value),
            None => thing.body[part][list] = json!([value]),
        }
        thing
    }

    fn listeners(&self, listeners: &[Value]) -> Thing {
        self.with("spec.listeners", listeners.to_vec())
    }

    fn at(&self, address: &str) -> Thing {
        self.with("status.addresses", json!([{"type": "IPAddress", "value": address}]))
    }
}

/// Maps a route among other objects.
fn check(id: &str, route: &Thing, others: &[Thing], change: impl FnOnce(&mut SourceOptions), expected: &str) {
    let all = |o: &mut SourceOptions| {
        o.sources = family();
        change(o);
    };
    check_in(id, route, others, all, expected);
}

fn family() -> Vec<SourceKind> {
    use SourceKind::{GatewayGrpcRoute, GatewayHttpRoute, GatewayTcpRoute, GatewayTlsRoute, GatewayUdpRoute};
    vec![GatewayHttpRoute, GatewayGrpcRoute, GatewayTlsRoute, GatewayTcpRoute, GatewayUdpRoute]
}

fn namespace(name: &str, label: &str, value: &str) -> Thing {
    Thing::new(Kind::Namespace, "", name).label(label, value)
}
