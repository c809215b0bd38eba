//! Loopback ports that no other test takes, in this process or another.

use std::fs::{File, OpenOptions};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, UdpSocket};
use std::sync::{Mutex, PoisonError};

/// Below what Linux hands out to outgoing connections (32768 and up): such a port would be taken from under a server
/// that restarts.
const PORTS: std::ops::Range<u16> = 15_000..32_000;

/// The reservations of this process: they last as long as it does, so that a stopped server finds its port free when it
/// starts again.
static RESERVED: Mutex<Vec<File>> = Mutex::new(Vec::new());

/// A loopback port that is free for both TCP and UDP, and that stays reserved for this process until it ends.
///
/// # Panics
/// When no port is left.
pub fn free_port() -> u16 {
    let span = usize::from(PORTS.end - PORTS.start);
    // Processes start at different places, so that they rarely try the same port.
    let first = std::process::id() as usize % span;
    PORTS.cycle().skip(first).take(span).find(|port| reserve(*port)).expect("a free loopback port")
}

/// 127.0.0.1 with this port.
pub(crate) fn loopback(port: u16) -> SocketAddr {
    (Ipv4Addr::LOCALHOST, port).into()
}

/// Takes the port if no other test holds it and nothing listens there. The lock goes with the process, even a killed
/// one.
fn reserve(port: u16) -> bool {
    let mut reserved = RESERVED.lock().unwrap_or_else(PoisonError::into_inner);
    // One folder for each user: another user's files cannot be locked.
    let folder = std::env::temp_dir().join(format!("zonewright-ports-{}", rustix::process::getuid().as_raw()));
    let _ = std::fs::create_dir_all(&folder);
    let lock = OpenOptions::new().create(true).append(true).open(folder.join(port.to_string()));
    let Ok(lock) = lock else { return false };
    if lock.try_lock().is_err() || !is_free(port) {
        return false;
    }
    reserved.push(lock);
    true
}

fn is_free(port: u16) -> bool {
    TcpListener::bind(loopback(port)).is_ok() && UdpSocket::bind(loopback(port)).is_ok()
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
}
