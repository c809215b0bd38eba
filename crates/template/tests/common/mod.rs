//! Running one template over one object.

#![allow(dead_code, reason = "each test file uses a part")]

use serde_json::{Value, json};
use zonewright_template::{Input, ObjectKind, Pairs, Shape, Template, TemplateFailure};

pub(crate) const SOURCES: [&str; 3] = ["ingress", "service", "unstructured"];
pub(crate) const SERVICE: Shape = Shape::Typed(ObjectKind::Service);

pub(crate) fn parse(text: &str) -> Template {
    let parsed = Template::parse("--fqdn-template", &[text.to_owned()]);
    parsed.unwrap_or_else(|e| panic!("{text}: {e}")).unwrap_or_else(|| panic!("{text:?} is blank"))
}

pub(crate) fn input(object: &Value, shape: Shape) -> Input<'_> {
    Input { object, shape, source: Some("service"), sources: &SOURCES }
}

pub(crate) fn names(text: &str, object: &Value, shape: Shape) -> Result<Vec<String>, TemplateFailure> {
    parse(text).names(input(object, shape))
}

pub(crate) fn pairs(text: &str, object: &Value, shape: Shape) -> Pairs {
    parse(text).pairs(input(object, shape)).unwrap_or_else(|e| panic!("{text}: {e}"))
}

/// `expected` is the names joined by `,`; or, behind `!`, a part of the failure.
pub(crate) fn check(text: &str, object: &Value, shape: Shape, expected: &str) {
    match (names(text, object, shape), expected.strip_prefix('!')) {
        (Ok(names), None) => assert_eq!(names.join(","), expected, "{text}"),
        (Err(failure), Some(part)) => assert!(failure.to_string().contains(part), "{text}: {failure}\nwanted {part}"),
        (Ok(names), Some(part)) => panic!("{text}: gives {names:?}, should fail with {part}"),
        (Err(failure), None) => panic!("{text}: {failure}, should give {expected:?}"),
    }
}

pub(crate) fn service() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": {
            "name": "my-svc", "namespace": "prod", "uid": "u-1", "generation": 3,
            "creationTimestamp": "2024-01-02T03:04:05Z",
            "labels": {"app": "web", "empty": "", "a.b/c": "Z"},
            "annotations": {
                "list": r#"["q","w"]"#, "bad": "{", "null": "null",
                "obj": r#"{"port":80,"big":1e21,"f":1.5,"n":null,"l":[1,"a",{"x":true}]}"#,
            },
        },
        "spec": {
            "type": "LoadBalancer", "clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"], "selector": {"run": "r1"},
            "trafficDistribution": "PreferClose", "allocateLoadBalancerNodePorts": false,
            "ports": [
                {"name": "http", "port": 80, "targetPort": 8080, "protocol": "TCP"},
                {"name": "dns", "port": 53, "targetPort": "domain"},
            ],
        },
        "status": {"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}, {"hostname": "lb.example.com"}]}},
    })
}
