//! The shapes in which sources read their objects. In comes the choice of the caller; out come the fields that a template
//! may name in its first reading.
//!
//! # Where the table of types ends
//!
//! Services, Ingresses, Nodes, Pods, the Gateway API's routes, Istio's Gateways and VirtualServices, OpenShift's Routes,
//! Contour's HTTPProxies and F5's servers are known field by field, absent fields having Go's zero values. Of Traefik's
//! kinds external-dns reads only `spec.routes[].match`, so that is all there is. The spec of a Gloo Proxy and the spec and
//! status of a RouteGroup are *open*: a field is a key that the object has, as it stands or with its Go name, and asking
//! for another is an error. What the first reading does not know may still be found by its JSON key in the second.

/// The kinds that have a typed reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ObjectKind {
    /// A core Service.
    Service,
    /// A core Node.
    Node,
    /// A core Pod.
    Pod,
    /// An Ingress of networking.k8s.io.
    Ingress,
    /// Gateway API.
    HttpRoute,
    /// Gateway API.
    GrpcRoute,
    /// Gateway API.
    TlsRoute,
    /// Gateway API.
    TcpRoute,
    /// Gateway API.
    UdpRoute,
    /// Istio.
    IstioGateway,
    /// Istio.
    IstioVirtualService,
    /// OpenShift.
    Route,
    /// Contour.
    HttpProxy,
    /// F5.
    VirtualServer,
    /// F5.
    TransportServer,
    /// Traefik.
    IngressRoute,
    /// Traefik.
    IngressRouteTcp,
    /// Traefik.
    IngressRouteUdp,
    /// Gloo.
    Proxy,
    /// Skipper.
    RouteGroup,
}

impl ObjectKind {
    /// Every kind.
    pub const ALL: [Self; 20] = [
        Self::Service,
        Self::Node,
        Self::Pod,
        Self::Ingress,
        Self::HttpRoute,
        Self::GrpcRoute,
        Self::TlsRoute,
        Self::TcpRoute,
        Self::UdpRoute,
        Self::IstioGateway,
        Self::IstioVirtualService,
        Self::Route,
        Self::HttpProxy,
        Self::VirtualServer,
        Self::TransportServer,
        Self::IngressRoute,
        Self::IngressRouteTcp,
        Self::IngressRouteUdp,
        Self::Proxy,
        Self::RouteGroup,
    ];

    /// `kind` and `apiVersion` of such an object, used where it does not say them itself.
    pub fn type_meta(self) -> (&'static str, &'static str) {
        match self {
            Self::Service => ("Service", "v1"),
            Self::Node => ("Node", "v1"),
            Self::Pod => ("Pod", "v1"),
            Self::Ingress => ("Ingress", "networking.k8s.io/v1"),
            Self::HttpRoute => ("HTTPRoute", "gateway.networking.k8s.io/v1"),
            Self::GrpcRoute => ("GRPCRoute", "gateway.networking.k8s.io/v1"),
            Self::TlsRoute => ("TLSRoute", "gateway.networking.k8s.io/v1alpha2"),
            Self::TcpRoute => ("TCPRoute", "gateway.networking.k8s.io/v1alpha2"),
            Self::UdpRoute => ("UDPRoute", "gateway.networking.k8s.io/v1alpha2"),
            Self::IstioGateway => ("Gateway", "networking.istio.io/v1"),
            Self::IstioVirtualService => ("VirtualService", "networking.istio.io/v1"),
            Self::Route => ("Route", "route.openshift.io/v1"),
            Self::HttpProxy => ("HTTPProxy", "projectcontour.io/v1"),
            Self::VirtualServer => ("VirtualServer", "cis.f5.com/v1"),
            Self::TransportServer => ("TransportServer", "cis.f5.com/v1"),
            Self::IngressRoute => ("IngressRoute", "traefik.io/v1alpha1"),
            Self::IngressRouteTcp => ("IngressRouteTCP", "traefik.io/v1alpha1"),
            Self::IngressRouteUdp => ("IngressRouteUDP", "traefik.io/v1alpha1"),
            Self::Proxy => ("Proxy", "gloo.solo.io/v1"),
            Self::RouteGroup => ("RouteGroup", "zalando.org/v1"),
        }
    }

    /// The name of its structure in the table of types.
    pub(crate) fn structure(self) -> &'static str {
        match self {
            Self::IstioGateway => "istio.Gateway",
            Self::IstioVirtualService => "istio.VirtualService",
            Self::VirtualServer => "f5.VirtualServer",
            Self::TransportServer => "f5.TransportServer",
            Self::IngressRoute | Self::IngressRouteTcp | Self::IngressRouteUdp => "IngressRoute",
            Self::Proxy => "gloo.Proxy",
            other => other.type_meta().0,
        }
    }
}

/// How a source reads an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Shape {
    /// As the Go structure of that kind.
    Typed(ObjectKind),
    /// As the `unstructured` source does: `.Name .Namespace .Kind .APIVersion .Labels .Annotations .Metadata .Spec .Status
    /// .Object`, where the first level of `.Spec` and `.Status` also answers to Go names (`.Spec.DNSNames` for `dnsNames`).
    Unstructured,
}
