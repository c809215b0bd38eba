//! From what a server answered, or could never be asked, to outcomes.

use domain::base::iana::Rcode;
use zonewright_core::change::{Blame, Group, Outcome};
use zonewright_core::{Error, Retry};

use super::invalid;

/// What a group comes to that does not even fit a message of its own.
pub(crate) fn too_long(group: &Group) -> Outcome {
    Outcome::refused(invalid(format!("{} does not fit one DNS message of 64 KiB", group.headline())))
}

/// What became of one of `count` groups that a server refused together. `signed` says that the refusal is signed.
///
/// Whether one group was to blame is not said by DNS; but a server that knows no such key, zone or request refuses each of
/// them for itself, and nothing is gained by trying them one by one.
pub(crate) fn refused(rcode: Rcode, signed: bool, error: Error, count: usize) -> Outcome {
    let each = match rcode {
        Rcode::NOTAUTH | Rcode::NOTIMP => true,
        Rcode::REFUSED => !signed,
        _ => count == 1,
    };
    let error = if rcode == Rcode::NOTIMP { error.retry(Retry::Backoff) } else { error };
    Outcome::Refused { error, blame: if each || count == 1 { Blame::Group } else { Blame::Batch } }
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
    use zonewright_core::{DnsName, ErrorKind};

    use super::super::OPERATION;
    use super::*;

    #[test]
    fn who_is_to_blame() {
        use Blame::{Batch, Group};
        for (rcode, signed, kind, one, several) in [
            (Rcode::YXRRSET, true, ErrorKind::Conflict, Group, Batch),
            (Rcode::NXRRSET, true, ErrorKind::Conflict, Group, Batch),
            (Rcode::YXDOMAIN, true, ErrorKind::Conflict, Group, Batch),
            (Rcode::FORMERR, true, ErrorKind::Invalid, Group, Batch),
            (Rcode::NOTZONE, true, ErrorKind::Invalid, Group, Batch),
            (Rcode::SERVFAIL, true, ErrorKind::Unavailable, Group, Batch),
            (Rcode::REFUSED, true, ErrorKind::Unauthorized, Group, Batch),
            (Rcode::REFUSED, false, ErrorKind::Unauthorized, Group, Group),
            (Rcode::NOTAUTH, true, ErrorKind::Unauthorized, Group, Group),
            (Rcode::NOTIMP, true, ErrorKind::Unsupported, Group, Group),
        ] {
            let fault = || crate::error::Fault::Rcode { rcode, trusted: signed };
            for (count, expected) in [(1, one), (3, several)] {
                let error = fault().into_error(OPERATION, "192.0.2.1:53", &DnsName::parse("z").unwrap());
                assert!(error.context.contains(&rcode.to_string()), "{error}");
                let outcome = refused(rcode, signed, error, count);
                let Outcome::Refused { error, blame } = outcome else { panic!("{rcode}: {outcome:?}") };
                assert_eq!((error.kind, blame), (kind, expected), "{rcode} for {count}");
            }
        }
    }
}
