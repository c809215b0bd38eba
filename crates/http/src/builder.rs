//! What a client is made of.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http::header::USER_AGENT as NAME;
use http::{HeaderMap, HeaderName, HeaderValue};
use url::Url;
use zonewright_core::{Error, ErrorKind, Result};

use crate::account::Account;
use crate::client::{Client, Inner};
use crate::connection::Connection;
use crate::credentials::{Credentials, Fixed};
use crate::metrics::RequestTimes;
use crate::patience::Patience;
use crate::redact::shown;
use crate::retry::RetryPolicy;
use crate::status::Explain;
use crate::transport::Transport;

/// The `User-Agent` of every request.
pub const USER_AGENT: &str = concat!("zonewright/", env!("CARGO_PKG_VERSION"));

/// Builds a [`Client`].
#[must_use]
pub struct ClientBuilder {
    base: Url,
    connection: Connection,
    transport: Option<Arc<dyn Transport>>,
    account: Option<Account>,
    credentials: Arc<dyn Credentials>,
    headers: HeaderMap,
    retry: RetryPolicy,
    timeout: Duration,
    limit: Option<usize>,
    explain: Option<Explain>,
    times: RequestTimes,
}

impl Client {
    /// A client for the service at this address: no credentials, no limits, the default [`Connection`] and
    /// [`RetryPolicy`], 30 seconds for an attempt, 64 MiB for a body.
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`], without the address: it may hold a password.
    pub fn builder(base: &str) -> Result<ClientBuilder> {
        let expected = "expected an address such as https://api.example.com/v1";
        let url = Url::parse(base.trim()).ok().filter(|url| url.has_host() && matches!(url.scheme(), "http" | "https"));
        let url = url.ok_or_else(|| wrong(expected))?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(wrong(&format!("{expected}, without user and password")));
        }
        Ok(ClientBuilder {
            base: url,
            connection: Connection::default(),
            transport: None,
            account: None,
            credentials: Arc::new(Fixed::none()),
            headers: HeaderMap::from_iter([(NAME, HeaderValue::from_static(USER_AGENT))]),
            retry: RetryPolicy::default(),
            timeout: Patience::default().timeout(),
            limit: Some(64 * 1024 * 1024),
            explain: None,
            times: RequestTimes::default(),
        })
    }
}

impl ClientBuilder {
    /// How to reach the service.
    pub fn connection(self, connection: Connection) -> Self {
        Self { connection, ..self }
    }

    /// Another transport in place of the network.
    pub fn transport(self, transport: Arc<dyn Transport>) -> Self {
        Self { transport: Some(transport), ..self }
    }

    /// The account whose limits hold; without one, an unlimited one of its own.
    pub fn account(self, account: Account) -> Self {
        Self { account: Some(account), ..self }
    }

    /// Where credentials come from.
    pub fn credentials(self, credentials: impl Credentials + 'static) -> Self {
        self.shared_credentials(Arc::new(credentials))
    }

    /// Where credentials come from, shared with whoever sets them anew.
    pub fn shared_credentials(self, credentials: Arc<dyn Credentials>) -> Self {
        Self { credentials, ..self }
    }

    /// A header of every request that does not have its own, e.g. `Accept`.
    pub fn header(mut self, name: HeaderName, value: &'static str) -> Self {
        self.headers.insert(name, HeaderValue::from_static(value));
        self
    }

    /// How often and how long a request is tried.
    pub fn retry(self, retry: RetryPolicy) -> Self {
        Self { retry, ..self }
    }

    /// Longest time of one attempt, from connecting to the last byte of the answer; waiting for a turn is not counted.
    pub fn timeout(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }

    /// Most bytes of the body of a success; none is no limit.
    pub fn limit(self, limit: Option<usize>) -> Self {
        Self { limit, ..self }
    }

    /// Reads the error format of this service.
    pub fn explain(self, explain: Explain) -> Self {
        Self { explain: Some(explain), ..self }
    }

    /// Where durations are counted.
    pub fn times(self, times: RequestTimes) -> Self {
        Self { times, ..self }
    }

    /// The client. Connects to nothing.
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`] if a file of [`Connection::tls`] cannot be used.
    pub fn build(self) -> Result<Client> {
        let Self { base, connection, transport, account, credentials, headers, retry, timeout, .. } = self;
        let transport = match transport {
            Some(transport) => transport,
            None => connection.open(base.scheme() == "https")?,
        };
        let account = account.unwrap_or_else(|| Account::unlimited(base.host_str().unwrap_or_default()));
        let (limit, explain, times) = (self.limit, self.explain, self.times);
        let inner = Inner { base, transport, account, credentials, headers, retry, timeout, limit, explain, times };
        Ok(Client(Arc::new(inner)))
    }
}

impl fmt::Debug for ClientBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientBuilder").field("base", &shown(&self.base)).finish_non_exhaustive()
    }
}

fn wrong(context: &str) -> Error {
    Error::new(ErrorKind::Configuration, "configure an HTTP client", context)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_address_is_reported_without_it() {
        for base in ["", "a.example", "ftp://s3cret@a", "https://", "https://me:s3cret@a", "http://s3cret@a b"] {
            let error = Client::builder(base).unwrap_err();
            assert_eq!(error.kind, ErrorKind::Configuration, "{base}");
            assert!(error.context.contains("expected an address") && !error.chain().contains("s3cret"), "{error}");
        }
    }

    #[test]
    fn debug_shows_no_credential_and_no_query() {
        let builder = Client::builder("https://a.example/x?token=s3cret").unwrap();
        let builder = builder.credentials(Fixed::bearer(&"s3cret".into()).unwrap());
        let before = format!("{builder:?}");
        let shown = format!("{before} {:?}", builder.build().unwrap());
        assert!(shown.contains("https://a.example/x") && !shown.contains("s3cret"), "{shown}");
    }
}
