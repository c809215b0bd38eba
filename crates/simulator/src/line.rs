//! The provider as one daemon process sees it: the zones behind a line on which everything can go wrong.
//!
//! In: calls of the engine. Out: what the profile's provider would answer, or a fault drawn from the step's number. A crash
//! is a line that is dead: nothing that the process does from then on has an effect.

mod objects;
mod state_line;
mod table;
mod weather;
mod zone_server;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use tokio::time::{Instant, sleep};
use zonewright_core::capability::{Atomicity, Capability, Preconditions};
use zonewright_core::change::{Group, Outcome};
use zonewright_core::clock::Clock;
use zonewright_core::endpoint::Endpoint;
use zonewright_core::interpret::Interpretation;
use zonewright_core::provider::{Adjustment, Delta, Listing, Provider, Read, Record, Token};
use zonewright_core::zone::{InstanceId, ZoneId};
use zonewright_core::{Error, ErrorKind, RecordSet, Result, Retry, Ttl, Zone};

use crate::cluster::Sight;
use crate::rules::Rule;
use crate::truth::{Content, Truth};

use self::weather::{Draw, Fault};
use self::zone_server::ZoneServer;

pub(crate) use self::objects::Cabinet;
pub(crate) use self::state_line::{Drawer, Mood, StateLine};
pub(crate) use self::table::Table;
pub(crate) use self::weather::Weather;

/// More calls than any history needs; most make some hundred.
const MOST_CALLS: u64 = 30_000;

/// One process' line.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) daemon: usize,
    /// The instance whose provider it is.
    pub(crate) instance: InstanceId,
    /// Whether it is that of a command of a person, and whether that may delete records.
    pub(crate) command: Option<bool>,
    pub(crate) truth: Arc<Mutex<Truth>>,
    pub(crate) sight: Sight,
    pub(crate) weather: Arc<Mutex<Weather>>,
    pub(crate) dead: Arc<AtomicBool>,
    pub(crate) clock: Clock,
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn error(kind: ErrorKind, operation: &'static str, text: &str) -> Error {
    Error::new(kind, operation, text)
}

impl Line {
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

    /// Whether a zone is one of the instance.
    fn has(&self, content: &Content) -> bool {
        content.zone.key.instance == self.instance
    }

    fn place(&self, zone: &Zone) -> usize {
        lock(&self.truth).zones.iter().position(|content| content.zone.key == zone.key).unwrap_or(0)
    }

    /// Ends a process that asks without end, since virtual time stands still meanwhile: it is never answered again.
    async fn endure(&self, operation: &'static str) {
        if lock(&self.truth).calls < MOST_CALLS {
            return;
        }
        lock(&self.truth).broken(Rule::NoEnd, format!("daemon {}: {operation}", self.daemon));
        std::future::pending::<()>().await;
    }

