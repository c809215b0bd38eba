//! Section S: load balancers, and what all services share. Merging over objects (S56-S60) is the core's contention.

use serde_json::json;
use zonewright_core::endpoint::{ObjectPolicy, Sharing};
use zonewright_source_k8s::annotations::Prefixes;
use zonewright_source_k8s::kind::Kind;
use zonewright_source_k8s::objects::ServiceType::{LoadBalancer, NodePort};
use zonewright_source_k8s::options::SourceKind;
use zonewright_source_k8s::selector::MetadataSelector;

use crate::scene::{Thing, check, map, options};

const A: &str = "foo.example.org A 1.2.3.4";

fn bare() -> Thing {
    Thing::new(Kind::Service, "testing", "foo").with("spec.type", "LoadBalancer").status("1.2.3.4")
}

fn base() -> Thing {
    bare().ann("hostname", "foo.example.org.")
}

#[test]
fn names() {
    check("S1", &bare(), |_| {}, "");
    check("S2", &bare(), |o| o.ignore_hostname_annotation = true, "");
    check("S4", &base(), |o| o.ignore_hostname_annotation = true, "");
    let two = "bar.example.org A 1.2.3.4 | foo.example.org A 1.2.3.4";
    check("S11", &base().ann("hostname", "foo.example.org., bar.example.org."), |_| {}, two);
    check("S12", &base().ann("hostname", "foo.example.org, bar.example.org"), |_| {}, two);
    check("S29", &bare().annotation("zalando.org/dnsname", "foo.example.org."), |_| {}, "");
    check("one name in two spellings", &base().ann("hostname", "foo.example.org,FOO.example.org."), |_| {}, A);
    check("wildcard", &base().ann("hostname", "*.example.org"), |_| {}, "*.example.org A 1.2.3.4");
    check("underscore", &base().ann("hostname", "_a.example.org"), |_| {}, "_a.example.org A 1.2.3.4");
}

#[test]
fn targets() {
    for (id, thing, expected) in [
        ("S13", base().status("lb.example.com"), "foo.example.org CNAME lb.example.com"),
        (
            "S16",
            base().status("1.2.3.4 lb.example.com"),
            "foo.example.org A 1.2.3.4 | foo.example.org CNAME lb.example.com",
        ),
        ("S26", base().status(""), "foo.example.org pending"),
        ("S26, no status at all", base().with("status", json!(null)), "foo.example.org pending"),
        (
            "S27",
            base().with("spec.externalIPs", json!(["10.2.3.4", "11.2.3.4"])),
            "foo.example.org A 10.2.3.4 11.2.3.4",
        ),
        ("S28", base().status("1.2.3.4 8.8.8.8"), "foo.example.org A 1.2.3.4 8.8.8.8"),
        ("in the order stated", base().status("9.9.9.9 1.1.1.1 9.9.9.9"), "foo.example.org A 9.9.9.9 1.1.1.1"),
        ("S52", base().status("1.1.1.1 2001:db8::1"), "foo.example.org A 1.1.1.1 | foo.example.org AAAA 2001:db8::1"),
        ("S53", base().status("2001:db8::2"), "foo.example.org AAAA 2001:db8::2"),
        ("one spelling", base().status("2001:DB8:0::2"), "foo.example.org AAAA 2001:db8::2"),
        (
            "address and host name in one entry",
            base().with("status.loadBalancer.ingress", json!([{"ip": "1.2.3.4", "hostname": "lb.example.com"}])),
            "foo.example.org A 1.2.3.4 | foo.example.org CNAME lb.example.com",
        ),
        (
            "several host names are one endpoint",
            base().status("b.elb.com a.elb.com"),
            "foo.example.org CNAME b.elb.com a.elb.com",
        ),
    ] {
        check(id, &thing, |_| {}, expected);
    }
}

#[test]
fn filters() {
    let traffic = |value| base().annotation("service.beta.kubernetes.io/external-traffic", value);
    let among = "service.beta.kubernetes.io/external-traffic in (Global, OnlyLocal)";
    let equal = "service.beta.kubernetes.io/external-traffic=Global";
    for (id, value, filter, expected) in [
        ("S22", "OnlyLocal", among, A),
        ("S23", "SomethingElse", among, ""),
        ("S24", "Global", equal, A),
        ("S25", "OnlyLocal", equal, ""),
    ] {
        let filter = MetadataSelector::annotations(filter).expect("a filter of the vectors");
        check(id, &traffic(value), |o| o.annotation_filter = filter, expected);
    }
    let by_label = MetadataSelector::labels("app=web-external").expect("a filter of the vectors");
    let labelled = base().ann("hostname", "annotation.bar.example.com").label("app", "web-external");
    check("S49", &labelled, |o| o.label_filter = by_label.clone(), "annotation.bar.example.com A 1.2.3.4");
    check("S51", &labelled.label("app", "web-internal"), |o| o.label_filter = by_label, "");
    check("S3", &base(), |o| o.service_type_filter = vec![LoadBalancer], A);
    check("S43", &base(), |o| o.service_type_filter = vec![LoadBalancer], A);
    check("S44", &base().with("spec.type", "NodePort"), |o| o.service_type_filter = vec![LoadBalancer], "");
    check("S7, without its template", &base(), |o| o.service_type_filter = vec![NodePort], "");
    check("S17", &base().ann("controller", "dns-controller"), |_| {}, A);
    check("S18", &base().ann("controller", "some-other-tool"), |_| {}, "");
    check("empty controller", &base().ann("controller", ""), |_| {}, "");
    let elsewhere = base().with("metadata.namespace", "other-testing");
    check("S19", &base(), |o| o.namespace = "testing".to_owned(), A);
    check("S20", &elsewhere, |o| o.namespace = "testing".to_owned(), "");
    check("S21", &elsewhere, |_| {}, A);
}

