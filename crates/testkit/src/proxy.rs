//! A proxy in front of a server, for faults that can be switched on and off while a test runs. One thread for each
//! direction of each connection; made for loopback and for a handful of clients.

mod tcp;
mod udp;

use std::net::SocketAddr;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

pub use tcp::TcpFault;
pub use udp::UdpFault;

use crate::net::free_port;

/// What the proxy does to the traffic, from now on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Passes everything.
    Pass,
    /// Takes everything and passes nothing, until the next change: what was held then goes on its way.
    Stall,
    /// TCP: closes a connection as soon as the server has answered more than this many octets on it, after passing that
    /// many. With 0 the request arrives and the answer is lost. UDP: cuts each answer off after this many octets.
    CutAfter(u64),
    /// TCP: breaks what is open and refuses what is new. UDP: loses every packet, in both directions.
    Drop,
    /// Passes everything this much later, in each direction.
    Delay(Duration),
    /// Passes requests, and turns every octet of the answers into another.
    Garbage,
}

/// Starts a proxy for both UDP and TCP on one port, as a DNS server has.
///
/// # Panics
/// As [`TcpFault::start`].
pub fn both(upstream: SocketAddr) -> (TcpFault, UdpFault) {
    let port = free_port();
    (TcpFault::start_on(port, upstream), UdpFault::start_on(port, upstream))
}

/// Which way octets go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Direction {
    ToServer,
    ToClient,
}

/// The fault in force, and the end of it all.
#[derive(Debug)]
struct Switch {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Clone, Copy)]
struct State {
    fault: Fault,
    closed: bool,
}

impl Switch {
    fn new() -> Self {
        Self { state: Mutex::new(State { fault: Fault::Pass, closed: false }), changed: Condvar::new() }
    }

    fn set(&self, fault: Fault) {
        self.lock().fault = fault;
        self.changed.notify_all();
    }

    fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_all();
    }

    fn is_closed(&self) -> bool {
        self.lock().closed
    }

    /// The fault to act on now: waits out stalls and delays. `None` once the proxy is closed.
    fn pass(&self) -> Option<Fault> {
        let mut state = self.lock();
        while !state.closed && state.fault == Fault::Stall {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if let Fault::Delay(delay) = state.fault {
            // A closed proxy waits no longer.
            let waited = self.changed.wait_timeout_while(state, delay, |state| !state.closed);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        (!state.closed).then_some(state.fault)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Turns every octet into another one.
fn garble(octets: &mut [u8]) {
    for octet in octets {
        *octet ^= 0xa5;
    }
}
