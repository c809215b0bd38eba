//! What was said of a record while a process did not look.
//!
//! In: who changed which entry, and what each process has read and written. Out: whether a write may rest on what is no longer so.

use std::time::Duration;

use zonewright_core::RecordKey;

use super::Objects;
use crate::truth::evidence::ON_ITS_WAY;
use crate::truth::{Author, Truth};

/// The longest time from an announcement to its write, where no call stands still: what is read before may be asked for again
/// after a pause.
const AHEAD: Duration = Duration::from_secs(10);

/// The longest time from the judgement of a write that needs no announcement to its effect, where no call stands still.
const A_MOMENT: Duration = Duration::from_secs(1);

impl Objects {
    /// Whether somebody else changed what an object says of a record after the daemon saw it.
    pub(in crate::truth) fn changed_unseen(&self, daemon: usize, zone: &str, key: &RecordKey) -> bool {
        let place = (zone.to_owned(), key.clone());
        self.touched.get(&place).into_iter().flatten().any(|((name, author), at)| {
            let seen = || self.read.get(&(daemon, name.clone())).copied().unwrap_or(0);
            *author != Author::Daemon(daemon) && *at > seen()
        })
    }

    /// Whether somebody else changed what is said of any record of a zone after the daemon saw it.
    pub(in crate::truth) fn any_changed_unseen(&self, daemon: usize, zone: &str) -> bool {
        let here = self.touched.keys().filter(|(label, _)| label == zone);
        here.into_iter().any(|(_, key)| self.changed_unseen(daemon, zone, key))
    }

    /// Whether somebody else changed what is said of a record after the daemon announced a write of it, a moment ago, or it read
    /// of such a change only then: that write may be on its way, and demands nothing of what is kept here.
    pub(in crate::truth) fn changed_since_announced(
        &self,
        daemon: usize,
        zone: &str,
        key: &RecordKey,
        ahead: Duration,
    ) -> bool {
        let place = (zone.to_owned(), key.clone());
        let Some((own, at)) = self.wrote.get(&(daemon, place.clone())) else { return false };
        let read_later = |name: &String, at: &u64| {
            let learned = self.learned.get(&(daemon, name.clone())).into_iter().flatten();
            learned.into_iter().find(|(version, _)| version >= at).is_some_and(|(_, when)| when >= own)
        };
        let later = |((name, author), at): (&(String, Author), &u64)| {
            *author != Author::Daemon(daemon) && (at > own || read_later(name, at))
        };
        at.elapsed() <= ahead && self.touched.get(&place).into_iter().flatten().any(later)
    }

    /// Whether somebody else than a daemon changed what is said of a record a moment ago, while entries lie in several objects: one of
    /// them may have been on its way to another one, and what was said of it moves there with it.
    pub(in crate::truth) fn moves_with_a_word(&self, zone: &str, key: &RecordKey) -> bool {
        self.rows.is_none() && self.all.len() > 1 && self.was_spoken_of(zone, key, AHEAD)
    }

    /// Whether somebody else than a daemon changed what is said of a record within this time.
    fn was_spoken_of(&self, zone: &str, key: &RecordKey, within: Duration) -> bool {
        self.spoken.get(&(zone.to_owned(), key.clone())).is_some_and(|at| at.elapsed() <= within)
    }

    /// Whether one of these processes changed what is said of a record a moment ago.
    fn is_spoken_of_lately(&self, by: impl IntoIterator<Item = usize>, zone: &str, key: &RecordKey) -> bool {
        let place = (zone.to_owned(), key.clone());
        let lately = |daemon| self.wrote.get(&(daemon, place.clone())).is_some_and(|(_, at)| at.elapsed() <= AHEAD);
        by.into_iter().any(lately)
    }
}

impl Truth {
    pub(in crate::truth) fn word_changed_unseen(&self, daemon: usize, zone: usize, key: &RecordKey) -> bool {
        self.objects.as_ref().is_some_and(|objects| objects.changed_unseen(daemon, &self.label(zone), key))
    }

    /// Whether what is said of some record of a zone was changed after the daemon last saw it, or a moment ago: what it reads right
    /// before a write is read after that write was judged.
    pub(in crate::truth) fn words_changed_unseen(&self, daemon: usize, zone: usize) -> bool {
        let lately = |objects: &Objects| objects.changed_by_others.is_some_and(|at| at.elapsed() <= A_MOMENT);
        let unseen = |objects: &Objects| objects.any_changed_unseen(daemon, &self.label(zone)) || lately(objects);
        self.objects.as_ref().is_some_and(unseen)
    }

    /// Whether a write was announced a moment ago, or before a call that stood still, and somebody else changed what is said of the record
    /// since.
    pub(in crate::truth) fn announced_unseen(&self, daemon: usize, zone: usize, key: &RecordKey) -> bool {
        let stood_still = self.last_fault.is_some_and(|at| at.elapsed() <= ON_ITS_WAY);
        let ahead = if stood_still { ON_ITS_WAY } else { AHEAD };
        let unseen = |objects: &Objects| objects.changed_since_announced(daemon, &self.label(zone), key, ahead);
        self.objects.as_ref().is_some_and(unseen)
    }

    /// Whether somebody else changed what is said of a record in the moment in which a write of it was on its way. Another task of the
    /// process may have read of that meanwhile; a write that needs no announcement knows it no more.
    pub(in crate::truth) fn spoken_of_amid(&self, zone: usize, key: &RecordKey) -> bool {
        let label = self.label(zone);
        let objects = self.objects.as_ref().filter(|objects| !objects.are_rows());
        objects.is_some_and(|objects| objects.was_spoken_of(&label, key, A_MOMENT))
    }

    /// Whether another process of the same owner narrowed the claim on a record, or announced a write of it, a moment ago: a change that
    /// needed no announcement was on its way then, and what is kept in objects demands nothing of it.
    pub(in crate::truth) fn narrowed_by_another(&self, daemon: usize, zone: usize, key: &RecordKey) -> bool {
        let owner = &self.parties[daemon].owner;
        let others = (0..self.parties.len()).filter(|other| *other != daemon && self.parties[*other].owner == *owner);
        let label = self.label(zone);
        self.objects.as_ref().is_some_and(|objects| objects.is_spoken_of_lately(others, &label, key))
    }
}
