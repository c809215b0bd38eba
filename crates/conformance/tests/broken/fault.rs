//! A provider with one fault. Each is one that a real provider had.

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use zonewright_conformance::provider::Harness;
use zonewright_core::capability::{Capability, TypeSupport};
use zonewright_core::change::{Change, Group, Outcome, Precondition};
use zonewright_core::endpoint::Endpoint;
use zonewright_core::error::{Error, ErrorKind, Result};
use zonewright_core::interpret::Interpretation;
use zonewright_core::provider::{Adjustment, Delta, Listing, Provider, Read, Token};
use zonewright_core::rdata::Txt;
use zonewright_core::zone::ZoneId;
use zonewright_core::{DnsName, RData, RecordData, RecordSet, RecordType, Ttl, Zone};
use zonewright_provider_local::{Local, LocalConfig};

/// What is wrong with the provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Nothing.
    None,
    /// A listing shows one TTL for everything.
    DropsTtls,
    /// A listing ends after its first page.
    LosesAPage,
    /// A listing shows a set twice, as a page that is read again would.
    RepeatsASet,
    /// A listing leaves out types that it does not know.
    HidesTypes,
    /// A listing joins the strings of a text.
    JoinsStrings,
    /// A listing leaves out names that are no host names.
    HidesUnusualNames,
    /// A listing leaves out the apex.
    HidesTheApex,
    /// A call without groups gets an outcome.
    AnswersNothing,
    /// A listing shows texts in lower case.
    LowersText,
    /// A listing shows the first target only.
    FirstTarget,
    /// An unknown zone is empty.
    EmptyUnknownZone,
    /// Nothing is demanded of the zone before a write.
    IgnoresPreconditions,
    /// What is demanded of sets that do not change is not looked at.
    IgnoresRequires,
    /// A create adds to what stands there and counts as done.
    CreateAdds,
    /// Steps of a group go one by one.
    SplitsGroups,
    /// A refused call counts as applied.
    AlwaysApplied,
    /// A group is applied and counts as refused.
    FalseRefusal,
    /// A delete counts as applied and does nothing.
    ForgetsDeletes,
    /// Groups after the first are lost, and so are their outcomes.
    FirstGroupOnly,
    /// Other names' records are written again with another TTL.
    TouchesForeign,
    /// Nothing ever changes.
    AlwaysUnchanged,
    /// The history does not show what went.
    DeltaWithoutRemoved,
    /// The history forgets its first step.
    DeltaLosesAStep,
    /// A read of names gives everything.
    NamesGivesAll,
    /// A read of names gives one name.
    NamesGivesOne,
    /// Adjusting moves the TTL a little further each time.
    AdjustCreeps,
    /// Adjusting promises a TTL that is not read back.
    AdjustLies,
    /// A type is declared and refused.
    DeclaresTooMuch,
    /// A type is written and not declared.
    DeclaresTooLittle,
    /// Zones are not found by their ids.
    LosesZones,
    /// It is an error to ask whether changes are served, since that is not known.
    CannotTell,
}

/// The embedded server behind a provider with a fault; out of band it can be trusted.
pub(crate) struct Broken {
    local: Arc<Local>,
    zone: Zone,
    fault: Fault,
}

impl Broken {
    pub(crate) async fn start(fault: Fault) -> Self {
        let local = Local::start(LocalConfig::with_zones(["example.test"]).unwrap()).await.unwrap();
        let zone = local.find_zone(&DnsName::parse("example.test").unwrap()).unwrap();
        Self { local, zone, fault }
    }

    fn spoil(&self, mut sets: Vec<RecordSet>) -> Vec<RecordSet> {
        match self.fault {
            Fault::DropsTtls => sets.iter_mut().for_each(|set| set.ttl = Ttl::from_secs(300)),
            Fault::LosesAPage => sets.truncate(100),
            Fault::RepeatsASet => sets.extend(sets.first().cloned()),
            Fault::HidesTypes => sets.retain(|set| set.key.rtype != RecordType::Caa),
            Fault::HidesUnusualNames => sets.retain(|set| !set.key.name.as_str().contains(['_', '*'])),
            Fault::HidesTheApex => sets.retain(|set| set.key.name != self.zone.name || set.key.rtype == RecordType::Ns),
            Fault::JoinsStrings => each_text(&mut sets, |txt| Txt::from_octets(&txt.joined())),
            Fault::LowersText => each_text(&mut sets, |txt| Txt::from_octets(&txt.joined().to_ascii_lowercase())),
            Fault::FirstTarget => sets.iter_mut().for_each(|set| {
                set.data = RecordData::records(set.data.as_records().first().cloned());
            }),
            _ => {}
        }
        sets
    }

