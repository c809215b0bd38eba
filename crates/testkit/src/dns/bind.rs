//! BIND 9: one `named` with everything that it does besides serving zones switched off.

use std::fmt::Write as _;
use std::fs;
use std::process::Command;

use super::{Site, plain};
use crate::tools;

pub(super) fn prepare(site: &Site) {
    fs::write(site.path("named.conf"), configuration(site)).expect("write named.conf");
}

/// `-g`: in the foreground, log to standard error. As root it keeps its user: the folder is this test's alone.
pub(super) fn command(site: &Site) -> Command {
    let mut command = Command::new(tools::need("named"));
    if let Some((keytab, _)) = &site.kerberos {
        command.envs(keytab.environment.iter().map(|(name, value)| (*name, value))).env("KRB5RCACHENAME", "none:");
    }
    command.args(["-4", "-g", "-n", "1", "-c"]).arg(site.path("named.conf"));
    command
}

fn configuration(site: &Site) -> String {
    let mut text = String::new();
    for key in &site.keys {
        text.push_str(&key.as_bind_clause());
    }
    let mut listen = format!("listen-on port {} {{ 127.0.0.1; }};", site.port);
    if let Some((port, certificate)) = &site.tls {
        let (key, chain) = (plain(&certificate.key), plain(&certificate.chain));
        let _ = writeln!(text, "tls local {{ key-file \"{key}\"; cert-file \"{chain}\"; }};");
        let _ = write!(listen, " listen-on port {port} tls local {{ 127.0.0.1; }};");
    }
    let folder = plain(site.folder.path());
    let keytab = site
        .kerberos
        .as_ref()
        .map_or_else(String::new, |(keytab, _)| format!("tkey-gssapi-keytab \"{}\";", plain(&keytab.file)));
    let queries = if site.queries { "any" } else { "none" };
    let _ = write!(
        text,
        r#"
options {{
    directory "{folder}";
    {listen}
    {keytab}
    listen-on-v6 {{ none; }};
    pid-file none;
    session-keyfile none;
    max-cache-size 2m;
    recursion no;
    dnssec-validation no;
    notify explicit;
    allow-query {{ {queries}; }};
}};
controls {{ }};
"#
    );
    for zone in site.served() {
        let permissions = permissions(site, zone.refused_type.as_deref());
        let (name, file) = (&zone.name, plain(&site.zone_file(zone)));
        let _ = writeln!(text, r#"zone "{name}" {{ type primary; file "{file}"; {permissions} }};"#);
    }
    text
}

fn permissions(site: &Site, refused_type: Option<&str>) -> String {
    if site.keys.is_empty() && site.kerberos.is_none() {
        return "allow-update { any; }; allow-transfer { any; };".to_owned();
    }
    let mut grants = format!("{} ", site.rules);
    let mut keys = String::new();
    for key in &site.keys {
        if let Some(refused) = refused_type {
            let _ = write!(grants, "deny \"{}\" zonesub {refused}; ", key.name);
        }
        let _ = write!(grants, "grant \"{}\" zonesub ANY; ", key.name);
        let _ = write!(keys, "key \"{}\"; ", key.name);
    }
    if let Some((keytab, users)) = &site.kerberos {
        for user in users {
            let _ = write!(grants, "grant \"{user}@{}\" zonesub ANY; ", keytab.realm);
        }
        keys.push_str("any; ");
    }
    format!("update-policy {{ {grants}}}; allow-transfer {{ {keys}}};")
}
