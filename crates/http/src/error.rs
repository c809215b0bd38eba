//! What can go wrong with a request, and its border to core's error type.

use std::error::Error as StdError;
use std::fmt;
use std::time::Duration;

use http::StatusCode;
use zonewright_core::change::Outcome;
use zonewright_core::error::{Denied, Retry};
use zonewright_core::{Error, ErrorKind};

/// Cause of a failure below HTTP.
pub type TransportCause = Box<dyn StdError + Send + Sync>;

/// Why there is no complete answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TransportError {
    /// No connection: no address, refused, the proxy would not.
    #[error("cannot connect")]
    Connect(#[source] TransportCause),
    /// A connection, but no TLS: the certificate is not trusted, or the versions do not match.
    #[error("cannot connect: TLS failed")]
    Tls(#[source] TransportCause),
    /// The connection broke after the request was begun.
    #[error("the connection broke before the answer was complete")]
    Cut(#[source] TransportCause),
    /// The time of the request was over, from connecting to the last byte of the answer.
    #[error("no complete answer within {} s", .0.as_secs_f32())]
    Timeout(Duration),
    /// The body of a success is larger than allowed, in bytes.
    #[error("the answer is larger than {0} bytes")]
    TooLarge(usize),
    /// The service asked the account to wait for this much longer.
    #[error("the service asked not to be asked for another {} s", .0.as_secs_f32())]
    Paused(Duration),
    /// The turn of the request did not come while what it rests on was good: [`Request::within`](crate::Request::within).
    #[error("its turn did not come in time")]
    Late,
    /// There are no credentials to send.
    #[error("no credentials: {0}")]
    Credentials(#[source] Error),
    /// The request cannot be put into words: a path, a header or an address that is none.
    #[error("the request cannot be sent: {0}")]
    Request(String),
}

/// Whether a request may have been carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Delivery {
    /// It never was looked at: sending it again is safe.
    NotSent,
    /// It was looked at and refused; nothing of it was done.
    Refused,
    /// It may have been carried out: read what stands before anything else is done.
    Unknown,
}

/// A request that has no good answer.
#[derive(Debug, Clone)]
pub struct Failure {
    /// What went wrong, with the address and what the service said.
    pub error: Error,
    /// Whether the request may have been carried out.
    pub delivery: Delivery,
    /// The status, if there was an answer.
    pub status: Option<StatusCode>,
    /// The provider's own code of the error, as its [`Explain`](crate::Explain) gave it. The text of the error is for people, and
    /// may end before a code that stands in it.
    pub code: Option<String>,
}

impl TransportError {
    /// Whether the request may have been carried out.
    pub fn delivery(&self) -> Delivery {
        match self {
            Self::Cut(_) | Self::Timeout(_) | Self::TooLarge(_) => Delivery::Unknown,
            Self::Connect(_)
            | Self::Tls(_)
            | Self::Paused(_)
            | Self::Late
            | Self::Credentials(_)
            | Self::Request(_) => Delivery::NotSent,
        }
    }

    /// Whether another attempt may fare better.
    pub(crate) fn is_passing(&self) -> bool {
        matches!(self, Self::Connect(_) | Self::Cut(_) | Self::Timeout(_))
    }

    /// The kind of error it is.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Connect(_) | Self::Tls(_) | Self::Cut(_) => ErrorKind::Unavailable,
            Self::Timeout(_) => ErrorKind::Timeout,
            // Asking again at once would bring the same.
            Self::TooLarge(_) | Self::Request(_) => ErrorKind::Configuration,
            Self::Paused(_) | Self::Late => ErrorKind::Throttled,
            Self::Credentials(error) => error.kind,
        }
    }

    fn why_denied(&self) -> Option<Denied> {
        match self {
            Self::Credentials(error) => error.why_denied(),
            _ => None,
        }
    }

    /// When to try again.
    pub fn retry(&self) -> Retry {
        match self {
            Self::Paused(pause) => Retry::After(*pause),
            Self::Credentials(error) => error.retry,
            _ => Retry::Backoff,
        }
    }

    /// The failure of the request that `target` describes (method and address).
    pub(crate) fn into_failure(self, operation: &'static str, target: &str) -> Failure {
        let (kind, retry, delivery, denied) = (self.kind(), self.retry(), self.delivery(), self.why_denied());
        let error = Error::new(kind, operation, format!("{target}: {self}")).retry(retry).caused_by(self);
        let error = match denied {
            Some(why) => error.denied(why),
            None => error,
        };
        Failure::new(error, delivery)
    }
}

impl Failure {
    /// A failure without an answer.
    pub fn new(error: Error, delivery: Delivery) -> Self {
        Self { error, delivery, status: None, code: None }
    }

    /// What became of a change that failed so; see [`Outcome`].
    pub fn outcome(&self) -> Outcome {
        match self.delivery {
            Delivery::NotSent => Outcome::NotSent(self.error.clone()),
            Delivery::Refused => Outcome::refused(self.error.clone()),
            Delivery::Unknown => Outcome::Unknown(self.error.clone()),
        }
    }

    /// Whether the service answered that what was asked for is not there.
    pub fn is_not_found(&self) -> bool {
        self.error.kind == ErrorKind::NotFound
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl StdError for Failure {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.error.source()
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        failure.error
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Vec<(TransportError, Delivery, ErrorKind, bool)> {
        let cause = || TransportCause::from("cause");
        let denied = Error::new(ErrorKind::Unauthorized, "read the token", "no file").retry(Retry::Never);
        vec![
            (TransportError::Connect(cause()), Delivery::NotSent, ErrorKind::Unavailable, true),
            (TransportError::Tls(cause()), Delivery::NotSent, ErrorKind::Unavailable, false),
            (TransportError::Cut(cause()), Delivery::Unknown, ErrorKind::Unavailable, true),
            (TransportError::Timeout(Duration::from_secs(5)), Delivery::Unknown, ErrorKind::Timeout, true),
            (TransportError::TooLarge(7), Delivery::Unknown, ErrorKind::Configuration, false),
            (TransportError::Paused(Duration::from_secs(9)), Delivery::NotSent, ErrorKind::Throttled, false),
            (TransportError::Late, Delivery::NotSent, ErrorKind::Throttled, false),
            (TransportError::Credentials(denied), Delivery::NotSent, ErrorKind::Unauthorized, false),
            (TransportError::Request("x".to_owned()), Delivery::NotSent, ErrorKind::Configuration, false),
        ]
    }

    #[test]
    fn each_error_says_whether_the_request_may_have_been_carried_out() {
        for (error, delivery, kind, again) in all() {
            assert_eq!((error.delivery(), error.kind(), error.is_passing()), (delivery, kind, again), "{error}");
            let failure = error.into_failure("list zones", "GET https://a.example/zones");
            let label = failure.outcome().label();
            let expected = if delivery == Delivery::NotSent { "not_sent" } else { "unknown" };
            assert_eq!((label, failure.error.kind), (expected, kind));
            assert!(failure.error.context.starts_with("GET https://a.example/zones: "), "{failure}");
        }
    }

    #[test]
    fn what_the_service_asked_for_is_passed_on() {
        let paused = TransportError::Paused(Duration::from_secs(9)).into_failure("x", "y");
        assert_eq!(paused.error.retry, Retry::After(Duration::from_secs(9)));
    }
}
