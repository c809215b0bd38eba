//! Who owns what the zones hold.

use crate::support::{World, key, record, registry};
use zonewright_core::claim::{Claim, ClaimRank, Ownership, judge};
use zonewright_core::options::OptionValue;
use zonewright_core::record::{AliasTarget, RecordData};
use zonewright_core::registry::ClaimFormat as _;
use zonewright_registry::noop::NoopRegistry;
use zonewright_registry::txt::{TxtConfig, TxtRegistry};

/// `ours`, `theirs`, `nobody`, `disputed`; with the claim's name and how it stands where it is ours.
fn owner(registry: &TxtRegistry, world: &World, record: &str) -> String {
    let claims = registry.claims(world.zone(), &key(record), world);
    let site = |claim: &Claim| claim.site.as_ref().expect("kept in a record").1.key.name.to_string();
    match judge(&claims, registry.owner()) {
        Ownership::Ours(claim) => {
            let claim = claim.expect("a claim");
            let standing = match (claim.rank, claim.current) {
                (_, true) => "current",
                (ClaimRank::Typed, false) => "typed",
                (ClaimRank::Old, false) => "old",
            };
            format!("ours by {} ({standing})", site(&claim))
        }
        Ownership::Foreign(owner) => format!("of {owner}"),
        Ownership::Unclaimed => "of nobody".to_owned(),
        Ownership::Disputed(_) => "disputed".to_owned(),
    }
}

fn check(affixes: (&str, &str, &str), zones: &str, cases: &[(&str, &str)]) {
    let (registry, world) = (registry(affixes.0, affixes.1, affixes.2), World::new(zones));
    for (record, expected) in cases {
        assert_eq!(owner(&registry, &world, record), *expected, "{record} under {affixes:?}");
    }
}

#[test]
fn without_affixes() {
    let zone = "zone ex.com
        a-typed.ex.com TXT !me:r
        aaaa-typed.ex.com TXT !other
        old.ex.com TXT !me
        both.ex.com TXT !me
        mx-both.ex.com TXT !other
        a-both.ex.com TXT !me
        twice.ex.com TXT !other
        a-x.ex.com TXT !me
        srv-_sip._tcp.ex.com TXT !me
        caa-c.ex.com TXT !me
        a-*.ex.com TXT !me
        a-text.ex.com TXT some text
        a-nobody.ex.com TXT heritage=external-dns
        a-intent.ex.com TXT heritage=zonewright-intent,external-dns/owner=me
        a-mate.ex.com TXT heritage=mate,external-dns/owner=me
        a-sets.ex.com TXT@eu !me
        sets.ex.com TXT@us !other";
    check(
        ("", "", ""),
        zone,
        &[
            ("typed.ex.com A", "ours by a-typed.ex.com (current)"),
            ("Typed.EX.com A", "ours by a-typed.ex.com (current)"),
            ("typed.ex.com AAAA", "of other"),
            ("typed.ex.com CNAME", "of nobody"),
            // One old-format claim speaks for every type but AAAA.
            ("old.ex.com A", "ours by old.ex.com (old)"),
            ("old.ex.com MX", "ours by old.ex.com (old)"),
            ("old.ex.com AAAA", "of nobody"),
            // A typed claim hides the old one, whoever owns it.
            ("both.ex.com A", "ours by a-both.ex.com (current)"),
            ("both.ex.com MX", "of other"),
            ("both.ex.com SRV", "ours by both.ex.com (old)"),
            ("twice.ex.com A", "of other"),
            // Read as the typed claim of `x`, as external-dns reads it, not as an old one of `a-x`.
            ("x.ex.com A", "ours by a-x.ex.com (current)"),
            ("a-x.ex.com A", "of nobody"),
            ("a-x.ex.com MX", "of nobody"),
            ("_sip._tcp.ex.com SRV", "ours by srv-_sip._tcp.ex.com (current)"),
            ("c.ex.com CAA", "ours by caa-c.ex.com (current)"),
            ("caa-c.ex.com A", "of nobody"),
            ("*.ex.com A", "ours by a-*.ex.com (current)"),
            ("text.ex.com A", "of nobody"),
            ("nobody.ex.com A", "of nobody"),
            ("intent.ex.com A", "of nobody"),
            ("mate.ex.com A", "of nobody"),
            // The set identifier of the claim is that of the record.
            ("sets.ex.com A@eu", "ours by a-sets.ex.com (current)"),
            ("sets.ex.com A@us", "of other"),
            ("sets.ex.com A", "of nobody"),
            (". A", "of nobody"),
        ],
    );
}

