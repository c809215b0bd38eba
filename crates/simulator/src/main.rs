//! `cargo xtask simulate`: plays histories and tells the story of the first one that breaks a rule.

use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use zonewright_simulator::{Claims, History, Kept, Scope, Tally, Verdicts, parse_kept, profiles, reading, simulate};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const USAGE: &str = "\
cargo xtask simulate [options]

  --seed S         the base seed, 1 by default
  --rounds N       play at least so many rounds, 1000000 by default
  --threads N      on so many threads, 1 by default
  --profile NAME   only with this kind of provider
  --staged WORD    only: providers that need staged writes or whose reads lag; none: only the others
  --claims WHERE   zones: in TXT records (the default); objects: in ConfigMaps; table: in a DynamoDB table
  --survey         go on after a rule was broken, and count how often each is
  --story SEED     tell this one history
  --shrink         as short as it gets
  --keep LIST      of that history only these steps, those marked ~ in fair weather
";

/// What the command line asks for.
#[derive(Debug, Default)]
struct Options {
    seed: u64,
    rounds: u64,
    threads: usize,
    scope: Scope,
    story: Option<u64>,
    keep: Option<Kept>,
    survey: bool,
    shrink: bool,
}

fn parse(words: &[String]) -> Result<Options, String> {
    let mut options = Options { seed: 1, rounds: 1_000_000, threads: 1, ..Options::default() };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--help" | "-h" => return Err(USAGE.to_owned()),
            "--survey" => options.survey = true,
            "--shrink" => options.shrink = true,
            _ => {}
        }
        if matches!(word.as_str(), "--survey" | "--shrink") {
            continue;
        }
        let value = words.next().ok_or_else(|| format!("{word} needs a value\n\n{USAGE}"))?;
        let number =
            || value.replace('_', "").parse::<u64>().map_err(|_| format!("{word} {value:?}: expected a number"));
        match word.as_str() {
            "--seed" => options.seed = number()?,
            "--rounds" => options.rounds = number()?,
            "--threads" => options.threads = usize::try_from(number()?).unwrap_or(1),
            "--profile" => options.scope.profile = Some(profile(value)?),
            "--staged" if value == "only" || value == "none" => options.scope.staged = Some(value == "only"),
            "--staged" => return Err(format!("--staged {value:?}: expected only or none")),
            "--claims" if value == "zones" => options.scope.claims = Claims::Zones,
            "--claims" if value == "objects" => options.scope.claims = Claims::Objects,
            "--claims" if value == "table" => options.scope.claims = Claims::Table,
            "--claims" => return Err(format!("--claims {value:?}: expected zones, objects or table")),
            "--story" => options.story = Some(number()?),
            "--keep" => options.keep = Some(parse_kept(value)?),
            _ => return Err(format!("no such option: {word}\n\n{USAGE}")),
        }
    }
    Ok(options)
}

fn profile(name: &str) -> Result<String, String> {
    let known: Vec<String> = profiles().iter().chain(&reading()).map(|profile| profile.name.to_owned()).collect();
    if known.iter().any(|known| known == name) {
        return Ok(name.to_owned());
    }
    Err(format!("--profile {name:?}: expected one of {}", known.join(", ")))
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match parse(&words) {
        Ok(options) if options.survey => survey(&options),
        Ok(options) => match options.story {
            Some(seed) => tell(seed, &options),
            None => play(&options),
        },
        Err(problem) => {
            eprintln!("{problem}");
            ExitCode::FAILURE
        }
    }
}

fn tell(seed: u64, options: &Options) -> ExitCode {
    let history = History::new(seed, &options.scope);
    let history = options.keep.as_ref().map_or(history.clone(), |kept| history.keep(kept));
    let broken = if options.shrink { history.run(false).violation } else { None };
    let history = broken.map_or(history.clone(), |violation| history.shrink(violation.rule));
    println!("{}", history.story(&options.scope));
    ExitCode::SUCCESS
}

fn play(options: &Options) -> ExitCode {
    let began = Instant::now();
    let shown = AtomicU64::new(0);
    let progress = |tally: &Tally| {
        let million = tally.rounds / 500_000;
        if shown.fetch_max(million, Ordering::Relaxed) < million {
            println!("{}", figures(tally, began));
        }
    };
    let tally = simulate(options.seed, options.rounds, options.threads, &options.scope, &progress);
    println!("{}", figures(&tally, began));
    let Some((seed, violation)) = &tally.broken else {
        println!("No rule was broken.");
        return looked(&tally.verdicts, tally.rounds, &options.scope);
    };
    println!("\nBroken in history {seed}: {} ({}). The shortest story of it:\n", violation.rule, violation.text);
    println!("{}", History::new(*seed, &options.scope).shrink(violation.rule).story(&options.scope));
    ExitCode::FAILURE
}

/// Prints how often each rule was judged; a run whose judge looked away fails. With one kind of provider some rules have
/// nothing to judge.
fn looked(verdicts: &Verdicts, rounds: u64, scope: &Scope) -> ExitCode {
    println!("{}", verdicts.table());
    let few = if scope.is_narrow() { Vec::new() } else { verdicts.too_few(rounds, scope.claims) };
    for (rule, judged, least) in &few {
        println!("Judged too rarely: {rule}: {judged} cases, at least {least} are expected");
    }
    if few.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn figures(tally: &Tally, began: Instant) -> String {
    let seconds = began.elapsed().as_secs_f64();
    #[expect(clippy::cast_precision_loss, reason = "a figure for people")]
    let rate = tally.rounds as f64 / seconds;
    format!(
        "{} rounds in {} histories, {} calls, {} writes; {seconds:.1} s, {rate:.0} rounds a second",
        tally.rounds, tally.histories, tally.calls, tally.writes
    )
}

/// A survey shows how far it is after so many rounds each.
const SHOWN: u64 = 100_000;

/// Counts how often each rule is broken, with the first seed of each rule and provider; each is reported when it is found.
fn survey(options: &Options) -> ExitCode {
    let mut found: std::collections::BTreeMap<String, (usize, u64)> = std::collections::BTreeMap::new();
    let (mut rounds, mut index, mut verdicts) = (0, 0, Verdicts::default());
    while rounds < options.rounds {
        let seed = zonewright_simulator::seed_of(options.seed, index);
        index += 1;
        let history = History::new(seed, &options.scope);
        let run = history.run(false);
        let before = rounds / SHOWN;
        rounds += run.rounds;
        verdicts.add(&run.verdicts);
        if rounds / SHOWN > before {
            println!("{rounds} rounds in {index} histories");
        }
        if let Some(violation) = run.violation {
            eprintln!("{} in history {seed}, round {rounds}: {}", violation.rule, violation.text);
            let entry = found.entry(format!("{:<45} {}", violation.rule, history.summary())).or_insert((0, seed));
            entry.0 += 1;
        }
    }
    println!("{rounds} rounds in {index} histories");
    for (what, (times, seed)) in &found {
        println!("{times:>6}  {what}  first {seed}");
    }
    let looked = looked(&verdicts, rounds, &options.scope);
    if found.is_empty() { looked } else { ExitCode::FAILURE }
}
