//! A batch of changes as it is read, and what is checked of each change without looking at the zone.
//!
//! Two layers, as in the service: `InvalidInput` where a field breaks the form in the API reference or fields do not go
//! together, `InvalidChangeBatch` where the set could stand in no zone.

use std::collections::BTreeSet;

use roxmltree::Node;

use super::policy;
use super::refusal::Refusal;
use super::set::{Asked, RecordSet, Routing};
use super::value::{self, KINDS};
use super::xml;

/// Most changes of a request, and most values of it; a value of an UPSERT counts twice.
const MOST_RECORDS: usize = 1_000;
/// Most characters of all values of a request; those of an UPSERT count twice.
const MOST_CHARACTERS: usize = 32_000;
/// Most values of a set.
const MOST_VALUES: usize = 400;
/// Most characters of a value.
const LONGEST_VALUE: usize = 4_000;

/// What is to be done with a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    Create,
    Delete,
    Upsert,
}

impl Action {
    const ALL: [Self; 3] = [Self::Create, Self::Delete, Self::Upsert];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Delete => "DELETE",
            Self::Upsert => "UPSERT",
        }
    }
}

/// A change whose set has the names in the form of the service.
#[derive(Debug, Clone)]
pub(super) struct Change {
    pub(super) action: Action,
    pub(super) set: RecordSet,
}

/// Everything that a request asks for.
#[derive(Debug)]
pub(super) struct Batch {
    pub(super) changes: Vec<Change>,
    pub(super) comment: Option<String>,
}

impl Batch {
    /// Reads the body of `ChangeResourceRecordSets` and checks each change alone.
    pub(super) fn read(body: &[u8]) -> Result<Self, Refusal> {
        xml::request(body, "ChangeResourceRecordSetsRequest", |root| {
            xml::only(root, &["ChangeBatch"])?;
            let missing = || Refusal::missing("ChangeBatch");
            let batch = xml::child(root, "ChangeBatch").ok_or_else(missing)?;
            xml::only(batch, &["Comment", "Changes"])?;
            let changes = read_changes(&xml::list(batch, "Changes", "Change"))?;
            limits(&changes)?;
            let mut problems = Vec::new();
            let changes = changes.into_iter().filter_map(|change| sound(change, &mut problems)).collect();
            let comment = xml::text(batch, "Comment").map(str::to_owned);
            if problems.is_empty() { Ok(Self { changes, comment }) } else { Err(Refusal::batch(problems)) }
        })
    }
}

fn read_changes(nodes: &[Node<'_, '_>]) -> Result<Vec<Change>, Refusal> {
    if nodes.is_empty() {
        let problem = "Value '[]' at 'changeBatch.changes' failed to satisfy constraint: Member must have length \
                       greater than or equal to 1";
        return Err(Refusal::validation(&[problem.to_owned()]));
    }
    let (mut changes, mut problems) = (Vec::new(), Vec::new());
    for (at, node) in nodes.iter().enumerate() {
        xml::only(*node, &["Action", "ResourceRecordSet"])?;
        let missing = || Refusal::missing("Change.ResourceRecordSet");
        let asked = Asked::read(xml::child(*node, "ResourceRecordSet").ok_or_else(missing)?)?;
        let word = xml::text(*node, "Action").unwrap_or_default();
        let mut fields = Fields { at: at + 1, problems: &mut problems };
        let action = Action::ALL.into_iter().find(|action| action.name() == word);
        if action.is_none() {
            fields.add("action", word, "Member must satisfy enum value set: [CREATE, DELETE, UPSERT]");
        }
        fields.check(&asked.set);
        changes.extend(action.map(|action| (action, asked)));
    }
    if !problems.is_empty() {
        return Err(Refusal::validation(&problems));
    }
    changes.into_iter().map(|(action, asked)| together(action, asked)).collect()
}

/// The fields of one change against the form in the reference.
struct Fields<'a> {
    /// The place of the change, from 1.
    at: usize,
    problems: &'a mut Vec<String>,
}