#[test]
fn with_affixes() {
    let zone = "zone ex.com
        txt.a-www.ex.com TXT !me
        a-plain.ex.com TXT !me
        plain.ex.com TXT !me
        txt.old.ex.com TXT !me
        txt.a-wc.ex.com TXT !me";
    let cases = [
        ("www.ex.com A", "ours by txt.a-www.ex.com (current)"),
        ("plain.ex.com A", "of nobody"),
        ("old.ex.com CNAME", "ours by txt.old.ex.com (old)"),
        ("*.ex.com A", "ours by txt.a-wc.ex.com (current)"),
    ];
    check(("txt.", "", "wc"), zone, &cases);
    check(("TXT.", "", "WC"), zone, &cases);
    let suffixed = "zone ex.com
        a-www-txt.ex.com TXT !me
        old-txt.ex.com TXT !me";
    let cases =
        [("www.ex.com A", "ours by a-www-txt.ex.com (current)"), ("old.ex.com A", "ours by old-txt.ex.com (old)")];
    check(("", "-txt", ""), suffixed, &cases);
    let templated = "zone ex.com
        x-a-www.ex.com TXT !me
        x--old.ex.com TXT !me";
    let cases = [("www.ex.com A", "ours by x-a-www.ex.com (current)"), ("old.ex.com A", "ours by x--old.ex.com (old)")];
    check(("x-%{record_type}-", "", ""), templated, &cases);
    let suffix_template = "zone ex.com
        www-.mx.ex.com TXT !me";
    check(("", "-.%{record_type}", ""), suffix_template, &[("www.ex.com MX", "ours by www-.mx.ex.com (current)")]);
}

#[test]
fn claims_on_an_apex() {
    let zones = "zone sub.ex.com
        mx-_apex.sub.ex.com TXT !me
        txt-_apex.sub.ex.com TXT !me
        zone ex.com
        a-sub.ex.com TXT !me
        txt-sub.ex.com TXT !other
        aaaa-sub.ex.com TXT !other
        www.sub.ex.com TXT !other
        a-www.sub.ex.com TXT !other";
    check(
        ("", "", ""),
        zones,
        &[
            ("sub.ex.com A", "ours by a-sub.ex.com (typed)"),
            ("sub.ex.com AAAA", "of other"),
            ("sub.ex.com MX", "ours by mx-_apex.sub.ex.com (current)"),
            ("sub.ex.com TXT", "disputed"),
            // What another zone holds below our apex gives no right here.
            ("www.sub.ex.com A", "of nobody"),
        ],
    );
    // `txt-` and `_apex` give the name of the claim on a TXT record at the apex, not an old-format one on a host `_apex`.
    let both_ways = "zone ex.com
        txt-_apex.ex.com TXT !me";
    let cases = [("ex.com TXT", "ours by txt-_apex.ex.com (current)"), ("_apex.ex.com A", "of nobody")];
    check(("txt-", "", ""), both_ways, &cases);
    // An affix that ends in a dot keeps the claim inside.
    let inside = "zone ex.com
        a.ex.com TXT !me";
    check(("%{record_type}.", "", ""), inside, &[("ex.com A", "ours by a.ex.com (current)")]);
}

#[test]
fn the_cname_name_of_an_alias() {
    let zone = "zone ex.com
        plain.ex.com A 192.0.2.1
        cname-plain.ex.com TXT !me
        alias.ex.com A 192.0.2.1
        cname-alias.ex.com TXT !me
        word.ex.com A 192.0.2.1
        cname-word.ex.com TXT !me
        word.ex.com TXT !other
        moved.ex.com A 192.0.2.1
        a-moved.ex.com TXT !me
        cname-moved.ex.com TXT !other";
    let mut world = World::new(zone);
    for name in ["alias.ex.com A", "moved.ex.com A"] {
        let target = AliasTarget { target: "lb.example".into(), zone: None, evaluate_health: true };
        world.edit(&key(name), |set| set.data = RecordData::Alias(target));
    }
    world.edit(&key("word.ex.com A"), |set| set.options.set("alias", OptionValue::Text("A".into())));
    let registry = registry("", "", "");
    for (record, expected) in [
        ("plain.ex.com A", "of nobody"),
        ("alias.ex.com A", "ours by cname-alias.ex.com (typed)"),
        ("word.ex.com A", "ours by cname-word.ex.com (typed)"),
        ("moved.ex.com A", "ours by a-moved.ex.com (current)"),
    ] {
        assert_eq!(owner(&registry, &world, record), expected, "{record}");
    }
}

