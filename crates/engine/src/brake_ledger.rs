//! What the brake knows of all zones at once: which counted deletes each of them wants now, and how many records it owns.
//!
//! In: the wants of each zone as it is judged. Out: whether its deletes may go, by the same rule for the zone, for its
//! instance and for the whole process. Pure but for what it remembers; the state's lock is held around it, so that two zones
//! are never judged by the same room. What a narrower hold keeps back takes no room of a wider one: a zone that wants to
//! lose everything does not hold up the others.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use zonewright_core::clock::Timestamp;
use zonewright_core::guard::{Brake, BrakeScope, HeldPlan, Load, Window, judge, leaves_nothing};
use zonewright_core::record::RecordKey;
use zonewright_core::zone::InstanceId;

/// So many zones and namespaces are named in the reason of a hold.
const NAMED: usize = 3;

/// One zone as the brake last saw it.
#[derive(Debug, Clone, Default)]
pub(crate) struct ZoneLoad {
    /// Counted deletes that are wanted and may not go without the brake, with the namespaces of their objects.
    pub(crate) wanted: BTreeMap<RecordKey, Option<Arc<str>>>,
    /// Other deletes that are wanted.
    pub(crate) free: usize,
    /// Records of ours, before the round that was judged.
    pub(crate) owned: usize,
    /// The most of them within the window.
    pub(crate) peak: usize,
    /// What its deletes were held for when they were last judged.
    held: Option<BrakeScope>,
}

impl ZoneLoad {
    /// A zone that is to be judged.
    pub(crate) fn new(wanted: BTreeMap<RecordKey, Option<Arc<str>>>, free: usize, owned: usize, peak: usize) -> Self {
        Self { wanted, free, owned, peak, held: None }
    }
}

/// Why counted deletes are held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Hold {
    /// What was judged.
    pub(crate) scope: BrakeScope,
    /// In a sentence.
    pub(crate) reason: String,
    /// Whether they would leave the owner nothing.
    pub(crate) floor: bool,
}

/// The zones that have been judged, by instance and label.
#[derive(Debug, Default)]
pub(crate) struct BrakeLedger {
    zones: BTreeMap<String, (InstanceId, ZoneLoad)>,
    /// What an earlier process noted of zones, where it could not be read at the start; for as long as that is lately.
    recalled: BTreeMap<String, Window>,
}

/// What the windows of the state say; a view for the time of one judgement.
pub(crate) struct Windows<'a> {
    pub(crate) of: &'a dyn Fn(&str) -> Option<&'a Window>,
    pub(crate) all: &'a dyn Fn() -> Vec<(&'a str, &'a Window)>,
}

impl BrakeLedger {
    /// Takes over what a zone wants now. Returns the zones that a wider hold keeps back and that may have room since.
    pub(crate) fn note(&mut self, zone: &str, instance: &InstanceId, load: ZoneLoad) -> Vec<String> {
        let former = self.zones.insert(zone.to_owned(), (instance.clone(), load));
        let before = former.map_or(0, |(_, load)| load.wanted.len());
        let now = self.zones.get(zone).map_or(0, |(_, load)| load.wanted.len());
        if now < before { self.held_widely(zone) } else { Vec::new() }
    }

    /// What an earlier process noted of a zone can be read only now: what stood there then counts as what its owner has had lately, also
    /// in a round that began before, and is judged later.
    pub(crate) fn recall(&mut self, zone: &str, window: &Window) {
        self.recalled.insert(zone.to_owned(), window.clone());
    }

    /// Whether a zone has been judged.
    pub(crate) fn knows(&self, zone: &str) -> bool {
        self.zones.contains_key(zone)
    }

    /// The number of zones that it reckons with.
    pub(crate) fn len(&self) -> usize {
        self.zones.len()
    }

    /// Forgets a zone that is gone. Returns as [`BrakeLedger::note`].
    pub(crate) fn forget(&mut self, zone: &str) -> Vec<String> {
        self.recalled.remove(zone);
        if self.zones.remove(zone).is_some_and(|(_, load)| !load.wanted.is_empty()) {
            return self.held_widely(zone);
        }
        Vec::new()
    }

