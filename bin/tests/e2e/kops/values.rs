//! Which values stand under a name: families, addresses that nodes state, and what several objects or one entry ask for.

use serde_json::json;
use zonewright_testkit::DnsSoftware::Bind;

use super::plane::{EXTERNAL, INTERNAL, Plane};
use crate::needs;
use crate::site::{Site, ZONE};

const EXTERNAL_IP: &str = "dns.alpha.kubernetes.io/external-ip";

fn at(name: &str) -> String {
    format!("{name}.{ZONE}")
}

/// A cluster whose internal network has IPv6 alone: AAAA records all through, and no IPv4 address of a worker.
#[test]
fn a_cluster_of_ipv6() {
    needs!(Bind);
    let (plane, site) = (Plane::start(), Site::start(Bind));
    for number in [1, 2] {
        let (node, v6) = (format!("cp-{number}"), format!("2001:db8::{number}"));
        plane.node_at(&node, "control-plane", &[("InternalIP", &v6)], &[]);
        let names = [(EXTERNAL, &*at("api")), (INTERNAL, &*at("api.internal"))];
        plane.pod_at(&format!("kube-apiserver-{node}"), &node, &[&v6], &names);
    }
    plane.node_at("w-1", "node", &[("InternalIP", "10.0.0.101"), ("InternalIP", "2001:db8::101")], &[]);
    // Of two addresses of a pod those of its node count, whatever their family.
    plane.pod_at("both", "w-1", &["2001:db8::101", "10.0.0.101"], &[(INTERNAL, &at("both"))]);
    plane.pod_at("half", "w-1", &["2001:db8::101", "10.9.9.9"], &[(INTERNAL, &at("half"))]);
    plane.service("port", "NodePort", &[(INTERNAL, &at("ports"))]);
    plane.service("web", "LoadBalancer", &[(EXTERNAL, &at("web"))]);
    plane.reached_at("services", "web", &["2001:db8::80"]);
    let daemon = plane.at(&site).without("--internal-ipv4").arg("--internal-ipv6").start();
    let first = ["api 60 AAAA 2001:db8::1", "api.internal 60 AAAA 2001:db8::1"];
    let others = [
        "api 60 AAAA 2001:db8::2",
        "api.internal 60 AAAA 2001:db8::2",
        "both 60 A 10.0.0.101",
        "both 60 AAAA 2001:db8::101",
        "half 60 AAAA 2001:db8::101",
        // For all nodes of a role both families count.
        "ports 60 A 10.0.0.101",
        "ports 60 AAAA 2001:db8::101",
        "web 60 AAAA 2001:db8::80",
    ];
    site.shows(&[&first[..], &others[..]].concat());
    plane.leave(1);
    site.shows(&others);
    drop(daemon);
}

/// The annotation `external-ip` of a node counts where its status has no ExternalIP.
#[test]
fn external_addresses_that_nodes_state() {
    needs!(Bind);
    let (plane, site) = (Plane::start(), Site::start(Bind));
    let stated = [(EXTERNAL_IP, "203.0.113.50")];
    plane.node_at("w-1", "node", &[("InternalIP", "10.0.0.1")], &stated);
    plane.node_at("w-2", "node", &[("InternalIP", "10.0.0.2"), ("ExternalIP", "203.0.113.2")], &stated);
    plane.service("port", "NodePort", &[(EXTERNAL, &at("out"))]);
    plane.pod("gate", "w-1", 1, &[(EXTERNAL, &at("gate"))]);
    let daemon = plane.at(&site).start();
    site.shows(&["out 60 A 203.0.113.50", "out 60 A 203.0.113.2", "gate 60 A 203.0.113.50"]);
    let change = json!({ "metadata": { "annotations": { EXTERNAL_IP: "203.0.113.51" } } });
    plane.kube.patch("/api/v1/nodes/w-1", &change).expect_success();
    site.shows(&["out 60 A 203.0.113.51", "out 60 A 203.0.113.2", "gate 60 A 203.0.113.51"]);
    drop(daemon);
}

/// Values of all objects under one name are joined, and one that several ask for stands once, until the last of them goes.
#[test]
fn values_are_joined_and_duplicates_removed() {
    needs!(Bind);
    let (plane, site) = (Plane::start(), Site::start(Bind));
    plane.node("w-1", "node", 1);
    plane.pod("one", "w-1", 1, &[(INTERNAL, &at("joint"))]);
    plane.pod("two", "w-1", 1, &[(INTERNAL, &at("joint"))]);
    plane.reached("services", "balanced", &at("joint"), "10.0.0.1");
    plane.service("port", "NodePort", &[(INTERNAL, &at("joint"))]);
    plane.reached("ingresses", "web", &at("joint"), "192.0.2.1");
    let daemon = plane.at(&site).start();
    let joined = ["joint 60 A 10.0.0.1", "joint 60 A 192.0.2.1"];
    site.shows(&joined);
    // A marker of each step shows that the change was seen, though nothing of the name is to change.
    let seen = |step: &str, address: &str| plane.reached("services", step, &at(step), address);
    plane.gone("one");
    plane.delete("services", "balanced");
    seen("first", "192.0.2.8");
    site.shows(&[joined[0], joined[1], "first 60 A 192.0.2.8"]);
    plane.gone("two");
    plane.delete("services", "port");
    site.shows(&[joined[1], "first 60 A 192.0.2.8"]);
    drop(daemon);
}

/// An entry of a load balancer with an address and a host name: both cannot stand at one name, so the address does, and that is reported.
#[test]
fn an_entry_with_an_address_and_a_host_name() {
    needs!(Bind);
    let (plane, site) = (Plane::start(), Site::start(Bind));
    let both = json!([{ "ip": "192.0.2.1", "hostname": "lb.cloud.test" }]);
    plane.service("web", "LoadBalancer", &[(EXTERNAL, &at("web"))]);
    plane.balanced_at("services", "web", &both);
    plane.reached("ingresses", "shop", &at("shop"), "192.0.2.9");
    plane.balanced_at("ingresses", "shop", &both);
    let daemon = plane.at(&site).start();
    site.shows(&["web 60 A 192.0.2.1", "shop 60 A 192.0.2.1"]);
    for object in ["web", "shop"] {
        plane.expect_event("default", object, "CnameConflict", &at(object));
    }
    drop(daemon);
}

/// Host names of several load balancers cannot be joined: the first object keeps the name, and the other one gets an event.
#[test]
fn two_host_names_of_load_balancers() {
    needs!(Bind);
    let (plane, site) = (Plane::start(), Site::start(Bind));
    plane.reached("services", "one", &at("web"), "lb-1.cloud.test");
    let daemon = plane.at(&site).start();
    site.shows(&["web 60 CNAME lb-1.cloud.test."]);
    plane.reached("ingresses", "two", &at("web"), "lb-0.cloud.test");
    plane.expect_event("default", "two", "NameConflict", &at("web"));
    site.shows(&["web 60 CNAME lb-1.cloud.test."]);
    plane.delete("services", "one");
    site.shows(&["web 60 CNAME lb-0.cloud.test."]);
    drop(daemon);
}
