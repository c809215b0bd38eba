//! Section P: pods under annotated names, at their own addresses or those of their nodes.

use serde_json::json;
use zonewright_core::endpoint::Sharing;
use zonewright_source_k8s::kind::Kind;
use zonewright_source_k8s::options::{Compatibility, SourceKind, SourceOptions};

use crate::node::node;
use crate::scene::{Thing, check_in, map, options};

const INTERNAL: &str = "dns.alpha.kubernetes.io/internal";
const EXTERNAL: &str = "dns.alpha.kubernetes.io/external";

fn pod(name: &str, node: &str, ips: &str) -> Thing {
    let list: Vec<_> = ips.split_whitespace().map(|ip| json!({ "ip": ip })).collect();
    Thing::new(Kind::Pod, "kube-system", name)
        .with("spec", json!({"nodeName": node, "hostNetwork": true}))
        .with("status", json!({"podIP": ips.split_whitespace().next(), "podIPs": list}))
}

/// The pod of the vectors, on the first node, with both annotations.
fn both() -> Thing {
    pod("my-pod1", "my-node1", "10.0.1.1")
        .ann("hostname", "a.foo.example.org")
        .ann("internal-hostname", "internal.a.foo.example.org")
}

fn check(id: &str, thing: &Thing, change: impl FnOnce(&mut SourceOptions), expected: &str) {
    let nodes = [
        node("my-node1", "ext:54.10.11.1 int:10.0.1.1"),
        node("my-node2", "ext:54.10.11.2 int:10.0.1.2"),
        node("v6", "int:2001:DB8::1"),
        node("mixed", "ext:54.10.11.1 int:2001:DB8::1 int:10.0.1.1"),
        node("inner", "int:10.0.1.1"),
    ];
    let pods = |o: &mut SourceOptions| {
        o.sources = vec![SourceKind::Pod];
        change(o);
    };
    check_in(id, thing, &nodes, pods, expected);
}

fn kops(options: &mut SourceOptions) {
    options.compatibility = Compatibility::KopsDnsController;
}

#[test]
fn annotated_names() {
    check(
        "P1",
        &both(),
        |o| o.ignore_non_host_network_pods = true,
        "a.foo.example.org A 54.10.11.1 | internal.a.foo.example.org A 10.0.1.1",
    );
    let second = pod("my-pod2", "my-node2", "10.0.1.2").ann("hostname", "a.foo.example.org");
    check("P1", &second, |_| {}, "a.foo.example.org A 54.10.11.2");
    let v6 =
        pod("p", "v6", "2001:DB8::1").ann("hostname", "a.foo.example.org").ann("internal-hostname", "i.example.org");
    check("P3", &v6, |_| {}, "a.foo.example.org AAAA 2001:db8::1 | i.example.org AAAA 2001:db8::1");
    check(
        "P5",
        &both().ann("target", "208.1.2.1"),
        |_| {},
        "a.foo.example.org A 208.1.2.1 | internal.a.foo.example.org A 208.1.2.1",
    );
    let mixed = pod("p", "mixed", "10.0.1.1").ann("hostname", "a.foo.example.org").ann("ttl", "1h30m");
    check(
        "P6",
        &mixed,
        |_| {},
        "a.foo.example.org A 54.10.11.1 ttl=5400 | a.foo.example.org AAAA 2001:db8::1 ttl=5400",
    );
    let two = pod("p", "", "10.0.1.1").ann("internal-hostname", "a.example.org, b.example.org");
    check("P9", &two, |_| {}, "a.example.org A 10.0.1.1 | b.example.org A 10.0.1.1");
    check(
        "the flag for hostname annotations is not for pods",
        &two,
        |o| o.ignore_hostname_annotation = true,
        "a.example.org A 10.0.1.1 | b.example.org A 10.0.1.1",
    );
    let same =
        pod("p", "my-node1", "10.0.1.1").ann("internal-hostname", "a.example.org").ann("hostname", "a.example.org");
    check("one name from both sides", &same, |_| {}, "a.example.org A 10.0.1.1 54.10.11.1");
    for (id, key, value, expected) in [
        ("P15", "aws-weight", "10", "i.example.org A 10.0.1.1"),
        ("P15", "set-identifier", "a", "i.example.org A 10.0.1.1"),
        ("P16", "controller", "dns-controller", "i.example.org A 10.0.1.1"),
        ("P17", "controller", "other", ""),
        ("ttl", "ttl", "1s", "i.example.org A 10.0.1.1 ttl=1"),
    ] {
        check(
            id,
            &pod("p", "", "10.0.1.1").ann("internal-hostname", "i.example.org").ann(key, value),
            |_| {},
            expected,
        );
    }
}

