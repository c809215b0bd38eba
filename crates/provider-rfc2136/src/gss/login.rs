//! A user of a realm, and the ticket that logging in gives.
//!
//! In: realm, user, password. Out: contexts that have begun. What must hold: the password leaves this module only towards the
//! Kerberos library; a KDC that said no is not asked again at once, since accounts are locked after a few wrong passwords.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use libgssapi::context::ClientCtx;
use libgssapi::credential::Cred;
use secrecy::{ExposeSecret, SecretString};
use tokio::task::spawn_blocking;
use tokio::time::timeout;
use zonewright_core::ErrorKind;

use super::error::{KerberosError, PATIENCE};
use super::krb5::{self, Said};
use crate::error::ExchangeError;

/// How long a KDC's no stands.
const PAUSE: Duration = Duration::from_mins(1);
/// A ticket is not used for new contexts in its last minutes.
const LEFT: Duration = Duration::from_mins(5);

/// A user. One for all servers of a provider.
pub(crate) struct Login {
    realm: String,
    user: String,
    password: SecretString,
    state: Mutex<State>,
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Login").field("realm", &self.realm).field("user", &self.user).finish_non_exhaustive()
    }
}

/// What came of the last login.
#[derive(Default)]
enum State {
    #[default]
    Out,
    In {
        credential: Cred,
        until: Instant,
    },
    Denied {
        said: Said,
        until: Instant,
    },
}

/// A context that has begun.
pub(super) struct Pending(pub(super) ClientCtx);

impl Login {
    /// `user@REALM`, for messages.
    pub(crate) fn title(&self) -> String {
        format!("{}@{}", self.user, self.realm)
    }

    /// A user who has not logged in yet. The realm is in capitals, as realms are.
    pub(crate) fn new(realm: &str, user: &str, password: SecretString) -> Self {
        Self { realm: realm.to_uppercase(), user: user.to_owned(), password, state: Mutex::default() }
    }

    /// Forgets the ticket, so that the next context begins with a login.
    pub(super) fn renew(&self) {
        let mut state = self.lock();
        if matches!(*state, State::In { .. }) {
            *state = State::Out;
        }
    }

    /// Begins a context with `service`, and returns the first token for it; logs in where there is no good ticket.
    pub(super) async fn begin(self: &Arc<Self>, service: &str) -> Result<(Pending, Vec<u8>), ExchangeError> {
        let (login, name) = (Arc::clone(self), service.to_owned());
        let work = move || {
            let credential = login.credential()?;
            let ticket = |said| KerberosError::Ticket { realm: login.realm.clone(), service: name.clone(), said };
            krb5::begin(credential, &name).map(|(context, token)| (Pending(context), token)).map_err(ticket)
        };
        let step = || format!("logging in at the KDC of realm {} and getting a ticket for {service}", self.realm);
        aside(work, step).await
    }

    fn credential(&self) -> Result<Cred, KerberosError> {
        let wrong = |said| KerberosError::Login { realm: self.realm.clone(), user: self.user.clone(), said };
        let now = Instant::now();
        match &*self.lock() {
            State::In { credential, until } if now < *until => return Ok(credential.clone()),
            State::Denied { said, until } if now < *until => return Err(wrong(said.clone())),
            _ => {}
        }
        let principal = format!("{}@{}", self.user.replace('\\', "\\\\").replace('@', "\\@"), self.realm);
        // The lock is not held meanwhile: a KDC may take its time.
        let logged_in = krb5::log_in(&principal, self.password.expose_secret());
        *self.lock() = match &logged_in {
            Ok(credential) => State::In { credential: credential.clone(), until: now + usable(credential) },
            Err(said) if said.is_no() => State::Denied { said: said.clone(), until: now + PAUSE },
            Err(_) => State::Out,
        };
        logged_in.map_err(wrong)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How long a new ticket is good for new contexts.
fn usable(credential: &Cred) -> Duration {
    credential.lifetime().map_or(Duration::ZERO, |left| left.saturating_sub(LEFT).max(left / 2))
}

impl Pending {
    /// Takes in the server's token. The second value is the next one for it, `None` if both sides agree.
    pub(super) async fn go_on(self, token: Vec<u8>, service: &str) -> Result<(Self, Option<Vec<u8>>), ExchangeError> {
        let name = service.to_owned();
        let work = move || {
            let Self(mut context) = self;
            let wrong = |said: Said| KerberosError::Negotiation {
                service: name.clone(),
                why: format!("the server's token: {said}"),
                kind: ErrorKind::Unauthorized,
            };
            krb5::go_on(&mut context, &token).map(|answer| (Self(context), answer)).map_err(wrong)
        };
        aside(work, || format!("negotiating with {service}")).await
    }
}

/// Runs what may wait on a thread of its own, for no longer than [`PATIENCE`].
async fn aside<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, KerberosError> + Send + 'static,
    step: impl Fn() -> String,
) -> Result<T, ExchangeError> {
    match timeout(PATIENCE, spawn_blocking(work)).await {
        Ok(Ok(done)) => Ok(done?),
        // The thread's end is not waited for: the library gives up by itself.
        Ok(Err(_)) | Err(_) => Err(KerberosError::Patience { step: step() }.into()),
    }
}
