//! What the chart makes without any value, as a whole: written by `BLESS=1`, and read by people when it changes.

use std::path::Path;

use serde_json::Value;

use crate::charts::{arguments, installed, pod};
use crate::needs_helm;

/// The objects without what they have in common: labels, and the definitions of the folder `crds`.
fn shortened() -> Value {
    let mut objects = installed("").objects;
    objects.retain(|object| object["kind"] != "CustomResourceDefinition");
    for object in &mut objects {
        if let Some(metadata) = object["metadata"].as_object_mut() {
            metadata.remove("labels");
        }
    }
    objects.into()
}

#[test]
fn without_values_it_makes_these_objects() {
    needs_helm!();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/chart/defaults.json");
    let made = shortened();
    if std::env::var_os("BLESS").is_some() {
        let text = serde_json::to_string_pretty(&made).expect("objects");
        std::fs::write(&file, format!("{text}\n")).expect("write the objects");
    }
    let text = std::fs::read_to_string(&file).expect("the objects are written down");
    let known: Value = serde_json::from_str(&text).expect("the objects are JSON");
    assert_eq!(made, known, "write it with BLESS=1 cargo test -p zonewright --test chart defaults");
}

#[test]
fn the_pod_is_confined() {
    needs_helm!();
    let rendered = installed("{provider: {name: webhook, webhook: {image: {repository: r, tag: t}}}}");
    assert_eq!(rendered.only("Deployment")["spec"]["replicas"], 1);
    assert_eq!(rendered.only("Deployment")["spec"]["strategy"]["type"], "Recreate");
    let pod = pod(&rendered);
    assert_eq!(pod["securityContext"]["runAsNonRoot"], true);
    for container in pod["containers"].as_array().expect("containers") {
        let security = &container["securityContext"];
        assert_eq!(security["readOnlyRootFilesystem"], true, "{}", container["name"]);
        assert_eq!(security["allowPrivilegeEscalation"], false);
        assert_eq!(security["capabilities"]["drop"], serde_json::json!(["ALL"]));
    }
    let image = std::fs::read_to_string(crate::charts::root().join("deploy/Dockerfile")).expect("the Dockerfile");
    let security = &pod["containers"][0]["securityContext"];
    let (user, group) = (&security["runAsUser"], &security["runAsGroup"]);
    assert!(image.contains(&format!("USER {user}:{group}\n")), "the image runs as {user}:{group}");
}

#[test]
fn probes_are_those_of_external_dns() {
    needs_helm!();
    let rendered = installed("");
    let container = &pod(&rendered)["containers"][0];
    for probe in ["livenessProbe", "readinessProbe"] {
        assert_eq!(container[probe]["httpGet"], serde_json::json!({ "path": "/healthz", "port": "http" }));
    }
}

/// The arguments of usual installations are taken by the program, with the environment that the chart gives it.
#[test]
fn the_program_takes_the_arguments() {
    needs_helm!();
    for values in [
        "{provider: {name: aws}, txtOwnerId: x, extraArgs: {aws-zone-type: public}}",
        "{provider: {name: cloudflare}, env: [{name: CF_API_TOKEN, value: x}], policy: sync, extraArgs: [--cloudflare-proxied]}",
        "{provider: {name: webhook, webhook: {image: {repository: r, tag: t}}}, txtPrefix: '%{record_type}-'}",
        "{provider: {name: rfc2136}, namespaced: true, annotationFilter: 'a=b', labelFilter: 'c in (d)', annotationPrefix: e.io/, \
          managedRecordTypes: [A, TXT], domainFilters: [example.com], excludeDomains: [x.example.com], triggerLoopOnEvent: true, \
          logFormat: json, logLevel: debug, interval: 1h, registry: configmap, enableGatewayListenerSets: true, \
          gatewayNamespace: g, sources: [gateway-httproute], extraArgs: {rfc2136-host: [ns1.example.com], rfc2136-port: 53, \
          rfc2136-zone: example.com, rfc2136-insecure: true, brake: false, brake-percent: 5}}",
        "{provider: inmemory, registry: noop, txtOwnerId: x}",
    ] {
        let arguments = arguments(&installed(values));
        let given = arguments.iter().map(std::ffi::OsString::from);
        let environment = |name: &str| (name == "CF_API_TOKEN").then(|| std::ffi::OsString::from("x".repeat(40)));
        let invocation = zonewright::flags::parse(&zonewright::Catalog::built_in(), given, &environment);
        if let Err(error) = invocation {
            panic!("{arguments:?}: {error:?}");
        }
    }
}
