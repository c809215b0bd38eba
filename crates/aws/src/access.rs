//! Credentials: where they come from, and how they are read anew.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use aws_config::environment::EnvironmentVariableRegionProvider;
use aws_config::meta::region::RegionProviderChain;
use aws_config::profile::ProfileFileRegionProvider;
use aws_config::retry::RetryConfig;
use aws_config::sts::AssumeRoleProvider;
use aws_config::timeout::TimeoutConfig;
use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_credential_types::provider::SharedCredentialsProvider;
use aws_smithy_runtime_api::client::http::SharedHttpClient;
use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use aws_smithy_runtime_api::client::result::SdkError;
use aws_smithy_types::error::metadata::ProvideErrorMetadata;
use aws_smithy_types::retry::ReconnectMode;
use secrecy::{ExposeSecret as _, SecretString};
use tokio::time::Instant;
use zonewright_core::ErrorKind;
use zonewright_http::{Account, Failure, Patience, Share};

use crate::failure::{failure, is_stale};
use crate::web_identity::WebIdentity;

/// The longest pause of an account that a request waits for; after a longer one it fails.
const PATIENCE: Duration = Duration::from_secs(10);
/// Credentials are read anew no more often than this.
const RENEWAL: Duration = Duration::from_secs(10);
/// Where nothing names a region. Route 53 has one endpoint for all of them, whose requests are signed for this one.
const REGION: &str = "us-east-1";

/// Whom to be towards AWS.
#[derive(Debug, Clone, Default)]
pub struct AccessConfig {
    /// A profile of the shared configuration; without one, that of the environment.
    pub profile: Option<String>,
    /// A role to take, by its ARN.
    pub role: Option<String>,
    /// What the role asks for.
    pub external_id: Option<SecretString>,
    /// Fixed keys, in place of those that are searched for.
    pub keys: Option<AccessKeys>,
    /// A file with the token of a workload identity, for which `role` is given; it is read each time that keys are asked for.
    pub web_identity: Option<PathBuf>,
    /// The region, in place of the one that is searched for.
    pub region: Option<String>,
    /// Where the services are, in place of their own addresses: private links, tests.
    pub endpoint: Option<String>,
}

impl AccessConfig {
    /// What must not be shown of what a service says.
    fn secrets(&self) -> Vec<SecretString> {
        let keys = self.keys.iter().flat_map(|keys| keys.token.iter().chain([&keys.secret]));
        keys.chain(&self.external_id).cloned().collect()
    }
}

/// A fixed pair of keys.
#[derive(Debug, Clone)]
pub struct AccessKeys {
    /// The id of the key.
    pub id: String,
    /// The key.
    pub secret: SecretString,
    /// The token of temporary keys.
    pub token: Option<SecretString>,
}

impl fmt::Display for AccessConfig {
    /// Whom, for messages: the role, the profile or the key's id.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let source = match (&self.web_identity, &self.keys, &self.profile) {
            (Some(_), ..) => "the token of a workload identity".to_owned(),
            (None, Some(keys), _) => format!("access key {}", keys.id),
            (None, None, Some(profile)) => format!("profile {profile}"),
            (None, None, None) => "the default credentials".to_owned(),
        };
        match &self.role {
            Some(role) => write!(f, "role {role} by {source}"),
            None => f.write_str(&source),
        }
    }
}

/// Access to AWS as one identity, whose requests share one account. `C` is the SDK's client.
pub struct Access<C> {
    config: AccessConfig,
    http: SharedHttpClient,
    account: Account,
    /// Longest time of one request, from signing to the last byte of its answer.
    timeout: Duration,
    /// How long the account rests after a throttled request: the services name no time.
    rest: Duration,
    client: fn(&SdkConfig) -> C,
    made: Mutex<Option<Made<C>>>,
    /// Held while credentials are searched for: those who need them meanwhile wait, and do not search too.
    search: tokio::sync::Mutex<()>,
}

/// A client with the credentials that were found.
struct Made<C> {
    client: Arc<C>,
    at: Instant,
}

impl<C> fmt::Debug for Access<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Access").field("config", &self.config).field("account", &self.account).finish_non_exhaustive()
    }
}

/// The longest time of a request, and the rest after a throttled one: a second, where nothing else is set.
fn of(patience: &Patience) -> (Duration, Duration) {
    (patience.timeout(), patience.pause() * 5)
}

impl<C: Send + Sync> Access<C> {
    /// Access as `config` says, by requests through `http`, at the pace of `account`. Nothing is asked yet.
    pub fn new(config: AccessConfig, http: SharedHttpClient, account: Account, client: fn(&SdkConfig) -> C) -> Self {
        let (made, search) = (Mutex::new(None), tokio::sync::Mutex::default());
        let (timeout, rest) = of(&Patience::default());
        Self { config, http, account, timeout, rest, client, made, search }
    }

    /// The same with this patience.
    #[must_use]
    pub fn patience(self, patience: &Patience) -> Self {
        let (timeout, rest) = of(patience);
        Self { timeout, rest, ..self }
    }

    /// Whom.
    pub fn config(&self) -> &AccessConfig {
        &self.config
    }

