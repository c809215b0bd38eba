//! What a request asks for, carried out; and what of it was not.
//!
//! In: the body of POST /records. Out: how many names have everything that was asked for, and the others with the reason.
//! Everything that can be applied is applied: a bad record takes only its own name along. Where a provider takes no
//! preconditions, the names are read right before they are changed; a name whose old side may stand in several zones is read before
//! anything is done. What moves to another zone is brought there first: where that is not accepted, the old record stays.

use std::collections::{BTreeMap, BTreeSet};

use tracing::{info, warn};
use zonewright_core::change::{Change, Group, Outcome, Precondition};
use zonewright_core::provider::{Listing, Read};
use zonewright_core::{DnsName, Error, ErrorKind, RecordKey, RecordSet, Result, Zone};

use super::Server;
use super::ask::{Bundle, Posted, bundles};
use super::horizon::{Standing, ZoneNames};
use super::place::{Objection, Places};
use super::unstated::{self, as_it_stands};
use crate::refusal::{Refusal, Refusals};

const OPERATION: &str = "apply changes";

/// A group on its way: the position of its bundle, and the group.
type Sent = (usize, Group);

/// What is to be done, in this order, and for each bundle what already speaks against it.
type ZonePlans = (BTreeMap<Turn, Vec<Sent>>, Vec<Option<Refusal>>);

/// Whether the other groups of their bundles go first, and the position of the zone.
type Turn = (bool, usize);

impl Server {
    /// Carries a request out.
    ///
    /// # Errors
    /// The zones are not known; nothing was done.
    pub(super) async fn carry_out(&self, posted: Posted) -> Result<Refusals> {
        let zones = self.zones().await?;
        let bundles = bundles(posted);
        let names = self.with_places(&zones, |places| shared(places, &bundles));
        let read = self.standing(&zones, names).await;
        let (work, mut refused) = self.with_places(&zones, |places| sorted(places, &bundles, &read));
        let mut begun: BTreeSet<usize> = BTreeSet::new();
        for ((_, place), mut sent) in work {
            let Some(zone) = zones.get(place) else { continue };
            // What failed in one zone is not tried in the next.
            sent.retain(|(at, _)| refused.get(*at).is_some_and(Option::is_none));
            for (at, outcome) in self.apply(zone, sent).await {
                if let (Some(slot), Some(bundle)) = (refused.get_mut(at), bundles.get(at)) {
                    *slot = failed(bundle, &outcome, begun.contains(&at));
                }
                if matches!(outcome, Outcome::Applied) {
                    begun.insert(at);
                }
            }
        }
        Ok(logged(bundles.len(), refused.into_iter().flatten().collect()))
    }

    /// What stands at these names.
    async fn standing(&self, zones: &[Zone], names: ZoneNames) -> Standing {
        let mut read = Standing::new();
        for (place, names) in names {
            let Some(zone) = zones.get(place) else { continue };
            read.insert(place, self.sets_at(zone, &names).await);
        }
        read
    }

    async fn sets_at(&self, zone: &Zone, names: &BTreeSet<DnsName>) -> Result<BTreeMap<RecordKey, RecordSet>> {
        match self.provider.records(zone, Read::Names(names)).await? {
            Listing::Names(sets) | Listing::Full { sets, .. } => {
                Ok(sets.into_iter().map(|set| (set.key.clone(), set)).collect())
            }
            _ => Err(Error::new(ErrorKind::Protocol, OPERATION, format!("{} could not be read", zone.name))),
        }
    }

    async fn apply(&self, zone: &Zone, sent: Vec<Sent>) -> Vec<(usize, Outcome)> {
        let read_first = self.provider.capability(Some(zone)).preconditions.read_first() && !sent.is_empty();
        let _alone = if read_first { Some(self.reading.lock().await) } else { None };
        let (sent, mut outcomes) = if read_first { self.still_true(zone, sent).await } else { (sent, Vec::new()) };
        let (places, groups): (Vec<usize>, Vec<Group>) = sent.into_iter().unzip();
        if !groups.is_empty() {
            groups.iter().flat_map(Group::changes).for_each(|change| info!(zone = %zone.name, "{change}"));
            let mut given = self.send(zone, &groups).await.into_iter();
            let lost = || Outcome::Unknown(Error::new(ErrorKind::Protocol, OPERATION, "no outcome is known"));
            outcomes.extend(places.into_iter().map(|at| (at, given.next().unwrap_or_else(lost))));
        }
        outcomes
    }

