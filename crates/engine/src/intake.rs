//! Takes over what sources report, and sends dirty names to the zones.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use futures::future::select_all;
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};
use zonewright_core::clock::Timestamp;
use zonewright_core::desired::Taken;
use zonewright_core::source::{Evidence, SourceErrors};

use crate::context::EngineContext;
use crate::emptied::{self, evidence_of};
use crate::filtered;
use crate::known_kinds::EmptiedKinds;
use crate::measure::Measure;
use crate::metrics::ByKind;
use crate::quotas;
use crate::review::Passes;
use crate::table_sizes;

/// The loop turns at least this often, so that health can see it.
const TURN: Duration = Duration::from_secs(20);

/// Runs until cancelled.
pub(crate) async fn run(context: Arc<EngineContext>, cancel: CancellationToken) {
    let mut intake = Intake::new(context);
    loop {
        intake.turn();
        let context = intake.context.clone();
        let wake = async {
            if context.sources.is_empty() {
                std::future::pending::<()>().await;
            }
            select_all(context.sources.iter().map(|source| source.changed())).await;
        };
        let deadline = intake.next();
        let looking = intake.measure.is_looking();
        tokio::select! {
            biased;
            () = cancel.cancelled() => return,
            () = wake => {}
            // All names take their time to be counted, and a change does not wait for that.
            () = intake.measure.go_on(&context), if looking => {}
            () = sleep(TURN) => {}
            () = sleep_until(deadline) => {}
        }
    }
}

/// How often it is looked whether the first pass is over.
const FIRST_PASS: Duration = Duration::from_secs(1);

struct Intake {
    context: Arc<EngineContext>,
    /// When numbers are shown and a part of the slow pass is made.
    round_due: Instant,
    /// Nothing was taken yet.
    first: bool,
    /// The numbers were shown after the first pass over all zones.
    measured: bool,
    graced: Timestamp,
    begun: Instant,
    /// Failures of the sources that are counted.
    failures: u64,
    passes: Passes,
    measure: Measure,
}

impl Intake {
    fn new(context: Arc<EngineContext>) -> Self {
        Self {
            round_due: Instant::now(),
            first: true,
            measured: false,
            graced: context.clock.now(),
            begun: Instant::now(),
            failures: 0,
            passes: Passes::default(),
            measure: Measure::default(),
            context,
        }
    }

    fn next(&self) -> Instant {
        let start = self.begun + self.context.config.start_timeout;
        let now = self.context.clock.now();
        let grace = self.context.desired_state().table.next_grace_end(self.context.config.status_grace, self.graced);
        let grace = grace.map(|end| Instant::now() + end.since(now) + Duration::from_millis(1));
        let mut next = self.round_due;
        if !self.context.has_started() && !self.context.config.one_pass && start > Instant::now() {
            next = next.min(start);
        }
        if !self.measured {
            next = next.min(Instant::now() + FIRST_PASS);
        }
        grace.map_or(next, |end| next.min(end))
    }

    fn turn(&mut self) {
        let context = self.context.clone();
        *context.intake_turned.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        let round = Instant::now() >= self.round_due;
        if round {
            self.round_due = Instant::now() + context.config.interval.max(Duration::from_secs(1));
        }
        let everything = std::mem::take(&mut self.first);
        let first_pass = !self.measured && context.has_started() && context.all_planned();
        self.measured |= first_pass;
        let reported = context.remaps.reported();
        // What can be relied on less is known before what it is about, and what can be relied on again after.
        let before = evidence_of(&context);
        let known = context.desired_state().evidence.clone();
        self.trust(before.clone().no_better_than(&known));
        self.errors();
        for source in &context.sources {
            let update = source.take(everything);
            if update.objects.is_empty() && !update.complete {
                continue;
            }
            let taken = context.desired_state().table.take(update, context.clock.now());
            self.took(taken);
        }
        self.trust(evidence_of(&context).no_better_than(&before));
        context.state.emptied(EmptiedKinds::applied);
        context.remaps.take(reported);
        // The first part of the review also lays out the tables that the start filled: then, and not in the time at rest.
        if (round || first_pass) && !everything {
            let taken = self.passes.step(&context);
            self.took(taken);
        }
        emptied::settle(&context);
        self.grace();
        self.start();
        if round || first_pass {
            table_sizes::prune(&context);
            self.measure.begin(&context);
            table_sizes::publish(&context);
        }
    }

