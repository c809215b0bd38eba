//! A provider whose items share one record set, as one where each is a set of its own.
//!
//! In: calls of the engine, in which each item is a set with an identifier ([`zonewright_core::in_set`]). Out: calls of the
//! provider, in which a change carries the whole set before and after. What must hold: whole sets that hold items are read right
//! before they are changed, and so is what a group demands besides; what was read, or what a change of a plain set states as its old
//! side, is what the provider holds the zone against, so that a change of another writer in between is refused and no item of
//! others is written over.

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use zonewright_core::capability::{Atomicity, Capability, Preconditions, RoutingSupport};
use zonewright_core::change::{Blame, Group, Outcome};
use zonewright_core::endpoint::Endpoint;
use zonewright_core::error::{Error, ErrorKind, Result};
use zonewright_core::in_set::merge::{self, Wholes, whole_key};
use zonewright_core::in_set::{name, split};
use zonewright_core::interpret::Interpretation;
use zonewright_core::name::DnsName;
use zonewright_core::provider::{Adjustment, Listing, Provider, Read};
use zonewright_core::record::{RecordKey, RecordSet};
use zonewright_core::registry::{Published, Registry};
use zonewright_core::zone::{Zone, ZoneId};

/// Splits what is read, merges what is written.
pub(crate) struct InSet {
    inner: Arc<dyn Provider>,
    /// Whether claims are kept: without them nothing distinguishes our items from those of others.
    claims: bool,
}

impl std::fmt::Debug for InSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("InSet")
    }
}

/// Puts this around a provider whose items share record sets; any other stays as it is.
pub(crate) fn around(inner: Arc<dyn Provider>, registry: &dyn Registry) -> Arc<dyn Provider> {
    match inner.capability(None).routing {
        RoutingSupport::InSet(_) => Arc::new(InSet { inner, claims: registry.owner().is_some() }),
        RoutingSupport::None | RoutingSupport::PerSet(_) => inner,
    }
}

/// Names the items of ours in what was read; of a provider without such items it stays as it is. `published` is what was known
/// before.
pub(crate) fn named(
    listing: Listing,
    zone: &Zone,
    (provider, registry): (&dyn Provider, &dyn Registry),
    published: &dyn Published,
) -> Listing {
    if !matches!(provider.capability(Some(zone)).routing, RoutingSupport::InSet(_)) {
        return listing;
    }
    let name = |sets: Vec<RecordSet>| name::name(sets, zone, registry, published);
    match listing {
        Listing::Full { sets, token } => Listing::Full { sets: name(sets), token },
        Listing::Names(sets) => Listing::Names(name(sets)),
        other => other,
    }
}

fn apart(sets: Vec<RecordSet>) -> Vec<RecordSet> {
    sets.into_iter().flat_map(split).collect()
}

impl InSet {
    /// The whole sets at these names.
    async fn wholes(&self, zone: &Zone, names: &BTreeSet<DnsName>) -> Result<Wholes> {
        if names.is_empty() {
            return Ok(Wholes::new());
        }
        match self.inner.records(zone, Read::Names(names)).await? {
            Listing::Names(sets) | Listing::Full { sets, .. } => {
                Ok(sets.into_iter().map(|set| (set.key.clone(), set)).collect())
            }
            Listing::Page { .. } | Listing::Delta { .. } | Listing::Unchanged => {
                let text = "the names that were asked for were not answered as a whole";
                Err(Error::new(ErrorKind::Protocol, "read records", text))
            }
        }
    }

    /// What a plan rests on, and which of its sets were not read.
    async fn ground(&self, zone: &Zone, groups: &[Group], ground: Ground) -> Result<(Wholes, BTreeSet<RecordKey>)> {
        let (names, stated) = match ground {
            Ground::Stated => merge::reading(groups),
            Ground::Read => (merge::names(groups), Wholes::new()),
        };
        let mut wholes = self.wholes(zone, &names).await?;
        let changed = groups.iter().flat_map(Group::changes).map(|change| whole_key(change.key()));
        let unread = changed.filter(|key| !names.contains(&key.name)).collect();
        wholes.extend(stated);
        Ok((wholes, unread))
    }

