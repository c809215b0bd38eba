//! The table of what is changed at a name.

use zonewright_core::claim::{Claim, ClaimRank};
use zonewright_core::record::{AliasTarget, SetId};
use zonewright_core::testing::{name, set};

use super::*;

/// `name TYPE value...`, or `name TYPE alias:target`.
fn of(line: &str) -> RecordSet {
    let Some((key, target)) = line.split_once(" alias:") else { return set(line) };
    let (owner, rtype) = key.split_once(' ').unwrap();
    let alias = AliasTarget { target: target.into(), zone: None, evaluate_health: true };
    let bare = RecordSet::simple(name(owner), rtype.parse().unwrap(), None, []);
    RecordSet { data: RecordData::Alias(alias), ..bare }
}

fn plan(rtype: RecordType, wanted: &[&str], standing: &[(&str, Ownership)]) -> Result<ApplyPlan, OperationFailure> {
    let wanted: Vec<RecordSet> = wanted.iter().map(|line| of(line)).collect();
    let sets: Vec<(RecordSet, Ownership)> = standing.iter().map(|(line, owner)| (of(line), owner.clone())).collect();
    let standing: Vec<RecordAtName<'_>> =
        sets.iter().map(|(set, ownership)| RecordAtName { set, ownership: ownership.clone(), rival: None }).collect();
    let (resource, at) = (Arc::from("dnsrecord/ns/a"), name("x.example"));
    let asked = RequestedName {
        name: &at,
        rtype,
        sets: &wanted,
        resource: &resource,
        owner: None,
        cname: CnameRules::STRICT,
        apex: false,
    };
    bring(&asked, &standing)
}

/// The changes as lines: `+`, `~` or `-` and the set.
fn changes(plan: Result<ApplyPlan, OperationFailure>) -> Vec<String> {
    match plan {
        Ok(ApplyPlan::Nothing) => Vec::new(),
        Ok(ApplyPlan::Adopt(set)) => vec![format!("adopt {set}")],
        Ok(ApplyPlan::Change(group)) => group.changes().map(ToString::to_string).collect(),
        Err(failure) => vec![format!("! {}", failure.text())],
    }
}

const OURS: Ownership = Ownership::Ours(None);

#[track_caller]
fn check(rtype: RecordType, wanted: &[&str], standing: &[&str], expected: &[&str]) {
    let standing: Vec<(&str, Ownership)> = standing.iter().map(|line| (*line, OURS)).collect();
    assert_eq!(changes(plan(rtype, wanted, &standing)), expected, "{wanted:?} where {standing:?}");
}

#[test]
fn records_are_made_changed_and_left() {
    use RecordType::{A, Txt};
    check(A, &["x.example A ttl=120 192.0.2.1"], &[], &["+ x.example 120 A 192.0.2.1"]);
    let one = "x.example A ttl=120 192.0.2.1";
    check(A, &[one], &[one], &[]);
    check(A, &["x.example A ttl=120 192.0.2.2 192.0.2.1"], &["x.example A ttl=120 192.0.2.1 192.0.2.2"], &[]);
    check(A, &["x.example A ttl=60 192.0.2.1"], &[one], &["~ x.example 60 A 192.0.2.1 (was TTL 120)"]);
    check(A, &["x.example A ttl=120 192.0.2.9"], &[one], &["~ x.example 120 A 192.0.2.9 (was 192.0.2.1)"]);
    check(Txt, &["x.example TXT ttl=120 a"], &["x.example TXT ttl=120 b"], &["~ x.example 120 TXT \"a\" (was \"b\")"]);
}

#[test]
fn sets_of_other_types_stay() {
    use RecordType::{A, Txt};
    check(
        A,
        &["x.example A 192.0.2.1"],
        &["x.example TXT t", "x.example AAAA 2001:db8::1"],
        &["+ x.example A 192.0.2.1"],
    );
    check(Txt, &["x.example TXT t"], &["x.example A 192.0.2.1", "x.example MX 1_m"], &["+ x.example TXT \"t\""]);
    // A foreign alias of the other family is no shape of this object.
    check(A, &["x.example A 192.0.2.1"], &["x.example AAAA alias:h"], &["+ x.example A 192.0.2.1"]);
}

#[test]
fn a_former_shape_goes_in_the_same_group() {
    use RecordType::{A, Cname};
    let (alias4, alias6, cname) = ("x.example A alias:h", "x.example AAAA alias:h", "x.example CNAME h");
    check(Cname, &[alias4], &[cname], &["- x.example CNAME h.", "+ x.example A alias of h"]);
    check(
        Cname,
        &[cname],
        &[alias4, alias6],
        &["- x.example A alias of h", "- x.example AAAA alias of h", "+ x.example CNAME h."],
    );
    // From both families to one, and to the other.
    check(Cname, &[alias4], &[alias4, alias6], &["- x.example AAAA alias of h"]);
    check(Cname, &[alias6], &[alias4], &["- x.example A alias of h", "+ x.example AAAA alias of h"]);
    check(Cname, &[alias4, alias6], &[alias4], &["+ x.example AAAA alias of h"]);
    // The record type was changed in place.
    let address = "x.example A 192.0.2.1";
    check(A, &[address], &[cname], &["- x.example CNAME h.", "+ x.example A 192.0.2.1"]);
    check(Cname, &[cname], &[address], &["- x.example A 192.0.2.1", "+ x.example CNAME h."]);
    check(
        A,
        &[address],
        &[alias4, alias6],
        &["- x.example AAAA alias of h", "~ x.example A 192.0.2.1 (was alias of h)"],
    );
}

