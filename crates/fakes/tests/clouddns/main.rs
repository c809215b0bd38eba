//! The official clients of Google against the fake: what they send is understood, what they get is as the vendor describes it.

use std::process::Command;

use serde_json::{Value, json};
use zonewright_fakes::clouddns::{CloudDns, Fault, Kind, RecordSet};
use zonewright_testkit::require;

const CLIENT: &str = "google-api-python-client";
const RULES: &str = include_str!("rules.py");
const TOKENS: &str = include_str!("tokens.py");

/// Runs a script and returns what it printed.
fn ask(script: &str, arguments: &[&str], environment: &[(&str, &str)]) -> Value {
    let python = zonewright_testkit::tools::find(CLIENT).expect("the test requires it");
    let output = Command::new(python)
        .args(["-c", script])
        .args(arguments)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .envs(environment.iter().copied())
        .output()
        .expect("the client starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("the script prints JSON")
}

/// Every answer is the expected one, and every expected one was given. A text that ends with `..` is the beginning of the answer.
fn compare(answers: &Value, expected: &[(&str, Value)]) {
    for (question, expected) in expected {
        let answer = answers.get(question).unwrap_or(&Value::Null);
        let meets = match (expected, answer) {
            (Value::String(expected), Value::String(answer)) if expected.ends_with("..") => {
                answer.starts_with(expected.trim_end_matches(".."))
            }
            (expected, answer) => expected == answer,
        };
        assert!(meets, "{question}: {answer}, not {expected}");
    }
    assert_eq!(answers.as_object().map(serde_json::Map::len), Some(expected.len()), "every answer was looked at");
}

#[test]
fn zones_sets_and_changes_are_served() {
    require!(&[CLIENT]);
    let service = CloudDns::start();
    let zone = service.add_zone("p", "main", "example.org.", Kind::Public);
    service.add_zone("p", "inside", "example.org.", Kind::Private);
    service.add_zone("p", "peer", "peer.org.", Kind::Peering);
    let small = service.add_zone("p", "small", "small.org.", Kind::Public);
    let lagging = service.add_zone("p", "slow", "slow.org.", Kind::Public);
    service.add_zone("other", "theirs", "theirs.org.", Kind::Public);
    service.set_page(2);
    service.set_pending(1);
    service.set_limit(&small, 3);
    service.set_lag(&lagging, 1);
    service.limit_token("ya29.READER", &["main"], false);
    service.allow_token("ya29.EXPIRED");
    service.expire_token("ya29.EXPIRED");
    let answers = ask(RULES, &[&service.url(), &zone], &[]);
    compare(&answers, &[projects(), sets(), policies(), changes(), access()].concat());
    let names: Vec<String> = service.sets(&zone).iter().map(|set| format!("{} {}", set.name, set.kind)).collect();
    assert_eq!(names.len(), 12, "{names:?}");
    let calls = service.calls();
    assert_eq!((calls["GetChange"], calls["GetProject"]), (4, 1), "{calls:?}");
}

type Table = Vec<(&'static str, Value)>;

fn projects() -> Table {
    vec![
        (
            "zones",
            json!([
                "inside example.org. private",
                "main example.org. public",
                "peer peer.org. private",
                "slow slow.org. public",
                "small small.org. public"
            ]),
        ),
        ("zone pages", json!([2, 2, 1])),
        ("zones by name", json!(["inside", "main"])),
        ("zone by name", json!(["main", 4])),
        ("zone by id", json!("main")),
        ("peering", json!(true)),
        ("no zone", json!("404 notFound The 'parameters.managedZone' resource named 'none' does not exist.")),
        ("zones of another project", json!(["theirs"])),
        ("quota", json!([1000, 1000, 100, 100])),
        ("zones of the other client", json!(["inside", "main", "peer", "slow", "small"])),
    ]
}

fn sets() -> Table {
    vec![
        ("create", json!(["1", "pending"])),
        ("change later", json!(["done", "done"])),
        ("sets", json!(["example.org. NS", "example.org. SOA", "www.example.org. A"])),
        ("set pages", json!([2, 1])),
        ("sets by name", json!(["www.example.org. A"])),
        ("sets by name and type", json!([])),
        ("type without name", json!("400 required ..")),
        ("set", json!(["www.example.org.", "A", 300, ["192.0.2.1"]])),
        ("no set", json!("404 notFound ..")),
        ("sets of the other client", json!(["NS 21600", "SOA 21600", "A 300"])),
        ("change of the other client", json!(["done", "done"])),
        ("texts", json!(["\"one\" \"two\"", "\"a b\"", "\"x\" \"y\""])),
        ("MX, SRV, CAA", json!(3)),
        ("wildcard", json!("*.example.org.")),
    ]
}

fn policies() -> Table {
    vec![
        ("weighted", json!([[90.0, ["192.0.2.1"]], [10.5, ["192.0.2.2"]]])),
        ("geographic", json!(["europe-west1", "us-east1"])),
        ("fencing", json!(false)),
        ("two of one location", json!("400 invalid ..")),
        (
            "negative weight",
            json!("400 invalid Invalid value for 'entity.change.additions[0].routingPolicy.wrr.item[0].weight'.."),
        ),
        ("both", json!("400 invalid ..")),
        ("policy of NS", json!("400 invalid ..")),
        (
            "other items of a deletion",
            json!("412 conditionNotMet Precondition not met for 'entity.change.deletions[0]'"),
        ),
        ("one item more", json!(3)),
    ]
}

fn changes() -> Table {
    let exists =
        "409 alreadyExists The resource 'entity.change.additions[0]' named 'www.example.org. (A)' already exists";
    let gone = "404 notFound The 'entity.change.deletions[0]' resource named 'none.example.org. (A)' does not exist.";
    vec![
        ("create again", json!(exists)),
        ("delete of none", json!(gone)),
        (
            "delete of another content",
            json!("412 conditionNotMet Precondition not met for 'entity.change.deletions[0]'"),
        ),
        ("replace", json!(["192.0.2.9", "192.0.2.8"])),
        ("values in another order", json!("done")),
        ("nothing of a refused change", json!(true)),
        ("CNAME beside A", json!("400 cnameResourceRecordSetConflict ..")),
        ("CNAME at the apex", json!("400 cnameResourceRecordSetConflict ..")),
        ("no SOA", json!("400 invalidZoneApex ..")),
        ("outside", json!("400 invalid Invalid value for 'entity.change.additions[0].name': 'www.example.net.'")),
        ("relative name", json!("400 invalid ..")),
        ("wrong address", json!("400 invalid Invalid value for 'entity.change.additions[0].rrdata[0]': 'x'")),
        ("second is wrong", json!("400 invalid Invalid value for 'entity.change.additions[1].rrdata[0]': 'x'")),
        ("long string", json!("400 invalid ..")),
        ("empty change", json!("400 required ..")),
        ("too many", json!("403 quotaExceeded ..")),
        ("too many values", json!("403 quotaExceeded ..")),
        ("too many bytes", json!("403 quotaExceeded ..")),
        ("full zone", json!("403 quotaExceeded ..")),
        ("peering zone", json!("400 operationNotSupported ..")),
        ("listing that lags", json!([2, 3])),
        ("no change", json!("404 notFound ..")),
    ]
}

fn access() -> Table {
    vec![
        ("reader", json!(true)),
        ("reader writes", json!("403 forbidden Forbidden")),
        ("reader elsewhere", json!("403 forbidden Forbidden")),
        ("expired", json!("401 authError Invalid Credentials")),
        ("nobody", json!("401 authError Invalid Credentials")),
    ]
}

/// Each way to a token, by the vendor's library for it.
#[test]
fn tokens_are_given_out() {
    require!(&[CLIENT]);
    let service = CloudDns::start();
    service.add_zone("p", "main", "example.org.", Kind::Public);
    service.set_machine(Some("p"));
    service.allow_user("id", "secret", "refresh");
    service.allow_federated("//iam.googleapis.com/pool", "projected");
    service.allow_impersonation("dns@p.iam.gserviceaccount.com");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().to_str().expect("a path in UTF-8");
    let host = service.url().trim_start_matches("http://").to_owned();
    // The script makes a key, and waits until the service knows it.
    let key = ask(TOKENS, &[&service.url(), path, "key"], &[]);
    service.allow_service_account("dns@p.iam.gserviceaccount.com", key.as_str().expect("a key in PEM"));
    let machine = [("GCE_METADATA_HOST", host.as_str()), ("GCE_METADATA_ROOT", host.as_str())];
    let answers = ask(TOKENS, &[&service.url(), path, "ask"], &machine);
    let expected = [
        ("service account", json!(["main"])),
        ("service account with another key", json!("invalid_grant: Invalid JWT Signature.")),
        ("unknown service account", json!("invalid_grant: Invalid grant: account not found")),
        ("user", json!(["main"])),
        ("another user", json!("invalid_grant: Bad Request")),
        ("machine", json!(["main"])),
        ("project of the machine", json!("p")),
        ("federated", json!(["main"])),
        ("federated with another token", json!("invalid_grant..")),
        ("impersonated", json!(["main"])),
        ("impersonated without the right", json!("403")),
    ];
    compare(&answers, &expected);
    let calls = service.calls();
    assert!(
        ["Token", "Metadata", "ExchangeToken", "GenerateAccessToken"].iter().all(|call| calls.contains_key(*call)),
        "{calls:?}"
    );
}

/// What goes wrong on demand does so for the vendor's client too.
#[test]
fn faults_come_on_demand() {
    require!(&[CLIENT]);
    let service = CloudDns::start();
    let zone = service.add_zone("p", "main", "example.org.", Kind::Public);
    service.set_page(1);
    service.put(&zone, RecordSet::new("a.example.org.", "A", 300, &["192.0.2.1"]));
    let faults = [
        Fault::Throttled,
        Fault::RateLimited,
        Fault::Denied,
        Fault::Expired,
        Fault::Broken,
        Fault::Unavailable,
        Fault::AnswerLost,
        Fault::ConnectionLost,
        Fault::Cut,
        Fault::Slow,
        Fault::Late,
        Fault::Garbage,
        Fault::WrongType,
        Fault::RepeatedPage,
    ];
    for fault in faults {
        // The client makes a request once more whose connection ends before the answer.
        service.fail("CreateChange", fault, if fault == Fault::ConnectionLost { 2 } else { 1 });
    }
    service.fail_after("ListRecordSets", 1, Fault::RepeatedPage, 1);
    let answers = ask(include_str!("faults.py"), &[&service.url(), &faults.len().to_string()], &[]);
    let written = |fault: usize| service.sets(&zone).iter().any(|set| set.name == format!("n{fault}.example.org."));
    let stands: Vec<bool> = (0..faults.len()).map(written).collect();
    let expected = [false, false, false, false, false, false, true, true, true, false, true, false, false, true];
    assert_eq!(stands, expected);
    let outcomes: Vec<&str> = answers["changes"].as_array().expect("a list").iter().filter_map(Value::as_str).collect();
    let expected =
        ["429", "403", "403", "401", "500", "503", "500", "lost", "lost", "lost", "lost", "unread", "502", "done"];
    assert_eq!(outcomes, expected);
    assert_eq!(answers["pages"], json!(["a.example.org. A", "a.example.org. A", "example.org. NS"]));
}
