//! Cluster objects to endpoints: feeds, the dependency index, and one mapper for each kind.
//!
//! A feed (a cluster's watches, or a folder of manifests) hands objects to the index; the index asks the mappers, pure
//! functions from an object and a [`lookup::Lookup`] to what it asks for; a [`source::K8sSource`] reports to the engine what
//! changed, and how far it can be trusted.

pub mod annotations;
pub mod batch;
mod connector;
mod consider;
pub mod evidence;
mod fake;
pub mod feed;
pub mod index;
pub mod kind;
pub mod lookup;
pub mod map;
pub mod objects;
pub mod options;
mod other_prefix;
pub mod readers;
pub mod role;
pub mod selector;
pub mod source;
pub mod sources;
mod start;
pub mod store;
pub mod templates;
mod unread;
