//! Every value changes what it says: the table `values.txt`, and what values say of each other.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};
use zonewright_testkit::render::Rendered;

use crate::charts::{arguments, documented, install, install_all, installed, pod, yaml};
use crate::needs_helm;

/// One line of the table.
struct Case {
    line: &'static str,
    /// The value that it is about.
    value: &'static str,
    values: Value,
    place: &'static str,
    expected: &'static str,
}

fn cases() -> Vec<Case> {
    let lines = include_str!("values.txt").lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(case).collect()
}

fn case(line: &'static str) -> Case {
    let mut parts = line.splitn(3, " | ");
    let mut part = || parts.next().unwrap_or_else(|| panic!("{line}: VALUES | WHERE | WHAT"));
    let (given, place, expected) = (part(), part(), part());
    let mut values = Value::Object(Map::new());
    let pairs: Vec<(&str, &str)> =
        given.split(" & ").map(|pair| pair.split_once(" = ").expect("VALUE = YAML")).collect();
    // Objects first, so that they do not take away what stands in them.
    for (path, text) in pairs.iter().rev() {
        put(&mut values, path, yaml(text));
    }
    Case { line, value: pairs[0].0, values, place, expected }
}

fn put(values: &mut Value, path: &str, value: Value) {
    let place = path.split('.').fold(values, |values, key| &mut values[key]);
    *place = value;
}

/// Whether `what` is in this place.
fn holds(rendered: &Rendered, place: &str, what: &str) -> bool {
    match place {
        "notes" => rendered.notes.contains(what),
        "arguments" => arguments(rendered).contains(&yaml(what).as_str().expect("an argument is text").to_owned()),
        "environment" => {
            let list = pod(rendered)["containers"][0]["env"].as_array().expect("an environment");
            let variable = yaml(what);
            list.iter().filter(|known| known["name"] == variable["name"]).eq([&variable])
        }
        "objects" => {
            let mut words = what.split(' ');
            let (kind, count) = (words.next().expect("a kind"), words.next().expect("a number"));
            rendered.of(kind).count().to_string() == count
        }
        _ => {
            let (root, pointer) = place.split_once('/').expect("KIND/POINTER");
            let found = match root {
                "pod" => Some(pod(rendered)),
                "container" => pod(rendered)["containers"].get(0),
                "webhook" => pod(rendered)["containers"].get(1),
                kind => rendered.of(kind).next(),
            };
            found.and_then(|object| object.pointer(&format!("/{pointer}"))) == Some(&yaml(what))
        }
    }
}

#[test]
fn every_value_changes_what_it_says() {
    needs_helm!();
    let cases = cases();
    let plain = installed("");
    let answers = install_all(&cases.iter().map(|case| case.values.clone()).collect::<Vec<_>>());
    let mut wrong = Vec::new();
    for (case, answer) in cases.iter().zip(answers) {
        match answer {
            Err(error) => wrong.push(format!("{}\n    {error}", case.line)),
            Ok(rendered) if !holds(&rendered, case.place, case.expected) => wrong.push(case.line.to_owned()),
            Ok(_) if holds(&plain, case.place, case.expected) && !case.line.ends_with(" always") => {
                // A part of the notes may stand in all of them.
                if case.place != "notes" {
                    wrong.push(format!("{}\n    holds without the value", case.line));
                }
            }
            Ok(_) => {}
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_documented_value_is_in_the_table() {
    let cases = cases();
    let covered: BTreeSet<&str> = cases.iter().map(|case| case.value).collect();
    let missing: Vec<String> =
        documented().into_iter().map(|value| value.path).filter(|path| !covered.contains(&**path)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn values_that_exclude_or_need_each_other_are_reported() {
    needs_helm!();
    for (values, expected) in [
        ("{txtPrefix: a, txtSuffix: b}", "txtPrefix and txtSuffix exclude each other"),
        ("{txtPrefix: a, registry: configmap}", "with registry \"configmap\" none do"),
        ("{provider: {name: webhook}}", "give provider.webhook.image.repository and .tag"),
        ("{provider: webhook}", "extraArgs.webhook-provider-url for one elsewhere"),
        ("{provider: {name: webhook, webhook: {image: {repository: r}}}}", "provider.webhook.image.tag is missing"),
        ("{sourceNamespace: shop}", "sourceNamespace counts only with namespaced=true"),
        (
            "{serviceMonitor: {enabled: true}, service: {enabled: false}}",
            "serviceMonitor.enabled needs service.enabled",
        ),
    ] {
        let error = install(&yaml(values)).expect_err(values);
        assert!(error.contains(expected), "{values}: {error}");
    }
}

#[test]
fn a_webhook_elsewhere_needs_no_container() {
    needs_helm!();
    let rendered =
        installed("{provider: {name: webhook}, extraArgs: {webhook-provider-url: 'http://dns.example.com:8888'}}");
    assert_eq!(pod(&rendered)["containers"].as_array().map(Vec::len), Some(1));
    assert_eq!(rendered.only("Service")["spec"]["ports"].as_array().map(Vec::len), Some(1));
}

#[test]
fn a_webhook_is_in_the_pod_only_where_it_is_the_provider() {
    needs_helm!();
    let rendered = installed("{provider: {name: google, webhook: {image: {repository: r, tag: t}}}}");
    assert_eq!(pod(&rendered)["containers"].as_array().map(Vec::len), Some(1));
}

#[test]
fn namespaced_means_no_right_outside_of_namespaces_but_what_stands_in_none() {
    needs_helm!();
    let kinds = |values: &str| installed(values).of("ClusterRole").count();
    assert_eq!(kinds("{namespaced: true, sources: [ingress, crd]}"), 0);
    assert_eq!(kinds("{namespaced: true, sources: [service], extraArgs: {service-type-filter: LoadBalancer}}"), 0);
    let rendered = installed("{namespaced: true}");
    assert_eq!(
        rendered.only("ClusterRole")["rules"],
        json!([
            { "apiGroups": [""], "resources": ["events"], "verbs": ["create", "patch"] },
            { "apiGroups": [""], "resources": ["nodes"], "verbs": ["list", "watch"] },
            { "apiGroups": ["events.k8s.io"], "resources": ["events"], "verbs": ["create", "patch"] },
        ])
    );
}

#[test]
fn another_secret_is_another_pod() {
    needs_helm!();
    let checksum = |data: &str| {
        let rendered = installed(&format!("{{secretConfiguration: {{enabled: true, data: {{a: {data}}}}}}}"));
        rendered.only("Deployment")["spec"]["template"]["metadata"]["annotations"]["checksum/secret"].clone()
    };
    assert_ne!(checksum("x"), checksum("y"));
    assert_eq!(checksum("x"), checksum("x"));
}

#[test]
fn the_notes_warn_of_what_is_likely_wrong() {
    needs_helm!();
    let notes = |values: &str| installed(values).notes;
    let plain = notes("");
    for text in
        ["nothing can be pulled", "the owner is \"default\"", "--set policy=sync", "ConfigMaps of the namespace dns"]
    {
        assert!(plain.contains(text), "{text:?} is not in\n{plain}");
    }
    let careful = notes("{image: {repository: r.example.org/z}, txtOwnerId: me, policy: sync}");
    assert!(!careful.contains("WARNING") && !careful.contains("policy=sync"), "{careful}");
}
