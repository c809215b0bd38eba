//! BIND, Knot and PowerDNS, each behind the same handle.
//!
//! In: zones with extra records, and TSIG keys. Out: a primary server on a loopback port (one number for UDP and TCP)
//! that takes dynamic updates and transfers signed with any of the keys, and answers queries from everybody. Without
//! keys it takes unsigned ones.

mod bind;
mod knot;
mod powerdns;

use std::fmt::Write as _;
use std::fs;
use std::hash::{BuildHasher as _, RandomState};
use std::io::Write as _;
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use tempfile::TempDir;

use crate::certificate::Certificate;
use crate::net::{free_port, loopback};
use crate::process::Process;
use crate::tools;

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
}

/// A TSIG key.
#[derive(Debug, Clone)]
pub struct Key {
    /// Name of the key, without trailing dot.
    pub name: String,
    /// How messages are signed.
    pub algorithm: Algorithm,
    /// The shared secret, base64.
    pub secret: String,
}

/// The HMAC of a TSIG key (RFC 8945, section 6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Algorithm {
    /// `hmac-md5.sig-alg.reg.int`.
    HmacMd5,
    /// `hmac-sha1`.
    HmacSha1,
    /// `hmac-sha224`.
    HmacSha224,
    /// `hmac-sha256`.
    HmacSha256,
    /// `hmac-sha384`.
    HmacSha384,
    /// `hmac-sha512`.
    HmacSha512,
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

    /// Everything that the server has logged, over all its starts.
    pub fn log(&self) -> String {
        self.process.log()
    }

    /// The whole zone by AXFR: one sorted line per record, single spaces, the SOA once. Signed with the first key.
    ///
    /// # Panics
    /// When the transfer fails.
    #[track_caller]
    pub fn axfr(&self, zone: &str) -> Vec<String> {
        let output = self.dig(&["+tcp", "+nocmd", "+nocomments", "+nostats", "+noquestion", "+onesoa", zone, "AXFR"]);
        let failed = output.lines().find(|line| line.starts_with("; Transfer failed"));
        assert!(failed.is_none(), "AXFR of {zone}: {output}");
        let records = output.lines().filter(|line| !line.starts_with(';') && !line.contains("\tANY\tTSIG\t"));
        let mut records: Vec<String> = records.map(single_spaced).filter(|line| !line.is_empty()).collect();
        assert!(!records.is_empty(), "AXFR of {zone} is empty: {output}");
        records.sort_unstable();
        records
    }

    /// The answer's data, one sorted line per record; empty for a name or type that does not exist. Signed with the
    /// first key.
    ///
    /// # Panics
    /// When the server does not answer.
    #[track_caller]
    pub fn query(&self, name: &str, record_type: &str) -> Vec<String> {
        let output = self.dig(&["+short", name, record_type]);
        let mut lines: Vec<String> = output.lines().filter(|line| !line.starts_with(';')).map(str::to_owned).collect();
        lines.sort_unstable();
        lines
    }

    /// The zone's serial number as the server publishes it.
    ///
    /// # Panics
    /// When the server does not answer for the zone.
    #[track_caller]
    pub fn serial(&self, zone: &str) -> u32 {
        let answer = self.query(zone, "SOA");
        let serial = answer.first().and_then(|soa| soa.split(' ').nth(2)).and_then(|serial| serial.parse().ok());
        serial.unwrap_or_else(|| panic!("no SOA for {zone}: {answer:?}"))
    }

    /// Sends `nsupdate` commands (`update add ...`, `prereq ...`; several messages are parted by `send`), signed with
    /// the first key.
    ///
    /// # Panics
    /// When the server refuses one.
    #[track_caller]
    pub fn nsupdate(&self, script: &str) {
        if let Err(error) = self.try_nsupdate(script) {
            panic!("nsupdate: {error}\n{script}");
        }
    }

    /// As [`Self::nsupdate`], for updates that may be refused.
    ///
    /// # Errors
    /// What `nsupdate` wrote, such as `update failed: REFUSED`.
    ///
    /// # Panics
    /// When `nsupdate` itself cannot be run.
    #[track_caller]
    pub fn try_nsupdate(&self, script: &str) -> Result<(), String> {
        let mut command = Command::new(tools::need("nsupdate"));
        self.sign(&mut command);
        let script = format!("server {} {}\n{script}\nsend\n", self.addr().ip(), self.addr().port());
        let output = feed(&mut command, &script);
        if output.status.success() { Ok(()) } else { Err(text(&output)) }
    }

    /// Runs `dig` against this server and returns what it printed.
    #[track_caller]
    fn dig(&self, arguments: &[&str]) -> String {
        let mut command = dig(self.site.port);
        self.sign(&mut command);
        let output = command.args(["+norecurse", "+timeout=10", "+tries=3"]).args(arguments).output().expect("run dig");
        assert!(output.status.success(), "dig {}: {}", arguments.join(" "), text(&output));
        text(&output)
    }

    /// Makes `dig` or `nsupdate` sign with the first key.
    fn sign(&self, command: &mut Command) {
        if !self.site.keys.is_empty() {
            command.arg("-k").arg(self.site.key_file());
        }
    }

    #[track_caller]
    fn wait_until_ready(&mut self) {
        let site = &self.site;
        self.process.wait_until_ready(READY, || site.listens() && site.zones.iter().all(|zone| site.serves(zone)));
    }
}

