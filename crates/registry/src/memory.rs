//! Claims that live as long as the process: ours is what this process published or adopted, and nothing that it found.
//!
//! In and out as for the registry [`configmap`](crate::configmap), whose documents are kept in memory here. What must hold: a value that
//! this process did not publish is never ours. A record set without any of ours is nobody's; in one with ours and others' our claim names
//! the others', so that they stay. After a restart every record is found, and none is ours.

mod documents;

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use tracing::warn;
use zonewright_core::catalog::{RegistryConfig, RegistryEntry};
use zonewright_core::change::{Group, Outcome, Role, StoreEffect};
use zonewright_core::claim::{Claim, OwnerId};
use zonewright_core::documents::DocumentStore;
use zonewright_core::plan::FOREIGN_VALUE_LABEL;
use zonewright_core::record::SetId;
use zonewright_core::registry::{
    ClaimAnomaly, ClaimFormat, ClaimStore, Contents, Dropped, ExternalChanges, OwnershipChange, Published, StaleClaims,
};
use zonewright_core::zone::{Zone, ZoneKey};
use zonewright_core::{DnsName, RData, RecordData, RecordKey, RecordSet, Result};

use self::documents::ProcessDocuments;
use crate::configmap::{ConfigMapConfig, ConfigMapRegistry, assign};

/// The catalog entry of `--registry=memory`.
pub const ENTRY: RegistryEntry = RegistryEntry {
    feature: "kops",
    page: "docs/registries/memory.md",
    ..RegistryEntry::new(
        "memory",
        "Claims in the memory of the process: only what it published itself is changed or removed",
        |config| Box::pin(async move { Ok(Arc::new(build(&config)?) as Arc<_>) }),
    )
};

fn build(config: &RegistryConfig) -> Result<MemoryRegistry> {
    warn!(
        "--registry=memory keeps ownership in memory: after a restart no record is owned, and none is changed or removed until it is \
         adopted"
    );
    MemoryRegistry::new(config.settings.text("txt-owner-id"))
}

/// The registry of `--registry=memory`. Clones share what they know.
#[derive(Clone)]
pub struct MemoryRegistry {
    inner: Arc<ConfigMapRegistry>,
    published: Arc<Mutex<Values>>,
}

/// What this process published under each key: one state, or several where it is not known which one stands.
type Values = HashMap<(ZoneKey, RecordKey), Vec<RecordData>>;

impl fmt::Debug for MemoryRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryRegistry").field("owner", &self.inner.owner()).finish_non_exhaustive()
    }
}

impl MemoryRegistry {
    /// An empty registry of this owner.
    ///
    /// # Errors
    /// [`zonewright_core::ErrorKind::Configuration`] if `owner` is empty.
    pub fn new(owner: &str) -> Result<Self> {
        Self::over(owner, Arc::<ProcessDocuments>::default())
    }

