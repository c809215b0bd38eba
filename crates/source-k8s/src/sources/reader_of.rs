//! Which source reads a kind, whether it is chosen or compiled in or not.
//!
//! In comes what a manifest says of itself; out comes the source that would map it. What must hold: it is the source whose role
//! has the kind.

use crate::kind::{KINDS, Kind};
use crate::options::SourceKind;

/// The source of a kind of object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SourceOfKind {
    /// The kind, in the version that is read.
    pub kind: Kind,
    /// The source that maps it.
    pub source: SourceKind,
}

/// The source that maps objects of this `apiVersion` and `kind`, in whatever version; `None` if there is none.
pub fn source_of(api_version: &str, kind: &str) -> Option<SourceOfKind> {
    let group = api_version.rsplit_once('/').map_or("", |(group, _)| group);
    let same = |known: &&Kind| known.spec().group == group && known.spec().name == kind;
    KINDS.iter().filter(same).find_map(|kind| Some(SourceOfKind { kind: *kind, source: mapped_by(*kind)? }))
}

/// The source whose own kind this is. Kinds that are only looked up have none.
fn mapped_by(kind: Kind) -> Option<SourceKind> {
    Some(match kind {
        Kind::Service => SourceKind::Service,
        Kind::Ingress => SourceKind::Ingress,
        Kind::Pod => SourceKind::Pod,
        Kind::Node => SourceKind::Node,
        Kind::HttpRoute => SourceKind::GatewayHttpRoute,
        Kind::GrpcRoute => SourceKind::GatewayGrpcRoute,
        Kind::TlsRoute => SourceKind::GatewayTlsRoute,
        Kind::TcpRoute => SourceKind::GatewayTcpRoute,
        Kind::UdpRoute => SourceKind::GatewayUdpRoute,
        Kind::DnsEndpoint => SourceKind::Crd,
        Kind::IstioGateway => SourceKind::IstioGateway,
        Kind::IstioVirtualService => SourceKind::IstioVirtualService,
        Kind::HttpProxy => SourceKind::ContourHttpProxy,
        Kind::TcpIngress => SourceKind::KongTcpIngress,
        Kind::IngressRoute
        | Kind::IngressRouteTcp
        | Kind::IngressRouteUdp
        | Kind::OldIngressRoute
        | Kind::OldIngressRouteTcp
        | Kind::OldIngressRouteUdp => SourceKind::TraefikProxy,
        Kind::GlooProxy => SourceKind::GlooProxy,
        Kind::RouteGroup => SourceKind::SkipperRouteGroup,
        Kind::OpenshiftRoute => SourceKind::OpenshiftRoute,
        Kind::AmbassadorHost => SourceKind::AmbassadorHost,
        Kind::F5VirtualServer => SourceKind::F5VirtualServer,
        Kind::F5TransportServer => SourceKind::F5TransportServer,
        Kind::EndpointSlice
        | Kind::Namespace
        | Kind::Gateway
        | Kind::ListenerSet
        | Kind::GlooVirtualService
        | Kind::GlooGateway
        | Kind::Connector
        | Kind::Host
        | Kind::Fake
        | Kind::Custom(_) => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::SourceOptions;
    use crate::sources::roles;

    #[test]
    fn it_is_the_source_that_has_the_role() {
        let options =
            |source| SourceOptions { sources: vec![source], traefik_legacy: true, ..SourceOptions::default() };
        let mut seen = 0;
        for (source, _) in SourceKind::ALL.iter().filter(|(source, _)| source.is_built()) {
            for role in roles(&options(*source)).iter().filter(|role| !role.kind.is_polled()) {
                assert_eq!(mapped_by(role.kind), Some(*source), "{role:?}");
                seen += 1;
            }
        }
        assert!(seen > 4);
    }

    #[test]
    fn any_version_of_a_manifest_finds_it() {
        let check = |api_version: &str, kind: &str, expected: Option<(Kind, SourceKind)>| {
            assert_eq!(
                source_of(api_version, kind).map(|found| (found.kind, found.source)),
                expected,
                "{api_version} {kind}"
            );
        };
        let route = Some((Kind::HttpRoute, SourceKind::GatewayHttpRoute));
        check("gateway.networking.k8s.io/v1", "HTTPRoute", route);
        check("gateway.networking.k8s.io/v1beta1", "HTTPRoute", route);
        check("v1", "Service", Some((Kind::Service, SourceKind::Service)));
        check("networking.istio.io/v1", "Gateway", Some((Kind::IstioGateway, SourceKind::IstioGateway)));
        for (api_version, kind) in
            [("gateway.networking.k8s.io/v1", "Gateway"), ("v1", "ConfigMap"), ("", ""), ("x/v1", "Service")]
        {
            check(api_version, kind, None);
        }
    }
}
