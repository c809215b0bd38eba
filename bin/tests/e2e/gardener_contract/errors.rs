//! What goes wrong, and what is reported to Gardener. A code that is not for retries makes a whole shoot stop: what passes has none.

use std::net::{TcpListener, UdpSocket};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use zonewright_fakes::route53::Fault;
use zonewright_testkit::{KubeApi, free_port, require};

use super::clouds::{ACCOUNT, AWS, Aws, a, aws, with};
use super::world::World;
use crate::{LATER, until};

const CHANGE: &str = "ChangeResourceRecordSets";

/// The codes that stop a shoot.
const FINAL: &[&str] = &[
    "ERR_INFRA_UNAUTHENTICATED",
    "ERR_INFRA_UNAUTHORIZED",
    "ERR_INFRA_DEPENDENCIES",
    "ERR_INFRA_QUOTA_EXCEEDED",
    "ERR_INFRA_RATE_LIMITS_EXCEEDED",
    "ERR_CONFIGURATION_PROBLEM",
    "ERR_PROBLEMATIC_WEBHOOK",
];

#[track_caller]
fn passes(codes: &[String]) {
    assert!(codes.iter().all(|code| !FINAL.contains(&code.as_str())), "{codes:?}");
}

/// A change that meets this fault for a while: no final code, and it is done once the fault has gone.
#[track_caller]
fn passing(fault: Fault, operation: &str) {
    let (aws, world) = aws();
    let object = world.record("web");
    aws.service.fail(operation, fault, 1000);
    let asked = object.create(&a("web", "192.0.2.1"));
    passes(&object.fails(&[]));
    let before = aws.service.requests();
    assert!(before < 60, "{before} requests");
    aws.service.fail(operation, fault, 0);
    object.answers(&asked);
    aws.shows(&["web.shop.test A 120 192.0.2.1"]);
}

#[test]
fn throttling_has_no_final_code() {
    require!(KubeApi::TOOLS);
    passing(Fault::Throttled, CHANGE);
}

#[test]
fn throttling_while_zones_are_listed_has_no_final_code() {
    require!(KubeApi::TOOLS);
    passing(Fault::Throttled, "ListHostedZones");
}

#[test]
fn a_busy_zone_has_no_final_code() {
    require!(KubeApi::TOOLS);
    passing(Fault::PriorRequestNotComplete, CHANGE);
}

#[test]
fn a_service_that_fails_has_no_final_code() {
    require!(KubeApi::TOOLS);
    passing(Fault::Broken, CHANGE);
}

#[test]
fn a_service_that_talks_nonsense_has_no_final_code() {
    require!(KubeApi::TOOLS);
    passing(Fault::WrongType, "ListHostedZones");
}

#[test]
fn a_service_that_is_not_there_has_no_final_code() {
    require!(KubeApi::TOOLS);
    let aws = Aws::new();
    let world = aws.leads(World::new(AWS));
    let world = world.env("AWS_ENDPOINT_URL", &format!("http://127.0.0.1:{}", free_port())).started();
    let object = world.record("web");
    object.create(&a("web", "192.0.2.1"));
    passes(&object.fails(&[]));
}

#[test]
fn credentials_that_are_refused() {
    require!(KubeApi::TOOLS);
    let (aws, world) = aws();
    aws.service.allow_key("AKIDOTHER", ACCOUNT);
    aws.service.set_secret("AKIDOTHER", "another-s3cr3t");
    world.secret("wrong", &[("accessKeyID", "AKIDOTHER"), ("secretAccessKey", "s3cr3t-of-the-key")]);
    world.secret("unknown", &[("accessKeyID", "AKIDNOBODY"), ("secretAccessKey", "s3cr3t-of-the-key")]);
    for name in ["wrong", "unknown"] {
        let object = world.record(name);
        let secret = json!({ "secretRef": { "name": name, "namespace": world.namespace } });
        object.create(&with(a(name, "192.0.2.1"), &secret));
        assert_eq!(object.fails(&[]), ["ERR_INFRA_UNAUTHENTICATED"], "{name}");
    }
    let denied = world.record("denied");
    aws.service.fail(CHANGE, Fault::Denied, 1000);
    denied.create(&a("denied", "192.0.2.1"));
    assert_eq!(denied.fails(&[]), ["ERR_INFRA_UNAUTHORIZED"]);
    denied.expect_event("ProviderFailed", "AccessDenied");
    aws.service.fail(CHANGE, Fault::Denied, 0);
    denied.does("reconcile", &Value::Null);
    denied.expect_event("Succeeded", "");
    // The clock of this machine is no fault of the account.
    aws.service.fail(CHANGE, Fault::Skewed, 1000);
    let late = world.record("late");
    late.create(&a("late", "192.0.2.1"));
    passes(&late.fails(&[]));
}

/// What is wrong with an object is an Event on it, once.
#[test]
fn what_is_wrong_is_an_event() {
    require!(KubeApi::TOOLS);
    let (_aws, world) = aws();
    let rows = [
        ("value", a("value", "2001:db8::1"), "InvalidConfiguration", "spec.values"),
        ("zone", with(a("x", "192.0.2.1"), &json!({ "name": "x.elsewhere.test" })), "NoMatchingZone", "elsewhere"),
        (
            "secret",
            with(a("y", "192.0.2.1"), &json!({ "secretRef": { "name": "nowhere" } })),
            "SecretNotFound",
            "nowhere",
        ),
    ];
    for (name, spec, reason, text) in rows {
        let object = world.record(name);
        object.create(&spec);
        object.fails(&[text]);
        object.expect_event(reason, text);
    }
    let first = world.record("first");
    first.created(&a("web", "192.0.2.1"));
    let second = world.record("second");
    let created = first.get()["metadata"]["creationTimestamp"].clone();
    until("the next second", LATER, || {
        super::accept::now().get(..19) > created.as_str().and_then(|text| text.get(..19))
    });
    second.create(&a("web", "192.0.2.2"));
    second.expect_event("RecordContested", "first");
}

