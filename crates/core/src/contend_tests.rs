use super::*;
use crate::claim::{ClaimRank, OwnerId};
use crate::endpoint::EndpointExtras;
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
            rank: ClaimRank::Typed,
            current: true,
            site: None,
        };
        Self { ours: HashMap::from([(set.key.clone(), (set, Some(claim)))]), inherit: false }
    }
}

impl ContentionFacts for World {
    fn ours(&self, key: &RecordKey) -> Option<PublishedRecord<'_>> {
        self.ours.get(key).map(|(set, claim)| PublishedRecord { set, claim: claim.as_ref() })
    }

    fn published(&self, rtype: RecordType) -> Vec<PublishedRecord<'_>> {
        let mut keys: Vec<&RecordKey> = self.ours.keys().filter(|key| key.rtype == rtype).collect();
        keys.sort();
        keys.into_iter().filter_map(|key| self.ours(key)).collect()
    }

    fn may_inherit(&self, _: &RecordKey) -> bool {
        self.inherit
    }
}

fn run(endpoints: &[Endpoint], mode: SameName, world: &World) -> Contended {
    run_by(endpoints, NameRules { same_name: mode, ..NameRules::default() }, world)
}

fn run_by(endpoints: &[Endpoint], rules: NameRules, world: &World) -> Contended {
    let all: Vec<&Endpoint> = endpoints.iter().collect();
    contend(&name("app.example"), &all, rules, world)
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
fn when_the_holder_is_gone_who_asks_for_what_is_published_comes_before_the_oldest() {
    let world = World::with("app.example A 192.0.2.1", Some("ingress/ns/gone"));
    check(&two(), &world, &["A 192.0.2.1 ingress/ns/young"]);
}

#[test]
fn a_claim_that_names_nobody_stays_with_what_is_published() {
    let world = World::with("app.example A 192.0.2.1", None);
    check(&two(), &world, &["A 192.0.2.1 ingress/ns/young"]);
}

#[test]
fn who_asks_twice_keeps_what_is_published() {
    let twice = [
        endpoint("Ingress", "a", "app.example A 192.0.2.1"),
        endpoint("Ingress", "a", "app.example A 192.0.2.9"),
        aged(10, endpoint("Ingress", "b", "app.example A 192.0.2.9")),
    ];
    check(&twice, &World::default(), &["A 192.0.2.9 ingress/ns/a"]);
    let world = World::with("app.example A 192.0.2.9", Some("ingress/ns/a"));
    check(&twice, &world, &["A 192.0.2.9 ingress/ns/a"]);
    let world = World::with("app.example A 192.0.2.1", Some("ingress/ns/a"));
    check(&twice, &world, &["A 192.0.2.1 ingress/ns/a"]);
}

fn cname_and_address() -> Vec<Endpoint> {
    vec![
        aged(1, endpoint("Ingress", "c", "app.example CNAME lb.example")),
        aged(9, endpoint("Ingress", "a", "app.example A 192.0.2.1")),
    ]
}

fn reported(outcome: &Contended) -> Vec<(&str, &str)> {
    outcome.notes.iter().map(|note| (&*note.object.name, note.reason)).collect()
}

#[test]
fn without_a_holder_a_cname_yields_to_any_other_type_whatever_its_age() {
    let gone = World::with("app.example CNAME lb.example", Some("ingress/ns/gone"));
    for world in [World::default(), gone] {
        check(&cname_and_address(), &world, &["A 192.0.2.1 ingress/ns/a"]);
        assert_eq!(reported(&run(&cname_and_address(), SameName::Holder, &world)), [("c", "CnameConflict")]);
    }
}

#[test]
fn the_holder_of_a_cname_keeps_the_name_against_other_types() {
    for resource in [Some("ingress/ns/c"), None] {
        let world = World::with("app.example CNAME lb.example", resource);
        check(&cname_and_address(), &world, &["CNAME lb.example. ingress/ns/c"]);
        let outcome = run(&cname_and_address(), SameName::Holder, &world);
        assert_eq!(reported(&outcome), [("a", "NameConflict")]);
        assert!(outcome.notes[0].message.contains("Ingress ns/c"), "{}", outcome.notes[0].message);
        let rules = NameRules { cname_yields: true, ..NameRules::default() };
        assert_eq!(shown(&run_by(&cname_and_address(), rules, &world)), ["A 192.0.2.1 ingress/ns/a"]);
    }
}

#[test]
fn a_cname_yields_to_what_a_holder_asks_for_besides() {
    let world = World::with("app.example CNAME lb.example", Some("ingress/ns/c"));
    let mut all = cname_and_address();
    all.push(endpoint("Ingress", "c", "app.example AAAA 2001:db8::1"));
    check(&all, &world, &["A 192.0.2.1 ingress/ns/a", "AAAA 2001:db8::1 ingress/ns/c"]);
    // The other way round: who holds addresses keeps them against a CNAME.
    let world = World::with("app.example A 192.0.2.1", Some("ingress/ns/a"));
    check(&cname_and_address(), &world, &["A 192.0.2.1 ingress/ns/a"]);
}

/// Who holds the name under one type gets it under another one too, though an older object asks for that.
#[test]
fn a_holder_keeps_the_name_when_it_changes_the_type() {
    let rival = |line: &str| aged(0, endpoint("Ingress", "old", line));
    let world = World::with("app.example A 203.0.113.7", Some("ingress/ns/c"));
    let holder = endpoint("Ingress", "c", "app.example CNAME lb.example");
    check(&[holder, rival("app.example CNAME other.example")], &world, &["CNAME lb.example. ingress/ns/c"]);
    let holder = endpoint("Ingress", "c", "app.example AAAA 2001:db8::1");
    check(&[holder.clone(), rival("app.example AAAA 2001:db8::2")], &world, &["AAAA 2001:db8::1 ingress/ns/c"]);
    // Of two that ask for the same, the holder speaks.
    check(&[holder, rival("app.example AAAA 2001:db8::1")], &world, &["AAAA 2001:db8::1 ingress/ns/c"]);
}

#[test]
fn a_holder_that_changes_to_a_cname_keeps_the_name() {
    let world = World::with("app.example A 203.0.113.7", Some("ingress/ns/c"));
    check(&cname_and_address(), &world, &["CNAME lb.example. ingress/ns/c"]);
}

#[test]
fn set_identifiers_do_not_contend() {
    let with = |id, e: Endpoint| e.with(|extras| extras.set_id = SetId::new(id));
    let all = [
        with("a", endpoint("Ingress", "a", "app.example A 192.0.2.1")),
        with("b", endpoint("Ingress", "b", "app.example CNAME lb.example")),
    ];
    check(&all, &World::default(), &["A 192.0.2.1 ingress/ns/a", "CNAME lb.example. ingress/ns/b"]);
}

#[test]
fn equal_requests_are_one_and_nothing_is_reported() {
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

/// One object asks for several contents: what is published for it beside what was inherited is one of them still.
#[test]
fn what_a_holder_got_beside_an_inherited_target_it_keeps() {
    let asked = [
        endpoint("Ingress", "a", "app.example A 192.0.2.3 192.0.2.10 192.0.2.1"),
        endpoint("Ingress", "a", "app.example A 192.0.2.10"),
        endpoint("Ingress", "a", "app.example A 192.0.2.2"),
        aged(10, endpoint("Ingress", "old", "app.example A 192.0.2.2")),
    ];
    let mut world = World::with("app.example A 192.0.2.3", Some("ingress/ns/gone"));
    world.inherit = true;
    check(&asked, &world, &["A 192.0.2.2, 192.0.2.3 ingress/ns/a"]);
    let mut world = World::with("app.example A 192.0.2.2 192.0.2.3", Some("ingress/ns/a"));
    world.inherit = true;
    check(&asked, &world, &["A 192.0.2.2, 192.0.2.3 ingress/ns/a"]);
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

fn member(created: i64, namespace: &str, who: &str, line: &str) -> Endpoint {
    let mut endpoint = aged(created, endpoint("Pod", who, line));
    let mut origin = (*endpoint.origin).clone();
    origin.object.namespace = Arc::from(namespace);
    endpoint.origin = Arc::new(origin);
    Endpoint { resource: Some(Arc::from(format!("pod/{namespace}/{who}"))), sharing: Sharing::Union, ..endpoint }
}

#[test]
fn members_come_from_one_namespace_where_that_is_asked_for() {
    let all = [
        member(5, "a", "one", "app.example A 192.0.2.1"),
        member(6, "a", "two", "app.example A 192.0.2.2"),
        member(1, "b", "three", "app.example A 192.0.2.3"),
        member(9, "b", "four", "app.example AAAA 2001:db8::4"),
    ];
    let rules = NameRules { one_namespace: true, ..NameRules::default() };
    let by_a = ["A 192.0.2.1, 192.0.2.2 pod/a/one"];
    let by_b = ["A 192.0.2.3 pod/b/three", "AAAA 2001:db8::4 pod/b/four"];
    let nobody = World::default();
    assert_eq!(shown(&run(&all, SameName::Holder, &nobody))[0], "A 192.0.2.1, 192.0.2.2, 192.0.2.3 pod/a/one");
    assert_eq!(shown(&run_by(&all, rules, &nobody)), by_b, "the oldest");
    let outcome = run_by(&all, rules, &World::with("app.example A 192.0.2.1", Some("pod/a/one")));
    assert_eq!(shown(&outcome), by_a, "the holder, in all types");
    assert_eq!(reported(&outcome), [("three", "NameConflict"), ("four", "NameConflict")]);
    assert!(outcome.notes[0].message.contains("namespace \"a\""), "{}", outcome.notes[0].message);
    let other_pod = World::with("app.example A 192.0.2.9", Some("pod/a/gone"));
    assert_eq!(shown(&run_by(&all, rules, &other_pod)), by_a, "members come and go");
    let unnamed = World::with("app.example A 192.0.2.1 192.0.2.2", None);
    assert_eq!(shown(&run_by(&all, rules, &unnamed)), by_a, "who asks for what is published");
    let empty = World::with("app.example A 192.0.2.9", Some("pod/c/gone"));
    assert_eq!(shown(&run_by(&all, rules, &empty)), by_b, "nobody of the holder's namespace asks any more");
}

#[test]
fn one_namespace_also_binds_joined_holders_and_inherited_unions() {
    let holder = |e: Endpoint| Endpoint { sharing: Sharing::Holder, ..e };
    let all = [
        holder(member(5, "a", "one", "app.example A 192.0.2.1")),
        holder(member(1, "b", "two", "app.example A 192.0.2.2")),
    ];
    let mut world = World::with("app.example A 192.0.2.1 192.0.2.2", Some("pod/a/one"));
    let rules = NameRules { one_namespace: true, same_name: SameName::Union, ..NameRules::default() };
    assert_eq!(shown(&run_by(&all, rules, &world)), ["A 192.0.2.1 pod/a/one"]);
    world.inherit = true;
    let rules = NameRules { one_namespace: true, ..NameRules::default() };
    assert_eq!(shown(&run_by(&all, rules, &world)), ["A 192.0.2.1 pod/a/one"]);
    assert_eq!(shown(&run(&all, SameName::Holder, &world)), ["A 192.0.2.1, 192.0.2.2 pod/a/one"]);
}

/// `line` as a weighted set under the identifier `id`.
fn weighted(who: &str, id: &str, line: &str) -> Endpoint {
    let routing = Routing::Weighted { weight: 1 };
    let extras = EndpointExtras { set_id: SetId::new(id), routing, ..EndpointExtras::default() };
    Endpoint { extras: extras.into(), ..endpoint("Ingress", who, line) }
}

#[test]
fn a_name_and_type_has_one_kind_of_routing() {
    let rules = NameRules { one_kind: true, ..NameRules::default() };
    let simple = |who, age| aged(age, endpoint("Ingress", who, "app.example A 192.0.2.1"));
    let (blue, green) =
        (weighted("b", "blue", "app.example A 192.0.2.2"), weighted("c", "green", "app.example A 192.0.2.3"));
    let decide = |endpoints: &[Endpoint], world: &World| {
        let done = run_by(endpoints, rules, world);
        (
            done.wanted.iter().map(|w| w.key.to_string()).collect::<Vec<_>>(),
            done.notes.iter().map(|n| n.reason).collect::<Vec<_>>(),
        )
    };
    let all = [simple("a", 9), aged(1, blue.clone()), aged(5, green.clone())];
    let (wanted, reasons) = decide(&all, &World::default());
    assert_eq!(wanted, ["app.example A (blue)", "app.example A (green)"], "the oldest object decides");
    assert_eq!(reasons, ["RoutingConflict"]);
    let (wanted, reasons) = decide(&all, &World::with("app.example A 192.0.2.9", Some("ingress/ns/z")));
    assert_eq!((wanted, reasons.len()), (vec!["app.example A".to_owned()], 2), "what is published stays of its kind");
    let (wanted, _) = decide(&all, &World::with("app.example A 192.0.2.9", Some("ingress/ns/c")));
    assert_eq!(wanted, ["app.example A (blue)", "app.example A (green)"], "the holder may change the kind");
    let (wanted, _) = decide(&all, &World::with("app.example AAAA 2001:db8::1", Some("ingress/ns/a")));
    assert_eq!(wanted, ["app.example A"], "who holds another type at the name keeps it, though the others are older");
    let both = [weighted("a", "blue", "app.example A 192.0.2.2"), simple("a", 9)].map(|endpoint| aged(9, endpoint));
    let (wanted, _) = decide(&both, &World::with("app.example A 192.0.2.1", Some("ingress/ns/a")));
    assert_eq!(wanted, ["app.example A"], "a holder that asks for both keeps what is published");
    let both = [weighted("a", "blue", "app.example A 192.0.2.9"), simple("a", 9)];
    let (wanted, _) = decide(&both, &World::with("app.example A 192.0.2.9", None));
    assert_eq!(wanted, ["app.example A"], "so does one that no claim names");
    let free = NameRules::default();
    assert_eq!(run_by(&all, free, &World::default()).wanted.len(), 3, "where sets do not mind, nobody is left out");
}

#[test]
fn a_flattened_cname_stands_beside_all_but_addresses() {
    let rules = NameRules { flattened: true, ..NameRules::default() };
    let cname = endpoint("Ingress", "a", "app.example CNAME lb.test");
    let mx = endpoint("Service", "b", "app.example MX 10_mail.test");
    let a = endpoint("Service", "c", "app.example A 192.0.2.1");
    let types = |endpoints: &[Endpoint], rules| {
        run_by(endpoints, rules, &World::default()).wanted.iter().map(|w| w.key.rtype).collect::<Vec<_>>()
    };
    assert_eq!(types(&[cname.clone(), mx.clone()], rules), [RecordType::Cname, RecordType::Mx]);
    assert_eq!(types(&[cname.clone(), mx.clone()], NameRules::default()), [RecordType::Mx]);
    assert_eq!(types(&[cname, mx, a], rules), [RecordType::A, RecordType::Mx]);
}

#[test]
fn the_holder_keeps_a_name_as_alias_too() {
    let alias = |host: &str| crate::record::AliasTarget { target: host.into(), zone: None, evaluate_health: false };
    let asking = |who: &str, age, host: &str| {
        let endpoint = aged(age, endpoint("Ingress", who, "app.example A 192.0.2.1"));
        Endpoint { targets: Targets::Alias(Box::new(alias(host))), ..endpoint }
    };
    let published =
        RecordSet { data: crate::record::RecordData::Alias(alias("lb-a.test")), ..set("app.example A 192.0.2.1") };
    let rivals = [asking("a", 9, "lb-a.test"), asking("b", 1, "lb-b.test")];
    let world = World { ours: HashMap::from([(published.key.clone(), (published, None))]), inherit: false };
    let done = run(&rivals, SameName::Holder, &world);
    assert_eq!(done.wanted[0].resource.as_deref(), Some("ingress/ns/a"), "who asks for what is published");
    let cname = World::with("app.example CNAME lb-a.test", Some("ingress/ns/a"));
    let done = run(&rivals, SameName::Holder, &cname);
    assert_eq!(done.wanted[0].resource.as_deref(), Some("ingress/ns/a"), "who holds the CNAME that was there before");
}

#[test]
fn a_cname_excludes_the_others_under_any_identifier() {
    let cname = Endpoint { rtype: RecordType::Cname, ..weighted("a", "blue", "app.example CNAME lb.test") };
    let address = aged(9, weighted("b", "green", "app.example A 192.0.2.1"));
    let rules = NameRules { one_kind: true, ..NameRules::default() };
    let types = |rules, world: &World| {
        let done = run_by(&[cname.clone(), address.clone()], rules, world);
        done.wanted.iter().map(|w| w.key.rtype).collect::<Vec<_>>()
    };
    assert_eq!(types(rules, &World::default()), [RecordType::A], "a CNAME yields");
    let held = World::with("app.example CNAME lb.test", Some("ingress/ns/a"));
    assert_eq!(types(rules, &held), [RecordType::Cname], "unless its object holds the name");
    assert_eq!(types(NameRules::default(), &held).len(), 2, "where sets do not mind, both stand");
}

/// Who has a CNAME beside that of another object, or a record that stands beside it, is no holder against it.
#[test]
fn who_stands_beside_a_cname_does_not_take_the_name() {
    let rules = NameRules { one_kind: true, ..NameRules::default() };
    let cname = |who, id| Endpoint { rtype: RecordType::Cname, ..weighted(who, id, "app.example CNAME lb.test") };
    let of = |who, id, line: &str, more: &[Endpoint]| {
        let mut all = vec![cname("a", "blue"), weighted(who, id, line)];
        all.extend_from_slice(more);
        all
    };
    let shown = |endpoints: &[Endpoint], rules, records: &[(&Endpoint, &str)]| {
        let published = records.iter().map(|(endpoint, resource)| {
            let Endpoint { name, rtype, targets, .. } = endpoint;
            let simple = RecordSet::simple(name.clone(), *rtype, None, targets.as_records().to_vec());
            let claim = World::with("app.example A 192.0.2.1", Some(resource)).ours.into_values().next().unwrap().1;
            (endpoint.key(), (RecordSet { key: endpoint.key(), ..simple }, claim))
        });
        let world = World { ours: published.collect(), inherit: false };
        let done = run_by(endpoints, rules, &world);
        done.wanted.iter().map(|wanted| wanted.key.to_string()).collect::<Vec<_>>()
    };
    let address = "app.example A 192.0.2.1";
    let (first, second) = (cname("a", "blue"), cname("b", "red"));
    let all = of("b", "green", address, std::slice::from_ref(&second));
    let both = ["app.example CNAME (blue)", "app.example CNAME (red)"];
    assert_eq!(shown(&all, rules, &[(&first, "ingress/ns/a")]), both, "before the second stands");
    let standing = [(&first, "ingress/ns/a"), (&second, "ingress/ns/b")];
    assert_eq!(shown(&all, rules, &standing), both, "and after");
    let own = of("a", "green", address, &[]);
    assert_eq!(shown(&own, rules, &[(&first, "ingress/ns/a")]), ["app.example A (green)"], "its own CNAME yields");
    // At a flattened apex other types stand beside a CNAME.
    let flattened = NameRules { flattened: true, ..NameRules::default() };
    let cname = endpoint("Ingress", "a", "app.example CNAME lb.test");
    let mail = endpoint("Ingress", "b", "app.example MX 10_mail.test");
    let all = [cname.clone(), mail.clone(), endpoint("Ingress", "b", address)];
    let standing = [(&cname, "ingress/ns/a"), (&mail, "ingress/ns/b")];
    assert_eq!(shown(&all, flattened, &standing), ["app.example CNAME", "app.example MX"]);
}

/// Two objects hold records at one name. One asks for a CNAME now, the other for addresses of the other family, which it cannot have
/// since its kind of routing is not that of the name: it does not lose what it has to the CNAME for that.
#[test]
fn who_asks_for_another_kind_of_routing_still_holds_its_name() {
    let rules = NameRules { one_kind: true, ..NameRules::default() };
    let held = |line: &str, set_id: Option<&str>, who: &str| {
        let mut set = set(line);
        set.key.set_id = set_id.and_then(SetId::new);
        let claim = World::with(line, Some(who)).ours.into_values().next().unwrap().1;
        (
            set.key.clone(),
            (RecordSet { routing: set_id.map_or(Routing::Simple, |_| Routing::Weighted { weight: 1 }), ..set }, claim),
        )
    };
    let published = [
        held("app.example A 192.0.2.1", Some("blue"), "ingress/ns/a"),
        held("app.example AAAA 2001:db8::1", None, "service/ns/b"),
    ];
    let world = World { ours: published.into_iter().collect(), inherit: false };
    let asked = [
        endpoint("Ingress", "a", "app.example CNAME lb.test"),
        endpoint("Service", "b", "app.example A 192.0.2.2"),
        weighted("c", "green", "app.example A 192.0.2.3"),
        endpoint("Ingress", "d", "app.example AAAA 2001:db8::1"),
    ];
    let shown = |endpoints: &[Endpoint]| {
        let done = run_by(endpoints, rules, &world);
        done.wanted.iter().map(|wanted| wanted.key.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(shown(&asked), ["app.example AAAA", "app.example A (green)"]);
    let [cname, _, other, address] = asked;
    assert_eq!(shown(&[cname, other, address]), ["app.example CNAME"], "once it asks for nothing more there");
}