impl Fields<'_> {
    fn add(&mut self, field: &str, value: impl std::fmt::Display, constraint: &str) {
        let place = format!("changeBatch.changes.{}.member.{field}", self.at);
        self.problems.push(format!("Value '{value}' at '{place}' failed to satisfy constraint: {constraint}"));
    }

    fn check(&mut self, set: &RecordSet) {
        if !KINDS.contains(&set.kind.as_str()) {
            let known = format!("Member must satisfy enum value set: [{}]", KINDS.join(", "));
            self.add("resourceRecordSet.type", &set.kind, &known);
        }
        self.length("resourceRecordSet.name", Some(&set.name), 0, 1024);
        self.length("resourceRecordSet.setIdentifier", set.identifier.as_ref(), 1, 128);
        self.length("resourceRecordSet.healthCheckId", set.health_check.as_ref(), 0, 64);
        self.length("resourceRecordSet.aliasTarget.hostedZoneId", set.alias.as_ref().map(|alias| &alias.zone), 0, 32);
        self.range("resourceRecordSet.tTL", set.ttl, 0, i64::from(i32::MAX));
        for value in &set.values {
            self.length("resourceRecordSet.resourceRecords.value", Some(value), 0, LONGEST_VALUE);
        }
        match &set.routing {
            Some(Routing::Weight(weight)) => self.range("resourceRecordSet.weight", Some(*weight), 0, 255),
            Some(Routing::Region(region)) if !policy::REGIONS.contains(&region.as_str()) => {
                let known = format!("Member must satisfy enum value set: [{}]", policy::REGIONS.join(", "));
                self.add("resourceRecordSet.region", region, &known);
            }
            Some(Routing::Failover(role)) if !["PRIMARY", "SECONDARY"].contains(&role.as_str()) => {
                let known = "Member must satisfy enum value set: [PRIMARY, SECONDARY]";
                self.add("resourceRecordSet.failover", role, known);
            }
            Some(Routing::Proximity { bias, .. }) => {
                self.range("resourceRecordSet.geoProximityLocation.bias", *bias, -99, 99);
            }
            _ => {}
        }
    }

    fn length(&mut self, field: &str, value: Option<&String>, least: usize, most: usize) {
        let Some(value) = value else { return };
        let count = value.chars().count();
        if count < least {
            self.add(field, value, &format!("Member must have length greater than or equal to {least}"));
        } else if count > most {
            self.add(field, value, &format!("Member must have length less than or equal to {most}"));
        }
    }

    fn range(&mut self, field: &str, value: Option<i64>, least: i64, most: i64) {
        match value {
            Some(value) if value < least => {
                self.add(field, value, &format!("Member must have value greater than or equal to {least}"));
            }
            Some(value) if value > most => {
                self.add(field, value, &format!("Member must have value less than or equal to {most}"));
            }
            _ => {}
        }
    }
}

/// The elements of which a set with an identifier has one.
const POLICIES: &str =
    "Weight, Region, Failover, GeoLocation, MultiValueAnswer, GeoProximityLocation, or CidrRoutingConfig";

/// Which fields go together.
fn together(action: Action, asked: Asked) -> Result<Change, Refusal> {
    let Asked { set, more } = asked;
    let refuse = |problem: String| {
        let identifier = set.identifier.as_deref().unwrap_or("null");
        let (action, name, kind) = (action.name(), &set.name, &set.kind);
        Refusal::input(format!(
            "Invalid request: {problem} in Change with [Action={action}, Name={name}, Type={kind}, \
             SetIdentifier={identifier}]"
        ))
    };
    let plain = (set.ttl.is_some(), !set.values.is_empty());
    let forms = usize::from(set.alias.is_some())
        + usize::from(plain != (false, false))
        + usize::from(set.policy_instance.is_some());
    let one_form =
        "Expected exactly one of [AliasTarget, all of [TTL, and ResourceRecords], or TrafficPolicyInstanceId]";
    let problem = match (&set.identifier, &set.routing) {
        (Some(_), None) => Some(format!("Expected exactly one of [{POLICIES}], but found none")),
        _ if more > 0 => Some(format!("Expected exactly one of [{POLICIES}], but found more than one")),
        (None, Some(_)) => Some("Missing field 'SetIdentifier'".to_owned()),
        (_, Some(Routing::MultiValue)) if set.alias.is_some() => {
            Some("Expected at most one of [AliasTarget, MultiValueAnswer], but found more than one".to_owned())
        }
        (_, Some(routing)) => policy::problem(routing),
        (None, None) => None,
    };
    let problem = problem.or_else(|| match (forms, plain) {
        (0, _) => Some(format!("{one_form}, but found none")),
        (1, (true, false)) => Some("Missing field 'ResourceRecords'".to_owned()),
        (1, (false, true)) => Some("Missing field 'TTL'".to_owned()),
        (1, _) => None,
        _ => Some(format!("{one_form}, but found more than one")),
    });
    match problem {
        Some(problem) => Err(refuse(problem)),
        None => Ok(Change { action, set }),
    }
}

