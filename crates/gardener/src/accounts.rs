//! Providers by credential, made when they are first needed.
//!
//! In: a type and what its provider is built from ([`Login`]). Out: the account, with its provider in its layers and the zones
//! that are known of it. What must hold: one provider for each distinct credential, however many Secrets hold it, so that all
//! its records share one limit; another credential is another provider; one that nobody has used for an hour is dropped.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use tempfile::TempDir;
use tokio::sync::{Mutex as Turns, MutexGuard as Turn};
use tokio::time::Instant;
use tracing::info;
use zonewright_core::catalog::{FlagValue, ProviderConfig, ProviderEntry, Settings};
use zonewright_core::options::OptionReader;
use zonewright_core::provider::Provider;
use zonewright_core::shared::Shared;
use zonewright_core::zone::{InstanceId, ZoneId};
use zonewright_core::{DnsName, Error, ErrorKind, Result, Zone};
use zonewright_engine::layer::Layers;
use zonewright_engine::metrics::Metrics;

use crate::convert::PROVIDER_CONFIG;
use crate::failure::OperationFailure;
use crate::secret::{AccountId, Login, ProviderKind, ZoneScope};

/// After so long without use an account is dropped.
const UNUSED: Duration = Duration::from_hours(1);
/// How long a list of zones serves other records too: many are made at once, and each has to find its zone.
const LIST_HOLDS: Duration = Duration::from_secs(10);
/// Zones that an account keeps in mind; beyond that they are forgotten, and asked for again.
const MOST_ZONES: usize = 10_000;
/// Names are changed one after the other in so many rows.
const ROWS: usize = 64;
/// Pauses between batches that the providers' flags have for a controller with whole plans; here each call is one name.
const PAUSES: [&str; 3] = ["aws-batch-change-interval", "google-batch-change-interval", "batch-change-interval"];

/// A credential at work.
pub struct ProviderAccount {
    /// Distinguishes it from other accounts.
    pub id: AccountId,
    /// The type of provider.
    pub kind: ProviderKind,
    /// What precedes its zones' ids.
    pub scope: ZoneScope,
    /// The provider, in its layers.
    pub provider: Arc<dyn Provider>,
    /// The options that the provider knows.
    pub options: OptionReader,
    known: Mutex<HashMap<ZoneId, Zone>>,
    /// Lists that were begun.
    begun: AtomicU64,
    /// The last list: when it was read, and which one it was.
    list: Turns<Option<(Instant, u64, Vec<Zone>)>>,
    rows: Vec<Turns<()>>,
}

impl fmt::Debug for ProviderAccount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProviderAccount").field("kind", &self.kind).field("id", &self.id).finish_non_exhaustive()
    }
}

impl ProviderAccount {
    /// An account over a provider.
    pub fn new(
        id: AccountId,
        kind: ProviderKind,
        scope: ZoneScope,
        provider: Arc<dyn Provider>,
        options: OptionReader,
    ) -> Self {
        let rows = std::iter::repeat_with(Turns::default).take(ROWS).collect();
        let (known, begun, list) = (Mutex::default(), AtomicU64::new(0), Turns::default());
        Self { id, kind, scope, provider, options, known, begun, list, rows }
    }

    /// A zone by its id; it is asked for once.
    ///
    /// # Errors
    /// It cannot be determined.
    pub async fn zone(&self, id: &ZoneId) -> Result<Option<Zone>> {
        if let Some(zone) = self.known().get(id) {
            return Ok(Some(zone.clone()));
        }
        let found = self.provider.zone(id).await?;
        if let Some(zone) = &found {
            self.keep(zone);
        }
        Ok(found)
    }

    /// Forgets a zone that is not what it was.
    pub fn forget(&self, id: &ZoneId) {
        self.known().remove(id);
    }

    /// All zones; a list of a moment ago serves too, unless a fresh one is asked for. With the list comes whether it is fresh.
    ///
    /// # Errors
    /// The list is not whole.
    pub async fn zones(&self, fresh: bool) -> Result<(Vec<Zone>, bool)> {
        let asked = self.begun.load(Ordering::Relaxed);
        let mut list = self.list.lock().await;
        // A list that was begun while this waited for its turn is as fresh as can be.
        let serves = |read: Instant, number: u64| number > asked || !fresh && read.elapsed() < LIST_HOLDS;
        if let Some((_, number, zones)) = list.as_ref().filter(|(read, number, _)| serves(*read, *number)) {
            return Ok((zones.clone(), *number > asked));
        }
        let (read, number) = (Instant::now(), self.begun.fetch_add(1, Ordering::Relaxed) + 1);
        let zones = self.provider.zones().await?;
        *list = Some((read, number, zones.clone()));
        Ok((zones, true))
    }

    /// Keeps a zone in mind.
    pub fn keep(&self, zone: &Zone) {
        let mut known = self.known();
        if known.len() >= MOST_ZONES {
            known.clear();
        }
        known.insert(zone.key.zone.clone(), zone.clone());
    }

    /// The turn to read and change a name of a zone.
    pub async fn turn(&self, zone: &ZoneId, name: &DnsName) -> Turn<'_, ()> {
        let mut hasher = DefaultHasher::new();
        (zone, name).hash(&mut hasher);
        let row = usize::try_from(hasher.finish() % ROWS as u64).unwrap_or(0);
        self.rows[row % self.rows.len()].lock().await
    }

    fn known(&self) -> MutexGuard<'_, HashMap<ZoneId, Zone>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A type with the provider that serves it.
