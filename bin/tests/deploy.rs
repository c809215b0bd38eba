//! The manifests in `deploy/` ask for exactly the rights that the program uses, and start it with arguments that it takes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::Value;

#[path = "deploy/gardener.rs"]
mod gardener;

/// Rights: API group and resource to verbs.
type Rights = BTreeMap<(String, String), BTreeSet<String>>;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/kustomize")
}

/// All objects of a YAML file.
fn objects(path: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(folder().join(path)).expect("the file is there");
    serde_saphyr::from_multiple(&text).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn object(path: &str, kind: &str) -> Value {
    let mut found: Vec<Value> = objects(path).into_iter().filter(|object| object["kind"] == kind).collect();
    assert_eq!(found.len(), 1, "{path} holds one {kind}");
    found.remove(0)
}

fn texts(value: &Value) -> Vec<String> {
    let list = value.as_array().expect("a list");
    list.iter().map(|text| text.as_str().expect("text").to_owned()).collect()
}

/// The rights of a role. Every combination stands once, so that none is granted by two rules.
fn rights(role: &Value) -> Rights {
    let mut rights = Rights::new();
    for rule in role["rules"].as_array().expect("a list of rules") {
        let keys: Vec<&String> = rule.as_object().expect("a rule").keys().collect();
        assert_eq!(keys.len(), 3, "a rule has groups, resources and verbs, found {keys:?}");
        for group in texts(&rule["apiGroups"]) {
            for resource in texts(&rule["resources"]) {
                let verbs: BTreeSet<String> = texts(&rule["verbs"]).into_iter().collect();
                assert!(rights.insert((group.clone(), resource.clone()), verbs).is_none(), "{group}/{resource} twice");
            }
        }
    }
    rights
}

fn right(group: &str, resource: &str, verbs: &[&str]) -> ((String, String), BTreeSet<String>) {
    ((group.to_owned(), resource.to_owned()), verbs.iter().map(|verb| (*verb).to_owned()).collect())
}

/// The roles that the program prints for these arguments, by kind and name.
fn printed(arguments: &[&str]) -> BTreeMap<String, Value> {
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_zonewright")).arg("rbac").args(arguments).output();
    let output = output.expect("the program runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("roles are text");
    let roles: Vec<Value> = serde_saphyr::from_multiple(&text).expect("roles are YAML");
    let place = |role: &Value| role["metadata"]["namespace"].as_str().unwrap_or("").to_owned();
    let label =
        |role: &Value| format!("{} {} {}", role["kind"], role["metadata"]["name"], place(role)).replace('"', "");
    roles.into_iter().map(|role| (label(&role).trim().to_owned(), role)).collect()
}

#[test]
fn the_roles_are_what_the_sources_the_events_and_the_state_need() {
    let roles = printed(&["--source=service", "--source=ingress"]);
    let (cluster, own) = (&roles["ClusterRole zonewright"], &roles["Role zonewright"]);
    assert_eq!(rights(&object("base/rbac.yaml", "ClusterRole")), rights(cluster));
    assert_eq!(rights(&object("base/rbac.yaml", "Role")), rights(own));
    let read = ["get", "list", "watch"];
    let expected = Rights::from([
        right("", "services", &read),
        right("", "pods", &read),
        // As external-dns ships it: nodes are never got one by one.
        right("", "nodes", &read[1..]),
        right("discovery.k8s.io", "endpointslices", &read),
        right("networking.k8s.io", "ingresses", &read),
        right("", "events", &["create", "patch"]),
        right("events.k8s.io", "events", &["create", "patch"]),
    ]);
    assert_eq!(rights(cluster), expected);
    assert_eq!(rights(own), Rights::from([right("", "configmaps", &["get", "create", "update"])]));
}

#[test]
fn rights_are_as_narrow_as_the_arguments() {
    let roles = printed(&["--source=ingress", "--source=crd", "--namespace=shop", "--registry=configmap"]);
    assert_eq!(roles.keys().collect::<Vec<_>>(), ["Role zonewright", "Role zonewright-sources shop"]);
    let read = ["get", "list", "watch"];
    let expected = Rights::from([
        right("networking.k8s.io", "ingresses", &read),
        right("externaldns.k8s.io", "dnsendpoints", &read),
        right("externaldns.k8s.io", "dnsendpoints/status", &["update"]),
        right("", "events", &["create", "patch"]),
        right("events.k8s.io", "events", &["create", "patch"]),
    ]);
    assert_eq!(rights(&roles["Role zonewright-sources shop"]), expected);
    let own = Rights::from([
        right("", "configmaps", &["get", "list", "create", "patch", "update"]),
        // Events on the pod report held deletes.
        right("", "events", &["create", "patch"]),
        right("events.k8s.io", "events", &["create", "patch"]),
    ]);
    assert_eq!(rights(&roles["Role zonewright"]), own);
}

#[test]
fn with_a_service_account_the_roles_are_bound_to_it() {
    let arguments = ["--source=ingress", "--source=node", "--namespace=shop", "--service-account=dns/runner"];
    let objects = printed(&arguments);
    let kinds = ["ClusterRole zonewright", "Role zonewright dns", "Role zonewright-sources shop"];
    let bindings = kinds.map(|role| role.replacen(' ', "Binding ", 1));
    let mut expected: Vec<&str> = kinds.into_iter().chain(bindings.iter().map(String::as_str)).collect();
    expected.sort_unstable();
    assert_eq!(objects.keys().collect::<Vec<_>>(), expected);
    for (role, binding) in kinds.iter().zip(&bindings) {
        let (role, binding) = (&objects[*role], &objects[binding]);
        let subject = serde_json::json!([{ "kind": "ServiceAccount", "name": "runner", "namespace": "dns" }]);
        assert_eq!((&binding["metadata"], &binding["subjects"]), (&role["metadata"], &subject));
        assert_eq!(binding["roleRef"]["kind"], role["kind"]);
        assert_eq!(binding["roleRef"]["name"], role["metadata"]["name"]);
    }
    // The rights are the same with and without.
    assert_eq!(rights(&objects["Role zonewright dns"]), rights(&printed(&arguments[..3])["Role zonewright"]));

    for wrong in ["runner", "dns/", "/runner", "a/b/c", "dns/Runner", "dns/x\ny"] {
        let flag = format!("--service-account={wrong}");
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_zonewright"))
            .args(["rbac", "--source=node", &flag])
            .output();
        let output = output.expect("the program runs");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && said.contains("expected namespace/name"), "{wrong}: {said}");
    }
}

#[test]
fn the_component_of_the_configmap_registry_is_what_its_shelf_needs() {
    let file = "registry-configmap/rbac.yaml";
    let expected = Rights::from([right("", "configmaps", &["get", "list", "create", "patch"])]);
    assert_eq!(rights(&object(file, "Role")), expected);
    let bound = object(file, "RoleBinding");
    assert_eq!(bound["roleRef"]["name"], object(file, "Role")["metadata"]["name"]);
    let account = object("base/serviceaccount.yaml", "ServiceAccount")["metadata"]["name"].clone();
    assert_eq!(bound["subjects"][0]["name"], account);
}

#[test]
fn bindings_tie_the_roles_to_the_account_of_the_pod() {
    let account = object("base/serviceaccount.yaml", "ServiceAccount")["metadata"]["name"].clone();
    let deployment = object("base/deployment.yaml", "Deployment");
    assert_eq!(deployment["spec"]["template"]["spec"]["serviceAccountName"], account);
    for (binding, role) in [("ClusterRoleBinding", "ClusterRole"), ("RoleBinding", "Role")] {
        let bound = object("base/rbac.yaml", binding);
        assert_eq!(bound["roleRef"]["kind"], role);
        assert_eq!(bound["roleRef"]["name"], object("base/rbac.yaml", role)["metadata"]["name"]);
        assert_eq!(bound["subjects"][0]["name"], account);
    }
}

#[test]
fn the_pod_is_confined() {
    let deployment = object("base/deployment.yaml", "Deployment");
    assert_eq!(
        (&deployment["spec"]["replicas"], &deployment["spec"]["strategy"]["type"]),
        (&1.into(), &"Recreate".into())
    );
    let pod = &deployment["spec"]["template"]["spec"];
    let container = &pod["containers"][0];
    assert_eq!(pod["securityContext"]["runAsNonRoot"], true);
    let security = &container["securityContext"];
    assert_eq!(security["readOnlyRootFilesystem"], true);
    assert_eq!(security["allowPrivilegeEscalation"], false);
    assert_eq!(texts(&security["capabilities"]["drop"]), ["ALL"]);
    assert_eq!(container["livenessProbe"]["httpGet"]["path"], "/healthz");
    assert_eq!(container["readinessProbe"]["httpGet"]["path"], "/healthz");
    let image = std::fs::read_to_string(folder().join("../Dockerfile")).unwrap();
    let user = &pod["securityContext"]["runAsUser"];
    assert!(image.contains(&format!("USER {user}:{user}\n")), "the image runs as user {user}");
}

#[test]
fn what_the_image_is_built_from_is_named_by_its_digest() {
    let file = std::fs::read_to_string(folder().join("../Dockerfile")).unwrap();
    let from = file.lines().filter_map(|line| line.strip_prefix("FROM ")?.split(' ').next());
    let bases: Vec<&str> = from.filter(|base| *base != "scratch").collect();
    assert_eq!(bases.len(), 3);
    for base in bases {
        let digest = base.split_once("@sha256:").unwrap_or_else(|| panic!("{base} has no digest")).1;
        assert!(digest.len() == 64 && digest.chars().all(|c| matches!(c, '0'..='9' | 'a'..='f')), "{base}");
    }
}

#[test]
fn every_file_is_named_in_its_kustomization() {
    for overlay in ["base", "one-namespace", "registry-configmap", "rfc2136", "webhook"] {
        let kind = if overlay == "registry-configmap" { "Component" } else { "Kustomization" };
        let kustomization = object(&format!("{overlay}/kustomization.yaml"), kind);
        let patches = kustomization["patches"].as_array().cloned().unwrap_or_default();
        let patches = patches.iter().map(|patch| patch["path"].as_str().unwrap().to_owned());
        let mut named: BTreeSet<String> = texts(&kustomization["resources"]).into_iter().chain(patches).collect();
        named.insert("kustomization.yaml".to_owned());
        let files = std::fs::read_dir(folder().join(overlay)).unwrap();
        let files = files.map(|file| file.unwrap().file_name().into_string().unwrap());
        let files: BTreeSet<String> =
            files.chain(named.iter().filter(|name| name.starts_with("..")).cloned()).collect();
        assert_eq!(files, named, "{overlay}");
    }
}

#[cfg(all(feature = "cluster", feature = "provider-rfc2136"))]
#[test]
fn the_arguments_of_the_sample_are_taken() {
    let deployment = object("rfc2136/deployment.yaml", "Deployment");
    let container = &deployment["spec"]["template"]["spec"]["containers"][0];
    let secret = &container["env"][0]["name"];
    let arguments = texts(&container["args"]).into_iter().map(std::ffi::OsString::from);
    let environment = |name: &str| (secret == name).then(|| std::ffi::OsString::from("c2VjcmV0"));
    let invocation = zonewright::flags::parse(&zonewright::Catalog::built_in(), arguments, &environment).unwrap();
    assert!(invocation.notices.is_empty(), "{:?}", invocation.notices);
    assert!(invocation.settings.secret("rfc2136-tsig-secret").is_some());
}
