//! The simulated world.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::Notify;
use zonewright_core::capability::{Atomicity, Audit, Capability, Preconditions, TtlRange};
use zonewright_core::change::{Blame, Change, Group, Outcome, Precondition};
use zonewright_core::clock::{Clock, Timestamp};
use zonewright_core::endpoint::{
    Endpoint, Mapped, Note, ObjectPolicy, ObjectRef, Origin, OtherPrefix, Pending, Reporter, Sharing, Targets, Unknown,
};
use zonewright_core::error::Retry;
use zonewright_core::interpret::Interpretation;
use zonewright_core::name_policy::{NamePolicy, PermitAll};
use zonewright_core::options::OptionTable;
use zonewright_core::provider::{Adjustment, Listing, Provider, Read, Token};
use zonewright_core::record::{Routing, SetId};
use zonewright_core::registry::Registry;
use zonewright_core::source::{
    Evidence, KindState, ObjectState, ObjectUpdate, PublishedNames, Source, SourceErrors, Update,
};
use zonewright_core::store::{MemoryStore, StateStore};
use zonewright_core::zone::{InstanceId, ZoneId};
use zonewright_core::{
    DnsName, Error, ErrorKind, RData, RecordData, RecordKey, RecordSet, RecordType, Result, Ttl, Zone,
};
use zonewright_engine::journal::Journaling;
use zonewright_engine::metrics::Metrics;
use zonewright_engine::{Config, Engine, Instance, Parts};
use zonewright_registry::txt::{FormerNames, TxtConfig, TxtRegistry};

pub(crate) fn name(text: &str) -> DnsName {
    DnsName::parse(text).unwrap()
}

/// `name TYPE data data`; blanks inside data are written `_`.
pub(crate) fn set(line: &str) -> RecordSet {
    let mut words = line.split(' ');
    let owner = name(words.next().unwrap());
    let rtype: RecordType = words.next().unwrap().parse().unwrap();
    let data = words.map(|word| RData::parse(rtype, &word.replace('_', " ")).unwrap());
    RecordSet::simple(owner, rtype, Ttl::from_secs(0), data)
}

/// What the provider does instead of what it should.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Nothing answers.
    Down,
    /// The write is carried out, its answer is lost.
    LostAnswer,
    /// The write is lost, and so is its answer.
    LostWrite,
    /// Reads fail, writes work.
    NoReads,
    /// The credentials are refused.
    Denied,
    /// Never answers.
    Stall,
}

#[derive(Default)]
pub(crate) struct Content {
    pub(crate) sets: BTreeMap<RecordKey, RecordSet>,
    serial: u64,
}

/// An honest provider of one or more zones, with faults on demand.
pub(crate) struct Sim {
    zones: Vec<Zone>,
    content: Mutex<Content>,
    faults: Mutex<BTreeMap<DnsName, Fault>>,
    /// A fault that begins with the write of this number.
    later: Mutex<Option<(usize, DnsName, Fault)>>,
    /// Groups at these names are refused as invalid.
    bad: Mutex<BTreeSet<DnsName>>,
    /// Groups that create records of this type are refused as invalid.
    bad_type: Mutex<Option<RecordType>>,
    /// Groups at or below these names are refused as not allowed, while everything can be read.
    denied: Mutex<BTreeSet<DnsName>>,
    pub(crate) reads: AtomicUsize,
    targeted: AtomicUsize,
    /// Whether preconditions are looked at.
    blind: AtomicBool,
    /// Whether a call holds several changes together.
    split: AtomicBool,
    /// Whether reads are answered while writes are not.
    reads_go_on: AtomicBool,
    pub(crate) writes: AtomicUsize,
    /// The changes of each write that took effect, as lines.
    log: Mutex<Vec<Vec<String>>>,
    /// What is created at this name is confirmed and dropped.
    swallowed: Mutex<String>,
    /// A zone that the list leaves out, and whether it is there all the same.
    left_out: Mutex<Option<(DnsName, bool)>>,
    /// So many more times the zones cannot be listed.
    failing_lists: AtomicUsize,
    /// The zone of each write.
    written: Mutex<Vec<DnsName>>,
    /// A name that listings of everything leave out.
    hidden: Mutex<Option<DnsName>>,
    /// How long a listing may lag behind a write.
    pub(crate) settle: Mutex<Duration>,
    /// How long each write takes.
    pace: Mutex<Duration>,
}

