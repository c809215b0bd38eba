//! Watches that end: what is resumed, what is listed anew, and what is reported meanwhile.

use std::time::Duration;

use tokio::time::Instant;

use super::super::WatchEvent;
use super::{
    LIST, OPENED, STREAM, added, bookmark, deleted, events_of, expired, followed, history, listed_to, opened_then,
    page, reported, reported_by, spec, streamed, word,
};
use crate::fake::{Fake, Piece, Step};

/// The server ends a watch after this many seconds.
const LIFE: Duration = Duration::from_secs(290);

#[tokio::test(start_paused = true)]
async fn an_expired_version_is_listed_again_without_tombstones() {
    for lost in [streamed(vec![added("b", 6), expired()]), streamed(vec![added("b", 6), expired(), Piece::Cut])] {
        let again = Step::stream(LIST, vec![added("a", 3), listed_to(20), Piece::Hang]).with(STREAM);
        let expected = opened_then(&["applied b", "lost", "begin", "listed a", "done", "open"]);
        assert_eq!(reported(vec![lost, again]).await, expected);
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
    assert_eq!(reported(steps).await, opened_then(&["lost", "lost", "begin", "done", "open"]));
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
    let reported = events_of(&fake, spec(), Duration::from_secs(20)).await;
    let at =
        |wanted: &str| reported.iter().find(|(_, event)| word(event) == wanted).map(|(at, _)| *at - start).unwrap();
    assert_eq!(at("lost"), Duration::from_secs(7));
    assert!(at("deleted n/b u-b") < Duration::from_millis(7_300), "{reported:?}");
    let words: Vec<_> = reported.iter().map(|(_, event)| word(event)).collect();
    assert_eq!(words, opened_then(&["applied b", "lost", "open", "deleted n/b u-b"]));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_ends_the_watch_early_counts_as_a_break() {
    let steps = vec![
        streamed(vec![Piece::Pause(Duration::from_secs(1))]),
        history(5),
        followed("resourceVersion=5", vec![Piece::Hang]),
    ];
    assert_eq!(reported(steps).await, opened_then(&["lost", "open"]));
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_lived_its_time_is_renewed_without_a_word() {
    let minute = || vec![Piece::Pause(Duration::from_secs(58)), bookmark(6)];
    let life = (0..5).flat_map(|_| minute()).collect();
    let steps = vec![streamed(life), followed("resourceVersion=6", vec![added("b", 7), Piece::Hang])];
    let fake = Fake::new(steps);
    assert_eq!(reported_by(&fake, LIFE + Duration::from_secs(1)).await, opened_then(&["applied b"]));
}

#[tokio::test(start_paused = true)]
async fn a_silent_connection_to_a_living_server_is_replaced_without_a_word() {
    let steps = vec![streamed(vec![Piece::Hang]), followed("resourceVersion=5", vec![added("b", 6), Piece::Hang])];
    let fake = Fake::new(steps);
    assert_eq!(reported_by(&fake, Duration::from_secs(79)).await, OPENED);
    let steps = vec![streamed(vec![Piece::Hang]), followed("resourceVersion=5", vec![added("b", 6), Piece::Hang])];
    let fake = Fake::new(steps);
    assert_eq!(reported_by(&fake, Duration::from_secs(81)).await, opened_then(&["applied b"]));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_falls_silent_altogether_is_noticed_within_half_a_minute() {
    let fake = Fake::new(vec![streamed(vec![Piece::Hang])]);
    fake.die();
    let start = Instant::now();
    let reported = events_of(&fake, spec(), Duration::from_mins(1)).await;
    let (at, _) = reported.iter().find(|(_, event)| word(event) == "lost").expect("a loss");
    assert_eq!(*at - start, Duration::from_secs(20));
}

#[tokio::test(start_paused = true)]
async fn a_restored_etcd_is_noticed_by_its_shorter_history() {
    let steps = vec![
        streamed(vec![added("b", 900), Piece::Cut]),
        history(899),
        Step::stream(LIST, vec![listed_to(899), Piece::Hang]).with(STREAM),
    ];
    assert_eq!(reported(steps).await, opened_then(&["applied b", "lost", "lost", "begin", "done", "open"]));
}

#[tokio::test(start_paused = true)]
async fn a_user_that_may_only_watch_is_given_everything_anew_after_a_break() {
    let steps = vec![
        streamed(vec![Piece::Cut]),
        Step::refused(LIST, 403, "Forbidden", "cannot list").with("limit=1"),
        streamed(vec![Piece::Hang]),
    ];
    assert_eq!(reported(steps).await, opened_then(&["lost", "lost", "begin", "listed a", "done", "open"]));
}

#[tokio::test(start_paused = true)]
async fn the_loss_keeps_its_beginning_through_all_failures() {
    let mut steps = vec![streamed(vec![Piece::Pause(Duration::from_secs(6)), Piece::Cut])];
    steps.extend((0..4).map(|_| Step::unreachable(LIST)));
    let fake = Fake::new(steps);
    let reported = events_of(&fake, spec(), Duration::from_secs(12)).await;
    let since: Vec<_> = reported
        .iter()
        .filter_map(|(_, e)| if let WatchEvent::Lost { since, .. } = e { Some(*since) } else { None })
        .collect();
    assert_eq!(since.len(), 5);
    assert!(since.iter().all(|at| *at == since[0]), "{reported:?}");
}

#[tokio::test(start_paused = true)]
async fn retries_come_soon_at_first_and_every_ten_seconds_later() {
    let fake = Fake::new((0..100).map(|_| Step::unreachable(LIST)).collect());
    let start = Instant::now();
    let reported = events_of(&fake, spec(), Duration::from_mins(2)).await;
    let at: Vec<_> = reported.iter().map(|(at, _)| *at - start).collect();
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
    assert_eq!(reported_by(&fake, Duration::from_secs(19)).await, ["lost"]);
}

#[tokio::test(start_paused = true)]
async fn a_garbage_line_ends_the_connection_and_nothing_else() {
    for garbage in ["{\"type\":\"ADDED\",\"object\":\n", "<html>\n", "{\"type\":\"ADDED\"", "\u{0}\n"] {
        let steps = vec![
            streamed(vec![added("b", 6), Piece::Raw(garbage)]),
            history(6),
            followed("resourceVersion=6", vec![added("c", 7), Piece::Hang]),
        ];
        assert_eq!(reported(steps).await, opened_then(&["applied b", "lost", "open", "applied c"]), "{garbage}");
    }
}
