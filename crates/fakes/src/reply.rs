//! An answer, and how it comes: also late, cut off or never.

use axum::body::{Body, Bytes};
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use futures::{StreamExt as _, stream};

/// How an answer comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Delivery {
    Whole,
    /// It breaks off in the middle of the body.
    Cut,
    /// The connection ends before it.
    Lost,
    Never,
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) content_type: &'static str,
    /// Name, in lower case, and value.
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: String,
    pub(crate) delivery: Delivery,
}

impl Reply {
    pub(crate) fn new(status: u16, content_type: &'static str, body: String) -> Self {
        Self { status, content_type, headers: Vec::new(), body, delivery: Delivery::Whole }
    }

    pub(crate) fn with_header(mut self, name: &'static str, value: String) -> Self {
        self.headers.push((name, value));
        self
    }

    pub(crate) fn delivered(self, delivery: Delivery) -> Self {
        Self { delivery, ..self }
    }

    /// Sends the answer, or never ends.
    pub(crate) async fn send(self) -> Response {
        if self.delivery == Delivery::Never {
            std::future::pending::<()>().await;
        }
        let length = self.body.len();
        let body = match self.delivery {
            Delivery::Whole | Delivery::Never => Body::from(self.body),
            Delivery::Cut => broken(self.body, length / 2),
            Delivery::Lost => broken(self.body, 0),
        };
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let head = [(header::CONTENT_TYPE, self.content_type.to_owned()), (header::CONTENT_LENGTH, length.to_string())];
        let mut response = (status, head, body).into_response();
        for (name, value) in self.headers {
            let value = HeaderValue::from_str(&value).expect("a fake writes headers of printable characters");
            response.headers_mut().insert(HeaderName::from_static(name), value);
        }
        response
    }
}

/// The first `count` bytes of a body, and the end of the connection. What was not sent when a body fails is never sent: so
/// the failure comes a moment after the bytes, and without any the status is not sent either.
fn broken(body: String, count: usize) -> Body {
    let mut bytes = Bytes::from(body);
    bytes.truncate(count);
    let start = stream::iter((count > 0).then_some(Ok(bytes)));
    let end = stream::once(async move {
        if count > 0 {
            tokio::task::yield_now().await;
        }
        Err(std::io::Error::from(std::io::ErrorKind::ConnectionAborted))
    });
    Body::from_stream(start.chain(end))
}
