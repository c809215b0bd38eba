//! The cases of the contract, one line each: what is created or changed, and what is said to it.

use serde_json::{Value, json};

use super::{UncheckedSpec, spec_errors};

fn spec(changes: &[(&str, Value)]) -> UncheckedSpec {
    let mut spec = json!({
        "type": "aws-route53",
        "secretRef": { "name": "dns" },
        "name": "api.example.com",
        "recordType": "A",
        "values": ["192.0.2.1"],
    });
    for (field, value) in changes {
        spec[*field] = value.clone();
    }
    serde_json::from_value(spec).unwrap()
}

fn said(new: &UncheckedSpec, old: Option<&UncheckedSpec>, deleting: bool) -> Vec<String> {
    spec_errors(new, old, deleting).iter().map(ToString::to_string).collect()
}

/// A created object with these fields.
#[track_caller]
fn created(changes: &[(&str, Value)], expected: &[&str]) {
    assert_eq!(said(&spec(changes), None, false), expected, "{changes:?}");
}

/// A created record of this name, type and values: taken, or refused with these words.
#[track_caller]
fn record(name: &str, record_type: &str, values: &[&str], refused: Option<&str>) {
    let new = spec(&[("name", json!(name)), ("recordType", json!(record_type)), ("values", json!(values))]);
    let said = said(&new, None, false);
    match refused {
        None => assert!(said.is_empty(), "{name} {record_type} {values:?}: {said:?}"),
        Some(words) => {
            let fits = said.len() == 1 && said.iter().all(|line| line.contains(words));
            assert!(fits, "{name} {record_type} {values:?}: {said:?}, expected {words:?}");
        }
    }
}

/// A change of these fields.
#[track_caller]
fn changed(changes: &[(&str, Value)], deleting: bool, expected: &[&str]) {
    let old = spec(&[("class", json!("shoot"))]);
    let mut new = vec![("class", json!("shoot"))];
    new.extend(changes.iter().cloned());
    assert_eq!(said(&spec(&new), Some(&old), deleting), expected, "{changes:?}");
}

#[test]
fn an_empty_object_has_exactly_these_errors() {
    let expected = [
        "spec.type: Required value: the type of a provider is expected, such as aws-route53",
        "spec.secretRef.name: Required value: the name of the Secret with the credentials is expected",
        "spec.name: Required value: a fully qualified domain name is expected, such as api.example.com",
        "spec.recordType: Unsupported value: \"\": supported values: A, AAAA, CNAME, TXT",
        "spec.values: Required value: at least one value is expected",
    ];
    assert_eq!(said(&UncheckedSpec::default(), None, false), expected);
}

#[test]
fn region_and_zone_are_absent_or_not_empty() {
    for field in ["region", "zone"] {
        created(&[(field, json!("z"))], &[]);
        created(&[(field, Value::Null)], &[]);
        let empty = format!("spec.{field}: Invalid value: \"\": an empty text is no value; leave the field out");
        created(&[(field, json!(""))], &[&empty]);
    }
}

#[test]
fn names() {
    let long_label = "l".repeat(64);
    let of = |label: &str| format!("{label}.example.com");
    for (name, refused) in [
        ("api.example.com", None),
        ("a.b", None),
        ("0.1", None),
        ("*.example.com", None),
        // One final dot means nothing.
        ("api.example.com.", None),
        ("*.example.com.", None),
        ("API.example.com", Some("lower-case")),
        ("com", Some("two labels")),
        ("com.", Some("two labels")),
        ("*.com", Some("two labels")),
        ("*", Some("wildcard")),
        (".", Some("empty label")),
        ("api..example.com", Some("empty label")),
        (".example.com", Some("empty label")),
        ("api.example.com..", Some("empty label")),
        ("a_b.example.com", Some("letters, digits and hyphens")),
        ("_api.example.com", Some("letters, digits and hyphens")),
        ("api.*.example.com", Some("whole first label")),
        ("*.*.example.com", Some("whole first label")),
        ("-api.example.com", Some("hyphen")),
        ("api-.example.com", Some("hyphen")),
        ("api example.com", Some("letters")),
        ("bücher.example.com", Some("letters")),
    ] {
        record(name, "A", &["192.0.2.1"], refused);
    }
    record(&of(&"l".repeat(63)), "A", &["192.0.2.1"], None);
    record(&of(&long_label), "A", &["192.0.2.1"], Some("64 characters"));
    let (most, more) = (["l".repeat(62).as_str(); 4].join("."), ["l".repeat(63).as_str(); 4].join("."));
    record(&format!("{most}.l"), "A", &["192.0.2.1"], None);
    record(&more, "A", &["192.0.2.1"], Some("at most 253"));
}

