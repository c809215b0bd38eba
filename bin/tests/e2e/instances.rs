//! Several provider instances in one process: two servers with a zone of one name, of which objects choose one.

use std::path::Path;

use zonewright_testkit::DnsSoftware::Bind;

use crate::cluster::{Space, shared};
use crate::daemon::{CommandLine, ends, text};
use crate::site::{OWNER, Site, ZONE};
use crate::{LATER, SOON, needs, until};

const CHOICE: &str = "zonewright.dev/provider";

/// An entry of the list for a site.
fn entry(name: &str, site: &Site) -> String {
    format!(
        "- name: {name}\n  type: rfc2136\n  flags:\n    rfc2136-host: [127.0.0.1]\n    rfc2136-port: {}\n    rfc2136-zone: [{ZONE}]\n    \
         rfc2136-tsig-keyname: {}\n    rfc2136-tsig-secret: \"{}\"\n    rfc2136-tsig-secret-alg: hmac-sha256\n",
        site.dns.addr().port(),
        site.key.name,
        site.key.secret,
    )
}

/// The command line of a daemon with these instances, as the settings file at `path` lists them.
fn line(space: &Space<'_>, path: &Path, entries: &[String]) -> CommandLine {
    std::fs::write(path, format!("providers:\n{}", entries.concat())).expect("the settings file");
    let line = CommandLine::default()
        .args(&["--policy=sync", "--source=service", "--metrics-address=127.0.0.1:0", "--interval=2s"])
        .arg(format!("--txt-owner-id={OWNER}"))
        .arg(format!("--config={}", text(path)))
        .arg(format!("--state-dir={}", space.state_dir()));
    space.read_by(line)
}

/// The addresses of a name.
fn addresses(site: &Site, name: &str) -> Vec<String> {
    site.dig(name, "A")
}

#[test]
fn objects_choose_among_two_servers_with_one_zone() {
    needs!(Bind);
    let (kube, public, internal) = (shared(), Site::start(Bind), Site::start(Bind));
    let space = Space::new(&kube);
    let balancer = |name: &str, host: &str, target: &str, choice: &str| {
        space.balancer(name, &format!("{host}.{ZONE}"), &[target]);
        if !choice.is_empty() {
            space.annotate("services", name, &[(CHOICE, choice)]);
        }
    };
    balancer("both", "both", "192.0.2.1", "");
    balancer("outside", "split", "192.0.2.2", "public");
    balancer("inside", "split", "10.0.0.2", "internal");
    balancer("lost", "lost", "192.0.2.3", "pubic");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("settings.yaml");
    let line = line(&space, &path, &[entry("public", &public), entry("internal", &internal)]);
    let daemon = line.start();
    daemon.ready();
    let shows = |site: &Site, name: &str, expected: &[&str]| {
        until(&format!("{name} {expected:?}"), SOON, || addresses(site, name) == expected);
    };
    for (site, split) in [(&public, "192.0.2.2"), (&internal, "10.0.0.2")] {
        shows(site, "both", &["192.0.2.1"]);
        shows(site, "split", &[split]);
        assert_eq!(addresses(site, "lost"), [""; 0]);
    }
    space.expect_event("lost", "UnknownProvider", &["pubic", "internal, public"]);
    for zone in ["public", "internal"] {
        daemon.measures(&format!("zonewright_zone_ready{{zone=\"{zone}/{ZONE}\"}}"), 1.0);
        daemon.says(&["zone read", &format!("zone={zone}/{ZONE}")]);
    }

    // One server that does not answer holds up nothing of the other.
    internal.dns.stop();
    balancer("later", "later", "192.0.2.4", "");
    shows(&public, "later", &["192.0.2.4"]);
    daemon.unready(&[&format!("internal/{ZONE}")], LATER);
    space.delete("services", "both");
    shows(&public, "both", &[]);
    internal.dns.cont();
    until("the other one follows", LATER, || {
        addresses(&internal, "later") == ["192.0.2.4"] && addresses(&internal, "both").is_empty()
    });
    assert!(daemon.terminate().status.success());

    // A command works on one of them, and says so.
    ends(&line.ordered("release").args(&["--yes"]), 1, &["--provider-instance is required, one of public, internal"]);
    let one = line.ordered("release").args(&["--yes", "--provider-instance=internal"]);
    ends(&one, 0, &["2 done, 0 failed"]);
    assert_eq!((internal.claims().len(), public.claims().len()), (0, 2), "{:?}", public.claims());
    assert_eq!(addresses(&internal, "split"), ["10.0.0.2"]);
}
