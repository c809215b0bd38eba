//! The objects that are due, each in the lane of its account. Pure: the present time is an argument.
//!
//! In: objects that something happened to, and what became of attempts. Out: which attempts begin now, and when to look again.
//! What must hold: an object is worked on by one attempt at a time, and what happens meanwhile leads to another one; each lane has
//! its own number of attempts at once, so that a lane whose account answers slowly holds up no other; pauses of an object grow
//! with its failures.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::time::Duration;

use tokio::time::Instant;

use crate::secret::AccountId;
use crate::types::RecordName;

/// The longest pause between two attempts.
const LONGEST: Duration = Duration::from_mins(10);
/// Attempts at once that look for their account: they speak with the API server alone.
const SEARCHING: usize = 16;

/// Which attempts hold each other up.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Lane {
    /// The account is not known yet.
    Search,
    /// That of an account.
    Account(AccountId),
}

/// What an attempt came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finished {
    /// There is nothing more to do.
    Done,
    /// It belongs to another lane; nothing was done yet.
    Moved(Lane),
    /// It is to be made again, no sooner than this.
    Again(Duration),
}

/// An attempt that begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// The object that the attempt is for.
    pub name: RecordName,
    /// The lane that it waits in.
    pub lane: Lane,
    /// Whether it is made whatever the object says.
    pub forced: bool,
}

#[derive(Debug)]
struct Item {
    lane: Lane,
    state: State,
    failures: u32,
    forced: bool,
}

#[derive(Debug, PartialEq, Eq)]
enum State {
    Waiting,
    /// Whether something happened since it began.
    Running {
        again: bool,
    },
    Paused(Instant),
}

#[derive(Debug, Default)]
struct Row {
    waiting: VecDeque<RecordName>,
    running: usize,
}

/// The queue.
#[derive(Debug)]
pub struct Queue {
    items: HashMap<RecordName, Item>,
    rows: BTreeMap<Lane, Row>,
    /// Lanes in which an attempt could begin.
    open: BTreeSet<Lane>,
    paused: BTreeSet<(Instant, RecordName)>,
    at_once: usize,
}

impl Queue {
    /// A queue with so many attempts at once in the lane of each account.
    pub fn new(at_once: usize) -> Self {
        Self {
            items: HashMap::new(),
            rows: BTreeMap::new(),
            open: BTreeSet::new(),
            paused: BTreeSet::new(),
            at_once: at_once.max(1),
        }
    }

    /// Something happened to an object: it is due. `forced` asks for an attempt whatever the object says.
    pub fn add(&mut self, name: &RecordName, lane: &Lane, forced: bool) {
        let Some(item) = self.items.get_mut(name) else {
            let item = Item { lane: lane.clone(), state: State::Waiting, failures: 0, forced };
            self.items.insert(name.clone(), item);
            self.wait(lane, name);
            return;
        };
        item.forced |= forced;
        item.failures = 0;
        match &mut item.state {
            State::Waiting => {}
            State::Running { again } => *again = true,
            State::Paused(until) => {
                self.paused.remove(&(*until, name.clone()));
                (item.state, item.lane) = (State::Waiting, lane.clone());
                self.wait(lane, name);
            }
        }
    }

    /// An object is gone. An attempt that runs ends by itself.
    pub fn remove(&mut self, name: &RecordName) {
        let Some(item) = self.items.get(name) else { return };
        match &item.state {
            State::Running { .. } => return,
            State::Paused(until) => drop(self.paused.remove(&(*until, name.clone()))),
            State::Waiting => {
                if let Some(row) = self.rows.get_mut(&item.lane) {
                    row.waiting.retain(|waiting| waiting != name);
                }
            }
        }
        let lane = item.lane.clone();
        self.items.remove(name);
        self.tidy(&lane);
    }

