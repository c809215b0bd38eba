//! Claims that change hands by a person's order, and the leaving of an owner for good.
//!
//! In: the zones of one provider instance, read completely, and whose records are meant. Out: a [`Proposal`] that can be
//! looked at, and what became of its actions once it is carried out. What must hold: nothing is done that the proposal does not
//! show; each action requires the record and its claim as they were read; taking, giving and releasing change no record.

mod carry;
mod hand_over;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use tokio::time::Instant;
use zonewright_core::change::{Change, Group, Precondition, Step};
use zonewright_core::claim::{Claim, OwnerId, Ownership, judge};
use zonewright_core::error::{Error, ErrorKind, Result};
use zonewright_core::filter::DomainFilter;
use zonewright_core::listing;
use zonewright_core::name::DnsName;
use zonewright_core::plan::Adoptable;
use zonewright_core::record::{RecordKey, RecordSet};
use zonewright_core::registry::{ClaimAnomaly, OwnershipChange, Published, StaleClaims, holds_claims};
use zonewright_core::rtype::RecordType;
use zonewright_core::view::ZoneView;
use zonewright_core::zone::{Zone, ZoneKey};

use self::hand_over::Claimed;
use crate::config::Instance;
use crate::in_set;

/// Which records are meant, by a word of the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selector {
    /// A name and everything below it.
    Below(DnsName),
    /// The resource that the claim names, `kind/namespace/name`; `*` stands for any part.
    Resource(Vec<String>),
}

impl Selector {
    /// `www.example.com`, or `ingress/shop/*`.
    ///
    /// # Errors
    /// A sentence that says what was expected.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.contains('/') {
            let parts: Vec<String> = text.split('/').map(str::to_owned).collect();
            let complete = parts.len() == 3 && parts.iter().all(|part| !part.is_empty());
            return complete
                .then_some(Self::Resource(parts))
                .ok_or_else(|| format!("{text:?}: expected kind/namespace/name, with * for any of them"));
        }
        DnsName::parse(text).map(Self::Below).map_err(|error| format!("{text:?}: {error}; expected a name"))
    }

    fn selects(&self, name: &DnsName, resource: Option<&str>) -> bool {
        match self {
            Self::Below(top) => name.is_within(top),
            Self::Resource(parts) => resource.is_some_and(|resource| {
                let given: Vec<&str> = resource.split('/').collect();
                given.len() == parts.len() && parts.iter().zip(given).all(|(part, word)| part == "*" || part == word)
            }),
        }
    }
}

/// What counts at all.
#[derive(Debug, Clone)]
pub struct Scope {
    /// The names that count.
    pub filter: DomainFilter,
    /// The record types that count.
    pub managed: BTreeSet<RecordType>,
    /// Which of them are meant; all where it is empty.
    pub select: Vec<Selector>,
}

impl Scope {
    /// Whether a record at `name`, claimed for `resource`, is meant.
    pub fn selects(&self, name: &DnsName, resource: Option<&str>) -> bool {
        self.select.is_empty() || self.select.iter().any(|selector| selector.selects(name, resource))
    }
}

/// One thing to do.
#[derive(Debug, Clone)]
pub struct Action {
    /// The zone in which it is done.
    pub zone: Zone,
    /// What it is, in one line.
    pub text: String,
    group: Group,
}

/// What would be done, and what would be left alone.
#[derive(Debug, Clone, Default)]
pub struct Proposal {
    /// Actions, in the order of zones and names.
    pub actions: Vec<Action>,
    /// What was meant and is left alone, each with the reason.
    pub left: Vec<String>,
}

impl fmt::Display for Proposal {
    /// Actions by zone, then what is left alone.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut zone = None;
        for action in &self.actions {
            if zone != Some(&action.zone.key) {
                writeln!(f, "zone {}", action.zone.title())?;
                zone = Some(&action.zone.key);
            }
            writeln!(f, "  {}", action.text)?;
        }
        if !self.left.is_empty() {
            writeln!(f, "left alone")?;
        }
        self.left.iter().try_for_each(|line| writeln!(f, "  {line}"))
    }
}

