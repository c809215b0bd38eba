//! What the service's own errors mean, and which set of a change they name.
//!
//! <https://cloud.google.com/apis/design/errors>, <https://cloud.google.com/dns/docs/troubleshooting>

use serde::Deserialize;
use zonewright_core::ErrorKind;
use zonewright_core::error::Retry;
use zonewright_http::{Answer, AnswerExplanation};

/// The body of an answer that is no success.
#[derive(Debug, Deserialize)]
struct Body {
    error: Problem,
}

#[derive(Debug, Deserialize)]
struct Problem {
    #[serde(default)]
    message: String,
    #[serde(default)]
    errors: Vec<Reason>,
}

#[derive(Debug, Deserialize)]
struct Reason {
    #[serde(default)]
    reason: String,
    #[serde(default)]
    message: String,
}

/// Too many requests, whatever the status.
const THROTTLED: &[&str] = &["rateLimitExceeded", "userRateLimitExceeded", "dailyLimitExceeded"];
/// The project or the zone holds as much as it may.
const FULL: &[&str] = &["quotaExceeded"];
/// Something else stands there than was assumed.
const CONFLICT: &[&str] =
    &["alreadyExists", "conditionNotMet", "conflict", "cnameResourceRecordSetConflict", "duplicate"];
/// Credentials are missing or wrong, or a right is missing.
const DENIED: &[&str] =
    &["authError", "required", "forbidden", "insufficientPermissions", "accessNotConfigured", "SERVICE_DISABLED"];

/// How a change is named in messages.
const CHANGE: &str = "entity.change.";

/// Reads the body of an answer that is no success.
pub(crate) fn explain(answer: &Answer) -> Option<AnswerExplanation> {
    let Body { error } = answer.json().ok()?;
    let mut sentences: Vec<&str> = vec![error.message.trim()];
    sentences.extend(error.errors.iter().map(|reason| reason.message.trim()));
    sentences.retain(|sentence| !sentence.is_empty());
    let mut said: Vec<&str> = Vec::new();
    for sentence in sentences {
        if !said.contains(&sentence) {
            said.push(sentence);
        }
    }
    let is = |known: &[&str]| error.errors.iter().any(|reason| known.contains(&reason.reason.as_str()));
    let status = answer.status.as_u16();
    let kind = match status {
        _ if is(THROTTLED) => Some(ErrorKind::Throttled),
        401 => Some(ErrorKind::Unauthorized),
        403 if is(FULL) => Some(ErrorKind::Invalid),
        403 if is(DENIED) => Some(ErrorKind::Unauthorized),
        // What is to go is not there; the zone is.
        404 if error.message.contains(CHANGE) => Some(ErrorKind::Conflict),
        400..=499 if is(CONFLICT) => Some(ErrorKind::Conflict),
        400 if error.message.contains("pageToken") => Some(ErrorKind::Conflict),
        // A size that is above a quota of the project.
        413 => Some(ErrorKind::Invalid),
        _ => None,
    };
    let reasons: Vec<&str> =
        error.errors.iter().map(|reason| reason.reason.as_str()).filter(|reason| !reason.is_empty()).collect();
    let message = match reasons.first() {
        Some(reason) => format!("{} ({reason})", said.join("; ")),
        None => said.join("; "),
    };
    // The message is shortened for people, and a name may be longer than what is left of it.
    let code = said.iter().find(|sentence| named(sentence).is_some()).map(|sentence| (*sentence).to_owned());
    // Room may be made meanwhile.
    let retry = (status == 403 && is(FULL)).then_some(Retry::Backoff);
    Some(AnswerExplanation { message, code, kind, retry })
}

/// Which set of a change a message names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Named<'a> {
    /// One of the additions.
    Addition(SetReference<'a>),
    /// One of the deletions.
    Deletion(SetReference<'a>),
}

/// How a message names a set in a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SetReference<'a> {
    /// By its position.
    At(usize),
    /// By its owner, with a final dot, and its type.
    Of(&'a str, &'a str),
}

