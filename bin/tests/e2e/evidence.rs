//! Nothing goes out of doubt, and doubt goes by object: what one object leaves open holds back its own records alone.

use serde_json::json;
use zonewright_testkit::DnsSoftware::Bind;
use zonewright_testkit::kube::User;

use crate::cluster::{HOSTNAME, Space, own, shared};
use crate::daemon::Daemon;
use crate::objects::at;
use crate::site::Site;
use crate::{LATER, SOON, crds, needs, until};

const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";
const OLD: &str = "external-dns.alpha.kubernetes.io/";

/// Waits until a round over everything found nothing to do.
#[track_caller]
fn rests(daemon: &Daemon) {
    daemon.ready();
    let idle = "external_dns_controller_no_op_runs_total";
    until("a round without changes", SOON, || daemon.metric(idle).is_some_and(|rounds| rounds >= 1.0));
}

/// Nine Services with the older prefix stay below every number of the brake: a restart without the flag for it took them all.
#[test]
fn names_of_the_older_prefix_outlast_a_restart_without_its_flag() {
    needs!(Bind);
    let (kube, site) = (shared(), Site::start(Bind));
    let space = Space::new(&kube);
    let hostname = format!("{OLD}hostname");
    for n in 0..9 {
        let name = format!("s{n}");
        space.service(&name, &[(&hostname, &at(&name))], json!({ "type": "LoadBalancer" }));
        space.reached_at("services", &name, &["192.0.2.1"]);
    }
    let line = site.line(&space).arg("--interval=1s");
    let flag = format!("--annotation-prefix={OLD}");
    let mut daemon = line.clone().arg(&flag).start();
    until("nine names", SOON, || site.ours().len() == 9);
    daemon.kill();
    let (serial, zone) = (site.serial(), site.zone());

    let daemon = line.start();
    rests(&daemon);
    daemon.says(&["9 records of ours are asked for with annotations of the other well-known prefix"]);
    space.expect_event("s8", "KeptForOtherPrefix", &["s8.shop.test A", "neither deleted nor changed", &flag]);
    assert_eq!((site.serial(), site.zone()), (serial, zone), "not one update");
    // Its annotation goes, or it goes itself: so does its record.
    space.annotate("services", "s0", &[(&hostname, "")]);
    until("the record without its annotation to go", SOON, || site.ours().len() == 8);
    space.delete("services", "s1");
    until("the record without its object to go", SOON, || site.ours().len() == 7);
    // Under the prefix in force it follows, also with the other one beside it.
    space.annotate("services", "s2", &[(HOSTNAME, &at("s2"))]);
    space.reached_at("services", "s2", &["192.0.2.2"]);
    until("the new address", SOON, || site.ours().contains(&"s2 0 A 192.0.2.2".to_owned()));
    assert_eq!(site.ours().len(), 7);
    assert!(daemon.terminate().status.success());

    let daemon = line.clone().arg("--no-brake").start();
    until("the rest to go without the brake", SOON, || site.ours() == ["s2 0 A 192.0.2.2"]);
    daemon.ready();
}

/// A DNSEndpoint that cannot be read held back the deletes of all others.
#[test]
fn an_unreadable_object_keeps_its_own_record_and_no_other() {
    needs!(Bind);
    let (kube, site) = (crds::shared(), Site::start(Bind));
    let space = Space::new(&kube);
    let kind = "dnsendpoints.externaldns.k8s.io";
    let spec =
        |host: &str| json!({ "endpoints": [{ "dnsName": at(host), "recordType": "A", "targets": ["192.0.2.80"] }] });
    for name in ["one", "two", "three"] {
        space.create(kind, name, &[], json!({ "spec": spec(name) }));
    }
    let line = site.line(&space).without("--source").args(&["--source=crd", "--interval=1s"]);
    let mut daemon = line.start();
    until("three names", SOON, || site.ours().len() == 3);
    daemon.kill();

    space.change(kind, "one", &json!({ "spec": { "endpoints": 5 } }));
    let daemon = line.start();
    rests(&daemon);
    space.expect_event("one", "UnreadableObject", &["spec.endpoints", "stays as it is"]);
    space.delete(kind, "two");
    site.shows(&["one 0 A 192.0.2.80", "three 0 A 192.0.2.80"]);
    space.change(kind, "three", &json!({ "spec": spec("renamed") }));
    site.shows(&["one 0 A 192.0.2.80", "renamed 0 A 192.0.2.80"]);
    daemon.ready_within(LATER);
    // Its own deletion is as good a proof as any.
    space.delete(kind, "one");
    site.shows(&["renamed 0 A 192.0.2.80"]);
}

