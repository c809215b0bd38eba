//! One connection: TLS, then requests with limits of size and time.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use rustls::ServerConfig;
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use super::PATH;
use super::review::review;

/// Largest body, in bytes. An object has at most 1.5 MiB in etcd, and a review holds the old one and the new one.
const MAX_BODY: usize = 8 << 20;
/// For the handshake of TLS.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// For the head of the next request. API servers keep connections open for 90 seconds without a request.
const HEAD: Duration = Duration::from_mins(2);
/// For the body of a request. API servers wait for at most 30 seconds for the answer.
const BODY: Duration = Duration::from_secs(30);

type Answer = Response<Full<Bytes>>;

/// Serves a connection until either side ends it; the request that is under way at the order to stop is answered.
pub(super) async fn serve(stream: TcpStream, config: Arc<ServerConfig>, stop: CancellationToken) {
    // An answer is small and awaited.
    let _ = stream.set_nodelay(true);
    let handshake = tokio::time::timeout(HANDSHAKE, TlsAcceptor::from(config).accept(stream));
    let Ok(Ok(stream)) = handshake.await else {
        tracing::debug!("a client did not complete the TLS handshake");
        return;
    };
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .serve_connection(TokioIo::new(stream), service_fn(answer));
    tokio::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection broke");
    }
}

async fn answer(request: Request<Incoming>) -> Result<Answer, Infallible> {
    let (head, body) = request.into_parts();
    Ok(match (head.uri.path(), &head.method) {
        (PATH, &Method::POST) => posted(body).await,
        (PATH, method) => text(StatusCode::METHOD_NOT_ALLOWED, &format!("{method} {PATH}: expected POST")),
        (path, _) => text(StatusCode::NOT_FOUND, &format!("there is nothing at {path}; expected {PATH}")),
    })
}

async fn posted(body: Incoming) -> Answer {
    let read = tokio::time::timeout(BODY, Limited::new(body, MAX_BODY).collect());
    let bytes = match read.await {
        Ok(Ok(body)) => body.to_bytes(),
        Ok(Err(error)) if error.is::<http_body_util::LengthLimitError>() => {
            return text(StatusCode::PAYLOAD_TOO_LARGE, &format!("the body is larger than {MAX_BODY} bytes"));
        }
        Ok(Err(error)) => return text(StatusCode::BAD_REQUEST, &format!("the body was cut short: {error}")),
        Err(_) => return text(StatusCode::REQUEST_TIMEOUT, "the body took too long"),
    };
    match review(&bytes) {
        Ok(answer) => {
            let mut response = Response::new(Full::from(answer.to_string()));
            response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            response
        }
        Err(error) => {
            tracing::warn!(%error, "a request was not understood");
            text(StatusCode::BAD_REQUEST, &error.to_string())
        }
    }
}

fn text(status: StatusCode, words: &str) -> Answer {
    let mut response = Response::new(Full::from(format!("{words}\n")));
    *response.status_mut() = status;
    response
}
