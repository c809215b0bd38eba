//! The objects of the swap: every form of record that both programs publish at Route 53.

use serde_json::Value;
use zonewright_sidebyside::shapes::{self, service};

/// The public zone of the objects.
pub(crate) const ZONE: &str = "shop.test";
/// The one health check that there is.
pub(crate) const HEALTH_CHECK: &str = "7c1a7e3a-0000-4000-8000-000000000001";

/// The Service whose host name is the zone's.
const APEX: &str = "apex";
/// The Service whose record is an alias to another one of the zone.
const SAME_ZONE: &str = "same-zone";
const BALANCER: &str = "web-1.eu-west-1.elb.amazonaws.com";
const OTHER_BALANCER: &str = "web-2.us-east-1.elb.amazonaws.com";

/// All that external-dns writes once. The first is the Service `three`, whose addresses are `addresses`.
pub(crate) fn settled(addresses: &[&str]) -> Vec<Value> {
    let mut objects = vec![three(addresses)];
    objects.extend(plain());
    objects.extend(routed());
    // Texts are quoted as the service demands it: external-dns sends them as they are.
    let long = format!("\"v=DKIM1; k=rsa; p={}\" \"{}\"", "MIIBIjANBgkqhkiG9w0BAQEFAAO".repeat(8), "CAQ8A".repeat(30));
    objects.push(endpoints(
        "texts",
        &[
            ("texts", "TXT", &["\"v=spf1 include:_spf.example.net -all\"", "\"plain\""]),
            ("sel._domainkey", "TXT", &[&long]),
            ("marks", "TXT", &["\"a;c=\\\"d\\\"\""]),
        ],
    ));
    objects.push(endpoints(
        "others",
        &[
            ("mail", "MX", &["10 mx1.example.net", "20 mx2.example.net"]),
            ("_sip._tcp", "SRV", &["0 5 5060 sip.example.net."]),
            ("delegated", "NS", &["ns1.example.net", "ns2.example.net"]),
        ],
    ));
    objects
}

/// The same without the apex, at which no CNAME can stand.
pub(crate) fn below_apex(addresses: &[&str]) -> Vec<Value> {
    let mut objects = settled(addresses);
    objects.retain(|object| object["metadata"]["name"] != APEX);
    objects
}

/// The same without the alias to a name of the zone: where two zones have one name, external-dns sends both the id of one.
pub(crate) fn without_same_zone(addresses: &[&str]) -> Vec<Value> {
    let mut objects = settled(addresses);
    objects.retain(|object| object["metadata"]["name"] != SAME_ZONE);
    objects
}

/// What external-dns writes again in every round, since it does not read back what it wrote: a zone stated for an alias, and
/// any value of a multivalue answer but the empty one.
pub(crate) fn restless(addresses: &[&str]) -> Vec<Value> {
    let multivalue = |id: &str, target: &str| {
        let annotations = [("aws-multi-value-answer", "true"), ("set-identifier", id)];
        service(&format!("many-{id}"), "many.shop.test", &[target], &annotations)
    };
    let stated = [("alias", "true"), ("aws-target-hosted-zone", "Z0EXAMPLE")];
    vec![
        three(addresses),
        // The kind has to be known: external-dns ends where it is not.
        endpoints("none", &[]),
        service("endpoint", "endpoint.shop.test", &["lb.internal.example.net"], &stated),
        multivalue("one", "192.0.2.17"),
        multivalue("two", "192.0.2.18"),
    ]
}

/// A `DNSEndpoint` with these elements: name, type, targets.
fn endpoints(name: &str, elements: &[(&str, &str, &[&str])]) -> Value {
    shapes::endpoints(ZONE, name, elements)
}

fn three(addresses: &[&str]) -> Value {
    service("three", "three.shop.test", addresses, &[])
}

