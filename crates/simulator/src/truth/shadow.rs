//! What each has seen, and what must stay.
//!
//! In: what daemons read, and changes by those who are not judged. Out: whether a daemon could know of a change, and whether
//! what is no daemon's still stands as its authors left it (its shadow).

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use tokio::time::Instant;
use zonewright_core::capability::{Atomicity, CreateMode, Preconditions};
use zonewright_core::clock::Timestamp;
use zonewright_core::{DnsName, RData, RecordKey, RecordSet};

use super::known::ANSWERED;
use super::{Author, Truth, is_text_of};
use crate::names::{Sets, speaks};
use crate::rules::Rule;

/// How old a reading may be on which a write rests.
const FRESH_READ: Duration = Duration::from_secs(5);

/// More listings than come within the time in which those after a write are passed over.
const LISTINGS: usize = 8;

impl Truth {
    /// Notes what a daemon has read.
    pub(crate) fn read(&mut self, daemon: usize, zone: usize, names: Option<&BTreeSet<DnsName>>, serial: u64) {
        let now = Instant::now();
        match names {
            None => {
                let listings = self.listings.entry((daemon, zone)).or_default();
                listings.push_front((serial, now));
                listings.truncate(LISTINGS);
                self.left_out.retain(|(who, at, _)| (*who, *at) != (daemon, zone));
                self.writing.remove(&daemon);
            }
            Some(names) => {
                for name in names {
                    self.read_names.insert((daemon, zone, name.clone()), (serial, now));
                }
            }
        }
    }

    /// The serial that a daemon's last listing of a zone showed, and when.
    pub(super) fn last_listing(&self, daemon: usize, zone: usize) -> Option<&(u64, Instant)> {
        self.listings.get(&(daemon, zone)).and_then(VecDeque::front)
    }

    /// Notes what a listing left out without saying so, until the next that does not: a daemon whose claims are beside the zones takes it
    /// for gone, whatever it had read of it. Such a claim can demand nothing of a zone before the write is refused.
    pub(crate) fn left_out(&mut self, daemon: usize, zone: usize, names: Vec<DnsName>) {
        for name in names {
            let name_of = (daemon, zone, name);
            self.read_names.remove(&name_of);
            self.checked_names.remove(&name_of);
            self.left_out.insert(name_of);
        }
    }

    /// Notes whether a daemon's listing of a zone lacked its end, which nobody told it.
    pub(crate) fn note_end(&mut self, daemon: usize, zone: usize, cut: bool) {
        if cut {
            self.cut_short.insert((daemon, zone));
        } else {
            self.cut_short.remove(&(daemon, zone));
        }
    }

    /// Whether claims are in objects or in a table.
    pub(crate) fn claims_are_beside(&self) -> bool {
        self.objects.is_some()
    }

    /// Notes what the provider has looked at before a write.
    pub(crate) fn checked(&mut self, daemon: usize, zone: usize, names: &BTreeSet<DnsName>, serial: u64) {
        let now = Instant::now();
        self.checked_names.extend(names.iter().map(|name| ((daemon, zone, name.clone()), (serial, now))));
    }

    /// Whether somebody else changed the name since the daemon last read or wrote it, and that is no longer ago than
    /// [`FRESH_READ`]: who reads right before he writes cannot know more. Where nothing but a whole listing can be read (a
    /// webhook peer), that listing counts however old it is; so it does where claims are in objects, which can demand nothing of
    /// the zone.
    pub(super) fn changed_unseen(&self, daemon: usize, zone: usize, name: &DnsName) -> bool {
        let name_of = (daemon, zone, name.clone());
        let whole = self.last_listing(daemon, zone).filter(|_| !self.left_out.contains(&name_of));
        let named = self.read_names.get(&name_of).into_iter().chain(self.checked_names.get(&name_of));
        let listed_only = self.profile.capability.preconditions == Preconditions::Stated || self.objects.is_some();
        let fresh = |read: Option<&(u64, Instant)>| read.is_some_and(|(_, at)| at.elapsed() <= FRESH_READ);
        let touched = self.touched.get(&(zone, name.clone()));
        let listed = whole.map(|_| self.told_by_listing(daemon, zone, name));
        let read = named.clone().map(|(serial, _)| *serial).chain(listed).max().unwrap_or(0);
        let seen = if listed_only || fresh(whole) || named.into_iter().any(|read| fresh(Some(read))) {
            read
        } else {
            // What it wrote a moment ago stood then.
            let wrote = self.wrote.get(&name_of).filter(|at| at.elapsed() <= FRESH_READ);
            let Some(wrote) = wrote.and_then(|_| touched?.get(&Author::Daemon(daemon))) else { return false };
            read.max(*wrote)
        };
        touched.is_some_and(|by| by.iter().any(|(author, at)| *author != Author::Daemon(daemon) && *at > seen))
    }

