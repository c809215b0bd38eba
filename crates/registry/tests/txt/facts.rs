//! What external-dns does with TXT claims, fact by fact, as far as the other tables do not say it: where a claim stands, what
//! it says, and which claim counts. Everything is seen from outside, by what is written for a record and what is read back.

use crate::support::{World, decorate, key, registry, registry_with, verdict};
use zonewright_core::change::Change;
use zonewright_core::claim::{Ownership, judge};
use zonewright_core::registry::ClaimFormat as _;
use zonewright_registry::txt::{TxtConfig, TxtRegistry};

/// Data that suits a type.
fn data(rtype: &str) -> &'static str {
    match rtype {
        "A" => "192.0.2.1",
        "AAAA" => "2001:db8::1",
        "NS" => "ns1.example.",
        "MX" => "10 mx.example.",
        "SRV" => "0 0 1 s.example.",
        "NAPTR" => "100 10 \"u\" \"E2U+sip\" \"!^.*$!sip:a@example.net!\" .",
        "TXT" => "text",
        "CNAME" | "PTR" | "DNAME" => "host.example.",
        other => panic!("no data for {other}"),
    }
}

/// The name of the claim on a record, which must be read back as ours. The zone is the root: no claim falls outside.
fn claim_name((prefix, suffix, wildcard): (&str, &str, &str), record: &str) -> String {
    let (registry, mut world) = (registry(prefix, suffix, wildcard), World::new("zone ."));
    let rtype = record.split([' ', '@']).nth(1).expect("a type");
    let group = decorate(&registry, &world, &[&format!("+ {record} {}", data(rtype))]).remove(0);
    let group = group.unwrap_or_else(|(_, dropped)| panic!("{record}: {}", dropped.reason));
    world.apply(&group);
    let owned = judge(&registry.claims(world.zone(), &key(record), &world), registry.owner());
    assert!(owned.is_ours(), "{record} under {prefix:?} {suffix:?} {wildcard:?} is {owned:?}");
    group.steps[1].change.key().name.to_string()
}

#[test]
fn a_claim_is_named_after_the_type_of_its_record() {
    for (rtype, bare, prefixed, in_prefix, suffixed, in_suffix) in [
        ("A", "a-www.ex.com", "own.a-www.ex.com", "x-a.www.ex.com", "a-www-own.ex.com", "www-a.ex.com"),
        (
            "AAAA",
            "aaaa-www.ex.com",
            "own.aaaa-www.ex.com",
            "x-aaaa.www.ex.com",
            "aaaa-www-own.ex.com",
            "www-aaaa.ex.com",
        ),
        (
            "CNAME",
            "cname-www.ex.com",
            "own.cname-www.ex.com",
            "x-cname.www.ex.com",
            "cname-www-own.ex.com",
            "www-cname.ex.com",
        ),
        ("NS", "ns-www.ex.com", "own.ns-www.ex.com", "x-ns.www.ex.com", "ns-www-own.ex.com", "www-ns.ex.com"),
        ("MX", "mx-www.ex.com", "own.mx-www.ex.com", "x-mx.www.ex.com", "mx-www-own.ex.com", "www-mx.ex.com"),
        ("PTR", "ptr-www.ex.com", "own.ptr-www.ex.com", "x-ptr.www.ex.com", "ptr-www-own.ex.com", "www-ptr.ex.com"),
        ("SRV", "srv-www.ex.com", "own.srv-www.ex.com", "x-srv.www.ex.com", "srv-www-own.ex.com", "www-srv.ex.com"),
        (
            "NAPTR",
            "naptr-www.ex.com",
            "own.naptr-www.ex.com",
            "x-naptr.www.ex.com",
            "naptr-www-own.ex.com",
            "www-naptr.ex.com",
        ),
        ("TXT", "txt-www.ex.com", "own.txt-www.ex.com", "x-txt.www.ex.com", "txt-www-own.ex.com", "www-txt.ex.com"),
        (
            "DNAME",
            "dname-www.ex.com",
            "own.dname-www.ex.com",
            "x-dname.www.ex.com",
            "dname-www-own.ex.com",
            "www-dname.ex.com",
        ),
    ] {
        for (affixes, expected) in [
            (("", "", ""), bare),
            (("own.", "", ""), prefixed),
            (("x-%{record_type}.", "", ""), in_prefix),
            (("", "-own", ""), suffixed),
            (("", "-%{record_type}", ""), in_suffix),
        ] {
            assert_eq!(claim_name(affixes, &format!("www.ex.com {rtype}")), expected, "{affixes:?}");
        }
    }
}

