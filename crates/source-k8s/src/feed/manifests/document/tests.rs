use std::fmt::Write as _;

use super::*;
use crate::objects::Service;
use crate::options::{SourceKind, SourceOptions};

fn wanted(namespace: Option<&str>) -> DocumentReads {
    let sources = vec![SourceKind::Service, SourceKind::Ingress];
    let namespace = namespace.unwrap_or_default().to_owned();
    let options = SourceOptions { sources, namespace, ..SourceOptions::default() };
    DocumentReads { reads: options.reads(), keep: options.keep() }
}

/// Objects and faults, one on each line, with the lines of the text.
fn shown(parsed: &Parsed) -> String {
    let objects = parsed.objects.iter().map(|at| format!("{} {}\n", at.line, at.what.key()));
    let faults = parsed.faults.iter().map(|at| format!("{}! {}\n", at.line, at.what));
    objects.chain(faults).collect()
}

#[track_caller]
fn check(format: Format, text: &str, expected: &str) {
    assert_eq!(shown(&parse(text, format, &wanted(None))), expected, "{text}");
}

#[track_caller]
fn check_yaml(text: &str, expected: &str) {
    check(Format::Yaml, text, expected);
}

const SERVICE: &str = "apiVersion: v1\nkind: Service\nmetadata: {name: web, namespace: a}\n";

#[test]
fn documents() {
    check_yaml("", "");
    check_yaml("# nothing\n\n---\n---\n# nothing either\n", "");
    check_yaml(SERVICE, "1 Service a/web\n");
    check_yaml(&format!("---\n# the shop\n{SERVICE}"), "3 Service a/web\n");
    check_yaml(&format!("%YAML 1.2\n---\n{SERVICE}...\n"), "3 Service a/web\n");
    check_yaml(&SERVICE.replace('\n', "\r\n"), "1 Service a/web\n");
    check_yaml(
        &format!("{SERVICE}---\n{}--- # last\n{}", SERVICE.replace("web", "two"), SERVICE.replace("web", "three")),
        "1 Service a/web\n5 Service a/two\n8 Service a/three\n",
    );
    check_yaml("--- {apiVersion: v1, kind: Service, metadata: {name: web}}\n", "1 Service default/web\n");
    check_yaml("apiVersion: v1\nkind: Node\nmetadata: {name: n1, namespace: odd}\n", "1 Node n1\n");
}

#[test]
fn kinds_that_nobody_reads_are_passed_over() {
    check_yaml("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n", "");
    check_yaml("apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [a.yaml]\n", "");
    check_yaml("apiVersion: v2\nkind: Service\nmetadata: {name: x}\n", "");
}

#[test]
fn lists() {
    check_yaml(
        "kind: List\napiVersion: v1\nitems:\n- apiVersion: v1\n  kind: Service\n  metadata: {name: one}\n\
         - {apiVersion: v1, kind: ConfigMap, metadata: {name: x}}\n# last\n- apiVersion: networking.k8s.io/v1\n  \
         kind: Ingress\n  metadata: {name: two}\n",
        "4 Service default/one\n9 Ingress default/two\n",
    );
    check_yaml(
        "apiVersion: v1\nkind: ServiceList\nitems:\n- metadata: {name: one}\n- metadata: {}\n",
        "4 Service default/one\n5! Service, metadata: `name` is missing\n",
    );
    check_yaml("apiVersion: v1\nkind: ServiceList\nmetadata: {}\nitems: []\n", "");
    check_yaml("apiVersion: v1\nkind: SecretList\nitems:\n- metadata: {name: one}\n", "");
    check_yaml(
        "apiVersion: v1\nkind: List\nitems: [1]\n",
        "3! this is no object; expected apiVersion, kind and metadata\n",
    );
}

#[test]
fn json_streams() {
    check(Format::Json, "", "");
    check(
        Format::Json,
        "{\"apiVersion\": \"v1\", \"kind\": \"Service\",\n\t\"metadata\": {\"name\": \"web\"}}\n\n{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[\
         {\"apiVersion\":\"v1\",\"kind\":\"Service\",\"metadata\":{\"name\":\"two\"}}]}",
        "1 Service default/web\n4 Service default/two\n",
    );
    check(Format::Json, "{\n\"a\": }", "2! expected value\n");
}

#[test]
fn faults_name_their_line() {
    check_yaml("a: 1\nb: [\nc", "2! unclosed bracket '['\n");
    check_yaml(
        &format!("{SERVICE}---\na:\n  b: 1\n\tc: 1\n"),
        "1 Service a/web\n6! while scanning a plain scalar, found a tab\n",
    );
}

#[test]
fn a_fault_costs_its_document_only() {
    let parsed =
        parse(&format!("{SERVICE}---\na: \"open\n---\n{}", SERVICE.replace("web", "two")), Format::Yaml, &wanted(None));
    assert_eq!(parsed.objects.iter().map(|at| at.line).collect::<Vec<_>>(), [1, 7]);
    assert_eq!(parsed.faults.len(), 1);
    assert!((5..=6).contains(&parsed.faults[0].line), "{:?}", parsed.faults);
}

