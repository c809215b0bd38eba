//! What dns-controller left behind, with a registry and without one.

use zonewright_testkit::DnsSoftware::Bind;

use super::plane::{EXTERNAL, INTERNAL, Plane};
use crate::daemon::Daemon;
use crate::site::{Site, ZONE};
use crate::{LATER, SOON, needs, until};

/// What dns-controller wrote for two API servers, and a name that nobody asks for.
const WRITTEN: &str = "
api 60 IN A 203.0.113.1
api 60 IN A 203.0.113.2
api.internal 60 IN A 10.0.0.1
api.internal 60 IN A 10.0.0.2
left.internal 60 IN A 10.0.0.77
";

/// A plane of two nodes, and the zone that dns-controller wrote for it.
fn taken_over() -> (Plane, Site) {
    let (plane, mut site) = (Plane::start(), Site::with(Bind, WRITTEN));
    site.release(&format!("api.{ZONE}"));
    site.release(&format!("api.internal.{ZONE}"));
    plane.join(1);
    plane.join(2);
    (plane, site)
}

/// The addresses of `api.internal`, sorted.
fn addresses(site: &Site) -> Vec<String> {
    let mut found = site.dig("api.internal", "A");
    found.sort();
    found
}

#[track_caller]
fn internal(site: &Site, numbers: &[u8]) {
    let expected: Vec<String> = numbers.iter().map(|number| format!("10.0.0.{number}")).collect();
    until(&format!("{expected:?}"), LATER, || addresses(site) == expected);
}

/// A change elsewhere has gone through, so whatever was to be done about the rest was done.
#[track_caller]
fn goes_on(plane: &Plane, site: &Site, name: &str) {
    plane.ingress(name, &format!("{name}.{ZONE}"), &["192.0.2.9"]);
    until(name, SOON, || site.dig(name, "A") == ["192.0.2.9"]);
}

/// It does not write to what it finds, says so, and its other work goes on.
#[test]
fn what_stands_is_left_alone_unless_it_is_to_be_adopted() {
    needs!(Bind);
    let (plane, site) = taken_over();
    let daemon = plane.at(&site).start();
    plane.join(3);
    plane.expect_event("kube-system", "kube-apiserver-cp-3", "ForeignRecord", &format!("api.internal.{ZONE}"));
    goes_on(&plane, &site, "web");
    assert_eq!(addresses(&site), ["10.0.0.1", "10.0.0.2"]);
    drop(daemon);
}

/// Values that are those of today become ours, and from then on follow the nodes.
#[test]
fn matching_values_are_adopted() {
    needs!(Bind);
    let (plane, site) = taken_over();
    let line = plane.at(&site).arg("--adopt-unowned");
    let mut daemon = line.start();
    until("the claims", LATER, || site.claims().iter().filter(|claim| claim.contains(&plane.owner())).count() >= 2);
    plane.join(3);
    internal(&site, &[1, 2, 3]);
    // The claims know it after a restart, too.
    daemon.kill();
    plane.leave(1);
    let daemon = line.start();
    internal(&site, &[2, 3]);
    goes_on(&plane, &site, "web");
    // The name that nobody asks for is checked where the site ends.
    drop(daemon);
}

/// Other values than those of today are not adopted.
#[test]
fn other_values_are_not_adopted() {
    needs!(Bind);
    let (plane, site) = taken_over();
    plane.join(3);
    let daemon = plane.at(&site).arg("--adopt-unowned").start();
    plane.expect_event("kube-system", "kube-apiserver-cp-3", "ForeignRecord", &format!("api.internal.{ZONE}"));
    goes_on(&plane, &site, "web");
    assert_eq!(addresses(&site), ["10.0.0.1", "10.0.0.2"]);
    drop(daemon);
}

/// Without a registry only what this process published is changed and removed.
#[test]
fn without_a_registry_only_what_it_published_goes() {
    needs!(Bind);
    let (plane, site) = taken_over();
    let line = plane.at(&site).arg("--registry=noop");
    let start = || -> Daemon {
        let daemon = line.start();
        daemon.says(&["keeps ownership in memory"]);
        daemon.ready();
        daemon
    };
    let mut daemon = start();
    goes_on(&plane, &site, "first");
    goes_on(&plane, &site, "second");
    plane.kube.delete("/apis/networking.k8s.io/v1/namespaces/default/ingresses/first").expect_success();
    until("its own record to go", LATER, || site.dig("first", "A").is_empty());
    // Of what was found nothing goes, though an address is wanted no longer.
    plane.leave(1);
    goes_on(&plane, &site, "third");
    assert_eq!(addresses(&site), ["10.0.0.1", "10.0.0.2"]);
    assert!(site.claims().is_empty(), "nothing is written beside the records");
    // What an earlier process published is found, too.
    daemon.kill();
    let daemon = start();
    plane.kube.delete("/apis/networking.k8s.io/v1/namespaces/default/ingresses/second").expect_success();
    goes_on(&plane, &site, "fourth");
    assert_eq!(site.dig("second", "A"), ["192.0.2.9"]);
    drop(daemon);
}