    /// Whether somebody else changed a name since the daemon last read all of its zone: a plan rests on that reading, and what is
    /// read again before a write is the record that goes, not what was to stand in its stead.
    pub(super) fn changed_since_listed(&self, daemon: usize, zone: usize, name: &DnsName) -> bool {
        let seen = self.told_by_listing(daemon, zone, name);
        let touched = self.touched.get(&(zone, name.clone()));
        touched.is_some_and(|by| by.iter().any(|(author, at)| *author != Author::Daemon(daemon) && *at > seen))
    }

    /// Whether somebody else changed anything of a zone since the daemon last read all of it. `waits`: perhaps it was not answered yet.
    pub(super) fn zone_changed_unseen(&self, daemon: usize, zone: usize, waits: bool) -> bool {
        let mut listings = self.listings.get(&(daemon, zone)).into_iter().flatten();
        let seen = listings.find(|(_, at)| !waits || at.elapsed() > ANSWERED).map_or(0, |(serial, _)| *serial);
        let others = |by: &std::collections::BTreeMap<Author, u64>| {
            by.iter().any(|(author, at)| *author != Author::Daemon(daemon) && *at > seen)
        };
        self.touched.iter().any(|((at, _), by)| *at == zone && others(by))
    }

    /// Whether a write may rest on what is no longer so: the zone cannot be told what to expect, and somebody changed the
    /// record or its claim after it was read. A write to one zone cannot demand anything of another one that holds the claim; nor does it
    /// of claims in texts, where ours are in a table.
    pub(super) fn excused(&mut self, daemon: usize, zone: usize, key: &RecordKey) -> bool {
        let capability = &self.profile.capability;
        let demands = capability.preconditions == Preconditions::Any && capability.batch.atomic == Atomicity::Batch;
        let places = self.places(zone, key).into_iter().map(|(place, _)| place.name);
        let (here, elsewhere): (Vec<DnsName>, Vec<DnsName>) =
            places.partition(|name| name.is_within(&self.zones[zone].zone.name));
        let others = (0..self.zones.len()).filter(|other| *other != zone);
        let elsewhere = others.flat_map(|other| elsewhere.iter().map(move |name| (other, name)));
        let demands_texts = demands && !self.objects.as_ref().is_some_and(super::Objects::are_rows);
        self.word_changed_unseen(daemon, zone, key)
            || elsewhere.into_iter().any(|(other, name)| self.changed_unseen(daemon, other, name))
            || !demands_texts && here.iter().any(|name| self.changed_unseen(daemon, zone, name))
            || !demands && self.changed_unseen(daemon, zone, &key.name)
    }

    /// A change by somebody who is not judged.
    pub(crate) fn foreign(&mut self, author: Author, zone: usize, changes: &[(RecordKey, Option<RecordSet>)]) {
        let rows = self.rows();
        let written =
            |(key, to): &(RecordKey, Option<RecordSet>)| (key.clone(), to.clone().map(|set| rows.written(set)));
        let changes: Vec<_> = changes.iter().map(written).collect();
        self.touch(author, zone, &changes);
        self.cast_shadows();
    }

