//! Approvals, one at a time: in, which hash somebody gives; out, what the judge knows of it, and what the engine makes of it.

use zonewright_engine::Engine;

use super::World;
use crate::line::lock;
use crate::rules::Rule;
use crate::step::Pick;

impl World {
    /// Remembers what is held, so that it can be approved when it is not held any more.
    pub(super) fn note_held(&mut self) {
        for (daemon, seat) in self.seats.iter().enumerate() {
            let held = seat.process.iter().flat_map(|process| hashes(&process.engine));
            self.hashes.extend(held.map(|hash| (daemon, hash)));
        }
    }

    /// What must be so where everybody is at rest: what is held, and what was left behind.
    pub(super) fn judge_rest(&self, rough: bool) {
        let owners = self.setup.daemons.iter().enumerate().filter(|(_, daemon)| daemon.owner.is_some());
        for (daemon, _) in owners.filter(|_| !rough) {
            let plans = self.seats[daemon].process.iter().flat_map(|process| process.engine.plans());
            for (zone, plan) in plans {
                let keys: Vec<_> = plan.held.keys().cloned().collect();
                self.truth().judge_held(daemon, &zone, &keys);
            }
        }
        // What the provider refused for good in the middle of a write may stay until it takes the name again.
        let refuses = lock(&self.weather).refused;
        if !refuses {
            self.truth().judge_intents();
        }
    }

    pub(super) fn approve_one(&mut self, daemon: usize, pick: Pick) {
        self.note_held();
        let Some(process) = &self.seats[daemon].process else { return };
        let held = hashes(&process.engine);
        let hash = match pick {
            Pick::One(number) => held.get(number % held.len().max(1)).cloned(),
            Pick::Former(number) => {
                let former: Vec<&String> =
                    self.hashes.iter().filter(|(of, _)| *of == daemon).map(|(_, hash)| hash).collect();
                former.get(number % former.len().max(1)).map(|hash| (*hash).clone())
            }
            Pick::Wrong => Some("0123456789ab".to_owned()),
        };
        if let Some(hash) = hash {
            self.give(daemon, &hash);
        }
    }

    /// Approves the plan of a hash, if one is held.
    fn give(&self, daemon: usize, hash: &str) {
        let Some(process) = &self.seats[daemon].process else { return };
        let held = process.engine.plans();
        let joint = process.engine.joint_plans();
        let together = |zone: &String| joint.iter().any(|joint| joint.hash == hash && joint.zones.contains_key(zone));
        let meant: Vec<_> = held.iter().filter(|(zone, plan)| plan.hash == hash || together(zone)).collect();
        let until = self.now(daemon).plus(self.setup.brake.approval_ttl);
        for (zone, plan) in &meant {
            self.truth().approve(daemon, zone, plan.held.keys().cloned(), until, self.sight(daemon).doubts());
        }
        let approved = process.engine.approve(hash);
        let mut truth = self.truth();
        truth.verdicts.note(Rule::WrongApproval, true);
        if approved.is_some() && meant.is_empty() {
            truth.broken(Rule::WrongApproval, format!("daemon {daemon} takes {hash}, which it does not hold"));
        }
    }

    /// Approves whatever is held, one plan after the other; returns whether there was anything.
    pub(crate) fn approve(&self, daemon: usize) -> bool {
        let Some(process) = &self.seats[daemon].process else { return false };
        let hashes: Vec<String> = process.engine.plans().into_iter().map(|(_, plan)| plan.hash).collect();
        for hash in &hashes {
            self.give(daemon, hash);
        }
        !hashes.is_empty()
    }
}

/// The hashes of what is held: of each zone's plan, and of those that are held together.
fn hashes(engine: &Engine) -> Vec<String> {
    let plans = engine.plans().into_iter().map(|(_, plan)| plan.hash);
    plans.chain(engine.joint_plans().into_iter().map(|joint| joint.hash)).collect()
}
