//! How a cluster is reached: what the flags say of it.

use std::path::PathBuf;
use std::time::Duration;

use crate::overrides::KubeconfigOverrides;

/// How to reach the cluster.
#[derive(Debug, Clone)]
pub struct ConnectOptions {
    /// `--kubeconfig`: the file; else `~/.kube/config` where it exists; else the service account of the pod.
    pub kubeconfig: Option<PathBuf>,
    /// `--server`: replaces the server of the kubeconfig; without one it is ignored.
    pub server: Option<String>,
    /// What further flags of a client say in place of the kubeconfig.
    pub overrides: KubeconfigOverrides,
    /// `--kube-api-request-timeout`: for a request with its whole answer, watches excepted. `None` waits for ever.
    pub request_timeout: Option<Duration>,
    /// `--kube-api-qps`: requests a second, watches and events excepted.
    pub qps: u32,
    /// `--kube-api-burst`: requests at once, watches and events excepted.
    pub burst: u32,
    /// The `User-Agent` of every request.
    pub user_agent: String,
}

impl Default for ConnectOptions {
    fn default() -> Self {
        Self {
            kubeconfig: None,
            server: None,
            overrides: KubeconfigOverrides::default(),
            request_timeout: Some(Duration::from_secs(30)),
            qps: 5,
            burst: 10,
            user_agent: concat!("zonewright/", env!("CARGO_PKG_VERSION")).to_owned(),
        }
    }
}

impl ConnectOptions {
    /// Whether they make sense.
    ///
    /// # Errors
    /// A sentence that names the flag.
    pub(crate) fn check(&self) -> Result<(), &'static str> {
        match (self.qps, self.burst) {
            (0, _) => Err("--kube-api-qps must be greater than 0"),
            (_, 0) => Err("--kube-api-burst must be greater than 0"),
            _ => Ok(()),
        }
    }
}
