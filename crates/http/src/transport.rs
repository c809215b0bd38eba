//! The seam between what a request means and how it travels.

use std::fmt;

use async_trait::async_trait;
use bytes::Bytes;
use http::{HeaderMap, Method};
use url::Url;

use crate::answer::Answer;
use crate::error::TransportError;

/// A request as it goes out. `Debug` shows neither headers nor query.
#[derive(Clone)]
pub struct Outgoing {
    /// The HTTP method.
    pub method: Method,
    /// The whole address.
    pub url: Url,
    /// Every header but those of the connection.
    pub headers: HeaderMap,
    /// The body, if there is one.
    pub body: Option<Bytes>,
}

/// How much of a body is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BodyLimits {
    /// Most bytes of the body of a success; more is an error. None is no limit.
    pub success: Option<usize>,
    /// Most bytes of any other body; the rest is left.
    pub refusal: usize,
}

/// Sends one request, once, and reads its answer. No redirection is followed, nothing is repeated.
#[async_trait]
pub trait Transport: Send + Sync + fmt::Debug {
    /// One exchange.
    ///
    /// # Errors
    /// There is no complete answer. Any status is an answer.
    async fn exchange(&self, request: &Outgoing, limits: BodyLimits) -> Result<Answer, TransportError>;
}

impl fmt::Debug for Outgoing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.method, crate::redact::shown(&self.url))
    }
}
