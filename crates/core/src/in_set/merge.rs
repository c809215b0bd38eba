//! Changes of items, as changes of the whole record sets that hold them.
//!
//! In: groups of changes, in which each item is a set of its own, and the whole sets as they stand. Out: for groups that touch the
//! same whole set one group, whose changes say of each whole set what stands and what shall; a group whose old side does not
//! stand, or that would bring two items of one place, is refused. What must hold: an item that no group names is the same before
//! and after.

use std::collections::{BTreeMap, BTreeSet};

use super::{place, policy_key};
use crate::change::{Change, Group, Precondition, Step, StoreStep};
use crate::error::{Error, ErrorKind};
use crate::name::DnsName;
use crate::record::{Item, RecordData, RecordKey, RecordSet};
use crate::rtype::RecordType;

/// Whole sets, by name and type: none has a set identifier.
pub type Wholes = BTreeMap<RecordKey, RecordSet>;

/// What became of some groups.
#[derive(Debug, Clone)]
pub struct Merged {
    /// What is to be sent; `None` where none of the groups could be carried out, or they change nothing.
    pub group: Option<Group>,
    /// The positions of the groups that are carried out by it.
    pub members: Vec<usize>,
}

/// Groups as they go to the provider.
#[derive(Debug, Clone, Default)]
pub struct MergedGroups {
    /// What is sent.
    pub merged: Vec<Merged>,
    /// The positions of the groups that cannot be carried out, and why.
    pub refused: Vec<(usize, Error)>,
}

/// The key of the whole set that a set is of.
pub fn whole_key(key: &RecordKey) -> RecordKey {
    RecordKey { set_id: None, ..key.clone() }
}

/// Every name that groups change or rest on.
pub fn names(groups: &[Group]) -> BTreeSet<DnsName> {
    let changed = groups.iter().flat_map(Group::changes).map(|change| change.key().name.clone());
    changed.chain(required(groups)).collect()
}

/// The names that have to be read for a plan, and what the plan may take for standing elsewhere: a change of a plain set
/// states its old side, and the provider itself holds the zone against that.
pub fn reading(groups: &[Group]) -> (BTreeSet<DnsName>, Wholes) {
    let mut names: BTreeSet<DnsName> = required(groups).collect();
    let mut stated: BTreeMap<RecordKey, Option<&RecordSet>> = BTreeMap::new();
    for change in groups.iter().flat_map(Group::changes) {
        let known = stated.entry(whole_key(change.key())).or_insert(change.from());
        if !is_plain(change) || change.from() == change.to() || *known != change.from() {
            names.insert(change.key().name.clone());
        }
    }
    let unread = stated.into_iter().filter(|(key, _)| !names.contains(&key.name));
    let stated = unread.filter_map(|(key, from)| Some((key, from?.clone()))).collect();
    (names, stated)
}

/// The names of what groups demand of the zone besides the old sides of their changes.
fn required(groups: &[Group]) -> impl Iterator<Item = DnsName> + '_ {
    groups.iter().flat_map(|group| &group.requires).map(|precondition| precondition.name().clone())
}

/// Whether neither side is an item of a set.
fn is_plain(change: &Change) -> bool {
    let plain = |set: &RecordSet| {
        set.key.set_id.is_none() && set.routing.is_simple() && !matches!(set.data, RecordData::Items(_))
    };
    change.from().into_iter().chain(change.to()).all(plain)
}

/// Turns groups into such of whole sets.
pub fn plan(groups: &[Group], wholes: &Wholes) -> MergedGroups {
    let mut plan = MergedGroups::default();
    for mut members in together(groups) {
        // The first that cannot be carried out beside the others is left out, until all can.
        loop {
            let chosen: Vec<&Group> = members.iter().filter_map(|at| groups.get(*at)).collect();
            match merged(&chosen, wholes) {
                Ok(group) => {
                    plan.merged.push(Merged { group, members });
                    break;
                }
                Err((bad, error)) => {
                    let bad = members.remove(bad.min(members.len().saturating_sub(1)));
                    plan.refused.push((bad, error));
                }
            }
            if members.is_empty() {
                break;
            }
        }
    }
    plan
}

