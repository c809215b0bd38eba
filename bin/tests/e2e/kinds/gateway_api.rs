//! Gateway API: routes of all five kinds at a Gateway in another namespace, and at a ListenerSet.

use serde_json::{Value, json};
use zonewright_testkit::DnsSoftware::Bind;

use super::line;
use crate::cluster::{HOSTNAME, Space};
use crate::crds;
use crate::needs;
use crate::objects::{at, claim, claims_are};
use crate::site::Site;

const GROUP: &str = "gateway.networking.k8s.io";
const GATEWAY: &str = "gateways.gateway.networking.k8s.io";
const SET: &str = "listenersets.gateway.networking.k8s.io";

/// Plural of each kind, and the listener's protocol that carries it.
const ROUTES: [(&str, &str); 5] =
    [("httproutes", "HTTP"), ("grpcroutes", "HTTPS"), ("tlsroutes", "TLS"), ("tcproutes", "TCP"), ("udproutes", "UDP")];

fn kind(plural: &str) -> String {
    format!("{plural}.{GROUP}")
}

fn accepted(status: &str) -> Value {
    json!([{ "type": "Accepted", "status": status, "reason": "Test" }])
}

/// What a controller says about a route with this parent.
fn answer(parent: &Value, status: &str) -> Value {
    json!({ "parents": [{ "parentRef": parent, "controllerName": "test/controller", "conditions": accepted(status) }] })
}

/// One listener for each kind of route; HTTP takes the routes of chosen namespaces only.
fn listeners(team: &str) -> Value {
    let one = |(number, (plural, protocol)): (usize, (&str, &str))| {
        let from = match protocol {
            "HTTP" => json!({ "from": "Selector", "selector": { "matchLabels": { "team": team } } }),
            _ => json!({ "from": "All" }),
        };
        json!({ "name": plural, "port": 8000 + number, "protocol": protocol, "allowedRoutes": { "namespaces": from } })
    };
    ROUTES.into_iter().enumerate().map(one).collect()
}

#[test]
fn routes_of_every_kind() {
    needs!(Bind);
    let (kube, site) = (crds::shared(), Site::start(Bind));
    let (space, infra) = (Space::new(&kube), Space::new(&kube));
    let sources = ROUTES.map(|(plural, _)| format!("gateway-{}", plural.trim_end_matches('s')));
    let _daemon = line(&site, &space, &sources.each_ref().map(String::as_str)).start();

    infra.create(GATEWAY, "edge", &[], json!({ "spec": { "listeners": listeners(&space.name) } }));
    let reached = |ip: &str| infra.status(GATEWAY, "edge", &json!({ "addresses": [{ "value": ip }] }));
    reached("192.0.2.60");
    let parent = |plural: &str| json!({ "name": "edge", "namespace": infra.name, "sectionName": plural });
    for (plural, _) in ROUTES {
        let host = at(plural);
        let named = ["tcproutes", "udproutes"].contains(&plural);
        let annotations = if named { vec![(HOSTNAME, &*host)] } else { Vec::new() };
        let hosts = if named { json!(null) } else { json!([host]) };
        let spec = json!({ "hostnames": hosts, "parentRefs": [parent(plural)] });
        space.create(&kind(plural), "it", &annotations, json!({ "spec": spec }));
        space.status(&kind(plural), "it", &answer(&parent(plural), "True"));
    }
    let shows = |plurals: &[&str], ip: &str| {
        let records: Vec<String> = plurals.iter().map(|plural| format!("{plural} 0 A {ip}")).collect();
        site.shows(&records.iter().map(String::as_str).collect::<Vec<_>>());
    };
    let all = ROUTES.map(|(plural, _)| plural);
    shows(&all[1..], "192.0.2.60");

    // The Namespace gets the label that the listener asks for.
    let label = |value: Value| {
        let path = format!("/api/v1/namespaces/{}", space.name);
        kube.patch(&path, &json!({ "metadata": { "labels": { "team": value } } })).expect_success();
    };
    label(json!(space.name));
    shows(&all, "192.0.2.60");
    let claims =
        all.map(|plural| claim(&format!("a-{plural}"), &space, &format!("{}/it", plural.trim_end_matches('s'))));
    claims_are(&site, claims.to_vec());
    reached("192.0.2.61");
    shows(&all, "192.0.2.61");
    label(json!(null));
    shows(&all[1..], "192.0.2.61");

    let grpc = kind("grpcroutes");
    space.change(&grpc, "it", &json!({ "spec": { "hostnames": [at("renamed")] } }));
    shows(&["renamed", "tlsroutes", "tcproutes", "udproutes"], "192.0.2.61");
    space.status(&grpc, "it", &answer(&parent("grpcroutes"), "False"));
    shows(&["tlsroutes", "tcproutes", "udproutes"], "192.0.2.61");
    for (plural, _) in ROUTES {
        space.delete(&kind(plural), "it");
    }
    site.shows(&[]);
}

#[test]
fn routes_of_a_listener_set() {
    needs!(Bind);
    let (kube, site) = (crds::shared(), Site::start(Bind));
    let space = Space::new(&kube);
    let _daemon = line(&site, &space, &["gateway-httproute"]).arg("--gateway-listener-sets").start();
    let route = kind("httproutes");
    let gateway = json!({ "listeners": [], "allowedListeners": { "namespaces": { "from": "Same" } } });
    space.create(GATEWAY, "edge", &[], json!({ "spec": gateway }));
    space.status(GATEWAY, "edge", &json!({ "addresses": [{ "value": "192.0.2.70" }] }));
    let listener = |host: &str| json!([{ "name": "web", "port": 80, "protocol": "HTTP", "hostname": at(host) }]);
    space.create(
        SET,
        "more",
        &[],
        json!({ "spec": { "parentRef": { "name": "edge" }, "listeners": listener("extra") } }),
    );
    // No hosts of its own: those of its listeners.
    let parent = json!({ "kind": "ListenerSet", "name": "more" });
    space.create(&route, "it", &[], json!({ "spec": { "parentRefs": [parent] } }));
    space.status(&route, "it", &answer(&parent, "True"));
    let taken =
        json!({ "conditions": accepted("True"), "listeners": [{ "name": "web", "conditions": accepted("True") }] });
    space.status(SET, "more", &taken);
    site.shows(&["extra 0 A 192.0.2.70"]);

    space.change(SET, "more", &json!({ "spec": { "listeners": listener("renamed") } }));
    site.shows(&["renamed 0 A 192.0.2.70"]);
    space.status(GATEWAY, "edge", &json!({ "addresses": [{ "value": "edge.cloud.test" }] }));
    site.shows(&["renamed 0 CNAME edge.cloud.test."]);
    space.status(SET, "more", &json!({ "conditions": accepted("False") }));
    site.shows(&[]);
    space.status(SET, "more", &taken);
    site.shows(&["renamed 0 CNAME edge.cloud.test."]);
    space.delete(&route, "it");
    site.shows(&[]);
}
