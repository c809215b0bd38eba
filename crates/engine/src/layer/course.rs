//! The writes that carry one group out where the provider cannot do it in one step.
//!
//! In: a group, record and claim. Out: its writes in an order that never leaves a record without a right or a right without
//! a record: each claim that comes or goes is first replaced by an intent, then the records change, then the intents become
//! claims or go. What must hold: the writes, one after the other, do what the group says, and each can be undone.

use zonewright_core::change::{Change, Group, Precondition, Role, Step};
use zonewright_core::intent::Intent;
use zonewright_core::rdata::{RData, Txt};
use zonewright_core::record::{RecordData, RecordSet};
use zonewright_core::rtype::RecordType;

/// Steps that are sent together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Write {
    pub(super) steps: Vec<Step>,
}

impl Write {
    /// The record sets that it creates, records and claims: beside either another writer may have put something.
    pub(super) fn created(&self) -> impl Iterator<Item = &RecordSet> {
        self.steps.iter().filter_map(|step| match &step.change {
            Change::Create { to } => Some(to),
            _ => None,
        })
    }

    /// Whether it puts an intent that speaks for one of `records` in the place of a claim.
    pub(super) fn lowers_claim(&self, records: &[&RecordSet]) -> bool {
        let speaks = |intent: Intent| records.iter().any(|record| intent.covers(record));
        self.steps.iter().filter(|step| step.role == Role::Claim).any(|step| match &step.change {
            Change::Update { from, to } => !holds_intent(from) && Intent::all_in(to).into_iter().any(speaks),
            _ => false,
        })
    }

    /// Whether it puts an intent there that speaks for a record which is yet to come.
    fn announces(&self, record: &RecordSet) -> bool {
        let speaks = |set: &RecordSet| Intent::all_in(set).iter().any(|intent| intent.covers(record));
        let mut claims = self.steps.iter().filter(|step| step.role == Role::Claim);
        claims.any(|step| step.change.to().is_some_and(speaks))
    }

    /// Whether it puts a claim, which speaks for any content, where an intent stood or nothing.
    fn raises_claim(&self) -> bool {
        let claims = self.steps.iter().filter(|step| step.role == Role::Claim);
        claims
            .filter_map(|step| step.change.to().map(|to| (step.change.from(), to)))
            .any(|(from, to)| !holds_intent(to) && from.is_none_or(holds_intent))
    }

    /// What has to hold before an intent is written, which speaks for one content of its record alone: the record that goes stands
    /// as it was read, and where one comes nothing stands. A listing that is old or ended early may have said otherwise, and if this
    /// process died before the create was refused, the intent would make a foreign record of the same content ours. Before an intent
    /// gives way to a claim, the record that changes next stands as it was read: the intent may not speak for it any more.
    pub(super) fn rests_on(&self, group: &Group) -> Vec<Precondition> {
        let condition = |step: &Step| match &step.change {
            Change::Create { to } => self.announces(to).then(|| Precondition::Absent(to.key.clone())),
            Change::Delete { from } => self.lowers_claim(&[from]).then(|| Precondition::Exact(from.clone())),
            Change::Update { from, .. } => self.raises_claim().then(|| Precondition::Exact(from.clone())),
        };
        group.records().filter_map(condition).collect()
    }

    /// Whether it changes a record that stands.
    pub(super) fn updates_record(&self) -> bool {
        self.steps.iter().any(|step| step.role == Role::Record && matches!(step.change, Change::Update { .. }))
    }

    /// What takes it back.
    pub(super) fn inverse(&self) -> Self {
        let back = |step: &Step| {
            let change = between(step.change.to().cloned(), step.change.from().cloned());
            change.map(|change| Step { change, ..step.clone() })
        };
        Self { steps: self.steps.iter().rev().filter_map(back).collect() }
    }
}

/// The whole group as one write.
pub(super) fn whole(group: &Group) -> Vec<Write> {
    vec![Write { steps: group.steps.clone() }]
}

/// The group as one write, and where it makes a record, another one that makes its new claims of intents: in between the name
/// can be read back, and a process that dies there leaves no claim over what another writer put beside the record.
pub(super) fn announced(group: &Group) -> Vec<Write> {
    if !group.records().any(|step| matches!(step.change, Change::Create { .. })) {
        return whole(group);
    }
    let (mut first, mut last) = (Vec::new(), Vec::new());
    for step in &group.steps {
        let middle = match &step.change {
            Change::Create { to } if step.role == Role::Claim => {
                interim(group, None, Some(to)).map(|middle| (middle, to))
            }
            _ => None,
        };
        let Some((middle, to)) = middle else {
            first.push(step.clone());
            continue;
        };
        first.push(Step { change: Change::Create { to: middle.clone() }, ..step.clone() });
        last.push(Step { change: Change::Update { from: middle, to: to.clone() }, ..step.clone() });
    }
    [first, last].into_iter().filter(|steps| !steps.is_empty()).map(|steps| Write { steps }).collect()
}

