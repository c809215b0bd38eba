//! API servers whose user `zonewright` holds what `deploy/kustomize/base` grants, and namespaces for tests.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use serde_json::{Value, json};
use tempfile::TempDir;
use zonewright_testkit::KubeApi;
use zonewright_testkit::kube::User;

use crate::daemon::{CommandLine, state_folder, text};
use crate::{SOON, crds, until};

/// The API server of all tests that do not break it. It lasts as long as any of them holds it, so that nothing is left
/// behind by the last.
static SHARED: Mutex<Weak<KubeApi>> = Mutex::new(Weak::new());

/// Numbers namespaces.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// The nodes of every cluster: name, labels that matter here, addresses.
const NODES: &[(&str, &[(&str, &str)])] = &[
    ("node-1", &[("ExternalIP", "203.0.113.101"), ("InternalIP", "10.1.0.1")]),
    ("node-2", &[("ExternalIP", "203.0.113.102"), ("InternalIP", "10.1.0.2")]),
];

/// The shared API server.
#[track_caller]
pub(crate) fn shared() -> Arc<KubeApi> {
    let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(kube) = shared.upgrade() {
        return kube;
    }
    let kube = Arc::new(own());
    *shared = Arc::downgrade(&kube);
    kube
}

/// An API server for one test alone.
#[track_caller]
pub(crate) fn own() -> KubeApi {
    prepared(KubeApi::start())
}

/// As [`own`], with an etcd of its own, which can be emptied and compacted.
#[track_caller]
pub(crate) fn apart() -> KubeApi {
    prepared(KubeApi::start_apart())
}

#[track_caller]
fn prepared(kube: KubeApi) -> KubeApi {
    grant(&kube);
    for (name, addresses) in NODES {
        let path = "/api/v1/nodes";
        kube.post(path, &json!({ "metadata": { "name": name } })).expect_success();
        let addresses: Vec<Value> =
            addresses.iter().map(|(kind, address)| json!({ "type": kind, "address": address })).collect();
        kube.patch_status(&format!("{path}/{name}"), &json!({ "addresses": addresses })).expect_success();
    }
    kube
}

/// Gives the user `zonewright` the rights in `deploy/kustomize/base`: the files' own roles and bindings, with the user in
/// the place of the service account.
#[track_caller]
pub(crate) fn grant(kube: &KubeApi) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/kustomize/base/rbac.yaml");
    let text = std::fs::read_to_string(file).expect("rbac.yaml is there");
    let objects: Vec<Value> = serde_saphyr::from_multiple(&text).expect("rbac.yaml is YAML");
    let rbac = "/apis/rbac.authorization.k8s.io/v1";
    for mut object in objects {
        let collection = match object["kind"].as_str() {
            Some("ClusterRole") => format!("{rbac}/clusterroles"),
            Some("ClusterRoleBinding") => format!("{rbac}/clusterrolebindings"),
            Some("Role") => format!("{rbac}/namespaces/default/roles"),
            Some("RoleBinding") => format!("{rbac}/namespaces/default/rolebindings"),
            other => panic!("rbac.yaml holds a {other:?}"),
        };
        if object.get("subjects").is_some() {
            object["subjects"] = json!([
                { "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": User::Zonewright.name() }
            ]);
        }
        kube.post(&collection, &object).expect_success();
    }
    let paths = ["/api/v1/services", "/api/v1/nodes", "/apis/networking.k8s.io/v1/ingresses"];
    until("the grant", SOON, || paths.iter().all(|path| kube.get_as(User::Zonewright, path).status == 200));
}

/// A namespace of an API server, and a state folder for the daemon that reads it.
#[derive(Debug)]
pub(crate) struct Space<'k> {
    pub(crate) kube: &'k KubeApi,
    pub(crate) name: String,
    state: (TempDir, String),
}

impl<'k> Space<'k> {
    #[track_caller]
    pub(crate) fn new(kube: &'k KubeApi) -> Self {
        let name = format!("shop-{}", COUNT.fetch_add(1, Ordering::Relaxed));
        let space = Self { kube, name, state: state_folder() };
        space.make();
        space
    }

