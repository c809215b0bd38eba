//! The chart's roles are what `zonewright rbac` prints for the arguments that the same chart gives the pod, for every source and every
//! flag that changes what is read; and nothing beside.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde_json::{Value, json};
use zonewright_testkit::render::Rendered;

use crate::charts::{arguments, file, install_all, installed, root, yaml};
use crate::needs_helm;

/// Rights by place (`*`, `own`, or a namespace) and `group/resource`.
pub(crate) type Rights = BTreeMap<String, BTreeMap<String, BTreeSet<String>>>;

fn texts(value: &Value) -> Vec<&str> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

/// What roles grant. A Role without a namespace, or in `home`, is for the daemon's own.
pub(crate) fn granted<'r>(roles: impl IntoIterator<Item = &'r Value>, home: &str) -> Rights {
    let mut rights = Rights::new();
    for role in roles {
        let sources = role["metadata"]["name"].as_str().is_some_and(|name| name.ends_with("-sources"));
        let place = match (role["kind"].as_str(), role["metadata"]["namespace"].as_str()) {
            (Some("ClusterRole"), _) => "*",
            (Some("Role"), Some(namespace)) if namespace != home || sources => namespace,
            (Some("Role"), _) => "own",
            _ => continue,
        };
        let place = rights.entry(place.to_owned()).or_default();
        for rule in role["rules"].as_array().into_iter().flatten() {
            for group in texts(&rule["apiGroups"]) {
                for resource in texts(&rule["resources"]) {
                    let verbs = place.entry(format!("{group}/{resource}")).or_default();
                    verbs.extend(texts(&rule["verbs"]).into_iter().map(str::to_owned));
                }
            }
        }
    }
    rights
}

/// What the program prints for these arguments.
#[track_caller]
pub(crate) fn printed(arguments: &[String]) -> Rights {
    let output = Command::new(env!("CARGO_BIN_EXE_zonewright")).arg("rbac").args(arguments).env_clear().output();
    let output = output.expect("the program runs");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("roles are text");
    let roles: Vec<Value> = serde_saphyr::from_multiple(&text).expect("roles are YAML");
    granted(&roles, "")
}

#[track_caller]
fn compare(rendered: &Rendered, about: &str) {
    let arguments = arguments(rendered);
    assert_eq!(granted(&rendered.objects, "dns"), printed(&arguments), "{about}: {arguments:?}");
}

/// Every source, as the page of flags has them.
fn sources() -> Vec<String> {
    let page = std::fs::read_to_string(root().join("docs/flags.md")).expect("the page of flags");
    let row = page.lines().find(|line| line.starts_with("| `--source` |")).expect("the row of --source");
    let values = row.split('|').nth(2).expect("the column of values");
    let words: Vec<String> = values.split('`').skip(1).step_by(2).map(str::to_owned).collect();
    assert!(words.len() > 20, "{words:?}");
    words
}

#[test]
fn the_table_has_every_source_and_no_other() {
    let table = yaml(&file("rights.yaml"));
    let mut sources = sources();
    sources.sort_unstable();
    assert_eq!(table.as_object().expect("a table").keys().collect::<Vec<_>>(), sources.iter().collect::<Vec<_>>());
}

#[test]
fn each_source_has_the_rights_that_the_program_asks_for() {
    needs_helm!();
    let mut cases = Vec::new();
    for source in sources() {
        let mut extra = json!({ "gateway-listener-sets": true, "traefik-enable-legacy": true,
            "skipper-routegroup-groupversion": "routes.example.org/v2" });
        if source == "unstructured" {
            extra["unstructured-resource"] = json!(["things.v1.example.org", "configmaps.v1"]);
        }
        let plain = json!({ "sources": [source], "policy": "sync" });
        let plain = if source == "unstructured" { with(&plain, &json!({ "extraArgs": extra.clone() })) } else { plain };
        for change in [
            json!({}),
            json!({ "namespaced": true }),
            json!({ "namespaced": true, "sourceNamespace": "shop" }),
            json!({ "namespaced": true, "sourceNamespace": "shop", "gatewayNamespace": "edge" }),
            json!({ "gatewayNamespace": "edge" }),
            json!({ "extraArgs": extra }),
            json!({ "namespaced": true, "extraArgs": extra, "registry": "configmap" }),
        ] {
            cases.push(with(&plain, &change));
        }
    }
    let count = cases.len();
    for (case, rendered) in cases.iter().zip(install_all(&cases)) {
        compare(&rendered.unwrap_or_else(|error| panic!("{case}: {error}")), &case.to_string());
    }
    assert!(count > 150, "{count} cases");
}

/// The keys of both, those of the second before those of the first.
fn with(values: &Value, more: &Value) -> Value {
    let mut values = values.clone();
    for (key, value) in more.as_object().expect("an object") {
        values[key] = value.clone();
    }
    values
}