impl Sim {
    pub(crate) fn new(zones: &[&str]) -> Arc<Self> {
        let instance = InstanceId::from("sim");
        Arc::new(Self {
            zones: zones.iter().map(|z| Zone::new(&instance, z, name(z))).collect(),
            content: Mutex::default(),
            faults: Mutex::default(),
            later: Mutex::default(),
            bad: Mutex::default(),
            bad_type: Mutex::default(),
            denied: Mutex::default(),
            reads: AtomicUsize::new(0),
            targeted: AtomicUsize::new(0),
            blind: AtomicBool::new(false),
            split: AtomicBool::new(false),
            reads_go_on: AtomicBool::new(false),
            writes: AtomicUsize::new(0),
            log: Mutex::default(),
            swallowed: Mutex::default(),
            left_out: Mutex::default(),
            failing_lists: AtomicUsize::new(0),
            written: Mutex::default(),
            hidden: Mutex::default(),
            settle: Mutex::default(),
            pace: Mutex::default(),
        })
    }

    /// The next lists of zones fail, so many of them.
    pub(crate) fn fail_lists(&self, count: usize) {
        self.failing_lists.store(count, Ordering::SeqCst);
    }

    /// The list of zones leaves one out; `there` is what a question for that zone alone says.
    pub(crate) fn leave_out(&self, zone: &str, there: bool) {
        *self.left_out.lock().unwrap() = Some((name(zone), there));
    }

    pub(crate) fn content(&self) -> MutexGuard<'_, Content> {
        self.content.lock().unwrap()
    }

    /// Puts records in by a foreign hand.
    pub(crate) fn insert(&self, lines: &[&str]) {
        let mut content = self.content();
        for line in lines {
            let set = set(line);
            content.sets.insert(set.key.clone(), set);
        }
        content.serial += 1;
    }

    pub(crate) fn remove(&self, key: &RecordKey) {
        let mut content = self.content();
        content.sets.remove(key);
        content.serial += 1;
    }

    pub(crate) fn fault(&self, zone: &str, fault: impl Into<Option<Fault>>) {
        match fault.into() {
            Some(fault) => self.faults.lock().unwrap().insert(name(zone), fault),
            None => self.faults.lock().unwrap().remove(&name(zone)),
        };
    }

    /// Begins a fault after so many more writes.
    pub(crate) fn fault_after(&self, writes: usize, zone: &str, fault: Fault) {
        *self.later.lock().unwrap() = Some((self.calls().1 + writes, name(zone), fault));
    }

    fn trip(&self, write: usize) {
        let mut later = self.later.lock().unwrap();
        if let Some((_, zone, fault)) = later.take_if(|(at, ..)| write >= *at) {
            self.faults.lock().unwrap().insert(zone, fault);
        }
    }

    pub(crate) fn refuse(&self, names: &[&str]) {
        *self.bad.lock().unwrap() = names.iter().map(|n| name(n)).collect();
    }

    /// From now on records of a type cannot be created; `None` lets them all again.
    pub(crate) fn refuse_type(&self, rtype: Option<RecordType>) {
        *self.bad_type.lock().unwrap() = rtype;
    }

    /// Updates at or below these names are not allowed from now on, as by an update policy.
    pub(crate) fn deny(&self, names: &[&str]) {
        *self.denied.lock().unwrap() = names.iter().map(|n| name(n)).collect();
    }

    fn faulty(&self, zone: &Zone) -> Option<Fault> {
        self.faults.lock().unwrap().get(&zone.name).copied()
    }

    /// Records that are no claims, as lines.
    pub(crate) fn records(&self) -> Vec<String> {
        self.content()
            .sets
            .values()
            .filter(|s| !is_claim(s))
            .map(|s| format!("{} {} {}", s.key.name, s.key.rtype, s.data))
            .collect()
    }

    /// All records, as lines.
    pub(crate) fn all(&self) -> Vec<String> {
        self.content().sets.values().map(ToString::to_string).collect()
    }

    /// From now on listings of everything leave a name out, and do not show where they end.
    pub(crate) fn hide(&self, hidden: &str) {
        *self.hidden.lock().unwrap() = Some(name(hidden));
    }

    /// From now on each write takes so long.
    pub(crate) fn pace(&self, time: Duration) {
        *self.pace.lock().unwrap() = time;
    }

    /// From now on what is created at a name is confirmed and dropped.
    pub(crate) fn swallow(&self, name: &str) {
        name.clone_into(&mut self.swallowed.lock().unwrap());
    }

    /// The changes of each write that took effect, as lines.
    pub(crate) fn written(&self) -> Vec<Vec<String>> {
        self.log.lock().unwrap().clone()
    }

    /// From now on nothing can be demanded of the zone before a write.
    pub(crate) fn blind(&self) {
        self.blind.store(true, Ordering::SeqCst);
    }

    /// From now on nothing holds several changes together.
    pub(crate) fn split(&self) {
        self.split.store(true, Ordering::SeqCst);
    }

    /// From now on [`Fault::Stall`] and [`Fault::Denied`] concern writes alone.
    pub(crate) fn unstall_reads(&self) {
        self.reads_go_on.store(true, Ordering::SeqCst);
    }

    fn is_blind(&self) -> bool {
        self.blind.load(Ordering::SeqCst)
    }

    /// Number of targeted reads.
    pub(crate) fn targeted(&self) -> usize {
        self.targeted.load(Ordering::SeqCst)
    }

    /// How many writes went to a zone.
    pub(crate) fn writes_to(&self, zone: &str) -> usize {
        self.written.lock().unwrap().iter().filter(|written| written.as_str() == zone).count()
    }

    pub(crate) fn calls(&self) -> (usize, usize) {
        (self.reads.load(Ordering::SeqCst), self.writes.load(Ordering::SeqCst))
    }
}

