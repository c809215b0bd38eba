//! Which names are served while a zone is listed, and how much of the time that takes.

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use tokio::time::Instant;
use zonewright_core::name::DnsName;

/// Its part of the time: one in so many.
const SHARE: u32 = 5;

/// Names that are read and planned at once.
const AT_ONCE: usize = 4;

/// How long names that were asked for before the listing began wait for it: most of them stand already, and a listing that is
/// over by then shows that at no cost.
const PATIENCE: Duration = Duration::from_secs(5);

/// Names that wait to be served, and what was spent on others so far.
#[derive(Debug, Default)]
pub(crate) struct EarlyNames {
    spent: Duration,
    queue: VecDeque<DnsName>,
    /// How many at the front were asked for since the first look.
    fresh: usize,
    /// Everything that was asked for until then is in the queue, or was served.
    taken: Option<Instant>,
}

impl EarlyNames {
    /// Whether the share of the time since `began` is used up.
    pub(crate) fn is_spent(&self, began: Instant) -> bool {
        self.spent * SHARE > began.elapsed()
    }

    /// So much time went into names.
    pub(crate) fn spend(&mut self, time: Duration) {
        self.spent += time;
    }

    /// Until when what was asked for is known here.
    pub(crate) fn taken(&self) -> Option<Instant> {
        self.taken
    }

    /// Puts what came since the last look ([`EarlyNames::taken`]) in front: what changed last comes first, then what was created last.
    pub(crate) fn fill(&mut self, mut waiting: Vec<(Instant, DnsName)>, created: impl Fn(&DnsName) -> Option<i64>) {
        let known = self.taken;
        self.taken = waiting.iter().map(|(since, _)| *since).max().or(known);
        waiting.sort_by_cached_key(|(since, name)| (*since, created(name)));
        if known.is_some() && !waiting.is_empty() {
            let again: BTreeSet<&DnsName> = waiting.iter().map(|(_, name)| name).collect();
            self.fresh -= self.queue.iter().take(self.fresh).filter(|name| again.contains(name)).count();
            self.queue.retain(|name| !again.contains(name));
            self.fresh += waiting.len();
        }
        for (_, name) in waiting {
            self.queue.push_front(name);
        }
    }

    /// The next names, in a listing that began then. What was asked for before it has patience.
    pub(crate) fn take(&mut self, began: Instant) -> BTreeSet<DnsName> {
        let due = if began.elapsed() < PATIENCE { self.fresh } else { self.queue.len() };
        let taken = AT_ONCE.min(due);
        self.fresh = self.fresh.saturating_sub(taken);
        self.queue.drain(..taken).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zonewright_core::testing::name;

    #[tokio::test(start_paused = true)]
    async fn what_changed_last_comes_first_then_what_was_created_last() {
        let start = Instant::now();
        let later = start + Duration::from_secs(1);
        let mut early = EarlyNames::default();
        let all = ["a.b", "c.b", "d.b", "e.b", "f.b"].map(|text| (start, name(text))).to_vec();
        let age = |name: &DnsName| name.as_str().bytes().next().map(i64::from);
        early.fill(all, age);
        // What is new goes to the front, and is there once.
        early.fill(vec![(later, name("a.b"))], age);
        assert_eq!(early.taken(), Some(later));
        tokio::time::sleep(PATIENCE).await;
        assert_eq!(early.take(start), ["a.b", "f.b", "e.b", "d.b"].map(name).into());
        assert_eq!(early.take(start), [name("c.b")].into());
        assert!(early.take(start).is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_asked_for_before_has_patience() {
        let start = Instant::now();
        let at = |seconds: u64, names: &[&str]| -> Vec<(Instant, DnsName)> {
            names.iter().map(|text| (start + Duration::from_secs(seconds), name(text))).collect()
        };
        let mut early = EarlyNames::default();
        early.fill(at(0, &["a.b", "c.b"]), |_| None);
        assert!(early.take(start).is_empty(), "the listing may be over in a moment");
        early.fill(at(1, &["new.b", "a.b"]), |_| None);
        // It is asked for once more before its turn came.
        early.fill(at(2, &["new.b"]), |_| None);
        assert_eq!(early.take(start), ["new.b", "a.b"].map(name).into());
        assert!(early.take(start).is_empty());
        tokio::time::sleep(PATIENCE).await;
        assert_eq!(early.take(start), [name("c.b")].into());
    }

    #[tokio::test(start_paused = true)]
    async fn a_fifth_of_the_time_is_theirs() {
        let (began, mut early) = (Instant::now(), EarlyNames::default());
        early.spend(Duration::from_secs(1));
        assert!(early.is_spent(began));
        tokio::time::sleep(Duration::from_secs(5)).await;
        assert!(!early.is_spent(began));
    }
}
