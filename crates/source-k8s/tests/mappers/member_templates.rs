//! Templates of nodes, pods and routes, and of services that a compatibility mode serves: when it is their turn, and what
//! their names stand for.

use serde_json::json;
use zonewright_core::catalog::{FlagValue, Settings};
use zonewright_source_k8s::kind::Kind;
use zonewright_source_k8s::options::{Compatibility, SourceOptions};
use zonewright_source_k8s::templates::Templates;

use crate::node::node;
use crate::scene::{Thing, check_in};

const FQDN: &str = "fqdn-template";
const PAIRS: &str = "fqdn-target-template";

/// Maps `thing` with one template, which adds to other names if `combine`.
fn check(id: &str, thing: &Thing, others: &[Thing], (flag, text): (&'static str, &str), combine: bool, expected: &str) {
    let change = |o: &mut SourceOptions| {
        let mut settings = Settings::default();
        settings.set(flag, FlagValue::List(vec![text.to_owned()]), true);
        o.templates = Templates::from_settings(&settings).expect("a template");
        o.combine_fqdn_annotation = combine;
        o.compatibility = Compatibility::KopsDnsController;
        o.expose_internal_ipv6 = true;
        o.gateway_listener_sets = true;
    };
    check_in(id, thing, others, change, expected);
}

#[test]
fn nodes() {
    let plain = node("node1", "ext:1.2.3.4 ext:5.6.7.8 int:2001:DB8::8");
    let v6 = "AAAA 2001:db8::8";
    for (id, template, combine, expected) in [
        (
            "D6, D7",
            (FQDN, "{{.Name}}.example.org"),
            false,
            format!("node1.example.org A 1.2.3.4 5.6.7.8 | node1.example.org {v6}"),
        ),
        ("DT1, DT3", (PAIRS, "{{.Name}}.example.org:9.9.9.9"), false, "node1.example.org A 9.9.9.9".to_owned()),
        (
            "DT2",
            (PAIRS, "{{.Name}}.example.org:lb.example.com"),
            false,
            "node1.example.org CNAME lb.example.com".to_owned(),
        ),
        (
            "DT4",
            (PAIRS, "all.example.org:9.9.9.9"),
            true,
            format!("all.example.org A 9.9.9.9 | node1 A 1.2.3.4 5.6.7.8 | node1 {v6}"),
        ),
        ("DT8", ("target-template", "9.9.9.9"), false, format!("node1 A 1.2.3.4 5.6.7.8 | node1 {v6}")),
    ] {
        check(id, &plain, &[], template, combine, &expected);
    }
    let named = plain.ann("hostname", "x.example.org").ann("target", "203.2.45.22").ann("ttl", "60");
    check("DT13, DT14", &named, &[], (FQDN, "{{.Name}}.example.org"), false, "node1.example.org A 203.2.45.22 ttl=60");
    check(
        "no address yet",
        &node("node1", ""),
        &[],
        (FQDN, "{{.Name}}.example.org"),
        false,
        "node1.example.org pending",
    );
}

#[test]
fn pods() {
    let nodes = [node("n1", "ext:54.10.11.1")];
    let ips = json!({"podIP": "10.0.1.1", "podIPs": [{"ip": "10.0.1.1"}, {"ip": "2001:db8::1"}, {"ip": ""}]});
    let plain = Thing::new(Kind::Pod, "ns", "pod1").with("spec.nodeName", "n1").with("status", ips);
    let template = (FQDN, "{{.Name}}.{{.Namespace}}.example.org");
    let all = "pod1.ns.example.org A 10.0.1.1 | pod1.ns.example.org AAAA 2001:db8::1";
    check("PT11, PT12", &plain, &nodes, template, false, all);
    check("PT13", &plain.ann("target", "9.9.9.9"), &nodes, template, false, all);
    let inner = plain.ann("internal-hostname", "i.example.org");
    check("PT4", &inner, &nodes, template, false, "i.example.org A 10.0.1.1");
    check("PT3", &inner, &nodes, template, true, &format!("i.example.org A 10.0.1.1 | {all}"));
    check("PT1", &plain, &nodes, (PAIRS, "{{.Name}}.example.org:9.9.9.9"), false, "pod1.example.org A 9.9.9.9");
    let lost = plain.with("spec.nodeName", "gone").ann("hostname", "o.example.org");
    check("PT14", &lost, &nodes, template, false, &format!("{all} | o.example.org pending"));
    let bare = plain.with("status", json!({}));
    check("PT18", &bare, &nodes, template, false, "pod1.ns.example.org pending");
}

#[test]
fn services_of_a_compatibility_mode() {
    let service = Thing::new(Kind::Service, "ns", "web").with("spec.type", "LoadBalancer").status("1.2.3.4");
    let kops = service.annotation("dns.alpha.kubernetes.io/external", "e.example.org").ann("ttl", "60");
    let template = (FQDN, "{{.Name}}.example.org");
    check("alone", &service, &[], template, false, "web.example.org A 1.2.3.4");
    check("what it gives stands before templates", &kops, &[], template, false, "e.example.org A 1.2.3.4");
    let both = "e.example.org A 1.2.3.4 | web.example.org A 1.2.3.4 ttl=60";
    check("the service's own settings hold for templates", &kops, &[], template, true, both);
}

#[cfg(feature = "gateway")]
#[test]
fn routes() {
    let reference = json!({"name": "gw"});
    let parent = json!({"parentRef": reference, "conditions": [{"type": "Accepted", "status": "True"}]});
    let route = |hosts: &[&str]| {
        let bare = Thing::new(Kind::HttpRoute, "ns", "test").with("spec.parentRefs", json!([reference]));
        let bare = bare.with("status.parents", json!([parent]));
        if hosts.is_empty() { bare } else { bare.with("spec.hostnames", hosts.to_vec()) }
    };
    let gateway = |hostname: &str| {
        let listener = json!({"name": "l", "protocol": "HTTP", "port": 80, "hostname": hostname});
        let bare = Thing::new(Kind::Gateway, "ns", "gw").with("spec.listeners", json!([listener]));
        [bare.with("status.addresses", json!([{"value": "1.2.3.4"}]))]
    };
    let three = (FQDN, "{{.Name}}.zero.internal, {{.Name}}.one.internal. , {{.Name}}.two.internal ");
    let expected = ["zero", "one", "two"].map(|name| format!("test.{name}.internal A 1.2.3.4")).join(" | ");
    check("G21", &route(&[]), &gateway(""), three, false, &expected);
    check("G21", &route(&["a.internal"]), &gateway(""), three, false, "a.internal A 1.2.3.4");
    let json = (FQDN, "{{range .Spec.hostnames}}{{.}}.json.internal,{{end}}");
    check("G22", &route(&["a"]), &gateway(""), json, true, "a A 1.2.3.4 | a.json.internal A 1.2.3.4");
    let named = (FQDN, "combine-{{.Name}}.internal");
    check(
        "G23",
        &route(&["a.internal"]),
        &gateway(""),
        named,
        true,
        "a.internal A 1.2.3.4 | combine-test.internal A 1.2.3.4",
    );
    let listened = "combine-test.internal A 1.2.3.4 | *.internal A 1.2.3.4";
    check("the listener's host comes besides", &route(&[]), &gateway("*.internal"), named, false, listened);
    let annotated = route(&[]).ann("gateway-hostname-source", "annotation-only").ann("hostname", "b.internal");
    check("not in annotation-only", &annotated, &gateway(""), named, true, "b.internal A 1.2.3.4");
}
