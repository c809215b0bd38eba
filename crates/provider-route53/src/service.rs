//! The service as one identity: requests at the pace of its account.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use aws_sdk_route53::Client;
use aws_sdk_route53::error::{ProvideErrorMetadata, SdkError};
use aws_smithy_runtime_api::client::http::SharedHttpClient;
use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use backon::{BackoffBuilder as _, ExponentialBuilder};
use secrecy::SecretString;
use tokio::time::sleep;
use zonewright_aws::{Access, AccessConfig, sdk_http_client};
use zonewright_core::catalog::ProviderConfig;
use zonewright_core::shared::Shared;
use zonewright_core::{Error, ErrorKind, Result};
use zonewright_http::{AccountLimits, Accounts, Connection, Failure, Patience, Proxies, Rate, RequestTimes};

/// Connections to AWS by the proxies of the environment and the authorities of the system.
///
/// # Errors
/// [`ErrorKind::Configuration`] if one of them cannot be used.
pub(crate) fn connect(config: &ProviderConfig) -> Result<SharedHttpClient> {
    let connection = Connection { proxies: Proxies::from_env()?, ..Connection::default() };
    sdk_http_client(&connection, RequestTimes::clone(&config.shared.get()), template)
}

/// The template of a path: what follows `hostedzone` and `change` is an id.
fn template(path: &str) -> String {
    let mut parts: Vec<&str> = path.split('/').collect();
    for at in 1..parts.len() {
        let is_id = matches!(parts.get(at - 1), Some(&"hostedzone" | &"change"));
        if is_id && let Some(part) = parts.get_mut(at) {
            *part = "{id}";
        }
    }
    parts.join("/")
}

/// One identity at the service.
#[derive(Debug)]
pub(crate) struct Service {
    access: Access<Client>,
    attempts: usize,
    pause: Duration,
}

impl Service {
    pub(crate) fn new(access: AccessConfig, http: &SharedHttpClient, shared: &Shared, limit: Pace) -> Arc<Self> {
        let identity = SecretString::from(format!("{access}"));
        // Evenly spread: the service counts every second that it likes, and a burst would be one too many in some of them.
        let rate = (limit.qps > 0).then(|| Rate { burst: NonZeroU32::MIN, ..Rate::per_second(limit.qps) });
        let account = shared.get::<Accounts>().of("route53", &identity, AccountLimits { rate, concurrency: None });
        let patience = shared.get::<Patience>();
        let access = Access::new(access, http.clone(), account, |config| Client::new(config)).patience(&patience);
        Arc::new(Self { access, attempts: limit.attempts, pause: patience.pause() })
    }

    /// Whom, for messages.
    pub(crate) fn identity(&self) -> String {
        self.access.config().to_string()
    }

    /// A request that only reads: what passes is tried again, after growing pauses.
    ///
    /// # Errors
    /// The last attempt's.
    pub(crate) async fn read<T, E, F>(
        &self,
        operation: &'static str,
        what: &str,
        request: impl Fn(Arc<Client>) -> F,
    ) -> Result<T>
    where
        F: Future<Output = std::result::Result<T, SdkError<E, HttpResponse>>>,
        E: ProvideErrorMetadata + std::error::Error + Send + Sync + 'static,
    {
        let pauses = ExponentialBuilder::new().with_jitter().with_min_delay(self.pause);
        let mut pauses = pauses.with_max_times(self.attempts.saturating_sub(1)).build();
        loop {
            let failure = match self.access.call(operation, what, &request).await {
                Ok(answer) => return Ok(answer),
                Err(failure) => failure,
            };
            match pauses.next().filter(|_| passes(&failure.error)) {
                Some(pause) => sleep(pause).await,
                None => return Err(failure.error),
            }
        }
    }

    /// A request that changes something, made once.
    ///
    /// # Errors
    /// The failure, with what `read` made of the service's own error.
    pub(crate) async fn write<T, E, F, R>(
        &self,
        operation: &'static str,
        what: &str,
        request: impl Fn(Arc<Client>) -> F,
        read: impl Fn(&SdkError<E, HttpResponse>) -> R,
    ) -> std::result::Result<T, (Failure, R)>
    where
        F: Future<Output = std::result::Result<T, SdkError<E, HttpResponse>>>,
        E: ProvideErrorMetadata + std::error::Error + Send + Sync + 'static,
    {
        self.access.call_reading(operation, what, request, read).await
    }
}

/// How fast, and how often.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pace {
    /// Requests a second; 0 is no limit.
    pub(crate) qps: u32,
    /// Attempts of a request that reads.
    pub(crate) attempts: usize,
}

fn passes(error: &Error) -> bool {
    matches!(error.kind, ErrorKind::Throttled | ErrorKind::Unavailable | ErrorKind::Timeout | ErrorKind::Protocol)
}

#[cfg(test)]
pub(crate) mod tests {
    use std::collections::BTreeMap;

    use zonewright_aws::AccessKeys;
    use zonewright_core::catalog::Settings;
    use zonewright_core::zone::InstanceId;

    use super::*;

    /// The service at this address as this access key, each request made once.
    pub(crate) fn at(url: &str, key: &str) -> Arc<Service> {
        let config = ProviderConfig {
            instance: InstanceId::from("aws"),
            settings: Settings::default(),
            credentials: BTreeMap::new(),
            shared: Shared::default(),
        };
        let keys = Some(AccessKeys { id: key.to_owned(), secret: SecretString::from("s3cr3t"), token: None });
        let access = AccessConfig { keys, endpoint: Some(url.to_owned()), ..AccessConfig::default() };
        Service::new(access, &connect(&config).unwrap(), &config.shared, Pace { qps: 0, attempts: 1 })
    }

    #[test]
    fn paths_have_no_ids() {
        for (path, expected) in [
            ("/2013-04-01/hostedzone/Z1/rrset", "/2013-04-01/hostedzone/{id}/rrset"),
            ("/2013-04-01/hostedzone", "/2013-04-01/hostedzone"),
            ("/2013-04-01/tags/hostedzone", "/2013-04-01/tags/hostedzone"),
            ("/2013-04-01/change/C1", "/2013-04-01/change/{id}"),
            ("/", "/"),
        ] {
            assert_eq!(template(path), expected);
        }
    }
}
