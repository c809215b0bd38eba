//! The Kubernetes client: connection, watches, single objects, events, leases, the ConfigMap store and the ConfigMaps of a registry. The only crate that imports `k8s-openapi`.
//!
//! In: a kubeconfig or the service account of the pod, and for each kind to read a [`WatchSpec`] with the caller's own
//! small type. Out: the [`WatchEvent`]s of each watch, which distinguish a DELETE event from an object that a new list no longer
//! holds, and say at once when the view stops being fresh.
//!
//! What must hold: every request passes the [`Cluster`]'s rate limit, time-out and counters; a watch is never cut by the
//! request time-out; nothing of an object is kept beyond what the caller's type keeps; nothing that the API server
//! answers ends the process.

mod api;
mod bucket;
mod calls;
mod cluster;
mod connect;
mod documents;
mod events;
mod gate;
mod identity;
mod journal;
mod lease;
mod object;
mod options;
mod overrides;
mod pulse;
mod status;
mod store;
mod watch;

#[cfg(test)]
mod fake;

pub use calls::{Call, Calls};
pub use cluster::Cluster;
pub use connect::{connect, has_kubeconfig};
pub use documents::ConfigMapDocuments;
pub use events::{EventOptions, EventPoster, EventReporter, EventTally};
pub use journal::{ConfigMapJournal, RingLimits};
pub use lease::{Election, LeaseHolder, LeaseTimes};
pub use object::PatchTarget;
pub use options::ConnectOptions;
pub use overrides::KubeconfigOverrides;
pub use store::ConfigMapStore;
pub use watch::{WatchEvent, WatchKey, WatchSpec, watch};
