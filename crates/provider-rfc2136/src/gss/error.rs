//! What can go wrong before there is a security context.

use std::time::Duration;

use zonewright_core::{DnsName, ErrorKind};

use super::krb5::Said;

/// How long the Kerberos library may take for one step: a KDC that does not answer is asked again after one and two seconds.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);
/// What went wrong before there was a context.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum KerberosError {
    #[error(
        "Kerberos: logging in at the KDC of realm {realm} as user {user}: {said}; check --rfc2136-kerberos-realm, \
         --rfc2136-kerberos-username, --rfc2136-kerberos-password and krb5.conf"
    )]
    Login { realm: String, user: String, said: Said },
    #[error(
        "Kerberos: getting a ticket for {service} from the KDC of realm {realm}: {said}; expected a server that is a \
         service of the realm by this name"
    )]
    Ticket { realm: String, service: String, said: Said },
    #[error("Kerberos: {step} took longer than {} s", PATIENCE.as_secs())]
    Patience { step: String },
    #[error("Kerberos: the server answers to its address only, and its zone {zone} names no primary server: {why}")]
    NoName { zone: DnsName, why: String },
    #[error("Kerberos: negotiating with {service}: {why}")]
    Negotiation { service: String, why: String, kind: ErrorKind },
    #[error("Kerberos: negotiating with {service}: {why}")]
    Transport { service: String, why: String, kind: ErrorKind },
}

impl KerberosError {
    /// What kind of error it is to the rest of the program.
    pub(crate) fn kind(&self) -> ErrorKind {
        match self {
            Self::Login { said, .. } | Self::Ticket { said, .. } if said.is_no() => ErrorKind::Unauthorized,
            Self::Login { .. } | Self::Ticket { .. } | Self::NoName { .. } => ErrorKind::Unavailable,
            Self::Patience { .. } => ErrorKind::Timeout,
            Self::Negotiation { kind, .. } | Self::Transport { kind, .. } => *kind,
        }
    }
}
