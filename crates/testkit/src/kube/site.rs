//! The folder, ports and command lines that etcd and the API server are started from.

use std::fs;
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use super::client::{self, Client};
use super::{READY, User, config};
use crate::certificate::{Certificate, write_key_pair};
use crate::net::{free_port, loopback};
use crate::process::Process;
use crate::tools;

/// How much garbage there may be, in percent of what lives (`GOGC`): what lives for seconds need not save memory.
const GARBAGE: &str = "300";

/// What the two servers are started from; it stays the same over restarts.
#[derive(Debug)]
pub(super) struct Site {
    folder: TempDir,
    pub(super) certificate: Certificate,
    api_port: u16,
    etcd_port: u16,
    peer_port: u16,
}

impl Site {
    pub(super) fn new() -> Self {
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

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(super) fn url(&self) -> String {
        format!("https://{}", loopback(self.api_port))
    }

    pub(super) fn audit_file(&self) -> PathBuf {
        self.path("audit.log")
    }

    pub(super) fn etcd_data(&self) -> PathBuf {
        self.path("etcd")
    }

    pub(super) fn client(&self, user: User) -> Client {
        Client::new(&self.url(), user.token(), &self.certificate.ca_pem)
    }

    #[track_caller]
    pub(super) fn start_etcd(&self) -> Process {
        let mut etcd = Process::spawn("etcd", &self.etcd_command(), &self.path("etcd.log"));
        etcd.wait_until_ready(READY, || TcpStream::connect(loopback(self.etcd_port)).is_ok());
        etcd
    }

    #[track_caller]
    pub(super) fn spawn_api(&self) -> Process {
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
            .args(["--initial-cluster", &format!("default={peer}"), "--unsafe-no-fsync=true", "--log-level=warn"])
            .env("GOGC", GARBAGE);
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
            .args(config::API_FLAGS)
            .env("GOGC", GARBAGE);
        command
    }

    /// A call of etcd's JSON gateway.
    #[track_caller]
    pub(super) fn etcd_call(&self, path: &str, body: &Value) -> Value {
        let url = format!("http://{}{path}", loopback(self.etcd_port));
        client::post_json(&url, body).expect_success()
    }
}
