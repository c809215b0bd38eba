//! How to reach a service: TLS, proxies, and connections that are kept.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use http::header::PROXY_AUTHORIZATION;
use http::{Request, Uri};
use http_body_util::{BodyExt as _, Full};
use hyper_util::client::legacy::Client as Pool;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use zonewright_core::{Error, ErrorKind};

use crate::answer::Answer;
use crate::connector::{Connector, authorization, concerns_tls};
use crate::error::TransportError;
use crate::proxy::Proxies;
use crate::tls::{Tls, TlsError};
use crate::transport::{BodyLimits, Outgoing, Transport};

/// How to reach a service.
#[derive(Debug, Clone)]
pub struct Connection {
    /// Whom to trust, and who we are.
    pub tls: Tls,
    /// Which requests go through which proxy.
    pub proxies: Proxies,
    /// Longest time to connect, TLS and proxy included.
    pub connect_timeout: Duration,
    /// How long a connection without requests is kept.
    pub idle: Duration,
}

impl Default for Connection {
    /// The system's authorities, no proxy, 10 seconds to connect.
    fn default() -> Self {
        Self {
            tls: Tls::default(),
            proxies: Proxies::none(),
            connect_timeout: Duration::from_secs(10),
            idle: Duration::from_secs(90),
        }
    }
}

impl Connection {
    /// Prepares connections. Connects to nothing. Without `tls`, for addresses with `http` alone, no authorities are read.
    ///
    /// # Errors
    /// As [`TlsError`] says.
    pub fn open(&self, tls: bool) -> Result<Arc<dyn Transport>, TlsError> {
        // A proxy may be spoken to by TLS all the same.
        let tls = if tls || !self.proxies.is_none() { self.tls.client()? } else { Tls::unused()? };
        let connector = Connector::new(tls, self.proxies.clone(), self.connect_timeout);
        let pool = Pool::builder(TokioExecutor::new())
            .timer(TokioTimer::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(self.idle)
            .http2_keep_alive_interval(Duration::from_secs(30))
            .http2_keep_alive_timeout(Duration::from_secs(10))
            .build(connector);
        Ok(Arc::new(Network { pool, proxies: self.proxies.clone() }))
    }
}

impl From<TlsError> for Error {
    fn from(error: TlsError) -> Self {
        Self::new(ErrorKind::Configuration, "prepare TLS", error.to_string()).caused_by(error)
    }
}

/// The network.
struct Network {
    pool: Pool<Connector, Full<Bytes>>,
    proxies: Proxies,
}

impl fmt::Debug for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Network")
    }
}

impl Network {
    fn request(&self, outgoing: &Outgoing) -> Result<Request<Full<Bytes>>, TransportError> {
        let wrong = |error: String| TransportError::Request(error);
        let mut url = outgoing.url.clone();
        url.set_fragment(None);
        let uri: Uri = url.as_str().parse().map_err(|error: http::uri::InvalidUri| wrong(error.to_string()))?;
        let body = Full::new(outgoing.body.clone().unwrap_or_default());
        let request = Request::builder().method(outgoing.method.clone()).uri(uri).body(body);
        let mut request = request.map_err(|error| wrong(error.to_string()))?;
        *request.headers_mut() = outgoing.headers.clone();
        // With CONNECT the proxy gets the credentials when the connection is made; else with each request.
        if url.scheme() == "http"
            && let Some(value) = self.proxies.proxy_for(&url).and_then(authorization)
        {
            request.headers_mut().insert(PROXY_AUTHORIZATION, value);
        }
        Ok(request)
    }
}

#[async_trait]
impl Transport for Network {
    async fn exchange(&self, request: &Outgoing, limits: BodyLimits) -> Result<Answer, TransportError> {
        let request = self.request(request)?;
        let response = self.pool.request(request).await.map_err(|error| match error.is_connect() {
            true if concerns_tls(&error) => TransportError::Tls(error.into()),
            true => TransportError::Connect(error.into()),
            false => TransportError::Cut(error.into()),
        })?;
        let (head, mut incoming) = response.into_parts();
        let (status, mut body) = (head.status, Vec::new());
        while let Some(frame) = incoming.frame().await {
            let frame = match frame {
                Ok(frame) => frame,
                // What was done is known from the status; the rest would only have been words about it.
                Err(_) if !status.is_success() => break,
                Err(error) => return Err(TransportError::Cut(error.into())),
            };
            body.extend_from_slice(frame.data_ref().map_or(&[], |data| data.as_ref()));
            if !status.is_success() && body.len() > limits.refusal {
                body.truncate(limits.refusal);
                break;
            }
            if let Some(limit) = limits.success.filter(|limit| status.is_success() && body.len() > *limit) {
                return Err(TransportError::TooLarge(limit));
            }
        }
        Ok(Answer::new(status, head.headers, body))
    }
}
