//! Where a claim is not moved, or is not known to be one: other owners, names that two settings read differently, odd claims.

use zonewright_core::change::Change;
use zonewright_core::registry::ClaimFormat as _;
use zonewright_registry::txt::{FormerNames, TxtConfig, TxtRegistry};

use crate::moving::{KEY, NONE, is_current, move_all, moving, owner_of, step};
use crate::support::{World, decorate, key, registry_with, verdict};

#[test]
fn another_owner_at_either_place_stops_the_move() {
    let registry = moving(("new-", "", ""), &[NONE]);
    for (new, former, owner) in [
        ("!other:r", "!me:r", "disputed by 2"),
        ("!me:r", "!other:r", "disputed by 2"),
        ("!other:r", "!other:r", "of other"),
        ("v=spf1", "!other:r", "of other"),
        ("heritage=mate,x=y", "!me:r", "ours:r"),
        ("v=spf1", "!me:r", "ours:r"),
    ] {
        let world = World::new(&format!(
            "zone ex.com\nwww.ex.com A 192.0.2.1\nnew-a-www.ex.com TXT {new}\na-www.ex.com TXT {former}"
        ));
        assert_eq!(owner_of(&registry, &world, "www.ex.com A"), owner, "{new} {former}");
        assert_eq!(step(&registry, &world, "www.ex.com A"), None, "{new} {former}");
        assert!(!is_current(&registry, &world, "www.ex.com A"), "it is still counted");
    }
    // Why it is not moved can be asked for.
    let world = World::new("zone ex.com\nwww.ex.com A 192.0.2.1\nnew-a-www.ex.com TXT v=spf1\na-www.ex.com TXT !me:r");
    let found = verdict(&decorate(&registry, &world, &["~ www.ex.com A 192.0.2.1 [r]"])[0]);
    assert!(
        found[0].starts_with("dropped: the ownership record of www.ex.com A belongs at new-a-www.ex.com, but"),
        "{found:?}"
    );
}

#[test]
fn a_name_that_two_settings_read_differently_makes_nobody_the_owner() {
    let doubtful =
        "of unknown (the claim may be that of another record, by the former names of --txt-former-prefix and the like)";
    for (today, former, zone, owners) in [
        // `txt-a-www` is the former claim of www A and today's of the text at a-www, which another writer put there.
        (
            NONE,
            ("txt-", "", ""),
            "www.ex.com A 192.0.2.1\na-www.ex.com TXT hello\ntxt-a-www.ex.com TXT !me:r",
            vec![("www.ex.com A", doubtful), ("a-www.ex.com TXT", doubtful)],
        ),
        // Moved already: the text is still nobody's.
        (
            ("x-", "", ""),
            ("x-txt-", "", ""),
            "www.ex.com A 192.0.2.1\na-www.ex.com TXT hello\nx-txt-a-www.ex.com TXT !me:r\nx-a-www.ex.com TXT !me:r",
            vec![("www.ex.com A", "ours:r"), ("a-www.ex.com TXT", doubtful)],
        ),
        // A former name without a type is no typed one of today.
        (
            ("x-", "", ""),
            NONE,
            "www.ex.com A 192.0.2.1\nx-a-www.ex.com MX 10 mx.test\nx-a-www.ex.com TXT !me:r",
            vec![("www.ex.com A", "ours:r"), ("x-a-www.ex.com MX", "unclaimed")],
        ),
        // Today's name without a type is the former typed one of a record that stands.
        (
            ("a-", "", ""),
            NONE,
            "www.ex.com A 192.0.2.1\nwww.ex.com MX 10 mx.test\na-www.ex.com TXT !me:r",
            vec![("www.ex.com A", "ours:r"), ("www.ex.com MX", "unclaimed")],
        ),
        // The claim was made for `any` alone, before the settings that read it as that of the wildcard, too.
        (
            ("", "", "any"),
            NONE,
            "*.ex.com A 192.0.2.1\nany.ex.com A 192.0.2.2\na-any.ex.com TXT !me:r",
            vec![("*.ex.com A", doubtful), ("any.ex.com A", "ours:r")],
        ),
        // Or for both by former settings, or for `any` alone by today's: it is not known.
        (
            NONE,
            ("", "", "any"),
            "*.ex.com A 192.0.2.1\nany.ex.com A 192.0.2.2\na-any.ex.com TXT !me:r",
            vec![("*.ex.com A", doubtful), ("any.ex.com A", "ours:r")],
        ),
        // Another claim of ours settles it.
        (
            ("", "", "any"),
            NONE,
            "*.ex.com A 192.0.2.1\nany.ex.com A 192.0.2.2\na-any.ex.com TXT !me:r\na-*.ex.com TXT !me:r",
            vec![("*.ex.com A", "ours:r"), ("any.ex.com A", "ours:r")],
        ),
        (
            ("", "", "any"),
            NONE,
            "*.ex.com A 192.0.2.1\nany.ex.com A 192.0.2.2\na-any.ex.com TXT !other:r\na-*.ex.com TXT !me:r",
            vec![("*.ex.com A", "disputed by 2"), ("any.ex.com A", "of other")],
        ),
    ] {
        let world = World::new(&format!("zone ex.com\n{zone}"));
        for (record, owner) in owners {
            assert_eq!(owner_of(&moving(today, &[former]), &world, record), owner, "{record} in {zone}");
        }
    }
    // It stays where it is, as long as both records stand.
    let shared = moving(NONE, &[("", "", "any")]);
    let world = World::new("zone ex.com\n*.ex.com A 192.0.2.1\nany.ex.com A 192.0.2.2\na-any.ex.com TXT !me:r");
    assert_eq!(step(&shared, &world, "*.ex.com A"), None);
    assert_eq!(owner_of(&shared, &world, "any.ex.com A"), "ours:r");
}

