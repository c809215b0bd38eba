//! What the suite of all providers does not know, at the service on loopback.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

#[path = "../common/mod.rs"]
mod common;
#[path = "../../examples/live_cloudflare/suite.rs"]
mod suite;

mod beside;
mod late;
mod live;
mod refused;
mod requests;
mod slow;
mod zones;

use common::form;
