//! What the loops of the engine share: the desired table, the evidence, and the zones with their views.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use tokio::sync::{Notify, oneshot, watch};
use tokio::time::Instant;
use zonewright_core::clock::Clock;
use zonewright_core::desired::Desired;
use zonewright_core::endpoint::{KindId, Note, ObjectRef, Reporter, Severity};
use zonewright_core::error::{Error, Retry};
use zonewright_core::flap::Fight;
use zonewright_core::guard::AcceptedKinds;
use zonewright_core::name::DnsName;
use zonewright_core::name_policy::{NamePolicy, PermitAll};
use zonewright_core::notes::Notes;
use zonewright_core::plan::Adoptable;
use zonewright_core::quota::Quotas;
use zonewright_core::record::{RecordKey, RecordSet};
use zonewright_core::registry::{Contents, Published};
use zonewright_core::source::{Evidence, KindState, Source, SourceErrors};
use zonewright_core::view::ZoneView;
use zonewright_core::zone::{InstanceId, Zone, ZoneKey, route};

use super::chronicle::Chronicle;
use super::inbox::Inbox;
use super::journal::Journal;
use super::outcome::Changes;
use super::published::ExternalChanges;
use super::quotas;
use super::state::State;
use super::undo::{Order, UndoPlan};
use super::{Config, Instance};
use crate::journal::{JournalRecord, Journaling};
use crate::metrics::{ByReason, ByZone, Metrics};

/// One zone: its view, its inbox, its state of health.
#[derive(Debug)]
pub(crate) struct Desk {
    pub(crate) zone: Zone,
    pub(crate) inbox: Inbox,
    view: RwLock<ZoneView>,
    status: Mutex<Status>,
    /// An undo that waits for the worker.
    order: Mutex<Option<Order>>,
    /// Who waits for the zone to be read again.
    looks: Mutex<Vec<oneshot::Sender<()>>>,
}

/// What else is known of the last error of a zone.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Failure {
    /// It was met while the zone was read.
    pub(crate) unread: bool,
    /// The zone is not tried again.
    pub(crate) given_up: bool,
}

/// How a zone is doing.
#[derive(Debug, Clone, Default)]
pub(crate) struct Status {
    /// It has been read completely.
    pub(crate) listed: bool,
    /// Every name has been planned once.
    pub(crate) planned: bool,
    /// A turn is under way.
    pub(crate) working: bool,
    /// Claims that are being moved, a piece with each turn.
    pub(crate) moving: usize,
    /// The last error, and since when there has been no success.
    pub(crate) failing: Option<(Error, Instant)>,
    /// More about that error.
    pub(crate) failure: Failure,
    /// What was sent since the start; in a dry run, what would have been.
    pub(crate) changes: Changes,
    /// Record sets that stay as they are, of which their objects are told.
    pub(crate) left_alone: usize,
    /// Names that are parked after a refusal.
    pub(crate) parked: usize,
    /// Names that are fought over.
    pub(crate) fights: Vec<(DnsName, Fight)>,
    /// Records that are wanted and stand without a claim.
    pub(crate) adoptable: BTreeMap<RecordKey, Adoptable>,
    /// The sizes of its worker's tables.
    pub(crate) tables: BTreeMap<&'static str, usize>,
    /// When its loop last turned.
    pub(crate) turned: Option<Instant>,
}

/// A zone or list that has failed for this long is not fresh any more.
pub(crate) const STALE: Duration = Duration::from_secs(30);

impl Status {
    /// Why the zone is not ready, if it is not: it was never read, or has failed for too long. The probe and the metric both ask
    /// here.
    pub(crate) fn unready(&self) -> Option<String> {
        match &self.failing {
            Some((error, since)) if since.elapsed() >= STALE || !self.listed => Some(error.chain()),
            _ if !self.listed => Some("not read yet".to_owned()),
            _ => None,
        }
    }

    /// When it will not be ready any more, if nothing changes.
    pub(super) fn stale_at(&self) -> Option<Instant> {
        let (_, since) = self.failing.as_ref()?;
        Some(*since + STALE).filter(|at| *at > Instant::now())
    }
}

impl Desk {
    pub(crate) fn new(zone: Zone) -> Self {
        Self {
            zone,
            inbox: Inbox::default(),
            view: RwLock::default(),
            status: Mutex::default(),
            order: Mutex::default(),
            looks: Mutex::default(),
        }
    }

    pub(crate) fn view(&self) -> RwLockReadGuard<'_, ZoneView> {
        self.view.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn view_mut(&self) -> RwLockWriteGuard<'_, ZoneView> {
        self.view.write().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn status(&self) -> MutexGuard<'_, Status> {
        self.status.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks for the zone to be read again. The answer comes after a reading that began later than this; none, if it fails.
    pub(super) fn look(&self) -> oneshot::Receiver<()> {
        let (done, answer) = oneshot::channel();
        self.looks.lock().unwrap_or_else(PoisonError::into_inner).push(done);
        self.inbox.wake();
        answer
    }

