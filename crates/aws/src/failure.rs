//! What went wrong with a request of the SDK, and whether it may have been carried out. The one place that reads error codes
//! of AWS.
//!
//! <https://docs.aws.amazon.com/Route53/latest/APIReference/CommonErrors.html>

use std::borrow::Cow;
use std::error::Error as StdError;

use aws_credential_types::provider::error::CredentialsError;
use aws_sdk_sts::operation::assume_role::AssumeRoleError;
use aws_sdk_sts::operation::assume_role_with_web_identity::AssumeRoleWithWebIdentityError;
use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use aws_smithy_runtime_api::client::result::SdkError;
use aws_smithy_types::error::metadata::ProvideErrorMetadata;
use aws_smithy_xml::decode::{Document, try_data};
use secrecy::SecretString;
use zonewright_core::error::Denied;
use zonewright_core::{Error, ErrorKind};
use zonewright_http::{Delivery, Failure, StatusCode, TransportError, shortened, without};

use crate::transport::At;

/// What an error code means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ErrorClass {
    /// The kind of error.
    pub kind: ErrorKind,
    /// Whether the request may have been carried out.
    pub delivery: Delivery,
    /// What may help, as the end of a sentence.
    pub hint: &'static str,
    /// Why access is refused, where the code says it.
    pub denied: Option<Denied>,
}

const SKEWED: &str = "; is the clock of this machine right?";

/// What the answer with this code and status means.
fn refusal(code: &str, status: u16) -> ErrorClass {
    let refused = |kind, hint| ErrorClass { kind, delivery: Delivery::Refused, hint, denied: None };
    let denied = |why, hint| ErrorClass { denied: Some(why), ..refused(ErrorKind::Unauthorized, hint) };
    let turned_away = ErrorClass { delivery: Delivery::NotSent, ..refused(ErrorKind::Throttled, "") };
    match code.strip_suffix("Exception").unwrap_or(code) {
        "Throttling"
        | "ThrottledRequest"
        | "RequestThrottled"
        | "TooManyRequests"
        | "RequestLimitExceeded"
        | "BandwidthLimitExceeded"
        | "LimitExceeded"
        | "SlowDown"
        | "PriorRequestNotComplete" => turned_away,
        "AccessDenied" | "UnauthorizedOperation" | "NotAuthorized" => refused(ErrorKind::Unauthorized, ""),
        "RequestExpired" | "RequestTimeTooSkewed" => denied(Denied::Clock, SKEWED),
        "SignatureDoesNotMatch" | "InvalidSignature" => denied(Denied::Credentials, SKEWED),
        // The token of a workload identity.
        "InvalidIdentityToken" | "IDPRejectedClaim" => denied(Denied::Credentials, ""),
        "IDPCommunicationError" => refused(ErrorKind::Unavailable, ""),
        code if is_stale(code) => denied(Denied::Credentials, ""),
        code if code.starts_with("NoSuch") => refused(ErrorKind::NotFound, ""),
        _ if status == 429 => turned_away,
        _ if status >= 500 => ErrorClass { delivery: Delivery::Unknown, ..refused(ErrorKind::Unavailable, "") },
        _ if status == 401 => denied(Denied::Credentials, ""),
        _ if status == 403 => refused(ErrorKind::Unauthorized, ""),
        _ if (400..500).contains(&status) => refused(ErrorKind::Invalid, ""),
        _ => ErrorClass { delivery: Delivery::Unknown, ..refused(ErrorKind::Protocol, "") },
    }
}

/// Whether a refused signature was made at another time than the service has: it says so under the code of a wrong key.
fn is_late(message: &str) -> bool {
    message.starts_with("Signature expired") || message.starts_with("Signature not yet current")
}

/// Whether this code says that the credentials themselves are no longer, or not yet, good: read anew they may be.
pub fn is_stale(code: &str) -> bool {
    matches!(
        code.strip_suffix("Exception").unwrap_or(code),
        "ExpiredToken"
            | "InvalidClientTokenId"
            | "UnrecognizedClient"
            | "InvalidAccessKeyId"
            | "InvalidToken"
            | "AuthFailure"
            | "MissingAuthenticationToken"
            | "IncompleteSignature"
            | "SignatureDoesNotMatch"
            | "InvalidSignature"
    )
}

