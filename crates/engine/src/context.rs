//! What the loops of the engine share: the desired state, the evidence, and the zones with their views.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::time::Instant;
use tracing::debug;
use zonewright_core::clock::Clock;
use zonewright_core::endpoint::{Note, ObjectRef, Reporter, Severity};
use zonewright_core::error::Retry;
use zonewright_core::explain::Cause;
use zonewright_core::name::DnsName;
use zonewright_core::name_policy::{NamePolicy, PermitAll};
use zonewright_core::notes::Notes;
use zonewright_core::source::Source;
use zonewright_core::zone::InstanceId;

use crate::config::{Config, Instance};
use crate::desired_state::DesiredState;
use crate::journal::{JournalRecord, JournalWriter, Journaling, WriterId};
use crate::metrics::{ByReason, Metrics};
use crate::provider_instance::{FirstPlans, ProviderInstance};
use crate::recent::RecentChanges;
use crate::remaps::Remaps;
use crate::state::State;
use crate::undo::UndoPlan;
use crate::zone_handle::ZoneHandle;

/// Everything that is shared.
pub(crate) struct EngineContext {
    pub(crate) config: Config,
    pub(crate) sources: Vec<Arc<dyn Source>>,
    pub(crate) instances: Vec<Arc<ProviderInstance>>,
    pub(crate) name_policy: Arc<dyn NamePolicy>,
    pub(crate) state: State,
    pub(crate) clock: Clock,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) reporter: Arc<dyn Reporter>,
    pub(crate) recent: RecentChanges,
    pub(crate) journal_writer: JournalWriter,
    /// Undos that were planned and not confirmed.
    pub(crate) offers: Mutex<Vec<UndoPlan>>,
    /// What the jitter of pauses is drawn from.
    pub(crate) seed: u64,
    /// The object that stands for this process, for events that concern no other.
    pub(crate) own_object: Option<ObjectRef>,
    /// Whether names may be planned: every kind has been listed, or failed to be, or the wait is over.
    pub(crate) started: watch::Sender<bool>,
    /// How far the zones of each instance are: before all are planned once, or have failed, no counted delete goes.
    pub(crate) first_plans: Mutex<BTreeMap<InstanceId, FirstPlans>>,
    /// What sources know of zones that were read.
    pub(crate) remaps: Remaps,
    /// JournalRecord whenever some loop comes to rest.
    pub(crate) rested: Notify,
    pub(crate) intake_turned: Mutex<Instant>,
    pub(crate) desired_state: Mutex<DesiredState>,
}

impl EngineContext {
    /// A context without sources, and without a reporter.
    pub(crate) fn new(config: Config, instances: Vec<Instance>, state: State) -> Self {
        // A hasher of the standard library is seeded by chance: enough to keep processes apart.
        let seed = config.seed.unwrap_or_else(|| RandomState::new().hash_one(()));
        let (clock, metrics) = (Clock::system(), Arc::<Metrics>::default());
        Self {
            config,
            sources: Vec::new(),
            instances: instances.into_iter().map(|i| Arc::new(ProviderInstance::new(i))).collect(),
            name_policy: Arc::new(PermitAll),
            state,
            journal_writer: JournalWriter::new(Journaling::default(), clock, WriterId::random()),
            offers: Mutex::default(),
            clock,
            metrics,
            reporter: Arc::new(Silent),
            recent: RecentChanges::default(),
            seed,
            own_object: None,
            started: watch::Sender::new(false),
            first_plans: Mutex::default(),
            remaps: Remaps::default(),
            rested: Notify::new(),
            intake_turned: Mutex::new(Instant::now()),
            desired_state: Mutex::default(),
        }
    }

    pub(crate) fn desired_state(&self) -> MutexGuard<'_, DesiredState> {
        self.desired_state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn offers(&self) -> MutexGuard<'_, Vec<UndoPlan>> {
        self.offers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn zone_handles(&self) -> Vec<Arc<ZoneHandle>> {
        self.instances.iter().flat_map(|instance| instance.zone_handles()).collect()
    }

    /// The labels of the zones that are served.
    pub(crate) fn served(&self) -> BTreeSet<String> {
        self.zone_handles().iter().map(|handle| handle.label()).collect()
    }

    /// The pause after the `failures`-th failure in a row, the first of them at `since`. None: it is not tried again, since this
    /// is the only pass and it has failed for too long.
    pub(crate) fn pause(&self, failures: u32, retry: Retry, since: Instant) -> Option<Duration> {
        let pause = crate::backoff::backoff(self.seed, failures, retry);
        if !self.config.one_pass {
            return Some(pause);
        }
        let left = (since + self.config.start_timeout).saturating_duration_since(Instant::now());
        (!left.is_zero()).then(|| pause.min(left))
    }

    pub(crate) fn has_started(&self) -> bool {
        *self.started.borrow()
    }

    /// Whether every zone of this instance has been planned once since the start, or has failed, and so have those of the
    /// others; an instance whose zones cannot be listed holds up no other.
    pub(crate) fn all_planned_for(&self, instance: &InstanceId) -> bool {
        let plans = self.first_plans.lock().unwrap_or_else(PoisonError::into_inner);
        plans.get(instance) == Some(&FirstPlans::Done)
            && plans.len() == self.instances.len()
            && plans.values().all(|plans| *plans != FirstPlans::Open)
    }

