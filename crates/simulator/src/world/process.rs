//! The processes of the daemons: in, a setup; out, a running engine over the models, started, ended and started again.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use zonewright_core::clock::{Clock, Timestamp};
use zonewright_core::contend::NameRules;
use zonewright_core::endpoint::{Note, Reporter, Severity};
use zonewright_core::engine::{Config, Engine, Instance, Parts};
use zonewright_core::journal::{Journaling, Mode};
use zonewright_core::metrics::Metrics;
use zonewright_core::name_policy::PermitAll;
use zonewright_core::options::OptionTable;
use zonewright_core::registry::Registry;
use zonewright_registry::configmap::{ConfigMapConfig, ConfigMapRegistry};
use zonewright_registry::noop::NoopRegistry;
use zonewright_registry::txt::{TxtConfig, TxtRegistry};

use super::{World, instance};
use crate::line::{Cabinet, Drawer, Line, Shelf, lock};
use crate::setup::Claims;
use crate::truth::Truth;

/// One process.
pub(super) struct Process {
    pub(super) engine: Engine,
    pub(super) dead: Arc<AtomicBool>,
}

/// A daemon with what survives its restarts.
pub(super) struct Seat {
    pub(super) process: Option<Process>,
    pub(super) drawer: Arc<Mutex<Drawer>>,
    /// How far its clock is off, in seconds.
    pub(super) skew: i64,
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

impl World {
    pub(super) fn now(&self, daemon: usize) -> Timestamp {
        let elapsed = i64::try_from(self.begun.elapsed().as_millis()).unwrap_or(i64::MAX);
        Timestamp((DAWN + self.seats[daemon].skew) * 1_000 + elapsed)
    }

    fn registry(&self, daemon: usize, line: &Arc<Line>) -> Arc<dyn Registry> {
        let Some(owner) = self.setup.daemons[daemon].owner else { return Arc::new(NoopRegistry) };
        if self.setup.claims == Claims::Objects {
            let config = ConfigMapConfig::new(owner, Arc::new(Cabinet(line.clone())))
                .expect("the simulator's owners are owners");
            // In every other history objects are so small that they have to be split.
            let limit = if self.seed.is_multiple_of(2) { 800 } else { config.limit };
            return Arc::new(ConfigMapRegistry::new(ConfigMapConfig { limit, ..config }));
        }
        let config = TxtConfig::new(owner).expect("the simulator's owners are owners");
        let affix = self.setup.affix;
        let config = TxtConfig { prefix: affix.prefix.to_owned(), suffix: affix.suffix.to_owned(), ..config };
        Arc::new(TxtRegistry::new(config).expect("the simulator's affixes are affixes"))
    }

    fn config(&self, daemon: usize) -> Config {
        Config {
            policy: self.setup.policy,
            names: NameRules { same_name: self.setup.same_name, ..NameRules::default() },
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
        let line = Arc::new(Line {
            daemon,
            truth: self.truth.clone(),
            cluster: cluster.clone(),
            weather: self.weather.clone(),
            dead: dead.clone(),
            clock,
        });
        let instance = Instance {
            id: instance(),
            registry: self.registry(daemon, &line),
            provider: line,
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
}
