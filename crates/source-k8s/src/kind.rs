//! The kinds of objects that sources read.
//!
//! One table says everything about a kind that is known when the program is built: what the API server calls it, and the
//! shape that its objects are read into. Watches, RBAC, manifests and the store all follow it. Kinds that the user names
//! (`--unstructured-resource`) are made at start, once, and live as long as the process.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use zonewright_core::endpoint::{KindId, TypeMeta};

/// Hands the table of kinds to another macro: `Variant("group", "version", "plural", "Kind", namespaced) => Shape`.
macro_rules! every_kind {
    ($then:ident) => {
        $then! {
            /// core/v1 Service.
            Service("", "v1", "services", "Service", true) => Service;
            /// networking.k8s.io/v1 Ingress.
            Ingress("networking.k8s.io", "v1", "ingresses", "Ingress", true) => Ingress;
            /// discovery.k8s.io/v1 EndpointSlice.
            EndpointSlice("discovery.k8s.io", "v1", "endpointslices", "EndpointSlice", true) => EndpointSlice;
            /// core/v1 Pod.
            Pod("", "v1", "pods", "Pod", true) => Pod;
            /// core/v1 Node.
            Node("", "v1", "nodes", "Node", false) => Node;
            /// core/v1 Namespace.
            Namespace("", "v1", "namespaces", "Namespace", false) => Plain;
            /// Gateway API Gateway.
            Gateway("gateway.networking.k8s.io", "v1", "gateways", "Gateway", true) => Gateway;
            /// Gateway API ListenerSet.
            ListenerSet("gateway.networking.k8s.io", "v1", "listenersets", "ListenerSet", true) => ListenerSet;
            /// Gateway API HTTPRoute.
            HttpRoute("gateway.networking.k8s.io", "v1", "httproutes", "HTTPRoute", true) => Route;
            /// Gateway API GRPCRoute.
            GrpcRoute("gateway.networking.k8s.io", "v1", "grpcroutes", "GRPCRoute", true) => Route;
            /// Gateway API TLSRoute.
            TlsRoute("gateway.networking.k8s.io", "v1", "tlsroutes", "TLSRoute", true) => Route;
            /// Gateway API TCPRoute.
            TcpRoute("gateway.networking.k8s.io", "v1alpha2", "tcproutes", "TCPRoute", true) => Route;
            /// Gateway API UDPRoute.
            UdpRoute("gateway.networking.k8s.io", "v1alpha2", "udproutes", "UDPRoute", true) => Route;
            /// external-dns' DNSEndpoint.
            DnsEndpoint("externaldns.k8s.io", "v1alpha1", "dnsendpoints", "DNSEndpoint", true) => DnsEndpoint;
            /// Istio's Gateway.
            IstioGateway("networking.istio.io", "v1", "gateways", "Gateway", true) => IstioGateway;
            /// Istio's VirtualService.
            IstioVirtualService("networking.istio.io", "v1", "virtualservices", "VirtualService", true)
                => IstioVirtualService;
            /// Contour's HTTPProxy.
            HttpProxy("projectcontour.io", "v1", "httpproxies", "HTTPProxy", true) => HttpProxy;
            /// Kong's TCPIngress.
            TcpIngress("configuration.konghq.com", "v1beta1", "tcpingresses", "TCPIngress", true) => TcpIngress;
            /// Traefik's IngressRoute.
            IngressRoute("traefik.io", "v1alpha1", "ingressroutes", "IngressRoute", true) => IngressRoute;
            /// Traefik's IngressRouteTCP.
            IngressRouteTcp("traefik.io", "v1alpha1", "ingressroutetcps", "IngressRouteTCP", true) => IngressRoute;
            /// Traefik's IngressRouteUDP.
            IngressRouteUdp("traefik.io", "v1alpha1", "ingressrouteudps", "IngressRouteUDP", true) => IngressRoute;
            /// IngressRoute of Traefik 2.
            OldIngressRoute("traefik.containo.us", "v1alpha1", "ingressroutes", "IngressRoute", true) => IngressRoute;
            /// IngressRouteTCP of Traefik 2.
            OldIngressRouteTcp("traefik.containo.us", "v1alpha1", "ingressroutetcps", "IngressRouteTCP", true)
                => IngressRoute;
            /// IngressRouteUDP of Traefik 2.
            OldIngressRouteUdp("traefik.containo.us", "v1alpha1", "ingressrouteudps", "IngressRouteUDP", true)
                => IngressRoute;
            /// Gloo's Proxy.
            GlooProxy("gloo.solo.io", "v1", "proxies", "Proxy", true) => GlooProxy;
            /// Gloo's VirtualService.
            GlooVirtualService("gateway.solo.io", "v1", "virtualservices", "VirtualService", true) => Plain;
            /// Gloo's Gateway.
            GlooGateway("gateway.solo.io", "v1", "gateways", "Gateway", true) => Plain;
            /// Skipper's RouteGroup.
            RouteGroup("zalando.org", "v1", "routegroups", "RouteGroup", true) => RouteGroup;
            /// OpenShift's Route.
            OpenshiftRoute("route.openshift.io", "v1", "routes", "Route", true) => OpenshiftRoute;
            /// Ambassador's Host.
            AmbassadorHost("getambassador.io", "v3alpha1", "hosts", "Host", true) => AmbassadorHost;
            /// VirtualServer of F5's Container Ingress Services.
            F5VirtualServer("cis.f5.com", "v1", "virtualservers", "VirtualServer", true) => F5Server;
            /// TransportServer of F5's Container Ingress Services.
            F5TransportServer("cis.f5.com", "v1", "transportservers", "TransportServer", true) => F5Server;
            /// What a server of the connector protocol gives; no cluster has it.
            Connector("zonewright.dev", "v1", "connectors", "Connector", false) => DnsEndpoint;
            /// The addresses of a host name, by a resolver; no cluster has it.
            Host("zonewright.dev", "v1", "hosts", "Host", false) => Host;
            /// What is made up; no cluster has it.
            Fake("zonewright.dev", "v1", "fakes", "Fake", false) => DnsEndpoint;
        }
    };
}
pub(crate) use every_kind;

