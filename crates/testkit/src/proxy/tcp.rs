//! The TCP proxy.

use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::Duration;

use super::{Direction, Fault, Switch, garble};
use crate::net::{self, free_port, loopback};

/// How often the listener is asked for new connections.
const ACCEPT_PAUSE: Duration = Duration::from_millis(2);

/// A TCP proxy on a loopback port. Ends on drop.
#[derive(Debug)]
pub struct TcpFault {
    addr: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    switch: Switch,
    upstream: SocketAddr,
    /// `None` while connections are refused.
    listener: Mutex<Option<TcpListener>>,
    /// The connections that may still be open, for breaking them.
    connections: Mutex<Vec<Weak<Connection>>>,
    accepted: AtomicUsize,
}

/// A client's connection and the one to the server that belongs to it; both close with the last thread that copies
/// between them.
#[derive(Debug)]
struct Connection {
    client: TcpStream,
    server: TcpStream,
}

impl TcpFault {
    /// Starts a proxy in front of `upstream`, on a port of its own.
    ///
    /// # Panics
    /// When the port cannot be listened on.
    pub fn start(upstream: SocketAddr) -> Self {
        Self::start_on(free_port(), upstream)
    }

    pub(super) fn start_on(port: u16, upstream: SocketAddr) -> Self {
        let addr = loopback(port);
        let shared = Arc::new(Shared {
            switch: Switch::new(),
            upstream,
            listener: Mutex::new(Some(listen(addr))),
            connections: Mutex::new(Vec::new()),
            accepted: AtomicUsize::new(0),
        });
        let acceptor = Arc::clone(&shared);
        thread::spawn(move || acceptor.accept());
        Self { addr, shared }
    }

    /// Where clients connect.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Changes what happens to the traffic, on open connections too.
    ///
    /// # Panics
    /// When the port cannot be listened on again after [`Fault::Drop`].
    pub fn set(&self, fault: Fault) {
        self.shared.switch.set(fault);
        let mut listener = lock(&self.shared.listener);
        if fault == Fault::Drop {
            *listener = None;
            self.shared.break_connections();
        } else if listener.is_none() {
            *listener = Some(listen(self.addr));
        }
    }

    /// How many connections were accepted so far.
    pub fn accepted(&self) -> usize {
        self.shared.accepted.load(Ordering::SeqCst)
    }
}

impl Drop for TcpFault {
    fn drop(&mut self) {
        self.shared.switch.close();
        *lock(&self.shared.listener) = None;
        self.shared.break_connections();
    }
}

impl Shared {
    fn accept(self: Arc<Self>) {
        while !self.switch.is_closed() {
            let accepted = lock(&self.listener).as_ref().and_then(|listener| listener.accept().ok());
            match accepted {
                Some((client, _)) => self.connect(client),
                None => thread::sleep(ACCEPT_PAUSE),
            }
        }
    }

    /// Joins the client with the server; where the server refuses, the client's connection is closed.
    fn connect(self: &Arc<Self>, client: TcpStream) {
        self.accepted.fetch_add(1, Ordering::SeqCst);
        let Ok(connection) = Connection::open(client, self.upstream) else { return };
        let connection = Arc::new(connection);
        let mut connections = lock(&self.connections);
        connections.retain(|connection| connection.strong_count() > 0);
        connections.push(Arc::downgrade(&connection));
        for direction in [Direction::ToServer, Direction::ToClient] {
            let (shared, connection) = (Arc::clone(self), Arc::clone(&connection));
            thread::spawn(move || shared.copy(&connection, direction));
        }
    }

    /// Passes octets one way until either end closes. The end of one direction is passed on; a broken one breaks both.
    fn copy(&self, connection: &Connection, direction: Direction) {
        let (mut from, mut to) = connection.ends(direction);
        let mut buffer = vec![0; 16 * 1024];
        let mut passed = 0;
        loop {
            let read = from.read(&mut buffer).unwrap_or(0);
            let Some(fault) = self.switch.pass() else { break };
            if read == 0 {
                let _ = to.shutdown(Shutdown::Write);
                return;
            }
            let (octets, cut) = treat(fault, direction, &mut buffer[..read], passed);
            if to.write_all(octets).is_err() || cut {
                break;
            }
            passed += octets.len() as u64;
        }
        connection.shut();
    }

    fn break_connections(&self) {
        for connection in lock(&self.connections).drain(..) {
            if let Some(connection) = connection.upgrade() {
                connection.shut();
            }
        }
    }
}

impl Connection {
    fn open(client: TcpStream, upstream: SocketAddr) -> io::Result<Self> {
        // The listener's mode is not inherited everywhere.
        client.set_nonblocking(false)?;
        client.set_nodelay(true)?;
        let server = TcpStream::connect(upstream)?;
        server.set_nodelay(true)?;
        Ok(Self { client, server })
    }

    /// Where octets of this direction come from and go to.
    fn ends(&self, direction: Direction) -> (&TcpStream, &TcpStream) {
        match direction {
            Direction::ToServer => (&self.client, &self.server),
            Direction::ToClient => (&self.server, &self.client),
        }
    }

