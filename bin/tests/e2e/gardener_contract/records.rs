//! What becomes of records: those of others, those that are changed behind the controller's back, aliases, families.

use serde_json::{Value, json};
use zonewright_fakes::route53::RecordSet;
use zonewright_testkit::{KubeApi, require};

use super::accept::OPERATION;
use super::clouds::{a, aws, record, with};
use crate::{LATER, until};

const BALANCER: &str = "web-1.eu-west-1.elb.amazonaws.com";
/// The hosted zone of load balancers in eu-west-1.
const BALANCERS: &str = "Z32O12XQLNTSW2";
/// The annotation with the address families of an alias.
const IP_STACK: &str = "dns.gardener.cloud/ip-stack";

/// Ownership is off: what stands there is taken over, as Gardener expects.
#[test]
fn a_record_that_stood_before_is_taken_over() {
    require!(KubeApi::TOOLS);
    let (aws, world) = aws();
    aws.service.put(&aws.zone, RecordSet::new("web.shop.test.", "A", 3600, &["198.51.100.1", "198.51.100.2"]));
    let object = world.record("web");
    object.created(&a("web", "192.0.2.1"));
    aws.shows(&["web.shop.test A 120 192.0.2.1"]);
    object.deleted();
    aws.shows(&[]);
}

#[test]
fn a_record_that_was_changed_behind_our_back() {
    require!(KubeApi::TOOLS);
    let (aws, world) = aws();
    let object = world.record("web");
    object.created(&a("web", "192.0.2.1"));
    let elsewhere = |address: &str| {
        aws.service.put(&aws.zone, RecordSet::new("web.shop.test.", "A", 60, &[address]));
    };
    elsewhere("198.51.100.1");
    object.does("reconcile", &Value::Null);
    aws.shows(&["web.shop.test A 120 192.0.2.1"]);
    elsewhere("198.51.100.1");
    object.does("reconcile", &json!({ "values": ["192.0.2.2"] }));
    aws.shows(&["web.shop.test A 120 192.0.2.2"]);
    elsewhere("198.51.100.1");
    object.deleted();
    aws.shows(&[]);
}

#[test]
fn a_record_that_is_gone_is_no_error_when_it_goes() {
    require!(KubeApi::TOOLS);
    let (aws, world) = aws();
    let object = world.record("web");
    object.created(&a("web", "192.0.2.1"));
    aws.service.remove(&aws.zone, "web.shop.test.", "A", None);
    object.deleted();
    aws.shows(&[]);
}

#[test]
fn a_zone_that_is_gone_is_no_error_when_the_record_goes() {
    require!(KubeApi::TOOLS);
    let (aws, world) = aws();
    let object = world.record("web");
    object.created(&a("web", "192.0.2.1"));
    aws.service.drop_zone(&aws.zone);
    object.deleted();
}

#[test]
fn addresses_in_any_spelling_and_order() {
    require!(KubeApi::TOOLS);
    let (aws, world) = aws();
    let four = world.record("four");
    four.created(&record("four", "A", &["192.0.2.2", "192.0.2.1"]));
    let six = world.record("six");
    six.created(&record("six", "AAAA", &["2001:DB8:0:0:0:0:0:1", "2001:db8::2"]));
    let lines = ["four.shop.test A 120 192.0.2.1 192.0.2.2", "six.shop.test AAAA 120 2001:db8::1 2001:db8::2"];
    aws.shows(&lines);
    // As it is already, said in other words: nothing is written.
    let writes = aws.writes();
    four.does("reconcile", &json!({ "values": ["192.0.2.1", "192.0.2.2"] }));
    six.does("reconcile", &json!({ "values": ["2001:db8:0::2", "2001:db8::0:1"] }));
    assert_eq!(aws.writes(), writes);
    aws.shows(&lines);
}