/// *Quotas* in the developer guide: changes, values and characters of a request.
fn limits(changes: &[Change]) -> Result<(), Refusal> {
    let factor = |change: &Change| if change.action == Action::Upsert { 2 } else { 1 };
    let records: usize = changes.iter().map(|change| change.set.values.len() * factor(change)).sum();
    let characters = |change: &Change| change.set.values.iter().map(|value| value.chars().count()).sum::<usize>();
    let characters: usize = changes.iter().map(|change| characters(change) * factor(change)).sum();
    let mut problems = Vec::new();
    if records > MOST_RECORDS || changes.len() > MOST_RECORDS {
        problems.push(format!("Number of records limit of {MOST_RECORDS} exceeded."));
    }
    if characters > MOST_CHARACTERS {
        problems.push(format!("RDATA character limit of {MOST_CHARACTERS} exceeded."));
    }
    if problems.is_empty() { Ok(()) } else { Err(Refusal::batch(problems)) }
}

/// The change with its names as they are stored, unless the set can stand in no zone.
fn sound(change: Change, problems: &mut Vec<String>) -> Option<Change> {
    let set = change.set.stored().map_err(|problem| problems.push(problem)).ok()?;
    // A delete has to match what stands, so whatever stands can be deleted.
    if change.action != Action::Delete {
        let found = problems_of(&set);
        if !found.is_empty() {
            problems.extend(found);
            return None;
        }
    }
    Some(Change { action: change.action, set })
}

