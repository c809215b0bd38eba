//! Judges each write of a daemon: by what stood at that very moment, by whose it was, and by who asks.
//!
//! In: a write. Out: it is carried out, and the first rule that it breaks is noted.

use std::collections::BTreeSet;
use std::time::Duration;

use tokio::time::Instant;
use zonewright_core::capability::CreateMode;
use zonewright_core::clock::Timestamp;
use zonewright_core::{DnsName, RData, RecordKey, RecordSet, RecordType};

use super::ledger::Counted;
use super::{Author, Party, Right, Truth, is_text_of};
use crate::cluster::Sight;
use crate::names::{Rows, is_forged, is_record, speaks};
use crate::rules::Rule;

/// One record before and after a write.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Judged<'a> {
    pub(super) daemon: usize,
    pub(super) zone: usize,
    pub(super) key: &'a RecordKey,
    pub(super) stood: Option<&'a RecordSet>,
    pub(super) stands: Option<&'a RecordSet>,
    pub(super) was_ours: bool,
    pub(super) is_ours: bool,
    /// Whether the daemon took it for a new record.
    creates: bool,
    /// The objects that held the records of this call before it, and those records of which no claim says who holds them.
    pub(super) held: &'a [(RecordKey, String)],
    pub(super) unlabelled: &'a [RecordSet],
}

impl<'a> Judged<'a> {
    /// A record that stays as it is while the right to it changes.
    pub(super) fn still(daemon: usize, zone: usize, set: &'a RecordSet, was_ours: bool, is_ours: bool) -> Self {
        let (stood, stands) = (Some(set), Some(set));
        Self {
            daemon,
            zone,
            key: &set.key,
            stood,
            stands,
            was_ours,
            is_ours,
            creates: false,
            held: &[],
            unlabelled: &[],
        }
    }
}

/// Whether another type, or another kind of the same, takes a record's place.
fn replaced(rows: Rows, gone: &RecordKey, changes: &[(RecordKey, Option<RecordSet>)]) -> bool {
    let comes = |key: &RecordKey| rows.takes_place(key, gone) && (key.rtype != RecordType::Txt || is_record(key));
    changes.iter().any(|(key, to)| to.is_some() && comes(key))
}

pub(super) fn members(set: Option<&RecordSet>) -> &[RData] {
    set.map_or(&[], |set| set.data.as_records())
}

fn show(set: Option<&RecordSet>) -> String {
    set.map_or("nothing".to_owned(), ToString::to_string)
}

