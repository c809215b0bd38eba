//! A provider of the kind that clouds are: pages, throttling, aliases, weights, several accounts.

use std::sync::Arc;
use std::time::Duration;

use zonewright_conformance::cloud::{Cloud, CloudAccount, OPTIONS};
use zonewright_conformance::provider::{Fault, Service as _};
use zonewright_core::record::{Routing, SetId};
use zonewright_core::zone::InstanceId;
use zonewright_core::{RecordKey, RecordSet, RecordType};
use zonewright_engine::{Engine, Instance};
use zonewright_registry::txt::{TxtConfig, TxtRegistry};

use crate::sim::{World, after, name, rest, set};

/// An instance of its own account, with its zone.
fn cloud(id: &str, zone: &str) -> (Arc<Cloud>, Arc<CloudAccount>, Instance) {
    instance_of(id, zone, |cloud| cloud)
}

fn instance_of(id: &str, zone: &str, made: impl FnOnce(Cloud) -> Cloud) -> (Arc<Cloud>, Arc<CloudAccount>, Instance) {
    let account = Arc::new(CloudAccount::default());
    let cloud = Arc::new(made(Cloud::new(id, &name(zone), &account)));
    let registry = TxtRegistry::new(TxtConfig { prefix: "zw-".to_owned(), ..TxtConfig::new("me").unwrap() }).unwrap();
    let bare = Instance::new(InstanceId::from(id), cloud.clone(), Arc::new(registry));
    let instance = Instance { options: OPTIONS.into(), ..bare };
    (cloud, account, instance)
}

/// What stands but for claims: key, data and weight.
fn shown(cloud: &Cloud) -> Vec<String> {
    let records = cloud.dump().into_iter().filter(|set| set.key.rtype != RecordType::Txt);
    records.map(|set| format!("{} {}", set.key, set.data)).collect()
}

async fn start(world: &World, instances: Vec<Instance>) -> Engine {
    world.start_instances(instances).await
}

#[tokio::test(start_paused = true)]
async fn a_throttled_page_costs_that_page_alone() {
    let (cloud, account, instance) = cloud("one", "example");
    for i in 0..9 {
        cloud.insert(set(&format!("foreign{i}.example A 192.0.2.{i}")));
    }
    // The list of zones, two pages, and then nothing for longer than a call is repeated.
    account.throttle([3, 4, 5, 6]);
    let world = World::new(&[]);
    let engine = start(&world, vec![instance]).await;
    let outcome = after(&engine, Duration::from_secs(30)).await;
    assert!(outcome.failures().is_empty(), "{:?}", outcome.failures());
    assert_eq!(account.requests(), 1 + 5 + 4, "one list of zones, each of five pages once, and the throttled requests");
    engine.stop().await;
}

#[tokio::test(start_paused = true)]
async fn audits_of_all_zones_share_a_part_of_the_rate() {
    let audited = |pace| async move {
        let (cloud, account, instance) = instance_of("one", "example", |cloud| cloud.with_twin().audited_at(pace));
        for i in 0..3 {
            cloud.insert(set(&format!("foreign{i}.example A 192.0.2.{i}")));
        }
        let world = World::new(&[]);
        world.cluster.put("www", &["www.example A 192.0.2.1"]);
        let engine = start(&world, vec![instance]).await;
        rest(&engine).await;
        let before = account.reads();
        after(&engine, Duration::from_hours(1)).await;
        let reads = account.reads() - before;
        // A change waits for no audit.
        world.cluster.put("www", &["www.example A 192.0.2.2"]);
        rest(&engine).await;
        assert!(shown(&cloud).contains(&"www.example A 192.0.2.2".to_owned()), "{:?}", shown(&cloud));
        engine.stop().await;
        reads
    };
    // Two zones, of three pages and one.
    let free = audited(Duration::ZERO).await;
    assert!((200..=260).contains(&free), "a minute apart: {free}");
    let paced = audited(Duration::from_secs(100)).await;
    assert!((30..=37).contains(&paced), "a page each hundred seconds: {paced}");
}

