//! A cluster as kops makes it: nodes with roles, and API servers as host-network pods with kops' annotations.

use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;
use zonewright_testkit::KubeApi;
use zonewright_testkit::kube::User;

use crate::daemon::{CommandLine, state_folder, text};
use crate::site::{Site, ZONE};
use crate::{SOON, until};

pub(super) const EXTERNAL: &str = "dns.alpha.kubernetes.io/external";
pub(super) const INTERNAL: &str = "dns.alpha.kubernetes.io/internal";

/// A cluster of its own, and a state folder for its daemon.
#[derive(Debug)]
pub(super) struct Plane {
    pub(super) kube: KubeApi,
    state: (TempDir, String),
}

impl Plane {
    #[track_caller]
    pub(super) fn start() -> Self {
        let kube = KubeApi::start();
        grant(&kube);
        Self { kube, state: state_folder() }
    }

    /// The UID by which the cluster is known.
    #[track_caller]
    pub(super) fn owner(&self) -> String {
        let namespace = self.kube.get("/api/v1/namespaces/kube-system").expect_success();
        format!("kops-{}", namespace["metadata"]["uid"].as_str().expect("a UID"))
    }

    /// The daemon of this cluster: dns-controller's flags, and what the provider needs.
    pub(super) fn line(&self, provider: CommandLine, dns: &str) -> CommandLine {
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
        self.line(provider, "rfc2136").arg(format!("--zone={ZONE}"))
    }

    /// A node with a role, at `203.0.113.N` and `10.0.0.N`.
    #[track_caller]
    pub(super) fn node(&self, name: &str, role: &str, number: u8) {
        let labels = json!({ format!("node-role.kubernetes.io/{role}"): "" });
        let node = json!({ "metadata": { "name": name, "labels": labels } });
        self.kube.post("/api/v1/nodes", &node).expect_success();
        let addresses = json!([
            { "type": "ExternalIP", "address": format!("203.0.113.{number}") },
            { "type": "InternalIP", "address": format!("10.0.0.{number}") },
        ]);
        self.kube.patch_status(&format!("/api/v1/nodes/{name}"), &json!({ "addresses": addresses })).expect_success();
    }

    /// A host-network pod of kube-system on a node, with these annotations.
    #[track_caller]
    pub(super) fn pod(&self, name: &str, node: &str, number: u8, annotations: &[(&str, &str)]) {
        let spec = json!({ "nodeName": node, "hostNetwork": true, "containers": [{ "name": "c", "image": "c" }] });
        self.create("kube-system", "pods", name, annotations, &json!({ "spec": spec }));
        let ip = format!("10.0.0.{number}");
        let status = json!({ "phase": "Running", "hostIP": ip, "podIP": ip, "podIPs": [{ "ip": ip }] });
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
        let entries: Vec<Value> = targets.iter().map(entry).collect();
        let path = format!("{}/{name}", collection("default", plural));
        self.kube.patch_status(&path, &json!({ "loadBalancer": { "ingress": entries } })).expect_success();
    }

    /// An Ingress of `default` with this host.
    #[track_caller]
    pub(super) fn ingress(&self, name: &str, host: &str, targets: &[&str]) {
        let rule = json!({ "host": host });
        let spec = json!({ "rules": [rule], "tls": [{ "hosts": [format!("tls.{ZONE}")] }] });
        self.create("default", "ingresses", name, &[], &json!({ "spec": spec }));
        self.reached_at("ingresses", name, targets);
    }

    /// Gives the daemon the right to read Ingresses, or takes it away.
    #[track_caller]
    pub(super) fn may_read_ingresses(&self, may: bool) {
        let path = "/apis/rbac.authorization.k8s.io/v1/clusterroles/zonewright:dns-controller";
        let mut role = self.kube.get(path).expect_success();
        for rule in role["rules"].as_array_mut().expect("rules") {
            if rule["apiGroups"] == json!(["networking.k8s.io"]) {
                rule["verbs"] = if may { json!(["get", "list", "watch"]) } else { json!(["get"]) };
            }
        }
        self.kube.put(path, &role).expect_success();
        until("the rights", SOON, || self.kube.may(User::Zonewright, "list", "networking.k8s.io", "ingresses") == may);
    }

    /// Waits for an Event on an object of `namespace` whose reason is this and whose note holds this text.
    #[track_caller]
    pub(super) fn is_told(&self, namespace: &str, object: &str, reason: &str, text: &str) {
        let path = format!("/apis/events.k8s.io/v1/namespaces/{namespace}/events");
        let events = || -> Vec<(String, String)> {
            let list = self.kube.get(&path).expect_success();
            let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let items = list["items"].as_array().expect("a list").clone();
            let about = items.into_iter().filter(|event| event["regarding"]["name"] == object);
            about.map(|event| (word(&event["reason"]), word(&event["note"]))).collect()
        };
        let fits = |(r, note): &(String, String)| (r == reason || r == "SeveralProblems") && note.contains(text);
        let told = zonewright_testkit::poll(SOON, || events().iter().any(fits).then_some(()));
        assert!(told.is_some(), "no event {reason} with {text:?} on {object}: {:#?}", events());
    }
}

fn collection(namespace: &str, plural: &str) -> String {
    let api = if plural == "ingresses" { "/apis/networking.k8s.io/v1" } else { "/api/v1" };
    format!("{api}/namespaces/{namespace}/{plural}")
}

/// Gives the user `zonewright` the rights in `deploy/kops`, in the place of the service account, and no others.
#[track_caller]
fn grant(kube: &KubeApi) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/kops/rbac.yaml");
    let text = std::fs::read_to_string(file).expect("rbac.yaml is there");
    let objects: Vec<Value> = serde_saphyr::from_multiple(&text).expect("rbac.yaml is YAML");
    let rbac = "/apis/rbac.authorization.k8s.io/v1";
    until("kube-system", SOON, || kube.get("/api/v1/namespaces/kube-system").status == 200);
    for mut object in objects {
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
