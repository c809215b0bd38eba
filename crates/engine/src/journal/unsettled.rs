//! What became of an entry of which nothing is written down, found out by a reading.
//!
//! In: the entry, what stands now and whose that is. Out: a verdict. What must hold: an entry counts as carried out only if
//! all of it stands, so that an undo of it takes nothing that was never given.

use zonewright_core::change::Change;
use zonewright_core::claim::OwnerId;
use zonewright_core::record::{RecordKey, RecordSet};

use super::entry::{Entry, EntryResult, EntryStep};
use super::handover::Handover;

/// What is known of an entry, as far as its settling needs it.
#[derive(Debug, Clone)]
pub(crate) struct EntryEffects {
    pub(crate) changes: Vec<Change>,
    pub(crate) handed: Vec<Handover>,
}

impl From<&Entry> for EntryEffects {
    fn from(entry: &Entry) -> Self {
        Self { changes: entry.steps.iter().filter_map(EntryStep::change).collect(), handed: entry.handed.clone() }
    }
}

impl EntryEffects {
    /// The keys that it is about: what must be read to settle it.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &RecordKey> {
        self.changes.iter().map(Change::key).chain(self.handed.iter().map(|handover| &handover.key))
    }

    /// What became of it, by what stands now and whose that is. Where the zone holds changes, they alone decide.
    pub(crate) fn verdict(
        &self,
        stands: impl Fn(&RecordKey) -> Option<RecordSet>,
        owner: impl Fn(&RecordKey) -> Option<OwnerId>,
    ) -> EntryResult {
        if self.changes.is_empty() {
            return self.verdict_of_owners(owner);
        }
        let stands: Vec<Option<RecordSet>> = self.changes.iter().map(|change| stands(change.key())).collect();
        let met = |side: Option<&RecordSet>, stands: &Option<RecordSet>| match (side, stands) {
            (Some(set), Some(stands)) => set.is_met_by(stands),
            (None, None) => true,
            _ => false,
        };
        let all = |side: fn(&Change) -> Option<&RecordSet>| {
            self.changes.iter().zip(&stands).all(|(change, stands)| met(side(change), stands))
        };
        if all(Change::to) {
            EntryResult::Applied
        } else if all(Change::from) {
            EntryResult::NotApplied
        } else {
            EntryResult::SomethingElse
        }
    }

    fn verdict_of_owners(&self, owner: impl Fn(&RecordKey) -> Option<OwnerId>) -> EntryResult {
        let all = |done: bool| self.handed.iter().all(|one| one.is_done(owner(&one.key).as_ref()) == Some(done));
        match (all(true), all(false)) {
            (true, _) => EntryResult::Applied,
            (_, true) => EntryResult::NotApplied,
            _ => EntryResult::SomethingElse,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::ClaimTerms;
    use zonewright_core::testing::set;

    fn owner(text: &str) -> Option<OwnerId> {
        OwnerId::new(text)
    }

    #[test]
    fn where_nothing_changes_in_the_zone_the_owner_decides() {
        let record = set("a.example A 192.0.2.1");
        let terms = |text: &str| ClaimTerms { owner: owner(text), ..ClaimTerms::default() };
        let handed = Handover { key: record.key.clone(), record: Some(record), had: terms("x"), has: terms("y") };
        let effects = EntryEffects { changes: vec![], handed: vec![handed] };
        for (now, expected) in [
            ("y", EntryResult::Applied),
            ("x", EntryResult::NotApplied),
            ("z", EntryResult::SomethingElse),
            ("", EntryResult::SomethingElse),
        ] {
            assert_eq!(effects.verdict(|_| None, |_| owner(now)), expected, "{now}");
        }
    }

    #[test]
    fn where_the_zone_holds_the_claim_it_decides() {
        let (text, record) = (set("a-a.example TXT \"x\""), set("a.example A 192.0.2.1"));
        let terms = ClaimTerms { owner: owner("x"), ..ClaimTerms::default() };
        let handed = Handover { key: record.key.clone(), record: Some(record), had: terms, has: ClaimTerms::default() };
        let effects = EntryEffects { changes: vec![Change::Delete { from: text.clone() }], handed: vec![handed] };
        let verdict = |stands: Option<RecordSet>| effects.verdict(|_| stands.clone(), |_| None);
        assert_eq!(verdict(None), EntryResult::Applied);
        assert_eq!(verdict(Some(text)), EntryResult::NotApplied);
        assert_eq!(verdict(Some(set("a-a.example TXT \"y\""))), EntryResult::SomethingElse);
        assert_eq!(effects.keys().count(), 2);
    }
}
