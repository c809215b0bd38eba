//! One request and its answer over HTTP.
//!
//! In: a request of the protocol. Out: the status with as much of the body as is asked for, or a [`Fault`]. Every
//! request has one time for everything, from connecting to the last octet of the answer. Redirections are followed as
//! far as they can be trusted, and told.

use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, LOCATION, RETRY_AFTER, USER_AGENT};
use hyper::{Method, Request, Response, StatusCode, Uri};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client as Pool;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};
use secrecy::ExposeSecret as _;
use zonewright_core::Error;

use crate::config::{Config, Peer, bad};
use crate::error::Fault;
use crate::media::MEDIA_TYPE;
use crate::told::Told;

/// Most redirections of one request.
const HOPS: usize = 5;

/// Most octets that are read of the body of an answer that is no success: its words go into messages, and some peers list
/// what they refused.
const SAID: usize = 256 * 1024;

/// The requests of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Route {
    Negotiate,
    Records,
    Adjust,
    Apply,
}

impl Route {
    fn method(self) -> Method {
        match self {
            Self::Negotiate | Self::Records => Method::GET,
            Self::Adjust | Self::Apply => Method::POST,
        }
    }

    /// What follows the address; nothing for the negotiation, which asks the address itself.
    fn path(self) -> &'static str {
        match self {
            Self::Negotiate => "",
            Self::Records | Self::Apply => "records",
            Self::Adjust => "adjustendpoints",
        }
    }
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    /// The Content-Type.
    pub(crate) media: Option<String>,
    /// How long not to ask again.
    pub(crate) after: Option<Duration>,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    /// The answer as a fault: another status than the protocol has.
    pub(crate) fn unexpected(&self, expected: u16) -> Fault {
        let text = String::from_utf8_lossy(&self.body);
        let said: String = text.trim().chars().map(|c| if c.is_control() { ' ' } else { c }).take(200).collect();
        Fault::Status { status: self.status, expected, said, after: self.after }
    }
}

/// A peer, with the connections to it.
#[derive(Debug)]
pub(crate) struct Client {
    pool: Pool<HttpsConnector<HttpConnector>, Full<Bytes>>,
    peer: Peer,
    total: Duration,
    limit: Option<usize>,
}

impl Client {
    /// Connects to nothing.
    ///
    /// # Errors
    /// [`zonewright_core::ErrorKind::Configuration`] if the certificate authorities cannot be read.
    pub(crate) fn new(config: Config) -> Result<Self, Error> {
        let Config { peer, connect, total, limit, ca, .. } = config;
        let secure = peer.base.scheme_str() == Some("https");
        let roots = if secure { roots(&ca).map_err(bad)? } else { RootCertStore::empty() };
        let tls = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| bad(format!("TLS is not available: {error}")))?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let mut http = HttpConnector::new();
        http.enforce_http(false);
        http.set_nodelay(true);
        http.set_connect_timeout(Some(connect));
        let connector = HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http().enable_http1();
        let pool = Pool::builder(TokioExecutor::new()).build(connector.wrap_connector(http));
        Ok(Self { pool, peer, total, limit })
    }

    /// The address, for messages.
    pub(crate) fn address(&self) -> String {
        self.peer.base.to_string()
    }

    /// Sends one request, and redirected ones after it.
    ///
    /// # Errors
    /// Whatever kept the answer from being complete. A status that the protocol does not have is no error here.
    pub(crate) async fn send(&self, route: Route, body: Option<Vec<u8>>, told: &Told) -> Result<Answer, Fault> {
        let body = body.map(Bytes::from);
        let exchange = self.exchange(route, body, told);
        tokio::time::timeout(self.total, exchange).await.unwrap_or(Err(Fault::Timeout(self.total)))
    }

    async fn exchange(&self, route: Route, body: Option<Bytes>, told: &Told) -> Result<Answer, Fault> {
        let mut uri = joined(&self.peer.base, route.path());
        for _ in 0..=HOPS {
            let response = self.once(route, &uri, body.clone()).await?;
            let Some(next) = redirection(route, &uri, &response)? else { return self.read(response).await };
            told.once(
                &format!("redirection of {route:?}"),
                &format!("redirects {} {uri} to {next}", route.method()),
                "has no redirections",
                "it is followed; set --webhook-provider-url to the new address",
            );
            uri = next;
        }
        let (status, to) = (StatusCode::LOOP_DETECTED, uri.to_string());
        Err(Fault::Redirected { status, to, why: "is one redirection too many" })
    }

    async fn once(&self, route: Route, uri: &Uri, body: Option<Bytes>) -> Result<Response<Incoming>, Fault> {
        let mut request = Request::builder().method(route.method()).uri(uri.clone()).header(USER_AGENT, "zonewright");
        if body.is_some() {
            request = request.header(CONTENT_TYPE, MEDIA_TYPE);
        }
        if route != Route::Apply {
            request = request.header(ACCEPT, MEDIA_TYPE);
        }
        if let Some(authorization) = self.peer.authorization.as_ref().filter(|_| same_host(uri, &self.peer.base)) {
            request = request.header(AUTHORIZATION, authorization.expose_secret());
        }
        let request = request.body(Full::new(body.unwrap_or_default()));
        let request = request.map_err(|error| Fault::Connect(Box::new(error)))?;
        let sent = self.pool.request(request).await;
        sent.map_err(|error| if error.is_connect() { Fault::Connect(error.into()) } else { Fault::Cut(error.into()) })
    }

    async fn read(&self, response: Response<Incoming>) -> Result<Answer, Fault> {
        let (head, mut incoming) = response.into_parts();
        let mut body = Vec::new();
        while let Some(frame) = incoming.frame().await {
            let frame = match frame {
                Ok(frame) => frame,
                // What was done is known from the status; the rest would only have been words about it.
                Err(_) if !head.status.is_success() => break,
                Err(error) => return Err(Fault::Cut(error.into())),
            };
            body.extend_from_slice(frame.data_ref().map_or(&[], |data| data.as_ref()));
            if !head.status.is_success() && body.len() > SAID {
                break;
            }
            if let Some(limit) = self.limit.filter(|limit| body.len() > *limit) {
                return Err(Fault::TooLarge(limit));
            }
        }
        let after =
            text(&head.headers, &RETRY_AFTER).and_then(|text| text.trim().parse().ok()).map(Duration::from_secs);
        Ok(Answer { status: head.status, media: text(&head.headers, &CONTENT_TYPE), after, body })
    }
}

