//! What a worker remembers of claims between its turns.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use zonewright_core::claim::OwnerId;
use zonewright_core::name::DnsName;
use zonewright_core::plan::{Skip, Why};
use zonewright_core::record::RecordKey;

use crate::claim_queue::ClaimQueue;
use crate::metrics::{Metrics, Mismatch};
use crate::stale_intents::StaleIntents;

/// Claims in one zone.
pub(crate) struct Claims {
    /// Intents that speak for nothing.
    pub(crate) stale: StaleIntents,
    /// Those that are to be moved.
    pub(crate) moves: ClaimQueue,
    /// Names whose records are being adopted: once they are ours, they are planned again, since values or TTL may not be as wanted.
    pub(crate) adopting: BTreeSet<DnsName>,
    /// Keys whose published targets are an inherited union.
    inherited: HashSet<RecordKey>,
    /// Records that are left alone because of their owner.
    pub(crate) mismatched: Mismatched,
    /// Number of our records in the zone.
    pub(crate) owned: usize,
    /// How many records this process has made in the zone so far, less those that it deleted.
    pub(crate) made: isize,
}

impl Claims {
    pub(crate) fn new(metrics: Arc<Metrics>) -> Self {
        Self {
            stale: StaleIntents::default(),
            moves: ClaimQueue::default(),
            adopting: BTreeSet::new(),
            inherited: HashSet::new(),
            mismatched: Mismatched { by_key: HashMap::new(), metrics },
            owned: 0,
            made: 0,
        }
    }

    /// Notes how many records of ours a write made and deleted.
    pub(crate) fn count(&mut self, came: usize, went: usize) {
        self.owned = (self.owned + came).saturating_sub(went);
        self.made = self.made.saturating_add_unsigned(came).saturating_sub_unsigned(went);
    }

    /// Keys whose published targets are an inherited union.
    pub(crate) fn inherited(&self) -> &HashSet<RecordKey> {
        &self.inherited
    }

    /// Takes over what contention found inherited at the names that were `planned`.
    pub(crate) fn inherit(&mut self, planned: &HashSet<&DnsName>, inherited: Vec<RecordKey>) {
        self.inherited.retain(|key| !planned.contains(&key.name));
        self.inherited.extend(inherited);
    }

    /// Numbers of names of each table.
    pub(crate) fn sizes(&self) -> [(&'static str, usize); 4] {
        [
            ("stale_intents", self.stale.len()),
            ("claims_to_move", self.moves.len()),
            ("inherited", self.inherited.len()),
            ("owner_mismatches", self.mismatched.by_key.len()),
        ]
    }
}

/// The records that are left alone because of their owner, as a metric counts them. What is counted ends with it.
pub(crate) struct Mismatched {
    by_key: HashMap<RecordKey, Mismatch>,
    metrics: Arc<Metrics>,
}

impl Mismatched {
    /// Takes over what the plans of the names that were `planned` leave alone for its owner; `owner` is ours.
    pub(crate) fn replan(&mut self, planned: &BTreeSet<DnsName>, skips: &[Skip], owner: Option<&OwnerId>) {
        let metrics = &self.metrics;
        self.by_key.retain(|key, label| {
            let stays = !planned.contains(&key.name);
            if !stays {
                metrics.match_again(label);
            }
            stays
        });
        let owner = owner.map(ToString::to_string).unwrap_or_default();
        for skip in skips {
            let Some(label) = mismatch(skip, &owner) else { continue };
            metrics.mismatch(&label);
            if let Some(former) = self.by_key.insert(skip.key.clone(), label) {
                metrics.match_again(&former);
            }
        }
    }
}

impl Drop for Mismatched {
    fn drop(&mut self) {
        self.by_key.values().for_each(|label| self.metrics.match_again(label));
    }
}

fn mismatch(skip: &Skip, owner: &str) -> Option<Mismatch> {
    let foreign = match &skip.why {
        Why::Foreign(owner) | Why::ForeignClaim(owner) => owner.to_string(),
        Why::Unclaimed | Why::ForeignBeside(_) => String::new(),
        _ => return None,
    };
    let domain = skip.key.name.parent().filter(|parent| parent.label_count() > 1);
    Some(Mismatch {
        record_type: skip.key.rtype.lower(),
        owner: owner.to_lowercase(),
        foreign_owner: foreign.to_lowercase(),
        domain: domain.unwrap_or_else(|| skip.key.name.clone()).to_string(),
    })
}
