//! Where API servers store their objects: an etcd that all of a test program share, or one for a server alone.

use std::fs;
use std::net::TcpStream;
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::client;
use super::site::Cores;
use crate::kube::READY;
use crate::net::{free_port, loopback};
use crate::process::Process;
use crate::tools;

/// One etcd. It ends on drop.
#[derive(Debug)]
pub(super) struct Etcd {
    process: Process,
    folder: TempDir,
    port: u16,
    peer_port: u16,
    cores: Cores,
}

impl Etcd {
    #[track_caller]
    pub(super) fn start(cores: Cores) -> Self {
        let folder = tempfile::Builder::new().prefix("zonewright-etcd-").tempdir().expect("a temporary folder");
        let (port, peer_port) = (free_port(), free_port());
        let process = spawn(&folder, port, peer_port, cores);
        Self { process, folder, port, peer_port, cores }
    }

    /// That of all API servers of this process that need none alone. It lasts as long as any of them.
    #[track_caller]
    pub(super) fn shared() -> Arc<Self> {
        static SHARED: Mutex<Weak<Etcd>> = Mutex::new(Weak::new());
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(etcd) = shared.upgrade() {
            return etcd;
        }
        let etcd = Arc::new(Self::start(Cores::One));
        *shared = Arc::downgrade(&etcd);
        etcd
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}", loopback(self.port))
    }

    /// Starts again with nothing stored, on the same ports.
    #[track_caller]
    pub(super) fn wipe(&mut self) {
        self.process.terminate();
        fs::remove_dir_all(self.folder.path().join(DATA)).expect("remove etcd's data");
        self.process = spawn(&self.folder, self.port, self.peer_port, self.cores);
    }

    /// Compacts to the present revision, and returns it.
    #[track_caller]
    pub(super) fn compact(&self) -> u64 {
        let range = self.call("/v3/kv/range", &json!({ "key": "AA==" }));
        let revision =
            range["header"]["revision"].as_str().and_then(|text| text.parse().ok()).expect("a revision from etcd");
        self.call("/v3/kv/compaction", &json!({ "revision": revision, "physical": true }));
        revision
    }

    /// A call of etcd's JSON gateway.
    #[track_caller]
    fn call(&self, path: &str, body: &Value) -> Value {
        client::post_json(&format!("{}{path}", self.url()), body).expect_success()
    }
}

/// The folder of its data.
const DATA: &str = "data";

#[track_caller]
fn spawn(folder: &TempDir, port: u16, peer_port: u16, cores: Cores) -> Process {
    let client = format!("http://{}", loopback(port));
    let peer = format!("http://{}", loopback(peer_port));
    let mut command = Command::new(tools::need("etcd"));
    command
        .arg("--data-dir")
        .arg(folder.path().join(DATA))
        .args(["--listen-client-urls", &client, "--advertise-client-urls", &client])
        .args(["--listen-peer-urls", &peer, "--initial-advertise-peer-urls", &peer])
        .args(["--initial-cluster", &format!("default={peer}"), "--unsafe-no-fsync=true", "--log-level=warn"]);
    cores.give(&mut command);
    let mut etcd = Process::spawn("etcd", &command, &folder.path().join("etcd.log"));
    etcd.wait_until_ready(READY, || TcpStream::connect(loopback(port)).is_ok());
    etcd
}
