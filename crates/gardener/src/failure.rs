//! Why an operation did not succeed, and what is reported to Gardener: its error codes, and when the next attempt is made.
//!
//! What must hold: a code that Gardener takes as final (it sets the whole Shoot to `Failed`, and waits for a person) is given only
//! for what no waiting mends: credentials, rights, no zone, a configuration that cannot work. Codes follow from the kind of an
//! error and never from its text.

use std::time::Duration;

use zonewright_core::error::Denied;
use zonewright_core::{Error, ErrorKind, Retry};

/// The provider does not know the account by these credentials.
const UNAUTHENTICATED: &str = "ERR_INFRA_UNAUTHENTICATED";
/// The account may not do it; or the provider does not distinguish one from the other.
const UNAUTHORIZED: &str = "ERR_INFRA_UNAUTHORIZED";
/// The configuration cannot work as it stands.
const CONFIGURATION: &str = "ERR_CONFIGURATION_PROBLEM";
/// The same, where it may yet arrive: Gardener goes on trying.
const RETRYABLE: &str = "ERR_RETRYABLE_CONFIGURATION_PROBLEM";

/// Why an operation did not succeed.
#[derive(Debug, Clone)]
pub enum OperationFailure {
    /// The Secret is not there.
    NoSecret(String),
    /// Spec or Secret cannot work as they are: the sentence says which field, and what was expected.
    Configuration(String),
    /// No zone holds the name.
    NoZone(String),
    /// Another DNSRecord has the name.
    Contested(String),
    /// Another owner has the record, by the registry.
    Held(String),
    /// The provider failed or refused the change.
    Provider(Error),
    /// Records may still stand in zones from which they were to be taken.
    LeftBehind(LeftBehind),
    /// The API server of the cluster.
    Cluster(Error),
}

/// Why records may still stand in zones from which they were to be taken.
#[derive(Debug, Clone)]
pub struct LeftBehind {
    /// The sentence: which record, where, and why.
    pub text: String,
    /// What the first of these zones met.
    pub cause: Box<OperationFailure>,
    /// Whether the record stands where it belongs now, so that nothing but what is left behind is wrong.
    pub is_published: bool,
}

impl OperationFailure {
    /// Gardener's error codes for it; empty where none fits.
    pub fn codes(&self) -> &'static [&'static str] {
        match self {
            Self::NoSecret(_) => &[RETRYABLE],
            Self::Configuration(_) | Self::NoZone(_) | Self::Contested(_) | Self::Held(_) => &[CONFIGURATION],
            Self::Provider(error) => of_provider(error),
            // No reason to stop the shoot.
            Self::LeftBehind(left) if left.is_published && !left.cause.codes().is_empty() => &[RETRYABLE],
            Self::LeftBehind(left) => left.cause.codes(),
            Self::Cluster(_) => &[],
        }
    }

    /// The reason of the event that reports it; `None` where the API server itself is what failed.
    pub fn reason(&self) -> Option<&'static str> {
        match self {
            Self::NoSecret(_) => Some("SecretNotFound"),
            Self::Configuration(_) => Some("InvalidConfiguration"),
            Self::NoZone(_) => Some("NoMatchingZone"),
            Self::Contested(_) => Some("RecordContested"),
            Self::Held(_) => Some("ForeignRecord"),
            Self::Provider(_) => Some("ProviderFailed"),
            Self::LeftBehind(left) if left.is_published => Some("RecordLeftBehind"),
            Self::LeftBehind(left) => left.cause.reason(),
            Self::Cluster(_) => None,
        }
    }

    /// The sentence for the owner of the shoot.
    pub fn text(&self) -> String {
        match self {
            Self::NoSecret(text)
            | Self::Configuration(text)
            | Self::NoZone(text)
            | Self::Contested(text)
            | Self::Held(text) => text.clone(),
            Self::LeftBehind(left) => left.text.clone(),
            Self::Provider(error) | Self::Cluster(error) => error.chain(),
        }
    }

    /// The least time to the next attempt.
    pub fn least_pause(&self) -> Duration {
        let after = |error: &Error, least: Duration| match error.retry {
            Retry::After(pause) => pause.max(least),
            Retry::Backoff | Retry::Never => least,
        };
        match self {
            Self::Provider(error) if error.kind == ErrorKind::Throttled => after(error, WHEN_THROTTLED),
            Self::Provider(error) if of_provider(error).is_empty() => after(error, Duration::from_secs(1)),
            Self::Cluster(error) => after(error, Duration::from_secs(1)),
            Self::NoSecret(_) => Duration::from_secs(5),
            Self::LeftBehind(left) => left.cause.least_pause(),
            _ => WHEN_WRONG,
        }
    }
}

