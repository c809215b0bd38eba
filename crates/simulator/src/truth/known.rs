//! What a process must know, since it did it or read it itself.
//!
//! In: its writes that were answered, its readings, what it holds for approval. Out: broken rules where it goes by something
//! else, or leaves something behind, although nobody else was at work. The guards behind these would mend what comes of it, so
//! nothing but this shows it.

use std::collections::BTreeSet;
use std::time::Duration;

use tokio::time::Instant;
use zonewright_core::capability::{CreateMode, Preconditions};
use zonewright_core::change::{Change, Group};
use zonewright_core::{DnsName, RecordData, RecordKey, RecordSet, RecordType};

use super::brake::PROCESS;
use super::{Author, Party, Truth};
use crate::names::{Saying, Sets, data, is_record, saying, set};
use crate::rules::Rule;

/// How long a write of somebody else may keep a name from being in order.
const LATELY: Duration = Duration::from_mins(10);

/// The longest pause of a name that was refused: what is news there is planned by after it.
const PARKED: Duration = Duration::from_secs(75);

/// How long a zone pauses at most after the first call of which it is not known what became of it.
const PAUSE: Duration = Duration::from_millis(1_250);

/// The longest time from a write to its answer in fair weather.
pub(super) const ANSWERED: Duration = Duration::from_secs(1);

impl Truth {
    /// A write was answered: the process knows what stands there, until somebody else changes it.
    pub(crate) fn answered(&mut self, daemon: usize, zone: usize, group: &Group) {
        if let Some(ledger) = self.ledgers.get_mut(&(daemon, zone)) {
            group.changes().for_each(|change| ledger.answered(change.key()));
        }
        for change in group.changes() {
            let at = (zone, change.key().clone());
            if let Some((Author::Daemon(by), serial)) =
                self.last.get(&at).filter(|(by, _)| *by == Author::Daemon(daemon))
            {
                self.acked.insert((*by, at), *serial);
            }
        }
    }

    /// Nobody says what became of a write: it has to be read.
    pub(crate) fn unanswered(&mut self, daemon: usize, zone: usize, group: &Group) {
        let keys = group.changes().map(|change| (daemon, (zone, change.key().clone())));
        self.unanswered.extend(keys.map(|key| (key, false)));
        let Some(ledger) = self.ledgers.get_mut(&(daemon, zone)) else { return };
        group.changes().for_each(|change| ledger.unanswered(change.key()));
        let deleted: Vec<RecordKey> = ledger.deleted().cloned().collect();
        let concerns = |key: &RecordKey| {
            let places = self.places(zone, key).into_iter().map(|(place, _)| place);
            [key.clone()].into_iter().chain(places).any(|place| group.changes().any(|change| *change.key() == place))
        };
        let lost: Vec<RecordKey> = deleted.into_iter().filter(concerns).collect();
        for place in [zone, PROCESS] {
            if let Some(ledger) = self.ledgers.get_mut(&(daemon, place)) {
                ledger.lose(lost.iter().cloned());
            }
        }
    }

    /// A process was shown what stands at some names, or in the whole zone.
    pub(crate) fn shown(&mut self, daemon: usize, zone: usize, names: Option<&BTreeSet<DnsName>>) {
        for ((who, (at, key)), is_read) in &mut self.unanswered {
            *is_read |= (*who, *at) == (daemon, zone) && names.is_none_or(|names| names.contains(&key.name));
        }
        let zone_of = &self.zones[zone];
        for place in [zone, PROCESS] {
            if let Some(ledger) = self.ledgers.get_mut(&(daemon, place)) {
                let shown = |key: &RecordKey| match names {
                    Some(names) => names.contains(&key.name),
                    None => key.name.is_within(&zone_of.zone.name),
                };
                ledger.read(|key| shown(key) && !zone_of.sets.contains_key(key));
            }
        }
    }

    /// A group is about to be sent: what became of the last write there was asked, if nobody had said so.
    pub(crate) fn judge_answers(&mut self, daemon: usize, zone: usize, group: &Group) {
        for key in group.changes().map(Change::key) {
            let Some(is_read) = self.unanswered.remove(&(daemon, (zone, key.clone()))) else { continue };
            self.verdicts.note(Rule::Unanswered, true);
            if !is_read {
                let text = format!("daemon {daemon} writes {key} once more, and has not read it");
                self.broken(Rule::Unanswered, text);
            }
        }
    }

