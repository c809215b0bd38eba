//! Claims: who says that a record set is theirs.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::record::RecordSet;
use crate::zone::ZoneKey;

/// Names one writer of records, `--txt-owner-id`. Never empty.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct OwnerId(Arc<str>);

impl OwnerId {
    /// An owner; `None` for an empty text.
    pub fn new(text: &str) -> Option<Self> {
        (!text.is_empty()).then(|| Self(Arc::from(text)))
    }

    /// The owner as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for OwnerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// How specific a claim is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ClaimRank {
    /// It names the record type; it hides an old-format claim, whoever owns that.
    Typed,
    /// The format of before 2022, one for all types of a name but AAAA.
    Old,
}

/// A claim on a record set, as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// The owner id in the claim (`--txt-owner-id` of its writer).
    pub owner: OwnerId,
    /// For which resource.
    pub resource: Option<Arc<str>>,
    /// Further labels, kept as they are.
    pub labels: Vec<(Arc<str>, Arc<str>)>,
    /// How specific it is.
    pub rank: ClaimRank,
    /// Whether it stands where and how this registry would write it today, and no other one has to go; otherwise
    /// [`crate::registry::ClaimFormat::upgrade`] has a step to make.
    pub current: bool,
    /// Where it is kept, if that is a record set.
    pub site: Option<(ZoneKey, RecordSet)>,
}

impl Claim {
    /// The value of a further label.
    pub fn label(&self, key: &str) -> Option<&str> {
        self.labels.iter().find(|(k, _)| &**k == key).map(|(_, v)| &**v)
    }
}

/// Whose a record set is.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "lives for one plan; the large variant is the usual one")]
pub enum Ownership {
    /// Ours, by this claim; `None` under a registry that keeps none.
    Ours(Option<Claim>),
    /// Claimed by another owner, with this id.
    Foreign(OwnerId),
    /// Nobody claims it.
    Unclaimed,
    /// Claims of one rank name different owners: reported and left alone.
    Disputed(Vec<OwnerId>),
}

impl Ownership {
    /// Whether the record set is ours to change.
    pub fn is_ours(&self) -> bool {
        matches!(self, Self::Ours(_))
    }

    /// Our claim, if there is one.
    pub fn claim(&self) -> Option<&Claim> {
        match self {
            Self::Ours(claim) => claim.as_ref(),
            _ => None,
        }
    }
}

/// Who owns what `claims` speak of. A typed claim hides those in the old format; among claims of one rank, different
/// owners are a dispute. `owner` is `None` where the registry keeps no claims.
pub fn judge(claims: &[Claim], owner: Option<&OwnerId>) -> Ownership {
    let Some(owner) = owner else { return Ownership::Ours(None) };
    let typed = claims.iter().any(|claim| claim.rank == ClaimRank::Typed);
    let deciding: Vec<&Claim> = claims.iter().filter(|claim| !typed || claim.rank == ClaimRank::Typed).collect();
    let mut owners: Vec<OwnerId> = deciding.iter().map(|claim| claim.owner.clone()).collect();
    owners.sort();
    owners.dedup();
    match owners.as_slice() {
        [] => Ownership::Unclaimed,
        [only] if only == owner => {
            let best = deciding.iter().find(|claim| claim.current).or(deciding.first());
            Ownership::Ours(best.map(|claim| (*claim).clone()))
        }
        [only] => Ownership::Foreign(only.clone()),
        _ => Ownership::Disputed(owners),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(owner: &str, rank: ClaimRank) -> Claim {
        Claim {
            owner: OwnerId::new(owner).unwrap(),
            resource: None,
            labels: vec![],
            rank,
            current: rank == ClaimRank::Typed,
            site: None,
        }
    }

    #[test]
    fn typed_hides_old_and_only_equals_dispute() {
        use ClaimRank::{Old, Typed};
        let me = OwnerId::new("me").unwrap();
        let verdict = |claims: &[Claim]| match judge(claims, Some(&me)) {
            Ownership::Ours(_) => "ours",
            Ownership::Foreign(_) => "foreign",
            Ownership::Unclaimed => "unclaimed",
            Ownership::Disputed(_) => "disputed",
        };
        assert_eq!(verdict(&[]), "unclaimed");
        assert_eq!(verdict(&[claim("me", Typed)]), "ours");
        assert_eq!(verdict(&[claim("other", Old), claim("me", Typed)]), "ours");
        assert_eq!(verdict(&[claim("me", Old), claim("other", Typed)]), "foreign");
        assert_eq!(verdict(&[claim("me", Typed), claim("other", Typed)]), "disputed");
        assert_eq!(verdict(&[claim("me", Old)]), "ours");
        assert_eq!(judge(&[claim("other", Typed)], None), Ownership::Ours(None));
    }
}
