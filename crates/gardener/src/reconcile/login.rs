//! From an object to the account that it is served with.
//!
//! In: an object. Out: the account of its Secret, in whose lane the attempt goes on; for a zone that the account does not look into, the
//! one of the same Secret that does. What must hold: the Secret is read for each attempt, so that a rotated one is used at once.

use std::sync::Arc;

use zonewright_core::zone::ZoneId;
use zonewright_core::{Error, ErrorKind, Zone};

use super::{Break, Reconciler};
use crate::accounts::ProviderAccount;
use crate::failure::OperationFailure;
use crate::queue::{Attempt, Lane};
use crate::secret::{ProviderKind, SpecHints};
use crate::types::{DnsRecord, RecordName};
use crate::zone;

impl Reconciler {
    /// The account of an object's Secret.
    pub(super) async fn account(
        &self,
        record: &DnsRecord,
        kind: ProviderKind,
        attempt: &Attempt,
    ) -> Result<Result<Arc<ProviderAccount>, OperationFailure>, Break> {
        let zone = record.stated_zone().or(record.known_zone());
        let found = self.open(record, kind, SpecHints { zone, ..SpecHints::default() }).await?;
        if let Ok(account) = &found {
            let lane = Lane::Account(account.id.clone());
            let mut world = self.world();
            world.account(&attempt.name, &account.id);
            if !world.queue.shift(&attempt.name, &lane) {
                return Err(Break::Moved(lane));
            }
        }
        Ok(found)
    }

    /// A zone that may hold records of the object, with the account that looks where it is, if that is another one than that of the
    /// present spec. `None` where there is no such zone; credentials that may not see it are an error, as is a subscription that is not
    /// found.
    pub(super) async fn zone_sent_to(
        &self,
        record: &DnsRecord,
        account: &ProviderAccount,
        text: &str,
    ) -> Result<Option<(Option<Arc<ProviderAccount>>, Zone)>, OperationFailure> {
        let other = self.account_of_zone(record, account, text).await?;
        let there = other.as_deref().unwrap_or(account);
        let id = zone::id_of(there.kind, &there.scope, text);
        if let Some(zone) = there.zone(&id).await.map_err(OperationFailure::Provider)? {
            return Ok(Some((other, zone)));
        }
        if there.kind.is_azure() {
            return Ok(listed_at_azure(there, &id, text).await?.map(|zone| (other, zone)));
        }
        if there.kind != ProviderKind::Cloudflare {
            return Ok(None);
        }
        // Its provider says so too where the token may not see the zone.
        let hints = SpecHints { zone: Some(text), alone: true, ..SpecHints::default() };
        let alone = self.open(record, account.kind, hints).await.map_err(OperationFailure::Cluster)??;
        let found = alone.zone(&id).await.map_err(OperationFailure::Provider)?;
        Ok(found.map(|zone| (Some(alone), zone)))
    }

    /// The account that looks where this zone is, if it is another one than that of the present spec.
    async fn account_of_zone(
        &self,
        record: &DnsRecord,
        account: &ProviderAccount,
        zone: &str,
    ) -> Result<Option<Arc<ProviderAccount>>, OperationFailure> {
        if zone::is_within(&account.scope, zone) {
            return Ok(None);
        }
        let hints = SpecHints { zone: Some(zone), ..SpecHints::default() };
        let other = self.open(record, account.kind, hints).await.map_err(OperationFailure::Cluster)??;
        if zone::is_within(&other.scope, zone) {
            return Ok(Some(other));
        }
        let text =
            format!("zone {zone}, which may hold records of the object, is out of reach of the Secret's credentials");
        Err(OperationFailure::Configuration(text))
    }

    /// The project or subscription of a zone that may hold records of the object.
    pub(super) async fn home_of_zone(
        &self,
        record: &DnsRecord,
        account: &ProviderAccount,
        zone: &str,
    ) -> Result<Option<String>, OperationFailure> {
        let other = self.account_of_zone(record, account, zone).await?;
        Ok(other.as_deref().unwrap_or(account).scope.home())
    }

    /// Whether it is learned only now, by its Secret, where the zone of another object is.
    pub(super) async fn learns_home(&self, object: &RecordName) -> bool {
        if self.world().contest.has_home(object) {
            return false;
        }
        let Ok(Some(record)) = self.objects.record(object).await else { return false };
        let zone = record.stated_zone().or(record.known_zone());
        let Some(kind) = ProviderKind::parse(&record.spec.provider) else { return false };
        let Ok(Ok(account)) = self.open(&record, kind, SpecHints { zone, ..SpecHints::default() }).await else {
            return false;
        };
        let Some(home) = account.scope.home() else { return false };
        let mut world = self.world();
        world.contest.lives(object, home);
        world.contest.has_home(object)
    }

    /// `hints` say nothing of the region and of tokens.
    async fn open(
        &self,
        record: &DnsRecord,
        kind: ProviderKind,
        hints: SpecHints<'_>,
    ) -> Result<Result<Arc<ProviderAccount>, OperationFailure>, Error> {
        let secret = record.secret();
        if secret.name.is_empty() {
            let text = "spec.secretRef.name: expected the name of a Secret".to_owned();
            return Ok(Err(OperationFailure::Configuration(text)));
        }
        let place = format!("Secret {}/{}", secret.namespace, secret.name);
        let Some(values) = self.objects.secret(&secret).await? else {
            return Ok(Err(OperationFailure::NoSecret(format!("{place} is not there"))));
        };
        let folder = match self.accounts.tokens() {
            Ok(folder) => folder,
            Err(failure) => return Ok(Err(failure)),
        };
        let whose = format!("{}/{}", secret.namespace, secret.name);
        let region = record.spec.region.as_deref();
        let wanted = SpecHints { region, tokens: Some((folder, &whose)), ..hints };
        let login = match kind.login(&values, wanted) {
            Ok(login) => login,
            Err(problem) => return Ok(Err(OperationFailure::Configuration(format!("{place}: {problem}")))),
        };
        Ok(self.accounts.account(kind, login).await)
    }
}

/// A zone that Azure has not found, if a list of its subscription has it.
///
/// "Not found" is said of a zone, of its resource group, which takes its zones along where it goes, and of the subscription: a subscription
/// that the caller has no right to know is not found either. The list is answered in the first two cases, and in the third it is not.
async fn listed_at_azure(account: &ProviderAccount, id: &ZoneId, text: &str) -> Result<Option<Zone>, OperationFailure> {
    match account.zones(true).await {
        Ok((zones, _)) => Ok(zones.into_iter().find(|zone| zone.key.zone == *id)),
        Err(error) if error.kind == ErrorKind::NotFound => {
            let text = format!("whether zone {text} is gone is not known: {}", error.chain());
            Err(OperationFailure::Configuration(text))
        }
        Err(error) => Err(OperationFailure::Provider(error)),
    }
}