/// A write for each record set, with intents. A claim that stands where a CNAME is to come goes right before that: until then it
/// speaks for the record whose place the CNAME takes.
pub(super) fn staged(group: &Group) -> Vec<Write> {
    let (mut first, mut cleared, mut last) = (Vec::new(), Vec::new(), Vec::new());
    for step in group.steps.iter().filter(|step| step.role == Role::Claim) {
        let (from, to) = (step.change.from().cloned(), step.change.to().cloned());
        let push = |writes: &mut Vec<Write>, change: Option<Change>| {
            let steps = change.map(|change| Step { change, ..step.clone() }).into_iter().collect::<Vec<_>>();
            writes.extend(Some(Write { steps }).filter(|write| !write.steps.is_empty()));
        };
        let end = if stands_in_the_way(group, step) { &mut cleared } else { &mut last };
        if let Some(middle) = interim(group, from.as_ref(), to.as_ref()) {
            push(&mut first, between(from, Some(middle.clone())));
            push(end, between(Some(middle), to));
        } else if from.as_ref().is_some_and(holds_intent) || to.is_some() && rests_on_intent(group) {
            // An intent speaks for the record as it stands: it becomes a claim, or one comes elsewhere, before that changes.
            push(&mut first, between(from, to));
        } else {
            push(end, between(from, to));
        }
    }
    let mut before: Vec<Write> = group.records().map(|step| Write { steps: vec![step.clone()] }).collect();
    let comes = |write: &Write| write.created().any(|set| set.key.rtype == RecordType::Cname);
    let rest = before.split_off(before.iter().position(comes).unwrap_or_default());
    [first, before, cleared, rest, last].into_iter().flatten().collect()
}

fn between(from: Option<RecordSet>, to: Option<RecordSet>) -> Option<Change> {
    match (from, to) {
        (None, None) => None,
        (None, Some(to)) => Some(Change::Create { to }),
        (Some(from), None) => Some(Change::Delete { from }),
        (Some(from), Some(to)) => Some(Change::Update { from, to }),
    }
}

fn holds_intent(set: &RecordSet) -> bool {
    let is_one =
        |data: &RData| matches!(data, RData::Txt(text) if text.text().is_some_and(|text| Intent::is_one(&text)));
    set.data.as_records().iter().any(is_one)
}

/// Whether a record of the group is ours by an intent that stays: its claim moves to another place.
fn rests_on_intent(group: &Group) -> bool {
    group.requires.iter().any(|one| matches!(one, Precondition::Exact(set) if holds_intent(set)))
}

/// Whether a claim stands at the very name where the group puts a CNAME, which stands alone.
fn stands_in_the_way(group: &Group, claim: &Step) -> bool {
    let is_cname = |set: &RecordSet| set.key.rtype == RecordType::Cname && set.key.name == claim.change.key().name;
    claim.change.to().is_none() && group.records().filter_map(|step| step.change.to()).any(is_cname)
}

/// What stands in a claim's place while its records change: the members that come, or else go, are intents. `None` where no
/// right comes or goes with a record.
fn interim(group: &Group, from: Option<&RecordSet>, to: Option<&RecordSet>) -> Option<RecordSet> {
    let members = |set: Option<&RecordSet>| set.map(|set| set.data.as_records().to_vec()).unwrap_or_default();
    let (old, new) = (members(from), members(to));
    let (mut created, mut deleted) = (Vec::new(), Vec::new());
    for step in group.records() {
        match &step.change {
            Change::Create { to } => created.push(to),
            Change::Delete { from } => deleted.push(from),
            Change::Update { .. } => {}
        }
    }
    let comes = new.iter().any(|member| !old.contains(member));
    let (set, records) = match (to, from) {
        (Some(to), _) if comes && !created.is_empty() => (to, created),
        (_, Some(from)) if !comes && !deleted.is_empty() => (from, deleted),
        _ => return None,
    };
    let other = if comes { &old } else { &new };
    let announce = |member: &RData| match member {
        RData::Txt(text) if !other.contains(member) => {
            let claim = text.text()?;
            // A claim that is replaced before it was confirmed is announced anew.
            let claim = Intent::parse(&claim).map_or(claim, |intent| intent.claim);
            Some(RData::Txt(Txt::from_text(&Intent::new(records.iter().copied(), &claim).to_string())))
        }
        _ => Some(member.clone()),
    };
    let data: Option<Vec<RData>> = set.data.as_records().iter().map(announce).collect();
    Some(RecordSet { data: RecordData::records(data?), ..set.clone() })
}
