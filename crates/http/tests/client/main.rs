//! The client on a script, and against real servers on loopback.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

#[path = "../common/mod.rs"]
mod common;

mod answers;
mod listing;
mod network;
mod script;
