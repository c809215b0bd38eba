//! What must not happen: refused in clear words, and not a byte of the zone changes.

use zonewright_core::capability::{Preconditions, RoutingSupport, TargetCount, TypeSupport};
use zonewright_core::change::{Change, Step};
use zonewright_core::error::ErrorKind;
use zonewright_core::provider::{Listing, Read};
use zonewright_core::record::{AliasTarget, Routing, SetId};
use zonewright_core::{DnsName, RData, RecordData, RecordSet, RecordType, Zone};

use crate::provider::Harness;
use crate::provider::specimen::{of_type, set};
use crate::provider::walk::{Walk, create, group};
use crate::run::note;

const A: RecordType = RecordType::A;

/// Kinds of an error about something that the provider does not have.
pub(crate) const NOT_HERE: &[ErrorKind] = &[ErrorKind::Unsupported, ErrorKind::Invalid];

/// Kinds of an error about a zone that is not what was assumed.
const STALE: &[ErrorKind] = &[ErrorKind::Conflict];

/// A zone that is not there is an error, never an empty list.
pub async fn an_unknown_zone_is_an_error(harness: &dyn Harness) {
    let walk = Walk::start(harness).await;
    let mut zone =
        Zone::new(&walk.zone().key.instance, "nowhere.invalid", DnsName::parse("nowhere.invalid").expect("a name"));
    zone.visibility = walk.zone().visibility;
    let kinds = [ErrorKind::NotFound, ErrorKind::Unauthorized, ErrorKind::Configuration, ErrorKind::Invalid];
    match walk.provider().records(&zone, Read::All).await {
        Err(error) => assert!(kinds.contains(&error.kind), "{error:?}; expected one of {kinds:?}"),
        Ok(Listing::Full { sets, .. }) => panic!("an unknown zone was listed with {} sets", sets.len()),
        Ok(other) => panic!("an unknown zone gave {other:?}"),
    }
    let lost = set(&zone.name, A, 60, &["192.0.2.1"]);
    for outcome in walk.provider().apply(&zone, &[create(&lost)]).await {
        assert!(outcome.error().is_some(), "a change of an unknown zone counts as {outcome:?}");
    }
    walk.check().await;
}

/// Types that are not declared are refused.
pub async fn types_that_are_not_declared_are_refused(harness: &dyn Harness) {
    let walk = Walk::start(harness).await;
    let TypeSupport::Listed(types) = &walk.capability.types else {
        return note("any type is passed on: there is none to refuse");
    };
    for rtype in RecordType::WRITABLE.into_iter().filter(|rtype| !types.contains(rtype)) {
        let (label, data, _) = of_type(rtype);
        walk.refused(create(&walk.set(label, rtype, 60, data)), NOT_HERE).await;
    }
    let soa = "ns.example.net. hostmaster.example.net. 1 2 3 4 5";
    let soa = RData::parse(RecordType::Soa, soa).expect("any text is SOA data");
    let soa = RecordSet::simple(walk.name("soa"), RecordType::Soa, walk.set("x", A, 60, &[]).ttl, [soa]);
    walk.refused(create(&soa), NOT_HERE).await;
}

/// Routing policies, set identifiers, aliases and further targets are refused where they are not declared.
pub async fn what_is_not_declared_is_refused(harness: &dyn Harness) {
    let walk = Walk::start(harness).await;
    let plain = walk.set("x", A, 60, &["192.0.2.1"]);
    if walk.capability.routing == RoutingSupport::None {
        let mut set = RecordSet { routing: Routing::Weighted { weight: 1 }, ..plain.clone() };
        set.key.set_id = SetId::new("one");
        walk.refused(create(&set), NOT_HERE).await;
    }
    if !walk.capability.set_ids {
        let mut set = plain.clone();
        set.key.set_id = SetId::new("one");
        walk.refused(create(&set), NOT_HERE).await;
    }
    if !walk.capability.alias {
        let target = AliasTarget { target: "lb.example.net".into(), zone: None, evaluate_health: false };
        walk.refused(create(&RecordSet { data: RecordData::Alias(target), ..plain.clone() }), NOT_HERE).await;
    }
    if walk.capability.targets == TargetCount::First {
        let two =
            set(&plain.key.name, A, plain.ttl.map_or(60, zonewright_core::Ttl::secs), &["192.0.2.1", "192.0.2.2"]);
        walk.refused(create(&two), NOT_HERE).await;
    }
}

/// A name of another zone is refused.
pub async fn outside_the_zone_is_refused(harness: &dyn Harness) {
    let walk = Walk::start(harness).await;
    if walk.zone().name.is_root() {
        return note("the zone is the root: no name is outside");
    }
    let kinds = [
        ErrorKind::Invalid,
        ErrorKind::NotFound,
        ErrorKind::Conflict,
        ErrorKind::Unsupported,
        ErrorKind::Configuration,
    ];
    for name in ["outside.invalid".to_owned(), format!("x{}", walk.zone().name)] {
        let name = DnsName::parse(&name).expect("a name");
        walk.refused(create(&set(&name, A, 300, &["192.0.2.1"])), &kinds).await;
    }
}

