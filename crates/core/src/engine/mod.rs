//! The engine: loops around the pure stages.
//!
//! The intake takes over what sources tell and sends dirty names to the zones; the directory keeps each instance's zones;
//! every zone has a worker that reads it, plans, and carries out. All of them share one board.

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
mod litter;
mod moves;
mod oddities;
mod piece;
mod round;
mod send;
mod state;
mod survey;
mod undo;
mod worker;

use std::collections::BTreeSet;
use std::hash::{Hash as _, Hasher as _};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{info, warn};

pub use health::{Health, NameState, Outcome};
pub use holds::Holding;
pub use journal::{Entry, Journal};
pub use undo::{UndoPlan, UndoReport, UndoRequest, UndoZone};

use crate::clock::{Clock, Timestamp};
use crate::contend::SameName;
use crate::endpoint::{KindId, ObjectRef, Reporter};
use crate::error::{Result, Retry};
use crate::filter::DomainFilter;
use crate::flap::Fight;
use crate::guard::{Brake, HeldPlan};
use crate::journal::{self as record, Journaling, Query, Reach, Told};
use crate::layer::Layers;
use crate::metrics::Metrics;
use crate::name::DnsName;
use crate::name_policy::NamePolicy;
use crate::options::OptionTable;
use crate::plan::{Adoptable, Policy};
use crate::provider::Provider;
use crate::record::Ttl;
use crate::registry::Registry;
use crate::rtype::RecordType;
use crate::source::Source;
use crate::store::Store;
use crate::zone::{InstanceId, ZoneKey};
pub use announce::Announcement;
use board::Board;

/// How the engine decides.
#[derive(Debug, Clone)]
pub struct Config {
    /// What may be done at all.
    pub policy: Policy,
    /// The record types that count.
    pub managed: BTreeSet<RecordType>,
    /// The names that count.
    pub filter: DomainFilter,
    /// How holders share a name.
    pub same_name: SameName,
    /// How long a published record stays whose object has no known targets.
    pub status_grace: Duration,
    /// Time between two audits of a zone, where a cheap question serves.
    pub interval: Duration,
    /// Least time between two full listings of a zone.
    pub cache_time: Duration,
    /// Longest wait for the first listing of every kind.
    pub start_timeout: Duration,
    /// The brake.
    pub brake: Brake,
    /// TTL of endpoints that state none.
    pub min_ttl: Option<Ttl>,
    /// How long reads may lag behind writes.
    pub settle: Duration,
    /// Whether records that nobody claims become ours, where they hold exactly what is wanted.
    pub adopt: bool,
    /// Whether nothing may be changed.
    pub dry_run: bool,
    /// Which changes objects are told of.
    pub announce: BTreeSet<Announcement>,
    /// What the jitter of pauses is drawn from; by chance for each process where it is not given. With a seed and a paused
    /// clock a history can be repeated exactly.
    pub seed: Option<u64>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            policy: Policy::Sync,
            managed: BTreeSet::from([RecordType::A, RecordType::Aaaa, RecordType::Cname]),
            filter: DomainFilter::default(),
            same_name: SameName::Holder,
            status_grace: Duration::from_mins(5),
            interval: Duration::from_mins(1),
            cache_time: Duration::ZERO,
            start_timeout: Duration::from_secs(30),
            brake: Brake::default(),
            min_ttl: None,
            settle: Duration::ZERO,
            adopt: false,
            dry_run: false,
            announce: BTreeSet::from([Announcement::RecordReady]),
            seed: None,
        }
    }
}

/// One provider with the registry that keeps its claims.
#[derive(Clone)]
pub struct Instance {
    /// Its name.
    pub id: InstanceId,
    /// The provider, bare: the engine puts the layers around it.
    pub provider: Arc<dyn Provider>,
    /// The registry.
    pub registry: Arc<dyn Registry>,
    /// The provider's options.
    pub options: OptionTable,
}

impl std::fmt::Debug for Instance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Instance").field("id", &self.id).finish_non_exhaustive()
    }
}

/// What the engine works with.
pub struct Parts {
    /// Where endpoints come from.
    pub sources: Vec<Arc<dyn Source>>,
    /// Where they go.
    pub instances: Vec<Instance>,
    /// Who may ask for which name.
    pub name_policy: Arc<dyn NamePolicy>,
    /// Where the state lives that survives a restart.
    pub store: Arc<dyn Store>,
    /// Where it is written down what was changed.
    pub journal: Journaling,
    /// Where notes go.
    pub reporter: Arc<dyn Reporter>,
    /// The metrics.
    pub metrics: Arc<Metrics>,
    /// The time.
    pub clock: Clock,
    /// The object that stands for this process in the cluster, if there is one.
    pub own_object: Option<ObjectRef>,
}

impl std::fmt::Debug for Parts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Parts").field("instances", &self.instances).finish_non_exhaustive()
    }
}

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
        let state = state::State::load(parts.store).await;
        let metrics = parts.metrics.clone();
        let layered = |instance: Instance| {
            let layers = Layers { dry_run: config.dry_run, seed: config.seed, ..Layers::new(instance.id.clone()) };
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

    /// Lets the held deletes of this hash go. Returns the zone and their number, or `None` if no plan of that hash is
    /// held (it may have changed meanwhile).
    pub fn approve(&self, hash: &str) -> Option<(String, usize)> {
        approvals::approve(&self.board, hash)
    }

    /// What was changed, the newest first, at most `limit` entries, and how far back the journal goes.
    ///
    /// # Errors
    /// The journal cannot be read.
    pub async fn history(&self, query: &Query, limit: usize) -> Result<(Vec<Told>, Reach)> {
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

    /// Health of the loops and of the zones.
    pub fn health(&self) -> Health {
        health::Health::of(&self.board)
    }

    /// What is wanted and published at every name, for people.
    pub fn names(&self) -> Vec<NameState> {
        health::names(&self.board)
    }

    /// Waits until nothing is left to do for now: everything that is known has been planned, and carried out, refused or
    /// held. Zones that fail count as done.
    pub async fn settled(&self) -> Outcome {
        loop {
            let rested = self.board.rested.notified();
            if let Some(outcome) = health::outcome(&self.board) {
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

/// The holds of a saved state, by zone, for whoever looks at it without a daemon. Those whose time is over are left out.
///
/// # Errors
/// If the state cannot be read, or is none.
pub async fn saved_holds(store: &dyn Store, now: Timestamp) -> Result<Option<Vec<(String, Holding)>>> {
    let holds = state::saved_holds(store).await?;
    Ok(holds.map(|holds| holds.into_iter().filter(|(_, hold)| hold.until > now).collect()))
}

/// The kinds of which objects were seen by former processes, by the saved state: sources are built with them.
pub async fn seen_kinds(store: &dyn Store) -> BTreeSet<KindId> {
    state::seen(store).await.into_iter().map(KindId::from).collect()
}

/// Saves the state soon after it changed, and not more often than every few seconds.
async fn keep_state(board: Arc<Board>, cancel: CancellationToken) {
    let mut said = false;
    loop {
        tokio::select! {
            biased;
            () = cancel.cancelled() => return,
            () = board.state.changed() => {}
            () = sleep(Duration::from_mins(10)) => {}
        }
        let saved = board.state.save().await;
        if let Err(error) = &saved
            && !said
        {
            warn!(
                error = error.chain(),
                "the state could not be saved; brake and approvals may be forgotten at a restart"
            );
        }
        said = saved.is_err();
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
