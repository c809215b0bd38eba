//! Which objects are this controller's, and which events of them start work. Pure.
//!
//! In: an object as it comes and as it was, and where it lives. Out: whether it is handled. What must hold: the controller's
//! own writes never start work; what was asked for while nobody listened is done at the next start.

use std::collections::BTreeSet;

use crate::types::{DnsRecord, GARDEN, OPERATION};

/// Which DNSRecords are handled.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RecordFilter {
    classes: BTreeSet<String>,
    types: BTreeSet<String>,
    /// Whether a change of the spec starts work without an annotation.
    pub follows_generations: bool,
}

/// The class of an object that states none.
const SHOOT: &str = "shoot";

impl RecordFilter {
    /// The objects of these classes (none, or one empty one, means `shoot`) and types.
    pub fn new(classes: &[String], types: &[String], follows_generations: bool) -> Self {
        let mut classes: BTreeSet<String> = classes.iter().cloned().collect();
        if classes.iter().all(String::is_empty) {
            classes = BTreeSet::from([SHOOT.to_owned()]);
        }
        Self { classes, types: types.iter().cloned().collect(), follows_generations }
    }

    /// Whether class and type are ours. A class that is stated as an empty text is nobody's.
    pub fn takes(&self, record: &DnsRecord) -> bool {
        let class = record.spec.class.as_deref().unwrap_or(SHOOT);
        self.classes.contains(class) && self.types.contains(&record.spec.provider)
    }

    /// Whether an object that is new here, or was listed at the start, is to be handled.
    pub fn starts_new(&self, record: &DnsRecord) -> bool {
        let unfinished = record.last().is_none_or(|(_, state)| state != "Succeeded");
        self.takes(record)
            && (OperationRequest::of(record).starts_work()
                || record.is_deleting()
                || unfinished
                || self.follows_generations && record.metadata.generation != record.status.observed_generation)
    }

    /// Whether a change of an object is to be handled.
    pub fn starts_changed(&self, before: ObjectDifference, record: &DnsRecord) -> bool {
        // Its own writes of the status during a deletion must not start the next attempt. The order to delete raises the generation, which
        // they never do: a new list may show both at once.
        let deletion = record.is_deleting() && (!before.status_changed || before.generation_changed);
        // Nor those that come before the annotation is taken off: a request counts once.
        let asked = OperationRequest::of(record).starts_work() && (before.request_changed || before.generation_changed);
        self.takes(record) && (asked || deletion || self.follows_generations && before.generation_changed)
    }
}

/// How an object differs from what was known of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ObjectDifference {
    /// The status was another one.
    pub status_changed: bool,
    /// The generation was another one.
    pub generation_changed: bool,
    /// Something else was asked for, or at another time.
    pub request_changed: bool,
}

/// What the operation annotation asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OperationRequest {
    /// Nothing, or nothing that is known here.
    None,
    /// Bring the records in step.
    Reconcile,
    /// Forget them: another seed takes over.
    Migrate,
    /// Take them up again.
    Restore,
    /// Leave the object alone until it says otherwise.
    WaitForState,
}

impl OperationRequest {
    /// What an object asks for.
    pub fn of(record: &DnsRecord) -> Self {
        match record.annotation(OPERATION) {
            Some("reconcile") => Self::Reconcile,
            Some("migrate") => Self::Migrate,
            Some("restore") => Self::Restore,
            Some("wait-for-state") => Self::WaitForState,
            _ => Self::None,
        }
    }

    /// Whether it starts work.
    pub fn starts_work(self) -> bool {
        matches!(self, Self::Reconcile | Self::Migrate | Self::Restore)
    }
}

/// Where an object lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Home {
    /// In no namespace of a shoot.
    Plain,
    /// In that of a shoot, whose Cluster says this.
    Shoot {
        /// It has failed, and waits for a person.
        failed: bool,
        /// It is to go whatever the infrastructure says.
        forced: bool,
    },
    /// In that of a shoot, whose Cluster is not there.
    Unknown,
}

impl Home {
    /// Whether objects that live here are handled. Those of a shoot without Cluster, or one that has failed, are not, deletions
    /// included.
    pub fn is_served(self, namespace: &str) -> bool {
        namespace == GARDEN || matches!(self, Self::Plain | Self::Shoot { failed: false, .. })
    }

