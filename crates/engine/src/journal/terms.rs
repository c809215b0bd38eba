//! What a claim says, as entries of the journal keep it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use zonewright_core::claim::{Claim, ClaimRank, OwnerId};

/// What a claim says.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClaimTerms {
    /// Whose the record is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<OwnerId>,
    /// For which resource.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource: Option<Arc<str>>,
    /// Further labels of the claim, as key and value.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<(Arc<str>, Arc<str>)>,
}

impl ClaimTerms {
    /// Whether it says nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    pub(crate) fn claim(&self) -> Option<Box<Claim>> {
        let owner = self.owner.clone()?;
        let (resource, labels) = (self.resource.clone(), self.labels.clone());
        Some(Box::new(Claim { owner, resource, labels, rank: ClaimRank::Typed, current: true, site: None }))
    }
}

impl From<&Claim> for ClaimTerms {
    fn from(claim: &Claim) -> Self {
        Self { owner: Some(claim.owner.clone()), resource: claim.resource.clone(), labels: claim.labels.clone() }
    }
}
