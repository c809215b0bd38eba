//! Definitions of the custom kinds that sources read, as small as an API server takes them: any object fits.
//!
//! In comes an API server, out goes one that serves all of them. The daemon's user has the rights that the program itself asks
//! for. What must hold: the status is a subresource, as with the real ones, so that it is written apart from the rest.

use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};
use zonewright_testkit::KubeApi;
use zonewright_testkit::kube::User;

use crate::{LATER, cluster, until};

/// A custom kind.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Crd {
    /// `<plural>.<group>`.
    pub(crate) name: &'static str,
    pub(crate) version: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) namespaced: bool,
}

const fn crd(name: &'static str, version: &'static str, kind: &'static str) -> Crd {
    Crd { name, version, kind, namespaced: true }
}

/// Every kind, in the versions that are in use.
const CRDS: &[Crd] = &[
    crd("gateways.gateway.networking.k8s.io", "v1", "Gateway"),
    crd("listenersets.gateway.networking.k8s.io", "v1", "ListenerSet"),
    crd("httproutes.gateway.networking.k8s.io", "v1", "HTTPRoute"),
    crd("grpcroutes.gateway.networking.k8s.io", "v1", "GRPCRoute"),
    crd("tlsroutes.gateway.networking.k8s.io", "v1", "TLSRoute"),
    crd("tcproutes.gateway.networking.k8s.io", "v1alpha2", "TCPRoute"),
    crd("udproutes.gateway.networking.k8s.io", "v1alpha2", "UDPRoute"),
    crd("dnsendpoints.externaldns.k8s.io", "v1alpha1", "DNSEndpoint"),
    crd("gateways.networking.istio.io", "v1", "Gateway"),
    crd("virtualservices.networking.istio.io", "v1", "VirtualService"),
    crd("httpproxies.projectcontour.io", "v1", "HTTPProxy"),
    crd("tcpingresses.configuration.konghq.com", "v1beta1", "TCPIngress"),
    crd("ingressroutes.traefik.io", "v1alpha1", "IngressRoute"),
    crd("ingressroutetcps.traefik.io", "v1alpha1", "IngressRouteTCP"),
    crd("ingressrouteudps.traefik.io", "v1alpha1", "IngressRouteUDP"),
    crd("ingressroutes.traefik.containo.us", "v1alpha1", "IngressRoute"),
    crd("ingressroutetcps.traefik.containo.us", "v1alpha1", "IngressRouteTCP"),
    crd("ingressrouteudps.traefik.containo.us", "v1alpha1", "IngressRouteUDP"),
    crd("proxies.gloo.solo.io", "v1", "Proxy"),
    crd("virtualservices.gateway.solo.io", "v1", "VirtualService"),
    crd("gateways.gateway.solo.io", "v1", "Gateway"),
    crd("routegroups.zalando.org", "v1", "RouteGroup"),
    crd("routes.route.openshift.io", "v1", "Route"),
    crd("hosts.getambassador.io", "v3alpha1", "Host"),
    crd("virtualservers.cis.f5.com", "v1", "VirtualServer"),
    crd("transportservers.cis.f5.com", "v1", "TransportServer"),
    crd("widgets.things.test", "v1", "Widget"),
    Crd { namespaced: false, ..crd("regions.things.test", "v1", "Region") },
    LATE,
];

/// A kind that no API server has at first.
pub(crate) const LATE: Crd = crd("routegroups.late.test", "v1", "RouteGroup");

/// A group that no API server ever has.
pub(crate) const NEVER: &str = "never.test";

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// The kind of this name.
pub(crate) fn find(name: &str) -> Option<&'static Crd> {
    CRDS.iter().find(|crd| crd.name == name)
}

impl Crd {
    fn plural_and_group(self) -> (&'static str, &'static str) {
        self.name.split_once('.').expect("<plural>.<group>")
    }

    /// The path of all objects.
    fn path(self) -> String {
        let (plural, group) = self.plural_and_group();
        format!("/apis/{group}/{}/{plural}", self.version)
    }

    /// The path of the objects in this namespace; of all, if the kind does not live in namespaces.
    pub(crate) fn path_in(self, namespace: &str) -> String {
        let (plural, group) = self.plural_and_group();
        if !self.namespaced {
            return self.path();
        }
        format!("/apis/{group}/{}/namespaces/{namespace}/{plural}", self.version)
    }