#[derive(Debug, Clone, Copy)]
pub struct Backend {
    /// The type of provider.
    pub kind: ProviderKind,
    /// How the provider is built.
    pub entry: ProviderEntry,
}

/// The accounts at work, one for each distinct credential.
pub struct ProviderAccounts {
    backends: BTreeMap<ProviderKind, ProviderEntry>,
    settings: Settings,
    shared: Shared,
    metrics: Arc<Metrics>,
    open: Mutex<BTreeMap<AccountId, (Arc<ProviderAccount>, Instant)>>,
    /// Where tokens of workload identities are kept, once there are any; nobody but this user can look into it.
    tokens: OnceLock<TempDir>,
}

impl fmt::Debug for ProviderAccounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProviderAccounts").field("open", &self.open().len()).finish_non_exhaustive()
    }
}

impl ProviderAccounts {
    /// No accounts yet. `settings` holds a value for each flag of the providers.
    pub fn new(backends: &[Backend], mut settings: Settings, shared: Shared, metrics: Arc<Metrics>) -> Self {
        for flag in PAUSES {
            if !settings.given(flag) {
                settings.set(flag, FlagValue::Duration { length: Duration::ZERO, negative: false }, false);
            }
        }
        let backends = backends.iter().map(|backend| (backend.kind, backend.entry)).collect();
        Self { backends, settings, shared, metrics, open: Mutex::default(), tokens: OnceLock::new() }
    }

    /// The folder in which tokens of workload identities are kept.
    ///
    /// # Errors
    /// There is none, and none can be made.
    pub fn tokens(&self) -> Result<&Path, OperationFailure> {
        if self.tokens.get().is_none() {
            let made =
                tempfile::Builder::new().prefix("zonewright-tokens-").tempdir().map_err(|error| unkept(&error))?;
            // Another attempt may have been first: then this one goes again.
            let _ = self.tokens.set(made);
        }
        self.tokens.get().map(TempDir::path).ok_or_else(|| unkept(&std::io::Error::other("it is gone")))
    }

    /// A message without the place of that folder, which is another one in each process: an error that stays the same reads the same.
    pub fn placeless(&self, text: String) -> String {
        match self.tokens.get() {
            Some(folder) => text.replace(&format!("{}/", folder.path().display()), ""),
            None => text,
        }
    }

    /// The account of a login.
    ///
    /// # Errors
    /// The provider cannot be built from it.
    pub async fn account(&self, kind: ProviderKind, login: Login) -> Result<Arc<ProviderAccount>, OperationFailure> {
        let id = login.id(kind);
        if let Some(token) = &login.token {
            token.keep().map_err(|error| unkept(&error))?;
        }
        if let Some((account, used)) = self.open().get_mut(&id) {
            *used = Instant::now();
            return Ok(account.clone());
        }
        let account = Arc::new(self.build(kind, id.clone(), login).await?);
        let mut open = self.open();
        let (account, _) = open.entry(id).or_insert_with(|| (account, Instant::now()));
        Ok(account.clone())
    }

    async fn build(
        &self,
        kind: ProviderKind,
        id: AccountId,
        login: Login,
    ) -> Result<ProviderAccount, OperationFailure> {
        let Some(entry) = self.backends.get(&kind) else {
            return Err(OperationFailure::Configuration(format!(
                "records of type {} are not served here",
                kind.as_str()
            )));
        };
        let mut settings = self.settings.clone();
        for (flag, value) in login.flags {
            settings.set(flag, value, true);
        }
        (entry.check)(&settings).map_err(OperationFailure::Configuration)?;
        let short = id.as_str().get(..8).unwrap_or_default();
        let config = ProviderConfig {
            instance: InstanceId::from(format!("{}-{short}", kind.as_str()).as_str()),
            settings,
            credentials: login.credentials,
            shared: self.shared.clone(),
        };
        let provider = (entry.build)(config).await.map_err(OperationFailure::Provider)?;
        info!(r#type = kind.as_str(), account = short, "account opened");
        // Metrics are by type: accounts come and go.
        let layers = Layers::new(InstanceId::from(kind.as_str()));
        let provider = layers.around(provider, &self.metrics);
        let options = OptionReader::new(entry.options, [PROVIDER_CONFIG.into()]);
        Ok(ProviderAccount::new(id, kind, login.scope, provider, options))
    }

    /// Drops accounts that nobody has used for long.
    pub fn drop_unused(&self) {
        let now = Instant::now();
        self.open().retain(|_, (account, used)| {
            Arc::strong_count(account) > 1 || now.saturating_duration_since(*used) < UNUSED
        });
    }

    /// How many are open.
    pub fn len(&self) -> usize {
        self.open().len()
    }

    /// Whether none is open.
    pub fn is_empty(&self) -> bool {
        self.open().is_empty()
    }

    fn open(&self) -> MutexGuard<'_, BTreeMap<AccountId, (Arc<ProviderAccount>, Instant)>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The disk of this process is at fault, and no credential.
fn unkept(error: &std::io::Error) -> OperationFailure {
    let text = format!("the token of the workload identity cannot be kept in a file: {error}");
    OperationFailure::Cluster(Error::new(ErrorKind::Unavailable, "keep a token", text))
}

#[cfg(test)]
#[path = "accounts_tests.rs"]
mod tests;
