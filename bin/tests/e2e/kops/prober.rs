//! Asks a server for the addresses of a name, a hundred times a second, and keeps count of answers without any.
//!
//! Several sockets take turns, each by the clock: a question that is late is asked all the same, and a slow answer holds up no other socket.

use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::{SOON, until};

/// Between two questions.
const PAUSE: Duration = Duration::from_millis(10);
/// Sockets that take turns.
const SOCKETS: u32 = 5;
/// Longest wait for an answer on loopback, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(5);

/// A prober at work.
#[derive(Debug)]
pub(super) struct Prober {
    stop: Vec<Sender<()>>,
    answers: Arc<AtomicUsize>,
    work: Vec<JoinHandle<Seen>>,
}

/// What was answered.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// Questions with an answer.
    pub(super) answers: usize,
    /// Answers without an address.
    pub(super) empty: usize,
    /// Questions without an answer.
    pub(super) silent: usize,
    /// The most addresses in one answer.
    pub(super) most: usize,
    /// How long it went on.
    time: Duration,
}

impl Seen {
    /// Questions in a second.
    pub(super) fn rate(&self) -> usize {
        (self.answers + self.silent) * 1_000 / usize::try_from(self.time.as_millis()).unwrap_or(usize::MAX).max(1)
    }

    fn and(self, other: &Self) -> Self {
        Self {
            answers: self.answers + other.answers,
            empty: self.empty + other.empty,
            silent: self.silent + other.silent,
            most: self.most.max(other.most),
            time: self.time.max(other.time),
        }
    }
}

impl Prober {
    /// Begins to ask for A records of `name`.
    pub(super) fn start(server: SocketAddr, name: &str) -> Self {
        let (question, answers, now) = (question(name), Arc::<AtomicUsize>::default(), Instant::now());
        let one = |at: u32| {
            let (stop, stopped) = channel();
            let (question, count, first) = (question.clone(), answers.clone(), now + PAUSE * at);
            (stop, std::thread::spawn(move || ask(server, &question, (first, now), &stopped, &count)))
        };
        let (stop, work) = (0..SOCKETS).map(one).unzip();
        Self { stop, answers, work }
    }

    /// Waits for so many more answers.
    #[track_caller]
    pub(super) fn sees(&self, more: usize) {
        let from = self.answers.load(Ordering::Relaxed);
        until("answers to the prober", SOON, || self.answers.load(Ordering::Relaxed) >= from + more);
    }

    /// Ends it.
    pub(super) fn end(self) -> Seen {
        drop(self.stop);
        let seen = self.work.into_iter().map(|work| work.join().expect("the prober ends"));
        seen.fold(Seen::default(), |all, one| all.and(&one))
    }
}

/// Asks at `first` and whenever the turn comes again, until it is stopped; what was due by then is asked.
fn ask(
    server: SocketAddr,
    question: &[u8],
    (first, began): (Instant, Instant),
    stopped: &Receiver<()>,
    count: &AtomicUsize,
) -> Seen {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    socket.connect(server).expect("a server");
    socket.set_read_timeout(Some(PATIENCE)).expect("a time limit");
    let (mut seen, mut next, mut number) = (Seen::default(), first, 0_u16);
    loop {
        let wait = next.saturating_duration_since(Instant::now());
        if !matches!(stopped.recv_timeout(wait), Err(RecvTimeoutError::Timeout)) && next > Instant::now() {
            break;
        }
        next += PAUSE * SOCKETS;
        number = number.wrapping_add(1);
        match answer(&socket, question, number) {
            None => seen.silent += 1,
            Some(addresses) => {
                seen.answers += 1;
                count.fetch_add(1, Ordering::Relaxed);
                seen.empty += usize::from(addresses == 0);
                seen.most = seen.most.max(addresses);
            }
        }
    }
    Seen { time: began.elapsed(), ..seen }
}

/// The number of records in the answer section; nothing if there is no answer.
fn answer(socket: &UdpSocket, question: &[u8], number: u16) -> Option<usize> {
    let id = number.to_be_bytes();
    let sent = [&id[..], question].concat();
    socket.send(&sent).ok()?;
    let mut buffer = [0; 1_500];
    loop {
        let length = socket.recv(&mut buffer).ok()?;
        let head = buffer.get(..length)?.first_chunk::<12>()?;
        if head[..2] == id {
            return Some(usize::from(u16::from_be_bytes([head[6], head[7]])));
        }
    }
}

/// A question for A records (RFC 1035, 4.1), without its id.
fn question(name: &str) -> Vec<u8> {
    let mut out = vec![0, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    for label in name.split('.') {
        out.push(u8::try_from(label.len()).expect("a short label"));
        out.extend(label.bytes());
    }
    out.extend([0, 0, 1, 0, 1]);
    out
}
