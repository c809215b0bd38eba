//! Istio's Gateway and VirtualService.

use serde::Deserialize;

use super::{Meta, nullable};
use crate::annotations::AnnotationFilterKeys;

/// See the module.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct IstioGateway {
    /// Metadata.
    #[serde(deserialize_with = "nullable")]
    pub metadata: Meta,
}

impl IstioGateway {
    /// Drops annotations that are not in `keep`.
    pub fn prune(&mut self, keep: &AnnotationFilterKeys) {
        self.metadata.annotations.retain(|key| keep.keeps(key));
    }
}

/// See the module.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct IstioVirtualService {
    /// Metadata.
    #[serde(deserialize_with = "nullable")]
    pub metadata: Meta,
}

impl IstioVirtualService {
    /// Drops annotations that are not in `keep`.
    pub fn prune(&mut self, keep: &AnnotationFilterKeys) {
        self.metadata.annotations.retain(|key| keep.keeps(key));
    }
}
