//! One history from its seed: drawn, run, and where it ends badly made as short as it gets.

use std::collections::BTreeSet;

use crate::chance::Chance;
use crate::rules::{Rule, Verdicts};
use crate::setup::{Claims, Scope, Setup};
use crate::step::{Dice, Step};
use crate::truth::Violation;
use crate::world::World;

/// A history that can be run any number of times.
#[derive(Debug, Clone)]
pub struct History {
    /// What everything is drawn from.
    pub seed: u64,
    setup: Setup,
    steps: Vec<(usize, Step)>,
}

/// How a history went.
#[derive(Debug, Clone, Default)]
pub struct Run {
    /// Number of steps.
    pub rounds: u64,
    /// Calls of providers that were made, and writes that were carried out.
    pub calls: u64,
    /// Writes of daemons that took effect.
    pub writes: u64,
    /// How often each rule was judged.
    pub verdicts: Verdicts,
    /// The first rule that was broken.
    pub violation: Option<Violation>,
    /// What happened, if that was asked for.
    pub story: Vec<String>,
}

/// Which steps of a history are kept, and which of them in fair weather: `1,4~,7`.
pub type Kept = Vec<(usize, bool)>;

impl History {
    /// The history of a seed.
    pub fn new(seed: u64, scope: &Scope) -> Self {
        let mut chance = Chance::new(seed);
        let setup = Setup::draw(&mut chance, scope);
        let steps = Dice::new(&mut chance, &setup).steps();
        Self { seed, setup, steps: steps.into_iter().enumerate().collect() }
    }

    /// The same history with these steps only.
    #[must_use]
    pub fn keep(&self, kept: &Kept) -> Self {
        let step = |(at, fair): &(usize, bool)| {
            let (_, step) = self.steps.iter().find(|(number, _)| number == at)?;
            Some((*at, Step { rough: step.rough && !fair, ..step.clone() }))
        };
        Self { steps: kept.iter().filter_map(step).collect(), ..self.clone() }
    }

    /// Kind of provider and company, in two words.
    pub fn summary(&self) -> String {
        let peer = if self.setup.peer { "+peer" } else { "" };
        format!("{:<16} {:?}{peer}", self.setup.profile.name, self.setup.company)
    }

    /// Number of steps.
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Whether nothing happens at all.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Runs it. The same history runs the same way every time.
    pub fn run(&self, tell: bool) -> Run {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        let runtime = runtime.expect("a runtime without I/O needs nothing that can fail");
        crate::panics::watch();
        let mut run = runtime.block_on(self.play(tell));
        run.verdicts.note(Rule::Panic, true);
        run.verdicts.note(Rule::NoEnd, true);
        if let Some(text) = crate::panics::unwatch() {
            run.violation = Some(Violation { rule: Rule::Panic, text });
        }
        run
    }

    async fn play(&self, tell: bool) -> Run {
        let mut world = World::new(&self.setup, self.seed, tell);
        world.start_all().await;
        world.rest().await;
        for (at, (_, step)) in self.steps.iter().enumerate() {
            world.truth().tell_step(at + 1, step);
            world.step(step).await;
            if world.is_broken() {
                break;
            }
        }
        if !world.is_broken() {
            world.finish().await;
        }
        let mut truth = world.truth();
        Run {
            rounds: self.steps.len() as u64,
            calls: truth.calls,
            writes: truth.writes,
            verdicts: truth.verdicts.clone(),
            violation: truth.violation.clone(),
            story: truth.story.take().unwrap_or_default(),
        }
    }

    fn breaks(&self, rule: Rule) -> bool {
        self.run(false).violation.is_some_and(|violation| violation.rule == rule)
    }

    fn kept(&self) -> Kept {
        self.steps.iter().map(|(at, step)| (*at, !step.rough)).collect()
    }

    /// The shortest history found that breaks the same rule: steps are left out, in halves at first, then one by one; then
    /// the weather of each is made fair.
    #[must_use]
    pub fn shrink(&self, rule: Rule) -> Self {
        let mut best = self.clone();
        let mut chunk = best.len().div_ceil(2);
        while chunk > 0 {
            let mut at = 0;
            let mut shorter = false;
            while at < best.len() {
                let gone: BTreeSet<usize> = best.steps.iter().skip(at).take(chunk).map(|(number, _)| *number).collect();
                let kept = best.kept().into_iter().filter(|(number, _)| !gone.contains(number)).collect();
                let candidate = best.keep(&kept);
                if candidate.breaks(rule) {
                    best = candidate;
                    shorter = true;
                } else {
                    at += chunk;
                }
            }
            chunk = if shorter && chunk == 1 { 1 } else { chunk / 2 };
        }
        for at in 0..best.len() {
            let mut kept = best.kept();
            if std::mem::replace(&mut kept[at].1, true) {
                continue;
            }
            let candidate = best.keep(&kept);
            if candidate.breaks(rule) {
                best = candidate;
            }
        }
        best
    }

    /// The command line words that run exactly this history again.
    pub fn words(&self) -> String {
        let one = |(at, fair): (usize, bool)| format!("{at}{}", if fair { "~" } else { "" });
        let kept: Vec<String> = self.kept().into_iter().map(one).collect();
        format!("--story {} --keep {}", self.seed, kept.join(","))
    }

    /// The history as it runs, in sentences.
    pub fn story(&self, scope: &Scope) -> String {
        let run = self.run(true);
        let mut lines = vec![format!("{}", self.setup).trim_end().to_owned(), String::new()];
        lines.extend(run.story);
        lines.push(String::new());
        match run.violation {
            Some(violation) => lines.push(format!("Broken: {}.\n  {}", violation.rule, violation.text)),
            None => lines.push("Nothing is broken.".to_owned()),
        }
        let profile = scope.profile.as_ref().map(|name| format!(" --profile {name}")).unwrap_or_default();
        let staged = match scope.staged {
            Some(true) => " --staged only",
            Some(false) => " --staged none",
            None => "",
        };
        let claims = match scope.claims {
            Claims::Zones => "",
            Claims::Objects => " --claims objects",
            Claims::Table => " --claims table",
        };
        lines.push(format!("Again: cargo xtask simulate {}{profile}{staged}{claims}", self.words()));
        lines.join("\n")
    }
}

/// Reads what [`History::words`] writes after `--keep`.
///
/// # Errors
/// Names the word that is no number.
pub fn parse_kept(text: &str) -> Result<Kept, String> {
    let one = |word: &str| {
        let number = word.trim_end_matches('~');
        let at = number.parse().map_err(|_| format!("{word:?} is no step; expected numbers such as 1,4~,7"))?;
        Ok((at, word.ends_with('~')))
    };
    text.split(',').filter(|word| !word.is_empty()).map(one).collect()
}
