//! Who this host is to a server, and so what its requests are signed with.
//!
//! In: a request that is about to be sent, and what became of it. Out: the [`Signer`] for it, or none. What must hold: nothing
//! outside of this module asks what kind of identity it is.

use std::sync::Arc;

use domain::base::iana::Rcode;
use zonewright_core::DnsName;

use crate::error::ExchangeError;
#[cfg(feature = "gss-tsig")]
use crate::gss::Kerberos;
use crate::link::{Link, SendFailure};
use crate::tsig::{Invalid, MaybeSigner, Signer, TsigKey};
use crate::wire::Answer;

/// An identity towards one server.
#[derive(Debug)]
pub(crate) enum Identity {
    /// Nothing is signed (`--rfc2136-insecure`).
    Nobody,
    /// Everything is signed with a key.
    TsigKey(Arc<TsigKey>),
    /// Updates are signed with what was negotiated with the server; it answers the rest to anybody (`--rfc2136-gss-tsig`).
    #[cfg(feature = "gss-tsig")]
    Kerberos(Kerberos),
}

/// What an exchange says of the signer that was used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SignerState {
    /// Nothing against it.
    Good,
    /// It cannot be relied on from now on.
    Doubtful,
    /// The server does not know it, or it knows no more codes: nothing came of the request.
    Lost,
}

impl Identity {
    /// The same identity towards another server.
    pub(crate) fn towards_another(&self) -> Self {
        match self {
            Self::Nobody => Self::Nobody,
            Self::TsigKey(key) => Self::TsigKey(Arc::clone(key)),
            #[cfg(feature = "gss-tsig")]
            Self::Kerberos(kerberos) => Self::Kerberos(kerberos.towards_another()),
        }
    }

    /// Who it is, in a word or two for messages; `None` if nobody in particular.
    pub(crate) fn title(&self) -> Option<String> {
        match self {
            Self::Nobody => None,
            Self::TsigKey(key) => Some(format!("key {}", key.name)),
            #[cfg(feature = "gss-tsig")]
            Self::Kerberos(kerberos) => Some(format!("Kerberos user {}", kerberos.user())),
        }
    }

    /// Octets that a signature adds to a request, at most.
    pub(crate) fn overhead(&self) -> usize {
        match self {
            Self::Nobody => 0,
            Self::TsigKey(key) => key.overhead(),
            #[cfg(feature = "gss-tsig")]
            Self::Kerberos(_) => Kerberos::OVERHEAD,
        }
    }

    /// What queries and transfers are signed with.
    pub(crate) fn for_query(&self) -> Option<Arc<dyn Signer>> {
        match self {
            Self::Nobody => None,
            Self::TsigKey(key) => Some(Arc::clone(key) as Arc<dyn Signer>),
            #[cfg(feature = "gss-tsig")]
            Self::Kerberos(_) => None,
        }
    }

    /// What the UPDATE message `request` over `link` is signed with.
    ///
    /// # Errors
    /// What went wrong where it has to be negotiated first; nothing was sent then that counts.
    #[cfg_attr(not(feature = "gss-tsig"), expect(clippy::unused_async, reason = "a key needs no negotiation"))]
    pub(crate) async fn for_update(
        &self,
        link: &Link,
        request: &[u8],
    ) -> Result<Option<Arc<dyn Signer>>, ExchangeError> {
        match self {
            #[cfg(feature = "gss-tsig")]
            Self::Kerberos(kerberos) => kerberos.signer(link, request).await.map(Some),
            _ => {
                let _ = (link, request);
                Ok(self.for_query())
            }
        }
    }

    /// Takes in how an update went that `used` signed. `true`: nothing came of it, and another try with a new signer is worth
    /// it.
    pub(crate) fn is_worth_another(&self, used: MaybeSigner<'_>, done: &Result<Answer, SendFailure>) -> bool {
        let standing = standing(done);
        let dropped = standing != SignerState::Good && used.is_some_and(|used| self.forget(used.name()));
        dropped && standing == SignerState::Lost
    }

    /// Makes sure that the signer of this name is not used again; `false` if there is never another one.
    fn forget(&self, name: &DnsName) -> bool {
        match self {
            #[cfg(feature = "gss-tsig")]
            Self::Kerberos(kerberos) => {
                kerberos.forget(name);
                true
            }
            _ => {
                let _ = name;
                false
            }
        }
    }
}

/// RFC 8945 3: a server that does not know the key, or knows another one by this name, answers NOTAUTH with BADKEY or BADSIG,
/// and cannot sign that.
fn standing(done: &Result<Answer, SendFailure>) -> SignerState {
    let invalid = match done {
        Ok(answer) if answer.rcode() == Rcode::NOTAUTH && !answer.trusted => return SignerState::Lost,
        Err(SendFailure { fault: ExchangeError::Signature(invalid), .. }) => invalid,
        _ => return SignerState::Good,
    };
    match invalid {
        Invalid::Objection { error: 16 | 17, .. } | Invalid::Unable { .. } => SignerState::Lost,
        Invalid::Objection { .. } => SignerState::Good,
        _ => SignerState::Doubtful,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(rcode: u8, trusted: bool) -> Result<Answer, SendFailure> {
        Answer::new(vec![0, 0, 0xa8, rcode, 0, 0, 0, 0, 0, 0, 0, 0], trusted)
            .map_err(|_| ExchangeError::Malformed.into())
    }

    fn invalid(invalid: Invalid) -> Result<Answer, SendFailure> {
        Err(ExchangeError::Signature(invalid).into())
    }

    fn objection(error: u16) -> Result<Answer, SendFailure> {
        invalid(Invalid::Objection { error, server_time: None })
    }

    #[test]
    fn what_an_answer_says_of_the_signer() {
        use SignerState::{Doubtful, Good, Lost};
        for (done, expected) in [
            (answer(0, true), Good),
            (answer(5, true), Good),
            (answer(5, false), Good),
            (answer(9, true), Good),
            (answer(9, false), Lost),
            (objection(16), Lost),
            (objection(17), Lost),
            (objection(18), Good),
            (invalid(Invalid::Unable { said: String::new() }), Lost),
            (invalid(Invalid::Signature), Doubtful),
            (invalid(Invalid::Unsigned), Doubtful),
            (Err(ExchangeError::Timeout(std::time::Duration::ZERO).into()), Good),
        ] {
            assert_eq!(standing(&done), expected, "{done:?}");
        }
    }
}
