//! What is written into the status, as merge patches. Pure.
//!
//! In: the object as it stands, the operation, what became of it, the time. Out: the patch for each of the three moments (start,
//! success, error), and whether one is due. What must hold: whoever asked by an annotation sees a write, whether anything was
//! changed or not; an attempt that nobody asked for and that shows nothing new writes nothing; after a success Gardener's own
//! wait ends, whatever its clock says ([`Moment::of`]).

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::filter::OperationRequest;
use crate::operation::{Operation, Procedure};
use crate::sent::SentChanges;
use crate::types::{DnsRecord, TIMESTAMP};
use crate::zone::ZoneText;

/// How far the clock of whoever asks may be ahead of ours.
const AHEAD: i64 = 600;

/// A time in whole seconds, as Gardener's types carry it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(Timestamp);

impl Moment {
    /// The time of a write that answers the request of an object. Gardener waits until `lastUpdateTime` is not before the
    /// request's own time, so that a clock of ours that is a little slow must not count.
    pub fn of(record: &DnsRecord, now: Timestamp) -> Self {
        let whole = |at: Timestamp| Timestamp::from_second(at.as_second()).unwrap_or(at);
        let asked = record.annotation(TIMESTAMP).and_then(|text| text.parse::<Timestamp>().ok());
        let near = |asked: &Timestamp| asked.as_second().saturating_sub(now.as_second()) <= AHEAD;
        Self(asked.filter(near).map_or(whole(now), |asked| whole(asked.max(now))))
    }

    /// RFC 3339.
    fn text(self) -> String {
        self.0.to_string()
    }
}

/// The forms of the verb that descriptions have.
fn verb(action: Procedure) -> (&'static str, &'static str) {
    match action {
        Procedure::Migrate => ("migrating", "migrated"),
        Procedure::Delete => ("deleting", "deleted"),
        Procedure::Restore => ("restoring", "restored"),
        Procedure::Reconcile | Procedure::Nothing => ("reconciling", "reconciled"),
    }
}

/// Whether the start of an operation is written: where it was asked for, where the spec is new, and where the status is that of
/// another operation. A further attempt of the same operation is not announced again.
pub fn announces(record: &DnsRecord, operation: Operation) -> bool {
    let under_way = record.last().is_some_and(|(kind, state)| kind == operation.as_str() && state != "Succeeded");
    OperationRequest::of(record).starts_work()
        || record.metadata.generation != record.status.observed_generation && !under_way
        || record.last().is_none_or(|(kind, state)| kind != operation.as_str() && state != "Succeeded")
        || matches!(operation, Operation::Delete) && !under_way
}

fn operation_field(operation: Operation, state: &str, progress: u8, description: &str, at: Moment) -> Value {
    json!({
        "type": operation.as_str(),
        "state": state,
        "progress": progress,
        "description": description,
        "lastUpdateTime": at.text(),
    })
}

/// The status while an operation goes on. The last error stays visible.
pub fn started(record: &DnsRecord, (operation, action): (Operation, Procedure), at: Moment) -> Value {
    let (present, _) = verb(action);
    let description = format!("{} the DNSRecord", upper(present));
    let mut status = Map::new();
    status.insert("lastOperation".to_owned(), operation_field(operation, "Processing", 1, &description, at));
    // Nothing was sent for an object that nobody has worked on.
    if operation == Operation::Create && record.status.last_operation.is_none() && SentChanges::of(record).is_none() {
        status.insert("providerStatus".to_owned(), SentChanges::default().to_value());
    }
    json!({ "status": status })
}

/// The mark of a zone to which changes are about to be sent.
pub fn marked(zone: &ZoneText, sent: &SentChanges) -> Value {
    json!({ "status": { "zone": zone.status, "providerStatus": sent.to_value() } })
}

