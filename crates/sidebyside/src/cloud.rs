//! The two programs as processes, at one service.
//!
//! In: objects and flags. Out: what a run did to the service. Both have the same flags and the same key; external-dns reads the
//! objects from an API server that answers from a list, Zonewright from a folder of manifests.

mod azure;
mod clouddns;
mod cloudflare;
mod route53;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use serde_json::Value;
use tempfile::TempDir;
use tokio::process::{Child, Command};
use tokio::time::{sleep, timeout};

use crate::api::{Api, Kinds};
pub use azure::AzureDns;
pub use clouddns::CloudDns;

/// A cloud's service on loopback, at which both programs are.
pub trait Cloud {
    /// The value of `--provider`.
    const PROVIDER: &'static str;
    /// The operation that lists records.
    const READ: &'static str;
    /// The operations that change something.
    const WRITES: &'static [&'static str];
    /// What is counted beside requests: single changes of a batch.
    const CHANGES: &'static [&'static str];

    /// The variables by which both programs find it, and their credentials.
    fn environment(&self) -> Vec<(&'static str, String)>;

    /// How often each operation was called, and how many changes of each sort were sent.
    fn calls(&self) -> Calls;

    /// How many requests came.
    fn requests(&self) -> usize;
}

/// How long one run may take.
const LIMIT: Duration = Duration::from_mins(3);

/// Where each program is.
#[derive(Debug)]
pub struct Programs {
    /// The real external-dns.
    pub external_dns: PathBuf,
    /// Our program.
    pub zonewright: PathBuf,
}

/// How often each operation was called, and how many changes of each action were sent.
pub type Calls = BTreeMap<String, usize>;

/// A run that has ended.
#[derive(Debug)]
pub struct Ended {
    /// What it called.
    pub calls: Calls,
    /// What it said, on both outputs.
    pub output: String,
}

/// A running program, and where it reads its objects.
#[derive(Debug)]
pub struct Running {
    child: Child,
    home: TempDir,
    /// Where external-dns reads them.
    _api: Option<Api>,
}

/// Which of the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which {
    /// The real external-dns.
    ExternalDns,
    /// Our program.
    Zonewright,
}

impl Which {
    /// For people.
    pub fn name(self) -> &'static str {
        match self {
            Self::ExternalDns => "external-dns",
            Self::Zonewright => "Zonewright",
        }
    }
}

impl Programs {
    /// One run with `--once`, to its end.
    ///
    /// # Errors
    /// The program cannot be started, or does not end.
    pub async fn once<C: Cloud>(&self, which: Which, service: &C, objects: &[Value], flags: &[&str]) -> Result<Ended> {
        let before = service.calls();
        let mut running = self.start(which, service, objects, &[flags, &["--once"]].concat()).await?;
        if timeout(LIMIT, running.child.wait()).await.is_err() {
            bail!("{} does not end:\n{}", which.name(), running.output());
        }
        Ok(Ended { calls: since(&before, &service.calls()), output: running.output() })
    }

    /// Starts a program.
    ///
    /// # Errors
    /// It cannot be started.
    pub async fn start<C: Cloud>(
        &self,
        which: Which,
        service: &C,
        objects: &[Value],
        flags: &[&str],
    ) -> Result<Running> {
        let home = tempfile::Builder::new().prefix("zonewright-sidebyside-").tempdir()?;
        let output = File::create(home.path().join("output"))?;
        let (mut command, api) = match which {
            Which::ExternalDns => {
                let api = Api::start(objects.to_vec(), Kinds::of(objects)).await?;
                let kubeconfig = home.path().join("kubeconfig");
                fs::write(&kubeconfig, api.kubeconfig().to_string())?;
                let mut command = Command::new(&self.external_dns);
                command.arg("--kubeconfig").arg(kubeconfig);
                (command, Some(api))
            }
            Which::Zonewright => {
                fs::create_dir(home.path().join("manifests"))?;
                write(home.path(), objects)?;
                let mut command = Command::new(&self.zonewright);
                command.arg("--manifests").arg(home.path().join("manifests"));
                command.arg("--state-dir").arg(home.path().join("state"));
                (command, None)
            }
        };
        command.arg(format!("--provider={}", C::PROVIDER)).args(flags).env_clear().env("HOME", home.path());
        command.env("EXTERNAL_DNS_METRICS_ADDRESS", "127.0.0.1:0").envs(service.environment());
        command.current_dir(home.path()).stdin(Stdio::null()).kill_on_drop(true);
        command.stdout(output.try_clone()?).stderr(output);
        let child = command.spawn().with_context(|| format!("cannot start {}", which.name()))?;
        Ok(Running { child, home, _api: api })
    }
}

impl Running {
    /// Gives Zonewright other objects.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn replace(&self, objects: &[Value]) -> Result<()> {
        write(self.home.path(), objects)
    }

    /// Both outputs so far.
    pub fn output(&self) -> String {
        String::from_utf8_lossy(&fs::read(self.home.path().join("output")).unwrap_or_default()).into_owned()
    }

    /// Ends the program.
    ///
    /// # Errors
    /// It had ended before, with what it said.
    pub async fn end(mut self) -> Result<String> {
        if let Some(status) = self.child.try_wait()? {
            bail!("the program ended by itself with {status}:\n{}", self.output());
        }
        self.child.kill().await?;
        Ok(self.output())
    }
}

/// Writes the objects as one manifest: JSON documents, which are YAML too. Whoever reads meanwhile sees the old or the new one.
fn write(home: &Path, objects: &[Value]) -> Result<()> {
    let text = objects.iter().map(Value::to_string).collect::<Vec<_>>().join("\n---\n");
    let next = home.join("next.yaml");
    fs::write(&next, text)?;
    fs::rename(next, home.join("manifests/objects.yaml")).context("cannot replace the objects")
}

/// What was called between two counts.
pub fn since(before: &Calls, after: &Calls) -> Calls {
    let more = |(name, count): (&String, &usize)| {
        let more = count - before.get(name).copied().unwrap_or_default();
        (more > 0).then(|| (name.clone(), more))
    };
    after.iter().filter_map(more).collect()
}

/// Waits until the service is left alone for `calm`, or fails after a minute; what was called since `before`.
///
/// # Errors
/// It never is.
pub async fn calm<C: Cloud>(service: &C, before: &Calls, calm: Duration) -> Result<Calls> {
    let (mut seen, mut rounds) = (service.requests(), 0);
    loop {
        sleep(calm).await;
        if service.requests() == seen {
            return Ok(since(before, &service.calls()));
        }
        seen = service.requests();
        rounds += 1;
        if rounds > 60 {
            bail!("requests go on: {:?}", since(before, &service.calls()));
        }
    }
}