#[test]
fn a_text_may_begin_with_an_underscore_and_has_no_wildcard() {
    record("_acme-challenge.example.com", "TXT", &["token"], None);
    record("_acme-challenge.example.com.", "TXT", &["token"], None);
    record("txt.example.com", "TXT", &["token"], None);
    record("*.example.com", "TXT", &["token"], Some("no wildcard"));
    record("__two.example.com", "TXT", &["token"], Some("underscore"));
    record("a._b.example.com", "TXT", &["token"], Some("underscore"));
    record("_acme.com", "CNAME", &["web.example.com"], Some("letters"));
}

#[test]
fn addresses_are_of_the_family_of_the_type() {
    record("a.example.com", "A", &["192.0.2.1", "192.0.2.2"], None);
    record("a.example.com", "AAAA", &["2001:db8::1", "2001:DB8:0:0:0:0:0:2"], None);
    record("a.example.com", "A", &["192.0.2.1", "2001:db8::1"], Some("spec.values[1]: Invalid value: \"2001:db8::1\""));
    record("a.example.com", "A", &["2001:db8::1"], Some("AAAA records"));
    record("a.example.com", "AAAA", &["192.0.2.1"], Some("A records"));
    record("a.example.com", "AAAA", &["::ffff:192.0.2.1"], None);
    for no_address in ["", "192.0.2", "192.0.2.256", "192.0.2.01", "web.example.com", "192.0.2.1/32", " 192.0.2.1"] {
        record("a.example.com", "A", &[no_address], Some("an IPv4 address is expected"));
    }
    record("a.example.com", "AAAA", &["fe80::1%eth0"], Some("an IPv6 address is expected"));
    record("a.example.com", "A", &[], Some("spec.values: Required value"));
}

#[test]
fn a_cname_has_one_host_name() {
    record("a.example.com", "CNAME", &["web.example.com"], None);
    record("a.example.com", "CNAME", &["web.example.com."], None);
    record("a.example.com", "CNAME", &["w.example.com", "v.example.com"], Some("exactly one value"));
    for (value, refused) in [
        ("Web.example.com", "lower-case"),
        ("web", "two labels"),
        ("*.example.com", "no wildcard"),
        ("_web.example.com", "letters"),
        ("", "spec.values[0]: Required value"),
    ] {
        record("a.example.com", "CNAME", &[value], Some(refused));
    }
}

#[test]
fn texts_hold_anything() {
    record("a.example.com", "TXT", &["", "\"quoted\"", "back\\slash", &"t".repeat(300), "ü"], None);
}

#[test]
fn record_types() {
    for known in ["A", "AAAA", "CNAME", "TXT"] {
        assert!(
            said(&spec(&[("recordType", json!(known))]), None, false).iter().all(|line| !line.contains("recordType"))
        );
    }
    for unknown in ["a", "MX", "SRV", " A"] {
        let expected =
            format!("spec.recordType: Unsupported value: {unknown:?}: supported values: A, AAAA, CNAME, TXT");
        created(&[("recordType", json!(unknown))], &[&expected]);
    }
}

