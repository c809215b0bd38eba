//! A name of a zone brought in step with one DNSRecord, or rid of it.
//!
//! In: the account, the zone, the registry, what is asked for. Out: it stands so, or why not. What must hold: the name is read
//! right before it is changed, and what was read is the precondition of the change; nothing is sent where nothing differs; before
//! the first change is sent, that is written down ([`Mark`]); an unknown outcome is read back before anything else is done; what
//! is foreign stays.

mod plan;
mod view;

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use tracing::{debug, info};
use zonewright_core::change::{Group, Outcome, Step};
use zonewright_core::claim::judge;
use zonewright_core::contend::Wanted;
use zonewright_core::endpoint::{Endpoint, Targets};
use zonewright_core::interpret::interpret;
use zonewright_core::lower::lower;
use zonewright_core::provider::{Adjustment, Listing, Read};
use zonewright_core::registry::{Dropped, OwnershipChange, Registry};
use zonewright_core::{DnsName, Error, ErrorKind, RecordKey, RecordSet, RecordType, Zone};

use crate::accounts::ProviderAccount;
use crate::convert::IpStack;
use crate::failure::OperationFailure;
use plan::{ApplyPlan, RecordAtName, RequestedName};
use view::View;

/// How often a change is planned anew after another writer was faster.
const ATTEMPTS: usize = 4;
/// Types under which an object's records, or claims on them, may stand.
const TYPES: [RecordType; 4] = [RecordType::A, RecordType::Aaaa, RecordType::Cname, RecordType::Txt];

/// Called right before the first change is sent, and where the records stand already as they are wanted. Where it fails nothing is sent.
#[async_trait]
pub trait Mark: Send + Sync {
    /// Writes down that the zone holds records of the object, or is about to. `false` says that what stands is to be left there: nothing
    /// is sent.
    ///
    /// # Errors
    /// It is not written.
    async fn sending(&self) -> Result<bool, OperationFailure>;
}

/// Where a name is changed, and for whom.
pub struct ChangeTarget<'a> {
    /// The account by which the change is sent.
    pub account: &'a ProviderAccount,
    /// The zone that holds the name.
    pub zone: &'a Zone,
    /// Who keeps claims, if anybody does.
    pub registry: &'a dyn Registry,
    /// The object, as claims name it.
    pub resource: Arc<str>,
    /// Whether a resource of a claim is another object that asks for the name.
    pub is_rival: &'a (dyn Fn(&str) -> bool + Send + Sync),
}

impl std::fmt::Debug for ChangeTarget<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ChangeTarget")
            .field("zone", &self.zone.name)
            .field("resource", &self.resource)
            .finish_non_exhaustive()
    }
}

/// What is to become of a name.
enum Job<'a> {
    Bring { endpoint: &'a Endpoint, forms: Vec<Endpoint> },
    Withdraw(RecordType),
}

/// What became of a group.
enum GroupResult {
    Applied,
    /// The zone was not what had been read.
    Outrun(Error),
    Unknown(Error),
}

