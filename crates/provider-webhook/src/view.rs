//! What a peer lists, as record sets.
//!
//! In: the endpoints of one answer. Out: each key once, and how the peer spells what it lists. An endpoint that cannot
//! be at any name is left out and reported; everything else is kept, understood or not.

use std::collections::BTreeMap;

use zonewright_core::{RecordData, RecordKey, RecordSet, Ttl};

use crate::convert::{Spellings, decode};
use crate::once_log::OnceLog;
use crate::wire::{Endpoint, List};

/// What an unset TTL becomes where a set must have one; it is sent as unset again.
pub(crate) const UNSET: Ttl = Ttl::ZERO;

/// A listing.
#[derive(Debug, Default)]
pub(crate) struct PeerListing {
    pub(crate) sets: BTreeMap<RecordKey, RecordSet>,
    pub(crate) spellings: Spellings,
}

impl PeerListing {
    /// Takes over a listing, and logs what is wrong with it.
    pub(crate) fn of(list: List, log: &OnceLog) -> Self {
        report_nulls(&list, log);
        let mut listed = Self::default();
        for endpoint in list.endpoints {
            match decode(&endpoint, Some(UNSET)) {
                Ok(set) => listed.add(set, endpoint, log),
                Err(error) => log.once(
                    &format!("listed name {:?}", endpoint.name),
                    &format!("lists the name {:?}: {error}", endpoint.name),
                    "has domain names",
                    "this endpoint is left out of the view; no record of ours can stand there",
                ),
            }
        }
        listed
    }

    fn add(&mut self, set: RecordSet, endpoint: Endpoint, log: &OnceLog) {
        match self.sets.get_mut(&set.key) {
            None => {
                self.spellings.note(&set, endpoint);
                self.sets.insert(set.key.clone(), set);
            }
            Some(first) => {
                log.once(
                    &format!("{} listed twice", set.key),
                    &format!("lists {} more than once", set.key),
                    "has all targets of a name, type and set identifier in one endpoint",
                    "they count as one set with the targets of all; TTL and properties are those of the first",
                );
                self.spellings.forget(&set.key);
                let all = first.data.as_records().iter().chain(set.data.as_records()).cloned();
                first.data = RecordData::records(all);
            }
        }
    }
}

fn report_nulls(list: &List, log: &OnceLog) {
    if list.is_null {
        log.once(
            "null for a list",
            "answered GET /records with null",
            "has a list; programs in Go write an empty one so",
            "it counts as a provider without records",
        );
    }
    if list.nulls > 0 {
        log.once(
            "null in a list",
            &format!("lists {} endpoints that are null", list.nulls),
            "has objects",
            "they are passed over",
        );
    }
}