    /// Takes those who wait for a reading.
    pub(super) fn take_looks(&self) -> Vec<oneshot::Sender<()>> {
        std::mem::take(&mut *self.looks.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Leaves an undo for the worker. Returns whether there was room for it.
    pub(super) fn order(&self, order: Order) -> bool {
        let mut slot = self.order.lock().unwrap_or_else(PoisonError::into_inner);
        let free = slot.is_none();
        if free {
            *slot = Some(order);
            self.inbox.wake();
        }
        free
    }

    /// Takes the undo that waits.
    pub(super) fn take_order(&self) -> Option<Order> {
        self.order.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Brings the metric in step with what the probe says.
    pub(crate) fn publish_ready(&self, metrics: &Metrics) -> Option<String> {
        let unready = self.status().unready();
        metrics.zone_ready.get_or_create(&ByZone { zone: self.label() }).set(i64::from(unready.is_none()));
        unready
    }

    /// The zone's key as text, in metrics and in the saved state.
    pub(crate) fn label(&self) -> String {
        self.zone.key.to_string()
    }
}

impl Contents for Desk {
    fn find(&self, key: &RecordKey) -> Option<RecordSet> {
        self.view().find(key)
    }

    fn each(&self, visit: &mut dyn FnMut(RecordSet)) {
        self.view().sets().for_each(visit);
    }
}

/// One provider instance with the zones that it was last seen to have.
pub(crate) struct Office {
    pub(crate) instance: Instance,
    zones: RwLock<Vec<Arc<Desk>>>,
    pub(crate) listing: Mutex<Listing>,
}

/// How the list of an instance's zones is doing.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    pub(crate) tried: bool,
    pub(crate) error: Option<(Error, Instant)>,
    /// They are not listed again.
    pub(crate) given_up: bool,
}

impl Office {
    pub(crate) fn new(instance: Instance) -> Self {
        Self { instance, zones: RwLock::default(), listing: Mutex::default() }
    }

    pub(crate) fn desks(&self) -> Vec<Arc<Desk>> {
        self.zones.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn set_desks(&self, desks: Vec<Arc<Desk>>) {
        *self.zones.write().unwrap_or_else(PoisonError::into_inner) = desks;
    }

    pub(crate) fn listing(&self) -> MutexGuard<'_, Listing> {
        self.listing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The desks that a name belongs to.
    pub(crate) fn route(&self, name: &DnsName) -> Vec<Arc<Desk>> {
        let rule = self.instance.provider.capability(None).zone_rule;
        let desks = self.desks();
        let keys: Vec<ZoneKey> =
            route(rule, desks.iter().map(|d| &d.zone), name).into_iter().map(|zone| zone.key.clone()).collect();
        desks.into_iter().filter(|desk| keys.contains(&desk.zone.key)).collect()
    }
}

impl Office {
    /// Whether a name belongs to the zone of `desk`.
    pub(crate) fn serves(&self, desk: &Desk, name: &DnsName) -> bool {
        // With one zone there is nothing to choose.
        if let [only] = &**self.zones.read().unwrap_or_else(PoisonError::into_inner) {
            return only.zone.key == desk.zone.key && name.is_within(&only.zone.name);
        }
        self.route(name).iter().any(|other| other.zone.key == desk.zone.key)
    }
}

impl Published for Office {
    fn find(&self, near: &ZoneKey, key: &RecordKey) -> Option<(ZoneKey, RecordSet)> {
        let desks = self.zones.read().unwrap_or_else(PoisonError::into_inner);
        let here = |desk: &Arc<Desk>| Some((desk.zone.key.clone(), desk.view().find(key)?));
        if let Some(found) = desks.iter().find(|desk| desk.zone.key == *near).and_then(here) {
            return Some(found);
        }
        let other = |desk: &&Arc<Desk>| desk.zone.key != *near && key.name.is_within(&desk.zone.name);
        let mut others: Vec<&Arc<Desk>> = desks.iter().filter(other).collect();
        others.sort_by_key(|desk| std::cmp::Reverse(desk.zone.name.label_count()));
        others.into_iter().find_map(here)
    }

    fn zones_at(&self, name: &DnsName) -> Vec<(Zone, bool)> {
        let desks = self.zones.read().unwrap_or_else(PoisonError::into_inner);
        let at = desks.iter().filter(|desk| desk.zone.name == *name);
        at.map(|desk| (desk.zone.clone(), desk.view().is_complete())).collect()
    }
}

/// How far the zones of an instance are since the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FirstPlans {
    /// Some zone was neither planned nor has it failed, or the zones were not listed yet.
    Open,
    /// The zones cannot be listed, and none is known.
    Unlisted,
    /// Every zone has been planned once, or has failed.
    Done,
}

impl FirstPlans {
    fn of(office: &Office) -> Self {
        let desks = office.desks();
        {
            let listing = office.listing();
            match (listing.tried, listing.error.is_some() && desks.is_empty()) {
                (false, _) => return Self::Open,
                (true, true) => return Self::Unlisted,
                (true, false) => {}
            }
        }
        let done = |desk: &Arc<Desk>| {
            let status = desk.status();
            status.planned || status.failing.is_some()
        };
        if desks.iter().all(done) { Self::Done } else { Self::Open }
    }
}

/// What sources told.
#[derive(Debug, Default)]
pub(crate) struct Asks {
    pub(crate) desired: Desired,
    pub(crate) quotas: Quotas,
    pub(crate) evidence: Evidence,
    /// What of the sources cannot be read now.
    pub(crate) troubles: SourceErrors,
    /// Doubt about kinds that an operator accepted for some deletes: readiness does not warn of it any more.
    pub(crate) accepted: AcceptedKinds,
}

impl Asks {
    /// Whether everything that a kind's view lacks was accepted by an operator.
    pub(crate) fn is_accepted(&self, kind: &KindId, state: KindState) -> bool {
        state.fresh && state.doubted.is_some() && state.doubted == self.accepted.get(kind).copied()
    }
}

/// Everything that is shared.
pub(crate) struct Board {
    pub(crate) config: Config,
    pub(crate) sources: Vec<Arc<dyn Source>>,
    pub(crate) offices: Vec<Arc<Office>>,
    pub(crate) name_policy: Arc<dyn NamePolicy>,
    pub(crate) state: State,
    pub(crate) clock: Clock,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) reporter: Arc<dyn Reporter>,
    pub(crate) journal: Journal,
    pub(crate) chronicle: Chronicle,
    /// Undos that were planned and not confirmed.
    pub(super) offers: Mutex<Vec<UndoPlan>>,
    /// What the jitter of pauses is drawn from.
    pub(crate) seed: u64,
    /// The object that stands for this process, for events that concern no other.
    pub(crate) own_object: Option<ObjectRef>,
    /// Whether names may be planned: every kind has been listed, or failed to be, or the wait is over.
    pub(crate) started: watch::Sender<bool>,
    /// How far the zones of each instance are: before all are planned once, or have failed, no counted delete goes.
    pub(super) first_plans: Mutex<BTreeMap<InstanceId, FirstPlans>>,
    /// What sources were told of zones that were read.
    pub(super) published: ExternalChanges,
    /// JournalRecord whenever some loop comes to rest.
    pub(crate) rested: Notify,
    pub(crate) intake_turned: Mutex<Instant>,
    pub(super) asks: Mutex<Asks>,
}

impl Board {
    /// A board without sources, and with nobody to tell.
    pub(crate) fn new(config: Config, instances: Vec<Instance>, state: State) -> Self {
        // A hasher of the standard library is seeded by chance: enough to keep processes apart.
        let seed = config.seed.unwrap_or_else(|| RandomState::new().hash_one(()));
        let (clock, metrics) = (Clock::system(), Arc::<Metrics>::default());
        Self {
            config,
            sources: Vec::new(),
            offices: instances.into_iter().map(|i| Arc::new(Office::new(i))).collect(),
            name_policy: Arc::new(PermitAll),
            state,
            chronicle: Chronicle::new(Journaling::default(), clock, metrics.clone()),
            offers: Mutex::default(),
            clock,
            metrics,
            reporter: Arc::new(Silent),
            journal: Journal::default(),
            seed,
            own_object: None,
            started: watch::Sender::new(false),
            first_plans: Mutex::default(),
            published: ExternalChanges::default(),
            rested: Notify::new(),
            intake_turned: Mutex::new(Instant::now()),
            asks: Mutex::default(),
        }
    }

