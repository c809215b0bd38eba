//! Numbers of what is asked for and what is published, by type.
//!
//! In: the names whose objects or records changed since the last look. Out: the metrics. The tables count themselves; what is asked
//! for and does not stand is kept by name, so that only names that changed are looked at again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::vec;

use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use tokio::task::yield_now;
use zonewright_core::endpoint::Endpoint;
use zonewright_core::name::DnsName;
use zonewright_core::rtype::RecordType;
use zonewright_core::view::Touched;

use crate::context::EngineContext;
use crate::metrics::ByType;
use crate::provider_instance::ProviderInstance;
use crate::worker::AT_A_TIME;
use crate::zone_handle::ZoneHandle;

/// A zone with its instance.
type InstanceZone = (Arc<ProviderInstance>, Arc<ZoneHandle>);
/// Numbers by record type.
type Counts = BTreeMap<RecordType, usize>;

/// More names that changed are not kept one by one: all are looked at.
const MOST: usize = 200_000;

/// What is known since the last look.
#[derive(Default)]
pub(crate) struct Measure {
    /// Names to look at.
    due: BTreeSet<DnsName>,
    /// Every name is to be looked at.
    everything: bool,
    /// The zones at the last look.
    zones: Vec<Arc<ZoneHandle>>,
    /// Endpoints that do not stand, by name.
    missing: BTreeMap<DnsName, Box<[RecordType]>>,
    /// Their number by type.
    missing_types: Counts,
    /// Names that are asked for and outside of the filter.
    filtered: BTreeSet<DnsName>,
    /// The look that is under way.
    look: Option<Look>,
}

/// Names that are still to be looked at, in the zones that there were at its beginning.
struct Look {
    names: vec::IntoIter<DnsName>,
    places: Vec<InstanceZone>,
}

impl Measure {
    /// What is asked for at these names changed.
    pub(crate) fn touch(&mut self, names: BTreeSet<DnsName>) {
        if !self.everything {
            self.due.extend(names);
            self.overflow();
        }
    }

    fn overflow(&mut self) {
        if self.due.len() > MOST {
            self.everything = true;
        }
        if self.everything {
            self.due.clear();
        }
    }

    /// Begins to look at what changed, unless a look is under way.
    pub(crate) fn begin(&mut self, context: &EngineContext) {
        if self.look.is_some() {
            return;
        }
        let of = |instance: &Arc<ProviderInstance>| {
            let place = |handle: Arc<ZoneHandle>| (instance.clone(), handle);
            instance.zone_handles().into_iter().map(place).collect::<Vec<_>>()
        };
        let places: Vec<InstanceZone> = context.instances.iter().flat_map(of).collect();
        for (_, handle) in &places {
            self.collect(handle);
        }
        let known = places.len() == self.zones.len()
            && places.iter().zip(&self.zones).all(|((_, handle), known)| Arc::ptr_eq(handle, known));
        if !known {
            self.zones = places.iter().map(|(_, handle)| handle.clone()).collect();
            self.everything = true;
        }
        let mut names: Vec<DnsName> = std::mem::take(&mut self.due).into_iter().collect();
        if std::mem::take(&mut self.everything) {
            self.missing.clear();
            self.missing_types.clear();
            self.filtered.clear();
            names = context.desired_state().table.names().cloned().collect();
        }
        self.look = Some(Look { names: names.into_iter(), places });
    }

    /// Whether a look is under way.
    pub(crate) fn is_looking(&self) -> bool {
        self.look.is_some()
    }

    /// Looks at the names, and shows the numbers in the end. Whoever has something better to do may drop it at any time: the next call goes
    /// on from there.
    pub(crate) async fn go_on(&mut self, context: &EngineContext) {
        let mut number = 0;
        while let Some(look) = &mut self.look {
            let Some(name) = look.names.next() else { break };
            let missing = missing(context, &look.places, &name);
            self.note(context, name, missing);
            number += 1;
            if number % AT_A_TIME == 0 {
                yield_now().await;
            }
        }
        if let Some(look) = self.look.take() {
            self.show(context, &look.places);
        }
    }

    fn show(&self, context: &EngineContext, places: &[InstanceZone]) {
        let mut published = Counts::new();
        for (_, handle) in places {
            for (rtype, count) in handle.view().types() {
                *published.entry(*rtype).or_default() += count;
            }
        }
        let asked = context.desired_state().table.types().clone();
        let stands = |(rtype, count): (&RecordType, &usize)| {
            let missing = self.missing_types.get(rtype).copied().unwrap_or_default();
            Some((*rtype, count.saturating_sub(missing))).filter(|(_, count)| *count > 0)
        };
        let verified: Counts = asked.iter().filter_map(stands).collect();
        let metrics = &context.metrics;
        metrics.registry_endpoints.set(total(&published));
        metrics.filtered_names.set(i64::try_from(self.filtered.len()).unwrap_or(i64::MAX));
        metrics.source_endpoints.set(total(&asked));
        show(&published, &metrics.registry_records);
        show(&asked, &metrics.source_records);
        show(&verified, &metrics.verified);
    }

    /// Takes over what changed in a zone.
    fn collect(&mut self, handle: &ZoneHandle) {
        if !handle.view().is_touched() {
            return;
        }
        match handle.view_mut().take_touched() {
            Touched::Names(names) if !self.everything => self.due.extend(names),
            Touched::Names(_) => {}
            Touched::All => self.everything = true,
        }
        self.overflow();
    }

    /// Notes what of a name is `missing` now.
    fn note(&mut self, context: &EngineContext, name: DnsName, missing: Vec<RecordType>) {
        if !missing.is_empty() && !context.config.filter.matches(&name) {
            self.filtered.insert(name.clone());
        } else {
            self.filtered.remove(&name);
        }
        for rtype in self.missing.remove(&name).iter().flatten() {
            if let Some(count) = self.missing_types.get_mut(rtype) {
                *count = count.saturating_sub(1);
            }
        }
        if !missing.is_empty() {
            for rtype in &missing {
                *self.missing_types.entry(*rtype).or_default() += 1;
            }
            self.missing.insert(name, missing.into());
        }
    }
}

/// The types of the endpoints at a name that stand nowhere.
fn missing(context: &EngineContext, places: &[InstanceZone], name: &DnsName) -> Vec<RecordType> {
    let desired_state = context.desired_state();
    let stands = |endpoint: &&Endpoint| {
        let here = |(instance, handle): &InstanceZone| {
            endpoint.name.is_within(&handle.zone.name) && instance.has_published(handle, endpoint)
        };
        places.iter().any(here)
    };
    let endpoints = desired_state.table.at(name).endpoints;
    endpoints.into_iter().filter(|endpoint| !stands(endpoint)).map(|endpoint| endpoint.rtype).collect()
}

fn total(counts: &Counts) -> i64 {
    i64::try_from(counts.values().sum::<usize>()).unwrap_or(i64::MAX)
}

/// Replaces the whole family, so that a type that is gone does not keep its last number.
fn show(counts: &Counts, family: &Family<ByType, Gauge>) {
    family.clear();
    for (rtype, count) in counts {
        let label = ByType { record_type: rtype.lower() };
        family.get_or_create(&label).set(i64::try_from(*count).unwrap_or(i64::MAX));
    }
}
