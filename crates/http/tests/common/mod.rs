//! Servers and proxies on loopback.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::body::{Bytes, Frame, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use rustls::pki_types::PrivateKeyDer;
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;

/// A certificate that is its own authority, in files.
pub(crate) struct Certified {
    folder: tempfile::TempDir,
    certificate: rcgen::CertifiedKey<rcgen::KeyPair>,
}

impl Certified {
    pub(crate) fn new() -> Self {
        let names = ["localhost", "zonewright.test"].map(str::to_owned);
        let certificate = rcgen::generate_simple_self_signed(names).unwrap();
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("cert.pem"), certificate.cert.pem()).unwrap();
        std::fs::write(folder.path().join("key.pem"), certificate.signing_key.serialize_pem()).unwrap();
        Self { folder, certificate }
    }

    pub(crate) fn authority(&self) -> PathBuf {
        self.folder.path().join("cert.pem")
    }

    pub(crate) fn key(&self) -> PathBuf {
        self.folder.path().join("key.pem")
    }

    fn server(&self, clients: Option<&Self>) -> ServerConfig {
        let ring = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ServerConfig::builder_with_provider(ring.clone()).with_safe_default_protocol_versions().unwrap();
        let builder = match clients {
            None => builder.with_no_client_auth(),
            Some(clients) => {
                let mut roots = RootCertStore::empty();
                roots.add(clients.certificate.cert.der().clone()).unwrap();
                let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), ring).build().unwrap();
                builder.with_client_cert_verifier(verifier)
            }
        };
        let key = PrivateKeyDer::try_from(self.certificate.signing_key.serialize_der()).unwrap();
        let mut config = builder.with_single_cert(vec![self.certificate.cert.der().clone()], key).unwrap();
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        config
    }
}

/// What a server saw.
#[derive(Debug, Default)]
struct Seen {
    requests: usize,
    connections: usize,
    version: String,
    headers: hyper::HeaderMap,
}

/// A server that answers with the request as it came: method, path with query, body.
pub(crate) struct Server {
    address: SocketAddr,
    scheme: &'static str,
    seen: Arc<Mutex<Seen>>,
    close: watch::Sender<()>,
}

impl Server {
    pub(crate) async fn plain() -> Self {
        Self::start("http", None).await
    }

    pub(crate) async fn tls(certified: &Certified, clients: Option<&Certified>) -> Self {
        Self::start("https", Some(TlsAcceptor::from(Arc::new(certified.server(clients))))).await
    }

    async fn start(scheme: &'static str, acceptor: Option<TlsAcceptor>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::new(Mutex::new(Seen::default()));
        let (close, closing) = watch::channel(());
        let server = Self { address, scheme, seen: seen.clone(), close };
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                seen.lock().unwrap().connections += 1;
                let (seen, acceptor, closing) = (seen.clone(), acceptor.clone(), closing.clone());
                tokio::spawn(async move {
                    match acceptor {
                        None => serve(stream, seen, closing).await,
                        Some(acceptor) => {
                            let Ok(stream) = acceptor.accept(stream).await else { return };
                            serve(stream, seen, closing).await;
                        }
                    }
                });
            }
        });
        server
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn url(&self) -> String {
        format!("{}://localhost:{}", self.scheme, self.address.port())
    }

    pub(crate) fn requests(&self) -> usize {
        self.seen.lock().unwrap().requests
    }

    pub(crate) fn connections(&self) -> usize {
        self.seen.lock().unwrap().connections
    }

    pub(crate) fn version(&self) -> String {
        self.seen.lock().unwrap().version.clone()
    }

    pub(crate) fn header(&self, name: &str) -> Option<String> {
        self.seen.lock().unwrap().headers.get(name).map(|value| value.to_str().unwrap().to_owned())
    }

    /// The names of the headers of the last request, in order.
    pub(crate) fn headers(&self) -> Vec<String> {
        let mut names: Vec<_> = self.seen.lock().unwrap().headers.keys().map(ToString::to_string).collect();
        names.sort();
        names
    }

    /// Ends every connection, and waits until that is done.
    pub(crate) async fn close_connections(&self) {
        self.close.send_replace(());
        while self.close.receiver_count() > 1 {
            tokio::task::yield_now().await;
        }
    }
}

