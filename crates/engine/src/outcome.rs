//! How a pass over everything went: what was sent, held, refused and left alone, and what was not read at all.
//!
//! In come the states of sources, lists and zones; out comes an [`Outcome`]. What must hold: whatever was not read, or not
//! written though it should have been, is in it.

use std::collections::BTreeMap;
use std::fmt;

use crate::changes::{Changes, Numbers};
use crate::context::EngineContext;
use crate::emptied;
use crate::provider_instance::ProviderInstance;
use crate::zone_handle::ZoneHandle;

/// What the saved state is called.
pub(crate) const STATE: &str = "state of the brake";

/// Something that failed, and why.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PassProblem {
    /// `zone example.org`, `zones of rfc2136`, or the name of a kind such as `services`.
    pub what: String,
    /// The reason, for people.
    pub why: String,
}

impl fmt::Display for PassProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.what, self.why)
    }
}

/// How a pass over everything ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outcome {
    /// What was sent; in a dry run, what would have been.
    pub changes: Changes,
    /// Deletes that wait for an approval, or for evidence.
    pub held: usize,
    /// Names that were refused, or could not be written.
    pub refused: usize,
    /// Record sets that are wanted or ours and stay as they are for another reason.
    pub left_alone: usize,
    /// Whether nothing was sent since this is a dry run.
    pub dry_run: bool,
    /// Kinds, zones and lists of zones that were not read to their end.
    pub unread: Vec<PassProblem>,
    /// Zones and their claims, and the state, that were read and could not be written.
    pub unwritten: Vec<PassProblem>,
    /// It was looked at before the pass came to its end.
    pub unfinished: bool,
}

impl Outcome {
    /// Whether everything that is wanted stands, and nothing had to be done for it.
    pub fn is_up_to_date(&self) -> bool {
        *self == Self { dry_run: self.dry_run, ..Self::default() }
    }

    fn numbers(&self) -> Numbers {
        let Self { changes, held, refused, left_alone, dry_run, .. } = *self;
        Numbers { changes, held, refused, left_alone, dry_run }
    }

    /// What was not read and what could not be written, each as one sentence.
    pub fn failures(&self) -> Vec<String> {
        self.unread.iter().chain(&self.unwritten).map(ToString::to_string).collect()
    }

    /// Takes in what could not be written at the end; what was met before is known already.
    pub fn end(&mut self, left: Vec<PassProblem>) {
        let known =
            |problem: &PassProblem| self.unread.iter().chain(&self.unwritten).any(|one| one.what == problem.what);
        let fresh: Vec<PassProblem> = left.into_iter().filter(|problem| !known(problem)).collect();
        self.unwritten.extend(fresh);
    }

    fn fail(&mut self, unread: bool, what: String, why: String) {
        let list = if unread { &mut self.unread } else { &mut self.unwritten };
        list.push(PassProblem { what, why });
    }
}

impl fmt::Display for Outcome {
    /// One line: the numbers, then what was not read and what was not written, those with the same reason together.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.numbers())?;
        for (verb, problems) in [("read", &self.unread), ("written", &self.unwritten)] {
            let mut by_reason: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
            for PassProblem { what, why } in problems {
                by_reason.entry(why).or_default().push(what);
            }
            for (why, what) in by_reason {
                write!(f, "; not {verb}: {}: {why}", what.join(", "))?;
            }
        }
        if self.unfinished {
            f.write_str("; broken off before the end")?;
        }
        Ok(())
    }
}

/// The outcome as of now; [`Outcome::unfinished`] while something is under way or left to do.
pub(crate) fn outcome(context: &EngineContext) -> Outcome {
    let dry_run = context.config.dry_run;
    let mut outcome =
        Outcome { dry_run, unfinished: !context.has_started() || context.remaps.is_open(), ..Outcome::default() };
    kinds(context, &mut outcome);
    for (is_unread, why) in [(true, context.state.unread()), (false, context.state.unsaved())] {
        if let Some(why) = why {
            outcome.unfinished |= context.config.one_pass && context.state.age() < context.config.start_timeout;
            outcome.fail(is_unread, STATE.to_owned(), why);
        }
    }
    for instance in &context.instances {
        zones_of(context, instance, &mut outcome);
    }
    let all_planned = context.all_planned();
    for handle in context.zone_handles() {
        zone(context, &handle, &mut outcome);
    }
    if !all_planned {
        context.look_whether_all_planned();
        outcome.unfinished = true;
    }
    // What waited for a kind that looked empty is planned once more.
    outcome.unfinished = outcome.unfinished || emptied::settle(context);
    // What was held in a zone that is not served any more cannot go, and is kept for the case that it comes back.
    let served = context.served();
    let held = context.state.held().into_iter().filter(|(zone, _)| served.contains(zone));
    outcome.held = held.map(|(_, plan)| plan.held.len()).sum();
    outcome
}

