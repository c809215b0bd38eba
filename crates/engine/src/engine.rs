//! The engine: loops around the pure stages.
//!
//! The intake takes over what sources report and sends dirty names to the zones; the directory keeps each instance's zones;
//! every zone has a worker that reads it, plans, and carries out. All of them share one context.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{info, warn};
use zonewright_core::claim::{OwnerId, Ownership};
use zonewright_core::clock::Timestamp;
use zonewright_core::error::Result;
use zonewright_core::explain::{Explanation, Subject};
use zonewright_core::flap::Fight;
use zonewright_core::guard::{HeldPlan, JointPlan};
use zonewright_core::name::DnsName;
use zonewright_core::plan::Adoptable;
use zonewright_core::record::RecordSet;
use zonewright_core::store::ReadOnlyStore;
use zonewright_core::zone::{InstanceId, Zone, ZoneKey};

use crate::approvals;
use crate::config::{Config, Instance, Parts};
use crate::context::EngineContext;
use crate::explain::{self, NameServers};
use crate::health::{self, Health, NameState};
use crate::housekeeping;
use crate::intake;
use crate::inventory::{self, ZoneStatus};
use crate::journal::{self as record, JournalReach, JournalRecord, JournalWriter, Journaling, Query, WriterId};
use crate::layer::Layers;
use crate::metrics::Metrics;
use crate::outcome::{self, Outcome, PassProblem, STATE};
use crate::pinning;
use crate::pins::Pin;
use crate::presence;
use crate::recent::RecentChanges;
use crate::state;
use crate::table_sizes;
use crate::undo::{self, UndoPlan, UndoReport, UndoRequest};
use crate::zone_directory;
use crate::zone_handle::ZoneHandle;
use crate::zone_preview::{self, ZonePreview};

