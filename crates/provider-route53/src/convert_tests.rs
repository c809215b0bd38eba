use aws_sdk_route53::types::GeoProximityLocation;
use proptest::prelude::*;
use zonewright_core::DnsName;

use super::*;

fn wire(name: &str, rtype: &str, values: &[&str]) -> ResourceRecordSet {
    let record = |text: &&str| ResourceRecord::builder().value(*text).build().unwrap();
    let records = values.iter().map(record).collect();
    let set = ResourceRecordSet::builder().name(name).r#type(RrType::from(rtype)).ttl(300);
    set.set_resource_records(Some(records)).build().unwrap()
}

fn values(set: &RecordSet) -> Vec<String> {
    let written = write(set).unwrap();
    written.resource_records().iter().map(|record| record.value().to_owned()).collect()
}

/// Each type in the service's own spelling, as external-dns writes it.
#[test]
fn every_type_is_read_and_written_alike() {
    for (rtype, value) in [
        ("A", "192.0.2.1"),
        ("AAAA", "2001:db8::1"),
        ("CNAME", "target.example.net"),
        ("NS", "ns1.example.net"),
        ("PTR", "host.example.net"),
        ("MX", "10 mail.example.net"),
        ("MX", "0 ."),
        ("SRV", "0 50 5060 sip.example.net."),
        ("TXT", "\"heritage=external-dns,external-dns/owner=default\""),
        ("TXT", "\"caf\\303\\251\" \"two\""),
        ("CAA", "0 issue \"ca.example.net\""),
        ("NAPTR", "100 10 \"u\" \"E2U+sip\" \"!^.*$!sip:a@example.net!\" ."),
        ("HTTPS", "1 . alpn=\"h2\""),
        ("SVCB", "1 dns.example.net. alpn=\"dot\""),
    ] {
        let set = read(&wire("www.example.org.", rtype, &[value])).unwrap();
        assert_eq!(set.key.rtype.to_string(), rtype);
        assert!(!matches!(set.data.as_records(), [RData::Other(_)]), "{rtype} {value} is not understood");
        assert_eq!(values(&set), [value], "{rtype}");
    }
}

/// What is not understood is kept as it is, and never taken for something else.
#[test]
fn values_that_cannot_be_read_are_kept() {
    for (rtype, value) in
        [("A", "localhost"), ("TXT", "no quotes"), ("MX", "mail"), ("DS", "12345 3 1 ABCD"), ("NEWTYPE", "x")]
    {
        let set = read(&wire("www.example.org.", rtype, &[value])).unwrap();
        assert!(matches!(set.data.as_records(), [RData::Other(_)]), "{rtype}");
        assert_eq!(values(&set), [value]);
    }
}

#[test]
fn names_are_octal() {
    let set = read(&wire("\\052.a\\057b.example.org.", "A", &["192.0.2.1"])).unwrap();
    assert_eq!(set.key.name.raw_labels().next().unwrap(), b"*");
    assert_eq!(write(&set).unwrap().name(), "\\052.a\\057b.example.org.");
    assert!(read(&wire("a..example.org.", "A", &["192.0.2.1"])).unwrap_err().contains("empty label"));
}

#[test]
fn aliases() {
    let alias = WireAlias::builder().hosted_zone_id("Z1").dns_name("LB.example.net.").evaluate_target_health(true);
    let answer =
        ResourceRecordSet::builder().name("www.example.org.").r#type(RrType::A).alias_target(alias.build().unwrap());
    let set = read(&answer.build().unwrap()).unwrap();
    let expected = AliasTarget { target: "lb.example.net".into(), zone: Some("Z1".into()), evaluate_health: true };
    assert_eq!((set.ttl, &set.data), (None, &RecordData::Alias(expected)));
    let written = write(&set).unwrap();
    assert_eq!((written.ttl(), written.resource_records().len()), (None, 0));
    let alias = written.alias_target().unwrap();
    assert_eq!(
        (alias.dns_name(), alias.hosted_zone_id(), alias.evaluate_target_health()),
        ("lb.example.net.", "Z1", true)
    );
}

#[test]
fn routing_and_options_come_back() {
    let base = read(&wire("www.example.org.", "A", &["192.0.2.1"])).unwrap();
    let code = |text: &str| Some(Arc::from(text));
    let europe = Geolocation { continent: code("EU"), ..Geolocation::default() };
    let state = Geolocation { country: code("US"), subdivision: code("CA"), ..Geolocation::default() };
    for routing in [
        Routing::Weighted { weight: 0 },
        Routing::Weighted { weight: 255 },
        Routing::Latency { region: "eu-west-1".into() },
        Routing::Failover { primary: true },
        Routing::Failover { primary: false },
        Routing::Multivalue,
        Routing::Geolocation { location: europe },
        Routing::Geolocation { location: state },
        Routing::Geoproximity { place: GeoPlace::Region("eu-west-1".into()), bias: -99 },
        Routing::Geoproximity { place: GeoPlace::LocalZoneGroup("usw2-lax1".into()), bias: 0 },
        Routing::Geoproximity { place: GeoPlace::Coordinates("49.22".into(), "-74.01".into()), bias: 99 },
    ] {
        let mut options = Options::default();
        options.set(HEALTH_CHECK, OptionValue::Text("abc".into()));
        options.set(CIDR_COLLECTION, OptionValue::Text("c".into()));
        options.set(CIDR_LOCATION, OptionValue::Text("l".into()));
        let key = RecordKey { set_id: SetId::new("blue"), ..base.key.clone() };
        let set = RecordSet { key, routing, options, ..base.clone() };
        assert_eq!(read(&write(&set).unwrap()).unwrap(), set);
    }
}

#[test]
fn a_place_without_a_bias_has_none() {
    let near = GeoProximityLocation::builder().aws_region("eu-west-1").build();
    let mut answer = wire("www.example.org.", "A", &["192.0.2.1"]);
    answer.geo_proximity_location = Some(near);
    let place = GeoPlace::Region("eu-west-1".into());
    assert_eq!(read(&answer).unwrap().routing, Routing::Geoproximity { place, bias: 0 });
}

#[test]
fn escapes_of_both_kinds() {
    for (presentation, service) in
        [("a", "a"), ("\\195\\169", "\\303\\251"), ("\\\"\\\\", "\\\"\\\\"), ("\\000\\255", "\\000\\377")]
    {
        assert_eq!(octal(presentation), service);
        assert_eq!(decimal(service).as_deref(), Some(presentation));
    }
    for wrong in ["\\", "\\0", "\\08", "\\400", "\\9a"] {
        assert_eq!(decimal(wrong), None, "{wrong}");
    }
}

proptest! {
    #[test]
    fn any_text_survives(strings in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 1..4)) {
        let name = DnsName::parse("www.example.org").unwrap();
        let set = RecordSet::simple(name, RecordType::Txt, Ttl::from_secs(60), [RData::Txt(Txt::from_strings(strings))]);
        prop_assert_eq!(read(&write(&set).unwrap()).unwrap(), set);
    }

    #[test]
    fn no_answer_panics(rtype in "[A-Z]{1,6}", value in ".{0,40}", name in ".{1,30}") {
        if let Ok(set) = read(&wire(&name, &rtype, &[&value])) {
            let _ = write(&set);
        }
    }
}
