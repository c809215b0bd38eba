//! Deletes that are held, and their approval.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use zonewright_core::DnsName;
use zonewright_core::clock::Timestamp;
use zonewright_core::guard::BrakeScope;

use crate::undo::Pinned;

/// Asks for the deletes that are held. Answered by [`HeldPlans`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plans {}

/// Approves a held plan. Answered by [`Approved`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Approve {
    /// The hash of the plan: [`HeldPlan::hash`].
    pub hash: String,
}

/// What waits for a person.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldPlans {
    /// The held plans, those over several zones first.
    pub plans: Vec<HeldPlan>,
    /// Names that another writer keeps changing back.
    #[serde(rename = "fights")]
    pub contested: Vec<ContestedName>,
    /// Names that an undo has set back.
    #[serde(rename = "holds")]
    pub pinned: Vec<Pinned>,
    /// Where this was read, if not of the daemon.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
}

/// Deletes that wait for an approval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldPlan {
    /// Names the plan in commands, 12 hexadecimal digits.
    pub hash: String,
    /// What the plan was judged over.
    pub scope: BrakeScope,
    /// Why the deletes are held, one sentence.
    pub reason: String,
    /// Number of deletes.
    pub count: usize,
    /// How to approve the plan: a command, or an annotation to set.
    pub approve: String,
    /// The zone or zones.
    #[serde(flatten)]
    pub place: Where,
}

/// Where held deletes are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Where {
    /// In several zones, approved together.
    Zones {
        /// Each zone, by its key as text, with its number of deletes.
        zones: BTreeMap<String, usize>,
    },
    /// In one zone.
    Zone {
        /// The zone, by its key as text.
        zone: String,
        /// Since when deletes are held there.
        since: Timestamp,
        /// One line for each delete: name, type and data.
        deletes: Vec<String>,
    },
}

/// A name that another writer keeps changing back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContestedName {
    /// The apex of the zone.
    pub zone: DnsName,
    /// The name.
    pub name: DnsName,
    /// Who, and what is done about it; one sentence.
    pub text: String,
}

/// An approval that is in force.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approved {
    /// The hash of the plan.
    pub approved: String,
    /// The zone, or several in one text.
    pub zone: String,
    /// Number of deletes.
    pub deletes: usize,
}
