//! What tests of several rooms need: DNSRecords in one line, and a provider that follows a script.

mod fuse;

use std::collections::{BTreeMap, VecDeque};
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

use crate::accounts::ProviderAccount;
use crate::secret::{AccountId, ProviderKind, ZoneScope};
use crate::types::DnsRecord;

pub(crate) use fuse::{Fuse, Upset};

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
    /// Another writer writes this right before it.
    Meanwhile(RecordSet),
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
    /// By name and type, and the zone.
    sets: BTreeMap<(RecordKey, String), RecordSet>,
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
        state.sets.retain(|(_, of), _| of != zone);
    }

    /// Puts a set into its longest zone, as another writer.
    pub(crate) fn put(&self, set: RecordSet) {
        let mut state = self.state();
        let holding = state.zones.iter().filter(|zone| set.key.name.is_within(&name(zone)));
        let zone = holding.max_by_key(|zone| zone.len()).expect("the test names a zone").clone();
        state.sets.insert((set.key.clone(), zone), set);
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
pub(crate) fn account(script: &Arc<Script>) -> ProviderAccount {
    let options = zonewright_core::options::OptionTable::NONE.into();
    ProviderAccount::new(AccountId::named("x"), ProviderKind::Route53, ZoneScope::Whole, script.clone(), options)
}

fn zone(id: &str) -> Zone {
    Zone::new(&InstanceId::from("script"), id, name(id))
}

impl State {
    fn met(&self, zone: &str, condition: &Precondition) -> bool {
        let at = |key: &RecordKey| self.sets.get(&(key.clone(), zone.to_owned()));
        match condition {
            Precondition::Exact(set) => at(&set.key).is_some_and(|found| found.data == set.data),
            Precondition::Absent(key) => at(key).is_none(),
            Precondition::NameNotInUse(name) => !self.sets.keys().any(|(key, of)| key.name == *name && of == zone),
        }
    }

    fn carry_out(&mut self, zone: &str, group: &Group) -> Outcome {
        if !group.preconditions().iter().all(|condition| self.met(zone, condition)) {
            return Outcome::refused(Error::new(ErrorKind::Conflict, "apply", "the zone is another one"));
        }
        let place = |key: &RecordKey| (key.clone(), zone.to_owned());
        for change in group.changes() {
            match change {
                Change::Create { to } | Change::Update { to, .. } => drop(self.sets.insert(place(&to.key), to.clone())),
                Change::Delete { from } => drop(self.sets.remove(&place(&from.key))),
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
        self.reading("list zones").await?;
        let mut state = self.state();
        state.lists += 1;
        match state.reading {
            Some(kind) => Err(Error::new(kind, "list zones", "as scripted")),
            None => Ok(state.zones.iter().map(|id| zone(id)).collect()),
        }
    }

    async fn zone(&self, id: &ZoneId) -> Result<Option<Zone>> {
        self.reading("read zone").await?;
        let mut state = self.state();
        state.asked += 1;
        match state.reading {
            Some(kind) => Err(Error::new(kind, "read zone", "as scripted")),
            None => Ok(state.zones.iter().find(|known| *known == id.as_str()).map(|id| zone(id))),
        }
    }

    async fn records(&self, zone: &Zone, read: Read<'_>) -> Result<Listing> {
        self.reading("read names").await?;
        let mut state = self.state();
        state.reads += 1;
        if let Some(kind) = state.reading {
            return Err(Error::new(kind, "read names", "as scripted"));
        }
        if !state.zones.iter().any(|known| *known == zone.key.zone.as_str()) {
            return Err(Error::new(ErrorKind::NotFound, "read names", "no such zone"));
        }
        let Read::Names(names) = read else { panic!("nothing but names is read") };
        let here =
            state.sets.iter().filter(|((_, of), set)| *of == zone.key.zone.as_str() && names.contains(&set.key.name));
        Ok(Listing::Names(here.map(|(_, set)| set.clone()).collect()))
    }

    fn interpret(&self, _: &Zone, endpoint: &Endpoint) -> Interpretation {
        let host = endpoint.targets.as_records().first().and_then(RData::target);
        let Some(host) = host.filter(|host| host.is_within(&name("aliases.test"))) else {
            return Interpretation::as_stated();
        };
        let alias = AliasTarget { target: host.as_str().into(), zone: None, evaluate_health: true };
        let form =
            |rtype| Endpoint { rtype, targets: Targets::Alias(Box::new(alias.clone())), ttl: None, ..endpoint.clone() };
        Interpretation::forms([RecordType::A, RecordType::Aaaa].map(form))
    }

    async fn adjust(&self, _: &Zone, sets: &[RecordSet]) -> Vec<Adjustment> {
        Adjustment::none(sets)
    }

    async fn apply(&self, zone: &Zone, groups: &[Group]) -> Vec<Outcome> {
        self.fuse.call().await;
        match self.fuse.upset("change records").await {
            Some(Upset::Refused(kind)) => self.fault(Fault::Fails(kind)),
            Some(_) => self.fault(Fault::Lost(true)),
            None => {}
        }
        let outcomes = self.carry_out(zone.key.zone.as_str(), groups);
        self.fuse.call().await;
        outcomes
    }

    async fn served(&self, _: &Zone) -> Result<Option<bool>> {
        Ok(None)
    }
}

impl Script {
    /// A call that reads, if nothing goes wrong with it.
    async fn reading(&self, what: &'static str) -> Result<()> {
        self.fuse.call().await;
        match self.fuse.upset(what).await {
            None => Ok(()),
            Some(Upset::Refused(kind)) => Err(Error::new(kind, what, "as planned")),
            Some(_) => Err(Error::new(ErrorKind::Timeout, what, "no answer")),
        }
    }

    fn carry_out(&self, zone: &str, groups: &[Group]) -> Vec<Outcome> {
        let mut state = self.state();
        let mut outcomes = Vec::new();
        for group in groups {
            state.writes += 1;
            let outcome = match state.faults.pop_front() {
                None => state.carry_out(zone, group),
                Some(Fault::Meanwhile(set)) => {
                    state.sets.insert((set.key.clone(), zone.to_owned()), set);
                    state.carry_out(zone, group)
                }
                Some(Fault::Fails(kind)) => Outcome::refused(Error::new(kind, "apply", "as scripted")),
                Some(Fault::Lost(carried_out)) => {
                    if carried_out {
                        state.carry_out(zone, group);
                    }
                    Outcome::Unknown(Error::new(ErrorKind::Timeout, "apply", "no answer"))
                }
            };
            outcomes.push(outcome);
        }
        outcomes
    }
}
