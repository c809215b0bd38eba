//! Reading a journal: which entries, each with what became of it, the newest first.

use std::collections::HashMap;
use std::ops::ControlFlow;

use zonewright_core::clock::Timestamp;
use zonewright_core::error::Result;
use zonewright_core::name::DnsName;
use zonewright_core::store::JournalStore;

use super::entry::{Closing, Entry, EntryKey, EntryResult};
use super::line::{Head, HeadKind, Line};

/// Which entries are asked for; nothing given is all of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Query {
    /// Those that change something at this name, or in the zone of this name.
    pub name: Option<DnsName>,
    /// Those of this zone: by its name, its key as text, or its id.
    pub zone: Option<String>,
    /// Those of this moment and later.
    pub since: Option<Timestamp>,
    /// Those of this plan.
    pub plan: Option<String>,
}

impl Query {
    /// Whether an entry is asked for.
    pub fn fits(&self, entry: &Entry) -> bool {
        let concerns = |name: &DnsName| {
            let changes = || entry.steps.iter().filter_map(|step| step.key()).any(|key| key.name == *name);
            entry.name == *name || entry.apex == *name || changes()
        };
        self.name.as_ref().is_none_or(concerns)
            && self.zone.as_ref().is_none_or(|zone| is_zone(zone, entry))
            && self.since.is_none_or(|since| entry.at >= since)
            && self.plan.as_ref().is_none_or(|plan| entry.plan == *plan)
    }
}

fn is_zone(zone: &str, entry: &Entry) -> bool {
    let id = entry.zone.split_once('/').map_or(entry.zone.as_str(), |(_, id)| id);
    zone == entry.zone || zone == id || DnsName::parse(zone).is_ok_and(|name| name == entry.apex)
}

/// An entry with what became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalRecord {
    /// The entry as it was written ahead.
    pub entry: Entry,
    /// What became of it; `None` if nothing is written down.
    pub closing: Option<Closing>,
}

/// How much of the past a journal holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct JournalReach {
    /// The moment of the oldest line.
    pub oldest: Option<Timestamp>,
    /// Lines that could not be read: torn ones, and those of a later version.
    pub unreadable: usize,
}

/// Gives the entries that fit to `take`, the newest first. One that breaks off ends the search, but not the reading, so that
/// the reach is known in any case.
///
/// # Errors
/// As [`JournalStore::read`].
pub async fn read(
    store: &dyn JournalStore,
    query: &Query,
    mut take: impl FnMut(JournalRecord) -> ControlFlow<()> + Send,
) -> Result<JournalReach> {
    let mut reach = JournalReach::default();
    let mut closings: HashMap<EntryKey, Closing> = HashMap::new();
    let mut done = false;
    let mut line = |text: &[u8]| {
        let Some(head) = Head::parse(text) else {
            reach.unreadable += 1;
            return;
        };
        reach.oldest = Some(reach.oldest.map_or(head.at, |oldest| oldest.min(head.at)));
        if done {
            return;
        }
        match Line::parse(text) {
            Some(Line::Outcome(closing)) => {
                // What was found out last counts.
                closings.entry(closing.key()).or_insert(closing);
            }
            Some(Line::Change(entry)) => {
                let closing = closings.remove(&entry.key());
                if query.fits(&entry) {
                    done = take(JournalRecord { entry, closing }).is_break();
                }
            }
            None => reach.unreadable += 1,
        }
    };
    store.read(&mut |piece| lines(piece, &mut line)).await?;
    Ok(reach)
}

