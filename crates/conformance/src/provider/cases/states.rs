//! Walks through states: whatever is asked for is there afterwards, and a second plan is empty.

use zonewright_core::capability::{RoutingKind, RoutingSupport};
use zonewright_core::change::{Change, Group, Outcome, Step};
use zonewright_core::error::ErrorKind;
use zonewright_core::record::{AliasTarget, Geolocation, Item, RecordData, Routing, SetId};
use zonewright_core::{RecordSet, RecordType};

use crate::provider::Harness;
use crate::provider::specimen::{of_type, texts};
use crate::provider::walk::{Walk, create, group};
use crate::run::note;

const A: RecordType = RecordType::A;

/// Every declared type is created, updated and deleted, and reads back as it was written.
pub async fn every_type_is_written_and_read_back(harness: &dyn Harness) {
    let mut walk = Walk::start(harness).await;
    let types: Vec<RecordType> = RecordType::WRITABLE.into_iter().filter(|rtype| walk.writes(*rtype)).collect();
    assert!(!types.is_empty(), "the provider declares no type");
    let state = |walk: &Walk<'_>, second: bool| -> Vec<RecordSet> {
        let set = |rtype: &RecordType| {
            let (label, one, two) = of_type(*rtype);
            walk.set(label, *rtype, 120, if second { two } else { one })
        };
        types.iter().map(set).collect()
    };
    walk.reach(&state(&walk, false)).await;
    walk.reach(&state(&walk, true)).await;
    walk.reach(&state(&walk, false)).await;
    walk.reach(&[]).await;
}

/// A TTL alone is an update.
pub async fn ttl_changes(harness: &dyn Harness) {
    let mut walk = Walk::start(harness).await;
    for ttl in [60, 3600, 86_400, 60, 300] {
        walk.reach(&[walk.set("ttl", A, ttl, &["192.0.2.1"]), walk.set("ttl", RecordType::Txt, ttl, &["\"x\""])]).await;
    }
    let unset = RecordSet { ttl: None, ..walk.set("unset", A, 60, &["192.0.2.1"]) };
    walk.reach(&[unset]).await;
    walk.reach(&[]).await;
}

/// A set that states no TTL, as claims do, is changed and taken away by what it states: its TTL is the default one.
pub async fn an_unset_ttl_is_the_default(harness: &dyn Harness) {
    let mut walk = Walk::start(harness).await;
    let unset = |text: &str| RecordSet { ttl: None, ..walk.set("unset", RecordType::Txt, 60, &[text]) };
    let (one, two) = (unset("\"one\""), unset("\"two\""));
    let changes = [
        Change::Create { to: one.clone() },
        Change::Update { from: one, to: two.clone() },
        Change::Delete { from: two },
    ];
    for change in changes {
        let shown = change.to_string();
        let stands = change.to().cloned();
        let outcomes = walk.apply(&[Group::of(Step::claim(change), vec![])]).await;
        assert!(matches!(outcomes.as_slice(), [Outcome::Applied]), "{shown}: {outcomes:?}");
        walk.resync().await;
        let name = walk.name("unset");
        let found = walk.list().await.into_values().find(|set| set.key.name == name);
        assert_eq!(found.as_ref().map(|set| &set.data), stands.as_ref().map(|set| &set.data), "{shown}");
    }
}

/// A set gains, loses and exchanges members.
pub async fn sets_grow_and_shrink(harness: &dyn Harness) {
    let mut walk = Walk::start(harness).await;
    for data in [
        ["192.0.2.1"].as_slice(),
        &["192.0.2.1", "192.0.2.2", "192.0.2.3"],
        &["192.0.2.3"],
        &["192.0.2.4", "192.0.2.5"],
        &["192.0.2.5", "192.0.2.6"],
    ] {
        walk.reach(&[walk.set("www", A, 60, data)]).await;
    }
    walk.reach(&[]).await;
}

/// Texts come back octet by octet.
pub async fn text_of_every_kind(harness: &dyn Harness) {
    let mut walk = Walk::start(harness).await;
    if !walk.writes(RecordType::Txt) {
        return note("TXT is not declared: no texts are written");
    }
    let all: Vec<RecordSet> =
        texts().iter().map(|(label, text)| walk.set(label, RecordType::Txt, 60, &[text.as_str()])).collect();
    walk.reach(&all).await;
    let two = walk.set("claim", RecordType::Txt, 60, &["\"v=spf1 -all\"", "\"second ; text\""]);
    walk.reach(&[two]).await;
    walk.reach(&[]).await;
}

