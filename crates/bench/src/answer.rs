//! Questions for the address of a name, over one UDP socket: as fast as a resolver could ask, without a process for each.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

/// Between two questions for a name that is not there yet: short beside what is measured, long enough to leave the server
/// and the daemon their share of a small machine.
const PAUSE: Duration = Duration::from_micros(250);
/// A lost datagram is asked again.
const PATIENCE: Duration = Duration::from_secs(1);
/// Type A and class IN.
const A_IN: [u8; 4] = [0, 1, 0, 1];

/// Asks one server.
#[derive(Debug)]
pub(crate) struct Asker {
    socket: UdpSocket,
    id: u16,
}

impl Asker {
    pub(crate) fn new(server: SocketAddr) -> io::Result<Self> {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        socket.connect(server)?;
        socket.set_read_timeout(Some(PATIENCE))?;
        Ok(Self { socket, id: 0 })
    }

    /// The first address of `name`, if it has one.
    pub(crate) fn address(&mut self, name: &str) -> io::Result<Option<Ipv4Addr>> {
        self.id = self.id.wrapping_add(1);
        let question = question(self.id, name);
        let mut buffer = [0; 1500];
        loop {
            self.socket.send(&question)?;
            let Ok(length) = self.socket.recv(&mut buffer) else { continue };
            let reply = buffer.get(..length).unwrap_or_default();
            if reply.starts_with(&self.id.to_be_bytes()) {
                return Ok(first_address(reply, question.len()));
            }
        }
    }

    /// Waits until `name` has the address `wanted`, or any where none is given; returns the moment at which it was seen.
    pub(crate) fn until(&mut self, name: &str, wanted: Option<Ipv4Addr>, within: Duration) -> Result<Instant> {
        let deadline = Instant::now() + within;
        loop {
            let found = self.address(name)?;
            let now = Instant::now();
            if found.is_some() && (wanted.is_none() || found == wanted) {
                return Ok(now);
            }
            if now > deadline {
                bail!("{name} has {found:?} after {within:?}; expected {wanted:?}");
            }
            sleep(PAUSE);
        }
    }
}

/// A query for the address of a name (RFC 1035, section 4.1).
fn question(id: u16, name: &str) -> Vec<u8> {
    let mut octets = id.to_be_bytes().to_vec();
    octets.extend([0, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
    for label in name.split('.') {
        octets.push(u8::try_from(label.len()).expect("benchmarks ask for short labels"));
        octets.extend(label.as_bytes());
    }
    octets.push(0);
    octets.extend(A_IN);
    octets
}

/// The address in the first record of a reply; the reply repeats the question, and names its owner by a pointer.
fn first_address(reply: &[u8], question: usize) -> Option<Ipv4Addr> {
    let (answers, record) = (reply.get(6..8)?, reply.get(question..)?);
    if answers == [0, 0] || record.get(2..6)? != A_IN {
        return None;
    }
    let data: [u8; 4] = record.get(12..16)?.try_into().ok()?;
    Some(data.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_address_is_read() {
        let question = question(7, "a.example");
        assert_eq!(question.len(), 12 + 11 + 4);
        let mut reply = question.clone();
        reply[7] = 1;
        reply.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 192, 0, 2, 1]);
        assert_eq!(first_address(&reply, question.len()), Some(Ipv4Addr::new(192, 0, 2, 1)));
        assert_eq!(first_address(&question, question.len()), None, "no answer");
        assert_eq!(first_address(&reply[..reply.len() - 1], question.len()), None, "cut off");
    }
}
