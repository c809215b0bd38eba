//! A kind that is not installed at start, is installed, is not served for a while, goes while nobody watches, and goes
//! before the daemon's eyes.

use serde_json::{Value, json};
use zonewright_testkit::DnsSoftware::Bind;
use zonewright_testkit::KubeApi;
use zonewright_testkit::kube::User;

use super::line;
use crate::cluster::Space;
use crate::crds::{self, LATE, NEVER};
use crate::objects::at;
use crate::site::{Site, ZONE};
use crate::{LATER, SOON, needs, until};

const UNKNOWN: &str = "the API server does not know this kind";
const HELD: &str = "zonewright_held_deletes{zone=\"rfc2136/shop.test\"}";

/// What the other source has in the zone, and what the late kind has.
const OTHERS: [&str; 2] = ["s0 0 A 192.0.0.1", "s1 0 A 192.0.0.2"];
const LATES: [&str; 2] = ["late 0 CNAME edge.cloud.test.", "later 0 CNAME edge.cloud.test."];

/// How often the daemon has asked for a collection and was answered that there is none.
fn refusals(kube: &KubeApi, collection: &str) -> usize {
    let refused = |event: &&Value| {
        let uri = event["requestURI"].as_str().unwrap_or_default();
        uri.split('?').next() == Some(collection) && event["responseStatus"]["code"] == 404
    };
    kube.audit_log_of(User::Zonewright).iter().filter(refused).count()
}

/// Two objects of the late kind.
#[track_caller]
fn create(space: &Space<'_>) {
    for host in ["late", "later"] {
        space.create(LATE.name, host, &[], json!({ "spec": { "hosts": [at(host)] } }));
        let status = json!({ "loadBalancer": { "routeGroup": [{ "hostname": "edge.cloud.test" }] } });
        space.status(LATE.name, host, &status);
    }
}

#[test]
fn a_kind_that_comes_late_and_goes_again() {
    needs!(Bind);
    let (kube, site) = (crds::shared(), Site::start(Bind));
    let space = Space::new(&kube);
    let line = line(&site, &space, &["service", "skipper-routegroup", "unstructured"])
        .arg(format!("--skipper-routegroup-groupversion={}", LATE.api_version()))
        .arg(format!("--unstructured-resource=things.v1.{NEVER}"));
    let daemon = line.start();
    space.services(2, ZONE);
    site.shows(&OTHERS);
    daemon.says(&[UNKNOWN, "routegroups.late.test/v1", "no group late.test"]);
    daemon.ready();
    LATE.install(&kube);
    create(&space);
    until("the late kind's names", LATER, || site.ours().len() == 4);
    site.shows(&[OTHERS, LATES].concat());
    // What never comes is asked for again and again, and logged once.
    let never = format!("/apis/{NEVER}/v1/namespaces/{}/things", space.name);
    until("the other kind to be asked for twice", LATER, || refusals(&kube, &never) >= 2);
    daemon.ready();
    let log = daemon.log();
    assert_eq!(log.lines().filter(|line| line.contains(UNKNOWN) && line.contains(NEVER)).count(), 1, "{log}");

    // It is not served for a while: discovery denies what was there. Nothing goes for that, and other sources go on.
    let mut definition = kube.get(&LATE.definition_path()).expect_success();
    definition["spec"]["versions"][0]["served"] = json!(false);
    kube.put(&LATE.definition_path(), &definition).expect_success();
    daemon.unready(&["routegroups.v1.late.test: not read completely"], SOON);
    space.delete("services", "s1");
    let rest = [&OTHERS[..1], &LATES].concat();
    site.shows(&rest);

    // It goes for good while the daemon is away. What is missing is no proof.
    assert!(daemon.terminate().status.success());
    kube.delete(&LATE.definition_path()).expect_success();
    until("the definition to go", LATER, || kube.get(&LATE.definition_path()).status == 404);
    let serial = site.serial();
    let daemon = line.start();
    daemon.unready(&["routegroups.v1.late.test: not read completely"], SOON);
    daemon.measures(HELD, 2.0);
    assert_eq!(site.serial(), serial);
    site.shows(&rest);

    // It is back with the same objects: the same records, not written again.
    LATE.install(&kube);
    create(&space);
    daemon.ready_within(LATER);
    daemon.measures(HELD, 0.0);
    assert_eq!(site.serial(), serial);
    site.shows(&rest);
    // A definition that goes takes its objects with it: the API server reports each one's deletion to the watch.
    kube.delete(&LATE.definition_path()).expect_success();
    site.shows(&OTHERS[..1]);
    daemon.unready(&["routegroups.v1.late.test: not read completely"], SOON);
}
