//! Objects of which only the metadata are read.

use serde::Deserialize;

use super::{Meta, nullable};
use crate::annotations::AnnotationFilterKeys;

/// An object of which only the metadata are read by mappers, and everything by templates.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Plain {
    /// Metadata.
    #[serde(deserialize_with = "nullable")]
    pub metadata: Meta,
}

impl Plain {
    /// Drops annotations that are not in `keep`.
    pub fn prune(&mut self, keep: &AnnotationFilterKeys) {
        self.metadata.annotations.retain(|key| keep.keeps(key));
    }
}