    pub(crate) fn api_version(self) -> String {
        format!("{}/{}", self.plural_and_group().1, self.version)
    }

    /// The path of the definition.
    pub(crate) fn definition_path(self) -> String {
        format!("{DEFINITIONS}/{}", self.name)
    }

    fn definition(self) -> Value {
        let (plural, group) = self.plural_and_group();
        let any = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
        let version = json!({
            "name": self.version,
            "served": true,
            "storage": true,
            "subresources": { "status": {} },
            "schema": { "openAPIV3Schema": any },
        });
        json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            // The API server asks it of groups below k8s.io.
            "metadata": { "name": self.name, "annotations": { "api-approved.kubernetes.io": "unapproved, for tests" } },
            "spec": {
                "group": group,
                "names": { "plural": plural, "singular": self.kind.to_lowercase(), "kind": self.kind },
                "scope": if self.namespaced { "Namespaced" } else { "Cluster" },
                "versions": [version],
            },
        })
    }

    /// Makes an API server serve the kind.
    #[track_caller]
    pub(crate) fn install(self, kube: &KubeApi) {
        kube.apply_crd(self.name, &self.definition().to_string());
    }
}

/// The shared API server with every kind but [`LATE`].
#[track_caller]
pub(crate) fn shared() -> Arc<KubeApi> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let kube = cluster::shared();
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    if kube.get("/apis/rbac.authorization.k8s.io/v1/clusterroles/kinds").status != 200 {
        install(&kube);
    }
    kube
}

/// The rules of the cluster role that the program prints for these arguments.
#[track_caller]
fn rights(arguments: &[String]) -> Vec<Value> {
    let output = Command::new(env!("CARGO_BIN_EXE_zonewright")).arg("rbac").args(arguments).output();
    let output = output.expect("the program runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("roles are text");
    let roles: Vec<Value> = serde_saphyr::from_multiple(&text).expect("roles are YAML");
    let mut role = roles.into_iter().filter(|role| role["kind"] == "ClusterRole");
    role.next().and_then(|role| role["rules"].as_array().cloned()).expect("a cluster role with rules")
}

/// Makes an API server serve every kind but [`LATE`], and gives the user `zonewright` the right to read them all.
#[track_caller]
pub(crate) fn install(kube: &KubeApi) {
    let at_first = || CRDS.iter().filter(|crd| crd.name != LATE.name);
    for crd in at_first() {
        kube.apply(&crd.definition_path(), &crd.definition().to_string()).expect_success();
    }
    // Rights do not depend on what there is.
    let sources = [
        "service",
        "ingress",
        "node",
        "pod",
        "gateway-httproute",
        "gateway-grpcroute",
        "gateway-tlsroute",
        "gateway-tcproute",
        "gateway-udproute",
        "crd",
        "istio-gateway",
        "istio-virtualservice",
        "contour-httpproxy",
        "kong-tcpingress",
        "traefik-proxy",
        "gloo-proxy",
        "skipper-routegroup",
        "openshift-route",
        "ambassador-host",
        "f5-virtualserver",
        "f5-transportserver",
        "unstructured",
    ];
    let sources: Vec<String> = sources.iter().map(|source| format!("--source={source}")).collect();
    let never = format!("things.v1.{NEVER}");
    let things = ["widgets.v1.things.test", "regions.v1.things.test", "configmaps.v1", &never];
    let things = things.map(|thing| format!("--unstructured-resource={thing}"));
    let options = ["--gateway-listener-sets", "--traefik-enable-legacy"].map(str::to_owned);
    let all: Vec<String> = sources.into_iter().chain(things).chain(options).collect();
    let late = format!("--skipper-routegroup-groupversion={}/{}", LATE.plural_and_group().1, LATE.version);
    let late = rights(&["--source=skipper-routegroup".to_owned(), late]);
    kube.grant("kinds", &[rights(&all), late].concat().into());
    let served = |crd: &Crd| kube.get_as(User::Zonewright, &crd.path()).status == 200;
    until("every custom kind to be served", LATER, || at_first().all(served));
}