/// A failed request; `what` is what was asked for, to whom and as whom. Of what the service said these secrets are left out, and whatever
/// it repeats of the request.
pub fn failure<E>(
    operation: &'static str,
    what: &str,
    secrets: &[SecretString],
    error: SdkError<E, HttpResponse>,
) -> Failure
where
    E: ProvideErrorMetadata + StdError + Send + Sync + 'static,
{
    let of =
        |kind, delivery, text: String| Failure::new(Error::new(kind, operation, format!("{what}: {text}")), delivery);
    match error {
        SdkError::ServiceError(answer) => {
            let status = answer.raw().status().as_u16();
            let (code, message) = (answer.err().code(), answer.err().message());
            let Some(code) = code else {
                let said = sentences(answer.raw());
                let said = said.map(|(code, said)| format!(" ({code}: {})", shown(&said.join("; "), secrets)));
                let text = format!("answered {status} without an error of the usual form{}", said.unwrap_or_default());
                let kind = StatusCode::from_u16(status).map_or(ErrorKind::Protocol, zonewright_http::kind_of);
                let delivery = if (400..500).contains(&status) { Delivery::Refused } else { Delivery::Unknown };
                return of(kind, delivery, text);
            };
            let message = message.unwrap_or("no more was said");
            let ErrorClass { kind, delivery, hint, denied } = refusal(code, status);
            let mut failure = of(kind, delivery, format!("{code}: {}{hint}", shown(message, secrets)));
            if let Some(why) = denied {
                failure.error = failure.error.denied(if is_late(message) { Denied::Clock } else { why });
            }
            Failure { status: StatusCode::from_u16(status).ok(), ..failure }
        }
        SdkError::TimeoutError(_) => of(ErrorKind::Timeout, Delivery::Unknown, "no complete answer in time".to_owned()),
        SdkError::ResponseError(answer) => {
            let text = format!("answered {} with what is no answer of the service", answer.raw().status().as_u16());
            of(ErrorKind::Protocol, Delivery::Unknown, text)
        }
        SdkError::DispatchFailure(failed) => match failed.as_connector_error() {
            Some(error) => of_connector(&of, error),
            None => of(ErrorKind::Unavailable, Delivery::NotSent, "the request was not sent".to_owned()),
        },
        error => {
            let text = chain(&error);
            of(ErrorKind::Invalid, Delivery::NotSent, format!("the request cannot be sent: {text}"))
        }
    }
}

fn of_connector(of: &dyn Fn(ErrorKind, Delivery, String) -> Failure, error: &(dyn StdError + 'static)) -> Failure {
    if let Some(paused) = find::<TransportError>(error).filter(|error| matches!(error, TransportError::Paused(_))) {
        return of(paused.kind(), paused.delivery(), paused.to_string());
    }
    if let Some(at) = find::<At>(error) {
        return of(at.error.kind(), at.error.delivery(), chain(at));
    }
    // Everything that was sent has gone through the transport: what failed before it are credentials.
    let text = error.source().map_or_else(|| error.to_string(), chain);
    let text = format!("no credentials: {text}");
    if let Some(ErrorClass { kind, denied, .. }) = of_role(error) {
        let mut failure = of(kind, Delivery::NotSent, text);
        failure.error = denied.into_iter().fold(failure.error, Error::denied);
        return failure;
    }
    if let Some(CredentialsError::ProviderTimedOut(_)) = find(error) {
        return of(ErrorKind::Timeout, Delivery::NotSent, text);
    }
    of(ErrorKind::Unauthorized, Delivery::NotSent, text)
}

/// What the service that gives roles answered, if it was that: it may be busy, or fail, as any other.
fn of_role(error: &(dyn StdError + 'static)) -> Option<ErrorClass> {
    refusal_of::<AssumeRoleError>(error).or_else(|| refusal_of::<AssumeRoleWithWebIdentityError>(error))
}

fn refusal_of<E: ProvideErrorMetadata + StdError + Send + Sync + 'static>(
    error: &(dyn StdError + 'static),
) -> Option<ErrorClass> {
    match find::<SdkError<E, HttpResponse>>(error)? {
        SdkError::ServiceError(answer) => {
            let status = answer.raw().status().as_u16();
            Some(refusal(answer.err().code().unwrap_or_default(), status))
        }
        _ => None,
    }
}

/// An error in the form that Route 53 alone has, and that SDKs do not all read: an element with the error's name, and in it
/// `Messages` with a sentence each. Its name and sentences.
pub fn sentences(answer: &HttpResponse) -> Option<(String, Vec<String>)> {
    let body = answer.body().bytes()?;
    let mut document = Document::try_from(body).ok()?;
    let mut root = document.root_element().ok()?;
    let name = root.start_el().local().to_owned();
    let mut said = Vec::new();
    while let Some(mut part) = root.next_tag() {
        if part.start_el().matches("Messages") {
            while let Some(mut message) = part.next_tag() {
                said.extend(try_data(&mut message).ok().map(Cow::into_owned));
            }
        }
    }
    (!said.is_empty()).then_some((name, said))
}

/// What a service said, for messages: its first line, shortened, without these secrets.
fn shown(said: &str, secrets: &[SecretString]) -> String {
    shortened(&without(without_request(said).trim().lines().next().unwrap_or_default(), secrets))
}

/// A text up to where a service repeats the request whose signature it refused, with the token of the session in a header.
fn without_request(text: &str) -> &str {
    let ends = ["The Canonical String", "x-amz-security-token:"].into_iter().filter_map(|begins| text.find(begins));
    ends.min().and_then(|end| text.get(..end)).unwrap_or(text)
}

/// The first of this type among an error and its causes.
fn find<'e, T: StdError + 'static>(error: &'e (dyn StdError + 'static)) -> Option<&'e T> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref() {
            return Some(found);
        }
        next = error.source();
    }
    None
}

