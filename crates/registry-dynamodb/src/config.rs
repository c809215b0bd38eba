//! Settings.

use std::time::Duration;

use secrecy::SecretString;
use zonewright_core::Result;
use zonewright_core::error::{Error, ErrorKind, Retry};
use zonewright_registry::txt::TxtConfig;

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
}

pub(crate) fn refused(context: &str) -> Error {
    Error::new(ErrorKind::Configuration, "configure the dynamodb registry", context).retry(Retry::Never)
}
