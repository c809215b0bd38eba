//! One attempt at one DNSRecord, from reading it to the status that says what became of it.
//!
//! In: an object's name, and the lane in which the attempt runs. Out: whether it is done, or when to try again. The order of
//! writes, which holds whenever the process ends between two of them:
//!
//! | what | why in this place |
//! |---|---|
//! | finalizer | the object must not vanish while records of it may stand |
//! | status `Processing` | a request whose annotation is gone must be found again after a restart |
//! | annotation `reconcile` goes | under the version that was read, so that a newer request is not lost |
//! | zone and mark in the status | a deletion must know that records of the object may stand there |
//! | the change in the zone | |
//! | status `Succeeded` or `Error` | |
//! | annotation `migrate` or `restore` goes; the finalizer, after a deletion | whoever waits has seen the status |
//! | annotation `abandon-zone` goes | the mark names the zones no more that it gave up |

mod abandon;
mod ended;
mod login;
mod remove;
mod write;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use serde_json::json;
use tracing::{debug, info, warn};
use zonewright_core::endpoint::{Note, Reporter};
use zonewright_core::registry::Registry;
use zonewright_core::zone::ZoneId;
use zonewright_core::{DnsName, Error, ErrorKind, Zone};

use abandon::Withdrawal;

use crate::accounts::{ProviderAccount, ProviderAccounts};
use crate::apply::ChangeTarget;
use crate::convert::{self, IpStack};
use crate::failure::OperationFailure;
use crate::filter::OperationRequest;
use crate::metrics::ControllerMetrics;
use crate::objects::Objects;
use crate::operation::{Operation, Procedure};
use crate::queue::{Attempt, Finished, Lane};
use crate::secret::ProviderKind;
use crate::sent::SentChanges;
use crate::status::{self, Moment};
use crate::types::{DnsRecord, RecordName};
use crate::validate;
use crate::world::ClusterState;
use crate::zone::{self, Search, ZoneText};

/// The pause after the API server did not do what it was asked, or an object changed meanwhile.
const SOON: Duration = Duration::from_millis(200);

/// What every attempt works with.
pub struct Reconciler {
    /// The API server.
    pub objects: Arc<dyn Objects>,
    /// Providers by credential.
    pub accounts: ProviderAccounts,
    /// Whose records are.
    pub registry: Arc<dyn Registry>,
    /// What the watches have reported.
    pub world: Arc<Mutex<ClusterState>>,
    /// What was done.
    pub tally: ControllerMetrics,
    /// Where events of objects go.
    pub reporter: Arc<dyn Reporter>,
}

impl std::fmt::Debug for Reconciler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reconciler").field("accounts", &self.accounts).finish_non_exhaustive()
    }
}

/// Why an attempt ends before its object's status says so.
enum Break {
    /// The API server.
    Cluster(Error),
    /// Another lane is the right one.
    Moved(Lane),
}

impl From<Error> for Break {
    fn from(error: Error) -> Self {
        Self::Cluster(error)
    }
}

/// What an operation is.
type Task = (Operation, Procedure);

impl Reconciler {
    /// Makes an attempt.
    pub async fn attempt(&self, attempt: &Attempt) -> Finished {
        match self.step(attempt).await {
            Ok(finished) => finished,
            Err(Break::Moved(lane)) => Finished::Moved(lane),
            // Another client has changed the object: it is read again.
            Err(Break::Cluster(error)) if error.kind == ErrorKind::Conflict => {
                debug!(object = %attempt.name, "the object has changed meanwhile");
                Finished::Again(SOON)
            }
            // An object that is gone, too: only the API server's own word for that counts, which the next reading hears, and no 404 of
            // a proxy.
            Err(Break::Cluster(error)) => {
                warn!(object = %attempt.name, error = error.chain(), "the API server did not take a change");
                Finished::Again(SOON)
            }
        }
    }

