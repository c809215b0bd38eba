//! The engine: loops around the pure stages.
//!
//! The intake takes over what sources tell and sends dirty names to the zones; the directory keeps each instance's zones;
//! every zone has a worker that reads it, plans, and carries out. All of them share one board.

mod admit;
mod announce;
mod approvals;
mod board;
mod chronicle;
mod directory;
mod facts;
mod fights;
mod health;
mod hold;
mod holds;
mod inbox;
mod intake;
mod journal;
mod ledger;
mod litter;
mod moves;
mod oddities;
mod outcome;
mod parts;
mod piece;
mod published;
mod quotas;
mod read;
mod refusals;
mod round;
mod send;
mod state;
mod survey;
mod tables;
mod undo;
mod worker;

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{Hash as _, Hasher as _};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{info, warn};
use zonewright_core::clock::Timestamp;
use zonewright_core::endpoint::KindId;
use zonewright_core::error::{Result, Retry};
use zonewright_core::flap::Fight;
use zonewright_core::guard::{HeldPlan, JointPlan};
use zonewright_core::name::DnsName;
use zonewright_core::plan::Adoptable;
use zonewright_core::source::SeenKinds;
use zonewright_core::store::StateStore;
use zonewright_core::zone::ZoneKey;

use crate::journal::{self as record, JournalRecord, Journaling, Query, Reach};
use crate::layer::Layers;
use crate::metrics::Metrics;
pub use announce::Announcement;
use board::Board;
pub use health::{Health, NameState};
pub use holds::Holding;
pub use journal::{Entry, Journal};
pub use outcome::{Changes, Numbers, Outcome, Problem};
pub use parts::{Config, Instance, Parts};
pub use undo::{UndoPlan, UndoReport, UndoRequest, UndoZone};

/// Longest reading of a whole zone in a process that makes one pass.
const LONG_LISTING: Duration = Duration::from_hours(1);

/// A running engine. Dropping it stops nothing; [`Engine::stop`] does.
pub struct Engine {
    board: Arc<Board>,
    cancel: CancellationToken,
    tasks: TaskTracker,
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Engine")
    }
}

impl Engine {
    /// Loads the saved state and starts all loops on the current runtime.
    pub async fn start(config: Config, parts: Parts) -> Self {
        let state = state::State::load(parts.store, parts.clock.now(), config.brake.approval_ttl).await;
        let metrics = parts.metrics.clone();
        let layered = |instance: Instance| {
            let usual = Layers::new(instance.id.clone());
            // A pass that is the only one waits for a long transfer; providers notice themselves when the other side falls silent.
            let listing_deadline = if config.one_pass { LONG_LISTING } else { usual.listing_deadline };
            let layers = Layers { dry_run: config.dry_run, seed: config.seed, listing_deadline, ..usual };
            Instance { provider: layers.around(instance.provider, &metrics), ..instance }
        };
        let instances: Vec<Instance> = parts.instances.into_iter().map(layered).collect();
        let mode = if config.dry_run { record::Mode::Off } else { parts.journal.mode };
        let journaling = Journaling { mode, ..parts.journal };
        let chronicle = chronicle::Chronicle::new(journaling, parts.clock, metrics.clone());
        chronicle.load().await;
        let board = Arc::new(Board {
            chronicle,
            sources: parts.sources,
            name_policy: parts.name_policy,
            clock: parts.clock,
            metrics: parts.metrics,
            reporter: parts.reporter,
            own_object: parts.own_object,
            ..Board::new(config, instances, state)
        });
        for source in &board.sources {
            source.use_published(Arc::new(published::Published(Arc::downgrade(&board))));
        }
        approvals::look(&board, &mut false).await;
        let (cancel, tasks) = (CancellationToken::new(), TaskTracker::new());
        tasks.spawn(intake::run(board.clone(), cancel.clone()));
        for office in &board.offices {
            tasks.spawn(directory::run(board.clone(), office.clone(), cancel.clone()));
        }
        tasks.spawn(keep_state(board.clone(), cancel.clone()));
        tasks.spawn(approvals::watch(board.clone(), cancel.clone()));
        tasks.spawn(keep_journal(board.clone(), cancel.clone()));
        tasks.close();
        Self { board, cancel, tasks }
    }

    /// Stops after the groups that are being sent now, and saves the state.
    pub async fn stop(&self) {
        self.cancel.cancel();
        self.tasks.wait().await;
        self.board.chronicle.flush().await;
        if let Err(error) = self.board.state.save().await {
            warn!(error = error.chain(), "the state could not be saved");
        }
        info!("stopped");
    }

    /// The plans that wait for an approval, by zone.
    pub fn plans(&self) -> Vec<(String, HeldPlan)> {
        self.board.state.held()
    }

