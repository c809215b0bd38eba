//! The server end over the embedded DNS server: what a caller sees, and what then stands.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

#[path = "../common/mod.rs"]
mod common;

mod changes;
mod conformance;
mod former;
mod forms;
mod horizon;
mod route53;
mod site;
mod surface;
mod waits;
