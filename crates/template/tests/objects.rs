//! What templates see of objects: both readings, absent data, the shapes of the sources, names and pairs.

mod common;

use common::{SERVICE, check, input, names, pairs, parse, service};
use serde_json::{Value, json};
use zonewright_template::{Input, ObjectKind, Shape, Template};

const UNSTRUCTURED: Shape = Shape::Unstructured;

fn object(kind: &str, rest: &Value) -> Value {
    let mut whole = json!({"apiVersion": "x.test/v1", "kind": kind, "metadata": {"name": "one", "namespace": "ns"}});
    for (key, value) in rest.as_object().into_iter().flatten() {
        whole[key] = value.clone();
    }
    whole
}

#[test]
fn absent_data_never_becomes_a_name() {
    let odd = object("Thing", &json!({"spec": {"null": null, "hosts": []}}));
    for (text, typed, unstructured) in [
        ("{{.Labels.foo}}.x", "!there is no value", "!there is no value"),
        (r#"{{index .Labels "foo"}}x"#, "x", "x"),
        ("{{toLower .Labels.foo}}", "!expected string", "!expected string"),
        ("{{.Status.a.b.c}}x", "!can't evaluate field a", "!there is no value"),
        (r#"{{index .Status.list 0 "ip"}}"#, "!can't evaluate field list", "!index of untyped nil"),
        ("{{range .Status.list}}{{.}}{{end}}y", "!no entry for key \"list\"", "y"),
        ("{{range .Spec.hosts}}{{.}}{{end}}y", "y", "y"),
        ("{{.Spec.null.y}}", "!nil pointer", "!nil pointer"),
        ("{{if .Status.list}}a{{else}}b{{end}}", "!no entry for key \"list\"", "b"),
        ("{{print .Labels.foo}}.x", "!holds <nil>", "!holds <nil>"),
        ("{{html .Labels.foo}}.x", "!html: there is no value", "!html: there is no value"),
        ("{{.Nope}}", "!can't evaluate field Nope", "!can't evaluate field Nope"),
    ] {
        check(text, &odd, SERVICE, typed);
        check(text, &odd, UNSTRUCTURED, unstructured);
    }
}

#[test]
fn absent_typed_fields_have_zero_values() {
    let bare = json!({"metadata": {"name": "one"}});
    for (text, expected) in [
        ("{{.Kind}}.{{.APIVersion}}.{{.Name}}.{{.Namespace}}.x", "Service.v1.one..x"),
        ("{{.Spec.ClusterIP}}x", "x"),
        ("{{range .Spec.Ports}}{{.Name}}{{else}}none{{end}}", "none"),
        ("{{len .Status.LoadBalancer.Ingress}}", "0"),
        ("{{.Spec.PublishNotReadyAddresses}}{{.Spec.HealthCheckNodePort}}", "false0"),
        ("{{if .DeletionTimestamp}}a{{else}}b{{end}}", "b"),
        ("{{.CreationTimestamp}}", "0001-01-01 00:00:00 +0000 UTC"),
        ("{{.Spec.SessionAffinityConfig.ClientIP}}", "!nil pointer evaluating field ClientIP"),
        ("{{.Spec.hostname}}", "!can't evaluate field hostname"),
    ] {
        check(text, &bare, SERVICE, expected);
    }
    check("{{.Kind}}", &object("Other", &json!({})), SERVICE, "Other");
}

#[test]
fn data_of_a_wrong_type_is_reported() {
    let wrong = object("Service", &json!({"spec": {"ports": "x", "type": 5, "selector": []}}));
    check("{{.Spec.Ports}}", &wrong, SERVICE, "!ports: expected a list, found a text");
    check("{{.Spec.Type}}", &wrong, SERVICE, "!type: expected a text, found a number");
    check("{{.Spec.Selector}}", &wrong, SERVICE, "!selector: expected an object, found a list");
    for nothing in [json!(null), json!([]), json!("x")] {
        check("{{.Name}}", &nothing, SERVICE, "!object is nil");
        check("{{.Name}}", &nothing, UNSTRUCTURED, "!object is nil");
    }
    check("{{.Name}}", &json!({"metadata": 1, "spec": "x"}), UNSTRUCTURED, "!metadata: expected an object");
}

#[test]
fn every_kind_is_read_by_its_go_names() {
    let pod = json!({"metadata": {"name": "p"}, "spec": {"nodeName": "n1", "containers": [{"name": "c"}]},
        "status": {"podIP": "10.0.0.1", "podIPs": [{"ip": "10.0.0.1"}, {"ip": "::1"}]}});
    let node = json!({"metadata": {"name": "n"}, "status": {"nodeInfo": {"architecture": "arm64"}, "capacity": {"cpu": "4"},
        "addresses": [{"type": "InternalIP", "address": "10.1.1.1"}, {"type": "ExternalIP", "address": "243.186.136.160"}]}});
    let ingress = json!({"spec": {"rules": [{"host": "a.x"}, {"host": "b.x"}], "tls": [{"hosts": ["c.x"]}],
        "defaultBackend": {"service": {"name": "s", "port": {"number": 80}}}}});
    let route = json!({"spec": {"hostnames": ["a.x", "b.x"], "parentRefs": [{"name": "gw"}]}});
    let istio = json!({"spec": {"servers": [{"hosts": ["a.x", "b.x"], "port": {"number": 80, "name": "http"}}],
        "selector": {"app": "gw"}}});
    let openshift = json!({"spec": {"host": "a.x"}, "status": {"ingress": [{"routerCanonicalHostname": "r.x"}]}});
    let first_v4 = r#"{{range .Status.Addresses}}{{if and (eq .Type "ExternalIP") (isIPv4 .Address)}}ip-{{.Address | replace "." "-"}}.x{{break}}{{end}}{{end}}"#;
    for (kind, object, text, expected) in [
        (ObjectKind::Pod, &pod, "{{range .Status.PodIPs}}{{.IP}},{{end}}", "10.0.0.1,::1"),
        (
            ObjectKind::Pod,
            &pod,
            "{{.Spec.NodeName}}.{{(index .Spec.Containers 0).Name}}.{{.Kind | toLower}}",
            "n1.c.pod",
        ),
        (ObjectKind::Pod, &pod, "{{.Spec.Nope}}", "!can't evaluate field Nope in type PodSpec"),
        (ObjectKind::Node, &node, "{{.Status.NodeInfo.Architecture}}.{{.Namespace}}.x", "arm64..x"),
        (ObjectKind::Node, &node, first_v4, "ip-243-186-136-160.x"),
        (ObjectKind::Node, &node, "{{.Status.Capacity.cpu}}", "4"),
        (ObjectKind::Ingress, &ingress, "{{range .Spec.Rules}}{{.Host}}.int,{{end}}", "a.x.int,b.x.int"),
        (ObjectKind::Ingress, &ingress, "{{range .Spec.TLS}}{{index .Hosts 0}}{{end}}", "c.x"),
        (
            ObjectKind::Ingress,
            &ingress,
            "{{.Spec.DefaultBackend.Service.Port.Number}}.{{.APIVersion}}",
            "80.networking.k8s.io/v1",
        ),
        (ObjectKind::HttpRoute, &route, "{{range .Spec.Hostnames}}{{.}},{{end}}", "a.x,b.x"),
        (ObjectKind::HttpRoute, &route, "{{range .Spec.hostnames}}{{.}},{{end}}", "a.x,b.x"),
        (ObjectKind::TlsRoute, &route, "{{(index .Spec.ParentRefs 0).Name}}.{{.Kind}}", "gw.TLSRoute"),
        (ObjectKind::TcpRoute, &route, "{{(index .Spec.ParentRefs 0).Name}}", "gw"),
        (ObjectKind::IstioGateway, &istio, "{{range .Spec.Servers}}{{range .Hosts}}{{.}},{{end}}{{end}}", "a.x,b.x"),
        (ObjectKind::IstioGateway, &istio, "{{(index .Spec.Servers 0).Port.Number}}.{{.Kind}}", "80.Gateway"),
        (ObjectKind::IstioVirtualService, &json!({"spec": {"hosts": ["h.x"]}}), "{{index .Spec.Hosts 0}}", "h.x"),
        (ObjectKind::Route, &openshift, "{{range .Status.Ingress}}{{.RouterCanonicalHostname}}{{end}}", "r.x"),
        (
            ObjectKind::HttpProxy,
            &json!({"spec": {"virtualhost": {"fqdn": "f.x"}}}),
            "{{with .Spec.VirtualHost}}{{.Fqdn}}{{end}}",
            "f.x",
        ),
        (
            ObjectKind::VirtualServer,
            &json!({"spec": {"host": "v.x"}, "status": {"vsAddress": "1.1.1.1"}}),
            "{{.Spec.Host}}.{{.Status.VSAddress}}",
            "v.x.1.1.1.1",
        ),
        (
            ObjectKind::IngressRoute,
            &json!({"spec": {"routes": [{"match": "m"}]}}),
            "{{(index .Spec.Routes 0).Match}}",
            "m",
        ),
        (ObjectKind::IngressRoute, &json!({"spec": {"x": 1}}), "{{.Spec.X}}", "!can't evaluate field X"),
        (ObjectKind::IngressRouteTcp, &json!({}), "{{.Kind}}", "IngressRouteTCP"),
        (
            ObjectKind::RouteGroup,
            &json!({"metadata": {"name": "r"}, "spec": {"hosts": ["h.x"]}}),
            "{{.Metadata.Name}}.{{index .Spec.Hosts 0}}",
            "r.h.x",
        ),
        (ObjectKind::Proxy, &json!({"spec": {"dnsNames": "d"}}), "{{.Spec.DNSNames}}{{.Spec.dnsNames}}", "dd"),
        (ObjectKind::Proxy, &json!({"spec": {}}), "{{.Spec.Absent}}", "!can't evaluate field Absent"),
    ] {
        check(text, object, Shape::Typed(kind), expected);
    }
}

#[test]
fn every_kind_has_a_table_and_says_its_kind() {
    for kind in ObjectKind::ALL {
        let (name, version) = kind.type_meta();
        let text = "{{.Kind}} {{.APIVersion}} {{.Name}} {{.GetName}} {{.ObjectMeta.Name}} {{.TypeMeta.Kind}}";
        let object = json!({"metadata": {"name": "n"}});
        check(text, &object, Shape::Typed(kind), &format!("{name} {version} n n n {name}"));
    }
}

#[test]
fn unstructured_objects_offer_go_names_at_the_top_of_spec_and_status() {
    let vm = object(
        "VirtualMachineInstance",
        &json!({
            "spec": {"hostnames": ["a.x"], "url": "u", "dnsNames": ["d.x"], "ipAddress": "1.1.1.1", "endpoint": {"hostname": "e.x"},
                "records": {"one": 1, "two": 2}, "clash": "alias", "Clash": "key"},
            "status": {"interfaces": [{"name": "eth0", "ipAddress": "10.0.0.1"}, {"name": "", "ipAddress": "10.0.0.2"}]},
            "data": {"hostnames": "entry1.internal.tld,entry2.example.tld"},
            "endpoints": [{"addresses": ["10.0.0.1", "::1"], "targetRef": {"name": "p1"}}],
        }),
    );
    for (text, expected) in [
        ("{{range .Spec.Hostnames}}{{.}}{{end}}", "a.x"),
        ("{{.Spec.URL}}{{.Spec.url}}", "uu"),
        ("{{index .Spec.DNSNames 0}}", "d.x"),
        ("{{.Spec.IPAddress}}", "1.1.1.1"),
        ("{{.Spec.Endpoint.hostname}}", "e.x"),
        ("{{.Spec.Endpoint.Hostname}}", "!there is no value"),
        ("{{.Spec.Clash}}", "key"),
        ("{{range $k, $v := .Spec.records}}{{$k}}-{{$v}},{{end}}{{len .Spec.records}}", "2,one-1,two-2"),
        ("{{len .Spec}}", "14"),
        (r#"{{.Name}}.{{index .Status.interfaces 0 "name"}}.vmi.com"#, "one.eth0.vmi.com"),
        ("{{(index .Status.interfaces 0).ipAddress}}", "10.0.0.1"),
        (r#"{{index .Object.data "hostnames"}}"#, "entry1.internal.tld,entry2.example.tld"),
        ("{{.Metadata.name}}.{{.Namespace}}.{{.Kind}}.{{.APIVersion}}", "one.ns.VirtualMachineInstance.x.test/v1"),
        (r#"{{if eq .Kind "ConfigMap"}}x{{end}}"#, ""),
        ("{{.GetName}}.{{.Object.metadata.namespace}}", "one.ns"),
        (
            "{{range .Object.endpoints}}{{$n := .targetRef.name}}{{range .addresses}}{{$n}}.x:{{.}},{{end}}{{end}}",
            "p1.x:10.0.0.1,p1.x:::1",
        ),
    ] {
        check(text, &vm, UNSTRUCTURED, expected);
    }
}

#[test]
fn names_are_split_trimmed_and_sorted() {
    let object = service();
    for (text, expected) in [
        ("b.{{.Name}}. ,a.x, ,\n\tc.x.\u{a0},b.my-svc", "a.x,b.my-svc,c.x"),
        ("x..", "x."),
        (",,", ""),
        (".", ""),
        ("{{ .Name }}.example.com, {{ .Namespace }}.example.org", "my-svc.example.com,prod.example.org"),
        (r#"{{if hasKey .Labels "empty"}}{{.Name}}.has{{end}}"#, "my-svc.has"),
        (
            r#"{{$n := .Name}}{{range $i, $x := (fromJson (index .Annotations "list"))}}{{$x}}.{{$n}},{{end}}"#,
            "q.my-svc,w.my-svc",
        ),
        (r#"{{range .Spec.Ports}}{{.Name}}.{{$.Name}}{{printf ","}}{{end}}"#, "dns.my-svc,http.my-svc"),
        (r#"{{range $k, $v := .Labels}}{{if contains $k "app"}}{{$v}}.x{{end}}{{end}}"#, "web.x"),
        (r#"{{if isSource "Service"}}s{{else}}o{{end}}"#, "s"),
    ] {
        check(text, &object, SERVICE, expected);
    }
}

#[test]
fn pairs_are_split_at_the_first_colon() {
    let found = pairs("a.x:1.2.3.4, b.x : 2001:db8::1 ,nothing,:1.1.1.1,c.x:,b.x:lb.example.", &service(), SERVICE);
    let got: Vec<_> = found.pairs.iter().map(|p| (p.host.as_str(), p.target.as_str())).collect();
    assert_eq!(got, [("a.x", "1.2.3.4"), ("b.x", "2001:db8::1"), ("b.x", "lb.example")]);
    let skipped: Vec<_> = found.skipped.iter().map(|s| (s.item.as_str(), s.reason)).collect();
    assert_eq!(
        skipped,
        [
            (":1.1.1.1", "expected host:target, found no host"),
            ("c.x:", "expected host:target, found no target"),
            ("nothing", "expected host:target, found no colon"),
        ]
    );
}

#[test]
fn is_source_knows_the_names_it_is_given() {
    let object = service();
    let run = |text: &str, source| {
        let template = parse(text);
        template.names(Input { source, ..input(&object, SERVICE) }).map(|n| n.join(","))
    };
    let asks = r#"{{isSource "inGress"}}"#;
    assert_eq!(run(asks, Some("ingress")).as_deref(), Ok("true"));
    assert_eq!(run(asks, Some("service")).as_deref(), Ok("false"));
    assert_eq!(run(asks, None).as_deref(), Ok("false"));
    for source in [None, Some("service")] {
        let failure = run(r#"{{isSource "zzz"}}"#, source).expect_err("unknown");
        assert!(failure.message.contains("the sources are ingress, service, unstructured"), "{failure}");
    }
}

#[test]
fn a_failure_names_flag_place_object_and_both_readings() {
    let values = ["x".to_owned(), "y{{.Name}}\n {{.Spec.nope}}".to_owned()];
    let template = Template::parse("--target-template", &values).expect("good").expect("not blank");
    let failure = template.names(input(&service(), SERVICE)).expect_err("no such field");
    assert_eq!(
        failure.to_string(),
        "--target-template on Service prod/my-svc: value 1, line 2, column 4: can't evaluate field nope in type ServiceSpec \
         (read by JSON keys: value 1, line 2, column 4: map has no entry for key \"nope\")"
    );
    let whole = names("{{print nil}}", &service(), SERVICE).expect_err("absent");
    assert_eq!(whole.position, None);
    assert!(whole.to_string().starts_with("--fqdn-template on Service prod/my-svc: a value is absent"), "{whole}");
}