/// Whoever deletes a definition deletes its objects: one event each, so the brake counts none of them, and what is to stay stays.
#[test]
fn who_deletes_a_definition_deletes_its_objects_and_their_records() {
    needs!(Bind);
    let (kube, site) = (own(), Site::start(Bind));
    let kind = crds::find("dnsendpoints.externaldns.k8s.io").expect("it is among the kinds");
    kind.install(&kube);
    let verbs = ["get", "list", "watch", "patch", "update"];
    let resources = ["dnsendpoints", "dnsendpoints/status"];
    kube.grant("endpoints", &json!([{ "apiGroups": ["externaldns.k8s.io"], "resources": resources, "verbs": verbs }]));
    let space = Space::new(&kube);
    let names: Vec<String> = (0..15).map(|n| format!("n{n}")).chain(["kept".to_owned()]).collect();
    for name in &names {
        let endpoint = json!({ "dnsName": at(name), "recordType": "A", "targets": ["192.0.2.80"] });
        let policy: &[(&str, &str)] = if name == "kept" { &[("zonewright.dev/policy", "retain")] } else { &[] };
        space.create(kind.name, name, policy, json!({ "spec": { "endpoints": [endpoint] } }));
    }
    // Where the brake counts, three in its window are more than it lets go.
    let brake = ["--brake-min-deletes=2", "--brake-percent=10"];
    let daemon = site.line(&space).without("--source").arg("--source=crd").args(&brake).start();
    until("all names", SOON, || site.ours().len() == names.len());
    daemon.ready();
    kube.delete(&kind.definition_path()).expect_success();
    site.shows(&["kept 0 A 192.0.2.80"]);
}

/// The rights on a kind are withdrawn under a running daemon: probe and metrics say which kind cannot be read and why, until it can.
#[test]
fn a_kind_that_may_not_be_read_any_more_shows_in_probe_and_metrics() {
    needs!(Bind);
    let (mut kube, site) = (own(), Site::start(Bind));
    let space = Space::new(&kube);
    let line = site.line(&space).arg("--interval=1s");
    space.balancer("web", &at("web"), &["192.0.2.1"]);
    let daemon = line.start();
    site.shows(&["web 0 A 192.0.2.1"]);
    daemon.ready();
    let errors = |daemon: &Daemon| daemon.metric("external_dns_source_errors_total").unwrap_or_default();
    assert!(errors(&daemon) < 1.0);
    let path = format!("{RBAC}/clusterrolebindings/zonewright");
    let mut binding = kube.get(&path).expect_success();
    kube.delete(&path).expect_success();
    until("the rights to be gone", SOON, || !kube.may(User::Zonewright, "list", "", "services"));
    // Who watches goes on until the connection ends.
    kube.kill_api();
    kube.start_api();
    daemon.unready(&["services: the watch is lost"], 2 * LATER);
    daemon.says_within(&["services", "cannot", "forbidden"], LATER);
    assert!(errors(&daemon) >= 1.0, "failures are counted");
    assert!(daemon.page("/metrics").1.contains("zonewright_kind_evidence{kind=\"services\"} 0"));

    if let Some(meta) = binding["metadata"].as_object_mut() {
        meta.retain(|key, _| key == "name");
    }
    kube.post(&format!("{RBAC}/clusterrolebindings"), &binding).expect_success();
    daemon.ready_within(2 * LATER);
    assert!(daemon.page("/metrics").1.contains("zonewright_kind_evidence{kind=\"services\"} 1"));
    site.shows(&["web 0 A 192.0.2.1"]);
}
