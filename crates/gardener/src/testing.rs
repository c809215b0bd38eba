//! What tests of several rooms need: DNSRecords in one line, and a provider that follows a script.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use async_trait::async_trait;
use zonewright_core::capability::{Capability, Preconditions};
use zonewright_core::change::{Change, Group, Outcome, Precondition};
use zonewright_core::endpoint::{Endpoint, Targets};
use zonewright_core::interpret::Interpretation;
use zonewright_core::provider::{Adjustment, Listing, Provider, Read};
use zonewright_core::record::AliasTarget;
use zonewright_core::testing::name;
use zonewright_core::zone::{InstanceId, ZoneId};
use zonewright_core::{Error, ErrorKind, RData, RecordKey, RecordSet, RecordType, Result, Zone};

use crate::accounts::Account;
use crate::secret::{AccountId, Kind, Scope};
use crate::types::DnsRecord;

/// A DNSRecord `ns/a`: `name TYPE [ttl=N] value value ...`; of type `rfc2136`, with a finalizer of nobody.
pub(crate) fn record(line: &str) -> DnsRecord {
    let mut words = line.split(' ');
    let mut record = DnsRecord::default();
    record.metadata.name = "a".to_owned();
    record.metadata.namespace = "ns".to_owned();
    record.metadata.uid = "uid-a".to_owned();
    record.metadata.generation = 1;
    record.metadata.creation_timestamp = Some("2026-01-31T12:00:00Z".to_owned());
    record.spec.provider = "rfc2136".to_owned();
    record.spec.secret_ref.name = "dns".to_owned();
    record.spec.name = words.next().unwrap_or_default().to_owned();
    record.spec.record_type = words.next().unwrap_or_default().to_owned();
    for word in words {
        match word.strip_prefix("ttl=") {
            Some(seconds) => record.spec.ttl = seconds.parse().ok(),
            None => record.spec.values.push(word.to_owned()),
        }
    }
    record
}

/// What the next change meets.
#[derive(Debug, Clone)]
pub(crate) enum Fault {
    /// It is refused, or was not sent.
    Fails(ErrorKind),
    /// No answer comes; whether it is carried out is said here.
    Lost(bool),
    /// Somebody else writes this right before it.
    Meanwhile(RecordSet),
}

/// Ends the process that it is given to, at the call of a number; whoever waits for it waits for ever.
#[derive(Debug, Default)]
pub(crate) struct Fuse {
    left: Mutex<Option<usize>>,
    calls: AtomicUsize,
}

impl Fuse {
    /// From now on so many more calls return.
    pub(crate) fn set(&self, left: Option<usize>) {
        *self.left.lock().unwrap() = left;
        self.calls.store(0, Ordering::Relaxed);
    }

    /// Calls since it was set.
    pub(crate) fn calls(&self) -> usize {
        self.calls.load(Ordering::Relaxed)
    }

    pub(crate) async fn call(&self) {
        let burnt = match &mut *self.left.lock().unwrap() {
            None => false,
            Some(0) => true,
            Some(left) => {
                *left -= 1;
                false
            }
        };
        if burnt {
            std::future::pending::<()>().await;
        }
        self.calls.fetch_add(1, Ordering::Relaxed);
    }
}

/// A provider over a map, whose zones are named by their ids. Host names below `aliases.test` become aliases.
#[derive(Debug, Default)]
pub(crate) struct Script {
    state: Mutex<State>,
    pub(crate) fuse: Arc<Fuse>,
}

#[derive(Debug, Default)]
struct State {
    zones: Vec<String>,
    sets: BTreeMap<RecordKey, RecordSet>,
    faults: VecDeque<Fault>,
    reading: Option<ErrorKind>,
    lists: usize,
    asked: usize,
    reads: usize,
    writes: usize,
}

impl Script {
    pub(crate) fn with_zones(zones: &[&str]) -> Self {
        let zones = zones.iter().map(|zone| (*zone).to_owned()).collect();
        Self { state: Mutex::new(State { zones, ..State::default() }), fuse: Arc::default() }
    }

    pub(crate) fn add_zone(&self, zone: &str) {
        self.state().zones.push(zone.to_owned());
    }

    pub(crate) fn drop_zone(&self, zone: &str) {
        let mut state = self.state();
        state.zones.retain(|known| known != zone);
        let apex = name(zone);
        state.sets.retain(|key, _| !key.name.is_within(&apex));
    }

    /// Puts a set there, as somebody else.
    pub(crate) fn put(&self, set: RecordSet) {
        self.state().sets.insert(set.key.clone(), set);
    }

    pub(crate) fn fault(&self, fault: Fault) {
        self.state().faults.push_back(fault);
    }

    /// From now on reading fails so.
    pub(crate) fn unreadable(&self, kind: Option<ErrorKind>) {
        self.state().reading = kind;
    }

    /// Everything, each set as a line.
    pub(crate) fn shown(&self) -> Vec<String> {
        self.state().sets.values().map(ToString::to_string).collect()
    }

    pub(crate) fn lists(&self) -> usize {
        self.state().lists
    }

