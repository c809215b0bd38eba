//! Section I. Joining over objects (I54) is the core's; templates (I28-I31, I42, I43, I59) stand with those of other sources.

use serde_json::{Value, json};
use zonewright_core::endpoint::Sharing;
use zonewright_source_k8s::kind::Kind;
use zonewright_source_k8s::selector::MetadataSelector;

use crate::scene::{Thing, check, map, options};

fn bare() -> Thing {
    Thing::new(Kind::Ingress, "testing", "fake1")
}

fn rule(host: &str) -> Thing {
    bare().with("spec.rules", json!([{ "host": host }])).status("8.8.8.8")
}

fn tls(blocks: Value) -> Thing {
    bare().with("spec.tls", blocks).status("8.8.8.8")
}

#[test]
fn targets() {
    for (id, entries, expected) in [
        ("I1", "lb.com", "foo.bar CNAME lb.com"),
        ("I2", "8.8.8.8", "foo.bar A 8.8.8.8"),
        ("I3", "2606:4700:4700::1111", "foo.bar AAAA 2606:4700:4700::1111"),
        (
            "I4",
            "8.8.8.8 127.0.0.1 2606:4700:4700::1111 2606:4700:4700::1001 elb.com alb.com",
            "foo.bar A 8.8.8.8 127.0.0.1 | foo.bar AAAA 2606:4700:4700::1111 2606:4700:4700::1001 | foo.bar CNAME elb.com alb.com",
        ),
        ("I55", "a.elb.com b.elb.com", "foo.bar CNAME a.elb.com b.elb.com"),
        ("I57", "1.2.3.4 foo.tld", "foo.bar A 1.2.3.4 | foo.bar CNAME foo.tld"),
        ("blank", "", "foo.bar pending"),
    ] {
        check(id, &rule("foo.bar").status(entries), |_| {}, expected);
    }
    let stated = |target| rule("foo.bar").ann("target", target);
    check("I32", &stated("ingress-target.com"), |_| {}, "foo.bar CNAME ingress-target.com");
    check("I32 address", &stated("1.2.3.4"), |_| {}, "foo.bar A 1.2.3.4");
    check("I43, with a rule", &stated("").status(""), |_| {}, "foo.bar pending");
    check("I56", &stated("a.com").status("a.elb.com b.elb.com"), |_| {}, "foo.bar CNAME a.com");
    check("a target needs no status", &stated("a.com").status(""), |_| {}, "foo.bar CNAME a.com");
}

#[test]
fn rule_hosts() {
    let long = format!("{}.org", "a".repeat(64));
    check("I5", &bare().status("8.8.8.8"), |_| {}, "");
    check("I6", &rule(""), |_| {}, "");
    check("I7", &rule("").status(""), |_| {}, "");
    check("I8", &rule("foo.bar"), |o| o.ignore_ingress_rules_spec = true, "");
    check("I9", &rule(&long), |_| {}, "! InvalidHostname");
    check("I11", &rule("foo.bar"), |_| {}, "foo.bar A 8.8.8.8");
    check("wildcard", &rule("*.foo.bar"), |_| {}, "*.foo.bar A 8.8.8.8");
    let twice = bare().with("spec.rules", json!([{"host": "a.b"}, {"http": {}}, {"host": "a.b"}])).status("1.1.1.1");
    check("each once", &twice, |_| {}, "a.b A 1.1.1.1");
}

#[test]
fn annotated_names() {
    let both = rule("foo.bar").ann("hostname", "foo.baz");
    let from = |source| both.ann("ingress-hostname-source", source);
    let two = "foo.bar A 8.8.8.8 | foo.baz A 8.8.8.8";
    check("I10", &both, |_| {}, two);
    check("I12", &from("defined-hosts-only"), |_| {}, "foo.bar A 8.8.8.8");
    check("I13", &from("annotation-only"), |_| {}, "foo.baz A 8.8.8.8");
    check("any case", &from("Annotation-Only"), |_| {}, "foo.baz A 8.8.8.8");
    for unknown in ["", "both"] {
        check("an unknown word gives no names", &from(unknown), |_| {}, "! InvalidAnnotation");
    }
    check("I36", &both, |_| {}, two);
    check("I37", &rule("a.b").ann("hostname", "c.d,e.f"), |_| {}, "a.b A 8.8.8.8 | c.d A 8.8.8.8 | e.f A 8.8.8.8");
    check("I38", &both.ann("target", "t.com"), |_| {}, "foo.bar CNAME t.com | foo.baz CNAME t.com");
    check("I44", &both, |o| o.ignore_hostname_annotation = true, "foo.bar A 8.8.8.8");
    let i50 = rule("app.example.com")
        .ann("hostname", "bla.example.org")
        .ann("target", "target.example.org")
        .status("1.2.3.4");
    check("I50", &i50, |_| {}, "app.example.com CNAME target.example.org | bla.example.org CNAME target.example.org");
}

