//! The one public error type: what went wrong, while doing what, to what, and when it is worth trying again.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// An error of a provider, registry, source or store.
///
/// Nothing is fatal by default: [`Retry`] is part of the type, and the engine backs off by it.
#[derive(Clone)]
pub struct Error {
    /// What kind of error it is: the program decides by it what to do next.
    pub kind: ErrorKind,
    /// When to try again.
    pub retry: Retry,
    /// What was being done, e.g. `list records`.
    pub operation: &'static str,
    /// To what, and what the other side said; for people.
    pub context: String,
    denied: Option<Denied>,
    source: Option<Arc<dyn std::error::Error + Send + Sync>>,
}

/// Kinds of errors, as far as the program decides by them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The configuration cannot work as it stands.
    Configuration,
    /// Credentials are missing, wrong or not sufficient.
    Unauthorized,
    /// A zone or object is not there.
    NotFound,
    /// A precondition failed: the world is not what the plan assumed. The names are read again.
    Conflict,
    /// The other side refuses this content, and will again.
    Invalid,
    /// Asked to slow down.
    Throttled,
    /// Not reachable, or answering with a failure of its own.
    Unavailable,
    /// No answer in time; whether the request was carried out is not known.
    Timeout,
    /// An answer that does not make sense: malformed, cut short, unsigned.
    Protocol,
    /// The feature does not exist here.
    Unsupported,
    /// Not sent, because this is a dry run.
    DryRun,
}

impl ErrorKind {
    /// Every kind, in the order of the variants.
    pub const ALL: [Self; 11] = [
        Self::Configuration,
        Self::Unauthorized,
        Self::NotFound,
        Self::Conflict,
        Self::Invalid,
        Self::Throttled,
        Self::Unavailable,
        Self::Timeout,
        Self::Protocol,
        Self::Unsupported,
        Self::DryRun,
    ];

    /// The kind as a metric label.
    pub fn label(self) -> &'static str {
        match self {
            Self::Configuration => "configuration",
            Self::Unauthorized => "unauthorized",
            Self::NotFound => "not_found",
            Self::Conflict => "conflict",
            Self::Invalid => "invalid",
            Self::Throttled => "throttled",
            Self::Unavailable => "unavailable",
            Self::Timeout => "timeout",
            Self::Protocol => "protocol",
            Self::Unsupported => "unsupported",
            Self::DryRun => "dry_run",
        }
    }
}

/// Why access is refused. Where it is not stated, the caller is known and a right is missing, or the other side does not say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Denied {
    /// The caller is not taken for who it says it is: a key, token or signature is wrong, has expired or is not known.
    Credentials,
    /// The clocks of both sides are too far apart for a signature to count.
    Clock,
    /// A proxy on the way does not let the request through; the service never saw it.
    Proxy,
}

/// When an operation that failed is worth repeating.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    /// Not before its input changes.
    Never,
    /// With growing pauses.
    Backoff,
    /// Not before this much time has passed; the other side said so.
    After(Duration),
}

impl Error {
    /// An error with the retry class that its kind usually has.
    pub fn new(kind: ErrorKind, operation: &'static str, context: impl Into<String>) -> Self {
        let retry = match kind {
            ErrorKind::Invalid | ErrorKind::Unsupported | ErrorKind::DryRun => Retry::Never,
            _ => Retry::Backoff,
        };
        Self { kind, retry, operation, context: context.into(), denied: None, source: None }
    }

    /// The same error with what is known of why access is refused.
    #[must_use]
    pub fn denied(self, why: Denied) -> Self {
        Self { denied: Some(why), ..self }
    }

    /// Why access is refused, where the other side distinguishes the reasons: only of [`ErrorKind::Unauthorized`].
    pub fn why_denied(&self) -> Option<Denied> {
        self.denied.filter(|_| self.kind == ErrorKind::Unauthorized)
    }

    /// The same error with another retry class.
    #[must_use]
    pub fn retry(self, retry: Retry) -> Self {
        Self { retry, ..self }
    }

    /// The same error with its cause.
    #[must_use]
    pub fn caused_by(self, source: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self { source: Some(Arc::new(source)), ..self }
    }

    /// The error and its causes in one line.
    pub fn chain(&self) -> String {
        let mut out = self.to_string();
        let mut next = std::error::Error::source(self);
        while let Some(cause) = next {
            let text = cause.to_string();
            if !out.contains(&text) {
                out.push_str(": ");
                out.push_str(&text);
            }
            next = cause.source();
        }
        out
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.operation, self.context)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Error({:?}, {:?}, {})", self.kind, self.retry, self.chain())
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_deref().map(|e| e as &(dyn std::error::Error + 'static))
    }
}

/// Result with [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;