/// How long the next attempt waits after the provider asked to slow down.
const WHEN_THROTTLED: Duration = Duration::from_secs(30);
/// How long it waits where a person has to mend something first.
const WHEN_WRONG: Duration = Duration::from_secs(15);

/// The codes for an error of a provider.
fn of_provider(error: &Error) -> &'static [&'static str] {
    match error.kind {
        ErrorKind::Unauthorized => match error.why_denied() {
            Some(Denied::Credentials) => &[UNAUTHENTICATED],
            None => &[UNAUTHORIZED],
            // Not the account's fault, and it passes.
            Some(Denied::Clock | Denied::Proxy) => &[],
        },
        ErrorKind::Configuration | ErrorKind::Invalid | ErrorKind::Unsupported | ErrorKind::NotFound => {
            &[CONFIGURATION]
        }
        ErrorKind::Conflict
        | ErrorKind::Throttled
        | ErrorKind::Unavailable
        | ErrorKind::Timeout
        | ErrorKind::Protocol
        | ErrorKind::DryRun => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn provider(kind: ErrorKind) -> OperationFailure {
        OperationFailure::Provider(Error::new(kind, "apply changes", "x"))
    }

    fn denied(why: Denied) -> OperationFailure {
        OperationFailure::Provider(Error::new(ErrorKind::Unauthorized, "apply changes", "x").denied(why))
    }

    #[test]
    fn transient_faults_have_no_code() {
        use ErrorKind::{Conflict, DryRun, Protocol, Throttled, Timeout, Unavailable};
        for kind in [Conflict, DryRun, Protocol, Throttled, Timeout, Unavailable] {
            assert!(provider(kind).codes().is_empty(), "{kind:?}");
        }
        for why in [Denied::Clock, Denied::Proxy] {
            assert!(denied(why).codes().is_empty(), "{why:?}");
        }
        for kind in ErrorKind::ALL {
            let cluster = OperationFailure::Cluster(Error::new(kind, "change object", "x"));
            assert!(cluster.codes().is_empty(), "{kind:?} of the API server says nothing of the infrastructure");
        }
    }

    #[test]
    fn what_a_person_has_to_mend_has_one() {
        use ErrorKind::{Configuration, Invalid, NotFound, Unauthorized, Unsupported};
        assert_eq!(provider(Unauthorized).codes(), ["ERR_INFRA_UNAUTHORIZED"]);
        assert_eq!(denied(Denied::Credentials).codes(), ["ERR_INFRA_UNAUTHENTICATED"]);
        for kind in [Configuration, Invalid, NotFound, Unsupported] {
            assert_eq!(provider(kind).codes(), ["ERR_CONFIGURATION_PROBLEM"], "{kind:?}");
        }
        assert_eq!(OperationFailure::NoZone(String::new()).codes(), ["ERR_CONFIGURATION_PROBLEM"]);
        assert_eq!(OperationFailure::Contested(String::new()).codes(), ["ERR_CONFIGURATION_PROBLEM"]);
        // It may be written a moment after the object.
        assert_eq!(OperationFailure::NoSecret(String::new()).codes(), ["ERR_RETRYABLE_CONFIGURATION_PROBLEM"]);
    }

    /// The record stands as it is wanted: Gardener goes on trying, and does not stop the shoot.
    #[test]
    fn what_is_left_behind_does_not_stop_a_shoot_whose_record_stands() {
        let codes = |cause: OperationFailure, is_published: bool| {
            let left = LeftBehind { text: String::new(), cause: Box::new(cause), is_published };
            OperationFailure::LeftBehind(left).codes()
        };
        assert_eq!(codes(provider(ErrorKind::Unauthorized), true), ["ERR_RETRYABLE_CONFIGURATION_PROBLEM"]);
        assert_eq!(codes(provider(ErrorKind::Unauthorized), false), ["ERR_INFRA_UNAUTHORIZED"]);
        for is_published in [false, true] {
            assert!(codes(provider(ErrorKind::Timeout), is_published).is_empty(), "it passes");
        }
    }

    #[test]
    fn pauses() {
        let seconds = |failure: OperationFailure| failure.least_pause().as_secs();
        assert_eq!(seconds(provider(ErrorKind::Throttled)), 30);
        let asked = Error::new(ErrorKind::Throttled, "x", "x").retry(Retry::After(Duration::from_secs(90)));
        assert_eq!(seconds(OperationFailure::Provider(asked)), 90);
        assert_eq!(seconds(provider(ErrorKind::Unavailable)), 1);
        assert_eq!(seconds(provider(ErrorKind::Unauthorized)), 15);
    }
}
