//! The engine as a whole, on a paused clock: a simulated provider that enforces preconditions and fails as a test asks, and a
//! source whose objects and evidence the test sets.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

mod approvals;
mod at_rest;
mod bounds;
mod brake;
mod cloud;
mod configmap;
mod contested;
mod emptied;
mod evidence;
mod exchange;
mod forged;
mod in_set;
mod instances;
mod invariants;
mod journal;
mod moves;
mod one_pass;
mod ownership;
mod ownership_journal;
mod pieces;
mod quotas;
mod random;
mod refusals;
mod reports;
mod resilience;
mod same_name;
mod scenarios;
mod sim;
mod starts;
mod undo;
