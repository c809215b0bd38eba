//! What is reported on objects of what is left undone, with what only the zone knows: what stands there, and where claims on it are looked for.

use zonewright_core::endpoint::Note;
use zonewright_core::plan::{Skip, Why};

use crate::worker::Worker;

/// The notes for the objects that are concerned.
pub(crate) fn of(worker: &Worker, skip: &Skip) -> Vec<Note> {
    let mut notes: Vec<Note> = skip.notes().collect();
    if notes.is_empty() {
        return notes;
    }
    if let Some(more) = more(worker, skip) {
        for note in &mut notes {
            note.message = format!("{}; {more}", note.message);
        }
    }
    notes
}

/// What only the zone knows of it.
pub(crate) fn more(worker: &Worker, skip: &Skip) -> Option<String> {
    let name = &skip.key.name;
    let stands = || {
        let set = worker.handle.view().find(&skip.key)?;
        Some(format!("{} stands there", set.data))
    };
    match &skip.why {
        Why::Unclaimed => {
            let claims = worker.instance.registry.claim_names(&worker.handle.zone, &skip.key);
            let claims: Vec<String> = claims.iter().map(ToString::to_string).collect();
            let looked = if claims.is_empty() {
                String::new()
            } else {
                format!(", a claim on it was looked for at {}", claims.join(", "))
            };
            Some(format!("{}{looked}; `zonewright adopt {name}` makes it ours", stands()?))
        }
        Why::Foreign(owner) => Some(format!("{}; `zonewright transfer --from={owner}` hands it over", stands()?)),
        Why::ForeignBeside(key) => {
            let set = worker.handle.view().find(key)?;
            Some(format!("{} stands there; `zonewright adopt {name}` makes it ours", set.data))
        }
        _ => None,
    }
}
