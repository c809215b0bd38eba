//! Reading the objects: in, what stands; out, a table that says so. An object of ours that cannot be read stops everything, one
//! of another writer does not.

use std::collections::{BTreeMap, BTreeSet};

use tracing::{error, warn};
use zonewright_core::claim::OwnerId;
use zonewright_core::documents::{Listed, Version};
use zonewright_core::{Error, ErrorKind, Result, Retry};

use super::super::document::{self, Entries};
use super::super::name;
use super::{Keeper, MOST_SHARDS, OWNER, SHARDS, Writer};

impl Keeper {
    /// Takes over what changed in the objects since the last look.
    pub(in super::super) async fn load(&self, writer: &mut Writer) -> Result<()> {
        let listed = self.store.list().await?;
        let ours = |item: &Listed| name::shard_of(&self.base, &item.name);
        let (own, foreign): (Vec<&Listed>, Vec<&Listed>) = listed.iter().partition(|item| ours(item).is_some());
        let mut own: BTreeMap<usize, &Listed> = own.into_iter().filter_map(|item| Some((ours(item)?, item))).collect();
        self.measure(writer, &mut own)?;
        if self.table_mut().drop_unwritten(|index| own.contains_key(&index)) {
            for index in own.keys() {
                self.doubt(*index);
            }
        }
        for (index, item) in &own {
            let known = self.table().shards.get(index).and_then(|shard| shard.version.clone());
            if known.as_ref() != Some(&item.version) {
                writer.cache.remove(index);
                self.fetch(*index).await?;
            }
        }
        let gone: Vec<usize> = self.table().shards.keys().filter(|index| !own.contains_key(index)).copied().collect();
        for index in gone {
            writer.cache.remove(&index);
            self.lose(index);
        }
        self.load_foreign(&foreign).await?;
        let first = !std::mem::replace(&mut self.table_mut().loaded, true);
        if first && own.is_empty() {
            warn!("{} does not exist: nothing is known to be ours, and existing records are left alone", self.place(0));
        }
        Ok(())
    }

    /// Finds out how many shards there are, and takes out what is none. A shard is written as one of more than its number says; what
    /// another writer put beside them under a higher number (a copy to go back to) is left alone, and says nothing.
    fn measure(&self, writer: &mut Writer, own: &mut BTreeMap<usize, &Listed>) -> Result<()> {
        let (mut width, mut apart) = (1, BTreeMap::new());
        for (index, item) in &*own {
            let of = if *index < MOST_SHARDS { self.notes_say(*index, &item.notes)? } else { 0 };
            if *index < of {
                width = width.max(of);
            } else {
                apart.insert(*index, of);
            }
        }
        // Among so many there is one of this number: it is damaged, or in the way.
        if let Some((index, of)) = apart.range(..width).next() {
            return Err(self.no_shard(*index, *of));
        }
        own.retain(|index, _| !apart.contains_key(index));
        let apart: BTreeSet<usize> = apart.into_keys().collect();
        for index in apart.difference(&writer.apart) {
            warn!("{} is left alone: there is no object of this number in the registry", self.place(*index));
        }
        writer.apart = apart;
        self.table_mut().width = width;
        Ok(())
    }

    fn no_shard(&self, index: usize, of: usize) -> Error {
        let problem =
            format!("shards: found {of}, expected more than {index}, the object's number; a copy needs another name");
        self.unreadable(index, &problem)
    }

    /// The number of shards that the notes of one of our objects state.
    fn notes_say(&self, index: usize, notes: &BTreeMap<String, String>) -> Result<usize> {
        let note = |key: &str| notes.get(key).map(String::as_str).unwrap_or_default();
        if note(OWNER) != self.owner.as_str() {
            let problem = format!("owner: found {:?}, expected {:?}", note(OWNER), self.owner.as_str());
            return Err(self.unreadable(index, &problem));
        }
        let of = note(SHARDS).parse().ok().filter(|of: &usize| of.is_power_of_two() && *of <= MOST_SHARDS);
        of.ok_or_else(|| {
            let problem = format!("shards: found {:?}, expected a power of two up to {MOST_SHARDS}", note(SHARDS));
            self.unreadable(index, &problem)
        })
    }

    fn unreadable(&self, index: usize, problem: &str) -> Error {
        let context = format!(
            "{}: {problem}. Nothing is changed until it is put right; deleting the object gives up its claims",
            self.place(index)
        );
        Error::new(ErrorKind::Invalid, "read the registry", context).retry(Retry::Backoff)
    }

    /// Reads one of our objects anew.
    pub(super) async fn fetch(&self, index: usize) -> Result<(Option<Version>, Entries)> {
        let Some((version, document)) = self.store.read(&self.name(index)).await? else {
            self.lose(index);
            return Ok((None, Entries::new()));
        };
        let of = self.notes_say(index, &document.notes)?;
        if index >= of {
            return Err(self.no_shard(index, of));
        }
        let parsed =
            document::parse(&document.text, &self.owner).map_err(|problem| self.unreadable(index, &problem))?;
        for problem in &parsed.passed_over {
            warn!("{}: {problem}; this entry of another writer is passed over", self.place(index));
        }
        let mut table = self.table_mut();
        let known = table.shards.get(&index).and_then(|shard| shard.version.clone());
        table.width = table.width.max(of);
        if known.as_ref() != Some(&version) {
            table.ingest(index, Some(version.clone()), of, &parsed.entries, false);
        }
        Ok((Some(version), parsed.entries))
    }

    /// An object that stood is gone. What is kept of one that was never written, or of which that is not known, stays until all are listed.
    fn lose(&self, index: usize) {
        if self.table().shards.get(&index).is_none_or(|shard| shard.version.is_none()) {
            return;
        }
        let claims = self.table_mut().lose(index);
        error!(claims, "{} is gone, and the claims in it: their records are left alone from now on", self.place(index));
    }

    async fn load_foreign(&self, listed: &[&Listed]) -> Result<()> {
        self.table_mut().keep_foreign(&listed.iter().map(|item| item.name.as_str()).collect());
        for item in listed {
            let Some(owner) = item.notes.get(OWNER).and_then(|text| OwnerId::new(text)) else { continue };
            let known = self.table().foreign.get(&item.name).map(|foreign| foreign.version.clone());
            if owner == self.owner || known.as_ref() == Some(&item.version) {
                continue;
            }
            let Some((version, document)) = self.store.read(&item.name).await? else { continue };
            let parsed = document::parse(&document.text, &owner).unwrap_or_else(|problem| {
                let place = self.store.place(&item.name);
                warn!("{place} of owner {owner} cannot be read, so its claims are not known here: {problem}");
                document::Parsed::default()
            });
            self.table_mut().ingest_foreign(&item.name, version, &owner, &parsed.entries);
        }
        Ok(())
    }
}
