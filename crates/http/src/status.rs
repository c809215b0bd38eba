//! The one map from HTTP statuses to kinds of error, and the hook for what a provider's own bodies say.

use http::StatusCode;
use zonewright_core::ErrorKind;
use zonewright_core::error::{Denied, Retry};

use crate::answer::Answer;
use crate::error::Delivery;

/// Reads the error format of one provider: a function of an answer that is no success. `None` where the body is in another
/// format (a proxy's page, say); then the status alone decides.
pub type Explain = fn(&Answer) -> Option<AnswerExplanation>;

/// What a provider's own error body says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AnswerExplanation {
    /// The provider's words, for people. Shortened, and freed of credentials, by the client: nothing is to be read out of it again.
    pub message: String,
    /// The provider's own code of the error, where somebody is to decide by it.
    pub code: Option<String>,
    /// The kind, where the body says more than the status.
    pub kind: Option<ErrorKind>,
    /// When to try again, where the body says it.
    pub retry: Option<Retry>,
}

/// What kind of error a status is (RFC 9110 15, RFC 6585).
pub fn kind_of(status: StatusCode) -> ErrorKind {
    match status.as_u16() {
        401 | 403 | 407 => ErrorKind::Unauthorized,
        404 | 410 => ErrorKind::NotFound,
        405 | 501 => ErrorKind::Unsupported,
        408 | 504 => ErrorKind::Timeout,
        409 | 412 => ErrorKind::Conflict,
        429 => ErrorKind::Throttled,
        400..=499 => ErrorKind::Invalid,
        500..=599 => ErrorKind::Unavailable,
        _ => ErrorKind::Protocol,
    }
}

/// Why access is refused, as far as the status says it. A provider that takes a 400 for a refusal has read that credentials are malformed.
pub(crate) fn denied(status: StatusCode, kind: ErrorKind) -> Option<Denied> {
    match status.as_u16() {
        400 | 401 if kind == ErrorKind::Unauthorized => Some(Denied::Credentials),
        407 => Some(Denied::Proxy),
        _ => None,
    }
}

/// Whether a request that was answered so may have been carried out.
pub(crate) fn delivery(status: StatusCode, kind: ErrorKind) -> Delivery {
    match status.as_u16() {
        // Refused before it was looked at.
        _ if kind == ErrorKind::Throttled => Delivery::NotSent,
        408 => Delivery::Unknown,
        300..=499 | 501 | 505 => Delivery::Refused,
        _ => Delivery::Unknown,
    }
}

/// Whether an answer may be another one in a moment. Asking once more costs little, so everything counts that services are
/// known to answer in passing.
pub(crate) fn is_passing(status: StatusCode, kind: ErrorKind) -> bool {
    kind == ErrorKind::Throttled || matches!(status.as_u16(), 408 | 500 | 502..=504)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses() {
        use Delivery::{NotSent, Refused, Unknown};
        use ErrorKind::{
            Conflict, Invalid, NotFound, Protocol, Throttled, Timeout, Unauthorized, Unavailable, Unsupported,
        };
        for (status, kind, sent, again) in [
            (302, Protocol, Refused, false),
            (400, Invalid, Refused, false),
            (401, Unauthorized, Refused, false),
            (403, Unauthorized, Refused, false),
            (404, NotFound, Refused, false),
            (405, Unsupported, Refused, false),
            (407, Unauthorized, Refused, false),
            (408, Timeout, Unknown, true),
            (409, Conflict, Refused, false),
            (410, NotFound, Refused, false),
            (412, Conflict, Refused, false),
            (413, Invalid, Refused, false),
            (422, Invalid, Refused, false),
            (429, Throttled, NotSent, true),
            (500, Unavailable, Unknown, true),
            (501, Unsupported, Refused, false),
            (502, Unavailable, Unknown, true),
            (503, Unavailable, Unknown, true),
            (504, Timeout, Unknown, true),
            (599, Unavailable, Unknown, false),
        ] {
            let code = StatusCode::from_u16(status).unwrap();
            assert_eq!(kind_of(code), kind, "{status}");
            assert_eq!((delivery(code, kind), is_passing(code, kind)), (sent, again), "{status}");
        }
    }

    #[test]
    fn who_is_not_known_is_distinguished_from_who_may_not() {
        use ErrorKind::{Invalid, Throttled, Unauthorized};
        for (status, kind, why) in [
            (401, Unauthorized, Some(Denied::Credentials)),
            // The provider's own error says that a header or token is malformed.
            (400, Unauthorized, Some(Denied::Credentials)),
            (400, Invalid, None),
            (401, Throttled, None),
            (403, Unauthorized, None),
            (407, Unauthorized, Some(Denied::Proxy)),
        ] {
            assert_eq!(denied(StatusCode::from_u16(status).unwrap(), kind), why, "{status} {kind:?}");
        }
    }
}
