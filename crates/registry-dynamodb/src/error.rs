//! What the service answers, as errors that say which table and what to do. The one place that reads its codes.

use zonewright_core::error::{Error, ErrorKind, Retry};

/// The error that a code names, of a call or of one statement in a batch.
pub(crate) fn of_code(operation: &'static str, table: &str, code: &str, message: &str, server: bool) -> Error {
    let (kind, advice) = match code.strip_suffix("Exception").unwrap_or(code) {
        "ResourceNotFound" => {
            (ErrorKind::Unavailable, "; create the table, or name another with --dynamodb-table and --dynamodb-region")
        }
        "AccessDenied" => (
            ErrorKind::Unauthorized,
            "; the registry needs dynamodb:DescribeTable, Scan, PartiQLInsert, PartiQLUpdate and PartiQLDelete on the table",
        ),
        "UnrecognizedClient"
        | "InvalidSignature"
        | "ExpiredToken"
        | "MissingAuthenticationToken"
        | "IncompleteSignature" => (ErrorKind::Unauthorized, ""),
        "ProvisionedThroughputExceeded" | "Throttling" | "ThrottlingError" | "RequestLimitExceeded" => {
            (ErrorKind::Throttled, "")
        }
        "Validation" | "ValidationError" | "Serialization" | "ItemCollectionSizeLimitExceeded" => {
            (ErrorKind::Invalid, "")
        }
        "ConditionalCheckFailed" | "DuplicateItem" | "TransactionConflict" => (ErrorKind::Conflict, ""),
        _ if server => (ErrorKind::Unavailable, ""),
        "InternalServerError" => (ErrorKind::Unavailable, ""),
        _ => (ErrorKind::Protocol, ""),
    };
    // Nothing here is for ever: tables, rights and limits are changed while the process runs.
    Error::new(kind, operation, about(table, &format!("{code}: {message}{advice}"))).retry(Retry::Backoff)
}

/// Whether the same statement may be sent again after a pause: it was turned away, and not carried out.
pub(crate) fn was_turned_away(error: &Error) -> bool {
    error.kind == ErrorKind::Throttled
}

/// Whether it may work later without anybody's help.
pub(crate) fn may_pass(error: &Error) -> bool {
    matches!(
        error.kind,
        ErrorKind::Throttled
            | ErrorKind::Unavailable
            | ErrorKind::Timeout
            | ErrorKind::Protocol
            | ErrorKind::Unauthorized
    )
}

pub(crate) fn about(table: &str, what: &str) -> String {
    format!("table {table:?}: {what}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_of_calls_and_of_statements_mean_the_same() {
        for (code, server, kind) in [
            ("ResourceNotFoundException", false, ErrorKind::Unavailable),
            ("ResourceNotFound", false, ErrorKind::Unavailable),
            ("AccessDeniedException", false, ErrorKind::Unauthorized),
            ("ProvisionedThroughputExceededException", false, ErrorKind::Throttled),
            ("ProvisionedThroughputExceeded", false, ErrorKind::Throttled),
            ("ThrottlingError", false, ErrorKind::Throttled),
            ("ValidationException", false, ErrorKind::Invalid),
            ("DuplicateItem", false, ErrorKind::Conflict),
            ("InternalServerError", true, ErrorKind::Unavailable),
            ("WhateverException", true, ErrorKind::Unavailable),
            ("WhateverException", false, ErrorKind::Protocol),
        ] {
            let error = of_code("write rows", "claims", code, "said so", server);
            assert_eq!((error.kind, error.retry), (kind, Retry::Backoff), "{code}");
            assert!(error.to_string().contains("\"claims\"") && error.to_string().contains(code), "{error}");
        }
    }
}
