//! Intents that speak for nothing, where nothing holds several writes together.
//!
//! In: the claim sets of the names that are planned, as far as they hold such intents. Out: those that stood unchanged for so
//! long that nobody is between the intent and its record any more. Another process under our owner id may be: its intent must
//! not go before its record came, or that record would belong to nobody.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tokio::time::Instant;
use zonewright_core::name::DnsName;
use zonewright_core::record::{RecordKey, RecordSet};

/// Twice as long as a call may take, with room for the calls of one group.
const REST: Duration = Duration::from_mins(2);

/// A set that holds void intents.
#[derive(Debug)]
struct Void {
    set: RecordSet,
    /// Since when it stands as it does.
    since: Instant,
    /// Its name was planned when its time was over.
    reported: bool,
}

/// The sets that hold void intents.
#[derive(Debug, Default)]
pub(crate) struct StaleIntents(BTreeMap<RecordKey, Void>);

impl StaleIntents {
    /// Takes note of the sets found at `names`: all that hold void intents there. Returns those that may go.
    pub(crate) fn found(&mut self, names: &[DnsName], sets: Vec<RecordSet>) -> BTreeSet<RecordKey> {
        let now = Instant::now();
        let planned: BTreeSet<&DnsName> = names.iter().collect();
        let known: Vec<RecordKey> = self.0.keys().filter(|key| planned.contains(&key.name)).cloned().collect();
        let mut known: BTreeMap<RecordKey, Void> =
            known.into_iter().filter_map(|key| self.0.remove_entry(&key)).collect();
        let mut old = BTreeSet::new();
        for set in sets {
            let known = known.remove(&set.key).filter(|known| known.set == set);
            let void = known.unwrap_or(Void { since: now, reported: false, set });
            if void.since + REST <= now {
                old.insert(void.set.key.clone());
            }
            self.0.insert(void.set.key.clone(), void);
        }
        old
    }

    /// Number of sets.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// When the time of the next one is over.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.0.values().filter(|void| !void.reported).map(|void| void.since + REST).min()
    }

    /// The names where that is so; each is returned once.
    pub(crate) fn names_due(&mut self, now: Instant) -> BTreeSet<DnsName> {
        let due = self.0.values_mut().filter(|void| !void.reported && void.since + REST <= now);
        due.map(|void| {
            void.reported = true;
            void.set.key.name.clone()
        })
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zonewright_core::testing::{name, set};

    #[tokio::test(start_paused = true)]
    async fn what_stood_unchanged_for_two_minutes_may_go() {
        let mut stale_intents = StaleIntents::default();
        let (x, y) = (set("a-x.example TXT intent"), set("a-y.example TXT intent"));
        let names = [name("a-x.example"), name("a-y.example")];
        let both = vec![x.clone(), y.clone()];
        assert!(stale_intents.found(&names, both.clone()).is_empty());
        tokio::time::advance(Duration::from_mins(1)).await;
        let other = set("a-y.example TXT other");
        // What is not planned is not forgotten; what changed begins anew.
        assert!(stale_intents.found(&names[1..], vec![other.clone()]).is_empty());
        tokio::time::advance(Duration::from_mins(1)).await;
        assert_eq!(stale_intents.due(), Some(Instant::now()));
        assert_eq!(stale_intents.names_due(Instant::now()), BTreeSet::from([names[0].clone()]));
        assert!(stale_intents.names_due(Instant::now()).is_empty());
        assert_eq!(stale_intents.found(&names, vec![x.clone(), other.clone()]), BTreeSet::from([x.key.clone()]));
        // It may go until it is gone.
        assert_eq!(stale_intents.found(&names[..1], vec![x.clone()]), BTreeSet::from([x.key]));
        assert!(stale_intents.found(&names[..1], vec![]).is_empty());
        assert_eq!(stale_intents.due(), Some(Instant::now() + Duration::from_mins(1)));
        assert!(stale_intents.found(&names, vec![]).is_empty());
        assert_eq!(stale_intents.due(), None);
    }
}
