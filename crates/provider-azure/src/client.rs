//! The service: requests at the pace that Azure Resource Manager allows.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use serde::de::DeserializeOwned;
use zonewright_core::catalog::ProviderConfig;
use zonewright_core::{Error, ErrorKind, Result};
use zonewright_http::{
    Account, Accounts, Answer, Client, Connection, Failure, Limits, Method, Patience, Proxies, Rate, Repeat, Request,
    RequestTimes, RetryPolicy,
};

use crate::config::Config;
use crate::credentials::Access;
use crate::error::explain;

/// Requests of one account that are under way at once.
pub(crate) const CONCURRENCY: u32 = 10;

/// What Resource Manager allows one principal in one subscription: so many at once, and so many a second after that. Reads, writes and
/// deletes are counted apart.
///
/// <https://learn.microsoft.com/azure/azure-resource-manager/management/request-limits-and-throttling>
const READS: (u32, u32) = (250, 25);
const WRITES: (u32, u32) = (200, 10);

/// Reads a second.
pub(crate) const READS_A_SECOND: u32 = READS.1;

/// The service as one principal.
#[derive(Debug)]
pub(crate) struct Service {
    reads: Client,
    writes: Client,
    access: Arc<Access>,
}

impl Service {
    /// Connections by the proxies of the environment and the authorities of the system.
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`] if one of them cannot be used, or the address is none.
    pub(crate) fn new(from: &ProviderConfig, config: &Config) -> Result<Self> {
        let connection = Connection { proxies: Proxies::from_env()?, ..Connection::default() };
        let access = config.access.clone();
        let patience = from.shared.get::<Patience>();
        let retry = RetryPolicy { attempts: config.attempts, ..patience.retry() };
        let accounts = from.shared.get::<Accounts>();
        let client = |what: &str, limits: (u32, u32)| {
            Client::builder(&config.endpoint)?
                .connection(connection.clone())
                .account(account(&accounts, what, &access, limits))
                .shared_credentials(access.clone())
                .explain(explain)
                .timeout(patience.timeout())
                .retry(retry)
                .times(RequestTimes::clone(&from.shared.get()))
                .build()
        };
        Ok(Self { reads: client("azure-reads", READS)?, writes: client("azure-writes", WRITES)?, access })
    }

    /// Reads something.
    ///
    /// # Errors
    /// There is no good answer. Where the credentials are refused, the error says where they were found.
    pub(crate) async fn read<T: DeserializeOwned>(
        &self,
        operation: &'static str,
        request: &Request,
    ) -> Result<T, Failure> {
        self.reads.json(operation, request).await.map_err(|failure| self.placed(failure))
    }

    /// Reads the page that a link leads to.
    ///
    /// # Errors
    /// As [`Service::read`]; the link leads elsewhere.
    pub(crate) async fn follow<T: DeserializeOwned>(
        &self,
        operation: &'static str,
        link: &str,
        template: &'static str,
    ) -> Result<T> {
        let url = self.reads.link(operation, link)?;
        Ok(self.read(operation, &Request::link(Method::GET, url, template)).await?)
    }

    /// Sends a write that states what stands. It is not repeated where it may have been carried out.
    ///
    /// # Errors
    /// As [`Service::read`].
    pub(crate) async fn write(&self, operation: &'static str, request: Request) -> Result<Answer, Failure> {
        let request = request.repeat(Repeat::IfNotCarriedOut);
        self.writes.send(operation, &request).await.map_err(|failure| self.placed(failure))
    }

    /// A refusal of the credentials says where they were found.
    fn placed(&self, mut failure: Failure) -> Failure {
        let place = &self.access.place;
        if failure.error.kind == ErrorKind::Unauthorized && !failure.error.context.contains(place) {
            failure.error.context = format!("{}; asked with {place}", failure.error.context);
        }
        failure
    }
}

fn account(accounts: &Accounts, what: &str, access: &Access, (burst, requests): (u32, u32)) -> Account {
    let number = |n| NonZeroU32::new(n).unwrap_or(NonZeroU32::MIN);
    let rate = Rate { requests: number(requests), period: Duration::from_secs(1), burst: number(burst) };
    let limits = Limits { rate: Some(rate), concurrency: NonZeroU32::new(CONCURRENCY) };
    accounts.of(what, &access.account(), limits)
}

/// An error about an answer that cannot be what was asked for.
pub(crate) fn wrong(operation: &'static str, text: impl Into<String>) -> Error {
    Error::new(ErrorKind::Protocol, operation, text)
}
