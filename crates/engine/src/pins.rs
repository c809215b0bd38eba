//! Names that an undo set back, as the saved state keeps them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use zonewright_core::clock::Timestamp;
use zonewright_core::name::DnsName;

/// What one undo pinned in one zone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pin {
    /// The hash of the undo.
    pub plan: String,
    /// When the undo pinned it.
    pub since: Timestamp,
    /// Until when, if nothing ends it before.
    pub until: Timestamp,
    /// The names, each with a digest of what was asked for there; none where that was not known.
    pub names: BTreeMap<DnsName, Option<String>>,
}