/// The address with a path behind it, whether it ends with a slash or not; a query stays where it is.
fn joined(base: &Uri, path: &str) -> Uri {
    if path.is_empty() {
        return base.clone();
    }
    let query = base.query().map_or_else(String::new, |query| format!("?{query}"));
    let (scheme, host) = (base.scheme_str().unwrap_or("http"), base.authority().map_or("", |host| host.as_str()));
    let text = format!("{scheme}://{host}{}/{path}{query}", base.path().trim_end_matches('/'));
    text.parse().unwrap_or_else(|_| base.clone())
}

fn text(headers: &HeaderMap, name: &HeaderName) -> Option<String> {
    headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
}

fn same_host(a: &Uri, b: &Uri) -> bool {
    (a.scheme_str(), a.authority()) == (b.scheme_str(), b.authority())
}

/// Where an answer points to, if it is a redirection.
///
/// # Errors
/// It cannot be followed: it would lose the body of a request, leads from https to http, or nowhere.
fn redirection(route: Route, from: &Uri, response: &Response<Incoming>) -> Result<Option<Uri>, Fault> {
    let status = response.status();
    if !matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let to = text(response.headers(), &LOCATION).unwrap_or_default();
    let refuse = |why| Err(Fault::Redirected { status, to: to.clone(), why });
    if route.method() == Method::POST && !matches!(status.as_u16(), 307 | 308) {
        return refuse("would turn a POST into a GET");
    }
    let Some(next) = resolved(from, &to) else { return refuse("leads nowhere") };
    if from.scheme_str() == Some("https") && next.scheme_str() != Some("https") {
        return refuse("leads from https to plain http");
    }
    Ok(Some(next))
}

/// A Location is an address or a path (RFC 9110 10.2.2); relative paths without a slash are not made by any server
/// known.
fn resolved(from: &Uri, to: &str) -> Option<Uri> {
    let absolute = if to.starts_with('/') && !to.starts_with("//") {
        format!("{}://{}{to}", from.scheme_str()?, from.authority()?)
    } else {
        to.to_owned()
    };
    let uri: Uri = absolute.parse().ok()?;
    (matches!(uri.scheme_str(), Some("http" | "https")) && uri.host().is_some()).then_some(uri)
}

/// The authorities to trust: those of a file, or the system's. The error is a sentence.
fn roots(path: &str) -> Result<RootCertStore, String> {
    let mut store = RootCertStore::empty();
    if path.is_empty() {
        store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        return if store.is_empty() {
            Err("this system has no certificate authorities; give --tls-ca".to_owned())
        } else {
            Ok(store)
        };
    }
    let all = CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    for certificate in all.map_err(|error| format!("--tls-ca {path}: {error}"))? {
        store.add(certificate).map_err(|error| format!("--tls-ca {path}: {error}"))?;
    }
    if store.is_empty() { Err(format!("--tls-ca {path} holds no certificate in PEM form")) } else { Ok(store) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_joined_behind_the_address() {
        for (base, path, expected) in [
            ("http://a:1", "records", "http://a:1/records"),
            ("http://a:1/", "records", "http://a:1/records"),
            ("https://a/dns/v1/", "adjustendpoints", "https://a/dns/v1/adjustendpoints"),
            ("https://a/dns?t=1", "records", "https://a/dns/records?t=1"),
            ("https://a/dns/", "", "https://a/dns/"),
        ] {
            assert_eq!(joined(&base.parse().unwrap(), path).to_string(), expected, "{base} {path}");
        }
    }

    #[test]
    fn locations() {
        let from: Uri = "https://a:1/x/records".parse().unwrap();
        for (to, expected) in [
            ("/y", Some("https://a:1/y")),
            ("http://b/z", Some("http://b/z")),
            ("ftp://b/z", None),
            ("", None),
            ("//b/z", None),
        ] {
            assert_eq!(resolved(&from, to).map(|uri| uri.to_string()).as_deref(), expected, "{to}");
        }
    }
}
