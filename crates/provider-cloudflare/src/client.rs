//! The service: requests at the pace of the user, and what its answers are wrapped in.

use serde::de::DeserializeOwned;
use tokio::time::Instant;
use zonewright_core::catalog::ProviderConfig;
use zonewright_core::{Error, ErrorKind, Result};
use zonewright_http::{
    AccountLimits, Accounts, Client, Connection, Delivery, Failure, Patience, Proxies, Request, RequestTimes,
    StatusCode,
};

use crate::asked::Asked;
use crate::config::Config;
use crate::error::{explain, unsuccessful};
use crate::operation::Operation;
use crate::pages::{Collected, Moved, Page};
use crate::wire::{Envelope, Identified, Problem, Removal};

/// Most pages of one list: what goes on after them goes on for ever.
pub(crate) const PAGES: u64 = 10_000;
/// How often a list is read that changes meanwhile.
const READINGS: usize = 3;

/// The service as one user.
#[derive(Debug)]
pub(crate) struct Service {
    client: Client,
    /// Where the credentials were found, for messages.
    place: String,
}

impl Service {
    /// Connections by the proxies of the environment and the authorities of the system.
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`] if one of them cannot be used, or the address is none.
    pub(crate) fn new(from: &ProviderConfig, config: &Config) -> Result<Self> {
        let connection = Connection { proxies: Proxies::from_env()?, ..Connection::default() };
        let limits = AccountLimits { rate: config.pace.rate(), concurrency: None };
        let account = from.shared.get::<Accounts>().of("cloudflare", &config.access.identity(), limits);
        let place = config.access.place().to_owned();
        let patience = from.shared.get::<Patience>();
        let client = Client::builder(&config.base)?
            .connection(connection)
            .account(account)
            .shared_credentials(config.access.clone())
            .explain(explain)
            .timeout(patience.timeout())
            .retry(patience.retry())
            .times(RequestTimes::clone(&from.shared.get()))
            .build()?;
        Ok(Self { client, place })
    }

    /// Where the credentials were found, for messages.
    pub(crate) fn place(&self) -> &str {
        &self.place
    }

    /// Sends a request and takes what was asked for out of the answer; `None` where nothing was.
    ///
    /// # Errors
    /// There is no good answer. Where the credentials are refused, the error says where they were found.
    pub(crate) async fn ask<T: DeserializeOwned>(
        &self,
        operation: Operation,
        request: &Request,
    ) -> Result<Option<T>, Failure> {
        Ok(self.envelope(operation, request).await?.0.result)
    }

    /// As [`Service::ask`], for a request that changes something and whose answer says nothing more.
    ///
    /// # Errors
    /// As [`Service::ask`].
    pub(crate) async fn change(&self, operation: Operation, request: &Request) -> Result<(), Failure> {
        self.envelope::<serde_json::Value>(operation, request).await.map(drop)
    }

    /// As [`Service::change`], for a request whose answer the API documents without an envelope: [`Removal`].
    ///
    /// # Errors
    /// As [`Service::ask`].
    pub(crate) async fn remove(&self, operation: Operation, request: &Request) -> Result<(), Failure> {
        let removal: Removal =
            self.client.json(operation.name, request).await.map_err(|failure| self.placed(operation, failure))?;
        if removal.is_success() { Ok(()) } else { Err(self.refused(operation, &removal.errors)) }
    }

    /// The page of a list with this number.
    ///
    /// # Errors
    /// As [`Service::ask`]; [`ErrorKind::Protocol`] if the answer is another page.
    pub(crate) async fn page<T: DeserializeOwned>(
        &self,
        operation: Operation,
        request: &Request,
        number: u64,
    ) -> Result<Page<T>> {
        let (envelope, asked): (Envelope<Vec<T>>, Asked) = self.envelope(operation, request).await?;
        let info = envelope.result_info.unwrap_or_default();
        if let Some(other) = info.page.filter(|page| *page != number) {
            let text = format!("page {number} was asked for, and page {other} was answered");
            return Err(Error::new(ErrorKind::Protocol, operation.name, text));
        }
        // A list without items has an empty one.
        let items = envelope.result.ok_or_else(|| {
            Error::new(
                ErrorKind::Protocol,
                operation.name,
                format!("page {number}: the answer is a success without a result"),
            )
        })?;
        Ok(Page { items, info, asked })
    }

    /// All items of a list. `request` makes the request for a page, counted from 1. A list that changes while it is read is read
    /// anew, three times at most.
    ///
    /// # Errors
    /// As [`Service::ask`], of any page; [`ErrorKind::Protocol`] if the list has no end, [`ErrorKind::Conflict`] if it never stood
    /// still.
    pub(crate) async fn all<T: DeserializeOwned + Identified>(
        &self,
        operation: Operation,
        request: impl Fn(u64) -> Request,
    ) -> Result<Vec<T>> {
        Ok(self.all_since(operation, request).await?.0)
    }

    /// As [`Service::all`], with when the pages of that reading were asked for.
    ///
    /// # Errors
    /// As [`Service::all`].
    pub(crate) async fn all_since<T: DeserializeOwned + Identified>(
        &self,
        operation: Operation,
        request: impl Fn(u64) -> Request,
    ) -> Result<(Vec<T>, Asked)> {
        for _ in 0..READINGS {
            if let Ok(all) = self.reading(operation, &request).await? {
                return Ok(all);
            }
        }
        Err(Error::new(ErrorKind::Conflict, operation.name, "the list changes while it is read"))
    }

    /// One reading of a list; the inner error says that its pages moved meanwhile.
    async fn reading<T: DeserializeOwned + Identified>(
        &self,
        operation: Operation,
        request: impl Fn(u64) -> Request,
    ) -> Result<Result<(Vec<T>, Asked), Moved>> {
        let mut collected = Collected::new();
        for number in 1..=PAGES {
            let page = self.page(operation, &request(number), number).await?;
            let last = page.is_last(number);
            if let Err(moved) = collected.add(page) {
                return Ok(Err(moved));
            }
            if last {
                return Ok(collected.finish());
            }
        }
        Err(Error::new(ErrorKind::Protocol, operation.name, format!("the list does not end after {PAGES} pages")))
    }

    /// What was answered, and when it was asked for.
    async fn envelope<T: DeserializeOwned>(
        &self,
        operation: Operation,
        request: &Request,
    ) -> Result<(Envelope<T>, Asked), Failure> {
        let placed = |failure| self.placed(operation, failure);
        let begun = Instant::now();
        let answer = self.client.send(operation.name, request).await.map_err(placed)?;
        let envelope: Envelope<T> = self.client.read_json(operation.name, request, &answer).map_err(placed)?;
        if envelope.success {
            return Ok((envelope, Asked::once(answer.sent.unwrap_or(begun))));
        }
        Err(self.refused(operation, &envelope.errors))
    }

    /// An answer that says by itself that it is no success: nobody knows what was carried out.
    fn refused(&self, operation: Operation, problems: &[Problem]) -> Failure {
        let error = unsuccessful(operation.name, problems);
        self.placed(operation, Failure::new(error, Delivery::Unknown))
    }

    /// A refusal of the credentials says where they were found, and which permission they need.
    fn placed(&self, operation: Operation, mut failure: Failure) -> Failure {
        if failure.error.kind == ErrorKind::Unauthorized && !failure.error.context.contains(&self.place) {
            failure.error.context = format!("{}; asked with {}", failure.error.context, self.place);
        }
        if failure.error.kind == ErrorKind::Unauthorized && failure.status == Some(StatusCode::FORBIDDEN) {
            let permission = operation.permission;
            failure.error.context = format!("{}; expected the permission {permission} there", failure.error.context);
        }
        failure
    }
}
