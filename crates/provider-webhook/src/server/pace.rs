//! How long a connection may take.
//!
//! In: a listener and the four time-outs of the flags. Out: connections that break when the head of a request, or an answer
//! that its reader does not take, needs longer than that, or when nothing is asked for too long. The time of the provider
//! counts nowhere: a slow listing is still an answer. The bodies of requests are timed where they are read.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::extract::connect_info::Connected;
use axum::serve::{IncomingStream, Listener};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::Sleep;

/// Bounds of waiting; `None` is no bound.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Times {
    /// For the body of a request, and in place of the next two where they are not given.
    pub read: Option<Duration>,
    /// For the other side to take the next part of an answer.
    pub write: Option<Duration>,
    /// For the head of a request.
    pub header: Option<Duration>,
    /// Between two requests of a connection.
    pub idle: Option<Duration>,
}

impl Times {
    fn head(&self) -> Option<Duration> {
        self.header.or(self.read)
    }

    fn between(&self) -> Option<Duration> {
        self.idle.or(self.read)
    }
}

/// The head of a request is awaited or on its way.
const HEAD: u8 = 0;
/// A request is being answered.
const OURS: u8 = 1;
/// The last request was answered.
const IDLE: u8 = 2;

/// Whose turn it is on one connection.
#[derive(Debug, Clone)]
pub(super) struct Turn(Arc<AtomicU8>);

impl Turn {
    fn new() -> Self {
        Self(Arc::new(AtomicU8::new(HEAD)))
    }

    /// It is ours, until what is given back is dropped.
    pub(super) fn begin(&self) -> Ours {
        self.0.store(OURS, Ordering::Relaxed);
        Ours(self.clone())
    }
}

/// A request that is being answered.
#[derive(Debug)]
pub(super) struct Ours(Turn);

impl Drop for Ours {
    fn drop(&mut self) {
        self.0.0.store(IDLE, Ordering::Relaxed);
    }
}

/// A listener whose connections keep time.
#[derive(Debug)]
pub(super) struct PacedListener {
    inner: TcpListener,
    times: Times,
}

impl PacedListener {
    pub(super) fn new(inner: TcpListener, times: Times) -> Self {
        Self { inner, times }
    }
}

impl Listener for PacedListener {
    type Io = Paced<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        let (stream, address) = Listener::accept(&mut self.inner).await;
        // An answer is small and awaited.
        let _ = stream.set_nodelay(true);
        (Paced::new(stream, self.times), address)
    }

    fn local_addr(&self) -> io::Result<Self::Addr> {
        self.inner.local_addr()
    }
}

impl Connected<IncomingStream<'_, PacedListener>> for Turn {
    fn connect_info(stream: IncomingStream<'_, PacedListener>) -> Self {
        stream.io().turn.clone()
    }
}

/// A connection that keeps time.
#[derive(Debug)]
pub(super) struct Paced<I> {
    inner: I,
    times: Times,
    turn: Turn,
    /// The state that `reading` was set for.
    seen: Option<u8>,
    reading: Option<Pin<Box<Sleep>>>,
    writing: Option<Pin<Box<Sleep>>>,
}

impl<I> Paced<I> {
    fn new(inner: I, times: Times) -> Self {
        Self { inner, times, turn: Turn::new(), seen: None, reading: None, writing: None }
    }

    /// Whether the time for the next bytes of the other side is over.
    fn kept_waiting(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let state = self.turn.0.load(Ordering::Relaxed);
        if self.seen != Some(state) {
            self.seen = Some(state);
            let limit = match state {
                HEAD => self.times.head(),
                IDLE => self.times.between(),
                _ => None,
            };
            self.reading = limit.map(|limit| Box::pin(tokio::time::sleep(limit)));
        }
        self.reading.as_mut().map_or(Poll::Pending, |reading| reading.as_mut().poll(cx))
    }

    /// Lets a write through, or breaks off when nothing of it was taken for too long.
    fn timed<T>(&mut self, cx: &mut Context<'_>, result: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if result.is_ready() {
            self.writing = None;
            return result;
        }
        let Some(limit) = self.times.write else { return Poll::Pending };
        let writing = self.writing.get_or_insert_with(|| Box::pin(tokio::time::sleep(limit)));
        writing.as_mut().poll(cx).map(|()| Err(too_slow("an answer was not taken")))
    }
}

