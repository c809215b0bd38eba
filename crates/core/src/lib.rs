//! The vocabulary and the decisions of Zonewright.
//!
//! Here is everything between "objects ask for these names" and "these changes go to that zone": DNS names and records,
//! the three traits ([`provider::Provider`], [`registry::Registry`], [`source::Source`]), and the stages of the decision.
//! All stages but the calls of those traits are pure functions over values: published records, claims, the present time
//! and the brake's window are arguments. This crate knows neither Kubernetes nor HTTP nor TLS, and nothing here moves by
//! itself: what does is in the engine.

pub mod capability;
pub mod catalog;
pub mod change;
pub mod choice;
pub mod claim;
pub mod claim_text;
pub mod clock;
pub mod contend;
pub mod cost;
pub mod desired;
pub mod documents;
pub mod duration;
pub mod endpoint;
pub mod error;
pub mod explain;
pub mod filter;
pub mod flap;
pub mod guard;
pub mod in_set;
pub mod intent;
pub mod interpret;
pub mod listing;
pub mod lower;
pub mod name;
pub mod name_policy;
pub mod notes;
pub mod options;
pub mod plan;
pub mod provider;
pub mod quota;
pub mod rdata;
pub mod record;
pub mod registry;
pub mod rtype;
pub mod shared;
pub mod sizes;
pub mod source;
pub mod store;
pub mod turn;
pub mod view;
pub mod wrap;
pub mod zone;
pub mod zone_rules;

#[cfg(any(test, feature = "testing"))]
pub mod testing;

pub use error::{Error, ErrorKind, Result, Retry};
pub use name::DnsName;
pub use rdata::RData;
pub use record::{RecordData, RecordKey, RecordSet, Ttl};
pub use rtype::RecordType;
pub use zone::{Zone, ZoneKey};
