//! Everything that can go wrong with a request, at every request: nothing is lost, what is reported is true, and it goes on.

use std::collections::BTreeSet;

use zonewright_core::RecordType;
use zonewright_core::change::{Group, Outcome};
use zonewright_core::error::{Error, ErrorKind};
use zonewright_core::listing;
use zonewright_core::provider::{Listing, Read};
use zonewright_core::{DnsName, RecordSet};

use crate::provider::captured;
use crate::provider::disturbed::Disturbed;
use crate::provider::service::{Fault, Service};
use crate::provider::walk::{Walk, create};
use crate::provider::{Harness, view};
use crate::run::note;

const A: RecordType = RecordType::A;

/// Requests that no piece of work here should need; beyond, it does not end.
const ENDLESS: usize = 400;

/// Requests that a call may make at a service that refuses all of them.
const PATIENCE: usize = 12;

/// The service that is to be disturbed.
fn service(harness: &dyn Harness) -> Option<&dyn Service> {
    let service = harness.service();
    match service {
        None => note("the service cannot be disturbed: faults are not tried"),
        Some(service) if !captured::watch(service.secrets()) => {
            note("the process has a log of its own: it is not searched");
        }
        Some(_) => {}
    }
    service
}

/// Too many requests: reported as such, and nothing is done.
pub async fn throttled_at_any_request(harness: &dyn Harness) {
    everywhere(harness, &[Fault::Throttled]).await;
}

/// Credentials or the clock are refused: what cannot be read is not empty.
pub async fn refused_at_any_request(harness: &dyn Harness) {
    everywhere(harness, &[Fault::Denied, Fault::Expired, Fault::Skewed]).await;
}

/// The service fails before it has done anything.
pub async fn not_carried_out_at_any_request(harness: &dyn Harness) {
    everywhere(harness, &[Fault::Broken, Fault::Slow]).await;
}

/// The answer is lost after the work was done: it is not taken for a refusal, and not done twice.
pub async fn answer_lost_at_any_request(harness: &dyn Harness) {
    everywhere(harness, &[Fault::AnswerLost, Fault::ConnectionLost, Fault::Cut, Fault::Late]).await;
}

/// An answer that nobody can read is no empty zone, and no success.
pub async fn unreadable_at_any_request(harness: &dyn Harness) {
    everywhere(harness, &[Fault::Garbage, Fault::WrongType, Fault::RepeatedPage]).await;
}

/// The same piece of work again and again, with the fault at one request later each time, until it does not need so many.
async fn everywhere(harness: &dyn Harness, faults: &[Fault]) {
    let Some(service) = service(harness) else { return };
    let mut walk = Walk::start(harness).await;
    walk.foreign(walk.set("theirs", A, 300, &["192.0.2.66", "192.0.2.67"])).await;
    walk.foreign(walk.set("a-theirs", RecordType::Txt, 300, &["\"of another owner\""])).await;
    for fault in faults {
        let mut at = 0;
        loop {
            assert!(at < ENDLESS, "{fault:?}: a small piece of work has taken {at} requests");
            let before = service.requests();
            if !service.fail(at, *fault, 1) {
                note(&format!("the service has no fault {fault:?}"));
                break;
            }
            work(&mut walk, &format!("{fault:?} at request {}", at + 1)).await;
            service.heal();
            if service.requests() - before <= at {
                break;
            }
            at += 1;
        }
    }
    walk.check().await;
    silent(service);
}

/// Creates, updates, reads by name, deletes: each until it is there.
async fn work(walk: &mut Walk<'_>, when: &str) {
    let first = [
        walk.set("www", A, 300, &["192.0.2.1"]),
        walk.set("a-www", RecordType::Txt, 300, &["\"claimed\""]),
        walk.set("api", A, 300, &["192.0.2.2", "192.0.2.3"]),
    ];
    let second = [
        walk.set("www", A, 600, &["192.0.2.1", "192.0.2.9"]),
        walk.set("a-www", RecordType::Txt, 300, &["\"claimed\""]),
    ];
    let mut disturbed = Disturbed::new(walk, when);
    disturbed.zones().await;
    disturbed.reach(&first).await;
    disturbed.reach(&second).await;
    let names = BTreeSet::from([walk.name("www"), walk.name("theirs")]);
    read_names(walk, &names, when).await;
    Disturbed::new(walk, when).reach(&[]).await;
}

async fn read_names(walk: &Walk<'_>, names: &BTreeSet<DnsName>, when: &str) {
    match walk.provider().records(walk.zone(), Read::Names(names)).await {
        Ok(Listing::Names(sets)) => {
            let (found, mut expected) = (view::by_key(sets, "the read of names"), walk.dump().await);
            expected.retain(|key, _| names.contains(&key.name));
            assert!(found == expected, "{when}: a read of names:{}", view::difference(&found, &expected));
        }
        Ok(other) => panic!("{when}: a read of names gave {other:?}"),
        Err(error) => walk.discreet(&error),
    }
}

/// Nothing that was given in confidence was logged.
fn silent(service: &dyn Service) {
    for secret in service.secrets() {
        let logged = captured::logged(&secret);
        assert!(logged.is_empty(), "the log shows what was given in confidence: {}", logged.concat());
    }
}

