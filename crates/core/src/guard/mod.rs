//! The brake: no mass deletion out of a mistake.
//!
//! It is no rate. If the deletes wanted and those done in the window together exceed a share of the owned records, all
//! counted deletes are held, and so are those that would leave the owner nothing. The same rule is judged over each zone,
//! over each provider instance and over the whole process. A held plan is visible and can be approved; an approval covers
//! each delete that it was given for once, and expires.

mod plan;
mod window;

use std::time::Duration;

pub use plan::{AcceptedKinds, Approval, BrakeScope, Digest, HeldPlan, JointPlan, SAMPLES, hash};
pub use window::{Peaks, Window};

/// The numbers of the brake; flags change or switch off each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Brake {
    /// Whether it works at all.
    pub enabled: bool,
    /// This many deletes within the window always pass.
    pub min_deletes: usize,
    /// Or this share of the owned records of the zone in percent, whichever is more.
    pub percent: usize,
    /// This many deletes of all zones together always pass.
    pub process_min_deletes: usize,
    /// Or this share of the owned records of all zones in percent, whichever is more.
    pub process_percent: usize,
    /// Length of the window.
    pub window: Duration,
    /// An owner that had at least this many records in the zone within the window is not left without any; 0 switches
    /// this rule off.
    pub owner_floor: usize,
    /// How long an approval holds.
    pub approval_ttl: Duration,
}

impl Default for Brake {
    fn default() -> Self {
        Self {
            enabled: true,
            min_deletes: 20,
            percent: 10,
            process_min_deletes: 20,
            process_percent: 10,
            window: Duration::from_hours(1),
            owner_floor: 10,
            approval_ttl: Duration::from_hours(1),
        }
    }
}

impl Brake {
    /// How many of `owned` records may go within the window.
    pub fn limit(&self, scope: BrakeScope, owned: usize) -> usize {
        let (least, percent) = match scope {
            BrakeScope::Zone => (self.min_deletes, self.percent),
            BrakeScope::Instance | BrakeScope::Process => (self.process_min_deletes, self.process_percent),
        };
        least.max(owned * percent / 100)
    }
}

/// A map with keys that are no texts, as a list of pairs: JSON has no other way.
mod pairs {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use crate::record::RecordKey;

    pub(super) fn serialize<S: Serializer, V: Serialize>(
        map: &BTreeMap<RecordKey, V>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(map)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>, V: Deserialize<'de>>(
        deserializer: D,
    ) -> Result<BTreeMap<RecordKey, V>, D::Error> {
        Ok(Vec::<(RecordKey, V)>::deserialize(deserializer)?.into_iter().collect())
    }
}

/// What the brake looks at: numbers of one zone, or sums over several.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Load {
    /// Counted deletes that are wanted now.
    pub counted: usize,
    /// Counted deletes that were done within the window, or may have been.
    pub done: usize,
    /// Other deletes that are wanted now (proven, approved, or replaced by another type).
    pub free: usize,
    /// Records of ours, without those that the same round made.
    pub owned: usize,
    /// The most that there were within the window ([`Window::peak`]), before the same round made any.
    pub peak: usize,
}

impl std::ops::Add for Load {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            counted: self.counted + other.counted,
            done: self.done + other.done,
            free: self.free + other.free,
            owned: self.owned + other.owned,
            peak: self.peak + other.peak,
        }
    }
}

/// Whether the counted deletes are held, and why. `None` lets them pass.
pub fn judge(brake: &Brake, scope: BrakeScope, load: Load) -> Option<String> {
    let Load { counted, done, owned, .. } = load;
    if !brake.enabled || counted == 0 {
        return None;
    }
    let limit = brake.limit(scope, owned);
    if counted + done > limit {
        return Some(format!(
            "{counted} deletes are wanted{} and {done} were done within the last {}; at most {limit} of {owned} owned records may go in that time",
            over(scope),
            crate::duration::show(brake.window),
        ));
    }
    leaves_nothing(brake, scope, load)
}

/// Whether the counted deletes would leave nothing of what an owner has had lately.
pub fn leaves_nothing(brake: &Brake, scope: BrakeScope, load: Load) -> Option<String> {
    let Load { counted, free, owned, .. } = load;
    let left = owned.saturating_sub(counted + free);
    let peak = load.peak.max(owned);
    let in_force = brake.enabled && brake.owner_floor > 0 && peak >= brake.owner_floor;
    (in_force && counted > 0 && left == 0).then(|| {
        let place = match scope {
            BrakeScope::Zone => "here",
            BrakeScope::Instance | BrakeScope::Process => over(scope).trim_start(),
        };
        format!("{counted} deletes would leave nothing of the {peak} records that were owned {place} lately")
    })
}

fn over(scope: BrakeScope) -> &'static str {
    match scope {
        BrakeScope::Zone => "",
        BrakeScope::Instance => " in all zones of the instance",
        BrakeScope::Process => " in all zones",
    }
}

#[cfg(test)]
#[path = "judge_tests.rs"]
mod tests;
