//! The cases of the provider suite. Each takes a fresh harness and panics where the provider breaks the contract.

#![allow(clippy::missing_panics_doc, reason = "a case fails by panicking, as every test does")]

mod disturbed;
mod groups;
mod limits;
mod reads;
mod refusals;
mod states;

pub use disturbed::*;
pub use groups::*;
pub use limits::*;
pub use reads::*;
pub use refusals::*;
pub use states::*;
