//! What happened in a run, with its times: printed where the test fails.

use std::time::Instant;

/// The events of a run. It is printed on drop where the test fails, with the seed by which its dice fall again.
#[derive(Debug)]
pub(super) struct Story {
    name: String,
    seed: u64,
    began: Instant,
    events: Vec<String>,
}

impl Story {
    pub(super) fn new(name: String, seed: u64) -> Self {
        println!("{name}: CHAOS_SEED={seed}");
        Self { name, seed, began: Instant::now(), events: Vec::new() }
    }

    /// Adds an event that happened just now.
    pub(super) fn note(&mut self, event: impl std::fmt::Display) {
        self.events.push(format!("{:8.3} s  {event}", self.began.elapsed().as_secs_f64()));
    }

    pub(super) fn len(&self) -> usize {
        self.events.len()
    }
}

impl Drop for Story {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let events = self.events.join("\n");
            eprintln!("---- {} with CHAOS_SEED={}: what happened ----\n{events}\n----", self.name, self.seed);
        }
    }
}
