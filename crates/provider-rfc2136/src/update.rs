//! From groups to UPDATE messages (RFC 2136), and from response codes to outcomes.
//!
//! In: the groups of one call. Out: for each group either a reason why it cannot be written at all, or its place in a
//! message. What must hold: every old side is a prerequisite, and nothing is left for a server to swallow. BIND and Knot
//! answer NOERROR to a CNAME beside other data, and to other data beside a CNAME, and add nothing (RFC 2136 3.4.2.2). So a
//! record is created under the prerequisite that no CNAME stands there, and a CNAME under the one that its name is not in
//! use, or, where the group clears the name itself, that no other type stands there.

mod answer;
mod probe;

use std::collections::BTreeSet;

use domain::base::iana::{Class, Rtype};
use domain::base::rdata::UnknownRecordData;
use zonewright_core::change::{Change, Group, Precondition};
use zonewright_core::record::Routing;
use zonewright_core::{DnsName, Error, ErrorKind, RData, RecordData, RecordKey, RecordSet, RecordType, Ttl};

use self::probe::has_text;
use crate::wire::{self, Item, wire_name};

pub(crate) use self::answer::{is_conflict, is_worth_another, refused, refused_together, too_long};

/// Name of the operation in errors.
pub(crate) const OPERATION: &str = "update records";

/// A record of a message before it has its wire form; the order makes messages the same for the same groups.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Line {
    /// `name` has no record of any type.
    NameNotInUse(DnsName),
    /// No record set of this key stands.
    Absent(DnsName, RecordType),
    /// This is one record of a set that stands exactly so.
    Exact(DnsName, RecordType, Vec<u8>),
    /// The record set goes.
    DeleteSet(DnsName, RecordType),
    /// The record comes, or gets this TTL.
    Add(DnsName, RecordType, u32, Vec<u8>),
    /// The one record goes.
    Delete(DnsName, RecordType, Vec<u8>),
}

impl Line {
    fn item(self) -> Item {
        let (name, rtype, class, ttl, octets) = match self {
            Self::NameNotInUse(name) => (name, None, Class::NONE, 0, Vec::new()),
            Self::Absent(name, rtype) => (name, Some(rtype), Class::NONE, 0, Vec::new()),
            Self::Exact(name, rtype, octets) => (name, Some(rtype), Class::IN, 0, octets),
            Self::DeleteSet(name, rtype) => (name, Some(rtype), Class::ANY, 0, Vec::new()),
            Self::Add(name, rtype, ttl, octets) => (name, Some(rtype), Class::IN, ttl, octets),
            Self::Delete(name, rtype, octets) => (name, Some(rtype), Class::NONE, 0, octets),
        };
        let rtype = rtype.and_then(RecordType::number).map_or(Rtype::ANY, Rtype::from_int);
        let data = UnknownRecordData::from_octets(rtype, octets).expect("data of core's types is below 64 KiB");
        (wire_name(&name), class, ttl, data)
    }
}

/// What one group needs and does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Part {
    prerequisites: BTreeSet<Line>,
    updates: BTreeSet<Line>,
    /// CNAMEs that are created at names which the group clears; whether they are there has to be asked.
    pub(crate) doubtful: Vec<RecordSet>,
    /// Old sets in which upper and lower case matter.
    pub(crate) texts: Vec<RecordSet>,
    /// A change by which it can be determined whether the group was carried out; `None` if it changes nothing.
    pub(crate) witness: Option<Change>,
}

impl Part {
    /// What `group` means in `zone`; `default` is the TTL of a set without one.
    ///
    /// # Errors
    /// What RFC 2136 cannot express, or a server would ignore.
    pub(crate) fn new(zone: &DnsName, group: &Group, default: Ttl) -> Result<Self, Error> {
        let mut part = Self {
            prerequisites: BTreeSet::new(),
            updates: BTreeSet::new(),
            doubtful: Vec::new(),
            texts: Vec::new(),
            witness: group.changes().find(|change| change.from() != change.to()).cloned(),
        };
        for precondition in group.preconditions() {
            part.require(zone, precondition)?;
        }
        for change in group.changes() {
            part.guard(zone, group, change)?;
            part.write(zone, change, default)?;
        }
        Ok(part)
    }