#[test]
fn affixes_go_around_the_first_label() {
    for (affixes, record, expected) in [
        // The type in several places of one affix.
        (("%{record_type}-x-%{record_type}.", "", ""), "www.ex.com A", "a-x-a.www.ex.com"),
        (("", "-%{record_type}.%{record_type}", ""), "www.ex.com MX", "www-mx.mx.ex.com"),
        // Upper case counts for nothing, in a template either.
        (("TXT-", "", ""), "www.ex.com A", "txt-a-www.ex.com"),
        (("", "-TXT", ""), "www.ex.com A", "a-www-txt.ex.com"),
        (("", "-%{Record_Type}", ""), "www.ex.com A", "www-a.ex.com"),
        (("", "", ""), "WWW.Ex.COM A", "a-www.ex.com"),
        // The wildcard replacement, with each kind of affix; only a first label that is `*` is one.
        (("", "", "ANY"), "*.ex.com A", "a-any.ex.com"),
        (("own-", "", "any"), "*.ex.com A", "own-a-any.ex.com"),
        (("", "-own", "any"), "*.ex.com A", "a-any-own.ex.com"),
        (("", "-%{record_type}", "any"), "*.ex.com A", "any-a.ex.com"),
        (("%{record_type}.", "", "any"), "*.ex.com CNAME", "cname.any.ex.com"),
        (("", "", "any"), "www.ex.com A", "a-www.ex.com"),
        (("", "-own", ""), "*.ex.com A", "a-*-own.ex.com"),
        // One label, and an apex: the affix goes around the first label of the zone's name.
        (("", "", ""), "localhost A", "a-localhost"),
        (("", "-own", ""), "localhost A", "a-localhost-own"),
        (("own.", "", ""), "localhost A", "own.a-localhost"),
        (("", "-own", ""), "ex.com A", "a-ex-own.com"),
        (("", "-%{record_type}", ""), "ex.com CNAME", "ex-cname.com"),
        // Names that look like claims themselves.
        (("", "", ""), "a-foo.ex.com A", "a-a-foo.ex.com"),
        (("", "", ""), "aaaa-.ex.com A", "a-aaaa-.ex.com"),
        (("own.", "", ""), "own.a-www.ex.com TXT", "own.txt-own.a-www.ex.com"),
    ] {
        assert_eq!(claim_name(affixes, record), expected, "{record} under {affixes:?}");
    }
}

#[test]
fn labels_of_63_octets_are_the_limit_in_each_configuration() {
    for (affixes, room) in [
        (("", "", ""), 61),
        (("own-", "", ""), 57),
        (("own.", "", ""), 61),
        (("%{record_type}.", "", ""), 63),
        (("", "-own", ""), 57),
        (("", "-%{record_type}", ""), 61),
        (("", ".own", ""), 61),
    ] {
        let (registry, world) = (registry(affixes.0, affixes.1, affixes.2), World::new("zone ex.com"));
        for (length, fits) in [(room, true), (room + 1, false)] {
            if length > 63 {
                continue;
            }
            let change = format!("+ {}.ex.com A 192.0.2.1", "x".repeat(length));
            let decorated = decorate(&registry, &world, &[&change]).remove(0);
            assert_eq!(decorated.is_ok(), fits, "{length} octets under {affixes:?}: {:?}", verdict(&decorated));
        }
    }
}

/// Whose a record is in a zone, with the resource that its claim names.
fn whose(registry: &TxtRegistry, zone: &str, record: &str) -> String {
    let world = World::new(&format!("zone ex.com\n{zone}"));
    match judge(&registry.claims(world.zone(), &key(record), &world), registry.owner()) {
        Ownership::Ours(claim) => {
            format!("ours {}", claim.and_then(|claim| claim.resource).as_deref().unwrap_or("-"))
        }
        Ownership::Foreign(owner) => format!("of {owner}"),
        Ownership::Unclaimed => "of nobody".to_owned(),
        Ownership::Disputed(_) => "disputed".to_owned(),
    }
}

