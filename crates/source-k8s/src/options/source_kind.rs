//! The values of `--source`.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

/// Writes the enum of sources and the table of their words.
macro_rules! sources {
    ($($(#[$doc:meta])* $variant:ident = $word:literal;)*) => {
        /// A value of `--source`.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum SourceKind {
            $($(#[$doc])* $variant,)*
        }

        impl SourceKind {
            /// Every source with its word.
            pub const ALL: &[(Self, &'static str)] = &[$((Self::$variant, $word),)*];

            /// The words alone.
            pub const WORDS: &[&'static str] = &[$($word,)*];

            /// The word: the value of the flag.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)*
                }
            }
        }
    };
}

sources! {
    /// Services.
    Service = "service";
    /// Ingresses.
    Ingress = "ingress";
    /// Nodes.
    Node = "node";
    /// Pods.
    Pod = "pod";
    /// Gateway API HTTPRoutes.
    GatewayHttpRoute = "gateway-httproute";
    /// Gateway API GRPCRoutes.
    GatewayGrpcRoute = "gateway-grpcroute";
    /// Gateway API TLSRoutes.
    GatewayTlsRoute = "gateway-tlsroute";
    /// Gateway API TCPRoutes.
    GatewayTcpRoute = "gateway-tcproute";
    /// Gateway API UDPRoutes.
    GatewayUdpRoute = "gateway-udproute";
    /// DNSEndpoints.
    Crd = "crd";
    /// Istio's Gateways.
    IstioGateway = "istio-gateway";
    /// Istio's VirtualServices.
    IstioVirtualService = "istio-virtualservice";
    /// Contour's HTTPProxies.
    ContourHttpProxy = "contour-httpproxy";
    /// Kong's TCPIngresses.
    KongTcpIngress = "kong-tcpingress";
    /// Traefik's IngressRoutes.
    TraefikProxy = "traefik-proxy";
    /// Gloo's Proxies.
    GlooProxy = "gloo-proxy";
    /// Skipper's RouteGroups.
    SkipperRouteGroup = "skipper-routegroup";
    /// OpenShift's Routes.
    OpenshiftRoute = "openshift-route";
    /// Ambassador's Hosts.
    AmbassadorHost = "ambassador-host";
    /// F5's VirtualServers.
    F5VirtualServer = "f5-virtualserver";
    /// F5's TransportServers.
    F5TransportServer = "f5-transportserver";
    /// Objects of any kind.
    Unstructured = "unstructured";
    /// A server of the connector protocol; it has no mappers.
    Connector = "connector";
    /// Made-up records; it has no mappers.
    Fake = "fake";
    /// Nothing.
    Empty = "empty";
}

/// The words once for all: every object names its source.
static SHARED: LazyLock<BTreeMap<SourceKind, Arc<str>>> =
    LazyLock::new(|| SourceKind::ALL.iter().map(|(source, word)| (*source, Arc::from(*word))).collect());

impl SourceKind {
    /// [`SourceKind::as_str`], in one place of memory for all.
    pub fn shared(self) -> Arc<str> {
        SHARED.get(&self).map_or_else(|| Arc::from(self.as_str()), Arc::clone)
    }

    /// Whether templates run over the objects of this source.
    pub fn has_templates(self) -> bool {
        !matches!(self, Self::Crd | Self::KongTcpIngress | Self::AmbassadorHost | Self::Connector | Self::Empty)
    }

    /// The source of a word; `None` if there is no such source.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, word)| *word == text).map(|(source, _)| *source)
    }

    /// The Cargo feature without which the source is not built; `None` for those that are always there.
    pub fn feature(self) -> Option<&'static str> {
        self.family().map(|(feature, _)| feature)
    }

    /// Whether this build has the source.
    pub fn is_built(self) -> bool {
        self.family().is_none_or(|(_, built)| built)
    }

    fn family(self) -> Option<(&'static str, bool)> {
        match self {
            Self::GatewayHttpRoute
            | Self::GatewayGrpcRoute
            | Self::GatewayTlsRoute
            | Self::GatewayTcpRoute
            | Self::GatewayUdpRoute => Some(("gateway", cfg!(feature = "gateway"))),
            Self::IstioGateway | Self::IstioVirtualService => Some(("istio", cfg!(feature = "istio"))),
            Self::ContourHttpProxy => Some(("contour", cfg!(feature = "contour"))),
            Self::KongTcpIngress => Some(("kong", cfg!(feature = "kong"))),
            Self::TraefikProxy => Some(("traefik", cfg!(feature = "traefik"))),
            Self::GlooProxy => Some(("gloo", cfg!(feature = "gloo"))),
            Self::SkipperRouteGroup => Some(("skipper", cfg!(feature = "skipper"))),
            Self::OpenshiftRoute => Some(("openshift", cfg!(feature = "openshift"))),
            Self::AmbassadorHost => Some(("ambassador", cfg!(feature = "ambassador"))),
            Self::F5VirtualServer | Self::F5TransportServer => Some(("f5", cfg!(feature = "f5"))),
            Self::Service
            | Self::Ingress
            | Self::Node
            | Self::Pod
            | Self::Crd
            | Self::Unstructured
            | Self::Connector
            | Self::Fake
            | Self::Empty => None,
        }
    }
}