#[test]
fn what_cannot_stand_together_is_said() {
    let said = |rtype, wanted: &str, standing: &str| changes(plan(rtype, &[wanted], &[(standing, OURS)])).join("");
    assert!(said(RecordType::Txt, "x.example TXT t", "x.example CNAME h").starts_with("! x.example TXT cannot stand"));
    assert!(said(RecordType::Cname, "x.example CNAME h", "x.example MX 1_m").starts_with("! x.example CNAME cannot"));
    // An alias can.
    assert_eq!(said(RecordType::Cname, "x.example A alias:h", "x.example TXT t"), "+ x.example A alias of h");
}

#[test]
fn a_routing_policy_stays() {
    let mut weighted = of("x.example A 192.0.2.9");
    weighted.key.set_id = SetId::new("blue");
    let standing = [RecordAtName { set: &weighted, ownership: OURS, rival: None }];
    let (resource, at, sets) = (Arc::from("r"), name("x.example"), [of("x.example A 192.0.2.1")]);
    let asked = RequestedName {
        name: &at,
        rtype: RecordType::A,
        sets: &sets,
        resource: &resource,
        owner: None,
        cname: CnameRules::STRICT,
        apex: false,
    };
    assert!(changes(bring(&asked, &standing)).join("").contains("routing policy"));
    assert_eq!(withdraw(&at, RecordType::A, &standing), ApplyPlan::Nothing);
}

#[test]
fn with_a_registry_what_is_not_ours_is_adopted_by_equal_values_alone() {
    let wanted = "x.example A ttl=120 192.0.2.1";
    let check = |standing: &str, ownership: Ownership, expected: &str| {
        let said = changes(plan(RecordType::A, &[wanted], &[(standing, ownership.clone())])).join("");
        assert!(said.starts_with(expected), "{said}");
    };
    let other = || Ownership::Foreign(OwnerId::new("other").unwrap());
    check(wanted, Ownership::Unclaimed, "adopt x.example 120 A 192.0.2.1");
    check("x.example A ttl=60 192.0.2.1", Ownership::Unclaimed, "adopt x.example 60 A 192.0.2.1");
    check("x.example A ttl=120 192.0.2.9", Ownership::Unclaimed, "! x.example A stands already with 192.0.2.9");
    check(wanted, other(), "! x.example A is owned by ");
    check("x.example A ttl=120 192.0.2.9", other(), "! x.example A is owned by ");
    check(
        wanted,
        Ownership::Disputed(vec![OwnerId::new("a").unwrap(), OwnerId::new("b").unwrap()]),
        "! x.example A is claimed",
    );
    check(wanted, OURS, "");
    // The former shape, too.
    check("x.example CNAME h", other(), "! x.example CNAME is owned by ");
}

#[test]
fn a_rivals_record_stays() {
    let found = of("x.example A 192.0.2.1");
    let claim = Claim {
        owner: OwnerId::new("us").unwrap(),
        resource: Some("dnsrecord/ns/b".into()),
        labels: Vec::new(),
        rank: ClaimRank::Typed,
        current: true,
        site: None,
    };
    let standing =
        [RecordAtName { set: &found, ownership: Ownership::Ours(Some(claim)), rival: Some("dnsrecord/ns/b".into()) }];
    assert_eq!(withdraw(&name("x.example"), RecordType::A, &standing), ApplyPlan::Nothing);
}

#[test]
fn what_a_deletion_takes() {
    use RecordType::{A, Aaaa, Cname, Txt};
    let check = |rtype, standing: &[&str], expected: &[&str]| {
        let sets: Vec<RecordSet> = standing.iter().map(|line| of(line)).collect();
        let found: Vec<RecordAtName<'_>> =
            sets.iter().map(|set| RecordAtName { set, ownership: OURS, rival: None }).collect();
        assert_eq!(changes(Ok(withdraw(&name("x.example"), rtype, &found))), expected, "{standing:?}");
    };
    let all = ["x.example A 192.0.2.1", "x.example AAAA 2001:db8::1", "x.example TXT t"];
    check(A, &all, &["- x.example A 192.0.2.1"]);
    check(Aaaa, &all, &["- x.example AAAA 2001:db8::1"]);
    check(Txt, &all, &["- x.example TXT \"t\""]);
    check(Cname, &all, &[]);
    check(Cname, &["x.example CNAME h"], &["- x.example CNAME h."]);
    check(
        Cname,
        &["x.example A alias:h", "x.example AAAA alias:h", "x.example TXT t"],
        &["- x.example A alias of h", "- x.example AAAA alias of h"],
    );
    check(A, &[], &[]);
}
