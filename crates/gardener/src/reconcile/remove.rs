//! Deletion: the records go, then the finalizer.
//!
//! What must hold: the provider is asked wherever changes may ever have been sent; a record that another DNSRecord has published
//! stays, and none for one that only asks for it, or that goes as well; a zone that was sent to is asked for where it is, wherever the
//! present spec leads; where the service says that it is gone there is nothing left to take away, and where it refuses the credentials it
//! says nothing of the sort; a shoot that is forced to go is not held up by its provider, and no object by a zone that its owner gives up.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::json;
use tracing::{debug, info, warn};
use zonewright_core::{ErrorKind, RecordType};

use super::abandon::Withdrawal;
use super::{Break, Former, Reconciler, Task};
use crate::accounts::ProviderAccount;
use crate::apply::ChangeTarget;
use crate::convert;
use crate::failure::OperationFailure;
use crate::filter::Home;
use crate::queue::{Attempt, Finished};
use crate::secret::ProviderKind;
use crate::sent::{self, SentChanges};
use crate::status;
use crate::types::{DnsRecord, FINALIZER};
use crate::zone::{self, Search, ZoneText};

/// How long the provider is tried before the finalizer of a shoot that is forced to go is removed.
const FORCED: Duration = Duration::from_mins(1);

impl Reconciler {
    pub(super) async fn delete(
        &self,
        record: DnsRecord,
        task: Task,
        (kind, home): (ProviderKind, Home),
        attempt: &Attempt,
    ) -> Result<Finished, Break> {
        if !record.has_finalizer() {
            return Ok(Finished::Done);
        }
        let name = record.record_name();
        if sent::is_untouched(&record) {
            debug!(object = %name, "nothing was ever sent for it: the provider is not asked");
            self.without_finalizer(record).await?;
            return Ok(Finished::Done);
        }
        let found = self.account(&record, kind, attempt).await?;
        let announced = status::announces(&record, task.0);
        let record = if announced { self.start(record, task).await? } else { record };
        let done = match found {
            Ok(account) if home.is_forced() => {
                let taken = tokio::time::timeout(FORCED, self.withdraw_all(&record, &account)).await;
                taken.unwrap_or_else(|_| Err(OperationFailure::Configuration("no answer in time".to_owned())))
            }
            Ok(account) => self.withdraw_all(&record, &account).await,
            Err(failure) if self.gives_up_all(&record, &zones_sent_to(&record), &failure) => Ok(()),
            Err(failure) => Err(failure),
        };
        if let (Err(failure), true) = (&done, home.is_forced()) {
            warn!(object = %name, error = failure.text(), "its shoot is forced to go: the records may be left behind");
        } else if let Err(failure) = done {
            return self.fail(&record, task, &failure, announced).await;
        }
        self.tally.attempt(task.0, true);
        let patch = status::succeeded(&record, task, None, super::now(&record));
        let record = self.status(&record, &patch).await?;
        self.without_finalizer(record).await?;
        info!(object = %name, "deleted");
        Ok(Finished::Done)
    }

    /// Takes the records away from every zone in which they may stand.
    async fn withdraw_all(&self, record: &DnsRecord, account: &ProviderAccount) -> Result<(), OperationFailure> {
        let mut withdrawal = Withdrawal::default();
        let zones = distinct(zones_sent_to(record), account);
        for zone in &zones {
            withdrawal.add(zone, self.withdraw(record, account, zone).await)?;
        }
        // Where a zone is named and is gone, what another one holds at that name is no record of this object.
        if SentChanges::of(record).is_none() && zones.is_empty() {
            self.withdraw_unmarked(record, account, &mut withdrawal).await?;
        }
        self.conclude(record, &withdrawal, None)
    }

    /// The same in the zone that has to be found, where another controller worked on the object and neither status nor spec names one.
    async fn withdraw_unmarked(
        &self,
        record: &DnsRecord,
        account: &ProviderAccount,
        withdrawal: &mut Withdrawal,
    ) -> Result<(), OperationFailure> {
        let Ok((name, _)) = convert::key(record) else { return Ok(()) };
        match zone::find(account, record, &name, Search::Trusting).await {
            Ok(zone) => {
                let text = ZoneText::of(account.kind, &account.scope, &zone.key.zone).mark;
                withdrawal.add(&text, self.withdraw(record, account, &text).await)
            }
            Err(OperationFailure::NoZone(_)) => Ok(()),
            Err(failure) => Err(failure),
        }
    }

