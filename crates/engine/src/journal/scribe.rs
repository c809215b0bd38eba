//! The journal as a command writes it, beside the daemon.
//!
//! In: groups right before they are sent, and their outcomes. Out: lines in the store that the daemon uses too. What must
//! hold: no id is given out twice, though the daemon and other commands write at the same time; where the journal is required,
//! nothing is sent that is not in it; what an earlier command left unsettled is settled by what was read since.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tracing::warn;
use zonewright_core::change::{Group, Outcome};
use zonewright_core::claim::OwnerId;
use zonewright_core::clock::Clock;
use zonewright_core::error::{Error, Result};
use zonewright_core::guard;
use zonewright_core::record::{RecordKey, RecordSet};
use zonewright_core::zone::Zone;

use super::{Cause, Closing, Entry, EntryEffects, Handover, Heading, Journaling, Line, Mode, Verdict, scan};

/// Ids of one millisecond, as the daemon counts them; each command has one of them for its own.
pub(crate) const IDS_OF_A_MILLISECOND: u64 = 1 << 11;

/// An entry of a command that began so long ago has no outcome to come.
const PATIENCE: std::time::Duration = std::time::Duration::from_mins(1);

/// What a command writes.
pub struct Scribe {
    journaling: Journaling,
    clock: Clock,
    cause: Cause,
    plan: String,
    /// The millisecond of the last id.
    last: AtomicU64,
    /// Which id of a millisecond is ours.
    own: u64,
    /// Whether it was reported that the journal cannot be written, and that it cannot be read.
    complained: [AtomicBool; 2],
    /// Whether any change was written down.
    written: AtomicBool,
}

/// What was to be done with the journal.
#[derive(Clone, Copy)]
enum Doing {
    Writing,
    Reading,
}

impl std::fmt::Debug for Scribe {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scribe").field("journaling", &self.journaling).field("plan", &self.plan).finish_non_exhaustive()
    }
}

/// How a zone stands, for what is settled.
pub(crate) trait Standing {
    /// The zone of a key as text, if it was read.
    fn zone(&self, zone: &str) -> Option<&Zone>;
    /// What stands there.
    fn stands(&self, zone: &Zone, key: &RecordKey) -> Option<RecordSet>;
    /// Whose it is.
    fn owner(&self, zone: &Zone, key: &RecordKey) -> Option<OwnerId>;
}

impl Scribe {
    /// A scribe of the command `cause`. `writer` tells processes apart that write at the same time.
    pub fn new(journaling: Journaling, clock: Clock, cause: Cause, writer: u32) -> Self {
        // Odd ones: the daemon begins with an even one.
        let own = (u64::from(writer) * 2 + 1) % IDS_OF_A_MILLISECOND;
        let millisecond = u64::try_from(clock.now().0).unwrap_or(0);
        let plan = guard::hash(cause.as_str(), [millisecond * IDS_OF_A_MILLISECOND + own]);
        let (last, complained, written) = (AtomicU64::new(0), Default::default(), AtomicBool::new(false));
        Self { journaling, clock, cause, plan, last, own, complained, written }
    }

    /// The hash that entries carry, for `zonewright undo --plan`.
    pub fn plan(&self) -> &str {
        &self.plan
    }

    /// Where changes of this command were written down, for people; `None` where none were.
    pub fn place(&self) -> Option<String> {
        self.written.load(Ordering::SeqCst).then(|| self.journaling.store.place())
    }

