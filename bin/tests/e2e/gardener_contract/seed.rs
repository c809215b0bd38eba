//! API servers with Gardener's kinds, whose user `zonewright` has the rights of `deploy/gardener/manifests`; and lanes, by which
//! tests of one API server keep apart.
//!
//! A controller sees the objects of all namespaces, so each test at one API server has a class to itself: there are three, and a
//! test waits for one. What it leaves behind is taken away when it gives the class back.

use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};

use serde_json::{Value, json};
use zonewright_testkit::KubeApi;
use zonewright_testkit::kube::User;

use crate::{LATER, until};

/// The collection of all DNSRecords.
pub(super) const RECORDS: &str = "/apis/extensions.gardener.cloud/v1alpha1/dnsrecords";
/// The collection of all Clusters.
pub(super) const CLUSTERS: &str = "/apis/extensions.gardener.cloud/v1alpha1/clusters";
/// Where the controller's Leases are.
pub(super) const OWN: &str = "extension-zonewright";

/// The API server of all tests that share one. It lasts as long as any of them holds it.
static SHARED: Mutex<Weak<KubeApi>> = Mutex::new(Weak::new());

/// Which classes are free.
static CLASSES: Mutex<Vec<&'static str>> = Mutex::new(Vec::new());
static FIRST: std::sync::Once = std::sync::Once::new();
static FREED: Condvar = Condvar::new();

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A class of one API server, for one test.
#[derive(Debug)]
pub(super) struct Lane {
    pub(super) kube: Arc<KubeApi>,
    pub(super) class: &'static str,
    /// Whether the class goes back to the others.
    shared: bool,
}

impl Lane {
    /// A free class of the shared API server.
    #[track_caller]
    pub(super) fn shared() -> Self {
        FIRST.call_once(|| locked(&CLASSES).extend(["garden", "seed", "shoot"]));
        let mut free = locked(&CLASSES);
        let class = loop {
            match free.pop() {
                Some(class) => break class,
                None => free = FREED.wait(free).unwrap_or_else(PoisonError::into_inner),
            }
        };
        drop(free);
        let mut lane = Self { kube: shared(), class, shared: false };
        lane.shared = true;
        lane
    }

    /// An API server for one test alone.
    #[track_caller]
    pub(super) fn own() -> Self {
        Self { kube: Arc::new(start()), class: "shoot", shared: false }
    }

    /// Takes away every DNSRecord of the class. The controller must have ended.
    fn clear(&self) {
        let list = self.kube.get(RECORDS).body;
        for record in list["items"].as_array().into_iter().flatten() {
            if record["spec"]["class"].as_str().unwrap_or("shoot") != self.class {
                continue;
            }
            let metadata = &record["metadata"];
            let (Some(namespace), Some(name)) = (metadata["namespace"].as_str(), metadata["name"].as_str()) else {
                continue;
            };
            let path = path_of(namespace, name);
            let _ = self.kube.patch(&path, &json!({ "metadata": { "finalizers": null } }));
            let _ = self.kube.delete(&path);
        }
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        if self.shared {
            self.clear();
            locked(&CLASSES).push(self.class);
            FREED.notify_one();
        }
    }
}

/// The path of a DNSRecord.
pub(super) fn path_of(namespace: &str, name: &str) -> String {
    format!("/apis/extensions.gardener.cloud/v1alpha1/namespaces/{namespace}/dnsrecords/{name}")
}

#[track_caller]
fn shared() -> Arc<KubeApi> {
    let mut shared = locked(&SHARED);
    if let Some(kube) = shared.upgrade() {
        return kube;
    }
    let kube = Arc::new(start());
    *shared = Arc::downgrade(&kube);
    kube
}

/// The folder `deploy/gardener`.
pub(super) fn deploy(path: &str) -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/gardener").join(path);
    std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// An API server with the kinds, the rights, and the namespaces `garden` and that of the controller.
#[track_caller]
fn start() -> KubeApi {
    let kube = KubeApi::start();
    kube.apply_crd("dnsrecords.extensions.gardener.cloud", &deploy("crds/dnsrecords.yaml"));
    kube.apply_crd("clusters.extensions.gardener.cloud", &deploy("crds/clusters.yaml"));
    for name in ["garden", OWN] {
        kube.post("/api/v1/namespaces", &json!({ "metadata": { "name": name } })).expect_success();
    }
    grant(&kube);
    kube
}

/// The roles and bindings of the manifests, with the user in the place of the service account.
#[track_caller]
fn grant(kube: &KubeApi) {
    let objects: Vec<Value> = serde_saphyr::from_multiple(&deploy("manifests/rbac.yaml")).expect("rbac.yaml is YAML");
    let rbac = "/apis/rbac.authorization.k8s.io/v1";
    for mut object in objects {
        let collection = match object["kind"].as_str() {
            Some("ClusterRole") => format!("{rbac}/clusterroles"),
            Some("ClusterRoleBinding") => format!("{rbac}/clusterrolebindings"),
            Some("Role") => format!("{rbac}/namespaces/{OWN}/roles"),
            Some("RoleBinding") => format!("{rbac}/namespaces/{OWN}/rolebindings"),
            other => panic!("rbac.yaml holds a {other:?}"),
        };
        if object.get("subjects").is_some() {
            object["subjects"] = json!([
                { "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": User::Zonewright.name() }
            ]);
        }
        kube.post(&collection, &object).expect_success();
    }
    until("the grant", LATER, || {
        let granted = [RECORDS, CLUSTERS].iter().all(|path| kube.get_as(User::Zonewright, path).status == 200);
        granted && kube.may_in(User::Zonewright, "create", "coordination.k8s.io", "leases", OWN)
    });
}
