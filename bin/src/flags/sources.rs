//! The flags of sources, in the order of the help text.
//!
//! Names, types and defaults are those of external-dns where it has the flag; the sentences say what Zonewright does.

use zonewright_core::catalog::FlagKind::{Bool, Choice, Int, List, Text};
use zonewright_core::catalog::FlagSpec;

use super::set::{Group, Owner};

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
pub(super) const FLAGS: &[Group] = &[
    Group { heading: "All sources", owner: Owner::Core, flags: SOURCE },
    Group { heading: "Source service", owner: Owner::Sources(&["service"]), flags: SERVICE },
    Group { heading: "Source service", owner: Owner::Sources(&["service", "pod"]), flags: COMPATIBILITY },
    Group { heading: "Source service", owner: Owner::Sources(&["service", "node"]), flags: NODES },
    Group { heading: "Source ingress", owner: Owner::Sources(&["ingress"]), flags: INGRESS },
    Group {
        heading: "Source pod",
        owner: Owner::Sources(&["pod"]),
        flags: &[
            flag("pod-source-domain", Text, "Domain under which pods get names"),
            flag("ignore-non-host-network-pods", Bool, "Leave out pods that are not on the host network"),
        ],
    },
    Group {
        heading: "Sources gateway-*",
        owner: Owner::Sources(&[
            "gateway-grpcroute",
            "gateway-httproute",
            "gateway-tcproute",
            "gateway-tlsroute",
            "gateway-udproute",
        ]),
        flags: &[
            flag("gateway-name", Text, "Only gateways of this name"),
            flag("gateway-namespace", Text, "Only gateways in this namespace"),
            flag("gateway-label-filter", Text, "Label selector of gateways"),
            flag("gateway-listener-sets", Bool, "Also read ListenerSets"),
        ],
    },
    Group {
        heading: "Source crd",
        owner: Owner::Sources(&["crd"]),
        flags: &[
            flag("crd-source-apiversion", Text, "Group and version; no effect in external-dns either")
                .or("externaldns.k8s.io/v1alpha1"),
            flag("crd-source-kind", Text, "Kind; no effect in external-dns either").or("DNSEndpoint"),
        ],
    },
    Group {
        heading: "Source connector",
        owner: Owner::Sources(&["connector"]),
        flags: &[flag("connector-source-server", Text, "Host and port to connect to").or("localhost:8080")],
    },
    Group {
        heading: "Source gloo-proxy",
        owner: Owner::Sources(&["gloo-proxy"]),
        flags: &[flag("gloo-namespace", List, "Namespace of Gloo; repeatable").or("gloo-system")],
    },
    Group {
        heading: "Source openshift-route",
        owner: Owner::Sources(&["openshift-route"]),
        flags: &[flag("openshift-router-name", Text, "Router whose canonical host name is the target")],
    },
    Group {
        heading: "Source skipper-routegroup",
        owner: Owner::Sources(&["skipper-routegroup"]),
        flags: &[flag("skipper-routegroup-groupversion", Text, "Group and version of RouteGroup").or("zalando.org/v1")],
    },
    Group {
        heading: "Source traefik-proxy",
        owner: Owner::Sources(&["traefik-proxy"]),
        flags: &[
            flag("traefik-enable-legacy", Bool, "Also read the group traefik.containo.us"),
            flag("traefik-disable-new", Bool, "Do not read the group traefik.io"),
        ],
    },
    Group {
        heading: "Source unstructured",
        owner: Owner::Sources(&["unstructured"]),
        flags: &[flag("unstructured-resource", List, "Resource as plural.version.group; repeatable")],
    },
];

const SOURCE: &[FlagSpec] = &[
    flag("namespace", Text, "Read objects of this namespace only"),
    flag("label-filter", Text, "Label selector of the objects to read"),
    flag("annotation-filter", Text, "The same syntax on annotations; `!=`, `<` and `>` do not exist there"),
    flag("annotation-prefix", List, "Prefix of the annotations; repeated, later ones stand in for earlier ones")
        .or("external-dns.kubernetes.io/"),
    flag(
        "enable-legacy-annotation-prefix",
        Bool,
        "Also annotations that begin with external-dns.alpha.kubernetes.io/, where no other prefix says anything",
    ),
    flag("ignore-hostname-annotation", Bool, "Take names from --fqdn-template only"),
    flag(
        "max-names-per-annotation",
        Int,
        "Maximum number of names that one annotation gives; published ones come first, the rest is reported; 0: no limit",
    )
    .or("1000"),
    flag("fqdn-template", List, "Go template for host names; repeatable"),
    flag("target-template", List, "Go template for targets; repeatable"),
    flag("fqdn-target-template", List, "Go template for pairs of host and target; repeatable"),
    flag("combine-fqdn-annotation", Bool, "Names of templates beside those of annotations; no effect without one"),
    flag(
        "events-emit",
        List,
        "Which changes objects are told of: RecordReady (without the flag), RecordError; repeatable",
    ),
];

const SERVICE: &[FlagSpec] = &[
    flag("service-type-filter", List, "Only services of this type; repeatable"),
    flag("publish-internal-services", Bool, "Also services of type ClusterIP"),
    flag("publish-host-ip", Bool, "Headless services: the addresses of the pods' nodes"),
    flag("always-publish-not-ready-addresses", Bool, "Headless services: also pods that are not ready"),
    flag("listen-endpoint-events", Bool, "No effect: changes of EndpointSlices always count"),
    flag("resolve-service-load-balancer-hostname", Bool, "Look up a load balancer's host name and write addresses"),
];

const COMPATIBILITY: &[FlagSpec] = &[flag(
    "compatibility",
    Choice(&["", "mate", "molecule", "kops-dns-controller"]),
    "Read the annotations of another tool too",
)];

const NODES: &[FlagSpec] = &[
    flag("exclude-unschedulable", Bool, "Leave out nodes that are cordoned").or("true"),
    flag("expose-internal-ipv6", Bool, "Also IPv6 addresses of type InternalIP"),
];

const INGRESS: &[FlagSpec] = &[
    flag("ingress-class", List, "Only ingresses of this class; repeatable"),
    flag("ignore-ingress-rules-spec", Bool, "No names from `spec.rules`"),
    flag("ignore-ingress-tls-spec", Bool, "No names from `spec.tls`"),
];
