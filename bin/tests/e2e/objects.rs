//! Objects of every kind and type come, change and go; the zone follows, and the claims are those of external-dns.

use serde_json::json;
use zonewright_testkit::DnsSoftware;

use crate::cluster::{HOSTNAME, Space, TARGET, TTL, shared};
use crate::daemon::CommandLine;
use crate::site::{OWNER, Site, ZONE};
use crate::{SOON, each_server, needs, until};

each_server!(
    load_balancers_come_change_and_go,
    every_other_type_of_service,
    ingresses_come_change_and_go,
    an_address_becomes_an_alias_without_a_gap,
);

/// `host` in the zone.
pub(crate) fn at(host: &str) -> String {
    format!("{host}.{ZONE}")
}

/// The claim that external-dns writes.
pub(crate) fn claim(name: &str, space: &Space<'_>, object: &str) -> String {
    let (kind, object) = object.split_once('/').expect("kind/name");
    let resource = format!("{kind}/{}/{object}", space.name);
    format!("{name} 0 TXT \"heritage=external-dns,external-dns/owner={OWNER},external-dns/resource={resource}\"")
}

#[track_caller]
pub(crate) fn claims_are(site: &Site, mut expected: Vec<String>) {
    expected.sort_unstable();
    until("the claims", SOON, || site.claims() == expected || site.claims().len() == expected.len());
    assert_eq!(site.claims(), expected);
}

fn load_balancers_come_change_and_go(software: DnsSoftware) {
    let (kube, site) = (shared(), Site::start(software));
    let space = Space::new(&kube);
    let daemon = site.line(&space).start();

    space.balancer("web", &at("web"), &["192.0.2.1"]);
    site.shows(&["web 0 A 192.0.2.1"]);
    assert_eq!(site.dig("web", "A"), ["192.0.2.1"]);
    space.balancer("both", &at("both"), &["192.0.2.3", "192.0.2.2", "2001:db8::2"]);
    space.balancer("cloud", &at("cloud"), &["lb.cloud.test"]);
    space.service(
        "fixed",
        &[(HOSTNAME, &format!("{}, {}", at("fixed"), at("also"))), (TARGET, "192.0.2.9,2001:db8::9"), (TTL, "1m")],
        json!({ "type": "LoadBalancer" }),
    );
    // Nobody reaches it yet: it asks for a name, and gets none.
    space.service("waits", &[(HOSTNAME, &at("waits"))], json!({ "type": "LoadBalancer" }));
    site.shows(&[
        "web 0 A 192.0.2.1",
        "both 0 A 192.0.2.2",
        "both 0 A 192.0.2.3",
        "both 0 AAAA 2001:db8::2",
        "cloud 0 CNAME lb.cloud.test.",
        "fixed 60 A 192.0.2.9",
        "fixed 60 AAAA 2001:db8::9",
        "also 60 A 192.0.2.9",
        "also 60 AAAA 2001:db8::9",
    ]);
    claims_are(
        &site,
        vec![
            claim("a-web", &space, "service/web"),
            claim("a-both", &space, "service/both"),
            claim("aaaa-both", &space, "service/both"),
            claim("cname-cloud", &space, "service/cloud"),
            claim("a-fixed", &space, "service/fixed"),
            claim("aaaa-fixed", &space, "service/fixed"),
            claim("a-also", &space, "service/fixed"),
            claim("aaaa-also", &space, "service/fixed"),
        ],
    );

    space.reached_at("services", "web", &["192.0.2.11"]);
    space.reached_at("services", "both", &["192.0.2.2"]);
    space.annotate("services", "fixed", &[(TTL, "30"), (HOSTNAME, &at("fixed"))]);
    space.annotate("services", "cloud", &[(HOSTNAME, &at("renamed"))]);
    site.shows(&[
        "web 0 A 192.0.2.11",
        "both 0 A 192.0.2.2",
        "renamed 0 CNAME lb.cloud.test.",
        "fixed 30 A 192.0.2.9",
        "fixed 30 AAAA 2001:db8::9",
    ]);

    space.annotate("services", "fixed", &[(HOSTNAME, "")]);
    for name in ["web", "both", "cloud", "waits"] {
        space.delete("services", name);
    }
    site.shows(&[]);
    claims_are(&site, Vec::new());
    daemon.ready();
    let ended = daemon.terminate();
    assert!(ended.status.success(), "{:?}", ended.status);
}