    /// Does what the change says, whatever stands there.
    fn force(&self, change: &Change) {
        let done = match change.to() {
            Some(to) => self.local.insert(&self.zone.name, to.clone()),
            None => self.local.remove(&self.zone.name, change.key()),
        };
        drop(done);
    }

    fn add(&self, change: &Change) {
        let mut change = change.clone();
        if let Change::Create { to } = &mut change {
            let standing = self.local.dump(&self.zone.name).unwrap().into_iter().find(|set| set.key == to.key);
            let standing = standing.iter().flat_map(|set| set.data.as_records().to_vec());
            to.data = RecordData::records(to.data.as_records().iter().cloned().chain(standing));
        }
        self.force(&change);
    }

    async fn one_by_one(&self, group: &Group) -> Outcome {
        let mut last = Outcome::Applied;
        for step in &group.steps {
            let alone = Group { steps: vec![step.clone()], ..group.clone() };
            let outcome = self.local.apply(&self.zone, &[alone]).await.remove(0);
            if outcome.error().is_some() {
                last = outcome;
            }
        }
        last
    }

    fn touch_foreign(&self) {
        for set in self.local.dump(&self.zone.name).unwrap() {
            if set.key.name.as_str().contains("foreign") {
                let _ = self.local.insert(&self.zone.name, RecordSet { ttl: Ttl::from_secs(1), ..set });
            }
        }
    }
}

fn each_text(sets: &mut [RecordSet], spoil: impl Fn(&Txt) -> Txt) {
    for set in sets {
        let data = set.data.as_records().iter().map(|data| match data {
            RData::Txt(txt) => RData::Txt(spoil(txt)),
            other => other.clone(),
        });
        set.data = RecordData::records(data.collect::<Vec<_>>());
    }
}

fn outcomes(groups: &[Group], each: impl Fn(&Group)) -> Vec<Outcome> {
    groups.iter().map(each).map(|()| Outcome::Applied).collect()
}

#[async_trait]
impl Provider for Broken {
    fn capability(&self, zone: Option<&Zone>) -> Capability {
        let mut capability = self.local.capability(zone);
        if let (Fault::DeclaresTooLittle, TypeSupport::Listed(types)) = (self.fault, &mut capability.types) {
            types.retain(|rtype| *rtype != RecordType::Srv);
        }
        capability
    }

    async fn zones(&self) -> Result<Vec<Zone>> {
        self.local.zones().await
    }

    async fn zone(&self, id: &ZoneId) -> Result<Option<Zone>> {
        if self.fault == Fault::LosesZones { Ok(None) } else { self.local.zone(id).await }
    }

    async fn records(&self, zone: &Zone, read: Read<'_>) -> Result<Listing> {
        if self.fault == Fault::EmptyUnknownZone && *zone != self.zone {
            return Ok(Listing::Full { sets: vec![], token: Some(Token("0".to_owned())) });
        }
        let all: BTreeSet<DnsName> = self.local.dump(&self.zone.name)?.into_iter().map(|set| set.key.name).collect();
        let one = |names: &BTreeSet<DnsName>| names.iter().take(1).cloned().collect::<BTreeSet<_>>();
        let listing = match (self.fault, read) {
            (Fault::NamesGivesAll, Read::Names(_)) => self.local.records(zone, Read::Names(&all)).await?,
            (Fault::NamesGivesOne, Read::Names(names)) => self.local.records(zone, Read::Names(&one(names))).await?,
            (Fault::AlwaysUnchanged, Read::Since(_)) => Listing::Unchanged,
            _ => self.local.records(zone, read).await?,
        };
        Ok(match listing {
            Listing::Full { sets, token } => Listing::Full { sets: self.spoil(sets), token },
            Listing::Page { sets, next } => Listing::Page { sets: self.spoil(sets), next },
            Listing::Names(sets) => Listing::Names(self.spoil(sets)),
            Listing::Delta { steps, token } => Listing::Delta { steps: self.spoil_history(steps), token },
            Listing::Unchanged => Listing::Unchanged,
        })
    }

    fn interpret(&self, zone: &Zone, endpoint: &Endpoint) -> Interpretation {
        self.local.interpret(zone, endpoint)
    }