    /// Sends groups. An old side without a TTL is sent with the provider's own; those that are refused so are read, and sent once
    /// more with the TTLs that stand.
    async fn send(&self, zone: &Zone, groups: &[Group]) -> Vec<Outcome> {
        let mut outcomes = self.provider.apply(zone, groups).await;
        let is_conflict =
            |outcome: &Outcome| matches!(outcome, Outcome::Refused { error, .. } if error.kind == ErrorKind::Conflict);
        let refused = || groups.iter().zip(&outcomes).enumerate().filter(|(_, (_, outcome))| is_conflict(outcome));
        let names: BTreeSet<DnsName> = refused().flat_map(|(_, (group, _))| unstated::names(group)).collect();
        if names.is_empty() {
            return outcomes;
        }
        let Ok(standing) = self.sets_at(zone, &names).await else { return outcomes };
        let timed = refused().map(|(at, (group, _))| (at, as_it_stands(group.clone(), Some(&standing))));
        let (places, again): (Vec<usize>, Vec<Group>) =
            timed.filter(|(at, timed)| groups.get(*at).is_some_and(|group| group != timed)).unzip();
        if !again.is_empty() {
            for (at, outcome) in places.into_iter().zip(self.provider.apply(zone, &again).await) {
                if let Some(refused) = outcomes.get_mut(at) {
                    *refused = outcome;
                }
            }
        }
        outcomes
    }

    /// Reads what a zone holds whose provider takes no preconditions: the groups that still fit, and the outcomes of the others.
    async fn still_true(&self, zone: &Zone, sent: Vec<Sent>) -> (Vec<Sent>, Vec<(usize, Outcome)>) {
        let names: BTreeSet<DnsName> = sent
            .iter()
            .flat_map(|(_, group)| group.preconditions())
            .map(|condition| name_of(&condition).clone())
            .collect();
        let standing = match self.sets_at(zone, &names).await {
            Ok(standing) => standing,
            Err(error) => {
                return (Vec::new(), sent.into_iter().map(|(at, _)| (at, Outcome::NotSent(error.clone()))).collect());
            }
        };
        let (mut fit, mut not) = (Vec::new(), Vec::new());
        for (at, group) in sent {
            match group.preconditions().iter().find_map(|condition| unmet(condition, &standing)) {
                None => fit.push((at, as_it_stands(group, Some(&standing)))),
                Some(why) => not.push((at, Outcome::refused(Error::new(ErrorKind::Conflict, OPERATION, why)))),
            }
        }
        (fit, not)
    }
}

/// The names that have to be read before it is known in which of their zones something is to be done.
fn shared(places: &Places<'_>, bundles: &[Bundle]) -> ZoneNames {
    let mut all = ZoneNames::new();
    for (place, names) in bundles.iter().flat_map(|bundle| places.names_to_read(bundle)) {
        all.entry(place).or_default().extend(names);
    }
    all
}

fn sorted(places: &Places<'_>, bundles: &[Bundle], read: &Standing) -> ZonePlans {
    let (mut work, mut refused): ZonePlans = (BTreeMap::new(), Vec::with_capacity(bundles.len()));
    for (at, bundle) in bundles.iter().enumerate() {
        let groups = places.groups(bundle, read);
        refused.push(groups.as_ref().err().map(|objection| objected(bundle, objection)));
        let groups = groups.unwrap_or_default();
        let waiting: Vec<bool> = groups.iter().map(|(place, _)| waits(*place, &groups)).collect();
        for (waits, (place, group)) in waiting.into_iter().zip(groups) {
            work.entry((waits, place)).or_default().push((at, group));
        }
    }
    (work, refused)
}

/// Whether a zone's group of a bundle goes after those of the other zones, because it takes away what they bring: it has nothing new while
/// they have, or nothing new at a name at which they have.
fn waits(place: usize, groups: &[(usize, Group)]) -> bool {
    let names = |own: bool, side: fn(&Change) -> Option<&RecordSet>| -> BTreeSet<&DnsName> {
        let groups = groups.iter().filter(|(at, _)| (*at == place) == own);
        groups.flat_map(|(_, group)| group.changes()).filter_map(side).map(|set| &set.key.name).collect()
    };
    let (old, new, elsewhere) = (names(true, Change::from), names(true, Change::to), names(false, Change::to));
    if new.is_empty() { !elsewhere.is_empty() } else { old.difference(&new).any(|name| elsewhere.contains(*name)) }
}

