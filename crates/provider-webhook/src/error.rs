//! What can go wrong on the way to a peer and back, and its one border to core's error type.

use std::time::Duration;

use zonewright_core::error::Retry;
use zonewright_core::{Error, ErrorKind};
use zonewright_http::{Delivery, StatusCode, TransportCause, TransportError};

/// One failed exchange.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ExchangeError {
    #[error("cannot connect; check --webhook-provider-url, and that the webhook provider runs")]
    Connect(#[source] TransportCause),
    #[error("the connection broke before the answer was complete")]
    Cut(#[source] TransportCause),
    #[error(
        "no complete answer within {} s (--webhook-provider-read-timeout and --webhook-provider-write-timeout together)",
        .0.as_secs_f32()
    )]
    Timeout(Duration),
    #[error("the answer is larger than {0} bytes (--webhook-provider-max-body-size)")]
    TooLarge(usize),
    #[error(
        "answered {} with a redirection to {to:?}, which {why}; set --webhook-provider-url to where the provider is",
        .status.as_u16()
    )]
    Redirected { status: StatusCode, to: String, why: &'static str },
    #[error("{}", status_text(*.status, *.expected, .said))]
    Status { status: StatusCode, expected: u16, said: String, after: Option<Duration> },
    #[error("{}", media_text(.0.as_deref()))]
    Media(Option<String>),
    #[error("speaks version {0:?} of the webhook protocol; this program speaks version 1")]
    Version(String),
    #[error(
        "answered {status} with a body that is not the JSON of the protocol (it begins with {begins:?}); nothing of it is used"
    )]
    Body {
        status: u16,
        begins: String,
        #[source]
        error: serde_json::Error,
    },
    #[error("its domain filter cannot be used: {0}")]
    Filter(String),
    #[error(transparent)]
    Other(TransportError),
}

/// The status, what the protocol has, what the peer said about it, and what to check.
fn status_text(status: StatusCode, expected: u16, said: &str) -> String {
    let hint = match status.as_u16() {
        401 | 403 | 407 => "; something before the provider asks for credentials: give them in --webhook-provider-url",
        404 | 405 | 501 => {
            "; is this address (--webhook-provider-url) that of a webhook provider, and is it up to date?"
        }
        _ => "",
    };
    let said = if said.is_empty() { String::new() } else { format!(" ({said:?})") };
    format!("answered {status}{said}; the protocol has {expected}{hint}")
}

fn media_text(found: Option<&str>) -> String {
    let found = found.map_or_else(|| "no Content-Type".to_owned(), |media| format!("Content-Type {media:?}"));
    format!(
        "answered with {found}; a webhook provider answers with {:?}: this is some other server, or a very old provider",
        crate::media::MEDIA_TYPE
    )
}

impl ExchangeError {
    /// Whether the request may have reached the peer.
    pub(crate) fn was_sent(&self) -> bool {
        match self {
            Self::Connect(_) => false,
            Self::Other(error) => error.delivery() != Delivery::NotSent,
            _ => true,
        }
    }

    fn kind(&self) -> ErrorKind {
        match self {
            Self::Connect(_) | Self::Cut(_) => ErrorKind::Unavailable,
            Self::Timeout(_) => ErrorKind::Timeout,
            // Asking again at once would bring the same.
            Self::TooLarge(_) | Self::Redirected { .. } | Self::Filter(_) => ErrorKind::Configuration,
            Self::Media(_) | Self::Version(_) | Self::Body { .. } => ErrorKind::Protocol,
            Self::Status { status, .. } => kind_of(*status),
            Self::Other(error) => error.kind(),
        }
    }

    fn retry(&self) -> Retry {
        match self {
            Self::Status { after: Some(after), .. } => Retry::After(*after),
            Self::Other(error) => error.retry(),
            _ => Retry::Backoff,
        }
    }

    /// The fault as core's error. `peer` is the address without credentials.
    pub(crate) fn into_error(self, operation: &'static str, peer: &str) -> Error {
        let (kind, retry) = (self.kind(), self.retry());
        Error::new(kind, operation, format!("{peer}: {self}")).retry(retry).caused_by(self)
    }
}

/// What kind of error a status is. One that says that there is no such request speaks of the address, not of a record.
fn kind_of(status: StatusCode) -> ErrorKind {
    match status.as_u16() {
        404 | 405 | 501 => ErrorKind::Configuration,
        410 => ErrorKind::Invalid,
        _ => zonewright_http::kind_of(status),
    }
}
