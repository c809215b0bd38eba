//! A DNS server with one zone, in which others have records too.
//!
//! Invariant of every test: what was in the zone before the daemon is there afterwards, to the letter. It is checked when
//! the site is dropped, so that no test can forget it.

use std::process::{Command, Stdio};

#[cfg(feature = "rfc2136-gss-tsig")]
use zonewright_testkit::kerberos::Keytab;
use zonewright_testkit::{Algorithm, DnsServer, DnsSoftware, Key, ZoneSpec};

use crate::SOON;
use crate::cluster::Space;
use crate::daemon::CommandLine;

/// The zone of all tests; each has a server of its own.
pub(crate) const ZONE: &str = "shop.test";

/// The owner id of the daemons.
pub(crate) const OWNER: &str = "e2e";

/// Records of others: addresses, mail, a claimed name of another owner, a delegation, a wildcard, types that the daemon
/// does not know, and texts that look like claims but are none.
const FOREIGN: &str = r#"
@ 3600 IN MX 10 mail
@ 3600 IN TXT "v=spf1 -all"
@ 3600 IN CAA 0 issue "ca.test"
mail 1800 IN A 198.51.100.1
mail 1800 IN A 198.51.100.2
mail 1800 IN AAAA 2001:db8:ffff::1
alias 60 IN CNAME mail
_sip._tcp 60 IN SRV 1 2 5060 mail
taken 60 IN A 198.51.100.3
a-taken 60 IN TXT "heritage=external-dns,external-dns/owner=someone-else,external-dns/resource=service/x/y"
bare 60 IN A 198.51.100.4
a-odd 60 IN TXT "heritage=external-dns"
MiXed 60 IN TXT "Case; \"quotes\" and \\backslash" "two strings"
sub 60 IN NS ns.sub
ns.sub 60 IN A 198.51.100.5
*.wild 60 IN A 198.51.100.6
strange 60 IN TYPE65280 \# 4 0a000001
"#;

/// A server, its zone, and what belongs to others there.
#[derive(Debug)]
pub(crate) struct Site {
    pub(crate) dns: DnsServer,
    pub(crate) key: Key,
    foreign: Vec<String>,
}

impl Site {
    #[track_caller]
    pub(crate) fn start(software: DnsSoftware) -> Self {
        Self::with(software, "")
    }

    /// A site with further records in its zone; they count as foreign unless they are taken out with [`Self::release`].
    #[track_caller]
    pub(crate) fn with(software: DnsSoftware, records: &str) -> Self {
        let key = Key::with_algorithm("ddns", Algorithm::HmacSha256);
        let dns = software.start(&[ZoneSpec::new(ZONE, &format!("{FOREIGN}{records}"))], std::slice::from_ref(&key));
        Self::of(dns, key)
    }

    /// A site on a BIND that refuses updates of one record type.
    #[track_caller]
    pub(crate) fn refusing(record_type: &str) -> Self {
        let key = Key::with_algorithm("ddns", Algorithm::HmacSha256);
        let zone = ZoneSpec::new(ZONE, FOREIGN).refusing(record_type);
        Self::of(DnsSoftware::Bind.start(&[zone], std::slice::from_ref(&key)), key)
    }

    /// A BIND whose update policy begins with these rules.
    #[track_caller]
    pub(crate) fn with_rules(rules: &str) -> Self {
        let key = Key::with_algorithm("ddns", Algorithm::HmacSha256);
        let zones = [ZoneSpec::new(ZONE, FOREIGN)];
        let dns = DnsServer::bind_with_rules(&zones, std::slice::from_ref(&key), rules);
        Self::of(dns, key)
    }

    /// Restarts a BIND with another content of the zone under the same serial number.
    #[track_caller]
    pub(crate) fn replace_zone(&mut self, edit: impl FnOnce(&mut Vec<String>)) {
        self.dns.replace_zone(ZONE, edit);
    }

    /// From now on what stands at this name, with its dot, counts as a record of others.
    #[track_caller]
    pub(crate) fn claim_for_others(&mut self, name: &str) {
        let here = self.zone().into_iter().filter(|record| record.starts_with(&format!("{name} ")));
        self.foreign.extend(here);
    }

    /// A BIND that takes updates from `user` of the keytab's realm, signed by Kerberos.
    #[cfg(feature = "rfc2136-gss-tsig")]
    #[track_caller]
    pub(crate) fn with_kerberos(keytab: Keytab, user: &str) -> Self {
        let key = Key::with_algorithm("ddns", Algorithm::HmacSha256);
        let zones = [ZoneSpec::new(ZONE, FOREIGN)];
        let dns = DnsServer::bind_with_kerberos(&zones, std::slice::from_ref(&key), keytab, &[user]);
        Self::of(dns, key)
    }

    fn of(dns: DnsServer, key: Key) -> Self {
        let mut site = Self { dns, key, foreign: Vec::new() };
        site.foreign = site.zone();
        site
    }

    /// From now on records that hold this text count as the daemon's.
    pub(crate) fn release(&mut self, text: &str) {
        self.foreign.retain(|record| !record.contains(text));
    }

