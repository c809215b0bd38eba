//! What is to be done with an object: the type of the operation, and the way it is carried out. Pure.

use crate::filter::OperationRequest;
use crate::types::DnsRecord;

/// The type of an operation, as `status.lastOperation.type` says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operation {
    /// The records are made for the first time.
    Create,
    /// The records are brought in step.
    Reconcile,
    /// The records go.
    Delete,
    /// The object is left to another seed; its records stay.
    Migrate,
    /// The object came from another seed, and its records are taken up.
    Restore,
}

impl Operation {
    /// As Gardener writes it into the status.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Create => "Create",
            Self::Reconcile => "Reconcile",
            Self::Delete => "Delete",
            Self::Migrate => "Migrate",
            Self::Restore => "Restore",
        }
    }

    /// The type of the operation that an object is due for.
    pub fn of(record: &DnsRecord) -> Self {
        let request = OperationRequest::of(record);
        match (request, record.is_deleting(), record.last()) {
            (OperationRequest::Migrate, _, _) => Self::Migrate,
            (_, true, _) => Self::Delete,
            (OperationRequest::Restore, _, _) => Self::Restore,
            (_, _, None) => Self::Create,
            (_, _, Some((kind, state))) if state != "Succeeded" => match kind {
                "Create" => Self::Create,
                "Migrate" => Self::Migrate,
                "Restore" => Self::Restore,
                _ => Self::Reconcile,
            },
            _ => Self::Reconcile,
        }
    }
}

/// How an operation is carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Procedure {
    /// Not at all.
    Nothing,
    /// The claims and the finalizer go, the records stay.
    Migrate,
    /// The records go.
    Delete,
    /// The zone is found anew, and the records are brought in step.
    Restore,
    /// The records are brought in step.
    Reconcile,
}

impl Procedure {
    /// What is done for an object.
    pub fn of(record: &DnsRecord) -> Self {
        let operation = Operation::of(record);
        if OperationRequest::of(record) == OperationRequest::WaitForState {
            return Self::Nothing;
        }
        if record.is_migrated() && !matches!(operation, Operation::Migrate | Operation::Restore) {
            return Self::Nothing;
        }
        match operation {
            Operation::Migrate => Self::Migrate,
            _ if record.is_deleting() => Self::Delete,
            Operation::Restore => Self::Restore,
            Operation::Create | Operation::Reconcile | Operation::Delete => Self::Reconcile,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::{LastOperation, OPERATION};

    fn record(annotation: &str, deleting: bool, last: &str) -> DnsRecord {
        let mut record = DnsRecord::default();
        if !annotation.is_empty() {
            record.metadata.annotations.insert(OPERATION.to_owned(), annotation.to_owned());
        }
        record.metadata.deletion_timestamp = deleting.then(|| "2026-01-31T12:00:00Z".to_owned());
        record.status.last_operation = last.split_once(' ').map(|(kind, state)| LastOperation::new(kind, state));
        record
    }

    #[test]
    fn the_first_row_that_fits_counts() {
        use Operation::{Create, Delete, Migrate, Reconcile, Restore};
        let check = |annotation: &str, deleting: bool, last: &str, operation: Operation, action: Procedure| {
            let record = record(annotation, deleting, last);
            let found = (Operation::of(&record), Procedure::of(&record));
            assert_eq!(found, (operation, action), "{annotation:?} {deleting} {last:?}");
        };
        check("migrate", false, "Reconcile Succeeded", Migrate, Procedure::Migrate);
        check("migrate", true, "Reconcile Succeeded", Migrate, Procedure::Migrate);
        check("", true, "Reconcile Succeeded", Delete, Procedure::Delete);
        check("restore", true, "Reconcile Succeeded", Delete, Procedure::Delete);
        check("restore", false, "", Restore, Procedure::Restore);
        check("", false, "", Create, Procedure::Reconcile);
        check("reconcile", false, "", Create, Procedure::Reconcile);
        check("reconcile", false, "Create Error", Create, Procedure::Reconcile);
        check("", false, "Create Processing", Create, Procedure::Reconcile);
        check("", false, "Migrate Error", Migrate, Procedure::Migrate);
        check("", false, "Restore Processing", Restore, Procedure::Restore);
        check("reconcile", false, "Create Succeeded", Reconcile, Procedure::Reconcile);
        check("", false, "Reconcile Error", Reconcile, Procedure::Reconcile);
        check("", false, "Restore Succeeded", Reconcile, Procedure::Reconcile);
        check("", false, "Delete Error", Reconcile, Procedure::Reconcile);
    }

    #[test]
    fn a_migrated_object_is_left_alone_until_it_is_restored() {
        let action = |annotation, deleting| Procedure::of(&record(annotation, deleting, "Migrate Succeeded"));
        assert_eq!(action("", false), Procedure::Nothing);
        assert_eq!(action("reconcile", false), Procedure::Nothing);
        assert_eq!(action("", true), Procedure::Nothing);
        assert_eq!(action("migrate", false), Procedure::Migrate);
        assert_eq!(action("restore", false), Procedure::Restore);
    }

    #[test]
    fn who_waits_for_its_state_is_left_alone() {
        assert_eq!(Procedure::of(&record("wait-for-state", false, "")), Procedure::Nothing);
        assert_eq!(Procedure::of(&record("wait-for-state", true, "Reconcile Error")), Procedure::Nothing);
    }
}
