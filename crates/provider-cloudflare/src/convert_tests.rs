use proptest::prelude::*;
use zonewright_core::rdata::Txt;

use super::*;

fn key(rtype: RecordType) -> RecordKey {
    RecordKey::simple(DnsName::parse("www.example.org").unwrap(), rtype)
}

fn plain(ttl: u32) -> RecordProperties {
    RecordProperties { ttl, proxied: None, comment: String::new(), tags: Vec::new() }
}

/// A record as the service would list it after it was sent.
fn listed(data: &RData, properties: &RecordProperties) -> wire::Record {
    let body = record(&key(data.rtype()), data, properties).unwrap();
    let mut value = serde_json::to_value(&body).unwrap();
    value["id"] = "0".into();
    serde_json::from_value(value).unwrap()
}

#[track_caller]
fn there_and_back(rtype: RecordType, text: &str) {
    let data = RData::parse(rtype, text).unwrap();
    assert_eq!(value(rtype, &listed(&data, &plain(300))), data, "{text}");
}

#[test]
fn every_type_there_and_back() {
    use RecordType::{A, Aaaa, Caa, Cname, Https, Mx, Naptr, Ns, Ptr, Srv, Svcb, Txt};
    for (rtype, text) in [
        (A, "192.0.2.1"),
        (Aaaa, "2001:db8::1"),
        (Cname, "target.example.net."),
        (Cname, "_acme.b\u{fc}cher.example.net."),
        (Ns, "ns1.example.net."),
        (Ptr, "host.example.net."),
        (Mx, "10 mail.example.net."),
        (Mx, "0 ."),
        (Srv, "0 50 5060 sip.example.net."),
        (Srv, "0 0 0 ."),
        (Caa, "128 iodef \"mailto:a@example.net\""),
        (Caa, "0 issue \";\""),
        (Naptr, "100 10 \"u\" \"E2U+sip\" \"!^.*$!sip:a@example.net!\" ."),
        (Https, "1 . alpn=h2,h3 port=8443 ipv4hint=192.0.2.1"),
        (Https, "0 svc.example.net."),
        (Svcb, "1 dns.example.net. alpn=dot"),
        (Txt, "\"one\" \"two \\\" \\\\ \\195\\169\""),
        (Txt, "\"\""),
    ] {
        there_and_back(rtype, text);
    }
}

/// What other clients left there.
#[test]
fn other_spellings_say_the_same() {
    let of = |json: serde_json::Value| {
        let mut full = serde_json::json!({ "id": "0", "name": "www.example.org" });
        full.as_object_mut().unwrap().extend(json.as_object().unwrap().clone());
        serde_json::from_value::<wire::Record>(full).unwrap()
    };
    for (rtype, record, expected) in [
        (RecordType::Txt, serde_json::json!({ "type": "TXT", "content": "v=spf1 -all" }), "\"v=spf1 -all\""),
        (
            RecordType::Srv,
            serde_json::json!({ "type": "SRV", "content": "5\t443\twww.example.net", "priority": 1 }),
            "1 5 443 www.example.net.",
        ),
        (
            RecordType::Srv,
            serde_json::json!({ "type": "SRV", "content": "1 5 443 a.example.net." }),
            "1 5 443 a.example.net.",
        ),
        (
            RecordType::Caa,
            serde_json::json!({ "type": "CAA", "data": { "flags": "0", "tag": "ISSUE", "value": "ca.example.net" } }),
            "0 issue \"ca.example.net\"",
        ),
        (RecordType::Mx, serde_json::json!({ "type": "MX", "content": "10 mail.example.net" }), "10 mail.example.net."),
        (RecordType::A, serde_json::json!({ "type": "A", "content": "not an address" }), "not an address"),
    ] {
        assert_eq!(value(rtype, &of(record)).to_string(), expected);
    }
}

#[test]
fn records_that_differ_in_more_than_their_values_say_so() {
    let data = |text: &str| RData::parse(RecordType::A, text).unwrap();
    let properties = |ttl, proxied| RecordProperties { proxied: Some(proxied), ..plain(ttl) };
    let one = listed(&data("192.0.2.1"), &properties(300, false));
    let two = listed(&data("192.0.2.2"), &properties(300, false));
    let set = read(&key(RecordType::A), &[two.clone(), one.clone()]);
    assert_eq!(
        (set.to_string().as_str(), set.options.get(MIXED)),
        ("www.example.org 300 A 192.0.2.1 ; 192.0.2.2", None)
    );
    let other = wire::Record { ttl: Some(60), comment: Some("by hand".to_owned()), ..two };
    let set = read(&key(RecordType::A), &[other, one]);
    assert_eq!((text(&set.options, MIXED).as_str(), set.ttl), ("comment,ttl", Ttl::from_secs(300)));
}

#[test]
fn a_change_names_what_differs() {
    let data = RData::parse(RecordType::A, "192.0.2.1").unwrap();
    let proxied = |on| RecordProperties { proxied: Some(on), ..plain(1) };
    let standing = wire::Record { comment: Some("old".to_owned()), ..listed(&data, &proxied(false)) };
    let body = change(&key(RecordType::A), &standing, &data, &proxied(true)).unwrap();
    let json = serde_json::to_value(body).unwrap();
    let expected = serde_json::json!({
        "id": "0", "name": "www.example.org", "type": "A", "content": "192.0.2.1", "ttl": 1, "proxied": true, "comment": "",
    });
    assert_eq!(json, expected);
}

proptest! {
    #[test]
    fn any_text_there_and_back(strings in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..255), 1..4)) {
        let data = RData::Txt(Txt::from_strings(strings));
        prop_assert_eq!(value(RecordType::Txt, &listed(&data, &plain(1))), data);
    }

    #[test]
    fn any_service_there_and_back(priority: u16, weight: u16, port: u16, flags: u8, text in "[ -~]{0,40}") {
        let target = DnsName::parse("a.example.net").unwrap();
        let srv = RData::Srv { priority, weight, port, target };
        prop_assert_eq!(value(RecordType::Srv, &listed(&srv, &plain(1))), srv);
        let caa = RData::Caa(Box::new(Caa { flags, tag: "issue".into(), value: text.as_bytes().into() }));
        prop_assert_eq!(value(RecordType::Caa, &listed(&caa, &plain(1))), caa);
    }

    #[test]
    fn no_answer_is_too_strange(rtype in 0usize..13, content in ".{0,40}", data in proptest::option::of(".{0,10}")) {
        let rtype = RecordType::WRITABLE[rtype];
        let data = data.map(|text| serde_json::json!({ "priority": text, "target": text, "value": text, "flags": -1.5 }));
        let record = wire::Record { content: Some(content), data, ..listed(&RData::A([192, 0, 2, 1].into()), &plain(1)) };
        prop_assert_eq!(value(rtype, &record).rtype(), rtype);
    }
}
