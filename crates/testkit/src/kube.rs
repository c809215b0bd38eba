//! A kube-apiserver with its etcd, and no controllers: tests write the status of Services, Nodes, Pods and
//! EndpointSlices themselves.
//!
//! Two users: `admin` may do everything, `zonewright` nothing until [`KubeApi::grant`]. Requests go through a small
//! synchronous client that takes API paths, such as `/api/v1/namespaces/default/services`.

mod client;
mod config;

use std::fs;
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::certificate::{Certificate, write_key_pair};
use crate::net::{free_port, loopback};
use crate::process::Process;
use crate::tools;
use crate::wait::wait_for;

pub use client::Answer;
use client::Client;

/// How long etcd or the API server may take to get ready; 3 s on an idle machine.
const READY: Duration = Duration::from_mins(2);

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

/// An API server and its etcd. Both end on drop.
#[derive(Debug)]
pub struct KubeApi {
    // In this order on drop: the API server first, else it logs its lost etcd.
    api: Process,
    etcd: Process,
    client: Client,
    site: Site,
}

/// What the two servers are started from; it stays the same over restarts.
#[derive(Debug)]
struct Site {
    folder: TempDir,
    certificate: Certificate,
    api_port: u16,
    etcd_port: u16,
    peer_port: u16,
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
    /// Kubernetes makes, and the Service `default/kubernetes`.
    ///
    /// # Panics
    /// When either server does not get ready; the message holds the end of its log.
    #[track_caller]
    pub fn start() -> Self {
        let site = Site::new();
        let etcd = site.start_etcd();
        let api = site.spawn_api();
        let client = site.client(User::Admin);
        let mut kube = Self { api, etcd, client, site };
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
    /// As [`Self::start`].
    #[track_caller]
    pub fn wipe_and_restart(&mut self) {
        self.api.terminate();
        self.etcd.terminate();
        fs::remove_dir_all(self.site.etcd_data()).expect("remove etcd's data");
        self.etcd = self.site.start_etcd();
        self.start_api();
    }

    /// Compacts etcd to its present revision and returns that revision. The API server still answers watches and
    /// continued lists of older versions from its memory: to see 410, use [`Self::expire_versions`].
    ///
    /// # Panics
    /// When etcd refuses.
    #[track_caller]
    pub fn compact(&self) -> u64 {
        let range = self.site.etcd_call("/v3/kv/range", &json!({ "key": "AA==" }));
        let revision =
            range["header"]["revision"].as_str().and_then(|text| text.parse().ok()).expect("a revision from etcd");
        self.site.etcd_call("/v3/kv/compaction", &json!({ "revision": revision, "physical": true }));
        revision
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

    /// GET as admin.
    #[track_caller]
    pub fn get(&self, path: &str) -> Answer {
        self.client.get(path)
    }

    /// GET as another user, for what it may and may not see.
    #[track_caller]
    pub fn get_as(&self, user: User, path: &str) -> Answer {
        self.site.client(user).get(path)
    }

    /// Creates an object in the collection `path`. `apiVersion` and `kind` may be left out, but not of custom resources.
    #[track_caller]
    pub fn post(&self, path: &str, object: &Value) -> Answer {
        self.client.send("POST", path, "application/json", object)
    }

    /// Replaces the object at `path`.
    #[track_caller]
    pub fn put(&self, path: &str, object: &Value) -> Answer {
        self.client.send("PUT", path, "application/json", object)
    }

    /// Merges `change` into the object at `path` (RFC 7396): `null` removes a field, a list is replaced as a whole.
    #[track_caller]
    pub fn patch(&self, path: &str, change: &Value) -> Answer {
        self.client.send("PATCH", path, "application/merge-patch+json", change)
    }

    /// Merges `status` into the status of the object at `path`, through its status subresource.
    #[track_caller]
    pub fn patch_status(&self, path: &str, status: &Value) -> Answer {
        self.patch(&format!("{path}/status"), &json!({ "status": status }))
    }

    /// Creates or changes the object at `path` to what `object` says (server-side apply, conflicts overridden).
    /// `object` must hold `apiVersion` and `kind`; JSON or YAML text.
    #[track_caller]
    pub fn apply(&self, path: &str, object: &str) -> Answer {
        let path = format!("{path}?fieldManager=testkit&force=true");
        self.client.send_text("PATCH", &path, "application/apply-patch+yaml", object)
    }

    /// Applies a CustomResourceDefinition, JSON or YAML text, and waits until the API server serves it. `name` is its
    /// `metadata.name`.
    ///
    /// # Panics
    /// When the API server refuses it or does not serve it within a minute.
    #[track_caller]
    pub fn apply_crd(&self, name: &str, definition: &str) {
        let path = format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}");
        self.apply(&path, definition).expect_success();
        let (plural, group) = name.split_once('.').expect("a name of the form <plural>.<group>");
        wait_for(&format!("{name} to be served"), Duration::from_mins(1), || {
            let definition = self.get(&path).body;
            let versions =
                definition["spec"]["versions"].as_array()?.iter().filter(|version| version["served"] == true);
            let mut paths =
                versions.map(|version| format!("/apis/{group}/{}/{plural}", version["name"].as_str().unwrap_or("")));
            paths.all(|path| self.get(&path).status == 200).then_some(())
        });
    }

    /// Deletes the object, or all objects of the collection, at `path`.
    #[track_caller]
    pub fn delete(&self, path: &str) -> Answer {
        self.client.delete(path)
    }

    #[track_caller]
    fn wait_until_ready(&mut self) {
        let client = &self.client;
        self.api.wait_until_ready(READY, || MADE_AT_START.iter().all(|path| client.finds(path)));
    }
}

impl Site {
    fn new() -> Self {
        let folder = tempfile::Builder::new().prefix("zonewright-kube-").tempdir().expect("a temporary folder");
        let certificate = Certificate::write(folder.path());
        let site = Self { folder, certificate, api_port: free_port(), etcd_port: free_port(), peer_port: free_port() };
        write_key_pair(&site.path("sa.key"), &site.path("sa.pub"));
        fs::write(site.path("tokens.csv"), config::tokens()).expect("write the tokens");
        fs::write(site.path("audit.json"), config::audit_policy().to_string()).expect("write the audit policy");
        for user in User::ALL {
            let text = config::kubeconfig(&site.url(), &site.certificate.ca_pem, user).to_string();
            fs::write(site.path(&format!("kubeconfig-{}", user.name())), text).expect("write a kubeconfig");
        }
        site
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn url(&self) -> String {
        format!("https://{}", loopback(self.api_port))
    }

    fn audit_file(&self) -> PathBuf {
        self.path("audit.log")
    }

    fn etcd_data(&self) -> PathBuf {
        self.path("etcd")
    }

    fn client(&self, user: User) -> Client {
        Client::new(&self.url(), user.token(), &self.certificate.ca_pem)
    }

    #[track_caller]
    fn start_etcd(&self) -> Process {
        let mut etcd = Process::spawn("etcd", &self.etcd_command(), &self.path("etcd.log"));
        etcd.wait_until_ready(READY, || TcpStream::connect(loopback(self.etcd_port)).is_ok());
        etcd
    }

    #[track_caller]
    fn spawn_api(&self) -> Process {
        Process::spawn("kube-apiserver", &self.api_command(), &self.path("apiserver.log"))
    }

    fn etcd_command(&self) -> Command {
        let client = format!("http://{}", loopback(self.etcd_port));
        let peer = format!("http://{}", loopback(self.peer_port));
        let mut command = Command::new(tools::need("etcd"));
        command
            .arg("--data-dir")
            .arg(self.etcd_data())
            .args(["--listen-client-urls", &client, "--advertise-client-urls", &client])
            .args(["--listen-peer-urls", &peer, "--initial-advertise-peer-urls", &peer])
            .args(["--initial-cluster", &format!("default={peer}"), "--unsafe-no-fsync=true", "--log-level=warn"]);
        command
    }

    fn api_command(&self) -> Command {
        let mut command = Command::new(tools::need("kube-apiserver"));
        for (flag, file) in [
            ("cert-dir", self.path("certs")),
            ("tls-cert-file", self.certificate.chain.clone()),
            ("tls-private-key-file", self.certificate.key.clone()),
            ("service-account-key-file", self.path("sa.pub")),
            ("service-account-signing-key-file", self.path("sa.key")),
            ("token-auth-file", self.path("tokens.csv")),
            ("audit-policy-file", self.path("audit.json")),
            ("audit-log-path", self.audit_file()),
        ] {
            command.arg(format!("--{flag}={}", file.display()));
        }
        command
            .arg(format!("--etcd-servers=http://{}", loopback(self.etcd_port)))
            .arg(format!("--secure-port={}", self.api_port))
            .args(config::API_FLAGS);
        command
    }

    /// A call of etcd's JSON gateway.
    #[track_caller]
    fn etcd_call(&self, path: &str, body: &Value) -> Value {
        let url = format!("http://{}{path}", loopback(self.etcd_port));
        client::post_json(&url, body).expect_success()
    }
}
