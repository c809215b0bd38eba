//! Traefik's IngressRoute and its kin.

use serde::Deserialize;

use super::{Meta, nullable};
use crate::annotations::AnnotationFilterKeys;

/// See the module.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct IngressRoute {
    /// Metadata.
    #[serde(deserialize_with = "nullable")]
    pub metadata: Meta,
}

impl IngressRoute {
    /// Drops annotations that are not in `keep`.
    pub fn prune(&mut self, keep: &AnnotationFilterKeys) {
        self.metadata.annotations.retain(|key| keep.keeps(key));
    }
}
