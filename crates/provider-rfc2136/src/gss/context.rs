//! An established security context as a signer of messages (RFC 3645 5).
//!
//! In: bytes. Out: codes over them (RFC 2743's message integrity codes), and whether a code is the server's. Only
//! giving a context up touches the network.

use std::fmt;
use std::io::{self, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use libgssapi::context::{ClientCtx, SecurityContext};
use zonewright_core::DnsName;

use super::krb5::{Said, keeps_its_word};
use super::login::Pending;
use super::tkey::{self, ALGORITHM};
use crate::tsig::{Invalid, Signer, Signing, now};

/// How long giving up a context may hold up the end of the program.
const HURRY: Duration = Duration::from_millis(200);

/// A context, under the name that the server knows it by.
pub(super) struct Context {
    name: DnsName,
    /// Counts messages, so only one at a time can use it.
    inner: Mutex<ClientCtx>,
    renew: Instant,
    /// Where the message goes that gives it up; absent where only TLS gets there.
    address: Option<SocketAddr>,
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Context {
    /// A context that both sides agreed on; `promised` is how long the server keeps it, zero if it did not say.
    ///
    /// # Errors
    /// What it lacks.
    pub(super) fn new(
        name: DnsName,
        pending: Pending,
        promised: Duration,
        address: Option<SocketAddr>,
    ) -> Result<Self, String> {
        let Pending(inner) = pending;
        let said = |error| Said::from(error).to_string();
        if !keeps_its_word(inner.flags().map_err(said)?) {
            return Err("the server does not prove who it is, or signs nothing".to_owned());
        }
        let lifetime = inner.lifetime().map_err(said)?;
        Ok(Self { name, renew: Instant::now() + usable(lifetime, promised), inner: Mutex::new(inner), address })
    }

    /// Asks the server to forget it, and does not wait for the answer: a server that does not hear this forgets it later.
    pub(super) fn give_up(self: Arc<Self>) {
        let Some(address) = self.address else { return };
        let mut message = tkey::deletion(&self.name, now());
        let Ok(_) = Signing::sign(self, &mut message, now()) else { return };
        if let Err(error) = post(address, &message) {
            tracing::debug!(%address, %error, "a security context could not be given up");
        }
    }

    /// Whether it is good for another message.
    pub(super) fn is_fresh(&self, now: Instant) -> bool {
        now < self.renew
    }

    fn lock(&self) -> MutexGuard<'_, ClientCtx> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sends one message over a stream.
fn post(address: SocketAddr, message: &[u8]) -> io::Result<()> {
    let length = u16::try_from(message.len()).map_err(io::Error::other)?;
    let mut stream = TcpStream::connect_timeout(&address, HURRY)?;
    stream.set_write_timeout(Some(HURRY))?;
    stream.write_all(&[&length.to_be_bytes(), message].concat())
}

/// How long a context is used: a tenth less than the shorter of what both sides give it, since the answer has to arrive in
/// time, too.
fn usable(lifetime: Duration, promised: Duration) -> Duration {
    let shorter = if promised.is_zero() { lifetime } else { lifetime.min(promised) };
    shorter.saturating_sub(shorter / 10)
}

impl Signer for Context {
    fn name(&self) -> &DnsName {
        &self.name
    }

    fn algorithm(&self) -> DnsName {
        DnsName::parse(ALGORITHM).expect("the algorithm's name is a name")
    }

    fn code(&self, parts: &[&[u8]]) -> Result<Vec<u8>, Invalid> {
        let code = self.lock().get_mic(&parts.concat());
        code.map(|code| code.to_vec()).map_err(|error| Invalid::Unable { said: Said::from(error).to_string() })
    }

    fn matches(&self, parts: &[&[u8]], code: &[u8]) -> bool {
        self.lock().verify_mic(&parts.concat(), code).is_ok()
    }

    /// A copy that gets lost and comes later would be a repetition to the server; and servers of this kind are asked by streams
    /// in practice.
    fn allows_datagrams(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_context_is_renewed_before_either_side_ends_it() {
        let check = |lifetime: u64, promised: u64, expected: u64| {
            let used = usable(Duration::from_secs(lifetime), Duration::from_secs(promised));
            assert_eq!(used, Duration::from_secs(expected), "{lifetime} {promised}");
        };
        check(36_000, 36_000, 32_400);
        check(36_000, 3_600, 3_240);
        check(3_600, 36_000, 3_240);
        check(3_600, 0, 3_240);
        check(10, 86_400, 9);
        check(0, 3_600, 0);
    }
}
