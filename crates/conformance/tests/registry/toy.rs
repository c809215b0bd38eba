//! A registry as small as one can be: the claim on `NAME TYPE` is the text `mark,owner,resource,labels` at `TYPE-mark.NAME`.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use zonewright_core::change::{Change, Group, Outcome, Precondition, Step};
use zonewright_core::claim::{Claim, ClaimRank, OwnerId};
use zonewright_core::error::Result;
use zonewright_core::rdata::Txt;
use zonewright_core::record::SetId;
use zonewright_core::registry::{
    ClaimAnomaly, ClaimFormat, ClaimStore, Contents, Dropped, ExternalChanges, OwnershipChange, Published, StaleClaims,
};
use zonewright_core::{DnsName, RData, RecordKey, RecordSet, RecordType, Zone};

/// What is wrong with the registry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    None,
    NoOwnerButClaims,
    ForgetsTheResource,
    EveryOwnerIsUs,
    EveryTextIsAClaim,
    OneClaimForAllTypes,
    OneClaimForAllSets,
    LeavesTheClaim,
    RequiresNothing,
    KeepsTheFirstResource,
    CreatesUnderForeignClaims,
    TakesOverTexts,
    SkipsLongNames,
    ClaimsOutsideTheZone,
    HidesItsPlaces,
    ChangesTheRecord,
    RemembersTooMuch,
    UpgradesForEver,
    HandsNothingOver,
    TakesWhatever,
    ForgetsItself,
    ForgetsAtReading,
    EndsAllAtReading,
}

pub(crate) struct Toy {
    owner: OwnerId,
    fault: Fault,
    remembered: Arc<Mutex<BTreeSet<RecordKey>>>,
    blind: Arc<AtomicBool>,
}

impl Toy {
    pub(crate) fn new(owner: &str, fault: Fault) -> Self {
        let owner = OwnerId::new(owner).unwrap();
        Self { owner, fault, remembered: Arc::default(), blind: Arc::default() }
    }

    /// The same for another owner.
    pub(crate) fn neighbour(&self, owner: &str) -> Self {
        let other = Self::new(owner, self.fault);
        if self.is(Fault::EndsAllAtReading) { Self { blind: self.blind.clone(), ..other } } else { other }
    }

    /// The same after a restart.
    pub(crate) fn again(&self) -> Self {
        let owner = if self.is(Fault::ForgetsItself) { "nobody" } else { self.owner.as_str() };
        Self { remembered: self.remembered.clone(), ..Self::new(owner, self.fault) }
    }

    fn is(&self, fault: Fault) -> bool {
        self.fault == fault
    }

    /// Where the claim stands; `None` if there is no room.
    fn place(&self, key: &RecordKey) -> Option<RecordKey> {
        let rtype = if self.is(Fault::OneClaimForAllTypes) { "any".to_owned() } else { key.rtype.lower() };
        let label = format!("{rtype}-mark");
        let outside = Some(&key.name).filter(|_| self.is(Fault::ClaimsOutsideTheZone)).and_then(DnsName::parent);
        let name = outside.unwrap_or_else(|| key.name.clone()).prepend(&label).ok()?;
        let set_id = key.set_id.clone().filter(|_| !self.is(Fault::OneClaimForAllSets));
        Some(RecordKey { name, rtype: RecordType::Txt, set_id })
    }

    fn write(&self, place: RecordKey, step: &Step) -> RecordSet {
        let resource = step.resource.as_deref().filter(|_| !self.is(Fault::ForgetsTheResource)).unwrap_or_default();
        let labels = step.labels.iter().map(|(key, value)| format!("{key}={value}"));
        let words = ["mark".to_owned(), self.owner.to_string(), resource.to_owned()].into_iter().chain(labels);
        let data = RData::Txt(Txt::from_text(&words.collect::<Vec<_>>().join(",")));
        let set = RecordSet::simple(place.name.clone(), RecordType::Txt, None, [data]);
        RecordSet { key: place, ..set }
    }

    fn read(&self, zone: &Zone, key: &RecordKey, published: &dyn Published) -> Option<Claim> {
        if self.blind.load(Ordering::SeqCst) {
            return None;
        }
        let (near, set) = published.find(&zone.key, &self.place(key)?)?;
        let RData::Txt(data) = set.data.as_records().first()? else { return None };
        let whole = data.text()?;
        let mut words = whole.split(',');
        words.next().filter(|word| *word == "mark")?;
        let owner = words.next()?;
        let owner = if self.is(Fault::EveryOwnerIsUs) { self.owner.clone() } else { OwnerId::new(owner)? };
        let resource = words.next().filter(|word| !word.is_empty()).map(Arc::from);
        let labels = words.filter_map(|word| word.split_once('=')).map(|(k, v)| (Arc::from(k), Arc::from(v))).collect();
        Some(Claim { owner, resource, labels, rank: ClaimRank::Typed, current: true, site: Some((near, set)) })
    }

