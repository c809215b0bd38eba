//! A client for one service: sends requests, and repeats them where that is safe.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, StatusCode};
use secrecy::SecretString;
use serde::de::DeserializeOwned;
use tokio::time::{Instant, sleep, timeout};
use url::Url;
use zonewright_core::error::Retry;
use zonewright_core::{Error, ErrorKind, Result};

use crate::account::Account;
use crate::answer::Answer;
use crate::credentials::{Credentials, Headers, header_value};
use crate::error::{Delivery, Failure, TransportError};
use crate::metrics::RequestTimes;
use crate::redact::{shortened, shown};
use crate::request::{Repeat, Request};
use crate::retry::RetryPolicy;
use crate::status::{AnswerExplanation, Explain, delivery, denied, is_passing, kind_of};
use crate::transport::{BodyLimits, Outgoing, Transport};

/// Most bytes that are read of the body of a refusal.
const REFUSAL: usize = 256 * 1024;

/// The longest pause that is believed. A service that asks for a year has not meant it.
const LONGEST_PAUSE: Duration = Duration::from_hours(1);

/// A client. Clones share connections, account and credentials.
#[derive(Clone)]
pub struct Client(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) base: Url,
    pub(crate) transport: Arc<dyn Transport>,
    pub(crate) account: Account,
    pub(crate) credentials: Arc<dyn Credentials>,
    pub(crate) headers: HeaderMap,
    pub(crate) retry: RetryPolicy,
    pub(crate) timeout: Duration,
    pub(crate) limit: Option<usize>,
    pub(crate) explain: Option<Explain>,
    pub(crate) times: RequestTimes,
}

/// What became of a request after all its attempts.
struct Run {
    result: Result<Answer, TransportError>,
    /// Whether an attempt before the last one may have changed something.
    doubt: bool,
}

/// One attempt, with the credentials that it used and the time that it took; waiting for its turn is not counted.
struct Attempt {
    result: Result<Answer, TransportError>,
    credentials: Headers,
    took: Duration,
}

/// What one attempt says about a further one.
struct AttemptResult {
    kind: ErrorKind,
    delivery: Delivery,
    passing: bool,
    after: Option<Duration>,
}

impl AttemptResult {
    fn allows(&self, repeat: Repeat) -> bool {
        self.passing
            && match repeat {
                Repeat::Idempotent => true,
                Repeat::IfNotCarriedOut => self.delivery == Delivery::NotSent,
                Repeat::Never => false,
            }
    }
}

impl Client {
    /// The base address.
    pub fn base(&self) -> &Url {
        &self.0.base
    }

    /// The base address for messages.
    pub fn address(&self) -> String {
        shown(&self.0.base)
    }

    /// The account whose limits hold.
    pub fn account(&self) -> &Account {
        &self.0.account
    }

    /// A link that the service gave, absolute or relative to the base address.
    ///
    /// # Errors
    /// It is none, or leads to another scheme, host or port: credentials would not go there.
    pub fn link(&self, operation: &'static str, text: &str) -> Result<Url> {
        let url = self.0.base.join(text.trim()).ok().filter(|url| url.origin() == self.0.base.origin());
        url.ok_or_else(|| {
            let context =
                format!("{}: gives a link that leads elsewhere, or nowhere; it is not followed", self.address());
            Error::new(ErrorKind::Protocol, operation, context)
        })
    }

    /// Sends a request. Any status is an answer, after the attempts that the request allows.
    ///
    /// # Errors
    /// There is no complete answer.
    pub async fn exchange(&self, request: &Request) -> Result<Answer, TransportError> {
        self.run(request).await.result
    }

    /// Sends a request that should succeed.
    ///
    /// # Errors
    /// There is no complete answer, or it is no success. `operation` names what was being done, e.g. `list zones`.
    pub async fn send(&self, operation: &'static str, request: &Request) -> Result<Answer, Failure> {
        let Run { result, doubt } = self.run(request).await;
        let mut failure = match result {
            Ok(answer) if answer.status.is_success() => return Ok(answer),
            Ok(answer) => self.refusal(operation, request, &answer),
            Err(error) => error.into_failure(operation, &self.target(request)),
        };
        // A refusal may be the answer to what an earlier attempt has done already.
        if doubt {
            failure.delivery = Delivery::Unknown;
        }
        Err(failure)
    }

