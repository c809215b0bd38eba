use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use zonewright_core::capability::{Batch, Capability, Preconditions};
use zonewright_core::change::{Blame, Change, Group, Outcome, Step};
use zonewright_core::endpoint::Endpoint;
use zonewright_core::error::{Error, ErrorKind, Result, Retry};
use zonewright_core::interpret::Interpretation;
use zonewright_core::provider::{Adjustment, Cursor, Listing, Read};
use zonewright_core::record::RecordSet;
use zonewright_core::testing::{capability, name, set};
use zonewright_core::turn;
use zonewright_core::zone::{Zone, ZoneId};

use super::*;

/// Answers `apply` with a function of the groups, and counts.
struct Scripted<F> {
    calls: AtomicUsize,
    sizes: Mutex<Vec<usize>>,
    capability: Capability,
    /// How long the first call takes.
    first: Duration,
    answer: F,
}

impl<F: Fn(usize, &[Group]) -> Vec<Outcome> + Send + Sync> Scripted<F> {
    fn new(answer: F) -> Arc<Self> {
        Arc::new(Self::of(answer))
    }

    fn of(answer: F) -> Self {
        let (calls, sizes) = (AtomicUsize::new(0), Mutex::default());
        Self { calls, sizes, capability: capability(), first: Duration::ZERO, answer }
    }

    /// One that takes two groups a call; its first call takes a while.
    fn slow(preconditions: Preconditions, first: Duration, answer: F) -> Arc<Self> {
        let batch = Batch { changes: 2, ..capability().batch };
        Arc::new(Self { capability: Capability { preconditions, batch, ..capability() }, first, ..Self::of(answer) })
    }

    fn calls(&self) -> usize {
        self.calls.load(Ordering::SeqCst)
    }
}

#[async_trait]
impl<F: Fn(usize, &[Group]) -> Vec<Outcome> + Send + Sync> Provider for Scripted<F> {
    fn capability(&self, _: Option<&Zone>) -> Capability {
        self.capability.clone()
    }

    async fn zones(&self) -> Result<Vec<Zone>> {
        match self.calls.fetch_add(1, Ordering::SeqCst) {
            0 => {
                tokio::time::sleep(self.first).await;
                Err(Error::new(ErrorKind::Throttled, "list zones", "slow down")
                    .retry(Retry::After(Duration::from_secs(3))))
            }
            1 => Err(Error::new(ErrorKind::Unavailable, "list zones", "try later")),
            _ => Ok(vec![]),
        }
    }

    async fn zone(&self, _: &ZoneId) -> Result<Option<Zone>> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        Err(Error::new(ErrorKind::Unauthorized, "read zone", "wrong key"))
    }

    async fn records(&self, _: &Zone, _: Read<'_>) -> Result<Listing> {
        std::future::pending().await
    }

    fn interpret(&self, _: &Zone, _: &Endpoint) -> Interpretation {
        Interpretation::as_stated()
    }

    async fn adjust(&self, _: &Zone, sets: &[RecordSet]) -> Vec<Adjustment> {
        Adjustment::none(sets)
    }

    async fn apply(&self, _: &Zone, groups: &[Group]) -> Vec<Outcome> {
        let call = self.calls.fetch_add(1, Ordering::SeqCst);
        self.sizes.lock().unwrap().push(groups.len());
        if call == 0 && !self.first.is_zero() {
            tokio::time::sleep(self.first).await;
        }
        (self.answer)(call, groups)
    }

    async fn served(&self, _: &Zone) -> Result<Option<bool>> {
        Ok(None)
    }
}

fn zone() -> Zone {
    Zone::new(&InstanceId::from("i"), "z", name("example"))
}

fn groups(count: usize) -> Vec<Group> {
    let group =
        |i| Group::of(Step::record(Change::Create { to: set(&format!("n{i}.example A 192.0.2.1")) }, None), vec![]);
    (0..count).map(group).collect()
}

fn invalid() -> Error {
    Error::new(ErrorKind::Invalid, "apply changes", "bad record")
}

