//! One request of the protocol and its answer.
//!
//! In: a request of the protocol. Out: the status with as much of the body as is asked for, or a [`ExchangeError`]. Every
//! request has one time for everything, from connecting to the last byte of the answer. Redirections are followed as
//! far as they can be trusted, and reported. Nothing is repeated here: what may be asked again, the layers above ask again.

use std::path::PathBuf;
use std::time::Duration;

use zonewright_core::Error;
use zonewright_http::header::{ACCEPT, CONTENT_TYPE, LOCATION};
use zonewright_http::{
    Connection, Method, Proxies, Repeat, Request, RetryPolicy, StatusCode, Tls, TransportError, Url, shown,
};

use crate::config::{Config, bad};
use crate::error::ExchangeError;
use crate::media::MEDIA_TYPE;
use crate::once_log::OnceLog;

/// Most redirections of one request.
const HOPS: usize = 5;

/// The requests of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Route {
    Negotiate,
    Records,
    Adjust,
    Apply,
}

impl Route {
    fn method(self) -> Method {
        match self {
            Self::Negotiate | Self::Records => Method::GET,
            Self::Adjust | Self::Apply => Method::POST,
        }
    }

    /// What follows the address; nothing for the negotiation, which asks the address itself.
    fn path(self) -> &'static str {
        match self {
            Self::Negotiate => "",
            Self::Records | Self::Apply => "records",
            Self::Adjust => "adjustendpoints",
        }
    }
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    /// The Content-Type.
    pub(crate) media: Option<String>,
    pub(crate) body: Vec<u8>,
    /// How long not to ask again.
    after: Option<Duration>,
    /// The beginning of the body, for messages.
    said: String,
}

impl Answer {
    /// The answer as a fault: another status than the protocol has.
    pub(crate) fn unexpected(&self, expected: u16) -> ExchangeError {
        ExchangeError::Status { status: self.status, expected, said: self.said.clone(), after: self.after }
    }
}

impl From<zonewright_http::Answer> for Answer {
    fn from(answer: zonewright_http::Answer) -> Self {
        Self {
            status: answer.status,
            media: answer.header(&CONTENT_TYPE),
            after: answer.retry_after(),
            said: answer.excerpt(),
            body: answer.body.into(),
        }
    }
}

/// A peer, with the connections to it.
#[derive(Debug)]
pub(crate) struct Client {
    http: zonewright_http::Client,
    total: Duration,
}

impl Client {
    /// Connects to nothing.
    ///
    /// # Errors
    /// [`zonewright_core::ErrorKind::Configuration`] if the certificate authorities cannot be read, or the environment
    /// names a proxy that is none.
    pub(crate) fn new(config: Config) -> Result<Self, Error> {
        let Config { peer, connect, total, limit, ca, times, .. } = config;
        let authorities = (!ca.is_empty()).then(|| PathBuf::from(&ca));
        let tls = Tls { authorities, ..Tls::default() };
        let proxies = Proxies::from_env()?;
        let connection = Connection { tls, proxies, connect_timeout: connect, ..Connection::default() };
        // A peer that asks to be left alone is left alone by those who ask, not by waiting in here.
        let retry = RetryPolicy { longest: Duration::ZERO, ..RetryPolicy::ONCE };
        let builder = zonewright_http::Client::builder(peer.base.as_str())?.connection(connection).retry(retry);
        let built = builder.credentials(peer.credentials).timeout(total).limit(limit).times(times).build();
        let http = built.map_err(|error| {
            let hint = if ca.is_empty() { ("", "; give --tls-ca") } else { ("--tls-ca ", "") };
            bad(format!("{}{}{}", hint.0, error.context, hint.1))
        })?;
        Ok(Self { http, total })
    }

    /// The address, for messages.
    pub(crate) fn address(&self) -> String {
        self.http.address()
    }