    /// Whether deletions end whatever the provider says.
    pub fn is_forced(self) -> bool {
        matches!(self, Self::Shoot { forced: true, .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::LastOperation;

    const AWS: &str = "aws-route53";

    fn scope(follows_generations: bool) -> RecordFilter {
        RecordFilter::new(&[], &[AWS.to_owned()], follows_generations)
    }

    /// `annotation state`, each maybe `-`, then `deleting`.
    fn record(line: &str) -> DnsRecord {
        let words: Vec<&str> = line.split(' ').collect();
        let mut record = DnsRecord::default();
        record.spec.provider = AWS.to_owned();
        (record.metadata.generation, record.status.observed_generation) = (2, 2);
        if words[0] != "-" {
            record.metadata.annotations.insert(OPERATION.to_owned(), words[0].to_owned());
        }
        if words[1] != "-" {
            record.status.last_operation = Some(LastOperation::new("Reconcile", words[1]));
        }
        record.metadata.deletion_timestamp = words.get(2).map(|_| "2026-01-31T12:00:00Z".to_owned());
        record
    }

    #[test]
    fn classes_and_types() {
        let check = |classes: &[&str], class: Option<&str>, provider: &str, expected: bool| {
            let classes: Vec<String> = classes.iter().map(|class| (*class).to_owned()).collect();
            let mut record = record("- -");
            (record.spec.class, record.spec.provider) = (class.map(str::to_owned), provider.to_owned());
            let scope = RecordFilter::new(&classes, &[AWS.to_owned()], false);
            assert_eq!(scope.takes(&record), expected, "{classes:?} {class:?} {provider}");
        };
        check(&[], None, AWS, true);
        check(&[""], None, AWS, true);
        check(&[], Some("shoot"), AWS, true);
        check(&[], Some("garden"), AWS, false);
        check(&[], Some(""), AWS, false);
        check(&["garden"], None, AWS, false);
        check(&["garden"], Some("garden"), AWS, true);
        check(&["seed", "shoot"], None, AWS, true);
        check(&[], None, "AWS-route53", false);
        check(&[], None, "google-clouddns", false);
    }

    #[test]
    fn what_is_found_at_the_start() {
        let check = |line: &str, expected: bool| {
            assert_eq!(scope(false).starts_new(&record(line)), expected, "{line}");
        };
        check("- Succeeded", false);
        check("- Processing", true);
        check("- Error", true);
        check("- Failed", true);
        check("- -", true);
        check("- Succeeded deleting", true);
        check("reconcile Succeeded", true);
        check("restore Succeeded", true);
        check("migrate Succeeded", true);
        check("wait-for-state Succeeded", false);
        check("keepalive Succeeded", false);
        let mut changed = record("- Succeeded");
        changed.metadata.generation = 3;
        assert!(!scope(false).starts_new(&changed) && scope(true).starts_new(&changed));
        assert!(!scope(true).starts_new(&record("- Succeeded")));
    }

    #[test]
    fn what_changes() {
        let check = |line: &str, status_changed: bool, generation_changed: bool, expected: [bool; 2]| {
            let before = ObjectDifference { status_changed, generation_changed, request_changed: true };
            let found = [false, true].map(|follows| scope(follows).starts_changed(before, &record(line)));
            assert_eq!(found, expected, "{line} {before:?}");
        };
        check("- Succeeded", false, false, [false, false]);
        // A change of the spec without an annotation.
        check("- Succeeded", false, true, [false, true]);
        check("- Error", true, false, [false, false]);
        check("reconcile Error", true, false, [true, true]);
        check("restore -", false, false, [true, true]);
        check("migrate Succeeded", false, false, [true, true]);
        check("wait-for-state -", false, false, [false, false]);
        // A deletion, and the own write of its status.
        check("- Succeeded deleting", false, true, [true, true]);
        check("- Processing deleting", true, false, [false, false]);
        check("- Error deleting", true, false, [false, false]);
        // The order to delete came together with a write of the status, while nobody watched.
        check("- Succeeded deleting", true, true, [true, true]);
    }

    /// Finalizer and status are written while the annotation still stands.
    #[test]
    fn own_writes_of_a_request_do_not_start_it_again() {
        for (status_changed, line) in [(false, "reconcile -"), (true, "reconcile Processing"), (true, "restore Error")]
        {
            let before = ObjectDifference { status_changed, ..ObjectDifference::default() };
            assert!(!scope(true).starts_changed(before, &record(line)), "{line}");
            assert!(
                scope(false).starts_changed(ObjectDifference { request_changed: true, ..before }, &record(line)),
                "{line}"
            );
            assert!(
                scope(false).starts_changed(ObjectDifference { generation_changed: true, ..before }, &record(line)),
                "{line}"
            );
        }
    }

    #[test]
    fn objects_of_others_never_start_work() {
        let mut other = record("reconcile -");
        other.spec.provider = "openstack-designate".to_owned();
        assert!(!scope(true).starts_new(&other));
        assert!(
            !scope(true)
                .starts_changed(ObjectDifference { generation_changed: true, ..ObjectDifference::default() }, &other)
        );
    }

    #[test]
    fn homes() {
        let shoot = |failed| Home::Shoot { failed, forced: true };
        for (home, namespace, expected) in [
            (Home::Plain, "garden", true),
            (Home::Plain, "istio-ingress", true),
            (Home::Unknown, "shoot--x", false),
            (shoot(false), "shoot--x", true),
            (shoot(true), "shoot--x", false),
            (Home::Unknown, "garden", true),
        ] {
            assert_eq!(home.is_served(namespace), expected, "{home:?} {namespace}");
        }
        assert!(shoot(true).is_forced() && !Home::Plain.is_forced());
    }
}
