//! The kinds of objects that sources read.

use zonewright_core::endpoint::KindId;

/// A kind of object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// core/v1 Service.
    Service,
    /// networking.k8s.io/v1 Ingress.
    Ingress,
    /// discovery.k8s.io/v1 EndpointSlice.
    EndpointSlice,
    /// core/v1 Pod.
    Pod,
    /// core/v1 Node.
    Node,
}

/// What the API server calls a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KindSpec {
    /// The kind.
    pub kind: Kind,
    /// API group; empty for the core group.
    pub group: &'static str,
    /// Version.
    pub version: &'static str,
    /// Plural resource name in paths and RBAC rules.
    pub plural: &'static str,
    /// Kind name in manifests.
    pub name: &'static str,
    /// Whether objects live in namespaces.
    pub namespaced: bool,
}

/// Every kind, in one table and in the order of the variants: watches, RBAC and manifests all read it.
pub const KINDS: [KindSpec; 5] = [
    spec(Kind::Service, "", "v1", "services", "Service", true),
    spec(Kind::Ingress, "networking.k8s.io", "v1", "ingresses", "Ingress", true),
    spec(Kind::EndpointSlice, "discovery.k8s.io", "v1", "endpointslices", "EndpointSlice", true),
    spec(Kind::Pod, "", "v1", "pods", "Pod", true),
    spec(Kind::Node, "", "v1", "nodes", "Node", false),
];

const fn spec(
    kind: Kind,
    group: &'static str,
    version: &'static str,
    plural: &'static str,
    name: &'static str,
    namespaced: bool,
) -> KindSpec {
    KindSpec { kind, group, version, plural, name, namespaced }
}

impl Kind {
    /// The table row of this kind.
    pub fn spec(self) -> &'static KindSpec {
        &KINDS[self as usize]
    }

    /// The kind's id in evidence and metrics: `services`, `ingresses.networking.k8s.io`.
    pub fn id(self) -> KindId {
        self.spec().id()
    }

    /// The kind of a manifest's `apiVersion` and `kind`; `None` if no source reads it.
    pub fn of(api_version: &str, kind: &str) -> Option<Self> {
        KINDS.iter().find(|spec| spec.name == kind && spec.api_version() == api_version).map(|spec| spec.kind)
    }
}

impl KindSpec {
    /// `v1`, `networking.k8s.io/v1`.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.to_owned() } else { format!("{}/{}", self.group, self.version) }
    }

    /// `services`, `ingresses.networking.k8s.io`.
    pub fn id(&self) -> KindId {
        if self.group.is_empty() {
            KindId::from(self.plural)
        } else {
            KindId::from(format!("{}.{}", self.plural, self.group))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_finds_its_own_row() {
        for spec in &KINDS {
            assert_eq!(spec.kind.spec(), spec);
            assert_eq!(Kind::of(&spec.api_version(), spec.name), Some(spec.kind));
        }
        assert_eq!(&*Kind::Ingress.id(), "ingresses.networking.k8s.io");
        assert_eq!(&*Kind::Pod.id(), "pods");
        assert_eq!(Kind::of("extensions/v1beta1", "Ingress"), None);
    }
}