    fn require(&mut self, zone: &DnsName, precondition: Precondition) -> Result<(), Error> {
        match precondition {
            Precondition::NameNotInUse(name) => {
                self.prerequisites.insert(Line::NameNotInUse(within(zone, &name)?));
            }
            Precondition::Absent(key) => {
                self.prerequisites.insert(Line::Absent(within(zone, &key.name)?, checked(&key)?));
            }
            Precondition::Exact(set) => {
                let (name, rtype) = (within(zone, &set.key.name)?, checked(&set.key)?);
                self.prerequisites.extend(octets(&set)?.into_iter().map(|o| Line::Exact(name.clone(), rtype, o)));
                if has_text(rtype) {
                    self.texts.push(set);
                }
            }
        }
        Ok(())
    }

    /// Adds the prerequisites without which a server could swallow a creation.
    fn guard(&mut self, zone: &DnsName, group: &Group, change: &Change) -> Result<(), Error> {
        let Change::Create { to } = change else { return Ok(()) };
        let name = within(zone, &to.key.name)?;
        let goes = |rtype: RecordType| {
            group
                .changes()
                .any(|c| matches!(c, Change::Delete { from } if from.key.name == name && from.key.rtype == rtype))
        };
        let free = self.prerequisites.contains(&Line::NameNotInUse(name.clone()));
        if to.key.rtype != RecordType::Cname {
            if !free && !goes(RecordType::Cname) {
                self.prerequisites.insert(Line::Absent(name.clone(), RecordType::Cname));
            }
        } else if !free {
            let others = RecordType::WRITABLE.into_iter().filter(|rtype| !goes(*rtype));
            self.prerequisites.extend(others.map(|rtype| Line::Absent(name.clone(), rtype)));
            self.doubtful.push(to.clone());
        }
        Ok(())
    }

    fn write(&mut self, zone: &DnsName, change: &Change, default: Ttl) -> Result<(), Error> {
        let (name, rtype) = (within(zone, &change.key().name)?, checked(change.key())?);
        let old = change.from().map(octets).transpose()?.unwrap_or_default();
        let new = change.to().map(octets).transpose()?.unwrap_or_default();
        let ttl = change.to().and_then(|set| set.ttl).unwrap_or(default).secs();
        if rtype == RecordType::Ns && name == *zone {
            // At the apex the set cannot be deleted (RFC 2136 3.4.2.3), so its members go one by one, after the new came.
            if new.is_empty() {
                return Err(invalid(format!("{name} NS: the name servers of a zone cannot be deleted")));
            }
            let gone = old.into_iter().filter(|o| !new.contains(o));
            self.updates.extend(gone.map(|o| Line::Delete(name.clone(), rtype, o)));
        } else if change.from().is_some() {
            self.updates.insert(Line::DeleteSet(name.clone(), rtype));
        }
        self.updates.extend(new.into_iter().map(|o| Line::Add(name.clone(), rtype, ttl, o)));
        Ok(())
    }
}

/// The UPDATE message of several groups; `None` if it is longer than `limit` octets. Deletions come first, so that a name
/// is free when its new type arrives.
pub(crate) fn message(zone: &DnsName, parts: &[&Part], limit: usize) -> Option<Vec<u8>> {
    let gather =
        |of: fn(&Part) -> &BTreeSet<Line>| parts.iter().flat_map(|part| of(part)).cloned().collect::<BTreeSet<_>>();
    let prerequisites = gather(|part| &part.prerequisites).into_iter().map(Line::item);
    let updates = gather(|part| &part.updates).into_iter().map(Line::item);
    wire::update(zone, prerequisites, updates, limit).ok()
}

fn within(zone: &DnsName, name: &DnsName) -> Result<DnsName, Error> {
    if name.is_within(zone) { Ok(name.clone()) } else { Err(invalid(format!("{name} is outside of zone {zone}"))) }
}

