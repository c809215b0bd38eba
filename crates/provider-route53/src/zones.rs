//! The hosted zones, and which identity serves which.
//!
//! In: the accounts and what selects zones. Out: [`Zone`]s. What must hold: a list is whole or an error; a zone that two accounts
//! see is served by the first of them, and a zone goes to no other account because a list leaves it out; a zone with a role of its own is
//! asked for by that role, since the account need not see it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use aws_sdk_route53::types::{HostedZone, HostedZoneConfig, TagResourceType, VpcRegion};
use rand::Rng as _;
use tokio::time::Instant;
use tracing::warn;
use zonewright_core::filter::DomainFilter;
use zonewright_core::zone::{InstanceId, Visibility, ZoneId};
use zonewright_core::{Error, ErrorKind, Result, Zone};

use crate::interpret::bare;
use crate::name;
use crate::service::Service;

const LIST: &str = "list zones";
/// Zones whose tags can be asked for at once.
const TAGGED: usize = 10;

/// Which zones count.
#[derive(Debug, Default)]
pub(crate) struct Select {
    /// Only private ones, or only public ones.
    pub(crate) private: Option<bool>,
    /// Ends of ids.
    pub(crate) ids: Vec<String>,
    /// Tags that all must be there, with any value or this one.
    pub(crate) tags: BTreeMap<String, Option<String>>,
    /// Regions and ids of VPCs, of which a private zone has to belong to one.
    pub(crate) vpcs: Vec<(String, String)>,
    pub(crate) filter: DomainFilter,
    /// Whether a zone above a domain filter counts too.
    pub(crate) match_parent: bool,
}

/// What an account says of a zone.
#[derive(Debug)]
enum Answer {
    /// It is there.
    Selected(Zone),
    /// It is there, and something leaves it out.
    LeftOut,
    /// There is none.
    Missing,
}

impl Answer {
    fn zone(self) -> Option<Zone> {
        match self {
            Self::Selected(zone) => Some(zone),
            Self::LeftOut | Self::Missing => None,
        }
    }
}

/// The zones of one provider.
#[derive(Debug)]
pub(crate) struct Zones {
    instance: InstanceId,
    accounts: Vec<Arc<Service>>,
    roles: BTreeMap<ZoneId, Arc<Service>>,
    select: Select,
    keep: Duration,
    /// Who serves a zone, by its id: also one that a list leaves out, until its account says that it is gone.
    serving: Mutex<HashMap<ZoneId, Arc<Service>>>,
    /// The last list, and until when it counts.
    kept: Mutex<Option<(Vec<Zone>, Instant)>>,
}

impl Zones {
    /// The zones of these accounts, the first of which is there always.
    pub(crate) fn new(
        instance: InstanceId,
        accounts: Vec<Arc<Service>>,
        roles: BTreeMap<ZoneId, Arc<Service>>,
        select: Select,
        keep: Duration,
    ) -> Self {
        Self { instance, accounts, roles, select, keep, serving: Mutex::default(), kept: Mutex::default() }
    }

    /// Who serves this zone: a role of its own, the account that listed it, else the first one.
    ///
    /// # Errors
    /// There is no account.
    pub(crate) fn service(&self, id: &ZoneId) -> Result<Arc<Service>> {
        let serving = self.serving().get(id).cloned();
        let service = self.roles.get(id).cloned().or(serving).or_else(|| self.accounts.first().cloned());
        service.ok_or_else(|| Error::new(ErrorKind::Configuration, LIST, "there is no account"))
    }

