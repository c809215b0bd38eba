//! Rows of ours whose records are gone.
//!
//! In: a zone as it was read, time after time, and the rows that name it. Out: the rows that no longer speak for anything
//! there and end. What must hold: a row of another owner is never among them, nor one that names no zone (external-dns wrote
//! it: its record may stand where we do not look); one reading proves nothing, since it may lag behind our own write; and
//! where many records are missing at once it is the reading that is doubted.

use std::collections::{BTreeMap, HashMap};

use zonewright_core::RecordKey;
use zonewright_core::change::{Group, StoreStep};
use zonewright_core::claim::OwnerId;
use zonewright_core::registry::Published;
use zonewright_core::zone::{Zone, ZoneKey};

use super::rows::Rows;

/// After so many readings without the record its row ends.
const READINGS: u8 = 3;
/// So many rows, or a tenth of those that name the zone if that is more, may end after one reading.
const MOST: usize = 20;

/// How often each record was missed, by zone.
#[derive(Debug, Default)]
pub(crate) struct Missing(HashMap<ZoneKey, Missed>);

#[derive(Debug, Default)]
struct Missed {
    readings: HashMap<RecordKey, u8>,
    /// Whether it was reported that too many are missing.
    reported: bool,
}

/// What follows from a reading.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct MissingRows {
    /// The rows of these records end.
    pub(crate) end: Vec<RecordKey>,
    /// So many more are missing that it is the reading that is doubted; reported once.
    pub(crate) doubted: Option<usize>,
}

impl Missing {
    /// Counts one more reading of a zone. `missing` are the records that it did not show, each with whether a write of ours
    /// may be why; `of` is the number of rows that name the zone.
    pub(crate) fn count(&mut self, zone: &ZoneKey, missing: &BTreeMap<RecordKey, bool>, of: usize) -> MissingRows {
        let missed = self.0.entry(zone.clone()).or_default();
        missed.readings.retain(|key, _| missing.contains_key(key));
        for key in missing.keys() {
            let readings = missed.readings.entry(key.clone()).or_default();
            *readings = readings.saturating_add(1);
        }
        let enough = missed.readings.iter().filter(|(_, readings)| **readings >= READINGS);
        let due: Vec<RecordKey> = enough.map(|(key, _)| key.clone()).collect();
        let (explained, lost): (Vec<RecordKey>, Vec<RecordKey>) =
            due.into_iter().partition(|key| missing.get(key) == Some(&true));
        if lost.len() > MOST.max(of / 10) {
            let reported = std::mem::replace(&mut missed.reported, true);
            let doubted = (!reported).then_some(lost.len());
            return MissingRows { end: explained, doubted };
        }
        missed.reported = false;
        let mut end: Vec<RecordKey> = explained.into_iter().chain(lost).collect();
        end.sort();
        MissingRows { end, doubted: None }
    }
}

/// The records whose rows of ours name the zone.
pub(crate) fn named(rows: &Rows, me: &OwnerId, zone: &Zone) -> Vec<RecordKey> {
    let id = zone.key.zone.as_str();
    let names = rows.of(me).filter(|(key, row)| key.name.is_within(&zone.name) && row.names(id));
    names.map(|(key, _)| key).collect()
}

/// A group for each row of ours with a say in the zone whose record stands neither there nor, if the row names no zone,
/// anywhere.
pub(crate) fn leftovers(rows: &Rows, me: &OwnerId, zone: &Zone, published: &dyn Published) -> Vec<Group> {
    let id = zone.key.zone.as_str();
    let stands = |key: &RecordKey, everywhere: bool| {
        published.find(&zone.key, key).is_some_and(|(holder, _)| everywhere || holder == zone.key)
    };
    let mut keys: Vec<RecordKey> = rows
        .of(me)
        .filter(|(key, row)| key.name.is_within(&zone.name) && (row.is_everywhere() || row.names(id)))
        .filter(|(key, row)| !stands(key, row.is_everywhere()))
        .map(|(key, _)| key)
        .collect();
    keys.sort();
    keys.into_iter().map(|key| Group::stored(StoreStep::end(key))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use zonewright_core::zone::InstanceId;
    use zonewright_core::{DnsName, RecordType};

    fn zone(id: &str) -> ZoneKey {
        Zone::new(&InstanceId::from("test"), id, DnsName::parse("example").unwrap()).key
    }

    /// So many records, missing for a reason or for none.
    fn keys(count: usize, explained: bool) -> BTreeMap<RecordKey, bool> {
        let name = |number: usize| DnsName::parse(&format!("n{number:03}.example")).unwrap();
        (0..count).map(|number| (RecordKey::simple(name(number), RecordType::A), explained)).collect()
    }

    #[test]
    fn three_readings_in_a_row_end_a_row() {
        for (readings, expected) in [
            (&[1, 1, 1][..], &[0, 0, 1][..]),
            (&[1, 1, 0, 1, 1, 1], &[0, 0, 0, 0, 0, 1]),
            (&[1, 2, 2, 2], &[0, 0, 1, 2]),
            (&[0, 0, 0], &[0, 0, 0]),
        ] {
            let mut missing = Missing::default();
            let found: Vec<usize> =
                readings.iter().map(|count| missing.count(&zone("z"), &keys(*count, false), 100).end.len()).collect();
            assert_eq!(found, expected, "{readings:?}");
        }
    }

    #[test]
    fn a_zone_does_not_count_for_its_twin() {
        let mut missing = Missing::default();
        let found = ["z", "y", "z", "y", "z"].map(|id| missing.count(&zone(id), &keys(1, false), 1).end.len());
        assert_eq!(found, [0, 0, 0, 0, 1]);
    }

    #[test]
    fn too_many_at_once_are_doubted() {
        // Records missing, rows that name the zone; how many end.
        for (count, of, expected) in
            [(20, 20, 20), (21, 21, 0), (21, 209, 0), (21, 210, 21), (100, 1_000, 100), (101, 1_000, 0)]
        {
            let mut missing = Missing::default();
            let mut read = |count, explained| missing.count(&zone("z"), &keys(count, explained), of);
            let last = [0; 3].map(|_| read(count, false)).into_iter().next_back().unwrap();
            assert_eq!(last.end.len(), expected, "{count} of {of}");
            assert_eq!(last.doubted, Some(count).filter(|_| expected == 0), "{count} of {of}");
            if expected == 0 {
                assert_eq!(read(count, false), MissingRows::default(), "reported once");
                assert_eq!(read(count, true).end.len(), count, "our own writes took them away");
                assert_eq!(read(3, false).end.len(), 3, "the others came back");
            }
        }
    }
}