#[test]
fn tls_hosts() {
    let a = |names: &[&str]| names.iter().map(|name| format!("{name} A 8.8.8.8")).collect::<Vec<_>>().join("|");
    check("I33", &tls(json!([{"hosts": ["a.b"]}])), |_| {}, &a(&["a.b"]));
    check("I34", &tls(json!([{"hosts": ["a.b", "c.d"]}])), |_| {}, &a(&["a.b", "c.d"]));
    let four = tls(json!([{"hosts": ["a.b", "c.d"]}, {"hosts": ["e.f", "g.h"]}]));
    check("I35", &four, |_| {}, &a(&["a.b", "c.d", "e.f", "g.h"]));
    check("I45", &four, |o| o.ignore_ingress_tls_spec = true, "");
    check("I46", &tls(json!([{"hosts": ["a.b"]}])), |_| {}, &a(&["a.b"]));
    let mixed = tls(json!([{"hosts": ["*.example.com", ""]}])).with("spec.rules", json!([{"host": "abc.example.com"}]));
    check("I51", &mixed, |_| {}, &a(&["*.example.com", "abc.example.com"]));
    check("I52", &mixed, |o| o.ignore_ingress_tls_spec = true, &a(&["abc.example.com"]));
}

#[test]
fn settings_of_the_record() {
    for (ttl, seconds) in [("6", 6), ("1", 1), ("10s", 10)] {
        check("I39", &rule("a.b").ann("ttl", ttl), |_| {}, &format!("a.b A 8.8.8.8 ttl={seconds}"));
    }
    let target = rule("a.b").ann("target", "t.com");
    check("I40", &target.ann("alias", "true"), |_| {}, "a.b CNAME t.com alias=true");
    check("I41", &target.ann("alias", "false"), |_| {}, "a.b CNAME t.com");
}

#[test]
fn filters() {
    let classed = |class| rule("a.b").annotation("kubernetes.io/ingress.class", class);
    let a = "a.b A 8.8.8.8";
    for (id, class, filter, expected) in [
        ("I21", "nginx", "kubernetes.io/ingress.class in (alb, nginx)", a),
        ("I22", "tectonic", "kubernetes.io/ingress.class in (alb, nginx)", ""),
        ("I24", "nginx", "kubernetes.io/ingress.class=nginx", a),
        ("I25", "alb", "kubernetes.io/ingress.class=nginx", ""),
    ] {
        let filter = MetadataSelector::annotations(filter).expect("a filter of the vectors");
        check(id, &classed(class), |o| o.annotation_filter = filter, expected);
    }
    check("I20", &rule("a.b"), |o| o.namespace = "testing1".to_owned(), "");
    check("I26", &rule("a.b").ann("controller", "dns-controller"), |_| {}, a);
    check("I27", &rule("a.b").ann("controller", "other"), |_| {}, "");
    let label = MetadataSelector::labels("app=web").expect("a filter of the vectors");
    check("I48", &rule("a.b").label("app", "web"), |o| o.label_filter = label.clone(), a);
    check("I49", &rule("a.b"), |o| o.label_filter = label, "");
}

/// I47: the class named in the spec, else the one in the annotation.
#[test]
fn classes() {
    for (class, annotation, kept) in [
        (None, None, false),
        (Some("public"), None, true),
        (Some("dmz"), None, true),
        (Some("internal"), None, false),
        (None, Some("dmz"), true),
        (Some("dmz"), Some("internal"), true),
        (Some("internal"), Some("dmz"), false),
        (Some(""), Some("dmz"), true),
        (Some(""), Some("internal"), false),
    ] {
        let mut thing = rule("a.b").with("spec.ingressClassName", class);
        if let Some(annotation) = annotation {
            thing = thing.annotation("kubernetes.io/ingress.class", annotation);
        }
        let classes = vec!["public".to_owned(), "dmz".to_owned()];
        let expected = if kept { "a.b A 8.8.8.8" } else { "" };
        check(&format!("I47 {class:?} {annotation:?}"), &thing, |o| o.ingress_class = classes, expected);
    }
}

/// I53, one object at a time.
#[test]
fn origin_and_label() {
    let mapped = map(&rule("keycloak.blah.com").ann("hostname", "other.blah.com"), &[], &options(|_| {}));
    assert_eq!(mapped.endpoints.len(), 2);
    for endpoint in &mapped.endpoints {
        assert_eq!(endpoint.resource.as_deref(), Some("ingress/testing/fake1"));
        assert_eq!((&*endpoint.origin.source, endpoint.origin.rank, endpoint.sharing), ("ingress", 1, Sharing::Holder));
    }
    assert_eq!(mapped.kinds, [Kind::Ingress.id()].into());
}
