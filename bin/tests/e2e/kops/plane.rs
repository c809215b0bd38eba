//! A cluster as kops makes it: nodes with roles, and API servers as host-network pods with kops' annotations.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};
use tempfile::TempDir;
use zonewright_testkit::KubeApi;
use zonewright_testkit::kube::User;

use crate::daemon::{CommandLine, state_folder, text};
use crate::site::{Site, ZONE};
use crate::{SOON, until};

pub(super) const EXTERNAL: &str = "dns.alpha.kubernetes.io/external";
pub(super) const INTERNAL: &str = "dns.alpha.kubernetes.io/internal";
const CLUSTER_ROLE: &str = "/apis/rbac.authorization.k8s.io/v1/clusterroles/zonewright:dns-controller";

/// What tests make in a cluster, and what daemons leave there, by the start of the paths of their lists.
const COLLECTIONS: &[(&str, &[&str])] = &[
    ("/api/v1", &["nodes", "pods", "services", "configmaps"]),
    ("/apis/networking.k8s.io/v1", &["ingresses"]),
    ("/apis/events.k8s.io/v1", &["events"]),
    ("/apis/coordination.k8s.io/v1", &["leases"]),
];

/// The clusters of this module's tests: an API server is started once and emptied after each test.
static CLUSTERS: Mutex<Clusters> = Mutex::new(Clusters { idle: Vec::new(), used: 0 });

struct Clusters {
    idle: Vec<Arc<KubeApi>>,
    /// With the last test that holds one the idle ones go too, so that nothing is left behind.
    used: usize,
}

/// A cluster of its own, and a state folder for its daemon.
#[derive(Debug)]
pub(super) struct Plane {
    pub(super) kube: Arc<KubeApi>,
    state: (TempDir, String),
    /// When the last request of a daemon of an earlier test came. What that left open may be logged later.
    earlier: String,
}

impl Plane {
    #[track_caller]
    pub(super) fn start() -> Self {
        let idle = {
            let mut clusters = CLUSTERS.lock().unwrap_or_else(PoisonError::into_inner);
            clusters.used += 1;
            clusters.idle.pop()
        };
        let kube = idle.unwrap_or_else(|| {
            let kube = KubeApi::start();
            grant(&kube);
            Arc::new(kube)
        });
        let earlier = kube.audit_log_of(User::Zonewright).iter().map(came).max().unwrap_or_default();
        Self { kube, state: state_folder(), earlier }
    }

    /// The API server, for a test that stops it and starts it again.
    #[track_caller]
    pub(super) fn api(&mut self) -> &mut KubeApi {
        Arc::get_mut(&mut self.kube).expect("a plane holds its cluster alone")
    }

    /// Takes away what the test and its daemons made. Returns whether the cluster is as it was at the start.
    fn clear(&self) -> bool {
        let lists = COLLECTIONS.iter().flat_map(|(api, plurals)| plurals.iter().map(move |plural| (api, plural)));
        let cleared = lists.map(|(api, plural)| {
            let list = self.kube.get(&format!("{api}/{plural}")).body;
            let Some(objects) = list["items"].as_array() else { return false };
            objects.iter().all(|object| {
                let (namespace, name) = (object["metadata"]["namespace"].as_str(), object["metadata"]["name"].as_str());
                let Some(name) = name else { return false };
                if name == "kubernetes" || (*plural == "leases" && name.starts_with("apiserver-")) {
                    return true;
                }
                let folder = namespace.map(|namespace| format!("namespaces/{namespace}/")).unwrap_or_default();
                self.kube.delete(&format!("{api}/{folder}{plural}/{name}?gracePeriodSeconds=0")).status == 200
            })
        });
        let is_granted = self.kube.get(CLUSTER_ROLE).body["rules"].as_array().map(Vec::len);
        let granted = manifest().into_iter().find(|object| object["kind"] == "ClusterRole");
        let kept = cleared.filter(|cleared| !cleared).count();
        kept == 0 && is_granted == granted.and_then(|role| role["rules"].as_array().map(Vec::len))
    }

    /// The UID by which the cluster is known.
    #[track_caller]
    pub(super) fn owner(&self) -> String {
        let namespace = self.kube.get("/api/v1/namespaces/kube-system").expect_success();
        format!("kops-{}", namespace["metadata"]["uid"].as_str().expect("a UID"))
    }