#[test]
fn host_network_and_namespace() {
    let own = both().with("spec.hostNetwork", false);
    let all = "a.foo.example.org A 54.10.11.1 | internal.a.foo.example.org A 10.0.1.1";
    check("P7", &own, |o| o.ignore_non_host_network_pods = true, "");
    check("P7, flag off", &own, |_| {}, all);
    check("P8", &both(), |o| o.namespace = "kube-system".to_owned(), all);
    check("P8", &both(), |o| o.namespace = "default".to_owned(), "");
    let inner = pod("p", "", "192.168.1.1").ann("internal-hostname", "i.example.org");
    check("P11", &inner.with("spec.hostNetwork", false), |_| {}, "i.example.org A 192.168.1.1");
    check("P12", &inner, |_| {}, "i.example.org A 192.168.1.1");
    for phase in ["Failed", "Succeeded", "Pending"] {
        check("the phase does not count", &both().with("status.phase", phase), |_| {}, all);
    }
}

#[test]
fn source_domain() {
    let domain = |o: &mut SourceOptions| o.pod_source_domain = "example.org".to_owned();
    let plain = pod("my-pod1", "", "192.168.1.1").ann("ttl", "60");
    check("P10", &plain, domain, "my-pod1.example.org A 192.168.1.1 ttl=60");
    check(
        "P13",
        &both().ann("target", "208.1.2.1"),
        domain,
        "a.foo.example.org A 208.1.2.1 | internal.a.foo.example.org A 208.1.2.1 | my-pod1.example.org A 208.1.2.1",
    );
    let skipped = |o: &mut SourceOptions| {
        domain(o);
        o.ignore_non_host_network_pods = true;
    };
    check("not on the host's network", &plain.with("spec.hostNetwork", false), skipped, "");
    check("no address yet", &pod("my-pod1", "", ""), domain, "my-pod1.example.org pending");
}

#[test]
fn kops_annotations() {
    let plain = pod("my-pod1", "my-node1", "10.0.1.1").annotation(EXTERNAL, "a.example.org, b.example.org");
    let plain = plain.annotation(INTERNAL, "i.example.org");
    let all = "a.example.org A 54.10.11.1 | b.example.org A 54.10.11.1 | i.example.org A 10.0.1.1";
    check("P2", &plain, kops, all);
    check("P2, mode off", &plain, |_| {}, "");
    check("P2, another mode", &plain, |o| o.compatibility = Compatibility::Mate, "");
    check("the target annotation is not for these", &plain.ann("target", "9.9.9.9"), kops, all);
    let v6 = pod("p", "v6", "2001:DB8::1").annotation(EXTERNAL, "a.example.org").annotation(INTERNAL, "i.example.org");
    check(
        "P4",
        &v6.ann("ttl", "5"),
        kops,
        "a.example.org AAAA 2001:db8::1 ttl=5 | i.example.org AAAA 2001:db8::1 ttl=5",
    );
    check(
        "besides the usual ones",
        &plain.ann("internal-hostname", "j.example.org"),
        kops,
        &format!("{all} | j.example.org A 10.0.1.1"),
    );
    let skipped = |o: &mut SourceOptions| {
        kops(o);
        o.ignore_non_host_network_pods = true;
    };
    check("not on the host's network", &plain.with("spec.hostNetwork", false), skipped, "");
}

#[test]
fn what_is_not_known_now() {
    let external = |node: &str| pod("p", node, "10.0.1.1").ann("hostname", "a.example.org");
    check("P14", &external("nowhere"), |_| {}, "a.example.org pending");
    check("no node yet", &external(""), |_| {}, "a.example.org pending");
    check("a node with internal addresses only", &external("inner"), |_| {}, "a.example.org pending");
    check(
        "no address yet",
        &pod("p", "", "").ann("internal-hostname", "i.example.org"),
        |_| {},
        "i.example.org pending",
    );
    check(
        "P14: a name from the annotation needs no node",
        &external("nowhere").ann("target", "1.1.1.1"),
        |_| {},
        "a.example.org A 1.1.1.1",
    );
    let options = options(|o| o.sources = vec![SourceKind::Pod]);
    let mapped = map(&external("nowhere"), &[], &options);
    assert_eq!(mapped.pending[0].reason, "node nowhere is not known");
}

/// P19.
#[test]
fn endpoints_carry_no_label_and_join() {
    let mapped = map(
        &pod("p", "", "10.0.1.1").ann("internal-hostname", "i.example.org"),
        &[],
        &options(|o| o.sources = vec![SourceKind::Pod]),
    );
    let endpoint = &mapped.endpoints[0];
    assert_eq!((endpoint.resource.as_deref(), endpoint.sharing), (None, Sharing::Union));
    assert_eq!(endpoint.origin.object.to_string(), "Pod kube-system/p");
}
