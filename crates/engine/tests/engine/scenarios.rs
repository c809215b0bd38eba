//! The scenarios of the multiple-targets design, and what surrounds them.

use std::sync::Arc;
use std::time::Duration;

use zonewright_core::endpoint::Endpoint;
use zonewright_core::filter::DomainFilter;
use zonewright_core::name_policy::{Denied, NamePolicy};
use zonewright_core::{RData, RecordType, Ttl};

use crate::sim::{World, after, rest};

fn claim(who: &str) -> String {
    format!("\"heritage=external-dns,external-dns/owner=me,external-dns/resource=service/ns/{who}\"")
}

#[tokio::test(start_paused = true)]
async fn a_record_comes_with_its_claim_follows_and_goes() {
    let world = World::new(&["example"]);
    world.cluster.put("a", &["x.example A 192.0.2.1"]);
    let engine = world.start().await;
    rest(&engine).await;
    assert_eq!(world.sim.all(), [format!("a-x.example 0 TXT {}", claim("a")), "x.example 0 A 192.0.2.1".to_owned()]);
    world.cluster.put("a", &["x.example A 192.0.2.2 192.0.2.3"]);
    rest(&engine).await;
    assert_eq!(world.sim.records(), ["x.example A 192.0.2.2 ; 192.0.2.3"]);
    world.cluster.put("a", &["x.example CNAME lb.test"]);
    rest(&engine).await;
    assert_eq!(
        world.sim.all(),
        [format!("cname-x.example 0 TXT {}", claim("a")), "x.example 0 CNAME lb.test.".to_owned()]
    );
    world.cluster.delete("a");
    rest(&engine).await;
    assert!(world.sim.all().is_empty());
    assert!(world.reports.has("a", "RecordReady"));
}

/// What is adopted becomes what is wanted at once: its TTL, and its value where it held a place.
#[tokio::test(start_paused = true)]
async fn what_is_adopted_is_made_as_wanted() {
    let mut world = World::new(&["example"]);
    world.config.adopt = true;
    world.config.min_ttl = Ttl::from_secs(60);
    world.config.placeholders = vec![RData::A([203, 0, 113, 123].into())];
    world.sim.insert(&["x.example A 203.0.113.123", "y.example A 192.0.2.2", "z.example A 203.0.113.124"]);
    world.cluster.put("a", &["x.example A 192.0.2.1", "y.example A 192.0.2.2", "z.example A 192.0.2.3"]);
    let engine = world.start().await;
    rest(&engine).await;
    let records: Vec<String> = world.sim.all().into_iter().filter(|line| !line.contains(" TXT ")).collect();
    assert_eq!(records, ["x.example 60 A 192.0.2.1", "y.example 60 A 192.0.2.2", "z.example 0 A 203.0.113.124"]);
    engine.stop().await;
}

/// external-dns leaves the identifier out where the provider has none. What it published that way stays, with its claim.
#[tokio::test(start_paused = true)]
async fn where_sets_have_no_identifiers_an_object_with_one_asks_for_the_plain_set() {
    let world = World::new(&["example"]);
    world.sim.insert(&["x.example A 192.0.2.1", &format!("a-x.example TXT {}", claim("a"))]);
    let published = world.sim.all();
    world.cluster.put("a", &["set:blue", "x.example A 192.0.2.1"]);
    world.cluster.put("b", &["set:green", "x.example A 192.0.2.2"]);
    let engine = world.start().await;
    rest(&engine).await;
    assert_eq!(world.sim.all(), published);
    assert!(world.reports.has("a", "SetIdentifierIgnored") && world.reports.has("b", "SetIdentifierIgnored"));
    assert!(world.reports.has("b", "NameConflict") && !world.reports.has("a", "NameConflict"));
}