#[tokio::test(start_paused = true)]
async fn a_host_name_at_the_apex_is_an_alias() {
    let (cloud, _, instance) = cloud("one", "example");
    let world = World::new(&[]);
    world.cluster.put("lb", &["example CNAME LB.test"]);
    world.cluster.put("mail", &["mail.example A 192.0.2.25"]);
    let engine = start(&world, vec![instance]).await;
    rest(&engine).await;
    let expected = ["example A alias of lb.test.", "example AAAA alias of lb.test.", "mail.example A 192.0.2.25"];
    assert_eq!(shown(&cloud), expected);
    assert!(!world.reports.has("lb", "CnameAtApex"));
    // Converged: nothing is written again.
    let before = cloud.dump();
    after(&engine, Duration::from_mins(30)).await;
    assert_eq!(cloud.dump(), before);
    engine.stop().await;
}

#[tokio::test(start_paused = true)]
async fn who_holds_a_name_keeps_it_as_cname_alias_and_address() {
    let (cloud, _, instance) = cloud("one", "example");
    let world = World::new(&[]);
    world.cluster.put("z", &["www.example CNAME lb.test"]);
    let engine = start(&world, vec![instance]).await;
    rest(&engine).await;
    // An older object asks for it too.
    world.cluster.put("a", &["www.example A 192.0.2.1"]);
    rest(&engine).await;
    assert_eq!(shown(&cloud), ["www.example CNAME lb.test."]);
    world.cluster.put("z", &["www.example CNAME lb.test", "prop:alias=true"]);
    rest(&engine).await;
    assert_eq!(shown(&cloud), ["www.example A alias of lb.test.", "www.example AAAA alias of lb.test."]);
    world.cluster.put("z", &["www.example A 192.0.2.9"]);
    rest(&engine).await;
    assert_eq!(shown(&cloud), ["www.example A 192.0.2.9"]);
    world.cluster.put("z", &["www.example CNAME lb.test", "prop:alias=true"]);
    rest(&engine).await;
    world.cluster.put("z", &["www.example CNAME other.test"]);
    rest(&engine).await;
    assert_eq!(shown(&cloud), ["www.example CNAME other.test."]);
    world.cluster.delete("z");
    rest(&engine).await;
    assert_eq!(shown(&cloud), ["www.example A 192.0.2.1"], "the other one has it when nobody else asks");
    engine.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_name_changes_between_simple_and_weighted_sets() {
    let (cloud, _, instance) = cloud("one", "example");
    let world = World::new(&[]);
    world.cluster.put("a", &["www.example A 192.0.2.1"]);
    let engine = start(&world, vec![instance]).await;
    rest(&engine).await;
    assert_eq!(shown(&cloud), ["www.example A 192.0.2.1"]);
    // A second object with a weight does not take the name from the first.
    world.cluster.put("b", &["www.example A 192.0.2.2", "set:green", "prop:cloud/weight=20"]);
    rest(&engine).await;
    assert_eq!(shown(&cloud), ["www.example A 192.0.2.1"]);
    assert!(world.reports.has("b", "RoutingConflict"));
    // The holder changes to a weight: all sets change in one call.
    world.cluster.put("a", &["www.example A 192.0.2.1", "set:blue", "prop:cloud/weight=10"]);
    rest(&engine).await;
    assert_eq!(shown(&cloud), ["www.example A (blue) 192.0.2.1", "www.example A (green) 192.0.2.2"]);
    let claims: Vec<_> = cloud.dump().into_iter().filter(|set| set.key.name.as_str().starts_with("zw-")).collect();
    let routed = |id: &str| {
        claims.iter().any(|c| c.key.set_id.as_ref().is_some_and(|i| i.as_str() == id) && !c.routing.is_simple())
    };
    assert!(claims.len() == 2 && routed("blue") && routed("green"), "claims are routed as their records: {claims:?}");
    world.cluster.delete("b");
    rest(&engine).await;
    world.cluster.put("a", &["www.example A 192.0.2.1"]);
    rest(&engine).await;
    assert_eq!(shown(&cloud), ["www.example A 192.0.2.1"]);
    engine.stop().await;
}

#[tokio::test(start_paused = true)]
async fn sets_of_another_owner_are_not_exchanged() {
    let (cloud, _, instance) = cloud("one", "example");
    let foreign = set("www.example A 198.51.100.1");
    cloud.insert(foreign.clone());
    let world = World::new(&[]);
    world.cluster.put("a", &["www.example A 192.0.2.1", "set:blue", "prop:cloud/weight=10"]);
    let engine = start(&world, vec![instance]).await;
    rest(&engine).await;
    assert_eq!(cloud.dump(), [foreign]);
    assert!(world.reports.has("a", "ForeignRecord"));
    engine.stop().await;
}

#[tokio::test(start_paused = true)]
async fn one_set_that_cannot_be_adjusted_is_refused_alone() {
    let (cloud, _, instance) = cloud("one", "example");
    let world = World::new(&[]);
    world.cluster.put("a", &["a.example A 192.0.2.1"]);
    let engine = start(&world, vec![instance]).await;
    rest(&engine).await;
    world.cluster.put("a", &["a.example A 192.0.2.9", "prop:cloud/tier=closed"]);
    world.cluster.put("b", &["b.example A 192.0.2.2", "prop:cloud/tier=b"]);
    rest(&engine).await;
    assert_eq!(shown(&cloud), ["a.example A 192.0.2.1", "b.example A 192.0.2.2"], "what is published stays");
    assert!(world.reports.has("a", "RecordUnsupported") && !world.reports.has("b", "RecordUnsupported"));
    engine.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_object_may_name_the_zone() {
    let (cloud, _, instance) = cloud("one", "example");
    let world = World::new(&[]);
    world.cluster.put("a", &["a.example A 192.0.2.1", "prop:cloud/zone=Z-one"]);
    world.cluster.put("b", &["b.example A 192.0.2.2", "prop:cloud/zone=Z-none"]);
    let engine = start(&world, vec![instance]).await;
    rest(&engine).await;
    assert_eq!(shown(&cloud), ["a.example A 192.0.2.1"]);
    assert!(world.reports.has("b", "UnknownZone") && !world.reports.has("a", "UnknownZone"));
    // A zone that is none is a mistake, and takes nothing away.
    world.cluster.put("a", &["a.example A 192.0.2.9", "prop:cloud/zone=Z-none"]);
    rest(&engine).await;
    assert_eq!(shown(&cloud), ["a.example A 192.0.2.1"]);
    assert!(world.reports.has("a", "UnknownZone"));
    engine.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_account_that_is_throttled_holds_up_no_other() {
    let ((one, quiet, first), (two, busy, second)) = (cloud("one", "one.test"), cloud("two", "two.test"));
    busy.throttle(0..10_000);
    let world = World::new(&[]);
    world.cluster.put("a", &["a.one.test A 192.0.2.1"]);
    world.cluster.put("b", &["b.two.test A 192.0.2.2"]);
    let engine = start(&world, vec![first, second]).await;
    after(&engine, Duration::from_mins(2)).await;
    assert_eq!((shown(&one), shown(&two)), (vec!["a.one.test A 192.0.2.1".to_owned()], vec![]));
    assert!(quiet.requests() < 20 && busy.requests() < 60, "{} and {}", quiet.requests(), busy.requests());
    engine.stop().await;
}

/// Twenty pages at five requests a second: over before anything that was asked for at the start is looked up by itself.
#[tokio::test(start_paused = true)]
async fn a_start_at_a_zone_of_a_few_pages_reads_them_and_nothing_else() {
    let (cloud, account, instance) = instance_of("one", "example", |cloud| cloud.paced(30, Duration::from_millis(200)));
    for i in 0..600 {
        cloud.insert(set(&format!("foreign{i}.example A 192.0.2.1")));
    }
    let world = World::new(&[]);
    for i in 0..50 {
        world.cluster.put(&format!("o{i}"), &[&format!("foreign{i}.example A 192.0.2.1")]);
    }
    let engine = start(&world, vec![instance]).await;
    while !engine.health().is_ready() {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    // The list of zones, and the pages.
    assert_eq!(account.requests(), 1 + 20);
    engine.stop().await;
}

/// Three hundred pages at five requests a second: a listing of a minute, as that of 90,000 record sets in pages of 300.
#[tokio::test(start_paused = true)]
async fn names_are_served_while_a_large_zone_is_listed() {
    let (cloud, account, instance) = instance_of("one", "example", |cloud| cloud.paced(30, Duration::from_millis(200)));
    for i in 0..9_000 {
        cloud.insert(set(&format!("foreign{i}.example A 192.0.2.1")));
    }
    cloud.insert(set("taken.example A 198.51.100.1"));
    let world = World::new(&[]);
    world.cluster.put("a", &["a.example A 192.0.2.1"]);
    world.cluster.put("t", &["taken.example A 192.0.2.3"]);
    let engine = start(&world, vec![instance]).await;
    let began = tokio::time::Instant::now();
    let stands = |wanted: &str| cloud.dump().iter().any(|set| set.key.name == name(wanted));
    let mut times = Vec::new();
    for (wanted, lines) in [("a.example", None), ("later.example", Some(["later.example A 192.0.2.2"]))] {
        if let Some(lines) = lines {
            tokio::time::sleep(Duration::from_secs(20)).await;
            world.cluster.put("later", &lines);
        }
        let asked = tokio::time::Instant::now();
        while !stands(wanted) {
            tokio::time::sleep(Duration::from_millis(50)).await;
            assert!(asked.elapsed() < Duration::from_secs(30), "{wanted} is not served");
        }
        times.push(asked.elapsed().as_secs_f64());
    }
    assert!(times[0] < 6.0 && times[1] < 2.0, "seconds until the first create, and until a later one: {times:?}");
    assert!(!engine.health().is_ready(), "the zone is still being listed");
    // A delete waits for the whole view, and then needs no approval: its event was kept.
    world.cluster.delete("a");
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert!(stands("a.example"));
    while !engine.health().is_ready() {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let (requests, took) = (account.requests(), began.elapsed());
    eprintln!(
        "first create after {:.1} s, a later one after {:.1} s; listed after {took:.0?}, {requests} requests",
        times[0], times[1]
    );
    rest(&engine).await;
    assert!(!stands("a.example") && stands("later.example"));
    assert_eq!(
        cloud.dump().iter().find(|s| s.key.name == name("taken.example")),
        Some(&set("taken.example A 198.51.100.1"))
    );
    assert!(world.reports.has("t", "ForeignRecord"));
    let pages = 301;
    assert!(requests > pages && requests < pages * 5 / 4 + 20, "{requests} requests in {took:?}");
    engine.stop().await;
}

/// What shall take the place of a simple record has a weight and cannot be written: the record stays.
#[tokio::test(start_paused = true)]
async fn a_set_of_another_kind_that_cannot_be_written_takes_nothing_away() {
    let (cloud, _, instance) = cloud("one", "example");
    let world = World::new(&[]);
    world.cluster.put("a", &["www.example A 192.0.2.1"]);
    let engine = start(&world, vec![instance]).await;
    rest(&engine).await;
    for wanted in ["www.example A 192.0.2.2", "www.example CNAME lb.test"] {
        world.cluster.put("a", &[wanted, "set:blue", "prop:cloud/weight=10", "prop:cloud/tier=closed"]);
        after(&engine, Duration::from_hours(1)).await;
        assert_eq!(shown(&cloud), ["www.example A 192.0.2.1"], "{wanted}");
        assert!(world.reports.has("a", "RecordUnsupported"));
    }
    engine.stop().await;
}

/// Somebody deletes a weighted set by hand, and its claim stays behind; the object asks for the simple record then. The service takes no
/// claim without a weight beside that one.
#[tokio::test(start_paused = true)]
async fn a_claim_that_was_left_behind_gives_way_to_one_of_another_kind() {
    let (cloud, _, instance) = cloud("one", "example");
    let world = World::new(&[]);
    world.cluster.put("a", &["www.example A 192.0.2.1", "set:blue", "prop:cloud/weight=10"]);
    let engine = start(&world, vec![instance]).await;
    rest(&engine).await;
    world.cluster.put("a", &["other.example A 192.0.2.1", "set:blue", "prop:cloud/weight=10"]);
    let plain = set("www.example A 192.0.2.1").key;
    cloud.remove(&RecordKey { set_id: SetId::new("blue"), ..plain });
    after(&engine, Duration::from_mins(5)).await;
    assert!(cloud.dump().iter().any(|set| set.key.name == name("zw-a-www.example")), "its claim is left behind");
    world.cluster.put("a", &["www.example A 192.0.2.1"]);
    after(&engine, Duration::from_mins(1)).await;
    assert_eq!(shown(&cloud), ["www.example A 192.0.2.1"]);
    let claims: Vec<_> = cloud.dump().into_iter().filter(|set| set.key.name == name("zw-a-www.example")).collect();
    assert!(matches!(claims.as_slice(), [claim] if claim.key.set_id.is_none()), "{claims:?}");
    engine.stop().await;
}

/// The claim of a simple record was left behind, and two objects ask for weighted sets there: each of them would take it away, and both
/// come to stand.
#[tokio::test(start_paused = true)]
async fn a_claim_that_was_left_behind_is_in_the_way_of_two() {
    let (cloud, _, instance) = cloud("one", "example");
    let world = World::new(&[]);
    world.cluster.put("a", &["www.example A 192.0.2.1"]);
    let engine = start(&world, vec![instance]).await;
    rest(&engine).await;
    world.cluster.put("a", &["other.example A 192.0.2.1"]);
    cloud.remove(&set("www.example A 192.0.2.1").key);
    after(&engine, Duration::from_mins(5)).await;
    world.cluster.put("b", &["www.example A 192.0.2.1", "set:blue", "prop:cloud/weight=10"]);
    world.cluster.put("c", &["www.example A 192.0.2.2", "set:green", "prop:cloud/weight=10"]);
    rest(&engine).await;
    let claims: Vec<_> = cloud.dump().into_iter().filter(|set| set.key.name == name("zw-a-www.example")).collect();
    assert!(
        matches!(claims.as_slice(), [one, other] if one.key.set_id.is_some() && other.key.set_id.is_some()),
        "{claims:?}"
    );
    assert_eq!(shown(&cloud).len(), 3);
    engine.stop().await;
}

/// A foreign claim stands where ours belongs, with a weight.
#[tokio::test(start_paused = true)]
async fn a_foreign_claim_of_another_kind_stays_and_is_reported_to_the_object() {
    let (cloud, _, instance) = cloud("one", "example");
    let theirs = set("zw-a-www.example TXT heritage=external-dns,external-dns/owner=them");
    let theirs = RecordSet {
        key: RecordKey { set_id: SetId::new("blue"), ..theirs.key.clone() },
        routing: Routing::Weighted { weight: 10 },
        ..theirs
    };
    cloud.insert(theirs.clone());
    let world = World::new(&[]);
    world.cluster.put("a", &["www.example A 192.0.2.1"]);
    let engine = start(&world, vec![instance]).await;
    after(&engine, Duration::from_mins(1)).await;
    assert_eq!(cloud.dump(), [theirs]);
    assert!(world.reports.has("a", "ClaimRefused"));
    engine.stop().await;
}

/// The same holds where the provider publishes what is asked for under other types: a host name as aliases. An approval that was not used
/// ends when the objects are back.
#[tokio::test(start_paused = true)]
async fn an_approval_of_aliases_ends_when_their_objects_come_back() {
    let (cloud, account, instance) = cloud("one", "example");
    let world = World::new(&[]);
    let put = || {
        for n in 0..30 {
            world.cluster.put(&format!("lb{n}"), &[&format!("n{n}.example CNAME lb.test"), "prop:alias=true"]);
        }
    };
    let vanish = || (0..30).for_each(|n| world.cluster.vanish(&format!("lb{n}")));
    world.cluster.put("stays", &["stays.example A 192.0.2.1"]);
    put();
    let engine = start(&world, vec![instance]).await;
    after(&engine, Duration::from_mins(10)).await;
    assert_eq!(shown(&cloud).len(), 61);
    vanish();
    rest(&engine).await;
    let hash = engine.plans()[0].1.hash.clone();
    // The service answers nothing until the objects are back.
    account.fail(0, Fault::Broken, usize::MAX);
    engine.approve(&hash).unwrap();
    after(&engine, Duration::from_mins(2)).await;
    put();
    after(&engine, Duration::from_secs(1)).await;
    account.heal();
    after(&engine, Duration::from_mins(20)).await;
    let written = cloud.dump();
    assert_eq!(shown(&cloud).len(), 61);
    vanish();
    after(&engine, Duration::from_mins(5)).await;
    assert_eq!(cloud.dump(), written, "{:?}", engine.plans());
    engine.stop().await;
}
