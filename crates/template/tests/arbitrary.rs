//! Arbitrary templates over arbitrary objects: an answer, never a panic. The soak runs many more.

mod common;

use common::input;
use proptest::prelude::*;
use serde_json::{Map, Value};
use zonewright_template::{ObjectKind, Shape, Template};

fn cases(base: u32) -> ProptestConfig {
    let times = if std::env::var_os("ZONEWRIGHT_SOAK").is_some() { 500 } else { 1 };
    ProptestConfig { cases: base * times, failure_persistence: None, ..ProptestConfig::default() }
}

fn shape() -> impl Strategy<Value = Shape> {
    prop_oneof![Just(Shape::Unstructured), proptest::sample::select(ObjectKind::ALL.to_vec()).prop_map(Shape::Typed),]
}

fn key() -> impl Strategy<Value = String> {
    prop_oneof![
        proptest::sample::select(vec![
            "metadata",
            "name",
            "namespace",
            "labels",
            "annotations",
            "spec",
            "status",
            "kind",
            "ports",
            "hostnames",
            "loadBalancer",
            "ingress",
            "ip",
            "rules",
            "host",
            "addresses",
            "creationTimestamp",
            "selector",
            "clusterIP",
        ])
        .prop_map(str::to_owned),
        "[a-zA-Z.é]{0,4}",
    ]
}

fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::vec((key(), inner), 0..5)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

/// Pieces of the language in any order: most are no template, many are.
fn text() -> impl Strategy<Value = String> {
    let pieces = vec![
        "{{",
        "}}",
        "{{-",
        "-}}",
        "{{if ",
        "{{else}}",
        "{{else if ",
        "{{end}}",
        "{{range ",
        "{{with ",
        "{{define \"a\"}}",
        "{{template \"a\" ",
        "{{block \"b\" .}}",
        "{{break}}",
        "{{/* c */}}",
        ".Name",
        ".Labels",
        ".Spec",
        ".Status",
        ".Object",
        ".Metadata",
        ".Annotations",
        ".Spec.Ports",
        ".Status.LoadBalancer.Ingress",
        ".spec",
        ".metadata",
        "$",
        "$x",
        "$x := ",
        "$i, $x := ",
        "$x = ",
        "|",
        "(",
        ")",
        " ",
        ",",
        ".",
        "\"s\"",
        "`r`",
        "'c'",
        "12",
        "-3",
        "1.5",
        "0x1f",
        "1e3",
        "nil",
        "true",
        "printf \"%v %5d %-3s %x %q %[1]v\" ",
        "print ",
        "index ",
        "slice ",
        "len ",
        "eq ",
        "lt ",
        "and ",
        "or ",
        "not ",
        "html ",
        "js ",
        "urlquery ",
        "fromJson ",
        "hasKey ",
        "toLower ",
        "replace \"a\" \"\" ",
        "contains ",
        "isSource \"service\"",
        "call ",
    ];
    let piece = prop_oneof![9 => proptest::sample::select(pieces).prop_map(str::to_owned), 1 => ".{0,4}"];
    proptest::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

/// Whole actions that parse, so that the evaluator is reached.
fn action() -> impl Strategy<Value = String> {
    let value = proptest::sample::select(vec![
        ".",
        ".Name",
        ".Labels",
        ".Labels.a",
        ".Annotations",
        ".Spec",
        ".Spec.Ports",
        ".Spec.ports",
        ".Spec.Hostnames",
        ".Status",
        ".Status.LoadBalancer.Ingress",
        ".Status.Addresses",
        ".Object",
        ".Object.spec",
        ".Metadata",
        ".CreationTimestamp",
        "$",
        "1",
        "-1",
        "2.5",
        "\"%v%d%s%q%x%t%c\"",
        "\"ab\"",
        "true",
        "(fromJson \"[1,{\\\"a\\\":null}]\")",
        "(index .Spec.Ports 0)",
        "nil",
    ]);
    let function = proptest::sample::select(vec![
        "print",
        "printf",
        "println",
        "index",
        "slice",
        "len",
        "eq",
        "ne",
        "lt",
        "le",
        "gt",
        "ge",
        "and",
        "or",
        "not",
        "html",
        "js",
        "urlquery",
        "contains",
        "trimPrefix",
        "trimSuffix",
        "trim",
        "toLower",
        "replace",
        "isIPv4",
        "isIPv6",
        "hasKey",
        "fromJson",
    ]);
    let call = (function, proptest::collection::vec(value.clone(), 0..4))
        .prop_map(|(f, args)| format!("({f} {})", args.join(" ")));
    let operand = prop_oneof![value.prop_map(str::to_owned), call];
    (operand, 0..5).prop_map(|(operand, form)| match form {
        0 => format!("{{{{{operand}}}}}"),
        1 => format!("{{{{range $k, $v := {operand}}}}}{{{{$k}}}}.{{{{$v}}}},{{{{else}}}}e{{{{end}}}}"),
        2 => format!("{{{{with {operand}}}}}{{{{.}}}},{{{{end}}}}"),
        3 => format!("{{{{if {operand}}}}}y{{{{end}}}}"),
        _ => format!("{{{{$q := {operand}}}}}{{{{print $q}}}}"),
    })
}

fn run(text: String, object: &Value, shape: Shape) {
    let Ok(Some(template)) = Template::parse("f", &[text]) else { return };
    let names = template.names(input(object, shape));
    let _ = template.pairs(input(object, shape));
    for name in names.iter().flatten() {
        assert!(!name.is_empty() && name.trim_start() == name && !name.contains(','), "{name:?}");
        assert!(!name.contains("<no value>") && !name.contains("<nil>"), "{name:?}");
    }
}

proptest! {
    #![proptest_config(cases(400))]

    #[test]
    fn soak_any_text_over_any_object(text in text(), object in json(), shape in shape()) {
        run(text, &object, shape);
    }

    #[test]
    fn soak_any_action_over_any_object(actions in proptest::collection::vec(action(), 1..4), object in json(), shape in shape()) {
        run(actions.concat(), &object, shape);
    }

    #[test]
    fn text_without_actions_is_itself(text in "[a-z][a-z. }]{0,11}", shape in shape()) {
        let template = Template::parse("f", std::slice::from_ref(&text)).expect("no action").expect("not blank");
        let object = serde_json::json!({"metadata": {}});
        let trimmed = text.trim_end();
        prop_assert_eq!(template.names(input(&object, shape)), Ok(vec![trimmed.strip_suffix('.').unwrap_or(trimmed).to_owned()]));
    }
}