fn problems_of(set: &RecordSet) -> Vec<String> {
    let RecordSet { name, kind, values, .. } = set;
    let mut problems: Vec<String> = values.iter().filter_map(|value| value::check(kind, value).err()).collect();
    let mut seen = BTreeSet::new();
    let repeated = values.iter().filter(|value| !seen.insert(*value));
    problems.extend(repeated.map(|value| format!("Duplicate Resource Record: '{value}'")));
    if values.len() > MOST_VALUES {
        problems.push(format!("Cannot have more than {MOST_VALUES} records in a RRSet."));
    }
    if matches!(kind.as_str(), "CNAME" | "SOA") && values.len() > 1 {
        problems.push(format!("RRSet of type {kind} with DNS name {name} contains more than one resource record."));
    }
    if kind == "NS" && name.starts_with("\\052.") {
        problems.push(format!("RRSet of type NS with DNS name {name} is not permitted as it is a wildcard."));
    }
    if set.alias.is_some() && matches!(kind.as_str(), "NS" | "SOA") {
        problems.push(format!("Alias RRSet with DNS name {name} cannot have type {kind}."));
    }
    problems.extend(policy::misplaced(set));
    problems
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::route53::xml::{Element, NAMESPACE};

    fn batch(changes: &[(&'static str, RecordSet)]) -> Result<Batch, Refusal> {
        let change = |(action, set): &(&'static str, RecordSet)| {
            Element::list("Change", vec![Element::text("Action", action), set.element()])
        };
        let changes = Element::list("Changes", changes.iter().map(change).collect());
        let root = vec![Element::list("ChangeBatch", vec![changes])];
        Batch::read(Element::list("ChangeResourceRecordSetsRequest", root).document(NAMESPACE).as_bytes())
    }

    fn a() -> RecordSet {
        RecordSet::new("a.example.org", "A", 300, &["192.0.2.1"])
    }

    fn many(count: usize, length: usize) -> RecordSet {
        let values = (0..count).map(|n| format!("\"{n:0>length$}\"")).collect();
        RecordSet { kind: "TXT".to_owned(), values, ..a() }
    }

    #[track_caller]
    fn refused(set: RecordSet, code: &str, message: &str) {
        let refusal = batch(&[("CREATE", set)]).unwrap_err();
        assert_eq!(refusal.code, code);
        assert!(refusal.messages.iter().any(|found| found.contains(message)), "{:?}", refusal.messages);
    }

    #[test]
    fn sound_sets_are_read_with_their_names_as_stored() {
        let read = batch(&[("UPSERT", RecordSet::new("*.Example.org", "A", 0, &["192.0.2.1"]))]).unwrap();
        assert_eq!(read.changes[0].set.name, "\\052.example.org.");
        assert_eq!(read.changes[0].action, Action::Upsert);
        assert!(batch(&[("CREATE", many(400, 1))]).is_ok());
    }

    #[test]
    fn fields_have_the_form_of_the_reference() {
        let long = "i".repeat(129);
        for (set, field) in [
            (RecordSet { kind: "DNAME".to_owned(), ..a() }, "type"),
            (RecordSet { ttl: Some(-1), ..a() }, "tTL"),
            (RecordSet { ttl: Some(1 << 31), ..a() }, "tTL"),
            (a().routed("i", Routing::Weight(256)), "weight"),
            (a().routed("i", Routing::Region("mars-north-1".to_owned())), "region"),
            (a().routed("i", Routing::Failover("TERTIARY".to_owned())), "failover"),
            (a().routed(&long, Routing::Weight(1)), "setIdentifier"),
            (a().routed("", Routing::Weight(1)), "setIdentifier"),
            (RecordSet { health_check: Some(long.clone()), ..a() }, "healthCheckId"),
            (many(1, 3_999), "resourceRecords.value"),
        ] {
            refused(set, "InvalidInput", &format!("changeBatch.changes.1.member.resourceRecordSet.{field}'"));
        }
        assert_eq!(batch(&[]).unwrap_err().code, "InvalidInput");
        assert!(batch(&[("REPLACE", a())]).unwrap_err().messages[0].contains("changes.1.member.action"));
    }

    #[test]
    fn all_wrong_fields_are_named_at_once() {
        let wrong = || RecordSet { kind: "DNAME".to_owned(), ttl: Some(-1), ..a() };
        let refusal = batch(&[("CREATE", wrong()), ("CREATE", wrong())]).unwrap_err();
        assert!(refusal.messages[0].starts_with("4 validation errors detected: "), "{:?}", refusal.messages);
    }

    #[test]
    fn fields_go_together() {
        let alias = || RecordSet::alias("a.example.org", "A", "Z1", "b.example.org");
        for (set, message) in [
            (RecordSet { ttl: None, ..a() }, "Missing field 'TTL'"),
            (RecordSet { values: Vec::new(), ..a() }, "Missing field 'ResourceRecords'"),
            (RecordSet { values: Vec::new(), ttl: None, ..a() }, "but found none"),
            (RecordSet { ttl: Some(1), ..alias() }, "but found more than one"),
            (RecordSet { alias: alias().alias, ..a() }, "but found more than one"),
            (RecordSet { identifier: Some("i".to_owned()), ..a() }, "but found none"),
            (RecordSet { routing: Some(Routing::Weight(1)), ..a() }, "Missing field 'SetIdentifier'"),
            (alias().routed("i", Routing::MultiValue), "AliasTarget, MultiValueAnswer"),
        ] {
            refused(set, "InvalidInput", message);
        }
    }

    #[test]
    fn requests_have_their_limits() {
        let limit =
            |changes: &[(&'static str, RecordSet)]| batch(changes).map(|_| ()).map_err(|refusal| refusal.messages);
        let of = |set: &RecordSet, name: &str| RecordSet { name: format!("{name}.example.org"), ..set.clone() };
        let records = Err(vec!["Number of records limit of 1000 exceeded.".to_owned()]);
        let characters = Err(vec!["RDATA character limit of 32000 exceeded.".to_owned()]);
        let (most, some, more) = (many(400, 3), many(200, 3), many(201, 3));
        assert_eq!(
            limit(&[("CREATE", of(&most, "a")), ("CREATE", of(&most, "b")), ("DELETE", of(&some, "c"))]),
            Ok(())
        );
        assert_eq!(
            limit(&[("CREATE", of(&most, "a")), ("CREATE", of(&most, "b")), ("DELETE", of(&more, "c"))]),
            records
        );
        assert_eq!(limit(&[("UPSERT", of(&most, "a")), ("CREATE", of(&some, "b"))]), Ok(()));
        assert_eq!(limit(&[("UPSERT", of(&most, "a")), ("CREATE", of(&more, "b"))]), records);
        assert_eq!(limit(&[("CREATE", many(320, 98))]), Ok(()));
        assert_eq!(limit(&[("CREATE", many(320, 99))]), characters);
        assert_eq!(limit(&[("UPSERT", many(160, 98))]), Ok(()));
        assert_eq!(limit(&[("UPSERT", many(160, 99))]), characters);
    }

    #[test]
    fn some_sets_stand_in_no_zone() {
        for (set, message) in [
            (RecordSet::new("a..org", "A", 1, &["192.0.2.1"]), "DomainLabelEmpty"),
            (RecordSet::new("a.org", "A", 1, &["192.0.2.1", "192.0.2.1"]), "Duplicate Resource Record: '192.0.2.1'"),
            (RecordSet::new("a.org", "A", 1, &["b.org"]), "ARRDATAIllegalIPv4Address"),
            (RecordSet::new("a.org", "CNAME", 1, &["b.org", "c.org"]), "more than one resource record"),
            (RecordSet::new("*.a.org", "NS", 1, &["b.org"]), "wildcard"),
            (RecordSet::alias("a.org", "NS", "Z1", "b.org"), "cannot have type NS"),
            (many(401, 3), "Cannot have more than 400 records"),
        ] {
            refused(set.clone(), "InvalidChangeBatch", message);
        }
        let two = batch(&[("CREATE", RecordSet::new("a.org", "A", 1, &["x", "y"])), ("DELETE", a())]).unwrap_err();
        assert_eq!(two.messages.len(), 2);
    }
}
