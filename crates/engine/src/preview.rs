//! What a dry run of one pass would do and what it leaves, for people who look before anything is written.
//!
//! In: the groups that would have been sent, and what is left undone with its reason. Out: [`ZonePreview`], one for each zone.
//! Nothing is kept outside of a dry run of one pass.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use zonewright_core::change::{Change, Group, Step};
use zonewright_core::endpoint::{Note, ObjectRef};
use zonewright_core::guard::HeldPlan;
use zonewright_core::name::DnsName;
use zonewright_core::plan::Skip;
use zonewright_core::record::{RecordData, RecordKey, RecordSet, Ttl};
use zonewright_core::zone::Zone;

use crate::config::Config;
use crate::context::EngineContext;
use crate::provider_instance::ProviderInstance;
use crate::zone_handle::ZoneHandle;

/// What a pass would do in one zone.
#[derive(Debug, Clone)]
pub struct ZonePreview {
    /// The zone.
    pub zone: Zone,
    /// What people read: the zone's name, behind that of its instance where there are several.
    pub title: String,
    /// The changes that would be sent, in the order of their names.
    pub changes: Vec<PlannedChange>,
    /// Claims that would change without their record, as lines.
    pub claims: Vec<String>,
    /// Record sets that are wanted or ours and stay as they are.
    pub left_alone: Vec<LeftAlone>,
    /// The deletes that wait, if any do.
    pub held: Option<HeldDeletes>,
}

/// One change of a record set, and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedChange {
    /// Old and new.
    pub change: Change,
    /// The objects that ask for it; none where it goes because nobody does.
    pub objects: Vec<ObjectRef>,
    /// The resource that the claim names, as `service/shop/web`.
    pub resource: Option<String>,
    /// Why, a half-sentence.
    pub reason: String,
}

/// A record set that stays as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftAlone {
    /// What it is about.
    pub key: RecordKey,
    /// A word, as in events: `ForeignRecord`.
    pub reason: String,
    /// Why, a sentence.
    pub why: String,
    /// The objects that are told.
    pub objects: Vec<ObjectRef>,
}

/// Deletes that wait for an approval or for evidence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldDeletes {
    /// What `zonewright approve` is given.
    pub hash: String,
    /// Why they wait, a sentence.
    pub reason: String,
    /// What would go; a set that is not in the view any more is left out.
    pub sets: Vec<RecordSet>,
    /// Their number.
    pub count: usize,
}

/// What one zone's worker has planned so far.
#[derive(Debug, Default)]
pub(crate) struct Preview {
    groups: BTreeMap<DnsName, Vec<Group>>,
    left: BTreeMap<RecordKey, LeftAlone>,
}

impl Config {
    /// Whether somebody looks at what a pass would do.
    pub(crate) fn previews(&self) -> bool {
        self.dry_run && self.one_pass
    }
}

