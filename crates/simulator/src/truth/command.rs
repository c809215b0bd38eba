//! What a command of a person writes: in, changes; out, the zone as it is then, and a broken rule where it touched more than is
//! its own.

use tokio::time::Instant;
use zonewright_core::{RecordKey, RecordSet};

use super::judge::LATELY;
use super::{Author, Truth, is_text_of};
use crate::names::{is_record, speaks};
use crate::rules::Rule;

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
            let fair = match &from {
                Some(_) if is_record(key) => may_delete && to.is_none() && self.is_of(daemon, zone, key),
                Some(set) => self.only_own_texts_go(daemon, set, to.as_ref()),
                None if is_record(key) => to.as_ref().is_some_and(|to| self.restores(zone, key, to)),
                None => to.as_ref().is_some_and(speaks),
            };
            if let (Some(from), None) = (&from, to) {
                self.taken.insert((zone, key.clone()), (from.clone(), Instant::now()));
            }
            self.verdicts.note(Rule::Command, true);
            if !fair {
                self.broken(Rule::Command, format!("of daemon {daemon}'s owner: {key}"));
            }
        }
        self.note_left(zone, changes);
        self.foreign(Author::Human, zone, changes);
    }

    /// Whether a command puts back what it just took away, since it could not go on (as a daemon may, where a write needs
    /// several steps).
    fn restores(&self, zone: usize, key: &RecordKey, to: &RecordSet) -> bool {
        let taken = self.taken.get(&(zone, key.clone()));
        taken.is_some_and(|(set, at)| set.data == to.data && at.elapsed() < LATELY)
    }

    /// Whether a write of a daemon is one of an undo that a person ordered: what it takes away is what we left there, whoever of
    /// us. It is carried out then.
    pub(super) fn sets_back(&mut self, daemon: usize, zone: usize, changes: &[(RecordKey, Option<RecordSet>)]) -> bool {
        let as_left = |(key, _): &(RecordKey, Option<RecordSet>)| {
            let left = self.left.get(&(zone, key.clone())).and_then(Option::as_ref);
            self.zones[zone].sets.get(key).map(|set| &set.data) == left.map(|set| &set.data)
        };
        if !self.undoing.contains(&daemon) || !changes.iter().all(as_left) {
            return false;
        }
        self.verdicts.note(Rule::Command, true);
        self.note_left(zone, changes);
        self.touch(Author::Daemon(daemon), zone, changes);
        self.cast_shadows();
        true
    }

    /// Notes what our daemons and commands left at some keys.
    pub(super) fn note_left(&mut self, zone: usize, changes: &[(RecordKey, Option<RecordSet>)]) {
        self.left.extend(changes.iter().map(|(key, to)| ((zone, key.clone()), to.clone())));
    }

    fn only_own_texts_go(&self, daemon: usize, from: &RecordSet, to: Option<&RecordSet>) -> bool {
        let owner = self.parties[daemon].owner.as_ref();
        let left = to.map_or(&[][..], |set| set.data.as_records());
        from.data.as_records().iter().all(|data| left.contains(data) || is_text_of(owner, data))
    }
}
