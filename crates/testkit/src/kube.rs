//! A kube-apiserver with its etcd, and no controllers: tests write the status of Services, Nodes, Pods and
//! EndpointSlices themselves.
//!
//! Two users: `admin` may do everything, `zonewright` nothing until [`KubeApi::grant`]. Requests go through a small
//! synchronous client that takes API paths, such as `/api/v1/namespaces/default/services`.

mod client;
mod config;
mod etcd;
mod requests;
mod site;

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::process::Process;

pub use client::Answer;
use client::Client;
use etcd::Etcd;
use site::{Cores, Site};

/// How long etcd or the API server may take to get ready; 3 s on an idle machine.
const READY: Duration = Duration::from_mins(2);

/// Why what is stored cannot be touched.
const NOT_APART: &str = "others store their objects here too: start this one by `start_apart`";

/// What answers once the API server is ready. It makes the namespace and the Service itself, a moment after it calls
/// itself ready; tests would see them appear.
const MADE_AT_START: &[&str] =
    &["/readyz", "/api/v1/namespaces/default", "/api/v1/namespaces/default/services/kubernetes"];

/// A user of the API server, known by a fixed bearer token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum User {
    /// Member of `system:masters`: may do everything.
    Admin,
    /// The daemon's user: may do what [`KubeApi::grant`] has given.
    Zonewright,
}

/// An API server, and where it stores its objects. Both end on drop, an etcd that others use with the last of them.
#[derive(Debug)]
pub struct KubeApi {
    // In this order on drop: the API server first, else it logs its lost etcd.
    api: Process,
    storage: Storage,
    client: Client,
    site: Site,
}

#[derive(Debug)]
enum Storage {
    /// What is done to all of it would be done to others too.
    Shared {
        _etcd: Arc<Etcd>,
    },
    Own(Etcd),
}

impl User {
    /// Both users.
    pub const ALL: [Self; 2] = [Self::Admin, Self::Zonewright];

    /// The name in RBAC subjects and in the audit log.
    pub fn name(self) -> &'static str {
        match self {
            Self::Admin => "admin",
            Self::Zonewright => "zonewright",
        }
    }

    /// The bearer token.
    pub fn token(self) -> &'static str {
        match self {
            Self::Admin => "tok-admin",
            Self::Zonewright => "tok-zonewright",
        }
    }

    fn groups(self) -> &'static str {
        match self {
            Self::Admin => "system:masters",
            Self::Zonewright => "",
        }
    }
}

