//! Everything that was read from the table, in memory.
//!
//! In: rows by the texts of their keys. Out: what stands for a record set. A row that cannot be read keeps its place: nobody
//! may write there, and the reason is reported. So do two rows for one record set that differ in spelling.

use std::collections::{BTreeSet, HashMap};

use zonewright_core::claim::OwnerId;
use zonewright_core::{DnsName, RecordKey};

use super::key;
use super::row::Row;

/// A row at its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stored {
    /// The key as it stands in the table.
    pub(crate) key: String,
    /// What it says, or why it cannot be read.
    pub(crate) row: Result<Row, String>,
}

/// A row that may be written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Found<'a> {
    /// The key as it stands in the table.
    pub(crate) key: &'a str,
    /// What it says.
    pub(crate) row: &'a Row,
}

/// The rows of a table, by the canonical texts of their keys.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rows(HashMap<String, Vec<Stored>>);

impl Rows {
    /// Everything that stands for a record set.
    pub(crate) fn at(&self, canonical: &str) -> &[Stored] {
        self.0.get(canonical).map_or(&[], Vec::as_slice)
    }

    /// The keys with set identifiers at these names.
    pub(crate) fn item_keys(&self, names: &BTreeSet<DnsName>) -> BTreeSet<RecordKey> {
        let keys = self.0.values().flatten().filter_map(|stored| key::parse(&stored.key).ok());
        keys.filter(|key| key.set_id.is_some() && names.contains(&key.name)).collect()
    }

    /// The one row for a record set.
    ///
    /// # Errors
    /// Why what stands there cannot be written: it cannot be read, or there are two.
    pub(crate) fn only(&self, canonical: &str) -> Result<Option<Found<'_>>, String> {
        match self.at(canonical) {
            [] => Ok(None),
            [Stored { key, row: Ok(row) }] => Ok(Some(Found { key, row })),
            [Stored { key, row: Err(problem) }] => Err(format!("its row {key:?} cannot be read: {problem}")),
            several => {
                let keys: Vec<String> = several.iter().map(|stored| format!("{:?}", stored.key)).collect();
                Err(format!("several rows speak for it: {}; remove all but one", keys.join(", ")))
            }
        }
    }

    /// Each record set with a single row that can be read and is that of `owner`.
    pub(crate) fn of<'a>(&'a self, owner: &'a OwnerId) -> impl Iterator<Item = (RecordKey, &'a Row)> {
        self.0.iter().filter_map(move |(canonical, at)| match at.as_slice() {
            [Stored { row: Ok(row), .. }] if row.owner == *owner => Some((key::parse(canonical).ok()?, row)),
            _ => None,
        })
    }

    /// Sets what stands at the key of `stored`.
    pub(crate) fn set(&mut self, canonical: String, stored: Stored) {
        let at = self.0.entry(canonical).or_default();
        at.retain(|other| other.key != stored.key);
        at.push(stored);
    }

    /// Forgets the row at `key`.
    pub(crate) fn remove(&mut self, canonical: &str, key: &str) {
        if let Some(at) = self.0.get_mut(canonical) {
            at.retain(|other| other.key != key);
            if at.is_empty() {
                self.0.remove(canonical);
            }
        }
    }

    /// The keys at which something else stands in `other`.
    pub(crate) fn differing<'a>(&'a self, other: &'a Self) -> Vec<&'a str> {
        let gone = self.0.keys().filter(|key| !other.0.contains_key(*key));
        let new = other.0.iter().filter(|(key, at)| self.0.get(*key) != Some(at)).map(|(key, _)| key);
        gone.chain(new).map(String::as_str).collect()
    }

    /// How many record sets have a row.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}
