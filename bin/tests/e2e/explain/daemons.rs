//! Causes that concern everything: a daemon that cannot read, cannot write, or may not.

use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;
use zonewright_core::explain::Cause;
use zonewright_testkit::DnsSoftware::Bind;
use zonewright_testkit::{free_port, require};

use super::{asked, case, run};
use crate::cluster::{Space, own};
use crate::daemon::{CommandLine, state_folder, text};
use crate::manifests::{folder, service, write};
use crate::needs;
use crate::site::Site;

struct Shop {
    site: Site,
    folder: TempDir,
    state: (TempDir, String),
}

impl Shop {
    fn new() -> Self {
        let shop = Self { site: Site::start(Bind), folder: folder(), state: state_folder() };
        write(shop.folder.path(), "web.yaml", &service("web", "web", "192.0.2.1"));
        shop
    }

    fn line(&self) -> CommandLine {
        let folder: &Path = self.folder.path();
        let line = self.site.provider(self.site.dns.addr().port()).args(&["--source=service", "--interval=1s"]);
        line.arg(format!("--manifests={}", text(folder))).arg(format!("--state-dir={}", self.state.1))
    }
}

#[test]
fn a_dry_run_is_named() {
    require!(Bind.tools());
    let shop = Shop::new();
    let _daemon = shop.line().arg("--dry-run").start();
    case("web.shop.test", Cause::DryRun, &["Start the daemon without --dry-run"]).check(&shop.state.1, None);
    assert_eq!(shop.site.ours(), [""; 0]);
}

/// The server does not know the key: its answer is in the sentence.
#[test]
fn a_zone_that_cannot_be_read_is_named_with_the_answer() {
    require!(Bind.tools());
    let shop = Shop::new();
    let line = shop.line().env("EXTERNAL_DNS_RFC2136_TSIG_SECRET", "d3Jvbmctc2VjcmV0LXdyb25nLXNlY3JldC13cm9uZy4=");
    let _daemon = line.start();
    case("web.shop.test", Cause::ZoneNotServed, &["shop.test", "BADSIG"]).check(&shop.state.1, None);
}

/// The API server is not there.
#[test]
fn a_kind_that_cannot_be_read_is_named_with_the_reason() {
    needs!(Bind);
    let (kube, site) = (own(), Site::start(Bind));
    let space = Space::new(&kube);
    let line = site.line(&space).arg(format!("--server=https://127.0.0.1:{}", free_port()));
    let _daemon = line.arg("--start-timeout=1s").start();
    case("web.shop.test", Cause::KindUnread, &["services", "Connection refused"]).check(space.state_dir(), None);
}

/// The folder is empty all of a sudden: that is doubted.
#[test]
fn a_delete_that_waits_for_evidence_is_named_with_the_kind() {
    require!(Bind.tools());
    let shop = Shop::new();
    for name in ["a", "b", "c"] {
        write(shop.folder.path(), &format!("{name}.yaml"), &service(name, name, "192.0.2.1"));
    }
    let _daemon = shop.line().start();
    let four = ["a 0 A 192.0.2.1", "b 0 A 192.0.2.1", "c 0 A 192.0.2.1", "web 0 A 192.0.2.1"];
    shop.site.shows(&four);
    let (folder, away) = (shop.folder.path(), shop.folder.path().with_extension("away"));
    std::fs::rename(folder, &away).and_then(|()| std::fs::create_dir(folder)).expect("an empty folder in its place");
    case("web.shop.test", Cause::WaitingForEvidence, &["web.shop.test A", "services"]).check(&shop.state.1, None);
    shop.site.shows(&four);
    std::fs::remove_dir_all(&away).expect("the old folder goes");
}

/// The zone was changed since it was read: what its server answers now is in the sentence.
#[test]
fn a_record_that_its_server_does_not_answer_is_named() {
    require!(Bind.tools());
    let shop = Shop::new();
    let _daemon = shop.line().without("--interval").arg("--interval=10m").start();
    case("web.shop.test", Cause::Published, &[]).check(&shop.state.1, None);
    shop.site.dns.nsupdate("update delete web.shop.test A");
    case("web.shop.test", Cause::NotServed, &["nothing stands at the name"]).check(&shop.state.1, None);
}

/// Text and JSON say the same; a subject that is none, and a daemon that is not there, are errors.
#[test]
fn the_answer_as_people_read_it() {
    require!(Bind.tools());
    let shop = Shop::new();
    let daemon = shop.line().start();
    case("web.shop.test", Cause::Published, &[]).check(&shop.state.1, None);
    let json = asked(&shop.state.1, "service/default/web");
    let output = run(&shop.state.1, "service/default/web", &[]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut lines = text.lines();
    assert_eq!(lines.next().map(Value::from), Some(json["verdict"]["sentence"].clone()));
    assert_eq!(lines.next().map(Value::from), Some(json["verdict"]["advice"].clone()));
    for part in [
        "What the running daemon finds of service/default/web:",
        "Service default/web (source service)",
        "asks for web.shop.test A 192.0.2.1",
        "annotation read: external-dns.kubernetes.io/hostname=web.shop.test",
        "stands: web.shop.test 0 A 192.0.2.1; owner: ours for service/default/web; claims are looked for at a-web.shop.test",
        "the server answers now: web.shop.test 0 A 192.0.2.1",
    ] {
        assert!(text.contains(part), "{part:?} is not in\n{text}");
    }
    let wrong = run(&shop.state.1, "a..b", &[]);
    assert!(!wrong.status.success() && String::from_utf8_lossy(&wrong.stderr).contains("a..b"), "{wrong:?}");
    std::fs::remove_file(shop.folder.path().join("web.yaml")).expect("the file goes");
    case("web.shop.test", Cause::NotAsked, &[]).check(&shop.state.1, None);
    let deleted = &asked(&shop.state.1, "web.shop.test")["names"][0]["zones"][0]["deleted"];
    let parts = [" in plan ", ": web.shop.test 0 A 192.0.2.1, of service/default/web"];
    assert!(deleted.as_str().is_some_and(|text| parts.iter().all(|part| text.contains(part))), "{deleted}");
    let output = run(&shop.state.1, "web.shop.test", &[]);
    assert!(String::from_utf8_lossy(&output.stdout).contains("    deleted 20"), "{output:?}");
    drop(daemon);
    let away = run(&shop.state.1, "web.shop.test", &[]);
    let said = String::from_utf8_lossy(&away.stderr).into_owned();
    assert!(!away.status.success() && said.contains("no daemon answers") && said.contains("--source"), "{said}");
    assert!(said.contains("to find out without it: Connection refused"), "the cause comes last: {said}");
}
