//! Services: ST, and the vectors of S, C and N that have a template.

use serde_json::{Value, json};
use zonewright_source_k8s::kind::Kind;
use zonewright_source_k8s::objects::ServiceType::{ClusterIp, LoadBalancer, NodePort};
use zonewright_source_k8s::options::{Compatibility, SourceOptions};
use zonewright_source_k8s::selector::MetadataSelector;

use super::{Change, FQDN, PAIRS, check, check_among, combine, my_svc, service, set, st};
use crate::node::node;
use crate::scene::{Thing, check_in};

fn labels(o: &mut SourceOptions) {
    o.label_filter = MetadataSelector::labels("app=web-external").expect("a filter of the vectors");
}

#[test]
fn load_balancers() {
    let bare = service("LoadBalancer").status("1.2.3.4");
    let both = bare.status("1.2.3.4 elb.com");
    let two = bare.ann("hostname", "foo.example.org., bar.example.org.");
    let s6 = "{{.Name}}.fqdn.org,{{.Name}}.fqdn.com";
    let s34 = "{{.Name}}.bar.example.com";
    let templated = "foo.fqdn.org A 1.2.3.4 | foo.fqdn.com A 1.2.3.4";
    let all = format!("foo.example.org A 1.2.3.4 | bar.example.org A 1.2.3.4 | {templated}");
    let web = |value| bare.label("app", value);
    for (id, thing, text, change, expected) in [
        ("S6", bare.clone(), s6, (|o| o.service_type_filter = vec![LoadBalancer, NodePort]) as Change, templated),
        ("S7", bare.clone(), s6, |o| o.service_type_filter = vec![NodePort], ""),
        ("S8", bare.clone(), s6, |o| o.ignore_hostname_annotation = true, templated),
        ("S9", two.clone(), s6, combine, &all),
        (
            "S10",
            two,
            s6,
            |o| {
                combine(o);
                o.ignore_hostname_annotation = true;
            },
            templated,
        ),
        ("S18", bare.ann("controller", "some-other-tool"), s6, |_| {}, ""),
        ("S34", both.clone(), s34, |_| {}, "foo.bar.example.com A 1.2.3.4 | foo.bar.example.com CNAME elb.com"),
        (
            "S35",
            both.ann("hostname", "foo.example.org"),
            s34,
            |_| {},
            "foo.example.org A 1.2.3.4 | foo.example.org CNAME elb.com",
        ),
        (
            "S36",
            bare.annotation("zalando.org/dnsname", "mate.example.org"),
            s34,
            |o| o.compatibility = Compatibility::Mate,
            "mate.example.org A 1.2.3.4",
        ),
        ("S37", bare.clone(), "{{.Calibre}}.bar.example.com", |_| {}, "! TemplateFailed"),
        ("S48", web("web-external"), "fqdn.bar.example.com", labels, "fqdn.bar.example.com A 1.2.3.4"),
        ("S50", web("web-internal"), "fqdn.bar.example.com", labels, ""),
    ] {
        check(id, &thing, (FQDN, text), change, expected);
    }
}

#[test]
fn cluster_addresses_and_nodes() {
    let internal = service("ClusterIP").with("spec.clusterIP", "4.5.6.7");
    let labelled = internal.label("app", "web-external");
    let node_port = service("NodePort").with("spec.ports", json!([{"nodePort": 30192}]));
    let nodes = [node("node1", "ext:54.10.11.1 ext:2001:DB8::1"), node("node2", "ext:54.10.11.2 ext:2001:DB8::3")];
    let address = "foo.bar.example.com A 4.5.6.7";
    for (id, thing, change, expected) in [
        ("C10", internal.clone(), (|_| {}) as Change, address),
        ("C13", labelled.clone(), labels, address),
        ("C14", labelled.ann("target", "bar.example.com."), labels, "foo.bar.example.com CNAME bar.example.com"),
        ("C15", internal.label("app", "other"), labels, ""),
        (
            "N3",
            node_port,
            |_| {},
            "_foo._tcp.foo.bar.example.com SRV 0 50 30192 foo.bar.example.com.
             | foo.bar.example.com A 54.10.11.1 54.10.11.2 | foo.bar.example.com AAAA 2001:db8::1 2001:db8::3",
        ),
    ] {
        let all = |o: &mut SourceOptions| {
            set(o, &[(FQDN, "{{.Name}}.bar.example.com")]);
            o.publish_internal_services = true;
            change(o);
        };
        check_in(id, &thing, &nodes, all, expected);
    }
}