/// NodePort with nodes, headless with pods and slices, ExternalName, and cluster addresses.
fn every_other_type_of_service(software: DnsSoftware) {
    let (kube, site) = (shared(), Site::start(software));
    let space = Space::new(&kube);
    let types = ["A", "AAAA", "CNAME", "SRV"].map(|rtype| format!("--managed-record-types={rtype}"));
    let line = types.iter().fold(site.line(&space).arg("--publish-internal-services"), CommandLine::arg);
    let _daemon = line.start();

    let inside = json!({ "type": "ClusterIP", "clusterIP": "None", "selector": { "app": "db" } });
    space.service("db", &[(HOSTNAME, &at("db"))], inside);
    for (name, ip) in [("db-0", "10.2.0.1"), ("db-1", "10.2.0.2")] {
        pod(&space, name, "db", ip, "node-1");
    }
    slice(&space, "db", &[("db-0", "10.2.0.1", true), ("db-1", "10.2.0.2", true)]);
    space.service(
        "outside",
        &[(HOSTNAME, &at("outside"))],
        json!({ "type": "ExternalName", "externalName": "api.cloud.test" }),
    );
    space.service(
        "ports",
        &[(HOSTNAME, &at("ports"))],
        json!({ "type": "NodePort", "ports": [{ "name": "http", "port": 80, "nodePort": 0 }] }),
    );
    pod(&space, "near-0", "near", "10.2.0.3", "node-2");
    space.service(
        "near",
        &[(HOSTNAME, &at("near"))],
        json!({ "type": "NodePort", "externalTrafficPolicy": "Local", "selector": { "app": "near" } }),
    );
    space.service("cluster", &[(HOSTNAME, &at("cluster"))], json!({ "type": "ClusterIP" }));
    let object = |name: &str| kube.get(&format!("{}/{name}", space.path("services"))).expect_success();
    let cluster = object("cluster")["spec"]["clusterIP"].as_str().expect("an address").to_owned();
    let port = |name: &str| object(name)["spec"]["ports"][0]["nodePort"].as_u64().expect("a port");
    let srv = |name: &str, label: &str| format!("{label}._tcp.{name} 0 SRV 0 50 {} {name}.{ZONE}.", port(name));
    let (ports, near) = (srv("ports", "_ports"), srv("near", "_near"));
    let cluster = format!("cluster 0 A {cluster}");
    site.shows(&[
        "db 0 A 10.2.0.1",
        "db 0 A 10.2.0.2",
        "db-0.db 0 A 10.2.0.1",
        "db-1.db 0 A 10.2.0.2",
        "outside 0 CNAME api.cloud.test.",
        "ports 0 A 203.0.113.101",
        "ports 0 A 203.0.113.102",
        "near 0 A 203.0.113.102",
        &ports,
        &near,
        &cluster,
    ]);

    // A pod that is not ready leaves its name; one that is gone leaves too.
    let path = format!("{}/db", space.path("endpointslices"));
    let unready = json!({ "endpoints": [endpoint("db-0", "10.2.0.1", true), endpoint("db-1", "10.2.0.2", false)] });
    kube.patch(&path, &unready).expect_success();
    kube.patch(
        &format!("{}/outside", space.path("services")),
        &json!({ "spec": { "externalName": "new.cloud.test" } }),
    )
    .expect_success();
    space.delete("services", "near");
    space.delete("services", "cluster");
    site.shows(&[
        "db 0 A 10.2.0.1",
        "db-0.db 0 A 10.2.0.1",
        "outside 0 CNAME new.cloud.test.",
        "ports 0 A 203.0.113.101",
        "ports 0 A 203.0.113.102",
        &ports,
    ]);
    for name in ["db", "outside", "ports"] {
        space.delete("services", name);
    }
    site.shows(&[]);
}

