//! The controller with the real provider of each cloud, at its service on loopback, by a clock that goes faster: how fast it asks,
//! what becomes of throttling and of failures in the shape that each service gives them, and what is left unwritten.

mod former;
#[path = "../../../../engine/tests/shared/hurry.rs"]
mod hurry;
mod site;

use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};
use zonewright_fakes::route53::Fault;

use super::super::*;
use super::start::{Working, until, working};
use hurry::hurried;
use site::{Cloud, Site};

/// How much faster than real time the clock goes.
const FASTER: u32 = 100;
/// The longest time of a request: far above what the service needs by that clock.
const PATIENT: Duration = Duration::from_mins(2);
/// The same where the service never answers.
const IMPATIENT: Duration = Duration::from_secs(20);

/// Plays a case at each of these services, all at once.
async fn at<C, F, P>(cases: impl IntoIterator<Item = C>, play: P)
where
    F: Future<Output = ()> + Send + 'static,
    P: Fn(C) -> F,
{
    let mut plays = JoinSet::new();
    for case in cases {
        plays.spawn(play(case));
    }
    hurried(FASTER, async {
        while let Some(played) = plays.join_next().await {
            played.unwrap();
        }
    })
    .await;
}

/// Each service's own shape of "too many requests", with the seconds that it asks callers to wait.
const THROTTLED: [(Cloud, Fault, u64); 6] = [
    (Cloud::Aws, Fault::Throttled, 0),
    (Cloud::Google, Fault::Throttled, 5),
    (Cloud::Google, Fault::RateLimited, 0),
    (Cloud::Azure, Fault::Throttled, 90),
    (Cloud::Azure, Fault::RateLimited, 0),
    (Cloud::Cloudflare, Fault::Throttled, 60),
];

#[tokio::test]
async fn a_throttled_account_is_asked_again_after_half_a_minute_and_has_no_code() {
    at(THROTTLED, |(cloud, fault, seconds)| async move {
        let site = Site::new(cloud, PATIENT);
        site.set_retry_after(seconds);
        site.fail(fault, usize::MAX);
        site.create("dns", "a", "web A 192.0.2.1");
        let _working = working(&site.seed);
        let name = format!("{cloud:?} {fault:?}");
        until(&format!("{name}: four attempts"), || site.attempts() >= 4).await;
        let pauses = site.pauses();
        let least = Duration::from_secs(seconds.max(30));
        // A quarter more parts those that failed together; the attempt itself takes up to a minute too, with the client's repeats.
        let most = least + least / 4 + Duration::from_secs(70);
        assert!(pauses.iter().all(|pause| (least..=most).contains(pause)), "{name}: {pauses:?}");
        let status = site.seed.status("a");
        assert_eq!(status["lastOperation"]["state"], "Error", "{name}: {status:#}");
        assert_eq!(status["lastError"]["codes"], json!(null), "{name}: {status:#}");
        assert_eq!(site.written("Create Error"), 1, "{name}: {status:#}");
        site.fail(fault, 0);
        until(&format!("{name}: served once it may go on"), || site.seed.is_done("a")).await;
        assert_eq!(site.addresses(), 1, "{name}");
    })
    .await;
}

/// What goes wrong, and the codes that are reported to Gardener.
const FAULTS: [(Fault, &[&str]); 6] = [
    (Fault::Broken, &[]),
    (Fault::Unavailable, &[]),
    (Fault::Garbage, &[]),
    (Fault::WrongType, &[]),
    (Fault::Denied, &["ERR_INFRA_UNAUTHORIZED"]),
    (Fault::Expired, &["ERR_INFRA_UNAUTHENTICATED"]),
];

/// The services number their requests and say so in what they refuse: the status is written once all the same.
#[tokio::test]
async fn what_stays_wrong_is_written_once_with_the_same_codes_at_every_service() {
    let cases = Cloud::ALL.into_iter().flat_map(|cloud| FAULTS.map(|(fault, codes)| (cloud, fault, codes)));
    let cases = cases.filter(|(cloud, fault, _)| (*cloud, *fault) != (Cloud::Aws, Fault::Unavailable));
    at(cases, |(cloud, fault, codes)| async move {
        let site = Site::new(cloud, PATIENT);
        site.fail(fault, usize::MAX);
        site.create("dns", "a", "web A 192.0.2.1");
        let _working = working(&site.seed);
        let name = format!("{cloud:?} {fault:?}");
        until(&format!("{name}: four attempts"), || site.attempts() >= 5).await;
        let status = site.seed.status("a");
        let said = status["lastError"]["codes"].as_array().cloned().unwrap_or_default();
        // Cloudflare says the same of a token that it does not know and of one without the right.
        let expected = if cloud == Cloud::Cloudflare && fault == Fault::Expired { FAULTS[4].1 } else { codes };
        assert_eq!(json!(said), json!(expected), "{name}: {status:#}");
        assert_eq!(site.written("Create Error"), 1, "{name}: {status:#}");
        site.fail(fault, 0);
        until(&format!("{name}: served once it can be"), || site.seed.is_done("a")).await;
    })
    .await;
}

