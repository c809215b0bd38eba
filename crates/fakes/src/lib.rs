//! Cloud APIs on loopback, for tests.
//!
//! In: what a client would send to the real service. Out: what that would answer. What must hold: a fake enforces the rules
//! that its service documents, also those that are easily forgotten (limits, conditions, paging); it counts its calls, so
//! that tests can assert cost; and a test drives it with the vendor's own client, so that it stays honest. Each service is
//! one module; what they share is in [`server`].

pub mod dynamodb;
pub mod server;
