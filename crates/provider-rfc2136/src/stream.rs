//! One connection to a server, plain or TLS: messages with a length before them (RFC 1035 4.2.2).

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use futures::FutureExt as _;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, ReadHalf, WriteHalf};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;

use crate::error::ExchangeError;

/// How long connecting may take, with the TLS handshake; looking up the host's address before may take as long again.
pub(crate) const CONNECT: Duration = Duration::from_secs(2);
/// How long the next message of an answer may take.
pub(crate) const ANSWER: Duration = Duration::from_secs(5);
/// How long an unused connection is kept. Servers close idle ones after 5 s or more.
const IDLE: Duration = Duration::from_secs(3);

/// TLS for one host.
#[derive(Clone)]
pub(crate) struct Tls {
    pub(crate) connector: TlsConnector,
    pub(crate) name: ServerName<'static>,
}

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tls").field("name", &self.name).finish_non_exhaustive()
    }
}

trait Io: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Io for T {}

/// A connection.
pub(crate) struct Stream {
    io: Box<dyn Io>,
    used: Instant,
}

impl std::fmt::Debug for Stream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stream").field("used", &self.used).finish_non_exhaustive()
    }
}

impl Stream {
    /// Connects to the first of `addresses` that answers.
    pub(crate) async fn connect(addresses: &[SocketAddr], tls: Option<&Tls>) -> Result<Self, ExchangeError> {
        let connecting = async {
            let tcp = TcpStream::connect(addresses).await.map_err(ExchangeError::Connect)?;
            tcp.set_nodelay(true).map_err(ExchangeError::Connect)?;
            let io: Box<dyn Io> = match tls {
                Some(tls) => Box::new(tls.connector.connect(tls.name.clone(), tcp).await.map_err(ExchangeError::Tls)?),
                None => Box::new(tcp),
            };
            Ok(Self { io, used: Instant::now() })
        };
        timeout(CONNECT, connecting).await.unwrap_or(Err(ExchangeError::ConnectTimeout(CONNECT)))
    }

    /// Whether it can be used again: not idle for long, not closed by the server, no octets left over.
    pub(crate) fn is_fresh(&mut self) -> bool {
        self.used.elapsed() < IDLE && self.io.read(&mut [0]).now_or_never().is_none()
    }

    /// Sends one message.
    pub(crate) async fn send(&mut self, message: &[u8]) -> Result<(), ExchangeError> {
        self.used = Instant::now();
        write(&mut self.io, message).await
    }

    /// Receives one message.
    pub(crate) async fn receive(&mut self) -> Result<Vec<u8>, ExchangeError> {
        let message = read(&mut self.io).await?;
        self.used = Instant::now();
        Ok(message)
    }

    /// Both directions by themselves, for sending and receiving at once.
    pub(crate) fn split(self) -> (Receiver, Sender) {
        let (read, write) = tokio::io::split(self.io);
        (Receiver(read), Sender(write))
    }

    /// Undoes [`Stream::split`].
    pub(crate) fn join(receiver: Receiver, sender: Sender) -> Self {
        Self { io: receiver.0.unsplit(sender.0), used: Instant::now() }
    }
}

/// The half of a connection that receives.
pub(crate) struct Receiver(ReadHalf<Box<dyn Io>>);

/// The half of a connection that sends.
pub(crate) struct Sender(WriteHalf<Box<dyn Io>>);

impl Receiver {
    /// Receives one message.
    pub(crate) async fn receive(&mut self) -> Result<Vec<u8>, ExchangeError> {
        read(&mut self.0).await
    }
}

impl Sender {
    /// Sends one message.
    pub(crate) async fn send(&mut self, message: &[u8]) -> Result<(), ExchangeError> {
        write(&mut self.0, message).await
    }
}

async fn write(io: &mut (impl AsyncWrite + Unpin), message: &[u8]) -> Result<(), ExchangeError> {
    let length = u16::try_from(message.len()).map_err(|_| ExchangeError::Malformed)?;
    let mut framed = Vec::with_capacity(message.len() + 2);
    framed.extend(length.to_be_bytes());
    framed.extend(message);
    let writing = async {
        io.write_all(&framed).await?;
        io.flush().await
    };
    within(writing).await
}

async fn read(io: &mut (impl AsyncRead + Unpin)) -> Result<Vec<u8>, ExchangeError> {
    within(async {
        let length = io.read_u16().await?;
        let mut message = vec![0; usize::from(length)];
        io.read_exact(&mut message).await?;
        Ok(message)
    })
    .await
}

async fn within<T>(work: impl Future<Output = io::Result<T>>) -> Result<T, ExchangeError> {
    match timeout(ANSWER, work).await {
        Ok(done) => done.map_err(ExchangeError::Cut),
        Err(_) => Err(ExchangeError::Timeout(ANSWER)),
    }
}