/// What is left of a claim would make another's record ours once the record that it was made for is gone.
#[test]
fn a_doubtful_claim_goes_with_its_record() {
    for (today, former, zone, deleted, other) in [
        (
            ("", "", "any"),
            NONE,
            "*.ex.com A 192.0.2.1\nany.ex.com A 192.0.2.2\na-any.ex.com TXT !me:r",
            "any.ex.com A",
            "*.ex.com A",
        ),
        (
            ("x-", "", ""),
            ("x-txt-", "", ""),
            "www.ex.com A 192.0.2.1\na-www.ex.com TXT hello\nx-txt-a-www.ex.com TXT !me:r\nx-a-www.ex.com TXT !me:r",
            "www.ex.com A",
            "a-www.ex.com TXT",
        ),
    ] {
        let registry = moving(today, &[former]);
        let mut world = World::new(&format!("zone ex.com\n{zone}"));
        let group = decorate(&registry, &world, &[&format!("- {deleted}")]).remove(0).unwrap();
        world.apply(&group);
        assert_eq!(owner_of(&registry, &world, other), "unclaimed", "after {deleted} went: {:?}", world.records());
        assert_eq!(world.records().len(), 1, "{:?}", world.records());
    }
}

#[test]
fn a_claim_in_another_zone_is_left_there() {
    let registry = moving(("txt.", "", ""), &[NONE]);
    let mut world = World::new(
        "zone sub.ex.com
        sub.ex.com A 192.0.2.1
        zone ex.com
        a-sub.ex.com TXT !me:r",
    );
    assert_eq!(move_all(&registry, &mut world, "sub.ex.com A").len(), 1);
}

#[test]
fn former_names_that_cannot_work_are_refused() {
    for (prefix, suffix, word) in [("a-", "-b", "exclusive"), (".", "", "former --txt-prefix")] {
        let mut config = TxtConfig::new("me").unwrap();
        config.former =
            vec![FormerNames { prefix: prefix.into(), suffix: suffix.into(), wildcard_replacement: String::new() }];
        let error = TxtRegistry::new(config).unwrap_err().to_string();
        assert!(error.contains(word), "{error}");
    }
}

#[test]
fn odd_claims_are_reported() {
    let registry = registry_with(|config| {
        config.former =
            vec![FormerNames { prefix: "old-".into(), suffix: String::new(), wildcard_replacement: String::new() }];
    });
    let sealed = registry_with(|config| {
        config.aes_key = Some(KEY.to_owned().into());
        config.encrypt = true;
    });
    let empty = World::new("zone ex.com");
    let group = decorate(&sealed, &empty, &["+ www.ex.com A 192.0.2.1"]).remove(0).unwrap();
    let claim = group.changes().filter_map(Change::to).find(|set| sealed.is_claim(set)).cloned().unwrap();
    for (zone, at, closed, odd) in [
        ("", "a-www.ex.com", true, None),
        ("www.ex.com A 192.0.2.1", "a-www.ex.com", true, Some("closed: www.ex.com A")),
        ("a-www.ex.com TXT !me:r", "a-www.ex.com", false, Some("orphan")),
        ("a-www.ex.com TXT !me:r\nwww.ex.com A 192.0.2.1", "a-www.ex.com", false, None),
        ("a-www.ex.com TXT !me:r\nwww.ex.com AAAA 2001:db8::1", "a-www.ex.com", false, Some("orphan")),
        ("a-www.ex.com TXT !other:r", "a-www.ex.com", false, None),
        ("www.ex.com TXT !me:r", "www.ex.com", false, Some("orphan")),
        ("www.ex.com TXT !me:r\nwww.ex.com MX 10 mx.test", "www.ex.com", false, None),
        ("old-a-www.ex.com TXT !me:r", "old-a-www.ex.com", false, Some("orphan")),
        ("old-a-www.ex.com TXT !me:r\nwww.ex.com A 192.0.2.1", "old-a-www.ex.com", false, None),
        ("a-_apex.ex.com TXT !me:r", "a-_apex.ex.com", false, Some("orphan")),
        ("a-_apex.ex.com TXT !me:r\nex.com A 192.0.2.1", "a-_apex.ex.com", false, None),
        ("www.ex.com TXT v=spf1", "www.ex.com", false, None),
    ] {
        let mut world = World::new(&format!("zone ex.com\n{zone}"));
        if closed {
            world.put(claim.clone());
        }
        let set = world.record(&key(&format!("{at} TXT")));
        let found = registry.anomaly(world.zone(), &set, &world).map(|anomaly| match anomaly {
            zonewright_core::registry::ClaimAnomaly::Closed(key) => format!("closed: {key}"),
            zonewright_core::registry::ClaimAnomaly::Orphan(_) => "orphan".to_owned(),
        });
        assert_eq!(found.as_deref(), odd, "{at} in {zone}");
    }
}
