//! Signing by Kerberos (RFC 3645): the security context of one server, negotiated when it is needed and kept.
//!
//! In: an UPDATE message that is to be sent. Out: a [`Signer`] that this server has agreed to. What must hold: a context is
//! used only when both sides have proven who they are; at most one is negotiated at a time, however many updates wait for it;
//! one that the server has lost is never used again.

mod context;
mod error;
mod krb5;
mod login;
mod tkey;

use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use tokio::sync::Mutex as Turn;
use zonewright_core::{DnsName, ErrorKind};

use self::context::Context;
use crate::error::ExchangeError;
use crate::link::Link;
use crate::soa;
use crate::tsig::{Invalid, Signer, Signing, now};
use crate::wire;

pub(crate) use self::error::KerberosError;
pub(crate) use self::login::Login;

/// Tokens that a negotiation may take (Kerberos takes one each way).
const ROUNDS: usize = 10;

/// A Kerberos user towards one server.
#[derive(Debug)]
pub(crate) struct Kerberos {
    login: Arc<Login>,
    current: Mutex<Option<Arc<Context>>>,
    /// Held by the one that negotiates; what it came to when it last failed.
    turn: Turn<Option<Failed>>,
}

/// A negotiation that came to nothing.
#[derive(Debug)]
struct Failed {
    at: Instant,
    error: KerberosError,
}

impl Kerberos {
    /// Octets that a signature adds to a request, at most: a key name of 64, the algorithm's, the record's fixed fields and a
    /// code of RFC 4121 or RFC 4757.
    pub(crate) const OVERHEAD: usize = 64 + 10 + 26 + 128;

    /// A user who has agreed on nothing with the server yet.
    pub(crate) fn new(login: Arc<Login>) -> Self {
        Self { login, current: Mutex::default(), turn: Turn::default() }
    }

    /// The user with his realm, for messages.
    pub(crate) fn user(&self) -> String {
        self.login.title()
    }

    /// The same user towards another server: one login does for both.
    pub(crate) fn towards_another(&self) -> Self {
        Self::new(Arc::clone(&self.login))
    }

    /// What `request` is to be signed with: the context that is there, or a new one.
    pub(crate) async fn signer(&self, link: &Link, request: &[u8]) -> Result<Arc<dyn Signer>, ExchangeError> {
        if let Some(context) = self.current() {
            return Ok(context);
        }
        let asked = Instant::now();
        let mut turn = self.turn.lock().await;
        if let Some(context) = self.current() {
            return Ok(context);
        }
        // Whoever waited while another one failed would fail as well, and hold up the next.
        if let Some(Failed { error, .. }) = turn.as_ref().filter(|failed| asked < failed.at) {
            return Err(error.clone().into());
        }
        let service = service(link, request).await?;
        let context = negotiate(&self.login, link, &service).await.inspect_err(|fault| {
            *turn = Failed::of(fault);
        })?;
        *self.lock() = Some(Arc::clone(&context));
        Ok(context)
    }

    /// Drops the context of this name, if it is still the one in use.
    pub(crate) fn forget(&self, name: &DnsName) {
        let mut current = self.lock();
        if current.as_ref().is_some_and(|context| context.name() == name) {
            *current = None;
        }
    }

