//! Cloud APIs on loopback, for tests.
//!
//! In: what a client would send to the real service. Out: what that would answer. What must hold: a fake enforces the rules
//! that its service documents, also those that are easily forgotten (limits, conditions, paging); it counts its calls, so
//! that tests can assert cost; and a test drives it with the vendor's own client, so that it stays honest. Each service is
//! one module; what they share stands beside them: the server, answers, faults to come, the pace of callers.

pub mod azure;
pub mod clouddns;
pub mod cloudflare;
pub mod dynamodb;
mod faults;
mod http;
mod pace;
mod reply;
pub mod route53;
pub mod server;

pub use faults::Fault;