impl Truth {
    /// A write of a daemon: carried out, and judged. `created` is what it took for new, `now` the time by its clock.
    pub(crate) fn commit(
        &mut self,
        daemon: usize,
        zone: usize,
        changes: &[(RecordKey, Option<RecordSet>)],
        created: &BTreeSet<RecordKey>,
        sight: &Sight,
        now: Timestamp,
    ) {
        if self.parties[daemon].dry_run {
            self.broken(Rule::DryRun, format!("daemon {daemon} wrote {}", changes[0].0));
        }
        self.writes += 1;
        let changes = &*self.set_back(daemon, zone, changes);
        if changes.is_empty() {
            return;
        }
        self.note_left(daemon, zone, changes);
        let concerned = self.concerned(zone, changes);
        let before: Vec<_> =
            concerned.iter().map(|(z, key)| (self.standing(*z, key), self.is_of(daemon, *z, key))).collect();
        let rights: Vec<Right> = concerned.iter().map(|(z, key)| self.right(*z, key)).collect();
        let held: Vec<(RecordKey, String)> = concerned
            .iter()
            .zip(&rights)
            .filter(|((at, _), _)| *at == zone)
            .filter_map(|((_, key), right)| Some((key.clone(), right.resource()?.to_owned())))
            .collect();
        let unlabelled: Vec<RecordSet> = concerned
            .iter()
            .zip(before.iter().zip(&rights))
            .filter(|((at, _), (_, right))| *at == zone && right.resource().is_none())
            .filter_map(|(_, ((stood, _), _))| stood.clone())
            .collect();
        // What was passed over in a listing because of an earlier write is asked before this one is noted.
        let crossed: BTreeSet<(usize, RecordKey)> =
            concerned.iter().filter(|(z, key)| self.changed_since_listed(daemon, *z, &key.name)).cloned().collect();
        self.check_texts(daemon, zone, changes);
        self.note_owned(daemon, zone, now);
        self.touch(Author::Daemon(daemon), zone, changes);
        let (mut counted, mut used) = (Vec::new(), BTreeSet::new());
        for (((z, key), (stood, was_ours)), right) in concerned.iter().zip(&before).zip(&rights) {
            let stands = self.standing(*z, key);
            let is_ours = self.is_of(daemon, *z, key);
            let step = Judged {
                daemon,
                zone: *z,
                key,
                stood: stood.as_ref(),
                stands: stands.as_ref(),
                was_ours: *was_ours,
                is_ours,
                creates: created.contains(key),
                held: &held,
                unlabelled: &unlabelled,
            };
            let other = || sight.asks_for_another_type(key, self.patience());
            let replaced = replaced(sight.rows, key, changes) || self.profile.staged && other();
            self.judge(&step, replaced);
            self.judge_scope(&step);
            self.judge_instance(&step, sight);
            if stood.is_some() && stands.is_none() && *was_ours {
                self.judge_replacement(&step, right, sight, crossed.contains(&(*z, key.clone())));
            }
            if stood != &stands {
                self.note_write(daemon, *z, key);
                self.shown_gone.remove(&(daemon, (*z, key.clone())));
                self.note_fulfilled(daemon, *z, key);
            }
            if self.puts_back(&step) {
                self.undelete(daemon, *z, key);
            }
            let back = self.takes_back(&step);
            self.note_members(&step);
            if back {
                continue;
            }
            self.judge_evidence(&step, right, sight, replaced);
            if let (Some(stood), None) = (stood, stands.as_ref())
                && *was_ours
            {
                if self.counts(&step, right, (created, &mut used), sight) {
                    counted.push(Counted { stood: stood.clone(), right: right.clone() });
                } else {
                    self.freed.insert((daemon, zone), Instant::now());
                }
            }
        }
        self.judge_brake(daemon, zone, &counted, now);
    }

    fn standing(&self, zone: usize, key: &RecordKey) -> Option<RecordSet> {
        self.zones[zone].sets.get(key).cloned()
    }

    /// The record keys that a write changes, or whose claims it changes.
    pub(super) fn concerned(
        &mut self,
        zone: usize,
        changes: &[(RecordKey, Option<RecordSet>)],
    ) -> BTreeSet<(usize, RecordKey)> {
        let mut concerned = BTreeSet::new();
        for (key, _) in changes {
            if key.rtype == RecordType::Txt && !is_record(key) {
                self.know(zone, &key.name);
                let spoken = self.speaks_for.get(key).into_iter().flatten();
                let meant = |(at, key): &&(usize, RecordKey)| is_record(key) && self.are_of_one_instance(*at, zone);
                concerned.extend(spoken.filter(meant).cloned());
            } else {
                self.places(zone, key);
                concerned.insert((zone, key.clone()));
            }
        }
        concerned
    }

    /// Learns of every record whose claims may stand at names not seen before.
    fn know(&mut self, zone: usize, _: &DnsName) {
        let keys: Vec<(usize, RecordKey)> = self
            .zones
            .iter()
            .enumerate()
            .filter(|(at, _)| *at == zone || self.zones.len() > 1)
            .flat_map(|(at, content)| content.sets.keys().map(move |key| (at, key.clone())))
            .filter(|(at, key)| is_record(key) && !self.places.contains_key(&(*at, key.clone())))
            .collect();
        for (at, key) in keys {
            self.places(at, &key);
        }
    }

