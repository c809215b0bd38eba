//! No claims at all: every record of a managed type inside the filters counts as ours.
//!
//! Groups go out as they came in. An ownership TXT record left behind by another registry is an ordinary record here.

use std::collections::BTreeSet;
use std::sync::Arc;

use tracing::warn;
use zonewright_core::catalog::RegistryEntry;
use zonewright_core::change::Group;
use zonewright_core::claim::{Claim, OwnerId};
use zonewright_core::record::SetId;
use zonewright_core::registry::{
    ClaimAnomaly, ClaimFormat, Dropped, KeptInZones, OwnershipChange, Published, StaleClaims,
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

impl ClaimFormat for NoopRegistry {
    fn owner(&self) -> Option<&OwnerId> {
        None
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

    fn assign(
        &self,
        _zone: &Zone,
        record: &RecordSet,
        _change: &OwnershipChange,
        _published: &dyn Published,
    ) -> Result<Option<Group>, Dropped> {
        Err(Dropped {
            reason: format!("{}: the registry noop keeps no claims, so there is none to hand over", record.key),
        })
    }
}

impl KeptInZones for NoopRegistry {}
