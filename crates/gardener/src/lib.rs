//! Gardener's extension controller for `DNSRecord`, over any provider.
//!
//! In: the objects of a seed or garden cluster, and the Secrets that they name. Out: record sets in zones, and statuses that show
//! Gardener what became of each. It is built as the webhook server is: a request becomes one group of changes with
//! preconditions, which goes through the layers of the engine to a provider. No zone is listed: it is used from its id, and its
//! records are read by name.
//!
//! What must hold: what Gardener waits for ends, whatever happens between two calls; no code that ends a Shoot for good is given
//! for a fault that passes; of two objects for one name exactly one writes; an account that answers slowly holds up no other.

pub mod accounts;
pub mod admission;
pub mod apply;
pub mod attempts;
pub mod contest;
pub mod controller;
pub mod convert;
pub mod failure;
pub mod filter;
pub mod metrics;
pub mod objects;
pub mod operation;
pub mod queue;
pub mod reconcile;
pub mod secret;
pub mod sent;
pub mod status;
pub mod types;
pub mod validate;
pub mod world;
pub mod zone;

#[cfg(test)]
mod testing;
