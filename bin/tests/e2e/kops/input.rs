//! What bad input gets: an event and a line of the log, and the others go on.

use zonewright_testkit::DnsSoftware::Bind;
use zonewright_testkit::kube::User;

use super::plane::{EXTERNAL, INTERNAL, Plane};
use crate::daemon::{CommandLine, ends};
use crate::site::{Site, ZONE};
use crate::{LATER, SOON, needs, until};

#[test]
fn objects_that_cannot_be_served_are_reported_and_the_others_go_on() {
    needs!(Bind);
    let (plane, site) = (Plane::start(), Site::start(Bind));
    let at = |name: &str| format!("{name}.{ZONE}");
    plane.node("w-1", "node", 101);
    plane.service("both", "NodePort", &[(EXTERNAL, &at("e")), (INTERNAL, &at("i"))]);
    plane.service("other", "ClusterIP", &[(INTERNAL, &at("c"))]);
    plane.service("outside", "NodePort", &[(INTERNAL, "api.elsewhere.test")]);
    plane.service("names", "NodePort", &[(INTERNAL, &format!("a..b.{ZONE}, {}", at("good")))]);
    let daemon = plane.at(&site).start();
    site.shows(&["good 60 A 10.0.0.101"]);
    plane.expect_event("default", "both", "InvalidAnnotation", "expected one of them on a Service of type NodePort");
    plane.expect_event("default", "other", "InvalidAnnotation", "not ClusterIP");
    plane.expect_event("default", "outside", "NoMatchingZone", "api.elsewhere.test lies in none of the zones");
    plane.expect_event("default", "names", "InvalidHostname", "a..b");
    for text in ["InvalidAnnotation", "NoMatchingZone", "InvalidHostname"] {
        daemon.says(&[text]);
    }
    drop(daemon);
    // Posted again by the next process, it is the same event once more, with no other rights than those of `deploy/kops`.
    assert_eq!(plane.event_count("default", "both", "InvalidAnnotation"), 1);
    let daemon = plane.at(&site).start();
    until("a series", SOON, || plane.event_count("default", "both", "InvalidAnnotation") == 2);
    drop(daemon);
}

#[test]
fn command_lines_that_cannot_be() {
    let line = |arguments: &[&str]| CommandLine::default().args(&["kops"]).args(arguments);
    let none = "must specify at least one of --internal-ipv4 and --internal-ipv6";
    ends(&line(&["--dns=rfc2136"]), 1, &[none]);
    ends(&line(&["--internal-ipv4", "--dns=scaleway"]), 1, &["--dns=scaleway is not supported"]);
    let folder = tempfile::tempdir().expect("a folder");
    let manifests = format!("--manifests={}", folder.path().display());
    ends(&line(&["--internal-ipv4", "--dns=local", &manifests]), 1, &["give --txt-owner-id"]);
}

/// A kind that cannot be listed may hold values of any name, so nothing goes while any one of them is withheld; what comes is published.
#[test]
fn nothing_is_removed_before_every_kind_has_been_listed() {
    needs!(Bind);
    let (plane, site) = (Plane::start(), Site::start(Bind));
    let line = plane.at(&site).arg("--start-timeout=2s");
    let withheld = [("", "pods"), ("", "nodes"), ("", "services"), ("networking.k8s.io", "ingresses")];
    // A kind that is not withheld asks for the names.
    let plural = |resource: &str| if resource == "services" { "ingresses" } else { "services" };
    let joint = |resource: &str| format!("{resource}.{ZONE}");
    for (_, resource) in withheld {
        for (part, address) in [("stays", "192.0.2.1"), ("goes", "192.0.2.2")] {
            plane.reached(plural(resource), &format!("{resource}-{part}"), &joint(resource), address);
        }
    }
    let mut expected: Vec<String> = withheld
        .iter()
        .flat_map(|(_, resource)| ["192.0.2.1", "192.0.2.2"].map(|address| format!("{resource} 60 A {address}")))
        .collect();
    for (group, resource) in withheld {
        let mut daemon = line.start();
        site.shows(&expected.iter().map(String::as_str).collect::<Vec<_>>());
        daemon.kill();
        plane.delete(plural(resource), &format!("{resource}-goes"));
        plane.withhold(group, resource);
        let daemon = line.start();
        plane.reached(plural(resource), &format!("{resource}-new"), &format!("new-{resource}.{ZONE}"), "192.0.2.3");
        expected.push(format!("new-{resource} 60 A 192.0.2.3"));
        site.shows(&expected.iter().map(String::as_str).collect::<Vec<_>>());
        plane.expect_event("default", &format!("{resource}-stays"), "WaitingForEvidence", resource);
        plane.grant_again(group, resource);
        expected.retain(|record| *record != format!("{resource} 60 A 192.0.2.2"));
        until("what is wanted no longer to go", LATER, || site.ours().len() == expected.len());
        site.shows(&expected.iter().map(String::as_str).collect::<Vec<_>>());
        drop(daemon);
    }
}

/// The client flags of every Kubernetes program stand before what a kubeconfig says.
#[test]
fn client_flags_stand_before_the_kubeconfig() {
    needs!(Bind);
    let (plane, site) = (Plane::start(), Site::start(Bind));
    let text = std::fs::read_to_string(plane.kube.kubeconfig(User::Zonewright)).expect("a kubeconfig");
    let file: serde_json::Value = serde_saphyr::from_str(&text).expect("YAML");
    let right = file["users"][0]["user"]["token"].as_str().expect("a token");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("kubeconfig");
    std::fs::write(&path, text.replace(right, "nobody").replace("current-context", "no-context"))
        .expect("a kubeconfig");
    let bare = plane.at(&site).without("--kubeconfig").arg(format!("--kubeconfig={}", path.display()));
    plane.join(1);
    ends(&bare.clone().arg("--once"), 1, &["failed to determine current context"]);
    ends(&bare.clone().args(&["--context=nowhere", "--once"]), 1, &["nowhere"]);
    let daemon = bare.clone().arg("--context=test").start();
    daemon.says(&["Unauthorized"]);
    drop(daemon);
    let daemon = bare.args(&["--context", "test", "--token", right]).start();
    site.shows(&["api 60 A 203.0.113.1", "api.internal 60 A 10.0.0.1"]);
    assert!(!daemon.log().contains(right), "the token is in the log");
    drop(daemon);
}
