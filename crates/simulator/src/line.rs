//! The provider as one daemon process sees it: the zones behind a line on which everything can go wrong.
//!
//! In: calls of the engine. Out: what the profile's provider would answer, or a fault drawn from the step's number. A crash
//! is a line that is dead: nothing that the process does from then on has an effect.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use tokio::time::{Instant, sleep};
use zonewright_core::capability::{Atomicity, Capability, CreateMode, Granularity, Preconditions};
use zonewright_core::change::{Blame, Change, Group, Outcome, Precondition};
use zonewright_core::clock::Clock;
use zonewright_core::provider::{Adjusted, Delta, Listing, Provider, Read, Record, Token};
use zonewright_core::store::Store;
use zonewright_core::zone::ZoneId;
use zonewright_core::{DnsName, Error, ErrorKind, RecordKey, RecordSet, RecordType, Result, Retry, Ttl, Zone};

use crate::chance::{Chance, mix};
use crate::cluster::Cluster;
use crate::names::Sets;
use crate::truth::{Truth, with, without};

/// What goes wrong with a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// The error comes before anything was done.
    Down,
    /// The other side asks for a pause.
    Throttled,
    /// Nothing was done, and nobody says so.
    LostWrite,
    /// It was done, and nobody says so.
    LostAnswer,
    /// A part was done.
    Partial,
    /// No answer at all.
    Stall,
    /// The answer is cut short.
    Cut,
    /// The process dies before the call, or after it was carried out.
    CrashBefore,
    CrashAfter,
}

/// The conditions that hold for all lines.
#[derive(Debug, Default)]
pub(crate) struct Weather {
    /// The number of the step, and whether calls may fail in it.
    pub(crate) nonce: u64,
    pub(crate) rough: bool,
    calls: u64,
    /// A zone that the list of zones leaves out, and whether it is there all the same.
    pub(crate) lost: Option<(usize, bool)>,
    /// Names that are refused.
    pub(crate) bad: BTreeSet<DnsName>,
    /// Whether there ever were any.
    pub(crate) refused: bool,
}

impl Weather {
    /// A new step.
    pub(crate) fn turn(&mut self, nonce: u64, rough: bool) {
        (self.nonce, self.rough, self.calls) = (nonce, rough, 0);
    }
}

/// One process' line.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) daemon: usize,
    pub(crate) truth: Arc<Mutex<Truth>>,
    pub(crate) cluster: Arc<Cluster>,
    pub(crate) weather: Arc<Mutex<Weather>>,
    pub(crate) dead: Arc<AtomicBool>,
    pub(crate) clock: Clock,
}

/// How one call goes.
#[derive(Debug, Clone, Copy)]
struct Draw {
    fault: Option<Fault>,
    before: Duration,
    after: Duration,
    /// For whatever else is left to chance.
    dice: u64,
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn error(kind: ErrorKind, operation: &'static str, text: &str) -> Error {
    Error::new(kind, operation, text)
}

impl Line {
    fn draw(&self, faults: &[(usize, Fault)]) -> Draw {
        let mut weather = lock(&self.weather);
        weather.calls += 1;
        let number = weather.calls;
        let mut chance = Chance::new(mix(weather.nonce, mix(self.daemon as u64, number)));
        let slow = chance.percent(15);
        let mut pause = || Duration::from_millis(if slow { chance.below(4) as u64 } else { 0 });
        let (before, after) = (pause(), pause());
        let dice = chance.next();
        let fault = (weather.rough && chance.percent(35)).then(|| chance.weigh(faults));
        drop(weather);
        let mut truth = lock(&self.truth);
        truth.calls += 1;
        if fault.is_some() {
            truth.last_fault = Some(Instant::now());
        }
        Draw { fault, before, after, dice }
    }

    fn is_dead(&self) -> bool {
        self.dead.load(Ordering::SeqCst)
    }

    fn tell(&self, sentence: impl FnOnce() -> String) {
        lock(&self.truth).tell(|| format!("daemon {}: {}", self.daemon, sentence()));
    }

    fn die(&self) {
        self.tell(|| "its process dies".to_owned());
        self.dead.store(true, Ordering::SeqCst);
    }

    fn place(&self, zone: &Zone) -> usize {
        lock(&self.truth).zones.iter().position(|content| content.zone.key == zone.key).unwrap_or(0)
    }