#[test]
fn the_ttl_has_31_bits() {
    for fine in [0_i64, 1, 120, 2_147_483_647] {
        created(&[("ttl", json!(fine))], &[]);
    }
    created(&[("ttl", json!(-1))], &["spec.ttl: Invalid value: \"-1\": seconds from 0 to 2147483647 are expected"]);
    let large = "spec.ttl: Invalid value: \"2147483648\": seconds from 0 to 2147483647 are expected";
    created(&[("ttl", json!(2_147_483_648_i64))], &[large]);
}

#[test]
fn type_name_and_record_type_stay() {
    for (field, value, old) in
        [("type", "azure-dns", "aws-route53"), ("name", "b.example.com", "api.example.com"), ("recordType", "TXT", "A")]
    {
        let expected = format!("spec.{field}: Invalid value: {value:?}: it was {old:?}, and cannot change");
        changed(&[(field, json!(value))], false, &[&expected]);
    }
    for (field, value) in [
        ("secretRef", json!({ "name": "other", "namespace": "garden" })),
        ("region", json!("eu-west-1")),
        ("zone", json!("Z1")),
        ("values", json!(["192.0.2.2"])),
        ("ttl", json!(60)),
        ("providerConfig", json!({ "proxied": true })),
    ] {
        changed(&[(field, value)], false, &[]);
    }
    // A change is held against the other rules, too.
    changed(&[("values", json!([]))], false, &["spec.values: Required value: at least one value is expected"]);
}

#[test]
fn a_class_comes_and_goes_and_never_becomes_another() {
    changed(&[("class", Value::Null)], false, &[]);
    let expected = "spec.class: Invalid value: \"seed\": it was \"shoot\", and cannot change";
    changed(&[("class", json!("seed"))], false, &[expected]);
    assert!(said(&spec(&[("class", json!("seed"))]), Some(&spec(&[])), false).is_empty());
}

#[test]
fn nothing_changes_while_the_object_is_being_deleted() {
    let forbidden = "spec: Forbidden: it cannot change while the object is being deleted";
    changed(&[("ttl", json!(60))], true, &[forbidden]);
    changed(&[("name", json!("")), ("recordType", json!("MX"))], true, &[forbidden]);
    changed(&[], true, &[]);
}

#[test]
fn an_object_from_before_the_rules_can_lose_its_finalizer() {
    let old = spec(&[("values", json!(["2001:db8::1"]))]);
    for deleting in [false, true] {
        assert!(said(&old, Some(&old), deleting).is_empty());
    }
}

#[test]
fn a_long_value_is_not_repeated_as_a_whole() {
    let said = said(&spec(&[("values", json!(["ü".repeat(5000)]))]), None, false);
    assert!(said[0].len() < 300 && said[0].contains("ü...\""), "{said:?}");
}

mod arbitrary {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Whatever is taken is a name and a value that the rest of the program can read, and nothing panics.
        #[test]
        fn what_is_taken_can_be_read(
            name in "[a-zA-Z0-9_*.\\-ü]{0,20}|(_|\\*\\.)?[a-z0-9\\-]{1,5}(\\.[a-z0-9\\-]{1,5}){0,3}\\.?",
            record_type in "A|AAAA|CNAME|TXT",
            values in proptest::collection::vec("[0-9.]{0,12}|[0-9a-f:]{0,12}|[a-z.]{0,9}|.*", 0..3),
        ) {
            let new = spec(&[("name", json!(name)), ("recordType", json!(record_type)), ("values", json!(values))]);
            if spec_errors(&new, None, false).is_empty() {
                let kind = record_type.parse::<zonewright_core::RecordType>().unwrap();
                let parsed = zonewright_core::DnsName::parse(&new.name).unwrap();
                prop_assert_eq!(parsed.as_str(), new.name.trim_end_matches('.'));
                prop_assert!(parsed.check_owner().is_ok(), "{}", new.name);
                for value in &new.values {
                    let read = zonewright_core::RData::parse(kind, value);
                    prop_assert!(record_type == "TXT" || read.is_ok(), "{} {:?}", value, read);
                }
            }
        }
    }
}
