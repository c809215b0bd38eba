//! Objects that are as large as an API server lets them be, and namespaces that want more than they may have: nobody else
//! waits for them.

use std::time::{Duration, Instant};

use serde_json::json;
use zonewright_testkit::DnsSoftware::Bind;

use crate::cluster::{HOSTNAME, Space, TARGET, own, shared};
use crate::site::{Site, ZONE};
use crate::{LATER, SOON, needs, until};

/// How many objects hold nothing but mistakes.
const BROKEN: usize = 40;

/// 250 kB of names that no record can have, nearly the most that the API server takes.
fn broken_names() -> String {
    let names: Vec<String> = (0..31_000).map(|n| format!("b!{n:05}")).collect();
    names.join(",")
}

#[test]
fn objects_full_of_mistakes_hold_up_nobody() {
    needs!(Bind);
    let (kube, site) = (own(), Site::start(Bind));
    let space = Space::new(&kube);
    let daemon = site.line(&space).start();
    space.balancer("before", &format!("before.{ZONE}"), &["192.0.2.1"]);
    site.shows(&["before 0 A 192.0.2.1"]);
    let (memory, ticks, names) = (daemon.memory(), daemon.ticks(), broken_names());
    for n in 0..BROKEN {
        let fields = [(HOSTNAME, names.as_str()), (TARGET, "192.0.2.2")];
        space.service(&format!("broken-{n}"), &fields, json!({ "type": "ClusterIP" }));
    }
    let began = Instant::now();
    space.balancer("after", &format!("after.{ZONE}"), &["192.0.2.3"]);
    until("the name of another object", SOON, || site.dig("after", "A") == ["192.0.2.3"]);
    let took = began.elapsed();
    let mistakes = "zonewright_notes_total{reason=\"InvalidHostname\"}";
    until("every mistake to be found", LATER, || daemon.metric(mistakes).is_some_and(|count| count >= 400.0));
    let grown = daemon.memory().saturating_sub(memory);
    let work = Duration::from_millis(10 * u64::try_from(daemon.ticks() - ticks).expect("a short time"));
    println!(
        "{BROKEN} objects with 31,000 mistakes each: another name took {took:?}, all of it {work:?} of processor time, memory \
         grew by {grown} kB"
    );
    assert!(grown < 100_000, "memory grew by {grown} kB");
    // The first ten of each object, and how many more there are.
    let lines = daemon.count("reason=InvalidHostname");
    assert!((BROKEN..=11 * BROKEN).contains(&lines), "{lines} lines in the log");
    space.expect_event("broken-0", "InvalidHostname", &["30990 more of this kind"]);
    daemon.says(&["broken-0", "30990 more"]);
    daemon.ready();
}

/// The values of the records of a name, as the zone has them.
fn shown(site: &Site) -> Vec<String> {
    site.ours().iter().map(|record| record.split(' ').next().unwrap_or_default().to_owned()).collect()
}

#[test]
fn an_annotation_with_too_many_names_keeps_what_is_published() {
    needs!(Bind);
    let (kube, site) = (shared(), Site::start(Bind));
    let space = Space::new(&kube);
    let hosts = |names: &[&str]| names.iter().map(|name| format!("{name}.{ZONE}")).collect::<Vec<_>>().join(",");
    let line = site.line(&space).arg("--max-names-per-annotation=3");
    let daemon = line.start();
    space.balancer("web", &hosts(&["n1", "n2", "n3", "n4", "n5"]), &["192.0.2.1"]);
    site.shows(&["n1 0 A 192.0.2.1", "n2 0 A 192.0.2.1", "n3 0 A 192.0.2.1"]);
    space.expect_event("web", "TooManyNames", &["5 names, at most 3", "--max-names-per-annotation", "n4.shop.test"]);
    // Another order is no reason to give up a name, neither now nor for the next process.
    space.annotate("services", "web", &[(HOSTNAME, &hosts(&["n5", "n4", "n3", "n2", "n1"]))]);
    space.reached_at("services", "web", &["192.0.2.2"]);
    let followed = ["n1 0 A 192.0.2.2", "n2 0 A 192.0.2.2", "n3 0 A 192.0.2.2"];
    site.shows(&followed);
    assert!(daemon.terminate().status.success());
    space.reached_at("services", "web", &["192.0.2.3"]);
    let daemon = line.start();
    daemon.ready();
    site.shows(&["n1 0 A 192.0.2.3", "n2 0 A 192.0.2.3", "n3 0 A 192.0.2.3"]);
    assert_eq!((daemon.count("delete -"), daemon.count("create +")), (0, 0), "{}", daemon.log());
    // With less room than there are names, all stay; a name that is given up makes room for the first that waits.
    assert!(daemon.terminate().status.success());
    let daemon = site.line(&space).arg("--max-names-per-annotation=2").start();
    space.annotate("services", "web", &[(HOSTNAME, &hosts(&["n5", "n4", "n3", "n2"]))]);
    until("the name that was given up to go", SOON, || shown(&site) == ["n2", "n3"]);
    space.annotate("services", "web", &[(HOSTNAME, &hosts(&["n5", "n4", "n3"]))]);
    until("the first that waits", SOON, || shown(&site) == ["n3", "n5"]);
    daemon.ready();
}

#[test]
fn a_namespace_has_as_many_records_as_it_may_have() {
    needs!(Bind);
    let (kube, site) = (shared(), Site::start(Bind));
    let space = Space::new(&kube);
    let line = site.line(&space);
    let daemon = line.start();
    space.balancer("first", &format!("first.{ZONE}"), &["192.0.2.1"]);
    space.balancer("second", &format!("second.{ZONE}"), &["192.0.2.1"]);
    site.shows(&["first 0 A 192.0.2.1", "second 0 A 192.0.2.1"]);
    assert!(daemon.terminate().status.success());
    let daemon = line.arg("--max-records-per-namespace=1").start();
    daemon.ready();
    space.balancer("third", &format!("third.{ZONE}"), &["192.0.2.1"]);
    space.expect_event("third", "QuotaExceeded", &["third.shop.test", "may have 1", "--max-records-per-namespace"]);
    let waiting = format!("zonewright_quota_waiting_records{{namespace=\"{}\"}}", space.name);
    daemon.measures(&waiting, 1.0);
    space.reached_at("services", "first", &["192.0.2.2"]);
    site.shows(&["first 0 A 192.0.2.2", "second 0 A 192.0.2.1"]);
    space.delete("services", "first");
    site.shows(&["second 0 A 192.0.2.1"]);
    space.delete("services", "second");
    site.shows(&["third 0 A 192.0.2.1"]);
    daemon.measures(&waiting, 0.0);
}