impl Site {
    fn new(zones: &[ZoneSpec], keys: &[Key]) -> Self {
        let folder = tempfile::Builder::new().prefix("zonewright-dns-").tempdir().expect("a temporary folder");
        let site = Self { folder, port: free_port(), zones: zones.to_vec(), keys: keys.to_vec(), tls: None };
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

    fn listens(&self) -> bool {
        TcpStream::connect(loopback(self.port)).is_ok()
    }

    fn serves(&self, zone: &ZoneSpec) -> bool {
        let output =
            dig(self.port).args(["+short", "+norecurse", "+timeout=1", "+tries=1", &zone.name, "SOA"]).output();
        output.is_ok_and(|output| output.status.success() && text(&output).split(' ').count() == 7)
    }
}

impl ZoneSpec {
    /// A zone with these further lines of zone-file text.
    pub fn new(name: &str, records: &str) -> Self {
        Self { name: name.trim_end_matches('.').to_owned(), records: records.to_owned() }
    }

    fn text(&self) -> String {
        let Self { name, records } = self;
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

impl Key {
    /// An HMAC-SHA256 key with a random secret.
    pub fn new(name: &str) -> Self {
        Self::with_algorithm(name, Algorithm::HmacSha256)
    }

    /// A key with a random secret of 256 bits.
    pub fn with_algorithm(name: &str, algorithm: Algorithm) -> Self {
        Self { name: name.trim_end_matches('.').to_owned(), algorithm, secret: random_base64() }
    }

    /// As BIND's configuration and its client programs write a key.
    fn as_bind_clause(&self) -> String {
        format!("key \"{}\" {{ algorithm {}; secret \"{}\"; }};\n", self.name, self.algorithm.name(), self.secret)
    }
}

impl Algorithm {
    /// As configuration files write it, such as `hmac-sha256`.
    pub fn name(self) -> &'static str {
        match self {
            Self::HmacMd5 => "hmac-md5",
            Self::HmacSha1 => "hmac-sha1",
            Self::HmacSha224 => "hmac-sha224",
            Self::HmacSha256 => "hmac-sha256",
            Self::HmacSha384 => "hmac-sha384",
            Self::HmacSha512 => "hmac-sha512",
        }
    }
}

#[track_caller]
fn spawn(software: DnsSoftware, site: &Site) -> Process {
    Process::spawn(&format!("{software:?}"), &software.command(site), &site.path("server.log"))
}

fn dig(port: u16) -> Command {
    let mut command = Command::new(tools::need("dig"));
    // Without -r the user's own settings would change the output.
    command.args(["-r", "@127.0.0.1", "-p", &port.to_string()]);
    command
}

/// Runs a program that must succeed, for preparing a server.
#[track_caller]
fn prepare_with(command: &mut Command) {
    let output =
        command.stdin(Stdio::null()).output().unwrap_or_else(|error| panic!("cannot run {command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", text(&output));
}

/// Runs a program that reads `input`.
#[track_caller]
fn feed(command: &mut Command, input: &str) -> Output {
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("start the program");
    let mut stdin = child.stdin.take().expect("a pipe to the program");
    // A program that ends early closes its end of the pipe; its status and its own words say why.
    let _ = stdin.write_all(input.as_bytes());
    drop(stdin);
    child.wait_with_output().expect("wait for the program")
}

fn text(output: &Output) -> String {
    let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.push_str(&String::from_utf8_lossy(&output.stderr));
    text
}

/// Runs of blanks outside quotes become one space.
fn single_spaced(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut quoted = false;
    let mut escaped = false;
    for c in line.trim().chars() {
        if c == '"' && !escaped {
            quoted = !quoted;
        }
        escaped = c == '\\' && !escaped;
        if quoted || !c.is_ascii_whitespace() {
            out.push(c);
        } else if !out.ends_with(' ') {
            out.push(' ');
        }
    }
    out
}

/// 32 octets in base64 (44 characters). Random enough for a key that lives for one test: each hasher of the standard
/// library is seeded by the system.
fn random_base64() -> String {
    let octets: Vec<u8> = (0..4u8).flat_map(|word| RandomState::new().hash_one(word).to_be_bytes()).collect();
    // Hexadecimal digits are base64 characters, and 44 of them decode to 33 octets.
    octets.iter().chain(&octets[..]).take(22).fold(String::new(), |mut text, octet| {
        let _ = write!(text, "{octet:02x}");
        text
    })
}

/// The path as text for a configuration file; temporary folders have plain names.
fn plain(path: &Path) -> String {
    path.display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_inside_quotes_stay() {
        let check = |line: &str, expected: &str| assert_eq!(single_spaced(line), expected);
        check("a.\t\t300\tIN  A 192.0.2.1 ", "a. 300 IN A 192.0.2.1");
        check("a.\t300\tIN\tTXT\t\"two  blanks\" \"x\\\"  y\"", "a. 300 IN TXT \"two  blanks\" \"x\\\"  y\"");
    }

    #[test]
    fn secrets_are_base64_and_differ() {
        let secrets = [random_base64(), random_base64()];
        assert_ne!(secrets[0], secrets[1]);
        assert!(secrets.iter().all(|secret| secret.len() == 44));
    }
}
