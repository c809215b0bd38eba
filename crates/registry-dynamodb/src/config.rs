//! Settings, and the client that they make.

use std::time::Duration;

use aws_config::BehaviorVersion;
use aws_config::retry::RetryConfig;
use aws_config::sts::AssumeRoleProvider;
use aws_config::timeout::TimeoutConfig;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::{Credentials, Region};
use aws_smithy_http_client::Builder;
use aws_smithy_http_client::tls::{Provider, rustls_provider::CryptoMode};
use secrecy::{ExposeSecret, SecretString};
use zonewright_core::Result;
use zonewright_core::error::{Error, ErrorKind, Retry};
use zonewright_registry::txt::TxtConfig;

/// How long a connection may take.
const CONNECT: Duration = Duration::from_secs(5);
/// How long one call may take.
const CALL: Duration = Duration::from_secs(20);

/// Settings of the DynamoDB registry.
#[derive(Debug, Clone)]
pub struct DynamoConfig {
    /// Who we are, and how claims as TXT records are named and read, from which the table takes over.
    pub txt: TxtConfig,
    /// `--dynamodb-table`.
    pub table: String,
    /// `--dynamodb-region`; `None` takes what the SDK finds.
    pub region: Option<String>,
    /// Where the service is, in place of the region's own address: for tests and private links.
    pub endpoint: Option<String>,
    /// Access keys in place of those that the SDK finds.
    pub keys: Option<AccessKeys>,
    /// `--aws-assume-role`: a role to take, by its ARN.
    pub role: Option<String>,
    /// `--aws-assume-role-external-id`: what the role asks for.
    pub external_id: Option<String>,
    /// `--aws-api-retries`: how often a throttled call is made in all, at least once.
    pub attempts: u32,
    /// `--txt-cache-interval`: how long rows that were read are taken as they were; zero reads them each time.
    pub cache: Duration,
}

/// A fixed pair of keys.
#[derive(Debug, Clone)]
pub struct AccessKeys {
    /// The id of the key.
    pub id: String,
    /// The key.
    pub secret: SecretString,
}

impl DynamoConfig {
    /// The settings of external-dns where no flag is given: the table `external-dns` of the region that the SDK finds.
    pub fn new(txt: TxtConfig) -> Self {
        Self {
            txt,
            table: "external-dns".to_owned(),
            region: None,
            endpoint: None,
            keys: None,
            role: None,
            external_id: None,
            attempts: 3,
            cache: Duration::ZERO,
        }
    }

    /// Refuses what cannot work.
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`] that names the flag.
    pub(crate) fn check(&self) -> Result<()> {
        if self.table.is_empty() {
            return Err(refused("dynamodb-table: table cannot be empty"));
        }
        let known = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':' | '/');
        if !self.table.chars().all(known) {
            return Err(refused(&format!(
                "dynamodb-table {:?} is no name of a table; expected letters, digits, '-', '_' and '.', or an ARN",
                self.table
            )));
        }
        Ok(())
    }

    /// A client by these settings. Nothing is sent but what the search for credentials takes.
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`] if no region is known.
    pub(crate) async fn client(&self) -> Result<Client> {
        let mut loader = aws_config::defaults(BehaviorVersion::v2026_01_12())
            // The service's own TLS default is a C library.
            .http_client(Builder::new().tls_provider(Provider::Rustls(CryptoMode::Ring)).build_https())
            // A throttled call is repeated by `table`, where batches are known; nothing else is repeated below the engine.
            .retry_config(RetryConfig::disabled())
            .timeout_config(TimeoutConfig::builder().connect_timeout(CONNECT).operation_attempt_timeout(CALL).build());
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

fn refused(context: &str) -> Error {
    Error::new(ErrorKind::Configuration, "configure the dynamodb registry", context).retry(Retry::Never)
}