pub(crate) fn is_claim(set: &RecordSet) -> bool {
    set.key.rtype == RecordType::Txt && set.data.to_string().contains("heritage=external-dns")
}

fn holds(content: &Content, precondition: &Precondition) -> bool {
    match precondition {
        Precondition::Exact(set) => content.sets.get(&set.key).is_some_and(|s| s.data == set.data),
        Precondition::Absent(key) => !content.sets.contains_key(key),
        Precondition::NameNotInUse(name) => !content.sets.keys().any(|key| key.name == *name),
    }
}

fn carry_out(content: &mut Content, groups: &[Group]) {
    for change in groups.iter().flat_map(Group::changes) {
        content.sets.remove(change.key());
        if let Change::Create { to } | Change::Update { to, .. } = change {
            let ttl = to.ttl.or(Ttl::from_secs(0));
            content.sets.insert(to.key.clone(), RecordSet { ttl, ..to.clone() });
        }
    }
    content.serial += 1;
}

#[async_trait]
impl Provider for Sim {
    fn capability(&self, _: Option<&Zone>) -> Capability {
        let preconditions = if self.is_blind() { Preconditions::None } else { Preconditions::Any };
        let mut capability = Capability { preconditions, ..Capability::authoritative(8, TtlRange::any(Ttl::ZERO)) };
        if self.split.load(Ordering::SeqCst) {
            capability.batch.atomic = Atomicity::None;
        }
        if self.hidden.lock().unwrap().is_some() {
            capability.audit = Audit::Listing;
        }
        capability.settle = *self.settle.lock().unwrap();
        capability
    }

    async fn zones(&self) -> Result<Vec<Zone>> {
        let failing = self.failing_lists.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        if failing.is_ok() {
            return Err(Error::new(ErrorKind::Unavailable, "list zones", "nobody answers"));
        }
        let left_out = self.left_out.lock().unwrap().clone();
        let listed = |zone: &&Zone| left_out.as_ref().is_none_or(|(name, _)| zone.name != *name);
        Ok(self.zones.iter().filter(listed).cloned().collect())
    }

    async fn zone(&self, id: &ZoneId) -> Result<Option<Zone>> {
        let left_out = self.left_out.lock().unwrap().clone();
        let there = |zone: &&Zone| left_out.as_ref().is_none_or(|(name, there)| zone.name != *name || *there);
        Ok(self.zones.iter().filter(there).find(|z| z.key.zone == *id).cloned())
    }

