//! The provider contract over the state.

use std::collections::BTreeSet;

use async_trait::async_trait;
use zonewright_core::capability::{Capability, TtlRange};
use zonewright_core::change::{Blame, Group, Outcome};
use zonewright_core::endpoint::Endpoint;
use zonewright_core::error::{Error, ErrorKind, Result};
use zonewright_core::interpret::Interpretation;
use zonewright_core::provider::{Adjustment, Listing, Provider, Read};
use zonewright_core::zone::ZoneId;
use zonewright_core::{DnsName, RecordSet, Zone};

use crate::local::Local;
use crate::rules::default_ttl;
use crate::table::ZoneTable;

/// Most changes in one call. The server could take any number; a limit keeps batching in use wherever it is tried out.
const MAX_CHANGES: usize = 1_000;

/// What the embedded server can do, whatever its settings.
pub(crate) fn capability() -> Capability {
    Capability::authoritative(MAX_CHANGES, TtlRange::any(default_ttl()))
}

#[async_trait]
impl Provider for Local {
    fn capability(&self, _zone: Option<&Zone>) -> Capability {
        capability()
    }

    async fn zones(&self) -> Result<Vec<Zone>> {
        self.state.count(|calls| calls.zones += 1);
        Ok(self.all_zones())
    }

    async fn zone(&self, id: &ZoneId) -> Result<Option<Zone>> {
        self.state.count(|calls| calls.zones += 1);
        Ok(self.all_zones().into_iter().find(|zone| zone.key.zone == *id))
    }

    async fn records(&self, zone: &Zone, read: Read<'_>) -> Result<Listing> {
        self.state.count(|calls| match read {
            Read::All | Read::From(_) => calls.list += 1,
            Read::Since(_) => calls.since += 1,
            Read::Names(_) => calls.names += 1,
        });
        self.state.view(&zone.name, |table| match read {
            // It gives no pages, so that nobody has a cursor.
            Read::All | Read::From(_) => full(table),
            Read::Since(token) => match table.journal.since(token) {
                Some(steps) if steps.is_empty() => Listing::Unchanged,
                Some(steps) => Listing::Delta { steps, token: table.journal.token() },
                None => full(table),
            },
            Read::Names(names) => at_names(table, names),
        })
    }

    fn interpret(&self, _: &Zone, _: &Endpoint) -> Interpretation {
        Interpretation::as_stated()
    }

    async fn adjust(&self, _zone: &Zone, sets: &[RecordSet]) -> Vec<Adjustment> {
        self.state.count(|calls| calls.adjust += 1);
        let fill = |set: &RecordSet| RecordSet { ttl: set.ttl.or(Some(default_ttl())), ..set.clone() };
        sets.iter().map(|set| Adjustment::to(fill(set))).collect()
    }

    async fn apply(&self, zone: &Zone, groups: &[Group]) -> Vec<Outcome> {
        self.state.count(|calls| {
            calls.apply += 1;
            calls.groups += u64::try_from(groups.len()).unwrap_or(u64::MAX);
        });
        let changes: usize = groups.iter().map(|group| group.steps.len()).sum();
        if changes > MAX_CHANGES {
            let context = format!("{changes} changes in one call; expected at most {MAX_CHANGES}");
            let error = Error::new(ErrorKind::Invalid, "apply", context);
            return vec![Outcome::Refused { error, blame: Blame::Batch }; groups.len()];
        }
        self.state.apply(&zone.name, groups)
    }

    async fn served(&self, _: &Zone) -> Result<Option<bool>> {
        Ok(None)
    }
}

impl Local {
    fn all_zones(&self) -> Vec<Zone> {
        self.state.zones().into_iter().map(|name| self.zone_named(&name)).collect()
    }

    /// The zone as the provider names it: the id is the name.
    pub(crate) fn zone_named(&self, name: &DnsName) -> Zone {
        Zone::new(&self.instance, name.as_str(), name.clone())
    }
}

fn full(table: &ZoneTable) -> Listing {
    Listing::Full { sets: table.sets().cloned().collect(), token: Some(table.journal.token()) }
}

fn at_names(table: &ZoneTable, names: &BTreeSet<DnsName>) -> Listing {
    let nodes = names.iter().filter_map(|name| table.node(name));
    Listing::Names(nodes.flat_map(|node| node.sets.values()).cloned().collect())
}
