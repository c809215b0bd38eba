//! The rules that a zone keeps: what may be written, and what may stand together.
//!
//! In: groups, and the zone as it is before or after them. Out: which group breaks which rule. All preconditions of all
//! groups of a call are held against one state, the one before the call.

use std::collections::BTreeSet;

use zonewright_core::change::{Change, Group, Precondition};
use zonewright_core::error::{Error, ErrorKind};
use zonewright_core::record::Routing;
use zonewright_core::{DnsName, RecordData, RecordKey, RecordSet, RecordType, Ttl};

use crate::table::ZoneTable;

/// The TTL of a set that asks for none.
pub(crate) fn default_ttl() -> Ttl {
    Ttl::from_wire(300)
}

/// Most octets of record data in a set: what an answer over TCP holds beside header, question and owner names.
const MAX_SET: usize = 60_000;

/// For each group, what is wrong with it as the zone stands now.
pub(crate) fn judge(zone: &ZoneTable, groups: &[Group]) -> Vec<Option<Error>> {
    let mut seen = BTreeSet::new();
    groups
        .iter()
        .map(|group| {
            let twice = group.changes().map(Change::key).find(|key| !seen.insert((*key).clone()));
            let twice = twice.map(|key| invalid(format!("{key} is changed twice in one call; expected once")));
            twice.or_else(|| check_group(zone, group).err())
        })
        .collect()
}

fn check_group(zone: &ZoneTable, group: &Group) -> Result<(), Error> {
    for change in group.changes() {
        if let Change::Update { from, to } = change
            && from.key != to.key
        {
            return Err(invalid(format!("update of {} to {}; expected one key on both sides", from.key, to.key)));
        }
        check_place(&zone.apex, change.key()).map_err(invalid)?;
        if let Some(to) = change.to() {
            check_writable(to)?;
            check_content(to).map_err(invalid)?;
        }
    }
    group.preconditions().iter().try_for_each(|condition| check_precondition(zone, condition))
}

fn invalid(context: String) -> Error {
    Error::new(ErrorKind::Invalid, "apply", context)
}

fn conflict(context: String) -> Error {
    Error::new(ErrorKind::Conflict, "apply", context)
}

fn check_precondition(zone: &ZoneTable, condition: &Precondition) -> Result<(), Error> {
    match condition {
        Precondition::Exact(set) => match zone.find(&set.key) {
            Some(found) if found.data == set.data => Ok(()),
            Some(found) => Err(conflict(format!("{} holds {}; expected {}", set.key, found.data, set.data))),
            None => Err(conflict(format!("{} is not there; expected {}", set.key, set.data))),
        },
        Precondition::Absent(key) => match zone.find(key) {
            None => Ok(()),
            Some(found) => Err(conflict(format!("{key} stands already with {}; expected nothing", found.data))),
        },
        Precondition::NameNotInUse(name) => match zone.node(name).and_then(|node| node.sets.values().next()) {
            None => Ok(()),
            Some(found) => Err(conflict(format!("{} stands already; expected no record at {name}", found.key))),
        },
    }
}

/// Whether a set has only what this server keeps.
fn check_writable(set: &RecordSet) -> Result<(), Error> {
    let unsupported = |what: String| Err(Error::new(ErrorKind::Unsupported, "apply", format!("{}: {what}", set.key)));
    if !RecordType::WRITABLE.contains(&set.key.rtype) {
        return unsupported(format!("type {} cannot be written", set.key.rtype));
    }
    if set.key.set_id.is_some() || set.routing != Routing::Simple {
        return unsupported("set identifiers and routing policies do not exist here".to_owned());
    }
    if let Some((key, _)) = set.options.iter().next() {
        return unsupported(format!("option {key} does not exist here"));
    }
    match set.data {
        RecordData::Records(_) => Ok(()),
        RecordData::Alias(_) => unsupported("aliases do not exist here".to_owned()),
        RecordData::Items(_) => unsupported("set identifiers and routing policies do not exist here".to_owned()),
    }
}

