//! The sources: which kinds each maps, what its mappers read besides, and the mappers themselves.
//!
//! In come the options, out come [`Role`]s: a source has one for each kind of object that it maps. What must hold: a
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
mod service;
#[cfg(feature = "skipper")]
mod skipper;
pub mod table;
#[cfg(feature = "traefik")]
mod traefik;
mod unstructured;

use std::fmt;
use std::sync::Arc;

use zonewright_core::endpoint::Mapped;

use crate::kind::Kind;
use crate::lookup::{Lookup, Reach, Reads};
use crate::options::{SourceKind, SourceOptions};
use crate::store::Object;

/// What a mapper is given besides its object.
#[derive(Debug, Clone, Copy)]
pub struct Scope<'a> {
    /// Whose mapper it is.
    pub role: &'a Role,
    /// The options of all sources.
    pub options: &'a SourceOptions,
    /// What the cluster holds, as far as the source sees it.
    pub lookup: &'a Lookup<'a>,
}

/// A pure function from an object, and what it looks up, to what the object asks for.
pub type MapFn = fn(&Object, &Scope<'_>) -> Mapped;

/// One source's work on one kind.
#[derive(Clone)]
pub struct Role {
    /// The source.
    pub source: SourceKind,
    /// The kind whose objects it maps.
    pub kind: Kind,
    /// The first parts that its resource labels may have. There is more than one only for kinds that the user named, since
    /// the name of the kind is not known for certain; none where the source writes no label.
    pub labels: Vec<Arc<str>>,
    /// Every kind that a mapping may read, its own included, and how far.
    pub reads: Reads,
    /// The mapper.
    pub map: MapFn,
}

impl fmt::Debug for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Role").field("source", &self.source).field("kind", &self.kind).finish_non_exhaustive()
    }
}

impl Role {
    /// A role that sees the objects of its own kind in the namespace of `--namespace`.
    fn new(source: SourceKind, kind: Kind, label: &str, options: &SourceOptions, map: MapFn) -> Self {
        let reads = Reads::from([(kind, Reach::of(&options.namespace))]);
        Self { source, kind, labels: vec![Arc::from(label)], reads, map }
    }

    /// The same role, which also reads these kinds as far as `reach`.
    fn reading(mut self, kinds: impl IntoIterator<Item = Kind>, reach: &Reach) -> Self {
        self.reads.extend(kinds.into_iter().map(|kind| (kind, reach.clone())));
        self
    }

    /// How far it sees the objects that it maps.
    pub fn reach(&self) -> Option<&Reach> {
        self.reads.get(&self.kind)
    }
}

/// The roles of the chosen sources, each source once, in the order of [`SourceKind::ALL`]; or those of `zonewright kops`.
pub fn roles(options: &SourceOptions) -> Vec<Role> {
    #[cfg(feature = "kops")]
    if let Some(kops) = options.kops {
        return kops::roles(options, kops);
    }
    let chosen = SourceKind::ALL.iter().filter(|(source, _)| options.sources.contains(source));
    chosen.flat_map(|(source, _)| roles_of(*source, options)).collect()
}

/// What all roles read, and how far altogether.
pub fn reads<'a>(roles: impl IntoIterator<Item = &'a Role>) -> Reads {
    let mut all = Reads::new();
    for (kind, reach) in roles.into_iter().flat_map(|role| &role.reads) {
        let joined = all.remove(kind).map_or_else(|| reach.clone(), |known: Reach| known.join(reach));
        all.insert(*kind, joined);
    }
    all
}

fn roles_of(source: SourceKind, options: &SourceOptions) -> Vec<Role> {
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
