//! Watches against a scripted API server, on a paused clock: a script of answers in, the events with their virtual seconds
//! out.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

use super::{Event, WatchSpec, watch};
use crate::ConnectOptions;
use crate::fake::{Fake, Piece, Step};

const LIST: &str = "GET /api/v1/services?";
const STREAM: &str = "sendInitialEvents=true";
/// The server ends a watch after this many seconds.
const LIFE: Duration = Duration::from_secs(290);

#[derive(Debug, Clone, Deserialize)]
struct Service {
    metadata: Metadata,
    #[expect(dead_code, reason = "decoded so that an object can fail to fit")]
    #[serde(default)]
    spec: u8,
}

#[derive(Debug, Clone, Deserialize)]
struct Metadata {
    name: String,
}

fn spec() -> WatchSpec {
    WatchSpec { page_size: 2, ..WatchSpec::new("", "v1", "services", "Service", true) }
}

fn word(event: &Event<Service>) -> String {
    match event {
        Event::Begin => "begin".to_owned(),
        Event::Listed(object) => format!("listed {}", object.metadata.name),
        Event::Done => "done".to_owned(),
        Event::Applied(object) => format!("applied {}", object.metadata.name),
        Event::Deleted(key) => format!("deleted {}/{} {}", key.namespace, key.name, key.uid),
        Event::Unreadable { key, .. } => format!("unreadable {}", key.name),
        Event::Open => "open".to_owned(),
        Event::Lost { .. } => "lost".to_owned(),
        Event::Denied { .. } => "denied".to_owned(),
        Event::Forbidden { verb, .. } => format!("forbidden {verb}"),
    }
}

/// Everything that is told within this virtual time.
async fn events_of(fake: &Fake, spec: WatchSpec, within: Duration) -> Vec<(Instant, Event<Service>)> {
    let cluster = fake.cluster_with(&ConnectOptions { qps: 1_000, burst: 1_000, ..ConnectOptions::default() });
    let (sink, mut events) = mpsc::channel(100);
    let running = tokio::spawn(async move { watch(&cluster, spec, sink).await });
    let end = Instant::now() + within;
    let mut told = Vec::new();
    while let Ok(Some(event)) = timeout_at(end, events.recv()).await {
        told.push((Instant::now(), event));
    }
    drop(events);
    running.await.unwrap();
    told
}

async fn told_by(fake: &Fake, within: Duration) -> Vec<String> {
    events_of(fake, spec(), within).await.iter().map(|(_, event)| word(event)).collect()
}

/// What is told within five seconds.
async fn told(steps: Vec<Step>) -> Vec<String> {
    told_by(&Fake::new(steps), Duration::from_secs(5)).await
}

fn service(name: &str, version: u64) -> Value {
    json!({ "metadata": { "namespace": "n", "name": name, "uid": format!("u-{name}"), "resourceVersion": version.to_string(), "managedFields": [{}] } })
}

fn event(kind: &str, object: &Value) -> Piece {
    Piece::Line(json!({ "type": kind, "object": object }))
}

fn added(name: &str, version: u64) -> Piece {
    event("ADDED", &service(name, version))
}

fn deleted(name: &str, version: u64) -> Piece {
    event("DELETED", &service(name, version))
}

fn bookmark(version: u64) -> Piece {
    event("BOOKMARK", &json!({ "metadata": { "resourceVersion": version.to_string() } }))
}

fn listed_to(version: u64) -> Piece {
    let annotations = json!({ "k8s.io/initial-events-end": "true" });
    event("BOOKMARK", &json!({ "metadata": { "resourceVersion": version.to_string(), "annotations": annotations } }))
}

fn expired() -> Piece {
    event(
        "ERROR",
        &json!({ "kind": "Status", "code": 410, "reason": "Expired", "message": "too old resource version" }),
    )
}

fn page(names: &[&str], version: u64, more: &str) -> Value {
    let items: Vec<_> = names.iter().map(|name| service(name, 1)).collect();
    json!({ "metadata": { "resourceVersion": version.to_string(), "continue": more }, "items": items })
}