    /// Takes the records away from one zone, as the mark has it, unless they belong to another DNSRecord.
    pub(super) async fn withdraw(
        &self,
        record: &DnsRecord,
        account: &ProviderAccount,
        text: &str,
    ) -> Result<(), OperationFailure> {
        let Ok((name, rtype)) = convert::key(record) else { return Ok(()) };
        let home = self.home_of_zone(record, account, text).await?;
        if self.stays(record, (text, home.as_deref())).await? {
            return Ok(());
        }
        let Some((other, zone)) = self.zone_sent_to(record, account, text).await? else { return Ok(()) };
        let there = other.as_deref().unwrap_or(account);
        let id = zone.key.zone.clone();
        let former = Former { zone, home: home.as_deref(), name };
        let done = self.take_away(record, there, (former, rtype), text).await;
        match done {
            // The zone is gone, and the records with it.
            Err(OperationFailure::Provider(error)) if error.kind == ErrorKind::NotFound => {
                there.forget(&id);
                // Azure says so of a subscription too.
                if there.kind.is_azure() && self.zone_sent_to(record, account, text).await?.is_some() {
                    return Err(OperationFailure::Provider(error));
                }
                Ok(())
            }
            done => done,
        }
    }

    async fn take_away(
        &self,
        record: &DnsRecord,
        account: &ProviderAccount,
        (former, rtype): (Former<'_>, RecordType),
        text: &str,
    ) -> Result<(), OperationFailure> {
        let Former { zone, home, name } = former;
        if !zone.covers(&name) {
            return Ok(());
        }
        let (rival, resource) = (self.rival(record), super::resource(record));
        let place = ChangeTarget { account, zone: &zone, registry: &*self.registry, resource, is_rival: &rival };
        let text = ZoneText { mark: text.to_owned(), ..ZoneText::of(account.kind, &account.scope, &zone.key.zone) };
        place.withdraw(&name, rtype, &self.mark_of_former(record, &text, home)).await
    }

    /// Whether the records stay in a zone, as the mark has it: another DNSRecord that has the name there has published it, and takes it
    /// away when it goes. One that only asks for it may never publish, and knows of nothing to be taken away then; one that is being deleted
    /// may have found that the record stays for this object. Where both take it away, the second finds nothing.
    pub(super) async fn stays(
        &self,
        record: &DnsRecord,
        (zone, home): (&str, Option<&str>),
    ) -> Result<bool, OperationFailure> {
        if self.registry.owner().is_some() {
            return Ok(false);
        }
        let name = record.record_name();
        let mut asked = BTreeSet::new();
        loop {
            let before = self.world().contest.before(&name, zone, home);
            let Some(other) = before.into_iter().find(|other| !asked.contains(other)) else { return Ok(false) };
            if home.is_some() && self.learns_home(&other).await {
                continue;
            }
            // What the watch has reported may be older than its mark.
            let there = self.objects.record(&other).await.map_err(OperationFailure::Cluster)?;
            if there.is_some_and(|there| self.world().contest.has_published(&name, &there, zone)) {
                info!(object = %name, zone, "the record stays: DNSRecord {other} has published it there");
                return Ok(true);
            }
            asked.insert(other);
        }
    }

    async fn without_finalizer(&self, record: DnsRecord) -> Result<(), Break> {
        let mut finalizers = record.metadata.finalizers.clone();
        finalizers.retain(|known| known != FINALIZER);
        self.object(&record, &json!({ "metadata": { "finalizers": finalizers } })).await.map(drop)
    }
}

/// The zones in which records of the object may stand: those of the mark, or what status and spec name where there is none.
fn zones_sent_to(record: &DnsRecord) -> Vec<String> {
    let mut zones: Vec<String> = SentChanges::of_any(record).zones().iter().cloned().collect();
    if SentChanges::of(record).is_none() {
        zones.extend(record.stated_zone().filter(|stated| record.known_zone() != Some(stated)).map(str::to_owned));
    }
    zones
}

/// The same zones, each once, however spec and status write it.
fn distinct(mut zones: Vec<String>, account: &ProviderAccount) -> Vec<String> {
    let mut ids = BTreeSet::new();
    zones.retain(|zone| ids.insert(zone::id_of(account.kind, &account.scope, zone)));
    zones
}