    /// The daemon of this cluster: dns-controller's flags, and what the provider needs.
    pub(super) fn line(&self, provider: &CommandLine, dns: &str) -> CommandLine {
        provider
            .ordered("kops")
            .args(&["--watch-ingress=true", "--internal-ipv4", "-v=2", "--logtostderr=true"])
            .args(&["--metrics-listen=127.0.0.1:0", "--update-interval=2"])
            .arg(format!("--dns={dns}"))
            .arg(format!("--kubeconfig={}", text(&self.kube.kubeconfig(User::Zonewright))))
            .arg(format!("--state-dir={}", self.state.1))
    }

    /// The daemon at a BIND.
    pub(super) fn at(&self, site: &Site) -> CommandLine {
        let own = ["--provider=", "--policy", "--metrics", "--txt-owner"];
        let provider = own.iter().fold(site.provider(site.dns.addr().port()), |line, start| line.without(start));
        self.line(&provider, "rfc2136").arg(format!("--zone={ZONE}"))
    }

    /// A node with a role, at `203.0.113.N` and `10.0.0.N`.
    #[track_caller]
    pub(super) fn node(&self, name: &str, role: &str, number: u8) {
        let addresses = [("ExternalIP", &*format!("203.0.113.{number}")), ("InternalIP", &*format!("10.0.0.{number}"))];
        self.node_at(name, role, &addresses, &[]);
    }

    /// A node with a role, at addresses of these types, and with these annotations.
    #[track_caller]
    pub(super) fn node_at(&self, name: &str, role: &str, addresses: &[(&str, &str)], annotations: &[(&str, &str)]) {
        let labels = json!({ format!("node-role.kubernetes.io/{role}"): "" });
        let mut node = json!({ "metadata": { "name": name, "labels": labels, "annotations": {} } });
        for (key, value) in annotations {
            node["metadata"]["annotations"][*key] = json!(value);
        }
        self.kube.post("/api/v1/nodes", &node).expect_success();
        let address = |(kind, address): &(&str, &str)| json!({ "type": kind, "address": address });
        let addresses: Vec<Value> = addresses.iter().map(address).collect();
        self.kube.patch_status(&format!("/api/v1/nodes/{name}"), &json!({ "addresses": addresses })).expect_success();
    }

    /// A host-network pod of kube-system on a node, with these annotations.
    #[track_caller]
    pub(super) fn pod(&self, name: &str, node: &str, number: u8, annotations: &[(&str, &str)]) {
        self.pod_at(name, node, &[&format!("10.0.0.{number}")], annotations);
    }

    /// The same at these addresses.
    #[track_caller]
    pub(super) fn pod_at(&self, name: &str, node: &str, ips: &[&str], annotations: &[(&str, &str)]) {
        let spec = json!({ "nodeName": node, "hostNetwork": true, "containers": [{ "name": "c", "image": "c" }] });
        self.create("kube-system", "pods", name, annotations, &json!({ "spec": spec }));
        let all: Vec<Value> = ips.iter().map(|ip| json!({ "ip": ip })).collect();
        let status = json!({ "phase": "Running", "hostIP": ips[0], "podIP": ips[0], "podIPs": all });
        self.kube.patch_status(&format!("/api/v1/namespaces/kube-system/pods/{name}"), &status).expect_success();
    }

    /// A control-plane node with its API server, which has the names `api` and `api.internal`.
    #[track_caller]
    pub(super) fn join(&self, number: u8) {
        let node = format!("cp-{number}");
        self.node(&node, "control-plane", number);
        let (api, internal) = (format!("api.{ZONE}"), format!("api.internal.{ZONE}"));
        self.pod(&format!("kube-apiserver-{node}"), &node, number, &[(EXTERNAL, &api), (INTERNAL, &internal)]);
    }

    /// A control-plane node goes, and its API server with it.
    #[track_caller]
    pub(super) fn leave(&self, number: u8) {
        self.kube.delete(&format!("/api/v1/nodes/cp-{number}")).expect_success();
        self.gone(&format!("kube-apiserver-cp-{number}"));
    }

    /// A pod of kube-system goes at once: there is no kubelet that would end it.
    #[track_caller]
    pub(super) fn gone(&self, pod: &str) {
        let path = format!("/api/v1/namespaces/kube-system/pods/{pod}?gracePeriodSeconds=0");
        self.kube.delete(&path).expect_success();
    }

