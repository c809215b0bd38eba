//! The server as `dig` sees it (Debian package bind9-dnsutils): messages of another implementation, in and out.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::process::Command;
use std::sync::Arc;

use zonewright_core::{DnsName, RData, RecordSet, RecordType, Ttl};
use zonewright_provider_local::{Local, LocalConfig};
use zonewright_testkit::require;

/// The program that asks, for [`require!`].
const DIG: &[&str] = &["dig"];

/// `name ttl TYPE data`, several data parted by ` | `.
fn set(line: &str) -> RecordSet {
    let words: Vec<&str> = line.splitn(4, ' ').collect();
    let rtype: RecordType = words[2].parse().unwrap();
    let data = words[3].split(" | ").map(|text| RData::parse(rtype, text).unwrap());
    let name = DnsName::parse(words[0]).unwrap();
    RecordSet::simple(name, rtype, Ttl::from_secs(words[1].parse().unwrap()), data)
}

async fn start(lines: &[&str]) -> Arc<Local> {
    let local = Local::start(LocalConfig::with_zones(["example.test"]).unwrap()).await.unwrap();
    for line in lines {
        local.insert(&DnsName::parse("example.test").unwrap(), set(line)).unwrap();
    }
    local
}

/// Runs `dig` with these arguments and gives what it printed.
async fn dig(local: &Local, arguments: &str) -> String {
    let (server, port) = (format!("@{}", local.addr().ip()), local.addr().port().to_string());
    let words: Vec<String> = arguments.split(' ').map(str::to_owned).collect();
    let run = move || {
        let fixed = ["-r", &server, "-p", &port, "+norecurse", "+tries=1", "+time=10"];
        Command::new("dig").args(fixed).args(&words).output()
    };
    let output = tokio::task::spawn_blocking(run).await.unwrap().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

const ZONE: &[&str] = &[
    "www.example.test 60 A 192.0.2.1 | 192.0.2.2",
    "alias.example.test 61 CNAME www.example.test.",
    "*.wild.example.test 60 A 192.0.2.9",
    "a.ent.example.test 60 A 192.0.2.8",
    "t.example.test 60 TXT \"a \\\" quote\" \"caf\\195\\169\" | \"two\"",
    "_s._tcp.example.test 60 SRV 1 2 3 www.example.test.",
    "m.example.test 60 MX 10 www.example.test.",
    "c.example.test 60 CAA 0 issue \"ca.test\"",
    "n.example.test 60 NAPTR 1 2 \"u\" \"E2U+sip\" \"!^.*$!sip:a@b!\" .",
    "h.example.test 60 HTTPS 1 . alpn=h2,h3 port=8443",
    "s.example.test 60 SVCB 1 www.example.test. ipv4hint=192.0.2.1",
    "six.example.test 60 AAAA 2001:db8::1",
    "p.example.test 60 PTR www.example.test.",
    "d.example.test 60 DNAME example.org.",
    "tlsa.example.test 60 TLSA \\# 4 03010102",
    "sub.example.test 60 NS ns.sub.example.test.",
    "ns.sub.example.test 60 A 192.0.2.53",
];

#[tokio::test(flavor = "multi_thread")]
async fn answers() {
    require!(DIG);
    let local = start(ZONE).await;
    for (question, expected) in [
        ("www.example.test A", "www.example.test. 60 IN A 192.0.2.1\nwww.example.test. 60 IN A 192.0.2.2"),
        ("+tcp www.example.test A", "www.example.test. 60 IN A 192.0.2.1\nwww.example.test. 60 IN A 192.0.2.2"),
        (
            "alias.example.test A",
            "alias.example.test. 61 IN CNAME www.example.test.\n\
             www.example.test. 60 IN A 192.0.2.1\nwww.example.test. 60 IN A 192.0.2.2",
        ),
        ("x.y.wild.example.test A", "x.y.wild.example.test. 60 IN A 192.0.2.9"),
        (
            "t.example.test TXT",
            "t.example.test. 60 IN TXT \"a \\\" quote\" \"caf\\195\\169\"\nt.example.test. 60 IN TXT \"two\"",
        ),
        ("_s._tcp.example.test SRV", "_s._tcp.example.test. 60 IN SRV 1 2 3 www.example.test."),
        ("m.example.test MX", "m.example.test. 60 IN MX 10 www.example.test."),
        ("c.example.test CAA", "c.example.test. 60 IN CAA 0 issue \"ca.test\""),
        ("n.example.test NAPTR", "n.example.test. 60 IN NAPTR 1 2 \"u\" \"E2U+sip\" \"!^.*$!sip:a@b!\" ."),
        ("h.example.test HTTPS", "h.example.test. 60 IN HTTPS 1 . alpn=\"h2,h3\" port=8443"),
        ("s.example.test SVCB", "s.example.test. 60 IN SVCB 1 www.example.test. ipv4hint=192.0.2.1"),
        ("six.example.test AAAA", "six.example.test. 60 IN AAAA 2001:db8::1"),
        ("p.example.test PTR", "p.example.test. 60 IN PTR www.example.test."),
        ("tlsa.example.test TLSA", "tlsa.example.test. 60 IN TLSA 3 1 1 02"),
        ("example.test NS", "example.test. 3600 IN NS localhost."),
        (
            "x.d.example.test A",
            "d.example.test. 60 IN DNAME example.org.\nx.d.example.test. 60 IN CNAME x.example.org.",
        ),
        // The question's spelling comes back.
        ("WWW.Example.TEST AAAA", ""),
        ("Six.eXample.test AAAA", "Six.eXample.test. 60 IN AAAA 2001:db8::1"),
        ("six.example.test ANY", "six.example.test. 60 IN AAAA 2001:db8::1"),
    ] {
        let answer = dig(&local, &format!("+noall +answer +nottlunits {question}")).await;
        let mut lines: Vec<String> =
            answer.lines().map(|l| l.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        lines.sort();
        let mut expected: Vec<&str> = expected.lines().collect();
        expected.sort_unstable();
        assert_eq!(lines, expected, "{question}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn codes_and_flags() {
    require!(DIG);
    let local = start(ZONE).await;
    for (question, parts) in [
        ("www.example.test A", ["status: NOERROR", "flags: qr aa;", "ANSWER: 2, AUTHORITY: 0, ADDITIONAL: 1"]),
        ("+noedns www.example.test A", ["status: NOERROR", "flags: qr aa;", "ANSWER: 2, AUTHORITY: 0, ADDITIONAL: 0"]),
        (
            "nope.example.test A",
            ["status: NXDOMAIN", "flags: qr aa;", "60\tIN\tSOA\tlocalhost. hostmaster.example.test."],
        ),
        ("www.example.test TXT", ["status: NOERROR", "ANSWER: 0, AUTHORITY: 1", "60\tIN\tSOA\tlocalhost."]),
        ("ent.example.test A", ["status: NOERROR", "ANSWER: 0, AUTHORITY: 1", "flags: qr aa;"]),
        ("x.sub.example.test A", ["flags: qr;", "sub.example.test.\t60\tIN\tNS\tns.sub.example.test.", "192.0.2.53"]),
        ("example.org A", ["status: REFUSED", "flags: qr;", "ANSWER: 0, AUTHORITY: 0"]),
        ("-c CH version.bind TXT", ["status: REFUSED", "flags: qr;", "ANSWER: 0"]),
        ("+edns=1 +noednsneg www.example.test A", ["status: BADVERS", "version: 0", "ANSWER: 0"]),
        ("+opcode=notify www.example.test SOA", ["status: NOTIMP", "opcode: NOTIFY", "ANSWER: 0"]),
    ] {
        let answer = dig(&local, &format!("+noall +comments +authority +additional +answer {question}")).await;
        for part in parts {
            assert!(answer.contains(part), "{question}: {part:?} is not in\n{answer}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn large_answers_are_truncated_and_come_whole_over_tcp() {
    require!(DIG);
    let many = (0..120).map(|i| format!("192.0.2.{i}")).collect::<Vec<_>>().join(" | ");
    let local = start(&[&format!("big.example.test 60 A {many}")]).await;
    for (options, truncated) in
        [("+ignore", true), ("+ignore +noedns", true), ("+ignore +bufsize=65000", true), ("", false)]
    {
        let answer = dig(&local, format!("{options} big.example.test A").trim_start()).await;
        let header = answer.lines().find(|line| line.contains("flags:")).unwrap_or_else(|| panic!("{answer}"));
        assert_eq!(header.contains("tc"), truncated, "{options}: {header}");
        assert_eq!(header.contains("ANSWER: 120"), !truncated, "{options}: {header}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transfer_gives_the_zone() {
    require!(DIG);
    let local = start(ZONE).await;
    let answer = dig(&local, "+noall +answer example.test AXFR").await;
    assert_eq!(dig(&local, "+noall +answer example.test IXFR=1").await, answer, "the difference is the whole");
    let lines: Vec<&str> = answer.lines().collect();
    assert!(lines.first().is_some_and(|line| line.contains("SOA")), "{answer}");
    assert_eq!(lines.first(), lines.last(), "a transfer begins and ends with the SOA");
    let zone = DnsName::parse("example.test").unwrap();
    let records: usize = local.dump(&zone).unwrap().iter().map(|set| set.data.as_records().len()).sum();
    assert_eq!(lines.len(), records + 2);
    assert!(dig(&local, "www.example.test AXFR").await.contains("Transfer failed"), "only an apex is transferred");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transfer_of_a_large_zone_spans_messages() {
    require!(DIG);
    let local = start(&[]).await;
    let zone = DnsName::parse("example.test").unwrap();
    for i in 0..3_000 {
        let text = format!("n{i}.example.test 60 TXT \"{}\"", "x".repeat(100));
        local.insert(&zone, set(&text)).unwrap();
    }
    let answer = dig(&local, "+noall +answer +stats example.test AXFR").await;
    assert_eq!(answer.lines().filter(|line| line.contains("\tTXT\t")).count(), 3_000);
    let size = answer.lines().find(|line| line.contains("XFR size")).unwrap_or_default();
    assert!(size.contains("3003 records") && !size.contains("messages 1,"), "{size}");
}
