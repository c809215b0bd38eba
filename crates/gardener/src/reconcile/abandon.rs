//! What became of zones from which records were to be taken, and which of those that could not be reached the object's owner gives up.
//!
//! In: the outcome of each zone, the annotation [`ABANDON`]. Out: done, or one failure that says where records may still stand. What must
//! hold: one zone that cannot be reached keeps no other from being rid of the records; a zone is given up only where it could not be
//! reached, and only by its own name; what is given up is reported before the object forgets it.

use tracing::warn;
use zonewright_core::endpoint::Note;

use super::Reconciler;
use crate::convert;
use crate::failure::{LeftBehind, OperationFailure};
use crate::types::{ABANDON, DnsRecord};

/// What is wrong with another name in the annotation.
const STRANGE: &str = "which is none of the zones that the record had to leave";

/// What became of zones from which records were to be taken.
#[derive(Debug, Default)]
pub(super) struct Withdrawal {
    /// Each zone, and why records may still stand there.
    zones: Vec<(String, Option<OperationFailure>)>,
}

impl Withdrawal {
    /// Another zone, as the mark has it.
    ///
    /// # Errors
    /// A failure of the API server, which says nothing of the zone.
    pub(super) fn add(&mut self, zone: &str, done: Result<(), OperationFailure>) -> Result<(), OperationFailure> {
        match done {
            Err(failure @ OperationFailure::Cluster(_)) => return Err(failure),
            done => self.zones.push((zone.to_owned(), done.err())),
        }
        Ok(())
    }

    fn failed(&self) -> impl Iterator<Item = (&str, &OperationFailure)> {
        self.zones.iter().filter_map(|(zone, failure)| Some((zone.as_str(), failure.as_ref()?)))
    }
}

impl Reconciler {
    /// The outcome of all zones; `present` is the zone in which the records stand now, if they stand anywhere.
    ///
    /// # Errors
    /// [`OperationFailure::LeftBehind`] of zones that failed and are not given up.
    pub(super) fn conclude(
        &self,
        record: &DnsRecord,
        withdrawal: &Withdrawal,
        present: Option<&str>,
    ) -> Result<(), OperationFailure> {
        let is_given_up = |zone: &str| record.abandoned_zones().any(|named| named == zone);
        let (given_up, left): (Vec<_>, Vec<_>) = withdrawal.failed().partition(|(zone, _)| is_given_up(zone));
        let strange = |named: &&str| withdrawal.zones.iter().all(|(zone, _)| zone != named);
        let strange: Vec<&str> = record.abandoned_zones().filter(strange).collect();
        if let Some((_, first)) = left.first() {
            let cause = left.iter().map(|(_, failure)| *failure).find(|failure| !failure.codes().is_empty());
            let cause = Box::new(cause.unwrap_or(first).clone());
            let text = sentence(record, &left, &strange, present);
            return Err(OperationFailure::LeftBehind(LeftBehind { text, cause, is_published: present.is_some() }));
        }
        for (zone, failure) in given_up {
            self.report_given_up(record, zone, failure);
        }
        if !strange.is_empty() {
            let text = format!("{ABANDON} names {}, {STRANGE}; it is ignored", strange.join(", "));
            self.reporter.report(&Note::warning(&convert::object(record), "InvalidAnnotation", text));
        }
        Ok(())
    }

    /// Without credentials no zone can be reached: whether each of these is given up, which is reported then.
    pub(super) fn gives_up_all(&self, record: &DnsRecord, zones: &[String], failure: &OperationFailure) -> bool {
        let is_given_up = |zone: &String| record.abandoned_zones().any(|named| named == zone);
        let all =
            !zones.is_empty() && zones.iter().all(is_given_up) && !matches!(failure, OperationFailure::Cluster(_));
        for zone in zones.iter().filter(|_| all) {
            self.report_given_up(record, zone, failure);
        }
        all
    }

    fn report_given_up(&self, record: &DnsRecord, zone: &str, failure: &OperationFailure) {
        let why = self.accounts.placeless(failure.text());
        let text = format!("{} may be left behind in zone {zone}, which {ABANDON} gives up: {why}", subject(record));
        warn!(object = %record.record_name(), "{text}");
        self.reporter.report(&Note::warning(&convert::object(record), "ZoneAbandoned", text));
    }
}

/// The record, by its name and type.
fn subject(record: &DnsRecord) -> String {
    format!("{} {}", record.spec.name, record.spec.record_type)
}

/// Where records may still stand and why, and what can be done about it.
fn sentence(record: &DnsRecord, left: &[(&str, &OperationFailure)], strange: &[&str], present: Option<&str>) -> String {
    let published = present.map(|zone| format!(" is published in zone {zone}, and")).unwrap_or_default();
    let places: Vec<String> = left.iter().map(|(zone, why)| format!("in zone {zone}: {}", why.text())).collect();
    let mut text = format!("{}{published} may still stand {}", subject(record), places.join("; "));
    // Of what passes by itself nothing need be given up.
    let stuck: Vec<&str> = left.iter().filter(|(_, why)| !why.codes().is_empty()).map(|(zone, _)| *zone).collect();
    if !stuck.is_empty() {
        text = format!("{text}; the annotation {ABANDON}: {} gives it up there, and deletes nothing", stuck.join(","));
    }
    if !strange.is_empty() {
        text = format!("{text}; {ABANDON} names {}, {STRANGE}, and is ignored", strange.join(", "));
    }
    text
}