/// What the zones of an instance hold, and whose it is.
pub struct InstanceSnapshot {
    instance: Instance,
    scope: Scope,
    /// When the reading began.
    began: Instant,
    zones: Vec<(Zone, ZoneView)>,
}

impl fmt::Debug for InstanceSnapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InstanceSnapshot").field("instance", &self.instance).finish_non_exhaustive()
    }
}

impl Published for InstanceSnapshot {
    fn find(&self, near: &ZoneKey, key: &RecordKey) -> Option<(ZoneKey, RecordSet)> {
        let mut holders: Vec<&(Zone, ZoneView)> =
            self.zones.iter().filter(|(zone, _)| key.name.is_within(&zone.name)).collect();
        holders.sort_by_key(|(zone, _)| (zone.key != *near, std::cmp::Reverse(zone.name.label_count())));
        holders.into_iter().find_map(|(zone, view)| Some((zone.key.clone(), view.find(key)?)))
    }

    fn zones_at(&self, name: &DnsName) -> Vec<(Zone, bool)> {
        let at = self.zones.iter().filter(|(zone, _)| zone.name == *name);
        at.map(|(zone, view)| (zone.clone(), view.is_complete())).collect()
    }
}

impl InstanceSnapshot {
    /// Reads every zone of the instance.
    ///
    /// # Errors
    /// If any of them cannot be read completely: whose a record is depends on all of them.
    pub async fn read(instance: Instance, scope: Scope) -> Result<Self> {
        let began = Instant::now();
        instance.registry.load().await?;
        if instance.registry.owner().is_none() {
            let text =
                "the registry noop keeps no claims: there is nothing to hand over, and nothing shows what is ours";
            return Err(Error::new(ErrorKind::Configuration, "read the claims", text));
        }
        let provider = in_set::around(instance.provider, &*instance.registry);
        let mut snapshot = Self { instance: Instance { provider, ..instance }, scope, began, zones: Vec::new() };
        let (provider, registry) = (snapshot.instance.provider.clone(), snapshot.instance.registry.clone());
        for zone in provider.zones().await? {
            let mut view = ZoneView::default();
            let listing = listing::whole(&*provider, &zone).await?;
            let listing = in_set::named(listing, &zone, (&*provider, &*registry), &snapshot);
            view.take(listing, None, Instant::now(), std::time::Duration::ZERO);
            snapshot.zones.push((zone, view));
        }
        Ok(snapshot)
    }

    /// Whether a name counts: for the process, for the instance, and in the zone.
    fn covers(&self, zone: &Zone, name: &DnsName) -> bool {
        [&self.scope.filter, &self.instance.filter, &zone.filter].into_iter().all(|filter| filter.matches(name))
    }

    /// The records that count, with whose they are.
    fn records(&self) -> Vec<(&Zone, RecordSet, Ownership)> {
        let registry = &self.instance.registry;
        let of = |(zone, view)| -> Vec<(&Zone, RecordSet, Ownership)> {
            let (zone, view): (&Zone, &ZoneView) = (zone, view);
            let sets = view.sets_of(|rtype| self.scope.managed.contains(&rtype));
            let sets =
                sets.filter(|set| self.covers(zone, &set.key.name) && !holds_claims(&**registry, zone, set, self));
            sets.map(|set| {
                let ownership = judge(&registry.claims(zone, &set.key, self), registry.owner());
                (zone, set, ownership)
            })
            .collect()
        };
        self.zones.iter().map(|(zone, view)| (zone, view)).flat_map(of).collect()
    }

    /// Our claim on a record, whoever else claims it.
    fn claim_of_ours(&self, zone: &Zone, key: &RecordKey) -> Option<Claim> {
        let registry = &self.instance.registry;
        registry.claims(zone, key, self).into_iter().find(|claim| Some(&claim.owner) == registry.owner())
    }

