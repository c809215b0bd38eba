//! Record sets to test with.

use zonewright_core::{DnsName, RData, RecordSet, RecordType, Ttl};

/// A set at a name; data in presentation form.
pub(crate) fn set(name: &DnsName, rtype: RecordType, ttl: u32, data: &[&str]) -> RecordSet {
    let data =
        data.iter().map(|text| RData::parse(rtype, text).unwrap_or_else(|e| panic!("the suite's own data: {e}")));
    RecordSet::simple(name.clone(), rtype, Ttl::from_secs(ttl), data)
}

/// A name below a zone.
pub(crate) fn name(label: &str, zone: &DnsName) -> DnsName {
    zone.prepend(label).unwrap_or_else(|e| panic!("the suite's own name: {e}"))
}

/// For each type: a label to put it at, and two states of its data.
pub(crate) fn of_type(rtype: RecordType) -> (&'static str, &'static [&'static str], &'static [&'static str]) {
    match rtype {
        RecordType::A => ("a", &["192.0.2.1"], &["192.0.2.2", "198.51.100.7"]),
        RecordType::Aaaa => ("aaaa", &["2001:db8::1"], &["2001:db8::2", "2001:db8:0:1::"]),
        RecordType::Cname => ("cname", &["target.example.net."], &["other.example.net."]),
        RecordType::Txt => ("txt", &["\"one text\""], &["\"another text\"", "\"a third\""]),
        RecordType::Ns => ("ns", &["ns1.example.net."], &["ns2.example.net.", "ns3.example.net."]),
        RecordType::Srv => {
            ("_sip._tcp", &["0 50 5060 sip.example.net."], &["0 60 5060 sip.example.net.", "1 0 5061 b.example.net."])
        }
        RecordType::Mx => ("mx", &["10 mail.example.net."], &["20 mail.example.net.", "30 mail2.example.net."]),
        RecordType::Ptr => ("ptr", &["host.example.net."], &["host2.example.net."]),
        RecordType::Caa => {
            ("caa", &["0 issue \"ca.example.net\""], &["0 issue \";\"", "128 iodef \"mailto:a@example.net\""])
        }
        RecordType::Naptr => (
            "naptr",
            &["100 10 \"u\" \"E2U+sip\" \"!^.*$!sip:a@example.net!\" ."],
            &["100 20 \"s\" \"SIP+D2U\" \"\" _sip._udp.example.net."],
        ),
        RecordType::Https => {
            ("https", &["1 . alpn=h2"], &["1 svc.example.net. alpn=h2,h3 port=8443 ipv4hint=192.0.2.1"])
        }
        RecordType::Svcb => ("_dns", &["1 dns.example.net. alpn=dot"], &["2 dns2.example.net. alpn=dot port=8530"]),
        RecordType::Dname => ("dname", &["example.net."], &["example.org."]),
        RecordType::Soa | RecordType::Other(_) | RecordType::Named(_) => {
            panic!("the suite has no data of type {rtype}")
        }
    }
}

/// Texts that services are known to break: quotes, escapes, long and empty strings, octets beyond ASCII.
pub(crate) fn texts() -> Vec<(&'static str, String)> {
    vec![
        ("blanks", "\"  two  blanks  \"".to_owned()),
        ("quote", "\"a \\\" quote\"".to_owned()),
        ("backslash", "\"back\\\\slash \\\\\\\\ two\"".to_owned()),
        ("semicolon", "\"v=DKIM1; k=rsa; p=MIGf\"".to_owned()),
        (
            "claim",
            "\"heritage=external-dns,external-dns/owner=default,external-dns/resource=service/default/web\"".to_owned(),
        ),
        ("case", "\"MiXeD CaSe\"".to_owned()),
        ("octets", "\"caf\\195\\169 \\226\\130\\172\"".to_owned()),
        ("strings", "\"one\" \"two\" \"three\"".to_owned()),
        ("exactly-255", format!("\"{}\"", "x".repeat(255))),
        ("longer-than-255", format!("\"{}\" \"{}\"", "x".repeat(255), "y".repeat(200))),
        ("percent", "\"100% $HOME @ `x` 'y' {z} <&>\"".to_owned()),
    ]
}
