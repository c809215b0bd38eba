//! Requests in and answers out over HTTP, the same for each service.

use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::body::Bytes;
use axum::extract::DefaultBodyLimit;
use axum::http::{HeaderMap, Method, Uri};

use crate::reply::Reply;

/// Most bytes of a request: room for the largest batch of any service.
const BODY: usize = 32 << 20;

/// A request as it came.
#[derive(Debug)]
pub(crate) struct Incoming {
    pub(crate) method: String,
    /// A path and perhaps a query.
    pub(crate) target: String,
    /// Names in lower case; values that are no text are left out.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

/// Gives every request to the service, one after the other.
pub(crate) fn router<S: Send + 'static>(service: Arc<Mutex<S>>, answer: fn(&mut S, Incoming) -> Reply) -> Router {
    let handler = move |method: Method, uri: Uri, headers: HeaderMap, body: Bytes| {
        let text =
            |name: &str, value: &axum::http::HeaderValue| Some((name.to_owned(), value.to_str().ok()?.to_owned()));
        let incoming = Incoming {
            method: method.as_str().to_owned(),
            target: uri.path_and_query().map_or("/", |target| target.as_str()).to_owned(),
            headers: headers.iter().filter_map(|(name, value)| text(name.as_str(), value)).collect(),
            body: body.to_vec(),
        };
        let reply = answer(&mut service.lock().unwrap_or_else(PoisonError::into_inner), incoming);
        async move { reply.send().await }
    };
    Router::new().fallback(handler).layer(DefaultBodyLimit::max(BODY))
}
