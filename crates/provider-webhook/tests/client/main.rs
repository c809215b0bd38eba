//! Webhook peers as the provider meets them.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

#[path = "../common/mod.rs"]
mod common;

mod outcomes;
mod peers;
mod protocol;
