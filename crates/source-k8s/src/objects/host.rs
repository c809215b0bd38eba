//! The addresses of a host name, as a resolver gave them.

use serde::Deserialize;

use super::{Meta, nullable};
use crate::annotations::AnnotationFilterKeys;

/// A host name, in `metadata.name`, and its addresses. No cluster has it: the resolver's feed makes it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Host {
    /// Metadata.
    #[serde(deserialize_with = "nullable")]
    pub metadata: Meta,
    /// Addresses, sorted.
    #[serde(deserialize_with = "nullable")]
    pub addresses: Vec<Box<str>>,
}

impl Host {
    /// Drops annotations that are not in `keep`.
    pub fn prune(&mut self, keep: &AnnotationFilterKeys) {
        self.metadata.annotations.retain(|key| keep.keeps(key));
    }
}