    async fn records(&self, zone: &Zone, read: Read<'_>) -> Result<Listing> {
        self.reads.fetch_add(1, Ordering::SeqCst);
        match self.faulty(zone) {
            Some(Fault::Stall) if !self.reads_go_on.load(Ordering::SeqCst) => std::future::pending().await,
            Some(Fault::Down | Fault::NoReads) => {
                return Err(Error::new(ErrorKind::Unavailable, "read records", "connection refused"));
            }
            Some(Fault::Denied) if !self.reads_go_on.load(Ordering::SeqCst) => {
                return Err(Error::new(ErrorKind::Unauthorized, "read records", "BADSIG"));
            }
            _ => {}
        }
        let content = self.content();
        let token = Some(Token(content.serial.to_string()));
        let below = |s: &RecordSet| {
            self.zones.iter().any(|other| {
                other.name != zone.name && other.name.is_within(&zone.name) && s.key.name.is_within(&other.name)
            })
        };
        let own = |s: &&RecordSet| s.key.name.is_within(&zone.name) && !below(s);
        Ok(match read {
            Read::Since(since) if Some(since) == token.as_ref() => Listing::Unchanged,
            Read::Names(names) => {
                self.targeted.fetch_add(1, Ordering::SeqCst);
                Listing::Names(
                    content.sets.values().filter(|s| names.contains(&s.key.name) && own(s)).cloned().collect(),
                )
            }
            Read::All | Read::From(_) | Read::Since(_) => {
                let hidden = self.hidden.lock().unwrap().clone();
                let shown = |s: &&RecordSet| own(s) && hidden.as_ref() != Some(&s.key.name);
                Listing::Full { sets: content.sets.values().filter(shown).cloned().collect(), token }
            }
        })
    }

    fn interpret(&self, _: &Zone, _: &Endpoint) -> Interpretation {
        Interpretation::as_stated()
    }

    async fn adjust(&self, _: &Zone, sets: &[RecordSet]) -> Vec<Adjustment> {
        Adjustment::none(sets)
    }

    async fn apply(&self, zone: &Zone, groups: &[Group]) -> Vec<Outcome> {
        let pace = *self.pace.lock().unwrap();
        if !pace.is_zero() {
            tokio::time::sleep(pace).await;
        }
        self.trip(self.writes.fetch_add(1, Ordering::SeqCst));
        self.written.lock().unwrap().push(zone.name.clone());
        let unavailable =
            || Error::new(ErrorKind::Unavailable, "apply changes", "connection refused").retry(Retry::Backoff);
        let lost = || Error::new(ErrorKind::Timeout, "apply changes", "no answer");
        match self.faulty(zone) {
            Some(Fault::Stall) => std::future::pending().await,
            Some(Fault::Denied) => {
                let denied = || Outcome::refused(Error::new(ErrorKind::Unauthorized, "apply changes", "BADSIG"));
                return groups.iter().map(|_| denied()).collect();
            }
            Some(Fault::Down) => return groups.iter().map(|_| Outcome::NotSent(unavailable())).collect(),
            Some(Fault::LostWrite) => return groups.iter().map(|_| Outcome::Unknown(lost())).collect(),
            _ => {}
        }
        let mut content = self.content();
        let bad_type = *self.bad_type.lock().unwrap();
        let creates_bad = |g: &Group| g.changes().filter_map(Change::to).any(|to| Some(to.key.rtype) == bad_type);
        let bad = |g: &Group| self.bad.lock().unwrap().contains(&g.name) || creates_bad(g);
        let stale = |g: &Group| !self.is_blind() && !g.preconditions().iter().all(|p| holds(&content, p));
        let blame = if groups.len() == 1 { Blame::Group } else { Blame::Batch };
        let refuse = |kind| {
            let error = || Error::new(kind, "apply changes", "refused");
            groups.iter().map(|_| Outcome::Refused { error: error(), blame }).collect()
        };
        if groups.iter().any(stale) {
            return refuse(ErrorKind::Conflict);
        }
        if groups.iter().any(bad) {
            return refuse(ErrorKind::Invalid);
        }
        let denied = |g: &Group| self.denied.lock().unwrap().iter().any(|name| g.name.is_within(name));
        if groups.iter().any(denied) {
            return refuse(ErrorKind::Unauthorized);
        }
        carry_out(&mut content, groups);
        content.sets.retain(|key, _| key.name.as_str() != *self.swallowed.lock().unwrap());
        let lines = groups.iter().flat_map(Group::changes).map(ToString::to_string).collect();
        self.log.lock().unwrap().push(lines);
        match self.faulty(zone) {
            Some(Fault::LostAnswer) => groups.iter().map(|_| Outcome::Unknown(lost())).collect(),
            _ => groups.iter().map(|_| Outcome::Applied).collect(),
        }
    }
}

