//! A zone as a set of single records: what a history of deltas is applied to.

use std::collections::{BTreeMap, BTreeSet};

use zonewright_core::provider::{Delta, Record};
use zonewright_core::{RecordKey, RecordSet, RecordType, Ttl};

/// Record sets by key.
pub(crate) type Sets = BTreeMap<RecordKey, RecordSet>;

/// Sets by key, without the SOA, which changes with every change.
pub(crate) fn by_key(sets: Vec<RecordSet>, whose: &str) -> Sets {
    let mut out = Sets::new();
    for set in sets.into_iter().filter(|set| set.key.rtype != RecordType::Soa) {
        let key = set.key.clone();
        assert!(out.insert(key.clone(), set).is_none(), "{whose} has {key} twice; each key comes once");
    }
    out
}

/// The single records of the sets.
pub(crate) fn records(sets: &Sets) -> BTreeSet<Record> {
    let each = sets.values().flat_map(|set| {
        let ttl = set.ttl.unwrap_or(Ttl::MAX);
        set.data.as_records().iter().map(move |data| Record { name: set.key.name.clone(), ttl, data: data.clone() })
    });
    each.collect()
}

/// Applies a history. Every record that goes must be there, every one that comes must not.
pub(crate) fn apply(view: &mut BTreeSet<Record>, steps: &[Delta]) {
    let counts = |record: &&Record| record.data.rtype() != RecordType::Soa;
    for step in steps {
        for record in step.removed.iter().filter(counts) {
            assert!(view.remove(record), "the history removes {record:?}, which was not there");
        }
        for record in step.added.iter().filter(counts) {
            assert!(view.insert(record.clone()), "the history adds {record:?}, which was there already");
        }
    }
}

/// What differs, for messages.
pub(crate) fn difference(found: &Sets, expected: &Sets) -> String {
    let mut out = String::new();
    let keys: BTreeSet<&RecordKey> = found.keys().chain(expected.keys()).collect();
    for key in keys {
        let (found, expected) = (found.get(key), expected.get(key));
        if found != expected {
            let show = |set: Option<&RecordSet>| set.map_or_else(|| "nothing".to_owned(), ToString::to_string);
            out.push_str("\n  expected ");
            out.push_str(&show(expected));
            out.push_str("\n  found    ");
            out.push_str(&show(found));
        }
    }
    out
}
