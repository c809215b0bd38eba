//! Knot DNS: dynamic updates live in its journal, the zone file is only read.

use std::fmt::Write as _;
use std::fs;
use std::process::Command;

use super::{Site, plain};
use crate::tools;

pub(super) fn prepare(site: &Site) {
    fs::write(site.path("knot.conf"), configuration(site)).expect("write knot.conf");
}

pub(super) fn command(site: &Site) -> Command {
    let mut command = Command::new(tools::need("knotd"));
    command.arg("-c").arg(site.path("knot.conf"));
    command
}

fn configuration(site: &Site) -> String {
    let folder = plain(site.folder.path());
    let mut text = format!(
        r#"
server:
    rundir: "{folder}"
    listen: 127.0.0.1@{port}
    udp-workers: 1
    tcp-workers: 1
    background-workers: 1
log:
  - target: stderr
    any: info
database:
    storage: "{folder}"
    journal-db-max-size: 256M
{keys}
acl:
  - id: all
    action: [query, transfer, update, notify]
    {allowed}
{rules}
mod-queryacl:
  - id: none
    address: 192.0.2.1
zone:
"#,
        port = site.port,
        keys = keys(site),
        allowed = allowed(site),
        rules = site.rules,
    );
    // It limits queries alone; all else is left to the ACL.
    let module = if site.queries { "" } else { "    module: mod-queryacl/none\n" };
    for zone in &site.zones {
        let (name, file) = (&zone.name, plain(&site.zone_file(zone)));
        let _ = write!(
            text,
            r#"
  - domain: "{name}"
    file: "{file}"
    storage: "{folder}"
    acl: all
{module}    journal-content: changes
    zonefile-load: whole
    zonefile-sync: -1
"#
        );
    }
    text
}

fn keys(site: &Site) -> String {
    if site.keys.is_empty() {
        return String::new();
    }
    let mut text = "key:\n".to_owned();
    for key in &site.keys {
        let (name, algorithm, secret) = (&key.name, key.algorithm.name(), &key.secret);
        let _ = writeln!(text, "  - id: \"{name}\"\n    algorithm: {algorithm}\n    secret: \"{secret}\"");
    }
    text
}

fn allowed(site: &Site) -> String {
    if site.keys.is_empty() {
        return "address: 127.0.0.1".to_owned();
    }
    let keys: Vec<String> = site.keys.iter().map(|key| format!("\"{}\"", key.name)).collect();
    format!("key: [{}]", keys.join(", "))
}
