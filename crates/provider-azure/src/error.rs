//! What the service's own errors mean.
//!
//! <https://learn.microsoft.com/azure/azure-resource-manager/troubleshooting/common-deployment-errors>

use serde::Deserialize;
use zonewright_core::ErrorKind;
use zonewright_core::error::Retry;
use zonewright_http::{Answer, AnswerExplanation, Failure};

/// The body of an answer that is no success: Resource Manager puts it into an envelope, the DNS service behind it does not always.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Body {
    Enveloped { error: Problem },
    Plain(Problem),
}

#[derive(Debug, Deserialize)]
struct Problem {
    code: String,
    #[serde(default)]
    message: String,
}

/// A lock of the resource, or a policy, stands against it.
const FORBIDDEN: &[&str] = &["ScopeLocked", "RequestDisallowedByPolicy", "ReadOnlyDisabledSubscription"];

/// The code of a record set that is not there; other codes of the status are about the zone, the group or the subscription.
const NO_SET: &str = "NotFound";

/// Reads the body of an answer that is no success.
pub(crate) fn explain(answer: &Answer) -> Option<AnswerExplanation> {
    let Problem { code, message } = match answer.json().ok()? {
        Body::Enveloped { error } | Body::Plain(error) => error,
    };
    let said = message.to_ascii_lowercase();
    let full = said.contains("more than") && said.contains("record sets");
    let kind = match answer.status.as_u16() {
        400..=499 if FORBIDDEN.contains(&code.as_str()) => Some(ErrorKind::Unauthorized),
        // The page token of a listing that took too long.
        400 if said.contains("skiptoken") => Some(ErrorKind::Conflict),
        400 if said.contains("already exists in this zone") => Some(ErrorKind::Conflict),
        _ => None,
    };
    // Room may be made meanwhile.
    let retry = (answer.status.as_u16() < 500 && full).then_some(Retry::Backoff);
    Some(AnswerExplanation { message: format!("{} ({code})", message.trim()), code: Some(code), kind, retry })
}

/// Whether an answer says that the zone is there, and the record set in it is not.
pub(crate) fn is_no_set(failure: &Failure) -> bool {
    failure.is_not_found() && failure.code.as_deref() == Some(NO_SET)
}

#[cfg(test)]
mod tests {
    use zonewright_http::{HeaderMap, StatusCode};

    use super::*;

    #[test]
    fn codes_say_more_than_the_status() {
        use ErrorKind::{Conflict, Unauthorized};
        let cname =
            "The record could not be created because a CNAME record with the same name already exists in this zone.";
        for (status, code, message, kind, retry) in [
            (400, "BadRequest", cname, Some(Conflict), None),
            (409, "ScopeLocked", "locked", Some(Unauthorized), None),
            (403, "RequestDisallowedByPolicy", "no", Some(Unauthorized), None),
            (400, "BadRequest", "The $skipToken is invalid.", Some(Conflict), None),
            (400, "BadRequest", "The zone may not have more than 10000 record sets.", None, Some(Retry::Backoff)),
            (412, "PreconditionFailed", "The condition was not satisfied.", None, None),
            (404, "ResourceNotFound", "not found", None, None),
            (429, "SubscriptionRequestsThrottled", "wait", None, None),
        ] {
            for envelope in [true, false] {
                let problem = serde_json::json!({ "code": code, "message": message });
                let body = if envelope { serde_json::json!({ "error": problem }) } else { problem };
                let status = StatusCode::from_u16(status).unwrap();
                let said = explain(&Answer::new(status, HeaderMap::new(), body.to_string())).unwrap();
                assert_eq!(said.message, format!("{message} ({code})"));
                assert_eq!((said.kind, said.retry), (kind, retry), "{status} {code} {message}");
            }
        }
        assert!(explain(&Answer::new(StatusCode::BAD_GATEWAY, HeaderMap::new(), "<html>")).is_none());
    }
}
