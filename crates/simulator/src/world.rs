//! A history as it runs: the actors on one virtual clock.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};
use zonewright_core::clock::{Clock, Timestamp};
use zonewright_core::endpoint::{Note, Reporter, Severity};
use zonewright_core::engine::{Config, Engine, Instance, Outcome, Parts};
use zonewright_core::filter::DomainFilter;
use zonewright_core::journal::{Journaling, Mode};
use zonewright_core::metrics::Metrics;
use zonewright_core::name_policy::PermitAll;
use zonewright_core::options::OptionTable;
use zonewright_core::plan::Policy;
use zonewright_core::registry::Registry;
use zonewright_core::zone::{InstanceId, Zone};
use zonewright_core::{DnsName, RData, RecordData, RecordKey, RecordSet, RecordType};
use zonewright_registry::noop::NoopRegistry;
use zonewright_registry::txt::{TxtConfig, TxtRegistry};

use crate::cluster::Cluster;
use crate::line::{Drawer, Line, Shelf, Weather, lock};
use crate::names::{MANAGED, name, set, text};
use crate::peer::Peer;
use crate::setup::Setup;
use crate::step::{Action, Deed, Step};
use crate::truth::{Author, Party, Right, Truth, with};

/// One process.
struct Process {
    engine: Engine,
    dead: Arc<AtomicBool>,
}

/// A daemon with what survives its restarts.
struct Seat {
    process: Option<Process>,
    drawer: Arc<Mutex<Drawer>>,
    /// How far its clock is off, in seconds.
    skew: i64,
}

/// Everything together.
pub(crate) struct World {
    pub(crate) setup: Setup,
    pub(crate) truth: Arc<Mutex<Truth>>,
    pub(crate) clusters: Vec<Arc<Cluster>>,
    weather: Arc<Mutex<Weather>>,
    seats: Vec<Seat>,
    peer: Peer,
    begun: Instant,
    /// Whether the last step ended with everybody at rest.
    rested: bool,
    seed: u64,
}

/// Writes into the story what objects are told.
struct Scribe {
    daemon: usize,
    truth: Arc<Mutex<Truth>>,
}

impl Reporter for Scribe {
    fn tell(&self, note: &Note) {
        if note.severity == Severity::Warning {
            let sentence = || format!("daemon {} tells {}: {}", self.daemon, note.object, note.message);
            lock(&self.truth).tell(sentence);
        }
    }
}

/// The time when a history begins, in seconds since 1970.
const DAWN: i64 = 1_000_000;

fn instance() -> InstanceId {
    InstanceId::from("sim")
}

impl World {
    pub(crate) fn new(setup: &Setup, seed: u64, tell: bool) -> Self {
        let zones = if setup.profile.rootless {
            let filter = DomainFilter::plain(&["one.test".to_owned()], &[]);
            vec![Zone { filter, ..Zone::new(&instance(), "z0", DnsName::root()) }]
        } else {
            let zone = |(at, apex): (usize, &&str)| Zone::new(&instance(), &format!("z{at}"), name(apex));
            setup.zones.iter().enumerate().map(zone).collect()
        };
        let party = |daemon: &crate::setup::Daemon| Party {
            owner: daemon.owner.map(str::to_owned),
            may_delete: setup.policy == Policy::Sync,
            may_update: setup.policy != Policy::CreateOnly,
            dry_run: daemon.dry_run,
            brake: setup.brake,
            grace: setup.grace,
        };
        let parties = setup.daemons.iter().map(party).collect();
        let truth = Truth::new(setup.profile.clone(), zones, setup.affix, parties, tell);
        Self {
            truth: Arc::new(Mutex::new(truth)),
            clusters: (0..setup.clusters).map(|_| Cluster::new()).collect(),
            weather: Arc::default(),
            seats: setup.daemons.iter().map(|_| Seat { process: None, drawer: Arc::default(), skew: 0 }).collect(),
            peer: Peer::new("p", setup.blunt),
            begun: Instant::now(),
            rested: true,
            setup: setup.clone(),
            seed,
        }
    }

