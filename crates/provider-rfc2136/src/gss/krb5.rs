//! The Kerberos library of the system: the only place that calls it before there is a context.
//!
//! In: names, a password, tokens. Out: credentials, tokens, and the library's own words. Every function here may wait for the
//! network, so [`login`](super::login) calls them on threads that may.

use std::fmt;

use libgssapi::context::{ClientCtx, CtxFlags};
use libgssapi::credential::{Cred, CredUsage};
use libgssapi::error::Error;
use libgssapi::name::Name;
use libgssapi::oid::{GSS_MECH_KRB5, GSS_NT_KRB5_PRINCIPAL, OidSet};

/// What both sides have to agree to: each proves itself to the other, and messages are signed and counted.
const FLAGS: CtxFlags =
    CtxFlags::GSS_C_MUTUAL_FLAG.union(CtxFlags::GSS_C_INTEG_FLAG).union(CtxFlags::GSS_C_REPLAY_FLAG);

/// The first of the protocol's error numbers as libraries count them, and how many there are (RFC 4120 7.5.9).
const FIRST: i64 = -1_765_328_384;
const COUNT: i64 = 128;

/// What the library said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Said {
    text: String,
    minor: u32,
}

impl fmt::Display for Said {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl From<Error> for Said {
    /// The library keeps the words of its last error for each thread, so they are taken at once.
    fn from(error: Error) -> Self {
        let text = error.to_string();
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        Self { text, minor: error.minor }
    }
}

impl Said {
    /// Whether a KDC answered, and said no. Else it could not be asked, or has an error of its own.
    pub(crate) fn is_no(&self) -> bool {
        #[expect(clippy::cast_possible_wrap, reason = "the library's numbers are negative")]
        let number = i64::from(self.minor as i32) - FIRST;
        // 29: the service is not available; 60: an error that has no number.
        (0..COUNT).contains(&number) && number != 29 && number != 60
    }
}

/// Logs in: `principal` is `user@REALM`.
pub(super) fn log_in(principal: &str, password: &str) -> Result<Cred, Said> {
    let name = Name::new(principal.as_bytes(), Some(GSS_NT_KRB5_PRINCIPAL))?;
    let kerberos = OidSet::singleton(GSS_MECH_KRB5)?;
    let credential = Cred::acquire_with_password(Some(&name), password, None, CredUsage::Initiate, Some(&kerberos))?;
    // Some libraries log in only when the credential is first looked at.
    credential.lifetime()?;
    Ok(credential)
}

/// Begins a context with `service`, and returns the first token for it. A service without a realm is looked for in the user's
/// own one, which may send on to another; its name is taken as it is given, without asking the DNS for a better one.
pub(super) fn begin(credential: Cred, service: &str) -> Result<(ClientCtx, Vec<u8>), Said> {
    let name = Name::new(format!("{service}@").as_bytes(), Some(GSS_NT_KRB5_PRINCIPAL))?;
    let mut context = ClientCtx::new(Some(credential), name, FLAGS, Some(GSS_MECH_KRB5));
    let token = context.step(None, None)?;
    Ok((context, token.map(|token| token.to_vec()).unwrap_or_default()))
}

/// Takes in a token of the other side. `None` if there is nothing more to be said.
pub(super) fn go_on(context: &mut ClientCtx, token: &[u8]) -> Result<Option<Vec<u8>>, Said> {
    let answer = context.step(Some(token), None)?;
    Ok(answer.map(|token| token.to_vec()))
}

/// Whether the context has what was asked for.
pub(super) fn keeps_its_word(agreed: CtxFlags) -> bool {
    agreed.contains(CtxFlags::GSS_C_MUTUAL_FLAG | CtxFlags::GSS_C_INTEG_FLAG)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers of krb5_err.h, as the library hands them out.
    #[test]
    fn a_kdc_says_no_or_cannot_be_asked() {
        for (number, expected) in [
            (-1_765_328_378, true),  // no such user
            (-1_765_328_377, true),  // no such service
            (-1_765_328_366, true),  // locked
            (-1_765_328_360, true),  // wrong password
            (-1_765_328_353, true),  // wrong password, seen on this side
            (-1_765_328_347, true),  // clocks
            (-1_765_328_355, false), // 29: the service is not available
            (-1_765_328_324, false), // 60: some error
            (-1_765_328_228, false), // no KDC answers
            (-1_765_328_230, false), // no KDC is known
            (0, false),
            (2, false),
        ] {
            #[expect(clippy::cast_sign_loss, reason = "the library hands them out so")]
            let said = Said { text: String::new(), minor: number as u32 };
            assert_eq!(said.is_no(), expected, "{number}");
        }
    }
}