/// A source that holds what the test puts in.
pub(crate) struct Cluster {
    objects: Mutex<BTreeMap<String, (ObjectRef, Arc<Mapped>)>>,
    updates: Mutex<Vec<ObjectUpdate>>,
    state: Mutex<KindState>,
    changed: Notify,
    pub(crate) troubles: Mutex<SourceErrors>,
}

pub(crate) const SERVICES: &str = "services";

fn object(who: &str) -> ObjectRef {
    ObjectRef {
        api_version: Arc::from("v1"),
        kind: Arc::from("Service"),
        namespace: Arc::from("ns"),
        name: Arc::from(who),
        uid: Arc::from(format!("uid-{who}")),
    }
}

impl Cluster {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            objects: Mutex::default(),
            updates: Mutex::default(),
            state: Mutex::new(KindState { complete: true, fresh: true, settled: true, ..KindState::default() }),
            changed: Notify::new(),
            troubles: Mutex::default(),
        })
    }

    fn update(&self, who: &str, state: ObjectState) {
        self.updates.lock().unwrap().push(ObjectUpdate { source: Arc::from("service"), object: object(who), state });
        self.changed.notify_one();
    }

    /// `lines` as [`set`]; `pending:NAME` is a name without targets; `policy:WORD` is the object's policy; `label:TEXT` its label
    /// in claims; `prop:KEY=VALUE` a property; `unknown` asks for more than can be told; `other:LINE` is asked for under an annotation prefix that is not in
    /// force.
    pub(crate) fn put(&self, who: &str, lines: &[&str]) {
        let label = lines.iter().find_map(|line| line.strip_prefix("label:")).map(str::to_owned);
        let label: Option<Arc<str>> = Some(Arc::from(label.unwrap_or_else(|| format!("service/ns/{who}"))));
        let created = who.bytes().map(i64::from).sum();
        let origin = Origin { source: Arc::from("service"), rank: 0, object: object(who), created: Some(created) };
        let origin = Arc::new(origin);
        let policy = lines.iter().find_map(|l| l.strip_prefix("policy:")).and_then(ObjectPolicy::parse);
        let set_id = lines.iter().find_map(|l| l.strip_prefix("set:")).and_then(SetId::new);
        let stated = lines.iter().filter_map(|l| l.strip_prefix("prop:")?.split_once('='));
        let properties: BTreeMap<Arc<str>, Arc<str>> = stated.map(|(key, value)| (key.into(), value.into())).collect();
        let mut mapped = Mapped { kinds: BTreeSet::from([Arc::from(SERVICES)]), ..Mapped::default() };
        let endpoint = |line: &str| {
            let RecordSet { key, data: RecordData::Records(records), .. } = set(line) else { unreachable!() };
            Endpoint {
                name: key.name,
                rtype: key.rtype,
                targets: Targets::Records(records),
                ttl: None,
                set_id: set_id.clone(),
                routing: Routing::Simple,
                properties: properties.clone(),
                origin: origin.clone(),
                resource: label.clone(),
                labels: Box::default(),
                sharing: Sharing::Holder,
                policy,
            }
        };
        let other: Vec<Endpoint> = lines.iter().filter_map(|l| l.strip_prefix("other:")).map(endpoint).collect();
        if !other.is_empty() {
            let prefix = Arc::from("external-dns.alpha.kubernetes.io/");
            let other = OtherPrefix { prefix, endpoints: other, pending: Vec::new(), object: object(who) };
            mapped.other_prefix = Some(Box::new(other));
        }
        for line in lines {
            if let Some(text) = line.strip_prefix("pending:") {
                mapped.pending.push(Pending {
                    name: name(text),
                    resource: label.clone(),
                    reason: "blank status".to_owned(),
                });
                continue;
            }
            if *line == "unknown" {
                mapped.unknown.push(Unknown { resource: label.clone(), reason: "a template failed".to_owned() });
            }
            let is_setting = |start: &&str| line.starts_with(*start);
            if *line != "unknown" && !["policy:", "set:", "prop:", "label:", "other:"].iter().any(is_setting) {
                mapped.endpoints.push(endpoint(line));
            }
        }
        let mapped = Arc::new(mapped);
        self.objects.lock().unwrap().insert(who.to_owned(), (object(who), mapped.clone()));
        self.update(who, ObjectState::Present(mapped));
    }

    /// A DELETE event.
    pub(crate) fn delete(&self, who: &str) {
        self.objects.lock().unwrap().remove(who);
        self.update(who, ObjectState::Gone { tombstone: true });
    }

    /// The object is missing from a new list.
    pub(crate) fn vanish(&self, who: &str) {
        self.objects.lock().unwrap().remove(who);
        self.update(who, ObjectState::Gone { tombstone: false });
    }

    pub(crate) fn vanish_all(&self) {
        let all: Vec<String> = self.objects.lock().unwrap().keys().cloned().collect();
        for who in all {
            self.vanish(&who);
        }
    }

    /// Sets how far the view can be trusted.
    pub(crate) fn trust(&self, complete: bool, fresh: bool) {
        *self.state.lock().unwrap() = KindState { complete, fresh, settled: true, ..KindState::default() };
        self.changed.notify_one();
    }

    /// The view is doubted because it looks empty, and for nothing else; `number` is that of this doubt.
    pub(crate) fn doubt(&self, number: u64) {
        let state = KindState { fresh: true, settled: true, doubted: Some(number), ..KindState::default() };
        *self.state.lock().unwrap() = state;
        self.changed.notify_one();
    }

    /// Whether there are objects that cannot be read.
    pub(crate) fn spoil(&self, unreadable: bool) {
        self.state.lock().unwrap().unreadable = usize::from(unreadable);
        self.changed.notify_one();
    }

    pub(crate) fn unsettle(&self) {
        *self.state.lock().unwrap() = KindState::default();
    }
}