/// The positions of the groups, those together that touch a whole set in common.
fn together(groups: &[Group]) -> Vec<Vec<usize>> {
    let mut sets: Vec<(BTreeSet<RecordKey>, Vec<usize>)> = Vec::new();
    for (at, group) in groups.iter().enumerate() {
        let mut keys: BTreeSet<RecordKey> = group.changes().map(|change| whole_key(change.key())).collect();
        let mut members = Vec::new();
        sets.retain_mut(|(others, theirs)| {
            let apart = others.is_disjoint(&keys);
            if !apart {
                keys.append(others);
                members.append(theirs);
            }
            apart
        });
        members.push(at);
        sets.push((keys, members));
    }
    sets.into_iter().map(|(_, members)| members).collect()
}

/// One group of all of these. The error names the position of the group that cannot be carried out.
fn merged(groups: &[&Group], wholes: &Wholes) -> Result<Option<Group>, (usize, Error)> {
    let mut after: BTreeMap<RecordKey, State> = BTreeMap::new();
    for group in groups {
        for change in group.changes() {
            let key = whole_key(change.key());
            let state = State::of(wholes.get(&key));
            after.entry(key).or_insert(state);
        }
    }
    // What goes, goes first: two items may change places.
    for (at, group) in groups.iter().enumerate() {
        for from in group.changes().filter(|change| change.from() != change.to()).filter_map(Change::from) {
            let state = after.entry(whole_key(&from.key)).or_default();
            state.remove(from).map_err(|text| (at, conflict(text)))?;
        }
    }
    for (at, group) in groups.iter().enumerate() {
        let claimed = group.stored.iter().filter_map(StoreStep::record);
        let mut owned = group.changes().filter_map(Change::to).chain(claimed).map(|to| &to.key);
        if let Some(key) = owned.find(|key| super::is_unnamed(key)) {
            let text = format!("{key}: an item of a shared record set is owned under its set identifier alone");
            return Err((at, Error::new(ErrorKind::Unsupported, "apply changes", text)));
        }
        for to in group.changes().filter(|change| change.from() != change.to()).filter_map(Change::to) {
            let state = after.entry(whole_key(&to.key)).or_default();
            state.add(to).map_err(|text| (at, conflict(text)))?;
        }
    }
    let mut requires = Vec::new();
    for (at, group) in groups.iter().enumerate() {
        for precondition in &group.requires {
            let whole = holds(precondition, wholes).map_err(|text| (at, conflict(text)))?;
            let is_changed = |whole: &Precondition| match whole {
                Precondition::Exact(set) => after.contains_key(&set.key),
                Precondition::Absent(key) => after.contains_key(key),
                Precondition::NameNotInUse(_) => false,
            };
            requires.extend(whole.filter(|whole| !is_changed(whole) && !requires.contains(whole)));
        }
    }
    let Some(first) = groups.first() else { return Ok(None) };
    let mut steps = Vec::new();
    for step in groups.iter().flat_map(|group| &group.steps) {
        let key = whole_key(step.change.key());
        let Some(state) = after.remove(&key) else { continue };
        let change = match (wholes.get(&key).cloned(), state.whole(&key)) {
            (None, None) => continue,
            (Some(from), Some(to)) if from == to => continue,
            (None, Some(to)) => Change::Create { to },
            (Some(from), Some(to)) => Change::Update { from, to },
            (Some(from), None) => Change::Delete { from },
        };
        steps.push(Step { change, ..step.clone() });
    }
    let stored = groups.iter().flat_map(|group| group.stored.iter().cloned()).collect();
    let objects = groups.iter().flat_map(|group| group.objects.iter().cloned()).collect();
    Ok((!steps.is_empty()).then(|| Group { name: first.name.clone(), steps, stored, requires, objects }))
}

fn conflict(text: String) -> Error {
    Error::new(ErrorKind::Conflict, "apply changes", text)
}

/// What a whole set holds while it is put together. Texts stand side by side in one plain set, whatever the records are routed
/// by that they speak for: each change names its own.
#[derive(Debug, Clone, Default)]
struct State {
    /// What stands, or stood: its TTL and options are those of the whole.
    frame: Option<RecordSet>,
    data: Option<RecordData>,
    items: Vec<Item>,
}

impl State {
    fn of(whole: Option<&RecordSet>) -> Self {
        let frame = whole.cloned();
        match frame.as_ref().map(|set| set.data.clone()) {
            Some(RecordData::Items(items)) => Self { frame, data: None, items },
            data => Self { frame, data, items: Vec::new() },
        }
    }