    /// A read up to the point where the answer leaves the other side.
    async fn begin(&self, operation: &'static str) -> Result<Draw> {
        use Fault::{CrashBefore, Cut, Down, Stall, Throttled};
        if self.is_dead() {
            return Err(error(ErrorKind::Unauthorized, operation, "the process is dead"));
        }
        let draw = self.draw(&[(6, Down), (3, Throttled), (4, Cut), (1, Stall), (2, CrashBefore)]);
        self.endure(operation).await;
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

    fn answer(&self, zone: &Zone, read: Read<'_>, draw: Draw) -> Listing {
        let dice = draw.dice;
        let at = self.place(zone);
        let mut truth = lock(&self.truth);
        let delta = truth.profile.delta;
        let cheap = truth.profile.capability.audit == zonewright_core::capability::Audit::Cheap;
        let content = &truth.zones[at];
        let serial = content.serial;
        let token = cheap.then(|| Token(serial.to_string()));
        let (mut told, mut left_out) = (None, Vec::new());
        let (listing, seen) = match read {
            Read::Names(names) => {
                let sets = content.sets.values().filter(|set| names.contains(&set.key.name)).cloned().collect();
                if self.command.is_none() {
                    truth.shown(self.daemon, at, Some(names));
                    truth.read(self.daemon, at, Some(names), serial);
                }
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
            Read::Since(_) | Read::All | Read::From(_) => {
                let old = content.past.iter().filter(|(until, ..)| *until + truth.profile.lag > Instant::now());
                let old: Vec<_> = old.collect();
                let pick = usize::try_from(dice % (old.len() as u64 + 1)).unwrap_or(0);
                let (serial, sets) = old.get(pick).map_or((serial, &content.sets), |(_, serial, sets)| (*serial, sets));
                // A listing that lags has the mark of the state that it shows.
                let token = cheap.then(|| Token(serial.to_string()));
                // A webhook peer is asked for everything or nothing: what its list hides nobody can see. And a listing with a
                // serial is a transfer, which shows where it ends.
                let stated = truth.profile.capability.preconditions == Preconditions::Stated;
                let short = draw.short && !stated && !cheap;
                let end = if short { dice % (sets.len() as u64 + 1) } else { u64::MAX };
                let end = usize::try_from(end).unwrap_or(usize::MAX);
                if end < sets.len() {
                    let all = sets.len();
                    told = Some(format!("daemon {}: a listing ends after {end} of {all} record sets", self.daemon));
                    left_out.extend(sets.keys().skip(end).map(|key| key.name.clone()));
                }
                (Listing::Full { sets: sets.values().take(end).cloned().collect(), token }, serial)
            }
        };
        if self.command.is_none() {
            truth.shown(self.daemon, at, None);
            truth.note_end(self.daemon, at, told.is_some());
            if told.is_none() && seen == serial {
                truth.note_gone(self.daemon, at);
            }
            if told.is_some() && truth.claims_are_beside() {
                truth.left_out(self.daemon, at, left_out);
            } else {
                truth.read(self.daemon, at, None, seen);
            }
        }
        if let Some(told) = told {
            // What was left out looks like what somebody else took away.
            truth.forget_answers(self.daemon, at);
            truth.tell(|| told);
        }
        listing
    }

    fn write(&self, zone: &Zone, groups: &[Group], fault: Option<Fault>, dice: u64) -> Vec<Outcome> {
        let at = self.place(zone);
        let (bad, types) = {
            let weather = lock(&self.weather);
            (weather.bad.clone(), weather.types.clone())
        };
        let mut truth = lock(&self.truth);
        let capability = truth.profile.capability.clone();
        let server = ZoneServer { capability: &capability, bad: &bad, types: &types, line: self, zone: at };
        let mut outcomes: Vec<Option<Outcome>> = match capability.preconditions {
            Preconditions::Read => server.read_first(&mut truth, groups),
            _ => groups.iter().map(|_| None).collect(),
        };
        let unrefused = groups.iter().zip(&outcomes).filter(|(_, refused)| refused.is_none());
        let groups: Vec<Group> = unrefused.map(|(group, _)| group.clone()).collect();
        let groups = groups.as_slice();
        if self.command.is_none() && dice.is_multiple_of(50) && lock(&self.weather).nonce != 0 {
            truth.forestall(at, groups);
        }
        let sent = if capability.batch.atomic == Atomicity::None {
            let count = groups.len() as u64;
            let stop = (fault == Some(Fault::Partial)).then(|| usize::try_from(dice % count.max(1)).unwrap_or(0));
            server.one_by_one(&mut truth, groups, stop)
        } else if groups.is_empty() {
            Vec::new()
        } else {
            server.together(&mut truth, groups, dice)
        };
        let mut sent = sent.into_iter();
        outcomes.iter_mut().filter(|refused| refused.is_none()).for_each(|open| *open = sent.next());
        outcomes.into_iter().flatten().collect()
    }
}

impl Line {
    fn judge_answers(&self, zone: &Zone, groups: &[Group]) {
        let place = self.place(zone);
        let mut truth = lock(&self.truth);
        groups
            .iter()
            .filter(|_| self.command.is_none())
            .for_each(|group| truth.judge_answers(self.daemon, place, group));
    }

    fn note_answers(&self, zone: &Zone, groups: &[Group], outcomes: &[Outcome]) {
        let place = self.place(zone);
        let mut truth = lock(&self.truth);
        for (group, outcome) in groups.iter().zip(outcomes).filter(|_| self.command.is_none()) {
            match outcome {
                Outcome::Applied => truth.answered(self.daemon, place, group),
                Outcome::Unknown(_) => truth.unanswered(self.daemon, place, group),
                _ => {}
            }
        }
    }
}

fn covers(log: &std::collections::VecDeque<(u64, Vec<RecordSet>, Vec<RecordSet>)>, from: u64) -> bool {
    log.front().is_some_and(|(first, ..)| *first <= from + 1)
}

fn records(set: &RecordSet) -> Vec<Record> {
    let ttl = set.ttl.unwrap_or(Ttl::ZERO);
    set.data.as_records().iter().map(|data| Record { name: set.key.name.clone(), ttl, data: data.clone() }).collect()
}

#[async_trait]
impl Provider for Line {
    fn capability(&self, _: Option<&Zone>) -> Capability {
        lock(&self.truth).profile.capability.clone()
    }

    async fn zones(&self) -> Result<Vec<Zone>> {
        let begun = self.begin("list zones").await;
        if begun.is_err() && self.command.is_none() {
            // None of them can be tried further than that.
            let mut truth = lock(&self.truth);
            let all = truth.zones.iter().enumerate().filter(|(_, content)| self.has(content)).map(|(at, _)| at);
            let failed: Vec<_> = all.map(|at| (self.daemon, at)).collect();
            truth.tried.extend(failed);
        }
        begun?;
        let lost = lock(&self.weather).lost.map(|(zone, _)| zone);
        let truth = lock(&self.truth);
        let left = truth.zones.iter().enumerate().filter(|(at, content)| self.has(content) && Some(*at) != lost);
        Ok(left.map(|(_, content)| content.zone.clone()).collect())
    }

    async fn zone(&self, id: &ZoneId) -> Result<Option<Zone>> {
        self.begin("look for a zone").await?;
        let gone = lock(&self.weather).lost.filter(|(_, there)| !there).map(|(zone, _)| zone);
        let truth = lock(&self.truth);
        let mut left = truth.zones.iter().enumerate().filter(|(at, content)| self.has(content) && Some(*at) != gone);
        Ok(left.find(|(_, content)| content.zone.key.zone == *id).map(|(_, content)| content.zone.clone()))
    }

    async fn records(&self, zone: &Zone, read: Read<'_>) -> Result<Listing> {
        let draw = self.begin("read records").await;
        let place = self.place(zone);
        if self.command.is_none() {
            lock(&self.truth).tried.insert((self.daemon, place));
        }
        let draw = draw?;
        let listing = self.answer(zone, read, draw);
        if !draw.after.is_zero() {
            sleep(draw.after).await;
        }
        Ok(listing)
    }

    fn interpret(&self, _: &Zone, _: &Endpoint) -> Interpretation {
        Interpretation::as_stated()
    }

    async fn adjust(&self, _: &Zone, sets: &[RecordSet]) -> Vec<Adjustment> {
        Adjustment::none(sets)
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
        self.endure("apply changes").await;
        let lost = || Outcome::Unknown(error(ErrorKind::Timeout, "apply changes", "no answer"));
        let unanswered = || {
            let outcomes = all(&lost);
            self.note_answers(zone, groups, &outcomes);
            outcomes
        };
        self.judge_answers(zone, groups);
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
                return unanswered();
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
                unanswered()
            }
            Some(Stall) => {
                self.tell(|| "the answer never comes".to_owned());
                unanswered();
                std::future::pending().await
            }
            Some(CrashAfter) => {
                self.die();
                all(&dead)
            }
            _ => {
                self.note_answers(zone, groups, &outcomes);
                outcomes
            }
        }
    }

    async fn served(&self, _: &Zone) -> Result<Option<bool>> {
        Ok(None)
    }
}