impl ChangeTarget<'_> {
    /// Makes the name hold what an endpoint asks for.
    ///
    /// # Errors
    /// Why it does not. [`ErrorKind::NotFound`] of the provider means that the zone is gone.
    pub async fn bring(&self, endpoint: &Endpoint, stack: IpStack, mark: &dyn Mark) -> Result<(), OperationFailure> {
        let forms = self.forms(endpoint, stack)?;
        self.settle(&endpoint.name, Job::Bring { endpoint, forms }, mark).await
    }

    /// Takes away what an object of this name and type had published.
    ///
    /// # Errors
    /// As [`ChangeTarget::bring`].
    pub async fn withdraw(&self, name: &DnsName, rtype: RecordType, mark: &dyn Mark) -> Result<(), OperationFailure> {
        self.settle(name, Job::Withdraw(rtype), mark).await
    }

    /// Reads, plans and sends until there is nothing to do.
    async fn settle(&self, name: &DnsName, job: Job<'_>, mark: &dyn Mark) -> Result<(), OperationFailure> {
        let _turn = self.account.turn(&self.zone.key.zone, name).await;
        let mut last: Option<Error> = None;
        let mut unknown: Option<Error> = None;
        for _ in 0..ATTEMPTS {
            let view = self.read(name).await?;
            let plan = self.plan(name, &job, &view).await?;
            let adopting = matches!(plan, ApplyPlan::Adopt(_));
            let Some(group) = self.group(plan, &view)? else {
                // What stands as it is wanted is the object's own from here on: whatever becomes of it takes the record along.
                return if matches!(job, Job::Bring { .. }) { mark.sending().await.map(drop) } else { Ok(()) };
            };
            // It was read back, and is not in force: the next attempt starts with a pause.
            if let Some(error) = unknown {
                return Err(OperationFailure::Provider(error));
            }
            if !mark.sending().await? {
                return Ok(());
            }
            match self.send(group).await? {
                GroupResult::Applied if adopting => {}
                GroupResult::Applied => return Ok(()),
                GroupResult::Outrun(error) => last = Some(error),
                GroupResult::Unknown(error) => unknown = Some(error),
            }
        }
        let outrun = || Error::new(ErrorKind::Conflict, "change records", format!("{name} keeps changing"));
        Err(OperationFailure::Provider(unknown.or(last).unwrap_or_else(outrun)))
    }

    async fn plan(&self, name: &DnsName, job: &Job<'_>, view: &View) -> Result<ApplyPlan, OperationFailure> {
        match job {
            Job::Withdraw(rtype) => Ok(plan::withdraw(name, *rtype, &self.standing(name, view))),
            Job::Bring { endpoint, forms } => {
                let sets = self.wanted(forms, view).await?;
                let asked = RequestedName {
                    name,
                    rtype: endpoint.rtype,
                    sets: &sets,
                    resource: &self.resource,
                    owner: self.registry.owner(),
                    cname: self.account.provider.capability(Some(self.zone)).cname,
                    apex: self.zone.name == *name,
                };
                plan::bring(&asked, &self.standing(name, view))
            }
        }
    }

    /// The forms in which an endpoint is published.
    fn forms(&self, endpoint: &Endpoint, stack: IpStack) -> Result<Vec<Endpoint>, OperationFailure> {
        let provider = &self.account.provider;
        let made = provider.interpret(self.zone, endpoint);
        let candidates = [self.zone.key.zone.clone()];
        let capability = provider.capability(Some(self.zone));
        let done = interpret(endpoint, self.zone, &candidates, &capability, made);
        let alias = |form: &Endpoint| matches!(form.targets, Targets::Alias(_)) && endpoint.rtype == RecordType::Cname;
        let forms: Vec<Endpoint> = done.forms.into_iter().map(std::borrow::Cow::into_owned).collect();
        let forms: Vec<Endpoint> = forms.into_iter().filter(|form| !alias(form) || stack.has(form.rtype)).collect();
        if forms.is_empty() {
            let notes: Vec<String> = done.notes.into_iter().map(|note| note.message).collect();
            let text = if notes.is_empty() { "it cannot be published here".to_owned() } else { notes.join("; ") };
            return Err(OperationFailure::Configuration(text));
        }
        Ok(forms)
    }

    /// What shall stand, as the provider would read it back.
    async fn wanted(&self, forms: &[Endpoint], view: &View) -> Result<Vec<RecordSet>, OperationFailure> {
        let capability = self.account.provider.capability(Some(self.zone));
        let mut sets = Vec::with_capacity(forms.len());
        for form in forms {
            let wanted = Wanted {
                key: form.key(),
                targets: form.targets.clone(),
                ttl: form.ttl,
                routing: form.extras.routing.clone(),
                properties: form.extras.properties.clone(),
                origin: form.origin.clone(),
                resource: form.resource.clone(),
                labels: form.extras.labels.clone(),
                policy: None,
                objects: Vec::new(),
            };
            let lowered = lower(&wanted, self.zone, &capability, &self.account.options, view.set(&wanted.key));
            let reported = lowered.notes.into_iter().map(|note| note.message).collect::<Vec<_>>().join("; ");
            sets.push(lowered.set.ok_or_else(|| OperationFailure::Configuration(reported.clone()))?);
            if !reported.is_empty() {
                debug!(zone = %self.zone.name, "{reported}");
            }
        }
        let mut adjusted = Vec::with_capacity(sets.len());
        for answer in self.account.provider.adjust(self.zone, &sets).await {
            match answer {
                Adjustment::As { sets, .. } => adjusted.extend(sets),
                Adjustment::Refused(why) => return Err(OperationFailure::Configuration(why)),
                Adjustment::Unknown(error) => return Err(OperationFailure::Provider(error)),
            }
        }
        Ok(adjusted)
    }

    /// Reads the name, and where claims on its records may stand.
    async fn read(&self, name: &DnsName) -> Result<View, OperationFailure> {
        let keys = TYPES.map(|rtype| RecordKey::simple(name.clone(), rtype));
        let mut names: BTreeSet<DnsName> =
            keys.iter().flat_map(|key| self.registry.claim_names(self.zone, key)).collect();
        names.retain(|claim| claim.is_within(&self.zone.name));
        names.insert(name.clone());
        let listing =
            self.account.provider.records(self.zone, Read::Names(&names)).await.map_err(OperationFailure::Provider)?;
        match listing {
            Listing::Names(sets) | Listing::Full { sets, .. } => Ok(View::new(self.zone.clone(), sets)),
            _ => {
                let text = format!("{name} could not be read in zone {}", self.zone.name);
                Err(OperationFailure::Provider(Error::new(ErrorKind::Protocol, "read names", text)))
            }
        }
    }

    /// What stands at the name, each with whose it is. Claims are no records.
    fn standing<'v>(&self, name: &DnsName, view: &'v View) -> Vec<RecordAtName<'v>> {
        let at = view.sets().filter(|set| set.key.name == *name);
        let records = at.filter(|set| !zonewright_core::registry::holds_claims(self.registry, self.zone, set, view));
        let standing = |set: &'v RecordSet| {
            let claims = self.registry.claims(self.zone, &set.key, view);
            let ownership = judge(&claims, self.registry.owner());
            let resource = ownership.claim().and_then(|claim| claim.resource.clone());
            let rival = resource.filter(|resource| *resource != self.resource && (self.is_rival)(resource));
            RecordAtName { set, ownership, rival }
        };
        records.map(standing).collect()
    }

    /// The group of a plan, with what becomes of claims.
    fn group(&self, plan: ApplyPlan, view: &View) -> Result<Option<Group>, OperationFailure> {
        let group = match plan {
            ApplyPlan::Nothing => return Ok(None),
            ApplyPlan::Adopt(set) => {
                let change = OwnershipChange::Take(Some(self.resource.clone()));
                let assigned = self.registry.assign(self.zone, &set, &change, view);
                return assigned.map_err(|Dropped { reason }| OperationFailure::Held(reason));
            }
            ApplyPlan::Change(group) => group,
        };
        let decorated = self.registry.decorate(self.zone, vec![group], view).pop();
        match decorated {
            Some(Ok(group)) => Ok(Some(group)),
            Some(Err((_, Dropped { reason }))) => Err(OperationFailure::Held(reason)),
            None => Ok(None),
        }
    }

    async fn send(&self, group: Group) -> Result<GroupResult, OperationFailure> {
        let group = match self.registry.prepare(self.zone, vec![group]).await.pop() {
            Some(Ok(group)) => group,
            Some(Err((_, Dropped { reason }))) => return Err(OperationFailure::Held(reason)),
            None => return Ok(GroupResult::Applied),
        };
        for change in group.records().map(|step: &Step| &step.change) {
            info!(zone = %self.zone.name, object = %self.resource, "{change}");
        }
        let groups = [group];
        let lost = || Outcome::Unknown(Error::new(ErrorKind::Protocol, "change records", "no outcome is known"));
        let outcome = self.account.provider.apply(self.zone, &groups).await.pop().unwrap_or_else(lost);
        let committed = self.registry.commit(self.zone, &groups, std::slice::from_ref(&outcome)).await;
        let sent = match outcome {
            Outcome::Applied => GroupResult::Applied,
            Outcome::Refused { error, .. } if error.kind == ErrorKind::Conflict => GroupResult::Outrun(error),
            Outcome::Refused { error, .. } | Outcome::NotSent(error) => return Err(OperationFailure::Provider(error)),
            Outcome::Unknown(error) => GroupResult::Unknown(error),
        };
        committed.map_err(OperationFailure::Provider)?;
        Ok(sent)
    }
}

#[cfg(test)]
mod tests;
