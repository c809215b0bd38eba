//! The UDP proxy: for each client a socket of its own towards the server, so that answers find their way back.

use std::collections::HashMap;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use super::{Direction, Fault, Switch, garble};
use crate::net::{free_port, loopback};

/// How often a waiting thread looks whether the proxy has ended.
const LOOK: Duration = Duration::from_millis(50);
/// The largest UDP datagram.
const DATAGRAM: usize = 65_535;

/// A UDP proxy on a loopback port. Ends on drop.
#[derive(Debug)]
pub struct UdpFault {
    addr: SocketAddr,
    switch: Arc<Switch>,
}

impl UdpFault {
    /// Starts a proxy in front of `upstream`, on a port of its own.
    ///
    /// # Panics
    /// When the port cannot be bound.
    pub fn start(upstream: SocketAddr) -> Self {
        Self::start_on(free_port(), upstream)
    }

    pub(super) fn start_on(port: u16, upstream: SocketAddr) -> Self {
        let addr = loopback(port);
        let socket = bind(addr).unwrap_or_else(|error| panic!("the fault proxy cannot bind {addr}: {error}"));
        let switch = Arc::new(Switch::new());
        let shared = Arc::clone(&switch);
        thread::spawn(move || serve(&Arc::new(socket), upstream, &shared));
        Self { addr, switch }
    }

    /// Where clients send.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Changes what happens to the traffic.
    pub fn set(&self, fault: Fault) {
        self.switch.set(fault);
    }
}

impl Drop for UdpFault {
    fn drop(&mut self) {
        self.switch.close();
    }
}

/// Passes requests to the server; each new client gets a thread that passes the answers back.
fn serve(socket: &Arc<UdpSocket>, upstream: SocketAddr, switch: &Arc<Switch>) {
    let mut clients: HashMap<SocketAddr, Arc<UdpSocket>> = HashMap::new();
    let mut buffer = vec![0; DATAGRAM];
    while !switch.is_closed() {
        let Ok((length, client)) = socket.recv_from(&mut buffer) else { continue };
        let towards = match clients.get(&client) {
            Some(towards) => Arc::clone(towards),
            None => match answer(socket, client, upstream, switch) {
                Ok(towards) => Arc::clone(clients.entry(client).or_insert(towards)),
                Err(_) => continue,
            },
        };
        let Some(fault) = switch.pass() else { break };
        if let Some(octets) = treat(fault, Direction::ToServer, &mut buffer[..length]) {
            let _ = towards.send(octets);
        }
    }
}

/// The socket towards the server for `client`, and a thread that passes what comes back on it.
fn answer(
    socket: &Arc<UdpSocket>,
    client: SocketAddr,
    upstream: SocketAddr,
    switch: &Arc<Switch>,
) -> io::Result<Arc<UdpSocket>> {
    let towards = bind(loopback(0))?;
    towards.connect(upstream)?;
    let towards = Arc::new(towards);
    let (from, to, switch) = (Arc::clone(&towards), Arc::clone(socket), Arc::clone(switch));
    thread::spawn(move || {
        let mut buffer = vec![0; DATAGRAM];
        while !switch.is_closed() {
            let Ok(length) = from.recv(&mut buffer) else { continue };
            let Some(fault) = switch.pass() else { break };
            if let Some(octets) = treat(fault, Direction::ToClient, &mut buffer[..length]) {
                let _ = to.send_to(octets, client);
            }
        }
    });
    Ok(towards)
}

/// What is left of a datagram; `None` when it is lost.
fn treat(fault: Fault, direction: Direction, octets: &mut [u8]) -> Option<&[u8]> {
    match fault {
        Fault::Drop => None,
        Fault::CutAfter(limit) if direction == Direction::ToClient => {
            let limit = usize::try_from(limit).unwrap_or(usize::MAX);
            Some(&octets[..octets.len().min(limit)])
        }
        Fault::Garbage if direction == Direction::ToClient => {
            garble(octets);
            Some(octets)
        }
        Fault::Pass | Fault::Stall | Fault::Delay(_) | Fault::CutAfter(_) | Fault::Garbage => Some(octets),
    }
}

/// A socket whose reads end after [`LOOK`].
fn bind(addr: SocketAddr) -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind(addr)?;
    socket.set_read_timeout(Some(LOOK))?;
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server that sends back what it receives.
    fn echo() -> SocketAddr {
        let socket = UdpSocket::bind(loopback(0)).unwrap();
        let addr = socket.local_addr().unwrap();
        thread::spawn(move || {
            let mut buffer = [0; 512];
            while let Ok((length, client)) = socket.recv_from(&mut buffer) {
                let _ = socket.send_to(&buffer[..length], client);
            }
        });
        addr
    }

    /// The answer to `hello` under `fault`, within `patience`.
    fn ask(client: &UdpSocket, proxy: &UdpFault, fault: Fault, patience: Duration) -> Option<Vec<u8>> {
        proxy.set(fault);
        client.set_read_timeout(Some(patience)).unwrap();
        client.send_to(b"hello", proxy.addr()).unwrap();
        let mut buffer = [0; 512];
        client.recv(&mut buffer).ok().map(|length| buffer[..length].to_vec())
    }

    #[test]
    fn each_fault_does_what_it_says() {
        let (long, short) = (Duration::from_secs(10), Duration::from_millis(100));
        let proxy = UdpFault::start(echo());
        let client = UdpSocket::bind(loopback(0)).unwrap();
        let check = |fault, patience, expected: Option<&[u8]>| {
            assert_eq!(ask(&client, &proxy, fault, patience).as_deref(), expected, "{fault:?}");
        };
        check(Fault::Pass, long, Some(b"hello"));
        check(Fault::CutAfter(2), long, Some(b"he"));
        check(Fault::Delay(Duration::from_millis(20)), long, Some(b"hello"));
        check(Fault::Drop, short, None);
        check(Fault::Garbage, long, Some(&b"hello".map(|octet| octet ^ 0xa5)));
        check(Fault::Stall, short, None);
        proxy.set(Fault::Pass);
        client.set_read_timeout(Some(long)).unwrap();
        assert_eq!(client.recv(&mut [0; 512]).unwrap(), 5, "what was held goes on its way");
    }
}
