//! Spreading entries over the objects: in, objects that are too full or hold what belongs elsewhere; out, each entry where it
//! belongs. It is written there before it is taken from where it stood.

use std::collections::{BTreeMap, BTreeSet};

use zonewright_core::Result;

use super::super::document::Entries;
use super::super::entry::{Entry, ZoneRecord};
use super::super::table::{Table, home};
use super::{Keeper, Put, Writer};

impl Keeper {
    /// Twice as many shards: half of what each holds moves to a new one.
    pub(super) async fn grow(&self, writer: &mut Writer) -> Result<()> {
        self.table_mut().width *= 2;
        self.order(writer).await
    }

    /// Puts entries where they belong, if an earlier move was cut off or a person moved them. First they are written where they
    /// belong, then taken from where they stood.
    pub(in super::super) async fn order(&self, writer: &mut Writer) -> Result<()> {
        loop {
            let next = {
                let table = self.table();
                let strays = table.shards.iter().filter(|(_, shard)| shard.of != table.width);
                strays.map(|(index, _)| *index).next()
            };
            let Some(index) = next else { return Ok(()) };
            if !self.spread(writer, index).await? {
                self.table_mut().width *= 2;
            }
        }
    }

    /// Spreads the entries of one object. Returns whether there was room.
    async fn spread(&self, writer: &mut Writer, index: usize) -> Result<bool> {
        let (_, standing) = self.current(writer, index).await?;
        let width = self.table().width;
        self.table_mut().move_entries();
        let mut moved: BTreeMap<usize, Entries> = BTreeMap::new();
        for (place, entry) in standing {
            let home = home(&place.key.name, width);
            if home != index {
                moved.entry(home).or_default().insert(place, entry);
            }
        }
        for (home, moved) in &moved {
            match self.copy(writer, *home, moved).await? {
                Put::Done => {}
                Put::TooBig => return Ok(false),
                Put::Moved => return Ok(true),
            }
        }
        // What another writer wrote here meanwhile was not moved, and stays for the next time.
        let moved: Entries = moved.into_values().flatten().collect();
        let mut left: BTreeSet<ZoneRecord> = BTreeSet::new();
        let mut shrink = |_: &Table, entries: &mut Entries| {
            entries.retain(|place, entry| moved.get(place) != Some(&*entry));
            left = entries.keys().cloned().collect();
        };
        let put = self.write(writer, index, &mut shrink).await?;
        if put == Put::Done {
            writer.copied.retain(|place, _| !moved.contains_key(place) || left.contains(place));
        }
        Ok(put != Put::TooBig)
    }

    /// Writes entries where they belong. Of two that differ the one that stands there is the later one, unless it is a copy of what
    /// another writer has changed since, or the other one was given to another owner by hand.
    async fn copy(&self, writer: &mut Writer, home: usize, moved: &Entries) -> Result<Put> {
        let (known, mut copied) = (writer.copied.clone(), Entries::new());
        let mut add = |table: &Table, entries: &mut Entries| {
            copied.clear();
            for (place, entry) in moved {
                let is_copy = |stands: &Entry| known.get(place).is_some_and(|copies| copies.contains(stands));
                let yields = |stands: &Entry| stands == entry || is_copy(stands) || table.keeps_out(entry);
                if entries.get(place).is_none_or(yields) {
                    entries.insert(place.clone(), entry.clone());
                    copied.insert(place.clone(), entry.clone());
                }
            }
        };
        let put = self.write(writer, home, &mut add).await;
        let (is_done, may_be_done) = (put.as_ref().is_ok_and(|put| *put == Put::Done), put.is_err());
        for (place, entry) in copied.into_iter().filter(|_| is_done || may_be_done) {
            let stand = writer.copied.entry(place).or_default();
            if is_done {
                stand.clear();
            }
            if !stand.contains(&entry) {
                stand.push(entry);
            }
        }
        put
    }
}