    /// Creates an object in a namespace that every cluster has.
    #[track_caller]
    pub(super) fn create(
        &self,
        namespace: &str,
        plural: &str,
        name: &str,
        annotations: &[(&str, &str)],
        fields: &Value,
    ) {
        let mut object = fields.clone();
        object["metadata"]["name"] = json!(name);
        for (key, value) in annotations {
            object["metadata"]["annotations"][*key] = json!(value);
        }
        self.kube.post(&collection(namespace, plural), &object).expect_success();
    }

    /// A Service of the namespace `default`.
    #[track_caller]
    pub(super) fn service(&self, name: &str, service_type: &str, annotations: &[(&str, &str)]) {
        let spec = json!({ "type": service_type, "ports": [{ "port": 80 }] });
        self.create("default", "services", name, annotations, &json!({ "spec": spec }));
    }

    /// What the load balancer of a Service or Ingress of `default` answers at.
    #[track_caller]
    pub(super) fn reached_at(&self, plural: &str, name: &str, targets: &[&str]) {
        let entry = |target: &&str| match target.parse::<std::net::IpAddr>() {
            Ok(_) => json!({ "ip": target }),
            Err(_) => json!({ "hostname": target }),
        };
        self.balanced_at(plural, name, &json!(targets.iter().map(entry).collect::<Vec<Value>>()));
    }

    /// The entries of a load balancer as they stand in the status of a Service or Ingress of `default`.
    #[track_caller]
    pub(super) fn balanced_at(&self, plural: &str, name: &str, entries: &Value) {
        let path = format!("{}/{name}", collection("default", plural));
        self.kube.patch_status(&path, &json!({ "loadBalancer": { "ingress": entries } })).expect_success();
    }

    /// A Service or Ingress of `default` that has a name at an address.
    #[track_caller]
    pub(super) fn reached(&self, plural: &str, object: &str, name: &str, address: &str) {
        if plural == "ingresses" {
            self.ingress(object, name, &[address]);
        } else {
            self.service(object, "LoadBalancer", &[(EXTERNAL, name)]);
            self.reached_at(plural, object, &[address]);
        }
    }

    /// Deletes an object of `default`.
    #[track_caller]
    pub(super) fn delete(&self, plural: &str, name: &str) {
        self.kube.delete(&format!("{}/{name}", collection("default", plural))).expect_success();
    }

    /// An Ingress of `default` with this host.
    #[track_caller]
    pub(super) fn ingress(&self, name: &str, host: &str, targets: &[&str]) {
        let rule = json!({ "host": host });
        let spec = json!({ "rules": [rule], "tls": [{ "hosts": [format!("tls.{ZONE}")] }] });
        self.create("default", "ingresses", name, &[], &json!({ "spec": spec }));
        self.reached_at("ingresses", name, targets);
    }

    /// Takes the right to a kind away from the daemon, until [`Self::grant_again`].
    #[track_caller]
    pub(super) fn withhold(&self, group: &str, resource: &str) {
        let mut role = self.kube.get(CLUSTER_ROLE).expect_success();
        let rules = role["rules"].as_array_mut().expect("rules");
        for rule in &mut *rules {
            rule["resources"].as_array_mut().expect("resources").retain(|of_rule| of_rule != resource);
        }
        rules.retain(|rule| rule["resources"] != json!([]));
        self.kube.put(CLUSTER_ROLE, &role).expect_success();
        until("less rights", SOON, || !self.kube.may(User::Zonewright, "list", group, resource));
    }

    /// Gives the daemon the rights of the manifest again.
    #[track_caller]
    pub(super) fn grant_again(&self, group: &str, resource: &str) {
        let granted = manifest().into_iter().find(|object| object["kind"] == "ClusterRole").expect("a ClusterRole");
        self.kube.put(CLUSTER_ROLE, &granted).expect_success();
        until("the rights", SOON, || self.kube.may(User::Zonewright, "list", group, resource));
    }

    /// How often the events on an object of `namespace` with this reason were posted.
    #[track_caller]
    pub(super) fn event_count(&self, namespace: &str, object: &str, reason: &str) -> i64 {
        let list = self.kube.get(&format!("/apis/events.k8s.io/v1/namespaces/{namespace}/events")).expect_success();
        let items = list["items"].as_array().expect("a list");
        let about = items.iter().filter(|event| event["regarding"]["name"] == object && event["reason"] == reason);
        about.map(|event| event["series"]["count"].as_i64().unwrap_or(1)).sum()
    }

