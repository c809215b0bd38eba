//! A scripted API server without a network, for tests on a paused clock. In: the requests that must come, in order, and the
//! answer to each. Out: what really came.
//!
//! A request beyond the end of the script waits for ever, so that a test sees what was reported up to then. A request other than
//! the expected one fails the test when the fake is dropped.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use futures::stream;
use http::{Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, StreamBody};
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use tower::BoxError;

use crate::cluster::Cluster;
use crate::gate::ALIVE;
use crate::options::ConnectOptions;

type Frames = UnsyncBoxBody<Bytes, BoxError>;

/// A request that must come, by the beginning of `METHOD path?query`, and its answer.
#[derive(Debug)]
pub(crate) struct Step {
    expected: String,
    /// Parts of the query that must be there.
    with: Vec<&'static str>,
    answer: Answer,
}

#[derive(Debug)]
enum Answer {
    Now { code: u16, headers: Vec<(&'static str, String)>, pieces: Vec<Piece> },
    Unreachable,
    Never,
}

/// A piece of a streamed answer.
#[derive(Debug, Clone)]
pub(crate) enum Piece {
    Line(Value),
    Raw(&'static str),
    Pause(Duration),
    /// The connection breaks.
    Cut,
    /// Nothing more comes, and the connection stays.
    Hang,
}

/// The server, and the test's handle to it.
#[derive(Debug)]
pub(crate) struct Fake(Arc<State>);

#[derive(Debug, Default)]
struct State {
    script: Mutex<VecDeque<Step>>,
    requests: Mutex<Vec<String>>,
    bodies: Mutex<Vec<Value>>,
    surprises: Mutex<Vec<String>>,
    dead: Mutex<bool>,
}

impl Step {
    fn new(expected: &str, answer: Answer) -> Self {
        Self { expected: expected.to_owned(), with: Vec::new(), answer }
    }

    fn now(expected: &str, code: u16, pieces: Vec<Piece>) -> Self {
        Self::new(expected, Answer::Now { code, headers: Vec::new(), pieces })
    }

    /// 200 with this object.
    pub(crate) fn json(expected: &str, body: &Value) -> Self {
        Self::now(expected, 200, vec![Piece::Line(body.clone())])
    }

    /// 200 with these pieces, then a clean end.
    pub(crate) fn stream(expected: &str, pieces: Vec<Piece>) -> Self {
        Self::now(expected, 200, pieces)
    }

    /// A refusal with a Status object.
    pub(crate) fn refused(expected: &str, code: u16, reason: &str, message: &str) -> Self {
        Self::status(expected, &json!({ "kind": "Status", "code": code, "reason": reason, "message": message }))
    }

    /// A refusal with this Status object.
    pub(crate) fn status(expected: &str, status: &Value) -> Self {
        let code = status["code"].as_u64().and_then(|code| u16::try_from(code).ok()).unwrap();
        Self::now(expected, code, vec![Piece::Line(status.clone())])
    }

    /// An answer that is no JSON.
    pub(crate) fn text(expected: &str, code: u16, text: &'static str) -> Self {
        Self::now(expected, code, vec![Piece::Raw(text)])
    }

    /// The connection is refused.
    pub(crate) fn unreachable(expected: &str) -> Self {
        Self::new(expected, Answer::Unreachable)
    }

    /// There is never an answer.
    pub(crate) fn never(expected: &str) -> Self {
        Self::new(expected, Answer::Never)
    }

    /// The query must hold this too.
    pub(crate) fn with(mut self, part: &'static str) -> Self {
        self.with.push(part);
        self
    }

    /// The answer has this header.
    pub(crate) fn header(mut self, name: &'static str, value: &str) -> Self {
        if let Answer::Now { headers, .. } = &mut self.answer {
            headers.push((name, value.to_owned()));
        }
        self
    }

    fn fits(&self, request: &str) -> bool {
        request.starts_with(&self.expected) && self.with.iter().all(|part| request.contains(part))
    }
}

impl Fake {
    pub(crate) fn new(steps: Vec<Step>) -> Self {
        let state = State { script: Mutex::new(steps.into()), ..State::default() };
        Self(Arc::new(state))
    }

    /// A cluster behind which this server answers, with generous limits.
    pub(crate) fn cluster(&self) -> Cluster {
        self.cluster_with(&ConnectOptions { qps: 10_000, burst: 10_000, ..ConnectOptions::default() })
    }

    pub(crate) fn cluster_with(&self, options: &ConnectOptions) -> Cluster {
        let state = self.0.clone();
        let service = tower::service_fn(move |request| state.clone().serve(request));
        Cluster::over(Client::new(service, "home"), options)
    }

    /// From now on the server does not answer [`ALIVE`].
    pub(crate) fn die(&self) {
        *self.0.dead.lock().unwrap() = true;
    }

    /// Every request but those for [`ALIVE`], as `METHOD path?query`.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.0.requests.lock().unwrap().clone()
    }

    /// The body of the request with this number.
    pub(crate) fn sent(&self, number: usize) -> Value {
        self.0.bodies.lock().unwrap()[number].clone()
    }
}

impl State {
    async fn serve(self: Arc<Self>, request: Request<Body>) -> Result<Response<Frames>, BoxError> {
        let (parts, body) = request.into_parts();
        if parts.uri.path() == ALIVE {
            return self.pulse().await;
        }
        let bytes = body.collect_bytes().await?;
        let line = format!("{} {}", parts.method, parts.uri);
        self.requests.lock().unwrap().push(line.clone());
        self.bodies.lock().unwrap().push(serde_json::from_slice(&bytes).unwrap_or(Value::Null));
        let step = self.script().pop_front();
        match step {
            None => std::future::pending().await,
            Some(step) => {
                if !step.fits(&line) {
                    self.surprises.lock().unwrap().push(format!("{line} instead of {} {:?}", step.expected, step.with));
                }
                respond(step.answer).await
            }
        }
    }

    async fn pulse(&self) -> Result<Response<Frames>, BoxError> {
        let dead = *self.dead.lock().unwrap();
        if dead {
            std::future::pending().await
        } else {
            respond(Answer::Now { code: 200, headers: Vec::new(), pieces: Vec::new() }).await
        }
    }

    fn script(&self) -> MutexGuard<'_, VecDeque<Step>> {
        self.script.lock().unwrap()
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        let surprises = self.0.surprises.lock().unwrap();
        if !std::thread::panicking() {
            assert!(surprises.is_empty(), "{surprises:#?}");
        }
    }
}

async fn respond(answer: Answer) -> Result<Response<Frames>, BoxError> {
    match answer {
        Answer::Unreachable => Err(std::io::Error::from(std::io::ErrorKind::ConnectionRefused).into()),
        Answer::Never => std::future::pending().await,
        Answer::Now { code, headers, pieces } => {
            let response =
                headers.into_iter().fold(Response::builder().status(code), |r, (name, value)| r.header(name, value));
            Ok(response.body(frames(pieces)).unwrap())
        }
    }
}

fn frames(pieces: Vec<Piece>) -> Frames {
    let stream = stream::iter(pieces).then(|piece| async {
        match piece {
            Piece::Line(value) => Ok(Bytes::from(format!("{value}\n"))),
            Piece::Raw(text) => Ok(Bytes::from(text)),
            Piece::Pause(length) => {
                tokio::time::sleep(length).await;
                Ok(Bytes::new())
            }
            Piece::Cut => Err(BoxError::from(std::io::Error::from(std::io::ErrorKind::ConnectionReset))),
            Piece::Hang => std::future::pending().await,
        }
    });
    StreamBody::new(stream.map(|piece| piece.map(http_body::Frame::data))).boxed_unsync()
}

/// The body of an answer that arrives in these pieces.
pub(crate) async fn body(pieces: Vec<Vec<u8>>) -> Body {
    let service = tower::service_fn(move |_: Request<Body>| {
        let frames: Vec<_> =
            pieces.iter().map(|piece| Ok::<_, BoxError>(http_body::Frame::data(Bytes::from(piece.clone())))).collect();
        async move { Ok::<_, BoxError>(Response::new(StreamBody::new(stream::iter(frames)))) }
    });
    Client::new(service, "home").send(Request::new(Body::empty())).await.unwrap().into_body()
}
