//! The registry over the service on loopback.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod conformance;
mod dry_run;
mod faults;
mod loading;
mod migration;
mod stale_rows;
// The simulated world of the engine's own tests, of which only a part is needed.
#[allow(dead_code, unused_imports, reason = "shared with the tests of the engine")]
#[path = "../../../engine/tests/engine/sim/mod.rs"]
mod sim;
mod support;
mod undo;
mod writing;
mod zones;
