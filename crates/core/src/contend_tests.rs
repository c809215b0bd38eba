use super::*;
use crate::claim::{OwnerId, Standing as Rank};
use crate::testing::{aged, endpoint, name, set};
use std::collections::HashMap;

#[derive(Default)]
struct World {
    ours: HashMap<RecordKey, (RecordSet, Option<Claim>)>,
    inherit: bool,
}

impl World {
    fn with(line: &str, resource: Option<&str>) -> Self {
        let set = set(line);
        let claim = Claim {
            owner: OwnerId::new("me").unwrap(),
            resource: resource.map(Arc::from),
            labels: vec![],
            standing: Rank::Typed,
            current: true,
            site: None,
        };
        Self { ours: HashMap::from([(set.key.clone(), (set, Some(claim)))]), inherit: false }
    }
}

impl Scene for World {
    fn ours(&self, key: &RecordKey) -> Option<Standing<'_>> {
        self.ours.get(key).map(|(set, claim)| Standing { set, claim: claim.as_ref() })
    }

    fn may_inherit(&self, _: &RecordKey) -> bool {
        self.inherit
    }
}

fn run(endpoints: &[Endpoint], mode: SameName, world: &World) -> Contended {
    let all: Vec<&Endpoint> = endpoints.iter().collect();
    contend(&name("app.example"), &all, mode, world)
}

fn shown(outcome: &Contended) -> Vec<String> {
    outcome
        .wanted
        .iter()
        .map(|w| format!("{} {} {}", w.key.rtype, show(w.targets.as_records()), w.resource.as_deref().unwrap_or("-")))
        .collect()
}

fn check(endpoints: &[Endpoint], world: &World, expected: &[&str]) {
    // The order in which endpoints come in carries no meaning.
    let mut reversed = endpoints.to_vec();
    reversed.reverse();
    assert_eq!(shown(&run(endpoints, SameName::Holder, world)), expected);
    assert_eq!(shown(&run(&reversed, SameName::Holder, world)), expected, "in reverse order");
}

fn two() -> Vec<Endpoint> {
    vec![
        aged(20, endpoint("Ingress", "young", "app.example A 192.0.2.1")),
        aged(10, endpoint("Ingress", "old", "app.example A 192.0.2.9")),
    ]
}

#[test]
fn two_ingresses_ask_for_one_name_and_the_older_gets_it() {
    check(&two(), &World::default(), &["A 192.0.2.9 ingress/ns/old"]);
    let outcome = run(&two(), SameName::Holder, &World::default());
    assert_eq!(outcome.notes.len(), 1);
    assert_eq!(&*outcome.notes[0].object.name, "young");
    assert!(outcome.notes[0].message.contains("Ingress ns/old"), "{}", outcome.notes[0].message);
}

#[test]
fn without_ages_the_first_by_kind_namespace_and_name_gets_it() {
    let all =
        [endpoint("Ingress", "b", "app.example A 192.0.2.1"), endpoint("Ingress", "a", "app.example A 192.0.2.2")];
    check(&all, &World::default(), &["A 192.0.2.2 ingress/ns/a"]);
}

#[test]
fn the_holder_keeps_the_name_while_it_asks() {
    let world = World::with("app.example A 192.0.2.1", Some("ingress/ns/young"));
    check(&two(), &world, &["A 192.0.2.1 ingress/ns/young"]);
}

#[test]
fn the_record_follows_its_holder() {
    let world = World::with("app.example A 203.0.113.7", Some("ingress/ns/young"));
    check(&two(), &world, &["A 192.0.2.1 ingress/ns/young"]);
}

#[test]
fn a_resource_with_several_targets_is_one_record_set() {
    let one = [endpoint("Ingress", "a", "app.example A 192.0.2.9 192.0.2.1")];
    check(&one, &World::default(), &["A 192.0.2.9, 192.0.2.1 ingress/ns/a"]);
}

#[test]
fn when_the_holder_is_gone_the_oldest_takes_over() {
    let world = World::with("app.example A 203.0.113.7", Some("ingress/ns/gone"));
    check(&two(), &world, &["A 192.0.2.9 ingress/ns/old"]);
}