    /// Sends what an update made dirty to where it is planned.
    fn took(&mut self, mut taken: Taken) {
        let context = &self.context;
        taken.dirty.extend(quotas::settle(context, Some(&taken.namespaces)));
        context.pass_on(taken.notes);
        filtered::report_waiting(context, &taken.waiting);
        filtered::report_edits(context, &taken.edits);
        filtered::report_outside(context, &taken.dirty);
        if taken.cleared {
            context.zone_handles().iter().for_each(|handle| handle.inbox.recheck());
        }
        if !taken.dirty.is_empty() {
            debug!(names = taken.dirty.len(), "names to plan");
            context.dispatch(&taken.dirty);
            self.measure.touch(taken.dirty);
        }
    }

    /// Takes over what is wrong with reading.
    fn errors(&mut self) {
        let all: Vec<SourceErrors> = self.context.sources.iter().map(|source| source.errors()).collect();
        let failures = all.iter().map(|errors| errors.failures).sum();
        let (mut standing, mut unread) = (Vec::new(), BTreeMap::new());
        for errors in all {
            standing.extend(errors.standing);
            unread.extend(errors.unread);
        }
        let metrics = &self.context.metrics;
        metrics.source_errors.inc_by(failures - std::mem::replace(&mut self.failures, failures).min(failures));
        metrics.source_faults.set(i64::try_from(standing.len()).unwrap_or(i64::MAX));
        let mut errors = SourceErrors { failures, standing, unread };
        emptied::explain(&self.context.state, &mut errors);
        self.context.desired_state().errors = errors;
    }

    /// Takes over how far the sources' views can be trusted; what waited for it is looked at again.
    fn trust(&mut self, evidence: Evidence) {
        let mut desired_state = self.context.desired_state();
        if desired_state.evidence == evidence {
            return;
        }
        let trust = |e: &Evidence| -> Vec<_> {
            e.kinds.iter().map(|(kind, state)| (kind.clone(), state.is_evidence(), state.unreadable > 0)).collect()
        };
        let moved = trust(&desired_state.evidence) != trust(&evidence);
        for (kind, state) in &evidence.kinds {
            let label = ByKind { kind: kind.to_string() };
            self.context.metrics.objects.get_or_create(&label).set(i64::try_from(state.objects).unwrap_or(i64::MAX));
            self.context.metrics.evidence.get_or_create(&label).set(i64::from(state.is_evidence()));
        }
        emptied::remember(&self.context.state, &evidence);
        desired_state.evidence = evidence;
        drop(desired_state);
        if moved {
            self.context.zone_handles().iter().for_each(|handle| handle.inbox.recheck());
        }
    }

    /// Names whose grace is over are planned again.
    fn grace(&mut self) {
        let now = self.context.clock.now();
        let grace = self.context.config.status_grace;
        let due = self.context.desired_state().table.next_grace_end(grace, self.graced).is_some_and(|end| end <= now);
        if due {
            let names = self.context.desired_state().table.past_grace(grace, now);
            self.context.dispatch(&names);
            self.context.zone_handles().iter().for_each(|handle| handle.inbox.recheck());
        }
        self.graced = now;
    }

    fn start(&self) {
        if self.context.has_started() {
            return;
        }
        let (settled, unread) = {
            let evidence = &self.context.desired_state().evidence;
            let unread = evidence.kinds.iter().filter(|(_, state)| !state.complete).map(|(kind, _)| kind.to_string());
            (evidence.is_settled(), unread.collect::<Vec<_>>().join(", "))
        };
        let config = &self.context.config;
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
            quotas::begin(&self.context);
            self.context.started.send_replace(true);
            self.context.zone_handles().iter().for_each(|handle| handle.inbox.wake());
        }
    }
}

#[cfg(test)]
#[path = "intake_tests.rs"]
mod tests;