    pub(crate) fn asks(&self) -> MutexGuard<'_, Asks> {
        self.asks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn offers(&self) -> MutexGuard<'_, Vec<UndoPlan>> {
        self.offers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn desks(&self) -> Vec<Arc<Desk>> {
        self.offices.iter().flat_map(|office| office.desks()).collect()
    }

    /// The pause after the `failures`-th failure in a row, the first of them at `since`. None: it is not tried again, since this
    /// is the only pass and it has failed for too long.
    pub(super) fn pause(&self, failures: u32, retry: Retry, since: Instant) -> Option<Duration> {
        let pause = super::backoff(self.seed, failures, retry);
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
            && plans.len() == self.offices.len()
            && plans.values().all(|plans| *plans != FirstPlans::Open)
    }

    /// Whether nothing waits any more for a zone to be planned once.
    pub(crate) fn all_planned(&self) -> bool {
        let plans = self.first_plans.lock().unwrap_or_else(PoisonError::into_inner);
        plans.len() == self.offices.len() && plans.values().all(|plans| *plans != FirstPlans::Open)
    }

    /// Looks how far the first plans are; where more is done than before, what waited for that is planned again. What is done
    /// stays so: zones that come later are judged with what was done before.
    pub(super) fn look_whether_all_planned(&self) {
        if !self.has_started() {
            return;
        }
        let mut plans = self.first_plans.lock().unwrap_or_else(PoisonError::into_inner);
        let mut news = false;
        for office in &self.offices {
            let former = plans.get(&office.instance.id).copied();
            if former == Some(FirstPlans::Done) {
                continue;
            }
            let now = FirstPlans::of(office);
            news |= former != Some(now);
            plans.insert(office.instance.id.clone(), now);
        }
        if news {
            // Still locked: whoever sees that all are planned sees that they are to be looked at again, too.
            for desk in self.desks() {
                desk.inbox.recheck();
            }
        }
    }

