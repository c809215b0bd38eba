//! The HTTP listener of `--metrics-address`: metrics and probes.
//!
//! In come the text of the metrics and the answers to two questions; out go three pages: `/metrics`, `/healthz` (does the
//! loop turn?) and `/readyz` (is what it knows complete, and did the last writes work?). Everything else is not found.

mod bounded;
mod process;

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use socket2::{Domain, Socket, Type};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use zonewright_core::{Error, ErrorKind};

use self::bounded::BoundedListener;

/// Content type of the text that the metric registry writes.
const OPENMETRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// How long answers that are under way may take after the order to stop.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(3);

/// Connections that wait to be taken.
const BACKLOG: i32 = 128;

/// What the probes ask.
pub trait HealthCheck: Send + Sync {
    /// Whether the process works; if not, restarting it may help.
    ///
    /// # Errors
    /// The reasons, one on each line.
    fn live(&self) -> Result<(), String>;

    /// Whether everything that it watches and writes is as it should be.
    ///
    /// # Errors
    /// The reasons, one on each line.
    fn ready(&self) -> Result<(), String>;
}

/// What the pages show.
#[derive(Clone)]
pub struct StatusPages {
    /// Writes all metrics in the OpenMetrics text format.
    pub metrics: Arc<dyn Fn() -> String + Send + Sync>,
    /// Answers the probes.
    pub health: Arc<dyn HealthCheck>,
}

impl std::fmt::Debug for StatusPages {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StatusPages").finish_non_exhaustive()
    }
}

/// A listener at work.
#[derive(Debug)]
pub struct PageServer {
    /// Where it listens; the port is the real one where port 0 was asked for.
    pub address: SocketAddr,
    /// Ends after the order to stop, when the last answer is out or has taken too long.
    pub task: JoinHandle<()>,
}

/// Listens at an address as Go writes it (`:7979` is every IPv6 and IPv4 address) until `stop` is cancelled.
///
/// # Errors
/// [`ErrorKind::Configuration`]: the address makes no sense, or it cannot be bound.
pub async fn serve(address: &str, pages: StatusPages, stop: CancellationToken) -> Result<PageServer, Error> {
    let listener = listen("metrics-address", address).await?;
    let address = listener.local_addr().map_err(|error| refused("metrics-address", address, &error))?;
    let task = tokio::spawn(answer(listener, router(pages), stop));
    Ok(PageServer { address, task })
}

fn router(pages: StatusPages) -> Router {
    Router::new()
        .route("/metrics", any(metrics))
        .route("/healthz", any(healthz))
        .route("/readyz", any(readyz))
        .with_state(pages)
}

async fn answer(listener: TcpListener, router: Router, stop: CancellationToken) {
    let served =
        axum::serve(BoundedListener::new(listener), router).with_graceful_shutdown(stop.clone().cancelled_owned());
    let too_late = async {
        stop.cancelled().await;
        tokio::time::sleep(SHUTDOWN_GRACE).await;
    };
    tokio::select! {
        result = served.into_future() => if let Err(error) = result {
            tracing::error!(%error, "the listener for metrics and probes ended");
        },
        () = too_late => {}
    }
}

async fn metrics(State(pages): State<StatusPages>) -> Response {
    ([(header::CONTENT_TYPE, OPENMETRICS)], process::with_process(&(pages.metrics)())).into_response()
}

async fn healthz(State(pages): State<StatusPages>) -> Response {
    probe(pages.health.live())
}

async fn readyz(State(pages): State<StatusPages>) -> Response {
    probe(pages.health.ready())
}

fn probe(state: Result<(), String>) -> Response {
    match state {
        Ok(()) => "OK".into_response(),
        Err(reasons) => (StatusCode::SERVICE_UNAVAILABLE, reasons).into_response(),
    }
}

