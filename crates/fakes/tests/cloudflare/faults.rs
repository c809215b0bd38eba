//! What goes wrong by the order of a test.

use std::time::Duration;

use serde_json::json;
use zonewright_fakes::cloudflare::{Cloudflare, ErrorForm, Fault, Permission, Plan, Record, TOKEN};
use zonewright_testkit::require;

const CALLS: &str = include_str!("calls.py");

/// A service with one zone of three records and pages of two.
fn small() -> (Cloudflare, String) {
    let service = Cloudflare::start();
    service.set_page(2);
    let zone = service.add_zone("a.org", Plan::Enterprise);
    for name in ["x.a.org", "y.a.org", "z.a.org"] {
        service.put(&zone, Record::new(name, "TXT", "\"a\""));
    }
    (service, zone)
}

#[track_caller]
fn check(service: &Cloudflare, zone: &str, calls: &[&str], expected: &[&str]) {
    let url = service.url();
    let arguments: Vec<&str> = [url.as_str(), zone].into_iter().chain(calls.iter().copied()).collect();
    assert_eq!(crate::ask(CALLS, &arguments), json!(expected));
}

#[test]
fn calls_fail_in_the_order_of_the_test() {
    require!(&["cloudflare"]);
    let (service, zone) = small();
    service.set_retry_after(7);
    let faults = [
        (Fault::Throttled, "429 971 after 7"),
        (Fault::Denied, "403 10000"),
        (Fault::Expired, "403 9109"),
        (Fault::Broken, "500 10001"),
        (Fault::Unavailable, "503 10013"),
        (Fault::AnswerLost, "500 10001"),
        (Fault::Garbage, "JSONDecodeError"),
        (Fault::WrongType, "520 without a body"),
        (Fault::Slow, "APITimeoutError"),
        (Fault::Late, "APITimeoutError"),
        (Fault::ConnectionLost, "APIConnectionError"),
        (Fault::Cut, "APIConnectionError"),
        (Fault::RepeatedPage, "x.a.org y.a.org of 3 pages"),
    ];
    let sound = "z.a.org of 2 pages";
    let mut expected = vec![sound];
    service.fail_after("ListRecords", 1, faults[0].0, 2);
    expected.extend([faults[0].1; 2]);
    for (fault, code) in &faults[1..] {
        service.fail("ListRecords", *fault, 1);
        expected.push(code);
    }
    expected.push(sound);
    check(&service, &zone, &vec!["records 2"; expected.len()], &expected);
    assert_eq!(service.calls()["ListRecords"], expected.len());
    assert_eq!(service.requests(), expected.len());
}

#[test]
fn a_change_is_carried_out_or_not_whatever_is_answered() {
    require!(&["cloudflare"]);
    let (service, zone) = small();
    let faults = [
        (Fault::Throttled, "429 971 after 1"),
        (Fault::Broken, "500 10001"),
        (Fault::WrongType, "520 without a body"),
        (Fault::Slow, "APITimeoutError"),
        (Fault::AnswerLost, "500 10001"),
        (Fault::ConnectionLost, "APIConnectionError"),
        (Fault::Cut, "APIConnectionError"),
        (Fault::Late, "APITimeoutError"),
    ];
    for (fault, _) in faults {
        service.fail("BatchRecords", fault, 1);
    }
    service.fail("CreateCustomHostname", Fault::AnswerLost, 1);
    service.fail("CreateRegionalHostname", Fault::Denied, 1);
    let calls: Vec<String> = (1..=faults.len()).map(|number| format!("batch {number}a {number}b")).collect();
    let calls: Vec<&str> = calls.iter().map(String::as_str).collect();
    let calls = [calls, vec!["hostname app.b.org", "region x.a.org eu", "region x.a.org eu"]].concat();
    let expected: Vec<&str> =
        faults.iter().map(|(_, outcome)| *outcome).chain(["500 10001", "403 10000", "eu"]).collect();
    check(&service, &zone, &calls, &expected);
    let names: Vec<String> =
        service.records(&zone).into_iter().filter(|record| record.kind == "A").map(|record| record.name).collect();
    let carried_out = [5, 6, 7, 8].map(|number| [format!("{number}a.a.org"), format!("{number}b.a.org")]).concat();
    assert_eq!(names, carried_out);
    assert_eq!((service.hostnames(&zone).len(), service.regions(&zone).len()), (1, 1));
    // Calls that were refused before they were read are not counted by what they ask for.
    assert_eq!((service.calls()["posts"], service.calls()["BatchRecords"]), (8, 8));
}

#[test]
fn a_caller_has_its_pace_and_errors_their_form() {
    require!(&["cloudflare"]);
    let (service, zone) = small();
    check(&service, &zone, &["create a..b", "create *", "create *"], &["400 9000", "*.a.org", "400 81058"]);
    service.set_error_form(ErrorForm::Chained);
    check(&service, &zone, &["create a..b", "create *"], &["400 1004 9000", "400 81058"]);
    service.set_rate(Some((2, Duration::from_mins(5))));
    check(
        &service,
        &zone,
        &["zones", "records", "zones"],
        &["1 zones", "*.a.org x.a.org of 2 pages", "429 971 after 300"],
    );
    service.set_rate(None);
    check(&service, &zone, &["zones"], &["1 zones"]);
}

#[test]
fn a_zone_is_changed_behind_the_client() {
    require!(&["cloudflare"]);
    let (service, zone) = small();
    let standing = service.records(&zone).remove(0);
    assert_eq!(standing.to_string(), "x.a.org 1 TXT \"a\"");
    assert_eq!(service.remove(&zone, &standing.id), Some(standing.clone()));
    let delete = format!("delete {}", standing.id);
    check(&service, &zone, &["records 2", &delete], &[" of 1 pages", "404 81044"]);
    service.put(&zone, standing.clone());
    check(&service, &zone, &[&delete, "records"], &[&standing.id, "y.a.org z.a.org of 1 pages"]);
    service.set_plan(&zone, Plan::Free);
    service.set_regional(&zone, false);
    check(&service, &zone, &["region x.a.org eu"], &["403 10010"]);
    service.drop_zone(&zone);
    check(&service, &zone, &["records", "batch q", "zones"], &["404 7003 7000", "404 7003 7000", "0 zones"]);
    assert_eq!((service.records(&zone), service.zones().len()), (Vec::new(), 0));
}

#[test]
fn a_token_ends() {
    require!(&["cloudflare"]);
    let (service, zone) = small();
    service.allow_token(TOKEN, &[&zone], &[Permission::DnsWrite]);
    check(&service, &zone, &["create 1", "zones"], &["1.a.org", "0 zones"]);
    service.expire_token(TOKEN);
    check(&service, &zone, &["create 2"], &["403 9109"]);
    service.revoke_token(TOKEN);
    check(&service, &zone, &["create 3"], &["403 9109"]);
}
