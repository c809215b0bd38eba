//! The flags of sources, in the order of the help text.
//!
//! Names, types and defaults are those of external-dns where it has the flag; the sentences say what Zonewright does.

use zonewright_core::catalog::FlagKind::{Bool, Choice, Int, List, Text};
use zonewright_core::catalog::FlagSpec;

use super::owner::{FlagGroup, FlagOwner};

const fn flag(name: &'static str, kind: zonewright_core::catalog::FlagKind, help: &'static str) -> FlagSpec {
    FlagSpec::new(name, kind, help)
}

/// Every value that external-dns takes for `--source`.
pub(super) const SOURCES: &[&str] = &[
    "ambassador-host",
    "connector",
    "contour-httpproxy",
    "crd",
    "empty",
    "f5-transportserver",
    "f5-virtualserver",
    "fake",
    "gateway-grpcroute",
    "gateway-httproute",
    "gateway-tcproute",
    "gateway-tlsroute",
    "gateway-udproute",
    "gloo-proxy",
    "ingress",
    "istio-gateway",
    "istio-virtualservice",
    "kong-tcpingress",
    "node",
    "openshift-route",
    "pod",
    "service",
    "skipper-routegroup",
    "traefik-proxy",
    "unstructured",
];

/// All groups of this file.
pub(super) const FLAGS: &[FlagGroup] = &[
    FlagGroup { heading: "All sources", owner: FlagOwner::Core, flags: SOURCE },
    FlagGroup { heading: "Source service", owner: FlagOwner::Sources(&["service"]), flags: SERVICE },
    FlagGroup { heading: "Source service", owner: FlagOwner::Sources(&["service", "pod"]), flags: COMPATIBILITY },
    FlagGroup { heading: "Source service", owner: FlagOwner::Sources(&["service", "node"]), flags: NODES },
    FlagGroup { heading: "Source ingress", owner: FlagOwner::Sources(&["ingress"]), flags: INGRESS },
    FlagGroup {
        heading: "Source pod",
        owner: FlagOwner::Sources(&["pod"]),
        flags: &[
            flag("pod-source-domain", Text, "Domain of generated pod names"),
            flag("ignore-non-host-network-pods", Bool, "Exclude pods that are not on the host network"),
        ],
    },
    FlagGroup {
        heading: "Sources gateway-*",
        owner: FlagOwner::Sources(&[
            "gateway-grpcroute",
            "gateway-httproute",
            "gateway-tcproute",
            "gateway-tlsroute",
            "gateway-udproute",
        ]),
        flags: &[
            flag("gateway-name", Text, "Include only gateways of this name"),
            flag("gateway-namespace", Text, "Include only gateways in this namespace"),
            flag("gateway-label-filter", Text, "Label selector for gateways"),
            flag("gateway-listener-sets", Bool, "Read ListenerSets as well"),
        ],
    },
    FlagGroup {
        heading: "Source crd",
        owner: FlagOwner::Sources(&["crd"]),
        flags: &[
            flag("crd-source-apiversion", Text, "Group and version; no effect in external-dns either")
                .or("externaldns.k8s.io/v1alpha1"),
            flag("crd-source-kind", Text, "Kind; no effect in external-dns either").or("DNSEndpoint"),
        ],
    },
    FlagGroup {
        heading: "Source connector",
        owner: FlagOwner::Sources(&["connector"]),
        flags: &[flag("connector-source-server", Text, "Host and port to connect to").or("localhost:8080")],
    },
    FlagGroup {
        heading: "Source gloo-proxy",
        owner: FlagOwner::Sources(&["gloo-proxy"]),
        flags: &[flag("gloo-namespace", List, "Namespace of Gloo; repeatable").or("gloo-system")],
    },
    FlagGroup {
        heading: "Source openshift-route",
        owner: FlagOwner::Sources(&["openshift-route"]),
        flags: &[flag("openshift-router-name", Text, "Router whose canonical host name is the target")],
    },
    FlagGroup {
        heading: "Source skipper-routegroup",
        owner: FlagOwner::Sources(&["skipper-routegroup"]),
        flags: &[flag("skipper-routegroup-groupversion", Text, "Group and version of RouteGroup").or("zalando.org/v1")],
    },
    FlagGroup {
        heading: "Source traefik-proxy",
        owner: FlagOwner::Sources(&["traefik-proxy"]),
        flags: &[
            flag("traefik-enable-legacy", Bool, "Read the group traefik.containo.us as well"),
            flag("traefik-disable-new", Bool, "Ignore the group traefik.io"),
        ],
    },
    FlagGroup {
        heading: "Source unstructured",
        owner: FlagOwner::Sources(&["unstructured"]),
        flags: &[flag("unstructured-resource", List, "Resource as plural.version.group; repeatable")],
    },
];

const SOURCE: &[FlagSpec] = &[
    flag("namespace", Text, "Read objects in this namespace only"),
    flag("label-filter", Text, "Label selector for objects"),
    flag("annotation-filter", Text, "Selector for annotations of objects, without `!=`, `<` and `>`"),
    flag("annotation-prefix", List, "Prefix of annotations; repeatable, later ones are fallbacks")
        .or("external-dns.kubernetes.io/"),
    flag(
        "enable-legacy-annotation-prefix",
        Bool,
        "Read annotations with external-dns.alpha.kubernetes.io/ as a fallback",
    ),
    flag("ignore-hostname-annotation", Bool, "Ignore host name annotations; use --fqdn-template only"),
    flag(
        "max-names-per-annotation",
        Int,
        "Maximum number of names per annotation, published ones first; the rest is reported; 0: no limit",
    )
    .or("1000"),
    flag("fqdn-template", List, "Go template for host names; repeatable"),
    flag("target-template", List, "Go template for targets; repeatable"),
    flag("fqdn-target-template", List, "Go template for pairs of host name and target; repeatable"),
    flag("combine-fqdn-annotation", Bool, "Combine names from templates with those from annotations"),
    flag(
        "events-filtered",
        Bool,
        "Emit an event too for names, types and targets that a filter leaves out; without it only where a record of this owner stands",
    ),
    flag("events-emit", List, "Events to emit: RecordReady (default) or RecordError; repeatable"),
];

const SERVICE: &[FlagSpec] = &[
    flag("service-type-filter", List, "Include only services of this type; repeatable"),
    flag("publish-internal-services", Bool, "Include services of type ClusterIP"),
    flag("publish-host-ip", Bool, "Headless services: publish the addresses of the nodes"),
    flag("always-publish-not-ready-addresses", Bool, "Headless services: include pods that are not ready"),
    flag("listen-endpoint-events", Bool, "No effect: changes of EndpointSlices always count"),
    flag(
        "resolve-service-load-balancer-hostname",
        Bool,
        "Resolve load balancer host names and publish their addresses",
    ),
];

const COMPATIBILITY: &[FlagSpec] = &[flag(
    "compatibility",
    Choice(&["", "mate", "molecule", "kops-dns-controller"]),
    "Read annotations of another tool as well",
)];

const NODES: &[FlagSpec] = &[
    flag("exclude-unschedulable", Bool, "Exclude cordoned nodes").or("true"),
    flag("expose-internal-ipv6", Bool, "Include IPv6 addresses of type InternalIP"),
];

const INGRESS: &[FlagSpec] = &[
    flag("ingress-class", List, "Include only ingresses of this class; repeatable"),
    flag("ignore-ingress-rules-spec", Bool, "Ignore host names in `spec.rules`"),
    flag("ignore-ingress-tls-spec", Bool, "Ignore host names in `spec.tls`"),
];
