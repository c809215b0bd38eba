//! The zones of a provider that rules let through, and no others; the list is asked for anew only so often.
//!
//! In: a provider and the rules. Out: the same provider with fewer zones, of which each name goes to the one with the longest name.
//! What must hold: a zone that the rules leave out is never listed, so nothing in it is read or written; a name of which several zones
//! are left is reported whenever that changes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use tokio::time::Instant;
use tracing::{info, warn};
use zonewright_core::capability::Capability;
use zonewright_core::change::{Group, Outcome};
use zonewright_core::endpoint::Endpoint;
use zonewright_core::error::Result;
use zonewright_core::interpret::Interpretation;
use zonewright_core::name::DnsName;
use zonewright_core::provider::{Adjustment, Listing, Provider, Read};
use zonewright_core::record::RecordSet;
use zonewright_core::zone::{Zone, ZoneId, ZoneRule};
use zonewright_core::zone_rules::{Selected, ZoneRules};

use super::AmbiguousZones;

/// A provider whose zones are chosen by rules.
pub struct SelectedZones {
    inner: Arc<dyn Provider>,
    rules: ZoneRules,
    /// How long a list of zones is kept.
    kept_for: Duration,
    seen: Mutex<Seen>,
    ambiguous: Arc<AmbiguousZones>,
}

/// The last list.
#[derive(Debug, Default)]
struct Seen {
    zones: Vec<Zone>,
    at: Option<Instant>,
    /// The names that were reported to have several zones.
    reported: BTreeSet<DnsName>,
}

impl std::fmt::Debug for SelectedZones {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SelectedZones").field("rules", &self.rules).finish_non_exhaustive()
    }
}

impl SelectedZones {
    /// Around `inner`, whose list of zones is asked for every `kept_for` at most. What the rules leave open is noted in `ambiguous`.
    pub fn new(inner: Arc<dyn Provider>, rules: ZoneRules, kept_for: Duration, ambiguous: Arc<AmbiguousZones>) -> Self {
        Self { inner, rules, kept_for, seen: Mutex::default(), ambiguous }
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The zones of a list that was asked for lately.
    fn known(&self) -> Option<Vec<Zone>> {
        let seen = self.seen();
        seen.at.filter(|at| at.elapsed() < self.kept_for).map(|_| seen.zones.clone())
    }

    fn select(&self, zones: &[Zone]) -> Vec<Zone> {
        let Selected { managed, ambiguous } = self.rules.select(zones);
        let names: BTreeSet<DnsName> = ambiguous.keys().cloned().collect();
        let former = std::mem::replace(&mut self.seen().reported, names.clone());
        let sentences: BTreeMap<DnsName, String> =
            ambiguous.iter().map(|(name, zones)| (name.clone(), sentence(name, zones))).collect();
        for (name, text) in sentences.iter().filter(|(name, _)| !former.contains(*name)) {
            warn!(zone = %name, "{text}");
        }
        self.ambiguous.set(sentences);
        for name in former.difference(&names) {
            info!(zone = %name, "the name has one zone now");
        }
        managed
    }
}

/// Why none of several zones is managed, and how to choose one.
fn sentence(name: &DnsName, zones: &[Zone]) -> String {
    let rules: Vec<String> = zones.iter().map(|zone| format!("--zone={name}/{}", zone.key.zone)).collect();
    format!(
        "{} zones have the name {name}, so none of them is managed; expected a rule with the id of one, such as {}",
        zones.len(),
        rules.join(" or ")
    )
}

#[async_trait]
impl Provider for SelectedZones {
    fn capability(&self, zone: Option<&Zone>) -> Capability {
        Capability { zone_rule: ZoneRule::LongestSuffix, ..self.inner.capability(zone) }
    }

    async fn zones(&self) -> Result<Vec<Zone>> {
        if let Some(zones) = self.known() {
            return Ok(self.select(&zones));
        }
        let zones = self.inner.zones().await?;
        {
            let mut seen = self.seen();
            seen.zones.clone_from(&zones);
            seen.at = Some(Instant::now());
        }
        Ok(self.select(&zones))
    }

    async fn zone(&self, id: &ZoneId) -> Result<Option<Zone>> {
        let mut zones = self.seen().zones.clone();
        if zones.iter().all(|zone| zone.key.zone != *id) {
            zones.extend(self.inner.zone(id).await?);
        }
        Ok(self.rules.select(&zones).managed.into_iter().find(|zone| zone.key.zone == *id))
    }

    async fn records(&self, zone: &Zone, read: Read<'_>) -> Result<Listing> {
        self.inner.records(zone, read).await
    }

    fn interpret(&self, zone: &Zone, endpoint: &Endpoint) -> Interpretation {
        self.inner.interpret(zone, endpoint)
    }

    async fn adjust(&self, zone: &Zone, sets: &[RecordSet]) -> Vec<Adjustment> {
        self.inner.adjust(zone, sets).await
    }

    async fn apply(&self, zone: &Zone, groups: &[Group]) -> Vec<Outcome> {
        self.inner.apply(zone, groups).await
    }

    async fn served(&self, zone: &Zone) -> Result<Option<bool>> {
        self.inner.served(zone).await
    }
}
