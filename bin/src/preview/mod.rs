//! `zonewright plan`, and what `--once --dry-run` prints: what a pass would change and what it leaves, before anything is written.
//!
//! In: the flags of the daemon. Out: the same on standard output, as a table for people or as JSON, and a status that says whether
//! there is anything to do. What must hold: nothing is written anywhere, neither to zones nor to the saved state.

mod document;
mod gather;
mod table;

use std::io::IsTerminal as _;
use std::process::ExitCode;
use std::sync::Arc;

use zonewright_core::Result;
use zonewright_core::catalog::Settings;
use zonewright_core::endpoint::Note;
use zonewright_engine::{Engine, Outcome, ZonePreview};

use crate::ask::as_json;
use crate::catalog::Catalog;
use crate::command_flags;
use crate::daemon;
use crate::instance::InstanceSettings;
use crate::output::{self, Written};
pub(crate) use gather::Gatherer;

/// There are changes.
const CHANGES: u8 = 2;

/// Deletes are held.
const HELD: u8 = 3;

/// Something was not read.
const NOT_READ: u8 = 4;

/// What a pass would do.
#[derive(Debug)]
pub(crate) struct Preview {
    /// Flags that a printed command needs, each behind a blank.
    pub(crate) flags: String,
    pub(crate) zones: Vec<ZonePreview>,
    /// Other notes that objects would get.
    pub(crate) notes: Vec<Note>,
    pub(crate) outcome: Outcome,
}

/// Looks once at everything, prints what a pass would do, and returns the status.
///
/// # Errors
/// What keeps it from starting.
pub(crate) async fn run(catalog: &Catalog, settings: &Settings, listed: &[InstanceSettings]) -> Result<ExitCode> {
    let notes = Arc::new(Gatherer::default());
    let (zones, outcome) = daemon::look(catalog, settings, listed, notes.clone(), true, Engine::preview).await?;
    let preview = Preview { flags: command_flags::given(settings), zones, notes: notes.take(), outcome };
    Ok(print(&preview, settings.text("output") == "json").or_failure(ExitCode::from(code(&preview.outcome))))
}

/// Prints a plan, as a table or as JSON.
pub(crate) fn print(preview: &Preview, json: bool) -> Written {
    output::print(if json { as_json(&document::of(preview)) } else { table::of(preview, colours()) })
}

/// Whether standard output shows colours: it is a terminal, and `NO_COLOR` is not set.
fn colours() -> bool {
    let wanted = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    wanted && std::io::stdout().is_terminal()
}

/// What is worse comes first: of what was not read nothing else can be said.
fn code(outcome: &Outcome) -> u8 {
    if !outcome.unread.is_empty() || outcome.unfinished {
        NOT_READ
    } else if outcome.held > 0 {
        HELD
    } else if !outcome.changes.is_empty() || outcome.refused > 0 || !outcome.unwritten.is_empty() {
        CHANGES
    } else {
        0
    }
}

#[cfg(test)]
mod tests {
    use zonewright_engine::{Changes, PassProblem};

    use super::*;

    #[test]
    fn the_status_says_whether_there_is_anything_to_do() {
        let changes = Changes { created: 1, ..Changes::default() };
        let unread = vec![PassProblem { what: "zone a".to_owned(), why: "REFUSED".to_owned() }];
        let cases = [
            (Outcome::default(), 0),
            (Outcome { left_alone: 2, ..Outcome::default() }, 0),
            (Outcome { changes, left_alone: 2, ..Outcome::default() }, CHANGES),
            (Outcome { refused: 1, ..Outcome::default() }, CHANGES),
            (Outcome { changes: Changes { claims: 1, ..Changes::default() }, ..Outcome::default() }, CHANGES),
            (Outcome { changes, held: 1, ..Outcome::default() }, HELD),
            (Outcome { changes, held: 1, unread, ..Outcome::default() }, NOT_READ),
            (Outcome { changes, unfinished: true, ..Outcome::default() }, NOT_READ),
        ];
        for (outcome, expected) in cases {
            assert_eq!(code(&outcome), expected, "{outcome}");
        }
    }
}