fn labels(outcomes: &[Outcome]) -> Vec<&'static str> {
    outcomes.iter().map(Outcome::label).collect()
}

/// A service that refuses a call as a whole if it holds one of the bad names.
fn refuses(bad: &'static [&'static str]) -> impl Fn(usize, &[Group]) -> Vec<Outcome> + Send + Sync {
    move |_, groups| {
        let refused = groups.iter().any(|g| bad.contains(&g.name.as_str()));
        let blame = if groups.len() == 1 { Blame::Group } else { Blame::Batch };
        let outcome = || if refused { Outcome::Refused { error: invalid(), blame } } else { Outcome::Applied };
        groups.iter().map(|_| outcome()).collect()
    }
}

#[tokio::test]
async fn one_bad_group_costs_at_most_two_log_n_more_calls() {
    for count in [2_usize, 7, 64, 100] {
        let inner = Scripted::new(refuses(&["n1.example"]));
        let outcomes = Batcher::new(inner.clone()).apply(&zone(), &groups(count)).await;
        let refused: Vec<usize> =
            outcomes.iter().enumerate().filter(|(_, o)| o.label() == "refused").map(|(i, _)| i).collect();
        assert_eq!((outcomes.len(), refused), (count, vec![1]));
        let bound = 1 + 2 * count.next_power_of_two().ilog2() as usize;
        assert!(inner.calls() <= bound, "{} calls for {count} groups, at most {bound}", inner.calls());
    }
}

#[tokio::test]
async fn a_named_offender_costs_no_search() {
    let inner = Scripted::new(|call, groups: &[Group]| {
        let blame = |i| if i == 3 { Blame::Group } else { Blame::Batch };
        let one = |i| if call == 0 { Outcome::Refused { error: invalid(), blame: blame(i) } } else { Outcome::Applied };
        (0..groups.len()).map(one).collect()
    });
    let outcomes = Batcher::new(inner.clone()).apply(&zone(), &groups(10)).await;
    assert_eq!(outcomes.iter().filter(|o| o.label() == "applied").count(), 9);
    assert_eq!((outcomes[3].label(), inner.calls()), ("refused", 2));
}

#[tokio::test]
async fn two_bad_groups_leave_the_others_alone() {
    let inner = Scripted::new(refuses(&["n0.example", "n9.example"]));
    let outcomes = Batcher::new(inner).apply(&zone(), &groups(10)).await;
    assert_eq!(outcomes.iter().filter(|o| o.label() == "applied").count(), 8);
}

/// A service that does not allow these names, whatever comes with them.
fn denies(denied: impl Fn(&Group) -> bool + Send + Sync) -> impl Fn(usize, &[Group]) -> Vec<Outcome> + Send + Sync {
    move |_, groups| {
        let error = || Error::new(ErrorKind::Unauthorized, "apply changes", "not allowed");
        let blame = if groups.len() == 1 { Blame::Group } else { Blame::Batch };
        let refused = groups.iter().any(&denied);
        let outcome = || if refused { Outcome::Refused { error: error(), blame } } else { Outcome::Applied };
        groups.iter().map(|_| outcome()).collect()
    }
}

#[tokio::test]
async fn where_nothing_is_allowed_the_search_ends() {
    let inner = Scripted::new(denies(|_| true));
    let outcomes = Batcher::new(inner.clone()).apply(&zone(), &groups(400)).await;
    let count = |label| labels(&outcomes).into_iter().filter(|one| *one == label).count();
    assert_eq!((count("refused"), count("not_sent")), (MOST_DENIED, 400 - MOST_DENIED));
    assert!(inner.calls() <= 2 * MOST_DENIED + 9, "{} calls", inner.calls());
    assert!(outcomes.iter().all(|outcome| outcome.error().is_some_and(|error| error.kind == ErrorKind::Unauthorized)));
}