/// Binds the address that a flag gives, as Go writes it.
///
/// # Errors
/// [`ErrorKind::Configuration`] with the flag: the address makes no sense, or it cannot be bound.
pub(crate) async fn listen(flag: &'static str, address: &str) -> Result<TcpListener, Error> {
    let (host, port) = split(address).map_err(|problem| configuration(flag, address, problem))?;
    if host.is_empty() {
        let six = SocketAddr::from((Ipv6Addr::UNSPECIFIED, port));
        let four = SocketAddr::from((Ipv4Addr::UNSPECIFIED, port));
        return bind(six)
            .or_else(|error| if no_ipv6(&error) { bind(four) } else { Err(error) })
            .map_err(|error| refused(flag, address, &error));
    }
    let found = tokio::net::lookup_host((host, port)).await.map_err(|error| refused(flag, address, &error))?;
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
    for candidate in found {
        match bind(candidate) {
            Ok(listener) => return Ok(listener),
            Err(error) => last = error,
        }
    }
    Err(refused(flag, address, &last))
}

/// Whether the machine has no IPv6 at all, as opposed to a port that is taken.
fn no_ipv6(error: &io::Error) -> bool {
    !matches!(error.kind(), io::ErrorKind::AddrInUse | io::ErrorKind::PermissionDenied)
}

fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    if address.is_ipv6() && address.ip().is_unspecified() {
        socket.set_only_v6(false)?;
    }
    // A restarted process must not wait for connections of the one before.
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    TcpListener::from_std(socket.into())
}

/// Host and port of `host:port`, `[v6]:port` or `:port`.
fn split(address: &str) -> Result<(&str, u16), &'static str> {
    let (host, port) = address.rsplit_once(':').ok_or("missing port; expected host:port or :port")?;
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    if bare.is_none() && host.contains(':') {
        return Err("an IPv6 address needs brackets, such as [::1]:7979");
    }
    let port = port.parse().map_err(|_| "the port is no number from 0 to 65535")?;
    Ok((bare.unwrap_or(host), port))
}

fn configuration(flag: &str, address: &str, problem: &str) -> Error {
    Error::new(ErrorKind::Configuration, "listen", format!("--{flag}={address}: {problem}"))
}