    pub(crate) fn truth(&self) -> std::sync::MutexGuard<'_, Truth> {
        lock(&self.truth)
    }

    pub(crate) fn is_broken(&self) -> bool {
        self.truth().violation.is_some()
    }

    pub(crate) fn set_weather(&self, nonce: u64, rough: bool) {
        lock(&self.weather).turn(nonce, rough);
    }

    fn now(&self, daemon: usize) -> Timestamp {
        let elapsed = i64::try_from(self.begun.elapsed().as_millis()).unwrap_or(i64::MAX);
        Timestamp((DAWN + self.seats[daemon].skew) * 1_000 + elapsed)
    }

    fn registry(&self, daemon: usize) -> Arc<dyn Registry> {
        let Some(owner) = self.setup.daemons[daemon].owner else { return Arc::new(NoopRegistry) };
        let config = TxtConfig::new(owner).expect("the simulator's owners are owners");
        let affix = self.setup.affix;
        let config = TxtConfig { prefix: affix.prefix.to_owned(), suffix: affix.suffix.to_owned(), ..config };
        Arc::new(TxtRegistry::new(config).expect("the simulator's affixes are affixes"))
    }

    fn config(&self, daemon: usize) -> Config {
        Config {
            policy: self.setup.policy,
            same_name: self.setup.same_name,
            status_grace: self.setup.grace,
            interval: self.setup.interval,
            brake: self.setup.brake,
            settle: self.setup.profile.lag,
            dry_run: self.setup.daemons[daemon].dry_run,
            seed: Some(self.seed ^ daemon as u64),
            ..Config::default()
        }
    }

    /// Starts a daemon that does not run.
    pub(crate) async fn start(&mut self, daemon: usize) {
        let dead = Arc::new(AtomicBool::new(false));
        let clock = Clock::starting_at(self.now(daemon));
        let cluster = self.clusters[self.setup.daemons[daemon].cluster].clone();
        let line = Line {
            daemon,
            truth: self.truth.clone(),
            cluster: cluster.clone(),
            weather: self.weather.clone(),
            dead: dead.clone(),
            clock,
        };
        let instance = Instance {
            id: instance(),
            provider: Arc::new(line),
            registry: self.registry(daemon),
            options: OptionTable::NONE,
        };
        let parts = Parts {
            sources: vec![cluster.feed()],
            instances: vec![instance],
            name_policy: Arc::new(PermitAll),
            store: Arc::new(Shelf { drawer: self.seats[daemon].drawer.clone(), dead: dead.clone() }),
            reporter: Arc::new(Scribe { daemon, truth: self.truth.clone() }),
            metrics: Arc::new(Metrics::default()),
            clock,
            journal: Journaling { mode: Mode::Off, ..Journaling::default() },
            own_object: None,
        };
        let engine = Engine::start(self.config(daemon), parts).await;
        self.seats[daemon].process = Some(Process { engine, dead });
    }

    pub(crate) async fn start_all(&mut self) {
        for daemon in 0..self.seats.len() {
            if self.seats[daemon].process.is_none() {
                self.start(daemon).await;
            }
        }
    }

    /// Ends a process in good order, or what is left of a dead one.
    pub(crate) async fn stop(&mut self, daemon: usize) {
        let Some(process) = self.seats[daemon].process.take() else { return };
        process.engine.stop().await;
        if process.dead.load(Ordering::SeqCst) {
            let saved = lock(&self.seats[daemon].drawer).saved.unwrap_or(self.begun);
            self.truth().forget(daemon, saved);
        }
    }

    /// What died is started again.
    pub(crate) async fn revive(&mut self) {
        for daemon in 0..self.seats.len() {
            let is_dead = |process: &Process| process.dead.load(Ordering::SeqCst);
            if self.seats[daemon].process.as_ref().is_some_and(is_dead) {
                self.stop(daemon).await;
                self.start(daemon).await;
            }
        }
    }

    /// One round.
    pub(crate) async fn step(&mut self, step: &Step) {
        lock(&self.weather).turn(step.nonce, step.rough);
        let rested = std::mem::replace(&mut self.rested, !step.hasty);
        self.truth().calm = rested;
        self.act(&step.action).await;
        if step.hasty {
            sleep(Duration::from_millis(1)).await;
        } else {
            self.rest().await;
        }
        self.revive().await;
        self.truth().check_shadows(false);
    }

    /// Lets every daemon come to rest. Returns what they say.
    pub(crate) async fn rest(&mut self) -> Vec<Outcome> {
        sleep(Duration::from_millis(1)).await;
        let mut outcomes = Vec::new();
        for (daemon, seat) in self.seats.iter().enumerate() {
            let Some(process) = &seat.process else { continue };
            match timeout(Duration::from_mins(30), process.engine.settled()).await {
                Ok(outcome) => outcomes.push(outcome),
                Err(_) => self.truth().broken("a daemon comes to rest", format!("daemon {daemon} does not")),
            }
        }
        outcomes
    }

    /// Whether some daemon is in a fight.
    pub(crate) fn fights(&self) -> bool {
        self.seats.iter().filter_map(|seat| seat.process.as_ref()).any(|process| !process.engine.fights().is_empty())
    }

    /// Approves whatever is held; returns whether there was anything.
    pub(crate) fn approve(&self, daemon: usize) -> bool {
        let Some(process) = &self.seats[daemon].process else { return false };
        let plans = process.engine.plans();
        for (zone, plan) in &plans {
            let until = self.now(daemon).plus(self.setup.brake.approval_ttl);
            self.truth().approve(daemon, zone, plan.deletes.keys().cloned(), until);
            process.engine.approve(&plan.hash);
        }
        !plans.is_empty()
    }

    pub(crate) fn holds(&self, daemon: usize) -> bool {
        self.seats[daemon].process.as_ref().is_some_and(|process| !process.engine.plans().is_empty())
    }

    async fn act(&mut self, action: &Action) {
        match action {
            Action::Put(cluster, id, spec) => self.clusters[*cluster].put(*id, spec),
            Action::Blank(cluster, id) => self.clusters[*cluster].blank(*id),
            Action::Delete(cluster, id) => self.clusters[*cluster].delete(*id),
            Action::Vanish(cluster, id) => self.clusters[*cluster].vanish(*id),
            Action::LoseWatch(cluster, kind) => self.clusters[*cluster].lose_watch(*kind),
            Action::Empty(cluster, kind, lies) => self.clusters[*cluster].empty(*kind, *lies),
            Action::Mend(cluster, kind) => self.clusters[*cluster].mend(*kind),
            Action::Human(key, deed) => self.human(key, deed),
            Action::PeerWish(key, wish) => self.peer.wish(key, wish.clone()),
            Action::PeerList => self.peer.list(&lock(&self.truth)),
            Action::PeerApply => self.peer.apply(&mut lock(&self.truth)),
            Action::Restart(daemon) => {
                self.stop(*daemon).await;
                self.start(*daemon).await;
            }
            Action::Crash(daemon) => {
                if let Some(process) = &self.seats[*daemon].process {
                    process.dead.store(true, Ordering::SeqCst);
                }
                self.revive().await;
            }
            Action::Clock(daemon, by) => {
                self.stop(*daemon).await;
                self.seats[*daemon].skew += by;
                self.start(*daemon).await;
            }
            Action::Approve(daemon) => {
                self.approve(*daemon);
            }
            Action::LoseZone(zone) => {
                let mut weather = lock(&self.weather);
                // A zone below another stays: where it is gone and comes back, names have been written above it meanwhile.
                weather.lost = Some((*zone, *zone > 0 || weather.nonce.is_multiple_of(2)));
            }
            Action::Refuse(name) => {
                let mut weather = lock(&self.weather);
                weather.refused = true;
                weather.bad.insert(name.clone());
            }
            Action::Relent => {
                self.relent();
            }
            Action::Wait(seconds) => sleep(Duration::from_secs(*seconds)).await,
        }
    }

    /// The provider is at peace again. Returns whether it ever refused a name.
    pub(crate) fn relent(&self) -> bool {
        let mut weather = lock(&self.weather);
        weather.lost = None;
        weather.bad.clear();
        weather.refused
    }

    fn human(&self, key: &RecordKey, deed: &Deed) {
        let mut truth = self.truth();
        let zone = truth.zone_of(&key.name);
        let stands = truth.zones[zone].sets.get(key).cloned();
        let place = truth.places(zone, key).into_iter().map(|(place, _)| place);
        let place = place.into_iter().find(|place| place.name.is_within(&truth.zones[zone].zone.name));
        let claim = place.as_ref().and_then(|place| truth.zones[zone].sets.get(place).cloned());
        let change = match deed {
            Deed::Write(data) => write(&truth, zone, key, data),
            Deed::Add(_) if stands.is_none() || key.rtype == RecordType::Cname => None,
            Deed::Add(data) => stands.map(|stands| {
                (
                    key.clone(),
                    Some(with(
                        Some(&stands),
                        &RecordSet { data: RecordData::records([data.clone()]), ..stands.clone() },
                    )),
                )
            }),
            Deed::Remove => stands.map(|_| (key.clone(), None)),
            Deed::Disown => claim.map(|claim| (claim.key, None)),
            Deed::Assign(owner) => place.map(|place| {
                let says =
                    format!("\"heritage=external-dns,external-dns/owner={owner},external-dns/resource=service/ns/o9\"");
                (place.clone(), Some(text(&place, &says)))
            }),
            Deed::Remark | Deed::Dispute => claim.map(|claim| {
                let stranger = "heritage=external-dns,external-dns/owner=stranger";
                let says = if *deed == Deed::Dispute { stranger } else { "a remark" };
                let more = text(&claim.key, says);
                (claim.key.clone(), Some(RecordSet { ttl: claim.ttl, ..with(Some(&claim), &more) }))
            }),
            Deed::Scribble => {
                claim.map(|claim| (claim.key.clone(), Some(text(&claim.key, "heritage=external-dns,scribble"))))
            }
        };
        // A zone file's own rules hold for humans too.
        let legal = |(key, to): &(RecordKey, Option<RecordSet>)| {
            let others = |cname| {
                truth.zones[zone]
                    .sets
                    .keys()
                    .any(|other| other.name == key.name && other != key && (cname || other.rtype == RecordType::Cname))
            };
            to.is_none() || !others(key.rtype == RecordType::Cname)
        };
        if let Some(change) = change.filter(legal) {
            truth.foreign(Author::Human, zone, &[change]);
        }
    }

    pub(crate) fn is_ours(&self, daemon: usize, zone: usize, key: &RecordKey) -> bool {
        self.truth().is_of(daemon, zone, key)
    }

    pub(crate) fn right(&self, zone: usize, key: &RecordKey) -> Right {
        self.truth().right(zone, key)
    }

    /// Every record set of a managed type.
    pub(crate) fn records(&self) -> Vec<(usize, RecordSet)> {
        let truth = self.truth();
        let of = |(zone, content): (usize, &crate::truth::Content)| {
            content
                .sets
                .values()
                .filter(|set| MANAGED.contains(&set.key.rtype))
                .map(|set| (zone, set.clone()))
                .collect::<Vec<_>>()
        };
        truth.zones.iter().enumerate().flat_map(of).collect()
    }

    /// Whether a daemon wrote, since a moment, a name at which every object has targets.
    pub(crate) fn has_written(&self, since: Instant) -> bool {
        let pending: BTreeSet<DnsName> = self.clusters.iter().flat_map(|cluster| cluster.pending()).collect();
        let late = |times: &std::collections::VecDeque<Instant>| times.back().is_some_and(|at| *at > since);
        self.truth().written.iter().any(|((_, name), times)| !pending.contains(name) && late(times))
    }

    /// How often each daemon wrote each name within the last hour.
    pub(crate) fn writes_of_late(&self) -> BTreeMap<(usize, DnsName), usize> {
        let truth = self.truth();
        let recent = |times: &std::collections::VecDeque<Instant>| {
            times.iter().filter(|at| at.elapsed() < Duration::from_hours(1)).count()
        };
        truth.written.iter().map(|(key, times)| (key.clone(), recent(times))).collect()
    }
}

fn write(truth: &Truth, zone: usize, key: &RecordKey, data: &RData) -> Option<(RecordKey, Option<RecordSet>)> {
    let to = set(key, [data.clone()]);
    let same = truth.zones[zone].sets.get(key) == Some(&to);
    // A text where a claim stands would take it away; there is a deed for that.
    let claim = truth.zones[zone].sets.get(key).is_some_and(crate::names::speaks);
    let at_apex = key.rtype == RecordType::Cname && key.name == truth.zones[zone].zone.name;
    (!(same || claim || at_apex)).then(|| (key.clone(), Some(to)))
}
