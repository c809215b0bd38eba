//! What happened in a zone within the brake's window: counted deletes that were done or may have been, and how many records
//! were owned. Survives restarts.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::record::RecordKey;

/// What happened in a zone within the window. Survives restarts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    /// When how many counted deletes were done.
    #[serde(default)]
    deletes: VecDeque<(Timestamp, usize)>,
    /// Counted deletes that were sent and of which no answer is known, and when: they may have been done. Tried again, they
    /// are still one.
    #[serde(default, with = "super::pairs")]
    lost: BTreeMap<RecordKey, Timestamp>,
    /// When the zone held how many of our records: falling counts, each the largest since the one before.
    #[serde(default)]
    peaks: Peaks,
    /// Of the deletes above, when how many were of objects of which namespace; for people alone.
    #[serde(default, skip_serializing_if = "VecDeque::is_empty")]
    namespaces: VecDeque<(Timestamp, Arc<str>, usize)>,
}

/// How many records were owned at which time: falling counts, each the largest since the one before.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Peaks(VecDeque<(Timestamp, usize)>);

impl Peaks {
    /// Notes how many records are owned now.
    pub fn note(&mut self, count: usize, now: Timestamp) {
        while self.0.back().is_some_and(|(_, former)| *former <= count) {
            self.0.pop_back();
        }
        self.0.push_back((now, count));
    }

    /// The most records that were owned at any time within the window.
    pub fn most(&self, window: Duration, now: Timestamp) -> usize {
        let within = self.0.iter().filter(|(at, _)| at.plus(window) >= now);
        let before = self.0.iter().rev().find(|(at, _)| at.plus(window) < now);
        within.chain(before).map(|(_, count)| *count).max().unwrap_or(0)
    }

    /// Forgets what lies before the window.
    pub fn trim(&mut self, window: Duration, now: Timestamp) {
        // The last count before the window still held at its beginning.
        while self.0.get(1).is_some_and(|(at, _)| at.plus(window) < now) {
            self.0.pop_front();
        }
    }
}

