//! A walk through states of a zone, each checked from all sides.

use std::collections::BTreeMap;

use zonewright_core::capability::{Capability, TargetCount};
use zonewright_core::change::{Change, Group, Outcome, Step};
use zonewright_core::cost::Cost;
use zonewright_core::error::ErrorKind;
use zonewright_core::listing;
use zonewright_core::provider::{Adjustment, Listing, Provider, Token};
use zonewright_core::{DnsName, RecordData, RecordKey, RecordSet, RecordType, Zone};

use super::Harness;
use super::service::Service;
use super::specimen;
use super::view::{Sets, by_key, difference};

/// The zone, what others hold in it, and what the walk put there.
pub(crate) struct Walk<'a> {
    harness: &'a dyn Harness,
    pub(crate) capability: Capability,
    /// What the zone must hold, foreign and own.
    expected: Sets,
    /// The keys of `expected` that are ours.
    own: Sets,
}

impl<'a> Walk<'a> {
    /// Begins with the zone as it is: everything in it is foreign.
    pub(crate) async fn start(harness: &'a dyn Harness) -> Self {
        let capability = harness.provider().capability(Some(harness.zone()));
        let expected = by_key(harness.dump().await, "the zone");
        let walk = Self { harness, capability, expected, own: Sets::new() };
        walk.check().await;
        walk
    }

    pub(crate) fn provider(&self) -> &'a dyn Provider {
        self.harness.provider()
    }

    pub(crate) fn zone(&self) -> &'a Zone {
        self.harness.zone()
    }

    /// A name below the zone.
    pub(crate) fn name(&self, label: &str) -> DnsName {
        specimen::name(label, &self.zone().name)
    }

    /// A set below the zone, within the TTLs and the number of targets that the provider declares.
    pub(crate) fn set(&self, label: &str, rtype: RecordType, ttl: u32, data: &[&str]) -> RecordSet {
        self.fit(specimen::set(&self.name(label), rtype, ttl, data))
    }

    /// A set at the apex.
    pub(crate) fn at_apex(&self, rtype: RecordType, ttl: u32, data: &[&str]) -> RecordSet {
        self.fit(specimen::set(&self.zone().name, rtype, ttl, data))
    }

    fn fit(&self, set: RecordSet) -> RecordSet {
        let mut records = set.data.as_records().to_vec();
        if self.capability.targets == TargetCount::First {
            records.truncate(1);
        }
        let ttl = set.ttl.map(|ttl| self.capability.ttl.clamp(ttl));
        RecordSet { ttl, data: RecordData::records(records), ..set }
    }

    /// Whether the provider writes this type.
    pub(crate) fn writes(&self, rtype: RecordType) -> bool {
        self.capability.types.has(rtype)
    }

    /// Another writer puts a set in place.
    pub(crate) async fn foreign(&mut self, set: RecordSet) {
        self.harness.insert(set).await;
        self.expected = self.dump().await;
        self.check().await;
    }

    /// The sets in the form that would be read back.
    pub(crate) async fn adjusted(&self, asked: &[RecordSet]) -> Vec<RecordSet> {
        let adjusted = self.provider().adjust(self.zone(), asked).await;
        assert_eq!(adjusted.len(), asked.len(), "adjust has one answer for each set");
        let sets = |(adjustment, asked): (Adjustment, &RecordSet)| match adjustment {
            Adjustment::As { sets, .. } => sets,
            other => panic!("adjust of {asked}: {other:?}"),
        };
        adjusted.into_iter().zip(asked).flat_map(sets).collect()
    }

    /// Goes to the state where exactly `wanted` is ours: each step must be applied, and then be there, and last.
    pub(crate) async fn reach(&mut self, wanted: &[RecordSet]) {
        let groups = self.groups(wanted).await;
        for (group, outcome) in groups.iter().zip(self.apply(&groups).await) {
            assert!(matches!(outcome, Outcome::Applied), "{} was not applied: {outcome:?}", group.headline());
        }
        self.reached(wanted).await;
    }

    /// The groups that lead from what is ours to `wanted`.
    pub(crate) async fn groups(&self, wanted: &[RecordSet]) -> Vec<Group> {
        plan(&self.own, &by_key(self.adjusted(wanted).await, "adjust"))
    }

    /// The same from what was listed, where everything that is not foreign is ours.
    pub(crate) fn groups_from(&self, listed: &Sets, wanted: &Sets) -> Vec<Group> {
        let ours = listed.iter().filter(|(key, _)| !self.is_foreign(key));
        plan(&ours.map(|(key, set)| (key.clone(), set.clone())).collect(), wanted)
    }

    fn is_foreign(&self, key: &RecordKey) -> bool {
        self.expected.contains_key(key) && !self.own.contains_key(key)
    }

    /// Takes note that the way to `wanted` was gone, and demands that this is so: it is listed, and there is nothing left to do.
    pub(crate) async fn reached(&mut self, wanted: &[RecordSet]) {
        let wanted = by_key(self.adjusted(wanted).await, "adjust");
        let listed = self.list().await;
        self.arrive(&listed, &wanted);
        self.check().await;
    }

    /// As [`Walk::reached`], by a look at the zone alone: for so many sets that listing them takes its time.
    pub(crate) async fn stands(&mut self, wanted: &[RecordSet]) {
        let wanted = by_key(self.adjusted(wanted).await, "adjust");
        let zone = self.dump().await;
        self.arrive(&zone, &wanted);
        assert!(zone == self.expected, "the zone is not as expected:{}", difference(&zone, &self.expected));
    }

    /// Takes note that `wanted` is ours, as it was listed.
    pub(crate) fn arrive(&mut self, listed: &Sets, wanted: &Sets) {
        for key in self.own.keys() {
            self.expected.remove(key);
        }
        self.own = wanted.keys().filter_map(|key| listed.get(key)).map(|set| (set.key.clone(), set.clone())).collect();
        self.expected.extend(self.own.clone());
        let again = plan(&self.own, wanted);
        assert!(
            again.is_empty(),
            "a second plan is not empty: {}",
            again.iter().map(Group::headline).collect::<String>()
        );
    }

    /// Demands that nobody else's record has changed.
    pub(crate) async fn foreign_stands(&self, when: &str) {
        let zone = self.dump().await;
        for (key, set) in self.expected.iter().filter(|(key, _)| self.is_foreign(key)) {
            assert_eq!(zone.get(key), Some(set), "{when}: a foreign record");
        }
    }

    /// What the zone holds, past the provider.
    pub(crate) async fn dump(&self) -> Sets {
        by_key(self.harness.dump().await, "the zone")
    }

    /// The service behind the provider, where it is in the harness' hands.
    pub(crate) fn service(&self) -> Option<&'a dyn Service> {
        self.harness.service()
    }

    /// Demands that listing and zone hold what is expected, nothing else.
    pub(crate) async fn check(&self) {
        let zone = self.dump().await;
        assert!(zone == self.expected, "the zone is not as expected:{}", difference(&zone, &self.expected));
        let listed = self.list().await;
        assert!(listed == zone, "the listing differs from the zone:{}", difference(&listed, &zone));
    }

    /// A full listing.
    pub(crate) async fn list(&self) -> Sets {
        self.list_with_token().await.0
    }

    /// A full listing with the provider's mark of the state.
    pub(crate) async fn list_with_token(&self) -> (Sets, Option<Token>) {
        match listing::whole(self.provider(), self.zone()).await {
            Ok(Listing::Full { sets, token }) => (by_key(sets, "the listing"), token),
            other => panic!("a read of all gave {other:?}; expected a full listing"),
        }
    }

    /// Carries groups out, in as many calls as the limits ask for.
    pub(crate) async fn apply(&self, groups: &[Group]) -> Vec<Outcome> {
        let mut outcomes = Vec::new();
        for batch in batches(groups, &self.capability) {
            let given = self.provider().apply(self.zone(), batch).await;
            assert_eq!(given.len(), batch.len(), "one outcome for each group; got {given:?}");
            outcomes.extend(given);
        }
        outcomes
    }

    /// Demands that a group is refused with one of these kinds, that the error says something, and that nothing changed.
    pub(crate) async fn refused(&self, group: Group, kinds: &[ErrorKind]) {
        let headline = group.headline();
        match self.apply(&[group]).await.as_slice() {
            [Outcome::Refused { error, .. } | Outcome::NotSent(error)] => {
                assert!(
                    kinds.contains(&error.kind),
                    "{headline}: refused as {:?} ({error}); expected {kinds:?}",
                    error.kind
                );
                assert!(!error.to_string().trim().is_empty(), "{headline}: refused without a word");
            }
            other => panic!("{headline}: {other:?}; expected a refusal"),
        }
        self.check().await;
    }

    /// Takes note of something that the walk did behind its own back.
    pub(crate) async fn resync(&mut self) {
        self.expected = self.dump().await;
        self.check().await;
    }

    /// What stands now at a key that the walk wrote.
    pub(crate) fn standing(&self, set: &RecordSet) -> RecordSet {
        self.own.get(&set.key).unwrap_or_else(|| panic!("{} is not in the walk", set.key)).clone()
    }
}

