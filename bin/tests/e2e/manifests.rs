//! A folder of manifests in place of a cluster.

use std::fs;
use std::path::Path;

use tempfile::TempDir;
use zonewright_testkit::DnsSoftware::Bind;
use zonewright_testkit::require;

use crate::daemon::{state_folder, text};
use crate::site::Site;

pub(crate) fn folder() -> TempDir {
    tempfile::Builder::new().prefix("zonewright-manifests-").tempdir().expect("a temporary folder")
}

pub(crate) fn service(name: &str, host: &str, ip: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Service\nmetadata:\n  name: {name}\n  namespace: default\n  annotations:\n    \
         external-dns.kubernetes.io/hostname: {host}.shop.test\nspec:\n  type: LoadBalancer\nstatus:\n  loadBalancer:\n    \
         ingress:\n      - ip: {ip}\n"
    )
}

pub(crate) fn write(folder: &Path, file: &str, content: &str) {
    fs::write(folder.join(file), content).expect("write a manifest");
}

#[test]
fn files_come_change_break_and_go() {
    require!(Bind.tools());
    let (site, folder, state) = (Site::start(Bind), folder(), state_folder());
    write(folder.path(), "shop.yaml", &service("shop", "shop", "192.0.2.1"));
    write(folder.path(), "other.yaml", &service("other", "other", "192.0.2.2"));
    let line = site.provider(site.dns.addr().port()).args(&["--source=service", "--source=ingress"]);
    let line = line.arg(format!("--manifests={}", text(folder.path()))).arg(format!("--state-dir={}", state.1));
    let daemon = line.start();
    site.shows(&["shop 0 A 192.0.2.1", "other 0 A 192.0.2.2"]);
    daemon.ready();

    let two = format!("{}---\n{}", service("shop", "shop", "192.0.2.3"), service("more", "more", "192.0.2.4"));
    write(folder.path(), "shop.yaml", &two);
    site.shows(&["shop 0 A 192.0.2.3", "more 0 A 192.0.2.4", "other 0 A 192.0.2.2"]);

    // A file that cannot be read keeps what it last said, and the others go on.
    write(folder.path(), "shop.yaml", "apiVersion: v1\nkind: Service\nmetadata: {name: shop\n");
    let line_said = daemon.says(&["level=error", "shop.yaml"]);
    assert!(line_said.contains("line="), "{line_said}");
    write(folder.path(), "new.yaml", &service("new", "new", "192.0.2.5"));
    site.shows(&["shop 0 A 192.0.2.3", "more 0 A 192.0.2.4", "other 0 A 192.0.2.2", "new 0 A 192.0.2.5"]);

    write(folder.path(), "shop.yaml", &service("shop", "shop", "192.0.2.6"));
    fs::remove_file(folder.path().join("other.yaml")).expect("remove a manifest");
    site.shows(&["shop 0 A 192.0.2.6", "new 0 A 192.0.2.5"]);

    // The folder is emptied: that is doubted, as an empty list is.
    write(folder.path(), "third.yaml", &service("third", "third", "192.0.2.7"));
    site.shows(&["shop 0 A 192.0.2.6", "new 0 A 192.0.2.5", "third 0 A 192.0.2.7"]);
    let serial = site.serial();
    fs::rename(folder.path(), folder.path().with_extension("away")).expect("move the folder");
    daemon.unready(&["services"], crate::LATER);
    assert_eq!(site.serial(), serial);
    fs::rename(folder.path().with_extension("away"), folder.path()).expect("move the folder back");
    daemon.ready_within(crate::LATER);
    site.shows(&["shop 0 A 192.0.2.6", "new 0 A 192.0.2.5", "third 0 A 192.0.2.7"]);
    assert_eq!(site.serial(), serial);
}