/// The last entries that fit, at most `limit`, and how far back the journal goes.
///
/// # Errors
/// As [`JournalStore::read`].
pub async fn last(store: &dyn JournalStore, query: &Query, limit: usize) -> Result<(Vec<JournalRecord>, JournalReach)> {
    let mut found = Vec::new();
    let take = |record| {
        found.push(record);
        if found.len() < limit { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    let reach = read(store, query, take).await?;
    Ok((found, reach))
}

/// Every line of a piece but empty ones, the last first.
fn lines(piece: &[u8], line: &mut impl FnMut(&[u8])) -> ControlFlow<()> {
    piece.rsplit(|byte| *byte == b'\n').filter(|text| !text.is_empty()).for_each(line);
    ControlFlow::Continue(())
}

/// What a start has to know: the largest id, and the entries of which it is not known what became of them.
///
/// # Errors
/// As [`JournalStore::read`].
pub async fn scan(store: &dyn JournalStore) -> Result<(u64, Vec<Entry>)> {
    let mut largest = 0;
    let mut closed: HashMap<EntryKey, bool> = HashMap::new();
    let mut open = Vec::new();
    let mut line = |text: &[u8]| {
        let Some(head) = Head::parse(text) else { return };
        largest = largest.max(head.id);
        match head.kind {
            HeadKind::Outcome => {
                if let std::collections::hash_map::Entry::Vacant(place) = closed.entry(head.key()) {
                    let Some(Line::Outcome(closing)) = Line::parse(text) else { return };
                    place.insert(closing.verdict != EntryResult::Unknown);
                }
            }
            HeadKind::Change => {
                if !closed.remove(&head.key()).unwrap_or(false)
                    && let Some(Line::Change(entry)) = Line::parse(text)
                {
                    open.push(entry);
                }
            }
        }
    };
    store.read(&mut |piece| lines(piece, &mut line)).await?;
    Ok((largest, open))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::MemoryJournal;
    use crate::journal::fold_tests::{closing, entry};
    use zonewright_core::testing::name;

    async fn journal(lines: &[Line]) -> MemoryJournal {
        let store = MemoryJournal::default();
        let texts: Vec<String> = lines.iter().map(Line::text).collect();
        store.append(&texts).await.unwrap();
        store
    }

    async fn ids(store: &MemoryJournal, query: Query) -> Vec<(u64, Option<EntryResult>)> {
        let mut found = Vec::new();
        let take = |record: JournalRecord| {
            found.push((record.entry.id, record.closing.map(|closing| closing.verdict)));
            ControlFlow::Continue(())
        };
        read(store, &query, take).await.unwrap();
        found
    }

    fn sample() -> Vec<Line> {
        let mut all = Vec::new();
        for id in 1..=4 {
            all.push(Line::Change(entry(id, &format!("n{}.example", id % 2), &["- -> A 192.0.2.1"])));
        }
        all.push(Line::Outcome(closing(1, EntryResult::Applied)));
        all.push(Line::Outcome(closing(2, EntryResult::Unknown)));
        all.push(Line::Outcome(closing(3, EntryResult::Unknown)));
        all.push(Line::Outcome(closing(3, EntryResult::NotApplied)));
        all
    }

    #[tokio::test]
    async fn what_is_asked_for_comes_newest_first_with_its_last_outcome() {
        use EntryResult::{Applied, NotApplied, Unknown};
        let store = journal(&sample()).await;
        let of = |text: &str| Query { name: Some(name(text)), ..Query::default() };
        let all = [(4, None), (3, Some(NotApplied)), (2, Some(Unknown)), (1, Some(Applied))];
        assert_eq!(ids(&store, Query::default()).await, all);
        assert_eq!(ids(&store, of("n0.example")).await, [all[0], all[2]]);
        assert_eq!(ids(&store, of("a-n1.example")).await, [all[1], all[3]], "the name of a claim");
        assert_eq!(ids(&store, of("example")).await, all, "a zone");
        assert_eq!(ids(&store, of("n2.example")).await, []);
        for zone in ["i/example", "example", "EXAMPLE."] {
            let query = Query { zone: Some(zone.to_owned()), ..Query::default() };
            assert_eq!(ids(&store, query).await.len(), 4, "{zone}");
        }
        let query = Query { since: Some(Timestamp(3)), plan: Some("p3".to_owned()), ..Query::default() };
        assert_eq!(ids(&store, query).await, [all[1]]);
    }

    #[tokio::test]
    async fn a_limit_ends_the_search_and_the_reach_is_reported_all_the_same() {
        let mut lines: Vec<String> = sample().iter().map(Line::text).collect();
        lines.insert(2, lines[2][..20].to_owned());
        lines.push(lines[0].replacen("\"v\":1", "\"v\":2", 1));
        let store = MemoryJournal::default();
        store.append(&lines).await.unwrap();
        let mut taken = 0;
        let take = |_| {
            taken += 1;
            ControlFlow::Break(())
        };
        let reach = read(&store, &Query::default(), take).await.unwrap();
        assert_eq!((taken, reach), (1, JournalReach { oldest: Some(Timestamp(1)), unreadable: 2 }));
    }

    #[tokio::test]
    async fn a_start_finds_what_is_open_and_goes_on_counting() {
        let (largest, open) = scan(&journal(&sample()).await).await.unwrap();
        assert_eq!((largest, open.iter().map(|entry| entry.id).collect::<Vec<_>>()), (4, vec![4, 2]));
        assert_eq!(scan(&MemoryJournal::default()).await.unwrap(), (0, vec![]));
    }
}
