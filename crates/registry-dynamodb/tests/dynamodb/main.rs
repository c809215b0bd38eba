//! The registry over the service on loopback.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod conformance;
mod faults;
mod loading;
mod migration;
mod support;
mod writing;
mod zones;
