//! The end of a history: faults stop, and what must be true then.
//!
//! In: the world after its last step. Out: broken rules. Once everybody works, the daemons come to what is asked for, and are
//! silent; a fresh process finds nothing to do.

mod moves;
mod one_kind;

use std::collections::BTreeSet;
use std::time::Duration;

use tokio::time::{Instant, sleep};
use zonewright_core::capability::TargetCount;
use zonewright_core::plan::Policy;
use zonewright_core::record::SetId;
use zonewright_core::{DnsName, RData, RecordData, RecordKey, RecordSet, RecordType};

use crate::cluster::{Ask, KINDS, Sight};
use crate::names::{ADDRESSES, MANAGED, Saying, is_forged, saying};
use crate::rules::Rule;
use crate::setup::Company;
use crate::truth::{Objects, Right};
use crate::world::World;

impl World {
    /// Everything works from here on; then what must hold is checked.
    pub(crate) async fn finish(&mut self) {
        self.truth().calm = false;
        self.truth().tell(|| "From here on nothing fails, and nobody does anything.".to_owned());
        self.set_weather(0, false);
        let refused = self.relent();
        for cluster in &self.clusters {
            (0..KINDS.len()).for_each(|kind| cluster.mend(kind));
        }
        self.follow_all();
        self.mend_states().await;
        self.revive().await;
        // A call that was on its way may still be a process' last.
        sleep(Duration::from_secs(1)).await;
        self.revive().await;
        self.start_all().await;
        // A state that can be read again brings back what it kept as an undo left it.
        sleep(Duration::from_secs(10)).await;
        self.follow_all();
        sleep(Duration::from_mins(3).max(self.setup.grace) + self.setup.interval).await;
        if refused {
            // A name that was refused for good is not tried again before an hour has passed.
            sleep(Duration::from_mins(63)).await;
        }
        self.calm_down().await;
        self.truth().check_shadows(true);
        if self.setup.company == Company::Namesakes {
            self.no_fight_without_end().await;
            return;
        }
        self.converged();
        self.moved();
        self.silent().await;
    }

    /// Lets fights end, and approves what is held.
    async fn calm_down(&mut self) {
        self.rest().await;
        for _ in 0..3 {
            let mut held = false;
            for daemon in 0..self.setup.daemons.len() {
                held |= self.approve(daemon);
            }
            if !held {
                break;
            }
            // What goes may make room for what another daemon waits for.
            self.rest().await;
            sleep(self.setup.interval * 2).await;
            self.rest().await;
        }
        self.settle().await;
        for _ in 0..8 {
            if self.setup.company == Company::Namesakes || !self.fights() {
                break;
            }
            sleep(Duration::from_mins(20)).await;
            self.rest().await;
            if !self.fights() {
                self.settle().await;
            }
        }
    }

    /// What was held for a while goes, and makes room for others, a few audits later; a word on a record that is gone ends after a few
    /// readings of its zone.
    async fn settle(&mut self) {
        for _ in 0..12 {
            let before = self.activity();
            sleep(self.setup.interval * 2 + Duration::from_secs(5)).await;
            self.rest().await;
            if self.activity() == before && !self.truth().has_word_on_what_is_gone() {
                break;
            }
        }
    }

    /// The number of writes to zones, and to what else holds claims: one that ends makes room for others, too.
    fn activity(&self) -> (u64, u64) {
        let truth = self.truth();
        (truth.writes, truth.objects.as_ref().map_or(0, Objects::versions))
    }

    /// Two clusters under one owner id never agree; they must not write without end.
    async fn no_fight_without_end(&mut self) {
        sleep(Duration::from_hours(2)).await;
        self.rest().await;
        self.truth().verdicts.note(Rule::Fight, true);
        let often = self.writes_of_late().into_iter().find(|(_, times)| *times > 24);
        if let Some(((daemon, _, name), times)) = often {
            self.truth().broken(Rule::Fight, format!("daemon {daemon} wrote {name} {times} times within an hour"));
        }
        self.truth().check_shadows(true);
    }

