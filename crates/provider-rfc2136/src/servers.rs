//! All servers of a provider: which one is asked first, and which one next when it fails.

use std::sync::atomic::{AtomicUsize, Ordering};

use futures::future::BoxFuture;
use zonewright_core::{DnsName, Error};

use crate::error::ExchangeError;
use crate::server::Server;

/// Which server is asked first (`--rfc2136-load-balancing-strategy`). The others follow in the order of the flags.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Strategy {
    /// The one that worked last.
    Disabled,
    /// The next one each time.
    RoundRobin,
    /// Any.
    Random,
}

/// The servers, never none.
#[derive(Debug)]
pub(crate) struct Servers {
    all: Vec<Server>,
    strategy: Strategy,
    /// The one that worked last, or whose turn is next.
    cursor: AtomicUsize,
}

impl Servers {
    /// `all` must not be empty.
    pub(crate) fn new(all: Vec<Server>, strategy: Strategy) -> Self {
        Self { all, strategy, cursor: AtomicUsize::new(0) }
    }

    /// The servers in the order in which they are to be tried now, with their positions.
    pub(crate) fn order(&self) -> impl Iterator<Item = (usize, &Server)> {
        let start = match self.strategy {
            Strategy::Disabled => self.cursor.load(Ordering::Relaxed),
            Strategy::RoundRobin => self.cursor.fetch_add(1, Ordering::Relaxed),
            Strategy::Random => rand::random_range(0..self.all.len().max(1)),
        };
        let count = self.all.len();
        (0..count).filter_map(move |i| {
            let position = start.wrapping_add(i) % count;
            self.all.get(position).map(|server| (position, server))
        })
    }

    /// As [`Servers::order`]; where the servers take turns, the one with this label goes first, if there is one: a view is kept
    /// current from where it was read.
    fn order_for(&self, first: Option<&str>) -> impl Iterator<Item = (usize, &Server)> {
        let first = first.filter(|_| self.strategy != Strategy::Disabled);
        let mut order: Vec<(usize, &Server)> = self.order().collect();
        order.sort_by_key(|(_, server)| first.is_none_or(|label| server.label() != label));
        order.into_iter()
    }

    /// Says how the server at `position` did, for the next choice.
    pub(crate) fn note_result(&self, position: usize, worked: bool) {
        if self.strategy == Strategy::Disabled {
            self.cursor.store(if worked { position } else { position + 1 }, Ordering::Relaxed);
        }
    }

    /// Octets that a signature adds to a request.
    pub(crate) fn overhead(&self) -> usize {
        self.all.iter().map(Server::overhead).max().unwrap_or(0)
    }

    /// Reads from the first server that can answer, at best from the one with the label `from`. Where none can, the error is
    /// that of the first one, and names what each of them said.
    pub(crate) async fn read<'a, T>(
        &'a self,
        operation: &'static str,
        zone: &DnsName,
        from: Option<&str>,
        ask: impl Fn(&'a Server) -> BoxFuture<'a, Result<T, ExchangeError>>,
    ) -> Result<T, Error> {
        let mut failed: Option<Error> = None;
        for (position, server) in self.order_for(from) {
            let fault = match ask(server).await {
                Ok(answer) => {
                    self.note_result(position, true);
                    return Ok(answer);
                }
                Err(fault) => fault,
            };
            self.note_result(position, false);
            let error = server.error(fault, operation, zone);
            // Where it is the only one, whoever asked says it.
            tracing::debug!(error = %error.chain(), "a DNS server failed");
            failed = Some(join(failed, error));
        }
        Err(failed.unwrap_or_else(|| unconfigured(operation)))
    }
}

/// The first error, with what the later one says added.
pub(crate) fn join(first: Option<Error>, later: Error) -> Error {
    match first {
        Some(mut first) => {
            first.context = format!("{}; {}", first.context, later.context);
            first
        }
        None => later,
    }
}

/// What remains to be said without servers; the configuration does not allow it.
pub(crate) fn unconfigured(operation: &'static str) -> Error {
    Error::new(zonewright_core::ErrorKind::Configuration, operation, "--rfc2136-host names no server")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Arc;

    use super::*;
    use crate::identity::Identity;

    fn servers(strategy: Strategy) -> Servers {
        let one = |port| Server::new("192.0.2.1".to_owned(), port, None, Identity::Nobody, Arc::default());
        Servers::new((1..=3).map(one).collect(), strategy)
    }

    fn order(servers: &Servers) -> Vec<usize> {
        servers.order().map(|(position, _)| position).collect()
    }

    #[test]
    fn disabled_stays_with_what_works() {
        let servers = servers(Strategy::Disabled);
        assert_eq!(order(&servers), [0, 1, 2]);
        servers.note_result(0, false);
        assert_eq!(order(&servers), [1, 2, 0]);
        servers.note_result(1, false);
        servers.note_result(2, true);
        assert_eq!(order(&servers), [2, 0, 1]);
        servers.note_result(2, false);
        assert_eq!(order(&servers), [0, 1, 2]);
    }

    #[test]
    fn round_robin_takes_turns() {
        let servers = servers(Strategy::RoundRobin);
        let firsts: Vec<usize> = (0..4).map(|_| order(&servers)[0]).collect();
        assert_eq!(firsts, [0, 1, 2, 0]);
    }

    #[test]
    fn random_begins_with_each() {
        let servers = servers(Strategy::Random);
        let orders: Vec<Vec<usize>> = (0..200).map(|_| order(&servers)).collect();
        assert_eq!(orders.iter().map(|o| o[0]).collect::<BTreeSet<_>>().len(), 3);
        assert!(orders.iter().all(|o| o.iter().collect::<BTreeSet<_>>().len() == 3), "each server once");
    }
}
