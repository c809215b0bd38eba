//! The life of a control plane, seen at a BIND.

use std::net::TcpListener;

use zonewright_testkit::DnsSoftware::Bind;
use zonewright_testkit::{free_port, tools};

use super::plane::{EXTERNAL, INTERNAL, Plane};
use super::prober::Prober;
use super::rights;
use crate::pod::mounts;
use crate::site::{Site, ZONE};
use crate::{LATER, SOON, needs, until};

/// The records of the API's names at these nodes.
fn api(numbers: &[u8]) -> Vec<String> {
    let at = |number: &u8| [format!("api 60 A 203.0.113.{number}"), format!("api.internal 60 A 10.0.0.{number}")];
    numbers.iter().flat_map(at).collect()
}

#[track_caller]
fn shows(site: &Site, numbers: &[u8], more: &[&str]) {
    let mut expected = api(numbers);
    expected.extend(more.iter().map(|record| (*record).to_owned()));
    expected.sort();
    until(&format!("{expected:#?}"), LATER, || site.ours() == expected);
}

/// Answers that the prober has in each state of the control plane.
const SPAN: usize = 100;

/// Three control-plane nodes come up one after another, are rolled one after another, and one is lost; the daemon itself is killed on the
/// way. The API's name has addresses all the time, although a foreign record is in the way elsewhere.
#[test]
fn the_name_of_the_api_is_never_without_addresses() {
    needs!(Bind);
    let (plane, site) = (Plane::start(), Site::start(Bind));
    // `mail` is a foreign record.
    plane.service("clash", "LoadBalancer", &[(EXTERNAL, &format!("mail.{ZONE}"))]);
    plane.reached_at("services", "clash", &["192.0.2.66"]);
    let line = plane.at(&site);
    let mut daemon = line.start();
    plane.join(1);
    shows(&site, &[1], &[]);
    plane.expect_event("default", "clash", "ForeignRecord", &format!("mail.{ZONE}"));
    let prober = Prober::start(site.dns.addr(), &format!("api.internal.{ZONE}"));
    plane.join(2);
    shows(&site, &[1, 2], &[]);
    prober.sees(SPAN);
    plane.join(3);
    shows(&site, &[1, 2, 3], &[]);
    prober.sees(SPAN);
    for (old, new, now) in [(1, 4, [2, 3, 4]), (2, 5, [3, 4, 5]), (3, 6, [4, 5, 6])] {
        plane.leave(old);
        plane.join(new);
        shows(&site, &now, &[]);
        prober.sees(SPAN);
        if old == 2 {
            // It runs on a node that is rolled, too.
            daemon.kill();
            daemon = line.start();
        }
    }
    plane.leave(6);
    shows(&site, &[4, 5], &[]);
    prober.sees(SPAN);
    let seen = prober.end();
    assert_eq!((seen.empty, seen.silent), (0, 0), "{seen:?}");
    assert!(seen.answers > 6 * SPAN && seen.rate() >= 99 && seen.most >= 3, "{seen:?}, {} a second", seen.rate());
    println!("{} answers, {} questions a second, none without an address", seen.answers, seen.rate());
    let claim = format!("external-dns/owner={}", plane.owner());
    assert!(!site.claims().is_empty() && site.claims().iter().all(|text| text.contains(&claim)), "{:?}", site.claims());
    assert!(daemon.terminate().status.success());
}

/// Services, Ingresses and NodePorts beside the pods; values of many objects under one name are one record.
#[test]
fn every_kind_of_object() {
    needs!(Bind);
    let (plane, site) = (Plane::start(), Site::start(Bind));
    let at = |name: &str| format!("{name}.{ZONE}");
    plane.node("w-1", "node", 101);
    plane.node("w-2", "node", 102);
    plane.join(1);
    let daemon = plane.at(&site).start();
    shows(&site, &[1], &[]);
    plane.service("port", "NodePort", &[(INTERNAL, &at("ports"))]);
    plane.service("out", "NodePort", &[(EXTERNAL, &at("out"))]);
    plane.service("balanced", "LoadBalancer", &[(EXTERNAL, &at("lb")), (INTERNAL, &at("lb2"))]);
    plane.reached_at("services", "balanced", &["192.0.2.1"]);
    plane.service("cloud", "LoadBalancer", &[(EXTERNAL, &at("cloud"))]);
    plane.reached_at("services", "cloud", &["lb.cloud.test"]);
    plane.ingress("web", &at("web"), &["192.0.2.2"]);
    // The same name by a pod and by an Ingress.
    plane.ingress("joined", &at("lb"), &["192.0.2.3"]);
    let mut more = vec![
        "ports 60 A 10.0.0.101",
        "ports 60 A 10.0.0.102",
        "out 60 A 203.0.113.101",
        "out 60 A 203.0.113.102",
        "lb 60 A 192.0.2.1",
        "lb 60 A 192.0.2.3",
        "lb2 60 A 192.0.2.1",
        "cloud 60 CNAME lb.cloud.test.",
        "web 60 A 192.0.2.2",
    ];
    shows(&site, &[1], &more);
    // A node that goes takes its own addresses away, and nothing else.
    plane.kube.delete("/api/v1/nodes/w-1").expect_success();
    more.retain(|record| !record.ends_with(".101"));
    shows(&site, &[1], &more);
    plane.kube.delete("/apis/networking.k8s.io/v1/namespaces/default/ingresses/joined").expect_success();
    more.retain(|record| !record.ends_with(" 192.0.2.3"));
    shows(&site, &[1], &more);
    plane.kube.delete("/api/v1/namespaces/default/services/balanced").expect_success();
    more.retain(|record| !record.starts_with("lb"));
    shows(&site, &[1], &more);
    drop(daemon);
}

