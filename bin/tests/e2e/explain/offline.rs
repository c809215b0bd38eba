//! Without a daemon: the same flags, a look that writes nothing.

use serde_json::Value;
use zonewright_core::explain::Cause;
use zonewright_testkit::DnsSoftware::Bind;
use zonewright_testkit::require;

use crate::cluster::{Space, shared};
use crate::daemon::{CommandLine, state_folder, text};
use crate::manifests::{folder, service, write};
use crate::needs;
use crate::site::{Site, ZONE};

#[track_caller]
fn verdict(line: &CommandLine, about: &str) -> Value {
    let ended = line.clone().args(&["--output=json", about]).ordered("explain").run();
    assert_eq!(ended.status.code(), Some(0), "{}", ended.log);
    serde_json::from_str(&ended.log).unwrap_or_else(|_| panic!("no JSON: {}", ended.log))
}

#[track_caller]
fn is(line: &CommandLine, about: &str, cause: Cause) {
    let answer = verdict(line, about);
    assert_eq!(answer["verdict"]["cause"], cause.row().word, "{answer:#}");
    assert!(answer["place"].as_str().is_some_and(|place| place.contains("without the daemon")), "{answer:#}");
}

#[test]
fn with_manifests() {
    require!(Bind.tools());
    let (site, folder, state) = (Site::start(Bind), folder(), state_folder());
    write(folder.path(), "web.yaml", &service("web", "web", "192.0.2.1"));
    write(folder.path(), "bare.yaml", &service("bare", "bare", "192.0.2.1"));
    let line = site.provider(site.dns.addr().port()).arg("--source=service");
    let line = line.arg(format!("--manifests={}", text(folder.path()))).arg(format!("--state-dir={}", state.1));
    let before = site.zone();
    is(&line, "web.shop.test", Cause::DaemonAway);
    is(&line, "bare.shop.test", Cause::Unclaimed);
    is(&line, "service/default/none", Cause::NoSuchObject);
    is(&line.clone().arg("--domain-filter=other.test"), "web.shop.test", Cause::NameFiltered);
    is(&line.clone().arg("--namespace=other"), "web.shop.test", Cause::NotAsked);
    write(
        folder.path(),
        "plain.yaml",
        &service("plain", "plain", "192.0.2.1").replace("kubernetes.io/hostname", "example/x"),
    );
    is(&line.clone().arg("--fqdn-template={{.Spec.Nothing.At}}"), "service/default/plain", Cause::TemplateFailed);
    write(
        folder.path(),
        "broken.yaml",
        &service("broken", "broken", "192.0.2.1").replace("ingress:\n      - ip", "ingress:\n        ip"),
    );
    is(&line, "service/default/broken", Cause::KindUnread);
    std::fs::remove_file(folder.path().join("broken.yaml")).expect("the file goes");
    assert_eq!(site.zone(), before);
    assert_eq!(std::fs::read_dir(&state.1).expect("the state folder").count(), 0, "nothing is written there");
    assert_eq!(line.clone().arg("--once").run().status.code(), Some(0));
    is(&line, "web.shop.test", Cause::Published);
    let answer = verdict(&line, "web.shop.test");
    assert!(answer["names"][0]["zones"][0]["published"][0]["since"].is_string(), "the journal is read: {answer:#}");
}

#[test]
fn with_a_kubeconfig() {
    needs!(Bind);
    let (kube, site) = (shared(), Site::start(Bind));
    let space = Space::new(&kube);
    space.balancer("web", &format!("web.{ZONE}"), &["192.0.2.1"]);
    space.balancer("taken", &format!("taken.{ZONE}"), &["192.0.2.1"]);
    let line = site.line(&space);
    is(&line, "web.shop.test", Cause::DaemonAway);
    is(&line, "taken.shop.test", Cause::ForeignOwner);
    is(&line, &format!("service/{}/web", space.name), Cause::DaemonAway);
    // A look leaves no Event: it writes nothing.
    assert_eq!(space.events("taken"), []);
    assert_eq!(site.ours(), [""; 0]);
}
