//! BIND, Knot and PowerDNS, each behind the same handle.
//!
//! In: zones with extra records, and TSIG keys. Out: a primary server on a loopback port (one number for UDP and TCP)
//! that takes dynamic updates and transfers signed with any of the keys, and answers queries from everybody. Without
//! keys it takes unsigned ones.

mod bind;
mod key;
mod knot;
mod powerdns;
mod query;
mod rights;

use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use tempfile::TempDir;

use crate::certificate::Certificate;
use crate::kerberos::Keytab;
use crate::net::{free_port, loopback};
use crate::process::Process;

pub use self::key::{Algorithm, Key};
use self::query::{dig, text};

/// How long a server may take until it answers for all its zones; generous, for machines under load.
const READY: Duration = Duration::from_mins(1);

/// A DNS server program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DnsSoftware {
    /// ISC BIND 9 (`named`).
    Bind,
    /// Knot DNS (`knotd`).
    Knot,
    /// PowerDNS Authoritative Server with its SQLite back end.
    PowerDns,
}

/// A zone to serve. It begins with `SOA` (serial 1), `NS ns1` and `ns1 A 127.0.0.1`: three records.
#[derive(Debug, Clone)]
pub struct ZoneSpec {
    /// Name of the zone, without trailing dot.
    pub name: String,
    /// Further lines in zone-file syntax; relative names belong to the zone, the default TTL is 300 s.
    pub records: String,
    /// A record type whose updates BIND refuses, whoever signs them.
    pub refused_type: Option<String>,
}

/// A DNS server in a folder of its own. Ends on drop.
#[derive(Debug)]
pub struct DnsServer {
    software: DnsSoftware,
    process: Process,
    site: Site,
}

/// What a server is made from; it stays the same over restarts.
#[derive(Debug)]
struct Site {
    folder: TempDir,
    port: u16,
    zones: Vec<ZoneSpec>,
    keys: Vec<Key>,
    tls: Option<(u16, Certificate)>,
    /// Whether the server was left without its zones.
    bare: bool,
    /// The keys for clients that sign by Kerberos, and the users that may update.
    kerberos: Option<(Keytab, Vec<String>)>,
    /// Rules of BIND's `update-policy` that go before the grants to the keys, or further lines of Knot's ACL.
    rules: String,
    /// Whether who holds a key may ask queries.
    queries: bool,
}

impl DnsSoftware {
    /// Every server program that there is.
    pub const ALL: [Self; 3] = [Self::Bind, Self::Knot, Self::PowerDns];

    /// The programs that a test with this server needs, for [`require!`](crate::require).
    pub fn tools(self) -> &'static [&'static str] {
        match self {
            Self::Bind => &["dig", "nsupdate", "named"],
            Self::Knot => &["dig", "nsupdate", "knotd"],
            Self::PowerDns => &["dig", "nsupdate", "pdns_server", "pdnsutil", "sqlite3"],
        }
    }

    /// Starts the server and waits until it answers for all zones.
    ///
    /// # Panics
    /// When it does not get ready; the message holds the end of its log.
    #[track_caller]
    pub fn start(self, zones: &[ZoneSpec], keys: &[Key]) -> DnsServer {
        DnsServer::start(self, Site::new(zones, keys))
    }

    fn prepare(self, site: &Site) {
        match self {
            Self::Bind => bind::prepare(site),
            Self::Knot => knot::prepare(site),
            Self::PowerDns => powerdns::prepare(site),
        }
    }

    fn command(self, site: &Site) -> Command {
        match self {
            Self::Bind => bind::command(site),
            Self::Knot => knot::command(site),
            Self::PowerDns => powerdns::command(site),
        }
    }
}

impl DnsServer {
    /// Starts a BIND that also answers DNS over TLS (RFC 7858) on [`Self::tls_addr`], with a certificate for 127.0.0.1
    /// and `localhost`.
    ///
    /// # Panics
    /// As [`DnsSoftware::start`].
    #[track_caller]
    pub fn bind_with_tls(zones: &[ZoneSpec], keys: &[Key]) -> Self {
        let mut site = Site::new(zones, keys);
        site.tls = Some((free_port(), Certificate::write(site.folder.path())));
        Self::start(DnsSoftware::Bind, site)
    }