    fn check_texts(&mut self, daemon: usize, zone: usize, changes: &[(RecordKey, Option<RecordSet>)]) {
        let owner = self.parties[daemon].owner.clone();
        let forged = changes.iter().filter_map(|(_, to)| to.as_ref()).find(|set| is_forged(&set.data));
        if let Some(forged) = forged {
            self.broken(Rule::Forged, format!("daemon {daemon} wrote {forged}"));
        }
        let mut broken = Vec::new();
        let claimed: BTreeSet<&RecordKey> =
            changes.iter().map(|(key, _)| key).filter(|key| self.is_claimed_text(daemon, zone, key)).collect();
        for (key, to) in changes {
            if is_record(key) || claimed.contains(key) {
                continue;
            }
            let from = self.zones[zone].sets.get(key);
            let (old, new) = (members(from), members(to.as_ref()));
            let in_zones = self.objects.is_none();
            let ours = |data: &RData| in_zones && key.rtype == RecordType::Txt && is_text_of(owner.as_ref(), data);
            let gone = old.iter().find(|data| !new.contains(data) && !ours(data));
            let came = new.iter().find(|data| !old.contains(data) && !ours(data));
            if gone.is_none() && came.is_none() {
                self.verdicts.note(Rule::ForeignText, true);
            }
            if gone.is_some() || came.is_some() {
                broken.push(format!("daemon {daemon} made {} of {}", show(to.as_ref()), show(from)));
            }
        }
        for text in broken {
            // What another changed in between is not ours to answer for where nothing can be demanded.
            let excused = changes.iter().any(|(key, _)| self.excused(daemon, zone, key));
            self.verdicts.note(Rule::ForeignText, !excused);
            if excused {
                for (key, _) in changes {
                    self.zones[zone].shadow.remove(key);
                }
                continue;
            }
            self.broken(Rule::ForeignText, text);
        }
    }

    /// Whether a text that says nothing of claims is the daemon's by a claim that a human gave it.
    fn is_claimed_text(&mut self, daemon: usize, zone: usize, key: &RecordKey) -> bool {
        let silent = self.zones[zone].sets.get(key).is_some_and(|set| !speaks(set));
        key.rtype == RecordType::Txt && !is_record(key) && silent && self.is_of(daemon, zone, key)
    }

    fn judge(&mut self, step: &Judged<'_>, replaced: bool) {
        self.judge_foreign(step);
        self.judge_claim(step);
        self.judge_policy(step, replaced);
    }

    /// A record that nobody, or somebody else, claims stays as it is.
    fn judge_foreign(&mut self, step: &Judged<'_>) {
        let Judged { daemon, zone, key, stood, stands, was_ours, .. } = *step;
        if stood.is_none() || stood == stands {
            return;
        }
        if was_ours {
            self.verdicts.note(Rule::ForeignRecord, true);
            return;
        }
        if self.puts_back(step) {
            self.verdicts.note(Rule::ForeignRecord, false);
            self.widen_shadow(step);
            return;
        }
        if self.takes_back(step) {
            self.verdicts.note(Rule::ForeignRecord, false);
            // What was added in the same course goes, whatever came over it since; what else stands there stays.
            self.lift_shadow(step);
            return;
        }
        let excused = self.excused(daemon, zone, key)
            || self.announced_unseen(daemon, zone, key)
            || self.spoken_of_amid(zone, key);
        self.verdicts.note(Rule::ForeignRecord, !excused);
        let beside = stood.zip(stands).is_some_and(|(stood, stands)| stands.data.contains(&stood.data));
        if excused && beside && step.creates && self.profile.capability.create == CreateMode::Additive {
            // It was added beside what came unseen; that must be found out, and the shadow stays.
        } else if excused {
            self.zones[zone].shadow.remove(key);
        } else {
            let text = format!("daemon {daemon} made {} of {}", show(stands), show(stood));
            self.broken(Rule::ForeignRecord, text);
        }
    }

    /// What lies outside the filter is not touched.
    fn judge_scope(&mut self, step: &Judged<'_>) {
        if step.stood == step.stands {
            return;
        }
        let inside = self.parties[step.daemon].may_touch(&step.key.name);
        self.verdicts.note(Rule::Outside, true);
        if !inside {
            self.broken(
                Rule::Outside,
                format!("daemon {} made {} of {}", step.daemon, show(step.stands), show(step.stood)),
            );
        }
    }