impl Window {
    /// Notes counted deletes that were done, each with the namespace of its object where that is known.
    pub fn deleted<'a>(
        &mut self,
        keys: impl IntoIterator<Item = (&'a RecordKey, Option<&'a Arc<str>>)>,
        now: Timestamp,
    ) {
        let mut count = 0;
        for (key, namespace) in keys {
            self.lost.remove(key);
            count += 1;
            if let Some(namespace) = namespace {
                self.note_namespace(namespace, now);
            }
        }
        if count > 0 {
            self.deletes.push_back((now, count));
        }
    }

    fn note_namespace(&mut self, namespace: &Arc<str>, now: Timestamp) {
        match self.namespaces.iter_mut().rev().find(|(at, other, _)| *at == now && other == namespace) {
            Some((_, _, count)) => *count += 1,
            None => self.namespaces.push_back((now, namespace.clone(), 1)),
        }
    }

    /// Notes counted deletes that are about to be sent, or whose answer was lost. Returns what was noted of each before.
    pub fn may_have_deleted<'a>(
        &mut self,
        keys: impl IntoIterator<Item = &'a RecordKey>,
        now: Timestamp,
    ) -> BTreeMap<RecordKey, Option<Timestamp>> {
        keys.into_iter().map(|key| (key.clone(), self.lost.insert(key.clone(), now))).collect()
    }

    /// A delete was not done after all: `former` is what was noted before. An earlier one may have been.
    pub fn not_deleted(&mut self, key: &RecordKey, former: Option<Timestamp>) {
        match former {
            Some(at) => drop(self.lost.insert(key.clone(), at)),
            None => drop(self.lost.remove(key)),
        }
    }

    /// Another process goes on with this window at `now`. Whether deletes without an answer were done, when, and whether their
    /// records were made again, it cannot know: each counts as done now. Nothing was done in the future: a time that a wrong
    /// clock noted becomes the present, or it would count for ever.
    pub fn taken_over(&mut self, now: Timestamp) {
        self.bound(now);
        let count = std::mem::take(&mut self.lost).len();
        if count > 0 {
            self.deletes.push_back((now, count));
        }
    }

    /// Notes a record that was made: a delete of it whose answer was lost has been done, and the next one is another.
    pub fn created(&mut self, key: &RecordKey) {
        if let Some(at) = self.lost.remove(key) {
            let place = self.deletes.partition_point(|(other, _)| *other <= at);
            self.deletes.insert(place, (at, 1));
        }
    }

    /// Notes how many records we own now.
    pub fn owns(&mut self, count: usize, now: Timestamp) {
        self.peaks.note(count, now);
    }

    /// Brings times that lie in the future to the present. Only what another process noted: a clock that runs back for a
    /// moment must not make this one forget.
    fn bound(&mut self, now: Timestamp) {
        self.deletes.iter_mut().for_each(|(at, _)| *at = (*at).min(now));
        self.lost.values_mut().for_each(|at| *at = (*at).min(now));
        self.namespaces.iter_mut().for_each(|(at, _, _)| *at = (*at).min(now));
        self.peaks.0.iter_mut().for_each(|(at, _)| *at = (*at).min(now));
    }

    /// Forgets what lies before the window.
    pub fn trim(&mut self, window: Duration, now: Timestamp) {
        let over = |at: &Timestamp| at.plus(window) < now;
        while self.deletes.front().is_some_and(|(at, _)| over(at)) {
            self.deletes.pop_front();
        }
        while self.namespaces.front().is_some_and(|(at, _, _)| over(at)) {
            self.namespaces.pop_front();
        }
        self.lost.retain(|_, at| !over(at));
        self.peaks.trim(window, now);
    }

    /// Whether nothing was noted within the window.
    pub fn is_over(&self, window: Duration, now: Timestamp) -> bool {
        let deletes = self.deletes.iter().map(|(at, _)| at);
        let counts = self.peaks.0.iter().map(|(at, _)| at);
        deletes.chain(counts).chain(self.lost.values()).all(|at| at.plus(window) < now)
    }

    /// The deletes done within the window, but for those `wanted` once more: they stand, so they were not done.
    pub fn deletes(&self, window: Duration, wanted: &BTreeSet<RecordKey>, now: Timestamp) -> usize {
        let within = |at: &Timestamp| at.plus(window) >= now;
        let done: usize = self.deletes.iter().filter(|(at, _)| within(at)).map(|(_, count)| count).sum();
        done + self.lost.iter().filter(|(key, at)| within(at) && !wanted.contains(*key)).count()
    }

    /// The namespaces of the objects whose records were deleted within the window, with how many each.
    pub fn namespaces(&self, window: Duration, now: Timestamp) -> impl Iterator<Item = (&Arc<str>, usize)> {
        let within = move |at: &Timestamp| at.plus(window) >= now;
        self.namespaces.iter().filter(move |(at, _, _)| within(at)).map(|(_, namespace, count)| (namespace, *count))
    }

    /// The most records of ours that the zone held at any time within the window.
    pub fn peak(&self, window: Duration, now: Timestamp) -> usize {
        self.peaks.most(window, now)
    }

    /// Joins what another window noted: one that could not be read until now, while this one was already in use.
    pub fn join(&mut self, other: Self) {
        let mut deletes: Vec<(Timestamp, usize)> = self.deletes.drain(..).chain(other.deletes).collect();
        deletes.sort_by_key(|(at, _)| *at);
        self.deletes = deletes.into();
        let mut namespaces: Vec<_> = self.namespaces.drain(..).chain(other.namespaces).collect();
        namespaces.sort_by_key(|(at, _, _)| *at);
        self.namespaces = namespaces.into();
        for (key, at) in other.lost {
            let noted = self.lost.entry(key).or_insert(at);
            *noted = (*noted).max(at);
        }
        let mut peaks: Vec<(Timestamp, usize)> = self.peaks.0.drain(..).chain(other.peaks.0).collect();
        peaks.sort_by_key(|(at, _)| *at);
        for (at, count) in peaks {
            self.peaks.note(count, at);
        }
    }
}

#[cfg(test)]
#[path = "window_tests.rs"]
mod tests;
