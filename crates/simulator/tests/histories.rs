//! What must hold of every history, over a fixed number of them, and of the simulator itself.

use zonewright_simulator::{Cases, Claims, History, Rule, Run, Scope, Tally, Verdicts, parse_kept, seed_of, simulate};

/// As in the program: most of the time goes into many small allocations.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The test command plays these with optimisation; without, they are a sample that takes seconds.
const IS_SAMPLE: bool = cfg!(debug_assertions);
const ROUNDS: u64 = if IS_SAMPLE { 1_000 } else { 100_000 };
/// Histories of each kind that are looked at one by one.
const HISTORIES: u64 = if IS_SAMPLE { 3 } else { 10 };

/// In a sample what is rare may not come up.
fn judged_enough(verdicts: &Verdicts, rounds: u64, claims: Claims) {
    if !IS_SAMPLE {
        assert_eq!(
            verdicts.too_few(rounds, claims),
            [],
            "a judge that looks away proves nothing:\n{}",
            verdicts.table()
        );
    }
}

fn told(seed: u64, scope: &Scope) -> String {
    let history = History::new(seed, scope);
    match history.run(false).violation {
        Some(violation) => history.shrink(violation.rule).story(scope),
        None => String::new(),
    }
}

/// Fixed seeds, so that it is the same every time, over all kinds of providers. What breaks a rule is told as a short story.
#[test]
fn no_history_breaks_a_rule() {
    let scope = Scope::default();
    let Tally { rounds, broken, verdicts, .. } = simulate(1, ROUNDS, 1, &scope, &|_| {});
    if let Some((seed, violation)) = broken {
        panic!("history {seed}: {violation:?}\n\n{}", told(seed, &scope));
    }
    assert!(rounds >= ROUNDS, "{rounds} rounds were played");
    judged_enough(&verdicts, rounds, Claims::Zones);
}

/// The same with claims elsewhere.
fn no_history_breaks_a_rule_with(claims: Claims) {
    let scope = Scope { claims, ..Scope::default() };
    let Tally { rounds, broken, verdicts, .. } = simulate(1, ROUNDS / 4, 1, &scope, &|_| {});
    if let Some((seed, violation)) = broken {
        panic!("history {seed}: {violation:?}\n\n{}", told(seed, &scope));
    }
    assert!(rounds >= ROUNDS / 4, "{rounds} rounds were played");
    judged_enough(&verdicts, rounds, claims);
}

#[test]
fn no_history_with_claims_in_objects_breaks_a_rule() {
    no_history_breaks_a_rule_with(Claims::Objects);
}

#[test]
fn no_history_with_claims_in_a_table_breaks_a_rule() {
    no_history_breaks_a_rule_with(Claims::Table);
}

/// The same seed is the same story, byte for byte.
#[test]
fn a_seed_is_a_story() {
    let scope = Scope::default();
    for index in 0..6 * HISTORIES {
        let history = History::new(seed_of(5, index), &scope);
        let (first, second) = (history.run(true), history.run(true));
        assert_eq!(first.story, second.story, "history {}", history.seed);
        assert!(!first.story.is_empty());
    }
}

/// Whatever a process draws by chance (the order of its hash tables, the address of an object, which thread is first) has no part in a
/// history: two of them tell the same story.
#[test]
fn a_seed_is_a_story_in_every_process() {
    let tell = |seed: u64, claims: &str| {
        let mut program = std::process::Command::new(env!("CARGO_BIN_EXE_zonewright-simulator"));
        let words = ["--story", &seed.to_string(), "--claims", claims].map(str::to_owned);
        let output = program.args(words).output().expect("the simulator of this very build");
        assert!(output.status.success(), "{seed} {claims}");
        String::from_utf8(output.stdout).expect("a story is a text")
    };
    for claims in ["zones", "objects", "table"] {
        for index in 0..HISTORIES {
            let seed = seed_of(12, index);
            let (first, second) = (tell(seed, claims), tell(seed, claims));
            assert!(first.len() > 100, "{seed} {claims}: {first}");
            assert_eq!(first, second, "{seed} {claims}");
        }
    }
}

/// A story that is told again with its words is the same; with fewer steps it is shorter.
#[test]
fn words_lead_back_to_the_story() {
    let scope = Scope::default();
    let history = History::new(seed_of(5, 3), &scope);
    let words = history.words();
    let kept = parse_kept(words.split(' ').next_back().unwrap_or_default()).expect("words are what is parsed");
    assert_eq!(history.keep(&kept).run(true).story, history.run(true).story);
    assert_eq!(history.keep(&vec![(0, true)]).len(), 1);
    assert_eq!(parse_kept("1,4~"), Ok(vec![(1, false), (4, true)]));
    assert!(parse_kept("1,x").is_err());
}

/// Much happens: calls and writes, with every kind of provider.
#[test]
fn histories_are_busy() {
    for profile in zonewright_simulator::profiles().into_iter().chain(zonewright_simulator::reading()) {
        let scope = Scope { profile: Some(profile.name.to_owned()), ..Scope::default() };
        let runs: Vec<Run> = (0..HISTORIES).map(|index| History::new(seed_of(9, index), &scope).run(false)).collect();
        let sum = |of: fn(&Run) -> u64| runs.iter().map(of).sum::<u64>();
        assert!(sum(|run| run.writes) > 2 * HISTORIES && sum(|run| run.calls) > 10 * HISTORIES, "{}", profile.name);
    }
}

#[test]
fn a_rule_that_looks_away_is_named() {
    let mut verdicts = Verdicts::default();
    for rule in Rule::ALL {
        verdicts.note_many(*rule, true, rule.least());
    }
    assert_eq!(verdicts.too_few(100_000, Claims::Zones), Vec::new());
    assert_eq!(verdicts.too_few(300_000, Claims::Table), Vec::new());
    assert!(verdicts.too_few(400_000, Claims::Table).iter().any(|(rule, ..)| *rule == Rule::Brake));
    assert!(verdicts.too_few(300_000, Claims::Zones).iter().any(|(rule, ..)| *rule == Rule::Brake));
    let mut others = Verdicts::default();
    others.note_many(Rule::Brake, false, 1_000_000);
    assert!(others.too_few(1, Claims::Zones).contains(&(Rule::Brake, 0, 1)), "an excuse is no verdict");
    others.add(&verdicts);
    assert_eq!(others.of(Rule::Brake), Cases { judged: Rule::Brake.least(), excused: 1_000_000 });
    assert!(others.table().contains("1000000  the brake holds"));
}