    /// A read up to the point where the answer leaves the other side.
    async fn begin(&self, operation: &'static str) -> Result<Draw> {
        use Fault::{CrashBefore, Cut, Down, Stall, Throttled};
        if self.is_dead() {
            return Err(error(ErrorKind::Unauthorized, operation, "the process is dead"));
        }
        let draw = self.draw(&[(6, Down), (3, Throttled), (4, Cut), (1, Stall), (2, CrashBefore)]);
        let fail = |kind, text: &str| {
            self.tell(|| format!("{operation} fails: {text}"));
            Err(error(kind, operation, text))
        };
        match draw.fault {
            Some(Down) => return fail(ErrorKind::Unavailable, "not reachable"),
            Some(Throttled) => {
                let pause = Retry::After(Duration::from_secs(1 + draw.dice % 12));
                return fail(ErrorKind::Throttled, "too many requests").map_err(|error| error.retry(pause));
            }
            Some(Cut) => return fail(ErrorKind::Protocol, "the answer is cut short"),
            Some(Stall) => {
                self.tell(|| format!("{operation} is never answered"));
                std::future::pending::<()>().await;
            }
            Some(CrashBefore) => {
                self.die();
                return Err(error(ErrorKind::Unauthorized, operation, "the process is dead"));
            }
            _ => {}
        }
        if !draw.before.is_zero() {
            sleep(draw.before).await;
        }
        Ok(draw)
    }

    fn answer(&self, zone: &Zone, read: Read<'_>, dice: u64) -> Listing {
        let at = self.place(zone);
        let mut truth = lock(&self.truth);
        let delta = truth.profile.delta;
        let cheap = truth.profile.capability.audit == zonewright_core::capability::Audit::Cheap;
        let content = &truth.zones[at];
        let serial = content.serial;
        let token = cheap.then(|| Token(serial.to_string()));
        let (listing, seen) = match read {
            Read::Names(names) => {
                let sets = content.sets.values().filter(|set| names.contains(&set.key.name)).cloned().collect();
                truth.read(self.daemon, at, Some(names), serial);
                return Listing::Names(sets);
            }
            Read::Since(since) if Some(since) == token.as_ref() => (Listing::Unchanged, serial),
            Read::Since(since) if delta && since.0.parse().is_ok_and(|from: u64| covers(&content.log, from)) => {
                let from: u64 = since.0.parse().unwrap_or(serial);
                let steps = content.log.iter().filter(|(at, ..)| *at > from).map(|(_, gone, came)| Delta {
                    removed: gone.iter().flat_map(records).collect(),
                    added: came.iter().flat_map(records).collect(),
                });
                (Listing::Delta { steps: steps.collect(), token: Token(serial.to_string()) }, serial)
            }
            Read::Since(_) | Read::All => {
                let old = content.past.iter().filter(|(until, ..)| *until + truth.profile.lag >= Instant::now());
                let old: Vec<_> = old.collect();
                let pick = usize::try_from(dice % (old.len() as u64 + 1)).unwrap_or(0);
                let (serial, sets) = old.get(pick).map_or((serial, &content.sets), |(_, serial, sets)| (*serial, sets));
                // A listing that lags has the mark of the state that it shows.
                let token = cheap.then(|| Token(serial.to_string()));
                (Listing::Full { sets: sets.values().cloned().collect(), token }, serial)
            }
        };
        truth.read(self.daemon, at, None, seen);
        listing
    }

    fn write(&self, zone: &Zone, groups: &[Group], fault: Option<Fault>, dice: u64) -> Vec<Outcome> {
        let at = self.place(zone);
        let bad = lock(&self.weather).bad.clone();
        let mut truth = lock(&self.truth);
        let capability = truth.profile.capability.clone();
        let desk = Desk { capability: &capability, bad: &bad, line: self, zone: at };
        if capability.batch.atomic == Atomicity::None {
            let count = groups.len() as u64;
            let stop = (fault == Some(Fault::Partial)).then(|| usize::try_from(dice % count.max(1)).unwrap_or(0));
            return desk.one_by_one(&mut truth, groups, stop);
        }
        desk.together(&mut truth, groups, dice)
    }
}

fn covers(log: &std::collections::VecDeque<(u64, Vec<RecordSet>, Vec<RecordSet>)>, from: u64) -> bool {
    log.front().is_some_and(|(first, ..)| *first <= from + 1)
}

fn records(set: &RecordSet) -> Vec<Record> {
    let ttl = set.ttl.unwrap_or(Ttl::ZERO);
    set.data.as_records().iter().map(|data| Record { name: set.key.name.clone(), ttl, data: data.clone() }).collect()
}

/// One call that changes something.
struct Desk<'a> {
    capability: &'a Capability,
    bad: &'a BTreeSet<DnsName>,
    line: &'a Line,
    zone: usize,
}