    fn one(&self, zone: &Zone, mut group: Group, published: &dyn Published) -> Result<Group, (Group, Dropped)> {
        for step in group.steps.clone() {
            let key = step.change.key().clone();
            if self.is(Fault::RemembersTooMuch) {
                self.remembered.lock().unwrap().insert(key.clone());
            }
            let drop_it = |reason: String| Err((group.clone(), Dropped { reason }));
            let Some(place) = self.place(&key) else {
                if self.is(Fault::SkipsLongNames) {
                    continue;
                }
                return drop_it(format!("no room for a claim on {key}"));
            };
            let standing = published.find(&zone.key, &place).map(|(_, set)| set);
            let claim = self.read(zone, &key, published);
            let to = self.write(place, &step);
            let keep = step.change.to().is_some()
                && standing.as_ref().is_some_and(|set| set.data == to.data || self.is(Fault::KeepsTheFirstResource));
            match (standing, claim) {
                (Some(set), Some(claim)) if claim.owner != self.owner && !self.is(Fault::CreatesUnderForeignClaims) => {
                    return drop_it(format!("{} claims {key} at {}", claim.owner, set.key));
                }
                (Some(set), None) if self.is(Fault::TakesOverTexts) => {
                    let from = set;
                    group.steps.push(Step::claim(Change::Update { from, to }));
                }
                (Some(set), None) => return drop_it(format!("{set} stands where the claim on {key} goes")),
                (Some(_), Some(_)) if keep && self.is(Fault::RequiresNothing) => {}
                (Some(set), Some(_)) if keep => group.requires.push(Precondition::Exact(set)),
                (Some(from), Some(_)) if step.change.to().is_some() => {
                    group.steps.push(Step::claim(Change::Update { from, to }));
                }
                (Some(from), Some(_)) if !self.is(Fault::LeavesTheClaim) => {
                    group.steps.push(Step::claim(Change::Delete { from }));
                }
                (None, _) if step.change.to().is_some() => group.steps.push(Step::claim(Change::Create { to })),
                _ => {}
            }
        }
        if let (Fault::ChangesTheRecord, Some(Change::Create { to })) =
            (self.fault, group.steps.first_mut().map(|step| &mut step.change))
        {
            to.ttl = None;
        }
        Ok(group)
    }
}

impl ClaimFormat for Toy {
    fn owner(&self) -> Option<&OwnerId> {
        Some(&self.owner).filter(|_| !self.is(Fault::NoOwnerButClaims))
    }

    fn is_record(&self, _zone: &Zone, _set: &RecordSet, _published: &dyn Published) -> bool {
        false
    }

    fn is_claim(&self, set: &RecordSet) -> bool {
        let marked = |data: &RData| matches!(data, RData::Txt(txt) if txt.joined().starts_with(b"mark,"));
        let any = self.is(Fault::EveryTextIsAClaim) && set.key.rtype == RecordType::Txt;
        any || set.data.as_records().iter().any(marked)
    }

    fn claims(&self, zone: &Zone, key: &RecordKey, published: &dyn Published) -> Vec<Claim> {
        let read = self.read(zone, key, published);
        let remembered = self.remembered.lock().unwrap().contains(key).then(|| Claim {
            owner: self.owner.clone(),
            resource: None,
            labels: vec![],
            rank: ClaimRank::Typed,
            current: true,
            site: None,
        });
        read.or(remembered).into_iter().collect()
    }

    fn item_of(&self, _text: &RData) -> Option<SetId> {
        None
    }

    fn claim_names(&self, _zone: &Zone, key: &RecordKey) -> BTreeSet<DnsName> {
        self.place(key).filter(|_| !self.is(Fault::HidesItsPlaces)).map(|place| place.name).into_iter().collect()
    }

    fn decorate(
        &self,
        zone: &Zone,
        groups: Vec<Group>,
        published: &dyn Published,
    ) -> Vec<Result<Group, (Group, Dropped)>> {
        groups.into_iter().map(|group| self.one(zone, group, published)).collect()
    }

