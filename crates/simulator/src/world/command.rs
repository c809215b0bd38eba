//! The commands on claims, and undo, as a person gives them beside a running daemon.
//!
//! In: a command. Out: what it changes, over a line of its own on which nothing fails by chance; judged by what it may touch.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use tokio::time::timeout;
use zonewright_core::claim::OwnerId;
use zonewright_core::clock::{Clock, Timestamp};
use zonewright_core::registry::OwnershipChange;
use zonewright_engine::journal::{Cause, JournalWriter, Query, WriterId};
use zonewright_engine::layer::Layers;
use zonewright_engine::metrics::Metrics;
use zonewright_engine::ownership::{InstanceSnapshot, Proposal, Scope, Selector};
use zonewright_engine::{Instance, UndoRequest};

use super::{World, instance};
use crate::cluster::Sight;
use crate::line::Line;
use crate::step::Command;

/// How long a command may take. Its own attempts end before.
const LIMIT: Duration = Duration::from_mins(10);

impl World {
    /// Carries a command out for the owner of a daemon.
    pub(super) async fn command(&self, daemon: usize, command: &Command) {
        if self.setup.daemons[daemon].owner.is_none() || self.setup.daemons[daemon].dry_run {
            return;
        }
        let done = match command {
            Command::Undo(seconds) => timeout(LIMIT, self.undo(daemon, *seconds)).await,
            _ => timeout(LIMIT, self.orders(daemon, command)).await,
        };
        if done.is_err() {
            self.truth().tell(|| "the command is broken off".to_owned());
        }
    }

    /// A command goes through every instance.
    async fn orders(&self, daemon: usize, command: &Command) {
        for at in 0..self.setup.instances() {
            self.order(daemon, at, command).await;
        }
    }

    async fn order(&self, daemon: usize, at: usize, command: &Command) {
        let clock = Clock::starting_at(self.now(daemon));
        let line = Arc::new(Line {
            daemon,
            instance: instance(at),
            command: Some(matches!(command, Command::Drain(_))),
            truth: self.truth.clone(),
            sight: Sight { instance: Some(at), ..self.sight(daemon) },
            weather: self.weather.clone(),
            dead: Arc::new(AtomicBool::new(false)),
            clock,
        });
        let registry = self.registry(daemon, &line);
        let layers = Layers { seed: Some(self.seed), ..Layers::new(instance(at)) };
        let provider = layers.around(line, &Arc::new(Metrics::default()));
        let bare = Instance::new(instance(at), provider, registry);
        let select = match command {
            Command::Transfer(name, _) | Command::Release(name) | Command::Drain(name) => {
                vec![Selector::Below(name.clone())]
            }
            Command::Adopt | Command::Undo(_) => Vec::new(),
        };
        let scope = Scope { filter: self.filter(daemon), managed: self.managed(), select };
        let Ok(snapshot) = InstanceSnapshot::read(bare, scope).await else { return };
        let (proposal, cause) = self.propose(daemon, command, &snapshot);
        let journal = JournalWriter::new(self.journaling(daemon), clock, WriterId::from(7));
        let origin = journal.origin(cause);
        snapshot.carry_out(&proposal.actions, &journal, &origin).await;
    }

    fn propose(&self, daemon: usize, command: &Command, snapshot: &InstanceSnapshot) -> (Proposal, Cause) {
        match command {
            Command::Transfer(_, to) => match OwnerId::new(to) {
                Some(owner) => (snapshot.hand_over(&OwnershipChange::Give(owner)), Cause::Transfer),
                None => (Proposal::default(), Cause::Transfer),
            },
            Command::Release(_) => (snapshot.hand_over(&OwnershipChange::Disown), Cause::Release),
            Command::Drain(_) => (snapshot.drain(), Cause::Drain),
            Command::Adopt | Command::Undo(_) => {
                let wanted = self.seats[daemon].process.as_ref().map(|process| process.engine.adoptable());
                (snapshot.adopt(&wanted.unwrap_or_default(), &std::collections::BTreeSet::new()), Cause::Adopt)
            }
        }
    }

    /// Undoes what was done in the last seconds.
    async fn undo(&self, daemon: usize, seconds: u64) {
        let Some(process) = &self.seats[daemon].process else { return };
        let back = i64::try_from(seconds).unwrap_or(0) * 1_000;
        let since = Timestamp(self.now(daemon).0 - back);
        let query = Query { since: Some(since), ..Query::default() };
        let request = UndoRequest { query, pin_for: Duration::from_hours(24) };
        let Ok(plan) = process.engine.plan_undo(&request).await else { return };
        self.truth().undoing.insert(daemon);
        let report = process.engine.undo(&plan.hash).await;
        self.truth().undoing.remove(&daemon);
        if let Ok(report) = report {
            self.truth().tell(|| format!("{} names were set back", report.restored.len()));
        }
    }

    /// Names are no longer kept as an undo left them.
    pub(crate) fn follow_all(&self) {
        for process in self.seats.iter().filter_map(|seat| seat.process.as_ref()) {
            process.engine.unpin(None);
        }
    }
}