impl Desk<'_> {
    /// Carries out all groups or none.
    fn together(&self, truth: &mut Truth, groups: &[Group], dice: u64) -> Vec<Outcome> {
        let changes: usize = groups.iter().map(|group| group.steps.len()).sum();
        let size: usize = groups.iter().map(Group::size).sum();
        let batch = self.capability.batch;
        if groups.len() > 1 && (changes > batch.changes || batch.size.is_some_and(|limit| size > limit)) {
            truth.broken(
                "a call keeps to the limits",
                format!("daemon {}: {changes} changes, {size} octets", self.line.daemon),
            );
        }
        let mut sets = truth.zones[self.zone].sets.clone();
        let mut all: Vec<(RecordKey, Option<RecordSet>)> = Vec::new();
        for (place, group) in groups.iter().enumerate() {
            match self.try_group(&mut sets, group) {
                Ok(changes) => all.extend(changes),
                Err(problem) => {
                    truth.tell(|| {
                        format!("daemon {}: refused: {} ({})", self.line.daemon, group.headline(), problem.context)
                    });
                    return refused(groups.len(), place, &problem, dice.is_multiple_of(2));
                }
            }
        }
        // Of several changes of one key the last one counts.
        let mut last: std::collections::BTreeMap<RecordKey, Option<RecordSet>> = std::collections::BTreeMap::new();
        last.extend(all);
        let all: Vec<_> = last.into_iter().collect();
        self.commit(truth, groups, &all);
        groups.iter().map(|_| Outcome::Applied).collect()
    }

    /// Carries out each change for itself, in order, up to the group at `stop`.
    fn one_by_one(&self, truth: &mut Truth, groups: &[Group], stop: Option<usize>) -> Vec<Outcome> {
        let mut outcomes = Vec::new();
        for (place, group) in groups.iter().enumerate() {
            if stop.is_some_and(|stop| place >= stop) {
                outcomes.push(Outcome::NotSent(error(ErrorKind::Unavailable, "apply changes", "the connection broke")));
                continue;
            }
            if group.steps.len() > 1 {
                truth.broken(
                    "a call keeps to the limits",
                    format!("daemon {}: {} changes that nothing holds together", self.line.daemon, group.steps.len()),
                );
            }
            let mut sets = truth.zones[self.zone].sets.clone();
            match self.try_group(&mut sets, group) {
                Ok(changes) => {
                    self.commit(truth, std::slice::from_ref(group), &changes);
                    outcomes.push(Outcome::Applied);
                }
                Err(problem) => {
                    truth.tell(|| {
                        format!("daemon {}: refused: {} ({})", self.line.daemon, group.headline(), problem.context)
                    });
                    outcomes.push(Outcome::refused(problem));
                }
            }
        }
        outcomes
    }

    fn commit(&self, truth: &mut Truth, groups: &[Group], changes: &[(RecordKey, Option<RecordSet>)]) {
        let daemon = self.line.daemon;
        for change in groups.iter().flat_map(Group::changes) {
            truth.tell(|| format!("daemon {daemon} writes: {change}"));
        }
        let fresh = |change: &Change| matches!(change, Change::Create { .. }).then(|| change.key().clone());
        let created = groups.iter().flat_map(Group::changes).filter_map(fresh).collect();
        truth.commit(daemon, self.zone, changes, &created, &self.line.cluster, self.line.clock.now());
    }

    /// Changes `sets` as the group says, if what it asks for holds.
    fn try_group(&self, sets: &mut Sets, group: &Group) -> Result<Vec<(RecordKey, Option<RecordSet>)>> {
        let conflict = |text: String| Error::new(ErrorKind::Conflict, "apply changes", text);
        if self.bad.contains(&group.name) {
            return Err(error(ErrorKind::Invalid, "apply changes", "this name is not allowed"));
        }
        if self.capability.preconditions == Preconditions::Any
            && let Some(broken) = group.preconditions().iter().find(|precondition| !holds(sets, precondition))
        {
            return Err(conflict(format!("{broken:?} does not hold")));
        }
        let mut changes = Vec::new();
        for change in group.changes() {
            let key = change.key().clone();
            let result = self.one(sets.get(&key), change).map_err(conflict)?;
            match &result {
                Some(set) => sets.insert(key.clone(), set.clone()),
                None => sets.remove(&key),
            };
            changes.push((key, result));
        }
        let names: BTreeSet<&DnsName> = changes.iter().map(|(key, _)| &key.name).collect();
        let crowded = |name: &&&DnsName| {
            let here: Vec<&RecordKey> = sets.keys().filter(|key| key.name == ***name).collect();
            here.len() > 1 && here.iter().any(|key| key.rtype == RecordType::Cname)
        };
        let strict = self.capability.strict_cname && self.capability.create == CreateMode::Guarded;
        if let Some(name) = names.iter().find(|name| strict && crowded(name)) {
            return Err(conflict(format!("{name}: a CNAME stands alone")));
        }
        Ok(changes)
    }

    /// What becomes of one record set.
    fn one(&self, stands: Option<&RecordSet>, change: &Change) -> Result<Option<RecordSet>, String> {
        let members = self.capability.granularity == Granularity::Record;
        let stated = self.capability.preconditions == Preconditions::Stated;
        let exact = self.capability.preconditions == Preconditions::Changed;
        let clamp = |set: &RecordSet| {
            let ttl = self.capability.ttl.clamp(set.ttl.unwrap_or(self.capability.ttl.default));
            RecordSet { ttl: Some(ttl), ..set.clone() }
        };
        match change {
            // It adds to what stands, but never the same record twice.
            Change::Create { to } if members => {
                let here = |data| stands.is_some_and(|set| set.data.as_records().contains(data));
                match to.data.as_records().iter().find(|data| here(data)) {
                    Some(data) => Err(format!("{} {data} stands there already", to.key)),
                    None => Ok(Some(with(stands, &clamp(to)))),
                }
            }
            Change::Create { to } if stands.is_some() && !stated => Err(format!("{} stands there already", to.key)),
            Change::Create { to } => Ok(Some(clamp(to))),
            Change::Update { from, .. } | Change::Delete { from } => {
                let Some(stands) = stands else {
                    return if stated { Ok(change.to().map(clamp)) } else { Err(format!("{} is not there", from.key)) };
                };
                if exact && stands.data != from.data {
                    return Err(format!("{} is another one", from.key));
                }
                if !members {
                    return Ok(change.to().map(clamp));
                }
                if !stands.data.contains(&from.data) {
                    return Err(format!("{} is another one", from.key));
                }
                let rest = without(stands, from);
                Ok(match change.to() {
                    Some(to) => Some(with(rest.as_ref(), &clamp(to))),
                    None => rest,
                })
            }
        }
    }
}

