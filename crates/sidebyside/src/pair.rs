//! One round, played to both programs.
//!
//! external-dns reads the objects from an API server that answers from the round, Zonewright from a folder of manifests;
//! each has a provider of its own that only listens.

use std::fs::{self, File};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, Result};
use tokio::process::Command;
use tokio::time::timeout;
use zonewright_sidebyside::api::{Api, Kinds};
use zonewright_sidebyside::round::Round;

use crate::compare::differences;
use crate::known::{Found, NO_END};
use crate::program::{Played, Program};
use crate::provider::Provider;
use crate::recorded::Run;

/// How long one program may take for one round.
const LIMIT: Duration = Duration::from_secs(30);

/// Further flags of Zonewright, so that what it does more carefully on purpose does not hide the rest: names that
/// several objects want are joined as in external-dns, nothing is held, and a blank status is taken for what it says.
const AS_THE_OTHER: &[&str] = &["--no-brake", "--same-name=union", "--status-grace=1ns"];

/// The two programs, and the kinds that the API server knows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pair<'a> {
    pub(crate) external_dns: &'a Path,
    pub(crate) zonewright: &'a Path,
    pub(crate) kinds: &'a Kinds,
}

/// How a round went.
#[derive(Debug)]
pub(crate) enum RoundResult {
    Equal,
    /// They differ, and each difference is one of those on purpose; the reason of the first.
    Known(&'static str),
    /// They differ, and so.
    Differs(Vec<String>),
}

impl Pair<'_> {
    /// Plays a round to both.
    ///
    /// # Errors
    /// A program cannot be started, or a file not be written.
    pub(crate) async fn play(&self, round: &Round) -> Result<RoundResult> {
        let mut run: Run = serde_json::from_value(round.as_run()).context("the round as a run")?;
        let (theirs, ours) = tokio::join!(self.theirs(round, &run), self.ours(round, &run));
        let (theirs, ours) = (theirs?, ours?);
        run.exit = i32::from(theirs.failed);
        run.desired.clone_from(&theirs.sent.desired);
        run.changes = theirs.sent.changes.clone();
        let lines = differences(&run, &ours);
        if lines.is_empty() {
            return Ok(RoundResult::Equal);
        }
        let reason = Found::new(round, &theirs.output, &theirs.sent.desired).reason(&lines);
        Ok(match reason {
            Some(reason) => RoundResult::Known(reason),
            None => RoundResult::Differs(lines.into_iter().chain(last_words("external-dns", &theirs.output)).collect()),
        })
    }

    async fn ours(&self, round: &Round, run: &Run) -> Result<Played> {
        let folder = tempfile::tempdir()?;
        let objects = folder.path().join("objects.yaml");
        fs::write(&objects, round.manifest())?;
        let mut run = run.clone();
        run.args.extend(AS_THE_OTHER.iter().map(|flag| (*flag).to_owned()));
        // Else rounds of one owner would share their state.
        run.args.push(format!("--state-dir={}", folder.path().join("state").display()));
        let path = self.zonewright.to_str().context("a plain path")?;
        let mut played = Program { path, limit: LIMIT }.play(&objects, &run).await;
        // Its status says that something was left out; external-dns leaves things out without a word.
        played.failed &= !played.output.contains("run id=") || played.sent.desired.is_empty();
        Ok(played)
    }

    async fn theirs(&self, round: &Round, run: &Run) -> Result<Played> {
        let (home, provider) = (tempfile::tempdir()?, Provider::start(run).await);
        let api = Api::start(round.objects.clone(), self.kinds.clone()).await?;
        let kubeconfig = home.path().join("kubeconfig");
        fs::write(&kubeconfig, api.kubeconfig().to_string())?;
        let output = File::create(home.path().join("output"))?;
        let mut command = Command::new(self.external_dns);
        command.arg("--once").arg(format!("--kubeconfig={}", kubeconfig.display()));
        command.args(["--provider=webhook", &format!("--webhook-provider-url={}", provider.url)]).args(&run.args);
        command.env_clear().env("HOME", home.path()).env("EXTERNAL_DNS_METRICS_ADDRESS", "127.0.0.1:0").envs(&run.env);
        command.current_dir(home.path()).stdin(Stdio::null()).kill_on_drop(true);
        command.stdout(output.try_clone()?).stderr(output);
        let mut child = command.spawn().with_context(|| format!("cannot start {}", self.external_dns.display()))?;
        let ended = timeout(LIMIT, child.wait()).await;
        let failed = !matches!(ended, Ok(Ok(status)) if status.success());
        let mut output = String::from_utf8_lossy(&fs::read(home.path().join("output"))?).into_owned();
        if ended.is_err() {
            output.push_str(NO_END);
        }
        Ok(Played { failed, sent: provider.sent(), output })
    }
}

/// The end of a program's output, where it complains.
fn last_words<'a>(who: &'a str, output: &'a str) -> impl Iterator<Item = String> + 'a {
    let complaints = output
        .lines()
        .filter(|line| ["error", "warn", "fatal"].iter().any(|level| line.contains(&format!("level={level}"))));
    complaints.take(3).map(move |line| format!("  {who} said: {line}"))
}