    /// Starts a BIND whose `update-policy` begins with these rules, each ended by a semicolon; then every key may update the
    /// whole zone.
    ///
    /// # Panics
    /// As [`DnsSoftware::start`].
    #[track_caller]
    pub fn bind_with_rules(zones: &[ZoneSpec], keys: &[Key], rules: &str) -> Self {
        let mut site = Site::new(zones, keys);
        rules.clone_into(&mut site.rules);
        Self::start(DnsSoftware::Bind, site)
    }

    /// Restarts a BIND with other rules; only after [`Self::bind_with_rules`].
    ///
    /// # Panics
    /// As [`DnsSoftware::start`].
    #[track_caller]
    pub fn restart_with_rules(&mut self, rules: &str) {
        rules.clone_into(&mut self.site.rules);
        self.software.prepare(&self.site);
        self.restart();
    }

    /// Restarts a BIND with another content of a zone, as a restored backup or a file that was edited by hand: `edit` gets the
    /// records as [`Self::axfr`] shows them, with the serial number that the server publishes now. The journal goes.
    ///
    /// # Panics
    /// With another server than BIND; as [`DnsSoftware::start`].
    #[track_caller]
    pub fn replace_zone(&mut self, zone: &str, edit: impl FnOnce(&mut Vec<String>)) {
        assert_eq!(self.software, DnsSoftware::Bind, "the only one whose zones are text files");
        let mut records = self.axfr(zone);
        edit(&mut records);
        // The SOA comes first in a zone file.
        records.sort_by_key(|record| !record.contains(" IN SOA "));
        self.process.terminate();
        let file = self.site.path(&format!("{zone}.zone"));
        fs::write(&file, records.join("\n") + "\n").expect("write a zone file");
        let _ = fs::remove_file(file.with_extension("zone.jnl"));
        self.restart();
    }

    /// Starts a BIND that takes updates from these users of the keytab's realm, signed by Kerberos (RFC 3645), besides those
    /// that are signed with a key. Queries and transfers need no signature.
    ///
    /// # Panics
    /// As [`DnsSoftware::start`].
    #[track_caller]
    pub fn bind_with_kerberos(zones: &[ZoneSpec], keys: &[Key], keytab: Keytab, users: &[&str]) -> Self {
        let mut site = Site::new(zones, keys);
        site.kerberos = Some((keytab, users.iter().map(|user| (*user).to_owned()).collect()));
        Self::start(DnsSoftware::Bind, site)
    }

    /// As [`Self::restart`], with another keytab; only after [`Self::bind_with_kerberos`].
    ///
    /// # Panics
    /// As [`DnsSoftware::start`].
    #[track_caller]
    pub fn restart_with_keytab(&mut self, keytab: Keytab) {
        if let Some((old, _)) = self.site.kerberos.as_mut() {
            *old = keytab;
        }
        self.software.prepare(&self.site);
        self.restart();
    }

    #[track_caller]
    fn start(software: DnsSoftware, site: Site) -> Self {
        software.prepare(&site);
        let process = spawn(software, &site);
        let mut server = Self { software, process, site };
        server.wait_until_ready();
        server
    }

    /// Where it listens, UDP and TCP.
    pub fn addr(&self) -> SocketAddr {
        loopback(self.site.port)
    }

    /// Where it listens for DNS over TLS; only after [`Self::bind_with_tls`].
    pub fn tls_addr(&self) -> Option<SocketAddr> {
        self.site.tls.as_ref().map(|(port, _)| loopback(*port))
    }

    /// The authority that signed its TLS certificate, PEM; only after [`Self::bind_with_tls`].
    pub fn ca_pem(&self) -> Option<&str> {
        self.site.tls.as_ref().map(|(_, certificate)| certificate.ca_pem.as_str())
    }

    /// Kills the server as a crash would (SIGKILL); [`Self::restart`] brings it back.
    pub fn kill(&mut self) {
        self.process.kill();
    }

    /// Freezes the server (SIGSTOP): connections are still accepted by the kernel, nothing is answered.
    pub fn stop(&self) {
        self.process.stop();
    }

    /// Lets the server go on after [`Self::stop`].
    pub fn cont(&self) {
        self.process.cont();
    }

    /// Ends the server in order, if it still runs, and starts it again on the same ports with the same data.
    ///
    /// # Panics
    /// As [`DnsSoftware::start`].
    #[track_caller]
    pub fn restart(&mut self) {
        self.process.terminate();
        self.process = spawn(self.software, &self.site);
        self.wait_until_ready();
    }

