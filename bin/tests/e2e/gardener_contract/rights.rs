//! The rights of the manifests are what the controller uses, no more and no less; and its Leases.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use zonewright_fakes::route53::Fault;
use zonewright_testkit::kube::User;
use zonewright_testkit::{KubeApi, require};

use super::clouds::{AWS, Aws, a};
use super::seed::{OWN, deploy};
use super::world::World;
use crate::{LATER, until};

const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/extension-zonewright/leases";

/// `verb group/resource`, of every rule of the manifests.
fn granted() -> BTreeSet<String> {
    let roles: Vec<Value> = serde_saphyr::from_multiple(&deploy("manifests/rbac.yaml")).expect("YAML");
    let list = |value: &Value| -> Vec<String> {
        value.as_array().into_iter().flatten().filter_map(|text| text.as_str().map(str::to_owned)).collect()
    };
    let mut rights = BTreeSet::new();
    for rule in roles.iter().flat_map(|role| role["rules"].as_array().into_iter().flatten()) {
        for group in list(&rule["apiGroups"]) {
            for resource in list(&rule["resources"]) {
                for verb in list(&rule["verbs"]) {
                    rights.insert(format!("{verb} {group}/{resource}"));
                }
            }
        }
    }
    rights
}

/// The same, of every request of the controller; those that were refused apart.
fn used(world: &World) -> (BTreeSet<String>, BTreeSet<String>) {
    let (mut used, mut refused) = (BTreeSet::new(), BTreeSet::new());
    for event in world.kube().audit_log_of(User::Zonewright) {
        let about = &event["objectRef"];
        let text = |field: &str| about[field].as_str().unwrap_or_default().to_owned();
        if text("resource").is_empty() || text("resource") == "selfsubjectaccessreviews" {
            continue;
        }
        let part = if text("subresource").is_empty() { String::new() } else { format!("/{}", text("subresource")) };
        let verb = event["verb"].as_str().unwrap_or_default();
        let right = format!("{verb} {}/{}{part}", text("apiGroup"), text("resource"));
        let set = if event["responseStatus"]["code"] == 403 { &mut refused } else { &mut used };
        set.insert(right);
    }
    (used, refused)
}

/// A life with everything in it, as a user that holds exactly the rights of the manifests.
#[test]
fn the_rights_are_exactly_those_that_are_used() {
    require!(KubeApi::TOOLS);
    let aws = Aws::new();
    let world = aws.leads(World::alone(AWS));
    let mut world = World { line: world.line.clone().without("--leader-election=false"), ..world };
    world.line = world.line.clone().arg("--leader-election=true").arg(format!("--leader-election-namespace={OWN}"));
    world.line = world.line.clone().arg("--heartbeat-renew-interval-seconds=1");
    world.start();
    let object = world.record("web");
    object.created(&a("web", "192.0.2.1"));
    aws.service.fail("ChangeResourceRecordSets", Fault::Denied, 1000);
    object.ask("reconcile", &json!({ "values": ["192.0.2.2"] }));
    object.fails(&[]);
    object.expect_event("ProviderFailed", "");
    // Another process says the same again: the Event becomes a series.
    world.kill();
    world.start();
    let object = world.record("web");
    object.ask("reconcile", &Value::Null);
    let events = format!("/apis/events.k8s.io/v1/namespaces/{}/events", world.namespace);
    until("a series", LATER, || {
        let list = world.kube().get(&events).expect_success();
        list["items"].as_array().is_some_and(|events| events.iter().any(|event| !event["series"].is_null()))
    });
    aws.service.fail("ChangeResourceRecordSets", Fault::Denied, 0);
    object.does("reconcile", &Value::Null);
    object.does("migrate", &Value::Null);
    object.does("restore", &Value::Null);
    object.deleted();
    world.secret("other", &[("accessKeyID", "x")]);
    until("both Leases to be renewed", LATER, || {
        let list = world.kube().get(LEASES).expect_success();
        let renewed = |lease: &Value| {
            let times = [&lease["spec"]["renewTime"], &lease["spec"]["acquireTime"]];
            times[0].is_string() && times[0] != times[1]
        };
        list["items"].as_array().is_some_and(|leases| leases.len() == 2 && leases.iter().all(renewed))
    });
    let (used, refused) = used(&world);
    assert_eq!(refused, BTreeSet::new(), "what was refused");
    let granted = granted();
    let missing: Vec<&String> = used.difference(&granted).collect();
    assert!(missing.is_empty(), "used by way of other rights: {missing:?}");
    // What is watched is listed where an API server cannot stream its lists.
    let listed =
        |right: &&String| right.strip_prefix("list ").is_some_and(|kind| used.contains(&format!("watch {kind}")));
    let unused: Vec<&String> = granted.difference(&used).filter(|right| !listed(right)).collect();
    assert!(unused.is_empty(), "granted and never used: {unused:?}; used: {used:#?}");
}

/// What gardenlet looks at: the Lease of the extension, renewed by whoever leads.
#[test]
fn the_heartbeat() {
    require!(KubeApi::TOOLS);
    let aws = Aws::new();
    let world = aws.leads(World::alone(AWS)).arg("--heartbeat-renew-interval-seconds=1").started();
    let path = format!("{LEASES}/gardener-extension-heartbeat");
    let renewed = || world.kube().get(&path).body["spec"]["renewTime"].clone();
    until("the first heartbeat", LATER, || renewed().is_string());
    let first = renewed();
    until("the next heartbeat", LATER, || renewed() != first);
    let lease = world.kube().get(&path).expect_success();
    assert_eq!(lease["spec"]["leaseDurationSeconds"], 1);
    assert_eq!(lease["spec"]["holderIdentity"], "zonewright-gardener", "the extension, and no process of it");
    // MicroTime: six digits.
    let time = lease["spec"]["renewTime"].as_str().unwrap_or_default();
    assert!(time.split('.').nth(1).is_some_and(|rest| rest.len() == 7), "{time}");
}

/// Two of one seed: one works, and when it is killed the other takes over what it left.
#[test]
fn one_of_two_leads() {
    require!(KubeApi::TOOLS);
    let aws = Aws::new();
    let world = aws.leads(World::alone(AWS));
    let mut world = World { line: world.line.clone().without("--leader-election=false"), ..world };
    world.line = world.line.clone().arg("--leader-election=true").arg(format!("--leader-election-namespace={OWN}"));
    let mut first = world.line.start();
    world.record("web").created(&a("web", "192.0.2.1"));
    let second = world.line.start();
    world.record("late").created(&a("late", "192.0.2.2"));
    // Carried out, and never answered: the first one is killed in the middle of it.
    aws.service.fail("ChangeResourceRecordSets", Fault::Late, 1);
    let before = aws.writes();
    let asked = world.record("web").ask("reconcile", &json!({ "values": ["192.0.2.3"] }));
    aws.is_asked_to_write(before);
    first.kill();
    world.record("web").answers(&asked);
    aws.shows(&["late.shop.test A 120 192.0.2.2", "web.shop.test A 120 192.0.2.3"]);
    assert!(second.terminate().status.success());
}
