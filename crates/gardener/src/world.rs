//! What the watches have reported: the objects, in short, and the shoots that they belong to. Pure.
//!
//! In: objects as they come. Out: which of them are due. What must hold: nothing is begun before all three kinds have been listed,
//! since where an object lives decides whether it is handled; of an object no more is kept than decides.

use std::collections::{HashMap, HashSet};

use crate::contest::{Claimant, Contest};
use crate::filter::{Home, ObjectDifference, RecordFilter};
use crate::queue::{Lane, Queue};
use crate::secret::AccountId;
use crate::types::{ClusterObject, DnsRecord, DnsRecordStatus, OPERATION, RecordName, TIMESTAMP};

/// What is kept of an object.
#[derive(Debug)]
struct Known {
    uid: String,
    generation: i64,
    /// What was asked for, and when: the two annotations.
    request: [Option<String>; 2],
    status: DnsRecordStatus,
    account: Option<AccountId>,
}

/// Which kinds have been listed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ListedKinds {
    /// DNSRecords.
    pub records: bool,
    /// Namespaces of shoots.
    pub namespaces: bool,
    /// Clusters.
    pub clusters: bool,
}

/// Everything that is known.
#[derive(Debug)]
pub struct ClusterState {
    scope: RecordFilter,
    known: HashMap<RecordName, Known>,
    shoots: HashSet<String>,
    /// Whether the shoot of a namespace has failed, and is forced to go.
    clusters: HashMap<String, (bool, bool)>,
    /// Who contends for which name.
    pub contest: Contest,
    /// What is due.
    pub queue: Queue,
    /// Which kinds have been listed.
    pub listed: ListedKinds,
}

impl ClusterState {
    /// Nothing is known yet.
    pub fn new(scope: RecordFilter, at_once: usize) -> Self {
        Self {
            scope,
            known: HashMap::new(),
            shoots: HashSet::new(),
            clusters: HashMap::new(),
            contest: Contest::default(),
            queue: Queue::new(at_once),
            listed: ListedKinds::default(),
        }
    }

    /// Which objects are handled.
    pub fn scope(&self) -> &RecordFilter {
        &self.scope
    }

    /// Whether work may begin.
    pub fn is_complete(&self) -> bool {
        let ListedKinds { records, namespaces, clusters } = self.listed;
        records && namespaces && clusters
    }

    /// Objects that are known.
    pub fn len(&self) -> usize {
        self.known.len()
    }

    /// Whether no object is known.
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// An object as it is now.
    pub fn record(&mut self, record: DnsRecord) {
        let name = record.record_name();
        if !self.scope.takes(&record) {
            return self.gone(&name);
        }
        let request = [OPERATION, TIMESTAMP].map(|key| record.annotation(key).map(str::to_owned));
        let before = self.known.get(&name).filter(|known| known.uid == record.metadata.uid);
        let due = match before {
            None => self.scope.starts_new(&record),
            Some(known) => {
                let before = ObjectDifference {
                    status_changed: known.status != record.status,
                    generation_changed: known.generation != record.metadata.generation,
                    request_changed: known.request != request,
                };
                self.scope.starts_changed(before, &record)
            }
        };
        let account = before.and_then(|known| known.account.clone());
        self.contest.note(&name, Claimant::of(&record));
        let DnsRecord { metadata, status, .. } = record;
        let (uid, generation) = (metadata.uid, metadata.generation);
        self.known.insert(name.clone(), Known { uid, generation, request, status, account });
        if due {
            // What the object says counts when it is its turn: this may be an event of a write of this controller's own.
            let lane = self.lane(&name);
            self.queue.add(&name, &lane, false);
        }
    }

    /// An object is gone: those that stood behind it look again.
    pub fn gone(&mut self, name: &RecordName) {
        if let Some(known) = self.known.remove(name)
            && let Some(zone) = known.status.zone
        {
            self.losers_look(name, &zone);
        }
        self.contest.note(name, None);
        self.queue.remove(name);
    }

    /// Those that ask for the name of an object in this zone look again: it has published there, or has left.
    pub fn losers_look(&mut self, name: &RecordName, zone: &str) {
        for loser in self.contest.losers(name, zone) {
            self.look(&loser, true);
        }
    }

    /// The list of objects is complete: those that are not on it are gone.
    pub fn only(&mut self, listed: &HashSet<RecordName>) {
        let gone: Vec<RecordName> = self.known.keys().filter(|name| !listed.contains(*name)).cloned().collect();
        for name in &gone {
            self.gone(name);
        }
        self.listed.records = true;
    }

    /// An object is looked at again.
    pub fn look(&mut self, name: &RecordName, forced: bool) {
        if self.known.contains_key(name) {
            let lane = self.lane(name);
            self.queue.add(name, &lane, forced);
        }
    }