    /// Restarts a BIND with a configuration that has lost its zones; their files stay. [`Self::find_zones`] brings them back.
    ///
    /// # Panics
    /// With another server than BIND; as [`DnsSoftware::start`].
    #[track_caller]
    pub fn lose_zones(&mut self) {
        self.reconfigure(true);
    }

    /// Restarts a BIND with its zones again, after [`Self::lose_zones`].
    ///
    /// # Panics
    /// As [`Self::lose_zones`].
    #[track_caller]
    pub fn find_zones(&mut self) {
        self.reconfigure(false);
    }

    #[track_caller]
    fn reconfigure(&mut self, bare: bool) {
        assert_eq!(self.software, DnsSoftware::Bind, "the only one whose zones are all in its configuration");
        self.site.bare = bare;
        bind::prepare(&self.site);
        self.restart();
    }

    /// Everything that the server has logged, over all its starts.
    pub fn log(&self) -> String {
        self.process.log()
    }

    #[track_caller]
    fn wait_until_ready(&mut self) {
        let site = &self.site;
        self.process.wait_until_ready(READY, || site.listens() && site.served().iter().all(|zone| site.serves(zone)));
    }
}

impl Site {
    fn new(zones: &[ZoneSpec], keys: &[Key]) -> Self {
        let folder = tempfile::Builder::new().prefix("zonewright-dns-").tempdir().expect("a temporary folder");
        let site = Self {
            folder,
            port: free_port(),
            zones: zones.to_vec(),
            keys: keys.to_vec(),
            tls: None,
            bare: false,
            kerberos: None,
            rules: String::new(),
            queries: true,
        };
        for zone in zones {
            fs::write(site.zone_file(zone), zone.text()).expect("write a zone file");
        }
        if let Some(key) = keys.first() {
            fs::write(site.key_file(), key.as_bind_clause()).expect("write the key file");
        }
        site
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn zone_file(&self, zone: &ZoneSpec) -> PathBuf {
        self.path(&format!("{}.zone", zone.name))
    }

    /// The first key in the syntax that `dig -k` and `nsupdate -k` read.
    fn key_file(&self) -> PathBuf {
        self.path("client.key")
    }

    fn served(&self) -> &[ZoneSpec] {
        if self.bare { &[] } else { &self.zones }
    }

    fn listens(&self) -> bool {
        TcpStream::connect(loopback(self.port)).is_ok()
    }

    fn serves(&self, zone: &ZoneSpec) -> bool {
        let mut command = dig(self.port);
        command.args(["+short", "+norecurse", "+timeout=1", "+tries=1", &zone.name]);
        let output = if self.queries {
            command.arg("SOA").output()
        } else {
            command.arg("AXFR").arg("-k").arg(self.key_file()).output()
        };
        let first = |output: &Output| text(output).lines().next().map_or(0, |line| line.split(' ').count());
        output.is_ok_and(|output| output.status.success() && first(&output) == 7)
    }
}

impl ZoneSpec {
    /// A zone with these further lines of zone-file text.
    pub fn new(name: &str, records: &str) -> Self {
        Self { name: name.trim_end_matches('.').to_owned(), records: records.to_owned(), refused_type: None }
    }

    /// The same zone, in which BIND refuses every update of records of one type, such as `AAAA`.
    #[must_use]
    pub fn refusing(self, record_type: &str) -> Self {
        Self { refused_type: Some(record_type.to_owned()), ..self }
    }

    fn text(&self) -> String {
        let Self { name, records, .. } = self;
        format!(
            "\
$ORIGIN {name}.
$TTL 300
@ SOA ns1.{name}. hostmaster.{name}. 1 3600 600 604800 60
@ NS ns1.{name}.
ns1 A 127.0.0.1
{records}
"
        )
    }
}

#[track_caller]
fn spawn(software: DnsSoftware, site: &Site) -> Process {
    Process::spawn(&format!("{software:?}"), &software.command(site), &site.path("server.log"))
}

/// Runs a program that must succeed, for preparing a server.
#[track_caller]
fn prepare_with(command: &mut Command) {
    let output =
        command.stdin(Stdio::null()).output().unwrap_or_else(|error| panic!("cannot run {command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", text(&output));
}

/// The path as text for a configuration file; temporary folders have plain names.
fn plain(path: &Path) -> String {
    path.display().to_string()
}