#[async_trait]
impl Source for Cluster {
    async fn changed(&self) {
        self.changed.notified().await;
    }

    fn take(&self, everything: bool) -> Update {
        let updates = std::mem::take(&mut *self.updates.lock().unwrap());
        if !everything {
            return Update { complete: false, objects: updates };
        }
        // Tombstones are told even with a complete snapshot, before it.
        let gone = updates.into_iter().filter(|u| matches!(u.state, ObjectState::Gone { .. }));
        let objects = self.objects.lock().unwrap();
        let present = objects.values().map(|(object, mapped)| ObjectUpdate {
            source: Arc::from("service"),
            object: object.clone(),
            state: ObjectState::Present(mapped.clone()),
        });
        Update {
            complete: true,
            objects: gone.filter(|u| !objects.contains_key(&*u.object.name)).chain(present).collect(),
        }
    }

    fn use_published(&self, _: Arc<dyn PublishedNames>) {}

    fn published_read(&self) -> bool {
        false
    }

    fn errors(&self) -> SourceErrors {
        self.troubles.lock().unwrap().clone()
    }

    fn evidence(&self) -> Evidence {
        let kind: Arc<str> = Arc::from(SERVICES);
        let state = *self.state.lock().unwrap();
        let objects = self.objects.lock().unwrap().len();
        Evidence {
            kinds: BTreeMap::from([(kind.clone(), KindState { objects, ..state })]),
            resources: BTreeMap::from([(Arc::from("service"), BTreeSet::from([kind]))]),
            open: BTreeSet::new(),
        }
    }
}

#[derive(Default)]
pub(crate) struct Told(pub Mutex<Vec<Note>>);

impl Reporter for Told {
    fn tell(&self, note: &Note) {
        self.0.lock().unwrap().push(note.clone());
    }
}

impl Told {
    pub(crate) fn has(&self, who: &str, reason: &str) -> bool {
        self.0.lock().unwrap().iter().any(|n| &*n.object.name == who && n.reason == reason)
    }
}

/// Keeps the state, and the approvals that somebody put beside it.
#[derive(Default)]
pub(crate) struct Shelf {
    document: MemoryStore,
    /// From now on nothing can be saved.
    pub(crate) full: AtomicBool,
    /// From now on nothing can be read.
    pub(crate) unreadable: AtomicBool,
    pub(crate) approvals: Mutex<BTreeSet<String>>,
}