    /// Claims what is wanted and stands unclaimed: where its values match, or its name is one of `forced`.
    pub fn adopt(&self, wanted: &[(ZoneKey, Adoptable)], forced: &BTreeSet<DnsName>) -> Proposal {
        let mut proposal = Proposal::default();
        for (zone, set, ownership) in self.records() {
            let asked = wanted.iter().find(|(key, adoptable)| *key == zone.key && adoptable.published.key == set.key);
            let Some((_, asked)) = asked.filter(|_| ownership == Ownership::Unclaimed) else { continue };
            let resource = asked.resource.as_deref();
            if !self.scope.selects(&set.key.name, resource) {
                continue;
            }
            let now = Adoptable { published: set.clone(), ..asked.clone() };
            if !now.matches() && !forced.contains(&set.key.name) {
                let text = format!(
                    "{set}: {} wants {}; it is taken as it stands with --force {}",
                    resource.unwrap_or("an object"),
                    asked.wanted.data,
                    set.key.name
                );
                proposal.left.push(text);
                continue;
            }
            let text = format!("= {set}  becomes ours, for {}", resource.unwrap_or("no resource"));
            self.propose(&mut proposal, zone, &set, &OwnershipChange::Take(asked.resource.clone()), text);
        }
        proposal
    }

    fn propose(&self, proposal: &mut Proposal, zone: &Zone, set: &RecordSet, change: &OwnershipChange, text: String) {
        match self.instance.registry.assign(zone, set, change, self) {
            Ok(Some(group)) => proposal.actions.push(self.action(zone, text, group)),
            Ok(None) => {}
            Err(dropped) => proposal.left.push(dropped.reason),
        }
    }

    /// An action; a claim that is kept outside the zones says whose it was.
    fn action(&self, zone: &Zone, text: String, mut group: Group) -> Action {
        let registry = &self.instance.registry;
        for step in &mut group.stored {
            let ownership = judge(&registry.claims(zone, step.key(), self), registry.owner());
            step.held = match &ownership {
                Ownership::Disputed(_) => self.claim_of_ours(zone, step.key()),
                other => other.claim().cloned(),
            }
            .map(Box::new);
        }
        Action { zone: zone.clone(), text, group }
    }

    /// Deletes the selected records of ours with their claims, and claims without a record that speak for a selected name.
    pub fn drain(&self) -> Proposal {
        let mut proposal = Proposal::default();
        let mut by_zone: BTreeMap<&ZoneKey, (&Zone, Vec<Group>)> = BTreeMap::new();
        for Claimed { zone, set, claim, .. } in self.ours(&mut proposal) {
            if set.key.makes_zone(&zone.name) {
                proposal.left.push(format!("{}: NS and SOA records at the apex of a zone are never touched", set.key));
                continue;
            }
            let mut step = Step::record(Change::Delete { from: set }, claim.as_ref().and_then(|c| c.resource.clone()));
            step.held = claim.map(Box::new);
            by_zone.entry(&zone.key).or_insert((zone, Vec::new())).1.push(Group::of(step, Vec::new()));
        }
        for (zone, groups) in by_zone.into_values() {
            for decorated in self.instance.registry.decorate(zone, groups, self) {
                match decorated {
                    Ok(group) => proposal.actions.push(self.action(zone, group.headline(), group)),
                    Err((_, dropped)) => proposal.left.push(dropped.reason),
                }
            }
        }
        proposal.actions.extend(self.orphans());
        proposal
    }