/// The first set of a change that a message names: `entity.change.additions[3].rrdata[0]`, or
/// `entity.change.additions[www.example.org.][A]`.
pub(crate) fn named(message: &str) -> Option<Named<'_>> {
    message.split(CHANGE).skip(1).find_map(|rest| {
        let (list, rest) = rest.split_once('[')?;
        let (first, rest) = rest.split_once(']')?;
        let place = match first.parse() {
            Ok(at) => SetReference::At(at),
            Err(_) => SetReference::Of(first, rest.strip_prefix('[')?.split_once(']')?.0),
        };
        match list {
            "additions" => Some(Named::Addition(place)),
            "deletions" => Some(Named::Deletion(place)),
            _ => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use zonewright_http::{HeaderMap, StatusCode};

    use super::*;

    fn read(status: u16, reason: &str, message: &str) -> AnswerExplanation {
        let body = serde_json::json!({
            "error": { "code": status, "message": message, "errors": [{ "reason": reason, "message": message }] }
        });
        explain(&Answer::new(StatusCode::from_u16(status).unwrap(), HeaderMap::new(), body.to_string())).unwrap()
    }

    #[test]
    fn reasons_say_more_than_the_status() {
        use ErrorKind::{Conflict, Invalid, Throttled, Unauthorized};
        let entity = "The 'entity.change.deletions[0]' resource named 'a.test. (A)' does not exist.";
        let zone = "The 'parameters.managedZone' resource named 'z' does not exist.";
        for (status, reason, message, kind) in [
            (403, "rateLimitExceeded", "Rate Limit Exceeded", Some(Throttled)),
            (403, "forbidden", "Forbidden", Some(Unauthorized)),
            (403, "quotaExceeded", "too many sets", Some(Invalid)),
            (412, "conditionNotMet", "Precondition not met for 'entity.change.deletions[0]'", Some(Conflict)),
            (409, "alreadyExists", "'entity.change.additions[0]' already exists", Some(Conflict)),
            (404, "notFound", entity, Some(Conflict)),
            (404, "notFound", zone, None),
            (400, "invalid", "Invalid value for 'parameters.pageToken'", Some(Conflict)),
            (400, "invalid", "Invalid value for 'entity.change.additions[0].ttl'", None),
            (503, "backendError", "Backend Error", None),
        ] {
            let said = read(status, reason, message);
            assert_eq!(said.kind, kind, "{status} {reason} {message}");
            assert_eq!(said.message, format!("{message} ({reason})"));
            assert_eq!(said.retry, (reason == "quotaExceeded").then_some(Retry::Backoff));
        }
        assert!(explain(&Answer::new(StatusCode::BAD_GATEWAY, HeaderMap::new(), "<html>")).is_none());
    }

    /// The text of an error is cut for people; which set it names is not read out of that.
    #[test]
    fn a_set_with_a_long_name_is_named() {
        let name = format!("{}.", ["a".repeat(60), "b".repeat(60), "c".repeat(60), "d".repeat(60)].join("."));
        let said = read(400, "invalid", &format!("'entity.change.additions[{name}][A]' is invalid"));
        let expected = Named::Addition(SetReference::Of(&name, "A"));
        assert_eq!(said.code.as_deref().and_then(named), Some(expected));
        assert_eq!(read(503, "backendError", "Backend Error").code, None);
    }

    #[test]
    fn a_message_names_a_set() {
        for (message, expected) in [
            ("Precondition not met for 'entity.change.deletions[76]'", Some(Named::Deletion(SetReference::At(76)))),
            (
                "Invalid value for 'entity.change.additions[3].rrdata[0]': 'x'",
                Some(Named::Addition(SetReference::At(3))),
            ),
            (
                "The resource 'entity.change.additions[0]' named 'a. (A)' already exists",
                Some(Named::Addition(SetReference::At(0))),
            ),
            (
                "'entity.change.additions[a.b.][CNAME]' is invalid",
                Some(Named::Addition(SetReference::Of("a.b.", "CNAME"))),
            ),
            ("Invalid value for 'entity.change'", None),
            ("entity.change.additions[x]", None),
            ("entity.change.additions[1", None),
            ("", None),
        ] {
            assert_eq!(named(message), expected, "{message}");
        }
    }
}
