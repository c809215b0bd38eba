//! A provider that enforces preconditions and fails as the test says.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use std::time::Duration;

use async_trait::async_trait;
use zonewright_core::capability::{Atomicity, Audit, Capability, Preconditions, TtlRange};
use zonewright_core::change::{Blame, Change, Group, Outcome, Precondition};
use zonewright_core::endpoint::Endpoint;
use zonewright_core::error::Retry;
use zonewright_core::interpret::Interpretation;
use zonewright_core::provider::{Adjustment, Delta, Listing, Provider, Read, Record, Token};
use zonewright_core::zone::{InstanceId, ZoneId};
use zonewright_core::{DnsName, Error, ErrorKind, RData, RecordKey, RecordSet, RecordType, Result, Ttl, Zone};

use super::{name, set};

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
    interpreted: AtomicUsize,
    targeted: AtomicUsize,
    /// Whether preconditions are looked at.
    blind: AtomicBool,
    /// Whether a call holds several changes together.
    split: AtomicBool,
    /// Whether a call takes any number of changes.
    unlimited: AtomicBool,
    /// What was listed under each token, where a list says what has changed since.
    listed: Mutex<Option<HashMap<Token, Vec<Record>>>>,
    /// Whether reads are answered while writes are not.
    reads_go_on: AtomicBool,
    pub(crate) writes: AtomicUsize,
    /// The changes of each write that took effect, as lines.
    log: Mutex<Vec<Vec<String>>>,
    /// What is created at this name is confirmed and dropped.
    swallowed: Mutex<String>,
    /// A zone that the list leaves out, and whether it is there all the same; `None`: nobody answers that.
    left_out: Mutex<Option<(DnsName, Option<bool>)>>,
    /// So many more times the zones cannot be listed.
    failing_lists: AtomicUsize,
    /// The zone of each write.
    written: Mutex<Vec<DnsName>>,
    /// A name that listings of everything leave out.
    hidden: Mutex<Option<DnsName>>,
    /// How long a listing may lag behind a write.
    pub(crate) settle: Mutex<Duration>,
    /// How long each write takes.
    pub(super) pace: Mutex<Duration>,
    /// Of sets at these names it cannot say now in which form they would be read back.
    unadjusted: Mutex<BTreeSet<DnsName>>,
    /// The answer about forms lacks its end, from the first such set on.
    short_answers: AtomicBool,
}

impl Sim {
    pub(crate) fn new(zones: &[&str]) -> Arc<Self> {
        Self::of("sim", zones)
    }

    /// That of an instance with this name.
    pub(crate) fn of(instance: &str, zones: &[&str]) -> Arc<Self> {
        let instance = InstanceId::from(instance);
        Arc::new(Self {
            zones: zones.iter().map(|z| Zone::new(&instance, z, name(z))).collect(),
            content: Mutex::default(),
            faults: Mutex::default(),
            later: Mutex::default(),
            bad: Mutex::default(),
            bad_type: Mutex::default(),
            denied: Mutex::default(),
            reads: AtomicUsize::new(0),
            interpreted: AtomicUsize::new(0),
            targeted: AtomicUsize::new(0),
            blind: AtomicBool::new(false),
            split: AtomicBool::new(false),
            unlimited: AtomicBool::new(false),
            listed: Mutex::default(),
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
            unadjusted: Mutex::default(),
            short_answers: AtomicBool::new(false),
        })
    }

    /// Of sets at these names, and no others, it cannot say in which form they would be read back. `short`: it says nothing of them and
    /// of those that follow.
    pub(crate) fn leave_unadjusted(&self, names: &[&str], short: bool) {
        *self.unadjusted.lock().unwrap() = names.iter().map(|text| name(text)).collect();
        self.short_answers.store(short, Ordering::SeqCst);
    }

    /// The next lists of zones fail, so many of them.
    pub(crate) fn fail_lists(&self, count: usize) {
        self.failing_lists.store(count, Ordering::SeqCst);
    }