#[test]
fn ttls() {
    for (id, ttl, expected) in [
        ("S39", "foo", "foo.example.org A 1.2.3.4 | ! InvalidTTL"),
        ("S40", "10", "foo.example.org A 1.2.3.4 ttl=10"),
        ("S41", "1m", "foo.example.org A 1.2.3.4 ttl=60"),
        ("S42", "-10", "foo.example.org A 1.2.3.4 | ! InvalidTTL"),
    ] {
        check(id, &base().ann("ttl", ttl), |_| {}, expected);
    }
    check("S38", &base(), |_| {}, A);
}

#[test]
fn internal_names() {
    let internal =
        |thing: Thing| thing.ann("internal-hostname", "foo.internal.example.org.").with("spec.clusterIP", "1.1.1.1");
    let inner = "foo.internal.example.org A 1.1.1.1";
    check("S45", &internal(base()).with("spec.type", "ClusterIP"), |_| {}, inner);
    check("S46", &internal(bare()), |_| {}, inner);
    check("S47", &internal(base()), |_| {}, &format!("{A} | {inner}"));
    check("headless", &internal(bare()).with("spec.clusterIP", "None"), |_| {}, "");
    check("no address yet", &internal(bare()).with("spec.clusterIP", ""), |_| {}, "foo.internal.example.org pending");
    let same = base().ann("internal-hostname", "foo.example.org").with("spec.clusterIP", "1.1.1.1");
    check("one name on both sides", &same, |_| {}, "foo.example.org A 1.2.3.4 1.1.1.1");
}

#[test]
fn settings_of_the_record() {
    check("S54", &base().ann("aws-weight", "10"), |_| {}, "foo.example.org A 1.2.3.4 aws/weight=10");
    check("S58", &base().ann("set-identifier", "a"), |_| {}, "foo.example.org A 1.2.3.4 set=a");
    check("empty set identifier", &base().ann("set-identifier", ""), |_| {}, A);
    check("alias", &base().ann("alias", "true"), |_| {}, "foo.example.org A 1.2.3.4 alias=true");
}

#[test]
fn origin_and_label() {
    let thing = base()
        .with("metadata.name", "foo1.2.3.4")
        .with("metadata.uid", "u-1")
        .with("metadata.creationTimestamp", "2024-01-01T00:00:00Z")
        .annotation("zonewright.dev/policy", "retain");
    let turned = options(|o| o.sources = vec![SourceKind::Ingress, SourceKind::Service]);
    let mapped = map(&thing, &[], &turned);
    let endpoint = &mapped.endpoints[0];
    assert_eq!(endpoint.resource.as_deref(), Some("service/testing/foo1.2.3.4"), "S55");
    assert_eq!((&*endpoint.origin.source, endpoint.origin.rank), ("service", 1));
    assert_eq!(endpoint.origin.object.to_string(), "Service testing/foo1.2.3.4");
    assert_eq!((&endpoint.origin.object.uid, endpoint.origin.created), (&"u-1".into(), Some(1_704_067_200)));
    assert_eq!((endpoint.sharing, endpoint.policy), (Sharing::Holder, Some(ObjectPolicy::Retain)));
    assert_eq!(mapped.kinds, [Kind::Service.id()].into());

    let pending = &map(&thing.status(""), &[], &turned).pending[0];
    assert_eq!(pending.resource.as_deref(), Some("service/testing/foo1.2.3.4"));
    assert_eq!(pending.reason, "status.loadBalancer.ingress has no address yet");
}

#[test]
fn prefixes() {
    let alpha = bare().annotation("external-dns.alpha.kubernetes.io/hostname", "foo.example.org");
    let with = |list: &'static [&'static str]| {
        let prefixes = Prefixes::parse(list).expect("good prefixes");
        move |o: &mut zonewright_source_k8s::options::SourceOptions| o.annotation_prefixes = prefixes
    };
    check("the other prefix", &alpha, |_| {}, "! OtherAnnotationPrefix");
    check("asked for", &alpha, with(&["external-dns.alpha.kubernetes.io/"]), A);
    check("as a fall-back", &alpha, with(&["x.example/", "external-dns.alpha.kubernetes.io/"]), A);
    check("split horizon", &alpha, with(&["x.example/"]), "");
    check("both", &alpha.ann("hostname", "bar.example.org"), |_| {}, "bar.example.org A 1.2.3.4");
    let note = &map(&alpha, &[], &options(|_| {})).notes[0];
    assert!(note.message.contains("--annotation-prefix=external-dns.alpha.kubernetes.io/"), "{}", note.message);
}

#[test]
fn an_object_names_provider_instances_by_annotation_or_label() {
    let key = "zonewright.dev/provider";
    let choice = |thing: &Thing| {
        let mapped = map(thing, &[], &options(|_| {}));
        mapped.endpoints.first().expect("an endpoint").origin.choice.as_ref().map(ToString::to_string)
    };
    let labelled = base().with(r"metadata.labels", json!({ key: "internal" }));
    assert_eq!(choice(&base()), None);
    assert_eq!(choice(&labelled), Some("internal".to_owned()));
    assert_eq!(choice(&labelled.annotation(key, "b, a")), Some("a, b".to_owned()));
    assert_eq!(choice(&base().annotation(key, "")), None);
}
