//! What goes wrong with calls.
//!
//! In: the number of the step, and of the call in it. Out: the fault, the pauses and the dice of that call, the same for the
//! same numbers.

use std::collections::BTreeSet;
use std::time::Duration;

use tokio::time::Instant;
use zonewright_core::{DnsName, RecordType};

use super::{Line, lock};
use crate::chance::{Chance, mix};
use crate::rules::Rule;

/// What goes wrong with a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// The error comes before anything was done.
    Down,
    /// The other side asks for a pause.
    Throttled,
    /// Nothing was done, and nobody says so.
    LostWrite,
    /// It was done, and nobody says so.
    LostAnswer,
    /// A part was done.
    Partial,
    /// No answer at all.
    Stall,
    /// The answer is cut short, and says so.
    Cut,
    /// The process dies before the call, or after it was carried out.
    CrashBefore,
    CrashAfter,
}

/// The conditions that hold for all lines.
#[derive(Debug, Default)]
pub(crate) struct Weather {
    /// The number of the step, and whether calls may fail in it.
    pub(crate) nonce: u64,
    pub(crate) rough: bool,
    calls: u64,
    /// A zone that the list of zones leaves out, and whether it is there all the same.
    pub(crate) lost: Option<(usize, bool)>,
    /// Names that are refused.
    pub(crate) bad: BTreeSet<DnsName>,
    /// Types that are refused.
    pub(crate) types: BTreeSet<RecordType>,
    /// Whether there ever were any.
    pub(crate) refused: bool,
}

impl Weather {
    /// A new step.
    pub(crate) fn turn(&mut self, nonce: u64, rough: bool) {
        (self.nonce, self.rough, self.calls) = (nonce, rough, 0);
    }
}

/// How one call goes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Draw {
    pub(super) fault: Option<Fault>,
    pub(super) before: Duration,
    pub(super) after: Duration,
    /// For whatever else is left to chance.
    pub(super) dice: u64,
    /// Whether a listing lacks its end, and nobody says so.
    pub(super) short: bool,
}

impl Line {
    pub(super) fn draw(&self, faults: &[(usize, Fault)]) -> Draw {
        let mut weather = lock(&self.weather);
        weather.calls += 1;
        let number = weather.calls;
        let mut chance = Chance::new(mix(weather.nonce, mix(self.daemon as u64, number)));
        let slow = chance.percent(15);
        let mut pause = || Duration::from_millis(if slow { chance.below(4) as u64 } else { 0 });
        let (before, after) = (pause(), pause());
        let dice = chance.next();
        let rough = weather.rough && self.command.is_none();
        let fault = (rough && chance.percent(35)).then(|| chance.weigh(faults));
        let short = rough && chance.percent(20);
        drop(weather);
        let mut truth = lock(&self.truth);
        truth.calls += 1;
        if truth.parties[self.daemon].dry_run {
            truth.verdicts.note(Rule::DryRun, true);
        }
        if fault.is_some() {
            truth.last_fault = Some(Instant::now());
        }
        Draw { fault, before, after, dice, short }
    }
}