    /// A change of what is foreign and stays so: the shadows need not be cast anew.
    pub(crate) fn edit(&mut self, author: Author, zone: usize, changes: &[(RecordKey, Option<RecordSet>)]) {
        self.touch(author, zone, changes);
        for (key, to) in changes {
            match to {
                Some(set) => self.zones[zone].shadow.insert(key.clone(), set.clone()),
                None => self.zones[zone].shadow.remove(key),
            };
        }
    }

    /// Takes what stands and is no daemon's as what must stay.
    pub(crate) fn cast_shadows(&mut self) {
        for zone in 0..self.zones.len() {
            let sets: Vec<RecordSet> = self.zones[zone].sets.values().cloned().collect();
            let shadow = sets.into_iter().filter(|set| self.is_foreign(zone, set));
            let shadow: Sets = shadow.map(|set| (set.key.clone(), set)).collect();
            self.zones[zone].shadow = shadow;
        }
    }

    fn is_foreign(&mut self, zone: usize, set: &RecordSet) -> bool {
        if self.objects.is_none() && speaks(set) && self.parties.iter().any(|party| party.owner.is_some()) {
            return !set.data.as_records().iter().any(|data| self.is_text_of_any(data));
        }
        !self.is_managed(zone, &set.key)
    }

    fn is_text_of_any(&self, data: &RData) -> bool {
        self.parties.iter().any(|party| is_text_of(party.owner.as_ref(), data))
    }

    /// What is foreign must stand as its authors left it. `calm`: nobody is in the middle of anything.
    pub(crate) fn check_shadows(&mut self, calm: bool) {
        // What was added beside it and could not be withdrawn stays there: the call failed, or the process died before.
        let additive =
            self.profile.capability.create == CreateMode::Additive && (!calm || self.last_fault.is_some() || self.died);
        for zone in 0..self.zones.len() {
            let content = &self.zones[zone];
            self.verdicts.note_many(Rule::ForeignShadow, true, content.shadow.len() as u64);
            let lost = content.shadow.values().find(|was| match content.sets.get(&was.key) {
                Some(is) if additive => !is.data.contains(&was.data),
                Some(is) => is != *was,
                None => true,
            });
            if let Some(lost) = lost.cloned() {
                let now = content.sets.get(&lost.key).map_or("nothing".to_owned(), ToString::to_string);
                self.broken(Rule::ForeignShadow, format!("{lost} stood there, now there is {now}"));
            }
        }
    }

    /// A daemon begins, with its clock at `now`.
    pub(crate) fn begins(&mut self, daemon: usize, now: Timestamp) {
        let brake = self.parties[daemon].brake;
        for (_, ledger) in self.ledgers.range_mut((daemon, 0)..=(daemon, usize::MAX)) {
            ledger.taken_over(&brake, now);
        }
    }

    /// A daemon is started again: it has seen nothing yet, and remembers what it was told until `since`.
    pub(crate) fn restarted(&mut self, daemon: usize, since: Option<Instant>) {
        self.tried.retain(|(who, _)| *who != daemon);
        self.writing.remove(&daemon);
        self.acked.retain(|(who, _), _| *who != daemon);
        self.unanswered.retain(|(who, ..), _| *who != daemon);
        self.shown_gone.retain(|(who, _)| *who != daemon);
        self.stateless.remove(&daemon);
        self.has_kept.remove(&daemon);
        self.undo_owes.retain(|(who, _)| *who != daemon);
        self.forget_readings(daemon);
        let Some(since) = since else { return };
        for (_, ledger) in self.ledgers.range_mut((daemon, 0)..=(daemon, usize::MAX)) {
            ledger.forget(since);
        }
    }

    /// A process of a daemon died.
    pub(crate) fn forget(&mut self, daemon: usize) {
        self.died = true;
        if let Some(objects) = &mut self.objects {
            objects.forget(daemon);
        }
        self.forget_readings(daemon);
    }

    fn forget_readings(&mut self, daemon: usize) {
        self.read_names.retain(|(who, ..), _| *who != daemon);
        self.left_out.retain(|(who, ..)| *who != daemon);
        self.cut_short.retain(|(who, _)| *who != daemon);
        self.checked_names.retain(|(who, ..), _| *who != daemon);
        self.listings.retain(|(who, _), _| *who != daemon);
    }
}
