//! Random histories of daemons, peers, people, clusters and failing providers, on one virtual clock.
//!
//! In: a seed. Out: how many rounds were played, and the story of the first history that broke a rule, as short as it gets.
//! Everything is drawn from the seed: the same seed is the same story, byte for byte. The engine and the registries are the
//! real ones; providers, clusters, people and external-dns are models that keep to what the real ones do.

mod busy;
mod chance;
mod cluster;
mod finish;
mod history;
mod line;
mod names;
mod panics;
mod peer;
mod profile;
mod rules;
mod setup;
mod step;
mod truth;
mod world;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

pub use busy::{Busy, busy_zone};
pub use history::{History, Kept, Run, parse_kept};
pub use profile::{Profile, profiles, reading};
pub use rules::{Cases, Rule, Verdicts};
pub use setup::{Claims, Scope};
pub use truth::Violation;

/// What was played.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    /// Histories.
    pub histories: u64,
    /// Steps of all of them.
    pub rounds: u64,
    /// Calls of providers.
    pub calls: u64,
    /// Writes of daemons that took effect.
    pub writes: u64,
    /// How often each rule was judged.
    pub verdicts: Verdicts,
    /// The seed of the first history that broke a rule, and the rule.
    pub broken: Option<(u64, Violation)>,
}

/// The seed of the history at `index` of a base seed.
pub fn seed_of(base: u64, index: u64) -> u64 {
    chance::mix(base, index)
}

/// Plays histories of `base` until `rounds` have been played or a rule is broken, on so many threads. Which histories are
/// played does not depend on the threads, but for a few at the end.
pub fn simulate(base: u64, rounds: u64, threads: usize, scope: &Scope, progress: &(dyn Fn(&Tally) + Sync)) -> Tally {
    let (next, played) = (AtomicU64::new(0), AtomicU64::new(0));
    let stop = AtomicBool::new(false);
    let total = std::sync::Mutex::new(Tally::default());
    let work = || {
        while !stop.load(Ordering::Relaxed) && played.load(Ordering::Relaxed) < rounds {
            let seed = seed_of(base, next.fetch_add(1, Ordering::Relaxed));
            let run = History::new(seed, scope).run(false);
            played.fetch_add(run.rounds, Ordering::Relaxed);
            let mut total = total.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            total.histories += 1;
            total.rounds += run.rounds;
            total.calls += run.calls;
            total.writes += run.writes;
            total.verdicts.add(&run.verdicts);
            if let Some(violation) = run.violation {
                stop.store(true, Ordering::Relaxed);
                total.broken.get_or_insert((seed, violation));
            }
            progress(&total);
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(work);
        }
        work();
    });
    total.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)
}
