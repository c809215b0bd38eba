//! Flags that change what is done at all, as external-dns' users know them.

use serde_json::json;
use zonewright_testkit::DnsSoftware::{self, Bind};

use crate::cluster::{HOSTNAME, Space, TARGET, shared};
use crate::daemon::{CommandLine, Ended};
use crate::site::{Site, ZONE};
use crate::{SOON, each_server, needs, until};

each_server!(one_pass_converges_and_ends);

fn at(host: &str) -> String {
    format!("{host}.{ZONE}")
}

fn one_pass_converges_and_ends(software: DnsSoftware) {
    let (kube, site) = (shared(), Site::start(software));
    let space = Space::new(&kube);
    space.services(3, ZONE);
    let line = site.line(&space).arg("--once");
    let status = |ended: &Ended| ended.status.code();
    let first = line.run();
    assert_eq!(status(&first), Some(0), "{}", first.log);
    assert_eq!(site.ours().len(), 3);
    let serial = site.serial();
    let second = line.run();
    assert_eq!(status(&second), Some(0), "{}", second.log);
    assert!(second.log.contains("All records are already up to date"), "{}", second.log);
    assert_eq!(site.serial(), serial);
    for n in 0..3 {
        space.delete("services", &format!("s{n}"));
    }
    assert_eq!(status(&line.run()), Some(0));
    assert!(site.ours().is_empty());
}

#[test]
fn one_pass_with_a_held_plan_ends_with_status_3() {
    needs!(Bind);
    let (kube, site) = (shared(), Site::start(Bind));
    let space = Space::new(&kube);
    space.services(12, ZONE);
    let line = site.line(&space).arg("--once");
    assert_eq!(line.run().status.code(), Some(0));
    kube.delete(&space.path("services"));
    space.balancer("new", &at("new"), &["192.0.2.1"]);
    let held = line.run();
    assert_eq!(held.status.code(), Some(3), "{}", held.log);
    assert!(held.log.contains("12 deletes in zone shop.test are held"), "{}", held.log);
    assert_eq!(site.ours().len(), 13, "the create went on");
    // The next pass says the same, with the hash; no daemon is needed to look at the plan and to approve it.
    let held = line.run();
    assert!(held.log.contains("12 deletes in zone shop.test are held"), "{}", held.log);
    let place = [format!("--state-dir={}", space.state_dir()), "--txt-owner-id=e2e".to_owned()];
    let ask = |words: &[&str]| {
        let words: Vec<&str> = words.iter().copied().chain(place.iter().map(String::as_str)).collect();
        let output = crate::daemon::command(&words);
        (output.status.success(), String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
    };
    let (_, plans) = ask(&["plans"]);
    let hash = plans.split_whitespace().next().unwrap_or_default();
    assert!(plans.contains("zone rfc2136/shop.test: 12 deletes are held") && held.log.contains(hash), "{plans}");
    assert!(!ask(&["approve", "000000000000"]).0);
    assert_eq!(ask(&["approve", hash]), (true, "12 deletes in zone rfc2136/shop.test are approved.\n".to_owned()));
    let free = line.run();
    assert_eq!(free.status.code(), Some(0), "{}", free.log);
    site.shows(&["new 0 A 192.0.2.1"]);
}

/// A status that is blank when a process starts: the record stays, and the log says so.
#[test]
fn one_pass_keeps_a_record_whose_object_has_no_address_and_says_so() {
    needs!(Bind);
    let (kube, site) = (shared(), Site::start(Bind));
    let space = Space::new(&kube);
    space.balancer("web", &at("web"), &["192.0.2.1"]);
    let line = site.line(&space).arg("--once");
    assert_eq!(line.run().status.code(), Some(0));
    space.reached_at("services", "web", &[]);
    let kept = line.run();
    assert_eq!(kept.status.code(), Some(0), "{}", kept.log);
    assert!(
        kept.log.contains("web.shop.test A: the published record is kept while its object has no targets"),
        "{}",
        kept.log
    );
    site.shows(&["web 0 A 192.0.2.1"]);
}

#[test]
fn a_dry_run_says_what_it_would_do_and_sends_nothing() {
    needs!(Bind);
    let (kube, site) = (shared(), Site::start(Bind));
    let space = Space::new(&kube);
    space.services(2, ZONE);
    let daemon = site.line(&space).start();
    until("two names", SOON, || site.ours().len() == 2);
    drop(daemon);
    let (serial, log) = (site.serial(), site.dns.log());
    space.delete("services", "s0");
    space.annotate("services", "s1", &[(TARGET, "192.0.2.200")]);
    space.balancer("new", &at("new"), &["192.0.2.1"]);
    let daemon = site.line(&space).args(&["--dry-run", "--interval=1s"]).start();
    daemon.says(&["dry run, not sent", "- s0.shop.test 0 A 192.0.0.1"]);
    daemon.says(&["dry run, not sent", "s1.shop.test", "192.0.2.200"]);
    daemon.says(&["dry run, not sent", "new.shop.test", "192.0.2.1"]);
    let once = site.line(&space).args(&["--dry-run", "--once"]).run();
    assert_eq!(once.status.code(), Some(0), "{}", once.log);
    assert_eq!(site.serial(), serial);
    let updates = site.dns.log()[log.len()..].matches("updating zone").count();
    assert_eq!(updates, 0, "the server saw an update");
    assert!(space.events("new").is_empty(), "an Event is a change too");
}

#[test]
fn upsert_only_never_deletes() {
    needs!(Bind);
    let (kube, site) = (shared(), Site::start(Bind));
    let space = Space::new(&kube);
    space.services(2, ZONE);
    let line = site.line(&space).without("--policy");
    let daemon = line.clone().arg("--policy=upsert-only").start();
    until("two names", SOON, || site.ours().len() == 2);
    space.delete("services", "s0");
    space.annotate("services", "s1", &[(TARGET, "192.0.2.200")]);
    site.shows(&["s0 0 A 192.0.0.1", "s1 0 A 192.0.2.200"]);
    drop(daemon);
    // Create-only does not even update.
    let _daemon = line.arg("--policy=create-only").start();
    space.annotate("services", "s1", &[(TARGET, "192.0.2.201")]);
    space.balancer("new", &at("new"), &["192.0.2.1"]);
    space.expect_event("s1", "Policy", &["s1.shop.test A", "no updates"]);
    site.shows(&["s0 0 A 192.0.0.1", "s1 0 A 192.0.2.200", "new 0 A 192.0.2.1"]);
}

/// Objects and names that a flag leaves out; `in` is published and `out` is not.
#[test]
fn filters_leave_objects_and_names_out() {
    needs!(Bind);
    let kube = shared();
    let host = |name: &str| [(HOSTNAME, at(name))];
    let check = |flags: &[&str], prepare: &dyn Fn(&Space<'_>)| {
        let site = Site::start(Bind);
        let space = Space::new(&kube);
        for name in ["in", "out"] {
            let annotations = host(name);
            let annotations: Vec<(&str, &str)> = annotations.iter().map(|(k, v)| (*k, v.as_str())).collect();
            space.service(name, &annotations, json!({ "type": "LoadBalancer" }));
            space.reached_at("services", name, &["192.0.2.1"]);
        }
        prepare(&space);
        let ended = site.line(&space).arg("--once").args(flags).run();
        assert_eq!(ended.status.code(), Some(0), "{flags:?}: {}", ended.log);
        site.shows(&["in 0 A 192.0.2.1"]);
    };
    let label = |space: &Space<'_>, name: &str, value: &str| {
        let change = json!({ "metadata": { "labels": { "tier": value } } });
        space.kube.patch(&format!("{}/{name}", space.path("services")), &change).expect_success();
    };
    check(&["--domain-filter=in.shop.test"], &|_| {});
    check(&["--exclude-domains=out.shop.test"], &|_| {});
    check(&["--regex-domain-filter=^in\\."], &|_| {});
    check(&["--label-filter=tier in (front, edge)"], &|space| {
        label(space, "in", "front");
        label(space, "out", "back");
    });
    check(&["--annotation-filter=tier=front"], &|space| space.annotate("services", "in", &[("tier", "front")]));
    check(&["--service-type-filter=LoadBalancer"], &|space| {
        space.kube.delete(&format!("{}/out", space.path("services"))).expect_success();
        space.service("out", &[(HOSTNAME, &at("out"))], json!({ "type": "ExternalName", "externalName": "x.test" }));
    });
    // The namespace is in every command line here; this object lives in another one.
    let elsewhere = Space::new(&kube);
    elsewhere.balancer("out", &at("out"), &["192.0.2.1"]);
    check(&[], &|space| space.delete("services", "out"));
}

