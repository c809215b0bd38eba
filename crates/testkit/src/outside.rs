//! A server on loopback as one that is far outside: to be reached by no name that resolves, only through a proxy, and by TLS under
//! an authority that nobody trusts.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio_rustls::TlsAcceptor;

use crate::certificate::Certificate;

/// The longest head of a request to the proxy.
const HEAD: usize = 8 * 1024;

/// The proxy in front of a plain HTTP server. Every `CONNECT` leads to that server, which shows a certificate for one host.
#[derive(Debug)]
pub struct Outside {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
    authority: PathBuf,
    _folder: tempfile::TempDir,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Outside {
    /// Puts the server at `upstream` outside, under the name `host`.
    ///
    /// # Panics
    /// If loopback has no free port, or certificates cannot be made.
    pub fn of(upstream: SocketAddr, host: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let certificate = Certificate::write_for(folder.path(), &[host]);
        let authority = folder.path().join("authority.pem");
        std::fs::write(&authority, &certificate.ca_pem).expect("write the authority");
        let acceptor = TlsAcceptor::from(Arc::new(config(&certificate.chain, &certificate.key)));
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("loopback has a free port");
        listener.set_nonblocking(true).expect("a listener can be made non-blocking");
        let address = listener.local_addr().expect("a bound listener has an address");
        let asked = Arc::default();
        let (stop, stopped) = oneshot::channel();
        let proxy = Proxy { upstream, acceptor, asked: Arc::clone(&asked) };
        let thread = std::thread::spawn(move || serve(listener, &proxy, stopped));
        Self { address, asked, authority, _folder: folder, stop: Some(stop), thread: Some(thread) }
    }

    /// The proxy, as `HTTPS_PROXY` names it.
    pub fn proxy(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The certificate of the authority, PEM.
    pub fn authority(&self) -> &Path {
        &self.authority
    }

    /// What the proxy was asked to connect to, as `host:port`.
    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Outside {
    fn drop(&mut self) {
        let _ = self.stop.take().map(|stop| stop.send(()));
        if let Some(Err(_)) = self.thread.take().map(JoinHandle::join) {
            eprintln!("the proxy at {} panicked", self.address);
        }
    }
}

fn config(chain: &Path, key: &Path) -> ServerConfig {
    let ring = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(ring).with_safe_default_protocol_versions();
    let certificates = CertificateDer::pem_file_iter(chain).and_then(Iterator::collect).expect("the certificate");
    let key = PrivateKeyDer::from_pem_file(key).expect("the key");
    let builder = builder.expect("the provider has every version").with_no_client_auth();
    let mut config = builder.with_single_cert(certificates, key).expect("a certificate and its key");
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    config
}

fn serve(listener: std::net::TcpListener, proxy: &Proxy, stopped: oneshot::Receiver<()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("the system gives a test one more runtime").block_on(async {
        let listener = TcpListener::from_std(listener).expect("the listener is non-blocking");
        let accept = async {
            while let Ok((client, _)) = listener.accept().await {
                let proxy = proxy.clone();
                // A client that goes away ends its own connection.
                tokio::spawn(async move { drop(proxy.connect(client).await) });
            }
        };
        tokio::select! {
            () = accept => {}
            _ = stopped => {}
        }
    });
}

#[derive(Clone)]
struct Proxy {
    upstream: SocketAddr,
    acceptor: TlsAcceptor,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Proxy {
    async fn connect(&self, mut client: TcpStream) -> io::Result<()> {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") && head.len() < HEAD {
            head.push(client.read_u8().await?);
        }
        let head = String::from_utf8_lossy(&head);
        let Some(target) = head.strip_prefix("CONNECT ").and_then(|rest| rest.split(' ').next()) else {
            return client.write_all(b"HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 0\r\n\r\n").await;
        };
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).push(target.to_owned());
        client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await?;
        let mut inside = self.acceptor.accept(client).await?;
        let mut server = TcpStream::connect(self.upstream).await?;
        copy_bidirectional(&mut inside, &mut server).await.map(drop)
    }
}