/// What the API server calls a kind.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KindSpec {
    /// API group; empty for the core group.
    pub group: &'static str,
    /// Version.
    pub version: &'static str,
    /// Plural resource name in paths and RBAC rules.
    pub plural: &'static str,
    /// Kind name in manifests; empty where only the API server's discovery knows it.
    pub name: &'static str,
    /// Whether objects live in namespaces.
    pub namespaced: bool,
}

macro_rules! define_kinds {
    ($($(#[$doc:meta])* $variant:ident($group:literal, $version:literal, $plural:literal, $name:literal, $namespaced:literal) => $shape:ident;)*) => {
        /// A kind of object.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Kind {
            $($(#[$doc])* $variant,)*
            /// A kind that the user named; made by [`Kind::custom`].
            Custom(&'static KindSpec),
        }

        /// Every kind of the table, in the order of the variants.
        pub const KINDS: &[Kind] = &[$(Kind::$variant,)*];

        impl Kind {
            /// What the API server calls this kind.
            pub fn spec(self) -> &'static KindSpec {
                match self {
                    $(Self::$variant => &KindSpec {
                        group: $group, version: $version, plural: $plural, name: $name, namespaced: $namespaced,
                    },)*
                    Self::Custom(spec) => spec,
                }
            }
        }
    };
}
every_kind!(define_kinds);

impl Kind {
    /// A kind that the user named. What describes it is kept for the life of the process: only for settings read at start.
    pub fn custom(group: &str, version: &str, plural: &str, name: &str, namespaced: bool) -> Self {
        let keep = |text: &str| -> &'static str { Box::leak(text.to_owned().into_boxed_str()) };
        let spec =
            KindSpec { group: keep(group), version: keep(version), plural: keep(plural), name: keep(name), namespaced };
        Self::Custom(Box::leak(Box::new(spec)))
    }

    /// Whether its objects come from elsewhere than a cluster or a folder.
    pub fn is_polled(self) -> bool {
        matches!(self, Self::Connector | Self::Fake | Self::Host)
    }

    /// The kind's id in evidence and metrics: `services`, `ingresses.networking.k8s.io`. A kind that the user named has its
    /// version too (`configmaps.v1`), so that it is never taken for one of the table.
    pub fn id(self) -> KindId {
        NAMES.get(&self).map_or_else(|| self.new_id(), |names| Arc::clone(&names.id))
    }

    /// API version and kind of an object of this kind which is called `name`: those of the table, where they are the same.
    pub fn type_meta(self, name: &str) -> Arc<TypeMeta> {
        let known = NAMES.get(&self).filter(|names| *names.types.kind == *name);
        known.map_or_else(|| TypeMeta::new(self.spec().api_version(), name), |names| Arc::clone(&names.types))
    }

    fn new_id(self) -> KindId {
        let spec = self.spec();
        match (self, spec.group) {
            (Self::Custom(_), "") => KindId::from(format!("{}.{}", spec.plural, spec.version)),
            (Self::Custom(_), group) => KindId::from(format!("{}.{}.{group}", spec.plural, spec.version)),
            (_, "") => KindId::from(spec.plural),
            (_, group) => KindId::from(format!("{}.{group}", spec.plural)),
        }
    }

    /// Whether a manifest's `apiVersion` and `kind` mean this kind. Where the name of the kind is not known, its plural
    /// decides, by the rules that the field follows for it.
    pub fn is(self, api_version: &str, kind: &str) -> bool {
        let spec = self.spec();
        let named =
            if spec.name.is_empty() { plurals(kind).any(|plural| plural == spec.plural) } else { spec.name == kind };
        named && spec.api_version() == api_version
    }
}

/// How a kind is called, once for all of its objects.
struct Names {
    types: Arc<TypeMeta>,
    id: KindId,
}

static NAMES: LazyLock<BTreeMap<Kind, Names>> = LazyLock::new(|| {
    let of = |kind: &Kind| {
        let spec = kind.spec();
        (*kind, Names { types: TypeMeta::new(spec.api_version(), spec.name), id: kind.new_id() })
    };
    KINDS.iter().map(of).collect()
});

/// The plurals that a resource of this kind may have.
fn plurals(kind: &str) -> impl Iterator<Item = String> {
    let word = kind.to_lowercase();
    let ies = word.strip_suffix('y').map(|stem| format!("{stem}ies"));
    [format!("{word}s"), format!("{word}es"), word].into_iter().chain(ies)
}

impl KindSpec {
    /// `v1`, `networking.k8s.io/v1`.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.to_owned() } else { format!("{}/{}", self.group, self.version) }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_kind_is_one_of_its_own() {
        let ids: BTreeSet<KindId> = KINDS.iter().map(|kind| kind.id()).collect();
        assert_eq!(ids.len(), KINDS.len());
        for kind in KINDS {
            let spec = kind.spec();
            assert!(kind.is(&spec.api_version(), spec.name));
            assert_eq!(KINDS.iter().filter(|other| other.is(&spec.api_version(), spec.name)).count(), 1);
        }
        assert_eq!(&*Kind::Ingress.id(), "ingresses.networking.k8s.io");
        assert_eq!(&*Kind::Pod.id(), "pods");
        assert!(!Kind::Ingress.is("extensions/v1beta1", "Ingress"));
    }

    #[test]
    fn kinds_that_the_user_names() {
        let maps = Kind::custom("", "v1", "configmaps", "", true);
        assert_eq!(&*maps.id(), "configmaps.v1");
        assert!(maps.is("v1", "ConfigMap") && !maps.is("v1", "Secret") && !maps.is("v2", "ConfigMap"));
        let policies = Kind::custom("x.io", "v1", "policies", "", true);
        assert_eq!(&*policies.id(), "policies.v1.x.io");
        assert!(policies.is("x.io/v1", "Policy"));
        assert!(Kind::custom("x.io", "v1", "classes", "", true).is("x.io/v1", "Class"));
        assert!(Kind::custom("x.io", "v1", "odd", "Even", true).is("x.io/v1", "Even"));
        assert_eq!(Kind::custom("x.io", "v1", "policies", "", true), policies, "equal by what they say");
        assert_ne!(Kind::custom("", "v1", "services", "Service", true).id(), Kind::Service.id());
    }
}