/// Without a registry, what matches is adopted for the life of the process.
#[test]
fn without_a_registry_matching_values_are_adopted() {
    needs!(Bind);
    let (plane, site) = taken_over();
    let daemon = plane.at(&site).args(&["--registry=noop", "--adopt-unowned"]).start();
    daemon.ready();
    goes_on(&plane, &site, "web");
    plane.join(3);
    internal(&site, &[1, 2, 3]);
    plane.leave(1);
    internal(&site, &[2, 3]);
    // A foreign value in a record of ours stays, and ours come and go beside it.
    site.dns.nsupdate(&format!("update add api.internal.{ZONE} 60 A 10.0.0.99"));
    plane.leave(2);
    until("its own value to go", LATER, || addresses(&site) == ["10.0.0.3", "10.0.0.99"]);
    plane.join(4);
    until("its new value", LATER, || addresses(&site) == ["10.0.0.3", "10.0.0.4", "10.0.0.99"]);
    plane.leave(3);
    plane.leave(4);
    until("all of its values to go", LATER, || addresses(&site) == ["10.0.0.99"]);
    drop(daemon);
}

/// Two processes without a registry under one name: what the one published goes with its object, and what stands beside it stays.
#[test]
fn two_processes_without_a_registry_have_each_its_own_values() {
    needs!(Bind);
    let (one, two, site) = (Plane::start(), Plane::start(), Site::start(Bind));
    let joint = format!("joint.{ZONE}");
    for (plane, number) in [(&one, 1), (&two, 2)] {
        let node = format!("n-{number}");
        plane.node(&node, "control-plane", number);
        plane.pod(&format!("member-{number}"), &node, number, &[(INTERNAL, &joint)]);
    }
    let first = one.at(&site).arg("--registry=noop").start();
    site.shows(&["joint 60 A 10.0.0.1"]);
    let second = two.at(&site).arg("--registry=noop").start();
    two.expect_event("kube-system", "member-2", "ForeignRecord", &joint);
    site.shows(&["joint 60 A 10.0.0.1"]);
    // Whoever runs both puts the second value there.
    site.dns.nsupdate(&format!("update add {joint} 60 A 10.0.0.2"));
    one.gone("member-1");
    site.shows(&["joint 60 A 10.0.0.2"]);
    two.gone("member-2");
    goes_on(&two, &site, "web");
    assert_eq!(site.dig("joint", "A"), ["10.0.0.2"], "the second process did not publish it");
    drop((first, second));
    site.dns.nsupdate(&format!("update delete {joint} A"));
}

/// What kops writes before any API server is there.
const PRECREATED: &str = "
api 10 IN A 203.0.113.123
api.internal 10 IN A 203.0.113.123
ipv6 10 IN AAAA fd00:dead:add::
only6 10 IN A 203.0.113.123
only6 10 IN AAAA fd00:dead:add::
beside 10 IN A 203.0.113.123
beside 10 IN A 203.0.113.1
unasked 10 IN A 203.0.113.123
";

/// A new cluster: kops' placeholders give way to the addresses, and nothing else does, with either registry.
#[test]
fn placeholders_of_kops_are_adopted() {
    needs!(Bind);
    for registry in ["txt", "noop"] {
        let (plane, mut site) = (Plane::start(), Site::with(Bind, PRECREATED));
        for name in ["api", "api.internal", "ipv6", "only6"] {
            site.release(&format!("{name}.{ZONE}."));
        }
        plane.join(1);
        plane.service("names", "LoadBalancer", &[(EXTERNAL, &format!("ipv6.{ZONE}, beside.{ZONE}"))]);
        plane.reached_at("services", "names", &["2001:db8::1", "203.0.113.1"]);
        plane.reached("services", "only6", &format!("only6.{ZONE}"), "2001:db8::6");
        let line = plane.at(&site).arg(format!("--registry={registry}"));
        let mut daemon = line.start();
        plane.expect_event("kube-system", "kube-apiserver-cp-1", "ForeignRecord", &format!("api.internal.{ZONE}"));
        assert_eq!(addresses(&site), ["203.0.113.123"]);
        daemon.kill();
        let daemon = line.arg("--adopt-unowned").start();
        let at = |name: &str, kind: &str| site.dig(name, kind);
        until("the API's names", LATER, || {
            at("api", "A") == ["203.0.113.1"] && at("api.internal", "A") == ["10.0.0.1"]
        });
        until("the name with IPv6", LATER, || at("ipv6", "AAAA") == ["2001:db8::1"]);
        until("the name with IPv6 alone", LATER, || at("only6", "AAAA") == ["2001:db8::6"]);
        // Nobody asks for addresses of the other family there, so nobody takes it over.
        assert_eq!(at("only6", "A"), ["203.0.113.123"]);
        // More values than the placeholder are somebody's: they are checked where the site ends, as is the name that nobody asks for.
        plane.expect_event("default", "names", "ForeignRecord", &format!("beside.{ZONE}"));
        drop(daemon);
    }
}
