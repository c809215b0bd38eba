//! Plays random rounds to a real external-dns and to Zonewright, and prints what they do differently.
//!
//! `cargo xtask sidebyside` builds both programs and runs this. Exit status: 0 where nothing differs but what is known, 1
//! where something else does, 2 where it could not be found out.

// The comparison is that of the recorded runs, to the letter; not all of its modules' items are needed here.
#[path = "../../../bin/tests/corpus/compare.rs"]
mod compare;
#[path = "../../../bin/tests/corpus/endpoint.rs"]
mod endpoint;
#[path = "../../../bin/tests/corpus/program.rs"]
mod program;
#[path = "../../../bin/tests/corpus/provider.rs"]
mod provider;
#[path = "../../../bin/tests/corpus/recorded.rs"]
#[expect(dead_code, reason = "it also reads what was recorded")]
mod recorded;
#[path = "../../../bin/tests/corpus/scope.rs"]
mod scope;

mod known;
mod pair;
mod shrink;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use futures::StreamExt as _;
use zonewright_sidebyside::api::Kinds;
use zonewright_sidebyside::dice::Dice;
use zonewright_sidebyside::draw::draw;
use zonewright_sidebyside::round::{Round, recorded};

use crate::pair::{Pair, RoundResult};

const USAGE: &str = "\
sidebyside --external-dns PATH [--zonewright PATH] [--rounds N] [--seed N] [--round N] [--changes N] [--jobs N]

  --zonewright  our program; built by cargo where it is not given
  --rounds   how many rounds are played (200)
  --seed     the seed of the dice (1)
  --round    only this round, as a line of an earlier run names it
  --changes  so many changes in each round; 0 plays the recorded runs as they are (1 to 4, by chance)
  --jobs     how many rounds go on at a time (2)
";

/// What was asked for.
#[derive(Debug)]
struct Options {
    external_dns: PathBuf,
    /// Built where it is not given.
    zonewright: Option<PathBuf>,
    rounds: u64,
    seed: u64,
    round: Option<u64>,
    changes: Option<usize>,
    jobs: usize,
}

impl Options {
    fn parse(arguments: impl Iterator<Item = String>) -> Result<Self> {
        let words: Vec<String> =
            arguments.flat_map(|word| word.split('=').map(str::to_owned).collect::<Vec<_>>()).collect();
        let mut given: BTreeMap<&str, &str> = BTreeMap::new();
        for pair in words.chunks(2) {
            let [flag, value] = pair else { bail!("{pair:?} has no value\n\n{USAGE}") };
            given.insert(flag, value);
        }
        let mut take = |flag: &str| given.remove(flag);
        let number = |text: Option<&str>| text.map(str::parse::<u64>).transpose().context("a number is expected");
        let options = Self {
            external_dns: program(take("--external-dns"))?,
            zonewright: take("--zonewright").map(|path| program(Some(path))).transpose()?,
            rounds: number(take("--rounds"))?.unwrap_or(200),
            seed: number(take("--seed"))?.unwrap_or(1),
            round: number(take("--round"))?,
            changes: number(take("--changes"))?.map(usize::try_from).transpose()?,
            jobs: usize::try_from(number(take("--jobs"))?.unwrap_or(2))?.max(1),
        };
        match given.keys().next() {
            Some(flag) => bail!("no such option: {flag}\n\n{USAGE}"),
            None => Ok(options),
        }
    }
}

/// A program by its absolute path: it is run in another folder.
fn program(path: Option<&str>) -> Result<PathBuf> {
    let path = path.context(USAGE)?;
    std::fs::canonicalize(path).with_context(|| format!("there is no {path}"))
}

/// How the rounds went.
#[derive(Debug, Default)]
struct Figures {
    equal: usize,
    known: BTreeMap<&'static str, usize>,
    unknown: Vec<u64>,
}

fn main() -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let done = Options::parse(std::env::args().skip(1))
        .and_then(|options| runtime.context("no runtime")?.block_on(play(&options)));
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("sidebyside: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// Plays all rounds; whether nothing differed but what is known.
async fn play(options: &Options) -> Result<bool> {
    let corpus = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/corpus"));
    let recorded = recorded(&corpus)?;
    let kinds = Kinds::of(recorded.iter().flat_map(|round| &round.objects));
    let zonewright = options.zonewright.clone().map_or_else(zonewright_sidebyside::ours::build, Ok)?;
    let pair = Pair { external_dns: &options.external_dns, zonewright: &zonewright, kinds: &kinds };
    let numbers = match options.round {
        Some(number) => number..number + 1,
        None => 0..options.rounds,
    };
    let drawn = |number: u64| {
        draw(&recorded, &mut Dice::new(options.seed, number), options.changes).map(|round| (number, round))
    };
    let plays = futures::stream::iter(numbers.filter_map(drawn)).map(|(number, round)| {
        let pair = &pair;
        async move { (number, pair.play(&round).await, round) }
    });
    let mut plays = std::pin::pin!(plays.buffered(options.jobs));
    let mut figures = Figures::default();
    while let Some((number, verdict, round)) = plays.next().await {
        if number % 50 == 49 {
            eprintln!("{} rounds", number + 1);
        }
        figures.take(number, verdict?, &round, &pair, options.seed).await?;
    }
    Ok(figures.print(options.seed))
}

impl Figures {
    async fn take(
        &mut self,
        number: u64,
        verdict: RoundResult,
        round: &Round,
        pair: &Pair<'_>,
        seed: u64,
    ) -> Result<()> {
        match verdict {
            RoundResult::Equal => self.equal += 1,
            RoundResult::Known(reason) => *self.known.entry(reason).or_default() += 1,
            RoundResult::Differs(_) => {
                self.unknown.push(number);
                let (round, lines) = shrink::smallest(pair, round).await?;
                println!("\nround {number} of seed {seed}, from {}", round.base);
                let changes = round.changes.iter().map(|change| format!("  changed: {change}"));
                let flags = std::iter::once(format!("  flags: {}", round.args.join(" ")));
                let objects = round.objects.iter().map(|object| format!("  object: {object}"));
                let published = round.current.iter().map(|record| format!("  published: {record}"));
                for line in changes.chain(flags).chain(objects).chain(published).chain(lines) {
                    println!("{line}");
                }
            }
        }
        Ok(())
    }

    fn print(&self, seed: u64) -> bool {
        let known: usize = self.known.values().sum();
        println!(
            "\n{} rounds of seed {seed}: {} equal, {known} with known differences, {} with others",
            self.equal + known + self.unknown.len(),
            self.equal,
            self.unknown.len()
        );
        for (reason, count) in &self.known {
            println!("{count:6}  {reason}");
        }
        if !self.unknown.is_empty() {
            println!("others: {:?}", self.unknown);
        }
        self.unknown.is_empty()
    }
}