/// An error and its causes in one line, each text once.
fn chain(error: &(dyn StdError + 'static)) -> String {
    let mut out = without_request(&error.to_string()).to_owned();
    let mut next = error.source();
    while let Some(cause) = next {
        let text = cause.to_string();
        let text = without_request(&text);
        if !out.contains(text) {
            out.push_str(": ");
            out.push_str(text);
        }
        next = cause.source();
    }
    // The search for credentials names each place on a line of its own.
    out.lines().map(str::trim).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes() {
        use Delivery::{NotSent, Refused, Unknown};
        for (code, status, kind, delivery) in [
            ("Throttling", 400, ErrorKind::Throttled, NotSent),
            ("ThrottlingException", 400, ErrorKind::Throttled, NotSent),
            ("PriorRequestNotComplete", 400, ErrorKind::Throttled, NotSent),
            ("Whatever", 429, ErrorKind::Throttled, NotSent),
            ("AccessDenied", 403, ErrorKind::Unauthorized, Refused),
            ("ExpiredToken", 403, ErrorKind::Unauthorized, Refused),
            ("InvalidClientTokenId", 403, ErrorKind::Unauthorized, Refused),
            ("SignatureDoesNotMatch", 403, ErrorKind::Unauthorized, Refused),
            ("NoSuchHostedZone", 404, ErrorKind::NotFound, Refused),
            ("InvalidChangeBatch", 400, ErrorKind::Invalid, Refused),
            ("InternalFailure", 500, ErrorKind::Unavailable, Unknown),
            ("ServiceUnavailable", 503, ErrorKind::Unavailable, Unknown),
            ("", 503, ErrorKind::Unavailable, Unknown),
        ] {
            let meant = refusal(code, status);
            assert_eq!((meant.kind, meant.delivery), (kind, delivery), "{code}");
        }
        for (code, status, denied) in [
            ("AccessDenied", 403, None),
            ("Whatever", 403, None),
            ("Whatever", 401, Some(Denied::Credentials)),
            ("ExpiredToken", 403, Some(Denied::Credentials)),
            ("InvalidIdentityToken", 400, Some(Denied::Credentials)),
            ("SignatureDoesNotMatch", 403, Some(Denied::Credentials)),
            ("RequestTimeTooSkewed", 403, Some(Denied::Clock)),
            ("Throttling", 400, None),
        ] {
            assert_eq!(refusal(code, status).denied, denied, "{code} {status}");
        }
        assert!(is_late("Signature expired: 20260131T120000Z is now earlier than 20260131T121000Z"));
        assert!(!is_late("The request signature we calculated does not match"));
        assert!(is_stale("ExpiredTokenException") && !is_stale("AccessDenied"));
    }

    /// In the text of a service, and in that of an SDK that quotes it.
    #[test]
    fn a_request_that_is_repeated_is_not_shown() {
        let said = "The signature does not match.\n\nThe Canonical String for this request should have been\n'GET\n/\n\n\
                    x-amz-security-token:s3cret-token\n'";
        assert_eq!(shown(said, &[]), "The signature does not match.");
        assert_eq!(shown("is s3cret-token good?\nno", &["s3cret-token".into()]), "is [redacted] good?");
        let inner = TransportError::Request(format!("{said:?}"));
        let shown = chain(&Error::new(ErrorKind::Invalid, "ask", "no").caused_by(inner));
        assert!(shown.contains("does not match") && !shown.contains("s3cret"), "{shown}");
    }

    #[test]
    fn a_text_is_reported_once() {
        let inner = TransportError::Request("no such thing".to_owned());
        let outer = Error::new(ErrorKind::Invalid, "ask", "no such thing").caused_by(inner);
        assert_eq!(chain(&outer), "ask: no such thing: the request cannot be sent: no such thing");
    }
}