/// Whether a key may stand in the zone at all.
pub(crate) fn check_place(apex: &DnsName, key: &RecordKey) -> Result<(), String> {
    if !key.name.is_within(apex) {
        return Err(format!("{key} is outside zone {apex}"));
    }
    if key.rtype == RecordType::Soa {
        return Err(format!("{key} is kept by the server itself"));
    }
    Ok(())
}

/// Whether the content of a set can be served.
pub(crate) fn check_content(set: &RecordSet) -> Result<(), String> {
    let (key, records) = (&set.key, set.data.as_records());
    if records.is_empty() {
        return Err(format!("{key} has no records"));
    }
    if records.len() > 1 && matches!(key.rtype, RecordType::Cname | RecordType::Dname) {
        return Err(format!("{key} has {} records; expected one", records.len()));
    }
    let mut size = 0;
    for data in records {
        if data.rtype() != key.rtype {
            return Err(format!("{key} holds data of type {}", data.rtype()));
        }
        let octets = data.to_wire().filter(|_| key.rtype.number().is_some());
        size += octets.ok_or_else(|| format!("{key}: {data} has no wire form"))?.len();
    }
    if size > MAX_SET {
        return Err(format!("{key} has {size} bytes of data; expected at most {MAX_SET}"));
    }
    Ok(())
}

