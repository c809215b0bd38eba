//! The sources: which kinds each maps, what its mappers read besides, and the mappers themselves.
//!
//! In come the options, out come [`SourceRole`]s: a source has one for each kind of object that it maps. What must hold: a
//! mapper is a pure function of its object and of what it looks up, and whatever it looks up is among the role's reads.

#[cfg(feature = "ambassador")]
mod ambassador;
#[cfg(feature = "contour")]
mod contour;
pub mod crd;
#[cfg(feature = "f5")]
mod f5;
#[cfg(feature = "gateway")]
mod gateway;
#[cfg(feature = "gloo")]
mod gloo;
#[cfg(any(
    feature = "ambassador",
    feature = "contour",
    feature = "f5",
    feature = "gloo",
    feature = "istio",
    feature = "kong",
    feature = "openshift",
    feature = "skipper",
    feature = "traefik"
))]
#[allow(dead_code, reason = "which of it is in use depends on the families that are built")]
mod hosted;
mod ingress;
#[cfg(feature = "istio")]
mod istio;
#[cfg(feature = "kong")]
mod kong;
#[cfg(feature = "kops")]
mod kops;
mod node;
#[cfg(feature = "openshift")]
mod openshift;
mod pod;
mod reader_of;
mod service;
#[cfg(feature = "skipper")]
mod skipper;
pub mod table;
#[cfg(feature = "traefik")]
mod traefik;
mod unstructured;

use std::collections::BTreeSet;

use crate::kind::Kind;
use crate::lookup::Reads;
use crate::options::{SourceKind, SourceOptions};
pub use crate::role::{MapFn, MapScope, SourceRole, reads};
use crate::store::Keep;
pub use reader_of::{SourceOfKind, source_of};

/// The roles of the chosen sources, each source once, in the order of [`SourceKind::ALL`]; or those of `zonewright kops`.
pub fn roles(options: &SourceOptions) -> Vec<SourceRole> {
    #[cfg(feature = "kops")]
    if let Some(kops) = options.kops {
        return kops::roles(options, kops);
    }
    let chosen = SourceKind::ALL.iter().filter(|(source, _)| options.sources.contains(source));
    chosen.flat_map(|(source, _)| roles_of(*source, options)).collect()
}

impl SourceOptions {
    /// What the chosen sources read with these options, and how far.
    pub fn reads(&self) -> Reads {
        reads(&roles(self))
    }

    /// What of the objects is kept in memory.
    pub fn keep(&self) -> Keep {
        let templated = || roles(self).into_iter().filter(|role| role.source.has_templates());
        let whole =
            if self.templates.is_configured() { templated().map(|role| role.kind).collect() } else { BTreeSet::new() };
        Keep { annotations: self.annotation_keys(), whole }
    }
}

fn roles_of(source: SourceKind, options: &SourceOptions) -> Vec<SourceRole> {
    match source {
        SourceKind::Service => vec![service::role(options)],
        SourceKind::Ingress => vec![ingress::role(options)],
        SourceKind::Node => vec![node::role(options)],
        SourceKind::Pod => vec![pod::role(options)],
        #[cfg(feature = "gateway")]
        SourceKind::GatewayHttpRoute
        | SourceKind::GatewayGrpcRoute
        | SourceKind::GatewayTlsRoute
        | SourceKind::GatewayTcpRoute
        | SourceKind::GatewayUdpRoute => gateway::roles(source, options),
        SourceKind::Crd => vec![crd::role(options)],
        #[cfg(feature = "istio")]
        SourceKind::IstioGateway => vec![istio::gateway_role(options)],
        #[cfg(feature = "istio")]
        SourceKind::IstioVirtualService => vec![istio::virtual_service_role(options)],
        #[cfg(feature = "contour")]
        SourceKind::ContourHttpProxy => vec![contour::role(options)],
        #[cfg(feature = "kong")]
        SourceKind::KongTcpIngress => vec![kong::role(options)],
        #[cfg(feature = "traefik")]
        SourceKind::TraefikProxy => traefik::roles(options),
        #[cfg(feature = "gloo")]
        SourceKind::GlooProxy => vec![gloo::role(options)],
        #[cfg(feature = "skipper")]
        SourceKind::SkipperRouteGroup => vec![skipper::role(options)],
        #[cfg(feature = "openshift")]
        SourceKind::OpenshiftRoute => vec![openshift::role(options)],
        #[cfg(feature = "ambassador")]
        SourceKind::AmbassadorHost => vec![ambassador::role(options)],
        #[cfg(feature = "f5")]
        SourceKind::F5VirtualServer => vec![f5::virtual_server_role(options)],
        #[cfg(feature = "f5")]
        SourceKind::F5TransportServer => vec![f5::transport_server_role(options)],
        SourceKind::Unstructured => unstructured::roles(options),
        SourceKind::Connector => vec![crd::polled_role(source, Kind::Connector, options)],
        SourceKind::Fake => vec![crd::polled_role(source, Kind::Fake, options)],
        _ => Vec::new(),
    }
}
