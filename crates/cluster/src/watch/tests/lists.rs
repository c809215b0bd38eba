//! How a kind is listed: as a stream, in pages, in one piece; and objects that do not fit.

use std::time::Duration;

use serde_json::json;

use super::{
    LIST, STREAM, added, bookmark, deleted, event, expired, followed, listed_to, no_streaming, opened_then, page,
    reported, reported_by, service, streamed,
};
use crate::fake::{Fake, Piece, Step};

#[tokio::test(start_paused = true)]
async fn a_streaming_list_goes_over_into_changes() {
    let changes = vec![added("b", 6), event("MODIFIED", &service("a", 7)), bookmark(8), deleted("b", 9), Piece::Hang];
    assert_eq!(reported(vec![streamed(changes)]).await, opened_then(&["applied b", "applied a", "deleted n/b u-b"]));
}

#[tokio::test(start_paused = true)]
async fn an_object_that_goes_while_the_list_streams_is_reported_as_deleted() {
    let pieces = vec![added("a", 3), added("b", 4), deleted("b", 5), listed_to(5), Piece::Hang];
    let expected = ["begin", "listed a", "listed b", "deleted n/b u-b", "done", "open"];
    assert_eq!(reported(vec![Step::stream(LIST, pieces).with(STREAM)]).await, expected);
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
        assert_eq!(reported(steps).await, expected);
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
    assert_eq!(reported(steps).await, opened_then(&["lost", "begin", "listed b", "done", "open"]));
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
    assert_eq!(reported_by(&fake, Duration::from_secs(5)).await, expected);
    assert!(!fake.requests()[3].contains("limit"), "{:?}", fake.requests());
}

/// A page of `a` and `b` after which the server owes so many.
fn page_before(remaining: i64, more: &str) -> serde_json::Value {
    let mut page = page(&["a", "b"], 5, more);
    page["metadata"]["remainingItemCount"] = json!(remaining);
    page
}

/// Whether the last page says that more is to come, or the pages hold less than the first one announced: what is missing in
/// such a list is not gone.
#[tokio::test(start_paused = true)]
async fn a_list_that_ends_before_its_end_is_not_complete() {
    let whole = || Step::json(LIST, &page(&["a", "b", "c"], 9, ""));
    let cut = || Step::json(LIST, &page_before(7, "")).with("limit=2");
    let short = || Step::json(LIST, &page(&["c"], 5, "")).with("continue=more");
    let announced = |count| Step::json(LIST, &page_before(count, "more")).with("limit=2");
    for pages in [vec![cut()], vec![announced(2), short()]] {
        let fake = Fake::new(
            [no_streaming()]
                .into_iter()
                .chain(pages)
                .chain([whole(), followed("resourceVersion=9", vec![Piece::Hang])])
                .collect(),
        );
        let reported = reported_by(&fake, Duration::from_secs(5)).await;
        let done = reported.iter().position(|word| word == "done");
        let lost = reported.iter().position(|word| word == "lost");
        assert!(lost.is_some() && lost < done, "{reported:?}");
        assert_eq!(reported[lost.unwrap()..], ["lost", "begin", "listed a", "listed b", "listed c", "done", "open"]);
        let requests = fake.requests();
        assert!(
            requests.iter().any(|request| !request.contains("limit") && !request.contains("watch")),
            "{requests:?}"
        );
    }
    // More than announced, and no count at all, are complete.
    let steps = vec![no_streaming(), announced(1), short(), followed("resourceVersion=5", vec![Piece::Hang])];
    assert_eq!(reported(steps).await, ["begin", "listed a", "listed b", "listed c", "done", "open"]);
}

#[tokio::test(start_paused = true)]
async fn a_streaming_list_that_falls_silent_is_followed_by_pages() {
    let steps = vec![
        Step::stream(LIST, vec![added("a", 3), Piece::Hang]).with(STREAM),
        Step::json(LIST, &page(&["a"], 5, "")).with("limit=2"),
        followed("resourceVersion=5", vec![Piece::Hang]),
    ];
    let reported = reported_by(&Fake::new(steps), Duration::from_secs(40)).await;
    assert_eq!(reported, ["begin", "listed a", "lost", "begin", "listed a", "done", "open"]);
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
    assert_eq!(reported(vec![Step::stream(LIST, pieces).with(STREAM)]).await, expected);
}