#[test]
fn a_text_is_a_claim_or_none() {
    let h = "heritage=external-dns";
    for (text, expected) in [
        (format!("{h},external-dns/owner=me,external-dns/resource=r"), "ours r"),
        // The order of the labels does not count, nor do quotes around the whole.
        (format!("external-dns/resource=r,external-dns/owner=me,{h}"), "ours r"),
        (format!("\"\\\"{h},external-dns/owner=me\\\"\""), "ours -"),
        (format!("{h},{h},external-dns/owner=me"), "ours -"),
        // Others follow it, and may write labels of their own.
        (format!("{h},external-dns/owner=me,other/owner=you,x,=,y=z"), "ours -"),
        (format!("{h},external-dns/ownedRecord=www.ex.com,external-dns/owner=me,external-dns/resource=r"), "ours r"),
        (format!("{h},external-dns/owner=ME"), "of ME"),
        (format!("{h},external-dns/owner=me2"), "of me2"),
        (format!("{h},external-dns/owner=me=2"), "of me=2"),
        // No claims.
        (format!("{h},external-dns/owner="), "of nobody"),
        (format!("{h}, external-dns/owner=me"), "of nobody"),
        (format!("{h},external-dns/Owner=me"), "of nobody"),
        (format!("{h};external-dns/owner=me"), "of nobody"),
        (format!("heritage=mate,{h},external-dns/owner=me"), "of nobody"),
        ("Heritage=external-dns,external-dns/owner=me".to_owned(), "of nobody"),
        ("heritage=External-DNS,external-dns/owner=me".to_owned(), "of nobody"),
        ("external-dns/owner=me".to_owned(), "of nobody"),
        ("v=spf1 include:me -all".to_owned(), "of nobody"),
    ] {
        let zone = format!("www.ex.com A 192.0.2.1\na-www.ex.com TXT {text}");
        assert_eq!(whose(&registry("", "", ""), &zone, "www.ex.com A"), expected, "{text}");
    }
}

#[test]
fn which_of_several_claims_counts() {
    for (zone, record, expected) in [
        // Dual stack with two owners: the old format of one, the typed claim of the other.
        ("d.ex.com TXT !me:r\naaaa-d.ex.com TXT !other", "d.ex.com A", "ours r"),
        ("d.ex.com TXT !me:r\naaaa-d.ex.com TXT !other", "d.ex.com AAAA", "of other"),
        ("d.ex.com TXT !other\naaaa-d.ex.com TXT !me:r", "d.ex.com AAAA", "ours r"),
        ("d.ex.com TXT !other\naaaa-d.ex.com TXT !me:r", "d.ex.com A", "of other"),
        // An address of one cluster and a CNAME of another at one name.
        ("d.ex.com TXT !other\na-d.ex.com TXT !me:r", "d.ex.com A", "ours r"),
        ("d.ex.com TXT !other\na-d.ex.com TXT !me:r", "d.ex.com CNAME", "of other"),
        ("cname-d.ex.com TXT !other\na-d.ex.com TXT !me:r", "d.ex.com CNAME", "of other"),
        // The types of services.
        ("naptr-d.ex.com TXT !me:r", "d.ex.com NAPTR", "ours r"),
        ("srv-_sip._udp.ex.com TXT !me:r", "_sip._udp.ex.com SRV", "ours r"),
        ("mx-d.ex.com TXT !me:r", "d.ex.com MX", "ours r"),
        ("txt-d.ex.com TXT !me:r", "d.ex.com TXT", "ours r"),
        // Set identifiers, in either format.
        ("a-d.ex.com TXT@eu !me:r", "d.ex.com A@eu", "ours r"),
        ("d.ex.com TXT@eu !me:r", "d.ex.com A@eu", "ours r"),
        ("a-d.ex.com TXT@eu !me:r\na-d.ex.com TXT@us !other", "d.ex.com A@us", "of other"),
        ("a-d.ex.com TXT !me:r", "d.ex.com A@eu", "of nobody"),
        // A wildcard has its own, and says nothing of the names that it covers.
        ("a-*.ex.com TXT !me:r", "*.ex.com A", "ours r"),
        ("a-*.ex.com TXT !me:r", "d.ex.com A", "of nobody"),
    ] {
        assert_eq!(whose(&registry("", "", ""), zone, record), expected, "{record} beside {zone}");
    }
}