/// The status after a success; `zone` is where the records stand.
pub fn succeeded(
    record: &DnsRecord,
    (operation, action): (Operation, Procedure),
    zone: Option<&ZoneText>,
    at: Moment,
) -> Value {
    let (_, past) = verb(action);
    let description = format!("Successfully {past} DNSRecord");
    let mut status = Map::new();
    status.insert("lastOperation".to_owned(), operation_field(operation, "Succeeded", 100, &description, at));
    status.insert("lastError".to_owned(), Value::Null);
    status.insert("observedGeneration".to_owned(), record.metadata.generation.into());
    if let Some(zone) = zone {
        let sent = SentChanges::to([zone.mark.clone()]);
        if record.known_zone() != Some(&zone.status) {
            status.insert("zone".to_owned(), zone.status.as_str().into());
        }
        if SentChanges::of(record).as_ref() != Some(&sent) {
            status.insert("providerStatus".to_owned(), sent.to_value());
        }
    }
    if let (Procedure::Reconcile | Procedure::Restore, Some(conditions)) = (action, conditions(record, true, at)) {
        status.insert("conditions".to_owned(), conditions);
    }
    json!({ "status": status })
}

/// The status after an error.
pub fn failed(
    record: &DnsRecord,
    (operation, action): (Operation, Procedure),
    (text, codes): (&str, &[&str]),
    at: Moment,
) -> Value {
    let description = failure_description(action, text);
    let mut error = Map::new();
    error.insert("description".to_owned(), description.clone().into());
    // A patch merges: codes of an earlier error must not stay.
    error.insert("codes".to_owned(), if codes.is_empty() { Value::Null } else { json!(codes) });
    error.insert("lastUpdateTime".to_owned(), at.text().into());
    let mut status = Map::new();
    status.insert("lastOperation".to_owned(), operation_field(operation, "Error", 50, &description, at));
    status.insert("lastError".to_owned(), error.into());
    status.insert("observedGeneration".to_owned(), record.metadata.generation.into());
    if let (Procedure::Reconcile | Procedure::Restore, Some(conditions)) = (action, conditions(record, false, at)) {
        status.insert("conditions".to_owned(), conditions);
    }
    json!({ "status": status })
}

/// Whether a success says something that the status does not.
pub fn success_is_new(record: &DnsRecord, zone: Option<&ZoneText>) -> bool {
    record.last().is_none_or(|(_, state)| state != "Succeeded")
        || record.metadata.generation != record.status.observed_generation
        || record.status.last_error.is_some()
        || zone.is_some_and(|zone| record.known_zone() != Some(&zone.status) || marks_others(record, zone))
}

/// Whether the mark names zones that the records have left.
fn marks_others(record: &DnsRecord, zone: &ZoneText) -> bool {
    SentChanges::of(record).is_some_and(|sent| sent.zones().iter().any(|marked| *marked != zone.mark))
}

/// Whether an error says something that the status does not.
pub fn failure_is_new(
    record: &DnsRecord,
    (operation, action): (Operation, Procedure),
    text: &str,
    codes: &[&str],
) -> bool {
    let description = failure_description(action, text);
    record.last() != Some((operation.as_str(), "Error"))
        || record.metadata.generation != record.status.observed_generation
        || record.status.last_error.as_ref().is_none_or(|last| last.description != description || last.codes != codes)
}

fn failure_description(action: Procedure, text: &str) -> String {
    format!("Error {} DNSRecord: {text}", verb(action).0)
}

fn upper(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// The conditions with `Created` brought up to date; `None` if they are so already.
///
/// | before | success | error |
/// |---|---|---|
/// | none | True | False |
/// | True | True | True |
/// | False | True | False |
fn conditions(record: &DnsRecord, success: bool, at: Moment) -> Option<Value> {
    let before = record.created();
    let (status, reason, message) = match (before, success) {
        (Some("True"), _) | (Some(_), false) => return None,
        (_, true) => ("True", "Success", "Record was created successfully in infrastructure at least once"),
        (None, false) => ("False", "Error", "Error on initial record creation in infrastructure"),
    };
    let created = json!({
        "type": "Created",
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": at.text(),
        "lastUpdateTime": at.text(),
    });
    let others = record.status.conditions.iter().filter(|condition| condition["type"] != "Created");
    Some(others.cloned().chain([created]).collect::<Vec<Value>>().into())
}

#[cfg(test)]
#[path = "status_tests.rs"]
mod tests;