/// Wildcards are written where they are declared, and refused where not.
pub async fn wildcards(harness: &dyn Harness) {
    let mut walk = Walk::start(harness).await;
    let star = walk.set("*", A, 60, &["192.0.2.1"]);
    if !walk.capability.wildcards {
        return walk.refused(create(&star), super::refusals::NOT_HERE).await;
    }
    let below = walk.set("*.sub", A, 60, &["192.0.2.2"]);
    let exact = walk.set("exact.sub", A, 60, &["192.0.2.3"]);
    walk.reach(&[star.clone(), below.clone()]).await;
    walk.reach(&[star, below, exact.clone()]).await;
    walk.reach(&[walk.set("*", A, 60, &["192.0.2.9"]), exact]).await;
    walk.reach(&[]).await;
}

/// Names as claims, service records and international hosts have them.
pub async fn unusual_names(harness: &dyn Harness) {
    let mut walk = Walk::start(harness).await;
    let long = "x".repeat(63);
    let labels = [
        "_acme-challenge.www",
        "under_score",
        "a-*",
        "cname-*.deep.er",
        "bücher",
        "xn--nxasmq6b",
        "ab--cd",
        "0",
        "10.20",
        "a.b.c.d.e.f.g.h.i.j",
        &long,
    ];
    let asterisks = walk.capability.asterisk_in_labels;
    let (starred, plain): (Vec<&str>, Vec<&str>) = labels.iter().partition(|label| label.contains('*') && !asterisks);
    let here = |label: &&str| walk.set(label, RecordType::Txt, 60, &["\"here\""]);
    let (starred, all): (Vec<RecordSet>, Vec<RecordSet>) =
        (starred.iter().map(here).collect(), plain.iter().map(here).collect());
    for set in starred {
        walk.refused(create(&set), super::refusals::NOT_HERE).await;
    }
    walk.reach(&all).await;
    walk.reach(&[]).await;
}

/// The apex takes records beside what it has.
pub async fn records_at_the_apex(harness: &dyn Harness) {
    let mut walk = Walk::start(harness).await;
    let mut sets = vec![walk.at_apex(A, 60, &["192.0.2.1"]), walk.at_apex(RecordType::Txt, 60, &["\"v=spf1 -all\""])];
    sets.retain(|set| walk.writes(set.key.rtype));
    walk.reach(&sets).await;
    walk.reach(&[walk.at_apex(A, 60, &["192.0.2.2"])]).await;
    walk.reach(&[]).await;
}

/// An address makes room for a CNAME and the other way round, in one group.
pub async fn an_address_becomes_a_cname_and_back(harness: &dyn Harness) {
    let mut walk = Walk::start(harness).await;
    if !walk.writes(RecordType::Cname) {
        return note("CNAME is not declared: no change of type");
    }
    let address = walk.set("www", A, 60, &["192.0.2.1"]);
    let alias = walk.set("www", RecordType::Cname, 60, &["target.example.net."]);
    let both = [address.clone(), walk.set("www", RecordType::Txt, 60, &["\"beside\""])];
    walk.reach(std::slice::from_ref(&address)).await;
    walk.reach(std::slice::from_ref(&alias)).await;
    walk.reach(&both).await;
    walk.reach(&[alias]).await;
    walk.reach(&[]).await;
}

/// More names than a page or a call holds.
pub async fn many_names(harness: &dyn Harness) {
    let mut walk = Walk::start(harness).await;
    let state = |walk: &Walk<'_>, changed: usize| -> Vec<RecordSet> {
        let data = |i: usize| if i < changed { "192.0.2.2" } else { "192.0.2.1" };
        (0..230).map(|i| walk.set(&format!("n{i:03}"), A, 60, &[data(i)])).collect()
    };
    walk.reach(&state(&walk, 0)).await;
    walk.reach(&state(&walk, 120)).await;
    walk.reach(&state(&walk, 0)[100..130]).await;
    walk.reach(&[]).await;
}

/// Several sets of one name and type live beside each other, and a changed weight is an update.
pub async fn weights(harness: &dyn Harness) {
    let mut walk = Walk::start(harness).await;
    if !has_weights(&walk) {
        return note("weights are not declared");
    }
    let (one, two) = (weighted(&walk, "one", 10, "192.0.2.1"), weighted(&walk, "two", 20, "192.0.2.2"));
    walk.reach(std::slice::from_ref(&one)).await;
    walk.reach(&[one, two.clone()]).await;
    walk.reach(&[weighted(&walk, "one", 30, "192.0.2.1"), two.clone()]).await;
    walk.reach(&[two]).await;
    walk.reach(&[]).await;
}

fn has_weights(walk: &Walk<'_>) -> bool {
    matches!(walk.capability.routing, RoutingSupport::PerSet(_)) && walk.capability.routing.has(RoutingKind::Weighted)
}

fn weighted(walk: &Walk<'_>, id: &str, weight: u32, data: &str) -> RecordSet {
    let mut set = walk.set("weighted", A, 60, &[data]);
    set.key.set_id = SetId::new(id);
    RecordSet { routing: Routing::Weighted { weight }, ..set }
}