impl Preview {
    /// A turn begins in which these names are planned anew.
    pub(crate) fn begin_turn<'n>(&mut self, names: impl IntoIterator<Item = &'n DnsName>) {
        for name in names {
            self.groups.remove(name);
        }
    }

    /// What is left alone at these names is not known any more.
    pub(crate) fn replan(&mut self, names: &[DnsName]) {
        if !self.left.is_empty() {
            let planned: BTreeSet<&DnsName> = names.iter().collect();
            self.left.retain(|key, _| !planned.contains(&key.name));
        }
    }

    /// A group that would have been sent.
    pub(crate) fn would_send(&mut self, group: &Group) {
        self.groups.entry(group.name.clone()).or_default().push(group.clone());
    }

    /// Something stays as it is.
    pub(crate) fn skip(&mut self, skip: &Skip) {
        let Skip { key, why, objects } = skip;
        let left = LeftAlone {
            key: key.clone(),
            reason: why.reason().to_owned(),
            why: why.to_string(),
            objects: objects.clone(),
        };
        self.left.insert(key.clone(), left);
    }

    /// What is wanted and cannot be written; the reason is among the notes of the round.
    pub(crate) fn unwritable<'k>(&mut self, keys: impl Iterator<Item = &'k RecordKey>, notes: &[&Note]) {
        let mut by_name: BTreeMap<&str, Vec<&Note>> = BTreeMap::new();
        for note in notes {
            by_name.entry(first_word(&note.message)).or_default().push(note);
        }
        for key in keys {
            let notes = by_name.get(key.name.to_string().as_str()).map_or(&[][..], Vec::as_slice);
            self.cannot_stand(key, notes);
        }
    }

    fn cannot_stand(&mut self, key: &RecordKey, notes: &[&Note]) {
        let by_key = key.to_string();
        let about = |note: &&&Note| note.message.strip_prefix(&by_key).is_some_and(|rest| rest.starts_with([':', ' ']));
        let note = notes.iter().find(about).or(notes.first());
        let text = |note: &&Note| {
            let rest = note.message.strip_prefix(&by_key).unwrap_or(&note.message);
            rest.trim_start_matches([':', ' ']).to_owned()
        };
        let left = LeftAlone {
            key: key.clone(),
            reason: note.map_or("RecordUnsupported", |note| note.reason).to_owned(),
            why: note.map_or_else(|| "it cannot be written in this zone".to_owned(), text),
            objects: note.map(|note| note.object.clone()).into_iter().collect(),
        };
        self.left.insert(key.clone(), left);
    }
}

/// The name that a note begins with, if it begins with one.
fn first_word(text: &str) -> &str {
    text.split([' ', ':']).next().unwrap_or_default()
}

/// What the pass would do in every zone.
pub(crate) fn of(context: &EngineContext) -> Vec<ZonePreview> {
    let held: BTreeMap<String, HeldPlan> = context.state.held().into_iter().collect();
    let of_instance = |instance: &Arc<ProviderInstance>| {
        let zones = instance.zone_handles().into_iter();
        zones.map(|handle| of_zone(instance, &handle, held.get(&handle.label()))).collect::<Vec<_>>()
    };
    context.instances.iter().flat_map(of_instance).collect()
}

fn of_zone(instance: &ProviderInstance, handle: &ZoneHandle, held: Option<&HeldPlan>) -> ZonePreview {
    let preview = handle.preview();
    let default = instance.provider.capability(Some(&handle.zone)).ttl.default;
    let groups = || preview.groups.values().flatten();
    let mut changes: Vec<PlannedChange> = groups().flat_map(changes_of).collect();
    for planned in &mut changes {
        fill_ttl(&mut planned.change, default);
    }
    changes.sort_by(|a, b| a.change.key().cmp(b.change.key()));
    let claims = groups().filter(|group| group.records().next().is_none()).map(Group::headline).collect();
    let held = held.map(|plan| {
        let view = handle.view();
        let sets = plan.held.keys().filter_map(|key| view.find(key)).collect();
        HeldDeletes { hash: plan.hash.clone(), reason: plan.reason.clone(), sets, count: plan.held.len() }
    });
    ZonePreview {
        zone: handle.zone.clone(),
        title: handle.title.clone(),
        changes,
        claims,
        left_alone: preview.left.values().cloned().collect(),
        held: held.filter(|held| held.count > 0),
    }
}

fn changes_of(group: &Group) -> impl Iterator<Item = PlannedChange> + '_ {
    group.records().map(|step| PlannedChange {
        change: step.change.clone(),
        objects: if step.change.to().is_some() { group.objects.clone() } else { Vec::new() },
        resource: step.resource.as_ref().map(ToString::to_string),
        reason: reason(step, group),
    })
}

/// A wanted set without a TTL of its own gets that of the provider.
fn fill_ttl(change: &mut Change, default: Ttl) {
    let (Change::Create { to } | Change::Update { to, .. }) = change else { return };
    if !matches!(to.data, RecordData::Alias(_)) {
        to.ttl = to.ttl.or(Some(default));
    }
}