    /// Sends a request that should succeed with a body in JSON.
    ///
    /// # Errors
    /// As [`Client::send`]; [`ErrorKind::Protocol`] where the body is something else, with unknown delivery: the service
    /// took the request.
    pub async fn json<T: DeserializeOwned>(&self, operation: &'static str, request: &Request) -> Result<T, Failure> {
        let answer = self.send(operation, request).await?;
        self.read_json(operation, request, &answer)
    }

    /// What [`Client::json`] makes of the answer to a request, for who needs the answer too.
    ///
    /// # Errors
    /// [`ErrorKind::Protocol`] where the body is no such JSON, with unknown delivery.
    pub fn read_json<T: DeserializeOwned>(
        &self,
        operation: &'static str,
        request: &Request,
        answer: &Answer,
    ) -> Result<T, Failure> {
        answer.json().map_err(|error| {
            let begins = shortened(&answer.excerpt().chars().take(80).collect::<String>());
            let status = answer.status;
            let context = format!(
                "{}: answered {status} with a body that is not the expected JSON (it begins with {begins:?})",
                self.target(request)
            );
            // The message of serde_json may quote the body; the place is enough.
            let place = format!("{:?} at line {} column {}", error.classify(), error.line(), error.column());
            let error = Error::new(ErrorKind::Protocol, operation, format!("{context}: {place}"));
            Failure { status: Some(status), ..Failure::new(error, Delivery::Unknown) }
        })
    }

    async fn run(&self, request: &Request) -> Run {
        let mut pauses = self.0.retry.pauses();
        let (mut spent, mut doubt, mut renewed) = (Duration::ZERO, false, false);
        loop {
            let Attempt { result, credentials, took } = self.attempt(request).await;
            spent += took;
            let denied = result.as_ref().is_ok_and(|answer| answer.status == StatusCode::UNAUTHORIZED);
            if denied && !renewed && request.repeat != Repeat::Never && self.0.credentials.rejected(&credentials).await
            {
                renewed = true;
                continue;
            }
            let Some(verdict) = self.verdict(&result) else { return Run { result, doubt } };
            let pause = if verdict.allows(request.repeat) { pauses.next() } else { None };
            let pause = self.pause(pause, &verdict, spent).filter(|pause| !request.is_late_after(*pause));
            if verdict.kind == ErrorKind::Throttled && result.is_ok() {
                let held = verdict.after.or(pause).unwrap_or(self.0.retry.first);
                self.0.account.pause(held.min(LONGEST_PAUSE));
            }
            let Some(pause) = pause else { return Run { result, doubt } };
            doubt |= verdict.delivery == Delivery::Unknown && !request.is_safe();
            let (account, kind) = (self.0.account.name(), verdict.kind.label());
            tracing::debug!(account, ?request, ?pause, kind, "trying again");
            spent += pause;
            sleep(pause).await;
        }
    }

    /// The pause before another attempt, if there is time for one: no shorter than the service asked for.
    fn pause(&self, pause: Option<Duration>, verdict: &AttemptResult, spent: Duration) -> Option<Duration> {
        let policy = self.0.retry;
        let pause = pause?.max(verdict.after.unwrap_or_default());
        (pause <= policy.longest && spent + pause <= policy.total).then_some(pause)
    }

    /// One attempt: its turn, its credentials, its exchange.
    async fn attempt(&self, request: &Request) -> Attempt {
        let inner = &*self.0;
        let failed = |error| Attempt { result: Err(error), credentials: Headers::new(), took: Duration::ZERO };
        let url = match request.url(&inner.base) {
            Ok(url) => url,
            Err(error) => return failed(error),
        };
        let permit = match request.in_time(inner.account.admit(request.share, inner.retry.longest)).await {
            Some(Ok(permit)) => permit,
            Some(Err(rest)) => return failed(TransportError::Paused(rest)),
            None => return failed(TransportError::Late),
        };
        let own = url.origin() == inner.base.origin();
        let credentials = if own { inner.credentials.headers().await } else { Ok(Headers::new()) };
        let (credentials, outgoing) = match credentials.and_then(|c| Ok((self.outgoing(request, url, &c)?, c))) {
            Ok((outgoing, credentials)) => (credentials, outgoing),
            Err(error) => return failed(TransportError::Credentials(error)),
        };
        if request.is_late_after(Duration::ZERO) {
            return failed(TransportError::Late);
        }
        let begun = Instant::now();
        let result = self.timed(request, &outgoing).await;
        drop(permit);
        let secrets: Vec<SecretString> = credentials.iter().map(|(_, value)| value.clone()).collect();
        Attempt {
            result: result.map(|answer| Answer { sent: Some(begun), secrets, ..answer }),
            credentials,
            took: begun.elapsed(),
        }
    }

