//! What the service's own errors mean.
//!
//! An answer that is no success has a list of numbered errors, some with a chain of more exact ones behind them.

use zonewright_core::error::Retry;
use zonewright_core::{Error, ErrorKind};
use zonewright_http::{Answer, AnswerExplanation, Failure};

use crate::wire::{Envelope, Problem};

/// Credentials that are missing, malformed, unknown, expired, or without the right.
const DENIED: &[i64] = &[6003, 6100, 6102, 6103, 6111, 9103, 9106, 9107, 9109, 10_000];
/// The zone is not there, or its id is none.
const NO_ZONE: &[i64] = &[1001, 7000, 7003];
/// Something stands there already, or does not stand there any more.
const CONFLICT: &[i64] = &[81_044, 81_053, 81_054, 81_055, 81_056, 81_057, 81_058, 81_059];
/// Too many requests.
const THROTTLED: &[i64] = &[971, 10_429];
/// The zone holds as many records as it may.
const FULL: &[i64] = &[81_045];

/// Reads the body of an answer that is no success.
pub(crate) fn explain(answer: &Answer) -> Option<AnswerExplanation> {
    let envelope: Envelope<serde_json::Value> = answer.json().ok()?;
    if envelope.errors.is_empty() {
        return None;
    }
    let full = codes(&envelope.errors).find(|code| FULL.contains(code));
    Some(AnswerExplanation {
        message: words(&envelope.errors),
        code: full.map(|code| code.to_string()),
        // A failure of the service itself has numbers of other meanings.
        kind: kind(&envelope.errors).filter(|_| !answer.status.is_server_error()),
        retry: full.map(|_| Retry::Backoff),
    })
}

/// Whether a batch was refused because the zone has no room for all that it adds.
pub(crate) fn has_no_room(failure: &Failure) -> bool {
    failure.code.as_deref().and_then(|code| code.parse().ok()).is_some_and(|code| FULL.contains(&code))
}

/// The kind of error that the numbers stand for, where they stand for one.
pub(crate) fn kind(problems: &[Problem]) -> Option<ErrorKind> {
    let table = [
        (THROTTLED, ErrorKind::Throttled),
        (DENIED, ErrorKind::Unauthorized),
        (NO_ZONE, ErrorKind::NotFound),
        (CONFLICT, ErrorKind::Conflict),
        (FULL, ErrorKind::Invalid),
    ];
    table.into_iter().find(|(known, _)| codes(problems).any(|code| known.contains(&code))).map(|(_, kind)| kind)
}

/// An answer that calls itself no success although its status does.
pub(crate) fn unsuccessful(operation: &'static str, problems: &[Problem]) -> Error {
    let kind = kind(problems).unwrap_or(ErrorKind::Protocol);
    let said = if problems.is_empty() { "no reason is given".to_owned() } else { words(problems) };
    Error::new(kind, operation, format!("the answer says that it is no success: {said}"))
}

fn codes(problems: &[Problem]) -> impl Iterator<Item = i64> {
    problems.iter().flat_map(|problem| std::iter::once(problem.code).chain(problem.error_chain.iter().map(|p| p.code)))
}

/// The errors in words, each with its number.
fn words(problems: &[Problem]) -> String {
    let all = problems.iter().flat_map(|problem| std::iter::once(problem).chain(&problem.error_chain));
    let texts: Vec<String> = all.map(|problem| format!("{} ({})", problem.message.trim(), problem.code)).collect();
    texts.join(": ")
}

#[cfg(test)]
mod tests {
    use zonewright_http::{HeaderMap, StatusCode};

    use super::*;

    fn read(body: &str) -> Option<AnswerExplanation> {
        explain(&Answer::new(StatusCode::BAD_REQUEST, HeaderMap::new(), body.to_owned()))
    }

    #[test]
    fn numbers_say_more_than_the_status() {
        let body = |code: i64, chain: &str| {
            format!(
                r#"{{"success":false,"errors":[{{"code":{code},"message":"no","error_chain":[{chain}]}}],"messages":[],"result":null}}"#
            )
        };
        for (code, kind) in [
            (9109, Some(ErrorKind::Unauthorized)),
            (81_058, Some(ErrorKind::Conflict)),
            (7003, Some(ErrorKind::NotFound)),
            (971, Some(ErrorKind::Throttled)),
            (1004, None),
        ] {
            assert_eq!(read(&body(code, "")).unwrap().kind, kind, "{code}");
        }
        let chained = read(&body(1004, r#"{"code":9004,"message":"cannot be proxied"}"#)).unwrap();
        assert_eq!(chained.message, "no (1004): cannot be proxied (9004)");
        let broken = Answer::new(StatusCode::BAD_GATEWAY, HeaderMap::new(), body(10_000, ""));
        assert_eq!(explain(&broken).unwrap().kind, None);
        let full = read(&body(81_045, "")).unwrap();
        assert_eq!((full.code.as_deref(), full.retry), (Some("81045"), Some(Retry::Backoff)));
        assert!(read("<html>").is_none() && read(r#"{"success":false,"errors":[],"result":null}"#).is_none());
    }
}
