//! Takes over what sources report, and sends dirty names to the zones.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use futures::future::select_all;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};
use zonewright_core::clock::Timestamp;
use zonewright_core::rtype::RecordType;
use zonewright_core::source::{Evidence, SourceErrors};

use crate::context::EngineContext;
use crate::metrics::{ByKind, ByType};
use crate::provider_instance::ProviderInstance;
use crate::quotas;
use crate::table_sizes;
use crate::zone_handle::ZoneHandle;

/// The loop turns at least this often, so that health can see it.
const TURN: Duration = Duration::from_secs(5);

/// Runs until cancelled.
pub(crate) async fn run(context: Arc<EngineContext>, cancel: CancellationToken) {
    let mut intake =
        Intake { full_due: Instant::now(), graced: context.clock.now(), begun: Instant::now(), failures: 0, context };
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
    context: Arc<EngineContext>,
    full_due: Instant,
    graced: Timestamp,
    begun: Instant,
    /// Failures of the sources that are counted.
    failures: u64,
}

impl Intake {
    fn next(&self) -> Instant {
        let start = self.begun + self.context.config.start_timeout;
        let now = self.context.clock.now();
        let grace = self.context.desired_state().table.next_grace_end(self.context.config.status_grace, self.graced);
        let grace = grace.map(|end| Instant::now() + end.since(now) + Duration::from_millis(1));
        let mut next = self.full_due;
        if !self.context.has_started() && !self.context.config.one_pass && start > Instant::now() {
            next = next.min(start);
        }
        grace.map_or(next, |end| next.min(end))
    }

    fn turn(&mut self) {
        let context = self.context.clone();
        *context.intake_turned.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        let everything = Instant::now() >= self.full_due;
        if everything {
            self.full_due = Instant::now() + context.config.interval.max(Duration::from_secs(1));
        }
        let reported = context.remaps.reported();
        self.evidence();
        self.errors();
        for source in &context.sources {
            let update = source.take(everything);
            if update.objects.is_empty() && !update.complete {
                continue;
            }
            let mut taken = context.desired_state().table.take(update, context.clock.now());
            taken.dirty.extend(quotas::settle(&context, Some(&taken.namespaces)));
            context.pass_on(taken.notes);
            if taken.cleared {
                context.zone_handles().iter().for_each(|handle| handle.inbox.recheck());
            }
            if !taken.dirty.is_empty() {
                debug!(names = taken.dirty.len(), "names to plan");
                context.dispatch(&taken.dirty);
            }
        }
        context.remaps.take(reported);
        self.grace();
        self.start();
        if everything {
            table_sizes::sweep(&context);
            self.measure();
            table_sizes::publish(&context);
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
        self.context.desired_state().errors = SourceErrors { failures, standing, unread };
    }

    /// Takes over how far the sources' views can be trusted; what waited for it is looked at again.
    fn evidence(&mut self) {
        let mut evidence = Evidence::default();
        for source in &self.context.sources {
            evidence.merge(source.evidence());
        }
        let mut desired_state = self.context.desired_state();
        if desired_state.evidence == evidence {
            return;
        }
        let trust = |e: &Evidence| -> Vec<_> {
            e.kinds.iter().map(|(kind, state)| (kind.clone(), state.is_evidence(), state.unreadable > 0)).collect()
        };
        let moved = trust(&desired_state.evidence) != trust(&evidence);
        let seen: Vec<String> =
            evidence.kinds.iter().filter(|(_, s)| s.objects > 0).map(|(k, _)| k.to_string()).collect();
        for (kind, state) in &evidence.kinds {
            let label = ByKind { kind: kind.to_string() };
            self.context.metrics.objects.get_or_create(&label).set(i64::try_from(state.objects).unwrap_or(i64::MAX));
            self.context.metrics.evidence.get_or_create(&label).set(i64::from(state.is_evidence()));
        }
        desired_state.evidence = evidence;
        drop(desired_state);
        self.context.state.saw(seen);
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

    /// Counts what is asked for and what is published, by type.
    fn measure(&self) {
        let metrics = &self.context.metrics;
        let of = |instance: &Arc<ProviderInstance>| {
            let place = |handle: Arc<ZoneHandle>| (instance.clone(), handle);
            instance.zone_handles().into_iter().map(place).collect::<Vec<_>>()
        };
        let places: Vec<(Arc<ProviderInstance>, Arc<ZoneHandle>)> =
            self.context.instances.iter().flat_map(of).collect();
        let mut published = Counts::default();
        for (_, handle) in &places {
            handle.view().types().for_each(|rtype| published.count(rtype));
        }
        let (mut asked, mut verified) = (Counts::default(), Counts::default());
        for endpoint in self.context.desired_state().table.endpoints() {
            asked.count(endpoint.rtype);
            let stands = |(instance, handle): &(Arc<ProviderInstance>, Arc<ZoneHandle>)| {
                endpoint.name.is_within(&handle.zone.name) && instance.has_published(handle, endpoint)
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
