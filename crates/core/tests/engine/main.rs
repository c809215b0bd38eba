//! The engine as a whole, on a paused clock: a simulated provider that enforces preconditions and fails as told, and a
//! source whose objects and evidence the test sets.

mod invariants;
mod random;
mod scenarios;
mod sim;