#[tokio::test(start_paused = true)]
async fn one_two_objects_ask_and_always_the_same_one_gets_it() {
    for _ in 0..5 {
        let world = World::new(&["example"]);
        world.cluster.put("b", &["x.example A 192.0.2.2"]);
        world.cluster.put("a", &["x.example A 192.0.2.1"]);
        let engine = world.start().await;
        rest(&engine).await;
        assert_eq!(world.sim.records(), ["x.example A 192.0.2.1"]);
        assert!(world.reports.has("b", "NameConflict") && !world.reports.has("a", "NameConflict"));
    }
}

#[tokio::test(start_paused = true)]
async fn two_the_holder_keeps_the_name_while_both_stay() {
    let world = World::new(&["example"]);
    world.cluster.put("b", &["x.example A 192.0.2.2"]);
    let engine = world.start().await;
    rest(&engine).await;
    world.cluster.put("a", &["x.example A 192.0.2.1"]);
    rest(&engine).await;
    assert_eq!(world.sim.records(), ["x.example A 192.0.2.2"]);
    engine.stop().await;
    let engine = world.start().await;
    rest(&engine).await;
    assert_eq!(world.sim.records(), ["x.example A 192.0.2.2"], "also after a restart");
}

#[tokio::test(start_paused = true)]
async fn three_the_record_follows_its_holder() {
    let world = World::new(&["example"]);
    world.cluster.put("b", &["x.example A 192.0.2.2"]);
    let engine = world.start().await;
    rest(&engine).await;
    world.cluster.put("a", &["x.example A 192.0.2.1"]);
    world.cluster.put("b", &["x.example A 192.0.2.22"]);
    rest(&engine).await;
    assert_eq!(world.sim.records(), ["x.example A 192.0.2.22"]);
}

#[tokio::test(start_paused = true)]
async fn four_one_resource_with_several_targets_is_one_record_set() {
    let world = World::new(&["example"]);
    world.cluster.put("a", &["x.example A 192.0.2.9 192.0.2.1 192.0.2.5"]);
    let engine = world.start().await;
    rest(&engine).await;
    assert_eq!(world.sim.records(), ["x.example A 192.0.2.1 ; 192.0.2.5 ; 192.0.2.9"]);
    assert_eq!(world.sim.calls().1, 1);
}

#[tokio::test(start_paused = true)]
async fn the_holder_goes_and_the_other_takes_over_by_an_update() {
    let world = World::new(&["example"]);
    world.cluster.put("b", &["x.example A 192.0.2.2"]);
    let engine = world.start().await;
    rest(&engine).await;
    world.cluster.put("a", &["x.example A 192.0.2.1"]);
    rest(&engine).await;
    let before = world.sim.calls().1;
    world.cluster.delete("b");
    rest(&engine).await;
    assert_eq!(world.sim.all(), [format!("a-x.example 0 TXT {}", claim("a")), "x.example 0 A 192.0.2.1".to_owned()]);
    assert_eq!(world.sim.calls().1, before + 1, "one write, without a gap");
    let change = &engine.recent_changes().last(1)[0];
    assert!(change.changes[0].starts_with("~ x.example A 192.0.2.1"), "{:?}", change.changes);
}

#[tokio::test(start_paused = true)]
async fn on_incomplete_evidence_nobody_takes_over_and_nothing_shrinks() {
    let world = World::new(&["example"]);
    world.cluster.put("b", &["x.example A 192.0.2.2 192.0.2.3"]);
    world.cluster.put("c", &["y.example A 192.0.2.7"]);
    let engine = world.start().await;
    rest(&engine).await;
    world.cluster.trust(false, true);
    world.cluster.put("a", &["x.example A 192.0.2.1"]);
    world.cluster.vanish("b");
    world.cluster.vanish("c");
    rest(&engine).await;
    assert_eq!(world.sim.records(), ["x.example A 192.0.2.1 ; 192.0.2.2 ; 192.0.2.3", "y.example A 192.0.2.7"]);
    world.cluster.trust(true, false);
    after(&engine, Duration::from_mins(5)).await;
    assert_eq!(world.sim.records().len(), 2);
    world.cluster.trust(true, true);
    rest(&engine).await;
    assert_eq!(world.sim.records(), ["x.example A 192.0.2.1"]);
}