    fn remove(&mut self, from: &RecordSet) -> Result<(), String> {
        let gone = || format!("{from} does not stand any more");
        if from.key.rtype == RecordType::Txt {
            let stands = self.data.as_ref().map_or(&[][..], RecordData::as_records);
            let going = from.data.as_records();
            if !going.iter().all(|data| stands.contains(data)) {
                return Err(gone());
            }
            let left: Vec<_> = stands.iter().filter(|data| !going.contains(data)).cloned().collect();
            self.data = (!left.is_empty()).then(|| RecordData::records(left));
        } else if from.routing.is_simple() {
            if self.data.as_ref() != Some(&from.data) {
                return Err(gone());
            }
            self.data = None;
        } else {
            let is = |item: &Item| item.routing == from.routing && item.records == from.data.as_records();
            let at = self.items.iter().position(is).ok_or_else(gone)?;
            self.items.remove(at);
        }
        Ok(())
    }

    fn add(&mut self, to: &RecordSet) -> Result<(), String> {
        if to.key.rtype == RecordType::Txt {
            self.add_text(to)?;
        } else if to.routing.is_simple() {
            if self.data.is_some() || !self.items.is_empty() {
                return Err(format!("{} stands there already", to.key));
            }
            self.data = Some(to.data.clone());
        } else {
            self.add_item(to)?;
        }
        let frame = self.frame.get_or_insert_with(|| to.clone());
        (frame.ttl, frame.options) = (to.ttl.or(frame.ttl), to.options.clone());
        Ok(())
    }

    fn add_text(&mut self, to: &RecordSet) -> Result<(), String> {
        if !self.items.is_empty() {
            return Err(format!("{} stands there with a routing policy", whole_key(&to.key)));
        }
        let stands = self.data.as_ref().map_or(&[][..], RecordData::as_records);
        if let Some(twice) = to.data.as_records().iter().find(|data| stands.contains(data)) {
            return Err(format!("{} {twice} stands there already", to.key));
        }
        let all = stands.iter().chain(to.data.as_records()).cloned();
        self.data = Some(RecordData::records(all.collect::<Vec<_>>()));
        Ok(())
    }

    fn add_item(&mut self, to: &RecordSet) -> Result<(), String> {
        if self.data.is_some() {
            return Err(format!("{} stands there without a routing policy", whole_key(&to.key)));
        }
        if let Some(other) = self.items.iter().find(|item| item.routing.kind() != to.routing.kind()) {
            let key = policy_key(&other.routing);
            return Err(format!("{}: an item {key} stands there, and all items of a set have one kind", to.key));
        }
        let wanted = place(&to.routing, &to.data);
        let taken = |item: &Item| place(&item.routing, &RecordData::Records(item.records.clone())) == wanted;
        if self.items.iter().any(taken) {
            return Err(format!("{}: an item {} stands there already", to.key, policy_key(&to.routing)));
        }
        self.items.push(Item { routing: to.routing.clone(), records: to.data.as_records().to_vec() });
        Ok(())
    }

    fn whole(self, key: &RecordKey) -> Option<RecordSet> {
        let data = if self.items.is_empty() { self.data? } else { RecordData::items(self.items) };
        let routing = crate::record::Routing::Simple;
        self.frame.map(|frame| RecordSet { key: key.clone(), data, routing, ..frame })
    }
}

/// What has to be demanded of whole sets for a precondition to hold; `None` where nothing can.
fn holds(precondition: &Precondition, wholes: &Wholes) -> Result<Option<Precondition>, String> {
    match precondition {
        Precondition::Exact(set) => {
            let whole = wholes.get(&whole_key(&set.key));
            State::of(whole).remove(set)?;
            Ok(whole.cloned().map(Precondition::Exact))
        }
        Precondition::Absent(key) if key.set_id.is_some() => Ok(None),
        Precondition::Absent(key) => match wholes.get(key) {
            Some(_) => Err(format!("{key} stands there already")),
            None => Ok(Some(precondition.clone())),
        },
        Precondition::NameNotInUse(name) => {
            let used = wholes.keys().any(|key| key.name == *name);
            if used { Err(format!("{name} is in use")) } else { Ok(Some(precondition.clone())) }
        }
    }
}
