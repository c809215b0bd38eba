//! What is written into an object: its finalizer, its request, its status, and the mark of a zone before the first change.

use async_trait::async_trait;
use serde_json::{Value, json};
use zonewright_cluster::PatchTarget;

use super::{Break, Reconciler, Task, now};
use crate::apply::Mark;
use crate::failure::OperationFailure;
use crate::filter::OperationRequest;
use crate::sent::SentChanges;
use crate::status;
use crate::types::{ABANDON, DnsRecord, FINALIZER, OPERATION};
use crate::zone::ZoneText;

impl Reconciler {
    /// The mark of the zone that the records go into.
    pub(super) fn mark<'a>(&'a self, record: &'a DnsRecord, zone: &'a ZoneText) -> StatusMark<'a> {
        StatusMark { reconciler: self, record, zone, home: None, leaves: false }
    }

    /// That of a zone that the records are taken away from, in this project or subscription.
    pub(super) fn mark_of_former<'a>(
        &'a self,
        record: &'a DnsRecord,
        zone: &'a ZoneText,
        home: Option<&'a str>,
    ) -> StatusMark<'a> {
        StatusMark { home, leaves: true, ..self.mark(record, zone) }
    }

    pub(super) async fn with_finalizer(&self, record: DnsRecord) -> Result<DnsRecord, Break> {
        if record.has_finalizer() {
            return Ok(record);
        }
        let mut finalizers = record.metadata.finalizers.clone();
        finalizers.push(FINALIZER.to_owned());
        self.object(&record, &json!({ "metadata": { "finalizers": finalizers } })).await
    }

    pub(super) async fn start(&self, record: DnsRecord, task: Task) -> Result<DnsRecord, Break> {
        let patch = status::started(&record, task, now(&record));
        self.status(&record, &patch).await
    }

    /// Takes the operation annotation off, if it still asks for what it did.
    pub(super) async fn without_request(&self, record: DnsRecord) -> Result<DnsRecord, Break> {
        if OperationRequest::of(&record) == OperationRequest::None {
            return Ok(record);
        }
        self.object(&record, &json!({ "metadata": { "annotations": { OPERATION: null } } })).await
    }

    /// Takes off the annotation that gives zones up: what it was for is done, and it must not count for the same zones later.
    pub(super) async fn without_abandoned_zones(&self, record: DnsRecord) -> Result<DnsRecord, Break> {
        if record.annotation(ABANDON).is_none() {
            return Ok(record);
        }
        self.object(&record, &json!({ "metadata": { "annotations": { ABANDON: null } } })).await
    }

    /// Changes an object as it was read, and in no other version.
    pub(super) async fn object(&self, record: &DnsRecord, patch: &Value) -> Result<DnsRecord, Break> {
        let mut patch = patch.clone();
        patch["metadata"]["resourceVersion"] = record.metadata.resource_version.as_str().into();
        Ok(self.objects.merge(&record.record_name(), PatchTarget::Object, &patch).await?)
    }

    pub(super) async fn status(&self, record: &DnsRecord, patch: &Value) -> Result<DnsRecord, Break> {
        self.tally.status_write();
        Ok(self.objects.merge(&record.record_name(), PatchTarget::Status, patch).await?)
    }
}

/// Writes zone and mark into the status before the first change is sent.
pub(super) struct StatusMark<'a> {
    reconciler: &'a Reconciler,
    record: &'a DnsRecord,
    zone: &'a ZoneText,
    /// The project or subscription of a zone that is left.
    home: Option<&'a str>,
    /// A zone that is left, and that is named already, is not written again: the object as it was read need not name the zone that
    /// its records are in by now.
    leaves: bool,
}

#[async_trait]
impl Mark for StatusMark<'_> {
    async fn sending(&self) -> Result<bool, OperationFailure> {
        // Another DNSRecord may have published there since that was asked, before it was this one's turn.
        if self.leaves && self.reconciler.stays(self.record, (&self.zone.mark, self.home)).await? {
            return Ok(false);
        }
        let sent = SentChanges::of_any(self.record);
        let is_marked = SentChanges::of(self.record).is_some() && self.record.known_zone() == Some(&self.zone.status);
        if sent.zones().contains(&self.zone.mark) && (self.leaves || is_marked) {
            return Ok(true);
        }
        let mark = sent.with(&self.zone.mark);
        let patch = status::marked(self.zone, &mark);
        match self.reconciler.status(self.record, &patch).await {
            Ok(_) | Err(Break::Moved(_)) => Ok(true),
            Err(Break::Cluster(error)) => Err(OperationFailure::Cluster(error)),
        }
    }
}