fn ingresses_come_change_and_go(software: DnsSoftware) {
    let (kube, site) = (shared(), Site::start(software));
    let space = Space::new(&kube);
    let _daemon = site.line(&space).start();

    let backend = json!({ "service": { "name": "web", "port": { "number": 80 } } });
    let rule = |host: &str| json!({ "host": host, "http": { "paths": [{ "path": "/", "pathType": "Prefix", "backend": backend }] } });
    let spec =
        json!({ "rules": [rule(&at("www")), rule(&at("*.api"))], "tls": [{ "hosts": [at("www"), at("secure")] }] });
    space.create("ingresses", "front", &[(HOSTNAME, &at("named"))], json!({ "spec": spec }));
    space.reached_at("ingresses", "front", &["192.0.2.20"]);
    let stated = json!({ "spec": { "rules": [rule(&at("stated"))] } });
    space.create("ingresses", "stated", &[(TARGET, "edge.cloud.test")], stated);
    site.shows(&[
        "www 0 A 192.0.2.20",
        "*.api 0 A 192.0.2.20",
        "secure 0 A 192.0.2.20",
        "named 0 A 192.0.2.20",
        "stated 0 CNAME edge.cloud.test.",
    ]);
    assert_eq!(site.dig("anything.api", "A"), ["192.0.2.20"]);
    claims_are(
        &site,
        vec![
            claim("a-www", &space, "ingress/front"),
            claim("a-*.api", &space, "ingress/front"),
            claim("a-secure", &space, "ingress/front"),
            claim("a-named", &space, "ingress/front"),
            claim("cname-stated", &space, "ingress/stated"),
        ],
    );

    space.reached_at("ingresses", "front", &["192.0.2.21", "2001:db8::21"]);
    let path = format!("{}/front", space.path("ingresses"));
    kube.patch(&path, &json!({ "spec": { "rules": [rule(&at("www"))], "tls": null } })).expect_success();
    space.annotate("ingresses", "front", &[(HOSTNAME, "")]);
    site.shows(&["www 0 A 192.0.2.21", "www 0 AAAA 2001:db8::21", "stated 0 CNAME edge.cloud.test."]);
    space.delete("ingresses", "front");
    space.delete("ingresses", "stated");
    site.shows(&[]);
}

/// A name turns from addresses into an alias and back in one message: no resolver ever hears that it does not exist.
fn an_address_becomes_an_alias_without_a_gap(software: DnsSoftware) {
    let (kube, site) = (shared(), Site::start(software));
    let space = Space::new(&kube);
    let _daemon = site.line(&space).start();
    space.balancer("turn", &at("turn"), &["192.0.2.30", "2001:db8::30"]);
    site.shows(&["turn 0 A 192.0.2.30", "turn 0 AAAA 2001:db8::30"]);
    for (targets, rtype, expected) in [
        (&["lb.cloud.test"][..], "CNAME", "lb.cloud.test."),
        (&["192.0.2.31"], "A", "192.0.2.31"),
        (&["lb2.cloud.test"], "CNAME", "lb2.cloud.test."),
    ] {
        space.reached_at("services", "turn", targets);
        until(&format!("turn {rtype} {expected}"), SOON, || {
            assert_eq!(site.status("turn", "A"), "NOERROR", "the name is always there");
            site.dig("turn", rtype) == [expected]
        });
    }
    site.shows(&["turn 0 CNAME lb2.cloud.test."]);
    claims_are(&site, vec![claim("cname-turn", &space, "service/turn")]);
}

/// Two objects that ask for one name: the holder keeps it, and the other gets it when the first is gone.
#[test]
fn the_holder_keeps_a_name_until_it_goes() {
    needs!(DnsSoftware::Bind);
    let (kube, site) = (shared(), Site::start(DnsSoftware::Bind));
    let space = Space::new(&kube);
    let _daemon = site.line(&space).start();
    space.balancer("first", &at("contested"), &["192.0.2.40"]);
    site.shows(&["contested 0 A 192.0.2.40"]);
    space.balancer("second", &at("contested"), &["192.0.2.41"]);
    space.expect_event("second", "NameConflict", &["contested.shop.test", "first"]);
    site.shows(&["contested 0 A 192.0.2.40"]);
    space.delete("services", "first");
    site.shows(&["contested 0 A 192.0.2.41"]);
    claims_are(&site, vec![claim("a-contested", &space, "service/second")]);
}

pub(crate) fn pod(space: &Space<'_>, name: &str, app: &str, ip: &str, node: &str) {
    let spec = json!({ "hostname": name, "nodeName": node, "containers": [{ "name": "c", "image": "i" }] });
    space.create("pods", name, &[], json!({ "metadata": { "labels": { "app": app } }, "spec": spec }));
    let ready = json!([{ "type": "Ready", "status": "True" }]);
    let status = json!({ "phase": "Running", "podIP": ip, "podIPs": [{ "ip": ip }], "conditions": ready });
    space.kube.patch_status(&format!("{}/{name}", space.path("pods")), &status).expect_success();
}

fn endpoint(pod: &str, ip: &str, ready: bool) -> serde_json::Value {
    json!({ "addresses": [ip], "conditions": { "ready": ready }, "targetRef": { "kind": "Pod", "name": pod } })
}

fn slice(space: &Space<'_>, service: &str, pods: &[(&str, &str, bool)]) {
    let endpoints: Vec<_> = pods.iter().map(|(pod, ip, ready)| endpoint(pod, ip, *ready)).collect();
    let labels = json!({ "kubernetes.io/service-name": service });
    let fields =
        json!({ "metadata": { "labels": labels }, "addressType": "IPv4", "endpoints": endpoints, "ports": [] });
    space.create("endpointslices", service, &[], fields);
}
