//! A record that comes or goes, within the sets of its name.

use crate::provider::Record;
use crate::rdata::RData;
use crate::record::{RecordData, RecordKey, RecordSet};

fn key_of(record: &Record) -> RecordKey {
    RecordKey::simple(record.name.clone(), record.data.rtype())
}

fn records(set: &RecordSet) -> Vec<RData> {
    set.data.as_records().to_vec()
}

pub(super) fn remove(sets: &mut Vec<RecordSet>, record: &Record) {
    let key = key_of(record);
    let Some(at) = sets.iter().position(|set| set.key == key) else { return };
    let left: Vec<RData> = records(&sets[at]).into_iter().filter(|data| *data != record.data).collect();
    if left.is_empty() {
        sets.remove(at);
    } else {
        sets[at].data = RecordData::records(left);
    }
}

pub(super) fn add(sets: &mut Vec<RecordSet>, record: Record) {
    let key = key_of(&record);
    match sets.iter_mut().find(|set| set.key == key) {
        Some(set) => {
            set.data = RecordData::records(records(set).into_iter().chain([record.data]));
            set.ttl = Some(record.ttl);
        }
        None => sets.push(RecordSet::simple(record.name, key.rtype, Some(record.ttl), [record.data])),
    }
}
