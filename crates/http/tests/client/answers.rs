//! What a client makes of answers and of their absence, on a script and a paused clock.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use secrecy::SecretString;
use serde_json::Value;
use tokio::time::Instant;
use zonewright_core::ErrorKind;
use zonewright_core::error::Retry;
use zonewright_http::testing::{Script, on};
use zonewright_http::{
    Account, AccountLimits, Answer, AnswerExplanation, Client, ClientBuilder, Delivery, Failure, Fixed, HeaderName,
    Method, Repeat, Request, RequestTimes, RetryPolicy, Rotating, StatusCode,
};

const BASE: &str = "https://api.example";
const OPERATION: &str = "list zones";

fn builder(script: &Script) -> ClientBuilder {
    let retry = RetryPolicy { seed: Some(7), ..RetryPolicy::default() };
    Client::builder(BASE).unwrap().transport(script.transport()).retry(retry)
}

fn client(script: &Script) -> Client {
    builder(script).build().unwrap()
}

async fn failure(client: &Client, request: &Request) -> Failure {
    client.send(OPERATION, request).await.unwrap_err()
}

fn put() -> Request {
    Request::new(Method::PUT, "/r")
}

fn post() -> Request {
    Request::new(Method::POST, "/r")
}

#[tokio::test(start_paused = true)]
async fn what_is_idempotent_is_repeated_until_it_succeeds() {
    for (method, bad) in [
        ("GET", on("GET", "/r").cuts()),
        ("GET", on("GET", "/r").refuses()),
        ("GET", on("GET", "/r").hangs()),
        ("GET", on("GET", "/r").answers(503, "")),
        ("PUT", on("PUT", "/r").answers(500, "")),
        ("DELETE", on("DELETE", "/r").cuts()),
    ] {
        let script = Script::new([bad.clone(), bad.clone(), bad, on(method, "/r").answers(200, "ok")]);
        let request = Request::new(method.parse().unwrap(), "/r");
        let client = builder(&script).timeout(Duration::from_secs(5)).build().unwrap();
        let answer = client.send(OPERATION, &request).await.unwrap();
        assert_eq!(answer.body, "ok");
    }
}

