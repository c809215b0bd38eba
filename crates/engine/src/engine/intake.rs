//! Takes over what sources tell, and sends dirty names to the zones.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use futures::future::select_all;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};
use zonewright_core::capability::Capability;
use zonewright_core::clock::Timestamp;
use zonewright_core::record::RecordKey;
use zonewright_core::rtype::RecordType;
use zonewright_core::source::{Evidence, SourceErrors};

use super::board::{Board, Desk};
use super::{quotas, tables};
use crate::metrics::{ByKind, ByType};

/// The loop turns at least this often, so that health can see it.
const TURN: Duration = Duration::from_secs(5);

/// Runs until cancelled.
pub(super) async fn run(board: Arc<Board>, cancel: CancellationToken) {
    let mut intake =
        Intake { full_due: Instant::now(), graced: board.clock.now(), begun: Instant::now(), failures: 0, board };
    loop {
        intake.turn();
        let board = intake.board.clone();
        let wake = async {
            if board.sources.is_empty() {
                std::future::pending::<()>().await;
            }
            select_all(board.sources.iter().map(|source| source.changed())).await;
        };
        let deadline = intake.next();
        tokio::select! {
            biased;
            () = cancel.cancelled() => return,
            () = wake => {}
            () = sleep(TURN) => {}
            () = sleep_until(deadline) => {}
        }
    }
}

struct Intake {
    board: Arc<Board>,
    full_due: Instant,
    graced: Timestamp,
    begun: Instant,
    /// Failures of the sources that are counted.
    failures: u64,
}

impl Intake {
    fn next(&self) -> Instant {
        let start = self.begun + self.board.config.start_timeout;
        let now = self.board.clock.now();
        let grace = self.board.asks().desired.next_grace_end(self.board.config.status_grace, self.graced);
        let grace = grace.map(|end| Instant::now() + end.since(now) + Duration::from_millis(1));
        let mut next = self.full_due;
        if !self.board.has_started() && !self.board.config.one_pass && start > Instant::now() {
            next = next.min(start);
        }
        grace.map_or(next, |end| next.min(end))
    }

    fn turn(&mut self) {
        let board = self.board.clone();
        *board.intake_turned.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        let everything = Instant::now() >= self.full_due;
        if everything {
            self.full_due = Instant::now() + board.config.interval.max(Duration::from_secs(1));
        }
        let told = board.published.told();
        self.evidence();
        self.errors();
        for source in &board.sources {
            let update = source.take(everything);
            if update.objects.is_empty() && !update.complete {
                continue;
            }
            let mut taken = board.asks().desired.take(update, board.clock.now());
            taken.dirty.extend(quotas::settle(&board, Some(&taken.namespaces)));
            board.pass_on(taken.notes);
            if taken.cleared {
                board.desks().iter().for_each(|desk| desk.inbox.recheck());
            }
            if !taken.dirty.is_empty() {
                debug!(names = taken.dirty.len(), "names to plan");
                board.dispatch(&taken.dirty);
            }
        }
        board.published.take(told);
        self.grace();
        self.start();
        if everything {
            tables::sweep(&board);
            self.measure();
            tables::publish(&board);
        }
    }

    /// Takes over what is wrong with reading.
    fn errors(&mut self) {
        let all: Vec<SourceErrors> = self.board.sources.iter().map(|source| source.errors()).collect();
        let failures = all.iter().map(|troubles| troubles.failures).sum();
        let (mut standing, mut unread) = (Vec::new(), BTreeMap::new());
        for troubles in all {
            standing.extend(troubles.standing);
            unread.extend(troubles.unread);
        }
        let metrics = &self.board.metrics;
        metrics.source_errors.inc_by(failures - std::mem::replace(&mut self.failures, failures).min(failures));
        metrics.source_faults.set(i64::try_from(standing.len()).unwrap_or(i64::MAX));
        self.board.asks().troubles = SourceErrors { failures, standing, unread };
    }