    /// Has these zones look again at what waits.
    pub(super) fn recheck(&self, zones: &[String]) {
        if zones.is_empty() {
            return;
        }
        self.desks().iter().filter(|desk| zones.contains(&desk.label())).for_each(|desk| desk.inbox.recheck());
    }

    /// Sends changed names to the zones that they belong to, and those outside every zone back to their objects.
    pub(crate) fn dispatch(&self, names: &BTreeSet<DnsName>) {
        for office in &self.offices {
            for desk in office.desks() {
                let here = names.iter().filter(|name| desk.zone.covers(name)).cloned();
                let here: Vec<DnsName> = here.collect();
                if !here.is_empty() {
                    desk.inbox.changed(here);
                }
            }
        }
        self.tell_homeless(names);
    }

    /// Lets sources and quotas choose anew what rests on the content of a zone that was not read until now.
    pub(super) fn zone_read(&self) {
        for source in &self.sources {
            if source.published_read() {
                self.published.tell();
            }
        }
        let names = quotas::settle(self, None);
        self.dispatch(&names);
    }

    /// Tells objects of names that no zone holds, once every instance's zones are known.
    pub(crate) fn tell_homeless(&self, names: &BTreeSet<DnsName>) {
        if self.offices.iter().any(|office| !office.listing().tried || office.listing().error.is_some()) {
            return;
        }
        let desks = self.desks();
        let homeless: Vec<&DnsName> = names
            .iter()
            .filter(|name| self.config.filter.matches(name) && !desks.iter().any(|desk| desk.zone.covers(name)))
            .collect();
        let zones = zone_list(&desks);
        let mut asks = self.asks();
        // No zone has to be cleaned of them.
        let unserved = names.iter().filter(|name| !desks.iter().any(|desk| desk.zone.covers(name)));
        unserved.for_each(|name| asks.desired.bury(name));
        let mut notes = Notes::default();
        for name in homeless {
            for endpoint in asks.desired.at(name).endpoints {
                let text = || {
                    format!("{name} lies in none of the zones that are managed; expected a name below one of {zones}")
                };
                notes.add_with(&endpoint.origin.object, Severity::Warning, "NoMatchingZone", text);
            }
        }
        drop(asks);
        self.pass_on(notes.into_vec());
    }

    /// An entry of the journal that a command left without an outcome is settled by the worker of its zone.
    pub(super) fn found_open(&self, told: &JournalRecord) {
        if let Some(zone) = self.chronicle.found(told) {
            let desks = self.desks().into_iter().filter(|desk| desk.label() == zone);
            desks.for_each(|desk| desk.inbox.wake());
        }
    }

    /// Takes notes to the reporter, each once and few for each object, and counts them.
    pub(crate) fn tell(&self, notes: impl IntoIterator<Item = Note>) {
        self.pass_on(notes.into_iter().collect::<Notes>().into_vec());
    }

    /// Takes notes to the reporter that are few and told once already, and counts them.
    pub(crate) fn pass_on(&self, notes: Vec<Note>) {
        for note in notes {
            self.metrics.notes.get_or_create(&ByReason { reason: note.reason.to_owned() }).inc();
            self.reporter.tell(&note);
        }
    }
}

/// A reporter for a board that has none.
struct Silent;

impl Reporter for Silent {
    fn tell(&self, _: &Note) {}
}

fn zone_list(desks: &[Arc<Desk>]) -> String {
    let mut names: Vec<&str> = desks.iter().map(|d| d.zone.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    match names.as_slice() {
        [] => "(no zone at all)".to_owned(),
        few @ ([_] | [_, _] | [_, _, _]) => few.join(", "),
        [a, b, rest @ ..] => format!("{a}, {b} and {} more", rest.len()),
    }
}
