//! What flags of dns-controller change, seen from outside.

use zonewright_testkit::DnsSoftware::Bind;
use zonewright_testkit::free_port;
use zonewright_testkit::kube::User;

use super::plane::{EXTERNAL, INTERNAL, Plane};
use crate::daemon::ends;
use crate::site::{Site, ZONE};
use crate::{SOON, needs, until};

/// `--metrics-listen` is where the metrics are; without it nothing listens.
#[test]
fn metrics_are_served_where_they_are_to_be() {
    needs!(Bind);
    let (plane, site) = (Plane::start(), Site::start(Bind));
    plane.join(1);
    let line = plane.at(&site).without("--metrics-listen");
    let (daemon, port) = (line.start(), free_port());
    site.shows(&["api 60 A 203.0.113.1", "api.internal 60 A 10.0.0.1"]);
    assert_eq!(daemon.count("metrics and probes"), 0, "{}", daemon.log());
    drop(daemon);
    let daemon = line.arg(format!("--metrics-listen=127.0.0.1:{port}")).start();
    daemon.says(&["metrics and probes", &format!("127.0.0.1:{port}")]);
    daemon.ready();
    let (status, text) = daemon.page("/metrics");
    assert!(status == 200 && text.contains("zonewright_zone_ready"), "{status} {text}");
    drop(daemon);
}

/// `--watch-namespace`: Pods, Services and Ingresses of one namespace, and nodes for their addresses.
#[test]
fn one_namespace_alone_is_read() {
    needs!(Bind);
    let (plane, site) = (Plane::start(), Site::start(Bind));
    plane.join(1);
    plane.node("w-1", "node", 101);
    plane.service("port", "NodePort", &[(INTERNAL, &format!("ports.{ZONE}"))]);
    plane.reached("ingresses", "web", &format!("web.{ZONE}"), "192.0.2.1");
    let daemon = plane.at(&site).arg("--watch-namespace=default").start();
    site.shows(&["ports 60 A 10.0.0.101", "web 60 A 192.0.2.1"]);
    drop(daemon);
    let asked = plane.asked_for(&["pods", "services", "ingresses", "nodes"]);
    assert_eq!(asked.iter().collect::<Vec<_>>(), ["/nodes", "default/ingresses", "default/pods", "default/services"]);
}

/// `--watch-ingress=false`: Ingresses are neither read nor waited for, and no right to them is needed.
#[test]
fn without_ingresses() {
    needs!(Bind);
    let (plane, site) = (Plane::start(), Site::start(Bind));
    plane.withhold("networking.k8s.io", "ingresses");
    plane.reached("ingresses", "web", &format!("web.{ZONE}"), "192.0.2.1");
    plane.join(1);
    plane.join(2);
    let daemon = plane.at(&site).arg("--watch-ingress=false").start();
    let both =
        ["api 60 A 203.0.113.1", "api.internal 60 A 10.0.0.1", "api 60 A 203.0.113.2", "api.internal 60 A 10.0.0.2"];
    site.shows(&both);
    plane.leave(1);
    site.shows(&both[2..]);
    drop(daemon);
    let asked = plane.asked_for(&["pods", "services", "ingresses", "nodes"]);
    assert_eq!(asked.iter().collect::<Vec<_>>(), ["/nodes", "/pods", "/services"]);
}

/// `--server` stands before the server of the kubeconfig.
#[test]
fn the_server_of_the_flag() {
    needs!(Bind);
    let (plane, site) = (Plane::start(), Site::start(Bind));
    let text = std::fs::read_to_string(plane.kube.kubeconfig(User::Zonewright)).expect("a kubeconfig");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("kubeconfig");
    let nowhere = format!("https://127.0.0.1:{}", free_port());
    std::fs::write(&path, text.replace(&plane.kube.url(), &nowhere)).expect("a kubeconfig");
    let bare = plane.at(&site).without("--kubeconfig").arg(format!("--kubeconfig={}", path.display()));
    plane.join(1);
    ends(&bare.clone().args(&["--once", "--start-timeout=1s"]), 4, &["127.0.0.1"]);
    let daemon = bare.arg(format!("--server={}", plane.kube.url())).start();
    site.shows(&["api 60 A 203.0.113.1", "api.internal 60 A 10.0.0.1"]);
    drop(daemon);
}

/// `--update-interval` is how often changes of others are looked for: at two seconds they are seen long before the minute that it is
/// where the flag is not given.
#[test]
fn changes_of_others_are_looked_for_at_the_interval() {
    needs!(Bind);
    let (plane, site) = (Plane::start(), Site::start(Bind));
    plane.service("web", "LoadBalancer", &[(EXTERNAL, &format!("web.{ZONE}"))]);
    plane.reached_at("services", "web", &["192.0.2.1"]);
    let daemon = plane.at(&site).without("--update-interval").arg("--update-interval=2").start();
    site.shows(&["web 60 A 192.0.2.1"]);
    site.dns.nsupdate(&format!("update delete web.{ZONE} A"));
    until("the record to come back", SOON, || site.dig("web", "A") == ["192.0.2.1"]);
    drop(daemon);
}