#[test]
fn claims_stand_where_the_flags_say() {
    needs!(Bind);
    let kube = shared();
    for (flag, expected) in [
        ("--txt-prefix=zw-", "zw-a-web"),
        ("--txt-prefix=%{record_type}-zw.", "a-zw.web"),
        ("--txt-suffix=-zw", "a-web-zw"),
    ] {
        let site = Site::start(Bind);
        let space = Space::new(&kube);
        space.balancer("web", &at("web"), &["192.0.2.1"]);
        let line = site.line(&space).arg("--once").arg(flag);
        assert_eq!(line.run().status.code(), Some(0), "{flag}");
        site.shows(&["web 0 A 192.0.2.1"]);
        let claims = site.claims();
        assert!(claims.len() == 1 && claims[0].starts_with(&format!("{expected} 0 TXT ")), "{flag}: {claims:?}");
        // Found again: nothing is written, and the record goes with its claim.
        let serial = site.serial();
        assert_eq!(line.run().status.code(), Some(0), "{flag}");
        assert_eq!(site.serial(), serial, "{flag}");
        space.delete("services", "web");
        assert_eq!(line.run().status.code(), Some(0), "{flag}");
        assert!(site.ours().is_empty() && site.claims().is_empty(), "{flag}");
    }
}

/// Without a registry everything of a managed type inside the filter counts as ours, and no claims are written.
#[test]
fn without_a_registry_the_filter_says_what_is_ours() {
    needs!(Bind);
    let kube = shared();
    let mut site = Site::with(Bind, "old.noop 60 IN A 192.0.2.99\nold.noop 60 IN TXT \"not managed\"\n");
    site.release("old.noop.shop.test. 60 IN A");
    let space = Space::new(&kube);
    space.balancer("web", &at("web.noop"), &["192.0.2.1"]);
    space.balancer("outside", &at("outside"), &["192.0.2.1"]);
    let line: CommandLine = site.line(&space).args(&["--registry=noop", "--domain-filter=noop.shop.test", "--once"]);
    let ended = line.run();
    assert_eq!(ended.status.code(), Some(0), "{}", ended.log);
    site.shows(&["web.noop 0 A 192.0.2.1"]);
    assert!(site.claims().is_empty());
}
