//! The end of an attempt: what its object's status says, and who looks again because of it.

use tracing::{debug, warn};
use zonewright_core::endpoint::Note;

use super::{Break, Reconciler, Task, now};
use crate::convert;
use crate::failure::OperationFailure;
use crate::filter::OperationRequest;
use crate::operation::Procedure;
use crate::queue::Finished;
use crate::status;
use crate::types::DnsRecord;
use crate::zone::ZoneText;

impl Reconciler {
    pub(super) async fn succeed_without_request(&self, record: DnsRecord, task: Task) -> Result<DnsRecord, Break> {
        let patch = status::succeeded(&record, task, None, now(&record));
        self.status(&record, &patch).await
    }

    /// Writes the success, if it says anything new or was asked for; objects that lost to this one are looked at again.
    pub(super) async fn succeed(
        &self,
        record: DnsRecord,
        task: Task,
        zone: Option<&ZoneText>,
        asked: bool,
    ) -> Result<DnsRecord, Break> {
        self.tally.attempt(task.0, true);
        let mut record = record;
        if asked || status::success_is_new(&record, zone) {
            let patch = status::succeeded(&record, task, zone, now(&record));
            let failed_before = record.status.last_error.is_some();
            record = self.status(&record, &patch).await?;
            if failed_before {
                self.reporter.report(&Note::normal(
                    &convert::object(&record),
                    "Succeeded",
                    "the records are as asked for",
                ));
            }
            debug!(object = %record.record_name(), operation = task.0.as_str(), "succeeded");
        }
        if OperationRequest::of(&record) == OperationRequest::Restore {
            record = self.without_request(record).await?;
        }
        if let Some(zone) = zone.filter(|_| asked) {
            self.world().losers_look(&record.record_name(), &zone.status);
        }
        Ok(record)
    }

    /// Writes the error, if it says anything new or was asked for. An error of that write counts for nothing.
    pub(super) async fn fail(
        &self,
        record: &DnsRecord,
        task: Task,
        failure: &OperationFailure,
        asked: bool,
    ) -> Result<Finished, Break> {
        self.tally.attempt(task.0, false);
        let (text, codes) = (self.accounts.placeless(failure.text()), codes(task, failure));
        let name = record.record_name();
        if asked || status::failure_is_new(record, task, &text, codes) {
            warn!(object = %name, operation = task.0.as_str(), codes = codes.join(","), "{text}");
            if let Some(reason) = failure.reason() {
                self.reporter.report(&Note::warning(&convert::object(record), reason, text.clone()));
            }
            let patch = status::failed(record, task, (&text, codes), now(record));
            if let Err(Break::Cluster(error)) = self.status(record, &patch).await {
                warn!(object = %name, error = error.chain(), "the error could not be written into the status");
            }
        }
        Ok(Finished::Again(failure.least_pause()))
    }
}

/// A deletion without its Secret says nothing of the configuration: the Secret may go first.
fn codes(task: Task, failure: &OperationFailure) -> &'static [&'static str] {
    match (task.1, failure) {
        (Procedure::Delete, OperationFailure::LeftBehind(left)) => codes(task, &left.cause),
        (Procedure::Delete, OperationFailure::NoSecret(_) | OperationFailure::Configuration(_)) => &[],
        _ => failure.codes(),
    }
}
