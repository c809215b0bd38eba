//! Nodes, Pods, and what many sources ask of the API server together: one watch for each kind, and none that nobody needs.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use zonewright_testkit::DnsSoftware::Bind;
use zonewright_testkit::KubeApi;
use zonewright_testkit::kube::User;

use super::{INGRESS, front, line};
use crate::cluster::{HOSTNAME, Space, own};
use crate::objects::{at, pod};
use crate::site::Site;
use crate::{crds, needs};

const NODE: &str = "/api/v1/nodes";

/// The number of watches of each resource that the daemon has begun.
fn watches(kube: &KubeApi) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for event in kube.audit_log_of(User::Zonewright) {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let began = event["verb"] == "watch" && event["stage"] == "ResponseStarted";
        if began && text(&event["userAgent"]).starts_with("zonewright/") {
            *counts.entry(text(&event["objectRef"]["resource"])).or_default() += 1;
        }
    }
    counts
}

#[test]
fn many_sources_share_one_watch_for_each_kind() {
    needs!(Bind);
    let (kube, site) = (own(), Site::start(Bind));
    crds::install(&kube);
    let space = Space::new(&kube);
    let sources = ["node", "pod", "service", "ingress", "istio-gateway", "istio-virtualservice", "ambassador-host"];
    let daemon = line(&site, &space, &sources).start();

    // A node's name is its host; a pod that names a host is reached at its node.
    let node = |name: &str| format!("{NODE}/{name}");
    let (one, two) = (at("node-a"), at("node-b"));
    for (name, ip) in [(&one, "203.0.113.1"), (&two, "203.0.113.2")] {
        kube.post(NODE, &json!({ "metadata": { "name": name } })).expect_success();
        let addresses = json!({ "addresses": [{ "type": "ExternalIP", "address": ip }] });
        kube.patch_status(&node(name), &addresses).expect_success();
    }
    pod(&space, "web-0", "web", "10.2.0.1", &one);
    pod(&space, "web-1", "web", "10.2.0.2", &two);
    let internal = "external-dns.kubernetes.io/internal-hostname";
    space.annotate("pods", "web-0", &[(HOSTNAME, &at("pod")), (internal, &at("pod-inside"))]);
    let spec = json!({ "type": "NodePort", "externalTrafficPolicy": "Local", "selector": { "app": "web" } });
    space.service("near", &[(HOSTNAME, &at("near"))], spec);
    front(&space, "edge", ("istio", "edge"), &["192.0.2.1"]);
    space.ingress("front", &at("front"), "192.0.2.2");
    let spec = json!({ "selector": { "istio": "edge" }, "servers": [{ "hosts": [at("mesh")] }] });
    space.create("gateways.networking.istio.io", "edge", &[], json!({ "spec": spec }));
    site.shows(&[
        "node-a 0 A 203.0.113.1",
        "node-b 0 A 203.0.113.2",
        "pod 0 A 203.0.113.1",
        "pod-inside 0 A 10.2.0.1",
        "near 0 A 203.0.113.1",
        "near 0 A 203.0.113.2",
        "mesh 0 A 192.0.2.1",
        "front 0 A 192.0.2.2",
    ]);

    // The node's address, the pod's readiness, the Service's status: whatever rests on them follows.
    let moved = json!({ "addresses": [{ "type": "ExternalIP", "address": "203.0.113.3" }] });
    kube.patch_status(&node(&one), &moved).expect_success();
    space.status("pods", "web-1", &json!({ "conditions": [{ "type": "Ready", "status": "False" }] }));
    space.annotate("gateways.networking.istio.io", "edge", &[(INGRESS, "front")]);
    space.reached_at("ingresses", "front", &["192.0.2.3"]);
    let followed = [
        "node-a 0 A 203.0.113.3",
        "node-b 0 A 203.0.113.2",
        "pod 0 A 203.0.113.3",
        "pod-inside 0 A 10.2.0.1",
        "near 0 A 203.0.113.3",
        "mesh 0 A 192.0.2.3",
        "front 0 A 192.0.2.2",
    ];
    site.shows(&followed);
    // There is no kubelet that would end the pod in order. The other is all that is left, ready or not.
    space.delete("pods", "web-0?gracePeriodSeconds=0");
    let left = |node: &[&str]| {
        let rest = ["node-a 0 A 203.0.113.3", "near 0 A 203.0.113.2", "mesh 0 A 192.0.2.3", "front 0 A 192.0.2.2"];
        site.shows(&[&rest, node].concat());
    };
    left(&["node-b 0 A 203.0.113.2"]);
    // Cordoned off: its name goes, and the Service that is reached nowhere else keeps its address for the time being.
    kube.patch(&node(&two), &json!({ "spec": { "unschedulable": true } })).expect_success();
    left(&[]);
    daemon.ready();

    let expected = [
        ("endpointslices", "endpointslices.discovery.k8s.io", 0.0),
        ("gateways", "gateways.networking.istio.io", 1.0),
        ("hosts", "hosts.getambassador.io", 0.0),
        ("ingresses", "ingresses.networking.k8s.io", 1.0),
        ("nodes", "nodes", 4.0),
        ("pods", "pods", 1.0),
        ("services", "services", 3.0),
        ("virtualservices", "virtualservices.networking.istio.io", 0.0),
    ];
    let single: BTreeMap<String, usize> = expected.iter().map(|(resource, ..)| ((*resource).to_owned(), 1)).collect();
    assert_eq!(watches(&kube), single);
    for (_, kind, objects) in expected {
        daemon.measures(&format!("zonewright_watched_objects{{kind=\"{kind}\"}}"), objects);
    }
    drop(daemon);

    // Services of type LoadBalancer need neither pods, nor slices, nor nodes.
    let balancers = line(&site, &space, &["service"]).arg("--service-type-filter=LoadBalancer").start();
    space.balancer("lb", &at("lb"), &["192.0.2.4"]);
    // What no source reads any more is an orphan.
    site.shows(&["lb 0 A 192.0.2.4"]);
    balancers.ready();
    let mut then = single;
    *then.entry("services".to_owned()).or_default() += 1;
    assert_eq!(watches(&kube), then);
    for kind in ["pods", "nodes", "endpointslices.discovery.k8s.io"] {
        assert_eq!(balancers.metric(&format!("zonewright_watched_objects{{kind=\"{kind}\"}}")), None, "{kind}");
    }
}