    fn shut(&self) {
        for stream in [&self.client, &self.server] {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

/// What is left of `octets` under `fault`, after `passed` octets of the same direction, and whether the connection ends
/// with them.
fn treat(fault: Fault, direction: Direction, octets: &mut [u8], passed: u64) -> (&[u8], bool) {
    match fault {
        Fault::Drop => (&[], true),
        Fault::CutAfter(limit) if direction == Direction::ToClient => {
            let rest = usize::try_from(limit.saturating_sub(passed)).unwrap_or(usize::MAX);
            let cut = octets.len() > rest;
            (&octets[..octets.len().min(rest)], cut)
        }
        Fault::Garbage if direction == Direction::ToClient => {
            garble(octets);
            (octets, false)
        }
        Fault::Pass | Fault::Stall | Fault::Delay(_) | Fault::CutAfter(_) | Fault::Garbage => (octets, false),
    }
}

fn listen(addr: SocketAddr) -> TcpListener {
    let listener = net::listen(addr).unwrap_or_else(|error| panic!("the fault proxy cannot listen on {addr}: {error}"));
    listener.set_nonblocking(true).expect("a listener that does not block");
    listener
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    /// A server that sends back what it receives, on each connection until it ends.
    fn echo() -> SocketAddr {
        let listener = TcpListener::bind(loopback(0)).unwrap();
        let addr = listener.local_addr().unwrap();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                thread::spawn(move || io::copy(&mut stream.try_clone().unwrap(), &mut &stream));
            }
        });
        addr
    }

    fn client(proxy: &TcpFault) -> TcpStream {
        let stream = TcpStream::connect(proxy.addr()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        stream
    }

    /// Sends `request` and reads as many octets, or up to the end of the connection.
    fn ask(stream: &mut TcpStream, request: &[u8]) -> io::Result<Vec<u8>> {
        stream.write_all(request)?;
        let mut answer = Vec::new();
        stream.take(request.len() as u64).read_to_end(&mut answer)?;
        Ok(answer)
    }

    #[test]
    fn octets_pass() {
        let proxy = TcpFault::start(echo());
        assert_eq!(ask(&mut client(&proxy), b"hello").unwrap(), b"hello");
        assert_eq!(proxy.accepted(), 1);
    }

    #[test]
    fn the_end_of_a_request_is_passed_on() {
        let proxy = TcpFault::start(echo());
        let mut stream = client(&proxy);
        stream.write_all(b"hello").unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert_eq!(answer, "hello");
    }

    #[test]
    fn an_answer_is_cut() {
        let check = |limit, expected: &[u8]| {
            let proxy = TcpFault::start(echo());
            proxy.set(Fault::CutAfter(limit));
            assert_eq!(ask(&mut client(&proxy), b"hello").unwrap(), expected, "cut after {limit}");
        };
        check(0, b"");
        check(3, b"hel");
        check(5, b"hello");
    }

    #[test]
    fn a_stalled_answer_comes_later() {
        let proxy = TcpFault::start(echo());
        proxy.set(Fault::Stall);
        let mut stream = client(&proxy);
        stream.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        assert!(ask(&mut stream, b"hello").is_err());
        proxy.set(Fault::Pass);
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let mut answer = [0; 5];
        stream.read_exact(&mut answer).unwrap();
        assert_eq!(&answer, b"hello");
    }

    #[test]
    fn dropped_connections_break_and_new_ones_are_refused() {
        let proxy = TcpFault::start(echo());
        let mut stream = client(&proxy);
        ask(&mut stream, b"hello").unwrap();
        proxy.set(Fault::Drop);
        assert!(ask(&mut stream, b"hello").map_or(true, |answer| answer.is_empty()));
        // A program that another test starts at this moment holds a copy of the listener until it runs.
        let refused = || TcpStream::connect(proxy.addr()).err().map(|error| error.kind());
        assert_eq!(crate::poll(Duration::from_secs(10), refused), Some(io::ErrorKind::ConnectionRefused));
        proxy.set(Fault::Pass);
        assert_eq!(ask(&mut client(&proxy), b"hello").unwrap(), b"hello");
    }

    #[test]
    fn octets_are_delayed_both_ways() {
        let proxy = TcpFault::start(echo());
        let delay = Duration::from_millis(40);
        proxy.set(Fault::Delay(delay));
        let started = Instant::now();
        assert_eq!(ask(&mut client(&proxy), b"hello").unwrap(), b"hello");
        assert!(started.elapsed() >= 2 * delay);
    }

    #[test]
    fn answers_become_garbage() {
        let proxy = TcpFault::start(echo());
        proxy.set(Fault::Garbage);
        let answer = ask(&mut client(&proxy), b"hello").unwrap();
        assert!(answer.len() == 5 && answer != b"hello", "{answer:?}");
    }

    #[test]
    fn a_refusing_server_closes_the_connection() {
        let proxy = TcpFault::start(loopback(free_port()));
        let answer = ask(&mut client(&proxy), b"hello");
        assert!(answer.map_or(true, |answer| answer.is_empty()));
    }
}
