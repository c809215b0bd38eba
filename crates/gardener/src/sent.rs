//! What was ever sent for an object, kept in its `status.providerStatus`, which Gardener leaves alone.
//!
//! In: the object. Out: the zones that may hold records of it, and the mark to be written. What must hold: the mark names a zone
//! before the first change is sent there, and before what stands there as it is wanted counts as the object's; it is written as empty
//! before any zone is looked for. An object without it, on which another controller worked, may have records in the zone of its status,
//! which the first mark names too. So a deletion may skip the provider exactly where the mark is there and names no zone: a
//! condition `Created=False` says only that the first attempt failed, and not how far it came.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::types::DnsRecord;

const API_VERSION: &str = "gardener.zonewright.dev/v1";
const KIND: &str = "SentChanges";

/// The zones to which changes were sent, or in which records were found as they are wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SentChanges {
    zones: BTreeSet<String>,
}

impl SentChanges {
    /// The mark of an object; `None` if it has none: another controller worked on it, or nobody has.
    pub fn of(record: &DnsRecord) -> Option<Self> {
        let mark = record.status.provider_status.as_ref()?;
        if mark["apiVersion"] != API_VERSION || mark["kind"] != KIND {
            return None;
        }
        let zones = mark["zones"].as_array()?;
        Some(Self { zones: zones.iter().filter_map(Value::as_str).map(str::to_owned).collect() })
    }

    /// The mark that names these zones.
    pub fn to(zones: impl IntoIterator<Item = String>) -> Self {
        Self { zones: zones.into_iter().collect() }
    }

    /// The mark of an object; where another controller worked on it and left none, the zone that its status names.
    pub fn of_any(record: &DnsRecord) -> Self {
        Self::of(record).unwrap_or_else(|| Self::to(record.known_zone().map(str::to_owned)))
    }

    /// The zones, as `status.zone` writes them.
    pub fn zones(&self) -> &BTreeSet<String> {
        &self.zones
    }

    /// The same mark with one more zone.
    #[must_use]
    pub fn with(mut self, zone: &str) -> Self {
        self.zones.insert(zone.to_owned());
        self
    }

    /// What is written as `status.providerStatus`.
    pub fn to_value(&self) -> Value {
        json!({ "apiVersion": API_VERSION, "kind": KIND, "zones": self.zones })
    }
}

/// Whether nothing was ever sent for an object, so that it may go without its provider being asked.
///
/// Where another controller worked on the object before, its condition `Created=False` without a zone in the status is taken as
/// that controller means it, as long as nothing but a creation was begun: a restored object has records of before, and what a first
/// attempt to delete it asked the provider for is asked again.
pub fn is_untouched(record: &DnsRecord) -> bool {
    if let Some(sent) = SentChanges::of(record) {
        return sent.zones.is_empty();
    }
    let only_created = record.last().is_none_or(|(kind, _)| kind == "Create");
    record.created() == Some("False") && record.known_zone().is_none() && only_created
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::LastOperation;

    #[test]
    fn marks_are_written_and_read() {
        let mut record = DnsRecord::default();
        assert_eq!(SentChanges::of(&record), None);
        for sent in
            [SentChanges::default(), SentChanges::to(["Z1".to_owned()]), SentChanges::default().with("p/b").with("p/a")]
        {
            record.status.provider_status = Some(sent.to_value());
            assert_eq!(SentChanges::of(&record), Some(sent));
        }
        record.status.provider_status = Some(json!({ "kind": "Other", "zones": [] }));
        assert_eq!(SentChanges::of(&record), None, "of another program");
    }

    #[test]
    fn without_a_mark_the_zone_of_the_status_was_sent_to() {
        let mut record = DnsRecord::default();
        assert_eq!(SentChanges::of_any(&record), SentChanges::default());
        record.status.zone = Some("Z1".to_owned());
        assert_eq!(SentChanges::of_any(&record), SentChanges::to(["Z1".to_owned()]));
        record.status.provider_status = Some(SentChanges::default().to_value());
        assert_eq!(SentChanges::of_any(&record), SentChanges::default());
    }

    #[test]
    fn a_provider_is_skipped_only_where_nothing_was_sent() {
        let check = |mark: Option<SentChanges>, created: &str, zone: &str, last: &str, expected: bool| {
            let mut record = DnsRecord::default();
            record.status.provider_status = mark.as_ref().map(SentChanges::to_value);
            if !created.is_empty() {
                record.status.conditions = vec![json!({ "type": "Created", "status": created })];
            }
            record.status.zone = Some(zone.to_owned());
            record.status.last_operation = Some(LastOperation::new(last, "Error"));
            assert_eq!(is_untouched(&record), expected, "{mark:?} {created} {zone} {last}");
        };
        check(Some(SentChanges::default()), "False", "", "Create", true);
        check(Some(SentChanges::default()), "", "", "Create", true);
        // The first attempt failed after a change was sent.
        check(Some(SentChanges::default().with("Z1")), "False", "", "Create", false);
        check(Some(SentChanges::default().with("Z1")), "True", "Z1", "Reconcile", false);
        // Objects of another controller.
        check(None, "False", "", "Create", true);
        check(None, "False", "Z1", "Create", false);
        check(None, "True", "", "Create", false);
        check(None, "", "", "Create", false);
        check(None, "False", "", "Restore", false);
        // The deletion of a restored object, after its first attempt.
        check(None, "False", "", "Delete", false);
    }
}