/// Two clusters publish in one zone: each has its own records, and neither takes the other's away nor writes to it.
#[test]
fn two_clusters_share_a_zone() {
    needs!(Bind);
    let (one, two, site) = (Plane::start(), Plane::start(), Site::start(Bind));
    let pod = |plane: &Plane, number: u8, name: &str| {
        let node = format!("n-{number}");
        plane.node(&node, "control-plane", number);
        plane.pod(&format!("api-{number}"), &node, number, &[(INTERNAL, name)]);
    };
    pod(&one, 1, &format!("api.one.{ZONE}"));
    pod(&two, 2, &format!("api.two.{ZONE}"));
    let daemons = [one.at(&site).start(), two.at(&site).start()];
    site.shows(&["api.one 60 A 10.0.0.1", "api.two 60 A 10.0.0.2"]);
    // The second one asks for a name of the first.
    pod(&two, 3, &format!("api.one.{ZONE}"));
    two.expect_event("kube-system", "api-3", "ForeignRecord", &one.owner());
    site.shows(&["api.one 60 A 10.0.0.1", "api.two 60 A 10.0.0.2"]);
    two.gone("api-2");
    site.shows(&["api.one 60 A 10.0.0.1"]);
    one.gone("api-1");
    // What the first one gave up is free for the second.
    site.shows(&["api.one 60 A 10.0.0.3"]);
    drop(daemons);
}

/// As in the pod of `deploy/kops`: the service account alone says where the cluster is, state and journal are in ConfigMaps of kube-system,
/// and the rights there are enough, and none is left over. The API server comes up after it.
#[test]
fn as_a_pod_that_starts_before_the_api_server() {
    needs!(Bind);
    if !mounts() {
        tools::tell("kops::bind::as_a_pod", "the kernel lets nobody make mount namespaces");
        return;
    }
    let (mut plane, site) = (Plane::start(), Site::start(Bind));
    let account = tempfile::tempdir().expect("a folder");
    let line = plane.at(&site).without("--kubeconfig").without("--state-dir").in_pod(&plane.kube, account.path());
    plane.join(1);
    plane.api().stop_api();
    let line = line.env("POD_NAMESPACE", "kube-system");
    let mut daemon = line.start();
    daemon.says(&["it is not known yet which cluster this is"]);
    assert!(site.ours().is_empty());
    plane.api().start_api();
    shows(&site, &[1], &[]);
    let owner = plane.owner();
    let kept = |name: &str| plane.kube.get(&format!("/api/v1/namespaces/kube-system/configmaps/{name}")).status == 200;
    until("the state", SOON, || kept(&format!("zonewright-{owner}")));
    for missing in ["memory only", "is missing"] {
        assert!(!daemon.log().contains(missing), "{}", daemon.log());
    }
    // An event that the next process posts again, and a journal that it goes on with.
    plane.service("odd", "ClusterIP", &[(EXTERNAL, &format!("odd.{ZONE}"))]);
    until("the event", SOON, || plane.event_count("default", "odd", "InvalidAnnotation") == 1);
    daemon.kill();
    let daemon = line.start();
    until("the same event again", SOON, || plane.event_count("default", "odd", "InvalidAnnotation") == 2);
    plane.join(2);
    shows(&site, &[1, 2], &[]);
    assert!(daemon.terminate().status.success());
    rights::are_exact(&plane);
}

/// Which cluster it is in says the API server. While that is awaited, the process can be asked and stopped.
#[test]
fn while_the_api_server_is_awaited_it_can_be_stopped() {
    needs!(Bind);
    let (plane, site) = (Plane::start(), Site::start(Bind));
    let line = plane.at(&site).without("--txt-owner-id");
    let away = line.clone().arg(format!("--server=https://127.0.0.1:{}", free_port()));
    let daemon = away.start();
    daemon.says(&["it is not known yet which cluster this is"]);
    assert_eq!(daemon.page("/healthz"), (200, "OK".to_owned()));
    daemon.unready(&["starting: "], SOON);
    let ended = daemon.terminate();
    assert!(ended.status.success(), "{}", ended.log);
    // One that takes the connection and is silent is no other case.
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = silent.local_addr().expect("an address").port();
    let daemon = line.arg(format!("--server=https://127.0.0.1:{port}")).start();
    daemon.page("/healthz");
    let ended = daemon.terminate();
    assert!(ended.status.success(), "{}", ended.log);
    // A single pass tries again until `--start-timeout` is over, and says then what it did not read.
    let ended = away.args(&["--once", "--start-timeout=3s"]).run();
    assert_eq!(ended.status.code(), Some(4), "{}", ended.log);
    assert!(ended.log.matches("it is not known yet which cluster this is").count() >= 2, "{}", ended.log);
    let last = ended.log.lines().last().unwrap_or_default();
    assert!(last.contains("not read: the UID of the namespace kube-system: "), "{}", ended.log);
    assert!(site.ours().is_empty());
}