/// A running engine. Dropping it stops nothing; [`Engine::stop`] does.
pub struct Engine {
    context: Arc<EngineContext>,
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
        // The saved state is that of the process which deletes.
        let store = if config.dry_run { Arc::new(ReadOnlyStore(parts.store)) } else { parts.store };
        let state = state::State::load(store, parts.clock.now(), config.brake.approval_ttl).await;
        let metrics = parts.metrics.clone();
        let layered = |instance: Instance| {
            let usual = Layers::new(instance.id.clone());
            // A pass that is the only one has no second attempt; providers notice themselves when the other side falls silent.
            let patient = config.one_pass;
            let layers =
                Layers { dry_run: config.dry_run, seed: config.seed, patient, webhook: instance.webhook, ..usual };
            Instance { provider: layers.around(instance.provider, &metrics), ..instance }
        };
        let instances: Vec<Instance> = parts.instances.into_iter().map(layered).collect();
        let mode = if config.dry_run { record::Mode::Off } else { parts.journal.mode };
        let journaling = Journaling { mode, ..parts.journal };
        let journal_writer = JournalWriter::new(journaling, parts.clock, writer_id(config.seed, parts.clock.now()))
            .counting(metrics.journal_errors.clone());
        journal_writer.load().await;
        let context = Arc::new(EngineContext {
            journal_writer,
            sources: parts.sources,
            name_policy: parts.name_policy,
            clock: parts.clock,
            metrics: parts.metrics,
            reporter: parts.reporter,
            own_object: parts.own_object,
            ..EngineContext::new(config, instances, state)
        });
        for source in &context.sources {
            source.use_published(Arc::new(presence::EngineNames(Arc::downgrade(&context))));
        }
        approvals::look(&context, &mut false).await;
        let (cancel, tasks) = (CancellationToken::new(), TaskTracker::new());
        tasks.spawn(intake::run(context.clone(), cancel.clone()));
        for instance in &context.instances {
            tasks.spawn(zone_directory::run(context.clone(), instance.clone(), cancel.clone()));
        }
        tasks.spawn(housekeeping::keep_state(context.clone(), cancel.clone()));
        tasks.spawn(approvals::watch(context.clone(), cancel.clone()));
        tasks.spawn(housekeeping::keep_journal(context.clone(), cancel.clone()));
        tasks.close();
        Self { context, cancel, tasks }
    }

    /// Stops after the groups that are being sent now, and saves the state. Returns what was done and could not be written down.
    pub async fn stop(&self) -> Vec<PassProblem> {
        self.cancel.cancel();
        self.tasks.wait().await;
        self.context.journal_writer.flush().await;
        let mut left = self.commit_again().await;
        if let Err(error) = self.context.state.save().await {
            warn!(error = error.chain(), "the state could not be saved");
            left.push(PassProblem { what: STATE.to_owned(), why: error.chain() });
        }
        info!("stopped");
        left
    }

    /// Lets the registries write down once more what they could not; returns those that still cannot.
    async fn commit_again(&self) -> Vec<PassProblem> {
        let mut left = Vec::new();
        for handle in self.context.zone_handles() {
            let instance = self.context.instances.iter().find(|instance| instance.id == handle.zone.key.instance);
            let Some(instance) = instance.filter(|_| handle.uncommitted.load(Ordering::Relaxed)) else { continue };
            if let Err(error) = instance.registry.commit(&handle.zone, &[], &[]).await {
                warn!(zone = %handle.title, error = error.chain(), "what became of changes is not in the registry");
                left.push(PassProblem { what: format!("claims of zone {}", handle.title), why: error.chain() });
            }
        }
        left
    }

    /// The plans that wait for an approval, by zone.
    pub fn plans(&self) -> Vec<(String, HeldPlan)> {
        self.context.state.held()
    }

    /// The plans that the brake held together over several zones: one approval may cover them.
    pub fn joint_plans(&self) -> Vec<JointPlan> {
        self.context.state.joint()
    }

    /// Approves the plan of this hash, or those that are held together under it: their deletes go, each once. Returns the
    /// zones and the number of deletes, or `None` if no plan of that hash is held (it may have changed meanwhile).
    pub fn approve(&self, hash: &str) -> Option<(String, usize)> {
        approvals::approve(&self.context, hash)
    }

    /// What was changed, the newest first, at most `limit` entries, and how far back the journal goes.
    ///
    /// # Errors
    /// The journal cannot be read.
    pub async fn history(&self, query: &Query, limit: usize) -> Result<(Vec<JournalRecord>, JournalReach)> {
        self.context.journal_writer.flush().await;
        let (entries, reach) = record::last(&*self.context.journal_writer.journaling().store, query, limit).await?;
        for record in &entries {
            self.context.found_open(record);
        }
        Ok((entries, reach))
    }

    /// Where the journal is, for people.
    pub fn journal_place(&self) -> String {
        self.context.journal_writer.journaling().store.place()
    }

    /// What an undo would do. It can be carried out with [`Engine::undo`] as long as it is one of the last plans made.
    ///
    /// # Errors
    /// The journal cannot be read.
    pub async fn plan_undo(&self, request: &UndoRequest) -> Result<UndoPlan> {
        undo::plan(&self.context, request).await
    }

    /// Carries out the plan of this hash, and pins its names.
    ///
    /// # Errors
    /// There is no such plan.
    pub async fn undo(&self, hash: &str) -> Result<UndoReport> {
        undo::confirm(&self.context, hash).await
    }

    /// The names that an undo pinned, by zone.
    pub fn pins(&self) -> Vec<(String, Pin)> {
        self.context.state.pins()
    }

    /// Unpins one name, or all; returns the names. They are planned again at once.
    pub fn unpin(&self, name: Option<&DnsName>) -> BTreeSet<DnsName> {
        let meant = name.map(|name| BTreeSet::from([name.clone()]));
        let zones: BTreeSet<String> = self.pins().into_iter().map(|(zone, _)| zone).collect();
        let mut unpinned = BTreeSet::new();
        for zone in zones {
            let names = pinning::unpin(&self.context, &zone, meant.as_ref());
            let zone_handles = self.context.zone_handles().into_iter().filter(|handle| handle.label() == zone);
            zone_handles.for_each(|handle| handle.inbox.changed(names.iter().cloned()));
            unpinned.extend(names);
        }
        info!(names = unpinned.len(), "names are no longer pinned");
        unpinned
    }

    /// The names that another writer keeps changing back, by zone.
    pub fn contested(&self) -> Vec<(DnsName, DnsName, Fight)> {
        let of = |handle: Arc<ZoneHandle>| {
            let contested = handle.status().contested.clone();
            contested.into_iter().map(move |(name, contest)| (handle.zone.name.clone(), name, contest))
        };
        self.context.zone_handles().into_iter().flat_map(of).collect()
    }

    /// The records that are wanted and stand without a claim, by zone.
    pub fn adoptable(&self) -> Vec<(ZoneKey, Adoptable)> {
        let of = |handle: Arc<ZoneHandle>| {
            let all: Vec<Adoptable> = handle.status().adoptable.values().cloned().collect();
            all.into_iter().map(move |adoptable| (handle.zone.key.clone(), adoptable))
        };
        self.context.zone_handles().into_iter().flat_map(of).collect()
    }

    /// Why a name is there or is not, or what became of an object. Nothing is changed; a server that does not answer is waited for
    /// three seconds. `place` says where the answer comes from; `servers` asks name servers of zones whose provider asks none.
    pub async fn explain(&self, subject: &Subject, place: &str, servers: Option<&dyn NameServers>) -> Explanation {
        explain::explain(&self.context, subject, place, servers).await
    }

    /// What a pass would do and leave, zone by zone: for a dry run of one pass, after [`Engine::settled`].
    pub fn preview(&self) -> Vec<ZonePreview> {
        zone_preview::of(&self.context)
    }

    /// The last changes.
    pub fn recent_changes(&self) -> &RecentChanges {
        &self.context.recent
    }

    /// The metrics that the loops count in.
    pub fn metrics(&self) -> &Arc<Metrics> {
        &self.context.metrics
    }

    /// The number of entries of each table that is keyed by names, objects or zones, by the table's name.
    pub fn table_sizes(&self) -> BTreeMap<&'static str, usize> {
        table_sizes::sizes(&self.context)
    }

    /// How many names were gone through so far in walks over all of what is wanted or published. At rest it stays as it is.
    pub fn names_walked(&self) -> u64 {
        let views: u64 = self.context.zone_handles().iter().map(|handle| handle.view().walked()).sum();
        views + self.context.desired_state().table.walked()
    }

    /// Every zone, and how it is doing.
    pub fn zones(&self) -> Vec<ZoneStatus> {
        inventory::zones(&self.context)
    }

    /// Provider instances whose zones could not be listed, each with the reason.
    pub fn unlisted(&self) -> Vec<(InstanceId, String)> {
        inventory::unlisted(&self.context)
    }

    /// Goes through the record sets of managed types in a zone, with whose they are; claims are left out.
    pub fn each_record(&self, zone: &Zone, mut visit: impl FnMut(RecordSet, Ownership)) {
        inventory::records(&self.context, zone, &mut visit);
    }

    /// The owner ids that this process writes; none where the registry keeps no claims.
    pub fn own_ids(&self) -> Vec<OwnerId> {
        inventory::own_ids(&self.context)
    }

    /// Health of the loops and of the zones.
    pub fn health(&self) -> Health {
        Health::of(&self.context)
    }

    /// What is wanted and published at every name, for people.
    pub fn names(&self) -> Vec<NameState> {
        health::names(&self.context)
    }

    /// How the pass went so far: what is not done yet counts as not read, or not written.
    pub fn outcome(&self) -> Outcome {
        outcome::outcome(&self.context)
    }

    /// Waits until nothing is left to do for now: everything that is known has been planned, and carried out, refused or
    /// held. What fails counts as done; with [`Config::one_pass`] once it is not tried again.
    pub async fn settled(&self) -> Outcome {
        let mut pause = FIRST_LOOK;
        loop {
            let rested = self.context.rested.notified();
            let outcome = self.outcome();
            if !outcome.unfinished {
                return outcome;
            }
            // Not everything that ends a pass says so: look again in any case, soon at first.
            tokio::select! {
                biased;
                () = rested => pause = FIRST_LOOK,
                () = sleep(pause) => pause = (pause * 2).min(LONGEST_LOOK),
            }
        }
    }
}

/// Pauses between two looks whether a pass is over, where nothing says that it may be.
const FIRST_LOOK: Duration = Duration::from_millis(20);
const LONGEST_LOOK: Duration = Duration::from_millis(160);

/// Who this process is in the journal: drawn by chance, or from the seed of a history that is to be repeated.
fn writer_id(seed: Option<u64>, now: Timestamp) -> WriterId {
    let Some(seed) = seed else { return WriterId::random() };
    let mut hasher = DefaultHasher::new();
    (seed, now).hash(&mut hasher);
    WriterId::from(hasher.finish())
}
