//! The brake's numbers, counted a second time.
//!
//! In: the deletes of a daemon, and what was approved. Out: whether more went than may go within the window, of one zone or of
//! all together, whether an owner was left without anything, and whether an approval was used for more than it showed.

use tokio::time::Instant;
use zonewright_core::clock::Timestamp;
use zonewright_core::{RecordKey, RecordSet, RecordType};

use super::judge::Judged;
use super::ledger::{Approved, Counted, most};
use super::{Author, Right, Truth, is_text_of};
use crate::cluster::Sight;
use crate::names::is_record;
use crate::rules::Rule;

/// The place of the ledger of all zones together, beside those of each zone.
pub(super) const PROCESS: usize = usize::MAX;

fn keys(gone: &[&Counted]) -> String {
    let keys: Vec<String> = gone.iter().map(|delete| delete.stood.key.to_string()).collect();
    keys.join(", ")
}

impl Truth {
    pub(super) fn note_owned(&mut self, daemon: usize, zone: usize, now: Timestamp) {
        let brake = self.parties[daemon].brake;
        // What its last listing left out it does not know to be there.
        let cut = self.cut_short.iter().any(|(who, _)| *who == daemon);
        let amid = !self.writing.insert(daemon) || cut;
        let sums = |each: Vec<usize>| [(zone, each[zone]), (PROCESS, each.iter().sum())];
        let owned = sums((0..self.zones.len()).map(|at| self.count_owned(daemon, at)).collect());
        let known = (!amid).then(|| sums((0..self.zones.len()).map(|at| self.count_known(daemon, at)).collect()));
        for (nth, (place, owned)) in owned.into_iter().enumerate() {
            let ledger = self.ledgers.entry((daemon, place)).or_default();
            ledger.trim(&brake, now);
            ledger.owns(owned, known.map(|known| known[nth].1), now);
        }
    }

    /// How many records of its owner a daemon could know of.
    fn count_known(&self, daemon: usize, zone: usize) -> usize {
        let known = |key: &RecordKey| {
            !self.changed_since_listed(daemon, zone, &key.name) && !self.word_changed_unseen(daemon, zone, key)
        };
        self.owned(daemon, zone).filter(|set| known(&set.key)).count()
    }

    fn count_owned(&self, daemon: usize, zone: usize) -> usize {
        self.owned(daemon, zone).count()
    }

    /// The claims or records of a daemon's owner, one for each record that it may touch by its flags.
    fn owned(&self, daemon: usize, zone: usize) -> impl Iterator<Item = &RecordSet> {
        let ours = self.parties[daemon].owner.as_ref();
        let by_objects = move |key: &RecordKey| match self.right_by_objects(zone, key) {
            Some(Right::One { owner, .. }) => Some(&owner) == ours,
            // What somebody said beside ours, unseen, is known to be disputed to nobody.
            Some(Right::Several) => self.word_changed_unseen(daemon, zone, key),
            _ => false,
        };
        let wrote = move |key: &RecordKey| matches!(self.last.get(&(zone, key.clone())), Some((Author::Daemon(by), _)) if *by == daemon);
        let party = &self.parties[daemon];
        let inside = move |set: &&RecordSet| party.may_touch(&set.key.name);
        let counts = move |set: &&RecordSet| match ours {
            Some(_) if self.objects.is_some() => is_record(&set.key) && by_objects(&set.key),
            // While claims move, a record has two, and where an old one is left beside today's; and people leave claims without a record.
            Some(_) if self.affixes.len() > 1 || self.unpaired || party.filter.is_some() => {
                is_record(&set.key) && self.has_text_of(ours, zone, &set.key)
            }
            Some(_) if set.key.rtype != RecordType::Txt => false,
            Some(_) => set.data.as_records().iter().any(|data| is_text_of(ours, data)),
            // Without claims all is ours that is known.
            None => is_record(&set.key) && (wrote(&set.key) || !self.changed_unseen(daemon, zone, &set.key.name)),
        };
        // Each record has one claim, and counting those is quick in a large zone.
        self.zones[zone].sets.values().filter(inside).filter(counts)
    }