/// Addresses, host names and aliases.
fn plain() -> Vec<Value> {
    let short = |name: &str, targets: &[&str], annotations: &[(&str, &str)]| {
        service(name, &format!("{name}.{ZONE}"), targets, annotations)
    };
    vec![
        service(APEX, ZONE, &[BALANCER], &[]),
        short("www", &[BALANCER], &[]),
        short("dual", &["192.0.2.4", "2001:db8::4"], &[]),
        short("slow", &["192.0.2.5"], &[("ttl", "1h")]),
        short("elsewhere", &["shop.example.net"], &[]),
        short("shop-cdn", &["d111111abcdef8.cloudfront.net"], &[]),
        short("no-health", &[BALANCER], &[("aws-evaluate-target-health", "false")]),
        short("no-alias", &[BALANCER], &[("alias", "false")]),
        // The target, `dual`, is created before: changes go by name.
        short(SAME_ZONE, &["dual.shop.test"], &[("alias", "true")]),
        service("wild", "*.apps.shop.test", &["192.0.2.6"], &[]),
        service("wild-elb", "*.elb.shop.test", &[BALANCER], &[]),
        service("several", "one.shop.test,two.shop.test", &["192.0.2.7"], &[]),
        service("upper", "UPPER.shop.test", &["192.0.2.8"], &[]),
        service("below", "a.b.c.shop.test", &["192.0.2.9"], &[]),
    ]
}

/// Each routing policy.
fn routed() -> Vec<Value> {
    let set = |name: &str, id: &str, target: &str, annotations: &[(&str, &str)]| {
        let annotations = [annotations, &[("set-identifier", id)]].concat();
        service(&format!("{name}-{id}"), &format!("{name}.{ZONE}"), &[target], &annotations)
    };
    let check = ("aws-health-check-id", HEALTH_CHECK);
    vec![
        set("weighted", "blue", "192.0.2.10", &[("aws-weight", "90")]),
        set("weighted", "green", "192.0.2.11", &[("aws-weight", "10")]),
        set("weighted-elb", "blue", BALANCER, &[("aws-weight", "90")]),
        set("weighted-elb", "green", OTHER_BALANCER, &[("aws-weight", "0")]),
        set("near", "de", "192.0.2.21", &[("aws-geolocation-country-code", "DE")]),
        set("near-elb", "de", BALANCER, &[("aws-geolocation-country-code", "DE")]),
        set("near-elb", "all", OTHER_BALANCER, &[("aws-geolocation-country-code", "*")]),
        set("near", "eu", "192.0.2.12", &[("aws-geolocation-continent-code", "EU")]),
        set(
            "near",
            "ny",
            "192.0.2.13",
            &[("aws-geolocation-country-code", "US"), ("aws-geolocation-subdivision-code", "NY")],
        ),
        set("near", "all", "192.0.2.14", &[("aws-geolocation-country-code", "*")]),
        set("fast", "eu", BALANCER, &[("aws-region", "eu-west-1")]),
        set("fast", "us", OTHER_BALANCER, &[("aws-region", "us-east-1")]),
        set("safe", "first", "192.0.2.15", &[("aws-failover", "PRIMARY"), check]),
        set("safe", "second", "192.0.2.16", &[("aws-failover", "SECONDARY")]),
        set("many", "one", "192.0.2.17", &[("aws-multi-value-answer", ""), check]),
        set("many", "two", "192.0.2.18", &[("aws-multi-value-answer", "")]),
        set("close", "eu", "192.0.2.19", &[("aws-geoproximity-region", "eu-west-1"), ("aws-geoproximity-bias", "10")]),
        set("close", "us", "192.0.2.20", &[("aws-geoproximity-coordinates", "40.71,-74.01")]),
    ]
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_object_hides_another() {
        for objects in [settled(&["192.0.2.1"]), restless(&["192.0.2.1"])] {
            let name = |object: &Value| format!("{} {}", object["kind"], object["metadata"]["name"]);
            assert_eq!(objects.iter().map(name).collect::<BTreeSet<_>>().len(), objects.len());
        }
    }

    #[test]
    fn one_object_is_left_out() {
        let all = settled(&["192.0.2.1"]).len();
        assert_eq!((below_apex(&[]).len(), without_same_zone(&[]).len()), (all - 1, all - 1));
    }
}