    /// The plans that the brake held together over several zones: one approval may cover them.
    pub fn joint_plans(&self) -> Vec<JointPlan> {
        self.board.state.joint()
    }

    /// Approves the plan of this hash, or those that are held together under it: their deletes go, each once. Returns the
    /// zones and the number of deletes, or `None` if no plan of that hash is held (it may have changed meanwhile).
    pub fn approve(&self, hash: &str) -> Option<(String, usize)> {
        approvals::approve(&self.board, hash)
    }

    /// What was changed, the newest first, at most `limit` entries, and how far back the journal goes.
    ///
    /// # Errors
    /// The journal cannot be read.
    pub async fn history(&self, query: &Query, limit: usize) -> Result<(Vec<JournalRecord>, Reach)> {
        self.board.chronicle.flush().await;
        let (entries, reach) = record::last(&*self.board.chronicle.journaling.store, query, limit).await?;
        for told in &entries {
            self.board.found_open(told);
        }
        Ok((entries, reach))
    }

    /// Where the journal is, for people.
    pub fn journal_place(&self) -> String {
        self.board.chronicle.journaling.store.place()
    }

    /// What an undo would do. It can be carried out with [`Engine::undo`] as long as it is one of the last plans made.
    ///
    /// # Errors
    /// The journal cannot be read.
    pub async fn plan_undo(&self, request: &UndoRequest) -> Result<UndoPlan> {
        undo::plan(&self.board, request).await
    }

    /// Carries out the plan of this hash, and puts its names on hold.
    ///
    /// # Errors
    /// There is no such plan.
    pub async fn undo(&self, hash: &str) -> Result<UndoReport> {
        undo::confirm(&self.board, hash).await
    }

    /// The names that an undo holds, by zone.
    pub fn holds(&self) -> Vec<(String, Holding)> {
        self.board.state.holds()
    }

    /// Ends the hold of one name, or of all; returns the names. They are planned again at once.
    pub fn release(&self, name: Option<&DnsName>) -> BTreeSet<DnsName> {
        let meant = name.map(|name| BTreeSet::from([name.clone()]));
        let zones: BTreeSet<String> = self.holds().into_iter().map(|(zone, _)| zone).collect();
        let mut released = BTreeSet::new();
        for zone in zones {
            let names = holds::release(&self.board, &zone, meant.as_ref());
            let desks = self.board.desks().into_iter().filter(|desk| desk.label() == zone);
            desks.for_each(|desk| desk.inbox.changed(names.iter().cloned()));
            released.extend(names);
        }
        info!(names = released.len(), "names are no longer on hold");
        released
    }

    /// The names that somebody else keeps changing back, by zone.
    pub fn fights(&self) -> Vec<(DnsName, DnsName, Fight)> {
        let of = |desk: Arc<board::Desk>| {
            let fights = desk.status().fights.clone();
            fights.into_iter().map(move |(name, fight)| (desk.zone.name.clone(), name, fight))
        };
        self.board.desks().into_iter().flat_map(of).collect()
    }

    /// The records that are wanted and stand without a claim, by zone.
    pub fn adoptable(&self) -> Vec<(ZoneKey, Adoptable)> {
        let of = |desk: Arc<board::Desk>| {
            let all: Vec<Adoptable> = desk.status().adoptable.values().cloned().collect();
            all.into_iter().map(move |adoptable| (desk.zone.key.clone(), adoptable))
        };
        self.board.desks().into_iter().flat_map(of).collect()
    }

    /// The last changes.
    pub fn journal(&self) -> &Journal {
        &self.board.journal
    }

    /// The metrics.
    pub fn metrics(&self) -> &Arc<Metrics> {
        &self.board.metrics
    }

    /// The number of entries of each table that is keyed by names, objects or zones, by the table's name.
    pub fn table_sizes(&self) -> BTreeMap<&'static str, usize> {
        tables::sizes(&self.board)
    }

    /// Health of the loops and of the zones.
    pub fn health(&self) -> Health {
        health::Health::of(&self.board)
    }

    /// What is wanted and published at every name, for people.
    pub fn names(&self) -> Vec<NameState> {
        health::names(&self.board)
    }

    /// How the pass went so far: what is not done yet counts as not read, or not written.
    pub fn outcome(&self) -> Outcome {
        outcome::outcome(&self.board)
    }

    /// Waits until nothing is left to do for now: everything that is known has been planned, and carried out, refused or
    /// held. What fails counts as done; with [`Config::one_pass`] once it is not tried again.
    pub async fn settled(&self) -> Outcome {
        loop {
            let rested = self.board.rested.notified();
            let outcome = self.outcome();
            if !outcome.unfinished {
                return outcome;
            }
            // The notification may have come before we listened: look again soon in any case.
            tokio::select! {
                () = rested => {}
                () = sleep(Duration::from_millis(20)) => {}
            }
        }
    }
}

