//! The index, the source over it, and the manifests feed, as the engine sees them.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod cost;
mod everything;
mod evidence;
#[cfg(all(feature = "ambassador", feature = "gloo", feature = "istio"))]
mod families;
mod incremental;
mod large;
mod limit;
mod manifests;
mod meanwhile;
#[cfg(feature = "gateway")]
mod members;
mod reported;
mod support;
#[path = "../things/mod.rs"]
mod things;