#[test]
fn a_claim_that_names_nobody_stays_with_what_is_published() {
    let world = World::with("app.example A 192.0.2.1", None);
    check(&two(), &world, &["A 192.0.2.1 ingress/ns/young"]);
}

#[test]
fn a_cname_yields_to_any_other_type_whatever_its_age_or_holder() {
    let all = [
        aged(1, endpoint("Ingress", "c", "app.example CNAME lb.example")),
        aged(9, endpoint("Ingress", "a", "app.example A 192.0.2.1")),
    ];
    let world = World::with("app.example CNAME lb.example", Some("ingress/ns/c"));
    check(&all, &world, &["A 192.0.2.1 ingress/ns/a"]);
    let outcome = run(&all, SameName::Holder, &world);
    assert_eq!(outcome.notes.iter().map(|n| n.reason).collect::<Vec<_>>(), ["CnameConflict"]);
}

#[test]
fn set_identifiers_do_not_contend() {
    let with = |id, e: Endpoint| Endpoint { set_id: SetId::new(id), ..e };
    let all = [
        with("a", endpoint("Ingress", "a", "app.example A 192.0.2.1")),
        with("b", endpoint("Ingress", "b", "app.example CNAME lb.example")),
    ];
    check(&all, &World::default(), &["A 192.0.2.1 ingress/ns/a", "CNAME lb.example. ingress/ns/b"]);
}

#[test]
fn equal_wishes_are_one_and_nobody_is_told() {
    let mut second = endpoint("Service", "a", "app.example A 192.0.2.1");
    second.origin = Arc::new(Origin { rank: 1, ..(*second.origin).clone() });
    let all = [second, endpoint("Ingress", "z", "app.example A 192.0.2.1")];
    check(&all, &World::default(), &["A 192.0.2.1 ingress/ns/z"]);
    assert!(run(&all, SameName::Holder, &World::default()).notes.is_empty());
    let world = World::with("app.example A 192.0.2.1", Some("service/ns/a"));
    check(&all, &world, &["A 192.0.2.1 service/ns/a"]);
}

#[test]
fn members_are_joined_and_sorted() {
    let member = |who, line| Endpoint { sharing: Sharing::Union, ..endpoint("Service", who, line) };
    let all = [member("b", "app.example A 192.0.2.3 192.0.2.1"), member("a", "app.example A 192.0.2.2 192.0.2.1")];
    check(&all, &World::default(), &["A 192.0.2.1, 192.0.2.2, 192.0.2.3 service/ns/a"]);
}

#[test]
fn same_name_union_joins_one_source_and_never_cnames() {
    let outcome = run(&two(), SameName::Union, &World::default());
    assert_eq!(shown(&outcome), ["A 192.0.2.1, 192.0.2.9 ingress/ns/old"]);
    let cnames = [
        aged(2, endpoint("Ingress", "a", "app.example CNAME x.example")),
        aged(1, endpoint("Ingress", "b", "app.example CNAME y.example")),
    ];
    assert_eq!(shown(&run(&cnames, SameName::Union, &World::default())), ["CNAME y.example. ingress/ns/b"]);
}

#[test]
fn an_inherited_union_is_kept_while_somebody_asks_for_the_surplus() {
    let mut world = World::with("app.example A 192.0.2.1 192.0.2.9 198.51.100.1", Some("ingress/ns/young"));
    assert_eq!(
        shown(&run(&two(), SameName::Holder, &world)),
        ["A 192.0.2.1 ingress/ns/young"],
        "not at a later reading"
    );
    world.inherit = true;
    let outcome = run(&two(), SameName::Holder, &world);
    assert_eq!(shown(&outcome), ["A 192.0.2.1, 192.0.2.9 ingress/ns/young"], "nobody asks for the third");
    assert_eq!(outcome.inherited.len(), 1);
    assert_eq!(outcome.notes.iter().map(|n| n.reason).collect::<Vec<_>>(), ["InheritedUnion"]);
    let alone = [two().remove(0)];
    assert_eq!(shown(&run(&alone, SameName::Holder, &world)), ["A 192.0.2.1 ingress/ns/young"]);
}
