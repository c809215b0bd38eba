//! Claims that changed hands over a stretch of the journal, and what it takes that they go back.
//!
//! In: what was folded, and what stands now. Out: claims and preconditions. What must hold: a record stays as it is; a claim is
//! taken or given only on the record that stood there when it changed hands, and given up on any.

use zonewright_core::change::{Precondition, StoreStep};
use zonewright_core::record::{RecordKey, RecordSet};

use super::fold::{Folded, UndoRefusal, meets};
use super::terms::ClaimTerms;

/// What became of the claim on a record that stayed as it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnershipTransfer {
    /// How the record stood; `None` where the claim spoke for a record that was gone.
    pub record: Option<RecordSet>,
    /// What the claim said when we left it.
    pub left: ClaimTerms,
    /// What it said before.
    pub before: ClaimTerms,
    /// Whether the claim is kept outside the zones: nothing of it stands there.
    pub bare: bool,
    /// Whether nothing newer changed the record.
    pub latest: bool,
}

impl OwnershipTransfer {
    /// Whether an owner took a record that nobody claimed: to give that up, the record may hold any content.
    fn is_adoption(&self) -> bool {
        self.record.is_some() && self.before.owner.is_none()
    }
}

impl Folded {
    /// What it takes that claims go back whose records stay: these as they are, and where the claim is kept elsewhere, a step
    /// that says whose it will be.
    pub(super) fn hand_back(
        &self,
        stands: impl Fn(&RecordKey) -> Option<RecordSet>,
        stored: &mut Vec<StoreStep>,
        requires: &mut Vec<Precondition>,
    ) -> Result<(), UndoRefusal> {
        for (key, passed) in self.passed() {
            let changes = self.spans.get(key).is_some_and(|span| span.left != span.before);
            if changes && passed.bare {
                return Err(UndoRefusal::Both(key.clone()));
            }
            let now = stands(key);
            let fits = passed.is_adoption() || !passed.latest || meets(passed.record.as_ref(), now.as_ref());
            if !fits || (passed.bare && now.is_none()) {
                return Err(UndoRefusal::Changed { key: key.clone(), stands: now.map(Box::new) });
            }
            let Some(record) = now.filter(|_| !changes) else { continue };
            if passed.bare {
                stored.push(passed.step(record.clone()));
            }
            let stays = Precondition::Exact(record);
            if !requires.contains(&stays) {
                requires.push(stays);
            }
        }
        Ok(())
    }
}

impl OwnershipTransfer {
    fn step(&self, record: RecordSet) -> StoreStep {
        let ClaimTerms { owner, resource, labels } = self.before.clone();
        StoreStep { held: self.left.claim(), ..StoreStep::assign(record, owner, resource, labels) }
    }
}