/// A streaming list of `a` up to version 5, then these pieces.
fn streamed(then: Vec<Piece>) -> Step {
    let pieces = [added("a", 3), listed_to(5)].into_iter().chain(then).collect();
    Step::stream(LIST, pieces).with(STREAM)
}

/// A watch from this version.
fn followed(version: &'static str, pieces: Vec<Piece>) -> Step {
    Step::stream(LIST, pieces).with("watch=true").with(version)
}

fn no_streaming() -> Step {
    let text = "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled";
    Step::refused(LIST, 422, "Invalid", text).with(STREAM)
}

/// The question how far the server's history reaches, answered with this version.
fn history(version: u64) -> Step {
    Step::json(LIST, &page(&[], version, "")).with("limit=1")
}

const OPENED: [&str; 4] = ["begin", "listed a", "done", "open"];

/// `OPENED`, then these.
fn opened_then(more: &[&str]) -> Vec<String> {
    OPENED.iter().chain(more).map(|word| (*word).to_owned()).collect()
}

#[tokio::test(start_paused = true)]
async fn a_streaming_list_goes_over_into_changes() {
    let changes = vec![added("b", 6), event("MODIFIED", &service("a", 7)), bookmark(8), deleted("b", 9), Piece::Hang];
    assert_eq!(told(vec![streamed(changes)]).await, opened_then(&["applied b", "applied a", "deleted n/b u-b"]));
}

#[tokio::test(start_paused = true)]
async fn an_object_that_goes_while_the_list_streams_is_told_as_deleted() {
    let pieces = vec![added("a", 3), added("b", 4), deleted("b", 5), listed_to(5), Piece::Hang];
    let expected = ["begin", "listed a", "listed b", "deleted n/b u-b", "done", "open"];
    assert_eq!(told(vec![Step::stream(LIST, pieces).with(STREAM)]).await, expected);
}

#[tokio::test(start_paused = true)]
async fn an_older_server_is_listed_in_pages_and_then_watched() {
    for refusal in [no_streaming(), Step::refused(LIST, 400, "BadRequest", "unknown parameter").with(STREAM)] {
        let steps = vec![
            refusal,
            Step::json(LIST, &page(&["a", "b"], 5, "more")).with("limit=2"),
            Step::json(LIST, &page(&["c"], 5, "")).with("continue=more"),
            followed("resourceVersion=5", vec![deleted("c", 6), Piece::Hang]),
        ];
        let expected = ["begin", "listed a", "listed b", "listed c", "done", "open", "deleted n/c u-c"];
        assert_eq!(told(steps).await, expected);
    }
}

#[tokio::test(start_paused = true)]
async fn the_server_is_asked_for_streaming_only_once() {
    let steps = vec![
        no_streaming(),
        Step::json(LIST, &page(&["a"], 5, "")).with("limit=2"),
        followed("resourceVersion=5", vec![expired()]),
        Step::json(LIST, &page(&["b"], 9, "")).with("limit=2"),
        followed("resourceVersion=9", vec![Piece::Hang]),
    ];
    assert_eq!(told(steps).await, opened_then(&["lost", "begin", "listed b", "done", "open"]));
}

#[tokio::test(start_paused = true)]
async fn a_page_that_expired_is_followed_by_a_list_in_one_piece() {
    let steps = vec![
        no_streaming(),
        Step::json(LIST, &page(&["a", "b"], 5, "more")).with("limit=2"),
        Step::refused(LIST, 410, "Expired", "the continue token is too old").with("continue=more"),
        Step::json(LIST, &page(&["a", "b", "c"], 9, "")),
        followed("resourceVersion=9", vec![Piece::Hang]),
    ];
    let fake = Fake::new(steps);
    let expected =
        ["begin", "listed a", "listed b", "lost", "begin", "listed a", "listed b", "listed c", "done", "open"];
    assert_eq!(told_by(&fake, Duration::from_secs(5)).await, expected);
    assert!(!fake.requests()[3].contains("limit"), "{:?}", fake.requests());
}

#[tokio::test(start_paused = true)]
async fn an_expired_version_is_listed_again_without_tombstones() {
    for lost in [streamed(vec![added("b", 6), expired()]), streamed(vec![added("b", 6), expired(), Piece::Cut])] {
        let again = Step::stream(LIST, vec![added("a", 3), listed_to(20), Piece::Hang]).with(STREAM);
        let expected = opened_then(&["applied b", "lost", "begin", "listed a", "done", "open"]);
        assert_eq!(told(vec![lost, again]).await, expected);
    }
}

