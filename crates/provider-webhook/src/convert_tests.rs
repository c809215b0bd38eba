//! Tables for both ways, and the round trip of any set.

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;

use zonewright_core::rdata::{Naptr, Txt};

use super::*;
use crate::wire;

fn endpoint(json: &str) -> Endpoint {
    wire::read(json.as_bytes()).unwrap_or_else(|error| panic!("{json}: {error}"))
}

fn json(endpoint: &Endpoint) -> String {
    serde_json::to_string(endpoint).unwrap()
}

fn read(json: &str) -> RecordSet {
    decode(&endpoint(json), Some(Ttl::ZERO)).unwrap_or_else(|error| panic!("{json}: {error}"))
}

/// `name TTL TYPE data | data`.
fn set(line: &str) -> RecordSet {
    let mut words = line.splitn(4, ' ');
    let mut word = || words.next().unwrap();
    let (name, ttl, rtype): (_, u32, RecordType) = (word(), word().parse().unwrap(), word().parse().unwrap());
    let data = word().split(" | ").map(|text| RData::parse(rtype, text).unwrap());
    RecordSet::simple(DnsName::parse(name).unwrap(), rtype, Ttl::from_secs(ttl), data)
}

#[test]
fn sets_are_sent_as_external_dns_sends_them() {
    for (line, expected) in [
        (
            "a.example 60 A 192.0.2.2 | 192.0.2.1",
            r#"{"dnsName":"a.example","targets":["192.0.2.1","192.0.2.2"],"recordType":"A","recordTTL":60}"#,
        ),
        ("a.example 0 AAAA 2001:DB8::1", r#"{"dnsName":"a.example","targets":["2001:db8::1"],"recordType":"AAAA"}"#),
        (
            "*.a.example 0 CNAME Lb.Example.",
            r#"{"dnsName":"*.a.example","targets":["lb.example"],"recordType":"CNAME"}"#,
        ),
        (
            "bücher.example 0 CNAME bücher.example.net",
            r#"{"dnsName":"xn--bcher-kva.example","targets":["xn--bcher-kva.example.net"],"recordType":"CNAME"}"#,
        ),
        (
            "a.example 0 MX 10 mail.example.",
            r#"{"dnsName":"a.example","targets":["10 mail.example"],"recordType":"MX"}"#,
        ),
        ("a.example 0 MX 0 .", r#"{"dnsName":"a.example","targets":["0 ."],"recordType":"MX"}"#),
        ("a.example 0 NS ns.example.", r#"{"dnsName":"a.example","targets":["ns.example"],"recordType":"NS"}"#),
        (
            "_s._tcp.a.example 0 SRV 1 5 5060 sip.example.",
            r#"{"dnsName":"_s._tcp.a.example","targets":["1 5 5060 sip.example."],"recordType":"SRV"}"#,
        ),
        (
            "1.2.0.192.in-addr.arpa 0 PTR a.example.",
            r#"{"dnsName":"1.2.0.192.in-addr.arpa","targets":["a.example"],"recordType":"PTR"}"#,
        ),
        ("a.example 0 TXT v=spf1 -all", r#"{"dnsName":"a.example","targets":["v=spf1 -all"],"recordType":"TXT"}"#),
        (
            r#"a.example 0 TXT "one" "two""#,
            r#"{"dnsName":"a.example","targets":["\"one\" \"two\""],"recordType":"TXT"}"#,
        ),
        (
            r#"a.example 0 TXT "\"in quotes\"""#,
            r#"{"dnsName":"a.example","targets":["\"\\\"in quotes\\\"\""],"recordType":"TXT"}"#,
        ),
        (
            r#"a.example 0 NAPTR 100 10 "u" "E2U+sip" "!^.*$!sip:a@b.test!" ."#,
            r#"{"dnsName":"a.example","targets":["100 10 \"u\" \"E2U+sip\" \"!^.*$!sip:a@b.test!\" ."],"recordType":"NAPTR"}"#,
        ),
    ] {
        let set = set(line);
        let written = encode(&set, Quoting::Bare).unwrap();
        assert_eq!(json(&written), expected, "{line}");
        assert_eq!(read(expected), set, "{line}, read back");
    }
}

#[test]
fn claims_are_sent_in_quotes_and_read_either_way() {
    let long = "x".repeat(300);
    for text in ["heritage=external-dns,external-dns/owner=me", "heritage=external-dns,external-dns/owner=é", &long] {
        let claim = RecordSet::simple(
            DnsName::parse("a-a.b").unwrap(),
            RecordType::Txt,
            Some(Ttl::ZERO),
            [RData::Txt(Txt::from_text(text))],
        );
        let sent = encode(&claim, Quoting::Quoted).unwrap();
        assert_eq!(sent.targets, [format!("\"{text}\"")]);
        for target in [text.to_owned(), format!("\"{text}\"")] {
            assert_eq!(decode(&Endpoint { targets: vec![target], ..sent.clone() }, Some(Ttl::ZERO)).unwrap(), claim);
        }
    }
}

#[test]
fn whatever_is_listed_is_in_the_view() {
    for (listed, expected) in [
        (r#"{"dnsName":"A.Example.","recordType":"a","targets":["192.0.2.1","192.0.2.1"]}"#, "a.example 0 A 192.0.2.1"),
        (
            r#"{"dnsName":"bücher.example","recordType":"CNAME","targets":["B.example."],"recordTTL":5}"#,
            "xn--bcher-kva.example 5 CNAME b.example.",
        ),
        (r#"{"dnsName":"a.b","recordType":"A","targets":["lb.example"]}"#, "a.b 0 A lb.example"),
        (r#"{"dnsName":"a.b","recordType":"TXT","targets":["\"open"]}"#, "a.b 0 TXT \"open"),
        (r#"{"dnsName":"a.b","recordType":"ALIAS","targets":["x y"]}"#, "a.b 0 ALIAS x y"),
        (r#"{"dnsName":"a.b","recordType":"SOA","targets":["ns. root. 1 2 3 4 5"]}"#, "a.b 0 SOA ns. root. 1 2 3 4 5"),
        (r#"{"dnsName":"a.b","recordType":"no type!","targets":["x"]}"#, "a.b 0 UNREADABLE x"),
        (r#"{"dnsName":"a.b","targets":["x"]}"#, "a.b 0 UNREADABLE x"),
        (r#"{"dnsName":"a.b","recordType":"A"}"#, "a.b 0 A "),
        (
            r#"{"dnsName":"a.b","recordType":"A","targets":["192.0.2.1"],"setIdentifier":"s","recordTTL":-7}"#,
            "a.b 0 A (s) 192.0.2.1",
        ),
        (
            r#"{"dnsName":"a.b","recordType":"A","targets":["192.0.2.1"],"recordTTL":99999999999}"#,
            "a.b 2147483647 A 192.0.2.1",
        ),
    ] {
        assert_eq!(read(listed).to_string(), expected, "{listed}");
    }
    assert!(decode(&endpoint(r#"{"recordType":"A"}"#), None).is_err(), "an empty name");
    assert_eq!(decode(&endpoint(r#"{"dnsName":"a","recordType":"A"}"#), None).unwrap().ttl, None);
}

#[test]
fn properties_are_options_and_labels_are_not() {
    let listed = r#"{"dnsName":"a.b","recordType":"A","targets":["lb.example"],"labels":{"owner":"me"},"providerSpecific":[{"name":"alias","value":"true"},{"name":"webhook/w","value":"1"}]}"#;
    let set = read(listed);
    let options: Vec<String> = set.options.iter().map(|(key, value)| format!("{key}={value}")).collect();
    assert_eq!(options, ["alias=true", "webhook/w=1"]);
    let mut wanted = set.clone();
    wanted.options.set("label/resource", OptionValue::Text("service/a/b".into()));
    let written = encode(&wanted, Quoting::Bare).unwrap();
    assert_eq!(written.labels, BTreeMap::from([("resource".to_owned(), "service/a/b".to_owned())]));
    assert_eq!(written.properties.len(), 2, "{written:?}");
    assert_eq!(plain(&wanted), RecordSet { ttl: None, ..set });
}

#[test]
fn what_the_protocol_lacks_is_reported() {
    let plain = set("a.b 0 A 192.0.2.1");
    let weighted = RecordSet { routing: Routing::Weighted { weight: 1 }, ..plain.clone() };
    let alias =
        zonewright_core::record::AliasTarget { target: "lb.example".into(), zone: None, evaluate_health: false };
    let alias = RecordSet { data: RecordData::Alias(alias), ..plain };
    for (set, part) in [(weighted, "routing policies"), (alias, "alias records")] {
        let problem = encode(&set, Quoting::Bare).unwrap_err();
        assert!(problem.contains("a.b A") && problem.contains(part), "{problem}");
    }
}

#[test]
fn old_sides_are_spelled_as_the_peer_does() {
    for (listed, expected) in [
        (r#"{"dnsName":"bücher.Example.","recordType":"A","targets":["192.0.2.1"],"recordTTL":60}"#, true),
        (r#"{"dnsName":"a.b","recordType":"CNAME","targets":["lb.example."]}"#, true),
        (r#"{"dnsName":"a.b","recordType":"TXT","targets":["\"text\""]}"#, true),
        (r#"{"dnsName":"a.b","recordType":"TXT","targets":["text"]}"#, false),
        (r#"{"dnsName":"a.b","recordType":"A","targets":["192.0.2.2","192.0.2.1"]}"#, false),
        (
            r#"{"dnsName":"a.b","recordType":"TXT","targets":["\"heritage=external-dns,external-dns/owner=me\""]}"#,
            false,
        ),
    ] {
        let mut spellings = Spellings::default();
        let set = read(listed);
        spellings.note(&set, endpoint(listed));
        assert_eq!(!spellings.0.is_empty(), expected, "{listed}: only other spellings are kept");
        let old = spellings.old(&set, Quoting::Bare).unwrap();
        assert_eq!(read(&json(&old)), set, "{listed}");
        if expected {
            assert_eq!(json(&old), json(&endpoint(listed)), "the peer's own words");
        }
        let changed = RecordSet { ttl: Ttl::from_secs(7), ..set };
        assert_eq!(
            spellings.old(&changed, Quoting::Bare),
            encode(&changed, Quoting::Bare),
            "no longer what was listed"
        );
    }
}

fn names() -> impl Strategy<Value = DnsName> {
    vec(vec(any::<u8>(), 1..6), 1..4)
        .prop_map(|labels| DnsName::from_raw_labels(labels.iter().map(Vec::as_slice)).unwrap())
}

fn strings() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![vec(any::<u8>(), 0..12), "[ -~é]{0,12}".prop_map(String::into_bytes), vec(any::<u8>(), 250..300)]
}

/// Data of one type each, as often of texts that are no data of their type.
fn data_of() -> impl Strategy<Value = (RecordType, Vec<RData>)> {
    let some = 0..4_usize;
    let typed = prop_oneof![
        vec(any::<[u8; 4]>().prop_map(|ip| RData::A(ip.into())), some.clone()).prop_map(|data| (RecordType::A, data)),
        vec(any::<[u8; 16]>().prop_map(|ip| RData::Aaaa(ip.into())), some.clone())
            .prop_map(|data| (RecordType::Aaaa, data)),
        vec(names().prop_map(RData::Cname), some.clone()).prop_map(|data| (RecordType::Cname, data)),
        vec(vec(strings(), 0..3).prop_map(|all| RData::Txt(Txt::from_strings(all))), some.clone())
            .prop_map(|data| (RecordType::Txt, data)),
        vec(
            (any::<u16>(), names()).prop_map(|(preference, exchange)| RData::Mx { preference, exchange }),
            some.clone()
        )
        .prop_map(|data| (RecordType::Mx, data)),
        vec(
            (any::<(u16, u16, u16)>(), names()).prop_map(|((priority, weight, port), target)| RData::Srv {
                priority,
                weight,
                port,
                target
            }),
            some.clone()
        )
        .prop_map(|data| (RecordType::Srv, data)),
        vec(
            (vec(any::<u8>(), 0..9), names()).prop_map(|(text, replacement)| {
                let (flags, services) = (text.clone(), text.clone());
                RData::Naptr(Box::new(Naptr { order: 1, preference: 2, flags, services, regexp: text, replacement }))
            }),
            some.clone()
        )
        .prop_map(|data| (RecordType::Naptr, data)),
    ];
    let words = prop::sample::select(vec!["A", "CNAME", "TXT", "SRV", "HTTPS", "TYPE65280", "ALIAS", "SOA"]);
    let any_text = (words, vec("\\PC{0,20}", some)).prop_map(|(rtype, texts)| {
        let rtype: RecordType = rtype.parse().unwrap();
        (rtype, texts.iter().map(|text| data(rtype, text)).collect())
    });
    prop_oneof![typed, any_text]
}

fn sets() -> impl Strategy<Value = RecordSet> {
    let options = btree_map("(webhook/)?[a-z\u{e9}\"]{0,5}", "\\PC{0,8}", 0..3);
    (names(), data_of(), 0..=Ttl::MAX.secs(), "\\PC{0,5}", options).prop_map(
        |(name, (rtype, data), ttl, id, properties)| {
            let mut options = Options::default();
            for (key, value) in &properties {
                options.set(key, OptionValue::Text(value.as_str().into()));
            }
            let key = RecordKey { name, rtype, set_id: SetId::new(&id) };
            RecordSet {
                key,
                ttl: Ttl::from_secs(ttl),
                data: RecordData::records(data),
                routing: Routing::Simple,
                options,
            }
        },
    )
}

proptest! {
    #[test]
    fn a_set_that_is_sent_and_read_back_is_the_same(set in sets(), quoted in any::<bool>()) {
        let quoting = if quoted { Quoting::Quoted } else { Quoting::Bare };
        let body = serde_json::to_vec(&encode(&set, quoting).unwrap()).unwrap();
        let back: Endpoint = wire::read(&body).unwrap();
        prop_assert_eq!(decode(&back, Some(Ttl::ZERO)).unwrap(), set, "{}", String::from_utf8_lossy(&body));
    }

    #[test]
    fn no_body_makes_it_panic(body in "\\PC{0,60}", name in "\\PC{0,10}", rtype in "\\PC{0,6}", target in "\\PC{0,30}") {
        let _ = wire::read::<wire::List>(body.as_bytes());
        let _ = wire::read::<wire::Filter>(body.as_bytes());
        let endpoint = Endpoint { name, rtype, targets: vec![target], ..Endpoint::default() };
        if let Ok(set) = decode(&endpoint, None) {
            prop_assert_eq!(decode(&encode(&set, Quoting::Bare).unwrap(), None).unwrap(), set);
        }
    }
}