/// A listing whose pages lead in a circle ends, with an error.
pub async fn an_endless_listing_is_an_error(harness: &dyn Harness) {
    let Some(service) = service(harness) else { return };
    let mut walk = Walk::start(harness).await;
    let many: Vec<RecordSet> = (0..7).map(|i| walk.set(&format!("p{i}"), A, 60, &["192.0.2.1"])).collect();
    walk.reach(&many).await;
    let before = service.requests();
    if !service.fail(0, Fault::RepeatedPage, usize::MAX) {
        return note("the service has no listing without an end");
    }
    match listing::whole(walk.provider(), walk.zone()).await {
        Ok(Listing::Full { sets, .. }) => {
            let (found, zone) = (view::by_key(sets, "the listing"), walk.dump().await);
            assert!(found == zone, "a part is taken for the whole:{}", view::difference(&found, &zone));
            note("the listing comes in one page");
        }
        Ok(other) => panic!("a read of all gave {other:?}"),
        Err(error) => walk.discreet(&error),
    }
    let requests = service.requests() - before;
    assert!(requests <= PATIENCE, "{requests} requests for a listing that leads in a circle");
    service.heal();
    walk.check().await;
    walk.reach(&[]).await;
}

/// Where every request is throttled, few are made, the error says so, and nothing is done.
pub async fn a_throttling_service_is_left_alone(harness: &dyn Harness) {
    let Some(service) = service(harness) else { return };
    let mut walk = Walk::start(harness).await;
    if !service.fail(0, Fault::Throttled, usize::MAX) {
        return note("the service does not throttle");
    }
    let throttled = |error: &Error| {
        assert_eq!(error.kind, ErrorKind::Throttled, "{error}");
        walk.discreet(error);
    };
    let mut before = service.requests();
    let mut few = |what: &str| {
        let requests = service.requests() - before;
        assert!(requests <= PATIENCE, "{what}: {requests} requests at a service that throttles all of them");
        before = service.requests();
    };
    throttled(&listing::whole(walk.provider(), walk.zone()).await.expect_err("a throttled listing has no result"));
    few("a listing");
    let outcomes = walk.apply(&[create(&walk.set("www", A, 300, &["192.0.2.1"]))]).await;
    match outcomes.as_slice() {
        [Outcome::Refused { error, .. } | Outcome::NotSent(error)] => throttled(error),
        other => panic!("a throttled change: {other:?}"),
    }
    few("a change");
    service.heal();
    Disturbed::new(&mut walk, "after the throttling").reach(&[]).await;
}

/// A change of one name takes as many requests as the service has to be asked, however many records stand in the zone.
pub async fn a_change_is_few_requests(harness: &dyn Harness) {
    let Some(service) = service(harness) else { return };
    let mut walk = Walk::start(harness).await;
    let others: Vec<RecordSet> = (0..9).map(|i| walk.set(&format!("o{i}"), A, 60, &["192.0.2.1"])).collect();
    walk.reach(&others).await;
    let claim = walk.set("a-www", RecordType::Txt, 300, &["\"claimed\""]);
    let www = |data: &[&str]| walk.set("www", A, 300, data);
    let states =
        [vec![www(&["192.0.2.1"]), claim.clone()], vec![www(&["192.0.2.1", "192.0.2.2"]), claim.clone()], vec![]];
    for state in states {
        let state = [others.clone(), state].concat();
        for group in walk.groups(&state).await {
            let before = service.requests();
            let outcomes = walk.apply(std::slice::from_ref(&group)).await;
            assert!(matches!(outcomes.as_slice(), [Outcome::Applied]), "{}: {outcomes:?}", group.headline());
            let (requests, most) = (service.requests() - before, service.requests_of_a_change());
            assert!(requests <= most, "{}: {requests} requests; expected at most {most}", group.headline());
        }
        walk.reached(&state).await;
    }
    walk.reach(&[]).await;
}

/// A zone that is gone is reported as gone, and not taken for an empty one.
pub async fn a_zone_that_went_is_an_error(harness: &dyn Harness) {
    let Some(service) = service(harness) else { return };
    let mut walk = Walk::start(harness).await;
    let www = walk.set("www", A, 300, &["192.0.2.1"]);
    walk.reach(std::slice::from_ref(&www)).await;
    let delete = walk.groups(&[]).await;
    if !service.drop_zone() {
        return note("the zone cannot be taken away");
    }
    let error = listing::whole(walk.provider(), walk.zone()).await.expect_err("a zone that is gone has no listing");
    assert!(!error.to_string().trim().is_empty(), "the zone is gone without a word");
    let names = BTreeSet::from([www.key.name.clone()]);
    let read = walk.provider().records(walk.zone(), Read::Names(&names)).await;
    assert!(read.is_err(), "a read of names in a zone that is gone gave {read:?}");
    let groups: Vec<Group> = delete.into_iter().chain([create(&walk.set("new", A, 300, &["192.0.2.1"]))]).collect();
    for (group, outcome) in groups.iter().zip(walk.apply(&groups).await) {
        let is_refused = matches!(outcome, Outcome::Refused { .. } | Outcome::NotSent(_));
        assert!(is_refused, "{} in a zone that is gone: {outcome:?}", group.headline());
    }
}
