//! What every request goes through on its way out: the counters, the client-side rate limit and the time-out.
//!
//! A watch passes without waiting and without a time-out: its life is bounded by the server, and [`mod@crate::watch`] notices
//! itself when it falls silent. So does the question whether the server is alive, which must not queue behind work. Events have a limit
//! of their own ([`mod@crate::events`]): a flood of them does not hold up what the daemon has to write, nor the other way round.

use std::sync::Arc;
use std::time::Duration;

use http::{Request, Response};
use kube::Client;
use kube::client::Body;
use tokio::time::timeout;
use tower::BoxError;

use crate::bucket::Bucket;
use crate::calls::{Call, Calls};

/// The path that answers everyone who may speak to the API server at all.
pub(crate) const ALIVE: &str = "/version";
/// What has a limit of its own.
const EVENTS: &str = "events.events.k8s.io";
/// Waiting longer than this for a turn is worth a warning.
const LONG_WAIT: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(crate) struct Gate {
    pub(crate) calls: Calls,
    pub(crate) bucket: Bucket,
    /// For a request with the whole of its answer; `None` waits for ever.
    pub(crate) timeout: Option<Duration>,
}

/// A request that took too long.
#[derive(Debug, thiserror::Error)]
#[error("{call}: no complete answer within {limit:?} (--kube-api-request-timeout)")]
struct TooSlow {
    call: Call,
    limit: Duration,
}

impl Gate {
    /// A client whose requests pass this gate and then go to `inner`.
    pub(crate) fn before(self: &Arc<Self>, inner: Client) -> Client {
        let gate = self.clone();
        let namespace = inner.default_namespace().to_owned();
        let service = tower::service_fn(move |request| gate.clone().pass(inner.clone(), request));
        Client::new(service, namespace)
    }

    async fn pass(self: Arc<Self>, inner: Client, request: Request<Body>) -> Result<Response<Body>, BoxError> {
        let call = Call::of(&request);
        self.calls.count(call.clone());
        if call.is_watch() || call.resource == ALIVE {
            return inner.send(request).await.map_err(Into::into);
        }
        if call.resource != EVENTS {
            self.wait(&call).await;
        }
        match self.timeout {
            None => whole(&inner, request).await,
            Some(limit) => {
                timeout(limit, whole(&inner, request)).await.unwrap_or_else(|_| Err(TooSlow { call, limit }.into()))
            }
        }
    }

    async fn wait(&self, call: &Call) {
        let waited = self.bucket.take().await;
        if waited >= LONG_WAIT {
            tracing::warn!(%call, ?waited, "slowed down by the client's own rate limit: consider raising --kube-api-qps/--kube-api-burst");
        }
    }
}

/// The answer with its body read to the end, so that the time-out covers all of it.
async fn whole(inner: &Client, request: Request<Body>) -> Result<Response<Body>, BoxError> {
    let (parts, body) = inner.send(request).await?.into_parts();
    Ok(Response::from_parts(parts, Body::from(body.collect_bytes().await?)))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use tokio::time::Instant;

    use super::*;
    use crate::api::Failure;
    use crate::fake::{Fake, Piece, Step};
    use crate::options::ConnectOptions;

    const PATH: &str = "/api/v1/namespaces/a/configmaps/x";
    const GET: &str = "GET /api/v1/namespaces/a/configmaps/x";

    async fn read(fake: &Fake, options: &ConnectOptions) -> Result<Value, Failure> {
        fake.cluster_with(options).read(PATH).await
    }

    #[tokio::test(start_paused = true)]
    async fn requests_wait_for_their_turn() {
        let fake = Fake::new((0..15).map(|_| Step::json(GET, &json!({}))).collect());
        let cluster = fake.cluster_with(&ConnectOptions { qps: 5, burst: 10, ..ConnectOptions::default() });
        let start = Instant::now();
        for _ in 0..15 {
            cluster.read::<Value>(PATH).await.unwrap();
        }
        assert_eq!(start.elapsed(), Duration::from_secs(1));
        assert_eq!(cluster.calls().of("get", "configmaps"), 15);
    }

    #[tokio::test(start_paused = true)]
    async fn events_take_no_turn_of_other_requests() {
        const EVENT: &str = "/apis/events.k8s.io/v1/namespaces/a/events/x";
        let events = (0..20).map(|_| Step::json(&format!("GET {EVENT}"), &json!({})));
        let fake = Fake::new(events.chain([Step::json(GET, &json!({}))]).collect());
        let cluster = fake.cluster_with(&ConnectOptions { qps: 1, burst: 1, ..ConnectOptions::default() });
        let start = Instant::now();
        for _ in 0..20 {
            cluster.read::<Value>(EVENT).await.unwrap();
        }
        cluster.read::<Value>(PATH).await.unwrap();
        assert_eq!(start.elapsed(), Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn the_time_out_covers_the_whole_answer() {
        for step in [Step::never(GET), Step::stream(GET, vec![Piece::Raw("{"), Piece::Hang])] {
            let start = Instant::now();
            let failure = read(&Fake::new(vec![step]), &ConnectOptions::default()).await.unwrap_err();
            assert_eq!(start.elapsed(), Duration::from_secs(30));
            assert!(failure.to_string().contains("get configmaps: no complete answer within 30s"), "{failure}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn without_a_time_out_an_answer_may_take_its_time() {
        let hour = Piece::Pause(Duration::from_hours(1));
        let fake = Fake::new(vec![Step::stream(GET, vec![hour, Piece::Raw("{}")])]);
        let patient = ConnectOptions { request_timeout: None, ..ConnectOptions::default() };
        assert_eq!(read(&fake, &patient).await.unwrap(), json!({}));
    }

    #[tokio::test(start_paused = true)]
    async fn failures_say_what_was_said() {
        let check = async |step: Step, expected: &str| {
            let said = read(&Fake::new(vec![step]), &ConnectOptions::default()).await.unwrap_err().to_string();
            assert!(said.contains(expected), "{said}");
        };
        check(Step::refused(GET, 403, "Forbidden", "User may not"), "answers 403: User may not").await;
        check(Step::text(GET, 502, "<html>bad gateway</html>"), "answers 502: <html>bad gateway</html>").await;
        check(Step::text(GET, 503, ""), "answers 503: Service Unavailable").await;
        check(Step::unreachable(GET), "no answer from the API server").await;
        check(Step::text(GET, 200, "<html>"), "makes no sense").await;
        check(Step::stream(GET, vec![Piece::Raw("{"), Piece::Cut]), "connection reset").await;
    }
}
