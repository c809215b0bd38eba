//! What an ownership command prints: sentences for people, or with `--output json` a line for the plan and one for what became of it.

use std::fmt::Display;
use std::io::{BufRead, IsTerminal};

use serde::Serialize;
use zonewright_core::catalog::Settings;
use zonewright_engine::ownership::{Action, Proposal};

use crate::ask::as_json;
use crate::output::{self, Written};

/// Where the words go.
#[derive(Debug, Clone, Copy)]
pub(super) struct Printer {
    json: bool,
}

/// The plan, as programs get it.
#[derive(Debug, Serialize)]
pub(super) struct Plan<'a> {
    /// `adopt`, `transfer`, `release` or `drain`.
    pub(super) command: &'a str,
    /// The owner whose records are meant; for `adopt` the one who gets them.
    pub(super) owner: String,
    /// The new owner of a transfer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) to: Option<String>,
    /// Whether anything is what was asked for.
    pub(super) matched: bool,
    /// Whether nothing will be done in any case.
    pub(super) dry_run: bool,
    /// What would be done.
    pub(super) changes: Vec<PlannedChange<'a>>,
    /// What was meant and is left alone, each with the reason.
    pub(super) left_alone: &'a [String],
}

/// One change of a plan.
#[derive(Debug, Serialize)]
pub(super) struct PlannedChange<'a> {
    zone: String,
    change: &'a str,
}

/// What became of a plan, as programs get it.
#[derive(Debug, Default, Serialize)]
pub(super) struct Outcomes {
    /// How many changes were done.
    pub(super) done: usize,
    /// The changes that were not, each with the reason.
    pub(super) failed: Vec<(String, String)>,
    /// How many were left out because their record or claim had changed since the plan.
    pub(super) skipped: usize,
    /// How many more there would have been to do.
    pub(super) appeared: usize,
    /// What undoes it, if anything was done and is journaled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) undo: Option<String>,
    /// Records that another writer changed meanwhile, as a last look shows.
    pub(super) changed_by_others: Vec<String>,
    /// How many changes remain after that look; `null` where it failed.
    pub(super) remaining: Option<usize>,
}

impl Printer {
    pub(super) fn of(settings: &Settings) -> Self {
        Self { json: settings.text("output") == "json" }
    }

    /// A line for people.
    pub(super) fn say(self, text: impl Display) -> Written {
        if self.json { Written::All } else { output::print(format_args!("{text}\n")) }
    }

    /// A line for programs.
    pub(super) fn line(self, answer: &impl Serialize) -> Written {
        if self.json { output::print(as_json(answer)) } else { Written::All }
    }

    /// What a person is asked; programs say yes beforehand.
    pub(super) fn asks(self) -> bool {
        !self.json
    }

    /// The answer of a person; without a terminal there is none.
    pub(super) fn is_confirmed(self) -> bool {
        if !(self.asks() && std::io::stdin().is_terminal()) {
            return false;
        }
        output::print("Go on? [y/N] ");
        let mut answer = String::new();
        let read = std::io::stdin().lock().read_line(&mut answer);
        read.is_ok() && matches!(answer.trim(), "y" | "Y" | "yes")
    }
}

/// The changes of a plan.
pub(super) fn changes(plan: &Proposal) -> Vec<PlannedChange<'_>> {
    let change = |action: &Action| action.zone.key.to_string();
    plan.actions.iter().map(|action| PlannedChange { zone: change(action), change: &action.text }).collect()
}