/// A service that never answers, and one that is not there: no code, and the pauses grow.
#[tokio::test]
async fn a_service_that_is_silent_or_gone_has_no_code() {
    let cases = Cloud::ALL.into_iter().flat_map(|cloud| [(cloud, false), (cloud, true)]);
    at(cases, |(cloud, gone)| async move {
        let mut site = Site::new(cloud, IMPATIENT);
        site.fail(Fault::Slow, usize::MAX);
        if gone {
            site.end_service();
        }
        site.create("dns", "a", "web A 192.0.2.1");
        let _working = working(&site.seed);
        let attempts = if gone { 5 } else { 2 };
        until(&format!("{cloud:?} {gone}: attempts"), || site.attempts() > attempts).await;
        let status = site.seed.status("a");
        assert_eq!(status["lastOperation"]["state"], "Error", "{cloud:?} {gone}: {status:#}");
        assert_eq!(status["lastError"]["codes"], json!(null), "{cloud:?} {gone}: {status:#}");
        assert_eq!(site.written("Create Error"), 1, "{cloud:?} {gone}: {status:#}");
        if gone {
            let pauses = site.pauses();
            assert!(pauses[0] + Duration::from_secs(5) < pauses[4], "{cloud:?}: {pauses:?}");
        }
    })
    .await;
}

#[tokio::test]
async fn addresses_in_another_spelling_are_not_written_at_any_service() {
    at(Cloud::ALL, |cloud| async move {
        let site = Site::new(cloud, PATIENT);
        site.create("dns", "a", "web AAAA 2001:DB8:0:0:0:0:0:1 2001:db8::2");
        let _working = working(&site.seed);
        until(&format!("{cloud:?}: created"), || site.seed.is_done("a")).await;
        let writes = site.writes();
        assert!(writes > 0, "{cloud:?}");
        for values in [["2001:db8::1", "2001:db8::2"], ["2001:DB8:0::2", "2001:0db8::0:1"]] {
            site.seed.asks("a", "reconcile", &json!({ "values": values }));
            // The loop that works is woken by its own clock.
            until(&format!("{cloud:?}: reconciled"), || site.seed.is_done("a")).await;
            assert_eq!(site.writes(), writes, "{cloud:?}: {values:?}");
        }
    })
    .await;
}

/// Requests of the account in each second, of a thousand objects that are all there at the start, by two Secrets.
#[tokio::test]
async fn a_thousand_objects_of_one_account_stay_within_its_limit() {
    const MANY: usize = 1_000;
    /// What the account may ask in a second, by the flag's default, and at once after a quiet time.
    const RATE: usize = 5;
    /// Attempts at once: enough that nothing but the limit holds them up.
    const AT_ONCE: usize = 20;
    /// The clock goes so slowly that the service could answer many more requests than the limit lets through.
    const SLOWER: u32 = 40;
    hurried(SLOWER, async {
        let site = Site::with(Cloud::Aws, PATIENT, AT_ONCE);
        site.secret("same");
        for n in 0..MANY {
            let secret = if n % 2 == 0 { "dns" } else { "same" };
            site.create(secret, &format!("r{n}"), &format!("r{n} A 192.0.2.1"));
        }
        let (start, _working) = (Instant::now(), working(&site.seed));
        let mut seconds: Vec<usize> = vec![0];
        while site.written("Create Succeeded") < MANY {
            assert!(start.elapsed() < Duration::from_mins(20), "{seconds:?}");
            sleep(Duration::from_secs(1)).await;
            seconds.push(site.requests());
        }
        assert_eq!(site.addresses(), MANY);
        // One reading and one change of each, and a few lists.
        assert!((2 * MANY..2 * MANY + 100).contains(&site.requests()), "{}", site.requests());
        for window in [1, 10, 60, 300] {
            let most = seconds.windows(window + 1).map(|times| times[window] - times[0]).max().unwrap_or(0);
            // A burst after a quiet second, and what was under way when the first second began.
            let allowed = RATE * (window + 1) + AT_ONCE;
            assert!(most <= allowed, "{most} requests in {window} s, at most {allowed}");
        }
        // An attempt begins where there is a place for it: its two requests wait for those of the others that have begun (eight
        // seconds, and what this machine takes), and not for those of all objects (four hundred).
        let (begun, ended) = (site.times("Create Processing"), site.times("Create Succeeded"));
        let longest = begun.iter().zip(&ended).map(|(begun, ended)| *ended - *begun).max().unwrap_or_default();
        let most = Duration::from_secs(30);
        assert!(longest <= most, "{longest:?}, at most {most:?}");
    })
    .await;
}