/// The plans that a saved state holds, by zone and over several, for whoever looks at it without a daemon.
///
/// # Errors
/// If the state cannot be read, or is none.
pub async fn saved_plans(store: Arc<dyn StateStore>) -> Result<(Vec<(String, HeldPlan)>, Vec<JointPlan>)> {
    let state = state::State::open(store).await?;
    Ok((state.held(), state.joint()))
}

/// Approves a plan that a saved state holds, for the next process: until then the deletes that were shown may go. Returns the
/// zone and their number; `None` if no plan of that hash is held.
///
/// # Errors
/// The state cannot be read or saved.
pub async fn approve_saved(
    store: Arc<dyn StateStore>,
    hash: &str,
    until: Timestamp,
) -> Result<Option<(String, usize)>> {
    let state = state::State::open(store).await?;
    let Some(approved) = state.approve(hash, until) else { return Ok(None) };
    state.save().await?;
    Ok(Some(approved))
}

/// The holds of a saved state, by zone, for whoever looks at it without a daemon. Those whose time is over are left out.
///
/// # Errors
/// If the state cannot be read, or is none.
pub async fn saved_holds(store: &dyn StateStore, now: Timestamp) -> Result<Option<Vec<(String, Holding)>>> {
    let holds = state::saved_holds(store).await?;
    Ok(holds.map(|holds| holds.into_iter().filter(|(_, hold)| hold.until > now).collect()))
}

/// The kinds of which objects were seen by former processes, by the saved state: sources are built with them. A state that
/// cannot be read may speak of any.
pub async fn seen_kinds(store: &dyn StateStore) -> SeenKinds {
    match state::seen(store).await {
        Some(kinds) => SeenKinds::These(kinds.into_iter().map(KindId::from).collect()),
        None => SeenKinds::Any,
    }
}

/// Time between two attempts to read or save a state that cannot be.
const STATE_PAUSE: Duration = Duration::from_secs(5);

/// Saves the state soon after it changed, and not more often than every few seconds; tries again to read one that cannot be
/// read. What was held for that is judged again when it is over.
async fn keep_state(board: Arc<Board>, cancel: CancellationToken) {
    let mut said = board.state.in_doubt().is_some();
    let mut joint = BTreeSet::new();
    loop {
        let doubted = board.state.in_doubt().is_some();
        tokio::select! {
            biased;
            () = cancel.cancelled() => return,
            () = board.state.changed() => {}
            () = sleep(if doubted { STATE_PAUSE } else { Duration::from_mins(10) }) => {}
        }
        board.state.read_again(board.clock.now(), board.config.brake.approval_ttl).await;
        let saved = board.state.save().await;
        if let Err(error) = &saved
            && !said
        {
            warn!(
                error = error.chain(),
                "the state could not be saved; deletes that the brake counts are held until it can be"
            );
        }
        said = saved.is_err();
        board.metrics.state_trusted.set(i64::from(board.state.in_doubt().is_none()));
        if doubted && board.state.in_doubt().is_none() {
            info!("the state can be read and saved; what was held for that is looked at again");
            board.desks().iter().for_each(|desk| desk.inbox.recheck());
        }
        approvals::announce_joint(&board, &mut joint);
        tokio::select! {
            biased;
            () = cancel.cancelled() => return,
            () = sleep(Duration::from_secs(2)) => {}
        }
    }
}

/// Writes outcomes that wait for the next entry when none comes.
async fn keep_journal(board: Arc<Board>, cancel: CancellationToken) {
    while board.chronicle.journaling.store.outcomes_wait() {
        tokio::select! {
            () = cancel.cancelled() => return,
            () = sleep(Duration::from_secs(2)) => board.chronicle.flush().await,
        }
    }
}

/// Pause after the `failures`-th failure in a row: 1, 2, 4 ... up to 60 seconds, or what the other side asked for, with up
/// to a quarter more by `seed`, so that many do not come back at once.
fn backoff(seed: u64, failures: u32, retry: Retry) -> Duration {
    let base = Duration::from_secs(1 << failures.saturating_sub(1).min(6)).min(Duration::from_mins(1));
    let base = match retry {
        Retry::After(least) => least.max(base),
        Retry::Backoff | Retry::Never => base,
    };
    let mut hasher = std::hash::DefaultHasher::new();
    (seed, failures).hash(&mut hasher);
    let spread = hasher.finish() % 256;
    base + base * u32::try_from(spread).unwrap_or(0) / 1024
}