    fn has_text_of(&self, owner: Option<&String>, zone: usize, key: &RecordKey) -> bool {
        let texts = self.all_places(key, &self.zones[zone].zone.name).into_iter();
        let mut texts = texts.filter_map(|(place, _)| self.zones[zone].sets.get(&place));
        texts.any(|set| set.data.as_records().iter().any(|data| is_text_of(owner, data)))
    }

    /// Judges the deletes of one call: of its zone, and of all zones of the process.
    pub(super) fn judge_brake(&mut self, daemon: usize, zone: usize, counted: &[Counted], now: Timestamp) {
        if counted.is_empty() {
            return;
        }
        let mut uncovered: Vec<&Counted> = Vec::new();
        let mut beyond = false;
        let unread = self.stateless.get(&daemon).copied().filter(|_| !self.has_kept.contains(&daemon));
        for delete in counted {
            let ledger = self.ledgers.entry((daemon, zone)).or_default();
            if ledger.spend(delete, now, unread) {
                self.verdicts.note(Rule::Approval, true);
            } else {
                beyond |= ledger.reaches_beyond(delete);
                uncovered.push(delete);
            }
        }
        if uncovered.is_empty() {
            return;
        }
        let brake = self.parties[daemon].brake;
        let ours = &self.parties[daemon].owner;
        let alone = self.parties.iter().filter(|party| party.owner == *ours).count() < 2;
        if !(alone && brake.enabled) {
            self.verdicts.note(Rule::Brake, false);
            return;
        }
        self.judge_state(daemon, zone);
        for place in [zone, PROCESS] {
            self.judge_number(daemon, place, &uncovered, beyond, now);
            self.judge_floor(daemon, (zone, place), &uncovered, beyond);
        }
    }

    /// Whether counted deletes may go at all: only by who has read his state and can keep it, and has tried every zone.
    fn judge_state(&mut self, daemon: usize, zone: usize) {
        // A write that was judged, and saved, before that is perhaps on its way.
        let since = self.stateless.get(&daemon).filter(|_| self.has_kept.contains(&daemon));
        let lately = since.is_some_and(|since| since.elapsed() < self.patience());
        let known = lately || !self.stateless.contains_key(&daemon);
        self.verdicts.note(Rule::State, !lately);
        if !known {
            self.broken(Rule::State, format!("daemon {daemon} deleted in zone {zone} without its state"));
        }
        let tried = |zone: &usize| self.tried.contains(&(daemon, *zone));
        let untried: Vec<usize> = (0..self.zones.len()).filter(|zone| !tried(zone)).collect();
        // A zone that was missing from the list comes back while the process runs.
        // Where claims are in objects, a zone has failed as well when these cannot be read.
        let all = self.objects.is_some() || untried.iter().all(|zone| self.missing.contains(zone));
        self.verdicts.note(Rule::AllSeen, untried.is_empty() || !all);
        if !all {
            self.broken(Rule::AllSeen, format!("daemon {daemon} deleted in zone {zone} before it tried the others"));
        }
    }

    /// A daemon put back what it had deleted in the same course: that was no delete.
    pub(super) fn undelete(&mut self, daemon: usize, zone: usize, key: &RecordKey) {
        for place in [zone, PROCESS] {
            if !self.ledgers.get_mut(&(daemon, place)).is_some_and(|ledger| ledger.undelete(key)) {
                return;
            }
        }
    }

    /// Whether these deletes keep to the number that may go.
    fn judge_number(&mut self, daemon: usize, place: usize, gone: &[&Counted], beyond: bool, now: Timestamp) {
        let brake = self.parties[daemon].brake;
        let ledger = self.ledgers.entry((daemon, place)).or_default();
        let (done, peak) = (ledger.delete(gone, &brake, now), ledger.peak());
        // A view may be behind by what others took away.
        self.changes.retain(|(_, at)| at.elapsed() < brake.window * 2);
        let others = self.changes.iter().filter(|(author, _)| *author != Author::Daemon(daemon)).count();
        let (least, percent) = match place {
            PROCESS => (brake.process_min_deletes, brake.process_percent),
            _ => (brake.min_deletes, brake.percent),
        };
        let share = (peak + others) * percent / 100;
        let limit = least.max(share);
        let (scope, rule) = match place {
            PROCESS => ("all zones", Rule::BrakeProcess),
            _ if share > brake.min_deletes => ("the zone", Rule::BrakePercent),
            _ => ("the zone", Rule::Brake),
        };
        if place != PROCESS || self.zones.len() > 1 {
            self.verdicts.note(rule, true);
        }
        if done > limit {
            let rule = if beyond { Rule::Approval } else { rule };
            let keys = keys(gone);
            let text = format!(
                "daemon {daemon}: {done} deletes of {scope} within the window, at most {limit} may go; last {keys}"
            );
            self.broken(rule, text);
        }
    }

