//! What a dry run of one pass would do and what it leaves, for people who look before anything is written.
//!
//! In: the groups that would have been sent, and what is left undone with its reason. Out: the same by name, for
//! [`crate::zone_preview`]. Nothing is kept outside of a dry run of one pass.

use std::collections::{BTreeMap, BTreeSet};

use zonewright_core::change::Group;
use zonewright_core::endpoint::{Note, ObjectRef};
use zonewright_core::name::DnsName;
use zonewright_core::plan::Skip;
use zonewright_core::record::RecordKey;

use crate::config::Config;

/// A record set that stays as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftAlone {
    /// What it is about.
    pub key: RecordKey,
    /// A word, as in events: `ForeignRecord`.
    pub reason: String,
    /// Why, a sentence.
    pub why: String,
    /// The objects on which it is reported.
    pub objects: Vec<ObjectRef>,
}

/// What one zone's worker has planned so far.
#[derive(Debug, Default)]
pub(crate) struct Preview {
    pub(crate) groups: BTreeMap<DnsName, Vec<Group>>,
    pub(crate) left: BTreeMap<RecordKey, LeftAlone>,
}

impl Config {
    /// Whether a preview of the pass is kept for the user.
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

    /// Something stays as it is; `more` is what the zone adds to the reason.
    pub(crate) fn skip(&mut self, skip: &Skip, more: Option<String>) {
        let Skip { key, why, objects } = skip;
        let left = LeftAlone {
            key: key.clone(),
            reason: why.reason().to_owned(),
            why: more.map_or_else(|| why.to_string(), |more| format!("{why}; {more}")),
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

#[cfg(test)]
mod tests {
    use zonewright_core::endpoint::{TypeMeta, Uid};
    use zonewright_core::testing::set;

    use super::*;

    #[test]
    fn the_reason_of_what_cannot_be_written_is_the_note_about_it() {
        let word = |text: &str| std::sync::Arc::<str>::from(text);
        let types = TypeMeta::new("v1", "Service");
        let object = ObjectRef { types, namespace: word("a"), name: word("b"), uid: Uid::default() };
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
