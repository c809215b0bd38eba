//! The SDK's client by the settings of the registry.

use std::time::Duration;

use aws_config::BehaviorVersion;
use aws_config::retry::RetryConfig;
use aws_config::sts::AssumeRoleProvider;
use aws_config::timeout::TimeoutConfig;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::{Credentials, Region};
use secrecy::ExposeSecret;
use zonewright_aws::sdk_http_client;
use zonewright_core::Result;
use zonewright_http::{Connection, Proxies, RequestTimes};

use super::config::{DynamoConfig, refused};

/// How long a connection may take.
const CONNECT: Duration = Duration::from_secs(5);
/// How long one call may take.
const CALL: Duration = Duration::from_secs(20);

impl DynamoConfig {
    /// A client by these settings. Nothing is sent but what the search for credentials takes.
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`] if no region is known, or the environment names a proxy or authorities that cannot be used.
    pub(crate) async fn client(&self) -> Result<Client> {
        let connection =
            Connection { proxies: Proxies::from_env()?, connect_timeout: CONNECT, ..Connection::default() };
        let mut loader = aws_config::defaults(BehaviorVersion::v2026_01_12())
            .http_client(sdk_http_client(&connection, RequestTimes::default(), str::to_owned)?)
            // A throttled call is repeated by `table`, where batches are known; nothing else is repeated below the engine.
            .retry_config(RetryConfig::disabled())
            .timeout_config(TimeoutConfig::builder().operation_attempt_timeout(CALL).build());
        if let Some(region) = self.region.as_ref().filter(|region| !region.is_empty()) {
            loader = loader.region(Region::new(region.clone()));
        }
        if let Some(keys) = &self.keys {
            let secret = keys.secret.expose_secret();
            loader = loader.credentials_provider(Credentials::new(&keys.id, secret, None, None, "settings"));
        }
        let mut shared = loader.load().await;
        if shared.region().is_none() {
            return Err(refused(
                "no region is known; expected --dynamodb-region, AWS_REGION or a profile with a region",
            ));
        }
        if let Some(role) = self.role.as_ref().filter(|role| !role.is_empty()) {
            let mut builder = AssumeRoleProvider::builder(role).configure(&shared).session_name("zonewright");
            if let Some(id) = self.external_id.as_ref().filter(|id| !id.is_empty()) {
                builder = builder.external_id(id);
            }
            let provider = aws_sdk_dynamodb::config::SharedCredentialsProvider::new(builder.build().await);
            shared = shared.into_builder().credentials_provider(provider).build();
        }
        let mut config = aws_sdk_dynamodb::config::Builder::from(&shared);
        if let Some(endpoint) = &self.endpoint {
            config = config.endpoint_url(endpoint);
        }
        Ok(Client::from_conf(config.build()))
    }
}
