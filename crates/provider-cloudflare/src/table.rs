//! What is known of one kind of thing that the service keeps beside records.

use tracing::warn;
use zonewright_core::{Error, ErrorKind, Result, Zone};

/// What is known of one kind of thing.
#[derive(Debug, Clone, Default)]
pub(crate) enum Table<T> {
    /// No flag asks for it.
    #[default]
    Unmanaged,
    /// It cannot be listed at all, for this reason.
    Unknown(String),
    /// It could not be listed this time.
    Stale {
        /// What stood at the last look, if there was one: nothing is changed by it.
        last: Option<T>,
        /// Of the listing.
        error: Error,
    },
    /// What stands.
    Known(T),
}

impl<T: Clone> Table<T> {
    /// The outcome of a listing of `what`. Whatever is wrong with it costs no record anything. `former` is the table before.
    pub(crate) fn of(zone: &Zone, what: &str, all: Result<T>, former: Option<&Self>) -> Self {
        use ErrorKind::{Invalid, NotFound, Unauthorized, Unsupported};
        match all {
            Ok(all) => Self::Known(all),
            Err(error) if matches!(error.kind, Invalid | NotFound | Unauthorized | Unsupported) => {
                warn!(zone = %zone.name, %error, "{what} cannot be listed; they are left alone");
                Self::Unknown(format!("the {what} of zone {} cannot be listed: {}", zone.name, error.context))
            }
            Err(mut error) => {
                warn!(zone = %zone.name, %error, "{what} cannot be listed now; they are left alone until they can");
                error.context = format!("the {what} of zone {} cannot be listed now: {}", zone.name, error.context);
                Self::Stale { last: former.and_then(Self::seen).cloned(), error }
            }
        }
    }
}

impl<T> Table<T> {
    /// What stands, or stood at the last look.
    pub(crate) fn seen(&self) -> Option<&T> {
        match self {
            Self::Known(all) => Some(all),
            Self::Stale { last, .. } => last.as_ref(),
            Self::Unmanaged | Self::Unknown(_) => None,
        }
    }

    /// Why nothing is known of it that is managed.
    pub(crate) fn why_unseen(&self) -> Option<&str> {
        match self {
            Self::Unknown(why) => Some(why),
            Self::Stale { last: None, error } => Some(&error.context),
            Self::Unmanaged | Self::Stale { .. } | Self::Known(_) => None,
        }
    }

    /// Why nothing can be changed of it this time.
    pub(crate) fn error(&self) -> Option<&Error> {
        match self {
            Self::Stale { error, .. } => Some(error),
            Self::Unmanaged | Self::Unknown(_) | Self::Known(_) => None,
        }
    }

    /// As [`Table::error`], where something may stand that was never seen.
    pub(crate) fn error_unseen(&self) -> Option<&Error> {
        self.error().filter(|_| self.seen().is_none())
    }
}
