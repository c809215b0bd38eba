//! Claims as rows of a table: who speaks for what by them, read anew from what stands there.
//!
//! In: a row, as somebody writes it. Out: what it says of its record in each zone, and what somebody at a keyboard makes of it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use zonewright_core::documents::Document;
use zonewright_core::record::SetId;
use zonewright_core::{DnsName, RecordKey, RecordType};

use super::Truth;
use super::words::{Place, Word};

/// A zone as rows name it, and as entries do.
pub(super) type Named = (String, String);

/// A row as a document: its owner apart, and everything as text.
pub(crate) fn row_document(key: &str, owner: &str, labels: &BTreeMap<String, String>) -> Document {
    document(&json!({ "k": key, "o": owner, "l": labels }))
}

fn document(row: &Value) -> Document {
    let owner = row.get("o").and_then(Value::as_str).unwrap_or_default().to_owned();
    Document { notes: BTreeMap::from([("owner".to_owned(), owner)]), text: row.to_string() }
}

fn read(document: &Document) -> Value {
    serde_json::from_str(&document.text).unwrap_or_default()
}

/// The record that a row is about.
fn record(key: &str) -> Option<RecordKey> {
    let mut parts = key.splitn(3, '#');
    let (name, rtype, id) = (parts.next()?, parts.next()?, parts.next()?);
    let (name, rtype) = (DnsName::parse(name).ok()?, rtype.parse::<RecordType>().ok()?);
    Some(RecordKey { name, rtype, set_id: SetId::new(id) })
}

fn key_text(key: &RecordKey) -> String {
    format!("{}#{}#{}", key.name, key.rtype, key.set_id.as_ref().map_or("", SetId::as_str))
}

fn split(text: Option<&str>) -> Vec<&str> {
    text.unwrap_or_default().split(' ').filter(|word| !word.is_empty()).collect()
}

/// What a row says in each zone: by the zones that it names, or in all; where a write was begun, of nothing but what was
/// announced there.
pub(super) fn words(document: &Document, zones: &[Named]) -> BTreeMap<Place, Word> {
    let row = read(document);
    let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
    let key = text(row.get("k")).and_then(|key| record(&key));
    let owner = text(row.get("o")).filter(|owner| !owner.is_empty());
    let labels: Option<BTreeMap<&str, &str>> = row
        .get("l")
        .and_then(Value::as_object)
        .and_then(|labels| labels.iter().map(|(key, value)| Some((&**key, value.as_str()?))).collect());
    let (Some(key), Some(owner), Some(labels)) = (key, owner, labels) else { return BTreeMap::new() };
    let named = labels.get("zonewright-zones").map(|text| split(Some(text)));
    let open: Vec<(&str, &str)> =
        split(labels.get("zonewright-open").copied()).into_iter().filter_map(|word| word.split_once('@')).collect();
    let of = |(id, label): &Named| {
        let announced: BTreeSet<String> =
            open.iter().filter(|(_, zone)| zone == id).map(|(digest, _)| (*digest).to_owned()).collect();
        let stands = named.as_ref().is_none_or(|named| named.contains(&id.as_str()));
        let only = (!announced.is_empty()).then_some(announced);
        let word = Word {
            owner: owner.clone(),
            given: false,
            only: only.clone(),
            resource: labels.get("resource").map(|&text| text.to_owned()),
            policy: labels.get("zonewright-policy").map(|&text| text.to_owned()),
            next: None,
        };
        (only.is_some() || stands).then(|| ((label.clone(), key.clone()), word))
    };
    zones.iter().filter_map(of).collect()
}

impl Truth {
    /// The rows of a record, however they are spelled.
    fn rows_of(&self, key: &RecordKey) -> Vec<(String, Document)> {
        let all = self.objects.iter().flat_map(super::Objects::all);
        let of = all.filter(|(name, ..)| record(name).is_some_and(|other| other == *key));
        of.map(|(name, _, document)| (name.clone(), document.clone())).collect()
    }

    /// Somebody at a keyboard changes the row of a record, or takes it away.
    pub(crate) fn edit_rows(&mut self, key: &RecordKey, edit: &dyn Fn(&mut Value) -> bool) {
        for (name, row) in self.rows_of(key) {
            let mut row = read(&row);
            let next = edit(&mut row).then(|| document(&row));
            self.put_by_hand(&name, next);
        }
    }

    /// A foreign row for the same record, in another spelling.
    pub(crate) fn dispute_row(&mut self, key: &RecordKey) {
        let other = key_text(&RecordKey { set_id: None, ..key.clone() }).to_uppercase();
        let other = format!("{other}{}", key.set_id.as_ref().map_or("", SetId::as_str));
        self.put_by_hand(&other, Some(row_document(&other, "stranger", &BTreeMap::new())));
    }

    /// Whether there are two rows of a record, in different spellings, damaged or not: nobody may write of it then.
    pub(crate) fn has_two_rows(&self, key: &RecordKey) -> bool {
        self.objects.as_ref().is_some_and(super::Objects::are_rows) && self.rows_of(key).len() > 1
    }

    /// Whether a row keeps an owner away from a record that is not his: another owner's, one that cannot be read, or one of
    /// two.
    pub(crate) fn is_blocked_by_row(&self, owner: Option<&str>, key: &RecordKey) -> bool {
        let rows = self.rows_of(key);
        let sound = |row: &Document| {
            let row = read(row);
            let texts = |labels: &serde_json::Map<String, Value>| labels.values().all(Value::is_string);
            row.get("l").and_then(Value::as_object).is_some_and(texts)
        };
        let free = |(_, row): &(String, Document)| row.notes.get("owner").map(String::as_str) == owner && sound(row);
        self.objects.as_ref().is_some_and(super::Objects::are_rows) && (rows.len() > 1 || !rows.iter().all(free))
    }
}