    async fn step(&self, attempt: &Attempt) -> Result<Finished, Break> {
        let name = &attempt.name;
        let home = self.world().home(&name.namespace);
        if !home.is_served(&name.namespace) {
            debug!(object = %name, ?home, "not handled: its shoot has failed, or is not known");
            return Ok(Finished::Done);
        }
        let Some(record) = self.objects.record(name).await? else { return Ok(Finished::Done) };
        let takes = {
            let world = self.world();
            world.scope().takes(&record) && (attempt.forced || world.scope().starts_new(&record))
        };
        let Some(kind) = ProviderKind::parse(&record.spec.provider).filter(|_| takes) else {
            return Ok(Finished::Done);
        };
        let task = (Operation::of(&record), Procedure::of(&record));
        match task.1 {
            Procedure::Nothing => Ok(Finished::Done),
            Procedure::Migrate => self.migrate(record, task).await,
            Procedure::Delete => self.delete(record, task, (kind, home), attempt).await,
            Procedure::Reconcile | Procedure::Restore => self.bring(record, task, kind, attempt).await,
        }
    }

    /// Brings the records in step.
    async fn bring(
        &self,
        record: DnsRecord,
        task: Task,
        kind: ProviderKind,
        attempt: &Attempt,
    ) -> Result<Finished, Break> {
        let found = self.account(&record, kind, attempt).await?;
        let record = self.with_finalizer(record).await?;
        let announced = status::announces(&record, task.0);
        let mut record = if announced { self.start(record, task).await? } else { record };
        if OperationRequest::of(&record) == OperationRequest::Reconcile {
            record = self.without_request(record).await?;
        }
        let done = match &found {
            Ok(account) => self.publish(&record, account, task).await,
            Err(failure) => Err(failure.clone()),
        };
        match done {
            Ok(zone) => {
                let record = self.succeed(record, task, Some(&zone), announced).await?;
                self.without_abandoned_zones(record).await?;
                Ok(Finished::Done)
            }
            Err(failure) => self.fail(&record, task, &failure, announced).await,
        }
    }

    /// Publishes what the object asks for. Returns its zone.
    async fn publish(
        &self,
        record: &DnsRecord,
        account: &ProviderAccount,
        task: Task,
    ) -> Result<ZoneText, OperationFailure> {
        check(record)?;
        let endpoint = convert::endpoint(record).map_err(OperationFailure::Configuration)?;
        let mut search = if task.1 == Procedure::Restore { Search::Anew } else { Search::Trusting };
        loop {
            let zone = zone::find(account, record, &endpoint.name, search).await?;
            let text = ZoneText::of(account.kind, &account.scope, &zone.key.zone);
            let home = account.scope.home();
            self.world().contest.found(&record.record_name(), &text.status, home.clone());
            if let Some(winner) = self.winner(record, (&text.status, home)).await {
                let (asked, rtype) = (&record.spec.name, &record.spec.record_type);
                let text = format!("{asked} {rtype} belongs to DNSRecord {winner}, which is older; nothing is changed");
                return Err(OperationFailure::Contested(text));
            }
            let mark = self.mark(record, &text);
            let (rival, resource) = (self.rival(record), resource(record));
            let place = ChangeTarget { account, zone: &zone, registry: &*self.registry, resource, is_rival: &rival };
            match place.bring(&endpoint, IpStack::of(record), &mark).await {
                Ok(()) => {
                    self.leave_former(record, account, (&zone.key.zone, &text)).await?;
                    return Ok(text);
                }
                // The zone that was trusted is gone: another one may hold the name now.
                Err(OperationFailure::Provider(error)) if error.kind == ErrorKind::NotFound => {
                    account.forget(&zone.key.zone);
                    if search == Search::Anew || record.stated_zone().is_some() {
                        let text = format!("zone {} is not there: {}", text.status, error.chain());
                        return Err(OperationFailure::NoZone(text));
                    }
                    search = Search::Anew;
                }
                Err(failure) => return Err(failure),
            }
        }
    }

