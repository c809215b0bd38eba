//! Loopback ports that no other test takes, in this process or another.

use std::fs::{File, OpenOptions};
use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, UdpSocket};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Below what the kernel hands out to outgoing connections (32768 and up on Linux, 16000 and up in some sandboxes): such a port
/// would be taken from under a server that restarts.
const PORTS: std::ops::Range<u16> = 5_000..16_000;

/// How long a port that was just closed may still be held: a program that is being started has copies of all sockets until it
/// runs.
const HELD: Duration = Duration::from_secs(10);

/// How many ports are reserved at a time: the kernel's tables take milliseconds to read.
const AT_A_TIME: usize = 8;

/// The ports of this process.
static RESERVED: Mutex<Reserved> = Mutex::new(Reserved { locks: Vec::new(), spare: Vec::new() });

struct Reserved {
    /// They last as long as the process does, so that a stopped server finds its port free when it starts again.
    locks: Vec<File>,
    /// Those that nobody has asked for yet.
    spare: Vec<u16>,
}

/// A loopback port that is free for both TCP and UDP, and that stays reserved for this process until it ends.
///
/// # Panics
/// When no port is left.
pub fn free_port() -> u16 {
    let mut reserved = RESERVED.lock().unwrap_or_else(PoisonError::into_inner);
    if reserved.spare.is_empty() {
        let sockets = Sockets::read();
        let span = usize::from(PORTS.end - PORTS.start);
        // Processes start at different places, so that they rarely try the same port.
        let first = std::process::id() as usize % span;
        let candidates = PORTS.cycle().skip(first).take(span);
        let free = candidates.filter_map(|port| Some((port, reserve(port, &sockets)?)));
        for (port, lock) in free.take(AT_A_TIME) {
            reserved.spare.push(port);
            reserved.locks.push(lock);
        }
    }
    reserved.spare.pop().expect("a free loopback port")
}

/// 127.0.0.1 with this port.
pub(crate) fn loopback(port: u16) -> SocketAddr {
    (Ipv4Addr::LOCALHOST, port).into()
}

/// Takes the port if no other test holds it and nothing listens there. The lock goes with the process, even a killed
/// one.
fn reserve(port: u16, sockets: &Sockets) -> Option<File> {
    // One folder for each user: another user's files cannot be locked.
    let folder = std::env::temp_dir().join(format!("zonewright-ports-{}", rustix::process::getuid().as_raw()));
    let _ = std::fs::create_dir_all(&folder);
    let lock = OpenOptions::new().create(true).append(true).open(folder.join(port.to_string())).ok()?;
    (lock.try_lock().is_ok() && sockets.leave(port)).then_some(lock)
}

/// Listens at `addr`, and waits a while for those who still hold it.
///
/// # Errors
/// What the last try said.
pub(crate) fn listen(addr: SocketAddr) -> std::io::Result<TcpListener> {
    let until = Instant::now() + HELD;
    loop {
        match TcpListener::bind(addr) {
            Err(error) if error.kind() == ErrorKind::AddrInUse && Instant::now() < until => {
                thread::sleep(Duration::from_millis(10));
            }
            other => return other,
        }
    }
}

/// The kernel's tables of sockets (proc_pid_net(5)), as they were a moment ago. The kernel is asked, and nothing is bound where that
/// can be helped: a program that another thread starts in that moment would hold a copy of the socket, and the port would be taken for
/// whoever asked.
struct Sockets(Vec<String>);

impl Sockets {
    fn read() -> Self {
        let table = |name| std::fs::read_to_string(format!("/proc/net/{name}")).ok();
        Self(["tcp", "tcp6", "udp", "udp6"].into_iter().filter_map(table).collect())
    }

    /// Whether nobody has the port.
    fn leave(&self, port: u16) -> bool {
        if self.0.is_empty() {
            return TcpListener::bind(loopback(port)).is_ok() && UdpSocket::bind(loopback(port)).is_ok();
        }
        !self.0.iter().any(|table| is_listed(table, port))
    }
}

/// Whether such a table has a socket with this local port: `0: 0100007F:1F90 00000000:0000 0A ...`.
fn is_listed(table: &str, port: u16) -> bool {
    let local = |line: &str| {
        let (_, port) = line.split_whitespace().nth(1)?.rsplit_once(':')?;
        u16::from_str_radix(port, 16).ok()
    };
    table.lines().skip(1).filter_map(local).any(|listed| listed == port)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_port_is_given_twice() {
        let mut ports: Vec<u16> = (0..50).map(|_| free_port()).collect();
        ports.sort_unstable();
        ports.dedup();
        assert_eq!(ports.len(), 50);
    }

    #[test]
    fn a_port_that_somebody_has_is_not_free() {
        let tcp = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let udp = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        for port in [tcp.local_addr(), udp.local_addr()].map(|addr| addr.unwrap().port()) {
            assert!(!Sockets::read().leave(port), "{port}");
            assert!(!Sockets(Vec::new()).leave(port), "{port}");
        }
        assert!(Sockets::read().leave(free_port()));
    }

    #[test]
    fn the_kernels_table_names_ports() {
        let table = "  sl  local_address rem_address   st\n   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000\n";
        assert!(is_listed(table, 0x1F90));
        assert!(!is_listed(table, 0));
    }

    #[test]
    fn a_port_that_is_given_back_is_waited_for() {
        let held = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let addr = held.local_addr().unwrap();
        let waiting = thread::spawn(move || listen(addr).map(drop));
        drop(held);
        waiting.join().unwrap().unwrap();
    }
}