    /// The process was shown something else than what stands.
    pub(crate) fn forget_answers(&mut self, daemon: usize, zone: usize) {
        self.acked.retain(|(who, (at, _)), _| *who != daemon || *at != zone);
    }

    /// Whether what the process wrote last is what stands.
    fn knows(&self, daemon: usize, zone: usize, key: &RecordKey) -> bool {
        let at = (zone, key.clone());
        let last = self.last.get(&at).map(|(_, serial)| *serial);
        last.is_some() && last == self.acked.get(&(daemon, at)).copied()
    }

    /// A group is about to be carried out: what it takes for standing is what its process left there, if that is what stands.
    /// No older listing speaks against it.
    pub(crate) fn judge_memory(&mut self, daemon: usize, zone: usize, sets: &Sets, group: &Group) {
        for change in group.changes().filter(|change| is_record(change.key())) {
            let key = change.key();
            if !self.knows(daemon, zone, key) {
                continue;
            }
            self.verdicts.note(Rule::Memory, true);
            let stands = sets.get(key).map(|set| &set.data);
            if !self.is_as_expected(change, stands) {
                let stands = stands.map_or("nothing".to_owned(), ToString::to_string);
                let text = format!("daemon {daemon} sends {change}, and left {stands} there");
                self.broken(Rule::Memory, text);
            }
        }
    }

    fn is_as_expected(&self, change: &Change, stands: Option<&RecordData>) -> bool {
        let whole = self.profile.capability.create == CreateMode::Guarded;
        match change {
            Change::Create { to } if whole => stands.is_none_or(|stands| stands == &to.data),
            Change::Create { .. } => true,
            Change::Update { from, .. } | Change::Delete { from } => {
                stands.is_some_and(|stands| if whole { *stands == from.data } else { stands.contains(&from.data) })
            }
        }
    }

    /// The serial up to which listings of everything tell a daemon of a name: where it wrote there itself less than the lag before one, or
    /// read that name by itself, it keeps what it knew, wrote and read.
    pub(super) fn told_by_listing(&self, daemon: usize, zone: usize, name: &DnsName) -> u64 {
        let name = (daemon, zone, name.clone());
        // The write that is judged has been noted already.
        let wrote = [self.wrote.get(&name), self.wrote_before.get(&name)];
        let known = [wrote[0], wrote[1], self.read_names.get(&name).map(|(_, at)| at)];
        let lately = |at: Instant, known: &Instant| at >= *known && *known + self.profile.lag + ANSWERED >= at;
        let keeps = |at: Instant| known.into_iter().flatten().any(|known| lately(at, known));
        let listings = self.listings.get(&(daemon, zone)).into_iter().flatten();
        listings.filter(|(_, at)| !keeps(*at)).map(|(serial, _)| *serial).next().unwrap_or(0)
    }

    /// Whether somebody else changed a name, or the claims on a key, after the daemon last read it to plan it. Where a write takes several
    /// steps, or sets stand under identifiers, a name is perhaps read for something else at it, right before that is written.
    pub(super) fn is_news(&mut self, daemon: usize, zone: usize, key: &RecordKey) -> bool {
        if self.last_listing(daemon, zone).is_none() {
            return true;
        }
        let mut names: Vec<DnsName> = self.places(zone, key).into_iter().map(|(place, _)| place.name).collect();
        names.push(key.name.clone());
        let unseen = |name: &DnsName| {
            let for_plans = !self.profile.staged && !self.profile.capability.set_ids;
            let targeted = self.read_names.get(&(daemon, zone, name.clone())).filter(|_| for_plans);
            let targeted = targeted.map_or(0, |(serial, _)| *serial);
            let seen = self.told_by_listing(daemon, zone, name).max(targeted);
            let touched = self.touched.iter().filter(|((at, other), _)| *at == zone && other == name);
            let mut authors = touched.flat_map(|(_, by)| by);
            authors.any(|(author, at)| *author != Author::Daemon(daemon) && *at > seen)
        };
        let elsewhere = names.iter().any(|name| !name.is_within(&self.zones[zone].zone.name));
        elsewhere || names.iter().any(unseen) || self.word_changed_unseen(daemon, zone, key)
    }