#[test]
fn incomplete_documents() {
    let cases = [
        ("replicaCount: 1\n", "1! `apiVersion` is missing\n"),
        ("- 1\n", "1! this is no object; expected apiVersion, kind and metadata\n"),
        ("just text\n", "1! this is no object; expected apiVersion, kind and metadata\n"),
        ("apiVersion: v1\n", "1! `kind` is missing\n"),
        ("apiVersion: 1\nkind: Service\n", "1! `apiVersion` is 1; expected a name\n"),
        ("\n# x\napiVersion: v1\nkind: Service\n", "3! Service without metadata; expected metadata.name\n"),
        ("apiVersion: v1\nkind: Service\nmetadata: {generateName: x}\n", "1! Service, metadata: `name` is missing\n"),
        (
            "apiVersion: v1\nkind: Service\nmetadata: {name: 7}\n",
            "1! Service, metadata: `name` is 7; expected a name\n",
        ),
        (
            "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {externalIPs: text}\n",
            "1! Service default/web: spec.externalIPs: invalid type: string \"text\", expected a sequence\n",
        ),
        (
            "apiVersion: v1\nkind: Service\nmetadata: {name: web, annotations: {x/ttl: 60}}\n",
            "1! Service web: metadata.annotations, x/ttl: expected text, found 60; put it in quotes\n",
        ),
        (
            "apiVersion: v1\nkind: Service\nmetadata: {name: web, labels: {x: true}}\n",
            "1! Service web: metadata.labels, x: expected text, found true; put it in quotes\n",
        ),
    ];
    for (text, expected) in cases {
        check_yaml(text, expected);
    }
}

#[test]
fn words_of_yaml_1_1_are_text() {
    for word in ["yes", "no", "on", "off", "y", "n", "0644", "1_000", "12:30:45", "2024-01-01"] {
        let text = format!("{SERVICE}spec: {{externalName: {word}}}\n");
        let parsed = parse(&text, Format::Yaml, &wanted(None));
        let [At { what, .. }] = &parsed.objects[..] else { panic!("{word}: {parsed:?}") };
        let service = what.body::<Service>().expect("a Service");
        assert_eq!(&*service.spec.external_name, word);
    }
}

#[test]
fn duplicate_keys_are_a_fault() {
    check_yaml("apiVersion: v1\nkind: A\nkind: B\n", "3! duplicate mapping key: kind\n");
}

#[test]
fn one_namespace_only() {
    let text = format!(
        "{SERVICE}---\n{}---\napiVersion: v1\nkind: Node\nmetadata: {{name: n}}\n",
        SERVICE.replace("a}", "b}")
    );
    assert_eq!(shown(&parse(&text, Format::Yaml, &wanted(Some("b")))), "5 Service b/web\n9 Node n\n");
}

#[test]
fn anchors_work_and_bombs_do_not() {
    let text = format!("{SERVICE}spec:\n  externalIPs: &ips [192.0.2.1]\nstatus: {{x: *ips}}\n");
    check_yaml(&text, "1 Service a/web\n");
    let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for n in 1..12 {
        let refs = vec![format!("*a{}", n - 1); 10].join(", ");
        writeln!(bomb, "a{n}: &a{n} [{refs}]").unwrap();
    }
    let parsed = parse(&bomb, Format::Yaml, &wanted(None));
    assert_eq!(parsed.faults.len(), 1, "{parsed:?}");
}

#[test]
fn nesting_has_an_end() {
    for text in ["[".repeat(100_000), "{a: ".repeat(100_000), "- ".repeat(100_000)] {
        assert_eq!(parse(&text, Format::Yaml, &wanted(None)).faults.len(), 1);
        assert_eq!(parse(&text, Format::Json, &wanted(None)).faults.len(), 1);
    }
}

#[test]
fn big_files_are_fine() {
    let mut items = String::new();
    for n in 0..5_000 {
        writeln!(items, "- metadata: {{name: s{n}, namespace: a}}\n  spec: {{type: ClusterIP}}").unwrap();
    }
    let parsed = parse(&format!("apiVersion: v1\nkind: ServiceList\nitems:\n{items}"), Format::Yaml, &wanted(None));
    assert_eq!((parsed.objects.len(), parsed.faults.len()), (5_000, 0));
    assert_eq!(parsed.objects[4_999].line, 4 + 2 * 4_999);
}

mod any {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn any_text_is_read_without_a_panic(text in "[ \\-a-z{}\\[\\]:,&*#\n\"'%!|>0-9\\PC]{0,80}") {
            let lines = text.matches('\n').count() + 1;
            for format in [Format::Yaml, Format::Json] {
                for fault in parse(&text, format, &wanted(None)).faults {
                    prop_assert!((1..=lines).contains(&fault.line), "{fault:?}");
                }
            }
        }
    }
}
