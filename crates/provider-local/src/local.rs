//! The running server.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hickory_server::Server;
use tokio::net::{TcpListener, UdpSocket};
use tokio::sync::watch;
use zonewright_core::error::{Error, ErrorKind, Result};
use zonewright_core::zone::InstanceId;
use zonewright_core::{DnsName, RecordKey, RecordSet, Zone};

use crate::calls::Calls;
use crate::config::LocalConfig;
use crate::server::Handler;
use crate::state::State;

/// How long a connection may be idle.
const TCP_TIMEOUT: Duration = Duration::from_secs(30);

/// Most messages that wait to be sent on a connection: a transfer puts all of its messages there at once.
const TCP_QUEUE: usize = 65_536;

/// Attempts to find a port that is free for both TCP and UDP.
const PORT_ATTEMPTS: usize = 16;

/// An authoritative DNS server with its zones. Dropping it closes its sockets.
pub struct Local {
    pub(crate) instance: InstanceId,
    pub(crate) state: Arc<State>,
    addr: SocketAddr,
    /// Its tasks end when it is dropped.
    _server: Server<Handler>,
}

impl Local {
    /// Reads the zone files, binds the sockets and answers from then on. Runs on the tokio runtime of the caller.
    ///
    /// # Errors
    /// If the folder cannot be read or the address is not free. A zone file that is broken or cannot be read is no error
    /// here: its zone is not served, and reading it through the provider names the file, and the line.
    pub async fn start(config: LocalConfig) -> Result<Arc<Self>> {
        let state = Arc::new(State::open(&config)?);
        let (udp, tcp) = bind(config.listen).await?;
        let addr = tcp.local_addr().map_err(|e| busy(config.listen, e))?;
        let mut server = Server::new(Handler(state.clone()));
        server.register_socket(udp);
        server.register_listener(tcp, TCP_TIMEOUT, TCP_QUEUE);
        tracing::info!(%addr, zones = state.zones().len(), "local DNS server listens");
        Ok(Arc::new(Self { instance: config.instance, state, addr, _server: server }))
    }

    /// Where it answers, UDP and TCP.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// A zone by its name; `None` if it has none of that name.
    pub fn find_zone(&self, name: &DnsName) -> Option<Zone> {
        self.state.zones().contains(name).then(|| self.zone_named(name))
    }

    /// Puts a record set in place, replacing one of the same key, as another writer would. Any type with a number is taken.
    ///
    /// # Errors
    /// If there is no such zone, or the set breaks the rules of a zone.
    pub fn insert(&self, zone: &DnsName, set: RecordSet) -> Result<()> {
        self.state.put(zone, &set.key.clone(), Some(set))
    }

    /// Takes a record set out, as another writer would.
    ///
    /// # Errors
    /// As [`Local::insert`].
    pub fn remove(&self, zone: &DnsName, key: &RecordKey) -> Result<()> {
        self.state.put(zone, key, None)
    }

    /// Everything that a zone holds but its SOA, in a stable order; counts as no call.
    ///
    /// # Errors
    /// If there is no such zone or its file is broken.
    pub fn dump(&self, zone: &DnsName) -> Result<Vec<RecordSet>> {
        self.state.view(zone, |table| table.sets().cloned().collect())
    }

    /// The serial of a zone's SOA.
    ///
    /// # Errors
    /// As [`Local::dump`].
    pub fn serial(&self, zone: &DnsName) -> Result<u32> {
        self.state.view(zone, |table| table.soa.serial)
    }

    /// How often each operation was called.
    pub fn calls(&self) -> Calls {
        self.state.calls()
    }

    /// A number that rises with each change of any zone, whoever made it.
    pub fn subscribe(&self) -> watch::Receiver<u64> {
        self.state.subscribe()
    }
}

impl fmt::Debug for Local {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Local").field("instance", &self.instance).field("addr", &self.addr).finish_non_exhaustive()
    }
}

/// Binds both sockets to one port.
async fn bind(listen: SocketAddr) -> Result<(UdpSocket, TcpListener)> {
    let mut last = io::Error::from(io::ErrorKind::AddrInUse);
    for _ in 0..PORT_ATTEMPTS {
        let tcp = TcpListener::bind(listen).await.map_err(|e| busy(listen, e))?;
        let addr = tcp.local_addr().map_err(|e| busy(listen, e))?;
        match UdpSocket::bind(addr).await {
            Ok(udp) => return Ok((udp, tcp)),
            Err(error) => last = error,
        }
        if listen.port() != 0 {
            break;
        }
    }
    Err(busy(listen, last))
}

fn busy(listen: SocketAddr, error: io::Error) -> Error {
    let hint = match error.kind() {
        io::ErrorKind::AddrInUse => " is in use by another program; choose another port, or port 0 for a free one",
        io::ErrorKind::PermissionDenied => " may not be used; ports below 1024 need a privilege",
        _ => "",
    };
    Error::new(ErrorKind::Configuration, "listen for DNS questions", format!("--local-listen={listen}{hint}"))
        .caused_by(error)
}