/// The type of a key that can be written over DNS.
fn checked(key: &RecordKey) -> Result<RecordType, Error> {
    if key.set_id.is_some() {
        return Err(invalid(format!("{key}: a DNS server has no set identifiers")));
    }
    match key.rtype {
        RecordType::Soa => Err(invalid(format!("{key}: the SOA belongs to the server"))),
        RecordType::Named(_) => Err(invalid(format!("{key}: this type exists only at some providers"))),
        rtype => Ok(rtype),
    }
}

/// The data of a set in wire form.
fn octets(set: &RecordSet) -> Result<Vec<Vec<u8>>, Error> {
    if !matches!(set.data, RecordData::Records(_)) || set.routing != Routing::Simple {
        return Err(invalid(format!("{}: a DNS server has no aliases and no routing policies", set.key)));
    }
    let records = set.data.as_records();
    let wire: Option<Vec<Vec<u8>>> = records.iter().map(RData::to_wire).collect();
    let fitting = wire.filter(|all| !all.is_empty() && records.iter().all(|data| data.rtype() == set.key.rtype));
    fitting.ok_or_else(|| invalid(format!("{}: {:?} is no data of this type", set.key, set.data.to_string())))
}

fn invalid(context: String) -> Error {
    Error::new(ErrorKind::Invalid, OPERATION, context)
}

#[cfg(test)]
pub(crate) mod tests {
    use zonewright_core::change::Step;

    use super::*;

    pub(crate) fn set(text: &str) -> RecordSet {
        let words: Vec<&str> = text.splitn(4, ' ').collect();
        let rtype: RecordType = words[2].parse().unwrap();
        let ttl = words[1].parse().ok().and_then(Ttl::from_secs);
        let data = words[3].split(" ; ").map(|one| RData::parse(rtype, one).unwrap());
        RecordSet::simple(DnsName::parse(words[0]).unwrap(), rtype, ttl, data)
    }

    fn create(text: &str) -> Change {
        Change::Create { to: set(text) }
    }

    fn delete(text: &str) -> Change {
        Change::Delete { from: set(text) }
    }

    fn update(from: &str, to: &str) -> Change {
        Change::Update { from: set(from), to: set(to) }
    }

    fn part(changes: Vec<Change>) -> Result<Part, Error> {
        let mut steps = changes.into_iter().map(|change| Step::record(change, None));
        let mut group = Group::of(steps.next().unwrap(), Vec::new());
        group.steps.extend(steps);
        Part::new(&DnsName::parse("z").unwrap(), &group, Ttl::from_secs(7).unwrap())
    }

    /// The lines of the message in short: data as the last octet, or as its length.
    fn shown(lines: &BTreeSet<Line>) -> Vec<String> {
        let last = |octets: &[u8]| octets.last().copied().unwrap_or(0);
        let one = |line: &Line| match line {
            Line::NameNotInUse(name) => format!("free {name}"),
            Line::Absent(name, rtype) => format!("no {name} {rtype}"),
            Line::Exact(name, rtype, o) => format!("is {name} {rtype} {}", last(o)),
            Line::DeleteSet(name, rtype) => format!("- {name} {rtype}"),
            Line::Add(name, rtype, ttl, o) => format!("+ {name} {ttl} {rtype} {}", last(o)),
            Line::Delete(name, rtype, o) => format!("- {name} {rtype} {}", last(o)),
        };
        lines.iter().map(one).collect()
    }