    /// Sends one request, and redirected ones after it.
    ///
    /// # Errors
    /// Whatever kept the answer from being complete. A status that the protocol does not have is no error here.
    pub(crate) async fn send(
        &self,
        route: Route,
        body: Option<Vec<u8>>,
        log: &OnceLog,
    ) -> Result<Answer, ExchangeError> {
        let exchange = self.exchange(route, body, log);
        tokio::time::timeout(self.total, exchange).await.unwrap_or(Err(ExchangeError::Timeout(self.total)))
    }

    async fn exchange(&self, route: Route, body: Option<Vec<u8>>, log: &OnceLog) -> Result<Answer, ExchangeError> {
        let mut request = stated(route, Request::new(route.method(), route.path()), body.as_ref());
        let mut from = self.http.base().clone();
        for _ in 0..=HOPS {
            let answer = self.http.exchange(&request).await.map_err(|error| self.fault(error))?;
            let Some(next) = redirection(route, &from, &answer)? else { return Ok(answer.into()) };
            let asked = if route.path().is_empty() { String::new() } else { format!(" /{}", route.path()) };
            log.once(
                &format!("redirection of {route:?}"),
                &format!("redirects {}{asked} to {}", route.method(), shown(&next)),
                "has no redirections",
                "it is followed; set --webhook-provider-url to the new address",
            );
            request = stated(route, Request::link(route.method(), next.clone(), route.path()), body.as_ref());
            from = next;
        }
        let (status, to) = (StatusCode::LOOP_DETECTED, shown(&from));
        Err(ExchangeError::Redirected { status, to, why: "is one redirection too many" })
    }

    fn fault(&self, error: TransportError) -> ExchangeError {
        match error {
            TransportError::Connect(cause) | TransportError::Tls(cause) => ExchangeError::Connect(cause),
            TransportError::Cut(cause) => ExchangeError::Cut(cause),
            TransportError::Timeout(_) => ExchangeError::Timeout(self.total),
            TransportError::TooLarge(limit) => ExchangeError::TooLarge(limit),
            error => ExchangeError::Other(error),
        }
    }
}

/// The request with what the protocol has in its head, and its body.
fn stated(route: Route, request: Request, body: Option<&Vec<u8>>) -> Request {
    let request = request.repeat(Repeat::Never);
    let request = if route == Route::Apply { request } else { request.header(ACCEPT, MEDIA_TYPE) };
    match body {
        Some(body) => request.body(MEDIA_TYPE, body.clone()),
        None => request,
    }
}

/// Where an answer points to, if it is a redirection.
///
/// # Errors
/// It cannot be followed: it would lose the body of a request, leads from https to http, or nowhere.
fn redirection(route: Route, from: &Url, answer: &zonewright_http::Answer) -> Result<Option<Url>, ExchangeError> {
    let status = answer.status;
    if !matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let to = answer.header(&LOCATION).unwrap_or_default();
    let next = resolved(from, &to);
    let to = next.as_ref().map_or(to, shown);
    let refuse = |why| Err(ExchangeError::Redirected { status, to: to.clone(), why });
    if route.method() == Method::POST && !matches!(status.as_u16(), 307 | 308) {
        return refuse("would turn a POST into a GET");
    }
    let Some(next) = next else { return refuse("leads nowhere") };
    if from.scheme() == "https" && next.scheme() != "https" {
        return refuse("leads from https to plain http");
    }
    Ok(Some(next))
}

/// A Location is an address or a path (RFC 9110 10.2.2); relative paths without a slash are not made by any server
/// known.
fn resolved(from: &Url, to: &str) -> Option<Url> {
    let url = if to.starts_with('/') && !to.starts_with("//") { from.join(to) } else { Url::parse(to) };
    url.ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locations() {
        let from: Url = "https://a:1/x/records".parse().unwrap();
        for (to, expected) in [
            ("/y", Some("https://a:1/y")),
            ("http://b/z", Some("http://b/z")),
            ("ftp://b/z", None),
            ("", None),
            ("//b/z", None),
        ] {
            assert_eq!(resolved(&from, to).map(|url| url.to_string()).as_deref(), expected, "{to}");
        }
    }
}
