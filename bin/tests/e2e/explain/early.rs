//! Before anything is decided or written: kinds, zones and records that are not read yet, and a change that is on its way.

use zonewright_core::explain::Cause;
use zonewright_fakes::route53::{Fault as Refusal, Route53};
use zonewright_testkit::DnsSoftware::Bind;
use zonewright_testkit::{Fault, KubeApi, TcpFault, proxy, require};

use super::case;
use crate::clouds::{self, ZONE};
use crate::cluster::{HOSTNAME, Space, shared};
use crate::daemon::CommandLine;
use crate::site::Site;
use crate::{LATER, needs, until};

/// A daemon at this service.
fn at_route53(service: &Route53, space: &Space<'_>) -> CommandLine {
    clouds::line("aws", space)
        .args(&["--aws-api-qps=100", "--aws-batch-change-interval=0s"])
        .env("AWS_ENDPOINT_URL", &service.url())
        .env("AWS_EC2_METADATA_DISABLED", "true")
        .env("AWS_ACCESS_KEY_ID", "AKIDFAKE")
        .env("AWS_SECRET_ACCESS_KEY", "s3cr3t-of-the-key")
}

/// The API server takes the connection and does not answer.
#[test]
fn a_daemon_that_has_not_begun_to_plan_is_named_with_what_it_waits_for() {
    needs!(Bind);
    let (kube, site) = (shared(), Site::start(Bind));
    let space = Space::new(&kube);
    let server = kube.url().trim_start_matches("https://").parse().expect("the address of the API server");
    let stalled = TcpFault::start(server);
    stalled.set(Fault::Stall);
    let line = site.line(&space).arg(format!("--server=https://{}", stalled.addr()));
    let _daemon = line.arg("--start-timeout=10m").start();
    case("web.shop.test", Cause::NotStarted, &["ingresses", "services", "/readyz"]).check(space.state_dir(), None);
}

/// The server takes the connection and does not answer.
#[test]
fn a_zone_that_is_being_read_is_named() {
    needs!(Bind);
    let (kube, site) = (shared(), Site::start(Bind));
    let space = Space::new(&kube);
    space.balancer("web", "web.shop.test", &["192.0.2.1"]);
    let (tcp, udp) = proxy::both(site.dns.addr());
    tcp.set(Fault::Stall);
    udp.set(Fault::Stall);
    let line = site.line(&space).without("--rfc2136-port").arg(format!("--rfc2136-port={}", tcp.addr().port()));
    let _daemon = line.start();
    case("web.shop.test", Cause::ZoneUnread, &["shop.test", "zonewright_listing_record_sets"])
        .check(space.state_dir(), None);
}

/// The zones may not be listed: an event on the object says so.
#[test]
fn zones_that_cannot_be_listed_are_named_with_the_answer() {
    require!(KubeApi::TOOLS);
    let (kube, service) = (shared(), Route53::start());
    let space = Space::new(&kube);
    service.fail("ListHostedZones", Refusal::Denied, usize::MAX);
    space.balancer("web", "web.shop.test", &["192.0.2.1"]);
    let _daemon = at_route53(&service, &space).start();
    case("web.shop.test", Cause::ZonesUnknown, &["AccessDenied"])
        .event("web", &["web.shop.test", "AccessDenied"])
        .check(space.state_dir(), Some(&space));
}

/// The second batch of a zone waits for its pause.
#[test]
fn a_change_that_is_about_to_be_written_is_named() {
    require!(KubeApi::TOOLS);
    let (kube, service) = (shared(), Route53::start());
    let space = Space::new(&kube);
    let zone = service.add_zone("000000000001", ZONE, false, &[]);
    space.balancer("web", "web.shop.test", &["192.0.2.1"]);
    let line = at_route53(&service, &space).without("--aws-batch").arg("--aws-batch-change-interval=10m");
    let _daemon = line.start();
    until("the first batch", LATER, || service.stands(&zone, "web.shop.test.", "A"));
    space.annotate("services", "web", &[(HOSTNAME, "late.shop.test")]);
    case("late.shop.test", Cause::UnderWay, &["late.shop.test A"]).check(space.state_dir(), None);
}