    /// Makes the namespace (again).
    #[track_caller]
    pub(crate) fn make(&self) {
        let object = json!({ "metadata": { "name": self.name } });
        self.kube.post("/api/v1/namespaces", &object).expect_success();
    }

    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.kube.kubeconfig(User::Zonewright)
    }

    pub(crate) fn state_dir(&self) -> &str {
        &self.state.1
    }

    /// The daemon of this line reads the namespace.
    pub(crate) fn read_by(&self, line: CommandLine) -> CommandLine {
        line.arg(format!("--kubeconfig={}", text(&self.kubeconfig()))).arg(format!("--namespace={}", self.name))
    }

    /// Keeps the state folder beyond the namespace, for tests that break the API server.
    pub(crate) fn into_state(self) -> (TempDir, String) {
        self.state
    }

    /// The path of a collection in this namespace: `services`, `pods`, `ingresses`, `endpointslices`, or a custom kind such
    /// as `httpproxies.projectcontour.io`.
    pub(crate) fn path(&self, plural: &str) -> String {
        if let Some(crd) = crds::find(plural) {
            return crd.path_in(&self.name);
        }
        let api = match plural {
            "ingresses" => "/apis/networking.k8s.io/v1",
            "endpointslices" => "/apis/discovery.k8s.io/v1",
            "events" => "/apis/events.k8s.io/v1",
            _ => "/api/v1",
        };
        format!("{api}/namespaces/{}/{plural}", self.name)
    }

    /// Creates an object; `spec` and further fields as given.
    #[track_caller]
    pub(crate) fn create(&self, plural: &str, name: &str, annotations: &[(&str, &str)], fields: Value) {
        let mut object = fields;
        if let Some(crd) = crds::find(plural) {
            object["apiVersion"] = json!(crd.api_version());
            object["kind"] = json!(crd.kind);
        }
        object["metadata"]["name"] = json!(name);
        object["metadata"]["annotations"] = annotations_of(annotations);
        self.kube.post(&self.path(plural), &object).expect_success();
    }

    /// A Service of this spec.
    #[track_caller]
    pub(crate) fn service(&self, name: &str, annotations: &[(&str, &str)], spec: Value) {
        let mut spec = spec;
        if spec.get("ports").is_none() {
            spec["ports"] = json!([{ "port": 80 }]);
        }
        self.create("services", name, annotations, json!({ "spec": spec }));
    }

    /// A Service of type LoadBalancer with this host name, reached at these addresses and hosts.
    #[track_caller]
    pub(crate) fn balancer(&self, name: &str, host: &str, targets: &[&str]) {
        self.service(name, &[(HOSTNAME, host)], json!({ "type": "LoadBalancer" }));
        self.reached_at("services", name, targets);
    }

    /// Writes the load balancer's status of a Service or Ingress, as its controller would.
    #[track_caller]
    pub(crate) fn reached_at(&self, plural: &str, name: &str, targets: &[&str]) {
        let entry = |target: &&str| match target.parse::<std::net::IpAddr>() {
            Ok(_) => json!({ "ip": target }),
            Err(_) => json!({ "hostname": target }),
        };
        let entries: Vec<Value> = targets.iter().map(entry).collect();
        let status = json!({ "loadBalancer": { "ingress": entries } });
        self.kube.patch_status(&format!("{}/{name}", self.path(plural)), &status).expect_success();
    }

    /// Merges annotations into an object; an empty value removes.
    #[track_caller]
    pub(crate) fn annotate(&self, plural: &str, name: &str, annotations: &[(&str, &str)]) {
        let mut change = annotations_of(annotations);
        for (key, _) in annotations.iter().filter(|(_, value)| value.is_empty()) {
            change[*key] = Value::Null;
        }
        let change = json!({ "metadata": { "annotations": change } });
        self.kube.patch(&format!("{}/{name}", self.path(plural)), &change).expect_success();
    }

    /// Merges `change` into an object.
    #[track_caller]
    pub(crate) fn change(&self, plural: &str, name: &str, change: &Value) {
        self.kube.patch(&format!("{}/{name}", self.path(plural)), change).expect_success();
    }

    /// Merges `status` into the status of an object, as its controller would.
    #[track_caller]
    pub(crate) fn status(&self, plural: &str, name: &str, status: &Value) {
        self.kube.patch_status(&format!("{}/{name}", self.path(plural)), status).expect_success();
    }

    #[track_caller]
    pub(crate) fn delete(&self, plural: &str, name: &str) {
        self.kube.delete(&format!("{}/{name}", self.path(plural))).expect_success();
    }

    /// This many Services `s0`, `s1`..., each with its own name and a stated address: no status is needed.
    #[track_caller]
    pub(crate) fn services(&self, count: usize, zone: &str) {
        for n in 0..count {
            let (host, target) = (format!("s{n}.{zone}"), format!("192.0.{}.{}", n / 250, n % 250 + 1));
            self.service(&format!("s{n}"), &[(HOSTNAME, &host), (TARGET, &target)], json!({ "type": "ClusterIP" }));
        }
    }

    /// An Ingress with this host, at a stated address.
    #[track_caller]
    pub(crate) fn ingress(&self, name: &str, host: &str, target: &str) {
        self.create("ingresses", name, &[(TARGET, target)], json!({ "spec": { "rules": [{ "host": host }] } }));
    }

    /// Reason and note of every Event on objects of this name.
    #[track_caller]
    pub(crate) fn events(&self, object: &str) -> Vec<(String, String)> {
        let list = self.kube.get(&self.path("events")).expect_success();
        let items = list["items"].as_array().expect("a list").clone();
        let about = items.into_iter().filter(|event| event["regarding"]["name"] == object);
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        about.map(|event| (text(&event["reason"]), text(&event["note"]))).collect()
    }

    /// Waits for an Event with this reason, or one of several problems, whose note holds all of these texts.
    #[track_caller]
    pub(crate) fn expect_event(&self, object: &str, reason: &str, texts: &[&str]) {
        let found = zonewright_testkit::poll(SOON, || {
            let events = self.events(object);
            let meant = |known: &str| known == reason || known == "SeveralProblems";
            let fits = |(r, note): &(String, String)| meant(r) && texts.iter().all(|text| note.contains(text));
            events.iter().any(fits).then_some(())
        });
        assert!(found.is_some(), "no event {reason} with {texts:?} on {object}: {:#?}", self.events(object));
    }
}

pub(crate) const HOSTNAME: &str = "external-dns.kubernetes.io/hostname";
pub(crate) const TARGET: &str = "external-dns.kubernetes.io/target";
pub(crate) const TTL: &str = "external-dns.kubernetes.io/ttl";

fn annotations_of(pairs: &[(&str, &str)]) -> Value {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), json!(value))).collect::<serde_json::Map<_, _>>().into()
}