/// Why a record set is changed.
fn reason(step: &Step, group: &Group) -> String {
    let others = |wanted: fn(&Change) -> bool| {
        let other = group.records().map(|other| &other.change).find(|other| wanted(other));
        other.map(|other| other.key().rtype)
    };
    match &step.change {
        Change::Create { .. } => match others(|change| matches!(change, Change::Delete { .. })) {
            Some(old) => format!("it takes the place of the {old} record"),
            None => "no record stands there".to_owned(),
        },
        Change::Update { from, to } => differs(from, to),
        Change::Delete { .. } => match others(|change| matches!(change, Change::Create { .. })) {
            Some(new) => format!("a {new} record takes its place"),
            None => "no object requests it any more".to_owned(),
        },
    }
}

/// In what two sides of an update differ.
fn differs(from: &RecordSet, to: &RecordSet) -> String {
    let mut what = Vec::new();
    if from.data != to.data {
        what.push("the data".to_owned());
    }
    if to.ttl.is_some() && from.ttl != to.ttl {
        what.push("the TTL".to_owned());
    }
    if from.routing != to.routing {
        what.push("the routing policy".to_owned());
    }
    if from.options != to.options {
        what.push("the provider's settings".to_owned());
    }
    match what.as_slice() {
        [] => "its claim changes".to_owned(),
        [only] => format!("{only} differs"),
        [first @ .., last] => format!("{} and {last} differ", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use zonewright_core::testing::{name, set};

    use super::*;

    fn group(changes: Vec<Change>) -> Group {
        let steps = changes.into_iter().map(|change| Step::record(change, None)).collect();
        Group { name: name("a.example"), steps, stored: vec![], requires: vec![], objects: vec![] }
    }

    #[track_caller]
    fn check(changes: Vec<Change>, expected: &[&str]) {
        let reasons: Vec<String> = changes_of(&group(changes)).map(|change| change.reason).collect();
        assert_eq!(reasons, expected);
    }

    #[test]
    fn every_change_has_its_reason() {
        let create = |text| Change::Create { to: set(text) };
        let delete = |text| Change::Delete { from: set(text) };
        let update = |from, to| Change::Update { from: set(from), to: set(to) };
        check(vec![create("a.example A 192.0.2.1")], &["no record stands there"]);
        check(vec![delete("a.example A 192.0.2.1")], &["no object requests it any more"]);
        let both = vec![delete("a.example A 192.0.2.1"), create("a.example CNAME b.example")];
        check(both, &["a CNAME record takes its place", "it takes the place of the A record"]);
        check(vec![update("a.example A 192.0.2.1", "a.example A 192.0.2.2")], &["the data differs"]);
        check(vec![update("a.example A ttl=60 192.0.2.1", "a.example A ttl=90 192.0.2.1")], &["the TTL differs"]);
        let all = vec![update("a.example A ttl=60 192.0.2.1", "a.example A ttl=90 192.0.2.2")];
        check(all, &["the data and the TTL differ"]);
    }

    #[test]
    fn the_reason_of_what_cannot_be_written_is_the_note_about_it() {
        let word = |text: &str| std::sync::Arc::<str>::from(text);
        let (api_version, kind) = (word("v1"), word("Service"));
        let object = ObjectRef { api_version, kind, namespace: word("a"), name: word("b"), uid: word("") };
        let note = |text: &str| Note::warning(&object, "CnameAtApex", text);
        let notes = [note("b.example A: other"), note("a.example AAAA: wrong"), note("a.example A: right")];
        let mut preview = Preview::default();
        let key = set("a.example A 192.0.2.1").key;
        preview.unwritable(std::iter::once(&key), &notes.iter().collect::<Vec<_>>());
        let left = preview.left.values().next().unwrap();
        assert_eq!((left.reason.as_str(), left.why.as_str()), ("CnameAtApex", "right"));
        preview.replan(&[key.name]);
        assert!(preview.left.is_empty());
    }
}