#[test]
fn a_lost_record_comes_back_under_its_claim_whatever_its_type() {
    for (claim, change) in [
        ("a-w.ex.com TXT !me", "+ w.ex.com A 192.0.2.1"),
        ("aaaa-w.ex.com TXT !me", "+ w.ex.com AAAA ::1"),
        ("cname-w.ex.com TXT !me", "+ w.ex.com CNAME lb.example"),
        ("mx-w.ex.com TXT !me", "+ w.ex.com MX 10 mx.example"),
        ("a-*.ex.com TXT !me", "+ *.ex.com A 192.0.2.1"),
    ] {
        let world = World::new(&format!("zone ex.com\n{claim}"));
        let found = verdict(&decorate(&registry("", "", ""), &world, &[change]).remove(0));
        assert_eq!(found, [format!("= {claim}")], "{change}: the claim stays as it is, and must stand");
    }
    let world = World::new("zone ex.com\na-w.ex.com TXT@eu !me");
    let found = verdict(&decorate(&registry("", "", ""), &world, &["+ w.ex.com A@eu 192.0.2.1"]).remove(0));
    assert_eq!(found, ["= a-w.ex.com TXT (eu) !me"]);
}

#[test]
fn settings_are_checked_in_order() {
    let config = |prefix: &str, encrypt, aes_key: Option<&str>| TxtConfig {
        prefix: prefix.into(),
        suffix: "s".into(),
        encrypt,
        aes_key: aes_key.map(|key| key.to_owned().into()),
        ..TxtConfig::new("me").expect("an owner")
    };
    for (config, expected) in [
        (config("p", false, Some("short")), "must be 32 bytes long"),
        (config("p", true, None), "must be set when TXT record encryption is enabled"),
        (config("p", false, None), "mutual exclusive"),
    ] {
        let error = TxtRegistry::new(config).expect_err(expected).to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn a_key_opens_what_was_sealed_with_it_in_whatever_spelling() {
    let plain = "01234567890123456789012345678901";
    let base64 = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=";
    let with = |aes_key: Option<&str>, encrypt| {
        registry_with(|config| {
            config.aes_key = aes_key.map(|key| key.to_owned().into());
            config.encrypt = encrypt;
        })
    };
    let empty = World::new("zone ex.com");
    let sealed = |registry: &TxtRegistry| {
        let group = decorate(registry, &empty, &["+ www.ex.com A 192.0.2.1 [r]"]).remove(0).expect("a claim");
        let Change::Create { to } = &group.steps[1].change else { panic!("a claim is created") };
        to.data.to_string().trim_matches('"').to_owned()
    };
    let text = sealed(&with(Some(plain), true));
    assert_eq!(sealed(&with(Some(base64), true)), text, "both spellings are one key");
    let clear = "heritage=external-dns,external-dns/owner=me,external-dns/resource=r";
    assert_eq!(sealed(&with(Some(plain), false)), clear, "a key without the flag only reads");
    let closed = "of unknown (its claim is encrypted, and not with the key given here)";
    for (aes_key, encrypt, stands, expected) in [
        (Some(plain), true, text.as_str(), "ours r"),
        (Some(base64), true, &text, "ours r"),
        (Some(base64), false, &text, "ours r"),
        (Some(plain), true, clear, "ours r"),
        (None, false, clear, "ours r"),
        (None, false, &text, closed),
        (Some("another key, also of 32 bytes!!!"), true, &text, closed),
        (Some(plain), true, &text[4..], closed),
    ] {
        let zone = format!("www.ex.com A 192.0.2.1\na-www.ex.com TXT {stands}");
        assert_eq!(whose(&with(aes_key, encrypt), &zone, "www.ex.com A"), expected, "{aes_key:?} {encrypt} {stands}");
    }
}