    /// One whose claims are in these documents, which several owners may share.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn over(owner: &str, documents: Arc<dyn DocumentStore>) -> Result<Self> {
        let config = ConfigMapConfig::new(owner, documents)?;
        Ok(Self { inner: Arc::new(ConfigMapRegistry::new(config)), published: Arc::default() })
    }

    fn published(&self) -> MutexGuard<'_, Values> {
        self.published.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether everything in a record set was published by this process.
    fn made(&self, zone: &Zone, set: &RecordSet) -> bool {
        self.foreign_values(zone, set).is_some_and(|others| others.is_empty())
    }

    /// The values of a record set that were not published by this process; `None` if none was.
    fn foreign_values(&self, zone: &Zone, set: &RecordSet) -> Option<Vec<RData>> {
        let published = self.published();
        let states = published.get(&(zone.key.clone(), set.key.clone()))?;
        let RecordData::Records(records) = &set.data else {
            return states.contains(&set.data).then(Vec::new);
        };
        let others: Vec<RData> = records.iter().filter(|record| !holds(states, record)).cloned().collect();
        (others.len() < records.len()).then_some(others)
    }

    /// What of the content that a change leaves was put there by this process: not what stood there before without being ours.
    fn own(&self, place: &(ZoneKey, RecordKey), from: Option<&RecordSet>, to: &RecordSet) -> Option<RecordData> {
        let (RecordData::Records(records), Some(RecordData::Records(before))) = (&to.data, from.map(|set| &set.data))
        else {
            return Some(to.data.clone());
        };
        let published = self.published();
        let states = published.get(place).map(Vec::as_slice).unwrap_or_default();
        let ours = records.iter().filter(|record| !before.contains(record) || holds(states, record));
        let ours: Vec<RData> = ours.cloned().collect();
        (!ours.is_empty()).then(|| RecordData::records(ours))
    }

    /// What a group would publish, each with its place; nothing of what goes, or goes to another owner.
    fn publishes(&self, zone: &Zone, group: &Group) -> Vec<((ZoneKey, RecordKey), Option<RecordData>)> {
        let place = |key: &RecordKey| (zone.key.clone(), key.clone());
        let ours = |owner: &Option<OwnerId>| owner.as_ref() == self.inner.owner();
        let in_zone = group.steps.iter().map(|step| {
            let kept = step.role == Role::Record || ours(&step.owner);
            let place = place(step.change.key());
            let to = step.change.to().filter(|_| kept).and_then(|to| self.own(&place, step.change.from(), to));
            (place, to)
        });
        let claimed = group.stored.iter().map(|step| {
            let kept = match &step.effect {
                StoreEffect::Assign { record, owner, .. } => ours(owner).then(|| record.data.clone()),
                StoreEffect::End(_) => None,
            };
            (place(step.key()), kept)
        });
        in_zone.chain(claimed).collect()
    }

    /// Whatever becomes of a group that is sent now, what it publishes is ours.
    fn announce(&self, zone: &Zone, group: &Group) {
        for (key, to) in self.publishes(zone, group) {
            if let Some(data) = to {
                self.published().entry(key).or_default().push(data);
            }
        }
    }

    /// Takes over what became of a group.
    fn note(&self, zone: &Zone, group: &Group, outcome: &Outcome) {
        for (key, to) in self.publishes(zone, group) {
            self.note_one(key, to, outcome);
        }
    }

    fn note_one(&self, key: (ZoneKey, RecordKey), to: Option<RecordData>, outcome: &Outcome) {
        let mut published = self.published();
        match (outcome, to) {
            (Outcome::Applied, Some(data)) => drop(published.insert(key, vec![data])),
            (Outcome::Applied, None) => drop(published.remove(&key)),
            (Outcome::Refused { .. } | Outcome::NotSent(_), Some(data)) => {
                let Some(states) = published.get_mut(&key) else { return };
                if let Some(last) = states.iter().rposition(|state| *state == data) {
                    states.remove(last);
                }
                if states.is_empty() {
                    published.remove(&key);
                }
            }
            (Outcome::Unknown(_), _) | (_, None) => {}
        }
    }
}

/// Whether some of these states hold a value.
fn holds(states: &[RecordData], record: &RData) -> bool {
    states.iter().any(|state| matches!(state, RecordData::Records(known) if known.contains(record)))
}

/// Nothing stands anywhere.
struct Nothing;

impl Published for Nothing {
    fn find(&self, _: &ZoneKey, _: &RecordKey) -> Option<(ZoneKey, RecordSet)> {
        None
    }

    fn zones_at(&self, _: &DnsName) -> Vec<(Zone, bool)> {
        Vec::new()
    }
}

impl ClaimFormat for MemoryRegistry {
    fn owner(&self) -> Option<&OwnerId> {
        self.inner.owner()
    }

    fn is_claim(&self, set: &RecordSet) -> bool {
        self.inner.is_claim(set)
    }

    fn is_record(&self, zone: &Zone, set: &RecordSet, published: &dyn Published) -> bool {
        self.inner.is_record(zone, set, published)
    }

