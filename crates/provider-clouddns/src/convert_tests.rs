use proptest::prelude::*;
use zonewright_core::rdata::Txt;
use zonewright_core::record::Item;

use super::*;

fn answer(text: &str) -> Rrset {
    serde_json::from_str(text).unwrap()
}

#[track_caller]
fn check(text: &str, expected: &str, spelled: bool) {
    let answer = answer(text);
    let set = read(&answer).unwrap();
    assert_eq!(set.to_string(), expected);
    let ours = write(&set, None).unwrap();
    assert_eq!(is_spelled(&ours, &answer), spelled, "{ours:?}");
    assert_eq!(read(&ours).unwrap(), set, "what is written is read back the same");
}

#[test]
fn sets() {
    for (rtype, data, shown) in [
        ("A", r#"["192.0.2.1","192.0.2.2"]"#, "192.0.2.1 ; 192.0.2.2"),
        ("AAAA", r#"["2001:db8::1"]"#, "2001:db8::1"),
        ("CNAME", r#"["lb.example.net."]"#, "lb.example.net."),
        ("MX", r#"["10 mail.example.net."]"#, "10 mail.example.net."),
        ("SRV", r#"["0 50 443 www.example.net."]"#, "0 50 443 www.example.net."),
        ("CAA", r#"["0 issue \"ca.example.net\""]"#, "0 issue \"ca.example.net\""),
        ("TXT", r#"["\"a b\" \"c\""]"#, "\"a b\" \"c\""),
        ("SSHFP", r#"["1 1 00"]"#, "1 1 00"),
        ("ALIAS", r#"["lb.example.net."]"#, "lb.example.net."),
    ] {
        let text = format!(r#"{{"kind":"k","name":"www.example.org.","type":"{rtype}","ttl":300,"rrdatas":{data}}}"#);
        check(&text, &format!("www.example.org 300 {rtype} {shown}"), true);
    }
}

#[test]
fn what_is_spelled_otherwise_is_known() {
    let set = |data: &str| format!(r#"{{"name":"www.example.org.","type":"A","ttl":60,{data}}}"#);
    check(&set(r#""rrdatas":["192.0.2.2","192.0.2.1"]"#), "www.example.org 60 A 192.0.2.1 ; 192.0.2.2", false);
    check(&set(r#""rrdatas":["x"]"#), "www.example.org 60 A x", true);
    let item = r#""routingPolicy":{"wrr":{"items":[{"weight":1,"rrdatas":["192.0.2.1"]}]}"#;
    check(&set(&format!("{item}}}")), "www.example.org 60 A weighted:1: 192.0.2.1", true);
    check(&set(&format!(r#"{item},"healthCheck":"x"}}"#)), "www.example.org 60 A weighted:1: 192.0.2.1", false);
    let cname = r#"{"name":"www.example.org.","type":"CNAME","ttl":60,"rrdatas":["LB.example.net."]}"#;
    check(cname, "www.example.org 60 CNAME lb.example.net.", false);
    check(&set(r#""rrdatas":["192.0.2.1"],"signatureRrdatas":["x"]"#), "www.example.org 60 A 192.0.2.1", false);
}

#[test]
fn a_failover_is_kept_as_it_is() {
    let policy = r#"{"primaryBackup":{"primaryTargets":{"internalLoadBalancers":[{"ipAddress":"10.0.0.1"}]}}}"#;
    let text = format!(r#"{{"name":"www.example.org.","type":"A","ttl":60,"routingPolicy":{policy}}}"#);
    check(&text, &format!("www.example.org 60 A {policy}"), true);
}

#[test]
fn what_cannot_be_read_is_an_error() {
    for (name, rtype) in [("a..b.", "A"), ("www.example.org.", "")] {
        let text = format!(r#"{{"name":"{name}","type":"{rtype}","ttl":1,"rrdatas":[]}}"#);
        assert!(read(&answer(&text)).is_err(), "{text}");
    }
}

proptest! {
    #[test]
    fn texts_survive(octets in proptest::collection::vec(any::<u8>(), 0..600)) {
        let name = DnsName::parse("t.example.org").unwrap();
        let data = RData::Txt(Txt::from_octets(&octets));
        let set = RecordSet::simple(name, RecordType::Txt, Ttl::from_secs(60), [data]);
        let sent = serde_json::to_string(&write(&set, None).unwrap()).unwrap();
        prop_assert_eq!(read(&answer(&sent)).unwrap(), set);
    }

    #[test]
    fn items_survive(weights in proptest::collection::btree_set(0_u32..1_000, 1..6), places in any::<bool>()) {
        let item = |weight: &u32| Item {
            routing: if places {
                Routing::Geolocation { location: crate::policy::at(&format!("region-{weight}")) }
            } else {
                Routing::Weighted { weight: *weight }
            },
            records: vec![RData::parse(RecordType::A, &format!("192.0.2.{}", weight % 256)).unwrap()],
        };
        let name = DnsName::parse("i.example.org").unwrap();
        let plain = RecordSet::simple(name, RecordType::A, Ttl::from_secs(60), []);
        let set = RecordSet { data: RecordData::items(weights.iter().map(item)), ..plain };
        let sent = serde_json::to_string(&write(&set, None).unwrap()).unwrap();
        prop_assert_eq!(read(&answer(&sent)).unwrap(), set);
    }
}
