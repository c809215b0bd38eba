//! Sections C and X: cluster addresses, the `target` annotation, external names.

use serde_json::json;
use zonewright_source_k8s::kind::Kind;
use zonewright_source_k8s::objects::ServiceType::{ClusterIp, ExternalName, NodePort};

use crate::scene::{Thing, check, map, options};

fn base() -> Thing {
    Thing::new(Kind::Service, "testing", "foo")
        .with("spec.type", "ClusterIP")
        .with("spec.clusterIP", "1.2.3.4")
        .ann("hostname", "foo.example.org.")
}

#[test]
fn cluster_addresses() {
    let headless = base().with("spec.clusterIP", "None");
    let long = format!("{}.example.org", "a".repeat(64));
    for (id, thing, expected) in [
        ("C1", base(), "foo.example.org A 1.2.3.4"),
        ("C2", base().ann("target", "4.3.2.1"), "foo.example.org A 4.3.2.1"),
        ("C3", base().ann("target", "bar.example.org."), "foo.example.org CNAME bar.example.org"),
        ("C4", base().ann("target", "2001:DB8::1"), "foo.example.org AAAA 2001:db8::1"),
        (
            "C5",
            base().ann("target", "bar.example.org.,baz.example.org."),
            "foo.example.org CNAME bar.example.org baz.example.org",
        ),
        (
            "C6",
            base().ann("target", "bar.example.org.,baz.example.org.,2001:DB8::1"),
            "foo.example.org AAAA 2001:db8::1 | foo.example.org CNAME bar.example.org baz.example.org",
        ),
        ("C9", base().ann("target", "bar.example.org."), "foo.example.org CNAME bar.example.org"),
        ("C11", Thing::new(Kind::Service, "testing", "foo").with("spec.clusterIP", "None"), ""),
        ("C12", headless.ann("target", "bar.example.org."), "foo.example.org CNAME bar.example.org"),
        ("C16", base().ann("hostname", &long), "! InvalidHostname"),
        ("an empty target is none", base().ann("target", ""), "foo.example.org A 1.2.3.4"),
        ("no address yet", base().with("spec.clusterIP", ""), "foo.example.org pending"),
        ("IPv6", base().with("spec.clusterIP", "2001:db8::9"), "foo.example.org AAAA 2001:db8::9"),
        (
            "only the first address",
            base().with("spec.clusterIPs", json!(["1.2.3.4", "::1"])),
            "foo.example.org A 1.2.3.4",
        ),
        (
            "external addresses do not count",
            base().with("spec.externalIPs", json!(["9.9.9.9"])),
            "foo.example.org A 1.2.3.4",
        ),
        ("an absent type is ClusterIP", base().with("spec.type", json!(null)), "foo.example.org A 1.2.3.4"),
        ("an unknown type", base().with("spec.type", "Mesh"), ""),
    ] {
        check(id, &thing, |o| o.publish_internal_services = true, expected);
    }
    check("S5", &base(), |_| {}, "");
    check("nothing is asked for, so nothing is pending", &base().with("spec.clusterIP", ""), |_| {}, "");
    let target = base().ann("target", "4.3.2.1");
    check("a target needs no flag", &target, |_| {}, "foo.example.org A 4.3.2.1");
    for (id, thing) in [("C7", base()), ("C8", target)] {
        check(id, &thing, |o| (o.publish_internal_services, o.ignore_hostname_annotation) = (true, true), "");
    }
}

#[test]
fn a_target_annotation_needs_no_other_object() {
    for service_type in ["ClusterIP", "NodePort", "LoadBalancer", "ExternalName"] {
        let thing = base().with("spec.type", service_type).with("spec.clusterIP", "None").ann("target", "4.3.2.1");
        let mapped = map(&thing.with("spec.ports", json!([{"nodePort": 30192}])), &[], &options(|_| {}));
        assert_eq!(mapped.endpoints.len(), 1, "{service_type}");
        assert_eq!(mapped.kinds, [Kind::Service.id()].into(), "{service_type}");
    }
}

#[test]
fn external_names() {
    let base = Thing::new(Kind::Service, "testing", "service")
        .with("spec.type", "ExternalName")
        .with("spec.externalName", "remote.example.com")
        .ann("hostname", "service.example.org");
    let named = |name: &str| base.with("spec.externalName", name);
    let ips = |ips: &[&str]| base.with("spec.externalIPs", json!(ips));
    for (id, thing, expected) in [
        ("X1", named("111.111.111.111"), "service.example.org A 111.111.111.111"),
        ("X2", named("2001:db8::111"), "service.example.org AAAA 2001:db8::111"),
        ("X3", named("remote.example.com"), "service.example.org CNAME remote.example.com"),
        ("X4", ips(&["10.2.3.4", "11.2.3.4"]), "service.example.org A 10.2.3.4 11.2.3.4"),
        (
            "X5",
            ips(&["10.2.3.4", "2001:db8::1", "11.2.3.4"]),
            "service.example.org A 10.2.3.4 11.2.3.4 | service.example.org AAAA 2001:db8::1",
        ),
        ("not set yet", named(""), "service.example.org pending"),
    ] {
        check(id, &thing, |o| o.service_type_filter = vec![NodePort, ExternalName], expected);
    }
    check("X6", &base, |o| o.service_type_filter = vec![NodePort, ClusterIp], "");
}
