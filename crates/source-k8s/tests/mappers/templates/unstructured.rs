//! Objects of kinds that the user names: UT.

use serde_json::{Value, json};

use super::{FQDN, PAIRS, TARGET, check_unstructured, config_map, mapped, thing};
use crate::scene::Thing;

fn vm(interfaces: &Value) -> Thing {
    thing("kubevirt.io", "virtualmachineinstances", "VirtualMachineInstance", "my-vm")
        .with("status.interfaces", interfaces.clone())
}

#[test]
fn unstructured_names_at_targets() {
    let one = vm(&json!([{"name": "main", "ipAddress": "192.168.1.50"}]));
    let address = r#"{{index .Status.interfaces 0 "ipAddress"}}"#;
    let rds = thing("rds.aws.x.io", "instances", "RDSInstance", "prod-db")
        .with("status.atProvider.endpoint.address", "prod-db.abc.rds.amazonaws.com.");
    let either = r#"{{if eq .Kind "VirtualMachineInstance"}}{{index .Status.interfaces 0 "ipAddress"}}{{else}}{{.Status.atProvider.endpoint.address}}{{end}}"#;
    let name = "{{.Name}}.example.com";
    let vms_only = r#"{{if eq .Kind "VirtualMachineInstance"}}{{.Name}}.vm.com, ,{{end}}"#;
    let export = r#"{{trimSuffix (trimPrefix (index .Object.data "url") "https://") ":443"}}"#;
    let listed = config_map("multi-dns", json!({"hostnames": "entry1.internal.tld,entry2.example.tld"}));
    let annotated = one.ann("hostname", "own.example.com").ann("target", "10.0.0.1");
    for (id, thing, names, targets, combine, expected) in [
        (
            "UT1",
            listed,
            r#"{{index .Object.data "hostnames"}}"#,
            "10.10.10.10",
            false,
            &["entry1.internal.tld A 10.10.10.10", "entry2.example.tld A 10.10.10.10"][..],
        ),
        (
            "UT2",
            one.clone(),
            r#"{{.Name}}.{{index .Status.interfaces 0 "name"}}.vmi.com"#,
            address,
            false,
            &["my-vm.main.vmi.com A 192.168.1.50"],
        ),
        (
            "UT3",
            rds.clone(),
            "{{.Name}}.db.com",
            "{{.Status.atProvider.endpoint.address}}",
            false,
            &["prod-db.db.com CNAME prod-db.abc.rds.amazonaws.com"],
        ),
        (
            "UT5",
            rds.clone(),
            "{{.Name}}.a.com,{{.Name}}.b.com",
            "lb.com",
            false,
            &["prod-db.a.com CNAME lb.com", "prod-db.b.com CNAME lb.com"],
        ),
        ("UT6", one.label("host", "l"), r#"{{index .Labels "host"}}.com"#, address, false, &["l.com A 192.168.1.50"]),
        ("UT7", one.ann("ttl", "300"), name, address, false, &["my-vm.example.com A 192.168.1.50 ttl=300"]),
        ("UT8, an address", one.clone(), name, either, false, &["my-vm.example.com A 192.168.1.50"]),
        ("UT8, a host", rds.clone(), name, either, false, &["prod-db.example.com CNAME prod-db.abc.rds.amazonaws.com"]),
        (
            "UT10",
            annotated.clone(),
            name,
            "9.9.9.9",
            true,
            &["own.example.com A 10.0.0.1", "my-vm.example.com A 9.9.9.9"],
        ),
        ("UT10, alone", annotated, name, "9.9.9.9", false, &["own.example.com A 10.0.0.1"]),
        ("UT11", one.clone(), vms_only, address, false, &["my-vm.vm.com A 192.168.1.50"]),
        ("UT11, another kind", rds, vms_only, "{{.NotThere}}", false, &[]),
        (
            "UT12",
            config_map("e", json!({"url": "https://x.aws.com:443"})),
            name,
            export,
            false,
            &["e.example.com CNAME x.aws.com"],
        ),
    ] {
        check_unstructured(id, &thing, &[(FQDN, names), (TARGET, targets)], combine, expected);
    }
    let kind = mapped(&one, &[(FQDN, "{{.Kind}}.com"), (TARGET, "1.1.1.1")], false);
    assert_eq!(kind.endpoints[0].name.as_str(), "virtualmachineinstance.com", "UT9");
    let label = kind.endpoints[0].resource.as_deref();
    assert_eq!(label, Some("virtualmachineinstance/default/my-vm"));
}

#[test]
fn unstructured_pairs() {
    let at = |pod: &str, addresses: &[&str]| json!({"addresses": addresses, "targetRef": {"name": pod}});
    let slice = |endpoints: Value| {
        thing("discovery.k8s.io", "endpointslices", "EndpointSlice", "s").with("endpoints", endpoints)
    };
    let each =
        "{{range $e := .Object.endpoints}}{{range $e.addresses}}{{$e.targetRef.name}}.pod.com:{{.}},{{end}}{{end}}";
    let one_name = "{{range .Object.endpoints}}{{range .addresses}}svc.com:{{.}},{{end}}{{end}}";
    let never = r#"{{if eq .Kind "Pod"}}a.com:1.1.1.1{{end}}"#;
    let three = slice(json!([at("p", &["10.0.0.1", "10.0.0.2"]), at("q", &["10.0.0.3"])]));
    for (id, thing, text, expected) in [
        (
            "UT13",
            slice(json!([at("p", &["10.0.0.1", "2001:db8::1"]), at("q", &["10.0.0.2", "10.0.0.3"])])),
            each,
            &["p.pod.com A 10.0.0.1", "p.pod.com AAAA 2001:db8::1", "q.pod.com A 10.0.0.2 10.0.0.3"][..],
        ),
        ("UT14", three.clone(), one_name, &["svc.com A 10.0.0.1 10.0.0.2 10.0.0.3"]),
        ("UT15", three.clone(), never, &[]),
        ("UT17", three.clone(), "a.com", &["! TemplateItemSkipped"]),
        ("UT18", three.clone(), ":1.1.1.1", &["! TemplateItemSkipped"]),
        ("UT19", three.clone(), "a.com:", &["! TemplateItemSkipped", "a.com pending"]),
        ("neither", three.clone(), " : ", &["! TemplateItemSkipped"]),
        (
            "one good pair of two",
            three.clone(),
            "a.com:,b.com:1.1.1.1",
            &["! TemplateItemSkipped", "a.com pending", "b.com A 1.1.1.1"],
        ),
        (
            "one good target of two",
            three.clone(),
            "a.com:,a.com:1.1.1.1",
            &["! TemplateItemSkipped", "a.com A 1.1.1.1"],
        ),
        ("no target", three, "a.com:a b", &["! InvalidTarget", "a.com pending"]),
    ] {
        check_unstructured(id, &thing, &[(PAIRS, text)], false, expected);
    }
    let interfaces = vm(&json!([{"name": "a", "ipAddress": "10.0.0.1"}, {"name": "b", "ipAddress": "10.0.0.2"}]));
    let flags = [
        (PAIRS, "{{range .Status.interfaces}}{{.name}}.vm.com:{{.ipAddress}},{{end}}"),
        (FQDN, "{{.Name}}.com"),
        (TARGET, "9.9.9.9"),
    ];
    let both = ["a.vm.com A 10.0.0.1", "b.vm.com A 10.0.0.2", "my-vm.com A 9.9.9.9"];
    check_unstructured("UT16", &interfaces, &flags, true, &both);
    check_unstructured("UT16, without combining", &interfaces, &flags, false, &both[..2]);
}
