//! Section U. U11 is reported at start; templates (UT) stand with those of other sources.

use serde_json::json;
use zonewright_source_k8s::kind::Kind;
use zonewright_source_k8s::options::SourceOptions;
use zonewright_source_k8s::selector::MetadataSelector;
use zonewright_source_k8s::sources::roles;

use crate::scene::{Thing, check, map, options};

fn kind() -> Kind {
    Kind::custom("kubevirt.io", "v1", "virtualmachineinstances", "", true)
}

fn vm(name: &str) -> Thing {
    Thing::new(kind(), "default", name)
        .with("kind", "VirtualMachineInstance")
        .with("apiVersion", "kubevirt.io/v1")
        .ann("hostname", "my-vm.example.com")
        .ann("target", "10.0.0.1")
}

fn reading(o: &mut SourceOptions) {
    o.unstructured = vec![kind()];
}

const VM: &str = "my-vm.example.com A 10.0.0.1";

#[test]
fn annotated_names() {
    check("U1", &vm("my-vm").ann("target", "::1234:5678"), reading, "my-vm.example.com AAAA ::1234:5678");
    check("U2", &vm("my-vm").ann("ttl", "300"), reading, "my-vm.example.com A 10.0.0.1 ttl=300");
    check("U3", &vm("my-vm").ann("controller", "dns-controller"), reading, VM);
    check("U4", &vm("my-vm").ann("controller", "other"), reading, "");
    check("U10", &vm("my-vm").ann("cloudflare-proxied", "true").ann("set-identifier", "s"), reading, VM);
    let several = vm("my-vm").ann("hostname", "b.org,a.org").ann("target", "10.0.0.11,x.org,10.0.0.9,10.0.0.10");
    let each = "a.org A 10.0.0.10 10.0.0.11 10.0.0.9 | a.org CNAME x.org | b.org A 10.0.0.10 10.0.0.11 10.0.0.9 | b.org CNAME x.org";
    check("each name at each target, sorted by text", &several, reading, each);
    let only = |key: &str| Thing::new(kind(), "default", "my-vm").ann(key, "a.org");
    check("a name without target", &only("hostname"), reading, "");
    check("a target without name", &only("target"), reading, "");
    check(
        "no valid target",
        &vm("my-vm").ann("target", "a b:c"),
        reading,
        "my-vm.example.com pending | ! InvalidTarget",
    );
    check(
        "a name that is ignored elsewhere",
        &vm("my-vm"),
        |o| {
            reading(o);
            o.ignore_hostname_annotation = true;
        },
        VM,
    );
    check(
        "another namespace",
        &vm("my-vm"),
        |o| {
            reading(o);
            o.namespace = "other".to_owned();
        },
        "",
    );
}

#[test]
fn filters() {
    let labels =
        |o: &mut SourceOptions| o.label_filter = MetadataSelector::labels("env=prod").expect("a filter of the vectors");
    let annotations = |o: &mut SourceOptions| {
        o.annotation_filter = MetadataSelector::annotations("team=platform").expect("a filter of the vectors");
    };
    for (id, label, team, expected) in [
        ("U5 to U9, both", "prod", "platform", [VM, VM, VM]),
        ("U5 to U9, label", "prod", "other", [VM, "", ""]),
        ("U5 to U9, annotation", "dev", "platform", ["", VM, ""]),
        ("U6, U8", "dev", "other", ["", "", ""]),
    ] {
        let thing = vm("my-vm").label("env", label).annotation("team", team);
        check(
            id,
            &thing,
            |o| {
                reading(o);
                labels(o);
            },
            expected[0],
        );
        check(
            id,
            &thing,
            |o| {
                reading(o);
                annotations(o);
            },
            expected[1],
        );
        check(
            id,
            &thing,
            |o| {
                reading(o);
                labels(o);
                annotations(o);
            },
            expected[2],
        );
    }
}

/// The label of U1, U2 and UT1: the object's own kind, and always a namespace.
#[test]
fn labels() {
    let resource = |thing: &Thing| map(thing, &[], &options(reading)).endpoints[0].resource.clone();
    assert_eq!(resource(&vm("my-vm")).as_deref(), Some("virtualmachineinstance/default/my-vm"));
    assert_eq!(
        resource(&vm("n1").with("metadata.namespace", json!(null))).as_deref(),
        Some("virtualmachineinstance//n1")
    );
    let roles = roles(&options(reading));
    let role = roles.iter().find(|role| role.kind == kind()).expect("the source is in use");
    assert!(
        role.labels.iter().any(|label| &**label == "virtualmachineinstance"),
        "a claim is known by the plural's kind"
    );
}

#[test]
fn one_role_for_each_kind() {
    let maps = Kind::custom("", "v1", "configmaps", "", true);
    let kinds = |options: &SourceOptions| {
        roles(options).iter().map(|role| role.kind).filter(|k| matches!(k, Kind::Custom(_))).collect::<Vec<_>>()
    };
    assert_eq!(kinds(&options(|o| o.unstructured = vec![kind(), maps])), [kind(), maps]);
    assert_eq!(kinds(&options(|_| {})), []);
}