    async fn adjust(&self, zone: &Zone, sets: &[RecordSet]) -> Vec<Adjustment> {
        let more = |ttl: Ttl| Ttl::from_secs(ttl.secs() + 1).unwrap_or(ttl);
        let crept = |adjustment: Adjustment| {
            let sets = adjustment.sets().iter().cloned();
            let sets = sets.map(|set| RecordSet { ttl: set.ttl.map(more), ..set }).collect();
            Adjustment::As { sets, notes: Vec::new() }
        };
        let adjusted = self.local.adjust(zone, sets).await;
        if self.fault == Fault::AdjustCreeps { adjusted.into_iter().map(crept).collect() } else { adjusted }
    }

    async fn apply(&self, zone: &Zone, groups: &[Group]) -> Vec<Outcome> {
        let force_all = |group: &Group| group.changes().for_each(|change| self.force(change));
        match self.fault {
            Fault::IgnoresPreconditions if *zone == self.zone => outcomes(groups, force_all),
            Fault::CreateAdds if *zone == self.zone => outcomes(groups, |g| g.changes().for_each(|c| self.add(c))),
            Fault::AnswersNothing if groups.is_empty() => vec![Outcome::Applied],
            Fault::IgnoresRequires => {
                let careless: Vec<Group> = groups.iter().map(|g| Group { requires: vec![], ..g.clone() }).collect();
                self.local.apply(zone, &careless).await
            }
            Fault::SplitsGroups => {
                let mut all = Vec::new();
                for group in groups {
                    all.push(self.one_by_one(group).await);
                }
                all
            }
            Fault::AlwaysApplied => {
                self.local.apply(zone, groups).await;
                vec![Outcome::Applied; groups.len()]
            }
            Fault::FalseRefusal => {
                let all = self.local.apply(zone, groups).await;
                if all.iter().any(|outcome| outcome.error().is_some()) {
                    groups.iter().for_each(force_all);
                }
                all
            }
            Fault::ForgetsDeletes => {
                let deletes = |g: &Group| g.changes().any(|c| matches!(c, Change::Delete { .. }));
                let kept: Vec<Group> = groups.iter().filter(|g| !deletes(g)).cloned().collect();
                let mut done = self.local.apply(zone, &kept).await.into_iter();
                let outcome = |g: &Group| if deletes(g) { Outcome::Applied } else { done.next().unwrap() };
                groups.iter().map(outcome).collect()
            }
            Fault::FirstGroupOnly => self.local.apply(zone, &groups[..groups.len().min(1)]).await,
            Fault::TouchesForeign => {
                self.touch_foreign();
                self.local.apply(zone, groups).await
            }
            Fault::AdjustLies => {
                let other = |mut group: Group| {
                    for step in &mut group.steps {
                        if let Change::Create { to } | Change::Update { to, .. } = &mut step.change {
                            to.ttl = Ttl::from_secs(42);
                        }
                    }
                    group
                };
                self.local.apply(zone, &groups.iter().cloned().map(other).collect::<Vec<_>>()).await
            }
            Fault::DeclaresTooMuch => {
                let forbidden = |group: &Group| Group {
                    requires: vec![Precondition::Exact(
                        group.steps[0].change.from().or(group.steps[0].change.to()).unwrap().clone(),
                    )],
                    ..group.clone()
                };
                let srv = |group: &&Group| group.changes().any(|change| change.key().rtype == RecordType::Srv);
                match groups.iter().find(srv) {
                    Some(group) => vec![self.local.apply(zone, &[forbidden(group)]).await.remove(0); groups.len()],
                    None => self.local.apply(zone, groups).await,
                }
            }
            _ => self.local.apply(zone, groups).await,
        }
    }

    async fn served(&self, zone: &Zone) -> Result<Option<bool>> {
        if self.fault == Fault::CannotTell {
            return Err(Error::new(ErrorKind::Unsupported, "ask whether changes are served", "it is not known"));
        }
        self.local.served(zone).await
    }
}

impl Broken {
    fn spoil_history(&self, mut steps: Vec<Delta>) -> Vec<Delta> {
        match self.fault {
            Fault::DeltaWithoutRemoved => steps.iter_mut().for_each(|step| step.removed.clear()),
            Fault::DeltaLosesAStep => drop(steps.remove(0)),
            _ => {}
        }
        steps
    }
}

#[async_trait]
impl Harness for Broken {
    fn provider(&self) -> &dyn Provider {
        self
    }

    fn zone(&self) -> &Zone {
        &self.zone
    }

    async fn insert(&self, set: RecordSet) {
        self.local.insert(&self.zone.name, set).unwrap();
    }

    async fn dump(&self) -> Vec<RecordSet> {
        self.local.dump(&self.zone.name).unwrap()
    }
}