    /// What a daemon wrote at a name was refused.
    pub(crate) fn note_refused(&mut self, daemon: usize, zone: usize, name: &DnsName) {
        self.refused.insert((daemon, zone, name.clone()), Instant::now());
    }

    /// What waits for an approval is the daemon's, as far as it can know.
    pub(crate) fn judge_held(&mut self, daemon: usize, zone: &str, keys: &[RecordKey]) {
        // Claims elsewhere are seen with the writes of others too, and planned by with the next reading.
        if self.objects.is_some() {
            return;
        }
        let Some(zone) = self.zones.iter().position(|content| content.zone.key.to_string() == zone) else { return };
        // Nobody reads a zone that is not on the list.
        if self.missing.contains(&zone) {
            return;
        }
        for key in keys {
            let refused = self.refused.get(&(daemon, zone, key.name.clone()));
            let waits = refused.is_some_and(|at| at.elapsed() <= PARKED);
            if waits || !self.zones[zone].sets.contains_key(key) || self.is_news(daemon, zone, key) {
                continue;
            }
            self.verdicts.note(Rule::HeldOurs, true);
            if !self.is_of(daemon, zone, key) {
                self.broken(Rule::HeldOurs, format!("daemon {daemon} holds the delete of {key}, which is not its own"));
            }
        }
    }

    /// Where no call has failed and no process died, who is at rest leaves no write half done.
    pub(crate) fn judge_intents(&mut self) {
        if !self.profile.staged || self.objects.is_some() || self.last_fault.is_some() || self.died {
            return;
        }
        // Where two processes of one owner cross, one of them finishes or sweeps it with a later reading.
        let crossing = (0..self.parties.len()).any(|daemon| self.shares_owner(daemon));
        let others =
            crossing || self.changes.iter().any(|(by, at)| !matches!(by, Author::Daemon(_)) && at.elapsed() < LATELY);
        self.verdicts.note(Rule::IntentLeft, !others);
        if others {
            return;
        }
        // Who only creates takes nothing away that an earlier process left, which had other flags.
        let sweeps = |party: &Party, owner: &String| {
            (party.may_update || party.may_delete) && party.owner.as_ref() == Some(owner)
        };
        // Where taking it back was refused, what stands is read after a pause.
        let pauses = |owner: &String, text: &RecordKey| {
            let mut meant = self.speaks_for.get(text).into_iter().flatten();
            meant.any(|(zone, key)| {
                let refused = |(by, at, name): &(usize, usize, DnsName)| {
                    self.parties[*by].owner.as_ref() == Some(owner) && at == zone && *name == key.name
                };
                self.refused.iter().any(|(place, at)| refused(place) && at.elapsed() <= PAUSE)
            })
        };
        let is_intent = |set: &&RecordSet| {
            set.data.as_records().iter().any(|data| match saying(data) {
                Saying::Intent { owner, .. } => {
                    self.parties.iter().any(|party| sweeps(party, &owner)) && !pauses(&owner, &set.key)
                }
                _ => false,
            })
        };
        let left = self.zones.iter().flat_map(|content| content.sets.values()).find(is_intent).cloned();
        if let Some(left) = left {
            self.broken(Rule::IntentLeft, format!("{left} stands, and nobody is at work"));
        }
    }

    /// Somebody is quicker: right before a daemon creates a record, there is one of another's.
    pub(crate) fn forestall(&mut self, zone: usize, groups: &[Group]) {
        if self.profile.capability.preconditions == Preconditions::Stated {
            return;
        }
        let mut creates = groups.iter().flat_map(Group::changes).filter_map(|change| match change {
            Change::Create { to } => Some(to),
            _ => None,
        });
        let sets = &self.zones[zone].sets;
        let free =
            |set: &&RecordSet| set.key.rtype == RecordType::A && !sets.keys().any(|key| key.name == set.key.name);
        let Some(key) = creates.find(free).map(|set| set.key.clone()) else { return };
        let quick = set(&key, [data(key.rtype, "192.0.2.77")]);
        self.tell(|| format!("a human is quicker: {quick}"));
        self.foreign(Author::Human, zone, &[(key, Some(quick))]);
    }
}