fn kinds(context: &EngineContext, outcome: &mut Outcome) {
    let mut unread = {
        let desired_state = context.desired_state();
        let mut unread = desired_state.errors.unread.clone();
        for (kind, _) in desired_state.evidence.kinds.iter().filter(|(_, state)| !state.complete) {
            unread.entry(kind.clone()).or_insert_with(|| "not read to its end".to_owned());
        }
        unread
    };
    if !context.has_started() {
        // A source may know of a kind that was never taken over from it: a pass can be broken off before the first turn.
        for source in &context.sources {
            for (kind, why) in source.errors().unread {
                unread.entry(kind).or_insert(why);
            }
        }
    }
    for (kind, why) in unread {
        outcome.fail(true, kind.to_string(), why);
    }
}

fn zones_of(context: &EngineContext, instance: &ProviderInstance, outcome: &mut Outcome) {
    let listing = instance.listing();
    let what = format!("zones of {}", instance.id);
    match &listing.error {
        Some((error, _)) => {
            outcome.unfinished |= context.config.one_pass && !listing.given_up;
            outcome.fail(true, what, error.chain());
        }
        None if !listing.tried => {
            outcome.unfinished = true;
            outcome.fail(true, what, "not listed yet".to_owned());
        }
        None => {}
    }
    for (zone, why) in &listing.unsure {
        outcome.fail(true, format!("zone {zone}"), why.clone());
    }
}

fn zone(context: &EngineContext, handle: &ZoneHandle, outcome: &mut Outcome) {
    let status = handle.status();
    let what = format!("zone {}", handle.title);
    outcome.changes += status.changes;
    outcome.left_alone += status.left_alone;
    outcome.refused += status.parked;
    match &status.failing {
        Some((error, _)) => {
            outcome.unfinished |= context.config.one_pass && !status.failure.given_up;
            outcome.refused += if status.failure.unread { 0 } else { handle.inbox.len() };
            outcome.fail(status.failure.unread, what, error.chain());
        }
        None if !status.planned => {
            outcome.unfinished = true;
            outcome.fail(!status.listed, what, "not done yet".to_owned());
        }
        None => {
            let waits = handle.inbox.len() > 0 || handle.inbox.wants_recheck();
            outcome.unfinished |= status.working || status.moving > 0 || waits;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pass_in_one_line() {
        let changes = Changes { created: 3, deleted: 1, ..Changes::default() };
        let done = Outcome { changes, held: 2, refused: 1, left_alone: 4, ..Outcome::default() };
        let text = "3 created, 0 updated, 1 deleted, 2 held, 1 refused, 4 left alone";
        assert_eq!(done.to_string(), text);
        let problem = |what: &str, why: &str| PassProblem { what: what.to_owned(), why: why.to_owned() };
        let outcome = Outcome {
            changes: Changes { claims: 5, ..changes },
            dry_run: true,
            unread: vec![problem("pods", "no answer"), problem("zone a", "REFUSED"), problem("services", "no answer")],
            unwritten: vec![problem("zone b", "NOTAUTH")],
            unfinished: true,
            ..done
        };
        assert_eq!(
            outcome.to_string(),
            format!(
                "dry run, nothing was sent: {text}, 5 claims changed; not read: zone a: REFUSED; not read: pods, services: \
                 no answer; not written: zone b: NOTAUTH; broken off before the end"
            )
        );
    }

    #[test]
    fn up_to_date_is_when_nothing_is_left() {
        let check = |outcome: Outcome, expected: bool| assert_eq!(outcome.is_up_to_date(), expected, "{outcome}");
        check(Outcome::default(), true);
        check(Outcome { dry_run: true, ..Outcome::default() }, true);
        check(Outcome { left_alone: 1, ..Outcome::default() }, false);
        check(Outcome { held: 1, ..Outcome::default() }, false);
        check(Outcome { unfinished: true, ..Outcome::default() }, false);
        check(Outcome { changes: Changes { claims: 1, ..Changes::default() }, ..Outcome::default() }, false);
    }
}
