//! How many connections the pages have at once, and how long one may stay.
//!
//! In: a listener. Out: connections that break when the head of a request, or the next part of an answer, takes too long, or when nothing
//! is asked for a while. Where there are too many, the oldest one gives way, so that a probe is answered in any case: it is the newest.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::serve::Listener;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::Sleep;
use tokio_util::sync::{CancellationToken, DropGuard, WaitForCancellationFutureOwned};

/// Most connections at once.
const CONNECTIONS: usize = 64;
/// For the head of a request, and for the other side to take the next part of an answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// Between two requests of a connection: whoever scrapes keeps his open.
const IDLE: Duration = Duration::from_mins(2);

/// A listener whose connections are bounded.
#[derive(Debug)]
pub(super) struct BoundedListener {
    inner: TcpListener,
    /// The oldest first.
    open: VecDeque<Open>,
}

/// A connection, as the listener knows it.
#[derive(Debug)]
struct Open {
    give_way: CancellationToken,
    ended: CancellationToken,
}

impl BoundedListener {
    pub(super) fn new(inner: TcpListener) -> Self {
        Self { inner, open: VecDeque::new() }
    }

    /// Makes room for one more.
    fn admit<I>(&mut self, inner: I) -> Bounded<I> {
        self.open.retain(|open| !open.ended.is_cancelled());
        while self.open.len() >= CONNECTIONS {
            let Some(oldest) = self.open.pop_front() else { break };
            oldest.give_way.cancel();
        }
        let open = Open { give_way: CancellationToken::new(), ended: CancellationToken::new() };
        let bounded = Bounded::new(inner, open.give_way.clone(), open.ended.clone());
        self.open.push_back(open);
        bounded
    }
}

impl Listener for BoundedListener {
    type Io = Bounded<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        let (stream, address) = Listener::accept(&mut self.inner).await;
        (self.admit(stream), address)
    }

    fn local_addr(&self) -> io::Result<Self::Addr> {
        self.inner.local_addr()
    }
}

/// A connection that keeps time. Answers are made at once, so whatever is waited for is up to the other side.
#[derive(Debug)]
pub(super) struct Bounded<I> {
    inner: I,
    give_way: Pin<Box<WaitForCancellationFutureOwned>>,
    reading: Pin<Box<Sleep>>,
    writing: Option<Pin<Box<Sleep>>>,
    /// The last request was answered.
    idle: bool,
    _ended: DropGuard,
}

impl<I> Bounded<I> {
    fn new(inner: I, give_way: CancellationToken, ended: CancellationToken) -> Self {
        Self {
            inner,
            give_way: Box::pin(give_way.cancelled_owned()),
            reading: Box::pin(tokio::time::sleep(PATIENCE)),
            writing: None,
            idle: false,
            _ended: ended.drop_guard(),
        }
    }

    fn reads_within(&mut self, idle: bool) {
        self.idle = idle;
        self.reading = Box::pin(tokio::time::sleep(if idle { IDLE } else { PATIENCE }));
    }

    /// Lets a write through, or breaks off when nothing of it was taken for too long.
    fn timed<T>(&mut self, cx: &mut Context<'_>, result: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if result.is_ready() {
            self.writing = None;
            return result;
        }
        let writing = self.writing.get_or_insert_with(|| Box::pin(tokio::time::sleep(PATIENCE)));
        let late = writing.as_mut().poll(cx).is_ready() || self.give_way.as_mut().poll(cx).is_ready();
        if late { Poll::Ready(Err(io::ErrorKind::TimedOut.into())) } else { Poll::Pending }
    }
}

impl<I: AsyncRead + Unpin> AsyncRead for Bounded<I> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.give_way.as_mut().poll(cx).is_ready() || self.reading.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        let before = buf.filled().len();
        let result = Pin::new(&mut self.inner).poll_read(cx, buf);
        if self.idle && buf.filled().len() > before {
            // The first bytes of another request.
            self.reads_within(false);
        }
        result
    }
}

impl<I: AsyncWrite + Unpin> AsyncWrite for Bounded<I> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.inner).poll_write(cx, buf);
        if result.is_ready() {
            self.reads_within(true);
        }
        self.timed(cx, result)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let result = Pin::new(&mut self.inner).poll_flush(cx);
        self.timed(cx, result)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let result = Pin::new(&mut self.inner).poll_shutdown(cx);
        self.timed(cx, result)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex};
    use tokio::time::Instant;

    use super::*;

    /// After how many seconds a connection breaks off by itself.
    async fn broken_after(connection: &mut Bounded<DuplexStream>) -> u64 {
        let (start, mut bytes) = (Instant::now(), [0; 8]);
        while connection.read(&mut bytes).await.is_ok_and(|count| count > 0) {}
        start.elapsed().as_secs()
    }

    async fn listener() -> BoundedListener {
        BoundedListener::new(TcpListener::bind("127.0.0.1:0").await.unwrap())
    }

    #[tokio::test(start_paused = true)]
    async fn a_head_an_idle_connection_and_an_answer_have_their_time() {
        let mut listener = listener().await;
        let (ours, mut theirs) = duplex(8);
        let mut connection = listener.admit(ours);
        let drips = tokio::spawn(async move {
            while theirs.write_all(b"x").await.is_ok() {
                tokio::time::sleep(Duration::from_secs(2)).await;
            }
        });
        assert_eq!(broken_after(&mut connection).await, 5, "however it drips");
        drop(connection);
        drips.await.unwrap();

        let (ours, mut theirs) = duplex(8);
        let mut connection = listener.admit(ours);
        connection.write_all(b"answer").await.unwrap();
        assert_eq!(broken_after(&mut connection).await, 120, "between two requests");
        connection.write_all(b"b").await.unwrap();
        theirs.write_all(b"GET").await.unwrap();
        assert_eq!(broken_after(&mut connection).await, 5, "the head of the next one");

        let start = Instant::now();
        assert!(connection.write_all(&[0; 64]).await.is_err(), "nobody takes it");
        assert_eq!(start.elapsed().as_secs(), 5);
    }

    #[tokio::test(start_paused = true)]
    async fn the_oldest_gives_way_and_what_has_ended_counts_no_more() {
        let mut listener = listener().await;
        let (mut connections, mut ends) = (VecDeque::new(), Vec::new());
        for _ in 0..CONNECTIONS {
            let (ours, theirs) = duplex(8);
            connections.push_back(listener.admit(ours));
            ends.push(theirs);
        }
        connections.pop_back();
        let _first_more = listener.admit(duplex(8).0);
        assert_eq!(broken_after(&mut connections[0]).await, 5, "one had ended: there was room");
        let _second_more = listener.admit(duplex(8).0);
        let (start, mut bytes) = (Instant::now(), [0; 8]);
        connections[0].reads_within(true);
        assert!(connections[0].read(&mut bytes).await.is_err());
        connections[1].reads_within(true);
        assert_eq!(start.elapsed().as_secs(), 0, "the oldest gives way at once");
        assert_eq!(broken_after(&mut connections[1]).await, 120, "the next one stays");
    }
}