#[tokio::test(start_paused = true)]
async fn attempts_have_an_end_and_growing_pauses() {
    let script = Script::new(vec![on("GET", "/r").cuts(); 4]);
    let start = Instant::now();
    let failure = failure(&client(&script), &Request::get("/r")).await;
    assert_eq!((failure.error.kind, failure.delivery), (ErrorKind::Unavailable, Delivery::Unknown));
    let took = start.elapsed();
    assert!(took >= Duration::from_millis(1_400) && took <= Duration::from_millis(2_900), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn a_request_without_an_answer_is_not_repeated_unless_it_is_idempotent() {
    for (step, delivery, kind) in [
        (on("POST", "/r").cuts(), Delivery::Unknown, ErrorKind::Unavailable),
        (on("POST", "/r").hangs(), Delivery::Unknown, ErrorKind::Timeout),
        (on("POST", "/r").answers(500, ""), Delivery::Unknown, ErrorKind::Unavailable),
        (on("POST", "/r").answers(503, "").and_header("retry-after", "1"), Delivery::Unknown, ErrorKind::Unavailable),
        (on("POST", "/r").answers(422, ""), Delivery::Refused, ErrorKind::Invalid),
    ] {
        let script = Script::new([step]);
        let failure = failure(&client(&script), &post()).await;
        assert_eq!((failure.delivery, failure.error.kind), (delivery, kind), "{failure}");
    }
    let script = Script::new([on("POST", "/r").cuts(), on("POST", "/r").answers(200, "")]);
    client(&script).send(OPERATION, &post().repeat(Repeat::Idempotent)).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn what_certainly_was_not_carried_out_is_repeated() {
    let script = Script::new([on("POST", "/r").refuses(), on("POST", "/r").answers(429, ""), on("POST", "/r")]);
    client(&script).send(OPERATION, &post()).await.unwrap();
    for bad in [on("GET", "/r").refuses(), on("GET", "/r").answers(429, ""), on("GET", "/r").cuts()] {
        let script = Script::new([bad]);
        failure(&client(&script), &Request::get("/r").repeat(Repeat::Never)).await;
    }
}

/// What it rests on is good for three seconds: neither a pause nor a queue carries it further.
#[tokio::test(start_paused = true)]
async fn a_request_with_a_limit_is_not_sent_after_it() {
    let limited = || post().within(Duration::from_secs(3));
    let throttled = |seconds: &str| on("POST", "/r").answers(429, "").and_header("retry-after", seconds);
    let script = Script::new([throttled("2"), on("POST", "/r")]);
    client(&script).send(OPERATION, &limited()).await.unwrap();
    let script = Script::new([throttled("8")]);
    let (client, start) = (client(&script), Instant::now());
    let refused = failure(&client, &limited()).await;
    assert_eq!((refused.delivery, refused.error.retry), (Delivery::NotSent, Retry::After(Duration::from_secs(8))));
    assert_eq!(start.elapsed(), Duration::ZERO, "it does not wait for what is not sent");
    // The account rests for longer than the next one may wait.
    let held = failure(&client, &limited()).await;
    assert_eq!((held.delivery, held.error.kind), (Delivery::NotSent, ErrorKind::Throttled), "{held}");
    assert_eq!(start.elapsed(), Duration::from_secs(3));
}

#[tokio::test(start_paused = true)]
async fn a_refusal_after_a_lost_answer_is_no_proof_that_nothing_was_done() {
    let script = Script::new([on("PUT", "/r").cuts(), on("PUT", "/r").answers(412, "")]);
    let failure = failure(&client(&script), &put()).await;
    assert_eq!((failure.delivery, failure.error.kind), (Delivery::Unknown, ErrorKind::Conflict));
    assert_eq!(failure.outcome().label(), "unknown");
    let script = Script::new([on("PUT", "/r").refuses(), on("PUT", "/r").answers(412, "")]);
    let failure = self::failure(&client(&script), &put()).await;
    assert_eq!((failure.delivery, failure.outcome().label()), (Delivery::Refused, "refused"));
}

#[tokio::test(start_paused = true)]
async fn retry_after_is_obeyed_in_seconds_and_as_a_date() {
    for (name, value) in [("retry-after", "7"), ("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT")] {
        let refusal = on("GET", "/r").answers(429, "").and_header(name, value);
        let refusal = refusal.and_header("date", "Sun, 06 Nov 1994 08:49:30 GMT");
        let script = Script::new([refusal, on("GET", "/r")]);
        let start = Instant::now();
        client(&script).send(OPERATION, &Request::get("/r")).await.unwrap();
        assert_eq!(start.elapsed().as_secs(), 7, "{value}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_pause_that_is_too_long_goes_to_the_caller_and_holds_the_account_up() {
    let script = Script::new([on("GET", "/r").answers(429, "").and_header("retry-after", "300")]);
    let account = Account::unlimited("shared");
    let (first, second) = (
        builder(&script).account(account.clone()).build().unwrap(),
        builder(&script).account(account.clone()).build().unwrap(),
    );
    let start = Instant::now();
    let refused = failure(&first, &Request::get("/r")).await;
    assert_eq!(refused.error.retry, Retry::After(Duration::from_mins(5)));
    assert_eq!(refused.error.kind, ErrorKind::Throttled);
    tokio::time::advance(Duration::from_secs(100)).await;
    let held = failure(&second, &post()).await;
    assert_eq!((held.error.kind, held.delivery), (ErrorKind::Throttled, Delivery::NotSent));
    let Retry::After(rest) = held.error.retry else { panic!("{held:?}") };
    assert_eq!(rest.as_secs(), 199 + u64::from(rest.subsec_nanos() == 0), "what is left of it");
    assert!(start.elapsed() < Duration::from_secs(101), "nobody waited");
    tokio::time::advance(Duration::from_secs(200)).await;
    script.expect([on("POST", "/r")]);
    second.send(OPERATION, &post()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn no_service_can_ask_for_a_year() {
    let script = Script::new([on("GET", "/r").answers(429, "").and_header("retry-after", "31536000")]);
    let client = client(&script);
    let refused = failure(&client, &Request::get("/r")).await;
    assert_eq!(refused.error.retry, Retry::After(Duration::from_hours(1)));
    tokio::time::advance(Duration::from_hours(1)).await;
    script.expect([on("GET", "/r")]);
    client.send(OPERATION, &Request::get("/r")).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn each_attempt_waits_for_its_turn() {
    let rate = zonewright_http::Rate { burst: NonZeroU32::MIN, ..zonewright_http::Rate::per_second(1) };
    let account = Account::new("slow", AccountLimits { rate: Some(rate), concurrency: None });
    let script = Script::new([on("GET", "/r"), on("GET", "/r").cuts(), on("GET", "/r"), on("GET", "/r")]);
    let client = builder(&script).account(account).build().unwrap();
    let start = Instant::now();
    for _ in 0..3 {
        client.send(OPERATION, &Request::get("/r")).await.unwrap();
    }
    assert_eq!(start.elapsed(), Duration::from_secs(3), "four requests, one of them a repetition");
}

#[tokio::test(start_paused = true)]
async fn the_time_out_is_that_of_one_attempt() {
    let script = Script::new([on("GET", "/r").hangs(), on("GET", "/r").after(Duration::from_secs(4))]);
    let client = builder(&script).timeout(Duration::from_secs(5)).build().unwrap();
    let start = Instant::now();
    client.send(OPERATION, &Request::get("/r")).await.unwrap();
    assert!(start.elapsed() > Duration::from_secs(9), "{:?}", start.elapsed());
    script.expect([on("POST", "/r").hangs()]);
    let failure = failure(&client, &post().timeout(Duration::from_secs(2))).await;
    assert!(failure.error.context.contains("no complete answer within 2 s"), "{failure}");
}

#[tokio::test(start_paused = true)]
async fn waiting_for_a_turn_is_no_time_of_the_request() {
    let rate = zonewright_http::Rate { period: Duration::from_mins(5), ..zonewright_http::Rate::per_second(1) };
    let account = Account::new("slow", AccountLimits { rate: Some(rate), concurrency: None });
    let script = Script::new([on("GET", "/r"), on("GET", "/r").cuts(), on("GET", "/r")]);
    let client = builder(&script).account(account).build().unwrap();
    for _ in 0..2 {
        client.send(OPERATION, &Request::get("/r")).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn attempts_end_when_the_whole_time_is_over() {
    let script = Script::new(vec![on("GET", "/r").hangs(); 2]);
    let retry = RetryPolicy { attempts: 9, total: Duration::from_secs(45), ..RetryPolicy::default() };
    let client = builder(&script).retry(retry).build().unwrap();
    failure(&client, &Request::get("/r")).await;
}

#[tokio::test(start_paused = true)]
async fn a_failure_says_what_was_asked_and_what_was_said() {
    let script = Script::new([on("GET", "/zones/z%2F1?token=s3cret").answers(403, "no\nway")]);
    let request = Request::get("/zones/{zone}").set("zone", "z/1").query("token", "s3cret");
    let failure = failure(&client(&script), &request).await;
    assert_eq!(
        failure.error.to_string(),
        "list zones: GET https://api.example/zones/z%2F1: answered 403 Forbidden (\"no way\")"
    );
    assert_eq!((failure.status, failure.is_not_found()), (Some(StatusCode::FORBIDDEN), false));
    let script = Script::new([on("GET", "/r").answers(302, "").and_header("location", "https://x?token=s3cret")]);
    let failure = self::failure(&client(&script), &Request::get("/r")).await;
    assert!(failure.error.context.ends_with("answered 302 Found; redirections are not followed"), "{failure}");
}

#[tokio::test(start_paused = true)]
async fn credentials_appear_nowhere() {
    const SECRET: &str = "s3cret-token";
    let echo = format!("{{\"you\":\"sent Bearer {SECRET}\"}}");
    let script = Script::new([
        on("GET", "/r").with_header("authorization", format!("Bearer {SECRET}")).answers(400, echo.clone()),
        on("GET", "/r").answers(200, echo),
    ]);
    let credentials = Fixed::bearer(&SECRET.into()).unwrap();
    let explain = |answer: &Answer| {
        Some(AnswerExplanation {
            message: String::from_utf8(answer.body.to_vec()).ok()?,
            ..AnswerExplanation::default()
        })
    };
    let client = builder(&script).credentials(credentials).explain(explain).build().unwrap();
    let request = Request::get("/r");
    let refused = failure(&client, &request).await;
    let garbled = client.json::<u8>(OPERATION, &request).await.unwrap_err();
    for shown in [
        format!("{refused} {refused:?} {}", refused.error.chain()),
        format!("{garbled} {garbled:?} {}", garbled.error.chain()),
        format!("{client:?} {request:?} {script:?}"),
    ] {
        assert!(!shown.contains(SECRET), "{shown}");
    }
    assert!(refused.error.context.contains("sent [redacted]"), "{refused}");
    assert_eq!((garbled.error.kind, garbled.delivery), (ErrorKind::Protocol, Delivery::Unknown));
}

#[tokio::test(start_paused = true)]
async fn a_rotated_token_is_used_at_once() {
    let bearer = |token: &str| Fixed::bearer(&SecretString::from(token)).unwrap();
    let step = |token: &str| on("POST", "/r").with_header("authorization", format!("Bearer {token}"));
    let script = Script::new([step("one"), step("two"), step("two").answers(401, "")]);
    let tokens = Arc::new(Rotating::new(bearer("one")));
    let client = builder(&script).shared_credentials(tokens.clone()).build().unwrap();
    client.send(OPERATION, &post()).await.unwrap();
    tokens.set(bearer("two"));
    client.send(OPERATION, &post()).await.unwrap();
    let refused = failure(&client, &post()).await;
    assert_eq!((refused.error.kind, refused.delivery), (ErrorKind::Unauthorized, Delivery::Refused));
}

/// Credentials that are replaced after each refusal, up to a last one.
#[derive(Debug, Default)]
struct Expiring(std::sync::atomic::AtomicU32);

#[async_trait::async_trait]
impl zonewright_http::Credentials for Expiring {
    async fn headers(&self) -> zonewright_core::Result<zonewright_http::Headers> {
        let number = self.0.load(std::sync::atomic::Ordering::Relaxed);
        Ok(vec![(HeaderName::from_static("x-token"), format!("token-{number}").into())])
    }

    async fn rejected(&self, _headers: &zonewright_http::Headers) -> bool {
        self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        true
    }
}

#[tokio::test(start_paused = true)]
async fn after_a_401_fresh_credentials_are_tried_once() {
    let step = |number: u32| on("POST", "/r").with_header("x-token", format!("token-{number}"));
    let script = Script::new([step(0).answers(401, ""), step(1), step(1).answers(401, ""), step(2).answers(401, "")]);
    let client = builder(&script).credentials(Expiring::default()).build().unwrap();
    client.send(OPERATION, &post()).await.unwrap();
    assert_eq!(failure(&client, &post()).await.status, Some(StatusCode::UNAUTHORIZED));
}

#[tokio::test(start_paused = true)]
async fn credentials_go_to_their_own_service_alone() {
    let script = Script::new([
        on("GET", "/next").with_header("x-token", "token-0"),
        on("GET", "/next").without_header("x-token"),
    ]);
    let client = builder(&script).credentials(Expiring::default()).build().unwrap();
    let own = client.link(OPERATION, "/next").unwrap();
    client.send(OPERATION, &Request::link(Method::GET, own, "/zones")).await.unwrap();
    let strange = "https://other.example/next".parse().unwrap();
    client.send(OPERATION, &Request::link(Method::GET, strange, "/zones")).await.unwrap();
    for link in ["https://other.example/next", "http://api.example/next", "https://api.example:8443/", "ftp://x"] {
        let error = client.link(OPERATION, link).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Protocol, "{link}");
    }
}

/// The error format of a made-up service: `{"code": 81057, "message": ".."}`.
fn explain(answer: &Answer) -> Option<AnswerExplanation> {
    let body: Value = answer.json().ok()?;
    let (code, message) = (body.get("code")?.as_u64()?, body.get("message")?.as_str()?);
    let kind = match code {
        81057 => Some(ErrorKind::Conflict),
        10429 => Some(ErrorKind::Throttled),
        _ => None,
    };
    let retry = (code == 7).then_some(Retry::Never);
    Some(AnswerExplanation { message: format!("{message} ({code})"), code: Some(code.to_string()), kind, retry })
}

#[tokio::test(start_paused = true)]
async fn a_service_may_say_more_than_its_status() {
    let check = async |status: u16, body: &str, kind: ErrorKind, retry: Retry, part: &str| {
        let script = Script::new([on("POST", "/r").answers(status, body)]);
        let client = builder(&script).explain(explain).retry(RetryPolicy::ONCE).build().unwrap();
        let failure = failure(&client, &post()).await;
        assert_eq!((failure.error.kind, failure.error.retry), (kind, retry), "{body}");
        assert!(failure.error.context.contains(part), "{failure}");
    };
    let conflict = r#"{"code":81057,"message":"is there"}"#;
    check(400, conflict, ErrorKind::Conflict, Retry::Backoff, "is there (81057)").await;
    check(403, r#"{"code":7,"message":"x"}"#, ErrorKind::Unauthorized, Retry::Never, "x (7)").await;
    check(400, "<html>", ErrorKind::Invalid, Retry::Never, "<html>").await;
    // A sentence that is cut for people takes no code from the program.
    let long = format!(r#"{{"code":81057,"message":"{}"}}"#, "x".repeat(300));
    let script = Script::new([on("POST", "/r").answers(400, long)]);
    let cut = failure(&builder(&script).explain(explain).build().unwrap(), &post()).await;
    assert!(cut.code.as_deref() == Some("81057") && !cut.error.context.contains("81057"), "{cut}");
    let script = Script::new([
        on("POST", "/r").answers(403, r#"{"code":10429,"message":"slow"}"#),
        on("POST", "/r").answers(200, ""),
    ]);
    let client = builder(&script).explain(explain).build().unwrap();
    client.send(OPERATION, &post()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn bodies_have_a_bound() {
    let script = Script::new([
        on("GET", "/r").answers(200, "12345"),
        on("GET", "/r").answers(200, "123456"),
        on("GET", "/r").answers(200, "123456"),
    ]);
    let client = builder(&script).limit(Some(5)).build().unwrap();
    client.send(OPERATION, &Request::get("/r")).await.unwrap();
    let failure = failure(&client, &Request::get("/r")).await;
    assert!(failure.error.context.contains("larger than 5 bytes"), "{failure}");
    client.send(OPERATION, &Request::get("/r").limit(6)).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn every_attempt_is_measured() {
    let times = RequestTimes::default();
    let step = |id: &str| on("GET", format!("/z/{id}"));
    let script = Script::new([step("a").cuts(), step("a").after(Duration::from_secs(2)), step("b").answers(404, "")]);
    let client = builder(&script).times(times.clone()).build().unwrap();
    let get = |id: &str| Request::get("/z/{id}").set("id", id);
    client.send(OPERATION, &get("a")).await.unwrap();
    failure(&client, &get("b")).await;
    let text = times.text();
    let labels = "handler=\"instrumented_http\",scheme=\"https\",host=\"api.example\",path=\"z/{id}\",method=\"get\"";
    for line in [
        format!("http_request_duration_seconds_count{{{labels},status=\"\"}} 1"),
        format!("http_request_duration_seconds_sum{{{labels},status=\"200\"}} 2.0"),
        format!("http_request_duration_seconds_count{{{labels},status=\"404\"}} 1"),
    ] {
        assert!(text.contains(&line), "{line} is missing in\n{text}");
    }
}
