//! The DNS server dies, stands still, answers rubbish: the daemon stays up, says so, deletes nothing and recovers alone.

use zonewright_testkit::DnsSoftware::{self, Bind};
use zonewright_testkit::{DnsServer, Fault, proxy};

use crate::cluster::{HOSTNAME, Space, shared};
use crate::site::{Site, ZONE};
use crate::{LATER, SOON, each_server, needs, until};

each_server!(a_killed_server, a_server_that_stands_still);

/// `harm` and `heal` the server; in between the daemon has work.
fn outlives(software: DnsSoftware, harm: fn(&mut DnsServer), heal: fn(&mut DnsServer)) {
    let (kube, mut site) = (shared(), Site::start(software));
    let space = Space::new(&kube);
    space.services(3, ZONE);
    let mut daemon = site.line(&space).arg("--interval=1s").start();
    until("three names", SOON, || site.ours().len() == 3);
    daemon.ready();
    harm(&mut site.dns);
    space.annotate("services", "s0", &[(HOSTNAME, &format!("moved.{ZONE}"))]);
    space.delete("services", "s1");
    daemon.unready(&["zone shop.test: ", "127.0.0.1"], LATER);
    assert_eq!(daemon.page("/healthz").0, 200);
    assert!(daemon.runs());
    daemon.says(&["level=error", "the zone cannot be served", "shop.test", "next_attempt="]);
    // The object that waits gets an event, and the metric counts.
    daemon.says_within(&["ZoneNot", "Service", "moved.shop.test"], LATER);
    let errors = "zonewright_zone_errors_total{zone=\"rfc2136/shop.test\"";
    assert!(daemon.page("/metrics").1.lines().any(|line| line.starts_with(errors)));
    heal(&mut site.dns);
    daemon.ready_within(LATER);
    site.shows(&["moved 0 A 192.0.0.1", "s2 0 A 192.0.0.3"]);
    daemon.says(&["the zone works again"]);
}

fn a_killed_server(software: DnsSoftware) {
    outlives(software, DnsServer::kill, DnsServer::restart);
}

fn a_server_that_stands_still(software: DnsSoftware) {
    outlives(software, |dns| dns.stop(), |dns| dns.cont());
}

/// Somebody takes the zone out of the server's configuration, and puts it back.
#[test]
fn a_zone_that_vanishes_is_reported_and_comes_back() {
    needs!(Bind);
    outlives(Bind, DnsServer::lose_zones, DnsServer::find_zones);
}

/// Answers that are cut short or rubbish are errors, at the first reading of the zone and later.
#[test]
fn rubbish_is_never_taken_for_an_empty_zone() {
    needs!(Bind);
    let (kube, site) = (shared(), Site::start(Bind));
    let space = Space::new(&kube);
    space.services(15, ZONE);
    let daemon = site.line(&space).start();
    until("all names", SOON, || site.ours().len() == 15);
    drop(daemon);
    let (serial, zone) = (site.serial(), site.zone());
    let (tcp, udp) = proxy::both(site.dns.addr());
    let line = site.line(&space).without("--rfc2136-port").arg(format!("--rfc2136-port={}", tcp.addr().port()));
    let line = line.arg("--interval=1s");

    for fault in [Fault::Garbage, Fault::CutAfter(0), Fault::CutAfter(700), Fault::Drop] {
        // From the start on.
        tcp.set(fault);
        udp.set(fault);
        let mut daemon = line.start();
        daemon.says(&["level=error", "the zone cannot be served"]);
        daemon.unready(&["zone shop.test: "], SOON);
        tcp.set(Fault::Pass);
        udp.set(Fault::Pass);
        daemon.ready_within(LATER);
        if fault == Fault::CutAfter(700) {
            // Long enough for every answer but the whole zone.
            continue;
        }
        // And in the middle, where it already knows the zone: the serial differs, so that it has to read.
        tcp.set(fault);
        udp.set(fault);
        site.dns.nsupdate(&format!("update add touched.{ZONE} 60 TXT touched\nsend\nupdate delete touched.{ZONE}"));
        let before = daemon.count("the zone cannot be served");
        until("a failed audit", SOON, || daemon.count("the zone cannot be served") > before);
        tcp.set(Fault::Pass);
        udp.set(Fault::Pass);
        until("it to recover", LATER, || daemon.count("the zone works again") >= 2);
        assert!(daemon.runs());
        let log = daemon.terminate().log;
        assert!(!log.contains("delete -") && !log.contains("create +"), "{fault:?}: {log}");
        assert_eq!(site.zone(), zone, "{fault:?}");
    }
    assert_eq!(site.serial(), serial + 6, "the updates of this test and no other");
}

/// An update whose answer is lost: it is read what became of it, and nothing is done twice.
#[test]
fn a_lost_answer_is_cleared_up() {
    needs!(Bind);
    let (kube, site) = (shared(), Site::start(Bind));
    let (tcp, udp) = proxy::both(site.dns.addr());
    let space = Space::new(&kube);
    let line = site.line(&space).without("--rfc2136-port").arg(format!("--rfc2136-port={}", tcp.addr().port()));
    let daemon = line.start();
    daemon.ready();
    for (fault, host) in [(Fault::CutAfter(0), "cut"), (Fault::Garbage, "garbled"), (Fault::Drop, "dropped")] {
        tcp.set(fault);
        udp.set(fault);
        let before = daemon.count("the zone cannot be served");
        space.balancer(host, &format!("{host}.{ZONE}"), &["192.0.2.1"]);
        until("the failure", SOON, || daemon.count("the zone cannot be served") > before);
        tcp.set(Fault::Pass);
        udp.set(Fault::Pass);
        let record = format!("{host} 0 A 192.0.2.1");
        until("the name", LATER, || site.ours().contains(&record));
        daemon.ready_within(LATER);
    }
    site.shows(&["cut 0 A 192.0.2.1", "garbled 0 A 192.0.2.1", "dropped 0 A 192.0.2.1"]);
    assert_eq!(site.claims().len(), 3);
}