fn st_combine(o: &mut SourceOptions) {
    st(o);
    combine(o);
}

#[test]
fn service_pairs() {
    let named = my_svc().ann("hostname", "named.example.com");
    for (id, thing, text, change, expected) in [
        ("ST1", my_svc(), "{{.Name}}.example.com:1.2.3.4", st as Change, "my-svc.example.com A 1.2.3.4"),
        ("ST2", my_svc(), "{{.Name}}.example.com:lb.example.com", st, "my-svc.example.com CNAME lb.example.com"),
        (
            "ST3",
            named.clone(),
            "{{.Name}}.tmpl.example.com:lb.example.com",
            st_combine,
            "named.example.com A 10.0.0.1 | my-svc.tmpl.example.com CNAME lb.example.com",
        ),
        ("ST4", named, "{{.Name}}.tmpl.example.com:lb.example.com", st, "named.example.com A 10.0.0.1"),
        (
            "ST5",
            my_svc(),
            "{{.Kind | toLower}}.{{.Name}}.example.com:1.2.3.4",
            st,
            "service.my-svc.example.com A 1.2.3.4",
        ),
        ("ST6", my_svc(), "{{.Name}}.example.com", st, "! TemplateItemSkipped"),
        ("ST8", my_svc(), "{{.Name}}.{{.APIVersion}}.example.com:1.2.3.4", st, "my-svc.v1.example.com A 1.2.3.4"),
        ("IPv6", my_svc(), "{{.Name}}.example.com:2001:db8::1", st, "my-svc.example.com AAAA 2001:db8::1"),
    ] {
        check(id, &thing, (PAIRS, text), change, expected);
    }
}

#[test]
fn service_names() {
    let ports = json!([{"name": "http", "port": 80}, {"name": "https", "port": 443}]);
    let external = service("ExternalName").with("spec.externalName", "remote.example.com");
    let balanced = my_svc()
        .with("spec.type", "LoadBalancer")
        .with("spec.clusterIPs", json!(["10.0.0.1", "2001:db8::9"]))
        .ann("internal-hostname", "a.internal,b.internal")
        .status("lb.example.com");
    let external_only = r#"{{ if eq .Spec.Type "ExternalName" }}{{.Name}}.example.com{{end}}"#;
    let web_only = r#"{{ if eq (index .Spec.Selector "app") "web" }}{{.Name}}.example.com{{ end }}"#;
    let of_labels = r#"{{ range $k, $v := .Labels }}{{ if contains $k "app" }}{{ $v }}.example.com,{{ end }}{{ end }}"#;
    let zones = r#"{{ if eq (.Spec.TrafficDistribution | printf "%s") "PreferClose" }}{{ .Name }}.{{ index .Annotations "zone" }}.example.com{{ end }}"#;
    let of_ports = r#"{{ range .Spec.Ports }}{{ .Name }}.{{ $.Name }}.example.com.{{ printf "," }}{{ end }}"#;
    let all = "{{ .Name }}.{{ .Namespace }}.example.tld, all.example.org";
    let close = my_svc().with("spec.trafficDistribution", "PreferClose").with("spec.externalIPs", json!(["9.9.9.9"]));
    for (id, thing, text, change, expected) in [
        (
            "ST7",
            my_svc(),
            "{{.Kind | toLower}}.{{.Name}}.example.com",
            st as Change,
            "service.my-svc.example.com A 10.0.0.1",
        ),
        ("ST9, one", my_svc(), all, st_combine, "my-svc.default.example.tld A 10.0.0.1 | all.example.org A 10.0.0.1"),
        (
            "ST9, the other",
            my_svc().with("metadata.name", "b").with("spec.clusterIP", "10.0.0.2"),
            all,
            st_combine,
            "b.default.example.tld A 10.0.0.2 | all.example.org A 10.0.0.2",
        ),
        (
            "ST10",
            balanced,
            "{{.Name}}.tmpl.example.com",
            st_combine,
            "a.internal A 10.0.0.1 | b.internal A 10.0.0.1 | my-svc.tmpl.example.com CNAME lb.example.com",
        ),
        ("ST11, a load balancer", service("LoadBalancer").status("1.2.3.4"), external_only, st, ""),
        ("ST11", external, external_only, st, "foo.example.com CNAME remote.example.com"),
        ("ST12", my_svc().with("spec.selector", json!({"app": "web"})), web_only, st, "my-svc.example.com A 10.0.0.1"),
        ("ST12, another", my_svc().with("spec.selector", json!({"app": "db"})), web_only, st, ""),
        ("ST15", close.annotation("zone", "eu-1"), zones, st, "my-svc.eu-1.example.com A 10.0.0.1"),
        ("ST15, another", close.with("spec.trafficDistribution", "Other").annotation("zone", "x"), zones, st, ""),
        (
            "ST16",
            my_svc().with("spec.clusterIP", "2001:db8::1").with("spec.ports", ports),
            of_ports,
            st,
            "http.my-svc.example.com AAAA 2001:db8::1 | https.my-svc.example.com AAAA 2001:db8::1",
        ),
        (
            "ST20",
            my_svc().label("app1", "one").label("my-app", "two").label("tier", "three"),
            of_labels,
            st,
            "one.example.com A 10.0.0.1 | two.example.com A 10.0.0.1",
        ),
    ] {
        check(id, &thing, (FQDN, text), change, expected);
    }
}

