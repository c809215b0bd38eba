//! Spreading entries over the objects: in, objects that are too full or hold what belongs elsewhere; out, each entry where it
//! belongs. It is written there before it is taken from where it stood.

use std::collections::BTreeMap;

use zonewright_core::Result;

use super::super::document::Entries;
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
        let mut moved: BTreeMap<usize, Entries> = BTreeMap::new();
        for (place, entry) in standing {
            let home = home(&place.key.name, width);
            if home != index {
                moved.entry(home).or_default().insert(place, entry);
            }
        }
        for (home, moved) in &moved {
            let mut add = |_: &Table, entries: &mut Entries| {
                for (place, entry) in moved {
                    entries.entry(place.clone()).or_insert_with(|| entry.clone());
                }
            };
            match self.write(writer, *home, &mut add).await? {
                Put::Done => {}
                Put::TooBig => return Ok(false),
                Put::Moved => return Ok(true),
            }
        }
        // What another writer wrote here meanwhile was not moved, and stays for the next time.
        let moved: Entries = moved.into_values().flatten().collect();
        let mut shrink =
            |_: &Table, entries: &mut Entries| entries.retain(|place, entry| moved.get(place) != Some(&*entry));
        Ok(self.write(writer, index, &mut shrink).await? != Put::TooBig)
    }
}
