//! Pods, and headless Services over them with their slices, spread over namespaces as a cluster would have them.
//!
//! Each Service has the same number of Pods behind it and asks for one name, which has all their addresses. Pods are as
//! wordy as those of a Deployment, since what the daemon does not need of them is to be dropped.

use serde_json::{Value, json};
use zonewright_testkit::KubeApi;

use crate::objects::{self, address, each, host};

/// Services of one namespace.
const PER_NAMESPACE: u32 = 50;
/// Pods of one node.
const PER_NODE: u32 = 50;

/// How many Services, and how many Pods behind all of them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Crowd {
    pub(crate) services: u32,
    pub(crate) pods: u32,
}

impl Crowd {
    /// Makes the namespaces, the Pods with their status, and the slices.
    pub(crate) fn create_pods(self, kube: &KubeApi) {
        for number in 0..self.services.div_ceil(PER_NAMESPACE) {
            let metadata = json!({ "name": namespace(number * PER_NAMESPACE) });
            kube.post("/api/v1/namespaces", &json!({ "metadata": metadata })).expect_success();
        }
        each(0..self.pods, |number| {
            let path = format!("/api/v1/namespaces/{}/pods", namespace(self.service_of(number)));
            kube.post(&path, &self.pod(number)).expect_success();
            kube.patch_status(&format!("{path}/{}", self.pod_name(number)), &pod_status(number)).expect_success();
        });
        each(0..self.services, |number| {
            let path = format!("/apis/discovery.k8s.io/v1/namespaces/{}/endpointslices", namespace(number));
            kube.post(&path, &self.slice(number)).expect_success();
        });
    }

    /// Makes the headless Services.
    pub(crate) fn create_services(self, kube: &KubeApi) {
        each(0..self.services, |number| {
            let path = format!("/api/v1/namespaces/{}/services", namespace(number));
            kube.post(&path, &service(number)).expect_success();
        });
    }

    /// The Service that the Pod of this number stands behind.
    fn service_of(self, pod: u32) -> u32 {
        pod % self.services
    }

    fn pod_name(self, number: u32) -> String {
        format!("{}-6d4cf56db6-{number:05}", app(self.service_of(number)))
    }

    fn pod(self, number: u32) -> Value {
        let app = app(self.service_of(number));
        let variable = |name: &str| json!({ "name": name, "value": format!("{name} of {app}") });
        let variables = ["ADDRESS", "PORT", "MODE", "TOKEN"].map(variable);
        json!({
            "metadata": {
                "name": self.pod_name(number),
                "labels": {
                    "app": app, "app.kubernetes.io/name": app, "app.kubernetes.io/part-of": "bench",
                    "pod-template-hash": "6d4cf56db6",
                },
                "annotations": {
                    "kubectl.kubernetes.io/restartedAt": "2026-01-01T00:00:00Z",
                    "prometheus.io/scrape": "true",
                    "checksum/config": "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
                },
            },
            "spec": {
                "nodeName": node(number),
                "containers": [{
                    "name": "main", "image": format!("registry.test/{app}:1.2.3"),
                    "env": variables,
                    "resources": { "requests": { "cpu": "10m", "memory": "16Mi" } },
                }],
            },
        })
    }

    fn slice(self, number: u32) -> Value {
        let pods = (0..self.pods).filter(|pod| self.service_of(*pod) == number);
        let endpoints: Vec<Value> = pods
            .map(|pod| {
                json!({
                    "addresses": [address(pod, 0)], "conditions": { "ready": true, "serving": true, "terminating": false },
                    "nodeName": node(pod),
                    "targetRef": { "kind": "Pod", "namespace": namespace(number), "name": self.pod_name(pod) },
                })
            })
            .collect();
        json!({
            "metadata": {
                "name": format!("{}-abcde", app(number)),
                "labels": { "kubernetes.io/service-name": app(number) },
            },
            "addressType": "IPv4",
            "endpoints": endpoints,
            "ports": [{ "name": "http", "port": 80, "protocol": "TCP" }],
        })
    }
}

fn namespace(service: u32) -> String {
    format!("team-{:03}", service / PER_NAMESPACE)
}

fn app(service: u32) -> String {
    format!("app-{service:05}")
}

fn node(pod: u32) -> String {
    format!("node-{:04}", pod / PER_NODE)
}

fn pod_status(number: u32) -> Value {
    let condition =
        |word: &str| json!({ "type": word, "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z" });
    let conditions = ["PodScheduled", "Initialized", "ContainersReady", "Ready"].map(condition);
    let address = address(number, 0);
    json!({
        "phase": "Running",
        "hostIP": objects::address(number / PER_NODE, 100),
        "podIP": address,
        "podIPs": [{ "ip": address }],
        "conditions": conditions,
        "startTime": "2026-01-01T00:00:00Z",
    })
}

fn service(number: u32) -> Value {
    json!({
        "metadata": {
            "name": app(number),
            "annotations": { "external-dns.kubernetes.io/hostname": host(number) },
        },
        "spec": { "clusterIP": "None", "selector": { "app": app(number) }, "ports": [{ "port": 80 }] },
    })
}