    /// No more writes, also not by fresh processes.
    async fn silent(&mut self) {
        if self.is_broken() {
            return;
        }
        let before = self.truth().writes;
        sleep(self.setup.interval * 3 + Duration::from_secs(5)).await;
        self.rest().await;
        self.truth().verdicts.note(Rule::Silence, true);
        if self.truth().writes != before {
            self.truth().broken(Rule::Silence, "there were writes after all was done");
        }
        if (0..self.setup.daemons.len()).any(|daemon| self.sight(daemon).waits_for_anything()) {
            // What was joined in doubt may be taken for an inheritance by a fresh process.
            self.truth().verdicts.note(Rule::Fresh, false);
            return;
        }
        if self.setup.company == Company::Claimless {
            // Without claims nobody remembers who held a name, and of two that ask for the same target the other may get it.
            self.truth().verdicts.note(Rule::Fresh, false);
            return;
        }
        for daemon in 0..self.setup.daemons.len() {
            self.stop(daemon).await;
        }
        let stopped = Instant::now();
        self.start_all().await;
        self.rest().await;
        sleep(self.setup.interval + Duration::from_secs(5)).await;
        self.rest().await;
        self.truth().verdicts.note(Rule::Fresh, true);
        // A fresh process does not know for how long a name has been without targets, and keeps what stands there anew.
        if self.has_written(stopped) {
            self.truth().broken(Rule::Fresh, "it wrote something");
        }
    }

    /// What stands is what is asked for, as far as it may.
    fn converged(&self) {
        let mut names: BTreeSet<DnsName> = self.records().into_iter().map(|(_, set)| set.key.name).collect();
        names.extend((0..self.setup.daemons.len()).flat_map(|daemon| self.sight(daemon).names()));
        for name in names {
            for (daemon, party) in self.setup.daemons.iter().enumerate() {
                if !party.dry_run && !self.is_broken() {
                    self.name_converged(daemon, &name);
                }
            }
        }
    }

    fn name_converged(&self, daemon: usize, name: &DnsName) {
        for instance in 0..self.setup.instances() {
            let sight = Sight { instance: Some(instance), ..self.sight(daemon) };
            let zone = self.truth().zone_of(instance, name);
            if self.truth().zones[zone].instance() != instance {
                continue;
            }
            if sight.rows.has_one_kind() {
                self.room_converged(daemon, (zone, &sight), name);
                continue;
            }
            let asked = sight.asks(name).into_iter().map(|ask| ask.key.set_id);
            let here = self.records().into_iter().filter(|(at, set)| *at == zone && set.key.name == *name);
            let ids: BTreeSet<Option<SetId>> = asked.chain(here.map(|(_, set)| set.key.set_id)).collect();
            for id in ids {
                self.row_converged(daemon, (zone, &sight), name, id.as_ref());
            }
        }
    }

    /// Whether a name is to be as it is asked for by now.
    fn is_settled(&self, daemon: usize, name: &DnsName) -> bool {
        // What cannot be told of an object may concern every instance.
        let waits = self.sight(daemon).waits_for_anything() || self.holds(daemon);
        if waits || self.flags(daemon).policy != Policy::Sync {
            for rule in [Rule::Wanted, Rule::Stands, Rule::Orphan] {
                self.truth().verdicts.note(rule, false);
            }
            return false;
        }
        self.truth().parties[daemon].may_touch(name)
    }