/// A host name of a load balancer is an alias, and any other one a CNAME; each follows the other, and leaves nothing.
#[test]
fn a_cname_becomes_an_alias_and_a_cname_again() {
    require!(KubeApi::TOOLS);
    let (aws, world) = aws();
    let object = world.record("web");
    object.created(&record("web", "CNAME", &["other.example.com"]));
    let cname = "web.shop.test CNAME 120 other.example.com";
    let shows_cname = || {
        let dotless = || aws.shown().iter().map(|line| line.trim_end_matches('.').to_owned()).collect::<Vec<_>>();
        until("a CNAME", LATER, || dotless() == [cname]);
    };
    shows_cname();
    let alias = |kind: &str| format!("web.shop.test {kind} alias {BALANCER} {BALANCERS} true");
    let (v4, v6) = (alias("A"), alias("AAAA"));
    object.does("reconcile", &json!({ "values": [BALANCER] }));
    aws.shows(&[&v4]);
    let stack = |families: Value| {
        object.change(&json!({ "metadata": { "annotations": { IP_STACK: families } } }));
        object.does("reconcile", &Value::Null);
    };
    stack(json!("dual-stack"));
    aws.shows(&[&v4, &v6]);
    stack(json!("ipv6"));
    aws.shows(&[&v6]);
    stack(json!("dual-stack"));
    stack(json!("ipv4"));
    aws.shows(&[&v4]);
    stack(json!("dual-stack"));
    object.does("reconcile", &json!({ "values": ["other.example.com"] }));
    shows_cname();
    object.does("reconcile", &json!({ "values": [BALANCER] }));
    aws.shows(&[&v4, &v6]);
    // Without the annotation all of them go, too.
    object.change(&json!({ "metadata": { "annotations": { IP_STACK: null } } }));
    object.deleted();
    aws.shows(&[]);
}

#[test]
fn which_host_names_are_aliases_and_of_which_zone() {
    require!(KubeApi::TOOLS);
    let (aws, world) = aws();
    for (name, host, expected) in [
        (
            "classic",
            "web-1.eu-central-1.elb.amazonaws.com",
            "alias web-1.eu-central-1.elb.amazonaws.com Z215JYRZR1TBD5 true",
        ),
        (
            "network",
            "web-1.elb.eu-central-1.amazonaws.com",
            "alias web-1.elb.eu-central-1.amazonaws.com Z3F0SRJ5LGBH90 true",
        ),
        (
            "china",
            "web-1.cn-north-1.elb.amazonaws.com.cn",
            "alias web-1.cn-north-1.elb.amazonaws.com.cn Z1GDH35T77C1KE true",
        ),
        ("gov", "web-1.us-gov-west-1.elb.amazonaws.com", "120 web-1.us-gov-west-1.elb.amazonaws.com"),
    ] {
        world.record(name).created(&record(name, "CNAME", &[host]));
        let line = aws.shown().into_iter().find(|line| line.starts_with(&format!("{name}.shop.test ")));
        let line = line.unwrap_or_default();
        assert!(line.trim_end_matches('.').ends_with(expected), "{line}, expected {expected}");
    }
}

#[test]
fn a_text_beside_an_address_is_left_alone() {
    require!(KubeApi::TOOLS);
    let (aws, world) = aws();
    let text = RecordSet::new("web.shop.test.", "TXT", 3600, &["\"v=spf1 -all\""]);
    aws.service.put(&aws.zone, text);
    let line = "web.shop.test TXT 3600 \"v=spf1 -all\"";
    let object = world.record("web");
    object.created(&a("web", "192.0.2.1"));
    aws.shows(&["web.shop.test A 120 192.0.2.1", line]);
    object.does("reconcile", &json!({ "values": ["192.0.2.2"] }));
    aws.shows(&["web.shop.test A 120 192.0.2.2", line]);
    object.deleted();
    aws.shows(&[line]);
}

#[test]
fn a_wildcard_touches_no_other_name() {
    require!(KubeApi::TOOLS);
    let (aws, world) = aws();
    for name in ["a.shop.test.", "x.a.shop.test.", "z.shop.test."] {
        aws.service.put(&aws.zone, RecordSet::new(name, "A", 60, &["198.51.100.1"]));
    }
    let others = ["a.shop.test A 60 198.51.100.1", "x.a.shop.test A 60 198.51.100.1", "z.shop.test A 60 198.51.100.1"];
    let object = world.record("wild");
    object.created(&a("*", "192.0.2.1"));
    aws.shows(&[others.as_slice(), &["*.shop.test A 120 192.0.2.1"]].concat());
    object.does("reconcile", &json!({ "values": ["192.0.2.2"] }));
    object.deleted();
    aws.shows(&others);
}