#[async_trait]
impl StateStore for Shelf {
    async fn load(&self) -> Result<Option<Vec<u8>>> {
        if self.unreadable.load(Ordering::SeqCst) {
            return Err(Error::new(ErrorKind::Unavailable, "read the state", "nobody answers"));
        }
        self.document.load().await
    }

    async fn save(&self, document: &[u8]) -> Result<()> {
        if self.full.load(Ordering::SeqCst) {
            return Err(Error::new(ErrorKind::Unauthorized, "save the state", "no right to write"));
        }
        self.document.save(document).await
    }

    async fn approvals(&self) -> Result<BTreeSet<String>> {
        Ok(self.approvals.lock().unwrap().clone())
    }

    fn approve_with(&self, _: &str) -> Option<String> {
        None
    }

    fn place(&self) -> String {
        self.document.place()
    }
}

/// Everything together. An engine can be stopped and another started on the same world.
pub(crate) struct World {
    pub(crate) sim: Arc<Sim>,
    pub(crate) cluster: Arc<Cluster>,
    pub(crate) store: Arc<Shelf>,
    pub(crate) journal: Journaling,
    pub(crate) told: Arc<Told>,
    pub(crate) config: Config,
    /// Goes on over restarts.
    pub(crate) clock: Clock,
    pub(crate) owner: &'static str,
    pub(crate) name_policy: Arc<dyn NamePolicy>,
    /// `--txt-prefix`, and the former ones.
    pub(crate) prefixes: (&'static str, &'static [&'static str]),
}

impl World {
    pub(crate) fn new(zones: &[&str]) -> Self {
        Self {
            sim: Sim::new(zones),
            cluster: Cluster::new(),
            store: Arc::default(),
            journal: Journaling::default(),
            told: Arc::new(Told::default()),
            config: Config::default(),
            clock: Clock::starting_at(Timestamp(1_000_000_000)),
            owner: "me",
            name_policy: Arc::new(PermitAll),
            prefixes: ("", &[]),
        }
    }

    /// Another cluster on the same zones.
    pub(crate) fn beside(&self) -> Self {
        Self { sim: self.sim.clone(), ..Self::new(&[]) }
    }

    pub(crate) async fn start(&self) -> Engine {
        let former = |prefix: &&str| FormerNames {
            prefix: (*prefix).to_owned(),
            suffix: String::new(),
            wildcard_replacement: String::new(),
        };
        let registry = TxtRegistry::new(TxtConfig {
            prefix: self.prefixes.0.to_owned(),
            former: self.prefixes.1.iter().map(former).collect(),
            ..TxtConfig::new(self.owner).unwrap()
        });
        self.start_with(Arc::new(registry.unwrap())).await
    }

    pub(crate) async fn start_with(&self, registry: Arc<dyn Registry>) -> Engine {
        let instance = Instance {
            id: InstanceId::from("sim"),
            provider: self.sim.clone(),
            registry,
            options: OptionTable::NONE.into(),
        };
        self.start_instances(vec![instance]).await
    }

    pub(crate) async fn start_instances(&self, instances: Vec<Instance>) -> Engine {
        let store: Arc<dyn StateStore> = self.store.clone();
        Engine::start(
            self.config.clone(),
            Parts {
                sources: vec![self.cluster.clone()],
                instances,
                name_policy: self.name_policy.clone(),
                store,
                journal: self.journal.clone(),
                reporter: self.told.clone(),
                metrics: Arc::new(Metrics::default()),
                clock: self.clock,
                own_object: Some(object("zonewright-pod")),
            },
        )
        .await
    }
}

/// Lets the engine come to rest: what the source told is taken over, planned and sent.
pub(crate) async fn rest(engine: &Engine) -> zonewright_engine::Outcome {
    // The paused clock moves only when every task waits: after this the intake has turned.
    tokio::time::sleep(Duration::from_millis(1)).await;
    engine.settled().await
}

/// As [`rest`], after so much time.
pub(crate) async fn after(engine: &Engine, time: Duration) -> zonewright_engine::Outcome {
    tokio::time::sleep(time).await;
    rest(engine).await
}
