//! One request and its answer: in goes a path, out comes a typed object or a [`Failure`] that says what the API server
//! said. Retries are not made here.

use std::error::Error as StdError;
use std::fmt;
use std::time::Duration;

use http::header::{ACCEPT_ENCODING, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderName, HeaderValue, Method, Request, Response, StatusCode};
use kube::client::Body;
use kube::core::Status;
use serde::Serialize;
use serde::de::DeserializeOwned;
use zonewright_core::{Error, ErrorKind, Retry};

use crate::cluster::Cluster;
use crate::gate::ALIVE;

/// Longest text of an answer that is repeated in an error.
const MAX_TEXT: usize = 400;

/// Why a request has no result.
#[derive(Debug, Clone)]
pub(crate) enum Failure {
    /// The API server, or something in front of it, answered with an error.
    Refused(Box<Refusal>),
    /// There was no answer: connection, TLS, time-out.
    Unreachable(String),
    /// The answer makes no sense.
    Garbled(String),
}

/// An answer that is not 2xx.
#[derive(Debug, Clone)]
pub(crate) struct Refusal {
    /// HTTP status, or the code in an ERROR event of a watch.
    pub(crate) code: u16,
    /// `Forbidden`, `AlreadyExists`, ...; empty if the answer is no Status object.
    pub(crate) reason: String,
    /// Reasons of the causes, e.g. `NamespaceTerminating`.
    pub(crate) causes: Vec<String>,
    /// What was said, for people.
    pub(crate) message: String,
    /// The wait that was asked for.
    pub(crate) retry_after: Option<Duration>,
}

impl Refusal {
    /// The refusal that a Status object describes; `code` where it names none itself.
    pub(crate) fn of_status(status: Status, code: u16) -> Self {
        let details = status.details.unwrap_or_else(no_details);
        Self {
            code: if status.code == 0 { code } else { status.code },
            reason: status.reason,
            causes: details.causes.into_iter().map(|cause| cause.reason).collect(),
            message: shorten(&status.message),
            retry_after: Some(details.retry_after_seconds)
                .filter(|s| *s > 0)
                .map(|s| Duration::from_secs(u64::from(s))),
        }
    }

    fn of_answer(code: StatusCode, retry_after: Option<Duration>, body: &[u8]) -> Self {
        let refusal = match serde_json::from_slice::<Status>(body) {
            Ok(status) if !status.message.is_empty() => Self::of_status(status, code.as_u16()),
            _ => Self::of_text(code, &String::from_utf8_lossy(body)),
        };
        Self { retry_after: retry_after.or(refusal.retry_after), ..refusal }
    }

    fn of_text(code: StatusCode, text: &str) -> Self {
        let message = match text.trim() {
            "" => code.canonical_reason().unwrap_or("no text").to_owned(),
            text => shorten(text),
        };
        Self { code: code.as_u16(), reason: String::new(), causes: Vec::new(), message, retry_after: None }
    }

    /// The resource version that was asked for is gone, or lies in a future that this server does not know.
    pub(crate) fn is_expired(&self) -> bool {
        self.code == 410 || self.causes.iter().any(|cause| cause == "ResourceVersionTooLarge")
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(refusal) => write!(f, "the API server answers {}: {}", refusal.code, refusal.message),
            Self::Unreachable(text) => write!(f, "no answer from the API server: {text}"),
            Self::Garbled(text) => write!(f, "the API server's answer makes no sense: {text}"),
        }
    }
}

impl StdError for Failure {}

impl Failure {
    /// The HTTP status, where there was one.
    pub(crate) fn code(&self) -> Option<u16> {
        match self {
            Self::Refused(refusal) => Some(refusal.code),
            _ => None,
        }
    }

    /// The reason of the API server's Status object; empty if there was none.
    pub(crate) fn reason(&self) -> &str {
        match self {
            Self::Refused(refusal) => &refusal.reason,
            _ => "",
        }
    }

    pub(crate) fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Refused(refusal) => refusal.retry_after,
            _ => None,
        }
    }

    /// Whether the reason or one of the causes is `word`.
    pub(crate) fn is_because(&self, word: &str) -> bool {
        matches!(self, Self::Refused(refusal) if refusal.reason == word || refusal.causes.iter().any(|cause| cause == word))
    }

    fn kind(&self) -> ErrorKind {
        match self {
            Self::Unreachable(_) => ErrorKind::Unavailable,
            Self::Garbled(_) => ErrorKind::Protocol,
            Self::Refused(refusal) => match refusal.code {
                401 | 403 => ErrorKind::Unauthorized,
                404 => ErrorKind::NotFound,
                409 | 410 => ErrorKind::Conflict,
                400 | 413 | 415 | 422 => ErrorKind::Invalid,
                429 => ErrorKind::Throttled,
                504 => ErrorKind::Timeout,
                _ => ErrorKind::Unavailable,
            },
        }
    }

    /// The public error: `operation` on `object`.
    pub(crate) fn into_error(self, operation: &'static str, object: &str) -> Error {
        let retry_after = self.retry_after();
        let error = Error::new(self.kind(), operation, format!("{object}: {self}"));
        match retry_after {
            Some(pause) => error.retry(Retry::After(pause)),
            None => error,
        }
    }
}