fn refused(count: usize, place: usize, problem: &Error, named: bool) -> Vec<Outcome> {
    let one = |at| {
        let blame = if count == 1 || named && at == place { Blame::Group } else { Blame::Batch };
        Outcome::Refused { error: problem.clone(), blame }
    };
    (0..count).map(one).collect()
}

fn holds(sets: &Sets, precondition: &Precondition) -> bool {
    match precondition {
        Precondition::Exact(set) => sets.get(&set.key).is_some_and(|stands| stands.data == set.data),
        Precondition::Absent(key) => !sets.contains_key(key),
        Precondition::NameNotInUse(name) => !sets.keys().any(|key| key.name == *name),
    }
}

#[async_trait]
impl Provider for Line {
    fn capability(&self, _: Option<&Zone>) -> Capability {
        lock(&self.truth).profile.capability.clone()
    }

    async fn zones(&self) -> Result<Vec<Zone>> {
        self.begin("list zones").await?;
        let lost = lock(&self.weather).lost.map(|(zone, _)| zone);
        let truth = lock(&self.truth);
        let left = truth.zones.iter().enumerate().filter(|(at, _)| Some(*at) != lost);
        Ok(left.map(|(_, content)| content.zone.clone()).collect())
    }

    async fn zone(&self, id: &ZoneId) -> Result<Option<Zone>> {
        self.begin("look for a zone").await?;
        let gone = lock(&self.weather).lost.filter(|(_, there)| !there).map(|(zone, _)| zone);
        let truth = lock(&self.truth);
        let mut left = truth.zones.iter().enumerate().filter(|(at, _)| Some(*at) != gone);
        Ok(left.find(|(_, content)| content.zone.key.zone == *id).map(|(_, content)| content.zone.clone()))
    }