    fn id(&self) -> u64 {
        let now = u64::try_from(self.clock.now().0).unwrap_or(0);
        let next = |last: u64| now.max(last.saturating_add(1));
        let last = self.last.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |last| Some(next(last)));
        let (Ok(last) | Err(last)) = last;
        next(last).saturating_mul(IDS_OF_A_MILLISECOND).saturating_add(self.own)
    }

    /// Writes down what is about to be sent. Returns the id of each group that was written.
    ///
    /// # Errors
    /// It could not be written, and nothing may be sent that is not.
    pub(crate) async fn begin(&self, zone: &Zone, groups: &[(&Group, &[Handover])]) -> Result<Vec<Option<u64>>> {
        let nothing = || groups.iter().map(|_| None).collect();
        if self.journaling.mode == Mode::Off {
            return Ok(nothing());
        }
        let heading = || Heading { id: self.id(), at: self.clock.now(), plan: self.plan.clone(), cause: self.cause };
        let entry = |(group, handed): &(&Group, &[Handover])| Entry::new(heading, zone, group, handed.to_vec());
        let entries: Vec<Option<Entry>> = groups.iter().map(entry).collect();
        let ids = entries.iter().map(|entry| entry.as_ref().map(|entry| entry.id)).collect();
        let lines: Vec<String> = entries.into_iter().flatten().map(|entry| Line::Change(entry).text()).collect();
        let Err(error) = self.append(&lines).await else {
            self.written.fetch_or(!lines.is_empty(), Ordering::SeqCst);
            return Ok(ids);
        };
        let error = self.journaling.go_on_without(error)?;
        self.complain(
            Doing::Writing,
            &error,
            "it goes on, and what it does is neither in the history nor undone by `zonewright undo`",
        );
        Ok(nothing())
    }

    /// Writes down what became of it.
    pub(crate) async fn end(&self, ids: &[Option<u64>], outcomes: &[Outcome]) {
        let closing = |(id, outcome): (&Option<u64>, &Outcome)| {
            let error = outcome.error().map(Error::chain);
            Some(Closing { id: (*id)?, at: self.clock.now(), verdict: outcome.into(), found: false, error })
        };
        self.close(ids.iter().zip(outcomes).filter_map(closing)).await;
    }

    async fn close(&self, closings: impl Iterator<Item = Closing>) {
        let lines: Vec<String> = closings.map(|closing| Line::Outcome(closing).text()).collect();
        if let Err(error) = self.append(&lines).await {
            self.complain(
                Doing::Writing,
                &error,
                "what became of the changes is not in it, until a reading finds it out",
            );
        }
    }

    async fn append(&self, lines: &[String]) -> Result<()> {
        if lines.is_empty() { Ok(()) } else { self.journaling.store.append(lines).await }
    }

    fn complain(&self, doing: Doing, error: &Error, consequence: &str) {
        let [writing, reading] = &self.complained;
        let (reported, what) = match doing {
            Doing::Writing => (writing, "written"),
            Doing::Reading => (reading, "read"),
        };
        if !reported.swap(true, Ordering::SeqCst) {
            let place = self.journaling.store.place();
            warn!(place, error = error.chain(), "the journal cannot be {what}: {consequence}");
        }
    }

    /// Settles what earlier commands left open, by zones that were read just now.
    pub(crate) async fn settle(&self, standing: &(impl Standing + ?Sized)) {
        if self.journaling.mode == Mode::Off {
            return;
        }
        let open = match scan(&*self.journaling.store).await {
            Ok((_, open)) => open,
            Err(error) => {
                self.complain(Doing::Reading, &error, "what is unsettled in it stays so");
                return;
            }
        };
        let closings = open.iter().filter(|entry| is_over(entry, self.clock.now())).filter_map(|entry| {
            let zone = standing.zone(&entry.zone)?;
            let effects = EntryEffects::from(entry);
            let verdict: Verdict = effects.verdict(|key| standing.stands(zone, key), |key| standing.owner(zone, key));
            Some(Closing { id: entry.id, at: self.clock.now(), verdict, found: true, error: None })
        });
        let closings: Vec<Closing> = closings.collect();
        self.close(closings.into_iter()).await;
    }
}

/// Whether an entry without outcome is one that its command left behind.
pub(crate) fn is_over(entry: &Entry, now: zonewright_core::clock::Timestamp) -> bool {
    entry.cause.is_command() && now.since(entry.at) >= PATIENCE
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Arc;

    use super::*;
    use crate::journal::MemoryJournal;
    use zonewright_core::clock::Timestamp;

    fn journal(writer: u32) -> Scribe {
        let journaling = Journaling { store: Arc::new(MemoryJournal::default()), mode: Mode::BestEffort };
        Scribe::new(journaling, Clock::starting_at(Timestamp(1_700_000_000_000)), Cause::Adopt, writer)
    }

    #[test]
    fn ids_grow_and_no_two_writers_share_one() {
        let writers = [journal(1), journal(2), journal(1_023)];
        let mut all = BTreeSet::new();
        for journal in &writers {
            let ids: Vec<u64> = (0..1_000).map(|_| journal.id()).collect();
            assert!(ids.windows(2).all(|pair| pair[0] < pair[1]));
            assert!(ids.iter().all(|id| *id < 1 << 53), "every reader of JSON can hold them");
            all.extend(ids);
        }
        assert_eq!(all.len(), 3_000, "though their clocks say the same");
        // A daemon that starts in the same millisecond counts on from an even one.
        let daemon = 1_700_000_000_000 * IDS_OF_A_MILLISECOND;
        assert!((daemon..daemon + 3).all(|id| !all.contains(&id)));
        assert_ne!(journal(1).plan(), journal(2).plan());
    }
}
