//! The SDK's requests over the transport of `zonewright-http`.
//!
//! In: a request that the SDK signed. Out: its answer, as any other request of the program: through the same proxies, with the
//! same authorities, counted in the same metric. The services that give credentials to a machine are link-local, and are never
//! asked through a proxy.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;
use std::time::Duration;

use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpClient, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::body::SdkBody;
use bytes::Bytes;
use tokio::time::{Instant, timeout};
use zonewright_core::Result;
use zonewright_http::{
    Answer, BodyLimits, Connection, Outgoing, Proxies, RequestTimes, Transport, TransportError, Url,
};

/// Most bytes of an answer; the longest of them, a page of 300 record sets, has a few hundred kilobytes.
const LIMIT: usize = 32 * 1024 * 1024;
/// Most bytes of an answer that is no success.
const REFUSAL: usize = 256 * 1024;

/// Makes the template of a path for the metric: `/2013-04-01/hostedzone/{id}/rrset`.
pub type PathTemplate = fn(&str) -> String;

/// A client for SDKs over these connections; each request counts in `times` under the template of its path.
///
/// # Errors
/// The certificate authorities cannot be read.
pub fn sdk_http_client(
    connection: &Connection,
    times: RequestTimes,
    template: PathTemplate,
) -> Result<SharedHttpClient> {
    let direct = Connection { proxies: Proxies::none(), ..connection.clone() }.open(false)?;
    let transport = SdkTransport { network: connection.open(true)?, direct, times, template };
    Ok(SharedHttpClient::new(Client(Arc::new(transport))))
}

struct SdkTransport {
    network: Arc<dyn Transport>,
    /// Without proxies and TLS, for what is on the machine itself.
    direct: Arc<dyn Transport>,
    times: RequestTimes,
    template: PathTemplate,
}

#[derive(Debug, Clone)]
struct Client(Arc<SdkTransport>);

impl fmt::Debug for SdkTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SdkTransport")
    }
}

impl HttpClient for Client {
    fn http_connector(&self, settings: &HttpConnectorSettings, _: &RuntimeComponents) -> SharedHttpConnector {
        SharedHttpConnector::new(Connector { transport: self.0.clone(), patience: settings.read_timeout() })
    }
}

#[derive(Debug)]
struct Connector {
    transport: Arc<SdkTransport>,
    /// Longest time for one exchange, where the SDK sets one (for the metadata service of a machine).
    patience: Option<Duration>,
}

impl HttpConnector for Connector {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let (transport, patience) = (self.transport.clone(), self.patience);
        HttpConnectorFuture::new(async move { transport.exchange(request, patience).await })
    }
}

impl SdkTransport {
    async fn exchange(
        &self,
        request: HttpRequest,
        patience: Option<Duration>,
    ) -> std::result::Result<HttpResponse, ConnectorError> {
        let outgoing = outgoing(request)?;
        let transport = if is_machines_own(&outgoing.url) { &self.direct } else { &self.network };
        let (begun, limits) = (Instant::now(), BodyLimits { success: Some(LIMIT), refusal: REFUSAL });
        let exchange = transport.exchange(&outgoing, limits);
        let result = match patience {
            Some(longest) => timeout(longest, exchange).await.unwrap_or(Err(TransportError::Timeout(longest))),
            None => exchange.await,
        };
        let status = result.as_ref().ok().map(|answer| answer.status.as_u16());
        let template = (self.template)(outgoing.url.path());
        self.times.observe(&outgoing.url, &template, outgoing.method.as_str(), status, begun.elapsed());
        result.map_err(|error| connector_error(&outgoing.url, error)).and_then(response)
    }
}

/// The request in the form of `zonewright-http`.
fn outgoing(request: HttpRequest) -> std::result::Result<Outgoing, ConnectorError> {
    let request = request.try_into_http1x().map_err(|error| ConnectorError::user(error.into()))?;
    let (head, body) = request.into_parts();
    let url = Url::parse(&head.uri.to_string()).map_err(|error| ConnectorError::user(error.into()))?;
    let bytes = body.bytes().ok_or_else(|| ConnectorError::user("the body of the request is a stream".into()))?;
    let body = (!bytes.is_empty()).then(|| Bytes::copy_from_slice(bytes));
    Ok(Outgoing { method: head.method, url, headers: head.headers, body })
}

fn response(answer: Answer) -> std::result::Result<HttpResponse, ConnectorError> {
    let mut response = http::Response::new(SdkBody::from(answer.body));
    *response.status_mut() = answer.status;
    *response.headers_mut() = answer.headers;
    HttpResponse::try_from(response).map_err(|error| ConnectorError::other(error.into(), None))
}

fn connector_error(url: &Url, error: TransportError) -> ConnectorError {
    let error = At { origin: url.origin().ascii_serialization(), error };
    match error.error {
        TransportError::Timeout(_) => ConnectorError::timeout(error.into()),
        TransportError::Request(_) => ConnectorError::user(error.into()),
        TransportError::TooLarge(_) => ConnectorError::other(error.into(), None),
        _ => ConnectorError::io(error.into()),
    }
}

/// An error of the transport, and towards whom.
#[derive(Debug, thiserror::Error)]
#[error("{origin}: {error}")]
pub(crate) struct At {
    origin: String,
    /// What went wrong.
    #[source]
    pub(crate) error: TransportError,
}

/// Whether this is the machine itself, or a service that speaks for it: loopback, 169.254.0.0/16, the IPv6 address of the EC2
/// metadata service.
fn is_machines_own(url: &Url) -> bool {
    let Some(host) = url.host_str() else { return false };
    match host.trim_matches(['[', ']']).parse() {
        _ if url.scheme() != "http" => false,
        Ok(IpAddr::V4(address)) => address.is_link_local() || address.is_loopback(),
        Ok(IpAddr::V6(address)) => {
            address.is_loopback() || address == Ipv6Addr::new(0xfd00, 0x0ec2, 0, 0, 0, 0, 0, 0x254)
        }
        Err(_) => host == "localhost",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_services_are_asked_without_a_proxy() {
        for (url, expected) in [
            ("http://169.254.169.254/latest/meta-data", true),
            ("http://169.254.170.2/v2/credentials", true),
            ("http://[fd00:ec2::254]/latest", true),
            ("http://127.0.0.1:4566/", true),
            ("http://localhost:4566/", true),
            ("https://169.254.169.254/", false),
            ("https://route53.amazonaws.com/", false),
            ("http://192.0.2.1/", false),
        ] {
            assert_eq!(is_machines_own(&Url::parse(url).unwrap()), expected, "{url}");
        }
    }
}
