//! Routing policies: objects that do not agree, a set of others with another kind of policy, and a place that is taken.

use serde_json::json;
use zonewright_core::explain::Cause;
use zonewright_fakes::clouddns::{CloudDns, Kind};
use zonewright_fakes::route53::{RecordSet, Route53, Routing};
use zonewright_testkit::{KubeApi, require};

use super::case;
use crate::clouds::{self, ZONE};
use crate::cluster::{HOSTNAME, Space, TARGET, shared};
use crate::{LATER, until};

/// A Service at an address, with annotations that say how it is routed.
fn routed(space: &Space<'_>, name: &str, host: &str, address: &str, routing: &[(&str, &str)]) {
    let keys: Vec<String> = routing.iter().map(|(key, _)| format!("external-dns.kubernetes.io/{key}")).collect();
    let stated = keys.iter().map(String::as_str).zip(routing.iter().map(|(_, value)| *value));
    let all: Vec<(&str, &str)> = [(HOSTNAME, host), (TARGET, address)].into_iter().chain(stated).collect();
    space.service(name, &all, json!({ "type": "LoadBalancer" }));
}

#[test]
fn kinds_of_policies_that_do_not_go_together_are_named_and_reported() {
    require!(KubeApi::TOOLS);
    let (kube, service) = (shared(), Route53::start());
    let space = Space::new(&kube);
    let zone = service.add_zone("000000000001", ZONE, false, &[]);
    let theirs = RecordSet::new("busy.shop.test.", "A", 60, &["198.51.100.9"]).routed("theirs", Routing::Weight(5));
    service.put(&zone, theirs);
    routed(&space, "first", "both.shop.test", "192.0.2.1", &[]);
    routed(&space, "busy", "busy.shop.test", "192.0.2.2", &[]);
    let line = clouds::line("aws", &space)
        .args(&["--aws-api-qps=100", "--aws-batch-change-interval=0s"])
        .env("AWS_ENDPOINT_URL", &service.url())
        .env("AWS_EC2_METADATA_DISABLED", "true")
        .env("AWS_ACCESS_KEY_ID", "AKIDFAKE")
        .env("AWS_SECRET_ACCESS_KEY", "s3cr3t-of-the-key");
    let _daemon = line.start();
    until("the first object's record", LATER, || service.stands(&zone, "both.shop.test.", "A"));
    routed(&space, "second", "both.shop.test", "192.0.2.3", &[("set-identifier", "b"), ("aws-weight", "20")]);
    let object = format!("service/{}/second", space.name);
    let first = format!("Service {}/first", space.name);
    case(object, Cause::RoutingConflict, &["both.shop.test", "weighted", &first])
        .event("second", &["both.shop.test", &first])
        .check(space.state_dir(), Some(&space));
    case("busy.shop.test", Cause::ForeignRouting, &["busy.shop.test A", "theirs", "weighted"])
        .event("busy", &["busy.shop.test", "weighted"])
        .check(space.state_dir(), Some(&space));
}

/// At Cloud DNS all routed items of a name are in one set, where each place is there once.
#[test]
fn a_place_that_another_object_has_is_named_and_reported() {
    require!(KubeApi::TOOLS);
    let (kube, service) = (shared(), CloudDns::start());
    let space = Space::new(&kube);
    service.set_machine(Some("shop"));
    let zone = service.add_zone("shop", "shop-zone", "shop.test.", Kind::Public);
    let west = |name: &str, address: &str| {
        let routing = [("set-identifier", name), ("google-location", "europe-west1")];
        routed(&space, name, "near.shop.test", address, &routing);
    };
    west("first", "192.0.2.1");
    let line = clouds::line("google", &space)
        .args(&["--google-batch-change-interval=0s", "--google-api-qps=100"])
        .env("CLOUDSDK_API_ENDPOINT_OVERRIDES_DNS", &service.url())
        .env("CLOUDSDK_CONFIG", "/nowhere")
        .env("GCE_METADATA_HOST", service.url().trim_start_matches("http://"));
    let _daemon = line.start();
    until("the first object's item", LATER, || service.sets(&zone).iter().any(|set| set.name == "near.shop.test."));
    west("second", "192.0.2.2");
    let object = format!("service/{}/second", space.name);
    case(object, Cause::ItemConflict, &["near.shop.test", "first"])
        .event("second", &["near.shop.test", "first"])
        .check(space.state_dir(), Some(&space));
}