    /// Takes the records away from zones in which they were before `spec.zone` named another one. They stand in the present one by now.
    async fn leave_former(
        &self,
        record: &DnsRecord,
        account: &ProviderAccount,
        (id, present): (&ZoneId, &ZoneText),
    ) -> Result<(), OperationFailure> {
        let former = SentChanges::of_any(record);
        let is_present = |zone: &str| zone::id_of(account.kind, &account.scope, zone) == *id;
        let mut withdrawal = Withdrawal::default();
        for zone in former.zones().iter().filter(|zone| !is_present(zone)) {
            info!(object = %record.record_name(), zone, "the records are in another zone now");
            withdrawal.add(zone, self.withdraw(record, account, zone).await)?;
            self.world().losers_look(&record.record_name(), zone);
        }
        self.conclude(record, &withdrawal, Some(&present.mark))
    }

    /// Tells of zones in which records may still stand: the seed that takes the object over does not know of them. The one in which it
    /// will publish is none of them.
    fn tell_of_former_zones(&self, record: &DnsRecord) {
        let marked = SentChanges::of_any(record);
        let next = record.stated_zone().or_else(|| record.known_zone());
        let is_next = |zone: &str| next.is_some_and(|next| zone::is_same_text(&record.spec.provider, zone, next));
        let former: Vec<&str> = marked.zones().iter().map(String::as_str).filter(|zone| !is_next(zone)).collect();
        // Of a single zone that nothing else speaks of, nobody knows that it is not the one.
        if former.is_empty() || (next.is_none() && marked.zones().len() < 2) {
            return;
        }
        let (name, rtype, zones) = (&record.spec.name, &record.spec.record_type, former.join(", "));
        let text = format!(
            "{name} {rtype} may still stand in zone {zones}, from which it was to be taken; the seed that this DNSRecord is moved to \
             does not know of that: remove it there by hand"
        );
        self.reporter.report(&Note::warning(&convert::object(record), "RecordLeftBehind", text));
    }

    /// The DNSRecord that has the name in a zone that is there, if it is another one and no registry says whose it is.
    async fn winner(&self, record: &DnsRecord, (zone, home): (&str, Option<String>)) -> Option<RecordName> {
        if self.registry.owner().is_some() {
            return None;
        }
        let winner = || self.world().contest.winner(&record.record_name(), zone, home.as_deref());
        while let Some(winner) = winner() {
            if home.is_none() || !self.learns_home(&winner).await {
                return Some(winner);
            }
        }
        None
    }

    /// Whether a resource of a claim is another object that asks for the name.
    fn rival(&self, record: &DnsRecord) -> impl Fn(&str) -> bool + Send + Sync + use<> {
        let (world, name) = (self.world.clone(), record.record_name());
        move |resource: &str| lock(&world).contest.is_rival(&name, resource)
    }

    /// Leaves the object to another seed: its records stay.
    async fn migrate(&self, record: DnsRecord, task: Task) -> Result<Finished, Break> {
        self.tell_of_former_zones(&record);
        let record = if status::announces(&record, task.0) { self.start(record, task).await? } else { record };
        let record = self.succeed_without_request(record, task).await?;
        let record = if record.metadata.finalizers.is_empty() {
            record
        } else {
            self.object(&record, &json!({ "metadata": { "finalizers": null } })).await?
        };
        self.without_request(record).await?;
        Ok(Finished::Done)
    }

    fn world(&self) -> MutexGuard<'_, ClusterState> {
        lock(&self.world)
    }
}

/// Holds an object against the rules of its kind: nobody need have done so when it was written.
fn check(record: &DnsRecord) -> Result<(), OperationFailure> {
    let errors = validate::spec_errors(&validate::UncheckedSpec::of(&record.spec), None, false);
    if errors.is_empty() { Ok(()) } else { Err(OperationFailure::Configuration(validate::sentence(&errors))) }
}

fn lock(world: &Mutex<ClusterState>) -> MutexGuard<'_, ClusterState> {
    world.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The object as claims name it.
fn resource(record: &DnsRecord) -> Arc<str> {
    convert::resource(&record.metadata.namespace, &record.metadata.name)
}

fn now(record: &DnsRecord) -> Moment {
    Moment::of(record, Timestamp::now())
}

/// What a deletion needs to know of a zone.
struct Former<'a> {
    zone: Zone,
    /// Its project or subscription.
    home: Option<&'a str>,
    name: DnsName,
}

#[cfg(test)]
#[path = "reconcile/tests.rs"]
mod tests;
