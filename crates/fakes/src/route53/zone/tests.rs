use super::*;
use crate::route53::set::Routing;

fn zone() -> Zone {
    Zone::new("Z1".to_owned(), "1", "a.org.".to_owned(), false)
}

fn apply(zone: &mut Zone, changes: &[(Action, RecordSet)]) -> Result<(), Vec<String>> {
    let changes = changes.iter().map(|(action, set)| Change { action: *action, set: set.clone() });
    let changes: Vec<Change> = changes.collect();
    zone.apply(&changes, &|id| (id == "Z1").then(|| "a.org.".to_owned()))
}

fn a(name: &str) -> RecordSet {
    RecordSet::new(name, "A", 300, &["192.0.2.1"])
}

fn cname(name: &str) -> RecordSet {
    RecordSet::new(name, "CNAME", 300, &["b.org."])
}

#[track_caller]
fn refused(zone: &mut Zone, changes: &[(Action, RecordSet)], expected: &[&str]) {
    let before = zone.sets.clone();
    let problems = apply(zone, changes).unwrap_err();
    assert_eq!(problems.len(), expected.len(), "{problems:?}");
    for (problem, expected) in problems.iter().zip(expected) {
        assert!(problem.contains(expected), "{problem}");
    }
    assert_eq!(zone.sets, before, "a batch is carried out as a whole");
}

#[test]
fn sets_come_and_go() {
    let mut zone = zone();
    assert!(zone.empty());
    apply(&mut zone, &[(Action::Create, a("www.a.org.")), (Action::Upsert, a("a.org."))]).unwrap();
    assert_eq!(zone.sets.len(), 4);
    assert!(!zone.empty());
    let other = RecordSet { ttl: Some(60), ..a("www.a.org.") };
    apply(&mut zone, &[(Action::Upsert, other.clone())]).unwrap();
    apply(&mut zone, &[(Action::Delete, other), (Action::Create, a("www.a.org.")), (Action::Delete, a("a.org."))])
        .unwrap();
    apply(&mut zone, &[(Action::Delete, a("www.a.org."))]).unwrap();
    assert!(zone.empty());
}

#[test]
fn a_batch_names_all_that_is_wrong_and_does_nothing() {
    let mut zone = zone();
    apply(&mut zone, &[(Action::Create, a("www.a.org."))]).unwrap();
    let changes = [
        (Action::Create, a("new.a.org.")),
        (Action::Create, a("www.a.org.")),
        (Action::Delete, a("none.a.org.")),
        (Action::Create, a("www.b.org.")),
    ];
    let expected = [
        "Tried to create resource record set [name='www.a.org.', type='A'] but it already exists",
        "Tried to delete resource record set [name='none.a.org.', type='A'] but it was not found",
        "RRSet with DNS name www.b.org. is not permitted in zone a.org.",
    ];
    refused(&mut zone, &changes, &expected);
    let wrong = RecordSet { ttl: Some(1), ..a("www.a.org.") };
    refused(&mut zone, &[(Action::Delete, wrong)], &["but the values provided do not match the current values"]);
}

#[test]
fn a_set_is_changed_once() {
    let repeated = ["invalid set of changes for a resource record set 'A www.a.org.'"];
    for (one, other) in [
        (Action::Create, Action::Delete),
        (Action::Upsert, Action::Upsert),
        (Action::Create, Action::Create),
        (Action::Delete, Action::Delete),
    ] {
        refused(&mut zone(), &[(one, a("www.a.org.")), (other, a("www.a.org."))], &repeated);
    }
}

#[test]
fn a_cname_stands_alone() {
    let mut zone = zone();
    let (addresses, alias) = ([(Action::Create, a("x.a.org."))], [(Action::Create, cname("x.a.org."))]);
    apply(&mut zone, &addresses).unwrap();
    refused(&mut zone, &alias, &["conflicts with other records"]);
    apply(&mut zone, &[(Action::Delete, a("x.a.org.")), (Action::Create, cname("x.a.org."))]).unwrap();
    refused(&mut zone, &addresses, &["a conflicting RRSet of type CNAME"]);
    refused(&mut zone, &[(Action::Create, cname("a.org."))], &["is not permitted at apex in zone a.org."]);
    refused(&mut zone, &[(Action::Create, a("y.a.org.")), (Action::Create, cname("y.a.org."))], &["conflicts"]);
}

