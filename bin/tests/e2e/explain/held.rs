//! What stands and is not as it is asked for any more: held deletes, policies, pins, names that move out of the filter.

use serde_json::json;
use zonewright_core::explain::Cause;
use zonewright_testkit::DnsSoftware::Bind;

use super::{case, run};
use crate::cluster::{HOSTNAME, Space, TARGET, shared};
use crate::daemon::command;
use crate::site::{OWNER, Site, ZONE};
use crate::{SOON, needs, until};

fn at(host: &str) -> String {
    format!("{host}.{ZONE}")
}

fn stated(space: &Space<'_>, name: &str, host: &str, address: &str) {
    space.service(name, &[(HOSTNAME, host), (TARGET, address)], json!({ "type": "LoadBalancer" }));
}

/// The delete is reported on the object that withdrew the name, with the plan's hash, which `approve` takes.
#[test]
fn a_held_delete_is_reported_on_the_object_that_withdrew_the_name() {
    needs!(Bind);
    let (kube, site) = (shared(), Site::start(Bind));
    let space = Space::new(&kube);
    for n in 0..4 {
        stated(&space, &format!("s{n}"), &at(&format!("s{n}")), "192.0.2.1");
    }
    let line = site.line(&space).args(&["--interval=1s", "--brake-min-deletes=1", "--brake-percent=1"]);
    let daemon = line.start();
    until("four records", SOON, || site.ours().len() == 4);
    for n in 0..4 {
        space.annotate("services", &format!("s{n}"), &[(HOSTNAME, "")]);
    }
    until("three held", SOON, || daemon.metric("zonewright_held_deletes{zone=\"rfc2136/shop.test\"}") >= Some(3.0));
    let left = site.ours();
    let name = left.last().and_then(|record| record.split(' ').next()).expect("a record").to_owned();
    let object = format!("{name}.{ZONE}");
    case(&object, Cause::HeldDelete, &["zonewright approve", &object]).check(space.state_dir(), None);
    space.expect_event(&name, "DeleteHeld", &["zonewright approve", &object]);
    // The text says the same, and what it says to do works.
    let said = run(space.state_dir(), &object, &[]);
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    let approve = said.split('`').find(|part| part.starts_with("zonewright approve ")).expect("a command").to_owned();
    let done = command(&approve.split(' ').skip(1).collect::<Vec<_>>());
    assert!(done.status.success(), "{done:?}");
    site.shows(&[]);
}

/// A published name that is edited to one outside of the filter: one Event names both.
#[test]
fn a_name_that_is_edited_out_of_the_filter_is_reported_with_the_one_that_goes() {
    needs!(Bind);
    let (kube, site) = (shared(), Site::start(Bind));
    let space = Space::new(&kube);
    stated(&space, "web", &at("web"), "192.0.2.1");
    stated(&space, "other", "other.test", "192.0.2.1");
    let line = site.line(&space).args(&["--interval=1s", "--domain-filter=shop.test", "--events-filtered"]);
    let _daemon = line.start();
    site.shows(&["web 0 A 192.0.2.1"]);
    space.expect_event("other", "NameFiltered", &["other.test is outside of --domain-filter=shop.test"]);
    space.annotate("services", "web", &[(HOSTNAME, "web.other.test")]);
    space.expect_event("web", "NameFiltered", &["web.other.test", "--domain-filter=shop.test", "web.shop.test"]);
    case("web.other.test", Cause::NameFiltered, &["--domain-filter=shop.test"]).check(space.state_dir(), None);
    site.shows(&[]);
}

/// Another writer sets the record back, again and again.
#[test]
fn a_name_that_another_writer_changes_back_is_named_and_reported() {
    needs!(Bind);
    let (kube, site) = (shared(), Site::start(Bind));
    let space = Space::new(&kube);
    stated(&space, "web", &at("web"), "192.0.2.1");
    // Two changes that are seen within a second count as one.
    let _daemon = site.line(&space).arg("--interval=2s").start();
    for change in 0..3 {
        site.shows(&["web 0 A 192.0.2.1"]);
        site.dns.nsupdate(&format!("update delete web.shop.test A\nupdate add web.shop.test 0 A 198.51.100.{change}"));
    }
    let expected = case(at("web"), Cause::RecordContested, &["web.shop.test A", "Find the other writer"]);
    expected.event("web", &["web.shop.test"]).check(space.state_dir(), Some(&space));
}

/// What a policy keeps, of an object and of the daemon; then what an undo pins.
#[test]
fn what_stays_by_policy_or_after_an_undo() {
    needs!(Bind);
    let (kube, site) = (shared(), Site::start(Bind));
    let space = Space::new(&kube);
    let once = [(HOSTNAME, &*at("once")), (TARGET, "192.0.2.1"), ("zonewright.dev/policy", "create-only")];
    space.service("once", &once, json!({ "type": "LoadBalancer" }));
    stated(&space, "gone", &at("gone"), "192.0.2.1");
    stated(&space, "undone", &at("undone"), "192.0.2.1");
    let line = site.line(&space).arg("--interval=1s").without("--policy").arg("--policy=upsert-only");
    let daemon = line.start();
    site.shows(&["gone 0 A 192.0.2.1", "once 0 A 192.0.2.1", "undone 0 A 192.0.2.1"]);
    space.annotate("services", "once", &[(TARGET, "192.0.2.2")]);
    space.delete("services", "gone");
    case(at("once"), Cause::Policy, &["updates"]).event("once", &["updates"]).check(space.state_dir(), Some(&space));
    case(at("gone"), Cause::KeptByPolicy, &["deletes", "--policy=sync"]).check(space.state_dir(), None);
    // Journals record milliseconds, people name seconds: what comes now is later by at least one.
    let then = jiff::Timestamp::now();
    space.annotate("services", "undone", &[(TARGET, "192.0.2.3")]);
    site.shows(&["gone 0 A 192.0.2.1", "once 0 A 192.0.2.1", "undone 0 A 192.0.2.3"]);
    let (state, owner) = (format!("--state-dir={}", space.state_dir()), format!("--txt-owner-id={OWNER}"));
    let undone = command(&["undo", &format!("--since={then}"), "--yes", &state, &owner]);
    assert!(undone.status.success(), "{undone:?}");
    let unpin = format!("zonewright undo --unpin undone.shop.test {state} {owner}");
    case(at("undone"), Cause::RecordPinned, &[&unpin]).check(space.state_dir(), None);
    drop(daemon);
}
