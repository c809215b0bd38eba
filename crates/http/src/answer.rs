//! A complete answer.

use std::fmt;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::header::{DATE, HeaderName, RETRY_AFTER};
use http::{HeaderMap, StatusCode};
use secrecy::SecretString;
use serde::de::DeserializeOwned;
use tokio::time::Instant;

use crate::redact::{shortened, without};
use crate::retry::retry_after;

/// A complete answer of any status.
#[derive(Clone, Default)]
pub struct Answer {
    /// The HTTP status.
    pub status: StatusCode,
    /// The headers, as they came.
    pub headers: HeaderMap,
    /// The body, complete where the status is a success; of other answers its beginning.
    pub body: Bytes,
    /// When its request was sent, after it had waited for its turn: what it says is of no earlier time. `None` where it did
    /// not come by a [`Client`](crate::Client).
    pub sent: Option<Instant>,
    /// The credentials of the request, which must not appear in what is shown of the body.
    pub(crate) secrets: Vec<SecretString>,
}

impl Answer {
    /// An answer, for transports.
    pub fn new(status: StatusCode, headers: HeaderMap, body: impl Into<Bytes>) -> Self {
        Self { status, headers, body: body.into(), sent: None, secrets: Vec::new() }
    }

    /// The value of a header; the first where there are several. What is not UTF-8 is replaced.
    pub fn header(&self, name: &HeaderName) -> Option<String> {
        self.headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
    }

    /// How long not to ask again (`Retry-After`, RFC 9110 10.2.3), in seconds or until a date. A date counts from the
    /// answer's own `Date`, so that clocks which differ do no harm.
    pub fn retry_after(&self) -> Option<Duration> {
        let text = self.header(&RETRY_AFTER)?;
        let date = self.header(&DATE).and_then(|date| httpdate::parse_http_date(date.trim()).ok());
        retry_after(&text, date.unwrap_or_else(SystemTime::now))
    }

    /// The body as JSON.
    ///
    /// # Errors
    /// It is none, or has something behind it.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_slice(&self.body)
    }

    /// The beginning of the body for messages: on one line, without the request's credentials.
    pub fn excerpt(&self) -> String {
        shortened(&self.redacted(&String::from_utf8_lossy(&self.body)))
    }

    /// A text of this answer without the request's credentials.
    pub(crate) fn redacted(&self, text: &str) -> String {
        without(text, &self.secrets)
    }
}

impl fmt::Debug for Answer {
    /// Headers may hold cookies and tokens.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answer").field("status", &self.status).field("body", &self.body.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_counts_from_the_answers_own_date() {
        let mut answer = Answer::default();
        assert_eq!(answer.retry_after(), None);
        answer.headers.insert(RETRY_AFTER, "Sun, 06 Nov 1994 08:49:37 GMT".parse().unwrap());
        assert_eq!(answer.retry_after(), Some(Duration::ZERO), "long ago by our own clock");
        answer.headers.insert(DATE, "Sun, 06 Nov 1994 08:49:07 GMT".parse().unwrap());
        assert_eq!(answer.retry_after(), Some(Duration::from_secs(30)));
    }

    #[test]
    fn what_is_shown_holds_no_header_and_no_credential() {
        let mut answer = Answer::new(StatusCode::OK, HeaderMap::new(), "bad token s3cret-token");
        answer.headers.insert("set-cookie", "c00kie".parse().unwrap());
        answer.secrets = vec!["Bearer s3cret-token".into()];
        assert_eq!(answer.excerpt(), "bad token [redacted]");
        let debug = format!("{answer:?}");
        assert!(!debug.contains("c00kie") && !debug.contains("s3cret"), "{debug}");
    }
}