    /// Sends groups of whole sets. Returns what became of each group, and the positions of those that are to be tried one by one,
    /// with everything read: those that were refused as one with others, and those of which a set stands otherwise than they state.
    async fn send(
        &self,
        zone: &Zone,
        groups: &[Group],
        ground: Ground,
        outcomes: &mut [Option<Outcome>],
    ) -> Result<Vec<usize>> {
        let (wholes, unread) = self.ground(zone, groups, ground).await?;
        let plan = merge::plan(groups, &wholes);
        for (at, error) in plan.refused {
            put(outcomes, at, Outcome::refused(error));
        }
        let (sent, unchanged): (Vec<_>, Vec<_>) = plan.merged.into_iter().partition(|merged| merged.group.is_some());
        unchanged.iter().flat_map(|merged| &merged.members).for_each(|at| put(outcomes, *at, Outcome::Applied));
        let bodies: Vec<Group> = sent.iter().filter_map(|merged| merged.group.clone()).collect();
        if bodies.is_empty() {
            return Ok(Vec::new());
        }
        let mut alone = Vec::new();
        let answers = self.inner.apply(zone, &bodies).await;
        for ((merged, body), outcome) in sent.into_iter().zip(&bodies).zip(answers) {
            let again = match &outcome {
                Outcome::Refused { error, blame: Blame::Group } => {
                    let otherwise = error.kind == ErrorKind::Conflict
                        && body.changes().any(|change| unread.contains(&whole_key(change.key())));
                    otherwise || merged.members.len() > 1
                }
                _ => false,
            };
            if again {
                alone.extend(merged.members);
                continue;
            }
            merged.members.iter().for_each(|at| put(outcomes, *at, outcome.clone()));
        }
        Ok(alone)
    }
}

/// What a plan takes for standing.
#[derive(Debug, Clone, Copy)]
enum Ground {
    /// Of plain sets what their changes state, of all others what is read.
    Stated,
    /// What is read.
    Read,
}

fn put(outcomes: &mut [Option<Outcome>], at: usize, outcome: Outcome) {
    if let Some(place) = outcomes.get_mut(at) {
        *place = Some(outcome);
    }
}

#[async_trait]
impl Provider for InSet {
    fn capability(&self, zone: Option<&Zone>) -> Capability {
        let inner = self.inner.capability(zone);
        // One write of the whole set holds record and claim together; without that an item could stand without its claim.
        let routed = self.claims && inner.batch.atomic == Atomicity::Batch;
        let routing = if routed { inner.routing } else { RoutingSupport::InSet(&[]) };
        // What a group demands of the zone besides its changes is held against the very reading that comes before its write, and the
        // provider compares the rest: a reading of the engine's own before that would only cost as much again.
        let preconditions = if inner.preconditions.read_first() { Preconditions::Any } else { inner.preconditions };
        Capability { set_ids: routed, one_kind: true, routing, preconditions, ..inner }
    }

    async fn zones(&self) -> Result<Vec<Zone>> {
        self.inner.zones().await
    }

    async fn zone(&self, id: &ZoneId) -> Result<Option<Zone>> {
        self.inner.zone(id).await
    }

    async fn records(&self, zone: &Zone, read: Read<'_>) -> Result<Listing> {
        Ok(match self.inner.records(zone, read).await? {
            Listing::Page { sets, next } => Listing::Page { sets: apart(sets), next },
            Listing::Full { sets, token } => Listing::Full { sets: apart(sets), token },
            Listing::Names(sets) => Listing::Names(apart(sets)),
            other @ (Listing::Delta { .. } | Listing::Unchanged) => other,
        })
    }

    fn interpret(&self, zone: &Zone, endpoint: &Endpoint) -> Interpretation {
        self.inner.interpret(zone, endpoint)
    }

    async fn adjust(&self, zone: &Zone, sets: &[RecordSet]) -> Vec<Adjustment> {
        self.inner.adjust(zone, sets).await
    }

    async fn served(&self, zone: &Zone) -> Result<Option<bool>> {
        self.inner.served(zone).await
    }

