//! The least that would do the same work: BIND's own `nsupdate`.

use std::io::Write as _;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use zonewright_testkit::{DnsServer, Key, tools};

/// An `nsupdate` that takes commands until it is dropped.
#[derive(Debug)]
pub(crate) struct Nsupdate {
    child: Child,
    input: Option<ChildStdin>,
}

impl Nsupdate {
    /// Starts one for `zone`; small messages go by UDP, large ones by TCP.
    pub(crate) fn start(server: &DnsServer, key: &Key, zone: &str) -> Result<Self> {
        let program = tools::find("nsupdate").with_context(|| tools::how_to_install("nsupdate"))?;
        let mut child = Command::new(program)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::inherit())
            .spawn()
            .context("start nsupdate")?;
        let input = child.stdin.take();
        let mut nsupdate = Self { child, input };
        let (address, algorithm) = (server.addr(), key.algorithm.name());
        nsupdate.say(&format!(
            "server {} {}\nzone {zone}\nkey {algorithm}:{} {}\n",
            address.ip(),
            address.port(),
            key.name,
            key.secret
        ))?;
        Ok(nsupdate)
    }

    /// Hands commands over.
    pub(crate) fn say(&mut self, commands: &str) -> Result<()> {
        let input = self.input.as_mut().context("nsupdate was ended")?;
        input.write_all(commands.as_bytes()).context("write to nsupdate")
    }

    /// Waits until everything is done.
    pub(crate) fn finish(mut self) -> Result<()> {
        self.input = None;
        let status = self.child.wait()?;
        if !status.success() {
            bail!("nsupdate ended with {status}");
        }
        Ok(())
    }
}

/// Feeds `lines`, each the text after `update`, in messages of `batch`; returns the time from the start of `nsupdate` to
/// its end.
pub(crate) fn feed(server: &DnsServer, key: &Key, zone: &str, lines: &[String], batch: usize) -> Result<Duration> {
    let mut script = String::new();
    for message in lines.chunks(batch) {
        for line in message {
            script.push_str("update ");
            script.push_str(line);
            script.push('\n');
        }
        script.push_str("send\n");
    }
    let begun = Instant::now();
    let mut nsupdate = Nsupdate::start(server, key, zone)?;
    nsupdate.say(&script)?;
    nsupdate.finish()?;
    Ok(begun.elapsed())
}

impl Drop for Nsupdate {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