async fn serve(
    stream: impl AsyncRead + AsyncWrite + Unpin + 'static,
    seen: Arc<Mutex<Seen>>,
    mut closing: watch::Receiver<()>,
) {
    closing.mark_unchanged();
    let service = service_fn(move |request| answer(seen.clone(), request));
    let builder = auto::Builder::new(TokioExecutor::new());
    let connection = builder.serve_connection(TokioIo::new(stream), service);
    tokio::select! {
        _ = connection => {}
        _ = closing.changed() => {}
    }
}

type Body = BoxBody<Bytes, Infallible>;

async fn answer(seen: Arc<Mutex<Seen>>, request: Request<Incoming>) -> Result<Response<Body>, hyper::Error> {
    let (head, body) = request.into_parts();
    {
        let mut seen = seen.lock().unwrap();
        seen.requests += 1;
        seen.version = format!("{:?}", head.version);
        seen.headers = head.headers;
    }
    let body = body.collect().await?.to_bytes();
    let target = head.uri.path_and_query().map_or("", |target| target.as_str());
    if target.starts_with("/endless") {
        let chunks = StreamBody::new(endless());
        let status = if target == "/endless" { 200 } else { 400 };
        return Ok(Response::builder().status(status).body(chunks.boxed()).unwrap());
    }
    let text = format!("{} {target} {}", head.method, String::from_utf8_lossy(&body));
    Ok(Response::new(Full::new(Bytes::from(text)).boxed()))
}

fn endless() -> impl futures::Stream<Item = Result<Frame<Bytes>, Infallible>> + Send + Sync {
    futures::stream::repeat_with(|| Ok(Frame::data(Bytes::from(vec![b'x'; 4096]))))
}

/// A server that reads a request, answers with these bytes, and then hangs up, or waits for ever.
pub(crate) async fn cutting(bytes: &'static str, hangs_up: bool) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        let mut kept = Vec::new();
        while let Ok((mut stream, _)) = listener.accept().await {
            let _ = stream.read(&mut [0; 4096]).await;
            let _ = stream.write_all(bytes.as_bytes()).await;
            if !hangs_up {
                kept.push(stream);
            }
        }
    });
    url
}

type Asked = Arc<Mutex<Vec<String>>>;

/// The head of a request.
async fn head(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let Ok(byte) = stream.read_u8().await else { break };
        head.push(byte);
    }
    String::from_utf8(head).unwrap()
}

/// A proxy that leads every CONNECT to one server, or refuses it.
pub(crate) async fn connect_proxy(server: SocketAddr, status: &'static str) -> (SocketAddr, Asked) {
    let asked = Asked::default();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (address, noted) = (listener.local_addr().unwrap(), asked.clone());
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let request = head(&mut stream).await;
            noted.lock().unwrap().push(request);
            let _ = stream.write_all(format!("HTTP/1.1 {status}\r\n\r\n").as_bytes()).await;
            if status.starts_with("200") {
                let mut onward = TcpStream::connect(server).await.unwrap();
                tokio::spawn(async move { copy_bidirectional(&mut stream, &mut onward).await });
            }
        }
    });
    (address, asked)
}

/// A proxy that answers every plain request itself.
pub(crate) async fn forwarding_proxy() -> (SocketAddr, Asked) {
    let asked = Asked::default();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (address, noted) = (listener.local_addr().unwrap(), asked.clone());
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let request = head(&mut stream).await;
            noted.lock().unwrap().push(request);
            let text = "HTTP/1.1 200 OK\r\ncontent-length: 8\r\nconnection: close\r\n\r\nby proxy";
            let _ = stream.write_all(text.as_bytes()).await;
        }
    });
    (address, asked)
}

/// A SOCKS 5 proxy (RFC 1928) without authentication that leads every connection to one server.
pub(crate) async fn socks_proxy(server: SocketAddr) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut greeting = [0; 2];
            stream.read_exact(&mut greeting).await.unwrap();
            let mut methods = vec![0; usize::from(greeting[1])];
            stream.read_exact(&mut methods).await.unwrap();
            stream.write_all(&[5, 0]).await.unwrap();
            // Version, command, reserved, type of address: IPv4, then the address and the port.
            let mut request = [0; 10];
            stream.read_exact(&mut request).await.unwrap();
            assert_eq!(request[..4], [5, 1, 0, 1]);
            stream.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0]).await.unwrap();
            let mut onward = TcpStream::connect(server).await.unwrap();
            tokio::spawn(async move { copy_bidirectional(&mut stream, &mut onward).await });
        }
    });
    address
}
