//! What somebody at a keyboard does to claims in objects.

use serde_json::Value;
use zonewright_core::RecordKey;
use zonewright_core::documents::Document;

use super::{Object, entries, word};
use crate::truth::{Author, Truth};

impl Truth {
    /// Somebody at a keyboard changes the entry of a record in every object that speaks of it for its own owner.
    pub(crate) fn edit_entries(&mut self, zone: usize, key: &RecordKey, edit: &dyn Fn(&mut Value) -> bool) {
        let place = (self.label(zone), key.clone());
        let Some(objects) = &self.objects else { return };
        let own = |object: &Object| object.words.get(&place).is_some_and(|word| object.holder() == Some(&word.owner));
        let holding: Vec<(String, Document)> = objects
            .all
            .iter()
            .filter(|(_, object)| own(object))
            .map(|(name, object)| (name.clone(), object.document.clone()))
            .collect();
        for (name, document) in holding {
            let mut list = entries(&document);
            list.retain_mut(|value| word(value).is_none_or(|(at, _)| at != place) || edit(value));
            let text = serde_json::to_string(&list).unwrap_or_default();
            self.put_by_hand(&name, Some(Document { text, ..document }));
        }
    }

    /// Somebody at a keyboard puts an object there, or takes one away.
    pub(crate) fn put_by_hand(&mut self, name: &str, document: Option<Document>) -> u64 {
        self.tell_changes("the human", name, document.as_ref());
        let version = self.put_object(Author::Human, name, document);
        self.cast_shadows();
        version
    }

    /// The object of another owner, with one more claim.
    pub(crate) fn dispute(&mut self, zone: usize, key: &RecordKey) {
        const NAME: &str = "stranger-registry";
        let label = self.label(zone);
        let Some(objects) = &self.objects else { return };
        let mut document = objects.all.get(NAME).map(|object| object.document.clone()).unwrap_or_default();
        document.notes = [("owner", "stranger"), ("shards", "1")].map(|(k, v)| (k.to_owned(), v.to_owned())).into();
        let mut list = entries(&document);
        let mut entry = serde_json::json!({
            "dnsname": key.name.to_string(), "owner": "stranger", "target": "", "type": key.rtype.to_string(), "zone": label,
        });
        if let Some(id) = &key.set_id {
            entry["setIdentifier"] = Value::from(id.as_str());
        }
        list.push(entry);
        document.text = serde_json::to_string(&list).unwrap_or_default();
        self.put_by_hand(NAME, Some(document));
    }

    /// Takes away the first object of an owner.
    pub(crate) fn lose_object(&mut self, owner: &str) {
        let name = format!("{owner}-registry");
        if self.objects.as_ref().is_some_and(|objects| objects.all.contains_key(&name)) {
            self.put_by_hand(&name, None);
        }
    }
}