/// One group for each name whose sets differ.
fn plan(current: &Sets, wanted: &Sets) -> Vec<Group> {
    let mut names: BTreeMap<DnsName, Vec<Step>> = BTreeMap::new();
    let mut add = |change: Change| {
        names.entry(change.key().name.clone()).or_default().push(Step::record(change, None));
    };
    for (key, from) in current {
        match wanted.get(key) {
            None => add(Change::Delete { from: from.clone() }),
            Some(to) if !to.is_met_by(from) => add(Change::Update { from: from.clone(), to: to.clone() }),
            Some(_) => {}
        }
    }
    for (_, to) in wanted.iter().filter(|(key, _)| !current.contains_key(*key)) {
        add(Change::Create { to: to.clone() });
    }
    names
        .into_iter()
        .map(|(name, steps)| Group { name, steps, stored: vec![], requires: vec![], objects: vec![] })
        .collect()
}

/// Cuts the groups so that each call keeps the declared limits.
fn batches<'g>(groups: &'g [Group], capability: &Capability) -> Vec<&'g [Group]> {
    let limits = capability.batch;
    let fits = |batch: &[Group]| {
        limits.holds(batch.iter().map(|group| limits.cost(group)).fold(Cost::default(), std::ops::Add::add))
    };
    let mut out = Vec::new();
    let mut rest = groups;
    while !rest.is_empty() {
        let count = (1..=rest.len()).take_while(|count| fits(&rest[..*count])).last().unwrap_or(1);
        let (batch, tail) = rest.split_at(count);
        out.push(batch);
        rest = tail;
    }
    out
}

/// A group of one record change.
pub(crate) fn group(change: Change) -> Group {
    Group::of(Step::record(change, None), vec![])
}

/// A group that creates a set.
pub(crate) fn create(to: &RecordSet) -> Group {
    group(Change::Create { to: to.clone() })
}
