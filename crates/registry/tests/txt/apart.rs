//! Records that would share a claim, or stand in the place of one.

use crate::support::{World, decorate, registry, verdict};

#[test]
fn records_do_not_share_a_claim() {
    let share = |world: &str, change: &str| {
        let world = World::new(world);
        verdict(&decorate(&registry("", "", "any"), &world, &[change])[0])
    };
    // A foreign `any` must not become ours by the claim on the wildcard.
    for standing in ["any.ex.com A 192.0.2.9", "any.ex.com A 192.0.2.9\na-any.ex.com TXT !me"] {
        let refused = share(&format!("zone ex.com\n{standing}"), "+ *.ex.com A 192.0.2.1");
        assert!(
            refused[0].contains("would share its ownership record at a-any.ex.com with any.ex.com A"),
            "{refused:?}"
        );
    }
    // Where external-dns let two share, the claim stays until the last of them goes.
    let both = "zone ex.com
        *.ex.com A 192.0.2.1
        any.ex.com A 192.0.2.9
        a-any.ex.com TXT !me";
    assert_eq!(share(both, "- *.ex.com A"), ["= a-any.ex.com TXT !me"]);
    assert_eq!(share(&both.replace("any.ex.com A 192.0.2.9", ""), "- *.ex.com A"), ["- a-any.ex.com TXT !me"]);
    // A foreign `_apex` must not become ours by the claim that moves in from the parent zone.
    let zones = "zone sub.ex.com
        sub.ex.com A 192.0.2.1
        _apex.sub.ex.com A 192.0.2.9
        zone ex.com
        a-sub.ex.com TXT !me";
    let refused = share(zones, "~ sub.ex.com A 192.0.2.2");
    assert!(refused[0].contains("would share its ownership record at a-_apex.sub.ex.com"), "{refused:?}");
    // An `_apex` host beside the claim on the apex.
    let world = World::new("zone ex.com\n_apex.ex.com A 192.0.2.1");
    let refused = verdict(&decorate(&registry("", "", ""), &world, &["+ ex.com A 192.0.2.2"])[0]);
    assert!(refused[0].contains("would share its ownership record at a-_apex.ex.com"), "{refused:?}");
}

#[test]
fn groups_of_one_round_stay_out_of_each_others_way() {
    let lines = |registry, world: &str, groups: &[&str]| -> Vec<String> {
        let results = decorate(&registry, &World::new(world), groups);
        results.iter().flat_map(verdict).collect()
    };
    let ambiguous = lines(
        registry("%{record_type}", "", ""),
        "zone ex.com",
        &["+ www.ex.com AAAA 2001:db8::1", "+ aaawww.ex.com A 192.0.2.1"],
    );
    assert_eq!(
        ambiguous,
        [
            "+ aaaawww.ex.com TXT !me",
            "dropped: its ownership record cannot be written: aaaawww.ex.com TXT is in use by the change of www.ex.com in the same round"
        ]
    );
    // A wanted TXT record at the very name of a claim, in whatever order.
    for groups in [
        ["+ www.ex.com A 192.0.2.1", "+ a-www.ex.com TXT hello"],
        ["+ a-www.ex.com TXT hello", "+ www.ex.com A 192.0.2.1"],
    ] {
        let found = lines(registry("", "", ""), "zone ex.com", &groups);
        assert!(found.contains(
            &"dropped: its ownership record cannot be written: a-www.ex.com TXT is in use by the change of a-www.ex.com in the same round".into()
        ));
        assert!(found.contains(&"+ txt-a-www.ex.com TXT !me".into()), "{found:?}");
    }
    // A CNAME that comes to the place of the claim.
    let found = lines(registry("", "", ""), "zone ex.com", &["+ www.ex.com A 192.0.2.1", "+ a-www.ex.com CNAME x.org"]);
    let refused = "dropped: its ownership record cannot be written: a-www.ex.com CNAME is in use by the change of \
                   a-www.ex.com in the same round";
    assert_eq!(found, [refused, "+ cname-a-www.ex.com TXT !me"]);
    // One relies on a claim that the other rewrites.
    let shared = "zone ex.com
        *.ex.com A 192.0.2.1
        any.ex.com A 192.0.2.9
        a-any.ex.com TXT !me:r";
    let found = lines(registry("", "", "any"), shared, &["- *.ex.com A", "~ any.ex.com A 192.0.2.8 [s]"]);
    assert_eq!(
        found,
        [
            "= a-any.ex.com TXT !me:r",
            "dropped: its ownership record cannot be written: a-any.ex.com TXT is in use by the change of *.ex.com in the same round"
        ]
    );
    // Two records under one old claim go in one round: neither may rest on the other's success.
    let old = "zone ex.com
        www.ex.com A 192.0.2.1
        www.ex.com MX 10 mx.example
        www.ex.com TXT !me";
    let found = lines(registry("", "", ""), old, &["- www.ex.com A", "- www.ex.com MX"]);
    let untyped = ["no a-www.ex.com TXT", "no mx-www.ex.com TXT"];
    assert_eq!(found, ["= www.ex.com TXT !me", untyped[0], "= www.ex.com TXT !me", untyped[1]]);
    let together = lines(registry("", "", ""), old, &["- www.ex.com A & - www.ex.com MX"]);
    assert_eq!(together, ["- www.ex.com TXT !me", untyped[0], untyped[1]]);
}

#[test]
fn a_record_does_not_displace_a_claim() {
    let world = World::new("zone ex.com\nwww.ex.com TXT !me");
    let refused = verdict(&decorate(&registry("", "", ""), &world, &["+ www.ex.com TXT hello"])[0]);
    assert_eq!(refused, ["dropped: www.ex.com TXT cannot be created: an ownership record stands there (!me)"]);
    for claim in ["!me", "!other"] {
        let world = World::new(&format!("zone ex.com\nwww.ex.com A 192.0.2.1\na-www.ex.com TXT {claim}"));
        let refused = verdict(&decorate(&registry("", "", ""), &world, &["+ a-www.ex.com CNAME x.org"])[0]);
        let expected = "dropped: a-www.ex.com CNAME cannot be created: an ownership record stands there";
        assert_eq!(refused, [format!("{expected} ({claim}), and a CNAME stands alone")]);
    }
}
