//! A zone of a service: what its name servers answer. The server is the daemon's own, at the port that every name server has.

use std::net::UdpSocket;

use serde_json::Value;
use zonewright_core::explain::Cause;
use zonewright_fakes::route53::{RecordSet, Route53};
use zonewright_testkit::{KubeApi, require, tools};

use super::{asked, case};
use crate::clouds::{self, ZONE};
use crate::cluster::{Space, shared};
use crate::daemon::{CommandLine, Daemon, state_folder, text};
use crate::manifests::{folder, service, write};
use crate::{LATER, until};

/// The server, whose name in the zone is its address: the system's resolver finds it without asking anybody.
const SERVER: &str = "127.53.18.1";

/// Serves the zone with one record, until it is dropped.
fn server() -> (Daemon, Vec<tempfile::TempDir>) {
    let (manifests, state) = (folder(), state_folder());
    write(manifests.path(), "web.yaml", &service("web", "web", "192.0.2.1"));
    let line = CommandLine::default()
        .args(&[
            "--provider=local",
            "--source=service",
            "--registry=noop",
            "--policy=sync",
            "--metrics-address=127.0.0.1:0",
        ])
        .arg(format!("--local-zone={ZONE}"))
        .arg(format!("--local-listen={SERVER}:53"))
        .arg(format!("--manifests={}", text(manifests.path())))
        .arg(format!("--state-dir={}", state.1));
    let daemon = line.start();
    daemon.ready();
    (daemon, vec![manifests, state.0])
}

#[test]
fn what_the_name_servers_of_a_zone_answer() {
    require!(KubeApi::TOOLS);
    if UdpSocket::bind((SERVER, 53)).is_err() {
        return tools::tell("explain::served::what_the_name_servers_of_a_zone_answer", "no right to listen at port 53");
    }
    let (kube, cloud) = (shared(), Route53::start());
    let space = Space::new(&kube);
    let zone = cloud.add_zone("000000000001", ZONE, false, &[]);
    cloud.put(&zone, RecordSet::new("shop.test.", "NS", 60, &[&format!("{SERVER}.")]));
    space.balancer("web", "web.shop.test", &["192.0.2.1"]);
    space.balancer("late", "late.shop.test", &["192.0.2.2"]);
    let line = clouds::line("aws", &space)
        .args(&["--aws-api-qps=100", "--aws-batch-change-interval=0s"])
        .env("AWS_ENDPOINT_URL", &cloud.url())
        .env("AWS_EC2_METADATA_DISABLED", "true")
        .env("AWS_ACCESS_KEY_ID", "AKIDFAKE")
        .env("AWS_SECRET_ACCESS_KEY", "s3cr3t-of-the-key");
    let _daemon = line.start();
    until("both records", LATER, || {
        cloud.stands(&zone, "web.shop.test.", "A") && cloud.stands(&zone, "late.shop.test.", "A")
    });
    let served = |name: &str| asked(space.state_dir(), name)["names"][0]["zones"][0]["served"].clone();
    // Nobody listens there: that is said, and is no reason to doubt the record.
    case("web.shop.test", Cause::Published, &[]).check(space.state_dir(), None);
    let away = served("web.shop.test");
    assert!(away[0].as_str().is_some_and(|line| line.starts_with(&format!("no answer for A: {SERVER}: "))), "{away}");
    let _server = server();
    case("web.shop.test", Cause::Published, &[]).check(space.state_dir(), None);
    assert_eq!(served("web.shop.test"), Value::from(vec![format!("{SERVER}: web.shop.test 300 A 192.0.2.1")]));
    let nothing = format!("{SERVER}: nothing stands at late.shop.test A");
    case("late.shop.test", Cause::NotServed, &["late.shop.test", &nothing, "delegation"])
        .check(space.state_dir(), None);
    assert_eq!(served("late.shop.test"), Value::from(vec![nothing]));
}
