//! The API server does what the handle promises.

use std::time::Duration;

use serde_json::{Value, json};
use zonewright_testkit::kube::User;
use zonewright_testkit::{KubeApi, require, wait_for};

const SERVICES: &str = "/api/v1/namespaces/default/services";

fn service(name: &str) -> Value {
    json!({ "metadata": { "name": name }, "spec": { "type": "LoadBalancer", "ports": [{ "port": 80 }] } })
}

/// The Services in `default`, sorted.
fn services(kube: &KubeApi) -> Vec<String> {
    let list = kube.get(SERVICES).expect_success();
    let items = list["items"].as_array().expect("a list");
    let name = |item: &Value| item["metadata"]["name"].as_str().map(str::to_owned);
    items.iter().filter_map(name).collect()
}

#[test]
fn objects_are_created_changed_and_deleted() {
    require!(KubeApi::TOOLS);
    let kube = KubeApi::start();
    let path = format!("{SERVICES}/web");
    kube.post(SERVICES, &service("web")).expect_success();
    assert_eq!(kube.post(SERVICES, &service("web")).status, 409);

    let status = json!({ "loadBalancer": { "ingress": [{ "ip": "192.0.2.1" }] } });
    kube.patch_status(&path, &status).expect_success();
    kube.patch(&path, &json!({ "metadata": { "annotations": { "a": "b" } } })).expect_success();
    let object = kube.get(&path).expect_success();
    assert_eq!(object["status"]["loadBalancer"]["ingress"][0]["ip"], "192.0.2.1");
    assert_eq!(object["metadata"]["annotations"]["a"], "b");

    kube.apply(
        &path,
        "apiVersion: v1\nkind: Service\nmetadata: {name: web, labels: {colour: blue}}\nspec: {ports: [{port: 80}]}",
    )
    .expect_success();
    let mut object = kube.get(&path).expect_success();
    assert_eq!(object["metadata"]["labels"]["colour"], "blue");
    object["metadata"]["labels"] = json!({ "colour": "red" });
    kube.put(&path, &object).expect_success();
    assert_eq!(kube.put(&path, &object).status, 409, "an old resource version");

    kube.delete(&path).expect_success();
    assert_eq!(kube.get(&path).status, 404);
}

#[test]
fn the_daemons_user_may_do_what_was_granted() {
    require!(KubeApi::TOOLS);
    let kube = KubeApi::start();
    assert_eq!(kube.get_as(User::Zonewright, "/api/v1/services").status, 403);
    kube.grant("read-services", &json!([{ "apiGroups": [""], "resources": ["services"], "verbs": ["list"] }]));
    wait_for("the grant", Duration::from_secs(20), || {
        (kube.get_as(User::Zonewright, "/api/v1/services").status == 200).then_some(())
    });
    assert_eq!(kube.get_as(User::Zonewright, "/api/v1/services?watch=true").status, 403);
    let refused =
        kube.audit_log_of(User::Zonewright).into_iter().filter(|event| event["responseStatus"]["code"] == 403);
    assert!(refused.count() >= 2);

    let kubeconfig = std::fs::read_to_string(kube.kubeconfig(User::Zonewright)).unwrap();
    let kubeconfig: Value = serde_json::from_str(&kubeconfig).unwrap();
    assert_eq!(kubeconfig["clusters"][0]["cluster"]["server"], kube.url());
}

#[test]
fn a_stopped_server_comes_back_with_its_data_and_a_wiped_one_without() {
    require!(KubeApi::TOOLS);
    let mut kube = KubeApi::start_apart();
    kube.post(SERVICES, &service("web")).expect_success();
    kube.stop_api();
    kube.start_api();
    assert_eq!(services(&kube), ["kubernetes", "web"]);
    kube.kill_api();
    kube.start_api();
    assert_eq!(services(&kube), ["kubernetes", "web"]);
    kube.pause();
    kube.resume();
    kube.wipe_and_restart();
    assert_eq!(services(&kube), ["kubernetes"]);
}

#[test]
fn old_versions_expire() {
    require!(KubeApi::TOOLS);
    let mut kube = KubeApi::start_apart();
    for name in ["a", "b", "c"] {
        kube.post(SERVICES, &service(name)).expect_success();
    }
    let page = kube.get(&format!("{SERVICES}?limit=1")).expect_success();
    let token = page["metadata"]["continue"].as_str().unwrap().to_owned();
    kube.delete(&format!("{SERVICES}/c")).expect_success();
    kube.expire_versions();
    let next = kube.get(&format!("{SERVICES}?limit=1&continue={token}"));
    assert_eq!(next.status, 410, "{}", next.body);

    let old = page["metadata"]["resourceVersion"].as_str().unwrap();
    let watch = kube.get(&format!("{SERVICES}?watch=true&timeoutSeconds=5&resourceVersion={old}"));
    assert!(watch.status == 410 || watch.body["object"]["code"] == 410, "{watch:?}");
}

#[test]
fn custom_resources_are_served() {
    require!(KubeApi::TOOLS);
    let kube = KubeApi::start();
    let definition = r"
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.test}
spec:
  group: example.test
  scope: Namespaced
  names: {plural: things, singular: thing, kind: Thing, listKind: ThingList}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
";
    kube.apply_crd("things.example.test", definition);
    let things = "/apis/example.test/v1/namespaces/default/things";
    let thing = json!({ "apiVersion": "example.test/v1", "kind": "Thing", "metadata": { "name": "one" } });
    kube.post(things, &thing).expect_success();
    kube.patch_status(&format!("{things}/one"), &json!({ "seen": true })).expect_success();
    assert_eq!(kube.get(&format!("{things}/one")).expect_success()["status"]["seen"], true);
}