    #[test]
    fn what_is_demanded_and_done() {
        for (changes, prerequisites, updates) in [
            (vec![create("a.z 60 A 192.0.2.1")], vec!["no a.z A", "no a.z CNAME"], vec!["+ a.z 60 A 1"]),
            (vec![create("a.z - A 192.0.2.1")], vec!["no a.z A", "no a.z CNAME"], vec!["+ a.z 7 A 1"]),
            (vec![create("a.z 60 CNAME b.z")], vec!["free a.z"], vec!["+ a.z 60 CNAME 0"]),
            (vec![delete("a.z 60 A 192.0.2.1")], vec!["is a.z A 1"], vec!["- a.z A"]),
            (
                vec![update("a.z 60 A 192.0.2.1 ; 192.0.2.2", "a.z 60 A 192.0.2.2 ; 192.0.2.3")],
                vec!["is a.z A 1", "is a.z A 2"],
                vec!["- a.z A", "+ a.z 60 A 2", "+ a.z 60 A 3"],
            ),
            (
                vec![update("a.z 60 A 192.0.2.1", "a.z 90 A 192.0.2.1")],
                vec!["is a.z A 1"],
                vec!["- a.z A", "+ a.z 90 A 1"],
            ),
            (
                vec![create("a.z 60 A 192.0.2.1"), delete("a.z 60 CNAME b.z")],
                vec!["no a.z A", "is a.z CNAME 0"],
                vec!["- a.z CNAME", "+ a.z 60 A 1"],
            ),
            // The last name server of an apex cannot go, so the new ones come first.
            (
                vec![update("z 60 NS a.z ; b.z", "z 60 NS b.z ; c.z")],
                vec!["is z NS 0", "is z NS 0"],
                vec!["+ z 60 NS 0", "+ z 60 NS 0", "- z NS 0"],
            ),
        ] {
            let part = part(changes).unwrap();
            assert_eq!((shown(&part.prerequisites), shown(&part.updates)), (owned(&prerequisites), owned(&updates)));
            assert!(part.doubtful.is_empty());
        }
    }

    fn owned(lines: &[&str]) -> Vec<String> {
        lines.iter().map(|line| (*line).to_owned()).collect()
    }

    #[test]
    fn a_cname_in_place_of_something_is_looked_after() {
        let part = part(vec![delete("a.z 60 A 192.0.2.1"), create("a.z 60 CNAME b.z")]).unwrap();
        let prerequisites = shown(&part.prerequisites);
        for rtype in RecordType::WRITABLE {
            let expected = if rtype == RecordType::A { "is a.z A 1".to_owned() } else { format!("no a.z {rtype}") };
            assert!(prerequisites.contains(&expected), "{expected}: {prerequisites:?}");
        }
        assert_eq!(part.doubtful, [set("a.z 60 CNAME b.z")]);
    }

    #[test]
    fn what_cannot_be_said() {
        let mut weighted = set("a.z 60 A 192.0.2.1");
        weighted.key.set_id = zonewright_core::record::SetId::new("one");
        for (change, expected) in [
            (create("a.other 60 A 192.0.2.1"), "outside of zone z"),
            (create("az 60 A 192.0.2.1"), "outside of zone z"),
            (create("z 60 SOA ns.z. a.z. 1 2 3 4 5"), "belongs to the server"),
            (create("a.z 60 ALIAS b.z"), "only at some providers"),
            (delete("z 60 NS a.z"), "cannot be deleted"),
            (Change::Create { to: weighted }, "no set identifiers"),
            (
                Change::Create { to: RecordSet { data: RecordData::records([]), ..set("a.z 60 A 192.0.2.1") } },
                "no data",
            ),
        ] {
            let error = part(vec![change]).unwrap_err();
            assert_eq!(error.kind, ErrorKind::Invalid);
            assert!(error.context.contains(expected), "{error}");
        }
    }

    #[test]
    fn a_message_is_no_longer_than_allowed() {
        let zone = DnsName::parse("z").unwrap();
        let part = part(vec![create(&format!("a.z 60 TXT \"{}\"", "x".repeat(200)))]).unwrap();
        let whole = message(&zone, &[&part], wire::MAX_MESSAGE).unwrap();
        assert_eq!(message(&zone, &[&part], whole.len()), Some(whole.clone()));
        assert_eq!(message(&zone, &[&part], whole.len() - 1), None);
        assert_eq!(message(&zone, &[&part, &part], wire::MAX_MESSAGE), Some(whole), "the same line is sent once");
    }
}