    async fn records(&self, zone: &Zone, read: Read<'_>) -> Result<Listing> {
        let draw = self.begin("read records").await?;
        let listing = self.answer(zone, read, draw.dice);
        if !draw.after.is_zero() {
            sleep(draw.after).await;
        }
        Ok(listing)
    }

    async fn adjust(&self, _: &Zone, sets: &[RecordSet]) -> Result<Vec<Adjusted>> {
        Ok(sets.iter().cloned().enumerate().map(|(from, set)| Adjusted { from, set }).collect())
    }

    async fn apply(&self, zone: &Zone, groups: &[Group]) -> Vec<Outcome> {
        use Fault::{CrashAfter, CrashBefore, Down, LostAnswer, LostWrite, Partial, Stall, Throttled};
        let all = |outcome: &dyn Fn() -> Outcome| -> Vec<Outcome> { groups.iter().map(|_| outcome()).collect() };
        let dead = || Outcome::Unknown(error(ErrorKind::Unauthorized, "apply changes", "the process is dead"));
        if self.is_dead() {
            return all(&dead);
        }
        let draw = self.draw(&[
            (5, Down),
            (2, Throttled),
            (5, LostWrite),
            (5, LostAnswer),
            (4, Partial),
            (1, Stall),
            (3, CrashBefore),
            (4, CrashAfter),
        ]);
        let lost = || Outcome::Unknown(error(ErrorKind::Timeout, "apply changes", "no answer"));
        match draw.fault {
            Some(Down) => {
                self.tell(|| "a write fails: not reachable".to_owned());
                return all(&|| Outcome::NotSent(error(ErrorKind::Unavailable, "apply changes", "not reachable")));
            }
            Some(Throttled) => {
                self.tell(|| "a write fails: too many requests".to_owned());
                let pause = Retry::After(Duration::from_secs(1 + draw.dice % 12));
                return all(&|| {
                    Outcome::NotSent(error(ErrorKind::Throttled, "apply changes", "slow down").retry(pause))
                });
            }
            Some(LostWrite) => {
                self.tell(|| "a write is lost on its way, and nobody says so".to_owned());
                return all(&lost);
            }
            Some(CrashBefore) => {
                self.die();
                return all(&dead);
            }
            _ => {}
        }
        if !draw.before.is_zero() {
            sleep(draw.before).await;
        }
        if self.is_dead() {
            return all(&dead);
        }
        let outcomes = self.write(zone, groups, draw.fault, draw.dice);
        if !draw.after.is_zero() {
            sleep(draw.after).await;
        }
        match draw.fault {
            Some(LostAnswer) => {
                self.tell(|| "the answer is lost".to_owned());
                all(&lost)
            }
            Some(Stall) => {
                self.tell(|| "the answer never comes".to_owned());
                std::future::pending().await
            }
            Some(CrashAfter) => {
                self.die();
                all(&dead)
            }
            _ => outcomes,
        }
    }
}

/// The state of one daemon, kept over its restarts.
#[derive(Debug, Default)]
pub(crate) struct Drawer {
    document: Option<Vec<u8>>,
    /// When it was last written.
    pub(crate) saved: Option<Instant>,
}

/// The store of one process.
#[derive(Debug)]
pub(crate) struct Shelf {
    pub(crate) drawer: Arc<Mutex<Drawer>>,
    pub(crate) dead: Arc<AtomicBool>,
}

#[async_trait]
impl Store for Shelf {
    async fn load(&self) -> Result<Option<Vec<u8>>> {
        Ok(lock(&self.drawer).document.clone())
    }

    async fn save(&self, document: &[u8]) -> Result<()> {
        if !self.dead.load(Ordering::SeqCst) {
            *lock(&self.drawer) = Drawer { document: Some(document.to_vec()), saved: Some(Instant::now()) };
        }
        Ok(())
    }

    async fn approvals(&self) -> Result<BTreeSet<String>> {
        Ok(BTreeSet::new())
    }

    fn approve_with(&self, _hash: &str) -> Option<String> {
        None
    }

    fn place(&self) -> String {
        "a drawer".to_owned()
    }
}
