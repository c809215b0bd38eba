use proptest::prelude::*;

use super::*;

fn zone() -> DnsName {
    DnsName::parse("example.org").unwrap()
}

fn answer(name: &str, rtype: &str, properties: &Value) -> Set {
    let body = json!({ "name": name, "type": format!("Microsoft.Network/dnszones/{rtype}"), "properties": properties });
    serde_json::from_value(body).unwrap()
}

fn read_back(kind: Kind, set: &RecordSet) -> RecordSet {
    let name = relative(&set.key.name, &zone()).unwrap();
    let body = write(kind, set).unwrap();
    read(&zone(), &answer(&name, &set.key.rtype.to_string(), &body["properties"])).unwrap()
}

fn set(name: &str, rtype: RecordType, data: &[&str]) -> RecordSet {
    let data = data.iter().map(|text| RData::parse(rtype, text).unwrap());
    RecordSet::simple(DnsName::parse(name).unwrap(), rtype, Ttl::from_secs(60), data)
}

#[test]
fn every_type_survives_the_way_there_and_back() {
    for (rtype, data) in [
        (RecordType::A, vec!["192.0.2.1", "192.0.2.2"]),
        (RecordType::Aaaa, vec!["2001:db8::1"]),
        (RecordType::Caa, vec!["0 issue \"ca.example.net\"", "128 iodef \"mailto:a@example.net\""]),
        (RecordType::Cname, vec!["target.example.net"]),
        (RecordType::Mx, vec!["10 mail.example.net", "0 ."]),
        (RecordType::Ns, vec!["ns1.example.net"]),
        (RecordType::Ptr, vec!["host.example.net"]),
        (RecordType::Srv, vec!["0 50 5060 sip.example.net"]),
        (RecordType::Txt, vec!["\"one\" \"two\"", "\"\"", "\"a \\\" quote\""]),
    ] {
        for name in ["example.org", "www.example.org", "*.example.org"] {
            let set = set(name, rtype, &data);
            for kind in [Kind::Public, Kind::Private].into_iter().filter(|kind| types(*kind).contains(&rtype)) {
                assert_eq!(read_back(kind, &set), set, "{kind}");
            }
        }
    }
}

#[test]
fn what_is_sent() {
    let mut sent = set("www.example.org", RecordType::A, &["192.0.2.1"]);
    sent.options = options::options(&[("team".to_owned(), "web".to_owned())].into());
    let addresses = json!([{ "ipv4Address": "192.0.2.1" }]);
    let public = json!({ "properties": { "TTL": 60, "metadata": { "team": "web" }, "ARecords": addresses } });
    let private = json!({ "properties": { "ttl": 60, "metadata": { "team": "web" }, "aRecords": addresses } });
    assert_eq!(write(Kind::Public, &sent), Ok(public));
    assert_eq!(write(Kind::Private, &sent), Ok(private));
    let unset = RecordSet { ttl: None, ..sent };
    assert_eq!(write(Kind::Public, &unset).unwrap()["properties"]["TTL"], 300);
    assert_eq!(read_back(Kind::Public, &unset), *as_read(&unset));
}

#[test]
fn what_has_no_form_is_reported() {
    for (kind, set, named) in [
        (Kind::Private, set("a.example.org", RecordType::Caa, &["0 issue \";\""]), "no records of type CAA"),
        (Kind::Private, set("a.example.org", RecordType::Ns, &["ns.example.net"]), "no records of type NS"),
        (Kind::Public, set("a.example.org", RecordType::Dname, &["b.example.net"]), "no records of type DNAME"),
        (Kind::Public, set("a.example.org", RecordType::Cname, &["b.example.net", "c.example.net"]), "one target"),
        (Kind::Public, set("a.example.org", RecordType::Txt, &["\"\\255\""]), "UTF-8"),
    ] {
        let error = write(kind, &set).unwrap_err();
        assert!(error.contains(named), "{error}");
    }
    let outside = DnsName::parse("www.example.com").unwrap();
    assert!(relative(&outside, &zone()).unwrap_err().contains("outside"));
    assert!(relative(&DnsName::parse("xexample.org").unwrap(), &zone()).is_err());
}

#[test]
fn what_is_not_understood_is_kept_and_known() {
    let id = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Network/publicIPAddresses/web";
    for (rtype, properties, shown) in [
        ("A", json!({ "TTL": 60, "targetResource": { "id": id } }), id),
        ("A", json!({ "TTL": 60, "ARecords": [] }), "without records"),
        ("A", json!({ "TTL": 60, "ARecords": [{ "ipv4Address": "x" }] }), "ipv4Address"),
        ("TXT", json!({ "TTL": 60, "TXTRecords": [{ "value": [1] }] }), "value"),
        ("TLSA", json!({ "TTL": 60, "TLSARecords": [{ "usage": 3 }] }), "without records"),
    ] {
        let read = read(&zone(), &answer("www", rtype, &properties)).unwrap();
        assert!(is_opaque(&read) && read.data.to_string().contains(shown), "{read}");
        assert!(write(Kind::Public, &read).is_err());
    }
    let plain = json!({ "TTL": 60, "ARecords": [{ "ipv4Address": "192.0.2.1" }], "targetResource": { "id": null } });
    assert!(!is_opaque(&read(&zone(), &answer("www", "A", &plain)).unwrap()));
    assert!(read(&zone(), &answer("a b", "A", &plain)).is_err());
}

proptest! {
    #[test]
    fn any_text_survives(strings in prop::collection::vec("\\PC{0,60}", 1..4)) {
        let text = RData::Txt(Txt::from_strings(strings.iter().map(|text| text.as_bytes().to_vec())));
        let set = RecordSet::simple(zone(), RecordType::Txt, Ttl::from_secs(60), [text]);
        prop_assert_eq!(read_back(Kind::Public, &set), set);
    }
}
