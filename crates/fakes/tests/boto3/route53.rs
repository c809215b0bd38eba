//! Route 53 and the Security Token Service.

use serde_json::{Value, json};
use zonewright_fakes::route53::{BatchErrorForm, Fault, RecordSet, Route53};
use zonewright_testkit::require;

const RULES: &str = include_str!("route53.py");
const CALLS: &str = include_str!("route53_calls.py");
const ACCOUNT: &str = "000000000001";
const ROLE: &str = "arn:aws:iam::000000000002:role/dns";

#[test]
fn zones_and_roles_are_served() {
    require!(&["boto3"]);
    let service = Route53::start();
    service.set_page(2);
    let listed = service.add_zone(ACCOUNT, "listed.org", false, &[("owner", "me")]);
    service.set_lag(&listed, 2);
    let busy = service.add_zone(ACCOUNT, "busy.org", false, &[]);
    service.set_busy(&busy, 2);
    let full = service.add_zone(ACCOUNT, "full.org", false, &[]);
    service.set_limit(&full, 3);
    let foreign = service.add_zone("000000000002", "role.org", false, &[]);
    service.allow_role(ROLE, Some("x"), "000000000002");
    service.allow_web_identity(ROLE, "jwt", "000000000002");
    service.register_health_check("check");
    service.set_secret("AKIDFAKE", "secret");
    service.allow_key("AKIDOLD", ACCOUNT);
    service.expire("AKIDOLD");
    let answers = crate::ask(RULES, &[&service.url(), ROLE, &listed, &busy, &full, &foreign]);
    let tables = [zones(), sets(), values(), neighbours(), routing(), listings(), changes(), access()];
    let mut count = 0;
    for (question, expected) in tables.into_iter().flatten() {
        let answer = answers.get(question).unwrap_or(&Value::Null);
        // Where a code alone is not all, the message begins so.
        let matches = match (&expected, answer) {
            (Value::String(expected), Value::String(answer)) if expected.ends_with("..") => {
                answer.starts_with(expected.trim_end_matches(".."))
            }
            (expected, answer) => expected == answer,
        };
        assert!(matches, "{question}: {answer}, not {expected}");
        count += 1;
    }
    assert_eq!(answers.as_object().map(serde_json::Map::len), Some(count), "every answer was looked at");
    assert_eq!(service.keys_of("000000000002").len(), 3);
    assert_eq!(service.zones_of("000000000002").len(), 1);
    assert_eq!(service.sets(&full).len(), 3);
}