#[test]
fn no_zone_holds_the_name() {
    require!(KubeApi::TOOLS);
    let (aws, world) = aws();
    let object = world.record("web");
    object.create(&with(a("web", "192.0.2.1"), &json!({ "name": "web.elsewhere.test" })));
    assert_eq!(object.fails(&["web.elsewhere.test"]), ["ERR_CONFIGURATION_PROBLEM"]);
    // A zone that is named and is not there, and one that does not hold the name.
    let other = aws.service.add_zone(ACCOUNT, "other.test", false, &[]);
    for (name, zone) in [("missing", "Z0000000000000000000"), ("outside", other.as_str())] {
        let object = world.record(name);
        object.create(&with(a(name, "192.0.2.1"), &json!({ "zone": zone })));
        assert_eq!(object.fails(&[]), ["ERR_CONFIGURATION_PROBLEM"], "{name}");
    }
    // The zone comes.
    aws.service.add_zone(ACCOUNT, "elsewhere.test", false, &[]);
    object.does("reconcile", &Value::Null);
}

/// An error says the same each time, so that its status is not written anew for nothing.
#[test]
fn the_text_of_an_error_stays_the_same() {
    require!(KubeApi::TOOLS);
    let (aws, world) = aws();
    let object = world.record("web");
    aws.service.fail(CHANGE, Fault::Denied, 1000);
    let mut texts = Vec::new();
    object.create(&a("web", "192.0.2.1"));
    for _ in 0..3 {
        object.fails(&[]);
        texts.push(object.status()["lastError"]["description"].clone());
        let before = aws.writes();
        object.ask("reconcile", &Value::Null);
        aws.is_asked_to_write(before);
    }
    assert!(texts.iter().all(|text| *text == texts[0]), "{texts:#?}");
}

/// A DNS server that never answers, with many objects, and a cloud account that answers: the second is served at once.
#[test]
fn one_broken_account_does_not_slow_another() {
    require!(KubeApi::TOOLS);
    // Neither of the two ever answers.
    let (datagrams, port) = loop {
        let port = free_port();
        if let Ok(socket) = UdpSocket::bind(("127.0.0.1", port)) {
            break (socket, port);
        }
    };
    let connections = TcpListener::bind(("127.0.0.1", port)).expect("the same port");
    let aws = Aws::new();
    let world = aws.leads(World::new("aws-route53,rfc2136")).started();
    let server = format!("127.0.0.1:{port}");
    let keys = [("server", server.as_str()), ("zone", "shop.test."), ("tsigKeyName", "k."), ("tsigSecret", "c2VjcmV0")];
    world.secret("silent", &keys);
    for n in 0..20 {
        let spec = super::texts::update(&format!("s{n}"), "A", &["192.0.2.1"]);
        let secret = json!({ "secretRef": { "name": "silent", "namespace": world.namespace } });
        world.record(&format!("silent-{n}")).create(&with(spec, &secret));
    }
    world.record("silent-0").shows("under way", |object| !object["status"]["lastOperation"].is_null());
    let start = Instant::now();
    for n in 0..3 {
        world.record(&format!("web{n}")).created(&a(&format!("web{n}"), "192.0.2.1"));
    }
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    drop((datagrams, connections));
}

/// An account that is asked to slow down, with many objects; another one of the same service goes on.
#[test]
fn one_throttled_account_does_not_slow_another() {
    require!(KubeApi::TOOLS);
    let (aws, world) = aws();
    aws.service.allow_key("AKIDBUSY", "000000000002");
    let busy = aws.service.add_zone("000000000002", "busy.test", false, &[]);
    aws.service.set_busy(&busy, 100_000);
    world.secret("busy", &[("accessKeyID", "AKIDBUSY"), ("secretAccessKey", "x")]);
    for n in 0..20 {
        let fields = json!({
            "name": format!("b{n}.busy.test"), "secretRef": { "name": "busy", "namespace": world.namespace },
        });
        world.record(&format!("busy-{n}")).create(&with(a("x", "192.0.2.1"), &fields));
    }
    aws.is_asked_to_write(0);
    let start = Instant::now();
    let mut slowest = Duration::ZERO;
    // The throttle lasts: each of these comes while all others of the busy account wait, and none waits with them.
    for n in 0..10 {
        let begun = Instant::now();
        world.record(&format!("web{n}")).created(&a(&format!("web{n}"), "192.0.2.1"));
        slowest = slowest.max(begun.elapsed());
    }
    assert!(slowest < Duration::from_secs(10), "{slowest:?}");
    println!("10 records of the other account in {:.1?}, the slowest in {slowest:.1?}", start.elapsed());
    assert!(aws.shown_in(&busy).is_empty(), "it is throttled all the time");
    // Once it may go on, all of its objects are served.
    aws.service.set_busy(&busy, 0);
    until("the busy account's records", LATER * 2, || aws.shown_in(&busy).len() == 20);
}
