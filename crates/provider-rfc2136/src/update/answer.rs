//! From what a server answered, or could never be asked, to outcomes.

use domain::base::iana::Rcode;
use zonewright_core::change::{Blame, Group, Outcome};
use zonewright_core::{Error, Retry};

use super::invalid;

/// What a group comes to that does not even fit a message of its own.
pub(crate) fn too_long(group: &Group) -> Outcome {
    Outcome::refused(invalid(format!("{} does not fit one DNS message of 64 KiB", group.headline())))
}

/// What became of one of `count` groups that a server refused together; the refusal is signed, or was read back.
///
/// Whether one group was to blame is not said by DNS; but a server that knows no such zone or request refuses each of them for
/// itself, and nothing is gained by trying them one by one.
pub(crate) fn refused(rcode: Rcode, error: Error, count: usize) -> Outcome {
    let each = matches!(rcode, Rcode::NOTAUTH | Rcode::NOTIMP);
    let error = if rcode == Rcode::NOTIMP { error.retry(Retry::Backoff) } else { error };
    if each { Outcome::refused(error) } else { refused_together(error, count) }
}

/// What became of one of `count` groups of which one may be to blame.
pub(crate) fn refused_together(error: Error, count: usize) -> Outcome {
    Outcome::Refused { error, blame: if count == 1 { Blame::Group } else { Blame::Batch } }
}

/// Whether another server may well do what this one refused.
pub(crate) fn is_worth_another(rcode: Rcode) -> bool {
    matches!(rcode, Rcode::REFUSED | Rcode::NOTAUTH | Rcode::NOTIMP | Rcode::SERVFAIL)
}

/// Whether a response code says that a prerequisite did not hold.
pub(crate) fn is_conflict(rcode: Rcode) -> bool {
    matches!(rcode, Rcode::YXDOMAIN | Rcode::YXRRSET | Rcode::NXDOMAIN | Rcode::NXRRSET)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use zonewright_core::{DnsName, ErrorKind};

    use super::super::OPERATION;
    use super::*;
    use crate::identity::Identity;
    use crate::server::Server;

    #[test]
    fn who_is_to_blame() {
        use Blame::{Batch, Group};
        let server = Server::new("192.0.2.1".to_owned(), 53, None, Identity::Nobody, Arc::default());
        for (rcode, kind, one, several) in [
            (Rcode::YXRRSET, ErrorKind::Conflict, Group, Batch),
            (Rcode::NXRRSET, ErrorKind::Conflict, Group, Batch),
            (Rcode::YXDOMAIN, ErrorKind::Conflict, Group, Batch),
            (Rcode::FORMERR, ErrorKind::Invalid, Group, Batch),
            (Rcode::NOTZONE, ErrorKind::Invalid, Group, Batch),
            (Rcode::SERVFAIL, ErrorKind::Unavailable, Group, Batch),
            (Rcode::REFUSED, ErrorKind::Unauthorized, Group, Batch),
            (Rcode::NOTAUTH, ErrorKind::Unauthorized, Group, Group),
            (Rcode::NOTIMP, ErrorKind::Unsupported, Group, Group),
        ] {
            let fault = || crate::error::ExchangeError::Rcode { rcode, trusted: true };
            for (count, expected) in [(1, one), (3, several)] {
                let error = server.error(fault(), OPERATION, &DnsName::parse("z").unwrap());
                assert!(error.context.contains(&rcode.to_string()), "{error}");
                let outcome = refused(rcode, error, count);
                let Outcome::Refused { error, blame } = outcome else { panic!("{rcode}: {outcome:?}") };
                assert_eq!((error.kind, blame), (kind, expected), "{rcode} for {count}");
            }
        }
    }
}