impl Cluster {
    /// Sends a request without a body and reads the answer.
    pub(crate) async fn read<T: DeserializeOwned>(&self, path: &str) -> Result<T, Failure> {
        self.call(Method::GET, path, None::<&()>).await
    }

    /// As [`Cluster::read`], with one more header.
    pub(crate) async fn read_as<T: DeserializeOwned>(
        &self,
        path: &str,
        (name, value): (HeaderName, HeaderValue),
    ) -> Result<T, Failure> {
        let mut request = request(Method::GET, path, None::<&()>)?;
        request.headers_mut().insert(name, value);
        self.answer(path, request).await
    }

    /// Sends a request with a JSON body and reads the answer.
    pub(crate) async fn write<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, Failure> {
        self.call(method, path, Some(body)).await
    }

    async fn call<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Option<&impl Serialize>,
    ) -> Result<T, Failure> {
        self.answer(path, request(method, path, body)?).await
    }

    async fn answer<T: DeserializeOwned>(&self, path: &str, request: Request<Vec<u8>>) -> Result<T, Failure> {
        let response = self.exchange(request).await?;
        let bytes = response.into_body().collect_bytes().await.map_err(|e| unreachable(&e))?;
        serde_json::from_slice(&bytes).map_err(|e| Failure::Garbled(format!("{path}: {e}")))
    }

    /// Sends a request; an answer that is not 2xx is a failure.
    pub(crate) async fn exchange(&self, request: Request<Vec<u8>>) -> Result<Response<Body>, Failure> {
        let response = self.client().send(request.map(Body::from)).await.map_err(|e| unreachable(&e))?;
        if response.status().is_success() { Ok(response) } else { Err(refused(response).await) }
    }
}

impl Cluster {
    /// Asks whether the API server is alive. Any answer of its own is a yes, even a refusal; a gateway's answer that there is
    /// nobody behind it is a no.
    pub(crate) async fn alive(&self) -> Result<(), String> {
        let ask = async {
            let request = Request::get(ALIVE).body(Vec::new()).map_err(|e| e.to_string())?;
            match self.exchange(request).await {
                Err(Failure::Refused(refusal)) if !(502..=504).contains(&refusal.code) => Ok(()),
                Err(failure) => Err(failure.to_string()),
                Ok(_) => Ok(()),
            }
        };
        self.pulse().shared(&format!("GET {ALIVE}"), ask).await
    }
}

fn request(method: Method, path: &str, body: Option<&impl Serialize>) -> Result<Request<Vec<u8>>, Failure> {
    let content = if method == Method::PATCH { "application/merge-patch+json" } else { "application/json" };
    let body = body.map(serde_json::to_vec).transpose().map_err(|e| Failure::Garbled(format!("{path}: {e}")))?;
    Request::builder()
        .method(method)
        .uri(path)
        .header(CONTENT_TYPE, content)
        .body(body.unwrap_or_default())
        .map_err(|e| Failure::Garbled(format!("{path} is no path: {e}")))
}

/// A watch must not be compressed: the decoder would hold events back until its window is full.
pub(crate) fn uncompressed(mut request: Request<Vec<u8>>) -> Request<Vec<u8>> {
    request.headers_mut().insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    request
}

async fn refused(response: Response<Body>) -> Failure {
    let code = response.status();
    let retry_after = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.trim().parse().ok());
    match response.into_body().collect_bytes().await {
        Ok(body) => Failure::Refused(Box::new(Refusal::of_answer(code, retry_after.map(Duration::from_secs), &body))),
        Err(error) => unreachable(&error),
    }
}

/// A failure to get an answer, with every cause that says something new.
pub(crate) fn unreachable(error: &(dyn StdError + 'static)) -> Failure {
    let mut text = String::new();
    let mut next = Some(error);
    while let Some(cause) = next {
        let said = cause.to_string();
        if !text.contains(&said) {
            text = if text.is_empty() { said } else { format!("{text}: {said}") };
        }
        next = cause.source();
    }
    Failure::Unreachable(text)
}

fn shorten(text: &str) -> String {
    match text.char_indices().nth(MAX_TEXT) {
        Some((end, _)) => format!("{}...", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

fn no_details() -> kube::core::response::StatusDetails {
    kube::core::response::StatusDetails {
        name: String::new(),
        group: String::new(),
        kind: String::new(),
        uid: String::new(),
        causes: Vec::new(),
        retry_after_seconds: 0,
    }
}
