//! The objects follow a zone: in, what it holds; out, objects that list it.

use std::sync::Arc;

use tracing::warn;
use zonewright_core::registry::Contents;
use zonewright_core::{Result, Zone};

use super::ConfigMapRegistry;
use super::document::Entries;
use super::entry::ZoneRecord;
use super::keep::{self, Edits, Writer};
use super::table::Table;

impl ConfigMapRegistry {
    /// Brings the objects in step with what the zone holds.
    pub(super) async fn follow(&self, writer: &mut Writer, zone: &Zone, contents: &dyn Contents) -> Result<()> {
        let text: Arc<str> = Arc::from(zone.key.to_string());
        self.keeper.order(writer).await?;
        // What is not written yet rests on what the objects said before, and gives way where they say something else by now.
        let waits = |writer: &Writer| writer.dirty.keys().any(|place| place.zone == text);
        if waits(writer) {
            let (_, problem) = self.keeper.put(writer, Edits::new()).await;
            if let Some(problem) = problem.filter(|_| waits(writer)) {
                return Err(problem);
            }
        }
        let (renewed, doubted) = {
            let mut table = self.keeper.table_mut();
            (table.renewed(), table.settle(&text, contents))
        };
        if let Some(records) = doubted {
            warn!(
                zone = %zone.key,
                "{records} records of {} were missing three times; so many claims are kept, for the records as they were, \
                 and end with `zonewright drain`",
                self.me()
            );
        }
        loop {
            let stale = { self.keeper.table().stale(&zone.key, contents) };
            let mut again = false;
            for index in stale {
                let others: Edits = writer
                    .dirty
                    .iter()
                    .filter(|(place, _)| place.zone != text)
                    .map(|(p, e)| (p.clone(), e.clone()))
                    .collect();
                let mut work = |table: &Table, entries: &mut Entries| {
                    let here = |place: &&ZoneRecord| table.home(place) == index;
                    let others = others.iter().filter(|(place, _)| here(place)).map(|(p, e)| (p.clone(), e.clone()));
                    keep::apply(table, entries, &others.collect());
                    let known: Entries = entries.extract_if(.., |place, _| place.zone == text).collect();
                    entries.extend(table.wanted(&zone.key, index, contents, &known));
                };
                if !self.keeper.rewrite(writer, index, &mut work).await? {
                    again = true;
                    break;
                }
            }
            if !again {
                break;
            }
        }
        writer.dirty.retain(|place, _| place.zone != text);
        self.keeper.table_mut().rest(&text, renewed);
        Ok(())
    }
}