    /// The zones that are selected.
    ///
    /// # Errors
    /// The list is not whole.
    pub(crate) async fn list(&self) -> Result<Vec<Zone>> {
        if let Some((zones, until)) = &*self.kept.lock().unwrap_or_else(PoisonError::into_inner)
            && Instant::now() < *until
        {
            return Ok(zones.clone());
        }
        let mut found: BTreeMap<ZoneId, (Zone, Arc<Service>)> = BTreeMap::new();
        for (id, service) in &self.roles {
            if let Some(zone) = self.ask(service, id).await?.zone() {
                found.insert(id.clone(), (zone, service.clone()));
            } else {
                let role = service.identity();
                warn!(zone = %id, role, "the zone of --aws-zone-role is not there, or another flag leaves it out");
            }
        }
        for service in &self.accounts {
            for zone in self.of_account(service).await? {
                found.entry(zone.key.zone.clone()).or_insert_with(|| (zone, service.clone()));
            }
        }
        let zones: Vec<Zone> = found.values().map(|(zone, _)| zone.clone()).collect();
        let serving = found.into_iter().map(|(id, (_, service))| (id, service));
        self.serving().extend(serving);
        if !self.keep.is_zero() {
            // Processes that were started together do not go on asking together.
            let keep = self.keep.mul_f64(rand::rng().random_range(0.9..1.1));
            *self.kept.lock().unwrap_or_else(PoisonError::into_inner) = Some((zones.clone(), Instant::now() + keep));
        }
        Ok(zones)
    }

    /// One zone, if it is there and selected: its account says so. Where none is known to have it, each is asked.
    ///
    /// # Errors
    /// It cannot be determined.
    pub(crate) async fn one(&self, id: &ZoneId) -> Result<Option<Zone>> {
        if let Some(service) = self.roles.get(id) {
            return self.ask(service, id).await.map(Answer::zone);
        }
        let known = self.serving().get(id).cloned();
        let others = self.accounts.iter().filter(|other| known.as_ref().is_none_or(|known| !Arc::ptr_eq(known, other)));
        // To an account that does not have the zone it is forbidden: that says nothing.
        let mut problem = None;
        for service in known.iter().chain(others) {
            match self.ask(service, id).await {
                Ok(Answer::Missing) if known.is_some() && problem.is_none() => {
                    self.serving().remove(id);
                    return Ok(None);
                }
                Ok(Answer::Missing) => {}
                Ok(answer) => {
                    self.serving().insert(id.clone(), service.clone());
                    return Ok(answer.zone());
                }
                Err(error) => problem = problem.or(Some(error)),
            }
        }
        match problem {
            Some(error) => Err(error),
            None => Ok(None),
        }
    }

    fn serving(&self) -> MutexGuard<'_, HashMap<ZoneId, Arc<Service>>> {
        self.serving.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One zone of one identity.
    async fn ask(&self, service: &Service, id: &ZoneId) -> Result<Answer> {
        let answer = service
            .read("read zone", &format!("zone {id}"), |client| {
                let request = client.get_hosted_zone().id(id.as_str());
                async move { request.send().await }
            })
            .await;
        let answer = match answer {
            Ok(answer) => answer,
            Err(error) if error.kind == ErrorKind::NotFound => return Ok(Answer::Missing),
            Err(error) => return Err(error),
        };
        let Some(zone) = answer.hosted_zone().and_then(|zone| self.zone(zone)) else { return Ok(Answer::LeftOut) };
        let in_vpc = |(region, vpc): &(String, String)| {
            answer
                .vpcs()
                .iter()
                .any(|of| of.vpc_id() == Some(vpc) && of.vpc_region().is_some_and(|of| of.as_str() == region))
        };
        if !self.select.vpcs.is_empty() && !self.select.vpcs.iter().any(in_vpc) {
            return Ok(Answer::LeftOut);
        }
        Ok(self.tagged(service, vec![zone]).await?.pop().map_or(Answer::LeftOut, Answer::Selected))
    }

    /// The zones of one account.
    async fn of_account(&self, service: &Service) -> Result<Vec<Zone>> {
        let (mut zones, mut marker): (Vec<Zone>, Option<String>) = (Vec::new(), None);
        loop {
            let page = service
                .read(LIST, "hosted zones", |client| {
                    let request = client.list_hosted_zones().set_marker(marker.clone());
                    async move { request.send().await }
                })
                .await?;
            zones.extend(page.hosted_zones().iter().filter_map(|zone| self.zone(zone)));
            if !page.is_truncated() {
                break;
            }
            marker = Some(further(marker.as_deref(), page.next_marker(), "the next page of zones")?);
        }
        let zones = self.of_vpcs(service, zones).await?;
        self.tagged(service, zones).await
    }

