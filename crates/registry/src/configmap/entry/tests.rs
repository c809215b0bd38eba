use zonewright_core::RData;
use zonewright_core::record::{AliasTarget, GeoPlace, Geolocation, Routing};

use super::*;

fn place(name: &str, rtype: RecordType) -> ZoneRecord {
    ZoneRecord { key: RecordKey::simple(DnsName::parse(name).unwrap(), rtype), zone: Arc::from("sim/org") }
}

fn set(place: &ZoneRecord, data: &[&str]) -> RecordSet {
    let data = data.iter().map(|text| RData::parse(place.key.rtype, text).unwrap());
    RecordSet::simple(place.key.name.clone(), place.key.rtype, None, data)
}

#[test]
fn it_begins_as_the_proposal_has_it() {
    let place = place("foo.org", RecordType::Cname);
    let entry = Entry::of(&place, &set(&place, &["loadbalancer1.com"]), None, None);
    let text = serde_json::to_string(&entry).unwrap();
    let expected = r#"{"dnsname":"foo.org","owner":"","target":"loadbalancer1.com","type":"CNAME","zone":"sim/org"}"#;
    assert_eq!(text, expected);
}

#[test]
fn what_is_written_is_read() {
    let place = place("foo.org", RecordType::A);
    let me = OwnerId::new("me").unwrap();
    let two = set(&place, &["192.0.2.2", "192.0.2.1"]);
    let label = |key: &str, value: &str| (Arc::from(key), Arc::from(value));
    let next = Next { seal: Seal::of(&two), resource: Some(Arc::from("r2")), labels: vec![label("c", "d")] };
    let right = Right {
        resource: Some(Arc::from("service/ns/web")),
        labels: vec![label("a", "b")],
        only: Some(Seal::of(&set(&place, &["192.0.2.9"]))),
        lost: true,
        next: Some(Box::new(next)),
        ..Right::own(&me, &two)
    };
    let entry = Entry::of(&place, &two, Some(&right), None);
    assert_eq!(entry.target, "192.0.2.1;192.0.2.2");
    let read: Entry = serde_json::from_str(&serde_json::to_string(&entry).unwrap()).unwrap();
    assert_eq!(read.place().unwrap(), place);
    assert_eq!(read.right(&place, &me).unwrap(), Some(right));
}

#[test]
fn the_digest_of_an_entry_is_that_of_its_record() {
    let check = |set: &RecordSet| {
        let entry = Entry::of(&ZoneRecord { key: set.key.clone(), zone: Arc::from("sim/org") }, set, None, None);
        let read: Entry = serde_json::from_str(&serde_json::to_string(&entry).unwrap()).unwrap();
        assert_eq!(read.seal(&set.key), Seal::of(set), "{set}: {read:?}");
    };
    let a = place("foo.org", RecordType::A);
    let alias = AliasTarget { target: "lb.example".into(), zone: None, evaluate_health: false };
    let alias = RecordSet { data: RecordData::Alias(alias), ..set(&a, &["192.0.2.1"]) };
    let mut sets = vec![set(&a, &["192.0.2.1"]), set(&a, &["192.0.2.2", "192.0.2.1"]), set(&a, &[]), alias];
    for (rtype, data) in [
        (RecordType::Cname, "lb.example."),
        (RecordType::Cname, "."),
        (RecordType::Cname, "a\\.b.example."),
        (RecordType::Ns, "ns1.example"),
        (RecordType::Ptr, "host.example."),
        (RecordType::Mx, "10 mail.example."),
        (RecordType::Txt, "\"v=spf1 -all\""),
    ] {
        sets.push(set(&place("foo.org", rtype), &[data]));
    }
    let location = Geolocation { continent: Some("EU".into()), ..Geolocation::default() };
    let policies = [
        Routing::Weighted { weight: 10 },
        Routing::Latency { region: "eu-west-1".into() },
        Routing::Failover { primary: true },
        Routing::Geolocation { location },
        Routing::Geoproximity { place: GeoPlace::Region("eu-west-1".into()), bias: -5 },
        Routing::Multivalue,
    ];
    for set in sets {
        check(&set);
        let key = RecordKey { set_id: SetId::new("s"), ..set.key.clone() };
        for routing in &policies {
            check(&RecordSet { key: key.clone(), routing: routing.clone(), ..set.clone() });
        }
    }
}

#[test]
fn a_policy_among_the_values_is_read() {
    for (rtype, data) in [(RecordType::A, "192.0.2.1"), (RecordType::Cname, "lb.example")] {
        let set = set(&place("foo.org", rtype), &[data]);
        let key = RecordKey { set_id: SetId::new("s"), ..set.key.clone() };
        let set = RecordSet { key, routing: Routing::Weighted { weight: 10 }, ..set };
        let targets = Some(vec![data.to_owned(), "=weighted:10".to_owned()]);
        let entry = Entry { targets, ..Entry::default() };
        assert_eq!(entry.seal(&set.key), Seal::of(&set), "it is not written anew");
    }
}

#[test]
fn a_bad_field_is_named() {
    let me = OwnerId::new("me").unwrap();
    let good = Entry {
        zone: "sim/org".to_owned(),
        owner: "me".to_owned(),
        ..Entry::of(
            &place("foo.org", RecordType::A),
            &set(&place("foo.org", RecordType::A), &["192.0.2.1"]),
            None,
            None,
        )
    };
    let check = |entry: Entry, expected: &str| {
        let found = entry.place().and_then(|place| entry.right(&place, &me)).unwrap_err().to_string();
        assert!(found.contains(expected), "{found}");
    };
    check(Entry { dnsname: "a..b".to_owned(), ..good.clone() }, "dnsname: found \"a..b\", expected a name");
    check(Entry { rtype: "A A".to_owned(), ..good.clone() }, "type: found \"A A\", expected a record type");
    check(Entry { intent: Some("12".to_owned()), ..good.clone() }, "intent: found \"12\", expected a digest");
    check(Entry { given: true, ..good.clone() }, "intent: found \"\", expected the digest of the record");
    let without = Entry { zone: String::new(), ..good };
    assert_eq!(without.right(&without.place().unwrap(), &me), Ok(None), "without a zone it speaks for nothing");
}
