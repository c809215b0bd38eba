//! The feed from a cluster, against a real API server.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[allow(dead_code, reason = "the other tests use the rest")]
#[path = "source/support.rs"]
mod support;

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use support::{Engine, options};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};
use zonewright_cluster::{ConnectOptions, connect};
use zonewright_core::source::{SeenKinds, Source};
use zonewright_source_k8s::options::SourceOptions;
use zonewright_source_k8s::source::K8sSource;
use zonewright_testkit::kube::{KubeApi, User};
use zonewright_testkit::{require, wait_for};

/// Whatever is waited for comes within this time, on the slowest machine.
const DEADLINE: Duration = Duration::from_mins(2);

const SERVICES: &str = "/api/v1/namespaces/default/services";
const PODS: &str = "/api/v1/namespaces/default/pods";
const SLICES: &str = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";

struct Lab {
    source: Arc<K8sSource>,
    engine: Engine,
    gone: Vec<(String, bool)>,
    _tasks: JoinSet<()>,
}

impl Lab {
    async fn new(kube: &KubeApi, user: User, options: SourceOptions) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let connection = ConnectOptions {
            kubeconfig: Some(kube.kubeconfig(user)),
            qps: 100,
            burst: 100,
            ..ConnectOptions::default()
        };
        let cluster = connect(&connection).await.unwrap();
        let (source, mut tasks) = K8sSource::watch(&cluster, options, &SeenKinds::default());
        tasks.spawn(source.clone().report_statuses(cluster, std::future::pending()));
        Self { source, engine: Engine::default(), gone: Vec::new(), _tasks: tasks }
    }

    /// Waits for wake-ups, and takes over what they report, until `condition` holds.
    async fn until(&mut self, what: &str, condition: impl Fn(&Self) -> bool) {
        let deadline = Instant::now() + DEADLINE;
        loop {
            self.gone.extend(self.engine.take(self.source.take(false)));
            if condition(self) {
                return;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            let woken = timeout(left, self.source.changed()).await;
            let evidence = self.source.evidence();
            assert!(woken.is_ok(), "waited in vain for {what}; {:?}, {evidence:?}", self.engine.endpoints());
        }
    }

    async fn until_endpoints(&mut self, expected: &[&str]) {
        self.until(&format!("{expected:?}"), |lab| lab.engine.endpoints() == expected).await;
    }

    fn states(&self) -> Vec<String> {
        let kinds = self.source.evidence().kinds;
        kinds.iter().map(|(kind, state)| format!("{kind} {} {}", state.settled, state.is_evidence())).collect()
    }
}

fn balancer(name: &str) -> Value {
    let annotations = json!({"external-dns.kubernetes.io/hostname": format!("{name}.example.com")});
    json!({"metadata": {"name": name, "annotations": annotations}, "spec": {"type": "LoadBalancer", "ports": [{"port": 80}]}})
}

