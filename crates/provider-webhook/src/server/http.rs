//! Routes, bodies and status codes.
//!
//! In: requests. Out: answers with the status codes of external-dns; where it says nothing, the body says why.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::connect_info::ConnectInfo;
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use http_body_util::BodyExt as _;
use serde::de::DeserializeOwned;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use zonewright_core::Error;

use super::Server;
use super::pace::{PacedListener, Turn};
use super::write;
use crate::media::MEDIA_TYPE;
use crate::wire::List;

/// How long a connection that asks nothing may stay after the order to stop.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(3);

/// Answers until the order to stop; then what has begun is carried to its end.
pub(super) async fn serve(server: Arc<Server>, listener: TcpListener, stop: CancellationToken) {
    let listener = PacedListener::new(listener, server.times);
    let router = Router::new().fallback(answer).with_state(server.clone());
    let answers = axum::serve(listener, router.into_make_service_with_connect_info::<Turn>())
        .with_graceful_shutdown(stop.clone().cancelled_owned());
    let too_late = async {
        stop.cancelled().await;
        tokio::time::sleep(SHUTDOWN_GRACE).await;
        server.begun.close();
        server.begun.wait().await;
        // The caller of the last change shall have its answer.
        tokio::time::sleep(Duration::from_millis(100)).await;
    };
    tokio::select! {
        _ = answers.into_future() => {}
        () = too_late => {}
    }
    server.begun.close();
    server.begun.wait().await;
}

/// Anything that is not one of the two paths is the negotiation, whatever the method, as in external-dns.
async fn answer(State(server): State<Arc<Server>>, ConnectInfo(turn): ConnectInfo<Turn>, request: Request) -> Response {
    let _ours = (turn.begin(), server.begun.token());
    let (head, body) = request.into_parts();
    match (head.uri.path(), &head.method) {
        ("/records", &Method::GET) => {
            server.records().await.map_or_else(|error| failed(&error), |all| said(write::list(&all)))
        }
        ("/records", &Method::POST) => server.apply_posted(body).await,
        ("/adjustendpoints", &Method::POST) => server.adjust_posted(body).await,
        (path @ ("/records" | "/adjustendpoints"), method) => {
            let known = if path == "/records" { "GET and POST" } else { "POST" };
            text(StatusCode::BAD_REQUEST, &format!("{method} {path}: expected {known}"))
        }
        _ => server.filter().await.map_or_else(|error| failed(&error), |filter| said(write::json(&filter))),
    }
}

impl Server {
    async fn apply_posted(self: Arc<Self>, body: Body) -> Response {
        let posted = match self.read(body).await {
            Ok(posted) => posted,
            Err(unread) => return unread.refusals(),
        };
        // A caller that hangs up must not leave half a change behind.
        let server = self.clone();
        let done = self.begun.spawn(async move { server.carry_out(posted).await });
        match done.await {
            Ok(Ok(refusals)) if refusals.refused.is_empty() => StatusCode::NO_CONTENT.into_response(),
            Ok(Ok(refusals)) => {
                let kind = [(header::CONTENT_TYPE, "application/json")];
                (StatusCode::INTERNAL_SERVER_ERROR, kind, write::json(&refusals)).into_response()
            }
            Ok(Err(error)) => failed(&error),
            Err(_) => text(StatusCode::INTERNAL_SERVER_ERROR, "it is not known what was done"),
        }
    }

    async fn adjust_posted(&self, body: Body) -> Response {
        let asked: List = match self.read(body).await {
            Ok(asked) => asked,
            Err(unread) => return unread.refusals(),
        };
        self.adjust(asked.endpoints).await.map_or_else(|error| failed(&error), |all| said(write::list(&all)))
    }

    /// The first JSON value of a body; what follows it is not looked at, as in external-dns.
    async fn read<T: DeserializeOwned>(&self, body: Body) -> Result<T, Unread> {
        let bytes = match self.times.read {
            None => self.bytes(body).await,
            Some(limit) => tokio::time::timeout(limit, self.bytes(body)).await.unwrap_or(Err(Unread::Late(limit))),
        }?;
        Ok(T::deserialize(&mut serde_json::Deserializer::from_slice(&bytes))?)
    }

    async fn bytes(&self, mut body: Body) -> Result<Vec<u8>, Unread> {
        let mut bytes = Vec::new();
        while let Some(frame) = body.frame().await {
            bytes.extend_from_slice(frame?.data_ref().map_or(&[], |data| data.as_ref()));
            if let Some(limit) = self.limit.filter(|limit| bytes.len() > *limit) {
                return Err(Unread::TooLarge(limit));
            }
        }
        Ok(bytes)
    }
}

/// Why a body was not read. Nothing was done then.
#[derive(Debug, thiserror::Error)]
enum Unread {
    #[error("the body is larger than {0} bytes (--webhook-provider-max-body-size)")]
    TooLarge(usize),
    #[error("the body was not complete within {} s (--webhook-provider-read-timeout)", .0.as_secs_f32())]
    Late(Duration),
    #[error("the body was cut short: {0}")]
    Cut(#[from] axum::Error),
    #[error("the body is not the JSON of the protocol: {0}")]
    Json(#[from] serde_json::Error),
}

impl Unread {
    fn refusals(&self) -> Response {
        let status = match self {
            Self::TooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Late(_) | Self::Cut(_) | Self::Json(_) => StatusCode::BAD_REQUEST,
        };
        text(status, &self.to_string())
    }
}

fn said(json: Vec<u8>) -> Response {
    ([(header::CONTENT_TYPE, MEDIA_TYPE)], json).into_response()
}

fn failed(error: &Error) -> Response {
    let chain = error.chain();
    tracing::error!(error = chain, "a request failed");
    text(StatusCode::INTERNAL_SERVER_ERROR, &chain)
}

fn text(status: StatusCode, words: &str) -> Response {
    (status, format!("{words}\n")).into_response()
}
