//! The manifests of the Gardener extension: they parse, agree with each other, and ask for the same rights wherever they stand.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use zonewright_testkit::render::{self, Chart};
use zonewright_testkit::require;

use super::{rights, texts};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/gardener")
}

fn objects(path: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(folder().join(path)).expect("the file is there");
    serde_saphyr::from_multiple(&text).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn of_kind(objects: &[Value], kind: &str) -> Value {
    let found: Vec<&Value> = objects.iter().filter(|object| object["kind"] == kind).collect();
    assert_eq!(found.len(), 1, "one {kind}");
    found.first().map(|object| (*object).clone()).unwrap_or_default()
}

fn object(path: &str, kind: &str) -> Value {
    of_kind(&objects(path), kind)
}

/// The chart as Helm renders it with these values over its own.
fn chart(values: &Value) -> Vec<Value> {
    let folder = folder().join("chart");
    let chart = Chart { folder: &folder, release: "zonewright-abc", namespace: "extension-zonewright-abc" };
    chart.render(values).expect("the chart can be rendered").objects
}

fn pod(deployment: &Value) -> &Value {
    &deployment["spec"]["template"]["spec"]
}

#[test]
fn every_file_is_named_in_its_kustomization() {
    for overlay in ["manifests", "admission"] {
        let kustomization = object(&format!("{overlay}/kustomization.yaml"), "Kustomization");
        let mut named: BTreeSet<String> = texts(&kustomization["resources"]).into_iter().collect();
        named.insert("kustomization.yaml".to_owned());
        let files = std::fs::read_dir(folder().join(overlay)).expect("a folder");
        let files: BTreeSet<String> =
            files.map(|file| file.expect("a file").file_name().into_string().expect("a plain name")).collect();
        assert_eq!(files, named, "{overlay}");
    }
}

/// What Gardener's network policies and priorities go by, and what a pod may not do.
#[test]
fn the_pods_are_labelled_and_confined() {
    for (path, replicas) in [("manifests/deployment.yaml", 2), ("admission/deployment.yaml", 2)] {
        let deployment = object(path, "Deployment");
        assert_eq!(deployment["spec"]["replicas"], replicas, "{path}");
        let (pod, container) = (pod(&deployment), &pod(&deployment)["containers"][0]);
        assert_eq!(pod["priorityClassName"], "gardener-system-900", "{path}");
        assert_eq!(pod["securityContext"]["runAsNonRoot"], true, "{path}");
        let security = &container["securityContext"];
        assert_eq!(security["readOnlyRootFilesystem"], true, "{path}");
        assert_eq!(security["allowPrivilegeEscalation"], false, "{path}");
        assert_eq!(texts(&security["capabilities"]["drop"]), ["ALL"], "{path}");
        assert_eq!(container["livenessProbe"]["httpGet"]["path"], "/healthz", "{path}");
        assert_eq!(container["readinessProbe"]["httpGet"]["path"], "/readyz", "{path}");
    }
    let labels = object("manifests/deployment.yaml", "Deployment")["spec"]["template"]["metadata"]["labels"].clone();
    for target in ["to-dns", "to-runtime-apiserver", "to-public-networks", "to-private-networks"] {
        assert_eq!(labels[format!("networking.gardener.cloud/{target}")], "allowed");
    }
    // The webhook is asked, and asks nobody.
    let labels = object("admission/deployment.yaml", "Deployment")["spec"]["template"]["metadata"]["labels"].clone();
    assert_eq!(labels.as_object().map(serde_json::Map::len), Some(1));
}

#[test]
fn bindings_tie_the_roles_to_the_account_of_the_pod() {
    let rbac = objects("manifests/rbac.yaml");
    let account = object("manifests/serviceaccount.yaml", "ServiceAccount")["metadata"]["name"].clone();
    let deployment = object("manifests/deployment.yaml", "Deployment");
    assert_eq!(pod(&deployment)["serviceAccountName"], account);
    for (binding, role) in [("ClusterRoleBinding", "ClusterRole"), ("RoleBinding", "Role")] {
        let bound = of_kind(&rbac, binding);
        assert_eq!(bound["roleRef"]["name"], of_kind(&rbac, role)["metadata"]["name"]);
        assert_eq!(bound["subjects"][0]["name"], account);
    }
}

/// The webhook's configuration, its Service and what the program listens on belong together.
#[test]
fn the_webhook_is_where_the_api_server_looks() {
    let configuration = object("admission/webhook.yaml", "ValidatingWebhookConfiguration");
    let webhook = &configuration["webhooks"][0];
    let (service, to) = (object("admission/service.yaml", "Service"), &webhook["clientConfig"]["service"]);
    assert_eq!(to["name"], service["metadata"]["name"]);
    assert_eq!(to["port"], service["spec"]["ports"][0]["port"]);
    assert_eq!(webhook["failurePolicy"], "Ignore", "a webhook that is down holds up no shoot");
    assert_eq!(texts(&webhook["rules"][0]["operations"]), ["CREATE", "UPDATE"]);
    assert_eq!(webhook["sideEffects"], "None");
    let deployment = object("admission/deployment.yaml", "Deployment");
    assert_eq!(service["spec"]["selector"], deployment["spec"]["selector"]["matchLabels"]);
    let port = &pod(&deployment)["containers"][0]["ports"][0];
    assert_eq!(port["name"], service["spec"]["ports"][0]["targetPort"]);
}

/// The types are said in several places of a file, and must be the same.
#[test]
fn registrations_list_the_types_that_the_controller_serves() {
    let types = |resources: &Value| -> Vec<String> {
        let all = resources.as_array().into_iter().flatten();
        all.map(|resource| {
            assert_eq!(resource["kind"], "DNSRecord");
            resource["type"].as_str().expect("a type").to_owned()
        })
        .collect()
    };
    let listed =
        |value: &Value| -> Vec<String> { value.as_str().expect("types").split(',').map(str::to_owned).collect() };
    let registration = objects("controllerregistration.yaml");
    let (deployment, registration) =
        (of_kind(&registration, "ControllerDeployment"), of_kind(&registration, "ControllerRegistration"));
    assert_eq!(types(&registration["spec"]["resources"]), listed(&deployment["helm"]["values"]["types"]));
    let named = &registration["spec"]["deployment"]["deploymentRefs"][0]["name"];
    assert_eq!(*named, deployment["metadata"]["name"]);
    let extension = object("extension.yaml", "Extension");
    let chart = &extension["spec"]["deployment"]["extension"];
    for values in ["values", "runtimeClusterValues"] {
        assert_eq!(types(&extension["spec"]["resources"]), listed(&chart[values]["types"]), "{values}");
    }
}

/// In a seed the chart is what the manifests are: the same rights, labels, probes and confinement.
#[test]
fn in_a_seed_the_chart_is_what_the_manifests_are() {
    require!(render::TOOLS);
    let (rendered, rbac) = (chart(&json!({})), objects("manifests/rbac.yaml"));
    for role in ["ClusterRole", "Role"] {
        assert_eq!(rights(&of_kind(&rendered, role)), rights(&of_kind(&rbac, role)), "{role}");
    }
    let (ours, theirs) = (of_kind(&rendered, "Deployment"), object("manifests/deployment.yaml", "Deployment"));
    let (pod_of_chart, pod_of_manifest) = (pod(&ours), pod(&theirs));
    assert_eq!(pod_of_chart["priorityClassName"], pod_of_manifest["priorityClassName"]);
    assert_eq!(pod_of_chart["securityContext"], pod_of_manifest["securityContext"]);
    let (container, other) = (&pod_of_chart["containers"][0], &pod_of_manifest["containers"][0]);
    for field in ["ports", "livenessProbe", "readinessProbe", "resources", "securityContext", "volumeMounts"] {
        assert_eq!(container[field], other[field], "{field}");
    }
    let flags = |container: &Value| -> BTreeSet<String> {
        let flags = texts(&container["args"]).into_iter();
        flags.map(|flag| flag.split('=').next().unwrap_or_default().to_owned()).collect()
    };
    let mut expected = flags(other);
    expected.insert("--registry".to_owned());
    assert_eq!(flags(container), expected);
    assert!(texts(&container["args"]).contains(&"--extension-classes=shoot".to_owned()));
    let labels = |deployment: &Value| deployment["spec"]["template"]["metadata"]["labels"].clone();
    for (label, value) in labels(&theirs).as_object().into_iter().flatten() {
        assert_eq!(labels(&ours)[label], *value, "{label}");
    }
}

/// In the garden runtime cluster it serves the class `garden`, with the priority that the operator gives.
#[test]
fn in_the_garden_runtime_cluster_the_chart_serves_the_garden() {
    require!(render::TOOLS);
    let rendered = chart(&json!({
        "registry": "txt",
        "txtOwnerID": "garden-1",
        "ignoreOperationAnnotation": true,
        "gardener": { "version": "v1.150.0", "runtimeCluster": { "enabled": true, "priorityClassName": "gardener-garden-system-200" } },
    }));
    let deployment = of_kind(&rendered, "Deployment");
    assert_eq!(pod(&deployment)["priorityClassName"], "gardener-garden-system-200");
    let arguments = texts(&pod(&deployment)["containers"][0]["args"]);
    for expected in
        ["--extension-classes=garden", "--registry=txt", "--txt-owner-id=garden-1", "--ignore-operation-annotation"]
    {
        assert!(arguments.contains(&expected.to_owned()), "{arguments:?}");
    }
    let service = of_kind(&rendered, "Service")["metadata"]["annotations"].to_string();
    assert!(service.contains("garden-scrape") && !service.contains("seed-scrape"), "{service}");
}

/// The arguments of every manifest are taken by the program.
#[cfg(feature = "gardener")]
#[test]
fn the_arguments_are_taken() {
    let catalog = zonewright::Catalog::built_in();
    let nothing = |_: &str| None;
    for path in ["manifests/deployment.yaml", "admission/deployment.yaml"] {
        let deployment = object(path, "Deployment");
        let arguments = texts(&pod(&deployment)["containers"][0]["args"]);
        let arguments = arguments.into_iter().map(std::ffi::OsString::from);
        let parsed = zonewright::flags::parse(&catalog, arguments, &nothing);
        assert!(parsed.is_ok(), "{path}: {parsed:?}");
    }
}
