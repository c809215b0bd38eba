//! Updates that are signed by Kerberos, as Active Directory and many a BIND want them.

use zonewright_testkit::{DnsSoftware, Realm, require};

use crate::daemon::{CommandLine, state_folder, text};
use crate::manifests::{folder, service, write};
use crate::site::Site;

const USER: &str = "dns-updater";
const PASSWORD: &str = "correct horse battery";

/// The arguments of external-dns; the server is known by the name that 127.0.0.1 has.
fn line(realm: &Realm, site: &Site) -> CommandLine {
    let [(variable, config)] = realm.environment();
    site.provider(site.dns.addr().port())
        .without("--rfc2136-host")
        .without("--rfc2136-tsig")
        .args(&["--rfc2136-host=localhost", "--rfc2136-gss-tsig", "--rfc2136-kerberos-realm=shop.test"])
        .arg(format!("--rfc2136-kerberos-username={USER}"))
        .args(&["--source=service", "--log-level=debug", "--once"])
        .env("EXTERNAL_DNS_RFC2136_KERBEROS_PASSWORD", PASSWORD)
        .env(variable, &text(&config))
}

#[test]
fn records_come_change_and_go_signed_by_a_user() {
    require!(DnsSoftware::Bind.tools(), Realm::TOOLS);
    let realm = Realm::start("SHOP.TEST");
    realm.add_user(USER, PASSWORD);
    let site = Site::with_kerberos(realm.keytab(&["DNS/localhost"]), USER);
    let (folder, state) = (folder(), state_folder());
    let line =
        line(&realm, &site).arg(format!("--manifests={}", text(folder.path()))).arg(format!("--state-dir={}", state.1));
    for (address, expected) in [
        (Some("192.0.2.1"), &["web 0 A 192.0.2.1", "also 0 A 192.0.2.9"][..]),
        (Some("192.0.2.2"), &["web 0 A 192.0.2.2", "also 0 A 192.0.2.9"][..]),
        (None, &["also 0 A 192.0.2.9"][..]),
    ] {
        write(folder.path(), "also.yaml", &service("also", "also", "192.0.2.9"));
        write(folder.path(), "web.yaml", &address.map_or_else(String::new, |ip| service("web", "web", ip)));
        let ended = line.run();
        assert_eq!(ended.status.code(), Some(0), "{}", ended.log);
        assert!(!ended.log.contains(PASSWORD), "{}", ended.log);
        site.shows(expected);
    }
    assert_eq!(site.claims().len(), 1, "with their claims");
    assert!(site.dns.log().contains(&format!("key {USER}\\@SHOP.TEST: updating zone")), "{}", site.dns.log());
}

#[test]
fn a_wrong_password_is_reported_without_being_shown() {
    require!(DnsSoftware::Bind.tools(), Realm::TOOLS);
    let realm = Realm::start("SHOP.TEST");
    realm.add_user(USER, "another one");
    let site = Site::with_kerberos(realm.keytab(&["DNS/localhost"]), USER);
    let (folder, state) = (folder(), state_folder());
    write(folder.path(), "web.yaml", &service("web", "web", "192.0.2.1"));
    let line =
        line(&realm, &site).arg(format!("--manifests={}", text(folder.path()))).arg(format!("--state-dir={}", state.1));
    let ended = line.run();
    assert_eq!(ended.status.code(), Some(1), "{}", ended.log);
    assert!(ended.log.contains("logging in at the KDC of realm SHOP.TEST as user dns-updater"), "{}", ended.log);
    assert!(!ended.log.contains(PASSWORD), "{}", ended.log);
    assert!(site.ours().is_empty());
}