    /// A zone, if it is selected by what the list states.
    fn zone(&self, hosted: &HostedZone) -> Option<Zone> {
        let (id, select) = (bare(hosted.id()), &self.select);
        let private = hosted.config().is_some_and(HostedZoneConfig::private_zone);
        let name = match name::read(hosted.name()) {
            Ok(name) => name,
            Err(error) => {
                warn!(zone = id, %error, "a zone is left out: its name cannot be read");
                return None;
            }
        };
        let by_name =
            if select.match_parent { select.filter.matches_zone(&name) } else { select.filter.matches(&name) };
        let by_id = select.ids.is_empty() || select.ids.iter().any(|end| id.ends_with(end.as_str()));
        let by_type = select.private.is_none_or(|wanted| wanted == private);
        if !(by_name && by_id && by_type) {
            return None;
        }
        let visibility = if private { Visibility::Private } else { Visibility::Public };
        Some(Zone { visibility, ..Zone::new(&self.instance, id, name) })
    }

    /// The private zones of the selected VPCs; all of them where none is selected.
    async fn of_vpcs(&self, service: &Service, zones: Vec<Zone>) -> Result<Vec<Zone>> {
        if self.select.vpcs.is_empty() {
            return Ok(zones);
        }
        let mut ids = BTreeSet::new();
        for (region, vpc) in &self.select.vpcs {
            let mut token: Option<String> = None;
            loop {
                let page = service
                    .read(LIST, &format!("hosted zones of {vpc}"), |client| {
                        let request = client.list_hosted_zones_by_vpc().vpc_id(vpc.clone());
                        let request =
                            request.vpc_region(VpcRegion::from(region.as_str())).set_next_token(token.clone());
                        async move { request.send().await }
                    })
                    .await?;
                ids.extend(page.hosted_zone_summaries().iter().map(|zone| bare(zone.hosted_zone_id()).to_owned()));
                match page.next_token() {
                    Some(next) => token = Some(further(token.as_deref(), Some(next), "the next page of zones")?),
                    None => break,
                }
            }
        }
        Ok(zones.into_iter().filter(|zone| ids.contains(zone.key.zone.as_str())).collect())
    }

    /// The zones that have the selected tags.
    async fn tagged(&self, service: &Service, zones: Vec<Zone>) -> Result<Vec<Zone>> {
        if self.select.tags.is_empty() {
            return Ok(zones);
        }
        let mut selected = BTreeSet::new();
        for some in zones.chunks(TAGGED) {
            let ids: Vec<String> = some.iter().map(|zone| zone.key.zone.to_string()).collect();
            let answer = service
                .read(LIST, "tags of hosted zones", |client| {
                    let request = client.list_tags_for_resources().resource_type(TagResourceType::Hostedzone);
                    let request = request.set_resource_ids(Some(ids.clone()));
                    async move { request.send().await }
                })
                .await?;
            for set in answer.resource_tag_sets() {
                let has = |(key, value): (&String, &Option<String>)| {
                    set.tags().iter().any(|tag| {
                        tag.key() == Some(key)
                            && value.as_ref().is_none_or(|value| tag.value().unwrap_or_default() == value)
                    })
                };
                if self.select.tags.iter().all(has) {
                    selected.extend(set.resource_id().map(|id| bare(id).to_owned()));
                }
            }
        }
        Ok(zones.into_iter().filter(|zone| selected.contains(zone.key.zone.as_str())).collect())
    }
}

/// Where a list goes on.
///
/// # Errors
/// [`ErrorKind::Protocol`] if it goes on nowhere, or where it was.
pub(crate) fn further(from: Option<&str>, next: Option<&str>, what: &str) -> Result<String> {
    match next {
        Some(next) if from != Some(next) => Ok(next.to_owned()),
        Some(next) => Err(Error::new(ErrorKind::Protocol, LIST, format!("{what} is the page before it ({next:?})"))),
        None => Err(Error::new(ErrorKind::Protocol, LIST, format!("{what} is promised and not named"))),
    }
}

#[cfg(test)]
#[path = "zones_tests.rs"]
mod tests;
