//! Traefik's IngressRoute, IngressRouteTCP and IngressRouteUDP.

use serde::Deserialize;

use super::{Meta, nullable};
use crate::annotations::AnnotationFilterKeys;

/// An IngressRoute of any protocol.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct IngressRoute {
    /// Metadata.
    #[serde(deserialize_with = "nullable")]
    pub metadata: Meta,
    /// What it should be.
    #[serde(deserialize_with = "nullable")]
    pub spec: IngressRouteSpec,
}

impl IngressRoute {
    /// Drops annotations that are not in `keep`.
    pub fn prune(&mut self, keep: &AnnotationFilterKeys) {
        self.metadata.annotations.retain(|key| keep.keeps(key));
    }
}

/// `spec` of an IngressRoute.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct IngressRouteSpec {
    /// Routes.
    #[serde(deserialize_with = "nullable")]
    pub routes: Vec<TraefikRoute>,
}

/// One route.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct TraefikRoute {
    /// Traefik's rule, such as ``Host(`a.example.org`)``; empty for UDP.
    #[serde(rename = "match", deserialize_with = "nullable")]
    pub rule: Box<str>,
}