#[test]
fn sources_together_have_the_rights_of_all() {
    needs_helm!();
    for values in [
        "",
        // The one reads Services of one namespace, the other all of them.
        "{sources: [service, ambassador-host], namespaced: true}",
        "{sources: [gateway-httproute, ingress], namespaced: true, gatewayNamespace: edge}",
        "{sources: [service], extraArgs: {service-type-filter: LoadBalancer}}",
        "{sources: [service], extraArgs: {service-type-filter: [ClusterIP, LoadBalancer]}}",
        "{sources: [service], extraArgs: ['--service-type-filter=NodePort']}",
        "{sources: [service, ingress], namespaced: true, extraArgs: {service-type-filter: LoadBalancer}}",
        "{sources: [traefik-proxy], extraArgs: {traefik-enable-legacy: true, traefik-disable-new: true}}",
        "{sources: [gateway-httproute], enableGatewayListenerSets: true}",
        "{sources: [ingress], extraArgs: {source: node}}",
        "{registry: configmap}",
        "{registry: configmap, extraArgs: {registry-namespace: claims}}",
    ] {
        compare(&installed(values), values);
    }
    let every: Vec<String> = sources().into_iter().filter(|source| source != "unstructured").collect();
    compare(&installed(&json!({ "sources": every }).to_string()), "every source");
    compare(&installed(&json!({ "sources": every, "namespaced": true }).to_string()), "every source, in one namespace");
}

#[test]
fn a_registry_in_another_namespace_has_its_rights_there() {
    needs_helm!();
    let rights = granted(&installed("{registry: configmap, extraArgs: {registry-namespace: claims}}").objects, "dns");
    let verbs = |place: &str| rights[place]["/configmaps"].iter().map(String::as_str).collect::<Vec<_>>();
    assert_eq!(verbs("own"), ["create", "get", "update"]);
    assert_eq!(verbs("claims"), ["create", "get", "list", "patch"]);
}

#[test]
fn roles_are_bound_to_the_account_of_the_pod() {
    needs_helm!();
    for values in [
        "",
        "{namespaced: true, sourceNamespace: shop, gatewayNamespace: edge, sources: [service, gateway-httproute]}",
        "{serviceAccount: {create: false, name: other}}",
        "{namespaceOverride: elsewhere, fullnameOverride: z}",
        "{registry: configmap, extraArgs: {registry-namespace: claims}}",
    ] {
        let rendered = installed(values);
        let home = rendered.only("Deployment")["metadata"]["namespace"].clone();
        let account = &crate::charts::pod(&rendered)["serviceAccountName"];
        let subject = json!([{ "kind": "ServiceAccount", "name": account, "namespace": home }]);
        for kind in ["ClusterRole", "Role"] {
            let roles: Vec<&Value> = rendered.of(kind).collect();
            let bindings: Vec<Value> =
                rendered.objects.iter().filter(|object| object["kind"] == format!("{kind}Binding")).cloned().collect();
            assert_eq!(roles.len(), bindings.len(), "{values}");
            for role in roles {
                let of = |binding: &&Value| binding["metadata"] == role["metadata"];
                let binding = bindings.iter().find(of).unwrap_or_else(|| panic!("{values}: {role} is not bound"));
                assert_eq!(binding["subjects"], subject, "{values}");
                assert_eq!(
                    (&binding["roleRef"]["kind"], &binding["roleRef"]["name"]),
                    (&role["kind"], &role["metadata"]["name"])
                );
            }
        }
    }
    assert_eq!(granted(&installed("rbac: {create: false}").objects, "dns"), Rights::new());
}

#[test]
fn additional_permissions_are_where_external_dns_has_them() {
    needs_helm!();
    let more = "rbac: {additionalPermissions: [{apiGroups: [x.io], resources: [things], verbs: [get]}]}";
    let places = |values: &str| {
        let rights = granted(&installed(values).objects, "dns");
        let has = rights.iter().filter(|(_, rules)| rules.contains_key("x.io/things")).map(|(place, _)| place.clone());
        has.collect::<Vec<_>>()
    };
    assert_eq!(places(&format!("{{{more}}}")), ["*"]);
    assert_eq!(places(&format!("{{{more}, namespaced: true, sourceNamespace: shop}}")), ["shop"]);
    assert_eq!(places(&format!("{{{more}, namespaced: true}}")), ["dns"]);
}

#[test]
fn an_unknown_source_is_answered_with_the_known_ones() {
    needs_helm!();
    let error = crate::charts::install(&json!({ "sources": ["servce"] })).unwrap_err();
    assert!(
        error.contains("there is no source \"servce\"; the sources are ") && error.contains(", service,"),
        "{error}"
    );
}
