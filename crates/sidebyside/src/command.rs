//! The command line of the programs that play at a cloud's service.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};

use crate::cloud::Programs;
use crate::ours;

const USAGE: &str = "\
sidebyside-SERVICE --external-dns PATH [--zonewright PATH] [--verbose]
sidebyside-SERVICE --external-dns PATH [--zonewright PATH] --cost
sidebyside-route53 --external-dns PATH [--zonewright PATH] --large

  --zonewright  our program; built by cargo where it is not given
  --verbose     every set that was written, and what the programs said
  --cost        measures requests, and prints a table
  --large       lists a zone of 400,000 record sets, and serves names meanwhile
";

/// What is to be done.
#[derive(Debug)]
pub struct Options {
    /// Both programs.
    pub programs: Programs,
    /// Whether everything is shown.
    pub verbose: bool,
    /// Whether requests are measured in place of the swap.
    pub cost: bool,
    /// Whether a large zone is listed in place of the swap.
    pub large: bool,
}

impl Options {
    fn parse(arguments: impl Iterator<Item = String>) -> Result<Self> {
        let (mut external_dns, mut zonewright, mut verbose, mut cost, mut large) = (None, None, false, false, false);
        let mut words = arguments;
        while let Some(word) = words.next() {
            match word.as_str() {
                "--external-dns" => external_dns = Some(program(words.next())?),
                "--zonewright" => zonewright = Some(program(words.next())?),
                "--verbose" => verbose = true,
                "--cost" => cost = true,
                "--large" => large = true,
                other => bail!("no such option: {other}\n\n{USAGE}"),
            }
        }
        let zonewright = zonewright.map_or_else(ours::build, Ok)?;
        Ok(Self { programs: Programs { external_dns: external_dns.context(USAGE)?, zonewright }, verbose, cost, large })
    }
}

/// A program by its absolute path: it is run in another folder.
fn program(path: Option<String>) -> Result<PathBuf> {
    let path = path.context(USAGE)?;
    std::fs::canonicalize(&path).with_context(|| format!("there is no {path}"))
}

/// Parses the arguments of the process and plays; `play` answers whether nothing differed. Exit status: 0 where nothing did, 1 where
/// something did, 2 where it could not be found out.
pub fn main(name: &str, play: impl AsyncFnOnce(&Options) -> Result<bool>) -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let done = Options::parse(std::env::args().skip(1))
        .and_then(|options| runtime.context("no runtime")?.block_on(play(&options)));
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{name}: {error:#}");
            ExitCode::from(2)
        }
    }
}