    /// A record of ours has our claim, and no other record has.
    pub(super) fn judge_claim(&mut self, step: &Judged<'_>) {
        let Judged { daemon, zone, key, stood, stands, was_ours, is_ours, .. } = *step;
        // What could not be carried on is put back, whoever has taken the claim meanwhile.
        if self.takes_back(step) || self.puts_back(step) {
            return;
        }
        let seized = stood.is_some() && stood == stands && !was_ours && is_ours;
        let bare = stands.is_some() && !is_ours && (stood.is_none() || was_ours);
        // Whoever of our owner's processes wrote it: it is ours.
        let own = seized && self.is_of_our_owner(step);
        let moves = || self.objects.as_ref().is_some_and(|objects| objects.moves_with_a_word(&self.label(zone), key));
        let unseen = bare
            && (stood == stands && moves()
                || self.announced_unseen(daemon, zone, key)
                || self.narrowed_by_another(daemon, zone, key)
                || self.is_of_later(daemon, (zone, key.clone()))
                || self.came_under_a_claim(step));
        let excused =
            unseen || (seized && !own || bare) && !self.must_have_read(step) && self.excused(daemon, zone, key);
        if stood.is_some() && is_ours {
            self.verdicts.note(Rule::ClaimSeized, !(own || seized && excused));
        }
        if stands.is_some() && (stood.is_none() || was_ours) {
            self.verdicts.note(Rule::Unclaimed, !(bare && (excused || self.shares_owner(daemon))));
        }
        let seized = seized && !own;
        if excused {
            // What somebody changed unseen is, with our claim on it, not told from what we wrote.
            self.zones[zone].shadow.remove(key);
        } else if seized {
            self.broken(Rule::ClaimSeized, format!("daemon {daemon} claims {}", show(stood)));
        } else if bare && !self.is_confirmed_by_another(step) && !self.shares_owner(daemon) {
            self.broken(Rule::Unclaimed, format!("daemon {daemon} left {}", show(stands)));
        }
    }

    /// Whether what stands there was written by nobody of ours, after the process had been shown that its record is gone.
    fn is_of_later(&self, daemon: usize, at: (usize, RecordKey)) -> bool {
        let ours = matches!(self.last.get(&at), Some((Author::Daemon(_), _)));
        !ours && self.shown_gone.contains(&(daemon, at))
    }

    /// Whether somebody else put a record where a claim of the old format stood, which speaks for every type, and the process that takes
    /// that claim away with its own record could not know of it. It is his then, as it was. Of a zone that the list of zones left out a
    /// process knows nothing: an intent that it writes in the zone above, and takes away again, may speak for what stands at the apex below.
    fn came_under_a_claim(&mut self, step: &Judged<'_>) -> bool {
        let at = (step.zone, step.key.clone());
        let ours = matches!(self.last.get(&at), Some((Author::Daemon(_), _)));
        let never_listed = self.missing.contains(&step.zone) && self.last_listing(step.daemon, step.zone).is_none();
        (!ours || never_listed) && step.stood == step.stands && self.is_news(step.daemon, step.zone, step.key)
    }

    /// Whether a create of this process came after everything that stands there now: where creates add, it reads back what it
    /// added to before it confirms the claim.
    fn must_have_read(&self, step: &Judged<'_>) -> bool {
        let at = (step.zone, step.key.clone());
        let by_itself = self.last.get(&at).is_some_and(|(by, _)| *by == Author::Daemon(step.daemon));
        let additive = self.profile.capability.create == CreateMode::Additive && self.objects.is_none();
        // The very write that makes it can know of nothing that came since the last reading.
        additive && by_itself && step.stood.is_some()
    }

    fn judge_policy(&mut self, step: &Judged<'_>, replaced: bool) {
        let Judged { daemon, zone, key, stood, stands, was_ours, .. } = *step;
        let changed = stood != stands;
        if stood.is_none() || !was_ours || !changed {
            return;
        }
        let rule = if stands.is_none() { Rule::PolicyDelete } else { Rule::PolicyUpdate };
        if self.takes_back(step) || self.excused(daemon, zone, key) {
            self.verdicts.note(rule, false);
            return;
        }
        self.verdicts.note(rule, true);
        let Party { may_delete, may_update, .. } = self.parties[daemon];
        if stands.is_none() && !may_delete && !(replaced && may_update) {
            self.broken(Rule::PolicyDelete, format!("daemon {daemon} took {} away", show(stood)));
        } else if stands.is_some() && !may_update {
            self.broken(Rule::PolicyUpdate, format!("daemon {daemon} changed {}", show(stood)));
        }
    }

    fn note_write(&mut self, daemon: usize, zone: usize, key: &RecordKey) {
        let times = self.written.entry((daemon, zone, key.name.clone())).or_default();
        // One repair may be several writes.
        if times.back().is_some_and(|last| last.elapsed() < Duration::from_secs(1)) {
            return;
        }
        times.push_back(Instant::now());
        if times.len() > 64 {
            times.pop_front();
        }
    }
}