#[test]
fn every_value_of_a_set_counts() {
    let zone = "zone ex.com
        a-mixed.ex.com TXT aaa first ; !me:r ; zzz last
        a-two.ex.com TXT !me ; !other
        a-same.ex.com TXT !me:one ; !me:two";
    let cases = [
        ("mixed.ex.com A", "ours by a-mixed.ex.com (current)"),
        ("two.ex.com A", "disputed"),
        ("same.ex.com A", "ours by a-same.ex.com (current)"),
    ];
    check(("", "", ""), zone, &cases);
}

#[test]
fn a_claim_keeps_what_it_says() {
    let text = "heritage=external-dns,external-dns/Zed=1,external-dns/owner=me,external-dns/resource=service/ns/web";
    let world = World::new(&format!("zone ex.com\na-www.ex.com TXT {text}"));
    let claims = registry("", "", "").claims(world.zone(), &key("www.ex.com A"), &world);
    let [claim] = claims.as_slice() else { panic!("one claim: {claims:?}") };
    assert_eq!((claim.owner.as_str(), claim.resource.as_deref()), ("me", Some("service/ns/web")));
    assert_eq!(claim.label("Zed"), Some("1"));
    assert_eq!(claim.site, Some((world.zone().key.clone(), world.record(&key("a-www.ex.com TXT")))));
}

#[test]
fn claims_are_no_ordinary_records() {
    let registry = registry("txt.", "", "");
    for (text, expected) in [
        ("anywhere.ex.com TXT !me", true),
        ("anywhere.ex.com TXT !other:r", true),
        ("anywhere.ex.com TXT heritage=external-dns", true),
        ("anywhere.ex.com TXT some text ; !other", true),
        ("anywhere.ex.com TXT heritage=zonewright-intent,zonewright/owner=me", true),
        ("anywhere.ex.com TXT heritage=mate", false),
        ("anywhere.ex.com TXT v=spf1 -all", false),
        ("anywhere.ex.com A 192.0.2.1", false),
    ] {
        assert_eq!(registry.is_claim(&record(text)), expected, "{text}");
        assert!(!NoopRegistry.is_claim(&record(text)), "{text}");
    }
}

#[test]
fn a_targeted_read_covers_every_name() {
    let world = World::new("zone ex.com");
    for (prefix, wanted, names) in [
        ("", "www.ex.com A", "a-www.ex.com cname-www.ex.com www.ex.com"),
        ("", "www.ex.com AAAA", "aaaa-www.ex.com"),
        ("", "a-x.ex.com MX", "mx-a-x.ex.com"),
        ("txt.", "www.ex.com MX", "txt.mx-www.ex.com txt.www.ex.com"),
        ("", "ex.com CNAME", "cname-_apex.ex.com cname-ex.com ex.com"),
        ("txt.", "ex.com MX", "txt.ex.com txt.mx-ex.com mx-_apex.ex.com"),
        ("%{record_type}.", "ex.com A", "a.ex.com cname.ex.com"),
    ] {
        let expected = names.split(' ').map(|name| name.parse().unwrap()).collect();
        assert_eq!(registry(prefix, "", "").claim_names(world.zone(), &key(wanted)), expected, "{prefix:?} {wanted}");
    }
}

