//! No claims at all: every record of a managed type inside the filters counts as ours.
//!
//! Groups go out as they came in. An ownership TXT record left behind by another registry is an ordinary record here.

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use tracing::warn;
use zonewright_core::catalog::RegistryEntry;
use zonewright_core::change::{Group, Outcome};
use zonewright_core::claim::{Claim, OwnerId};
use zonewright_core::record::SetId;
use zonewright_core::registry::{
    ClaimAnomaly, Contents, Dropped, ExternalChanges, OwnershipChange, Published, Registry, StaleClaims,
};
use zonewright_core::zone::Zone;
use zonewright_core::{DnsName, RData, RecordKey, RecordSet, Result};

/// The catalog entry of `--registry=noop`.
pub const ENTRY: RegistryEntry = RegistryEntry {
    page: "docs/registries/noop.md",
    ..RegistryEntry::new(
        "noop",
        "No claims: every record of a managed type inside the filters counts as ours",
        |config| {
            let brake = if config.settings.bool("brake") { "on" } else { "off" };
            warn!(
                "--registry=noop keeps no ownership: every record of a managed type inside the filters counts as ours, also \
             those that others made; the brake is {brake}"
            );
            Box::pin(async { Ok(Arc::new(NoopRegistry) as Arc<_>) })
        },
    )
};

/// The registry of `--registry=noop`.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoopRegistry;

#[async_trait]
impl Registry for NoopRegistry {
    fn owner(&self) -> Option<&OwnerId> {
        None
    }

    async fn load(&self) -> Result<()> {
        Ok(())
    }

    async fn resync(&self, _zone: &Zone, _contents: &dyn Contents, _changed: bool) -> Result<ExternalChanges> {
        Ok(ExternalChanges::default())
    }

    fn is_claim(&self, _set: &RecordSet) -> bool {
        false
    }

    /// No record set is kept as a claim.
    fn is_record(&self, _zone: &Zone, _set: &RecordSet, _published: &dyn Published) -> bool {
        true
    }

    fn claims(&self, _zone: &Zone, _key: &RecordKey, _published: &dyn Published) -> Vec<Claim> {
        Vec::new()
    }

    fn item_of(&self, _text: &RData) -> Option<SetId> {
        None
    }

    fn item_keys(&self, _zone: &Zone, _names: &BTreeSet<DnsName>) -> BTreeSet<RecordKey> {
        BTreeSet::new()
    }

    fn claim_names(&self, _zone: &Zone, _key: &RecordKey) -> BTreeSet<DnsName> {
        BTreeSet::new()
    }

    fn decorate(
        &self,
        _zone: &Zone,
        groups: Vec<Group>,
        _published: &dyn Published,
    ) -> Vec<Result<Group, (Group, Dropped)>> {
        groups.into_iter().map(Ok).collect()
    }

    fn upgrade(&self, _zone: &Zone, _record: &RecordSet, _published: &dyn Published) -> Option<Group> {
        None
    }

    fn anomaly(&self, _zone: &Zone, _set: &RecordSet, _published: &dyn Published) -> Option<ClaimAnomaly> {
        None
    }

    fn collect_stale_claims(
        &self,
        _zone: &Zone,
        _set: &RecordSet,
        _litter: StaleClaims,
        _published: &dyn Published,
    ) -> Option<Group> {
        None
    }

    fn leftovers(&self, _zone: &Zone, _published: &dyn Published) -> Vec<Group> {
        Vec::new()
    }

    fn assign(
        &self,
        _zone: &Zone,
        record: &RecordSet,
        _custody: &OwnershipChange,
        _published: &dyn Published,
    ) -> Result<Option<Group>, Dropped> {
        Err(Dropped {
            reason: format!("{}: the registry noop keeps no claims, so there is none to hand over", record.key),
        })
    }

    fn piece(&self) -> usize {
        0
    }

    async fn prepare(&self, _zone: &Zone, groups: Vec<Group>) -> Vec<Result<Group, (Group, Dropped)>> {
        groups.into_iter().map(Ok).collect()
    }

    async fn commit(&self, _zone: &Zone, _groups: &[Group], _outcomes: &[Outcome]) -> Result<()> {
        Ok(())
    }
}
