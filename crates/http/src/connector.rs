//! A new connection: directly or by a proxy, with TLS where the address wants it.
//!
//! In: where to. Out: a connection that speaks to the service, whichever way it takes.

use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use http::{HeaderValue, Uri};
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::connect::proxy::{SocksV5, Tunnel};
use hyper_util::client::legacy::connect::{Connected, Connection, HttpConnector};
use percent_encoding::percent_decode_str;
use rustls::ClientConfig;
use tower_service::Service;
use url::Url;

use crate::error::TransportCause;
use crate::proxy::Proxies;

/// Boxed future of a connector.
type Connecting<T> = Pin<Box<dyn Future<Output = Result<T, TransportCause>> + Send>>;

/// Connects within a time, TLS included.
#[derive(Clone)]
pub(crate) struct Connector {
    inner: HttpsConnector<ProxiedConnector>,
    limit: Duration,
}

impl Connector {
    pub(crate) fn new(tls: ClientConfig, proxies: Proxies, limit: Duration) -> Self {
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_keepalive(Some(Duration::from_secs(30)));
        // Between us and a proxy it is HTTP/1.1 (RFC 9110 9.3.6).
        let mut to_proxy = tls.clone();
        to_proxy.alpn_protocols.clear();
        let route = ProxiedConnector { proxy: HttpsConnector::from((tcp.clone(), to_proxy)), tcp, proxies };
        Self { inner: HttpsConnector::from((route, tls)), limit }
    }
}

impl Service<Uri> for Connector {
    type Response = <HttpsConnector<ProxiedConnector> as Service<Uri>>::Response;
    type Error = TransportCause;
    type Future = Connecting<Self::Response>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), TransportCause>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, to: Uri) -> Self::Future {
        let (connecting, limit) = (self.inner.call(to), self.limit);
        let late = move |_| TransportCause::from(format!("no connection within {} s", limit.as_secs_f32()));
        Box::pin(async move { tokio::time::timeout(limit, connecting).await.map_err(late)? })
    }
}

/// The way to a service, up to where its own TLS begins.
#[derive(Clone)]
pub(crate) struct ProxiedConnector {
    tcp: HttpConnector,
    proxy: HttpsConnector<HttpConnector>,
    proxies: Proxies,
}

impl ProxiedConnector {
    /// The proxy for an address, if it takes one.
    fn proxy_for(&self, to: &Uri) -> Option<Url> {
        let url = Url::parse(&to.to_string()).ok()?;
        self.proxies.proxy_for(&url).cloned()
    }

    async fn by(self, proxy: Url, to: Uri) -> Result<Stream, TransportCause> {
        let at = address(&proxy)?;
        let (mut tcp, mut connector) = (self.tcp, self.proxy);
        if proxy.scheme().starts_with("socks") {
            let mut socks = SocksV5::new(at, tcp);
            if let Some((user, password)) = login(&proxy) {
                socks = socks.with_auth(user, password);
            }
            return Ok(Stream::to(connected(&mut socks, to).await?));
        }
        if to.scheme_str() != Some("https") {
            let stream = match proxy.scheme() {
                "https" => Stream::to(connected(&mut connector, at).await?),
                _ => Stream::to(connected(&mut tcp, at).await?),
            };
            return Ok(Stream { is_proxy: true, ..stream });
        }
        let mut tunnel = Tunnel::new(at, connector);
        if let Some(authorization) = authorization(&proxy) {
            tunnel = tunnel.with_auth(authorization);
        }
        Ok(Stream::to(connected(&mut tunnel, to).await?))
    }
}

impl Service<Uri> for ProxiedConnector {
    type Response = Stream;
    type Error = TransportCause;
    type Future = Connecting<Stream>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), TransportCause>> {
        // Each call asks the connectors that it uses.
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, to: Uri) -> Self::Future {
        let mut route = self.clone();
        Box::pin(async move {
            match route.proxy_for(&to) {
                None => Ok(Stream::to(connected(&mut route.tcp, to).await?)),
                Some(proxy) => route.by(proxy, to).await,
            }
        })
    }
}

