//! PowerDNS with the SQLite back end: the database is filled with its own tool before the start.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::{Site, plain, prepare_with};
use crate::tools;

/// Where Debian's package keeps the schema.
const SCHEMAS: &[&str] = &[
    "/usr/share/pdns-backend-sqlite3/schema/schema.sqlite3.sql",
    "/usr/share/doc/pdns-backend-sqlite3/schema.sqlite3.sql",
];

pub(super) fn prepare(site: &Site) {
    fs::write(site.path("pdns.conf"), configuration(site)).expect("write pdns.conf");
    create_database(site);
    for key in &site.keys {
        pdnsutil(site, &["import-tsig-key", &key.name, key.algorithm.name(), &key.secret]);
    }
    for zone in &site.zones {
        pdnsutil(site, &["load-zone", &zone.name, &plain(&site.zone_file(zone))]);
        pdnsutil(site, &["set-kind", &zone.name, "native"]);
        // As the other two do: each update raises the serial by one.
        pdnsutil(site, &["set-meta", &zone.name, "SOA-EDIT-DNSUPDATE", "INCREASE"]);
        allow(site, &zone.name);
    }
}

pub(super) fn command(site: &Site) -> Command {
    let mut command = Command::new(tools::need("pdns_server"));
    command.arg(format!("--config-dir={}", plain(site.folder.path())));
    command
}

/// The caches are off: with them an answer may be older than the update that was acknowledged before.
fn configuration(site: &Site) -> String {
    let folder = plain(site.folder.path());
    let transfers = if site.keys.is_empty() { "127.0.0.1" } else { "" };
    format!(
        "\
launch=gsqlite3
gsqlite3-database={folder}/pdns.sqlite3
local-address=127.0.0.1
local-port={port}
socket-dir={folder}
daemon=no
guardian=no
disable-syslog=yes
primary=no
dnsupdate=yes
allow-axfr-ips={transfers}
receiver-threads=1
distributor-threads=1
query-cache-ttl=0
negquery-cache-ttl=0
cache-ttl=0
zone-cache-refresh-interval=0
security-poll-suffix=
",
        port = site.port
    )
}

fn create_database(site: &Site) {
    let schema =
        SCHEMAS.iter().find(|path| Path::new(path).is_file()).expect("the schema that pdns-backend-sqlite3 brings");
    let read = format!(".read {schema}");
    prepare_with(Command::new(tools::need("sqlite3")).arg("-bail").arg(site.path("pdns.sqlite3")).arg(read));
    // With a write-ahead log, readers and the writer do not lock each other out: no SERVFAIL under load.
    let log = "PRAGMA journal_mode=WAL";
    prepare_with(Command::new(tools::need("sqlite3")).arg("-bail").arg(site.path("pdns.sqlite3")).arg(log));
}

fn allow(site: &Site, zone: &str) {
    if site.keys.is_empty() {
        return;
    }
    let keys = site.keys.iter().map(|key| key.name.as_str());
    for kind in ["TSIG-ALLOW-DNSUPDATE", "TSIG-ALLOW-AXFR"] {
        let arguments: Vec<&str> = ["set-meta", zone, kind].into_iter().chain(keys.clone()).collect();
        pdnsutil(site, &arguments);
    }
}

fn pdnsutil(site: &Site, arguments: &[&str]) {
    prepare_with(
        Command::new(tools::need("pdnsutil"))
            .arg(format!("--config-dir={}", plain(site.folder.path())))
            .args(arguments),
    );
}