/// The sets of a name change from a simple one to routed ones and back, all of them in one group.
pub async fn a_name_changes_between_simple_and_routed(harness: &dyn Harness) {
    let mut walk = Walk::start(harness).await;
    if !has_weights(&walk) {
        return note("weights are not declared");
    }
    let simple = walk.set("weighted", A, 60, &["192.0.2.1"]);
    let routed = [weighted(&walk, "one", 10, "192.0.2.1"), weighted(&walk, "two", 20, "192.0.2.2")];
    walk.reach(std::slice::from_ref(&simple)).await;
    walk.reach(&routed).await;
    walk.reach(&[simple]).await;
    walk.reach(&[]).await;
}

/// Items share one record set: they come, change and go, each time with the whole set, and the set goes with the last.
pub async fn items_share_one_record_set(harness: &dyn Harness) {
    let mut walk = Walk::start(harness).await;
    let RoutingSupport::InSet(kinds) = walk.capability.routing else {
        return note("items that share one record set are not declared");
    };
    if kinds.contains(&RoutingKind::Weighted) {
        let weight = |weight| Routing::Weighted { weight };
        let one = (weight(10), "192.0.2.1");
        walk.reach(&[items(&walk, std::slice::from_ref(&one))]).await;
        walk.reach(&[items(&walk, &[one.clone(), (weight(20), "192.0.2.2")])]).await;
        walk.reach(&[items(&walk, &[one, (weight(30), "192.0.2.2")])]).await;
        let simple = walk.set("items", A, 60, &["192.0.2.1"]);
        walk.reach(&[simple]).await;
        walk.reach(&[items(&walk, &[(weight(1), "192.0.2.1"), (weight(1), "192.0.2.2")])]).await;
        let stale = items(&walk, &[(weight(1), "192.0.2.1")]);
        walk.refused(group(Change::Delete { from: stale }), &[ErrorKind::Conflict]).await;
        walk.reach(&[]).await;
    }
}

/// Two items of one set cannot answer for one place.
pub async fn items_of_one_place_are_refused(harness: &dyn Harness) {
    let mut walk = Walk::start(harness).await;
    let RoutingSupport::InSet(kinds) = walk.capability.routing else {
        return note("items that share one record set are not declared");
    };
    if kinds.contains(&RoutingKind::Geolocation) {
        let at = |country: &str| {
            let location = Geolocation { country: Some(country.into()), ..Geolocation::default() };
            Routing::Geolocation { location }
        };
        let [one, other] = harness.locations();
        walk.reach(&[items(&walk, &[(at(one), "192.0.2.1"), (at(other), "192.0.2.2")])]).await;
        walk.reach(&[]).await;
        let twice = items(&walk, &[(at(one), "192.0.2.1"), (at(one), "192.0.2.2")]);
        walk.refused(create(&twice), &[ErrorKind::Conflict, ErrorKind::Invalid]).await;
    }
}

fn items(walk: &Walk<'_>, items: &[(Routing, &str)]) -> RecordSet {
    let set = walk.set("items", A, 60, &["192.0.2.1"]);
    let item = |(routing, address): &(Routing, &str)| Item {
        routing: routing.clone(),
        records: walk.set("items", A, 60, &[address]).data.as_records().to_vec(),
    };
    RecordSet { data: RecordData::items(items.iter().map(item)), ..set }
}

/// An alias stands at a name and at the apex, gets another target, gives way to records, and comes back.
pub async fn aliases(harness: &dyn Harness) {
    let mut walk = Walk::start(harness).await;
    if !walk.capability.alias {
        return note("aliases are not declared; that they are refused is a case of its own");
    }
    let [first, second] = harness.alias_targets();
    let alias =
        |set: RecordSet, target: &AliasTarget| RecordSet { ttl: None, data: RecordData::Alias(target.clone()), ..set };
    for plain in [walk.set("alias", A, 60, &["192.0.2.1"]), walk.at_apex(A, 60, &["192.0.2.1"])] {
        let (one, two) = (alias(plain.clone(), &first), alias(plain.clone(), &second));
        for state in [&one, &two, &plain, &one] {
            walk.reach(std::slice::from_ref(state)).await;
        }
        walk.reach(&[]).await;
    }
}

/// Where a CNAME at the apex is flattened, it stands there beside everything but addresses.
pub async fn a_flattened_cname_stands_at_the_apex(harness: &dyn Harness) {
    let mut walk = Walk::start(harness).await;
    if !walk.capability.cname.flattened {
        return note("a CNAME is not flattened");
    }
    let cname = |host: &str| walk.at_apex(RecordType::Cname, 300, &[host]);
    let (one, two) = (cname("one.example.net."), cname("two.example.net."));
    let text = walk.at_apex(RecordType::Txt, 300, &["\"beside\""]);
    walk.reach(&[one.clone(), text.clone()]).await;
    walk.refused(create(&walk.at_apex(A, 300, &["192.0.2.1"])), &[ErrorKind::Conflict, ErrorKind::Invalid]).await;
    walk.reach(&[two, text]).await;
    walk.reach(&[]).await;
}
