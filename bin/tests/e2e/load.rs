//! Objects that are as large as an API server lets them be, and namespaces that want more than they may have: nobody else
//! waits for them.

use std::time::Instant;

use serde_json::json;
use zonewright_testkit::DnsSoftware::Bind;

use crate::cluster::{HOSTNAME, Space, TARGET, own};
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
    let (memory, names) = (daemon.memory(), broken_names());
    for n in 0..BROKEN {
        let fields = [(HOSTNAME, names.as_str()), (TARGET, "192.0.2.2")];
        space.service(&format!("broken-{n}"), &fields, json!({ "type": "ClusterIP" }));
    }
    let began = Instant::now();
    space.balancer("after", &format!("after.{ZONE}"), &["192.0.2.3"]);
    until("the name of another object", SOON, || site.dig("after", "A") == ["192.0.2.3"]);
    let took = began.elapsed();
    let told = "zonewright_notes_total{reason=\"InvalidHostname\"}";
    until("every mistake to be found", LATER, || daemon.metric(told).is_some_and(|count| count >= 400.0));
    let grown = daemon.memory().saturating_sub(memory);
    println!("{BROKEN} objects with 31,000 mistakes each: another name took {took:?}, memory grew by {grown} kB");
    assert!(grown < 100_000, "memory grew by {grown} kB");
    // The first ten of each object, and how many more there are.
    let lines = daemon.count("reason=InvalidHostname");
    assert!((BROKEN..=11 * BROKEN).contains(&lines), "{lines} lines in the log");
    space.is_told("broken-0", "InvalidHostname", &["30990 more of this kind"]);
    daemon.says(&["broken-0", "30990 more"]);
    daemon.ready();
}