    fn claims(&self, zone: &Zone, key: &RecordKey, published: &dyn Published) -> Vec<Claim> {
        let mut claims = self.inner.claims(zone, key, published);
        let ours = |claim: &Claim| Some(&claim.owner) == self.inner.owner();
        if claims.iter().any(ours)
            && let Some((holder, set)) = published.find(&zone.key, key)
            && holder == zone.key
        {
            match self.foreign_values(zone, &set) {
                None => claims.retain(|claim| !ours(claim)),
                Some(others) => {
                    let labels = others.iter().map(|value| (FOREIGN_VALUE_LABEL.into(), value.to_string().into()));
                    let labels: Vec<(Arc<str>, Arc<str>)> = labels.collect();
                    claims.iter_mut().filter(|claim| ours(claim)).for_each(|claim| claim.labels.extend(labels.clone()));
                }
            }
        }
        claims
    }

    fn item_of(&self, text: &RData) -> Option<SetId> {
        self.inner.item_of(text)
    }

    fn claim_names(&self, zone: &Zone, key: &RecordKey) -> BTreeSet<DnsName> {
        self.inner.claim_names(zone, key)
    }

    fn decorate(
        &self,
        zone: &Zone,
        groups: Vec<Group>,
        published: &dyn Published,
    ) -> Vec<Result<Group, (Group, Dropped)>> {
        self.inner.decorate(zone, groups, published)
    }

    fn upgrade(&self, zone: &Zone, record: &RecordSet, published: &dyn Published) -> Option<Group> {
        self.inner.upgrade(zone, record, published)
    }

    fn anomaly(&self, zone: &Zone, set: &RecordSet, published: &dyn Published) -> Option<ClaimAnomaly> {
        self.inner.anomaly(zone, set, published)
    }

    fn collect_stale_claims(
        &self,
        zone: &Zone,
        set: &RecordSet,
        what: StaleClaims,
        published: &dyn Published,
    ) -> Option<Group> {
        self.inner.collect_stale_claims(zone, set, what, published)
    }

    fn assign(
        &self,
        zone: &Zone,
        record: &RecordSet,
        change: &OwnershipChange,
        published: &dyn Published,
    ) -> Result<Option<Group>, Dropped> {
        // Claimed already, but for what another writer put into it: that is taken along with the rest.
        let again = matches!(change, OwnershipChange::Take(_)) && !self.made(zone, record);
        match (self.inner.assign(zone, record, change, published)?, change) {
            (None, OwnershipChange::Take(resource)) if again => {
                Ok(Some(assign::handed(record, self.inner.owner(), resource.clone(), &[])))
            }
            (group, _) => Ok(group),
        }
    }
}

#[async_trait]
impl ClaimStore for MemoryRegistry {
    async fn load(&self) -> Result<()> {
        self.inner.load().await
    }

    async fn resync(&self, zone: &Zone, contents: &dyn Contents, changed: bool) -> Result<ExternalChanges> {
        let external = self.inner.resync(zone, contents, changed).await?;
        // What is claimed no longer is forgotten.
        let claimed = |key: &RecordKey| !self.inner.claims(zone, key, &Nothing).is_empty();
        self.published().retain(|(of, key), _| *of != zone.key || contents.find(key).is_some() || claimed(key));
        Ok(external)
    }

    fn item_keys(&self, zone: &Zone, names: &BTreeSet<DnsName>) -> BTreeSet<RecordKey> {
        self.inner.item_keys(zone, names)
    }

    fn leftovers(&self, zone: &Zone, published: &dyn Published) -> Vec<Group> {
        self.inner.leftovers(zone, published)
    }

    fn piece(&self) -> usize {
        self.inner.piece()
    }

    async fn prepare(&self, zone: &Zone, groups: Vec<Group>) -> Vec<Result<Group, (Group, Dropped)>> {
        let prepared = self.inner.prepare(zone, groups).await;
        for group in prepared.iter().flatten() {
            self.announce(zone, group);
        }
        prepared
    }

    async fn commit(&self, zone: &Zone, groups: &[Group], outcomes: &[Outcome]) -> Result<()> {
        self.inner.commit(zone, groups, outcomes).await?;
        for (group, outcome) in groups.iter().zip(outcomes) {
            self.note(zone, group, outcome);
        }
        Ok(())
    }
}
