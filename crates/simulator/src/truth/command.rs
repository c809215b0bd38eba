//! What a command of a person writes, and what an undo sets back: in, changes of zones and of objects with claims; out, how both
//! are then, and a broken rule where it touched more than is its own.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::slice;

use tokio::time::Instant;
use zonewright_core::capability::CreateMode;
use zonewright_core::documents::Document;
use zonewright_core::{RecordKey, RecordSet, intent};

use super::lately::LATELY;
use super::{Author, Right, Truth, is_text_of};
use crate::names::{is_record, speaks};
use crate::rules::Rule;

/// What the daemons and commands of one owner last left at a key.
#[derive(Debug)]
pub(super) struct Left {
    owner: Option<String>,
    set: Option<RecordSet>,
}

impl Truth {
    /// A command for the owner of `daemon`. Only a drain takes records away; no command changes one, and none touches what its
    /// owner has no right to.
    pub(crate) fn commit_command(
        &mut self,
        daemon: usize,
        zone: usize,
        changes: &[(RecordKey, Option<RecordSet>)],
        may_delete: bool,
    ) {
        self.writes += 1;
        for (key, to) in changes {
            let from = self.zones[zone].sets.get(key).cloned();
            if from == *to {
                continue;
            }
            self.tell(|| {
                format!("the command makes {key} {}", to.as_ref().map_or("nothing".to_owned(), ToString::to_string))
            });
            let narrowed = from.is_some() && self.narrowed_by_itself(daemon, zone, key);
            let fair = match &from {
                Some(from) if is_record(key) => {
                    let goes = to.as_ref().is_none_or(|to| self.keeps_what_was_added(from, to));
                    may_delete && goes && (narrowed || self.is_of(daemon, zone, key))
                }
                Some(set) => self.only_own_texts_go(daemon, set, to.as_ref()),
                None if is_record(key) => to.as_ref().is_some_and(|to| self.restores(zone, key, to)),
                None => to.as_ref().is_some_and(speaks),
            };
            if let (Some(from), None) = (&from, to) {
                self.taken.insert((zone, key.clone()), (from.clone(), Instant::now()));
            }
            self.verdicts.note(Rule::Command, !narrowed);
            if !fair {
                self.broken(Rule::Command, format!("of daemon {daemon}'s owner: {key}"));
            }
        }
        self.note_left(daemon, zone, changes);
        self.foreign(Author::Human, zone, changes);
    }

    /// Whether a delete took away what had been read of a set, and left there what was added to it since: where creates add, members of a set go,
    /// and not the set.
    fn keeps_what_was_added(&self, from: &RecordSet, to: &RecordSet) -> bool {
        self.profile.capability.create == CreateMode::Additive && from.data.contains(&to.data)
    }

    /// Whether a record is nobody's only since a command narrowed the claim on it, in an object, to what a process of its owner has changed
    /// lately.
    fn narrowed_by_itself(&mut self, daemon: usize, zone: usize, key: &RecordKey) -> bool {
        let owner = &self.parties[daemon].owner;
        // Its routing or TTL, perhaps.
        let wrote = |by: usize| self.wrote.get(&(by, zone, key.name.clone()));
        let lately = |by: usize| wrote(by).is_some_and(|at| at.elapsed() < LATELY);
        let by_ours = match self.last.get(&(zone, key.clone())) {
            Some((Author::Daemon(by), _)) => self.parties[*by].owner == *owner && lately(*by),
            _ => false,
        };
        self.objects.is_some() && by_ours && self.right(zone, key) == Right::Nobody
    }

    /// Whether a command puts back what it just took away, since it could not go on (as a daemon may, where a write needs
    /// several steps).
    fn restores(&self, zone: usize, key: &RecordKey, to: &RecordSet) -> bool {
        let taken = self.taken.get(&(zone, key.clone()));
        taken.is_some_and(|(set, at)| set.data == to.data && at.elapsed() < LATELY)
    }

