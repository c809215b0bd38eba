//! The daemon is stopped and killed in the middle of its work: it goes on where it was, and what was right stays untouched.

use std::time::Duration;

use zonewright_testkit::DnsSoftware::{self, Bind};
use zonewright_testkit::{Fault, proxy};

use crate::cluster::{Space, TTL, shared};
use crate::daemon::Daemon;
use crate::site::{Site, ZONE};
use crate::{LATER, SOON, each_server, needs, until};

each_server!(a_restart_with_nothing_to_do_writes_nothing, stopped_in_the_middle_it_ends_in_order_and_goes_on_later);

/// Waits until a first round over everything found nothing to do.
#[track_caller]
fn rests(daemon: &Daemon) {
    daemon.ready();
    let idle = "external_dns_controller_no_op_runs_total";
    until("a round without changes", SOON, || daemon.metric(idle).is_some_and(|rounds| rounds >= 1.0));
}

fn a_restart_with_nothing_to_do_writes_nothing(software: DnsSoftware) {
    let (kube, site) = (shared(), Site::start(software));
    let space = Space::new(&kube);
    space.services(20, ZONE);
    space.balancer("both", &format!("both.{ZONE}"), &["192.0.2.1", "192.0.2.2", "2001:db8::1"]);
    space.balancer("cloud", &format!("cloud.{ZONE}"), &["lb.cloud.test"]);
    space.ingress("wild", &format!("*.wild-too.{ZONE}"), "192.0.2.3");
    let daemon = site.line(&space).start();
    until("all names", SOON, || site.ours().len() == 25);
    daemon.ready();
    assert!(daemon.terminate().status.success());
    let (serial, zone) = (site.serial(), site.zone());

    let mut daemon = site.line(&space).start();
    rests(&daemon);
    assert_eq!(site.serial(), serial, "nothing was rewritten");
    daemon.kill();
    let daemon = site.line(&space).start();
    rests(&daemon);
    assert_eq!((site.serial(), site.zone()), (serial, zone));
}

/// How many records the zone holds of ours; each must stand with its claim at every moment.
fn whole(site: &Site) -> usize {
    let (records, claims) = site.ours_and_claims();
    assert_eq!(records.len(), claims.len(), "a record stands or falls with its claim");
    records.len()
}

fn stopped_in_the_middle_it_ends_in_order_and_goes_on_later(software: DnsSoftware) {
    let (kube, site) = (shared(), Site::start(software));
    let (tcp, udp) = proxy::both(site.dns.addr());
    let delay = Fault::Delay(Duration::from_millis(30));
    let space = Space::new(&kube);
    space.services(200, ZONE);
    let line = site.line(&space).without("--rfc2136-port").arg(format!("--rfc2136-port={}", tcp.addr().port()));
    let line = line.arg("--rfc2136-batch-change-size=10");
    let short = || site.ours().iter().filter(|record| record.contains(" 60 A ")).count();
    tcp.set(delay);
    udp.set(delay);

    let daemon = line.start();
    until("it to be at work", SOON, || whole(&site) > 0);
    let ended = daemon.terminate();
    assert!(ended.status.success() && ended.log.contains("stopped"), "{:?}: {}", ended.status, ended.log);
    whole(&site);

    for n in 0..100 {
        space.annotate("services", &format!("s{n}"), &[(TTL, "60")]);
    }
    // Ten messages, of which each takes longer than it takes to see that the first have arrived.
    tcp.set(Fault::Delay(Duration::from_millis(300)));
    udp.set(Fault::Delay(Duration::from_millis(300)));
    let mut daemon = line.start();
    until("it to be at work", SOON, || short() > 0);
    daemon.kill();
    assert!(short() < 100, "it was killed in the middle");
    whole(&site);

    tcp.set(Fault::Pass);
    udp.set(Fault::Pass);
    let daemon = line.start();
    until("all names", LATER, || whole(&site) == 200);
    until("the changed ones", LATER, || short() == 100);
    rests(&daemon);
}

/// Whatever was deleted while no daemon ran goes at the next start, as long as the brake lets it.
#[test]
fn what_went_while_it_was_down_is_found() {
    needs!(Bind);
    let (kube, site) = (shared(), Site::start(Bind));
    let space = Space::new(&kube);
    space.services(12, ZONE);
    let mut daemon = site.line(&space).start();
    until("all names", SOON, || site.ours().len() == 12);
    daemon.kill();
    for name in ["s1", "s2", "s3"] {
        space.delete("services", name);
    }
    space.balancer("new", &format!("new.{ZONE}"), &["192.0.2.1"]);
    let daemon = site.line(&space).start();
    until("the difference", SOON, || site.ours().len() == 10);
    assert_eq!(daemon.count("delete -"), 3);
    assert_eq!(daemon.count("create +"), 1);
}