#[tokio::test(start_paused = true)]
async fn a_blank_status_keeps_the_record_for_its_grace() {
    let world = World::new(&["example"]);
    world.cluster.put("a", &["x.example A 192.0.2.1"]);
    let engine = world.start().await;
    rest(&engine).await;
    world.cluster.put("a", &["pending:x.example"]);
    after(&engine, Duration::from_mins(4)).await;
    assert_eq!(world.sim.records(), ["x.example A 192.0.2.1"]);
    assert!(world.reports.has("a", "PendingTargets"));
    after(&engine, Duration::from_mins(2)).await;
    assert!(world.sim.records().is_empty());
}

/// Fewer domains, fewer record types: what falls outside is left alone. Fewer objects: what nobody asks for goes.
#[tokio::test(start_paused = true)]
async fn what_is_out_of_scope_stays_and_what_nobody_asks_for_goes() {
    let narrow: [fn(&mut World); 3] = [
        |world| world.config.filter = DomainFilter::new(&["x.example".to_owned()], &[], "", "").unwrap(),
        |world| world.config.managed = [RecordType::A].into(),
        |world| world.cluster.vanish("b"),
    ];
    for (at, narrow) in narrow.into_iter().enumerate() {
        let mut world = World::new(&["example"]);
        world.cluster.put("a", &["x.example A 192.0.2.1"]);
        world.cluster.put("b", &["y.example AAAA ::1"]);
        let engine = world.start().await;
        rest(&engine).await;
        engine.stop().await;
        narrow(&mut world);
        let engine = world.start().await;
        rest(&engine).await;
        after(&engine, Duration::from_mins(10)).await;
        let out_of_scope = at < 2;
        assert_eq!(world.sim.records().len(), if out_of_scope { 2 } else { 1 });
        let line = format!("zonewright_released_records{{zone=\"sim/example\"}} {}", u8::from(out_of_scope));
        assert!(engine.metrics().text().contains(&line), "{line}");
        engine.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn retained_records_outlive_their_object_even_over_a_restart() {
    let world = World::new(&["example"]);
    world.cluster.put("a", &["x.example A 192.0.2.1", "policy:retain"]);
    world.cluster.put("b", &["y.example A 192.0.2.1"]);
    let engine = world.start().await;
    rest(&engine).await;
    engine.stop().await;
    world.cluster.delete("a");
    world.cluster.delete("b");
    let engine = world.start().await;
    rest(&engine).await;
    assert_eq!(world.sim.records(), ["x.example A 192.0.2.1"]);
}

#[tokio::test(start_paused = true)]
async fn an_inherited_union_is_kept_until_nobody_asks() {
    let world = World::new(&["example"]);
    world.sim.insert(&["x.example A 192.0.2.1 192.0.2.2"]);
    world.sim.insert(&[
        "a-x.example TXT \"heritage=external-dns,external-dns/owner=me,external-dns/resource=service/ns/a\"",
    ]);
    world.cluster.put("a", &["x.example A 192.0.2.1"]);
    world.cluster.put("b", &["x.example A 192.0.2.2"]);
    let engine = world.start().await;
    rest(&engine).await;
    assert_eq!(world.sim.records(), ["x.example A 192.0.2.1 ; 192.0.2.2"]);
    assert!(world.reports.has("a", "InheritedUnion"));
    world.cluster.delete("b");
    rest(&engine).await;
    assert_eq!(world.sim.records(), ["x.example A 192.0.2.1"]);
    world.cluster.put("b", &["x.example A 192.0.2.2"]);
    rest(&engine).await;
    assert_eq!(world.sim.records(), ["x.example A 192.0.2.1"], "what this process wrote is no inheritance");
    world.sim.insert(&["x.example A 192.0.2.1 192.0.2.2"]);
    after(&engine, Duration::from_mins(2)).await;
    assert_eq!(world.sim.records(), ["x.example A 192.0.2.1"], "nor is what comes after the first reading");
}

#[tokio::test(start_paused = true)]
async fn a_lost_record_is_created_again_under_its_standing_claim() {
    let world = World::new(&["example"]);
    world.cluster.put("a", &["x.example A 192.0.2.1"]);
    let engine = world.start().await;
    rest(&engine).await;
    let before = world.sim.all();
    world.sim.remove(&crate::sim::set("x.example A 192.0.2.1").key);
    after(&engine, Duration::from_mins(2)).await;
    assert_eq!(world.sim.all(), before);
}

#[tokio::test(start_paused = true)]
async fn a_name_outside_every_zone_is_reported() {
    let world = World::new(&["example"]);
    world.cluster.put("a", &["x.other A 192.0.2.1"]);
    let engine = world.start().await;
    rest(&engine).await;
    assert!(world.reports.has("a", "NoMatchingZone"));
}

#[tokio::test(start_paused = true)]
async fn a_denied_name_is_reported_and_holds_nothing() {
    struct NoA;
    impl NamePolicy for NoA {
        fn permit(&self, endpoint: &Endpoint) -> Result<(), Denied> {
            if &*endpoint.origin.object.name == "a" { Err(Denied("not yours".to_owned())) } else { Ok(()) }
        }
    }
    let mut world = World::new(&["example"]);
    world.name_policy = Arc::new(NoA);
    world.cluster.put("a", &["x.example A 192.0.2.1"]);
    world.cluster.put("b", &["x.example A 192.0.2.2"]);
    let engine = world.start().await;
    rest(&engine).await;
    assert_eq!(world.sim.records(), ["x.example A 192.0.2.2"]);
    assert!(world.reports.has("a", "Denied"));
}

/// A name that is denied later is unmet, not unwanted: what is published stays, and nothing new is written.
#[tokio::test(start_paused = true)]
async fn what_is_published_stays_when_its_name_is_denied() {
    struct Closed;
    impl NamePolicy for Closed {
        fn permit(&self, _: &Endpoint) -> Result<(), Denied> {
            Err(Denied("closed".to_owned()))
        }
    }
    let mut world = World::new(&["example"]);
    world.cluster.put("a", &["x.example A 192.0.2.1"]);
    let engine = world.start().await;
    rest(&engine).await;
    engine.stop().await;
    let before = world.sim.all();
    world.name_policy = Arc::new(Closed);
    world.cluster.put("a", &["x.example A 192.0.2.7", "y.example A 192.0.2.7"]);
    let engine = world.start().await;
    after(&engine, Duration::from_mins(5)).await;
    assert_eq!(world.sim.all(), before);
    assert!(world.reports.has("a", "Denied"));
    world.cluster.delete("a");
    after(&engine, Duration::from_mins(2)).await;
    assert_eq!(world.sim.records(), [""; 0], "its object is gone");
}

#[tokio::test(start_paused = true)]
async fn metrics_count_what_is_asked_published_and_left_alone() {
    let world = World::new(&["example"]);
    world.sim.insert(&["y.example A 203.0.113.1"]);
    world.cluster.put("a", &["x.example A 192.0.2.1", "y.example A 192.0.2.1"]);
    let engine = world.start().await;
    after(&engine, Duration::from_mins(2)).await;
    let text = engine.metrics().text();
    for line in [
        "external_dns_source_records{record_type=\"a\"} 2",
        "external_dns_registry_records{record_type=\"a\"} 2",
        "external_dns_registry_records{record_type=\"txt\"} 1",
        "external_dns_controller_verified_records{record_type=\"a\"} 2",
        "external_dns_registry_skipped_records_owner_mismatch_per_sync{record_type=\"a\",owner=\"me\",foreign_owner=\"\",domain=\"y.example\"} 1",
        "zonewright_owned_records{zone=\"sim/example\"} 1",
        "zonewright_zone_ready{zone=\"sim/example\"} 1",
    ] {
        assert!(text.contains(line), "{line} is missing in\n{text}");
    }
    world.cluster.put("a", &["x.example A 192.0.2.1"]);
    rest(&engine).await;
    assert!(!engine.metrics().text().contains("domain=\"y.example\"}"), "labels hold names of users: they go");
}

/// A claim on a zone's apex may stand in the zone above; where it goes, the apex is planned again, in its own zone.
#[tokio::test(start_paused = true)]
async fn a_claim_in_the_zone_above_is_watched() {
    let world = World::new(&["example", "sub.example"]);
    world.cluster.put("a", &["sub.example A 192.0.2.1"]);
    let engine = world.start().await;
    rest(&engine).await;
    let foreign = "a-sub.example TXT \"heritage=external-dns,external-dns/owner=other\"";
    world.sim.insert(&[foreign]);
    after(&engine, Duration::from_mins(2)).await;
    world.cluster.delete("a");
    after(&engine, Duration::from_mins(2)).await;
    assert_eq!(world.sim.records(), ["sub.example A 192.0.2.1"], "it is disputed");
    world.sim.remove(&crate::sim::set(foreign).key);
    after(&engine, Duration::from_mins(2)).await;
    assert_eq!(world.sim.records(), [""; 0]);
}

/// Where a CNAME gives way to several types and one of them cannot come, the others do.
#[tokio::test(start_paused = true)]
async fn one_type_that_cannot_come_keeps_no_other_back() {
    let world = World::new(&["example"]);
    world.sim.insert(&["aaaa-x.example TXT \"heritage=external-dns,external-dns/owner=other\""]);
    world.cluster.put("a", &["x.example CNAME y.test"]);
    let engine = world.start().await;
    rest(&engine).await;
    world.cluster.put("a", &["x.example A 192.0.2.1", "x.example AAAA 2001:db8::1"]);
    rest(&engine).await;
    assert_eq!(world.sim.records(), ["x.example A 192.0.2.1"]);
    assert!(world.reports.has("a", "ForeignClaim"));
}

/// What was just made at a name may decide who holds it: what is left undone there is looked at once more, as a fresh process would.
#[tokio::test(start_paused = true)]
async fn who_holds_a_name_is_decided_anew_when_something_was_made_there() {
    let world = World::new(&["example"]);
    // The older one may not create anything; the other one comes to hold the name by its AAAA.
    world.cluster.put("a", &["x.example A 192.0.2.1", "policy:frozen"]);
    world.cluster.put("b", &["x.example A 192.0.2.2", "x.example AAAA 2001:db8::2"]);
    let engine = world.start().await;
    rest(&engine).await;
    engine.stop().await;
    let standing = world.sim.records();
    assert_eq!(standing, ["x.example A 192.0.2.2", "x.example AAAA 2001:db8::2"]);
    let engine = world.start().await;
    rest(&engine).await;
    assert_eq!(world.sim.records(), standing, "a fresh process finds nothing to do");
}

/// The same where nothing is left undone: what went was that by which an object held the name.
#[tokio::test(start_paused = true)]
async fn who_holds_a_name_is_decided_anew_when_something_went_there() {
    let world = World::new(&["example"]);
    let engine = world.start().await;
    world.cluster.put("d", &["x.example AAAA 2001:db8::1", "ttl:60"]);
    rest(&engine).await;
    world.cluster.put("c", &["x.example A 192.0.2.1"]);
    rest(&engine).await;
    world.cluster.put("b", &["x.example AAAA 2001:db8::2", "ttl:600"]);
    rest(&engine).await;
    // What is added goes through while the view is in doubt, what goes waits.
    world.cluster.trust(false, true);
    world.cluster.put("d", &["y.example A 192.0.2.4"]);
    rest(&engine).await;
    engine.stop().await;
    world.cluster.put("c", &["x.example AAAA 2001:db8::1", "ttl:60"]);
    let engine = world.start().await;
    rest(&engine).await;
    assert_eq!(world.sim.records().len(), 3, "A and AAAA of x.example, and y.example");
    world.cluster.trust(true, true);
    rest(&engine).await;
    engine.stop().await;
    let standing = world.sim.all();
    let engine = world.start().await;
    rest(&engine).await;
    assert_eq!(world.sim.all(), standing, "a fresh process finds nothing to do");
}