/// Whether what now stands at a name may stand there: a CNAME alone (RFC 1034 3.6.2), nothing below a DNAME (RFC 6672
/// 2.4), an apex with name servers and without either.
pub(crate) fn check_name(zone: &ZoneTable, name: &DnsName) -> Result<(), String> {
    let has = |at: &DnsName, rtype| zone.node(at).is_some_and(|node| node.sets.contains_key(&rtype));
    let types: Vec<RecordType> = zone.node(name).into_iter().flat_map(|node| node.sets.keys().copied()).collect();
    if *name == zone.apex {
        if let Some(rtype) = types.iter().find(|t| matches!(t, RecordType::Cname | RecordType::Dname)) {
            return Err(format!("a {rtype} would hide the zone; expected none at the apex"));
        }
        if !types.contains(&RecordType::Ns) {
            return Err("the apex would lose its name servers".to_owned());
        }
    }
    if let Some(other) = types.iter().find(|t| RecordType::Cname.excludes(**t) && types.contains(&RecordType::Cname)) {
        return Err(format!("a CNAME would stand beside {other}; expected it alone"));
    }
    if types.contains(&RecordType::Dname)
        && let Some(below) = zone.below(name)
    {
        return Err(format!("a DNAME would hide {below}; expected nothing below it"));
    }
    let mut above = name.parent();
    while let Some(ancestor) = above.filter(|a| a.is_within(&zone.apex) && !types.is_empty()) {
        if has(&ancestor, RecordType::Dname) {
            return Err(format!("the DNAME at {ancestor} hides it; expected nothing below a DNAME"));
        }
        above = ancestor.parent();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{set, zone};
    use zonewright_core::change::Step;

    fn create(line: &str) -> Group {
        Group::of(Step::record(Change::Create { to: set(line) }, None), vec![])
    }

    fn delete(line: &str) -> Group {
        Group::of(Step::record(Change::Delete { from: set(line) }, None), vec![])
    }

    /// Stages the groups and checks, for each, the part of its error that is expected (empty: not to blame).
    fn check(lines: &[&str], groups: &[Group], expected: &[&str]) {
        let mut zone = zone(lines);
        let before: Vec<RecordSet> = zone.sets().cloned().collect();
        match zone.stage(groups) {
            Ok(_) => assert!(expected.is_empty(), "went through; expected {expected:?}"),
            Err(verdicts) => {
                assert_eq!(zone.sets().cloned().collect::<Vec<_>>(), before, "nothing of a refused call stays");
                assert_eq!(verdicts.len(), expected.len(), "{verdicts:?}");
                for (verdict, part) in verdicts.iter().zip(expected) {
                    let error = verdict.as_ref().map_or_else(String::new, ToString::to_string);
                    assert_eq!(error.is_empty(), part.is_empty(), "{error:?} / {part:?}");
                    assert!(error.contains(part), "{error:?} does not say {part:?}");
                }
            }
        }
    }

    #[test]
    fn what_may_stand_together() {
        let a = "a.example.test 60 A 192.0.2.1";
        let cname = "a.example.test 60 CNAME b.test.";
        let dname = "d.example.test 60 DNAME b.test.";
        check(&[a], &[create("a.example.test 60 AAAA 2001:db8::1")], &[]);
        check(&[a], &[create(cname)], &["no record at a.example.test"]);
        check(&[cname], &[create(a)], &["beside A"]);
        check(&[cname], &[create(dname)], &[]);
        check(&["x.d.example.test 60 A 192.0.2.1"], &[create(dname)], &["hide x.d.example.test"]);
        check(&[dname], &[create("x.y.d.example.test 60 A 192.0.2.1")], &["DNAME at d.example.test"]);
        check(&[], &[create("example.test 60 CNAME b.test.")], &["no record at example.test"]);
        check(&[], &[create("example.test 60 DNAME b.test.")], &["at the apex"]);
        check(&[], &[create("example.org 60 A 192.0.2.1")], &["outside zone example.test"]);
        check(&[], &[create("a.example.test 60 TLSA \\# 3 010203")], &["type TLSA"]);
    }

    #[test]
    fn the_apex_keeps_name_servers() {
        check(&[], &[delete("example.test 3600 NS localhost.")], &["lose its name servers"]);
    }

    #[test]
    fn preconditions_are_held_against_the_state_before_the_call() {
        let (one, two) = ("a.example.test 60 A 192.0.2.1", "a.example.test 60 A 192.0.2.2");
        check(&[], &[create(one)], &[]);
        check(&[one], &[create(one)], &["stands already"]);
        check(&[one], &[delete(two)], &["holds 192.0.2.1; expected 192.0.2.2"]);
        check(&[], &[delete(one)], &["is not there"]);
        check(&[one], &[delete("a.example.test 999 A 192.0.2.1")], &[]);
        check(&[one], &[delete(one), create("a.example.test 60 CNAME b.test.")], &["", "stands already"]);
        check(&[], &[create(one), create(two)], &["", "changed twice"]);
    }

    #[test]
    fn a_group_that_fits_the_zone_but_not_its_neighbours_is_blamed() {
        let (cname, txt) = ("a.example.test 60 CNAME b.test.", "a.example.test 60 TXT x");
        check(&[], &[create("b.example.test 60 A 192.0.2.1"), create(cname), create(txt)], &["", "", "beside TXT"]);
    }

    #[test]
    fn extra_requirements_count() {
        let claim = "a-a.example.test 60 TXT \"heritage=x\"";
        let mut group = create("a.example.test 60 A 192.0.2.1");
        group.requires = vec![Precondition::Exact(set(claim))];
        check(&[claim], &[group.clone()], &[]);
        check(&[], &[group.clone()], &["is not there"]);
        check(&["a-a.example.test 60 TXT \"heritage=y\""], &[group.clone()], &["heritage=y"]);
        group.requires = vec![Precondition::NameNotInUse(DnsName::parse("a-a.example.test").unwrap())];
        check(&[claim], &[group], &["no record at a-a.example.test"]);
    }

    #[test]
    fn content_that_cannot_be_served_is_refused() {
        let mut two = set("a.example.test 60 CNAME b.test.");
        two.data = RecordData::records(
            ["b.test", "c.test"]
                .map(|t| set(&format!("x.test 60 CNAME {t}")).data)
                .iter()
                .flat_map(|d| d.as_records().to_vec()),
        );
        assert!(check_content(&two).unwrap_err().contains("expected one"));
        let empty = RecordSet { data: RecordData::records([]), ..two.clone() };
        assert!(check_content(&empty).unwrap_err().contains("no records"));
        let mixed = RecordSet { data: set("x.test 60 A 192.0.2.1").data, ..two };
        assert!(check_content(&mixed).unwrap_err().contains("data of type A"));
        let huge = "x".repeat(61_000);
        assert!(check_content(&set(&format!("x.test 60 TXT \"{huge}\""))).unwrap_err().contains("at most"));
        assert!(check_content(&set("x.test 60 TYPE65280 free text")).unwrap_err().contains("wire form"));
    }
}