    /// Carries out what a daemon writes for an undo that a person ordered: it takes away what we left there, whoever of us was the
    /// last, or what its own owner left, if that stands there again. What is left of the write is to be judged as any other: a
    /// record that stands otherwise, and its claims.
    pub(super) fn set_back<'a>(
        &mut self,
        daemon: usize,
        zone: usize,
        changes: &'a [(RecordKey, Option<RecordSet>)],
    ) -> Cow<'a, [(RecordKey, Option<RecordSet>)]> {
        if !self.undoing.contains(&daemon) {
            return Cow::Borrowed(changes);
        }
        let mut otherwise = BTreeSet::new();
        for change in changes.iter().filter(|(key, _)| !self.is_as_left(daemon, zone, key)).collect::<Vec<_>>() {
            otherwise.extend(self.concerned(zone, slice::from_ref(change)));
        }
        let of_those = |change: &(RecordKey, _)| !self.concerned(zone, slice::from_ref(change)).is_disjoint(&otherwise);
        let (judged, undone): (Vec<_>, Vec<_>) = changes.iter().cloned().partition(of_those);
        if undone.is_empty() {
            return Cow::Borrowed(changes);
        }
        self.verdicts.note(Rule::Command, true);
        self.note_left(daemon, zone, &undone);
        self.touch(Author::Daemon(daemon), zone, &undone);
        for (key, _) in &undone {
            self.note_fulfilled(daemon, zone, key);
        }
        self.cast_shadows();
        Cow::Owned(judged)
    }

    /// Whether what stands at a key is what processes and commands left there: the last of any owner, or the daemon's own.
    fn is_as_left(&self, daemon: usize, zone: usize, key: &RecordKey) -> bool {
        let owner = &self.parties[daemon].owner;
        let stands = self.zones[zone].sets.get(key).map(|set| &set.data);
        let Some(left) = self.left.get(&(zone, key.clone())) else { return stands.is_none() };
        let counts = left.iter().rev().enumerate().filter(|(later, left)| *later == 0 || left.owner == *owner);
        counts.map(|(_, left)| left.set.as_ref().map(|set| &set.data)).any(|left| left == stands)
    }

    /// Notes what a daemon, or a command for its owner, left at some keys.
    pub(super) fn note_left(&mut self, daemon: usize, zone: usize, changes: &[(RecordKey, Option<RecordSet>)]) {
        let owner = &self.parties[daemon].owner;
        for (key, to) in changes {
            let left = self.left.entry((zone, key.clone())).or_default();
            left.retain(|left| left.owner != *owner);
            left.push(Left { owner: owner.clone(), set: to.clone() });
        }
    }

    fn only_own_texts_go(&self, daemon: usize, from: &RecordSet, to: Option<&RecordSet>) -> bool {
        let owner = self.parties[daemon].owner.as_ref();
        let left = to.map_or(&[][..], |set| set.data.as_records());
        from.data.as_records().iter().all(|data| left.contains(data) || is_text_of(owner, data))
    }

    /// A daemon is about to write an object, which may fail: what an undo does not get written then is written later.
    pub(crate) fn note_attempt(&mut self, daemon: usize, name: &str) {
        if self.undoing.contains(&daemon) {
            self.undo_owes.insert((daemon, name.to_owned()));
        }
    }

    /// An object has taken what a daemon wrote, or has refused it for good.
    pub(crate) fn note_settled(&mut self, daemon: usize, name: &str) {
        self.undo_owes.remove(&(daemon, name.to_owned()));
    }

    /// Whether a daemon is setting back, by a person's order, what our daemons and commands said of a record in an object: it stands
    /// as it stood then, by the right that they left.
    pub(super) fn sets_word_back(&self, daemon: usize, zone: usize, name: &str, set: &RecordSet) -> bool {
        let ordered = self.undoing.contains(&daemon) || self.undo_owes.contains(&(daemon, name.to_owned()));
        let Some(objects) = self.objects.as_ref().filter(|_| ordered) else { return false };
        let left = objects.left.get(&(self.label(zone), set.key.clone()));
        let as_left = |(right, stood): &(Right, String)| {
            self.right_by_objects(zone, &set.key).as_ref() == Some(right) && *stood == intent::digest(set)
        };
        left.is_some_and(as_left)
    }

    /// Notes by what right records stand, now that a daemon or a command has written of them.
    pub(super) fn note_words_left(&mut self, standing: &[(usize, RecordSet)]) {
        let left = |(zone, set): &(usize, RecordSet)| {
            let right = self.right_by_objects(*zone, &set.key)?;
            Some(((self.label(*zone), set.key.clone()), (right, intent::digest(set))))
        };
        let left: Vec<_> = standing.iter().filter_map(left).collect();
        if let Some(objects) = &mut self.objects {
            objects.left.extend(left);
        }
    }

    /// A command for the owner of `daemon` writes an object: of the records that stand it changes the right to none but its
    /// owner's, or nobody's.
    pub(crate) fn order_object(&mut self, daemon: usize, name: &str, document: Option<Document>) -> u64 {
        let standing = self.spoken_of(name, document.as_ref());
        let ours = self.parties[daemon].owner.clone();
        // Its owner's objects may say two things of a record while they are split.
        let own = |zone: usize, key: &RecordKey| {
            let place = (self.label(zone), key.clone());
            self.objects.as_ref().is_some_and(|objects| objects.speaks_alone(ours.as_ref(), &place))
        };
        let own: Vec<bool> = standing.iter().map(|(zone, set)| own(*zone, &set.key)).collect();
        let before: Vec<Right> = standing.iter().map(|(zone, set)| self.right(*zone, &set.key)).collect();
        let version = self.put_by_hand(name, document);
        self.note_words_left(&standing);
        for (((zone, set), before), own) in standing.iter().zip(before).zip(own) {
            let after = self.right(*zone, &set.key);
            if before == after {
                continue;
            }
            let fair = match &before {
                Right::Nobody => matches!(&after, Right::One { owner, .. } if Some(owner) == ours.as_ref()),
                Right::One { owner, .. } => Some(owner) == ours.as_ref(),
                Right::Several => own,
            };
            self.verdicts.note(Rule::Command, true);
            if !fair {
                self.broken(Rule::Command, format!("of daemon {daemon}'s owner: {set} was {before:?}, is {after:?}"));
            }
        }
        version
    }
}