    fn upgrade(&self, zone: &Zone, record: &RecordSet, published: &dyn Published) -> Option<Group> {
        let claim = self.read(zone, &record.key, published).filter(|_| self.is(Fault::UpgradesForEver))?;
        let (_, from) = claim.site?;
        Some(Group::of(Step::claim(Change::Update { from: from.clone(), to: from }), vec![]))
    }

    fn anomaly(&self, _zone: &Zone, _set: &RecordSet, _published: &dyn Published) -> Option<ClaimAnomaly> {
        None
    }

    fn collect_stale_claims(
        &self,
        zone: &Zone,
        set: &RecordSet,
        what: StaleClaims,
        published: &dyn Published,
    ) -> Option<Group> {
        let (label, _) = set.key.name.split_first()?;
        let rtype: RecordType = label.strip_suffix("-mark")?.parse().ok()?;
        let key = RecordKey { name: set.key.name.parent()?, rtype, set_id: set.key.set_id.clone() };
        let claim = self.read(zone, &key, published).filter(|claim| claim.owner == self.owner)?;
        let wanted = what == StaleClaims::Claims && published.find(&zone.key, &key).is_none();
        let (_, from) = claim.site.filter(|_| wanted && !self.is(Fault::HandsNothingOver))?;
        Some(Group::of(Step::claim(Change::Delete { from }), vec![]))
    }

    fn assign(
        &self,
        zone: &Zone,
        record: &RecordSet,
        order: &OwnershipChange,
        published: &dyn Published,
    ) -> Result<Option<Group>, Dropped> {
        let claim = self.read(zone, &record.key, published);
        let site = claim.as_ref().and_then(|claim| claim.site.clone()).map(|(_, set)| set);
        let ours = claim.as_ref().is_some_and(|claim| claim.owner == self.owner);
        let place = self.place(&record.key).ok_or_else(|| Dropped { reason: "no room".to_owned() })?;
        let resource = |order: &OwnershipChange| match order {
            OwnershipChange::Take(resource) => resource.clone(),
            _ => claim.as_ref().and_then(|claim| claim.resource.clone()),
        };
        let step = Step { resource: resource(order), ..Step::record(Change::Create { to: record.clone() }, None) };
        let change = match (order, site) {
            _ if self.is(Fault::HandsNothingOver) => return Ok(None),
            (OwnershipChange::Take(_), None) => Change::Create { to: self.write(place, &step) },
            (OwnershipChange::Take(_), Some(_)) if ours => return Ok(None),
            (OwnershipChange::Disown, None) => return Ok(None),
            (OwnershipChange::Disown, Some(from)) if ours => Change::Delete { from },
            (OwnershipChange::Give(owner), Some(_)) if claim.as_ref().is_some_and(|c| c.owner == *owner) => {
                return Ok(None);
            }
            (OwnershipChange::Give(owner), Some(from)) if ours => {
                let to = Toy::new(owner.as_str(), self.fault).write(place, &step);
                Change::Update { from, to }
            }
            _ => return Err(Dropped { reason: format!("{} is not ours", record.key) }),
        };
        let group = Group { name: record.key.name.clone(), ..Group::of(Step::claim(change), vec![]) };
        let requires = if self.is(Fault::TakesWhatever) { vec![] } else { vec![Precondition::Exact(record.clone())] };
        Ok(Some(Group { requires, ..group }))
    }
}

#[async_trait]
impl ClaimStore for Toy {
    async fn load(&self) -> Result<()> {
        Ok(())
    }

    async fn resync(&self, _zone: &Zone, _contents: &dyn Contents, _changed: bool) -> Result<ExternalChanges> {
        let forgets = self.is(Fault::ForgetsAtReading) || self.is(Fault::EndsAllAtReading);
        self.blind.store(forgets, Ordering::SeqCst);
        Ok(ExternalChanges::default())
    }

    fn item_keys(&self, _zone: &Zone, _names: &BTreeSet<DnsName>) -> BTreeSet<RecordKey> {
        BTreeSet::new()
    }

    fn leftovers(&self, _zone: &Zone, _published: &dyn Published) -> Vec<Group> {
        Vec::new()
    }

    fn piece(&self) -> usize {
        0
    }

    async fn prepare(&self, _zone: &Zone, groups: Vec<Group>) -> Vec<Result<Group, (Group, Dropped)>> {
        groups.into_iter().map(Ok).collect()
    }

    async fn commit(&self, _zone: &Zone, _groups: &[Group], _outcomes: &[Outcome]) -> Result<()> {
        Ok(())
    }
}