    /// The records of one name and set identifier: what stands under another one is nothing to them.
    fn row_converged(&self, daemon: usize, at: (usize, &Sight), name: &DnsName, id: Option<&SetId>) {
        let (zone, cluster) = at;
        if !self.is_settled(daemon, name) {
            return;
        }
        let mut asks = cluster.asks(name);
        asks.retain(|ask| ask.key.set_id.as_ref() == id);
        let here: Vec<RecordSet> = self
            .records()
            .into_iter()
            .filter(|(at, set)| *at == zone && set.key.name == *name && set.key.set_id.as_ref() == id)
            .map(|(_, set)| set)
            .collect();
        if asks.iter().any(|ask| ask.has_policy) {
            return;
        }
        let ours: Vec<&RecordSet> = here.iter().filter(|set| self.is_ours(daemon, zone, &set.key)).collect();
        let foreign = ours.len() < here.len();
        self.settle_cnames(zone, &ours, &mut asks);
        // A change of type is one group: what bars one of the types that are to come holds all of them.
        let excluded = |set: &RecordSet| asks.iter().any(|ask| ask.key.rtype.excludes(set.key.rtype));
        let stuck = ours.iter().any(|set| excluded(set)) && asks.iter().any(|ask| self.is_barred(daemon, zone, ask));
        if stuck {
            return;
        }
        for set in &ours {
            self.wanted(daemon, zone, set, &asks, foreign);
        }
        for ask in &asks {
            let barred = foreign || self.is_barred(daemon, zone, ask);
            self.truth().verdicts.note(Rule::Wanted, !barred);
            if !here.iter().any(|set| set.key == ask.key) && !barred {
                let text = format!("daemon {daemon}: {} asks for {}, and nothing stands there", ask.label, ask.key);
                self.truth().broken(Rule::Wanted, text);
            }
        }
    }

    /// A CNAME stands alone: it yields to the other types, unless a holder of what stands there asks for it and none for another.
    fn settle_cnames(&self, zone: usize, ours: &[&RecordSet], asks: &mut Vec<Ask>) {
        let is_cname = |ask: &Ask| ask.key.rtype == RecordType::Cname;
        if asks.iter().all(is_cname) {
            return;
        }
        let first = self.setup.profile.capability.targets == TargetCount::First;
        let same = |stands: &[RData], asked: &[RData]| {
            stands.iter().all(|data| asked.contains(data)) && (first || stands.len() == asked.len())
        };
        let holds = |ask: &&Ask| {
            ours.iter().any(|set| match self.right(zone, &set.key) {
                Right::One { resource: Some(resource), .. } => resource == ask.label,
                // Where no claim names anybody, he holds the name who asks for what stands there.
                _ => set.key.rtype == ask.key.rtype && same(set.data.as_records(), &ask.data),
            })
        };
        let held: Vec<bool> = asks.iter().filter(holds).map(is_cname).collect();
        let keeps = held.contains(&true) && !held.contains(&false);
        asks.retain(|ask| is_cname(ask) == keeps);
    }

    /// Whether a record of ours is what somebody asks for.
    fn wanted(&self, daemon: usize, zone: usize, set: &RecordSet, asks: &[Ask], foreign: bool) {
        if matches!(self.right(zone, &set.key), Right::One { policy: Some(_), .. }) {
            return;
        }
        if self.truth().has_two_rows(&set.key) {
            self.truth().verdicts.note(Rule::Stands, false);
            return;
        }
        let of_type: Vec<&Ask> = asks.iter().filter(|ask| ask.key == set.key).collect();
        if of_type.is_empty() {
            // Where what is to come in its place cannot come, it stays.
            let barred = |ask: &Ask| foreign || self.is_barred(daemon, zone, ask);
            let addresses = |rtype: RecordType| ADDRESSES.contains(&rtype) && ADDRESSES.contains(&set.key.rtype);
            let takes_place = |ask: &Ask| ask.key.rtype.excludes(set.key.rtype) || addresses(ask.key.rtype);
            let replaced = asks.iter().any(|ask| takes_place(ask) && barred(ask));
            self.truth().verdicts.note(Rule::Orphan, !replaced);
            if !replaced {
                self.truth().broken(Rule::Orphan, format!("daemon {daemon}: {set} is still there"));
            }
            return;
        }
        if of_type.iter().all(|ask| self.is_barred(daemon, zone, ask)) {
            // What cannot be written keeps what stands.
            self.truth().verdicts.note(Rule::Stands, false);
            return;
        }
        let published = set.data.as_records();
        let all: Vec<&RData> = of_type.iter().flat_map(|ask| &ask.data).collect();
        let first = self.setup.profile.capability.targets == TargetCount::First || set.key.rtype == RecordType::Cname;
        let fits = |ask: &&Ask| {
            let whole = ask.data.iter().all(|data| published.contains(data))
                && published.iter().all(|data| all.contains(&data));
            let one = published.len() == 1 && ask.data.contains(&published[0]);
            if first { one } else { whole }
        };
        self.truth().verdicts.note(Rule::Stands, true);
        self.truth().verdicts.note(Rule::Orphan, true);
        if set.key.set_id.is_some() {
            self.truth().verdicts.note(Rule::Routing, true);
        }
        if !of_type.iter().any(|ask| ask.routing == set.routing) {
            let text = format!("daemon {daemon}: {set} is routed by {:?}, nobody asks for that", set.routing);
            self.truth().broken(Rule::Routing, text);
        }
        if let [Ask { ttl: Some(_), .. }] = of_type.as_slice() {
            self.truth().verdicts.note(Rule::TimeToLive, true);
        }
        if !of_type.iter().any(fits) {
            self.truth().broken(Rule::Stands, format!("daemon {daemon}: {set} stands, nobody asks for that"));
        }
        if let [only] = of_type.as_slice()
            && let Some(ttl) = only.ttl
            && set.ttl != Some(self.setup.profile.capability.ttl.clamp(ttl))
        {
            self.truth().broken(Rule::TimeToLive, format!("daemon {daemon}: {set}, asked for {ttl}"));
        }
    }

