//! From an object to the account that it is served with.
//!
//! In: an object. Out: the account of its Secret, in whose lane the attempt goes on. What must hold: the Secret is read for each attempt,
//! so that a rotated one is used at once.

use std::sync::Arc;

use super::{Break, Reconciler};
use crate::accounts::ProviderAccount;
use crate::failure::OperationFailure;
use crate::queue::{Attempt, Lane};
use crate::secret::{ProviderKind, SpecHints};
use crate::types::DnsRecord;

impl Reconciler {
    /// The account of an object's Secret.
    pub(super) async fn account(
        &self,
        record: &DnsRecord,
        kind: ProviderKind,
        attempt: &Attempt,
    ) -> Result<Result<Arc<ProviderAccount>, OperationFailure>, Break> {
        let found = self.open(record, kind).await?;
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

    async fn open(
        &self,
        record: &DnsRecord,
        kind: ProviderKind,
    ) -> Result<Result<Arc<ProviderAccount>, OperationFailure>, Break> {
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
        let wanted = SpecHints {
            region: record.spec.region.as_deref(),
            zone: record.stated_zone().or(record.known_zone()),
            tokens: Some((folder, &whose)),
        };
        let login = match kind.login(&values, wanted) {
            Ok(login) => login,
            Err(problem) => return Ok(Err(OperationFailure::Configuration(format!("{place}: {problem}")))),
        };
        Ok(self.accounts.account(kind, login).await)
    }
}