fn too_slow(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, what)
}

impl<I: AsyncRead + Unpin> AsyncRead for Paced<I> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.kept_waiting(cx).is_ready() {
            return Poll::Ready(Err(too_slow("the next request did not come")));
        }
        let before = buf.filled().len();
        let result = Pin::new(&mut self.inner).poll_read(cx, buf);
        if buf.filled().len() > before && self.seen == Some(IDLE) {
            // The first bytes of another request.
            let _ = self.turn.0.compare_exchange(IDLE, HEAD, Ordering::Relaxed, Ordering::Relaxed);
        }
        result
    }
}

impl<I: AsyncWrite + Unpin> AsyncWrite for Paced<I> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.inner).poll_write(cx, buf);
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

    const TIMES: Times = Times {
        read: Some(Duration::from_secs(7)),
        write: Some(Duration::from_secs(10)),
        header: Some(Duration::from_secs(5)),
        idle: Some(Duration::from_secs(30)),
    };

    fn pair(times: Times) -> (Paced<DuplexStream>, DuplexStream) {
        let (ours, theirs) = duplex(8);
        (Paced::new(ours, times), theirs)
    }

    /// Reads until it breaks, and says after how many seconds.
    async fn broken_after(paced: &mut Paced<DuplexStream>) -> u64 {
        let (start, mut bytes) = (Instant::now(), [0; 8]);
        loop {
            match paced.read(&mut bytes).await {
                Ok(0) => panic!("the other side has closed"),
                Ok(_) => {}
                Err(error) => {
                    assert_eq!(error.kind(), io::ErrorKind::TimedOut);
                    return start.elapsed().as_secs();
                }
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_head_has_its_time_however_it_drips() {
        let (mut paced, mut theirs) = pair(TIMES);
        tokio::spawn(async move {
            while theirs.write_all(b"x").await.is_ok() {
                tokio::time::sleep(Duration::from_secs(2)).await;
            }
        });
        assert_eq!(broken_after(&mut paced).await, 5);
    }

    #[tokio::test(start_paused = true)]
    async fn between_requests_it_is_the_idle_time_and_then_that_of_the_head() {
        let (mut paced, _theirs) = pair(TIMES);
        drop(paced.turn.begin());
        assert_eq!(broken_after(&mut paced).await, 30);

        let (mut paced, mut theirs) = pair(TIMES);
        drop(paced.turn.begin());
        theirs.write_all(b"GET").await.unwrap();
        assert_eq!(broken_after(&mut paced).await, 5);
    }

    #[tokio::test(start_paused = true)]
    async fn while_we_answer_nothing_is_too_late() {
        let (mut paced, mut theirs) = pair(TIMES);
        let ours = paced.turn.begin();
        let later = async {
            tokio::time::sleep(Duration::from_mins(10)).await;
            theirs.write_all(b"x").await.unwrap();
        };
        let mut bytes = [0; 8];
        let (read, ()) = tokio::join!(paced.read(&mut bytes), later);
        assert_eq!(read.unwrap(), 1);
        drop(ours);
        assert_eq!(broken_after(&mut paced).await, 30);
    }

    #[tokio::test(start_paused = true)]
    async fn the_read_time_stands_in_and_none_is_none() {
        let (mut paced, _theirs) = pair(Times { header: None, ..TIMES });
        assert_eq!(broken_after(&mut paced).await, 7);
        let (mut paced, _theirs) = pair(Times { idle: None, ..TIMES });
        drop(paced.turn.begin());
        assert_eq!(broken_after(&mut paced).await, 7);
        let (mut paced, _theirs) = pair(Times::default());
        let waited = tokio::time::timeout(Duration::from_hours(9), broken_after(&mut paced)).await;
        assert!(waited.is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_that_nobody_takes_is_given_up() {
        let (mut paced, mut theirs) = pair(TIMES);
        let start = Instant::now();
        let slow = tokio::spawn(async move {
            let mut bytes = [0; 4];
            for _ in 0..3 {
                tokio::time::sleep(Duration::from_secs(9)).await;
                theirs.read_exact(&mut bytes).await.unwrap();
            }
            theirs
        });
        let error = paced.write_all(&[0; 64]).await.unwrap_err();
        assert_eq!((error.kind(), start.elapsed().as_secs()), (io::ErrorKind::TimedOut, 37));
        drop(slow.await);
    }
}
