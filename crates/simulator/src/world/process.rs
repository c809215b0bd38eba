//! The processes of the daemons: in, a setup; out, a running engine over the models, started, ended and started again.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use zonewright_core::RecordType;
use zonewright_core::clock::{Clock, Timestamp};
use zonewright_core::contend::NameRules;
use zonewright_core::endpoint::{Note, Reporter, Severity};
use zonewright_core::filter::DomainFilter;
use zonewright_core::name_policy::PermitAll;
use zonewright_core::plan::Policy;
use zonewright_core::registry::Registry;
use zonewright_engine::journal::{Journaling, MemoryJournal, Mode};
use zonewright_engine::metrics::Metrics;
use zonewright_engine::{Config, Engine, Instance, Parts};
use zonewright_registry::configmap::{ConfigMapConfig, ConfigMapRegistry};
use zonewright_registry::noop::NoopRegistry;
use zonewright_registry::txt::{FormerNames, TxtConfig, TxtRegistry};
use zonewright_registry_dynamodb::{DynamoConfig, DynamoRegistry};

use super::{World, instance};
use crate::cluster::Sight;
use crate::line::{Cabinet, Drawer, Line, Mood, StateLine, Table, lock};
use crate::names::{Affix, MANAGED, Rows};
use crate::setup::Claims;
use crate::step::Flags;
use crate::truth::Truth;

/// One process.
pub(super) struct Process {
    pub(super) engine: Engine,
    pub(super) dead: Arc<AtomicBool>,
    blind: Arc<AtomicBool>,
}

/// A daemon with what survives its restarts.
pub(super) struct Seat {
    pub(super) process: Option<Process>,
    pub(super) drawer: Arc<Mutex<Drawer>>,
    /// How far its clock is off, in seconds.
    pub(super) skew: i64,
    pub(super) journal: Arc<MemoryJournal>,
    /// What it is started with.
    pub(super) flags: Flags,
    /// Whether its claims ever stood at the other place.
    pub(super) has_moved: bool,
}

/// Writes into the story what is reported on objects.
struct StoryReporter {
    daemon: usize,
    truth: Arc<Mutex<Truth>>,
}

impl Reporter for StoryReporter {
    fn report(&self, note: &Note) {
        if note.severity == Severity::Warning {
            let sentence = || format!("daemon {} tells {}: {}", self.daemon, note.object, note.message);
            lock(&self.truth).tell(sentence);
        }
    }
}

fn filter(flags: Flags) -> DomainFilter {
    let excluded = if flags.narrow { vec!["n0.one.test".to_owned()] } else { Vec::new() };
    DomainFilter::plain(&[], &excluded)
}

/// The time when a history begins, in seconds since 1970.
const DAWN: i64 = 1_000_000;

impl World {
    pub(super) fn now(&self, daemon: usize) -> Timestamp {
        let elapsed = i64::try_from(self.begun.elapsed().as_millis()).unwrap_or(i64::MAX);
        Timestamp((DAWN + self.seats[daemon].skew) * 1_000 + elapsed)
    }

    pub(super) fn registry(&self, daemon: usize, line: &Arc<Line>) -> Arc<dyn Registry> {
        let Some(owner) = self.setup.daemons[daemon].owner else { return Arc::new(NoopRegistry) };
        if self.setup.claims == Claims::Objects {
            let config = ConfigMapConfig::new(owner, Arc::new(Cabinet(line.clone())))
                .expect("the simulator's owners are owners");
            // In every other history objects are so small that they have to be split.
            let limit = if self.seed.is_multiple_of(2) { 800 } else { config.limit };
            return Arc::new(ConfigMapRegistry::new(ConfigMapConfig { limit, ..config }));
        }
        let config = TxtConfig::new(owner).expect("the simulator's owners are owners");
        let (affix, former) = self.affixes(daemon);
        let names = |affix: Affix| FormerNames {
            prefix: affix.prefix.to_owned(),
            suffix: affix.suffix.to_owned(),
            wildcard_replacement: String::new(),
        };
        let former = former.into_iter().map(names).collect();
        let config = TxtConfig { prefix: affix.prefix.to_owned(), suffix: affix.suffix.to_owned(), former, ..config };
        if self.setup.claims == Claims::Table {
            // In every third history rows are taken as they were for a minute.
            let cache = Duration::from_secs(if self.seed.is_multiple_of(3) { 60 } else { 0 });
            let config = DynamoConfig { cache, ..DynamoConfig::new(config) };
            let registry = DynamoRegistry::over(Arc::new(Table(line.clone())), config);
            return Arc::new(registry.expect("the simulator's tables have a name"));
        }
        Arc::new(TxtRegistry::new(config).expect("the simulator's affixes are affixes"))
    }

    /// Where a daemon writes its claims, and where it knows that they stood before.
    pub(crate) fn affixes(&self, daemon: usize) -> (Affix, Option<Affix>) {
        let (seat, first) = (&self.seats[daemon], self.setup.affix);
        match self.setup.moves {
            Some(other) if seat.flags.moved => (other, Some(first)),
            Some(other) if seat.has_moved => (first, Some(other)),
            _ => (first, None),
        }
    }

    fn config(&self, daemon: usize) -> Config {
        Config {
            policy: self.seats[daemon].flags.policy,
            filter: filter(self.seats[daemon].flags),
            managed: self.managed(),
            names: NameRules { same_name: self.setup.same_name, ..NameRules::default() },
            status_grace: self.setup.grace,
            interval: self.setup.interval,
            brake: self.setup.brake,
            dry_run: self.setup.daemons[daemon].dry_run,
            seed: Some(self.seed ^ daemon as u64),
            ..Config::default()
        }
    }