#[tokio::test(start_paused = true)]
async fn a_version_that_expired_while_the_server_was_away_is_listed_again() {
    let steps = vec![
        streamed(vec![Piece::Cut]),
        history(30),
        Step::refused(LIST, 410, "Expired", "too old").with("resourceVersion=5"),
        Step::stream(LIST, vec![listed_to(30), Piece::Hang]).with(STREAM),
    ];
    assert_eq!(told(steps).await, opened_then(&["lost", "lost", "begin", "done", "open"]));
}

#[tokio::test(start_paused = true)]
async fn a_cut_watch_is_lost_at_once_and_resumed_with_its_tombstones() {
    let steps = vec![
        streamed(vec![added("b", 6), bookmark(8), Piece::Pause(Duration::from_secs(7)), Piece::Cut]),
        history(8),
        followed("resourceVersion=8", vec![deleted("b", 9), Piece::Hang]),
    ];
    let fake = Fake::new(steps);
    let start = Instant::now();
    let told = events_of(&fake, spec(), Duration::from_secs(20)).await;
    let at = |wanted: &str| told.iter().find(|(_, event)| word(event) == wanted).map(|(at, _)| *at - start).unwrap();
    assert_eq!(at("lost"), Duration::from_secs(7));
    assert!(at("deleted n/b u-b") < Duration::from_millis(7_300), "{told:?}");
    let words: Vec<_> = told.iter().map(|(_, event)| word(event)).collect();
    assert_eq!(words, opened_then(&["applied b", "lost", "open", "deleted n/b u-b"]));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_ends_the_watch_early_counts_as_a_break() {
    let steps = vec![
        streamed(vec![Piece::Pause(Duration::from_secs(1))]),
        history(5),
        followed("resourceVersion=5", vec![Piece::Hang]),
    ];
    assert_eq!(told(steps).await, opened_then(&["lost", "open"]));
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_lived_its_time_is_renewed_without_a_word() {
    let minute = || vec![Piece::Pause(Duration::from_secs(58)), bookmark(6)];
    let life = (0..5).flat_map(|_| minute()).collect();
    let steps = vec![streamed(life), followed("resourceVersion=6", vec![added("b", 7), Piece::Hang])];
    let fake = Fake::new(steps);
    assert_eq!(told_by(&fake, LIFE + Duration::from_secs(1)).await, opened_then(&["applied b"]));
}

#[tokio::test(start_paused = true)]
async fn a_silent_connection_to_a_living_server_is_replaced_without_a_word() {
    let steps = vec![streamed(vec![Piece::Hang]), followed("resourceVersion=5", vec![added("b", 6), Piece::Hang])];
    let fake = Fake::new(steps);
    assert_eq!(told_by(&fake, Duration::from_secs(79)).await, OPENED);
    let steps = vec![streamed(vec![Piece::Hang]), followed("resourceVersion=5", vec![added("b", 6), Piece::Hang])];
    let fake = Fake::new(steps);
    assert_eq!(told_by(&fake, Duration::from_secs(81)).await, opened_then(&["applied b"]));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_falls_silent_altogether_is_noticed_within_half_a_minute() {
    let fake = Fake::new(vec![streamed(vec![Piece::Hang])]);
    fake.die();
    let start = Instant::now();
    let told = events_of(&fake, spec(), Duration::from_mins(1)).await;
    let (at, _) = told.iter().find(|(_, event)| word(event) == "lost").expect("a loss");
    assert_eq!(*at - start, Duration::from_secs(20));
}

#[tokio::test(start_paused = true)]
async fn a_streaming_list_that_falls_silent_is_followed_by_pages() {
    let steps = vec![
        Step::stream(LIST, vec![added("a", 3), Piece::Hang]).with(STREAM),
        Step::json(LIST, &page(&["a"], 5, "")).with("limit=2"),
        followed("resourceVersion=5", vec![Piece::Hang]),
    ];
    let told = told_by(&Fake::new(steps), Duration::from_secs(40)).await;
    assert_eq!(told, ["begin", "listed a", "lost", "begin", "listed a", "done", "open"]);
}

#[tokio::test(start_paused = true)]
async fn a_restored_etcd_is_noticed_by_its_shorter_history() {
    let steps = vec![
        streamed(vec![added("b", 900), Piece::Cut]),
        history(899),
        Step::stream(LIST, vec![listed_to(899), Piece::Hang]).with(STREAM),
    ];
    assert_eq!(told(steps).await, opened_then(&["applied b", "lost", "lost", "begin", "done", "open"]));
}

#[tokio::test(start_paused = true)]
async fn a_user_that_may_only_watch_is_given_everything_anew_after_a_break() {
    let steps = vec![
        streamed(vec![Piece::Cut]),
        Step::refused(LIST, 403, "Forbidden", "cannot list").with("limit=1"),
        streamed(vec![Piece::Hang]),
    ];
    assert_eq!(told(steps).await, opened_then(&["lost", "lost", "begin", "listed a", "done", "open"]));
}

#[tokio::test(start_paused = true)]
async fn the_loss_keeps_its_beginning_through_all_failures() {
    let mut steps = vec![streamed(vec![Piece::Pause(Duration::from_secs(6)), Piece::Cut])];
    steps.extend((0..4).map(|_| Step::unreachable(LIST)));
    let fake = Fake::new(steps);
    let told = events_of(&fake, spec(), Duration::from_secs(12)).await;
    let since: Vec<_> =
        told.iter().filter_map(|(_, e)| if let Event::Lost { since, .. } = e { Some(*since) } else { None }).collect();
    assert_eq!(since.len(), 5);
    assert!(since.iter().all(|at| *at == since[0]), "{told:?}");
}

#[tokio::test(start_paused = true)]
async fn retries_come_soon_at_first_and_every_ten_seconds_later() {
    let fake = Fake::new((0..100).map(|_| Step::unreachable(LIST)).collect());
    let start = Instant::now();
    let told = events_of(&fake, spec(), Duration::from_mins(2)).await;
    let at: Vec<_> = told.iter().map(|(at, _)| *at - start).collect();
    assert!(at[2] < Duration::from_secs(1), "{at:?}");
    let pauses = at.windows(2).map(|pair| pair[1].saturating_sub(pair[0]));
    assert!(pauses.clone().all(|pause| pause <= Duration::from_secs(10)), "{at:?}");
    assert!((12..=30).contains(&at.len()), "{at:?}");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_asks_for_patience_gets_it() {
    let steps = vec![
        Step::refused(LIST, 429, "TooManyRequests", "slow down").header("Retry-After", "20"),
        Step::json(LIST, &page(&["a"], 5, "")),
        followed("resourceVersion=5", vec![Piece::Hang]),
    ];
    let fake = Fake::new(steps);
    assert_eq!(told_by(&fake, Duration::from_secs(19)).await, ["lost"]);
}

#[tokio::test(start_paused = true)]
async fn a_missing_right_to_watch_is_named_after_a_complete_list() {
    let text = "services is forbidden: User \"zonewright\" cannot watch resource \"services\"";
    let forbidden = || Step::refused(LIST, 403, "Forbidden", text);
    let list = || Step::json(LIST, &page(&["a"], 5, "")).with("limit=2");
    let steps = vec![
        forbidden().with(STREAM),
        list(),
        forbidden().with("resourceVersion=5"),
        list(),
        forbidden().with("resourceVersion=5"),
    ];
    let fake = Fake::new(steps);
    let told = events_of(&fake, spec(), Duration::from_secs(31)).await;
    let words: Vec<_> = told.iter().map(|(_, event)| word(event)).collect();
    let round = ["begin", "listed a", "done", "forbidden watch"];
    assert_eq!(words, [round, round].concat());
    assert!(matches!(&told[3].1, Event::Forbidden { text: said, .. } if said == text));
}

#[tokio::test(start_paused = true)]
async fn a_missing_right_to_list_is_named() {
    let forbidden = || Step::refused(LIST, 403, "Forbidden", "cannot list");
    assert_eq!(told(vec![forbidden().with(STREAM), forbidden()]).await, ["forbidden list"]);
}

const ROUTES: &str = "GET /apis/gateway.networking.k8s.io/v1/httproutes?";
const ROUTES_GROUP: &str = "GET /apis/gateway.networking.k8s.io/v1";

/// What is told in five seconds of a kind whose list answers 404, when discovery answers so.
async fn told_of_routes(discovery: Vec<Step>) -> Vec<Event<Service>> {
    let missing = Step::text(ROUTES, 404, "404 page not found");
    let fake = Fake::new([missing].into_iter().chain(discovery).collect());
    let spec = WatchSpec::new("gateway.networking.k8s.io", "v1", "httproutes", "HTTPRoute", true);
    let told = events_of(&fake, spec, Duration::from_millis(50)).await;
    told.into_iter().map(|(_, event)| event).collect()
}

fn no_group() -> Step {
    Step::text(ROUTES_GROUP, 404, "404 page not found")
}

fn groups(groups: &Value) -> Step {
    Step::json("GET /apis", &json!({ "kind": "APIGroupList", "groups": groups }))
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_discovery_does_not_know_is_denied() {
    let older = json!([{ "name": "gateway.networking.k8s.io", "versions": [{ "version": "v1beta1" }] }]);
    for (discovery, expected) in [
        (
            vec![Step::json(ROUTES_GROUP, &json!({ "resources": [{ "name": "gateways" }] }))],
            "no resource \"httproutes\"",
        ),
        (vec![no_group(), groups(&json!([{ "name": "apps", "versions": [] }]))], "no group gateway.networking.k8s.io"),
        (vec![no_group(), groups(&older)], "no version v1 of gateway.networking.k8s.io; it has v1beta1"),
    ] {
        let told = told_of_routes(discovery).await;
        assert!(matches!(told.as_slice(), [Event::Denied { text }] if text.contains(expected)), "{told:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_404_without_a_clear_denial_is_a_loss() {
    let listed = json!([{ "name": "gateway.networking.k8s.io", "versions": [{ "version": "v1" }] }]);
    for discovery in [
        vec![Step::json(ROUTES_GROUP, &json!({ "resources": [{ "name": "httproutes" }] }))],
        vec![no_group(), groups(&listed)],
        vec![no_group(), Step::text("GET /apis", 404, "404 page not found")],
        vec![no_group(), Step::text("GET /apis", 200, "<html>welcome</html>")],
        vec![Step::refused(ROUTES_GROUP, 503, "ServiceUnavailable", "starting")],
        vec![Step::unreachable(ROUTES_GROUP)],
    ] {
        let told = told_of_routes(discovery).await;
        assert!(matches!(told.as_slice(), [Event::Lost { .. }]), "{told:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_denied_kind_is_found_once_it_exists() {
    let missing = Step::text(ROUTES, 404, "404 page not found");
    let steps = vec![
        missing,
        no_group(),
        groups(&json!([])),
        Step::stream(ROUTES, vec![listed_to(5), Piece::Hang]).with(STREAM),
    ];
    let spec = WatchSpec::new("gateway.networking.k8s.io", "v1", "httproutes", "HTTPRoute", true);
    let fake = Fake::new(steps);
    let told = events_of(&fake, spec, Duration::from_secs(31)).await;
    assert_eq!(told.iter().map(|(_, event)| word(event)).collect::<Vec<_>>(), ["denied", "begin", "done", "open"]);
}

#[tokio::test(start_paused = true)]
async fn a_cluster_scoped_kind_is_in_no_namespace() {
    const IN_NAMESPACE: &str = "GET /apis/gateway.networking.k8s.io/v1/namespaces/shop/httproutes?";
    let missing = || Step::text(IN_NAMESPACE, 404, "404 page not found");
    let says =
        |namespaced: bool| json!({ "resources": [{ "name": "httproutes", "kind": "", "namespaced": namespaced }] });
    let mut spec = WatchSpec::new("gateway.networking.k8s.io", "v1", "httproutes", "", true);
    spec.namespace = Some("shop".to_owned());
    let steps = vec![
        missing(),
        Step::json(ROUTES_GROUP, &says(false)),
        Step::stream(ROUTES, vec![added("a", 3), listed_to(5), Piece::Hang]).with(STREAM),
    ];
    let told = events_of(&Fake::new(steps), spec.clone(), Duration::from_millis(50)).await;
    assert_eq!(told.iter().map(|(_, event)| word(event)).collect::<Vec<_>>(), ["begin", "listed a", "done", "open"]);

    let steps = vec![missing(), Step::json(ROUTES_GROUP, &says(true))];
    let told = events_of(&Fake::new(steps), spec, Duration::from_millis(50)).await;
    assert_eq!(told.iter().map(|(_, event)| word(event)).collect::<Vec<_>>(), ["lost"], "a namespaced one is there");
}

#[tokio::test(start_paused = true)]
async fn a_garbage_line_ends_the_connection_and_nothing_else() {
    for garbage in ["{\"type\":\"ADDED\",\"object\":\n", "<html>\n", "{\"type\":\"ADDED\"", "\u{0}\n"] {
        let steps = vec![
            streamed(vec![added("b", 6), Piece::Raw(garbage)]),
            history(6),
            followed("resourceVersion=6", vec![added("c", 7), Piece::Hang]),
        ];
        assert_eq!(told(steps).await, opened_then(&["applied b", "lost", "open", "applied c"]), "{garbage}");
    }
}

#[tokio::test(start_paused = true)]
async fn one_object_that_does_not_fit_is_one_object() {
    let mut odd = service("odd", 4);
    odd["spec"] = json!("text");
    let pieces = vec![
        added("a", 3),
        event("ADDED", &odd),
        listed_to(5),
        event("MODIFIED", &odd),
        event("DELETED", &odd),
        Piece::Hang,
    ];
    let expected = ["begin", "listed a", "unreadable odd", "done", "open", "unreadable odd", "deleted n/odd u-odd"];
    assert_eq!(told(vec![Step::stream(LIST, pieces).with(STREAM)]).await, expected);
}

#[tokio::test(start_paused = true)]
async fn a_slow_answer_is_given_up_after_the_request_timeout() {
    let steps = vec![no_streaming(), Step::never(LIST)];
    let fake = Fake::new(steps);
    let told = events_of(&fake, spec(), Duration::from_secs(31)).await;
    let [(_, Event::Lost { text, .. })] = told.as_slice() else { panic!("{told:?}") };
    assert!(text.contains("within 30s"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn an_open_watch_outlives_the_request_timeout() {
    let steps = vec![streamed(vec![Piece::Pause(Duration::from_secs(65)), added("b", 6), Piece::Hang])];
    let told = told_by(&Fake::new(steps), Duration::from_secs(70)).await;
    assert_eq!(told, opened_then(&["applied b"]));
}

#[tokio::test(start_paused = true)]
async fn requests_carry_namespace_and_selectors() {
    let path = "GET /apis/networking.k8s.io/v1/namespaces/shop/ingresses?";
    let step =
        Step::stream(path, vec![Piece::Hang]).with("labelSelector=a%3Db").with("fieldSelector=metadata.name%3Dx");
    let fake = Fake::new(vec![step]);
    let spec = WatchSpec {
        namespace: Some("shop".to_owned()),
        label_selector: Some("a=b".to_owned()),
        field_selector: Some("metadata.name=x".to_owned()),
        ..WatchSpec::new("networking.k8s.io", "v1", "ingresses", "Ingress", true)
    };
    assert_eq!(events_of(&fake, spec, Duration::from_secs(5)).await.len(), 1);
    assert_eq!(fake.requests().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_quiet_watch_costs_one_small_question_now_and_then() {
    let fake = Fake::new(vec![streamed(vec![Piece::Pause(Duration::from_mins(1)), bookmark(6), Piece::Hang])]);
    let cluster = fake.cluster();
    let (sink, mut events) = mpsc::channel::<Event<Service>>(100);
    let watched = cluster.clone();
    tokio::spawn(async move { watch(&watched, spec(), sink).await });
    while timeout_at(Instant::now() + Duration::from_secs(62), events.recv()).await.is_ok() {}
    assert_eq!((cluster.calls().of("watch", "services"), cluster.calls().of("list", "services")), (1, 0));
    assert!(cluster.calls().of("get", "/version") <= 7, "{:?}", cluster.calls());
}