    /// Whether the daemon's owner, if he had enough to be protected, is left something.
    fn judge_floor(&mut self, daemon: usize, (zone, place): (usize, usize), gone: &[&Counted], beyond: bool) {
        let floor = self.parties[daemon].brake.owner_floor;
        let zones: Vec<usize> = if place == PROCESS { (0..self.zones.len()).collect() } else { vec![place] };
        let (peak, firm) =
            self.ledgers.get(&(daemon, place)).map_or((0, 0), |ledger| (ledger.peak(), most(&ledger.firm)));
        if floor == 0 || peak < floor {
            return;
        }
        if firm < floor {
            self.verdicts.note(Rule::OwnerFloor, false);
            return;
        }
        let left: usize = zones.iter().map(|zone| self.count_owned(daemon, *zone)).sum();
        // Each zone is read by itself.
        let changed = |other: &usize| {
            self.zone_changed_unseen(daemon, *other, *other != zone) || self.words_changed_unseen(daemon, *other)
        };
        // What does not count goes in another zone while a write that left that much is on its way, or in this one, where a call has
        // stages: what comes in its stead comes in the second one.
        let patience = self.patience();
        let freed = |other: &usize| {
            let at = self.freed.get(&(daemon, *other)).filter(|_| *other != zone || self.profile.staged);
            at.is_some_and(|at| at.elapsed() <= patience)
        };
        let unseen = left == 0 && (zones.iter().any(changed) || zones.iter().any(freed));
        self.verdicts.note(Rule::OwnerFloor, !unseen);
        if left == 0 && !unseen {
            let rule = if beyond { Rule::Approval } else { Rule::OwnerFloor };
            let keys = keys(gone);
            self.broken(rule, format!("daemon {daemon}: nothing is left of {peak} records; last {keys}"));
        }
    }

    /// Whether a removal was approved with the doubt that there is now about what `label` rests on.
    pub(super) fn accepts_doubt(&self, step: &Judged<'_>, right: &Right, sight: &Sight, label: Option<&str>) -> bool {
        let approved = self.ledgers.get(&(step.daemon, step.zone)).and_then(|ledger| ledger.approved.get(step.key));
        approved.into_iter().flatten().any(|approved| {
            let same_data = approved.data.as_ref().is_none_or(|data| step.stood.is_some_and(|set| set.data == *data));
            let same = sight.is_same_doubt(label, approved.doubts);
            let same_right = approved.right.as_ref().is_none_or(|given| given == right);
            same && same_right && same_data
        })
    }

    /// Approves deletes of a daemon, as they stand now.
    pub(crate) fn approve(
        &mut self,
        daemon: usize,
        zone: &str,
        keys: impl IntoIterator<Item = RecordKey>,
        until: Timestamp,
        doubts: [u64; 2],
    ) {
        let zone = self.zones.iter().position(|content| content.zone.key.to_string() == zone).unwrap_or(0);
        for key in keys {
            let standing = self.zones[zone].sets.get(&key).map(|set| set.data.clone());
            let changed = self.changed_since_listed(daemon, zone, &key.name);
            // What somebody took away unseen, and put there again before the next reading, never went for the daemon.
            if standing.is_none() && !changed {
                continue;
            }
            let mut places = self.all_places(&key, &self.zones[zone].zone.name).into_iter();
            let reclaimed = places.any(|(place, _)| self.changed_since_listed(daemon, zone, &place.name));
            let known = standing.is_some() && !reclaimed && !self.word_changed_unseen(daemon, zone, &key);
            let data = standing.filter(|_| !changed);
            let right = Some(self.right(zone, &key)).filter(|_| known);
            let ledger = self.ledgers.entry((daemon, zone)).or_default();
            ledger.spent.remove(&key);
            let approved = Approved { data, right, doubts, until, at: Instant::now() };
            ledger.approved.entry(key).or_default().push(approved);
        }
    }
}