fn endpoint(pod: &str, address: &str) -> Value {
    json!({"addresses": [address], "conditions": {"ready": true}, "targetRef": {"kind": "Pod", "name": pod}})
}

/// Two pods behind a headless service, on a node with an external address.
fn members() -> Vec<Thing> {
    let pod = |name: &str, host_ip: &str| {
        let pod = Thing::new(Kind::Pod, "default", name).label("app", "web").with("spec.hostname", name);
        pod.with("spec.nodeName", "test-node").with("status.hostIP", host_ip)
    };
    let slice = Thing::new(Kind::EndpointSlice, "default", "my-svc-1")
        .label("kubernetes.io/service-name", "my-svc")
        .with("addressType", "IPv4")
        .with("endpoints", json!([endpoint("p0", "10.1.0.1"), endpoint("p1", "10.1.0.2")]));
    vec![node("test-node", "ext:203.0.113.10"), pod("p0", "10.1.20.40"), pod("p1", "10.1.20.41"), slice]
}

#[test]
fn members_of_services() {
    let headless = my_svc().with("spec.clusterIP", "None");
    let by_node = headless.ann("endpoints-type", "NodeExternalIP");
    let hosts = |base: &str, first: &str, second: &str| {
        let all = if first == second { first.to_owned() } else { format!("{first} {second}") };
        format!("{base} A {all} | p0.{base} A {first} | p1.{base} A {second}")
    };
    let base = "my-svc.example.org";
    let no_nodes: Change = |o| {
        st(o);
        o.service_type_filter = vec![ClusterIp];
    };
    let of_hosts: Change = |o| {
        st(o);
        o.publish_host_ip = true;
    };
    for (id, thing, change, expected) in [
        ("ST13", by_node.clone(), st as Change, hosts(base, "203.0.113.10", "203.0.113.10")),
        ("ST14", by_node, no_nodes, format!("{base} pending | p0.{base} pending | p1.{base} pending | ! NodesNotRead")),
        ("ST17", headless.clone(), st, hosts(base, "10.1.0.1", "10.1.0.2")),
        ("ST18", headless, of_hosts, hosts(base, "10.1.20.40", "10.1.20.41")),
    ] {
        check_among(id, &thing, &members(), (FQDN, "{{.Name}}.example.org"), change, &expected);
    }
    let port = |port: u16, protocol: &str| json!({"nodePort": port, "protocol": protocol});
    let two = |name: &str, ports: [Value; 2]| {
        my_svc().with("metadata.name", name).with("spec.type", "NodePort").with("spec.ports", ports.to_vec())
    };
    let one = two("service-one", [port(30001, "TCP"), port(30002, "TCP")]);
    let three = two("service-three", [port(30003, "TCP"), port(30004, "UDP")]);
    let text = r#"{{ if eq .Spec.Type "NodePort" }}http.host.tld{{ end }}"#;
    let address = "http.host.tld A 203.0.113.10";
    let srv = |owner: &str, port: u16| format!("{owner}.http.host.tld SRV 0 50 {port} http.host.tld.");
    for (id, thing, expected) in [
        ("ST19", one, format!("{} 0 50 30002 http.host.tld. | {address}", srv("_service-one._tcp", 30001))),
        (
            "ST19, UDP",
            three,
            format!("{} | {} | {address}", srv("_service-three._tcp", 30003), srv("_service-three._udp", 30004)),
        ),
        ("ST19, another type", my_svc(), String::new()),
    ] {
        check_among(id, &thing, &members(), (FQDN, text), st, &expected);
    }
}