/// A create where something of the key stands is refused, whatever it holds: even the same records are foreign.
pub async fn create_on_existing_is_refused(harness: &dyn Harness) {
    let mut walk = Walk::start(harness).await;
    let foreign = walk.set("taken", A, 300, &["192.0.2.1"]);
    walk.foreign(foreign.clone()).await;
    for data in [["192.0.2.2"].as_slice(), &["192.0.2.1"], &["192.0.2.1", "192.0.2.2"]] {
        walk.refused(create(&walk.set("taken", A, 300, data)), STALE).await;
    }
    walk.foreign(walk.set("taken-text", RecordType::Txt, 300, &["\"theirs\""])).await;
    walk.refused(create(&walk.set("taken-text", RecordType::Txt, 300, &["\"ours\""])), STALE).await;
}

/// A CNAME is not put beside data, nor data beside a CNAME.
pub async fn a_cname_stands_alone(harness: &dyn Harness) {
    let mut walk = Walk::start(harness).await;
    if !walk.capability.cname.alone || !walk.writes(RecordType::Cname) {
        return note("CNAME rules are not declared");
    }
    walk.foreign(walk.set("data", A, 300, &["192.0.2.1"])).await;
    walk.foreign(walk.set("text", RecordType::Txt, 300, &["\"x\""])).await;
    walk.foreign(walk.set("alias", RecordType::Cname, 300, &["target.example.net."])).await;
    let kinds = [ErrorKind::Conflict, ErrorKind::Invalid];
    for label in ["data", "text"] {
        walk.refused(create(&walk.set(label, RecordType::Cname, 300, &["other.example.net."])), &kinds).await;
    }
    walk.refused(create(&walk.set("alias", A, 300, &["192.0.2.1"])), &kinds).await;
    walk.refused(create(&walk.set("alias", RecordType::Txt, 300, &["\"x\""])), &kinds).await;

    // Our address would make room, but not the text that another writer put beside it.
    let ours = walk.set("swap", A, 300, &["192.0.2.1"]);
    walk.reach(std::slice::from_ref(&ours)).await;
    walk.foreign(walk.set("swap", RecordType::Txt, 300, &["\"theirs\""])).await;
    let delete = Step::record(Change::Delete { from: walk.standing(&ours) }, None);
    let mut swap = create(&walk.set("swap", RecordType::Cname, 300, &["target.example.net."]));
    swap.steps.insert(0, delete);
    walk.refused(swap, &kinds).await;
}

/// An update of what is not there, or not so, is refused.
pub async fn a_stale_update_is_refused(harness: &dyn Harness) {
    let mut walk = Walk::start(harness).await;
    if walk.capability.preconditions == Preconditions::None {
        return note("no preconditions are declared: a targeted read comes before each write instead");
    }
    walk.foreign(walk.set("www", A, 300, &["192.0.2.1"])).await;
    walk.foreign(walk.set("txt", RecordType::Txt, 300, &["\"one\""])).await;
    let update = |from: RecordSet, to: RecordSet| group(Change::Update { from, to });
    let www = |data: &[&str]| walk.set("www", A, 300, data);
    let txt = |data: &[&str]| walk.set("txt", RecordType::Txt, 300, data);
    for (from, to) in [
        (www(&["192.0.2.9"]), www(&["192.0.2.2"])),
        (www(&["192.0.2.9"]), www(&["192.0.2.1"])),
        (www(&["192.0.2.1", "192.0.2.9"]), www(&["192.0.2.2"])),
        (txt(&["\"two\""]), txt(&["\"three\""])),
        (txt(&["\"ONE\""]), txt(&["\"three\""])),
        (walk.set("gone", A, 300, &["192.0.2.1"]), walk.set("gone", A, 300, &["192.0.2.2"])),
    ] {
        // Lowered to one target, two of these are no longer stale.
        if walk.capability.targets == TargetCount::First && from == www(&["192.0.2.1"]) {
            continue;
        }
        walk.refused(update(from, to), STALE).await;
    }
}

/// A delete of what is not there, or not so, is refused.
pub async fn a_stale_delete_is_refused(harness: &dyn Harness) {
    let mut walk = Walk::start(harness).await;
    if walk.capability.preconditions == Preconditions::None {
        return note("no preconditions are declared: a targeted read comes before each write instead");
    }
    walk.foreign(walk.set("www", A, 300, &["192.0.2.1", "192.0.2.2"])).await;
    for from in [
        walk.set("www", A, 300, &["192.0.2.9"]),
        walk.set("www", A, 300, &["192.0.2.2", "192.0.2.3"]),
        walk.set("www", A, 300, &["192.0.2.2"]),
        walk.set("www", RecordType::Txt, 300, &["\"x\""]),
        walk.set("gone", A, 300, &["192.0.2.1"]),
    ] {
        walk.refused(group(Change::Delete { from }), STALE).await;
    }
}
