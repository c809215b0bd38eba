//! The manifests in `deploy/kops` take dns-controller's place: its name, its flags, exactly the rights that the command uses, and arguments
//! that it takes.
#![cfg(feature = "kops")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value;

/// All objects of a YAML file.
fn objects(file: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/kops").join(file);
    let text = std::fs::read_to_string(path).expect("the file is there");
    serde_saphyr::from_multiple(&text).unwrap_or_else(|error| panic!("{file}: {error}"))
}

fn object(file: &str, kind: &str) -> Value {
    let mut found: Vec<Value> = objects(file).into_iter().filter(|object| object["kind"] == kind).collect();
    assert_eq!(found.len(), 1, "{file} holds one {kind}");
    found.remove(0)
}

fn texts(value: &Value) -> Vec<String> {
    let list = value.as_array().expect("a list");
    list.iter().map(|text| text.as_str().expect("text").to_owned()).collect()
}

/// Group, resource and names of a role, with the verbs; each once.
fn rights(kind: &str) -> BTreeMap<String, String> {
    let mut rights = BTreeMap::new();
    let role = object("rbac.yaml", kind);
    for rule in role["rules"].as_array().expect("rules") {
        let names = if rule["resourceNames"].is_null() { Vec::new() } else { texts(&rule["resourceNames"]) };
        for group in texts(&rule["apiGroups"]) {
            for resource in texts(&rule["resources"]) {
                let right = format!("{group}/{resource} {}", names.join(" "));
                assert!(rights.insert(right.trim().to_owned(), texts(&rule["verbs"]).join(" ")).is_none());
            }
        }
    }
    rights
}

#[test]
fn the_rights_are_what_the_command_uses() {
    let expected = |all: &[(&str, &str)]| -> BTreeMap<String, String> {
        all.iter().map(|(right, verbs)| ((*right).to_owned(), (*verbs).to_owned())).collect()
    };
    assert_eq!(
        rights("ClusterRole"),
        expected(&[
            ("/pods", "list watch"),
            ("/services", "list watch"),
            ("/nodes", "list watch"),
            ("networking.k8s.io/ingresses", "list watch"),
            ("/namespaces kube-system", "get"),
            ("events.k8s.io/events", "create patch"),
        ])
    );
    assert_eq!(rights("Role"), expected(&[("/configmaps", "get create update")]));
}

#[test]
fn bindings_tie_the_roles_to_dns_controllers_account() {
    let account = object("rbac.yaml", "ServiceAccount");
    assert_eq!(
        (&account["metadata"]["name"], &account["metadata"]["namespace"]),
        (&"dns-controller".into(), &"kube-system".into())
    );
    for (binding, role) in [("ClusterRoleBinding", "ClusterRole"), ("RoleBinding", "Role")] {
        let bound = object("rbac.yaml", binding);
        assert_eq!(
            (&bound["roleRef"]["kind"], &bound["roleRef"]["name"]),
            (&role.into(), &object("rbac.yaml", role)["metadata"]["name"])
        );
        assert_eq!(bound["subjects"][0]["name"], account["metadata"]["name"]);
        assert_eq!(bound["subjects"][0]["namespace"], account["metadata"]["namespace"]);
    }
    let deployment = object("deployment.yaml", "Deployment");
    assert_eq!(deployment["spec"]["template"]["spec"]["serviceAccountName"], account["metadata"]["name"]);
    assert_eq!(
        (&deployment["spec"]["replicas"], &deployment["spec"]["strategy"]["type"]),
        (&1.into(), &"Recreate".into())
    );
}

/// Both pods: confined, on the network of their node, and with a place for everything that the arguments name.
#[test]
fn the_pods_are_confined_and_start_the_command() {
    let deployment = object("deployment.yaml", "Deployment")["spec"]["template"]["spec"].clone();
    let pod = object("static-pod.yaml", "Pod")["spec"].clone();
    let image = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/Dockerfile");
    let image = std::fs::read_to_string(image).expect("the Dockerfile is there");
    for pod in [deployment, pod] {
        let container = &pod["containers"][0];
        assert_eq!(pod["hostNetwork"], true);
        assert_eq!(pod["securityContext"]["runAsNonRoot"], true);
        let user = &pod["securityContext"]["runAsUser"];
        assert!(image.contains(&format!("USER {user}:{user}\n")), "the image runs as user {user}");
        assert_eq!(container["securityContext"]["readOnlyRootFilesystem"], true);
        assert_eq!(texts(&container["securityContext"]["capabilities"]["drop"]), ["ALL"]);
        let names = |list: &Value| -> BTreeSet<String> {
            list.as_array()
                .expect("a list")
                .iter()
                .map(|one| one["name"].as_str().expect("a name").to_owned())
                .collect()
        };
        assert_eq!(names(&pod["volumes"]), names(&container["volumeMounts"]));
        assert_eq!(texts(&container["args"])[0], "kops");
    }
}

#[cfg(all(feature = "cluster", feature = "provider-route53"))]
#[test]
fn the_arguments_are_taken_as_they_stand() {
    let deployment = object("deployment.yaml", "Deployment")["spec"]["template"]["spec"].clone();
    for pod in [deployment, object("static-pod.yaml", "Pod")["spec"].clone()] {
        let arguments = texts(&pod["containers"][0]["args"]).into_iter().map(std::ffi::OsString::from);
        let invocation =
            zonewright::flags::parse(&zonewright::Catalog::built_in(), arguments, &|_| None).expect("they are taken");
        assert!(invocation.notices.is_empty(), "{:?}", invocation.notices);
        let settings = invocation.settings;
        assert_eq!((settings.text("provider"), settings.text("registry")), ("aws", "txt"));
        assert_eq!(settings.list("zone"), ["*/Z1AFAKE1ZON3YO"]);
        assert_eq!(settings.list("source"), ["service", "pod"]);
    }
}
