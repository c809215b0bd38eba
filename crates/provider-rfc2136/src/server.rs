//! One server: the way to it, and who asks it.
//!
//! In: unsigned requests without an id. Out: checked answers. Queries are signed with what the identity has for them, updates
//! with what it has agreed on with this server; where the server has lost that, an update is signed anew and sent once more.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use zonewright_core::{DnsName, Error, ErrorKind};

use crate::error::ExchangeError;
use crate::identity::Identity;
use crate::link::{self, Link, SendFailure};
use crate::stream::Tls;
use crate::transfer::Transferred;
use crate::tsig::Signer;
use crate::wire::Answer;

/// A server.
#[derive(Debug)]
pub(crate) struct Server {
    link: Link,
    identity: Identity,
    case: AtomicU8,
    /// When it last gave no difference where the whole zone came.
    no_changes: Mutex<Option<Instant>>,
    /// Zones of which it was logged that more than their own records came.
    outside: Mutex<BTreeSet<DnsName>>,
}

/// How long a server that gave no difference is asked for the whole zone at once.
const NO_CHANGES: Duration = Duration::from_hours(1);

/// Whether a server compares the letters of texts in prerequisites.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Case {
    /// Not found out yet.
    Unknown,
    /// It does.
    Exact,
    /// It takes upper and lower case for the same.
    Folded,
}

impl Server {
    /// A server by its host, without a connection. `messages` counts the requests that are sent.
    pub(crate) fn new(host: String, port: u16, tls: Option<Tls>, identity: Identity, messages: Arc<AtomicU64>) -> Self {
        let link = Link::new(host, port, tls, identity.overhead(), messages);
        let case = AtomicU8::new(Case::Unknown as u8);
        Self { link, identity, case, no_changes: Mutex::default(), outside: Mutex::default() }
    }

    /// Whether it is worth asking for what changed in a zone, rather than for the whole zone.
    pub(crate) fn gives_changes(&self) -> bool {
        self.no_changes.lock().unwrap_or_else(PoisonError::into_inner).is_none_or(|at| at.elapsed() >= NO_CHANGES)
    }

    /// A question for what changed brought nothing, and one for the whole zone did.
    pub(crate) fn gave_no_changes(&self) {
        *self.no_changes.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }

    /// What is known of how it compares letters.
    pub(crate) fn case(&self) -> Case {
        let known = self.case.load(Ordering::Relaxed);
        [Case::Exact, Case::Folded].into_iter().find(|case| *case as u8 == known).unwrap_or(Case::Unknown)
    }

    /// Keeps what was found out about how it compares letters.
    pub(crate) fn learn(&self, case: Case) {
        self.case.store(case as u8, Ordering::Relaxed);
    }

    /// Host and port for messages.
    pub(crate) fn label(&self) -> String {
        self.link.label()
    }

    /// Bytes that the signature adds to a request.
    pub(crate) fn overhead(&self) -> usize {
        self.identity.overhead()
    }

    /// Whether an answer to a query shows that the server knows what updates are signed with.
    pub(crate) fn knows_by_query(&self) -> bool {
        self.identity.for_query().is_some()
    }

    /// A fault as core's error. Where the server denies a right, it says who asked.
    pub(crate) fn error(&self, fault: ExchangeError, operation: &'static str, zone: &DnsName) -> Error {
        let who = self.identity.title().filter(|_| fault.kind() == ErrorKind::Unauthorized);
        let who = who.map_or_else(String::new, |who| format!("{who}, "));
        let context = format!("server {}, {who}zone {zone}: {fault}", self.label());
        let error = fault.why_denied().into_iter().fold(Error::new(fault.kind(), operation, context), Error::denied);
        error.caused_by(fault)
    }

    /// Sends a request and returns the answer to it, whatever its response code.
    pub(crate) async fn exchange(&self, request: &[u8]) -> Result<Answer, SendFailure> {
        if link::is_query(request) {
            return self.link.exchange(request, self.identity.for_query().as_ref()).await;
        }
        let signer = self.signer(request).await?;
        let done = self.link.exchange(request, signer.as_ref()).await;
        if !self.identity.is_worth_another(signer.as_ref(), &done) {
            return done;
        }
        let signer = self.signer(request).await?;
        let mut done = self.link.exchange(request, signer.as_ref()).await;
        self.identity.is_worth_another(signer.as_ref(), &done);
        if let Ok(answer) = &mut done {
            // A copy that was lost on the way to the first refusal may have been carried out.
            answer.repeated = true;
        }
        done
    }

    /// What the update `request` is signed with. Whatever goes wrong, the update itself was not sent.
    async fn signer(&self, request: &[u8]) -> Result<Option<Arc<dyn Signer>>, SendFailure> {
        self.identity.for_update(&self.link, request).await.map_err(|fault| SendFailure {
            fault,
            sent: false,
            repeated: false,
        })
    }

    /// Sends many queries over one stream at once and returns their answers in the order of the queries.
    pub(crate) async fn exchange_all(&self, queries: &[Vec<u8>]) -> Result<Vec<Answer>, ExchangeError> {
        self.link.exchange_all(queries, self.identity.for_query().as_ref()).await
    }

    /// Transfers a zone, or what changed in it since a serial number, over a stream of its own.
    pub(crate) async fn transfer(&self, zone: &DnsName, since: Option<u32>) -> Result<Transferred, ExchangeError> {
        let (transferred, outside) = self.link.transfer(zone, since, self.identity.for_query().as_ref()).await?;
        if let Some(name) = outside.filter(|_| self.sent_more(zone)) {
            let server = self.label();
            tracing::info!(server, %zone, %name, "a DNS server sends records outside of the zone along; they are left out");
        }
        Ok(transferred)
    }

    /// Whether it was not known yet that it sends more than the zone.
    fn sent_more(&self, zone: &DnsName) -> bool {
        self.outside.lock().unwrap_or_else(PoisonError::into_inner).insert(zone.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_server_that_gave_no_changes_is_asked_for_them_after_an_hour() {
        let server = Server::new("192.0.2.1".to_owned(), 53, None, Identity::Nobody, Arc::default());
        assert!(server.gives_changes());
        server.gave_no_changes();
        tokio::time::advance(Duration::from_mins(59)).await;
        assert!(!server.gives_changes());
        tokio::time::advance(Duration::from_mins(1)).await;
        assert!(server.gives_changes());
    }
    #[test]
    fn records_outside_of_a_zone_are_logged_once() {
        let server = Server::new("192.0.2.1".to_owned(), 53, None, Identity::Nobody, Arc::default());
        let [one, other] = ["one.test", "other.test"].map(|text| DnsName::parse(text).unwrap());
        assert_eq!([&one, &one, &other, &one].map(|zone| server.sent_more(zone)), [true, false, true, false]);
    }
}