    /// Whether nothing waits any more for a zone to be planned once.
    pub(crate) fn all_planned(&self) -> bool {
        let plans = self.first_plans.lock().unwrap_or_else(PoisonError::into_inner);
        plans.len() == self.instances.len() && plans.values().all(|plans| *plans != FirstPlans::Open)
    }

    /// Looks how far the first plans are; where more is done than before, what waited for that is planned again. What is done
    /// stays so: zones that come later are judged with what was done before.
    pub(crate) fn look_whether_all_planned(&self) {
        if !self.has_started() {
            return;
        }
        let mut plans = self.first_plans.lock().unwrap_or_else(PoisonError::into_inner);
        let mut news = false;
        for instance in &self.instances {
            let former = plans.get(&instance.id).copied();
            if former == Some(FirstPlans::Done) {
                continue;
            }
            let now = FirstPlans::of(instance);
            news |= former != Some(now);
            plans.insert(instance.id.clone(), now);
        }
        if news {
            // Still locked: whoever sees that all are planned sees that they are to be looked at again, too.
            for handle in self.zone_handles() {
                handle.inbox.recheck();
            }
        }
    }

    /// Has these zones look again at what waits.
    pub(crate) fn recheck(&self, zones: &[String]) {
        if zones.is_empty() {
            return;
        }
        self.zone_handles()
            .iter()
            .filter(|handle| zones.contains(&handle.label()))
            .for_each(|handle| handle.inbox.recheck());
    }

    /// Sends changed names to the zones that they belong to, and those outside every zone back to their objects.
    pub(crate) fn dispatch(&self, names: &BTreeSet<DnsName>) {
        for instance in &self.instances {
            for handle in instance.zone_handles() {
                let here = names.iter().filter(|name| handle.zone.covers(name)).cloned();
                let here: Vec<DnsName> = here.collect();
                if !here.is_empty() {
                    handle.inbox.changed(here);
                }
            }
        }
        self.report_unmatched(names);
    }

    /// Reports names that no zone holds, once every instance's zones are known.
    pub(crate) fn report_unmatched(&self, names: &BTreeSet<DnsName>) {
        if self.instances.iter().any(|instance| !instance.listing().tried || instance.listing().error.is_some()) {
            return;
        }
        let zones: Vec<_> = self.instances.iter().map(|instance| (instance, instance.zone_handles())).collect();
        let served = |name: &DnsName| {
            let here = |handle: &Arc<ZoneHandle>| handle.zone.covers(name);
            zones.iter().any(|(instance, handles)| instance.filter.matches(name) && handles.iter().any(here))
        };
        let unmatched: Vec<&DnsName> =
            names.iter().filter(|name| self.config.filter.matches(name) && !served(name)).collect();
        let zone_handles = self.zone_handles();
        let zones = zone_list(&zone_handles);
        let mut desired_state = self.desired_state();
        // No zone has to be cleaned of them.
        let unserved = names.iter().filter(|name| !zone_handles.iter().any(|handle| handle.zone.covers(name)));
        unserved.for_each(|name| desired_state.table.clear_tombstone(name));
        let mut notes = Notes::default();
        for name in unmatched {
            let open = self.instances.iter().find_map(|instance| instance.ambiguous.above(name));
            for endpoint in desired_state.table.at(name).endpoints {
                let text = || match &open {
                    Some(why) => format!("{name} lies in no zone that is managed: {why}"),
                    None => format!(
                        "{name} lies in none of the zones that are managed; expected a name below one of {zones}"
                    ),
                };
                notes.add_with(&endpoint.origin.object, Severity::Warning, "NoMatchingZone", text);
            }
        }
        drop(desired_state);
        self.pass_on(notes.into_vec());
    }

    /// An entry of the journal that a command left without an outcome is settled by the worker of its zone.
    pub(crate) fn found_open(&self, record: &JournalRecord) {
        if let Some(zone) = self.journal_writer.found(record) {
            let zone_handles = self.zone_handles().into_iter().filter(|handle| handle.label() == zone);
            zone_handles.for_each(|handle| handle.inbox.wake());
        }
    }

    /// Takes notes to the reporter, each once and few for each object, and counts them.
    pub(crate) fn report(&self, notes: impl IntoIterator<Item = Note>) {
        self.pass_on(notes.into_iter().collect::<Notes>().into_vec());
    }

    /// Takes notes to the reporter that are few and distinct already, and counts them.
    pub(crate) fn pass_on(&self, notes: Vec<Note>) {
        for note in notes {
            self.metrics.notes.get_or_create(&ByReason { reason: note.reason.to_owned() }).inc();
            // A filter leaves something out that was never published: another daemon may be meant to have it.
            let quiet = Cause::is_filter(note.reason) && note.severity == Severity::Normal;
            if quiet && !self.config.events_filtered {
                debug!(object = %note.object, reason = note.reason, "{}", note.message);
            } else {
                self.reporter.report(&note);
            }
        }
    }
}

/// A reporter for a context that has none.
struct Silent;

impl Reporter for Silent {
    fn report(&self, _: &Note) {}
}

fn zone_list(zone_handles: &[Arc<ZoneHandle>]) -> String {
    let mut names: Vec<&str> = zone_handles.iter().map(|d| d.title.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    match names.as_slice() {
        [] => "(no zone at all)".to_owned(),
        few @ ([_] | [_, _] | [_, _, _]) => few.join(", "),
        [a, b, rest @ ..] => format!("{a}, {b} and {} more", rest.len()),
    }
}
