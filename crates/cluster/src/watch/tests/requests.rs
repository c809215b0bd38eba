//! The requests themselves: what they carry, how long they may take, and how many there are.

use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

use super::super::{WatchEvent, WatchSpec, watch};
use super::{LIST, Service, added, bookmark, events_of, no_streaming, opened_then, reported_by, spec, streamed};
use crate::fake::{Fake, Piece, Step};

#[tokio::test(start_paused = true)]
async fn a_slow_answer_is_given_up_after_the_request_timeout() {
    let steps = vec![no_streaming(), Step::never(LIST)];
    let fake = Fake::new(steps);
    let reported = events_of(&fake, spec(), Duration::from_secs(31)).await;
    let [(_, WatchEvent::Lost { text, .. })] = reported.as_slice() else { panic!("{reported:?}") };
    assert!(text.contains("within 30s"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn an_open_watch_outlives_the_request_timeout() {
    let steps = vec![streamed(vec![Piece::Pause(Duration::from_secs(65)), added("b", 6), Piece::Hang])];
    let reported = reported_by(&Fake::new(steps), Duration::from_secs(70)).await;
    assert_eq!(reported, opened_then(&["applied b"]));
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
    let (sink, mut events) = mpsc::channel::<WatchEvent<Service>>(100);
    let watched = cluster.clone();
    tokio::spawn(async move { watch(&watched, spec(), sink).await });
    while timeout_at(Instant::now() + Duration::from_secs(62), events.recv()).await.is_ok() {}
    assert_eq!((cluster.calls().of("watch", "services"), cluster.calls().of("list", "services")), (1, 0));
    assert!(cluster.calls().of("get", "/version") <= 7, "{:?}", cluster.calls());
}