    fn outgoing(&self, request: &Request, url: Url, credentials: &Headers) -> Result<Outgoing> {
        let mut headers = self.0.headers.clone();
        for (name, value) in &request.headers {
            headers.insert(name.clone(), value.clone());
        }
        for (name, value) in credentials {
            headers.insert(name.clone(), header_value(name, value)?);
        }
        Ok(Outgoing { method: request.method.clone(), url, headers, body: request.body.clone() })
    }

    /// One exchange under its time-out, measured.
    async fn timed(&self, request: &Request, outgoing: &Outgoing) -> Result<Answer, TransportError> {
        let (begun, limit) = (Instant::now(), request.timeout.unwrap_or(self.0.timeout));
        let limits = BodyLimits { success: request.limit.or(self.0.limit), refusal: REFUSAL };
        let exchange = self.0.transport.exchange(outgoing, limits);
        let result = timeout(limit, exchange).await.unwrap_or(Err(TransportError::Timeout(limit)));
        let status = result.as_ref().ok().map(|answer| answer.status.as_u16());
        let method = request.method.as_str();
        self.0.times.observe(&outgoing.url, request.template(), method, status, begun.elapsed());
        result
    }

    /// What an attempt says about a further one; `None` for a success.
    fn verdict(&self, result: &Result<Answer, TransportError>) -> Option<AttemptResult> {
        let answer = match result {
            Ok(answer) if answer.status.is_success() => return None,
            Ok(answer) => answer,
            Err(error) => {
                let (kind, delivery, passing) = (error.kind(), error.delivery(), error.is_passing());
                return Some(AttemptResult { kind, delivery, passing, after: None });
            }
        };
        let explained = self.explained(answer);
        let kind = explained.as_ref().and_then(|said| said.kind).unwrap_or_else(|| kind_of(answer.status));
        let after = match explained.and_then(|said| said.retry) {
            Some(Retry::After(after)) => Some(after),
            _ => answer.retry_after(),
        };
        let (delivery, passing) = (delivery(answer.status, kind), is_passing(answer.status, kind));
        Some(AttemptResult { kind, delivery, passing, after })
    }

    fn explained(&self, answer: &Answer) -> Option<AnswerExplanation> {
        self.0.explain.and_then(|explain| explain(answer))
    }

    /// An answer that is no success, as a failure.
    fn refusal(&self, operation: &'static str, request: &Request, answer: &Answer) -> Failure {
        let status = answer.status;
        let explained = self.explained(answer).unwrap_or_default();
        let kind = explained.kind.unwrap_or_else(|| kind_of(status));
        let said = if explained.message.is_empty() {
            answer.excerpt()
        } else {
            shortened(&answer.redacted(&explained.message))
        };
        let said = if said.is_empty() { String::new() } else { format!(" ({said:?})") };
        let hint = if status.is_redirection() { "; redirections are not followed" } else { "" };
        let error = Error::new(kind, operation, format!("{}: answered {status}{said}{hint}", self.target(request)));
        let retry =
            explained.retry.or_else(|| answer.retry_after().map(|after| Retry::After(after.min(LONGEST_PAUSE))));
        let error = match retry {
            Some(retry) => error.retry(retry),
            None => error,
        };
        let error = match denied(status, kind) {
            Some(why) => error.denied(why),
            None => error,
        };
        Failure { error, delivery: delivery(status, kind), status: Some(status), code: explained.code }
    }

    /// Method and address of a request, for messages.
    fn target(&self, request: &Request) -> String {
        let address = request.url(&self.0.base).map_or_else(|_| self.address(), |url| shown(&url));
        format!("{} {address}", request.method)
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("base", &self.address())
            .field("account", &self.0.account)
            .finish_non_exhaustive()
    }
}