/// A connection by this connector, when it is ready for one.
async fn connected<C>(connector: &mut C, to: Uri) -> Result<C::Response, TransportCause>
where
    C: Service<Uri>,
    C::Error: Into<TransportCause>,
{
    std::future::poll_fn(|context| connector.poll_ready(context)).await.map_err(Into::into)?;
    connector.call(to).await.map_err(Into::into)
}

/// The address of a proxy, with its port: a SOCKS proxy without one is at 1080 (RFC 1928).
fn address(proxy: &Url) -> Result<Uri, TransportCause> {
    let port = proxy.port_or_known_default().unwrap_or(1080);
    let text = format!("{}://{}:{port}/", proxy.scheme(), proxy.host_str().unwrap_or_default());
    text.parse().map_err(|error: http::uri::InvalidUri| error.into())
}

/// User and password of a proxy, as they were before they became part of an address.
fn login(proxy: &Url) -> Option<(String, String)> {
    let plain = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
    let given = !proxy.username().is_empty() || proxy.password().is_some();
    given.then(|| (plain(proxy.username()), plain(proxy.password().unwrap_or_default())))
}

/// What a proxy wants to see of us.
pub(crate) fn authorization(proxy: &Url) -> Option<HeaderValue> {
    let (user, password) = login(proxy)?;
    crate::credentials::basic(user.as_bytes(), password.as_bytes())
}

/// A connection of any kind.
pub(crate) struct Stream {
    io: Pin<Box<dyn ReadWrite + Send>>,
    /// Whether requests go to a proxy, which wants whole addresses.
    is_proxy: bool,
}

/// What a connection can do.
trait ReadWrite: Read + Write + Connection {}
impl<T: Read + Write + Connection> ReadWrite for T {}

impl Stream {
    fn to(io: impl Read + Write + Connection + Send + 'static) -> Self {
        Self { io: Box::pin(io), is_proxy: false }
    }
}

impl Connection for Stream {
    fn connected(&self) -> Connected {
        self.io.connected().proxy(self.is_proxy)
    }
}

impl Read for Stream {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: ReadBufCursor<'_>) -> Poll<io::Result<()>> {
        self.io.as_mut().poll_read(cx, buf)
    }
}

impl Write for Stream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.io.as_mut().poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.io.as_mut().poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.io.as_mut().poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.io.as_mut().poll_write_vectored(cx, bufs)
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Stream")
    }
}

/// Whether TLS is what failed.
pub(crate) fn concerns_tls(error: &(dyn StdError + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(error) = next {
        if error.is::<rustls::Error>() {
            return true;
        }
        // An I/O error hides its cause from `source`.
        if let Some(io) = error.downcast_ref::<io::Error>()
            && io.get_ref().is_some_and(|inner| concerns_tls(inner))
        {
            return true;
        }
        next = error.source();
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_logins_of_proxies() {
        for (proxy, at, login) in [
            ("http://p", "http://p:80/", None),
            ("https://me:p%40ss@p", "https://p:443/", Some(("me", "p@ss"))),
            ("socks5://me@[::1]", "socks5://[::1]:1080/", Some(("me", ""))),
            ("socks5h://p:99/x", "socks5h://p:99/", None),
        ] {
            let url = proxy.parse().unwrap();
            assert_eq!(address(&url).unwrap().to_string(), at, "{proxy}");
            let login = login.map(|(user, password)| (user.to_owned(), password.to_owned()));
            assert_eq!(super::login(&url), login, "{proxy}");
        }
        let authorization = authorization(&"http://me:p%40ss@p".parse().unwrap()).unwrap();
        assert!(authorization.is_sensitive());
        assert_eq!(authorization, "Basic bWU6cEBzcw==");
    }
}