    /// The daemon's requests, and the test's in its name, as audit events.
    pub(super) fn requests(&self) -> Vec<Value> {
        let mut requests = self.kube.audit_log_of(User::Zonewright);
        requests.retain(|event| came(event) > self.earlier);
        requests
    }

    /// What the daemon asked the API server for: namespace and resource of each request to a resource that is one of these.
    #[track_caller]
    pub(super) fn asked_for(&self, resources: &[&str]) -> BTreeSet<String> {
        let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let requests = self.requests().into_iter();
        // The test asks under the same user whether the rights are there.
        let requests = requests.filter(|event| word(&event["userAgent"]).starts_with("zonewright/")).map(|event| {
            let about = &event["objectRef"];
            (word(&about["namespace"]), word(&about["resource"]))
        });
        let asked = requests.filter(|(_, resource)| resources.contains(&resource.as_str()));
        asked.map(|(namespace, resource)| format!("{namespace}/{resource}")).collect()
    }

    /// Waits for an Event on an object of `namespace` whose reason is this and whose note holds this text.
    #[track_caller]
    pub(super) fn expect_event(&self, namespace: &str, object: &str, reason: &str, text: &str) {
        let path = format!("/apis/events.k8s.io/v1/namespaces/{namespace}/events");
        let events = || -> Vec<(String, String)> {
            let list = self.kube.get(&path).expect_success();
            let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let items = list["items"].as_array().expect("a list").clone();
            let about = items.into_iter().filter(|event| event["regarding"]["name"] == object);
            about.map(|event| (word(&event["reason"]), word(&event["note"]))).collect()
        };
        let fits = |(r, note): &(String, String)| (r == reason || r == "SeveralProblems") && note.contains(text);
        let found = zonewright_testkit::poll(SOON, || events().iter().any(fits).then_some(()));
        assert!(found.is_some(), "no event {reason} with {text:?} on {object}: {:#?}", events());
    }
}

/// When a request came, by an audit event: microseconds in UTC, so that texts stand in the order of the times.
fn came(event: &Value) -> String {
    event["requestReceivedTimestamp"].as_str().unwrap_or_default().to_owned()
}

impl Drop for Plane {
    fn drop(&mut self) {
        let reused = !std::thread::panicking() && self.clear();
        let mut clusters = CLUSTERS.lock().unwrap_or_else(PoisonError::into_inner);
        clusters.used -= 1;
        if clusters.used == 0 {
            clusters.idle.clear();
        } else if reused {
            clusters.idle.push(self.kube.clone());
        }
    }
}

fn collection(namespace: &str, plural: &str) -> String {
    let api = if plural == "ingresses" { "/apis/networking.k8s.io/v1" } else { "/api/v1" };
    format!("{api}/namespaces/{namespace}/{plural}")
}

/// The objects of `deploy/kops/rbac.yaml`.
pub(super) fn manifest() -> Vec<Value> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/kops/rbac.yaml");
    let text = std::fs::read_to_string(file).expect("rbac.yaml is there");
    serde_saphyr::from_multiple(&text).expect("rbac.yaml is YAML")
}

/// Gives the user `zonewright` the rights in `deploy/kops`, in the place of the service account, and no others.
#[track_caller]
fn grant(kube: &KubeApi) {
    let rbac = "/apis/rbac.authorization.k8s.io/v1";
    until("kube-system", SOON, || kube.get("/api/v1/namespaces/kube-system").status == 200);
    for mut object in manifest() {
        let collection = match object["kind"].as_str() {
            Some("ServiceAccount") => continue,
            Some("ClusterRole") => format!("{rbac}/clusterroles"),
            Some("ClusterRoleBinding") => format!("{rbac}/clusterrolebindings"),
            Some("Role") => format!("{rbac}/namespaces/kube-system/roles"),
            Some("RoleBinding") => format!("{rbac}/namespaces/kube-system/rolebindings"),
            other => panic!("rbac.yaml holds a {other:?}"),
        };
        if object.get("subjects").is_some() {
            object["subjects"] = json!([
                { "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": User::Zonewright.name() }
            ]);
        }
        kube.post(&collection, &object).expect_success();
    }
    let paths = ["/api/v1/services", "/api/v1/nodes", "/api/v1/pods", "/apis/networking.k8s.io/v1/ingresses"];
    until("the grant", SOON, || paths.iter().all(|path| kube.get_as(User::Zonewright, path).status == 200));
}
