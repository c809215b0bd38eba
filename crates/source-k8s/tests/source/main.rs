//! The index, the source over it, and the manifests feed, as the engine sees them.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod cost;
mod evidence;
mod incremental;
mod manifests;
mod support;
mod told;
