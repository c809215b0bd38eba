//! The provider of a run: it answers with what the recorded one had, and keeps what it is sent.
//!
//! In: a run. Out: a webhook on a free port of the loopback interface, and what came in there. Nothing sent is lost: what
//! cannot be read is a problem.

use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use serde::Deserialize;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::recorded::{Changes, Endpoint, Run, Update, null_is_empty};

const MEDIA_TYPE: &str = "application/external.dns.webhook+json;version=1";

/// A provider that is being asked. It stops on drop.
#[derive(Debug)]
pub(crate) struct Provider {
    pub(crate) url: String,
    peer: Arc<Peer>,
    server: JoinHandle<()>,
}

/// All that a program sent; several requests add up.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sent {
    pub(crate) desired: Vec<Endpoint>,
    pub(crate) changes: Changes,
    /// What is not of the protocol.
    pub(crate) problems: Vec<String>,
}

/// What the handlers share.
#[derive(Debug)]
struct Peer {
    /// Bodies of `GET /` and `GET /records`.
    domain_filter: String,
    records: String,
    sent: Mutex<Sent>,
}

/// The body of `POST /records`; the sides of an update are paired by position.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
struct Order {
    #[serde(alias = "Create", deserialize_with = "null_is_empty")]
    create: Vec<Endpoint>,
    #[serde(alias = "UpdateOld", deserialize_with = "null_is_empty")]
    update_old: Vec<Endpoint>,
    #[serde(alias = "UpdateNew", deserialize_with = "null_is_empty")]
    update_new: Vec<Endpoint>,
    #[serde(alias = "Delete", deserialize_with = "null_is_empty")]
    delete: Vec<Endpoint>,
}

impl Provider {
    /// Starts the provider of this run.
    pub(crate) async fn start(run: &Run) -> Self {
        let peer = Arc::new(Peer {
            domain_filter: serde_json::to_string(&run.domain_filter).expect("a filter is JSON"),
            records: serde_json::to_string(&run.current).expect("endpoints are JSON"),
            sent: Mutex::default(),
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let router = Router::new()
            .route("/", get(negotiate))
            .route("/records", get(records).post(apply))
            .route("/adjustendpoints", axum::routing::post(adjust))
            .fallback(unknown)
            .method_not_allowed_fallback(unknown)
            .layer(DefaultBodyLimit::disable())
            .with_state(peer.clone());
        let server = tokio::spawn(async move { axum::serve(listener, router).await.expect("the provider serves") });
        Self { url, peer, server }
    }

    /// What has come in so far.
    pub(crate) fn sent(&self) -> Sent {
        self.peer.sent.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        self.server.abort();
    }
}

impl Peer {
    fn keep(&self, action: impl FnOnce(&mut Sent)) {
        action(&mut self.sent.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Refuses a request.
    fn refuse(&self, request: &str, problem: impl std::fmt::Display) -> Response {
        self.keep(|sent| sent.problems.push(format!("{request}: {problem}")));
        StatusCode::BAD_REQUEST.into_response()
    }
}

impl Sent {
    fn take(&mut self, order: Order) {
        let (old, new) = (order.update_old.len(), order.update_new.len());
        if old != new {
            self.problems.push(format!("POST /records: {old} updateOld, but {new} updateNew"));
        }
        self.changes.create.extend(order.create);
        self.changes.delete.extend(order.delete);
        let pairs = order.update_old.into_iter().zip(order.update_new);
        self.changes.update.extend(pairs.map(|(from, to)| Update { from, to }));
    }
}

fn answer(body: impl IntoResponse) -> Response {
    ([(header::CONTENT_TYPE, MEDIA_TYPE)], body).into_response()
}

async fn negotiate(State(peer): State<Arc<Peer>>) -> Response {
    answer(peer.domain_filter.clone())
}

async fn records(State(peer): State<Arc<Peer>>) -> Response {
    answer(peer.records.clone())
}

/// Adjusts nothing.
async fn adjust(State(peer): State<Arc<Peer>>, body: Bytes) -> Response {
    match serde_json::from_slice::<Option<Vec<Endpoint>>>(&body) {
        Ok(endpoints) => {
            peer.keep(|sent| sent.desired.extend(endpoints.unwrap_or_default()));
            answer(body)
        }
        Err(error) => peer.refuse("POST /adjustendpoints", error),
    }
}

async fn apply(State(peer): State<Arc<Peer>>, body: Bytes) -> Response {
    match serde_json::from_slice::<Option<Order>>(&body) {
        Ok(order) => {
            peer.keep(|sent| sent.take(order.unwrap_or_default()));
            StatusCode::NO_CONTENT.into_response()
        }
        Err(error) => peer.refuse("POST /records", error),
    }
}

async fn unknown(State(peer): State<Arc<Peer>>, method: Method, uri: Uri) -> Response {
    peer.refuse(&format!("{method} {uri}"), "the protocol has no such request")
}

#[test]
fn requests_add_up_and_nothing_is_lost() {
    let order = |text: &str| serde_json::from_str::<Order>(text);
    let mut sent = Sent::default();
    for text in [
        r#"{"create": [{"dnsName": "a.test"}], "updateOld": [{"dnsName": "u.test"}], "updateNew": [{"dnsName": "v.test"}]}"#,
        r#"{"Create": [{"dnsName": "b.test", "targets": null}], "Delete": [{"dnsName": "d.test"}], "UpdateNew": null}"#,
        r#"{"updateOld": [{"dnsName": "alone.test"}]}"#,
    ] {
        sent.take(order(text).unwrap());
    }
    let names = |endpoints: &[Endpoint]| endpoints.iter().map(|e| e.dns_name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&sent.changes.create), ["a.test", "b.test"]);
    assert_eq!(names(&sent.changes.delete), ["d.test"]);
    let updates: Vec<_> =
        sent.changes.update.iter().map(|u| (u.from.dns_name.as_str(), u.to.dns_name.as_str())).collect();
    assert_eq!(updates, [("u.test", "v.test")]);
    assert_eq!(sent.problems, ["POST /records: 1 updateOld, but 0 updateNew"]);
    for unknown in [r#"{"upsert": []}"#, r#"{"create": [{"dnsName": "a.test", "weight": 1}]}"#] {
        assert!(order(unknown).is_err(), "{unknown}");
    }
}

#[tokio::test]
async fn a_request_that_the_protocol_does_not_have_is_a_problem() {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    let provider = Provider::start(&Run::default()).await;
    for (request, status) in [("GET /records", "200"), ("DELETE /records", "400"), ("GET /zones", "400")] {
        let address = provider.url.trim_start_matches("http://");
        let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
        let text = format!("{request} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
        stream.write_all(text.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{request}: {answer}");
    }
    let unknown = |request| format!("{request}: the protocol has no such request");
    assert_eq!(provider.sent().problems, [unknown("DELETE /records"), unknown("GET /zones")]);
}
