//! What others changed in the table, until each zone was told of it.

use std::collections::{BTreeMap, HashMap};

use zonewright_core::DnsName;
use zonewright_core::registry::News;
use zonewright_core::zone::{Zone, ZoneKey};

/// Names whose rows were not what memory said: each with the reading that showed it, and for each zone the reading that it
/// was last told of.
#[derive(Debug, Default)]
pub(super) struct Changes {
    reading: u64,
    names: BTreeMap<DnsName, u64>,
    /// Those whose rows were ours and say something else.
    contested: BTreeMap<DnsName, u64>,
    seen: HashMap<ZoneKey, u64>,
}

impl Changes {
    /// Names, each with whether a row of ours says something else now.
    pub(super) fn note(&mut self, names: impl Iterator<Item = (DnsName, bool)>) {
        self.reading += 1;
        let reading = self.reading;
        // At the first reading nothing was known that could differ: every name is planned then.
        for (name, contested) in names.filter(|_| reading > 1) {
            if contested {
                self.contested.insert(name.clone(), reading);
            }
            self.names.insert(name, reading);
        }
    }

    /// What is new in a zone since this was last asked.
    pub(super) fn news(&mut self, zone: &Zone) -> News {
        let reading = self.reading;
        let seen = self.seen.insert(zone.key.clone(), reading).unwrap_or(0);
        let fresh = |names: &BTreeMap<DnsName, u64>| {
            let fresh = names.iter().filter(|(name, at)| **at > seen && name.is_within(&zone.name));
            fresh.map(|(name, _)| name.clone()).collect()
        };
        News { names: fresh(&self.names), contested: fresh(&self.contested) }
    }
}