/// One accepted group says that others may be accepted too; what is invalid says nothing of the others.
#[tokio::test]
async fn where_something_is_allowed_all_of_it_is_found() {
    let odd = |group: &Group| group.name.as_str().as_bytes()[1] % 2 == 1;
    let inner = Scripted::new(denies(odd));
    let outcomes = Batcher::new(inner).apply(&zone(), &groups(400)).await;
    assert!(labels(&outcomes).into_iter().all(|label| label != "not_sent"));
    let inner = Scripted::new(|_, groups: &[Group]| {
        let blame = if groups.len() == 1 { Blame::Group } else { Blame::Batch };
        groups.iter().map(|_| Outcome::Refused { error: invalid(), blame }).collect()
    });
    let outcomes = Batcher::new(inner).apply(&zone(), &groups(40)).await;
    assert_eq!(labels(&outcomes), ["refused"; 40]);
}

#[tokio::test]
async fn an_outcome_that_is_missing_is_unknown() {
    let inner = Scripted::new(|_, _: &[Group]| vec![Outcome::Applied]);
    assert_eq!(labels(&Batcher::new(inner).apply(&zone(), &groups(2)).await), ["applied", "unknown"]);
}

#[tokio::test(start_paused = true)]
async fn reads_are_repeated_after_the_time_that_was_asked_for() {
    let inner = Scripted::slow(Preconditions::Any, Duration::from_mins(1), |_, _: &[Group]| vec![]);
    let began = tokio::time::Instant::now();
    let (answer, took) = turn::timed(RetryLayer::new(inner.clone(), 3).zones()).await;
    assert!(answer.is_ok());
    assert_eq!(inner.calls(), 3);
    assert!(began.elapsed() >= Duration::from_secs(63));
    assert_eq!(took, Duration::ZERO, "attempts that failed say nothing of how long it takes");
}

#[tokio::test(start_paused = true)]
async fn what_will_not_pass_by_itself_is_not_repeated() {
    let inner = Scripted::new(|_, _: &[Group]| vec![]);
    let error = RetryLayer::new(inner.clone(), 5).zone(&ZoneId::from("z")).await.unwrap_err();
    assert_eq!((error.kind, inner.calls()), (ErrorKind::Unauthorized, 1));
}

#[tokio::test(start_paused = true)]
async fn a_write_is_repeated_only_if_it_was_never_sent() {
    let unavailable = || Error::new(ErrorKind::Unavailable, "apply changes", "connection refused");
    let inner = Scripted::new(move |call, groups: &[Group]| match (call, groups.len()) {
        (0, _) => vec![Outcome::Unknown(unavailable()), Outcome::NotSent(unavailable()), Outcome::Applied],
        (_, 1) => vec![Outcome::Applied],
        _ => panic!("only the group that was not sent is sent again"),
    });
    let outcomes = RetryLayer::new(inner.clone(), 3).apply(&zone(), &groups(3)).await;
    assert_eq!(labels(&outcomes), ["unknown", "applied", "applied"]);
    assert_eq!(*inner.sizes.lock().unwrap(), [3, 1]);
}

/// Where writes cannot state what they expect of the zone, what was read of it is not written by after a long pause.
#[tokio::test(start_paused = true)]
async fn a_write_does_not_outlast_what_was_read() {
    let throttled = |seconds| {
        let pause = Retry::After(Duration::from_secs(seconds));
        Error::new(ErrorKind::Throttled, "apply changes", "slow down").retry(pause)
    };
    for (preconditions, seconds, calls) in [
        (Preconditions::Any, 7, 2),
        (Preconditions::None, 7, 1),
        (Preconditions::Changed, 7, 1),
        // The record that a claim speaks for is not held against the zone with it.
        (Preconditions::Checked, 7, 1),
        (Preconditions::None, 2, 2),
    ] {
        let inner = Scripted::slow(preconditions, Duration::ZERO, move |call, groups: &[Group]| {
            let outcome = || if call == 0 { Outcome::NotSent(throttled(seconds)) } else { Outcome::Applied };
            groups.iter().map(|_| outcome()).collect()
        });
        let outcomes = RetryLayer::new(inner.clone(), 3).apply(&zone(), &groups(2)).await;
        let last = if calls == 2 { "applied" } else { "not_sent" };
        assert_eq!((inner.calls(), labels(&outcomes)), (calls, vec![last; 2]), "{preconditions:?}, {seconds} s");
    }
}

