//! The handle to a cluster that everything else in this crate works through. Cheap to clone.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use kube::Client;

use crate::bucket::Bucket;
use crate::calls::Calls;
use crate::gate::Gate;
use crate::options::ConnectOptions;
use crate::pulse::Pulse;

/// A connection to a cluster: a client behind a rate limit, a time-out and counters.
#[derive(Clone)]
pub struct Cluster(Arc<Inner>);

struct Inner {
    client: Client,
    gate: Arc<Gate>,
    pulse: Pulse,
    place: ClusterLocation,
}

/// Where the cluster is, and where in it the daemon is at home.
#[derive(Debug, Clone)]
pub(crate) struct ClusterLocation {
    pub(crate) server: String,
    pub(crate) namespace: String,
    pub(crate) in_cluster: bool,
}

impl Cluster {
    /// A cluster behind a client of one's own, for tests and special transports. `options` give rate limit and time-out;
    /// the namespace is the client's default.
    ///
    /// # Panics
    /// Outside a tokio runtime: the client's queue is a task.
    pub fn over(client: Client, options: &ConnectOptions) -> Self {
        let namespace = client.default_namespace().to_owned();
        Self::new(
            client,
            options,
            ClusterLocation { server: "a given client".to_owned(), namespace, in_cluster: false },
        )
    }

    pub(crate) fn new(client: Client, options: &ConnectOptions, place: ClusterLocation) -> Self {
        let interval = Duration::from_secs(1) / options.qps.max(1);
        let bucket = Bucket::new(interval, options.burst);
        let gate = Arc::new(Gate { calls: Calls::default(), bucket, timeout: options.request_timeout });
        Self(Arc::new(Inner { client: gate.before(client), gate, pulse: Pulse::default(), place }))
    }

    /// The client, for typed access to kinds that this crate does not cover. Its requests are limited, timed and counted
    /// like all others.
    pub fn client(&self) -> &Client {
        &self.0.client
    }

    /// Requests sent so far.
    pub fn calls(&self) -> &Calls {
        &self.0.gate.calls
    }

    /// The namespace that the daemon is at home in: `POD_NAMESPACE`, else that of the service account, else that of the
    /// kubeconfig's context, else `default`.
    pub fn namespace(&self) -> &str {
        &self.0.place.namespace
    }

    /// Whether the connection uses the service account of the pod.
    pub fn in_cluster(&self) -> bool {
        self.0.place.in_cluster
    }

    /// The URL of the API server, for the log.
    pub fn server(&self) -> &str {
        &self.0.place.server
    }

    pub(crate) fn pulse(&self) -> &Pulse {
        &self.0.pulse
    }

    pub(crate) fn request_timeout(&self) -> Option<Duration> {
        self.0.gate.timeout
    }
}

impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Cluster").field(&self.0.place).finish()
    }
}