    fn current(&self) -> Option<Arc<Context>> {
        self.lock().clone().filter(|context| context.is_fresh(Instant::now()))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Arc<Context>>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Failed {
    /// What counts for every service; the next one may be named after another zone.
    fn of(fault: &ExchangeError) -> Option<Self> {
        match fault {
            ExchangeError::Kerberos(
                error
                @ (KerberosError::Login { .. } | KerberosError::Patience { .. } | KerberosError::Transport { .. }),
            ) => Some(Self { at: Instant::now(), error: error.clone() }),
            _ => None,
        }
    }
}

impl Drop for Kerberos {
    /// The server need not keep what nobody will use again.
    fn drop(&mut self) {
        if let Some(context) = self.current() {
            context.give_up();
        }
    }
}

/// The service that the server is: `DNS/` and its host name. Where only an address is known, which is nobody's name in most
/// realms, the name of the zone's primary server, as `nsupdate -g` does.
async fn service(link: &Link, request: &[u8]) -> Result<String, ExchangeError> {
    let host = link.host();
    if host.parse::<IpAddr>().is_err() {
        return Ok(format!("DNS/{}", host.to_ascii_lowercase()));
    }
    let zone = wire::zone_of(request).ok_or(ExchangeError::Malformed)?;
    let primary = primary(link, &zone).await;
    let no_name = |fault: ExchangeError| KerberosError::NoName { zone: zone.clone(), why: fault.to_string() };
    Ok(format!("DNS/{}", primary.map_err(no_name)?))
}

/// The name of the zone's primary server. One message.
async fn primary(link: &Link, zone: &DnsName) -> Result<DnsName, ExchangeError> {
    let answer = link.exchange(&soa::query(zone), None).await.map_err(|failure| failure.fault)?;
    soa::part(&answer, zone, wire::soa_primary)
}

/// Agrees with a server on a context. One DNS exchange over a stream, mostly; the KDC is asked for what is not known yet.
async fn negotiate(login: &Arc<Login>, link: &Link, service: &str) -> Result<Arc<Context>, ExchangeError> {
    let talked = talk(login, link, service).await;
    if let Err(ExchangeError::Kerberos(KerberosError::Negotiation { .. })) = &talked {
        // Perhaps the service has new keys, and the ticket at hand is for the old ones.
        login.renew();
    }
    talked
}

async fn talk(login: &Arc<Login>, link: &Link, service: &str) -> Result<Arc<Context>, ExchangeError> {
    let name = key_name();
    let wrong = |why: String, kind| KerberosError::Negotiation { service: service.to_owned(), why, kind };
    let (mut pending, mut token) = login.begin(service).await?;
    for _ in 0..ROUNDS {
        let request = tkey::negotiation(&name, now(), &token);
        let octets = link.converse(&request).await.map_err(|fault| cut_off(service, &fault))?;
        let reply = tkey::Reply::read(&octets, &request, &name)
            .map_err(|refusal| wrong(refusal.to_string(), refusal.kind()))?;
        let (next, answer) = pending.go_on(reply.token, service).await?;
        if let Some(answer) = answer {
            (pending, token) = (next, answer);
            continue;
        }
        let address = link.open_address().await;
        let context = Context::new(name, next, reply.lifetime, address)
            .map(Arc::new)
            .map_err(|why| wrong(why, ErrorKind::Protocol))?;
        prove(&context, &octets).map_err(|invalid| wrong(invalid.to_string(), ErrorKind::Protocol))?;
        return Ok(context);
    }
    Err(wrong(format!("no agreement after {ROUNDS} messages"), ErrorKind::Protocol).into())
}

/// The negotiation did not get through.
fn cut_off(service: &str, fault: &ExchangeError) -> KerberosError {
    let causes = std::iter::successors(Some(fault as &dyn std::error::Error), |error| error.source());
    let why = causes.map(ToString::to_string).collect::<Vec<_>>().join(": ");
    KerberosError::Transport { service: service.to_owned(), why, kind: fault.kind() }
}

/// The last answer has to be signed with what it brought about (RFC 3645 3.1.3.2).
fn prove(context: &Arc<Context>, answer: &[u8]) -> Result<(), Invalid> {
    let mut signing = Signing::unasked(Arc::clone(context) as Arc<dyn Signer>);
    signing.check(answer, now())?;
    signing.finish()
}

/// A name that no other context has, on this server or another.
fn key_name() -> DnsName {
    DnsName::parse(&format!("{:032x}.zonewright", rand::random::<u128>())).expect("hexadecimal digits make a label")
}