    /// Takes over how far the sources' views can be trusted; what waited for it is looked at again.
    fn evidence(&mut self) {
        let mut evidence = Evidence::default();
        for source in &self.board.sources {
            evidence.merge(source.evidence());
        }
        let mut asks = self.board.asks();
        if asks.evidence == evidence {
            return;
        }
        let trust = |e: &Evidence| -> Vec<_> {
            e.kinds.iter().map(|(kind, state)| (kind.clone(), state.is_evidence(), state.unreadable > 0)).collect()
        };
        let moved = trust(&asks.evidence) != trust(&evidence);
        let seen: Vec<String> =
            evidence.kinds.iter().filter(|(_, s)| s.objects > 0).map(|(k, _)| k.to_string()).collect();
        for (kind, state) in &evidence.kinds {
            let label = ByKind { kind: kind.to_string() };
            self.board.metrics.objects.get_or_create(&label).set(i64::try_from(state.objects).unwrap_or(i64::MAX));
            self.board.metrics.evidence.get_or_create(&label).set(i64::from(state.is_evidence()));
        }
        asks.evidence = evidence;
        drop(asks);
        self.board.state.saw(seen);
        if moved {
            self.board.desks().iter().for_each(|desk| desk.inbox.recheck());
        }
    }

    /// Names whose grace is over are planned again.
    fn grace(&mut self) {
        let now = self.board.clock.now();
        let grace = self.board.config.status_grace;
        let due = self.board.asks().desired.next_grace_end(grace, self.graced).is_some_and(|end| end <= now);
        if due {
            let names = self.board.asks().desired.past_grace(grace, now);
            self.board.dispatch(&names);
            self.board.desks().iter().for_each(|desk| desk.inbox.recheck());
        }
        self.graced = now;
    }

    fn start(&self) {
        if self.board.has_started() {
            return;
        }
        let (settled, unread) = {
            let evidence = &self.board.asks().evidence;
            let unread = evidence.kinds.iter().filter(|(_, state)| !state.complete).map(|(kind, _)| kind.to_string());
            (evidence.is_settled(), unread.collect::<Vec<_>>().join(", "))
        };
        let config = &self.board.config;
        let late = !config.one_pass && self.begun.elapsed() >= config.start_timeout;
        if settled || late {
            if unread.is_empty() {
                info!("sources are read; planning begins");
            } else {
                warn!(
                    unread,
                    "planning begins, though not everything could be read; nothing is deleted that rests on what is missing"
                );
            }
            quotas::begin(&self.board);
            self.board.started.send_replace(true);
            self.board.desks().iter().for_each(|desk| desk.inbox.wake());
        }
    }

    /// Counts what is asked for and what is published, by type.
    fn measure(&self) {
        let metrics = &self.board.metrics;
        let places: Vec<(Capability, Arc<Desk>)> = self
            .board
            .offices
            .iter()
            .flat_map(|office| {
                let provider = &office.instance.provider;
                office.desks().into_iter().map(|desk| (provider.capability(Some(&desk.zone)), desk)).collect::<Vec<_>>()
            })
            .collect();
        let mut published = Counts::default();
        for (_, desk) in &places {
            desk.view().types().for_each(|rtype| published.count(rtype));
        }
        let (mut asked, mut verified) = (Counts::default(), Counts::default());
        for endpoint in self.board.asks().desired.endpoints() {
            asked.count(endpoint.rtype);
            let stands = |(capability, desk): &(Capability, Arc<Desk>)| {
                let set_id = capability.identifier(endpoint.set_id.as_ref()).cloned();
                desk.view().holds(&RecordKey { name: endpoint.name.clone(), rtype: endpoint.rtype, set_id })
            };
            if places.iter().any(stands) {
                verified.count(endpoint.rtype);
            }
        }
        metrics.registry_endpoints.set(published.total());
        metrics.source_endpoints.set(asked.total());
        published.publish(&metrics.registry_records);
        asked.publish(&metrics.source_records);
        verified.publish(&metrics.verified);
    }
}

/// Numbers by record type.
#[derive(Default)]
struct Counts(BTreeMap<RecordType, i64>);

impl Counts {
    fn count(&mut self, rtype: RecordType) {
        *self.0.entry(rtype).or_default() += 1;
    }

    fn total(&self) -> i64 {
        self.0.values().sum()
    }

    /// Replaces the whole family, so that a type that is gone does not keep its last number.
    fn publish(&self, family: &Family<ByType, Gauge>) {
        family.clear();
        for (rtype, count) in &self.0 {
            family.get_or_create(&ByType { record_type: rtype.lower() }).set(*count);
        }
    }
}