/// A call is refused for two groups that meet at a claim. It is sent again in parts, and no answer comes to the first: what meets it
/// is not sent before its names were read, the others are.
#[tokio::test]
async fn what_meets_a_group_without_an_answer_is_not_sent() {
    let inner = Scripted::new(|call, groups: &[Group]| {
        let refused = || Outcome::Refused { error: invalid(), blame: Blame::Batch };
        let unknown = || Outcome::Unknown(Error::new(ErrorKind::Timeout, "apply changes", "no answer"));
        let outcome = || match call {
            0 => refused(),
            1 => unknown(),
            _ => Outcome::Applied,
        };
        groups.iter().map(|_| outcome()).collect()
    });
    let claim = Step::claim(Change::Delete { from: set("a-n.example TXT claim") });
    let mut all = groups(4);
    all[0].steps.push(claim.clone());
    all[3].steps.push(claim);
    let outcomes = Batcher::new(inner.clone()).apply(&zone(), &all).await;
    assert_eq!(labels(&outcomes), ["unknown", "unknown", "applied", "not_sent"]);
    assert_eq!(*inner.sizes.lock().unwrap(), [4, 2, 1]);
}

/// A call that stood still for long is not followed by others that rest on the same reading.
#[tokio::test(start_paused = true)]
async fn what_follows_a_call_without_an_answer_is_read_again() {
    for (preconditions, later) in [(Preconditions::Any, "applied"), (Preconditions::None, "not_sent")] {
        let stalled = |call, groups: &[Group]| {
            let error = || Error::new(ErrorKind::Timeout, "apply changes", "no answer");
            groups.iter().map(|_| if call == 0 { Outcome::Unknown(error()) } else { Outcome::Applied }).collect()
        };
        let inner = Scripted::slow(preconditions, Duration::from_mins(1), stalled);
        let outcomes = Batcher::new(inner).apply(&zone(), &groups(6)).await;
        assert_eq!(labels(&outcomes), ["unknown", "unknown", later, later, later, later], "{preconditions:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_write_that_is_cut_off_is_unknown() {
    struct Stalled;
    #[async_trait]
    impl Provider for Stalled {
        fn capability(&self, _: Option<&Zone>) -> Capability {
            capability()
        }
        async fn zones(&self) -> Result<Vec<Zone>> {
            std::future::pending().await
        }
        async fn zone(&self, _: &ZoneId) -> Result<Option<Zone>> {
            turn::waiting(tokio::time::sleep(Duration::from_hours(1))).await;
            Ok(None)
        }
        async fn records(&self, _: &Zone, _: Read<'_>) -> Result<Listing> {
            std::future::pending().await
        }
        fn interpret(&self, _: &Zone, _: &Endpoint) -> Interpretation {
            Interpretation::as_stated()
        }
        async fn adjust(&self, _: &Zone, _: &[RecordSet]) -> Vec<Adjustment> {
            std::future::pending().await
        }
        async fn apply(&self, _: &Zone, _: &[Group]) -> Vec<Outcome> {
            std::future::pending().await
        }

        async fn served(&self, _: &Zone) -> Result<Option<bool>> {
            Ok(None)
        }
    }
    let layer = Deadline::new(Arc::new(Stalled), Duration::from_secs(5));
    assert_eq!(labels(&layer.apply(&zone(), &groups(2)).await), ["unknown", "unknown"]);
    let sets = [set("a.example A 192.0.2.1")];
    assert!(matches!(&*layer.adjust(&zone(), &sets).await, [Adjustment::Unknown(e)] if e.kind == ErrorKind::Timeout));
    // A listing in one answer gets more time with each attempt, and at last an hour; a page and a name do not.
    let mut budgets = Vec::new();
    for _ in 0..12 {
        let began = tokio::time::Instant::now();
        assert_eq!(layer.records(&zone(), Read::All).await.unwrap_err().kind, ErrorKind::Timeout);
        budgets.push(began.elapsed().as_secs());
    }
    assert_eq!(budgets, [5, 10, 20, 40, 80, 160, 320, 640, 1280, 2560, 3600, 3600]);
    let (began, cursor) = (tokio::time::Instant::now(), Cursor("2".to_owned()));
    assert_eq!(layer.records(&zone(), Read::From(&cursor)).await.unwrap_err().kind, ErrorKind::Timeout);
    assert_eq!(began.elapsed().as_secs(), 5);
    assert!(layer.zone(&zone().key.zone).await.is_ok(), "a wait for a turn is no stall");
}

/// Calls of it keep a distance of a second.
struct Paced(Arc<dyn Provider>);

#[async_trait]
impl Provider for Paced {
    fn capability(&self, zone: Option<&Zone>) -> Capability {
        let plain = self.0.capability(zone);
        Capability { batch: Batch { interval: Duration::from_secs(1), ..plain.batch }, ..plain }
    }
    async fn zones(&self) -> Result<Vec<Zone>> {
        self.0.zones().await
    }
    async fn zone(&self, id: &ZoneId) -> Result<Option<Zone>> {
        self.0.zone(id).await
    }
    async fn records(&self, zone: &Zone, read: Read<'_>) -> Result<Listing> {
        self.0.records(zone, read).await
    }
    fn interpret(&self, zone: &Zone, endpoint: &Endpoint) -> Interpretation {
        self.0.interpret(zone, endpoint)
    }
    async fn adjust(&self, zone: &Zone, sets: &[RecordSet]) -> Vec<Adjustment> {
        self.0.adjust(zone, sets).await
    }
    async fn apply(&self, zone: &Zone, groups: &[Group]) -> Vec<Outcome> {
        self.0.apply(zone, groups).await
    }

    async fn served(&self, zone: &Zone) -> Result<Option<bool>> {
        self.0.served(zone).await
    }
}

#[tokio::test(start_paused = true)]
async fn calls_in_one_zone_keep_their_distance() {
    let inner = Scripted::new(|_, groups: &[Group]| groups.iter().map(|_| Outcome::Applied).collect());
    let layer = Batcher::new(Arc::new(Paced(inner.clone())));
    let other = Zone::new(&InstanceId::from("i"), "y", name("other"));
    let began = tokio::time::Instant::now();
    layer.apply(&zone(), &groups(1)).await;
    layer.apply(&other, &groups(1)).await;
    assert_eq!(began.elapsed(), Duration::ZERO, "another zone does not wait");
    layer.apply(&zone(), &groups(1)).await;
    assert_eq!((began.elapsed().as_secs(), inner.calls()), (1, 3), "a call of its own keeps the distance too");
}

#[tokio::test]
async fn a_dry_run_sends_nothing() {
    let inner = Scripted::new(|_, _: &[Group]| panic!("nothing may be sent"));
    let metrics = Arc::new(Metrics::default());
    let layers = Layers { dry_run: true, ..Layers::new(InstanceId::from("i")) };
    let outcomes = layers.around(inner.clone(), &metrics).apply(&zone(), &groups(2)).await;
    assert_eq!((labels(&outcomes), inner.calls()), (vec!["not_sent", "not_sent"], 0));
}

/// Whatever its instance is called.
#[tokio::test]
async fn calls_of_a_webhook_count_under_the_names_of_external_dns() {
    for webhook in [true, false] {
        let inner = Scripted::new(|_, groups: &[Group]| groups.iter().map(|_| Outcome::Applied).collect());
        let metrics = Arc::new(Metrics::default());
        let layers = Layers { webhook, ..Layers::new(InstanceId::from("inside")) };
        layers.around(inner, &metrics).apply(&zone(), &groups(1)).await;
        let counted = metrics.text().contains("external_dns_webhook_provider_applychanges_requests_total 1");
        assert_eq!(counted, webhook, "{}", metrics.text());
    }
}