    /// Deletes of a zone go, and so do those that the brake does not count: they are wanted no more, and what they take away is
    /// owned no more. Should they fail, the zone is judged anew.
    pub(crate) fn gone(&mut self, zone: &str, keys: &BTreeSet<RecordKey>) {
        if let Some((_, load)) = self.zones.get_mut(zone) {
            load.wanted.retain(|key, _| !keys.contains(key));
            load.owned = load.owned.saturating_sub(keys.len() + std::mem::take(&mut load.free));
        }
    }

    fn held_widely(&self, but: &str) -> Vec<String> {
        let held = |(label, (_, load)): &(&String, &(InstanceId, ZoneLoad))| {
            *label != but && load.held.is_some_and(|scope| scope != BrakeScope::Zone)
        };
        self.zones.iter().filter(held).map(|(label, _)| label.clone()).collect()
    }

    /// Judges the deletes that a zone wants, as last noted. `former` is the plan that was held there.
    pub(crate) fn judge(
        &mut self,
        brake: &Brake,
        zone: &str,
        former: Option<Hold>,
        windows: &Windows<'_>,
        now: Timestamp,
    ) -> Option<Hold> {
        self.recalled.retain(|_, window| !window.is_over(brake.window, now));
        let hold = self.hold(brake, zone, former, windows, now);
        if let Some((_, load)) = self.zones.get_mut(zone) {
            load.held = hold.as_ref().map(|hold| hold.scope);
        }
        hold
    }

    fn hold(
        &self,
        brake: &Brake,
        zone: &str,
        former: Option<Hold>,
        windows: &Windows<'_>,
        now: Timestamp,
    ) -> Option<Hold> {
        let (instance, own) = self.zones.get(zone)?;
        if own.wanted.is_empty() {
            return None;
        }
        let sums = Sums::over(self, brake, windows, now);
        let instance_load = sums.instance(instance);
        let scopes = [
            (BrakeScope::Zone, sums.zones.get(zone).copied().unwrap_or_default()),
            (BrakeScope::Instance, instance_load),
            (BrakeScope::Process, sums.process(brake)),
        ];
        let held = scopes.into_iter().find_map(|(scope, load)| {
            let reason = judge(brake, scope, load)?;
            let floor = leaves_nothing(brake, scope, load).is_some();
            let reason = match scope {
                BrakeScope::Zone => reason,
                BrakeScope::Instance => format!("{reason}: {}", self.filled_by(brake, Some(instance), windows, now)),
                BrakeScope::Process => format!("{reason}: {}", self.filled_by(brake, None, windows, now)),
            };
            // One instance is the whole process.
            let scope =
                if scope == BrakeScope::Instance && sums.instances.len() == 1 { BrakeScope::Process } else { scope };
            Some(Hold { scope, reason, floor })
        });
        held.or(former)
    }

    /// The zones and namespaces whose deletes filled a window, the fullest first.
    fn filled_by(&self, brake: &Brake, instance: Option<&InstanceId>, windows: &Windows<'_>, now: Timestamp) -> String {
        let none = BTreeSet::new();
        let prefix = instance.map(|instance| format!("{instance}/"));
        let inside = |label: &str| prefix.as_ref().is_none_or(|prefix| label.starts_with(prefix));
        let (mut zones, mut namespaces) = (BTreeMap::<String, usize>::new(), BTreeMap::<String, usize>::new());
        for (label, window) in (windows.all)().into_iter().filter(|(label, _)| inside(label)) {
            *zones.entry(label.to_owned()).or_default() += window.deletes(brake.window, &none, now);
            for (namespace, count) in window.namespaces(brake.window, now) {
                *namespaces.entry(namespace.to_string()).or_default() += count;
            }
        }
        for (label, (_, load)) in self.zones.iter().filter(|(label, _)| inside(label)) {
            *zones.entry(label.clone()).or_default() += load.wanted.len();
            for namespace in load.wanted.values().flatten() {
                *namespaces.entry(namespace.to_string()).or_default() += 1;
            }
        }
        let namespaces = listed("namespaces", &namespaces);
        let comma = if namespaces.is_empty() { "" } else { "; " };
        format!("{}{comma}{namespaces}", listed("zones", &zones))
    }
}