    /// The attempts that begin now.
    pub fn begin(&mut self, now: Instant) -> Vec<Attempt> {
        while let Some((until, name)) = self.paused.first().cloned().filter(|(until, _)| *until <= now) {
            self.paused.remove(&(until, name.clone()));
            if let Some(item) = self.items.get_mut(&name) {
                item.state = State::Waiting;
                let lane = item.lane.clone();
                self.wait(&lane, &name);
            }
        }
        let mut attempts = Vec::new();
        while let Some(lane) = self.open.pop_first() {
            let most = self.most(&lane);
            let Some(row) = self.rows.get_mut(&lane) else { continue };
            while row.running < most
                && let Some(name) = row.waiting.pop_front()
            {
                let Some(item) = self.items.get_mut(&name) else { continue };
                item.state = State::Running { again: false };
                row.running += 1;
                let forced = std::mem::take(&mut item.forced);
                attempts.push(Attempt { name, lane: lane.clone(), forced });
            }
        }
        attempts
    }

    /// When the next pause is over.
    pub fn next(&self) -> Option<Instant> {
        self.paused.first().map(|(until, _)| *until)
    }

    /// A running attempt goes on in another lane, if there is room in it; whether there is.
    pub fn shift(&mut self, name: &RecordName, lane: &Lane) -> bool {
        let most = self.most(lane);
        let Some(item) = self.items.get_mut(name).filter(|item| item.lane != *lane) else { return true };
        if self.rows.get(lane).is_some_and(|row| row.running >= most || !row.waiting.is_empty()) {
            return false;
        }
        let former = std::mem::replace(&mut item.lane, lane.clone());
        if let Some(row) = self.rows.get_mut(&former) {
            row.running = row.running.saturating_sub(1);
        }
        self.rows.entry(lane.clone()).or_default().running += 1;
        self.tidy(&former);
        true
    }

    /// An attempt has ended. `spread` from 0 to 1 parts those that failed together.
    pub fn finish(&mut self, attempt: &Attempt, finished: Finished, now: Instant, spread: f64) {
        let ran = self.items.get(&attempt.name).map_or(attempt.lane.clone(), |item| item.lane.clone());
        if let Some(row) = self.rows.get_mut(&ran) {
            row.running = row.running.saturating_sub(1);
        }
        if let Some(item) = self.items.get_mut(&attempt.name) {
            let again = item.state == State::Running { again: true };
            match finished {
                Finished::Done if !again => drop(self.items.remove(&attempt.name)),
                Finished::Again(least) if !again => {
                    item.failures = item.failures.saturating_add(1);
                    item.forced |= attempt.forced;
                    let until = now + pause(item.failures, least, spread);
                    item.state = State::Paused(until);
                    self.paused.insert((until, attempt.name.clone()));
                }
                finished => {
                    if let Finished::Moved(lane) = &finished {
                        item.lane = lane.clone();
                    }
                    item.forced |= attempt.forced && !matches!(finished, Finished::Done);
                    item.state = State::Waiting;
                    let lane = item.lane.clone();
                    self.wait(&lane, &attempt.name);
                }
            }
        }
        self.tidy(&ran);
    }

    /// Objects that are due, run or pause.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether nothing is due.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    fn most(&self, lane: &Lane) -> usize {
        if *lane == Lane::Search { SEARCHING } else { self.at_once }
    }

    fn wait(&mut self, lane: &Lane, name: &RecordName) {
        self.rows.entry(lane.clone()).or_default().waiting.push_back(name.clone());
        self.tidy(lane);
    }

    /// Opens a lane that can go on, and drops one that is empty.
    fn tidy(&mut self, lane: &Lane) {
        let most = self.most(lane);
        match self.rows.get(lane) {
            Some(row) if row.waiting.is_empty() && row.running == 0 => {
                self.rows.remove(lane);
                self.open.remove(lane);
            }
            Some(row) if !row.waiting.is_empty() && row.running < most => drop(self.open.insert(lane.clone())),
            _ => drop(self.open.remove(lane)),
        }
    }
}

/// The pause after so many failures in a row: 1, 2, 4 ... seconds up to ten minutes, and up to a quarter more.
fn pause(failures: u32, least: Duration, spread: f64) -> Duration {
    let grown = Duration::from_secs(1 << failures.saturating_sub(1).min(10));
    let base = grown.max(least).min(LONGEST.max(least));
    base + base.mul_f64(spread.clamp(0.0, 1.0) / 4.0)
}

#[cfg(test)]
#[path = "queue_tests.rs"]
mod tests;