    /// The whole zone but its SOA record, which every update changes.
    #[track_caller]
    pub(crate) fn zone(&self) -> Vec<String> {
        let mut records = self.dns.axfr(ZONE);
        records.retain(|record| !record.contains(" IN SOA "));
        records
    }

    /// What the daemon has in the zone, without its claims: `name TTL type data`, sorted.
    #[track_caller]
    pub(crate) fn ours(&self) -> Vec<String> {
        self.ours_and_claims().0
    }

    /// The daemon's claims: `name TTL TXT data`, sorted.
    #[track_caller]
    pub(crate) fn claims(&self) -> Vec<String> {
        self.ours_and_claims().1
    }

    /// Both, of one moment.
    #[track_caller]
    pub(crate) fn ours_and_claims(&self) -> (Vec<String>, Vec<String>) {
        self.since_start().into_iter().partition(|record| !record.contains(" TXT \"heritage="))
    }

    /// Everything that was not there at the start, whoever wrote it: `name TTL type data`, sorted.
    #[track_caller]
    pub(crate) fn since_start(&self) -> Vec<String> {
        let new = self.zone().into_iter().filter(|record| !self.foreign.contains(record));
        let mut new: Vec<String> =
            new.map(|record| record.replacen(&format!(".{ZONE}."), "", 1).replacen(" IN ", " ", 1)).collect();
        new.sort_unstable();
        new
    }

    /// Waits until the daemon's records are exactly these: `name TTL type data`, sorted here.
    #[track_caller]
    pub(crate) fn shows(&self, expected: &[&str]) {
        let mut expected: Vec<String> = expected.iter().map(|record| (*record).to_owned()).collect();
        expected.sort_unstable();
        let shown = zonewright_testkit::poll(SOON, || (self.ours() == expected).then_some(()));
        assert!(
            shown.is_some(),
            "the zone holds\n  {}\nexpected\n  {}",
            self.ours().join("\n  "),
            expected.join("\n  ")
        );
    }

    /// The answer to a query for a name of the zone.
    #[track_caller]
    pub(crate) fn dig(&self, name: &str, record_type: &str) -> Vec<String> {
        self.dns.query(&format!("{name}.{ZONE}"), record_type)
    }

    /// The status of an answer, such as NOERROR.
    #[track_caller]
    pub(crate) fn status(&self, name: &str, record_type: &str) -> String {
        let port = self.dns.addr().port().to_string();
        let name = format!("{name}.{ZONE}");
        let arguments = ["-r", "@127.0.0.1", "-p", &port, "+norecurse", "+tries=2", "+timeout=5", &name, record_type];
        let output = Command::new("dig").args(arguments).stdin(Stdio::null()).output().expect("dig runs");
        let output = String::from_utf8_lossy(&output.stdout).into_owned();
        let status = output.split("status: ").nth(1).and_then(|rest| rest.split(',').next());
        status.unwrap_or_else(|| panic!("no status in {output}")).to_owned()
    }

    #[track_caller]
    pub(crate) fn serial(&self) -> u32 {
        self.dns.serial(ZONE)
    }

    /// The command line for this server, without sources.
    pub(crate) fn provider(&self, port: u16) -> CommandLine {
        let line = CommandLine::default().args(&["--provider=rfc2136", "--policy=sync"]);
        self.at(line, port)
    }

    /// A command line with `--provider=rfc2136` and a policy, for this server.
    pub(crate) fn provider_of(&self, line: CommandLine) -> CommandLine {
        self.at(line, self.dns.addr().port())
    }

    fn at(&self, line: CommandLine, port: u16) -> CommandLine {
        line.args(&["--rfc2136-host=127.0.0.1", "--metrics-address=127.0.0.1:0"])
            .arg(format!("--rfc2136-port={port}"))
            .arg(format!("--rfc2136-zone={ZONE}"))
            .arg(format!("--rfc2136-tsig-keyname={}", self.key.name))
            .arg("--rfc2136-tsig-secret-alg=hmac-sha256")
            .arg(format!("--txt-owner-id={OWNER}"))
            .env("EXTERNAL_DNS_RFC2136_TSIG_SECRET", &self.key.secret)
    }

    /// The command line that most tests use: Services and Ingresses of one namespace, this server.
    pub(crate) fn line(&self, space: &Space<'_>) -> CommandLine {
        let line = self.provider(self.dns.addr().port()).args(&["--source=service", "--source=ingress"]);
        space.read_by(line).arg(format!("--state-dir={}", space.state_dir()))
    }

    #[track_caller]
    fn check(&self) {
        let now = self.zone();
        let lost: Vec<&String> = self.foreign.iter().filter(|record| !now.contains(record)).collect();
        assert!(lost.is_empty(), "records of others are gone or changed:\n{lost:#?}\nthe zone:\n{now:#?}");
        let strange: Vec<&String> = now.iter().filter(|record| !self.foreign.contains(record)).collect();
        let beside = |record: &&&String| {
            let taken = ["taken.", "alias.", "strange.", "sub.", "_sip._tcp.", "mail."];
            taken.iter().any(|name| record.starts_with(&format!("{name}{ZONE}.")))
        };
        let beside: Vec<&&String> = strange.iter().filter(beside).collect();
        assert!(beside.is_empty(), "records were added at names of others: {beside:#?}");
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.check();
        }
    }
}
