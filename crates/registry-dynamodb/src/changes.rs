//! What others changed in the table, until each zone has taken note of it.

use std::collections::{BTreeMap, HashMap};

use zonewright_core::DnsName;
use zonewright_core::registry::ExternalChanges;
use zonewright_core::zone::{Zone, ZoneKey};

/// For so many readings of the table a change is kept: each zone asks at least once between two of them.
const KEPT: u64 = 1_000;

/// Names whose rows were not what memory said: each with the reading that showed it, and for each zone the reading that it
/// last received.
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
        // Every zone that is served has received older ones; one that is not begins with a plan for every name.
        let oldest = reading.saturating_sub(KEPT);
        self.names.retain(|_, at| *at > oldest);
        self.contested.retain(|_, at| *at > oldest);
    }

    /// What is new in a zone since this was last asked.
    pub(super) fn external_changes(&mut self, zone: &Zone) -> ExternalChanges {
        let reading = self.reading;
        let seen = self.seen.insert(zone.key.clone(), reading).unwrap_or(0);
        let fresh = |names: &BTreeMap<DnsName, u64>| {
            let fresh = names.iter().filter(|(name, at)| **at > seen && name.is_within(&zone.name));
            fresh.map(|(name, _)| name.clone()).collect()
        };
        ExternalChanges { names: fresh(&self.names), contested: fresh(&self.contested) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_every_zone_has_received_is_not_kept() {
        let mut changes = Changes::default();
        for n in 0..3 * KEPT {
            changes.note([(DnsName::parse(&format!("n{n}.example")).unwrap(), true)].into_iter());
        }
        let kept = usize::try_from(KEPT).unwrap();
        assert_eq!((changes.names.len(), changes.contested.len()), (kept, kept));
    }
}