fn refused(flag: &str, address: &str, error: &io::Error) -> Error {
    configuration(flag, address, &error.to_string())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpStream;

    use super::*;

    #[derive(Default)]
    struct Patient {
        ill: AtomicBool,
        dead: AtomicBool,
    }

    impl HealthCheck for Patient {
        fn live(&self) -> Result<(), String> {
            if self.dead.load(Ordering::Relaxed) { Err("zone a: the loop does not turn".to_owned()) } else { Ok(()) }
        }

        fn ready(&self) -> Result<(), String> {
            if self.ill.load(Ordering::Relaxed) { Err("zone a: stale\nzone b: no answer".to_owned()) } else { Ok(()) }
        }
    }

    fn pages(patient: &Arc<Patient>) -> StatusPages {
        StatusPages { metrics: Arc::new(|| "# EOF\n".to_owned()), health: patient.clone() }
    }

    async fn ask(address: SocketAddr, method: &str, path: &str) -> String {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let request = format!("{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }

    #[test]
    fn addresses() {
        for (address, expected) in [
            (":7979", Ok(("", 7979))),
            ("127.0.0.1:0", Ok(("127.0.0.1", 0))),
            ("[::1]:80", Ok(("::1", 80))),
            ("localhost:80", Ok(("localhost", 80))),
            ("7979", Err(())),
            ("", Err(())),
            ("::1:80", Err(())),
            (":http", Err(())),
            (":65536", Err(())),
        ] {
            assert_eq!(split(address).map_err(|_| ()), expected, "{address:?}");
        }
    }

    #[tokio::test]
    async fn the_three_pages() {
        let patient = Arc::new(Patient::default());
        let stop = CancellationToken::new();
        let server = serve("127.0.0.1:0", pages(&patient), stop.clone()).await.unwrap();
        assert_ne!(server.address.port(), 0);

        let metrics = ask(server.address, "GET", "/metrics").await;
        assert!(metrics.starts_with("HTTP/1.1 200") && metrics.ends_with("# EOF\n"), "{metrics}");
        assert!(metrics.contains("content-type: application/openmetrics-text"), "{metrics}");
        for method in ["GET", "POST"] {
            assert!(ask(server.address, method, "/healthz").await.ends_with("\r\n\r\nOK"));
        }
        assert!(ask(server.address, "GET", "/readyz").await.ends_with("\r\n\r\nOK"));
        patient.ill.store(true, Ordering::Relaxed);
        let ill = ask(server.address, "GET", "/readyz").await;
        assert!(ill.starts_with("HTTP/1.1 503") && ill.ends_with("zone a: stale\nzone b: no answer"), "{ill}");
        assert!(ask(server.address, "GET", "/healthz").await.starts_with("HTTP/1.1 200"));
        patient.dead.store(true, Ordering::Relaxed);
        let dead = ask(server.address, "GET", "/healthz").await;
        assert!(dead.starts_with("HTTP/1.1 503") && dead.ends_with("zone a: the loop does not turn"), "{dead}");
        for path in ["/", "/metrics/", "/debug/pprof"] {
            assert!(ask(server.address, "GET", path).await.starts_with("HTTP/1.1 404"), "{path}");
        }

        stop.cancel();
        server.task.await.unwrap();
        assert!(TcpStream::connect(server.address).await.is_err());
    }

    #[tokio::test]
    async fn every_address_means_both_families() {
        let server = serve(":0", pages(&Arc::default()), CancellationToken::new()).await.unwrap();
        let port = server.address.port();
        let four = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        assert!(ask(four, "GET", "/healthz").await.ends_with("OK"));
        if server.address.is_ipv6() {
            let six = SocketAddr::from((Ipv6Addr::LOCALHOST, port));
            assert!(ask(six, "GET", "/healthz").await.ends_with("OK"));
        }
    }

    #[tokio::test]
    async fn a_port_that_is_taken_is_reported() {
        let stop = CancellationToken::new();
        let first = serve("127.0.0.1:0", pages(&Arc::default()), stop.clone()).await.unwrap();
        let address = first.address.to_string();
        let error = serve(&address, pages(&Arc::default()), stop).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Configuration);
        assert!(error.to_string().contains(&format!("--metrics-address={address}: Address already in use")), "{error}");
    }

    /// Connections that ask nothing use up no file descriptors and keep nobody else from being answered.
    #[tokio::test]
    async fn silent_clients_are_cut_off_and_keep_no_probe_waiting() {
        let server = serve("127.0.0.1:0", pages(&Arc::default()), CancellationToken::new()).await.unwrap();
        let mut silent = Vec::new();
        for _ in 0..200 {
            let mut stream = TcpStream::connect(server.address).await.unwrap();
            stream.write_all(b"GET /healthz HTTP/1.1\r\n").await.unwrap();
            silent.push(stream);
        }
        let soon = tokio::time::timeout(Duration::from_secs(2), ask(server.address, "GET", "/healthz"));
        assert!(soon.await.unwrap().ends_with("OK"));
        for mut stream in silent {
            let ended = tokio::time::timeout(Duration::from_secs(30), stream.read_to_end(&mut Vec::new())).await;
            assert!(ended.is_ok(), "a silent connection stays");
        }
    }

    #[tokio::test]
    async fn stopping_does_not_wait_for_a_silent_client() {
        let stop = CancellationToken::new();
        let server = serve("127.0.0.1:0", pages(&Arc::default()), stop.clone()).await.unwrap();
        let mut silent = TcpStream::connect(server.address).await.unwrap();
        silent.write_all(b"GET /healthz HTTP/1.1\r\n").await.unwrap();
        stop.cancel();
        tokio::time::timeout(SHUTDOWN_GRACE * 3, server.task).await.unwrap().unwrap();
    }
}
