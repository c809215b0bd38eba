//! What was read of a zone: a few names.

use std::collections::BTreeMap;

use zonewright_core::registry::Published;
use zonewright_core::{DnsName, RecordKey, RecordSet, Zone, ZoneKey};

/// The record sets at the names that were read.
#[derive(Debug)]
pub(super) struct View {
    zone: Zone,
    sets: BTreeMap<RecordKey, RecordSet>,
}

impl View {
    pub(super) fn new(zone: Zone, sets: Vec<RecordSet>) -> Self {
        Self { zone, sets: sets.into_iter().map(|set| (set.key.clone(), set)).collect() }
    }

    pub(super) fn set(&self, key: &RecordKey) -> Option<&RecordSet> {
        self.sets.get(key)
    }

    pub(super) fn sets(&self) -> impl Iterator<Item = &RecordSet> {
        self.sets.values()
    }
}

/// One zone is known, and not completely.
impl Published for View {
    fn find(&self, _near: &ZoneKey, key: &RecordKey) -> Option<(ZoneKey, RecordSet)> {
        self.sets.get(key).map(|set| (self.zone.key.clone(), set.clone()))
    }

    fn zones_at(&self, name: &DnsName) -> Vec<(Zone, bool)> {
        if self.zone.name == *name { vec![(self.zone.clone(), false)] } else { Vec::new() }
    }
}
