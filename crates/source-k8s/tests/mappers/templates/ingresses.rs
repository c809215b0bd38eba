//! Ingresses: IT, and the vectors of I that have a template.

use serde_json::{Value, json};

use super::{Change, FQDN, check, combine, ingress};
use crate::scene::Thing;

fn ruled(hosts: &[&str]) -> Thing {
    let rules: Vec<Value> = hosts.iter().map(|host| json!({ "host": host })).collect();
    ingress().with("metadata.name", "my-ingress").with("spec.rules", rules)
}

#[test]
fn ingresses() {
    let text = "{{.Name}}.ext-dns.test.com";
    let two = "{{.Name}}.ext-dns.test.com, {{.Name}}.ext-dna.test.com";
    let plain = ingress().status("8.8.8.8");
    let both = "fake1.ext-dns.test.com A 8.8.8.8 | fake1.ext-dna.test.com A 8.8.8.8";
    let target = "ingress-target.com";
    for (id, thing, text, change, expected) in [
        (
            "I29",
            plain.status("8.8.8.8 elb.com"),
            text,
            (|_| {}) as Change,
            "fake1.ext-dns.test.com A 8.8.8.8 | fake1.ext-dns.test.com CNAME elb.com",
        ),
        ("I28", plain.ann("controller", "other"), text, |_| {}, ""),
        ("I30", plain.clone(), two, |_| {}, both),
        ("I31, no rule", plain.clone(), two, combine, both),
        (
            "I31",
            plain.with("spec.rules", json!([{"host": "a.b"}])).ann("target", target),
            two,
            combine,
            "a.b CNAME ingress-target.com | fake1.ext-dns.test.com CNAME ingress-target.com
             | fake1.ext-dna.test.com CNAME ingress-target.com",
        ),
        ("I42", plain.ann("target", target), text, |_| {}, "fake1.ext-dns.test.com CNAME ingress-target.com"),
        ("I42, an address", plain.ann("target", "1.2.3.4"), text, |_| {}, "fake1.ext-dns.test.com A 1.2.3.4"),
        ("I43", ingress().ann("target", ""), text, |_| {}, "fake1.ext-dns.test.com pending"),
        ("I59", plain.clone(), "{{.FakeField}}.test.com", |_| {}, "! TemplateFailed"),
        (
            "I59, beside a rule",
            plain.with("spec.rules", json!([{"host": "a.b"}])),
            "{{.FakeField}}.test.com",
            combine,
            "a.b A 8.8.8.8 | ! TemplateFailed",
        ),
    ] {
        check(id, &thing, (FQDN, text), change, expected);
    }
}

#[test]
fn ingress_names() {
    let rule = ruled(&["example.org"]).status("10.200.130.84.nip.io");
    let lb = "10.200.130.84.nip.io";
    let of_status =
        r#"{{ range .Status.LoadBalancer.Ingress }}{{ if contains .Hostname "nip.io" }}example.org{{ end }}{{ end }}"#;
    let until = r#"{{ range .Spec.Rules }}{{ if contains .Host "example.org" }}{{ break }}{{ end }}{{ .Host }}.internal{{ end }}"#;
    let of_tls =
        r#"{{ range .Spec.TLS }}{{ range .Hosts }}{{ . | replace "." "-" }}.tls.example.org,{{ end }}{{ end }}"#;
    let tls = ruled(&["example.org"])
        .with("spec.tls", json!([{"hosts": ["a.org", "b.org"]}]))
        .with("status.loadBalancer.ingress", json!([{"ip": "10.09.15.25"}]));
    let odd =
        |names: &[&str]| names.iter().map(|name| format!("{name} CNAME 10.09.15.25")).collect::<Vec<_>>().join("|");
    let addresses = |names: &[&str]| {
        names.iter().map(|name| format!("{name} A 10.0.0.1 | {name} CNAME lb.com")).collect::<Vec<_>>().join("|")
    };
    for (id, thing, text, expected) in [
        ("IT1", rule.clone(), "{{.Name }}.nip.io", format!("example.org CNAME {lb} | my-ingress.nip.io CNAME {lb}")),
        ("IT2", rule.clone(), of_status, format!("example.org CNAME {lb}")),
        (
            "IT3",
            rule.ann("target", "10.200.130.84"),
            "tld.org",
            "example.org A 10.200.130.84 | tld.org A 10.200.130.84".to_owned(),
        ),
        ("IT4", rule.status("10.0.0.1"), "nip.io", "example.org A 10.0.0.1 | nip.io A 10.0.0.1".to_owned()),
        (
            "IT5",
            ruled(&["foo.bar.com", "example.org", "more.org"]).status("10.0.0.1 lb.com"),
            until,
            addresses(&["foo.bar.com", "example.org", "more.org", "foo.bar.com.internal"]),
        ),
        (
            "IT6",
            tls,
            of_tls,
            odd(&["example.org", "a.org", "b.org", "a-org.tls.example.org", "b-org.tls.example.org"])
                + "| ! SuspectTarget",
        ),
    ] {
        check(id, &thing, (FQDN, text), combine, &expected);
    }
}
