//! What sources ask for, and how far they can be trusted.

use zonewright_core::desired::Desired;
use zonewright_core::endpoint::KindId;
use zonewright_core::guard::AcceptedKinds;
use zonewright_core::quota::Quotas;
use zonewright_core::source::{Evidence, KindState, SourceErrors};

/// What is wanted of all zones together.
#[derive(Debug, Default)]
pub(crate) struct DesiredState {
    /// Endpoints by object and by name.
    pub(crate) table: Desired,
    pub(crate) quotas: Quotas,
    pub(crate) evidence: Evidence,
    /// What of the sources cannot be read now.
    pub(crate) errors: SourceErrors,
    /// Doubt about kinds that an operator accepted for some deletes: readiness does not warn of it any more.
    pub(crate) accepted: AcceptedKinds,
}

impl DesiredState {
    /// Whether everything that a kind's view lacks was accepted by an operator.
    pub(crate) fn is_accepted(&self, kind: &KindId, state: KindState) -> bool {
        state.fresh && state.doubted.is_some() && state.doubted == self.accepted.get(kind).copied()
    }
}