#[test]
fn configurations_that_cannot_work_are_refused() {
    let config = |prefix: &str, suffix: &str| TxtConfig {
        prefix: prefix.into(),
        suffix: suffix.into(),
        ..TxtConfig::new("me").unwrap()
    };
    let sealed = |encrypt, key: Option<&str>| TxtConfig {
        encrypt,
        aes_key: key.map(|key| key.to_owned().into()),
        ..TxtConfig::new("me").unwrap()
    };
    for (config, part) in [
        (Ok(sealed(true, None)), "the AES Encryption key must be set when TXT record encryption is enabled"),
        (
            Ok(sealed(true, Some("short"))),
            "the AES Encryption key must be 32 bytes long, in either plain text or base64",
        ),
        (Ok(sealed(false, Some("short"))), "the AES Encryption key must be 32 bytes long"),
        (TxtConfig::new(""), "owner id cannot be empty"),
        (Ok(config("p", "s")), "txt-prefix and txt-suffix are mutual exclusive"),
        (Ok(config(".x", "")), "--txt-prefix"),
        (Ok(config("", "x.")), "--txt-suffix"),
        (Ok(config(&"x".repeat(64), "")), "longer than 63"),
        (TxtConfig::new("a,b"), "expected no comma"),
        (TxtConfig::new("a\""), "no quote at the end"),
    ] {
        let error = config.and_then(TxtRegistry::new).expect_err(part).to_string();
        assert!(error.contains(part) && !error.contains("short"), "{error}");
    }
}

#[test]
fn a_claim_of_the_zone_above_speaks_for_one_record_at_most() {
    let check_with = |prefix, zones: &str, cases: &[(&str, &str)]| check((prefix, "", ""), zones, cases);
    let check = |zones: &str, cases: &[(&str, &str)]| check_with("", zones, cases);
    // Names went to the zone above while the lower one was not listed: what stands in the lower one is not ours.
    let below = "zone sub.ex.com
        sub.ex.com A 192.0.2.9
        zone ex.com
        sub.ex.com A 192.0.2.1
        sub.ex.com NS ns.example.
        a-sub.ex.com TXT !me
        aaaa-sub.ex.com TXT !me";
    // The NS records of the delegation take nothing away from the claim of external-dns on the apex below.
    check(below, &[("sub.ex.com A", "of nobody"), ("sub.ex.com AAAA", "ours by aaaa-sub.ex.com (typed)")]);
    let old = |above: &str| {
        let below = "zone sub.ex.com\nsub.ex.com MX 10 mx.example.\nzone ex.com\nsub.ex.com NS ns.example.\nx-sub.ex.com TXT !me";
        format!("{below}\n{above}")
    };
    check_with("x-", &old(""), &[("sub.ex.com MX", "ours by x-sub.ex.com (old)")]);
    check_with("x-", &old("sub.ex.com A 192.0.2.1"), &[("sub.ex.com MX", "of nobody")]);
    // Seen from above it is not known for which of the two it speaks, until the lower one has a claim of its own.
    let unknown =
        "of unknown (the ownership record may be that of the zone below, which has a record of this name and type too)";
    let above = "zone ex.com
        sub.ex.com A 192.0.2.1
        a-sub.ex.com TXT !me";
    let current = "ours by a-sub.ex.com (current)";
    for (below, expected) in [
        ("zone sub.ex.com\nsub.ex.com A 192.0.2.9", unknown),
        ("zone sub.ex.com unread", unknown),
        ("zone sub.ex.com\nsub.ex.com A 192.0.2.9\na-_apex.sub.ex.com TXT !other", current),
        ("zone sub.ex.com\nsub.ex.com AAAA 2001:db8::1", current),
        ("zone sub.ex.com", current),
        ("zone www.sub.ex.com\nwww.sub.ex.com A 192.0.2.9", current),
    ] {
        check(&format!("{above}\n{below}"), &[("sub.ex.com A", expected)]);
    }
}

#[test]
fn claims_that_external_dns_put_around_a_label_in_its_own_script() {
    // The A-label of `bücher` with `a-` before it.
    let zone = "zone ex.com
        xn--bcher-kva.ex.com A 192.0.2.1
        xn--a-bcher-p2a.ex.com TXT !me:r";
    check(("", "", ""), zone, &[("xn--bcher-kva.ex.com A", "ours by xn--a-bcher-p2a.ex.com (typed)")]);
    check(("", "", ""), zone, &[("xn--bcher-kva.ex.com AAAA", "of nobody"), ("bcher-p2a.ex.com A", "of nobody")]);
    let theirs = "zone ex.com
        a-xn--bcher-kva.ex.com TXT !me
        xn--a-bcher-p2a.ex.com TXT !other";
    check(("", "", ""), theirs, &[("xn--bcher-kva.ex.com A", "disputed")]);
}