    async fn apply(&self, zone: &Zone, groups: &[Group]) -> Vec<Outcome> {
        let mut outcomes: Vec<Option<Outcome>> = groups.iter().map(|_| None).collect();
        let alone = match self.send(zone, groups, Ground::Stated, &mut outcomes).await {
            Ok(alone) => alone,
            Err(error) => return groups.iter().map(|_| Outcome::NotSent(error.clone())).collect(),
        };
        // Groups that were refused as one are tried one by one: only a bad one is refused. Texts of others may stand beside a claim,
        // which is more than its change states.
        for at in alone {
            let Some(group) = groups.get(at) else { continue };
            let mut one = [None];
            let sent = self.send(zone, std::slice::from_ref(group), Ground::Read, &mut one).await;
            let [outcome] = one;
            let outcome = match (sent, outcome) {
                (Err(error), _) => Outcome::NotSent(error),
                (Ok(_), Some(outcome)) => outcome,
                (Ok(_), None) => Outcome::Unknown(unanswered()),
            };
            put(&mut outcomes, at, outcome);
        }
        outcomes.into_iter().map(|outcome| outcome.unwrap_or_else(|| Outcome::Unknown(unanswered()))).collect()
    }
}

fn unanswered() -> Error {
    Error::new(ErrorKind::Protocol, "apply changes", "the provider gave no outcome for a change")
}

#[cfg(test)]
mod tests {
    use zonewright_conformance::cloud::{Cloud, CloudAccount};
    use zonewright_core::change::{Change, Precondition, Step};
    use zonewright_core::testing::{name, set};

    use super::*;

    /// What a call with one group comes to: its label, what stands, and how many requests it took.
    async fn check(standing: &[&str], group: Group, label: &str, stands: &[&str], requests: usize) {
        let account = Arc::new(CloudAccount::default());
        let cloud = Arc::new(Cloud::new("one", &name("example"), &account).in_set());
        for text in standing {
            cloud.insert(set(text));
        }
        let headline = group.headline();
        let layer = InSet { inner: cloud.clone(), claims: true };
        let outcomes = layer.apply(cloud.its_zone(), &[group]).await;
        assert_eq!(outcomes.iter().map(Outcome::label).collect::<Vec<_>>(), [label], "{headline}: {outcomes:?}");
        let dump: Vec<String> = cloud.dump().iter().map(ToString::to_string).collect();
        assert_eq!(
            (dump, account.requests()),
            (stands.iter().map(|text| (*text).to_owned()).collect(), requests),
            "{headline}"
        );
    }

    fn group(change: Change) -> Group {
        Group::of(Step::record(change, None), Vec::new())
    }

    /// A request for a change, and one for the claim that it rests on.
    #[tokio::test]
    async fn a_plain_change_rests_on_what_it_states() {
        const ONE: &str = "www.example 300 A 192.0.2.1";
        const CLAIM: &str = "a-www.example 300 TXT \"mine\"";
        let (one, two) = (set("www.example A ttl=300 192.0.2.1"), set("www.example A ttl=300 192.0.2.2"));
        let claim = set("a-www.example TXT ttl=300 \"mine\"");
        let (one_stands, claim_stands) = ("www.example A ttl=300 192.0.2.1", "a-www.example TXT ttl=300 \"mine\"");
        check(&[], group(Change::Create { to: one.clone() }), "applied", &[ONE], 1).await;
        check(&[one_stands], group(Change::Delete { from: one.clone() }), "applied", &[], 1).await;
        let update = group(Change::Update { from: one.clone(), to: two.clone() });
        let rests = Group { requires: vec![Precondition::Exact(claim.clone())], ..update };
        let after = [CLAIM, "www.example 300 A 192.0.2.2"];
        check(&[claim_stands, one_stands], rests.clone(), "applied", &after, 2).await;
        // The claim went, or the record is another one: nothing is written.
        check(&[one_stands], rests.clone(), "refused", &[ONE], 1).await;
        let other = "www.example A ttl=300 198.51.100.1";
        let stands = [CLAIM, "www.example 300 A 198.51.100.1"];
        check(&[claim_stands, other], rests, "refused", &stands, 3).await;
        check(&[other], group(Change::Create { to: one }), "refused", &stands[1..], 2).await;
    }

    /// Texts of others came beside a claim: it is read, and they stay.
    #[tokio::test]
    async fn texts_of_others_are_found_by_the_refusal() {
        let (mine, theirs) = (set("a-www.example TXT ttl=300 \"mine\""), "a-www.example TXT ttl=300 \"theirs\"");
        let both = "a-www.example TXT ttl=300 \"mine\" \"theirs\"";
        let stand = "a-www.example 300 TXT \"mine\" ; \"theirs\"";
        check(&[theirs], group(Change::Create { to: mine.clone() }), "applied", &[stand], 3).await;
        let left = "a-www.example 300 TXT \"theirs\"";
        check(&[both], group(Change::Delete { from: mine }), "applied", &[left], 3).await;
    }
}