/// `zones a (9), b (9) and 28 more`; nothing where there are none.
fn listed(what: &str, counts: &BTreeMap<String, usize>) -> String {
    let mut counts: Vec<(&String, usize)> = counts.iter().map(|(name, count)| (name, *count)).collect();
    counts.retain(|(_, count)| *count > 0);
    if counts.is_empty() {
        return String::new();
    }
    counts.sort_by_key(|(name, count)| (std::cmp::Reverse(*count), *name));
    let named: Vec<String> = counts.iter().take(NAMED).map(|(name, count)| format!("{name} ({count})")).collect();
    let more = counts.len().saturating_sub(NAMED);
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{what} {}{rest}", named.join(", "))
}

/// What each scope adds up to. A zone that is held by its own numbers, and an instance by its, adds nothing that is wanted.
struct Sums<'a> {
    zones: BTreeMap<&'a str, Load>,
    instances: BTreeMap<&'a InstanceId, Load>,
    /// What was done, and what stood, in zones of instances that are not known now.
    elsewhere: Load,
}

impl<'a> Sums<'a> {
    fn over(ledger: &'a BrakeLedger, brake: &Brake, windows: &Windows<'_>, now: Timestamp) -> Self {
        let mut sums = Self { zones: BTreeMap::new(), instances: BTreeMap::new(), elsewhere: Load::default() };
        for (label, (instance, zone)) in &ledger.zones {
            let wanted: BTreeSet<RecordKey> = zone.wanted.keys().cloned().collect();
            let done = (windows.of)(label).map_or(0, |window| window.deletes(brake.window, &wanted, now));
            let recalled = ledger.recalled.get(label).map_or(0, |window| window.peak(brake.window, now));
            let peak = zone.peak.max(recalled);
            let load = Load { counted: wanted.len(), done, free: zone.free, owned: zone.owned, peak };
            sums.zones.insert(label, load);
            let passes = zone.held != Some(BrakeScope::Zone) || judge(brake, BrakeScope::Zone, load).is_none();
            let sum = sums.instances.entry(instance).or_default();
            *sum = *sum + Load { counted: if passes { load.counted } else { 0 }, ..load };
        }
        let none = BTreeSet::new();
        for (label, window) in (windows.all)() {
            if ledger.zones.contains_key(label) {
                continue;
            }
            let done = window.deletes(brake.window, &none, now);
            let past = Load { done, peak: window.peak(brake.window, now), ..Load::default() };
            let of = sums.instances.iter_mut().find(|(instance, _)| label.starts_with(&format!("{instance}/")));
            match of {
                Some((_, load)) => *load = *load + past,
                None => sums.elsewhere = sums.elsewhere + past,
            }
        }
        sums
    }

    fn instance(&self, instance: &InstanceId) -> Load {
        self.instances.get(instance).copied().unwrap_or_default()
    }

    fn process(&self, brake: &Brake) -> Load {
        let passing = self.instances.values().map(|load| {
            let passes = judge(brake, BrakeScope::Instance, *load).is_none();
            Load { counted: if passes { load.counted } else { 0 }, ..*load }
        });
        passing.fold(self.elsewhere, |sum, load| sum + load)
    }
}

/// Why a plan stays held though the numbers would not hold it.
pub(crate) fn lasting(
    plan: &HeldPlan,
    brake: &Brake,
    counted: &BTreeSet<RecordKey>,
    withheld: &BTreeSet<RecordKey>,
    is_asked: impl Fn(&RecordKey) -> bool,
) -> Option<Hold> {
    let reason = plan.stays(brake, counted, withheld, is_asked)?;
    Some(Hold { scope: plan.scope, reason, floor: true })
}

#[cfg(test)]
#[path = "brake_ledger_tests.rs"]
mod tests;