impl KubeApi {
    /// The programs that a test with an API server needs, for [`require!`](crate::require).
    pub const TOOLS: &'static [&'static str] = &["etcd", "kube-apiserver"];

    /// Starts an empty cluster and waits until it is ready: about 3 s, 400 MB. Empty means: the namespaces that
    /// Kubernetes makes, and the Service `default/kubernetes`. Its objects are stored in one etcd with those of others.
    ///
    /// # Panics
    /// When a server does not get ready; the message holds the end of its log.
    #[track_caller]
    pub fn start() -> Self {
        let etcd = Etcd::shared();
        Self::on(etcd.url(), Storage::Shared { _etcd: etcd }, Cores::One)
    }

    /// As [`Self::start`], with an etcd of its own: it can be emptied and compacted.
    ///
    /// # Panics
    /// As [`Self::start`].
    #[track_caller]
    pub fn start_apart() -> Self {
        let etcd = Etcd::start(Cores::One);
        Self::on(etcd.url(), Storage::Own(etcd), Cores::One)
    }

    /// As [`Self::start_apart`], with all cores of the machine for both servers: for measurements, which they shall not
    /// hold up.
    ///
    /// # Panics
    /// As [`Self::start`].
    #[track_caller]
    pub fn start_at_full_speed() -> Self {
        let etcd = Etcd::start(Cores::All);
        Self::on(etcd.url(), Storage::Own(etcd), Cores::All)
    }

    #[track_caller]
    fn on(etcd: String, storage: Storage, cores: Cores) -> Self {
        let site = Site::new(etcd, cores);
        let api = site.spawn_api();
        let client = site.client(User::Admin);
        let mut kube = Self { api, storage, client, site };
        kube.wait_until_ready();
        kube
    }

    /// `https://127.0.0.1:<port>`.
    pub fn url(&self) -> String {
        self.site.url()
    }

    /// The authority that signed the server's certificate, PEM.
    pub fn ca_pem(&self) -> &str {
        &self.site.certificate.ca_pem
    }

    /// The path of a kubeconfig file for this user; its current namespace is `default`.
    pub fn kubeconfig(&self, user: User) -> PathBuf {
        self.site.path(&format!("kubeconfig-{}", user.name()))
    }

    /// Ends the API server in order; etcd goes on. [`Self::start_api`] brings it back.
    pub fn stop_api(&mut self) {
        self.api.terminate();
    }

    /// Kills the API server as a crash would: watches break off without a word.
    pub fn kill_api(&mut self) {
        self.api.kill();
    }

    /// Starts the API server again, on the same port and the same etcd.
    ///
    /// # Panics
    /// As [`Self::start`].
    #[track_caller]
    pub fn start_api(&mut self) {
        self.api = self.site.spawn_api();
        // Connections to the one before would fail the next request.
        self.client = self.site.client(User::Admin);
        self.wait_until_ready();
    }

    /// Starts both servers again with nothing stored, on the same ports: every list is empty, as after a restore gone
    /// wrong. Resource versions begin anew, and what was granted is gone.
    ///
    /// # Panics
    /// As [`Self::start`], and without an etcd of its own.
    #[track_caller]
    pub fn wipe_and_restart(&mut self) {
        self.api.terminate();
        let Storage::Own(etcd) = &mut self.storage else { panic!("{NOT_APART}") };
        etcd.wipe();
        self.start_api();
    }

    /// Compacts etcd to its present revision and returns that revision. The API server still answers watches and
    /// continued lists of older versions from its memory: to see 410, use [`Self::expire_versions`].
    ///
    /// # Panics
    /// When etcd refuses, and without an etcd of its own.
    #[track_caller]
    pub fn compact(&self) -> u64 {
        let Storage::Own(etcd) = &self.storage else { panic!("{NOT_APART}") };
        etcd.compact()
    }

    /// Compacts etcd and restarts the API server, whose memory is then empty: a watch from an older resource version,
    /// or the next page of an older list, answers 410 Expired, so that every client must list again.
    ///
    /// # Panics
    /// As [`Self::start`] and [`Self::compact`].
    #[track_caller]
    pub fn expire_versions(&mut self) {
        self.compact();
        self.stop_api();
        self.start_api();
    }

    /// Freezes the API server (SIGSTOP): requests hang, watches stay open and silent.
    pub fn pause(&self) {
        self.api.stop();
    }

    /// Lets the API server go on after [`Self::pause`].
    pub fn resume(&self) {
        self.api.cont();
    }

    /// Gives the user `zonewright` a cluster role with these rules, besides those that it has. The API server may need
    /// a moment to see it.
    ///
    /// # Panics
    /// When the API server refuses.
    #[track_caller]
    pub fn grant(&self, name: &str, rules: &Value) {
        let rbac = "/apis/rbac.authorization.k8s.io/v1";
        let role = json!({ "metadata": { "name": name }, "rules": rules });
        self.post(&format!("{rbac}/clusterroles"), &role).expect_success();
        let binding = json!({
            "metadata": { "name": name },
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name },
            "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": User::Zonewright.name() }],
        });
        self.post(&format!("{rbac}/clusterrolebindings"), &binding).expect_success();
    }

    /// Every request so far, as audit events (`audit.k8s.io/v1`, level Metadata): one for each stage but
    /// `RequestReceived`, so a finished request has one `ResponseComplete`, and a watch has a `ResponseStarted` before
    /// it.
    pub fn audit_log(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.site.audit_file()).unwrap_or_default();
        // The last line may be half written.
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// The audit events of one user.
    pub fn audit_log_of(&self, user: User) -> Vec<Value> {
        let mut events = self.audit_log();
        events.retain(|event| event["user"]["username"] == user.name());
        events
    }

    /// What the API server has logged.
    pub fn log(&self) -> String {
        self.api.log()
    }

    #[track_caller]
    fn wait_until_ready(&mut self) {
        let client = &self.client;
        self.api.wait_until_ready(READY, || MADE_AT_START.iter().all(|path| client.finds(path)));
    }
}
