//! The provider's contract, kept or broken as the fault says.

use async_trait::async_trait;
use zonewright_core::Zone;
use zonewright_core::capability::{
    Audit, Batch, Capability, CnameRules, Preconditions, RoutingKind, RoutingSupport, TtlRange, TypeSupport,
};
use zonewright_core::change::{Blame, Group, Outcome};
use zonewright_core::cost::Cost;
use zonewright_core::endpoint::{Endpoint, Note, Targets};
use zonewright_core::error::{Error, ErrorKind, Result};
use zonewright_core::interpret::Interpretation;
use zonewright_core::provider::{Adjustment, Listing, Provider, Read};
use zonewright_core::record::{AliasTarget, Geolocation, Routing};
use zonewright_core::zone::ZoneId;
use zonewright_core::{RData, RecordData, RecordSet, RecordType, Ttl};

use super::account::Answer;
use super::{CHANGES, Cloud, CloudFault, lock, spelled, ttl};

#[async_trait]
impl Provider for Cloud {
    fn capability(&self, _: Option<&Zone>) -> Capability {
        Capability {
            types: TypeSupport::Listed(RecordType::WRITABLE.to_vec()),
            routing: if self.in_set {
                RoutingSupport::InSet(&[RoutingKind::Weighted, RoutingKind::Geolocation])
            } else {
                RoutingSupport::PerSet(&[RoutingKind::Weighted])
            },
            set_ids: !self.in_set,
            one_kind: !self.in_set,
            batch: Batch { values: Some(CHANGES), update: 2, ..Batch::of(CHANGES) },
            preconditions: Preconditions::Changed,
            cname: CnameRules { alone: true, flattened: self.flattening },
            alias: !self.flattening,
            audit: Audit::Listing,
            audit_pace: self.audit_pace,
            ..Capability::authoritative(CHANGES, TtlRange { min: Ttl::ZERO, max: Ttl::MAX, default: ttl() })
        }
    }

    async fn zones(&self) -> Result<Vec<Zone>> {
        whole(self.account.request("list zones", self.fault)?)?;
        let twin = self.twin.iter().map(|twin| twin.zone.clone());
        Ok([self.zone.clone()].into_iter().chain(twin).collect())
    }

    async fn zone(&self, id: &ZoneId) -> Result<Option<Zone>> {
        whole(self.account.request("read zone", self.fault)?)?;
        let zones = [Some(&self.zone), self.twin.as_ref().map(|twin| &twin.zone)].into_iter().flatten();
        Ok(zones.into_iter().find(|zone| zone.key.zone == *id).cloned())
    }

    async fn records(&self, zone: &Zone, read: Read<'_>) -> Result<Listing> {
        if let Some(twin) = self.twin_of(zone) {
            return twin.records(zone, read).await;
        }
        let answer = self.account.request("list records", self.fault);
        tokio::time::sleep(self.delay).await;
        let gone = || Error::new(ErrorKind::NotFound, "list records", format!("there is no zone {}", zone.key.zone));
        let is_gone = zone.key.zone != self.zone.key.zone || self.account.gone();
        let answer = answer.and_then(|answer| if is_gone { Err(gone()) } else { Ok(answer) });
        let circle = match answer {
            Err(error) if self.takes_for_empty(error.kind) => return Ok(nothing(read)),
            Err(error) | Ok(Answer::Lost(error)) => return Err(error),
            Ok(Answer::Whole) => false,
            Ok(Answer::Circle) => true,
        };
        Ok(match read {
            Read::All | Read::Since(_) => self.page(None, circle),
            Read::From(cursor) => self.page(Some(cursor), circle),
            Read::Names(names) => {
                let sets = lock(&self.sets);
                Listing::Names(sets.values().filter(|set| names.contains(&set.key.name)).cloned().collect())
            }
        })
    }

    fn interpret(&self, zone: &Zone, endpoint: &Endpoint) -> Interpretation {
        let property = |key: &str| endpoint.extras.properties.get(key);
        let mut form = endpoint.clone();
        if let Some(weight) = property("cloud/weight") {
            let Ok(weight) = weight.parse() else {
                let text = format!("{}: cloud/weight={weight:?}: expected a whole number", endpoint.name);
                return Interpretation::refused(Note::warning(&endpoint.origin.object, "InvalidOption", text));
            };
            form.extras.edit(|extras| {
                extras.routing = Routing::Weighted { weight };
                extras.properties.remove("cloud/weight")
            });
        }
        if let Some(country) = property("cloud/country") {
            let location = Geolocation { country: Some(country.clone()), ..Geolocation::default() };
            form.extras.edit(|extras| {
                extras.routing = Routing::Geolocation { location };
                extras.properties.remove("cloud/country")
            });
        }
        form.extras.edit(|extras| extras.properties.remove("cloud/zone"));
        let asked = property("alias").is_some_and(|alias| &**alias == "true");
        let host = match form.targets.as_records().first() {
            Some(RData::Cname(host)) if !self.flattening && (asked || endpoint.name == zone.name) => Some(host.clone()),
            _ => None,
        };
        let forms = match host {
            Some(host) => [RecordType::A, RecordType::Aaaa]
                .map(|rtype| {
                    let target =
                        AliasTarget { target: spelled(host.as_str()).into(), zone: None, evaluate_health: false };
                    Endpoint { rtype, targets: Targets::Alias(Box::new(target)), ttl: None, ..form.clone() }
                })
                .to_vec(),
            None => vec![form],
        };
        let made = Interpretation::forms(forms);
        match property("cloud/zone") {
            Some(zone) => made.only_in(ZoneId::from(&**zone)),
            None => made,
        }
    }