    /// Zones asked for by their ids.
    pub(crate) fn asked(&self) -> usize {
        self.state().asked
    }

    pub(crate) fn reads(&self) -> usize {
        self.state().reads
    }

    /// Groups that were sent.
    pub(crate) fn writes(&self) -> usize {
        self.state().writes
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }
}

/// An account over a script.
pub(crate) fn account(script: &Arc<Script>) -> Account {
    let options = zonewright_core::options::OptionTable::NONE.into();
    Account::new(AccountId::named("x"), Kind::Route53, Scope::Whole, script.clone(), options)
}

fn zone(id: &str) -> Zone {
    Zone::new(&InstanceId::from("script"), id, name(id))
}

impl State {
    fn met(&self, condition: &Precondition) -> bool {
        match condition {
            Precondition::Exact(set) => self.sets.get(&set.key).is_some_and(|found| found.data == set.data),
            Precondition::Absent(key) => !self.sets.contains_key(key),
            Precondition::NameNotInUse(name) => !self.sets.keys().any(|key| key.name == *name),
        }
    }

    fn carry_out(&mut self, group: &Group) -> Outcome {
        if !group.preconditions().iter().all(|condition| self.met(condition)) {
            return Outcome::refused(Error::new(ErrorKind::Conflict, "apply", "the zone is another one"));
        }
        for change in group.changes() {
            match change {
                Change::Create { to } | Change::Update { to, .. } => drop(self.sets.insert(to.key.clone(), to.clone())),
                Change::Delete { from } => drop(self.sets.remove(&from.key)),
            }
        }
        Outcome::Applied
    }
}

#[async_trait]
impl Provider for Script {
    fn capability(&self, _: Option<&Zone>) -> Capability {
        Capability { alias: true, preconditions: Preconditions::Any, ..zonewright_core::testing::capability() }
    }

    async fn zones(&self) -> Result<Vec<Zone>> {
        self.fuse.call().await;
        let mut state = self.state();
        state.lists += 1;
        match state.reading {
            Some(kind) => Err(Error::new(kind, "list zones", "as scripted")),
            None => Ok(state.zones.iter().map(|id| zone(id)).collect()),
        }
    }

    async fn zone(&self, id: &ZoneId) -> Result<Option<Zone>> {
        self.fuse.call().await;
        let mut state = self.state();
        state.asked += 1;
        match state.reading {
            Some(kind) => Err(Error::new(kind, "read zone", "as scripted")),
            None => Ok(state.zones.iter().find(|known| *known == id.as_str()).map(|id| zone(id))),
        }
    }

    async fn records(&self, zone: &Zone, read: Read<'_>) -> Result<Listing> {
        self.fuse.call().await;
        let mut state = self.state();
        state.reads += 1;
        if let Some(kind) = state.reading {
            return Err(Error::new(kind, "read names", "as scripted"));
        }
        if !state.zones.iter().any(|known| *known == zone.key.zone.as_str()) {
            return Err(Error::new(ErrorKind::NotFound, "read names", "no such zone"));
        }
        let Read::Names(names) = read else { panic!("nothing but names is read") };
        Ok(Listing::Names(state.sets.values().filter(|set| names.contains(&set.key.name)).cloned().collect()))
    }

    fn interpret(&self, _: &Zone, endpoint: &Endpoint) -> Interpretation {
        let host = endpoint.targets.as_records().first().and_then(RData::target);
        let Some(host) = host.filter(|host| host.is_within(&name("aliases.test"))) else {
            return Interpretation::as_stated();
        };
        let alias = AliasTarget { target: host.as_str().into(), zone: None, evaluate_health: true };
        let form = |rtype| Endpoint { rtype, targets: Targets::Alias(alias.clone()), ttl: None, ..endpoint.clone() };
        Interpretation::forms([RecordType::A, RecordType::Aaaa].map(form))
    }

    async fn adjust(&self, _: &Zone, sets: &[RecordSet]) -> Vec<Adjustment> {
        Adjustment::none(sets)
    }

    async fn apply(&self, _: &Zone, groups: &[Group]) -> Vec<Outcome> {
        self.fuse.call().await;
        let outcomes = self.carry_out(groups);
        self.fuse.call().await;
        outcomes
    }

    async fn served(&self, _: &Zone) -> Result<Option<bool>> {
        Ok(None)
    }
}

impl Script {
    fn carry_out(&self, groups: &[Group]) -> Vec<Outcome> {
        let mut state = self.state();
        let mut outcomes = Vec::new();
        for group in groups {
            state.writes += 1;
            let outcome = match state.faults.pop_front() {
                None => state.carry_out(group),
                Some(Fault::Meanwhile(set)) => {
                    state.sets.insert(set.key.clone(), set);
                    state.carry_out(group)
                }
                Some(Fault::Fails(kind)) => Outcome::refused(Error::new(kind, "apply", "as scripted")),
                Some(Fault::Lost(carried_out)) => {
                    if carried_out {
                        state.carry_out(group);
                    }
                    Outcome::Unknown(Error::new(ErrorKind::Timeout, "apply", "no answer"))
                }
            };
            outcomes.push(outcome);
        }
        outcomes
    }
}
