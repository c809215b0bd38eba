//! Where a call that changes something is carried out.
//!
//! In: groups of changes. Out: what becomes of each, and the zone as it is then. What must hold: a provider keeps to what its
//! capability says, down to which preconditions it asks for, and a daemon that sends more than a call may hold breaks a rule.

use std::collections::BTreeSet;

use zonewright_core::capability::{Capability, CreateMode, Preconditions};
use zonewright_core::change::{Blame, Change, Group, Outcome, Precondition};
use zonewright_core::{DnsName, Error, ErrorKind, RecordKey, RecordSet, RecordType, Result};

use super::{Line, error};
use crate::names::{Rows, Sets};
use crate::rules::Rule;
use crate::truth::{Truth, with, without};

/// One call that changes something.
pub(super) struct ZoneServer<'a> {
    pub(super) capability: &'a Capability,
    pub(super) bad: &'a BTreeSet<DnsName>,
    pub(super) types: &'a BTreeSet<RecordType>,
    pub(super) line: &'a Line,
    pub(super) zone: usize,
}

impl ZoneServer<'_> {
    /// What a provider that reads before it writes finds: for each group, why it is not sent, if it is not.
    pub(super) fn read_first(&self, truth: &mut Truth, groups: &[Group]) -> Vec<Option<Outcome>> {
        let conflict = |text: String| Outcome::refused(Error::new(ErrorKind::Conflict, "apply changes", text));
        let mut read = BTreeSet::new();
        let mut one = |group: &Group| {
            let sets = &truth.zones[self.zone].sets;
            // A set that it neither changes nor requires is not looked at.
            let looked_at = |key: &RecordKey| {
                let required = group.requires.iter().any(|condition| concerns(condition, key));
                required || group.changes().any(|change| change.key() == key)
            };
            let names = group.changes().map(|change| &change.key().name);
            let whole = |name: &&DnsName| sets.keys().filter(|key| key.name == **name).all(looked_at);
            read.extend(names.filter(whole).cloned());
            let changed = group.changes().find_map(|change| self.unexpected(sets, group, change));
            let required = || group.requires.iter().find(|condition| !holds(sets, condition));
            changed.or_else(|| required().map(|broken| format!("{broken:?} does not hold"))).map(conflict)
        };
        let found = groups.iter().map(&mut one).collect();
        let serial = truth.zones[self.zone].serial;
        if self.line.command.is_none() {
            truth.checked(self.line.daemon, self.zone, &read, serial);
        }
        found
    }

    /// What stands otherwise than a change expects.
    fn unexpected(&self, sets: &Sets, group: &Group, change: &Change) -> Option<String> {
        let key = change.key();
        let goes = |key: &RecordKey| group.changes().any(|c| matches!(c, Change::Delete { from } if from.key == *key));
        let excludes = |other: &RecordKey| self.capability.cname.excludes(key.rtype, other.rtype, false);
        let stands = sets.get(key);
        let as_expected = match change {
            Change::Create { .. } => {
                let rows = Rows::of(self.capability);
                let beside = |other: &&RecordKey| rows.same(other, key) && excludes(other) && !goes(other);
                stands.is_none() && !sets.keys().any(|other| beside(&other))
            }
            Change::Update { from, .. } | Change::Delete { from } => stands.is_some_and(|set| set.data == from.data),
        };
        (!as_expected).then(|| format!("{key} is another one"))
    }

    /// Carries out all groups or none.
    pub(super) fn together(&self, truth: &mut Truth, groups: &[Group], dice: u64) -> Vec<Outcome> {
        let changes: usize = groups.iter().map(|group| group.steps.len()).sum();
        let size: usize = groups.iter().map(Group::size).sum();
        let batch = self.capability.batch;
        truth.verdicts.note(Rule::Limits, true);
        if groups.len() > 1 && (changes > batch.changes || batch.size.is_some_and(|limit| size > limit)) {
            truth.broken(Rule::Limits, format!("daemon {}: {changes} changes, {size} bytes", self.line.daemon));
        }
        let mut sets = truth.zones[self.zone].sets.clone();
        let mut all: Vec<(RecordKey, Option<RecordSet>)> = Vec::new();
        for (place, group) in groups.iter().enumerate() {
            self.judge_memory(truth, &sets, group);
            match self.try_group(&mut sets, group) {
                Ok(changes) => all.extend(changes),
                Err(problem) => {
                    self.tell_refused(truth, group, &problem);
                    return refused(groups.len(), place, &problem, dice.is_multiple_of(2));
                }
            }
        }
        // Of several changes of one key the last one counts.
        let mut last: std::collections::BTreeMap<RecordKey, Option<RecordSet>> = std::collections::BTreeMap::new();
        last.extend(all);
        let all: Vec<_> = last.into_iter().collect();
        self.commit(truth, groups, &all);
        groups.iter().map(|_| Outcome::Applied).collect()
    }

    /// Carries out each change for itself, in order, up to the group at `stop`.
    pub(super) fn one_by_one(&self, truth: &mut Truth, groups: &[Group], stop: Option<usize>) -> Vec<Outcome> {
        let mut outcomes = Vec::new();
        for (place, group) in groups.iter().enumerate() {
            if stop.is_some_and(|stop| place >= stop) {
                outcomes.push(Outcome::NotSent(error(ErrorKind::Unavailable, "apply changes", "the connection broke")));
                continue;
            }
            truth.verdicts.note(Rule::Limits, true);
            if group.steps.len() > 1 {
                truth.broken(
                    Rule::Limits,
                    format!("daemon {}: {} changes that nothing holds together", self.line.daemon, group.steps.len()),
                );
            }
            let mut sets = truth.zones[self.zone].sets.clone();
            self.judge_memory(truth, &sets, group);
            match self.try_group(&mut sets, group) {
                Ok(changes) => {
                    self.commit(truth, std::slice::from_ref(group), &changes);
                    outcomes.push(Outcome::Applied);
                }
                Err(problem) => {
                    self.tell_refused(truth, group, &problem);
                    outcomes.push(Outcome::refused(problem));
                }
            }
        }
        outcomes
    }

    fn tell_refused(&self, truth: &mut Truth, group: &Group, problem: &Error) {
        let daemon = self.line.daemon;
        truth.note_refused(daemon, self.zone, &group.name);
        if problem.kind == ErrorKind::Invalid {
            group
                .changes()
                .filter(|change| change.to().is_none())
                .for_each(|change| truth.stays(self.zone, change.key()));
        }
        truth.tell(|| format!("daemon {daemon}: refused: {} ({})", group.headline(), problem.context));
    }

    fn judge_memory(&self, truth: &mut Truth, sets: &Sets, group: &Group) {
        if self.line.command.is_none() {
            truth.judge_memory(self.line.daemon, self.zone, sets, group);
        }
    }

    fn commit(&self, truth: &mut Truth, groups: &[Group], changes: &[(RecordKey, Option<RecordSet>)]) {
        let daemon = self.line.daemon;
        if let Some(may_delete) = self.line.command {
            truth.commit_command(daemon, self.zone, changes, may_delete);
            return;
        }
        for change in groups.iter().flat_map(Group::changes) {
            truth.tell(|| format!("daemon {daemon} writes: {change}"));
        }
        let fresh = |change: &Change| matches!(change, Change::Create { .. }).then(|| change.key().clone());
        let created = groups.iter().flat_map(Group::changes).filter_map(fresh).collect();
        truth.commit(daemon, self.zone, changes, &created, &self.line.sight, self.line.clock.now());
    }

    /// Changes `sets` as the group says, if what it asks for holds.
    fn try_group(&self, sets: &mut Sets, group: &Group) -> Result<Vec<(RecordKey, Option<RecordSet>)>> {
        let conflict = |text: String| Error::new(ErrorKind::Conflict, "apply changes", text);
        if self.bad.contains(&group.name) {
            return Err(error(ErrorKind::Invalid, "apply changes", "this name is not allowed"));
        }
        let demanded = match self.capability.preconditions {
            Preconditions::Any => group.preconditions(),
            Preconditions::Checked => group.requires.clone(),
            // Those that it reads itself it has read by now.
            Preconditions::None | Preconditions::Stated | Preconditions::Changed | Preconditions::Read => Vec::new(),
        };
        if let Some(broken) = demanded.iter().find(|precondition| !holds(sets, precondition)) {
            return Err(conflict(format!("{broken:?} does not hold")));
        }
        if !self.capability.set_ids && group.changes().any(|change| change.key().set_id.is_some()) {
            return Err(error(ErrorKind::Invalid, "apply changes", "there are no set identifiers"));
        }
        if group.changes().any(|change| change.to().is_some_and(|to| self.types.contains(&to.key.rtype))) {
            return Err(error(ErrorKind::Invalid, "apply changes", "records of this type are not allowed"));
        }
        let mut changes = Vec::new();
        for change in group.changes() {
            let key = change.key().clone();
            let result = self.one(sets.get(&key), change).map_err(conflict)?;
            match &result {
                Some(set) => sets.insert(key.clone(), set.clone()),
                None => sets.remove(&key),
            };
            changes.push((key, result));
        }
        let rows = Rows::of(self.capability);
        let crowded = |changed: &&RecordKey| {
            let here: BTreeSet<RecordType> =
                sets.keys().filter(|key| rows.same(key, changed)).map(|key| key.rtype).collect();
            here.len() > 1 && here.contains(&RecordType::Cname)
        };
        let strict = self.capability.cname.alone && self.capability.create == CreateMode::Guarded;
        if let Some(key) = changes.iter().map(|(key, _)| key).find(|key| strict && crowded(key)) {
            return Err(conflict(format!("{}: a CNAME stands alone", key.name)));
        }
        let mixed = changes
            .iter()
            .find_map(|(key, _)| sets.keys().find(|other| rows.other_kind(other, key)).zip(sets.get(key)));
        if let Some((_, set)) = mixed {
            return Err(conflict(format!("{}: all sets of a name and type have one kind of routing", set.key)));
        }
        Ok(changes)
    }

    /// What becomes of one record set.
    fn one(&self, stands: Option<&RecordSet>, change: &Change) -> Result<Option<RecordSet>, String> {
        let members = self.capability.create == CreateMode::Additive;
        let stated = self.capability.preconditions == Preconditions::Stated;
        let demands = self.capability.preconditions == Preconditions::Any;
        let exact = matches!(self.capability.preconditions, Preconditions::Changed | Preconditions::Checked);
        let clamp = |set: &RecordSet| {
            let ttl = self.capability.ttl.clamp(set.ttl.unwrap_or(self.capability.ttl.default));
            RecordSet { ttl: Some(ttl), ..set.clone() }
        };
        match change {
            // It adds to what stands, but never the same record twice.
            Change::Create { to } if members => {
                let here = |data| stands.is_some_and(|set| set.data.as_records().contains(data));
                match to.data.as_records().iter().find(|data| here(data)) {
                    Some(data) => Err(format!("{} {data} stands there already", to.key)),
                    None => Ok(Some(with(stands, &clamp(to)))),
                }
            }
            // Who can demand that nothing stands there has to: a create overwrites.
            Change::Create { to } if stands.is_some() && !stated && !demands => {
                Err(format!("{} stands there already", to.key))
            }
            Change::Create { to } => Ok(Some(clamp(to))),
            Change::Update { from, .. } | Change::Delete { from } => {
                let Some(stands) = stands else {
                    return if stated { Ok(change.to().map(clamp)) } else { Err(format!("{} is not there", from.key)) };
                };
                if exact && stands.data != from.data {
                    return Err(format!("{} is another one", from.key));
                }
                if !members {
                    return Ok(change.to().map(clamp));
                }
                if !stands.data.contains(&from.data) {
                    return Err(format!("{} is another one", from.key));
                }
                let rest = without(stands, from);
                Ok(match change.to() {
                    Some(to) => Some(with(rest.as_ref(), &clamp(to))),
                    None => rest,
                })
            }
        }
    }
}

fn refused(count: usize, place: usize, problem: &Error, named: bool) -> Vec<Outcome> {
    let one = |at| {
        let blame = if count == 1 || named && at == place { Blame::Group } else { Blame::Batch };
        Outcome::Refused { error: problem.clone(), blame }
    };
    (0..count).map(one).collect()
}

/// Whether a precondition says something of a record set.
fn concerns(precondition: &Precondition, key: &RecordKey) -> bool {
    match precondition {
        Precondition::Exact(set) => set.key == *key,
        Precondition::Absent(absent) => absent == key,
        Precondition::NameNotInUse(name) => key.name == *name,
    }
}

fn holds(sets: &Sets, precondition: &Precondition) -> bool {
    match precondition {
        Precondition::Exact(set) => sets.get(&set.key).is_some_and(|stands| stands.data == set.data),
        Precondition::Absent(key) => !sets.contains_key(key),
        Precondition::NameNotInUse(name) => !sets.keys().any(|key| key.name == *name),
    }
}
