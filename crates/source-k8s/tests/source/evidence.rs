//! How far a view can be trusted, on a paused clock.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, advance, timeout};
use zonewright_core::endpoint::KindId;
use zonewright_core::source::{KindState, SeenKinds, Source};
use zonewright_source_k8s::feed::FeedEvent;
use zonewright_source_k8s::index::Index;
use zonewright_source_k8s::kind::Kind;
use zonewright_source_k8s::objects::ServiceType;
use zonewright_source_k8s::options::{SourceKind, SourceOptions};
use zonewright_source_k8s::source::K8sSource;
use zonewright_source_k8s::store::{Object, ObjectKey};

use crate::support::{balancer, list, options, unreadable};

const KIND: Kind = Kind::Service;

/// Something that happens to a source.
type Turn = fn(&K8sSource);

fn source() -> K8sSource {
    source_that_saw(&SeenKinds::default())
}

fn source_that_saw(seen: &SeenKinds) -> K8sSource {
    K8sSource::new(Index::new(Arc::new(options()), seen))
}

fn services(count: usize) -> Vec<Object> {
    (0..count).map(|n| balancer("a", &format!("s{n}"), &format!("s{n}.example.com"), "192.0.2.1")).collect()
}

fn state(source: &K8sSource) -> KindState {
    source.evidence().kinds[&KIND.id()]
}

/// The letters of what holds: complete, fresh, settled.
fn letters(source: &K8sSource) -> String {
    let state = state(source);
    [(state.complete, 'c'), (state.fresh, 'f'), (state.settled, 's')]
        .iter()
        .filter(|(on, _)| *on)
        .map(|(_, c)| c)
        .collect()
}

fn lost(source: &K8sSource) {
    source.feed([FeedEvent::Lost(KIND, Instant::now())]);
}

async fn pass(seconds: u64) {
    advance(Duration::from_secs(seconds)).await;
}

/// Whether `changed` returns within so many seconds.
async fn wakes(source: &K8sSource, seconds: u64) -> bool {
    timeout(Duration::from_secs(seconds), source.changed()).await.is_ok()
}

#[tokio::test(start_paused = true)]
async fn a_view_from_its_first_list_to_a_lost_watch_and_back() {
    let source = source();
    assert_eq!(letters(&source), "");
    source.feed([FeedEvent::Begin(KIND), FeedEvent::Listed(services(1).remove(0))]);
    assert_eq!(letters(&source), "", "half a list");
    source.feed([FeedEvent::Done(KIND)]);
    assert_eq!(letters(&source), "cfs");
    source.feed([FeedEvent::Open(KIND)]);
    pass(3_600).await;
    assert_eq!(letters(&source), "cfs", "an open watch does not age");
    lost(&source);
    pass(29).await;
    lost(&source);
    assert_eq!(letters(&source), "cfs");
    pass(1).await;
    assert_eq!(letters(&source), "cs", "30 s after the first loss");
    source.feed([FeedEvent::Open(KIND)]);
    assert_eq!(letters(&source), "cfs");
    assert_eq!(state(&source).objects, 1);
}

