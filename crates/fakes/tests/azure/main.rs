//! The official clients of Microsoft against the fake: what they send is understood, what they get is as the vendor describes it.

use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};
use zonewright_fakes::azure::{AzureDns, Fault, Kind, RecordSet};
use zonewright_testkit::require;

const CLIENT: &str = "azure-mgmt-dns";

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

/// Every answer is the expected one, and every expected one was given. A text that ends with `..` is the beginning of the answer,
/// one that begins with it the end.
fn compare(answers: &Value, expected: &[(&str, Value)]) {
    for (question, expected) in expected {
        let answer = answers.get(question).unwrap_or(&Value::Null);
        let meets = match (expected, answer) {
            (Value::String(expected), Value::String(answer)) if expected.ends_with("..") => {
                answer.starts_with(expected.trim_end_matches(".."))
            }
            (Value::String(expected), Value::String(answer)) if expected.starts_with("..") => {
                answer.ends_with(expected.trim_start_matches(".."))
            }
            (expected, answer) => expected == answer,
        };
        assert!(meets, "{question}: {answer}, not {expected}");
    }
    assert_eq!(answers.as_object().map(serde_json::Map::len), Some(expected.len()), "every answer was looked at");
}

type Table = Vec<(&'static str, Value)>;

#[test]
fn zones_and_sets_are_served() {
    require!(&[CLIENT]);
    let service = AzureDns::start();
    let zone = service.add_zone(Kind::Public, "sub", "group", "example.org");
    let small = service.add_zone(Kind::Public, "sub", "group", "small.org");
    let lagging = service.add_zone(Kind::Public, "sub", "group", "slow.org");
    service.add_zone(Kind::Public, "sub", "more", "example.org");
    service.add_zone(Kind::Private, "sub", "group", "inside.org");
    service.add_zone(Kind::Private, "sub", "more", "other.org");
    service.set_page(2);
    service.set_limit(&small, 2);
    service.set_lag(&lagging, 1);
    service.limit_token("READER", &["example.org"], false);
    service.allow_token("EXPIRED");
    service.expire_token("EXPIRED");
    let answers = ask(include_str!("rules.py"), &[&service.url()], &[]);
    compare(&answers, &[zones(), sets(), records(), conditions(), refusals(), private(), access(), raw()].concat());
    let names: Vec<String> = service.sets(&zone).iter().map(|set| format!("{} {}", set.name, set.kind)).collect();
    assert_eq!(names.len(), 15, "{names:?}");
}

fn zones() -> Table {
    let none = "404 ResourceNotFound The Resource 'Microsoft.Network/dnszones/none.org' under resource group 'group' was not found...";
    vec![
        ("zones", json!(["example.org", "slow.org", "small.org"])),
        ("zone ids", json!("Microsoft.Network/dnszones/example.org")),
        ("zones of the subscription", json!(["example.org", "slow.org", "small.org", "example.org"])),
        ("zone", json!(["example.org", 4])),
        ("private zones", json!(["inside.org"])),
        ("all private zones", json!(["inside.org", "other.org"])),
        ("no zone", json!(none)),
        (
            "no zone to write to",
            json!("404 ParentResourceNotFound Can not perform requested operation on nested resource..."),
        ),
        ("no group", json!("404 ResourceGroupNotFound Resource group 'other' could not be found.")),
        ("no subscription", json!("404 SubscriptionNotFound The subscription 'other' could not be found.")),
    ]
}

fn sets() -> Table {
    let id = "/subscriptions/sub/resourceGroups/group/providers/Microsoft.Network/dnszones/example.org/A/www";
    let addresses = json!([{ "ipv4_address": "192.0.2.1" }, { "ipv4_address": "192.0.2.2" }]);
    let created = json!(["www", "Microsoft.Network/dnszones/A", 300, "www.example.org.", addresses, { "by": "test" }]);
    let target = "/subscriptions/sub/resourceGroups/group/providers/Microsoft.Network/publicIPAddresses/one";
    let none =
        "404 NotFound The resource record 'none' does not exist in resource group 'group' of subscription 'sub'.";
    vec![
        ("create", created),
        ("id", json!(id)),
        ("state", json!("Succeeded")),
        ("get", json!(true)),
        ("listing in pages", json!(["@ NS", "@ SOA", "www A"])),
        ("listing by the other name", json!(["@ NS", "@ SOA", "www A"])),
        ("listing by type", json!(["www A"])),
        ("no set", json!(none)),
        ("wildcard", json!("*.sub.example.org.")),
        ("by suffix", json!(["*.sub A"])),
        ("empty set", json!("done")),
        ("alias", json!([{ "id": target }, null])),
        ("alias with records", json!("400 BadRequest ..")),
        ("alias of TXT", json!("400 BadRequest ..")),
    ]
}

fn records() -> Table {
    vec![
        ("AAAA", json!([{ "ipv6_address": "2001:db8::1" }])),
        ("CNAME", json!({ "cname": "Web.example.org" })),
        ("MX", json!([{ "preference": 10, "exchange": "mail.example.org" }])),
        ("NS", json!([{ "nsdname": "ns.example.net." }])),
        ("PTR", json!([{ "ptrdname": "www.example.org" }])),
        ("SRV", json!([{ "priority": 1, "weight": 2, "port": 80, "target": "www.example.org" }])),
        ("TXT", json!([{ "value": ["a b", "c\"d"] }, { "value": ["e"] }])),
        ("CAA", json!([{ "flags": 0, "tag": "issue", "value": "ca.org" }])),
    ]
}

fn conditions() -> Table {
    let again = "412 PreconditionFailed The Record set www exists already and hence cannot be created again.";
    vec![
        ("create again", json!(again)),
        ("update", json!([{ "ipv4_address": "192.0.2.9" }])),
        ("update of an older one", json!(true)),
        ("metadata after an update", json!(null)),
        ("update of none", json!(true)),
        ("merge", json!([{ "ipv4_address": "192.0.2.9" }])),
        ("merge into none", json!("404 NotFound ..")),
        ("what was answered", json!(200)),
        ("delete of an older one", json!("412 PreconditionFailed ..")),
        ("delete", json!(null)),
        ("delete of none", json!(null)),
    ]
}

fn refusals() -> Table {
    let beside =
        "The CNAME record could not be created because another record with the same name already exists in this zone.";
    let above =
        "The record could not be created because a CNAME record with the same name already exists in this zone.";
    let long = "400 BadRequest The combined length of all TXT records in a record set may not exceed 4096 characters.";
    let bad = json!("400 BadRequest ..");
    vec![
        ("CNAME beside A", json!(format!("409 Conflict {beside}"))),
        ("A beside CNAME", json!(format!("409 Conflict {above}"))),
        ("TXT beside A", json!("done")),
        ("CNAME at the apex", bad.clone()),
        ("CNAME without a record", bad.clone()),
        ("wrong target", json!("400 BadRequest The domain name '\"web\"' is invalid.")),
        ("wrong name", json!("400 BadRequest The domain name 'a b' is invalid.")),
        ("wrong address", json!("400 BadRequest The value '192.0.2' is not a valid IPv4 address.")),
        ("twice", bad.clone()),
        ("too many records", bad.clone()),
        ("no time to live", bad.clone()),
        ("records of another type", bad.clone()),
        ("another type", json!("400 BadRequest")),
        ("long string", bad.clone()),
        ("long texts", json!(long)),
        ("delete SOA", bad.clone()),
        ("delete NS", bad.clone()),
        ("NS of others alone", bad.clone()),
        ("full zone", bad),
        ("listing that lags", json!([[2, "done"], [3, "done"]])),
    ]
}

fn private() -> Table {
    vec![
        ("private", json!(["Microsoft.Network/privateDnsZones/A", 300, "www.inside.org.", "10.0.0.1", false])),
        ("private again", json!("412 PreconditionFailed ..")),
        ("private listing", json!(["@ SOA", "www A"])),
        ("private by type", json!(["www A"])),
        ("private NS", json!("404 InvalidResourceType ..")),
        ("private delete", json!(null)),
        ("private none", json!("404 NotFound ..")),
    ]
}

fn access() -> Table {
    let client = "00000000-0000-0000-0000-00000000c11e";
    let denied = format!(
        "403 AuthorizationFailed The client '{client}' with object id '{client}' does not have authorization to perform action 'Microsoft.Network/dnsZones/A/write' over scope '/subscriptions/sub/.."
    );
    vec![
        ("reader", json!(true)),
        ("reader writes", json!(denied)),
        ("reader elsewhere", json!("403 AuthorizationFailed ..")),
        ("zones of the reader", json!(["example.org"])),
        ("expired", json!("401 ExpiredAuthenticationToken ..")),
        ("unknown", json!("401 InvalidAuthenticationToken ..")),
        ("nobody", json!("401 AuthenticationFailed ..")),
    ]
}

fn raw() -> Table {
    vec![
        ("no version", json!("400 MissingApiVersionParameter")),
        ("no date", json!("400 InvalidApiVersionParameter")),
        ("another version", json!("400 NoRegisteredProviderFound")),
        ("older private version", json!(200)),
        ("no JSON", json!("400 InvalidRequestContent")),
        ("created, updated", json!([201, 200])),
        ("deleted, gone", json!([200, 204])),
        ("no type", json!("404 InvalidResourceType")),
        ("refusal of public zones", json!(["code", "message"])),
        ("refusal of private zones", json!(["error"])),
        ("refusal in front", json!(["error"])),
        ("challenge", json!("Bearer")),
        ("fields of public sets", json!(["ARecords", "TTL", "fqdn", "provisioningState", "targetResource"])),
        ("fields of private sets", json!(["fqdn", "isAutoRegistered", "ttl", "txtRecords"])),
    ]
}

/// Each way to a token, by the vendor's library for it.
#[test]
fn tokens_are_given_out() {
    require!(&[CLIENT]);
    let service = AzureDns::start();
    service.add_zone(Kind::Public, "sub", "group", "example.org");
    service.set_lifetime(1_800);
    service.set_machine(Some(&["identity"]));
    service.allow_secret("tenant", "app", "secret");
    service.allow_federated("tenant", "workload", "projected");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().to_str().expect("a path in UTF-8");
    let certificate = ask(include_str!("tokens.py"), &[&service.url(), path, "make"], &[]);
    service.allow_certificate("tenant", "app", certificate.as_str().expect("a certificate in PEM"));
    let url = service.url();
    let machine = [("AZURE_POD_IDENTITY_AUTHORITY_HOST", url.as_str())];
    service.fail("Token", Fault::Throttled, 1);
    let answers = ask(include_str!("tokens.py"), &[&url, path, "ask"], &machine);
    let found = json!(["example.org"]);
    let granted = json!(["access_token", "expires_in", "ext_expires_in", "token_type"]);
    let expected = [
        ("throttled", json!([429, "1"])),
        ("secret", found.clone()),
        ("another secret", json!("AADSTS7000215: Invalid client secret provided...")),
        ("unknown application", json!("AADSTS700016: ..")),
        ("unknown tenant", json!("Authentication failed: Unable to get authority configuration ..")),
        ("certificate", found.clone()),
        ("another certificate", json!("AADSTS700027: The certificate with identifier ..")),
        ("certificate with another key", json!("AADSTS700027: Client assertion failed signature validation.")),
        ("workload", found.clone()),
        ("another workload", json!("AADSTS70021: ..")),
        ("machine", found.clone()),
        ("identity of the machine", found),
        ("identity of another machine", json!("..(invalid_request) Identity not found")),
        ("expires_in is a text", json!("1800")),
        ("expires_on is a text", json!(true)),
        ("no header", json!("Required metadata header not specified")),
        ("no resource", json!(400)),
        ("no secret", json!("401 invalid_client AADSTS7000218: ..")),
        ("another tenant", json!("400 invalid_request AADSTS90002: ..")),
        ("another grant", json!("400 unsupported_grant_type AADSTS70003: ..")),
        ("another scope", json!("400 invalid_scope AADSTS1002012: ..")),
        ("wrong secret", json!("401 invalid_client AADSTS7000215: ..")),
        ("malformed assertion", json!("400 invalid_request AADSTS50027: ..")),
        ("PS256", granted.clone()),
        ("RS256", granted),
        ("RS512", json!("401 invalid_client AADSTS700027: ..")),
        ("assertion of another key", json!("401 invalid_client AADSTS700027: ..")),
        ("assertion that is over", json!("401 invalid_client AADSTS700024: ..")),
        ("assertion for another endpoint", json!("401 invalid_client AADSTS700023: ..")),
        ("assertion of another application", json!("401 invalid_client AADSTS700021: ..")),
    ];
    compare(&answers, &expected);
    let calls = service.calls();
    assert!(["Token", "Metadata", "OpenIdConfiguration"].iter().all(|call| calls.contains_key(*call)), "{calls:?}");
}

/// What goes wrong on demand does so for the vendor's client too.
#[test]
fn faults_come_on_demand() {
    require!(&[CLIENT]);
    let service = AzureDns::start();
    let zone = service.add_zone(Kind::Public, "sub", "group", "example.org");
    service.set_page(1);
    service.set_retry_after(7);
    service.put(&zone, RecordSet::new("@", "A", 300, vec![json!({ "ipv4Address": "192.0.2.1" })]));
    let faults = [
        (Fault::Throttled, "429 7", false),
        (Fault::RateLimited, "429", false),
        (Fault::Denied, "403", false),
        (Fault::Expired, "401", false),
        (Fault::Broken, "500", false),
        (Fault::Unavailable, "503", false),
        (Fault::AnswerLost, "500", true),
        (Fault::ConnectionLost, "lost", true),
        (Fault::Cut, "lost", true),
        (Fault::Slow, "lost", false),
        (Fault::Late, "lost", true),
        (Fault::Garbage, "200", false),
        (Fault::WrongType, "502", false),
        (Fault::RepeatedPage, "done", true),
    ];
    for (fault, ..) in faults {
        service.fail("PutRecordSet", fault, 1);
    }
    service.fail_after("ListRecordSets", 1, Fault::RepeatedPage, 1);
    let answers = ask(include_str!("faults.py"), &[&service.url(), &faults.len().to_string()], &[]);
    for (at, (fault, outcome, stands)) in faults.into_iter().enumerate() {
        let written = service.sets(&zone).iter().any(|set| set.name == format!("n{at}"));
        assert_eq!((&answers["writes"][at], written), (&json!(outcome), stands), "{fault:?}");
    }
    assert_eq!(answers["pages"], json!(["@ A", "@ A", "@ NS"]));
    assert_eq!((service.calls()["PutRecordSet"], service.calls()["ListRecordSets"]), (faults.len(), 3));
}

/// A subscription has its pace, and what a piece of work costs is counted.
#[test]
fn subscriptions_have_a_pace() {
    require!(&[CLIENT]);
    let service = AzureDns::start();
    service.add_zone(Kind::Public, "sub", "group", "example.org");
    service.set_rate(Some((2, Duration::from_hours(1))));
    let answers = ask(include_str!("faults.py"), &[&service.url(), "3"], &[]);
    assert_eq!((&answers["writes"], &answers["pages"]), (&json!(["done", "done", "429 3600"]), &json!(429)));
    assert_eq!((service.calls()["PutRecordSet"], service.requests()), (3, 4));
}
