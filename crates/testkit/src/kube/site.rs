//! The folder, port and command line that the API server is started from.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use tempfile::TempDir;

use super::client::Client;
use super::{User, config};
use crate::certificate::{Certificate, write_key_pair};
use crate::net::{free_port, loopback};
use crate::process::Process;
use crate::tools;

/// How much garbage there may be, in percent of what lives (`GOGC`): what lives for seconds need not save memory.
const GARBAGE: &str = "300";

/// Numbers the places in an etcd.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// How many cores an API server and its etcd may use at once.
#[derive(Debug, Clone, Copy)]
pub(super) enum Cores {
    /// Where many servers run beside each other, what would be handed from core to core costs more than it gains.
    One,
    All,
}

impl Cores {
    /// Sets what programs written in Go read from their environment.
    pub(super) fn give(self, command: &mut Command) {
        command.env("GOGC", GARBAGE);
        if matches!(self, Self::One) {
            command.env("GOMAXPROCS", "1");
        }
    }
}

/// What the API server is started from; it stays the same over restarts.
#[derive(Debug)]
pub(super) struct Site {
    folder: TempDir,
    pub(super) certificate: Certificate,
    port: u16,
    etcd: String,
    /// Below this it keeps its objects in etcd.
    prefix: String,
    cores: Cores,
}

impl Site {
    /// `etcd`: the URL of the one that stores its objects.
    pub(super) fn new(etcd: String, cores: Cores) -> Self {
        let folder = tempfile::Builder::new().prefix("zonewright-kube-").tempdir().expect("a temporary folder");
        let certificate = Certificate::write(folder.path());
        let prefix = format!("/registry-{}", COUNT.fetch_add(1, Ordering::Relaxed));
        let site = Self { folder, certificate, port: free_port(), etcd, prefix, cores };
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
        format!("https://{}", loopback(self.port))
    }

    pub(super) fn audit_file(&self) -> PathBuf {
        self.path("audit.log")
    }

    pub(super) fn client(&self, user: User) -> Client {
        Client::new(&self.url(), user.token(), &self.certificate.ca_pem)
    }

    #[track_caller]
    pub(super) fn spawn_api(&self) -> Process {
        Process::spawn("kube-apiserver", &self.api_command(), &self.path("apiserver.log"))
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
            .arg(format!("--etcd-servers={}", self.etcd))
            .arg(format!("--etcd-prefix={}", self.prefix))
            .arg(format!("--secure-port={}", self.port))
            .arg(config::uncached())
            .args(config::API_FLAGS);
        self.cores.give(&mut command);
        command
    }
}
