use super::*;
use proptest::prelude::*;

fn text(input: &str) -> Result<String, NameError> {
    DnsName::parse(input).map(|n| n.to_string())
}

#[test]
fn a_plain_name_is_taken_as_it_stands() {
    let (label, long) = ("a".repeat(63), "a".repeat(64));
    let most = format!("{label}.{label}.{label}.{}", "b".repeat(61));
    for plain in ["a", "a.b", "*.a-b.example", "_x._tcp.example", "0/25.2.0.192.in-addr.arpa", &label, &most] {
        let slow = DnsName::from_raw_labels(plain.split('.').map(str::as_bytes));
        assert!(is_plain(plain) && DnsName::parse(plain) == slow && slow.is_ok(), "{plain}");
    }
    for other in ["", ".", "a.", ".a", "a..b", "A", "a\\.b", "a b", "a@b", "é", &long, &format!("{most}b")] {
        assert!(!is_plain(other), "{other}");
    }
}

#[test]
fn parsing_normalises_once() {
    for (input, expected) in [
        ("Foo.Example.COM", "foo.example.com"),
        ("foo.example.com.", "foo.example.com"),
        (".", "."),
        ("*.Example.com", "*.example.com"),
        ("a-*.example.com", "a-*.example.com"),
        ("_sip._tcp.foo", "_sip._tcp.foo"),
        ("ab--cd.com", "ab--cd.com"),
        ("bücher.de", "xn--bcher-kva.de"),
        ("XN--BCHER-KVA.de", "xn--bcher-kva.de"),
        ("ΒΌΛΟΣ.com", "xn--nxasmq6b.com"),
        ("faß.de", "xn--fa-hia.de"),
        ("\\042.x", "*.x"),
        ("a\\.b.c", "a\\.b.c"),
        ("a\\032b.c", "a\\032b.c"),
        ("\\065.c", "a.c"),
    ] {
        assert_eq!(text(input).as_deref(), Ok(expected), "{input:?}");
    }
}

#[test]
fn refusals_name_the_rule() {
    let long = "a".repeat(64);
    let deep = vec!["a".repeat(60); 5].join(".");
    for (input, part) in [
        ("", "empty name"),
        ("a..b", "empty label"),
        (".a", "empty label"),
        ("a..", "empty label"),
        (long.as_str(), "longer than 63"),
        (deep.as_str(), "longer than 253"),
        ("a\\25.b", "bad escape"),
        ("a\\256.b", "bad escape"),
        ("foo bar", "white space"),
        ("a\u{ff3c}046b.c", "international"),
    ] {
        let message = DnsName::parse(input).expect_err(input).to_string();
        assert!(message.contains(part), "{input:?}: {message}");
    }
}

#[test]
fn labels_are_put_before_names() {
    let base = DnsName::parse("x.y").unwrap();
    assert_eq!(base.prepend("a-b").unwrap().as_str(), "a-b.x.y");
    assert_eq!(base.prepend("b\\\\").unwrap().label_count(), 3);
    assert!(base.prepend("b\\").is_err());
}

#[test]
fn containment_is_by_whole_labels() {
    let name = |s| DnsName::parse(s).unwrap();
    assert!(name("a.example.com").is_within(&name("example.com")));
    assert!(name("example.com").is_within(&name("example.com")));
    assert!(name("example.com").is_within(&DnsName::root()));
    assert!(!name("badexample.com").is_within(&name("example.com")));
    assert!(!name("a\\.example.com").is_within(&name("example.com")));
    assert!(name("a\\\\.example.com").is_within(&name("example.com")));
    assert!(!name("com").is_within(&name("example.com")));
}

#[test]
fn wanted_names_follow_host_rules() {
    let check = |s| DnsName::parse(s).unwrap().check_owner().map_err(|e| e.to_string());
    for good in ["a.b", "*.a.b", "_sip._tcp.a", "0/25.2.0.192.in-addr.arpa", "localhost"] {
        assert_eq!(check(good), Ok(()), "{good}");
    }
    for bad in ["a.*.b", "a*.b", "x\\032y.b", "foo\\@bar.com", "."] {
        assert!(check(bad).is_err(), "{bad}");
    }
}

#[test]
fn reverse_names() {
    assert_eq!(DnsName::reverse("192.168.49.2".parse().unwrap()).as_str(), "2.49.168.192.in-addr.arpa");
    assert_eq!(
        DnsName::reverse("2001:db8::1".parse().unwrap()).as_str(),
        "1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa"
    );
}

proptest! {
    #[test]
    fn text_and_wire_round_trip(labels in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..12), 1..6)) {
        let name = DnsName::from_raw_labels(labels.iter().map(Vec::as_slice)).unwrap();
        prop_assert_eq!(DnsName::parse(name.as_str()).unwrap(), name.clone());
        prop_assert_eq!(DnsName::parse(&name.fqdn()).unwrap(), name.clone());
        let wire = name.to_wire();
        let (back, rest) = DnsName::from_wire(&wire).unwrap();
        prop_assert!(rest.is_empty());
        prop_assert_eq!(back, name);
    }

    #[test]
    fn a_name_without_labels_in_unicode_is_shown_as_it_is(labels in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..12), 1..6)) {
        let name = DnsName::from_raw_labels(labels.iter().map(Vec::as_slice)).unwrap();
        let (whole, hyphens) = (idna::AsciiDenyList::EMPTY, idna::uts46::Hyphens::Allow);
        let (expected, _) = idna::uts46::Uts46::new().to_unicode(name.as_str().as_bytes(), whole, hyphens);
        prop_assert_eq!(name.to_unicode(), expected);
    }

    #[test]
    fn arbitrary_text_never_panics(text in "\\PC{0,80}") {
        let _ = DnsName::parse(&text);
    }
}
