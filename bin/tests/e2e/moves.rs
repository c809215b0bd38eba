//! The names or the form of claims change between two runs: the claims move, and not a byte of anything else.

use std::fs;
use std::path::Path;

use tempfile::TempDir;
use zonewright_testkit::DnsSoftware::Bind;
use zonewright_testkit::require;

use crate::daemon::{CommandLine, Daemon, state_folder, text};
use crate::site::Site;
use crate::{SOON, until};

const KEY: &str = "01234567890123456789012345678901";
const SERVICES: usize = 30;

fn manifests() -> TempDir {
    let folder = tempfile::Builder::new().prefix("zonewright-manifests-").tempdir().expect("a temporary folder");
    for n in 0..SERVICES {
        service(folder.path(), n, "192.0.2.1");
    }
    folder
}

fn service(folder: &Path, n: usize, ip: &str) {
    let host = if n == 0 { "*.wild-too".to_owned() } else { format!("s{n}") };
    let object = format!(
        "apiVersion: v1\nkind: Service\nmetadata:\n  name: s{n}\n  namespace: default\n  annotations:\n    \
         external-dns.kubernetes.io/hostname: '{host}.shop.test'\nspec:\n  type: LoadBalancer\nstatus:\n  loadBalancer:\n    \
         ingress:\n      - ip: {ip}\n"
    );
    fs::write(folder.join(format!("{n}.yaml")), object).expect("write a manifest");
}

/// Waits until a run has nothing left to move and to do.
#[track_caller]
fn rests(daemon: &Daemon) {
    daemon.ready();
    let idle = "external_dns_controller_no_op_runs_total";
    until("a round without changes", SOON, || daemon.metric(idle).is_some_and(|rounds| rounds >= 1.0));
    daemon.measures("zonewright_claims_to_move{zone=\"rfc2136/shop.test\"}", 0.0);
}

/// The texts of the claims, each with the name of its record by these affixes.
fn texts(site: &Site, prefix: &str) -> Vec<String> {
    let bare = |claim: String| claim.strip_prefix(prefix).map_or_else(|| format!("elsewhere: {claim}"), str::to_owned);
    let mut texts: Vec<String> = site.claims().into_iter().map(bare).collect();
    texts.sort_unstable();
    texts
}

#[test]
fn claims_move_and_nothing_else_changes() {
    require!(Bind.tools());
    let (site, folder, state) = (Site::start(Bind), manifests(), state_folder());
    let line = |more: &[&str]| -> CommandLine {
        let line = site.provider(site.dns.addr().port()).args(&["--source=service"]);
        line.arg(format!("--manifests={}", text(folder.path()))).arg(format!("--state-dir={}", state.1)).args(more)
    };
    let daemon = line(&[]).start();
    until("all names", SOON, || site.ours().len() == SERVICES);
    assert!(daemon.terminate().status.success());
    let (records, claims) = (site.ours(), texts(&site, ""));
    assert_eq!(claims.len(), SERVICES);

    // Killed as soon as it is at work, and started again.
    let moving = line(&["--txt-prefix=new-", "--txt-former-prefix=", "--rfc2136-batch-change-size=5"]);
    let mut daemon = moving.start();
    until("it to be at work", SOON, || site.claims().iter().any(|claim| claim.starts_with("new-")));
    daemon.kill();
    assert_eq!(site.ours(), records);
    let daemon = moving.start();
    rests(&daemon);
    assert_eq!((site.ours(), texts(&site, "new-")), (records.clone(), claims.clone()));
    daemon.says(&["the move of claims has ended"]);
    assert!(daemon.terminate().status.success());

    // From now on the former prefix is not needed.
    let serial = site.serial();
    let daemon = line(&["--txt-prefix=new-"]).start();
    rests(&daemon);
    assert_eq!(site.serial(), serial, "nothing was written");
    drop(daemon);

    // To a suffix and into sealed form at once.
    let key = format!("--txt-encrypt-aes-key={KEY}");
    let sealed = ["--txt-suffix=-c", "--txt-former-prefix=new-", "--txt-encrypt-enabled", &key];
    let daemon = line(&sealed).start();
    rests(&daemon);
    let texts_of = |records: Vec<String>| -> (Vec<String>, usize) {
        let (others, sealed): (Vec<_>, Vec<_>) = records.into_iter().partition(|record| !record.contains(" TXT "));
        (others, sealed.len())
    };
    assert_eq!((texts_of(site.ours()), site.claims().len()), ((records.clone(), SERVICES), 0));
    drop(daemon);

    // With another key none opens: that is said once, and everything is left alone.
    let serial = site.serial();
    let other = "--txt-encrypt-aes-key=another key, also of 32 bytes!!!";
    service(folder.path(), 3, "192.0.2.99");
    let daemon = line(&["--txt-suffix=-c", "--txt-encrypt-enabled", other]).start();
    daemon.says(&[&format!("{SERVICES} ownership records are encrypted and do not open"), "shop.test"]);
    daemon.says(&["ForeignRecord", "s3.shop.test A", "encrypted, and not with the key"]);
    assert_eq!((site.serial(), daemon.count("do not open with the key")), (serial, 1));
    drop(daemon);

    // And back to where it began.
    let daemon = line(&["--txt-former-suffix=-c", &key]).start();
    until("the change", SOON, || site.ours().contains(&"s3 0 A 192.0.2.99".to_owned()));
    rests(&daemon);
    assert_eq!(texts(&site, ""), claims);
    assert_eq!(site.ours().len(), SERVICES);
}
