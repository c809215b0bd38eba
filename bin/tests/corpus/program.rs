//! One run of the program.
//!
//! In: the objects and the recorded run. Out: how the program ended, what it sent, what it said. It sees nothing of the
//! machine: its home is a folder of its own, its environment holds what the run says.

use std::fs::{self, File};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tempfile::TempDir;
use tokio::process::Command;
use tokio::time::timeout;

use crate::provider::{Provider, Sent};
use crate::recorded::Run;

/// A program with external-dns' flags and `--manifests`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Program<'a> {
    pub(crate) path: &'a str,
    /// How long a run may take.
    pub(crate) limit: Duration,
}

/// What a program did in one run.
#[derive(Debug, Default)]
pub(crate) struct Played {
    /// Whether it ended with another status than 0, or did not end.
    pub(crate) failed: bool,
    pub(crate) sent: Sent,
    /// Both outputs.
    pub(crate) output: String,
}

impl Program<'_> {
    /// Runs the program over these objects, as the run says.
    pub(crate) async fn play(&self, objects: &Path, run: &Run) -> Played {
        let provider = Provider::start(run).await;
        let home = home(objects);
        let ended = self.run(&home, &provider.url, run).await;
        let mut sent = provider.sent();
        if ended.is_none() {
            sent.problems.push(format!("did not end within {:?}", self.limit));
        }
        let output = fs::read(home.path().join("output")).expect("the output of the program");
        Played { failed: ended != Some(true), sent, output: String::from_utf8_lossy(&output).into_owned() }
    }

    /// Whether the program succeeded; `None` if it did not end in time, and had to be ended.
    async fn run(&self, home: &TempDir, url: &str, run: &Run) -> Option<bool> {
        let output = File::create(home.path().join("output")).expect("a file for the output");
        let mut command = Command::new(self.path);
        command.arg("--once").arg("--manifests").arg(home.path().join("manifests"));
        command.args(["--provider=webhook", &format!("--webhook-provider-url={url}")]).args(&run.args);
        // Runs at the same time would want the same port.
        command.env_clear().env("HOME", home.path()).env("EXTERNAL_DNS_METRICS_ADDRESS", "127.0.0.1:0").envs(&run.env);
        // Where no folder is named the state of all runs would be in one.
        command.env("TMPDIR", home.path());
        command.current_dir(home.path()).stdin(Stdio::null()).kill_on_drop(true);
        command.stdout(output.try_clone().expect("a second handle")).stderr(output);
        let mut child = command.spawn().unwrap_or_else(|error| panic!("cannot start {}: {error}", self.path));
        if let Ok(status) = timeout(self.limit, child.wait()).await {
            return Some(status.expect("the status of the program").success());
        }
        child.kill().await.expect("the program can be ended");
        None
    }
}

/// A new home with the folder of manifests, which holds the objects and nothing else.
fn home(objects: &Path) -> TempDir {
    let home = tempfile::Builder::new().prefix("zonewright-corpus-").tempdir().expect("a temporary folder");
    let manifests = home.path().join("manifests");
    fs::create_dir(&manifests).expect("a folder for the objects");
    fs::copy(objects, manifests.join("objects.yaml")).expect("a copy of the objects");
    home
}
