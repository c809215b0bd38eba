//! What moves: the loops around the pure stages of [`zonewright_core`].
//!
//! In: sources, registries and providers, each behind its trait. Out: zones that hold what objects ask for, a journal of
//! every change, the state that survives a restart, metrics. One worker for each zone plans and carries out; the layers stand
//! between it and the provider.

mod engine;
pub mod journal;
pub mod layer;
pub mod metrics;
pub mod ownership;

pub use engine::*;