fn name_of(condition: &Precondition) -> &DnsName {
    match condition {
        Precondition::Exact(set) => &set.key.name,
        Precondition::Absent(key) => &key.name,
        Precondition::NameNotInUse(name) => name,
    }
}

/// Why a condition does not hold of what stands; TTLs are not compared.
fn unmet(condition: &Precondition, standing: &BTreeMap<RecordKey, RecordSet>) -> Option<String> {
    match condition {
        Precondition::Exact(expected) => match standing.get(&expected.key) {
            None => Some(format!("{} is not there; expected {}", expected.key, expected.data)),
            Some(found) if found.data == expected.data => None,
            Some(found) => Some(format!("{} holds {}; expected {}", expected.key, found.data, expected.data)),
        },
        Precondition::Absent(key) => {
            let found = standing.get(key)?;
            Some(format!("{key} stands already with {}; expected nothing", found.data))
        }
        Precondition::NameNotInUse(name) => {
            let found = standing.keys().find(|key| key.name == *name)?;
            Some(format!("{found} stands already; expected no record at {name}"))
        }
    }
}

fn objected(bundle: &Bundle, objection: &Objection) -> Refusal {
    Refusal {
        name: bundle.said.clone(),
        outcome: "refused".to_owned(),
        kind: objection.kind.label().to_owned(),
        error: objection.text.clone(),
    }
}

/// What an outcome means for the caller; `begun` says that a part of the bundle stands already, in another zone. In a dry run
/// everything counts as done, as in external-dns.
fn failed(bundle: &Bundle, outcome: &Outcome, begun: bool) -> Option<Refusal> {
    let error = outcome.error().filter(|error| error.kind != ErrorKind::DryRun)?;
    Some(Refusal {
        name: bundle.said.clone(),
        outcome: if begun { "unknown" } else { outcome.label() }.to_owned(),
        kind: error.kind.label().to_owned(),
        error: error.chain(),
    })
}

fn logged(names: usize, refused: Vec<Refusal>) -> Refusals {
    let applied = names - refused.len().min(names);
    for Refusal { name, outcome, kind, error } in &refused {
        warn!(name, outcome, kind, error, "a change was not applied");
    }
    if names > 0 {
        info!(applied, refused = refused.len(), "changes");
    }
    Refusals { applied, refused }
}

#[cfg(test)]
mod tests {
    use zonewright_core::{RData, RecordType, Ttl};

    use super::*;

    fn set(name: &str, data: &str, ttl: u32) -> RecordSet {
        let data = RData::parse(RecordType::A, data).unwrap();
        RecordSet::simple(DnsName::parse(name).unwrap(), RecordType::A, Ttl::from_secs(ttl), [data])
    }

    #[test]
    fn conditions_are_held_against_what_stands() {
        let one = set("a.test", "192.0.2.1", 60);
        let (other, gone) = (set("a.test", "192.0.2.2", 60), set("b.test", "192.0.2.1", 60));
        let standing = BTreeMap::from([(one.key.clone(), one.clone())]);
        for (condition, expected) in [
            (Precondition::Exact(set("a.test", "192.0.2.1", 5)), None),
            (Precondition::Exact(other), Some("a.test A holds 192.0.2.1; expected 192.0.2.2")),
            (Precondition::Exact(gone.clone()), Some("b.test A is not there; expected 192.0.2.1")),
            (Precondition::Absent(one.key.clone()), Some("a.test A stands already with 192.0.2.1; expected nothing")),
            (Precondition::Absent(gone.key.clone()), None),
            (
                Precondition::NameNotInUse(one.key.name.clone()),
                Some("a.test A stands already; expected no record at a.test"),
            ),
            (Precondition::NameNotInUse(gone.key.name.clone()), None),
        ] {
            assert_eq!(unmet(&condition, &standing).as_deref(), expected, "{condition:?}");
        }
    }
}
