//! A zone whose content is another one under the serial number that it had.

use tempfile::TempDir;
use zonewright_testkit::DnsSoftware::Bind;
use zonewright_testkit::require;

use crate::daemon::{CommandLine, state_folder, text};
use crate::manifests::{folder, service, write};
use crate::site::Site;
use crate::{SOON, until};

struct Scene {
    site: Site,
    folder: TempDir,
    state: (TempDir, String),
}

impl Scene {
    /// A zone, and a manifest that asks for one name in it.
    fn new() -> Self {
        let scene = Self { site: Site::start(Bind), folder: folder(), state: state_folder() };
        scene.put("a");
        scene
    }

    fn put(&self, name: &str) {
        write(self.folder.path(), &format!("{name}.yaml"), &service(name, name, "192.0.2.1"));
    }

    fn line(&self) -> CommandLine {
        let line = self.site.provider(self.site.dns.addr().port()).args(&["--source=service", "--interval=1s"]);
        line.arg(format!("--manifests={}", text(self.folder.path()))).arg(format!("--state-dir={}", self.state.1))
    }
}

/// Another writer restores an older state of the zone under the serial number that it had: a record of ours has another address, and
/// a name that was free is taken. The first change that the server refuses has all of it read.
#[test]
fn another_zone_under_an_equal_serial_is_found_by_the_first_refusal() {
    require!(Bind.tools());
    let mut scene = Scene::new();
    let daemon = scene.line().start();
    scene.site.shows(&["a 0 A 192.0.2.1"]);
    daemon.ready();
    // An audit would find another zone under a serial number that the daemon does not know yet.
    assert!(daemon.audits_more(2));
    let serial = scene.site.serial();
    scene.site.replace_zone(|records| {
        let ours = records.iter_mut().find(|record| record.starts_with("a.shop.test. ")).expect("our record");
        *ours = ours.replace("192.0.2.1", "203.0.113.66");
        records.push("b.shop.test. 60 IN A 203.0.113.1".to_owned());
    });
    scene.site.claim_for_others("b.shop.test.");
    assert_eq!(scene.site.serial(), serial);
    scene.put("b");
    until("our record as it was", SOON, || scene.site.dig("a", "A") == ["192.0.2.1"]);
    daemon.says(&["ForeignRecord", "b.shop.test"]);
    assert_eq!(scene.site.dig("b", "A"), ["203.0.113.1"]);
}

/// Where nothing is written, the period finds it.
#[test]
fn another_zone_under_an_equal_serial_is_found_in_time() {
    require!(Bind.tools());
    let mut scene = Scene::new();
    let daemon = scene.line().arg("--rfc2136-full-transfer-interval=3s").start();
    scene.site.shows(&["a 0 A 192.0.2.1"]);
    daemon.ready();
    assert!(daemon.audits_more(2));
    scene.site.replace_zone(|records| {
        let ours = records.iter_mut().find(|record| record.starts_with("a.shop.test. ")).expect("our record");
        *ours = ours.replace("192.0.2.1", "203.0.113.66");
    });
    until("our record as it was", SOON, || scene.site.dig("a", "A") == ["192.0.2.1"]);
}
