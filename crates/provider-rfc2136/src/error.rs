//! What can go wrong on the way to a server and back, and what kind of error each is to core.

use std::io;
use std::time::Duration;

use domain::base::iana::Rcode;
use zonewright_core::ErrorKind;
use zonewright_core::error::Denied;

use crate::transfer::Broken;
use crate::tsig::Invalid;
use crate::wire::Malformed;

/// One failed exchange with one server.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ExchangeError {
    #[error("its host name does not resolve")]
    Resolve(#[source] io::Error),
    #[error("the address of its host name was not found within {} s", .0.as_secs_f32())]
    ResolveTimeout(Duration),
    #[error("its host name has no address")]
    NoAddress,
    #[error("cannot connect")]
    Connect(#[source] io::Error),
    #[error("no connection within {} s", .0.as_secs_f32())]
    ConnectTimeout(Duration),
    #[error("the TLS handshake failed; check --tls-ca, --tls-client-cert and the name in the server's certificate")]
    Tls(#[source] io::Error),
    #[error("the connection broke before the answer was complete")]
    Cut(#[source] io::Error),
    #[error("no answer within {} s", .0.as_secs_f32())]
    Timeout(Duration),
    #[error("the answer is a malformed message")]
    Malformed,
    #[error("the answer belongs to another question")]
    Mismatch,
    #[error("{0}")]
    Signature(#[from] Invalid),
    #[cfg(feature = "gss-tsig")]
    #[error("{0}")]
    Kerberos(#[from] crate::gss::KerberosError),
    #[error("{}", refusal(*.rcode, *.trusted))]
    Rcode { rcode: Rcode, trusted: bool },
    #[error(
        "answered NOTAUTH with BADKEY, though it knows the key: its ACL may not let the key change this (for Knot, check \
         update-owner and update-type)"
    )]
    Policy,
    #[error("the server does not answer for this zone with authority; check --rfc2136-zone and --rfc2136-host")]
    NoAuthority,
    #[error("{0}")]
    Transfer(#[from] Broken),
}

impl From<Malformed> for ExchangeError {
    fn from(_: Malformed) -> Self {
        Self::Malformed
    }
}

/// The response code by name, and what to check.
fn refusal(rcode: Rcode, trusted: bool) -> String {
    let hint = match rcode {
        Rcode::REFUSED | Rcode::NOTAUTH => {
            "; check that the server has this zone and lets this key do it (update policy, allow-transfer, ACL), and \
             --rfc2136-tsig-keyname, --rfc2136-tsig-secret, --rfc2136-tsig-secret-alg"
        }
        Rcode::NXDOMAIN => "; the zone is not there",
        Rcode::NOTZONE => "; a name is outside of the zone",
        Rcode::NOTIMP => "; the server does not know this kind of request (for PowerDNS, set dnsupdate=yes)",
        Rcode::FORMERR => "; the server cannot read the request: a record type or value that it does not know",
        Rcode::SERVFAIL => "; see the log of the server",
        Rcode::YXDOMAIN => "; records stand at a name that should be free",
        Rcode::YXRRSET => "; a record stands that should not",
        Rcode::NXRRSET => "; a record is not there, or not as it was read",
        _ => "",
    };
    let unsigned =
        if trusted { "" } else { " without a signature, as a server does that has another secret for the key" };
    format!("answered {rcode}{unsigned}{hint}")
}

impl ExchangeError {
    /// Whether the request may have reached the server.
    pub(crate) fn was_sent(&self) -> bool {
        use ExchangeError::{Connect, ConnectTimeout, NoAddress, Resolve, ResolveTimeout, Signature, Tls};
        !matches!(
            self,
            Resolve(_)
                | ResolveTimeout(_)
                | NoAddress
                | Connect(_)
                | ConnectTimeout(_)
                | Tls(_)
                | Signature(Invalid::Unable { .. })
        )
    }

    /// Whether the server said no, so that nothing came of the request.
    pub(crate) fn is_refusal(&self) -> bool {
        matches!(self, Self::Rcode { .. } | Self::Policy | Self::Signature(Invalid::Objection { .. }))
    }

    /// Whether the server refuses whatever it is asked: it knows no such request, zone or key.
    pub(crate) fn is_about_the_server(&self) -> bool {
        matches!(
            self,
            Self::Rcode { rcode: Rcode::NOTIMP | Rcode::NOTAUTH, .. } | Self::Signature(Invalid::Objection { .. })
        )
    }

    /// Whether the server does not answer this query, which says nothing of whether it transfers the zone.
    pub(crate) fn is_denied_query(&self) -> bool {
        matches!(self, Self::NoAuthority | Self::Rcode { rcode: Rcode::REFUSED | Rcode::NOTAUTH, .. })
    }

    pub(crate) fn kind(&self) -> ErrorKind {
        match self {
            Self::Resolve(_)
            | Self::ResolveTimeout(_)
            | Self::NoAddress
            | Self::Connect(_)
            | Self::ConnectTimeout(_)
            | Self::Tls(_)
            | Self::Cut(_) => ErrorKind::Unavailable,
            Self::Timeout(_) => ErrorKind::Timeout,
            Self::Policy | Self::Signature(Invalid::Objection { .. }) => ErrorKind::Unauthorized,
            #[cfg(feature = "gss-tsig")]
            Self::Kerberos(error) => error.kind(),
            Self::Malformed | Self::Mismatch | Self::Signature(_) | Self::Transfer(_) => ErrorKind::Protocol,
            Self::NoAuthority => ErrorKind::NotFound,
            Self::Rcode { rcode, .. } => kind_of(*rcode),
        }
    }
}

impl ExchangeError {
    /// Why access is refused, where the server says it (RFC 8945 5.2): by the response codes alone it does not.
    pub(crate) fn why_denied(&self) -> Option<Denied> {
        match self {
            Self::Signature(Invalid::Objection { error: 18, .. }) => Some(Denied::Clock),
            Self::Signature(Invalid::Objection { .. }) => Some(Denied::Credentials),
            _ => None,
        }
    }
}

/// What kind of error a response code is.
fn kind_of(rcode: Rcode) -> ErrorKind {
    match rcode {
        Rcode::REFUSED | Rcode::NOTAUTH => ErrorKind::Unauthorized,
        Rcode::NXDOMAIN => ErrorKind::NotFound,
        Rcode::YXDOMAIN | Rcode::YXRRSET | Rcode::NXRRSET => ErrorKind::Conflict,
        Rcode::FORMERR | Rcode::NOTZONE => ErrorKind::Invalid,
        Rcode::NOTIMP => ErrorKind::Unsupported,
        Rcode::SERVFAIL => ErrorKind::Unavailable,
        _ => ErrorKind::Protocol,
    }
}
