//! The text of one object: a JSON list of entries, one in a line, in the order of the names.
//!
//! In: the text, and whose object it is. Out: its entries by record, and what could not be read. What must hold: an entry
//! that may be ours and cannot be read makes the whole text unreadable, since a right must not get lost in silence; a bad
//! entry of another writer is passed over, and reported.

use std::collections::BTreeMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use serde_json::Value;
use zonewright_core::claim::OwnerId;

use super::entry::{Entry, ZoneRecord};
use super::right::{Right, Seal};

/// Where a ConfigMap has the list.
const FIELD: &str = "data.records";

/// The entries of an object.
pub(super) type Entries = BTreeMap<ZoneRecord, Entry>;

/// A text that was read.
#[derive(Debug, Default)]
pub(super) struct Parsed {
    pub(super) entries: Entries,
    /// Entries of others that cannot be read, each with field and reason.
    pub(super) passed_over: Vec<String>,
}

/// Reads the text of an object of `holder`.
///
/// # Errors
/// The field that cannot be read, what was found and what was expected.
pub(super) fn parse(text: &str, holder: &OwnerId) -> Result<Parsed, String> {
    let mut parsed = Parsed::default();
    match serde_json::from_str::<Vec<Entry>>(text) {
        Ok(entries) => {
            for (index, entry) in entries.into_iter().enumerate() {
                parsed.take(index, entry, holder)?;
            }
        }
        Err(_) => parsed.take_singly(text, holder)?,
    }
    Ok(parsed)
}

impl Parsed {
    /// Some entry is bad, or the whole: finds out which.
    fn take_singly(&mut self, text: &str, holder: &OwnerId) -> Result<(), String> {
        let list: Vec<Value> =
            serde_json::from_str(text).map_err(|e| format!("{FIELD}: expected a JSON list of records: {e}"))?;
        for (index, value) in list.into_iter().enumerate() {
            let owner = value.get("owner").and_then(Value::as_str).map(str::to_owned);
            match serde_json::from_value::<Entry>(value) {
                Ok(entry) => self.take(index, entry, holder)?,
                Err(problem) => self.refuse(index, owner.as_deref(), &problem.to_string(), holder)?,
            }
        }
        Ok(())
    }

    fn take(&mut self, index: usize, entry: Entry, holder: &OwnerId) -> Result<(), String> {
        let place = entry.place().and_then(|place| entry.right(&place, holder).map(|_| place));
        match place {
            Ok(place) => {
                // Of two entries of one record the one that says more stays: a right is not lost to a bare line.
                let known = self.entries.get(&place).is_some_and(|known| !known.owner.is_empty());
                if !known || !entry.owner.is_empty() {
                    self.entries.insert(place, entry);
                }
                Ok(())
            }
            Err(flaw) => self.refuse(index, Some(&entry.owner), &flaw.to_string(), holder),
        }
    }

    fn refuse(&mut self, index: usize, owner: Option<&str>, problem: &str, holder: &OwnerId) -> Result<(), String> {
        let text = format!("{FIELD}[{index}]: {problem}");
        match owner {
            Some(owner) if owner != holder.as_str() => {
                self.passed_over.push(text);
                Ok(())
            }
            _ => Err(text),
        }
    }
}

/// The text of entries.
pub(super) fn write(entries: &Entries) -> String {
    let mut text = String::from("[");
    for entry in entries.values() {
        text.push_str(if text.len() == 1 { "\n" } else { ",\n" });
        text.push_str(&serde_json::to_string(entry).expect("an entry is texts and lists of texts"));
    }
    text.push_str("\n]\n");
    text
}

/// A number that differs where an entry differs; for comparing within one process.
pub(super) fn print(place: &ZoneRecord, entry: &Entry) -> u64 {
    print_of(place, entry, entry.seal(&place.key))
}

/// [`print`] of an entry whose record stands as `seal`.
pub(super) fn print_of(place: &ZoneRecord, entry: &Entry, seal: Seal) -> u64 {
    let mut hasher = DefaultHasher::new();
    place.hash(&mut hasher);
    (&entry.owner, &entry.resource, &entry.labels, &entry.intent, entry.given, entry.lost).hash(&mut hasher);
    if let Some(next) = &entry.next {
        (&next.intent, &next.resource, &next.labels).hash(&mut hasher);
    }
    seal.hash(&mut hasher);
    hasher.finish()
}