    /// Our claims that speak for no record, at selected names.
    fn orphans(&self) -> Vec<Action> {
        let registry = &self.instance.registry;
        let collect = |zone: &Zone, set: &RecordSet| {
            let mut group = registry.collect_stale_claims(zone, set, StaleClaims::Claims, self)?;
            let spoke_for = match registry.anomaly(zone, set, self) {
                Some(ClaimAnomaly::Orphan(keys)) => keys,
                _ => Vec::new(),
            };
            let mut names = spoke_for.iter().map(|key| &key.name).chain([&set.key.name]);
            names.any(|name| self.covers(zone, name) && self.scope.selects(name, None)).then_some(())?;
            // A listing may have lacked its end.
            let here = spoke_for.iter().filter(|key| key.name.is_within(&zone.name)).cloned();
            group.requires.extend(here.map(Precondition::Absent));
            Some(self.action(zone, format!("{}  a claim without a record", group.headline()), group))
        };
        let outside = |zone: &Zone| {
            let key = |group: &Group| group.stored.first().map_or_else(String::new, |step| step.key().to_string());
            let action = |group| {
                let text = format!("- {}  a claim without a record", key(&group));
                self.action(zone, text, group)
            };
            let meant = |name: &DnsName| self.covers(zone, name) && self.scope.selects(name, None);
            let counts = |group: &Group| group.stored.iter().all(|step| meant(&step.key().name));
            registry.leftovers(zone, self).into_iter().filter(counts).map(action).collect::<Vec<_>>()
        };
        let of = |(zone, view)| -> Vec<Action> {
            let (zone, view): (&Zone, &ZoneView) = (zone, view);
            let claims = view.sets_of(|_| true).filter(|set| registry.is_claim(set));
            claims.filter_map(|set| collect(zone, &set)).chain(outside(zone)).collect()
        };
        self.zones.iter().map(|(zone, view)| (zone, view)).flat_map(of).collect()
    }

    /// Every record in scope that is no claim, for comparison: what a change of claims alone must leave as it is.
    pub fn contents(&self) -> BTreeMap<(ZoneKey, RecordKey), RecordSet> {
        self.records().into_iter().map(|(zone, set, _)| ((zone.key.clone(), set.key.clone()), set)).collect()
    }

    /// Whether any record in scope is meant, whoever owns it.
    pub fn matches_any(&self) -> bool {
        let claimed = |ownership: &Ownership| ownership.claim().and_then(|claim| claim.resource.clone());
        let mut records = self.records().into_iter();
        records.any(|(_, set, ownership)| self.scope.selects(&set.key.name, claimed(&ownership).as_deref()))
    }

    /// How many of the records that are meant belong to this owner.
    pub fn selected_of(&self, owner: &OwnerId) -> usize {
        let registry = &self.instance.registry;
        let meant = |(zone, set, _): &(&Zone, RecordSet, Ownership)| {
            let claims = registry.claims(zone, &set.key, self);
            let theirs =
                |claim: &Claim| claim.owner == *owner && self.scope.selects(&set.key.name, resource(Some(claim)));
            claims.iter().any(theirs)
        };
        self.records().iter().filter(|record| meant(record)).count()
    }

    /// The owners that hold records here, with the number of each; for the question whose are meant.
    pub fn owners(&self) -> BTreeMap<OwnerId, usize> {
        let mut owners = BTreeMap::new();
        for (_, _, ownership) in self.records() {
            let owner = match ownership {
                Ownership::Ours(_) => self.instance.registry.owner().cloned(),
                Ownership::Foreign(owner) => Some(owner),
                Ownership::Unclaimed | Ownership::Disputed(_) => None,
            };
            if let Some(owner) = owner {
                *owners.entry(owner).or_default() += 1;
            }
        }
        owners
    }
}

fn resource(claim: Option<&Claim>) -> Option<&str> {
    claim?.resource.as_deref()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_selector_is_a_name_or_a_resource() {
        let name = |text: &str| DnsName::parse(text).unwrap();
        for (selector, at, resource, expected) in [
            ("example.com", "www.example.com", None, true),
            ("www.example.com", "example.com", None, false),
            ("example.com", "notexample.com", None, false),
            ("ingress/shop/*", "www.example.com", Some("ingress/shop/web"), true),
            ("*/shop/web", "www.example.com", Some("ingress/shop/web"), true),
            ("ingress/shop/*", "www.example.com", Some("ingress/other/web"), false),
            ("ingress/shop/*", "www.example.com", None, false),
        ] {
            assert_eq!(Selector::parse(selector).unwrap().selects(&name(at), resource), expected, "{selector} {at}");
        }
        assert!(Selector::parse("ingress/shop").is_err() && Selector::parse("a..b").is_err());
    }
}