fn publish(kube: &KubeApi, name: &str, address: &str) {
    let status = json!({"loadBalancer": {"ingress": [{"ip": address}]}});
    kube.patch_status(&format!("{SERVICES}/{name}"), &status).expect_success();
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_of_a_cluster() {
    require!(KubeApi::TOOLS);
    let kube = KubeApi::start();
    kube.post(SERVICES, &balancer("old")).expect_success();
    publish(&kube, "old", "192.0.2.1");
    let mut lab = Lab::new(&kube, User::Admin, options()).await;
    lab.until("every kind", |lab| lab.source.evidence().kinds.values().all(|state| state.is_evidence())).await;
    lab.until_endpoints(&["old.example.com A 192.0.2.1"]).await;

    kube.post(SERVICES, &balancer("web")).expect_success();
    publish(&kube, "web", "192.0.2.2");
    lab.until_endpoints(&["old.example.com A 192.0.2.1", "web.example.com A 192.0.2.2"]).await;
    assert!(lab.engine.objects.keys().all(|(_, object)| !object.uid.is_empty()));

    kube.delete(&format!("{SERVICES}/web")).expect_success();
    lab.until_endpoints(&["old.example.com A 192.0.2.1"]).await;
    assert_eq!(lab.gone, [("Service default/web".to_owned(), true)]);

    let annotations = json!({"external-dns.kubernetes.io/hostname": null});
    kube.patch(&format!("{SERVICES}/old"), &json!({"metadata": {"annotations": annotations}})).expect_success();
    lab.until_endpoints(&[]).await;
    assert_eq!(lab.gone.len(), 1, "an edit is no removal");
}

#[tokio::test(flavor = "multi_thread")]
async fn pods_and_slices_of_a_headless_service() {
    require!(KubeApi::TOOLS);
    let kube = KubeApi::start();
    kube.post(
        SERVICES,
        &json!({
            "metadata": {"name": "db", "annotations": {"external-dns.kubernetes.io/hostname": "db.example.com"}},
            "spec": {"clusterIP": "None", "selector": {"app": "db"}, "ports": [{"port": 80}]},
        }),
    )
    .expect_success();
    let mut lab = Lab::new(&kube, User::Admin, options()).await;
    kube.post("/api/v1/namespaces/default/serviceaccounts", &json!({"metadata": {"name": "default"}}));
    kube.post(PODS, &json!({
        "metadata": {"name": "db-0", "labels": {"app": "db"}},
        "spec": {"hostname": "db-0", "automountServiceAccountToken": false, "containers": [{"name": "c", "image": "none"}]},
    }))
    .expect_success();
    kube.post(SLICES, &json!({
        "metadata": {"name": "db-1", "labels": {"kubernetes.io/service-name": "db"}},
        "addressType": "IPv4", "ports": [],
        "endpoints": [{"addresses": ["10.1.0.1"], "targetRef": {"kind": "Pod", "name": "db-0", "namespace": "default"}}],
    }))
    .expect_success();
    lab.until_endpoints(&["db-0.db.example.com A 10.1.0.1", "db.example.com A 10.1.0.1"]).await;

    kube.delete(&format!("{SLICES}/db-1")).expect_success();
    lab.until_endpoints(&[]).await;
    assert_eq!(lab.gone, [], "the Service is still there");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_namespace_only() {
    require!(KubeApi::TOOLS);
    let kube = KubeApi::start();
    kube.post("/api/v1/namespaces", &json!({"metadata": {"name": "other"}})).expect_success();
    for (namespace, name) in [("default", "in"), ("other", "out")] {
        let path = format!("/api/v1/namespaces/{namespace}/services");
        kube.post(&path, &balancer(name)).expect_success();
        let status = json!({"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}});
        kube.patch_status(&format!("{path}/{name}"), &status).expect_success();
    }
    let in_default = SourceOptions { namespace: "default".to_owned(), ..options() };
    let mut lab = Lab::new(&kube, User::Admin, in_default).await;
    lab.until("every kind", |lab| lab.source.evidence().kinds.values().all(|state| state.is_evidence())).await;
    lab.until_endpoints(&["in.example.com A 192.0.2.1"]).await;
    let services = &lab.source.evidence().kinds["services"];
    assert_eq!(services.objects, 2, "in and the API server's own");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kind_that_may_not_be_read_is_settled_and_no_evidence() {
    require!(KubeApi::TOOLS);
    let kube = KubeApi::start();
    kube.grant("services", &json!([{"apiGroups": [""], "resources": ["services"], "verbs": ["list", "watch"]}]));
    wait_for("the grant", DEADLINE, || (kube.get_as(User::Zonewright, "/api/v1/services").status == 200).then_some(()));
    let mut lab = Lab::new(&kube, User::Zonewright, options()).await;
    let expected = [
        "endpointslices.discovery.k8s.io true false",
        "ingresses.networking.k8s.io true false",
        "nodes true false",
        "pods true false",
        "services true true",
    ];
    lab.until("four refusals and a list", |lab| lab.states() == expected).await;
}