    /// The list of zones leaves one out; `there` is what a question for that zone alone says, if it is answered.
    pub(crate) fn leave_out(&self, zone: &str, there: impl Into<Option<bool>>) {
        *self.left_out.lock().unwrap() = Some((name(zone), there.into()));
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

    /// From now on each write takes so long.
    pub(crate) fn pace(&self, time: Duration) {
        *self.pace.lock().unwrap() = time;
    }

    /// From now on listings of everything leave a name out, and do not show where they end.
    pub(crate) fn hide(&self, hidden: &str) {
        *self.hidden.lock().unwrap() = Some(name(hidden));
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

    /// From now on a call takes any number of changes.
    pub(crate) fn lift_limits(&self) {
        self.unlimited.store(true, Ordering::SeqCst);
    }

    /// From now on a list says what has changed since an earlier one.
    pub(crate) fn list_changes(&self) {
        *self.listed.lock().unwrap() = Some(HashMap::new());
    }

    /// From now on [`Fault::Stall`] and [`Fault::Denied`] concern writes alone.
    pub(crate) fn unstall_reads(&self) {
        self.reads_go_on.store(true, Ordering::SeqCst);
    }

    fn is_blind(&self) -> bool {
        self.blind.load(Ordering::SeqCst)
    }

    /// How often it was asked in which form an endpoint is published.
    pub(crate) fn interpreted(&self) -> usize {
        self.interpreted.load(Ordering::SeqCst)
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

impl Sim {
    /// What has changed since a former list, where that is what a list says.
    fn changes(&self, former: Option<&Token>, sets: &[RecordSet], serial: u64) -> Option<Listing> {
        let mut listed = self.listed.lock().unwrap();
        let listed = listed.as_mut()?;
        let of = |set: &RecordSet| {
            let (name, ttl) = (set.key.name.clone(), set.ttl.unwrap_or(Ttl::ZERO));
            let record = move |data: &RData| Record { name: name.clone(), ttl, data: data.clone() };
            set.data.as_records().iter().map(record).collect::<Vec<_>>()
        };
        let (now, token) = (sets.iter().flat_map(of).collect::<Vec<_>>(), Token(serial.to_string()));
        let delta = former.and_then(|former| listed.get(former)).map(|before| {
            let without = |all: &[Record], other: &[Record]| {
                all.iter().filter(|record| !other.contains(record)).cloned().collect::<Vec<_>>()
            };
            let step = Delta { removed: without(before, &now), added: without(&now, before) };
            Listing::Delta { steps: vec![step], token: token.clone() }
        });
        listed.insert(token, now);
        delta
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
        if self.unlimited.load(Ordering::SeqCst) {
            capability.batch.changes = usize::MAX;
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
        let zone = self.zones.iter().find(|zone| zone.key.zone == *id).cloned();
        let left_out = self.left_out.lock().unwrap().clone();
        let Some((_, there)) = left_out.filter(|(name, _)| zone.as_ref().is_some_and(|zone| zone.name == *name)) else {
            return Ok(zone);
        };
        let there = there.ok_or_else(|| Error::new(ErrorKind::Unavailable, "find a zone", "nobody answers"))?;
        Ok(zone.filter(|_| there))
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
                let sets: Vec<RecordSet> = content.sets.values().filter(shown).cloned().collect();
                let former = match read {
                    Read::Since(since) => Some(since),
                    _ => None,
                };
                self.changes(former, &sets, content.serial).unwrap_or(Listing::Full { sets, token })
            }
        })
    }

    fn interpret(&self, _: &Zone, _: &Endpoint) -> Interpretation {
        self.interpreted.fetch_add(1, Ordering::SeqCst);
        Interpretation::as_stated()
    }

    async fn adjust(&self, _: &Zone, sets: &[RecordSet]) -> Vec<Adjustment> {
        let unadjusted = self.unadjusted.lock().unwrap();
        let unknown = |set: &RecordSet| unadjusted.contains(&set.key.name);
        if self.short_answers.load(Ordering::SeqCst) {
            let known: Vec<RecordSet> = sets.iter().take_while(|set| !unknown(set)).cloned().collect();
            return Adjustment::none(&known);
        }
        let answer = |set: &RecordSet| {
            if unknown(set) {
                Adjustment::Unknown(Error::new(ErrorKind::Unavailable, "adjust records", "ask later"))
            } else {
                Adjustment::to(set.clone())
            }
        };
        sets.iter().map(answer).collect()
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

    async fn served(&self, _: &Zone) -> Result<Option<bool>> {
        Ok(None)
    }
}
