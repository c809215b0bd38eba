//! What there is to see, as plain values: both ways of showing it draw from here.

use std::net::SocketAddr;
use std::path::Path;

use zonewright_core::endpoint::Note;
use zonewright_engine::Engine;
use zonewright_source_k8s::feed::manifests::Fault;

/// One line of the table.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Row {
    pub(super) name: String,
    pub(super) rtype: String,
    pub(super) ttl: String,
    pub(super) data: String,
    pub(super) by: String,
}

/// One change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Event {
    /// Milliseconds since 1970.
    pub(super) at: i64,
    pub(super) text: String,
    pub(super) failed: bool,
}

/// Everything on the screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Picture {
    /// What to type and what to edit.
    pub(super) hints: Vec<String>,
    pub(super) rows: Vec<Row>,
    /// The newest first.
    pub(super) events: Vec<Event>,
    pub(super) problems: Vec<String>,
}

impl Picture {
    pub(super) fn of(engine: &Engine, notes: &[Note], faults: &[Fault], server: SocketAddr, folder: &Path) -> Self {
        let mut rows: Vec<Row> = engine
            .names()
            .into_iter()
            .map(|state| Row {
                name: state.set.key.name.to_string(),
                rtype: state.set.key.rtype.to_string(),
                ttl: state.set.ttl.map(|ttl| ttl.to_string()).unwrap_or_default(),
                data: state.set.data.to_string(),
                by: state.resource.or(state.owner).unwrap_or_else(|| "not ours".to_owned()),
            })
            .collect();
        rows.sort();
        let events = engine.recent_changes().last(100).into_iter().flat_map(|entry| {
            let failed = entry.error.is_some();
            let error = entry.error.map(|error| format!("  ({error})")).unwrap_or_default();
            entry.changes.into_iter().map(move |change| Event {
                at: entry.at.0,
                text: format!("{change}{error}"),
                failed,
            })
        });
        let faults = faults.iter().map(ToString::to_string);
        let held = engine
            .plans()
            .into_iter()
            .map(|(_, plan)| format!("{} deletes are held: {}", plan.held.len(), plan.reason));
        let told = notes.iter().rev().map(|note| format!("{}: {} ({})", note.object, note.message, note.reason));
        let asked = rows.first().map_or_else(|| format!("web.{}", super::ZONE), |row| row.name.clone());
        let asked = rows.iter().find(|row| row.name.starts_with("web.")).map_or(asked, |row| row.name.clone());
        Self {
            hints: vec![
                format!("ask    dig @{} -p {} {asked} +short", server.ip(), server.port()),
                format!(
                    "edit   {}   (any file in {}; the change shows at once)",
                    super::example(folder).display(),
                    folder.display()
                ),
            ],
            events: events.collect(),
            problems: held.chain(faults).chain(told).collect(),
            rows,
        }
    }
}