/// What the entries say of owners, by record.
pub(super) fn rights<'a>(entries: &'a Entries, holder: &'a OwnerId) -> impl Iterator<Item = (&'a ZoneRecord, Right)> {
    entries.iter().filter_map(move |(place, entry)| Some((place, entry.right(place, holder).ok()??)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn me() -> OwnerId {
        OwnerId::new("me").unwrap()
    }

    #[test]
    fn the_list_of_the_proposal_is_read() {
        let text = r#"[{"dnsname": "foo.org", "owner": "me", "target": "192.0.2.1", "type": "A"},
            {"dnsname": "bar.org", "owner": "other", "target": "loadbalancer2.com", "type": "CNAME", "zone": "sim/org"},
            {"dnsname": "unmanaged.org", "owner": "", "target": "loadbalancer2.com", "type": "CNAME"}]"#;
        let parsed = parse(text, &me()).unwrap();
        assert_eq!((parsed.entries.len(), parsed.passed_over.len()), (3, 0));
        let again = parse(&write(&parsed.entries), &me()).unwrap();
        assert_eq!(again.entries, parsed.entries);
        assert_eq!(parse("[]", &me()).unwrap().entries.len(), 0);
    }

    #[test]
    fn what_may_be_ours_and_cannot_be_read_stops_everything() {
        let check = |text: &str, expected: &str| {
            let problem = parse(text, &me()).unwrap_err();
            assert!(problem.contains(expected), "{text}: {problem}");
        };
        check("", "data.records: expected a JSON list of records");
        check("<html>", "data.records: expected a JSON list of records");
        check("{}", "data.records: expected a JSON list of records");
        check("[1]", "data.records[0]: ");
        check(r#"[{"dnsname":"a.org","target":"x","type":"A"}]"#, "data.records[0]: missing field `owner`");
        let good = r#"{"dnsname":"a.org","owner":"","target":"192.0.2.1","type":"A"}"#;
        let bad = r#"{"dnsname":"a..org","owner":"me","target":"192.0.2.1","type":"A"}"#;
        check(&format!("[{good},{bad}]"), "data.records[1]: dnsname: found \"a..org\", expected a name");
        check(r#"[{"dnsname":"a.org","owner":"me","target":7,"type":"A"}]"#, "data.records[0]: invalid type");
    }

    #[test]
    fn a_bad_entry_of_somebody_else_is_passed_over() {
        let text = r#"[{"dnsname":"a..org","owner":"","target":"192.0.2.1","type":"A"},
            {"dnsname":"b.org","owner":"other","target":7,"type":"A"},
            {"dnsname":"c.org","owner":"me","target":"192.0.2.1","type":"A","zone":"z"}]"#;
        let parsed = parse(text, &me()).unwrap();
        assert_eq!((parsed.entries.len(), parsed.passed_over.len()), (1, 2));
        assert!(parsed.passed_over[1].starts_with("data.records[1]: "), "{:?}", parsed.passed_over);
    }

    #[test]
    fn every_difference_shows_in_the_print() {
        let base = r#"[{"dnsname":"a.org","owner":"me","target":"192.0.2.1","type":"A","zone":"z"}]"#;
        let print_of = |text: &str| {
            let parsed = parse(text, &me()).unwrap();
            parsed.entries.iter().map(|(place, entry)| print(place, entry)).next().unwrap()
        };
        assert_eq!(print_of(base), print_of(&base.replace("a.org", "A.org.")));
        for (from, to) in [
            ("\"me\"", "\"you\""),
            ("192.0.2.1", "192.0.2.2"),
            ("\"zone\":\"z\"", "\"zone\":\"y\""),
            ("\"zone\":\"z\"", "\"zone\":\"z\",\"resource\":\"r\""),
            ("\"zone\":\"z\"", "\"zone\":\"z\",\"labels\":{\"a\":\"b\"}"),
            ("\"zone\":\"z\"", "\"zone\":\"z\",\"intent\":\"0123456789abcdef\""),
            ("\"zone\":\"z\"", "\"zone\":\"z\",\"lost\":true"),
            ("\"zone\":\"z\"", "\"zone\":\"z\",\"setIdentifier\":\"s\""),
            ("\"zone\":\"z\"", "\"zone\":\"z\",\"policy\":\"weighted:10\""),
            ("\"zone\":\"z\"", "\"zone\":\"z\",\"next\":{\"intent\":\"0123456789abcdef\"}"),
        ] {
            assert_ne!(print_of(base), print_of(&base.replace(from, to)), "{to}");
        }
    }
}