/// Two objects for one name and type: the older one has it, the younger one gets an event, and nothing flaps. When the older one goes, the
/// younger one takes the name over at its next request.
#[test]
fn of_two_objects_for_one_record_the_older_one_has_it() {
    require!(KubeApi::TOOLS);
    let (aws, world) = aws();
    let first = world.record("b-first");
    first.created(&a("web", "192.0.2.1"));
    let elder = first.get()["metadata"]["creationTimestamp"].clone();
    // Times of creation are whole seconds.
    let second = world.record("a-second");
    until("another second", LATER, || {
        let probe = world.record("probe");
        probe.put(&with(a("probe", "192.0.2.9"), &json!({ "type": "not-ours" })), &json!({}));
        let later = probe.get()["metadata"]["creationTimestamp"] != elder;
        probe.deleted();
        later
    });
    second.create(&a("web", "192.0.2.2"));
    let codes = second.fails(&["web.shop.test", "b-first"]);
    assert_eq!(codes, ["ERR_CONFIGURATION_PROBLEM"]);
    let writes = aws.writes();
    first.does("reconcile", &Value::Null);
    second.ask("reconcile", &Value::Null);
    second.fails(&["b-first"]);
    assert_eq!(aws.writes(), writes, "nothing flaps");
    aws.shows(&["web.shop.test A 120 192.0.2.1"]);
    // The one that never had it takes nothing along.
    second.deleted();
    aws.shows(&["web.shop.test A 120 192.0.2.1"]);
    let third = world.record("third");
    third.create(&a("web", "192.0.2.3"));
    third.fails(&["b-first"]);
    first.deleted();
    third.does("reconcile", &Value::Null);
    aws.shows(&["web.shop.test A 120 192.0.2.3"]);
}

/// Another type at the name is another record.
#[test]
fn two_objects_of_one_name_and_two_types() {
    require!(KubeApi::TOOLS);
    let (aws, world) = aws();
    world.record("four").created(&record("web", "A", &["192.0.2.1"]));
    world.record("six").created(&record("web", "AAAA", &["2001:db8::1"]));
    world.record("text").created(&record("web", "TXT", &["hello"]));
    aws.shows(&[
        "web.shop.test A 120 192.0.2.1",
        "web.shop.test AAAA 120 2001:db8::1",
        "web.shop.test TXT 120 \"hello\"",
    ]);
    world.record("six").deleted();
    aws.shows(&["web.shop.test A 120 192.0.2.1", "web.shop.test TXT 120 \"hello\""]);
}

/// With ownership: what others have is not overwritten, and what fits is adopted.
#[test]
fn with_a_registry_what_others_have_stays() {
    require!(KubeApi::TOOLS);
    let aws = super::clouds::Aws::new();
    let world = super::world::World::new(super::clouds::AWS).arg("--registry=txt").arg("--txt-owner-id=seed-1");
    let world = aws.leads(world).started();
    aws.service.put(&aws.zone, RecordSet::new("taken.shop.test.", "A", 60, &["198.51.100.1"]));
    aws.service.put(&aws.zone, RecordSet::new("same.shop.test.", "A", 120, &["192.0.2.1"]));
    let taken = world.record("taken");
    taken.put(&a("taken", "192.0.2.1"), &json!({ OPERATION: "reconcile" }));
    taken.fails(&["taken.shop.test"]);
    world.record("same").created(&a("same", "192.0.2.1"));
    world.record("new").created(&a("new", "192.0.2.1"));
    let addresses = || aws.shown().into_iter().filter(|line| line.contains(" A ")).collect::<Vec<_>>();
    let expected =
        ["new.shop.test A 120 192.0.2.1", "same.shop.test A 120 192.0.2.1", "taken.shop.test A 60 198.51.100.1"];
    assert_eq!(addresses(), expected);
    let claims = || aws.shown().iter().filter(|line| line.contains("external-dns/owner=seed-1")).count();
    assert_eq!(claims(), 2, "{:?}", aws.shown());
    for name in ["same", "new", "taken"] {
        world.record(name).deleted();
    }
    assert_eq!(addresses(), ["taken.shop.test A 60 198.51.100.1"]);
    assert_eq!(claims(), 0, "{:?}", aws.shown());
}
