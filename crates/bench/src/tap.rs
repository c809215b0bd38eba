//! A proxy in front of a DNS server that counts the requests that pass, UDP and TCP on one port.
//!
//! In: datagrams, and streams of messages with a length before each. Out: the same, and how many requests of which kind
//! there were. Made for one client.

use std::collections::BTreeMap;
use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use zonewright_testkit::free_port;

/// Numbers of requests, by kind.
pub(crate) type Counts = BTreeMap<String, u64>;

/// The proxy. Its threads end with the process.
#[derive(Debug)]
pub(crate) struct Tap {
    addr: SocketAddr,
    counts: Arc<Mutex<Counts>>,
}

impl Tap {
    pub(crate) fn start(upstream: SocketAddr) -> io::Result<Self> {
        let addr = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port()));
        let counts = Arc::new(Mutex::new(Counts::new()));
        let (listener, socket) = (TcpListener::bind(addr)?, UdpSocket::bind(addr)?);
        let (tcp, udp) = (Arc::clone(&counts), Arc::clone(&counts));
        thread::spawn(move || streams(&listener, upstream, &tcp));
        thread::spawn(move || datagrams(&socket, upstream, &udp));
        Ok(Self { addr, counts })
    }

    /// Where the client connects.
    pub(crate) fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// What has passed since the last call.
    pub(crate) fn take(&self) -> Counts {
        std::mem::take(&mut *self.counts.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn count(counts: &Mutex<Counts>, message: &[u8]) {
    let mut counts = counts.lock().unwrap_or_else(PoisonError::into_inner);
    *counts.entry(kind(message)).or_default() += 1;
}

/// `UPDATE`, or the type that a query asks for (RFC 1035, section 4.1; RFC 2136, section 2.2).
fn kind(message: &[u8]) -> String {
    let opcode = message.get(2).map_or(0, |octet| octet >> 3 & 15);
    if opcode == 5 {
        return "UPDATE".to_owned();
    }
    let mut at = 12;
    while let Some(length) = message.get(at).filter(|length| **length > 0) {
        at += usize::from(*length) + 1;
    }
    match message.get(at + 1..at + 3) {
        Some([0, 6]) => "SOA".to_owned(),
        Some([0, 251]) => "IXFR".to_owned(),
        Some([0, 252]) => "AXFR".to_owned(),
        Some([high, low]) => format!("TYPE{}", u16::from_be_bytes([*high, *low])),
        _ => "malformed".to_owned(),
    }
}

/// One request after the other: each waits for its answer.
fn datagrams(socket: &UdpSocket, upstream: SocketAddr, counts: &Arc<Mutex<Counts>>) {
    let mut buffer = vec![0; usize::from(u16::MAX)];
    let mut clients: BTreeMap<SocketAddr, Arc<UdpSocket>> = BTreeMap::new();
    while let Ok((length, client)) = socket.recv_from(&mut buffer) {
        count(counts, &buffer[..length]);
        let towards = match clients.get(&client) {
            Some(towards) => Arc::clone(towards),
            None => match answers(socket, client, upstream) {
                Ok(towards) => Arc::clone(clients.entry(client).or_insert(towards)),
                Err(_) => continue,
            },
        };
        let _ = towards.send(&buffer[..length]);
    }
}

/// The socket towards the server for `client`, and a thread that passes back what comes on it.
fn answers(socket: &UdpSocket, client: SocketAddr, upstream: SocketAddr) -> io::Result<Arc<UdpSocket>> {
    let towards = Arc::new(UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?);
    towards.connect(upstream)?;
    let (from, back) = (Arc::clone(&towards), socket.try_clone()?);
    thread::spawn(move || {
        let mut buffer = vec![0; usize::from(u16::MAX)];
        while let Ok(length) = from.recv(&mut buffer) {
            let _ = back.send_to(&buffer[..length], client);
        }
    });
    Ok(towards)
}

fn streams(listener: &TcpListener, upstream: SocketAddr, counts: &Arc<Mutex<Counts>>) {
    for client in listener.incoming().flatten() {
        let counts = Arc::clone(counts);
        thread::spawn(move || join(client, upstream, &counts));
    }
}

fn join(mut client: TcpStream, upstream: SocketAddr, counts: &Mutex<Counts>) -> io::Result<()> {
    let mut server = TcpStream::connect(upstream)?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (mut from, mut back) = (server.try_clone()?, client.try_clone()?);
    thread::spawn(move || io::copy(&mut from, &mut back));
    let mut message = Vec::new();
    loop {
        let mut length = [0; 2];
        client.read_exact(&mut length)?;
        message.clear();
        message.extend(length);
        message.resize(2 + usize::from(u16::from_be_bytes(length)), 0);
        client.read_exact(&mut message[2..])?;
        count(counts, &message[2..]);
        server.write_all(&message)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_distinguished() {
        let message = |opcode: u8, rtype: [u8; 2]| {
            let mut octets = vec![0, 1, opcode << 3, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, b'a', 0];
            octets.extend(rtype);
            octets.extend([0, 1]);
            octets
        };
        assert_eq!(kind(&message(5, [0, 6])), "UPDATE");
        assert_eq!(kind(&message(0, [0, 6])), "SOA");
        assert_eq!(kind(&message(0, [0, 251])), "IXFR");
        assert_eq!(kind(&message(0, [1, 1])), "TYPE257");
        assert_eq!(kind(&[0; 4]), "malformed");
    }
}
