//! Claims that are given to another owner, or given up.
//!
//! In: the records that we claim. Out: what becomes of each claim, and what is left alone. What must hold: where others claim a record,
//! too, nothing but the giving up of our claim is proposed.

use std::collections::BTreeSet;

use zonewright_core::claim::{Claim, OwnerId, Ownership};
use zonewright_core::name::DnsName;
use zonewright_core::record::{RecordKey, RecordSet};
use zonewright_core::registry::{OwnershipChange, Published};
use zonewright_core::zone::{Zone, ZoneKey};

use super::{InstanceSnapshot, Proposal, resource};

/// A record that we claim.
pub(super) struct Claimed<'a> {
    pub(super) zone: &'a Zone,
    pub(super) set: RecordSet,
    pub(super) claim: Option<Claim>,
    /// Who else claims it.
    others: Vec<OwnerId>,
}

impl Claimed<'_> {
    /// Whose it is without our claim.
    fn rest(&self) -> String {
        let others: Vec<&str> = self.others.iter().map(OwnerId::as_str).collect();
        if others.is_empty() { "nobody".to_owned() } else { others.join(" and ") }
    }
}

/// What stands there without records whose claims are given up by the same order.
struct Without<'a> {
    snapshot: &'a InstanceSnapshot,
    given_up: &'a BTreeSet<(ZoneKey, RecordKey)>,
}

impl Published for Without<'_> {
    fn find(&self, near: &ZoneKey, key: &RecordKey) -> Option<(ZoneKey, RecordSet)> {
        let (zone, set) = self.snapshot.find(near, key)?;
        let place = (zone, key.clone());
        (!self.given_up.contains(&place)).then_some((place.0, set))
    }

    fn zones_at(&self, name: &DnsName) -> Vec<(Zone, bool)> {
        self.snapshot.zones_at(name)
    }
}

impl InstanceSnapshot {
    /// The selected records that we claim, whoever else does.
    fn claimed(&self) -> Vec<Claimed<'_>> {
        let claimed = self.records().into_iter().filter_map(|(zone, set, ownership)| match ownership {
            Ownership::Ours(claim) => Some(Claimed { zone, set, claim, others: Vec::new() }),
            Ownership::Disputed(owners) => {
                let claim = Some(self.claim_of_ours(zone, &set.key)?);
                let others = owners.into_iter().filter(|owner| Some(owner) != self.instance.registry.owner());
                Some(Claimed { zone, set, claim, others: others.collect() })
            }
            Ownership::Foreign(_) | Ownership::Unclaimed => None,
        });
        claimed.filter(|one| self.scope.selects(&one.set.key.name, resource(one.claim.as_ref()))).collect()
    }

    /// The selected records that are ours. Those that others claim, too, are left alone.
    pub(super) fn ours(&self, proposal: &mut Proposal) -> Vec<Claimed<'_>> {
        let (ours, disputed): (Vec<_>, Vec<_>) = self.claimed().into_iter().partition(|one| one.others.is_empty());
        proposal.left.extend(disputed.iter().map(|one| {
            let (key, name) = (&one.set.key, &one.set.key.name);
            format!("{key}: claimed by {}, too; one of the two gives it up with: zonewright release {name}", one.rest())
        }));
        ours
    }

    /// Gives our claims on the selected records to another owner, or to nobody.
    pub fn hand_over(&self, change: &OwnershipChange) -> Proposal {
        match change {
            OwnershipChange::Give(owner) => self.give(owner, change),
            OwnershipChange::Disown | OwnershipChange::Take(_) => self.give_up(),
        }
    }

    fn give(&self, owner: &OwnerId, change: &OwnershipChange) -> Proposal {
        let mut proposal = Proposal::default();
        for one in self.ours(&mut proposal) {
            let text = self.moves(&one, owner.as_str());
            self.propose(&mut proposal, one.zone, &one.set, change, text);
        }
        proposal
    }

    /// Gives our claims up, which ends disputes. A claim that speaks for several records goes with the last of them.
    fn give_up(&self) -> Proposal {
        let (mut proposal, mut given_up, mut waiting) =
            (Proposal::default(), BTreeSet::new(), Vec::<Claimed<'_>>::new());
        for one in self.claimed() {
            let without = Without { snapshot: self, given_up: &given_up };
            let assigned = self.instance.registry.assign(one.zone, &one.set, &OwnershipChange::Disown, &without);
            if assigned.is_ok() {
                given_up.insert((one.zone.key.clone(), one.set.key.clone()));
            }
            match assigned {
                Ok(Some(group)) => {
                    let place = |one: &Claimed<'_>| (one.zone.key.clone(), one.set.key.name.clone());
                    let with = |other: &Claimed<'_>| place(other) == place(&one);
                    let (with, others): (Vec<_>, Vec<_>) = waiting.into_iter().partition(with);
                    waiting = others;
                    let texts: Vec<String> =
                        with.iter().chain([&one]).map(|one| self.moves(one, &one.rest())).collect();
                    proposal.actions.push(self.action(one.zone, texts.join("\n  "), group));
                }
                Ok(None) => waiting.push(one),
                Err(dropped) => proposal.left.push(dropped.reason),
            }
        }
        proposal.left.extend(waiting.iter().map(|one| {
            let key = &one.set.key;
            format!("{key}: another record of its name needs the claim; both are released together, or neither")
        }));
        proposal
    }

    /// A claim that changes hands, in a line.
    fn moves(&self, one: &Claimed<'_>, to: &str) -> String {
        let from = self.instance.registry.owner().map(ToString::to_string).unwrap_or_default();
        format!("= {}  {}: {from} -> {to}", one.set, resource(one.claim.as_ref()).unwrap_or("no resource"))
    }
}