#[tokio::test(start_paused = true)]
async fn a_first_list_that_fails_is_settled() {
    let cases: [(&str, Turn); 2] = [("lost", lost), ("forbidden", |source| source.feed([FeedEvent::Forbidden(KIND)]))];
    for (what, fail) in cases {
        let source = source();
        fail(&source);
        assert_eq!(letters(&source), "s", "{what}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_list_that_may_not_be_watched_is_fresh_for_a_while() {
    let source = source();
    source.feed(list(KIND, services(1)));
    source.feed([FeedEvent::Forbidden(KIND)]);
    pass(29).await;
    assert_eq!(letters(&source), "cfs");
    pass(1).await;
    assert_eq!(letters(&source), "cs");
    source.feed(list(KIND, services(1)));
    assert_eq!(letters(&source), "cfs", "read again");
}

#[tokio::test(start_paused = true)]
async fn an_empty_list_is_doubted_where_there_was_much() {
    for (before, letters_after) in [(0, "cfs"), (2, "cfs"), (3, "fs"), (10, "fs")] {
        let source = source();
        source.feed(list(KIND, services(before)).into_iter().chain([FeedEvent::Open(KIND)]));
        source.feed(list(KIND, []));
        assert_eq!(letters(&source), letters_after, "{before} before");
        source.feed(list(KIND, []));
        assert_eq!(letters(&source), letters_after, "{before} before, listed empty twice");
    }
}

/// A restored API server makes its own Service within a second of its start: before or after the list.
#[tokio::test(start_paused = true)]
async fn the_service_of_the_api_server_itself_makes_no_list() {
    let own = || balancer("default", "kubernetes", "", "10.0.0.1");
    let source = source();
    source.feed(list(KIND, services(5).into_iter().chain([own()])).into_iter().chain([FeedEvent::Open(KIND)]));
    source.feed(list(KIND, [own()]));
    assert_eq!(letters(&source), "fs");
    source.feed([FeedEvent::Applied(own())]);
    source.feed(list(KIND, [own()]));
    assert_eq!(letters(&source), "fs", "seen again");
    source.feed([FeedEvent::Applied(services(1).remove(0))]);
    assert_eq!(letters(&source), "cfs");
}

#[tokio::test(start_paused = true)]
async fn an_object_deleted_while_it_was_listed_does_not_make_a_list() {
    let source = source();
    source.feed(list(KIND, services(5)).into_iter().chain([FeedEvent::Open(KIND)]));
    let one = services(1).remove(0);
    source.feed([
        FeedEvent::Begin(KIND),
        FeedEvent::Listed(one.clone()),
        FeedEvent::Deleted(one.key()),
        FeedEvent::Done(KIND),
    ]);
    assert_eq!(letters(&source), "fs");
}

#[tokio::test(start_paused = true)]
async fn doubt_ends_with_an_object() {
    let cases: [(&str, Turn); 2] = [
        ("a list with one", |source| source.feed(list(KIND, services(1)))),
        ("a new object", |source| source.feed(services(1).into_iter().map(FeedEvent::Applied))),
    ];
    for (what, end) in cases {
        let source = source();
        source.feed(list(KIND, services(5)).into_iter().chain([FeedEvent::Open(KIND)]));
        source.feed(list(KIND, []));
        assert_eq!(letters(&source), "fs");
        end(&source);
        assert_eq!(letters(&source), "cfs", "{what}");
    }
}

/// The first object of a list that is under way says nothing of the others: they come with the rest of it.
#[tokio::test(start_paused = true)]
async fn doubt_lasts_until_the_list_has_come_to_its_end() {
    let source = source();
    source.feed(list(KIND, services(5)).into_iter().chain([FeedEvent::Open(KIND)]));
    source.feed(list(KIND, []));
    source.feed([FeedEvent::Begin(KIND), FeedEvent::Listed(services(1).remove(0))]);
    assert_eq!(letters(&source), "fs", "four are still to come");
    source.feed(services(5).into_iter().skip(1).map(FeedEvent::Listed).chain([FeedEvent::Done(KIND)]));
    assert_eq!(letters(&source), "cfs");
}

#[tokio::test(start_paused = true)]
async fn deletes_one_by_one_are_no_doubt() {
    let source = source();
    source.feed(list(KIND, services(5)).into_iter().chain([FeedEvent::Open(KIND)]));
    source.feed((0..5).map(|n| FeedEvent::Deleted(ObjectKey::new(KIND, "a", &format!("s{n}")))));
    assert_eq!(letters(&source), "cfs");
    assert_eq!(state(&source).objects, 0);
    source.feed(list(KIND, []));
    assert_eq!(letters(&source), "cfs");
}

/// It is there after a restart that has lost everything, too.
#[tokio::test(start_paused = true)]
async fn the_servers_own_service_is_counted_apart() {
    let source = source();
    let own = || balancer("default", "kubernetes", "", "192.0.2.1");
    source.feed(list(KIND, services(3).into_iter().chain([own()])));
    assert_eq!((state(&source).objects, state(&source).telling()), (4, 3));
    source.feed(list(KIND, [own()]));
    assert_eq!((state(&source).objects, state(&source).telling()), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_vanished_folder_of_files_is_doubted_like_a_list() {
    let source = source();
    source.feed(list(KIND, services(3)).into_iter().chain([FeedEvent::Open(KIND)]));
    source.feed([FeedEvent::Removed((0..3).map(|n| ObjectKey::new(KIND, "a", &format!("s{n}"))).collect())]);
    assert_eq!(letters(&source), "fs");
    source.feed([FeedEvent::Blind(KIND)]);
    assert_eq!(letters(&source), "s");
}

#[tokio::test(start_paused = true)]
async fn a_denied_kind() {
    let never_seen = source();
    never_seen.feed([FeedEvent::Denied(KIND)]);
    assert_eq!(letters(&never_seen), "cfs", "complete and empty");
    lost(&never_seen);
    pass(30).await;
    assert_eq!(letters(&never_seen), "cs", "nobody stands by the denial any more");

    let seen_now = source();
    seen_now.feed(list(KIND, services(1)));
    seen_now.feed([FeedEvent::Denied(KIND)]);
    assert_eq!(letters(&seen_now), "fs");
    assert_eq!(state(&seen_now).objects, 1, "nothing is removed");
    assert!(seen_now.take(false).objects.len() == 1);

    let seen_before = source_that_saw(&SeenKinds::These(seen_now.seen()));
    seen_before.feed([FeedEvent::Denied(KIND)]);
    assert_eq!(letters(&seen_before), "fs", "remembered across a restart");

    let unknown = source_that_saw(&SeenKinds::Any);
    unknown.feed([FeedEvent::Denied(KIND)]);
    assert_eq!(letters(&unknown), "fs", "what former processes saw cannot be read");

    assert_eq!(state(&never_seen).doubted, None, "nothing is missing");
    assert_eq!(state(&seen_before).doubted, Some(0), "the doubt of every process that finds it so");
    seen_now.feed([FeedEvent::Denied(KIND)]);
    assert_eq!(state(&seen_now).doubted, Some(1), "denied once more is no other doubt");
    seen_now.feed(list(KIND, services(1)));
    assert_eq!((letters(&seen_now).as_str(), state(&seen_now).doubted), ("cfs", None), "served again");
    seen_now.feed([FeedEvent::Denied(KIND)]);
    assert_eq!(state(&seen_now).doubted, Some(2), "a denial that comes later is another");
}

#[tokio::test(start_paused = true)]
async fn the_kinds_that_were_seen_can_be_read_out() {
    let source = source();
    assert!(source.seen().is_empty());
    source.feed(list(KIND, []));
    assert_eq!(source.seen(), BTreeSet::from([KindId::from("services")]));
}

#[tokio::test(start_paused = true)]
async fn an_unreadable_object_that_nobody_knows_doubts_no_other() {
    let hidden = ObjectKey::new(KIND, "a", "hidden");
    let with_hole = || {
        let source = source();
        source.feed([FeedEvent::Begin(KIND), unreadable(hidden.clone()), FeedEvent::Done(KIND)]);
        assert_eq!((letters(&source).as_str(), state(&source).unreadable), ("cfs", 1));
        source
    };
    let read = with_hole();
    read.feed([FeedEvent::Applied(balancer("a", "hidden", "", "192.0.2.1"))]);
    assert_eq!(state(&read).unreadable, 0);
    let deleted = with_hole();
    deleted.feed([FeedEvent::Deleted(hidden.clone())]);
    assert_eq!(state(&deleted).unreadable, 0);
    let not_listed = with_hole();
    not_listed.feed(list(KIND, []));
    assert_eq!(state(&not_listed).unreadable, 0);
}

/// Where a claim has no label to keep it by, or not even the object's name is known, it is not known whose records to keep.
#[tokio::test(start_paused = true)]
async fn an_object_without_a_label_doubts_the_kind() {
    let spoilt = |options: SourceOptions, key: ObjectKey| {
        let source = K8sSource::new(Index::new(Arc::new(options), &SeenKinds::default()));
        let kind = key.kind;
        source.feed([FeedEvent::Begin(kind), unreadable(key), FeedEvent::Done(kind)]);
        source.evidence().kinds[&kind.id()].complete
    };
    let pods = SourceOptions { sources: vec![SourceKind::Pod], ..options() };
    let nodes = SourceOptions { sources: vec![SourceKind::Node], ..options() };
    assert!(!spoilt(options(), ObjectKey::new(KIND, "", "")), "without a name");
    assert!(!spoilt(pods, ObjectKey::new(Kind::Pod, "a", "x")), "pods have no label");
    assert!(!spoilt(nodes, ObjectKey::new(Kind::Node, "", "x")), "nodes share their names");
    assert!(spoilt(options(), ObjectKey::new(Kind::Node, "", "x")), "for services a node is something that they read");
    assert!(spoilt(options(), ObjectKey::new(KIND, "a", "x")));
}

#[test]
fn resources_name_the_kinds_that_a_mapping_may_read() {
    let check = |filter: &[ServiceType], expected: &str| {
        let options = SourceOptions { service_type_filter: filter.to_vec(), ..options() };
        let evidence = K8sSource::new(Index::new(Arc::new(options), &SeenKinds::default())).evidence();
        let lines: Vec<String> = evidence
            .resources
            .iter()
            .map(|(resource, kinds)| {
                format!("{resource}: {}", kinds.iter().map(|kind| &**kind).collect::<Vec<_>>().join(" "))
            })
            .collect();
        assert_eq!(lines.join("\n"), expected);
    };
    let ingress = "ingress: ingresses.networking.k8s.io";
    check(&[], &format!("{ingress}\nservice: endpointslices.discovery.k8s.io nodes pods services"));
    check(&[ServiceType::LoadBalancer], &format!("{ingress}\nservice: services"));
}

#[tokio::test(start_paused = true)]
async fn a_waiter_wakes_for_objects() {
    let source = Arc::new(source());
    source.take(false);
    assert!(!wakes(&source, 3_600).await, "nothing happens");
    let waiter = tokio::spawn({
        let source = Arc::clone(&source);
        async move { source.changed().await }
    });
    tokio::task::yield_now().await;
    source.feed([FeedEvent::Applied(services(1).remove(0))]);
    timeout(Duration::from_secs(1), waiter).await.expect("woken").unwrap();
    assert!(wakes(&source, 1).await, "until it is taken");
    source.take(false);
    assert!(!wakes(&source, 3_600).await);
    source.feed([FeedEvent::Applied(services(1).remove(0))]);
    assert!(!wakes(&source, 3_600).await, "the same object again is no news");
}

#[tokio::test(start_paused = true)]
async fn a_waiter_wakes_when_a_view_stops_being_fresh() {
    let source = source();
    source.feed(list(KIND, []).into_iter().chain([FeedEvent::Open(KIND)]));
    source.take(false);
    lost(&source);
    let start = Instant::now();
    assert!(wakes(&source, 60).await);
    assert_eq!(start.elapsed().as_secs(), 30);
    source.take(false);
    assert!(!wakes(&source, 3_600).await, "reported once");
    source.feed([FeedEvent::Open(KIND)]);
    assert!(wakes(&source, 1).await, "it is back");
}

#[tokio::test(start_paused = true)]
async fn freshness_that_ended_while_nobody_waited_is_news() {
    let source = source();
    source.feed(list(KIND, []).into_iter().chain([FeedEvent::Open(KIND)]));
    source.take(false);
    lost(&source);
    pass(60).await;
    assert!(wakes(&source, 1).await);
}

#[tokio::test(start_paused = true)]
async fn several_waiters_wake_together() {
    let source = Arc::new(source());
    source.take(false);
    let waiters: Vec<_> = (0..3)
        .map(|_| {
            let source = Arc::clone(&source);
            tokio::spawn(async move { source.changed().await })
        })
        .collect();
    tokio::task::yield_now().await;
    source.feed([FeedEvent::Denied(KIND)]);
    for waiter in waiters {
        timeout(Duration::from_secs(1), waiter).await.expect("woken").unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn objects_of_a_later_evidence_wait_until_it_is_asked_for() {
    let source = source();
    source.feed(list(KIND, services(5)).into_iter().chain([FeedEvent::Open(KIND)]));
    assert_eq!(letters(&source), "cfs");
    assert_eq!(source.take(false).objects.len(), 5);
    source.feed(list(KIND, []));
    assert_eq!(source.take(false).objects, [], "the engine still trusts the view");
    assert!(wakes(&source, 1).await);
    assert_eq!(letters(&source), "fs");
    assert_eq!(source.take(false).objects.len(), 5);
    assert!(!wakes(&source, 3_600).await);
}

#[tokio::test(start_paused = true)]
async fn whoever_does_not_ask_for_the_evidence_gets_objects_all_the_same() {
    let source = source();
    assert_eq!(letters(&source), "");
    source.feed(list(KIND, services(5)));
    let objects = source.take(false).objects.len() + source.take(false).objects.len();
    assert_eq!(objects, 5);
}

/// A process that makes one pass tries again for a while what cannot be listed, and waits for what arrives.
#[tokio::test(start_paused = true)]
async fn a_list_that_fails_is_waited_for_as_long_as_there_is_patience() {
    let patient = |seen: &SeenKinds| {
        let options = SourceOptions { patience: Duration::from_secs(30), ..options() };
        K8sSource::new(Index::new(Arc::new(options), seen))
    };
    let fails: [(&str, Turn); 4] = [
        ("lost", lost),
        ("forbidden", |source| source.feed([FeedEvent::Forbidden(KIND)])),
        ("denied", |source| source.feed([FeedEvent::Denied(KIND)])),
        ("blind", |source| source.feed([FeedEvent::Blind(KIND)])),
    ];
    for (what, fail) in fails {
        let source = patient(&SeenKinds::These(BTreeSet::from([KIND.id()])));
        fail(&source);
        pass(29).await;
        fail(&source);
        assert!(!state(&source).settled, "{what}");
        let _ = source.take(false);
        assert!(wakes(&source, 2).await, "{what}: a wake-up is due when the time is over");
        assert!(state(&source).settled && !state(&source).complete, "{what}");
    }
    // What was never seen and is denied is empty, and nothing is waited for.
    let source = patient(&SeenKinds::default());
    source.feed([FeedEvent::Denied(KIND)]);
    assert_eq!(letters(&source), "cfs");
    // A list that began in time is waited for to its end, however long it takes.
    let source = patient(&SeenKinds::default());
    lost(&source);
    pass(29).await;
    source.feed([FeedEvent::Begin(KIND), FeedEvent::Listed(services(1).remove(0))]);
    pass(3_600).await;
    assert_eq!(letters(&source), "");
    lost(&source);
    assert_eq!(letters(&source), "s", "unless it breaks off: there is no further attempt");
    let source = patient(&SeenKinds::default());
    pass(60).await;
    assert_eq!(letters(&source), "", "the first attempt is waited for as well");
    source.feed(list(KIND, services(1)));
    assert_eq!(letters(&source), "cfs");
}

#[test]
fn what_was_not_read_is_reported_with_its_reason() {
    let source = source();
    assert_eq!(source.errors().unread[&KIND.id()], "not read to its end");
    source.feed(list(KIND, services(1)));
    assert!(!source.errors().unread.contains_key(&KIND.id()));
    source.feed([unreadable(ObjectKey::new(KIND, "a", "odd"))]);
    assert!(source.errors().unread[&KIND.id()].ends_with("a/odd cannot be read"), "{:?}", source.errors());
}