    /// The account of an object was found.
    pub fn account(&mut self, name: &RecordName, account: &AccountId) {
        if let Some(known) = self.known.get_mut(name) {
            known.account = Some(account.clone());
        }
    }

    fn lane(&self, name: &RecordName) -> Lane {
        let account = self.known.get(name).and_then(|known| known.account.clone());
        account.map_or(Lane::Search, Lane::Account)
    }

    /// A namespace is that of a shoot, or no longer.
    pub fn namespace(&mut self, name: &str, is_shoots: bool) {
        if is_shoots {
            self.shoots.insert(name.to_owned());
        } else {
            self.shoots.remove(name);
        }
    }

    /// A Cluster as it is now; `None` is one that is gone. Objects that are handled only from now on are looked at.
    pub fn cluster(&mut self, name: &str, cluster: Option<&ClusterObject>) {
        let before = self.home(name);
        match cluster {
            Some(cluster) => drop(self.clusters.insert(name.to_owned(), (cluster.has_failed(), cluster.is_forced()))),
            None => drop(self.clusters.remove(name)),
        }
        let now = self.home(name);
        let begins = now.is_served(name) && (!before.is_served(name) || now.is_forced() && !before.is_forced());
        if begins {
            let here: Vec<RecordName> = self.known.keys().filter(|known| known.namespace == name).cloned().collect();
            for record in &here {
                self.look(record, false);
            }
        }
    }

    /// Where the objects of a namespace live.
    pub fn home(&self, namespace: &str) -> Home {
        if !self.shoots.contains(namespace) {
            return Home::Plain;
        }
        match self.clusters.get(namespace) {
            Some((failed, forced)) => Home::Shoot { failed: *failed, forced: *forced },
            None => Home::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tokio::time::Instant;

    use super::*;
    use crate::testing::record;

    fn world() -> ClusterState {
        ClusterState::new(RecordFilter::new(&[], &["rfc2136".to_owned()], false), 5)
    }

    fn due(world: &mut ClusterState) -> Vec<String> {
        world.queue.begin(Instant::now()).into_iter().map(|attempt| attempt.name.name).collect()
    }

    fn cluster(state: &str) -> ClusterObject {
        let object = json!({
            "metadata": { "name": "ns" }, "spec": { "shoot": { "status": { "lastOperation": { "state": state } } } },
        });
        serde_json::from_value(object).unwrap()
    }

    #[tokio::test]
    async fn work_begins_when_all_kinds_have_been_listed() {
        let mut world = world();
        assert!(!world.is_complete());
        world.only(&HashSet::new());
        (world.listed.namespaces, world.listed.clusters) = (true, true);
        assert!(world.is_complete());
    }

    #[tokio::test]
    async fn a_shoot_that_works_again_has_its_objects_looked_at() {
        let mut world = world();
        world.namespace("ns", true);
        assert_eq!(world.home("ns"), Home::Unknown);
        world.cluster("ns", Some(&cluster("Failed")));
        world.record(record("a.example.com A 192.0.2.1"));
        assert_eq!(due(&mut world).len(), 1, "whether it is handled is decided when it is its turn");
        assert_eq!(world.home("ns"), Home::Shoot { failed: true, forced: false });
        let attempt = crate::queue::Attempt {
            name: record("a.example.com A 192.0.2.1").record_name(),
            lane: Lane::Search,
            forced: true,
        };
        world.queue.finish(&attempt, crate::queue::Finished::Done, Instant::now(), 0.0);
        world.cluster("ns", Some(&cluster("Processing")));
        assert_eq!(due(&mut world).len(), 1);
    }

    #[tokio::test]
    async fn what_a_new_list_does_not_hold_is_gone() {
        let mut world = world();
        world.record(record("a.example.com A 192.0.2.1"));
        world.only(&HashSet::new());
        assert!(world.is_empty() && world.queue.is_empty() && world.contest.is_empty());
    }

    #[tokio::test]
    async fn of_objects_of_others_nothing_is_kept() {
        let mut world = world();
        let mut other = record("a.example.com A 192.0.2.1");
        other.spec.provider = "openstack-designate".to_owned();
        world.record(other);
        assert!(world.is_empty() && world.queue.is_empty() && world.contest.is_empty());
    }

    #[tokio::test]
    async fn an_object_that_was_made_anew_is_new() {
        let mut world = world();
        let mut first = record("a.example.com A 192.0.2.1");
        first.status.last_operation = Some(crate::types::LastOperation::new("Create", "Succeeded"));
        world.record(first.clone());
        assert!(due(&mut world).is_empty());
        world.record(DnsRecord { status: DnsRecordStatus::default(), ..first.clone() });
        assert!(due(&mut world).is_empty(), "the same object, whose status was cleared");
        let mut second = record("a.example.com A 192.0.2.1");
        second.metadata.uid = "other".to_owned();
        world.record(second);
        assert_eq!(due(&mut world).len(), 1);
    }
}
