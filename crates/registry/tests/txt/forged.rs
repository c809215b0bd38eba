//! Texts that read as claims and that objects asked for: they give nobody a right.

use zonewright_core::registry::{ClaimFormat as _, StaleClaims, holds_claims};
use zonewright_registry::txt::TxtRegistry;

use crate::moving::{moving, owner_of};
use crate::support::{World, key, registry};

/// For each record whose it is.
#[track_caller]
fn check(registry: &TxtRegistry, zone: &str, cases: &[(&str, &str)]) {
    let world = World::new(zone);
    for (record, expected) in cases {
        assert_eq!(owner_of(registry, &world, record), *expected, "{record}");
    }
}

const ZONE: &str = "zone ex.com
    legacy.ex.com A 192.0.2.1
    a-legacy.ex.com TXT !me:crd/ns/forger
    txt-a-legacy.ex.com TXT !me:crd/ns/forger
    theirs.ex.com A 192.0.2.1
    a-theirs.ex.com TXT !me:crd/ns/forger
    txt-a-theirs.ex.com TXT !other:crd/ns/forger
    nameless.ex.com A 192.0.2.1
    a-nameless.ex.com TXT !me:crd/ns/forger
    txt-a-nameless.ex.com TXT !other
    web.ex.com A 192.0.2.1
    a-web.ex.com TXT !me:crd/ns/web
    txt-a-web.ex.com TXT !me:crd/ns/forger
    txt-txt-a-web.ex.com TXT !me:crd/ns/forger
    left.ex.com A 192.0.2.1
    a-left.ex.com TXT !me:service/ns/left
    txt-a-left.ex.com TXT !other:service/ns/left
    odd.ex.com A 192.0.2.1
    a-odd.ex.com TXT !me:crd/ns/odd
    txt-a-odd.ex.com TXT hello";

#[test]
fn a_text_with_a_claim_of_its_own_claims_nothing() {
    check(
        &registry("", "", ""),
        ZONE,
        &[
            ("legacy.ex.com A", "unclaimed"),
            ("a-legacy.ex.com TXT", "ours:crd/ns/forger"),
            ("theirs.ex.com A", "unclaimed"),
            ("a-theirs.ex.com TXT", "of other"),
            ("nameless.ex.com A", "unclaimed"),
            // A claim that is forged itself makes no record of the claim below it.
            ("web.ex.com A", "ours:crd/ns/web"),
            ("txt-a-web.ex.com TXT", "ours:crd/ns/forger"),
            // What another writer left at such a name for an object that never asks for texts.
            ("left.ex.com A", "ours:service/ns/left"),
            ("odd.ex.com A", "ours:crd/ns/odd"),
        ],
    );
}

#[test]
fn by_every_affix_and_at_the_apex() {
    for (prefix, suffix, claim, own) in [
        ("p-", "", "p-a-legacy", "p-txt-p-a-legacy"),
        ("", "-s", "a-legacy-s", "txt-a-legacy-s-s"),
        ("%{record_type}.", "", "a.legacy", "txt.a.legacy"),
        ("p.", "", "p.a-legacy", "p.txt-p.a-legacy"),
    ] {
        let zone = format!(
            "zone ex.com
            legacy.ex.com A 192.0.2.1
            {claim}.ex.com TXT !me:crd/ns/forger"
        );
        let of_its_own = format!("{zone}\n{own}.ex.com TXT !me:crd/ns/forger");
        check(&registry(prefix, suffix, ""), &zone, &[("legacy.ex.com A", "ours:crd/ns/forger")]);
        check(&registry(prefix, suffix, ""), &of_its_own, &[("legacy.ex.com A", "unclaimed")]);
    }
    let apex = "zone ex.com
        ex.com A 192.0.2.1
        a-_apex.ex.com TXT !me:crd/ns/forger
        txt-a-_apex.ex.com TXT !me:crd/ns/forger";
    check(&registry("", "", ""), apex, &[("ex.com A", "unclaimed")]);
}

#[test]
fn such_a_text_is_a_record_like_any_other() {
    let (registry, world) = (registry("", "", ""), World::new(ZONE));
    let (forged, claim) = (world.record(&key("a-legacy.ex.com TXT")), world.record(&key("txt-a-legacy.ex.com TXT")));
    assert!(!holds_claims(&registry, world.zone(), &forged, &world));
    assert!(holds_claims(&registry, world.zone(), &claim, &world));
    assert_eq!(registry.anomaly(world.zone(), &forged, &world), None);
    assert_eq!(registry.collect_stale_claims(world.zone(), &forged, StaleClaims::Claims, &world), None);
    assert_eq!(
        registry.collect_stale_claims(world.zone(), &claim, StaleClaims::Claims, &world),
        None,
        "its record stands"
    );
}

/// The former prefix makes the name that a claim on today's claim would have.
#[test]
fn a_claim_that_is_moved_from_such_a_name_stays_a_claim() {
    let zone = "zone ex.com
        web.ex.com A 192.0.2.1
        a-web.ex.com TXT !me:crd/ns/web
        txt-a-web.ex.com TXT !me:crd/ns/web";
    check(&moving(("", "", ""), &[("txt-", "", "")]), zone, &[("web.ex.com A", "ours:crd/ns/web")]);
    check(&moving(("txt-", "", ""), &[("", "", "")]), zone, &[("web.ex.com A", "ours:crd/ns/web")]);
    let forged = "zone ex.com
        legacy.ex.com A 192.0.2.1
        a-legacy.ex.com TXT !me:service/ns/any
        txt-a-legacy.ex.com TXT !me:crd/ns/forger";
    check(&moving(("", "", ""), &[("old-", "", "")]), forged, &[("legacy.ex.com A", "unclaimed")]);
}
