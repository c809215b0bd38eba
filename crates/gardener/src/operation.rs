//! What is to be done with an object: the type of the operation, and the way it is carried out. Pure.

use crate::filter::Request;
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
        let request = Request::of(record);
        match (request, record.is_deleting(), record.last()) {
            (Request::Migrate, _, _) => Self::Migrate,
            (_, true, _) => Self::Delete,
            (Request::Restore, _, _) => Self::Restore,
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
pub enum Action {
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

impl Action {
    /// What is done for an object.
    pub fn of(record: &DnsRecord) -> Self {
        let operation = Operation::of(record);
        if Request::of(record) == Request::WaitForState {
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
        let check = |annotation: &str, deleting: bool, last: &str, operation: Operation, action: Action| {
            let record = record(annotation, deleting, last);
            let found = (Operation::of(&record), Action::of(&record));
            assert_eq!(found, (operation, action), "{annotation:?} {deleting} {last:?}");
        };
        check("migrate", false, "Reconcile Succeeded", Migrate, Action::Migrate);
        check("migrate", true, "Reconcile Succeeded", Migrate, Action::Migrate);
        check("", true, "Reconcile Succeeded", Delete, Action::Delete);
        check("restore", true, "Reconcile Succeeded", Delete, Action::Delete);
        check("restore", false, "", Restore, Action::Restore);
        check("", false, "", Create, Action::Reconcile);
        check("reconcile", false, "", Create, Action::Reconcile);
        check("reconcile", false, "Create Error", Create, Action::Reconcile);
        check("", false, "Create Processing", Create, Action::Reconcile);
        check("", false, "Migrate Error", Migrate, Action::Migrate);
        check("", false, "Restore Processing", Restore, Action::Restore);
        check("reconcile", false, "Create Succeeded", Reconcile, Action::Reconcile);
        check("", false, "Reconcile Error", Reconcile, Action::Reconcile);
        check("", false, "Restore Succeeded", Reconcile, Action::Reconcile);
        check("", false, "Delete Error", Reconcile, Action::Reconcile);
    }

    #[test]
    fn a_migrated_object_is_left_alone_until_it_is_restored() {
        let action = |annotation, deleting| Action::of(&record(annotation, deleting, "Migrate Succeeded"));
        assert_eq!(action("", false), Action::Nothing);
        assert_eq!(action("reconcile", false), Action::Nothing);
        assert_eq!(action("", true), Action::Nothing);
        assert_eq!(action("migrate", false), Action::Migrate);
        assert_eq!(action("restore", false), Action::Restore);
    }

    #[test]
    fn who_waits_for_its_state_is_left_alone() {
        assert_eq!(Action::of(&record("wait-for-state", false, "")), Action::Nothing);
        assert_eq!(Action::of(&record("wait-for-state", true, "Reconcile Error")), Action::Nothing);
    }
}