type Table = Vec<(&'static str, Value)>;

fn zones() -> Table {
    let network = json!([{ "VPCRegion": "eu-west-1", "VPCId": "vpc-1" }]);
    vec![
        ("zone is made", json!(["example.org.", 2])),
        ("zone has a location", json!(true)),
        ("zone has a comment", json!("<a & b>")),
        ("zone again", json!("HostedZoneAlreadyExists")),
        ("zone without a name", json!("InvalidDomainName")),
        ("private zone without a network", json!("InvalidInput")),
        ("private zone", json!([true, network, false])),
        ("public zone", json!([4, false])),
        ("no zone", json!("NoSuchHostedZone")),
        ("zone of another account", json!("AccessDenied")),
        ("zones", json!(["listed.org.", "busy.org.", "full.org.", "example.org.", "example.org."])),
        ("zone pages", json!([2, 2, 1])),
        ("private zones", json!(1)),
        ("zones after a wrong marker", json!("InvalidInput")),
        ("zones by a wrong count", json!("InvalidInput")),
        ("zones by name", json!(["example.org.", true, "example.org."])),
        ("zones by name go on", json!(["example.org.", "full.org."])),
        ("zones by id alone", json!("InvalidInput")),
        ("zones of a network", json!(["example.org."])),
        ("zones of no network", json!([])),
        ("zone with sets deleted", json!("HostedZoneNotEmpty")),
        ("zone deleted", json!("PENDING")),
        ("deleted zone", json!(["NoSuchHostedZone", "NoSuchHostedZone", "NoSuchHostedZone"])),
        ("tags", json!({ "b": "2" })),
        ("tags of the test", json!({ "owner": "me" })),
        ("tags of none", json!("NoSuchHostedZone")),
        ("tags of two", json!({ "True": 1, "False": 0 })),
        ("tags of eleven", json!("InvalidInput")),
        ("tags of a wrong kind", json!("InvalidInput")),
    ]
}

fn sets() -> Table {
    let exists = "Tried to create resource record set [name='www.example.org.', type='A'] but it already exists";
    let missing = "Tried to delete resource record set [name='none.example.org.', type='A'] but it was not found";
    let differs = "Tried to delete resource record set [name='www.example.org.', type='A'] but the values provided do \
                   not match the current values";
    let batch = |message: &str| json!(format!("InvalidChangeBatch: [{message}]"));
    let records = "Number of records limit of 1000 exceeded.";
    vec![
        ("create", json!("PENDING")),
        ("create again", batch(exists)),
        ("create outside", batch("RRSet with DNS name www.example.net. is not permitted in zone example.org.")),
        ("delete of other values", batch(differs)),
        ("delete of another TTL", json!("InvalidChangeBatch")),
        ("delete of nothing", batch(missing)),
        ("two errors", batch(&format!("{missing}, {exists}"))),
        ("nothing of a refused batch", json!(false)),
        ("upsert", json!("PENDING")),
        ("delete then create", json!("PENDING")),
        (
            "one set twice",
            batch("The request contains an invalid set of changes for a resource record set 'A x.example.org.'"),
        ),
        ("no changes", json!("InvalidInput")),
        ("no zone to change", json!("NoSuchHostedZone")),
        ("a zone of another account to change", json!("AccessDenied")),
        ("wrong action", json!("InvalidInput")),
        ("no type of the service", json!("InvalidInput")),
        ("1,001 changes", batch(records)),
        ("501 upserts", batch(records)),
        ("too many characters", batch("RDATA character limit of 32000 exceeded.")),
        ("too many characters of upserts", json!("InvalidChangeBatch")),
        (
            "full zone",
            json!(["PENDING", "InvalidChangeBatch: [Exceeded limit MAX_RRSETS_BY_ZONE for zone: Z0000000000003FAKE]"]),
        ),
        ("busy zone", json!(["PriorRequestNotComplete", "PriorRequestNotComplete", "PENDING"])),
    ]
}

fn values() -> Table {
    let value = |code: &str| json!(format!("InvalidChangeBatch: [Invalid Resource Record: 'FATAL problem: {code}.."));
    vec![
        ("negative TTL", json!("InvalidInput")),
        ("TTL too large", json!("InvalidInput")),
        (
            "no name",
            json!("InvalidChangeBatch: [FATAL problem: DomainLabelEmpty (Domain label is empty) encountered with.."),
        ),
        (
            "value of no address",
            value("ARRDATAIllegalIPv4Address (Value is not a valid IPv4 address) encountered with 'nowhere''"),
        ),
        ("value twice", json!("InvalidChangeBatch: [Duplicate Resource Record: '192.0.2.1']")),
        ("TXT without quotes", value("InvalidCharacterString (Value should be enclosed in quotation marks)")),
        ("TXT string too long", value("CharacterStringTooLong (Value is too long)")),
        ("value too long", json!("InvalidInput")),
        ("401 values", json!("InvalidChangeBatch")),
        ("set without values", json!("InvalidInput")),
    ]
}

fn neighbours() -> Table {
    let batch = |message: &str| json!(format!("InvalidChangeBatch: [{message}.."));
    let cname = "RRSet of type CNAME with DNS name";
    vec![
        ("SOA deleted", batch("A HostedZone must contain exactly one SOA record.")),
        ("NS deleted", batch("A HostedZone must contain at least one NS record for the zone itself.")),
        ("CNAME at the apex", batch(&format!("{cname} example.org. is not permitted at apex in zone example.org."))),
        (
            "CNAME beside others",
            batch(&format!("{cname} www.example.org. is not permitted as it conflicts with other records")),
        ),
        ("CNAME", json!("PENDING")),
        (
            "others beside a CNAME",
            batch(
                "RRSet of type A with DNS name c.example.org. is not permitted because a conflicting RRSet of type CNAME",
            ),
        ),
        (
            "alias with TTL",
            json!("InvalidInput: Invalid request: Expected exactly one of [AliasTarget, all of [TTL, and.."),
        ),
        (
            "alias without its target",
            batch("Tried to create an alias that targets none.example.org., type A in zone Z"),
        ),
        ("alias to another type", json!("InvalidChangeBatch")),
        ("alias out of the zone", batch("Tried to create an alias that targets a.example.net., type A in zone Z")),
        ("alias", json!("PENDING")),
        ("alias of AWS", json!("PENDING")),
        ("the wildcard", json!("PENDING")),
    ]
}

fn routing() -> Table {
    let refused = "InvalidChangeBatch";
    let alone = json!(["PENDING", refused, refused, refused, refused, refused]);
    let beside = json!(["PENDING", refused, "PENDING", refused, refused, refused]);
    let other =
        "InvalidChangeBatch: [RRSet with DNS name w.routed.example.org., type A cannot be created as other RRSets..";
    let place = json!({ "Latitude": "1.5", "Longitude": "-2" });
    let listed = json!([
        { "SetIdentifier": "one", "Failover": "PRIMARY", "HealthCheckId": "check" },
        { "SetIdentifier": "two", "Failover": "SECONDARY" },
        { "SetIdentifier": "one", "GeoLocation": { "CountryCode": "*" } },
        { "SetIdentifier": "two", "GeoLocation": { "CountryCode": "US", "SubdivisionCode": "NY" } },
        { "SetIdentifier": "one", "Region": "eu-west-1" },
        { "SetIdentifier": "two", "Region": "eu-west-2" },
        { "SetIdentifier": "one", "MultiValueAnswer": true },
        { "SetIdentifier": "three", "MultiValueAnswer": true },
        { "SetIdentifier": "two", "MultiValueAnswer": true },
        { "SetIdentifier": "one", "GeoProximityLocation": { "AWSRegion": "eu-west-1", "Bias": -99 } },
        { "SetIdentifier": "two", "GeoProximityLocation": { "Coordinates": place, "Bias": 99 } },
        { "SetIdentifier": "one", "Weight": 1 },
        { "SetIdentifier": "three", "Weight": 1 },
        { "SetIdentifier": "two", "Weight": 0 },
    ]);
    let primary = "A non-alias primary ResourceRecordSet must have an associated health check.";
    vec![
        ("routed f.routed.example.org", alone.clone()),
        ("routed g.routed.example.org", alone.clone()),
        ("routed l.routed.example.org", alone.clone()),
        ("routed m.routed.example.org", beside.clone()),
        ("routed p.routed.example.org", alone),
        ("routed w.routed.example.org", beside),
        ("routed sets as they are listed", listed),
        ("weight too large", json!("InvalidInput")),
        (
            "no identifier",
            json!("InvalidInput: Invalid request: Missing field 'SetIdentifier' in Change with [Action=CREATE,.."),
        ),
        ("identifier too long", json!("InvalidInput")),
        ("no policy", json!("InvalidInput")),
        ("two policies", json!("InvalidInput")),
        ("no collection", json!("NoSuchCidrCollectionException")),
        ("no health check", json!("NoSuchHealthCheck: No health check found with id: none")),
        ("primary without a check", json!(format!("InvalidChangeBatch: [{primary}]"))),
        ("multivalue alias", json!("InvalidInput")),
        ("no country", json!("InvalidInput")),
        ("bias too large", json!("InvalidInput")),
        ("group in another kind", json!(other)),
        ("group changes its kind as a whole", json!("PENDING")),
    ]
}

fn listings() -> Table {
    #[rustfmt::skip]
    let order = json!([
        "example.org.", "\\052.example.org.", "alias.example.org.", "c.example.org.", "lb.example.org.", "f.routed.example.org.",
        "g.routed.example.org.", "l.routed.example.org.", "m.routed.example.org.", "p.routed.example.org.",
        "w.routed.example.org.", "www.example.org.",
    ]);
    let alias = "lb-1.us-east-1.elb.amazonaws.com.";
    let alias = json!({ "HostedZoneId": "Z35SXDOTRQ7X7K", "DNSName": alias, "EvaluateTargetHealth": false });
    vec![
        ("first page", json!(["2", true, 2, "TXT"])),
        ("page from an identifier", json!(["two", "one"])),
        ("page of one", json!([1, "1", true])),
        ("start by type alone", json!("InvalidInput")),
        ("start without type", json!("InvalidInput")),
        ("start by a wrong type", json!("InvalidInput")),
        ("start by no name", json!("InvalidInput")),
        ("order", order),
        ("alias as it is listed", alias),
        ("TXT as it is listed", json!([{ "Value": "\"a\\344\"" }])),
        ("lag", json!([2, 2, 3])),
    ]
}

fn changes() -> Table {
    vec![
        ("change", json!(["x", true, true])),
        ("change later", json!(["PENDING", "INSYNC", "INSYNC"])),
        ("no change", json!("NoSuchChange")),
    ]
}

fn access() -> Table {
    vec![
        ("caller", json!(ACCOUNT)),
        ("role without its external id", json!("AccessDenied")),
        ("credentials differ", json!(true)),
        ("credentials end", json!(true)),
        ("zones of a role", json!(["role.org."])),
        ("role with a wrong token", json!("InvalidClientTokenId")),
        ("role with a wrong secret", json!("SignatureDoesNotMatch")),
        ("key with a wrong secret", json!("SignatureDoesNotMatch")),
        ("caller of a role", json!("arn:aws:sts::000000000002:assumed-role/dns/session")),
        ("zones of a web identity", json!(["role.org."])),
        ("wrong web identity", json!("InvalidIdentityToken")),
        ("role for too short", json!("ValidationError")),
        ("unknown key", json!("InvalidClientTokenId")),
        ("expired key", json!("ExpiredToken")),
        ("no signature", json!("MissingAuthenticationToken")),
    ]
}

/// A service with one zone, pages of two and a role that anybody may assume.
fn small() -> (Route53, String) {
    let service = Route53::start();
    service.set_page(2);
    service.allow_role(ROLE, None, "000000000002");
    let zone = service.add_zone(ACCOUNT, "a.org", false, &[]);
    service.put(&zone, RecordSet::new("www.a.org", "TXT", 60, &["\"a\""]));
    (service, zone)
}

#[track_caller]
fn check(service: &Route53, zone: &str, calls: &[&str], expected: &[&str]) {
    let url = service.url();
    let arguments: Vec<&str> = [url.as_str(), zone, ROLE].into_iter().chain(calls.iter().copied()).collect();
    assert_eq!(crate::ask(CALLS, &arguments), json!(expected));
}

#[test]
fn calls_fail_in_the_order_of_the_test() {
    require!(&["boto3"]);
    let (service, zone) = small();
    let faults = [
        (Fault::Throttled, "Throttling"),
        (Fault::Denied, "AccessDenied"),
        (Fault::Expired, "ExpiredToken"),
        (Fault::Skewed, "SignatureDoesNotMatch"),
        (Fault::Broken, "InternalFailure"),
        (Fault::AnswerLost, "InternalFailure"),
        (Fault::Garbage, "ResponseParserError"),
        (Fault::WrongType, "ResponseParserError"),
        (Fault::Slow, "ReadTimeoutError"),
        (Fault::ConnectionLost, "ConnectionClosedError"),
        (Fault::Cut, "ResponseParserError"),
        (Fault::RepeatedPage, "NS to NS"),
    ];
    let mut expected = vec!["NS to TXT"];
    service.fail_after("ListResourceRecordSets", 1, faults[0].0, 2);
    expected.extend([faults[0].1; 2]);
    for (fault, code) in &faults[1..] {
        service.fail("ListResourceRecordSets", *fault, 1);
        expected.push(code);
    }
    expected.push("NS to TXT");
    check(&service, &zone, &vec!["sets"; expected.len()], &expected);
    assert_eq!(service.calls()["ListResourceRecordSets"], expected.len());
    assert_eq!(service.requests(), expected.len());
}

#[test]
fn a_change_is_carried_out_or_not_whatever_is_answered() {
    require!(&["boto3"]);
    let (service, zone) = small();
    let faults = [
        (Fault::PriorRequestNotComplete, "PriorRequestNotComplete"),
        (Fault::Broken, "InternalFailure"),
        (Fault::Slow, "ReadTimeoutError"),
        (Fault::AnswerLost, "InternalFailure"),
        (Fault::ConnectionLost, "ConnectionClosedError"),
        (Fault::Cut, "ResponseParserError"),
        (Fault::Late, "ReadTimeoutError"),
    ];
    for (fault, _) in faults {
        service.fail("ChangeResourceRecordSets", fault, 1);
    }
    service.fail("AssumeRole", Fault::Throttled, 1);
    let calls: Vec<String> = (1..=faults.len()).map(|number| format!("create {number}.a.org")).collect();
    let calls: Vec<&str> = calls.iter().map(String::as_str).chain(["role", "role"]).collect();
    let expected: Vec<&str> = faults.iter().map(|(_, outcome)| *outcome).chain(["Throttling", "ASIA"]).collect();
    check(&service, &zone, &calls, &expected);
    let names: Vec<String> =
        service.sets(&zone).into_iter().filter(|set| set.kind == "A").map(|set| set.name).collect();
    assert_eq!(names, ["4.a.org.", "5.a.org.", "6.a.org.", "7.a.org."]);
    assert_eq!((service.calls()["CREATE"], service.calls()["AssumeRole"]), (4, 2));
}

#[test]
fn an_account_has_its_pace_and_errors_their_form() {
    require!(&["boto3"]);
    let (service, zone) = small();
    service.set_batch_error_form(BatchErrorForm::Messages);
    let exists = "Tried to create resource record set [name='1.a.org.', type='A'] but it already exists";
    check(&service, &zone, &["create 1.a.org", "create 1.a.org"], &["PENDING", exists]);
    service.set_rate(Some(2));
    check(&service, &zone, &["zones", "zones", "zones"], &["1 zones", "1 zones", "Throttling"]);
}

#[test]
fn a_zone_is_changed_behind_the_client() {
    require!(&["boto3"]);
    let (service, zone) = small();
    service.set_pending(0);
    check(&service, &zone, &["create 1.a.org", "settle"], &["PENDING", "INSYNC"]);
    service.set_pending(9);
    check(&service, &zone, &["create 2.a.org", "settle"], &["PENDING", "PENDING"]);
    service.sync();
    check(&service, &zone, &["settle C0000000000003FAKE"], &["INSYNC"]);
    let taken = service.remove(&zone, "1.A.org", "A", None);
    assert_eq!(taken, Some(RecordSet::new("1.a.org.", "A", 300, &["192.0.2.1"])));
    assert_eq!(service.remove(&zone, "1.a.org", "A", None), None);
    check(&service, &zone, &["create 1.a.org", "zones"], &["PENDING", "1 zones"]);
    service.drop_zone(&zone);
    check(&service, &zone, &["create 3.a.org", "sets", "zones"], &["NoSuchHostedZone", "NoSuchHostedZone", "0 zones"]);
    assert_eq!(service.sets(&zone), []);
}