    /// Whether something keeps a record from being created.
    fn is_barred(&self, daemon: usize, zone: usize, ask: &Ask) -> bool {
        let (key, capability) = (&ask.key, &self.setup.profile.capability);
        if ask.data.iter().any(|data| is_forged(&RecordData::records([data.clone()]))) {
            return true;
        }
        let mut truth = self.truth();
        let rows = truth.rows();
        let apex = truth.zones[zone].zone.name.clone();
        if key.name.is_wildcard() && !capability.wildcards
            || key.rtype == RecordType::Cname && key.name == apex && capability.cname.alone
        {
            return true;
        }
        let owner = self.setup.daemons[daemon].owner;
        match truth.right(zone, key) {
            Right::Nobody => {}
            Right::One { owner: by, .. } if Some(&*by) == owner => {}
            _ => return true,
        }
        if truth.is_blocked_by_row(owner, key) {
            return true;
        }
        // What stands there may have to stay.
        let rivals: Vec<RecordKey> = truth.zones[zone]
            .sets
            .keys()
            .filter(|other| rows.same(other, key) && other.rtype.excludes(key.rtype) || rows.other_kind(other, key))
            .cloned()
            .collect();
        let mut stays = |rival: &RecordKey| {
            matches!(truth.right(zone, rival), Right::One { policy: Some(_), .. }) || truth.has_two_rows(rival)
        };
        if rivals.iter().any(&mut stays) {
            return true;
        }
        let places = truth.places(zone, key);
        let sets = &truth.zones[zone].sets;
        // A text may be a claim on another set of the name.
        let shares =
            |other: &RecordKey| rows.same(other, key) || other.rtype == RecordType::Txt && other.name == key.name;
        let beside = |set: &RecordSet| shares(&set.key) && !MANAGED.contains(&set.key.rtype);
        if key.rtype == RecordType::Cname && sets.values().any(beside) {
            return true;
        }
        if truth.objects.is_some() {
            return false;
        }
        // Where the claim belongs, something else stands; or some place speaks for others.
        places.iter().any(|(place, _)| {
            let cname = RecordKey { rtype: RecordType::Cname, ..place.clone() };
            let foreign = |set: &RecordSet| {
                let ours =
                    |data: &RData| matches!(saying(data), Saying::Claim { owner: by, .. } if Some(&*by) == owner);
                !set.data.as_records().iter().all(ours)
            };
            let of_another_kind = || sets.values().any(|set| rows.other_kind(&set.key, place) && foreign(set));
            sets.contains_key(&cname) || sets.get(place).is_some_and(foreign) || of_another_kind()
        })
    }
}