    /// Makes one request when its turn has come. Where the credentials are refused for what they are, they are read anew, and
    /// the request is made once more: it was not carried out.
    ///
    /// # Errors
    /// The request has no good answer; a throttled one holds up all others of the account.
    pub async fn call<T, E, F>(
        &self,
        operation: &'static str,
        what: &str,
        request: impl Fn(Arc<C>) -> F,
    ) -> Result<T, Failure>
    where
        F: Future<Output = Result<T, SdkError<E, HttpResponse>>>,
        E: ProvideErrorMetadata + std::error::Error + Send + Sync + 'static,
    {
        self.call_reading(operation, what, request, |_| ()).await.map_err(|(failure, ())| failure)
    }

    /// The same, where the caller needs more of the service's own error than the failure says.
    ///
    /// # Errors
    /// As [`Access::call`], with what `read` made of the service's error.
    pub async fn call_reading<T, E, F, R>(
        &self,
        operation: &'static str,
        what: &str,
        request: impl Fn(Arc<C>) -> F,
        read: impl Fn(&SdkError<E, HttpResponse>) -> R,
    ) -> Result<T, (Failure, R)>
    where
        F: Future<Output = Result<T, SdkError<E, HttpResponse>>>,
        E: ProvideErrorMetadata + std::error::Error + Send + Sync + 'static,
    {
        let what = format!("{what} (as {})", self.config);
        let mut renewed = false;
        loop {
            let (client, since) = self.client().await;
            let permit = self.account.admit(Share::Full, PATIENCE).await;
            let result = match permit {
                Ok(_permit) => request(client).await,
                Err(rest) => {
                    let pause = zonewright_http::TransportError::Paused(rest);
                    Err(SdkError::dispatch_failure(aws_smithy_runtime_api::client::result::ConnectorError::io(
                        pause.into(),
                    )))
                }
            };
            let error = match result {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            let stale = matches!(&error, SdkError::ServiceError(answer) if answer.err().code().is_some_and(is_stale));
            if stale && !renewed && self.forget(since) {
                renewed = true;
                continue;
            }
            let read = read(&error);
            let failure = failure(operation, &what, &self.config.secrets(), error);
            if failure.error.kind == ErrorKind::Throttled && failure.status.is_some() {
                self.account.pause(self.rest);
            }
            return Err((failure, read));
        }
    }

    /// The client, and since when there is it.
    async fn client(&self) -> (Arc<C>, Instant) {
        let known = || self.made().as_ref().map(|made| (made.client.clone(), made.at));
        if let Some(known) = known() {
            return known;
        }
        let _alone = self.search.lock().await;
        if let Some(known) = known() {
            return known;
        }
        let config = self.load().await;
        let (client, at) = (Arc::new((self.client)(&config)), Instant::now());
        *self.made() = Some(Made { client: client.clone(), at });
        (client, at)
    }

    /// Forgets the client that was made at this time, so that the next one has credentials that are read anew. Whether there
    /// is reason to try again: it was not made a moment ago.
    fn forget(&self, since: Instant) -> bool {
        let mut made = self.made();
        match &*made {
            Some(current) if current.at != since => true,
            Some(current) if current.at.elapsed() < RENEWAL => false,
            _ => {
                *made = None;
                true
            }
        }
    }

    fn made(&self) -> std::sync::MutexGuard<'_, Option<Made<C>>> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Searches for region and credentials, as every AWS program does.
    async fn load(&self) -> SdkConfig {
        let config = &self.config;
        let mut profile_region = ProfileFileRegionProvider::builder();
        if let Some(profile) = &config.profile {
            profile_region = profile_region.profile_name(profile);
        }
        let region = RegionProviderChain::first_try(config.region.clone().map(Region::new))
            .or_else(EnvironmentVariableRegionProvider::new())
            .or_else(profile_region.build())
            .or_else(Region::new(REGION));
        let mut loader = aws_config::defaults(BehaviorVersion::v2026_01_12())
            .http_client(self.http.clone())
            // Connections are the transport's own affair.
            .retry_config(RetryConfig::disabled().with_reconnect_mode(ReconnectMode::ReuseAllConnections))
            .timeout_config(TimeoutConfig::builder().operation_attempt_timeout(self.timeout).build())
            .region(region);
        if let Some(profile) = &config.profile {
            loader = loader.profile_name(profile);
        }
        if let Some(endpoint) = &config.endpoint {
            loader = loader.endpoint_url(endpoint);
        }
        if let Some(keys) = &config.keys {
            let token = keys.token.as_ref().map(|token| token.expose_secret().to_owned());
            let secret = keys.secret.expose_secret();
            loader = loader.credentials_provider(aws_credential_types::Credentials::new(
                &keys.id, secret, token, None, "settings",
            ));
        }
        if config.web_identity.is_some() {
            loader = loader.no_credentials();
        }
        let shared = loader.load().await;
        let Some(role) = &config.role else { return shared };
        if let Some(path) = &config.web_identity {
            let provider = SharedCredentialsProvider::new(WebIdentity::new(&shared, role, path));
            return shared.into_builder().credentials_provider(provider).build();
        }
        let mut builder = AssumeRoleProvider::builder(role).configure(&shared).session_name("zonewright");
        if let Some(id) = &config.external_id {
            builder = builder.external_id(id.expose_secret());
        }
        let provider = SharedCredentialsProvider::new(builder.build().await);
        shared.into_builder().credentials_provider(provider).build()
    }
}
