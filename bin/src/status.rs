//! The exit status of one pass, and its last line (docs/exit-statuses.md).

use std::process::ExitCode;

use tracing::{error, info};
use zonewright_engine::{Outcome, PassProblem};

/// Something was refused, or not written.
const NOT_WRITTEN: u8 = 1;

/// Deletes are held.
const HELD: u8 = 3;

/// Something was not read.
const NOT_READ: u8 = 4;

/// Says what a pass did and left undone, in the last line of the process, and returns the status.
pub(crate) fn of_pass(outcome: &Outcome) -> ExitCode {
    let code = code(outcome);
    if code != 0 {
        error!("{outcome}");
        return ExitCode::from(code);
    }
    if outcome.is_up_to_date() {
        // The words of external-dns, which people look for.
        info!("All records are already up to date");
    }
    info!("{outcome}");
    ExitCode::SUCCESS
}

/// The same for a process that did not come so far that there is a pass: what it did not read, and why.
pub(crate) fn unread(what: &str, why: &str) -> ExitCode {
    let problem = PassProblem { what: what.to_owned(), why: why.to_owned() };
    of_pass(&Outcome { unread: vec![problem], ..Outcome::default() })
}

/// What is worse comes first: of what was not read nothing else can be said.
fn code(outcome: &Outcome) -> u8 {
    if !outcome.unread.is_empty() {
        NOT_READ
    } else if outcome.refused > 0 || !outcome.unwritten.is_empty() || outcome.unfinished {
        NOT_WRITTEN
    } else if outcome.held > 0 {
        HELD
    } else {
        0
    }
}

#[cfg(test)]
mod tests {
    use zonewright_engine::Changes;

    use super::*;

    #[test]
    fn the_worst_is_the_status() {
        let problem = || vec![PassProblem { what: "zone a".to_owned(), why: "REFUSED".to_owned() }];
        let held = Outcome { held: 2, ..Outcome::default() };
        let refused = Outcome { refused: 1, ..held.clone() };
        let changes = Changes { created: 3, deleted: 1, ..Changes::default() };
        let cases = [
            (Outcome { changes, left_alone: 4, ..Outcome::default() }, 0),
            (Outcome { unread: problem(), unwritten: problem(), ..refused.clone() }, NOT_READ),
            (Outcome { unwritten: problem(), ..held.clone() }, NOT_WRITTEN),
            (Outcome { unfinished: true, ..held.clone() }, NOT_WRITTEN),
            (refused, NOT_WRITTEN),
            (held, HELD),
            (Outcome::default(), 0),
        ];
        for (outcome, expected) in cases {
            assert_eq!(code(&outcome), expected, "{outcome}");
        }
    }
}