    async fn adjust(&self, _: &Zone, sets: &[RecordSet]) -> Vec<Adjustment> {
        let one = |set: &RecordSet| match (&set.data, set.options.get("cloud/tier").map(ToString::to_string)) {
            (_, Some(tier)) if tier == "closed" => Adjustment::Refused(format!("tier {tier} takes no records")),
            (RecordData::Alias(alias), _) => {
                let alias = AliasTarget { target: spelled(&alias.target).into(), ..alias.clone() };
                Adjustment::to(RecordSet { ttl: None, data: RecordData::Alias(alias), ..set.clone() })
            }
            _ => Adjustment::to(RecordSet { ttl: set.ttl.or(Some(ttl())), ..set.clone() }),
        };
        sets.iter().map(one).collect()
    }

    async fn apply(&self, zone: &Zone, groups: &[Group]) -> Vec<Outcome> {
        if groups.is_empty() {
            return Vec::new();
        }
        if let Some(twin) = self.twin_of(zone).filter(|_| self.fault != CloudFault::OneZone) {
            return twin.apply(zone, groups).await;
        }
        tokio::time::sleep(self.delay).await;
        if self.fault == CloudFault::ReadsTheZone {
            let pages = lock(&self.sets).len().div_ceil(self.page);
            (0..pages).for_each(|_| drop(self.account.request("list records", self.fault)));
        }
        let all = |outcome: Outcome| vec![outcome; groups.len()];
        let lost = match self.account.request("apply changes", self.fault) {
            Ok(Answer::Lost(error)) => Some(error),
            Ok(_) => None,
            Err(error) if error.kind == ErrorKind::Throttled && self.fault == CloudFault::IgnoresThrottling => {
                return all(Outcome::Applied);
            }
            Err(error) if matches!(error.kind, ErrorKind::Throttled | ErrorKind::Unauthorized) => {
                return all(Outcome::NotSent(error));
            }
            Err(error) => return all(self.unknown(error)),
        };
        let outcomes = self.carry_out(zone, groups);
        lost.map_or(outcomes, |error| all(self.unknown(error)))
    }

    async fn served(&self, _: &Zone) -> Result<Option<bool>> {
        Ok(None)
    }
}

/// An answer that came.
fn whole(answer: Answer) -> Result<()> {
    match answer {
        Answer::Lost(error) => Err(error),
        Answer::Whole | Answer::Circle => Ok(()),
    }
}

/// What a read gives of a zone without records.
fn nothing(read: Read<'_>) -> Listing {
    match read {
        Read::Names(_) => Listing::Names(Vec::new()),
        _ => Listing::Full { sets: Vec::new(), token: None },
    }
}

impl Cloud {
    /// The second zone, if it is this one.
    fn twin_of(&self, zone: &Zone) -> Option<&Self> {
        self.twin.as_deref().filter(|twin| twin.zone.key == zone.key)
    }

    fn takes_for_empty(&self, kind: ErrorKind) -> bool {
        matches!(
            (self.fault, kind),
            (CloudFault::EmptyIfRefused, ErrorKind::Unauthorized)
                | (CloudFault::EmptyIfUnreadable, ErrorKind::Protocol)
                | (CloudFault::EmptyIfGone, ErrorKind::NotFound)
        )
    }

    fn unknown(&self, error: Error) -> Outcome {
        match self.fault {
            CloudFault::SaysNotSent => Outcome::NotSent(error),
            _ => Outcome::Unknown(error),
        }
    }

    fn carry_out(&self, zone: &Zone, groups: &[Group]) -> Vec<Outcome> {
        let batch = self.capability(None).batch;
        let refused = |error: &Error| -> Vec<Outcome> {
            groups.iter().map(|_| Outcome::Refused { error: error.clone(), blame: Blame::Batch }).collect()
        };
        if self.account.gone() || (zone.key.zone != self.zone.key.zone && self.twin_of(zone).is_none()) {
            let text = format!("there is no zone {}", zone.key.zone);
            return refused(&Error::new(ErrorKind::NotFound, "apply changes", text));
        }
        let cost = groups.iter().map(|group| batch.cost(group)).fold(Cost::default(), std::ops::Add::add);
        let less = self.fault == CloudFault::HoldsLess && cost.changes == CHANGES;
        if less || !batch.holds(cost) {
            let text = format!("the call holds more than {CHANGES} changes or values");
            return refused(&Error::new(ErrorKind::Invalid, "apply changes", text));
        }
        let mut sets = lock(&self.sets);
        let mut after = sets.clone();
        for (bad, group) in groups.iter().enumerate() {
            let Err(error) = self.write(&mut after, group) else { continue };
            let blame = |at: usize| if at == bad { Blame::Group } else { Blame::Batch };
            return (0..groups.len()).map(|at| Outcome::Refused { error: error.clone(), blame: blame(at) }).collect();
        }
        *sets = after;
        groups.iter().map(|_| Outcome::Applied).collect()
    }
}
