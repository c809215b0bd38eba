//! When a record was written, and for whom, by the journal.

use zonewright_core::clock::utc;
use zonewright_core::name::DnsName;
use zonewright_core::record::RecordKey;

use crate::context::EngineContext;
use crate::journal::{EntryResult, JournalRecord, Query, last};

/// So many entries of a name are looked at.
const ENTRIES: usize = 50;

/// When a record was last written, and for which objects.
pub(super) struct Written {
    pub(super) at: String,
    pub(super) by: Vec<String>,
}

/// What the journal says of a name: the newest entries first. Nothing where it cannot be read.
pub(super) async fn of_name(context: &EngineContext, name: &DnsName) -> Vec<JournalRecord> {
    context.journal_writer.flush().await;
    let query = Query { name: Some(name.clone()), ..Query::default() };
    let store = &context.journal_writer.journaling().store;
    last(&**store, &query, ENTRIES).await.map(|(entries, _)| entries).unwrap_or_default()
}

/// The last delete of a record in a zone, as one line.
pub(super) fn deleted(entries: &[JournalRecord], zone: &str) -> Option<String> {
    let removed = |record: &JournalRecord| {
        let applied = record.closing.as_ref().is_some_and(|closing| closing.verdict == EntryResult::Applied);
        let mut steps = record.entry.steps.iter().filter(|step| !step.claim && step.to.is_none());
        let step = steps.next().filter(|_| applied && record.entry.zone == zone)?;
        let (at, plan, set) = (utc(record.entry.at), &record.entry.plan, step.from.as_ref()?);
        let of = step.had.resource.as_ref().map(|resource| format!(", of {resource}")).unwrap_or_default();
        Some(format!("{at} in plan {plan}: {set}{of}"))
    };
    entries.iter().find_map(removed)
}

/// The last entry that wrote a record in a zone.
pub(super) fn written(entries: &[JournalRecord], zone: &str, key: &RecordKey) -> Option<Written> {
    let wrote = |record: &&JournalRecord| {
        let applied = record.closing.as_ref().is_some_and(|closing| closing.verdict == EntryResult::Applied);
        let steps = &record.entry.steps;
        applied
            && record.entry.zone == zone
            && steps.iter().any(|step| !step.claim && step.to.as_ref().is_some_and(|set| set.key == *key))
    };
    let entry = &entries.iter().find(wrote)?.entry;
    Some(Written { at: utc(entry.at), by: entry.objects.iter().map(ToString::to_string).collect() })
}