#[test]
fn the_zone_keeps_its_own_sets() {
    let mut zone = zone();
    let own = |zone: &Zone, kind: &str| zone.sets[&Key::new("a.org.", kind, "")].clone();
    let (soa, ns) = (own(&zone, "SOA"), own(&zone, "NS"));
    refused(&mut zone, &[(Action::Delete, soa.clone())], &["exactly one SOA"]);
    refused(&mut zone, &[(Action::Delete, ns.clone())], &["at least one NS"]);
    refused(&mut zone, &[(Action::Create, RecordSet { name: "b.a.org.".to_owned(), ..soa.clone() })], &["one SOA"]);
    apply(&mut zone, &[(Action::Upsert, RecordSet { ttl: Some(60), ..soa })]).unwrap();
    apply(&mut zone, &[(Action::Delete, ns.clone()), (Action::Create, RecordSet { ttl: Some(60), ..ns })]).unwrap();
}

#[test]
fn an_alias_into_the_zone_has_a_target() {
    let mut zone = zone();
    let alias = |target: &str| (Action::Create, RecordSet::alias("x.a.org.", "A", "Z1", target));
    let missing = ["but that target was not found"];
    refused(&mut zone, &[alias("www.a.org.")], &missing);
    refused(&mut zone, &[alias("x.a.org.")], &missing);
    refused(&mut zone, &[alias("www.a.org."), (Action::Create, a("www.a.org."))], &missing);
    refused(&mut zone, &[alias("b.org.")], &["does not lie within the target zone", missing[0]]);
    apply(&mut zone, &[(Action::Create, a("www.a.org.")), alias("www.a.org.")]).unwrap();
    apply(&mut zone, &[(Action::Create, RecordSet::alias("y.a.org.", "A", "ZELB", "lb.example.org."))]).unwrap();
}

#[test]
fn sets_with_identifiers_stand_beside_each_other_alone() {
    let mut zone = zone();
    let weighted = |identifier: &str| a("x.a.org.").routed(identifier, Routing::Weight(1));
    apply(&mut zone, &[(Action::Create, weighted("one")), (Action::Create, weighted("two"))]).unwrap();
    let found = ["[name='x.a.org.', type='A', set-identifier='one'] but it already exists"];
    refused(&mut zone, &[(Action::Create, weighted("one"))], &found);
    refused(&mut zone, &[(Action::Upsert, a("x.a.org."))], &["other RRSets exist with the same name and type"]);
    let changed = RecordSet { routing: Some(Routing::Weight(2)), ..weighted("one") };
    apply(&mut zone, &[(Action::Upsert, changed.clone())]).unwrap();
    refused(&mut zone, &[(Action::Delete, weighted("one"))], &["do not match"]);
    apply(&mut zone, &[(Action::Delete, changed), (Action::Delete, weighted("two")), (Action::Create, a("x.a.org."))])
        .unwrap();
}

#[test]
fn a_full_zone_takes_no_more() {
    let mut zone = zone();
    zone.limit = 3;
    apply(&mut zone, &[(Action::Create, a("x.a.org."))]).unwrap();
    refused(&mut zone, &[(Action::Create, a("y.a.org."))], &["Exceeded limit MAX_RRSETS_BY_ZONE for zone: Z1"]);
    apply(&mut zone, &[(Action::Delete, a("x.a.org.")), (Action::Create, a("y.a.org."))]).unwrap();
    zone.limit = 1;
    apply(&mut zone, &[(Action::Delete, a("y.a.org.")), (Action::Create, a("z.a.org."))]).unwrap();
}

#[test]
fn listings_lag_behind_writes() {
    let mut zone = zone();
    zone.set_lag(2);
    for (name, seen) in [("x.a.org.", 2), ("y.a.org.", 2), ("z.a.org.", 3)] {
        apply(&mut zone, &[(Action::Create, a(name))]).unwrap();
        assert_eq!(zone.listed().len(), seen, "{name}");
    }
    apply(&mut zone, &[(Action::Create, a("z.a.org."))]).unwrap_err();
    assert_eq!(zone.listed().len(), 3, "what was refused is no write");
    zone.set_lag(0);
    assert_eq!(zone.listed().len(), 5);
}

#[test]
fn a_set_that_one_batch_replaces_was_never_away() {
    let mut zone = zone();
    let changed = RecordSet { ttl: Some(60), ..a("x.a.org.") };
    let gone = |zone: &Zone| zone.vanished.values().sum::<usize>();
    apply(&mut zone, &[(Action::Create, a("x.a.org."))]).unwrap();
    apply(&mut zone, &[(Action::Delete, a("x.a.org.")), (Action::Create, changed.clone())]).unwrap();
    apply(&mut zone, &[(Action::Upsert, a("x.a.org."))]).unwrap();
    refused(&mut zone, &[(Action::Delete, changed.clone())], &["do not match"]);
    assert_eq!(gone(&zone), 0);
    apply(&mut zone, &[(Action::Delete, a("x.a.org."))]).unwrap();
    apply(&mut zone, &[(Action::Create, changed)]).unwrap();
    assert_eq!(gone(&zone), 1);
}