    /// Starts a daemon that does not run.
    pub(crate) async fn start(&mut self, daemon: usize) {
        let dead = Arc::new(AtomicBool::new(false));
        let clock = Clock::starting_at(self.now(daemon));
        self.truth().begins(daemon, self.now(daemon));
        let blind = Arc::new(AtomicBool::new(false));
        let sight = self.sight(daemon);
        let feed = sight.cluster.feed(sight.sees);
        let line = |at: usize| {
            Arc::new(Line {
                daemon,
                instance: instance(at),
                command: None,
                truth: self.truth.clone(),
                sight: Sight { instance: Some(at), ..sight.clone() },
                weather: self.weather.clone(),
                dead: dead.clone(),
                clock,
            })
        };
        let lines: Vec<Arc<Line>> = (0..self.setup.instances()).map(line).collect();
        // One registry for all of them.
        let registry = self.registry(daemon, &lines[0]);
        let provider = |(at, line): (usize, Arc<Line>)| Instance::new(instance(at), line, registry.clone());
        let parts = Parts {
            sources: vec![feed],
            instances: lines.into_iter().enumerate().map(provider).collect(),
            name_policy: Arc::new(PermitAll),
            store: Arc::new(StateLine {
                daemon,
                truth: self.truth.clone(),
                drawer: self.seats[daemon].drawer.clone(),
                dead: dead.clone(),
                blind: blind.clone(),
            }),
            reporter: Arc::new(StoryReporter { daemon, truth: self.truth.clone() }),
            metrics: Arc::new(Metrics::default()),
            clock,
            journal: self.journaling(daemon),
            own_object: None,
        };
        let engine = Engine::start(self.config(daemon), parts).await;
        self.seats[daemon].process = Some(Process { engine, dead, blind });
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
        let dead = process.dead.load(Ordering::SeqCst);
        let (saved, full) = {
            let drawer = lock(&self.seats[daemon].drawer);
            (drawer.saved.unwrap_or(self.begun), drawer.mood == Mood::Full)
        };
        let mut truth = self.truth();
        let forgets = dead || full || process.blind.load(Ordering::SeqCst);
        truth.restarted(daemon, forgets.then_some(saved));
        if dead {
            truth.forget(daemon);
        }
    }

    /// The journal of a daemon, written where people give commands.
    pub(super) fn journaling(&self, daemon: usize) -> Journaling {
        let mode = if self.setup.commands { Mode::BestEffort } else { Mode::Off };
        Journaling { store: self.seats[daemon].journal.clone(), mode }
    }

    /// The names that a daemon may touch.
    pub(super) fn filter(&self, daemon: usize) -> DomainFilter {
        filter(self.seats[daemon].flags)
    }

    /// The types that daemons manage.
    pub(super) fn managed(&self) -> BTreeSet<RecordType> {
        MANAGED.into_iter().chain(self.setup.texts.then_some(RecordType::Txt)).collect()
    }

    /// What a daemon sees of its cluster, whatever instance it is for.
    pub(crate) fn sight(&self, daemon: usize) -> Sight {
        let cluster = self.clusters[self.setup.daemons[daemon].cluster].clone();
        let rows = Rows::of(&self.setup.profile.capability);
        Sight { cluster, sees: self.seats[daemon].flags.sees, rows, instance: None }
    }

    pub(crate) fn flags(&self, daemon: usize) -> Flags {
        self.seats[daemon].flags
    }

    /// Starts a daemon, and those that share owner and cluster with it, with other flags.
    pub(super) async fn restart_with(&mut self, daemon: usize, flags: Flags) {
        let of = |daemon: &crate::setup::Daemon| (daemon.owner, daemon.cluster);
        let same = of(&self.setup.daemons[daemon]);
        for other in 0..self.seats.len() {
            if of(&self.setup.daemons[other]) != same {
                continue;
            }
            self.stop(other).await;
            self.seats[other].flags = flags;
            self.seats[other].has_moved |= flags.moved;
            {
                let mut truth = self.truth();
                let party = &mut truth.parties[other];
                party.may_delete = flags.policy == Policy::Sync;
                party.may_update = flags.policy != Policy::CreateOnly;
                party.filter = flags.narrow.then(|| filter(flags));
            }
            self.start(other).await;
        }
    }

    /// What was wrong with the states is mended; who could not read his own starts again.
    pub(crate) async fn mend_states(&mut self) {
        for daemon in 0..self.seats.len() {
            lock(&self.seats[daemon].drawer).mood = Mood::Well;
            let is_blind = |process: &Process| process.blind.load(Ordering::SeqCst);
            if self.seats[daemon].process.as_ref().is_some_and(is_blind) {
                self.stop(daemon).await;
                self.start(daemon).await;
            }
        }
        self.truth().stateless.clear();
    }

    /// What died is started again. Returns whether anything was.
    pub(crate) async fn revive(&mut self) -> bool {
        let mut any = false;
        for daemon in 0..self.seats.len() {
            let is_dead = |process: &Process| process.dead.load(Ordering::SeqCst);
            if self.seats[daemon].process.as_ref().is_some_and(is_dead) {
                self.stop(daemon).await;
                self.usurp(daemon);
                self.start(daemon).await;
                any = true;
            }
        }
        any
    }
}
