//! Who asks: an object, and the source that reads it.

use std::sync::Arc;

use crate::endpoint::ObjectRef;

/// One object as one source reads it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Claimant {
    source: Arc<str>,
    api_version: Arc<str>,
    kind: Arc<str>,
    pub(super) namespace: Arc<str>,
    name: Arc<str>,
}

impl Claimant {
    pub(super) fn new(source: &Arc<str>, object: &ObjectRef) -> Self {
        Self {
            source: source.clone(),
            api_version: object.api_version.clone(),
            kind: object.kind.clone(),
            namespace: object.namespace.clone(),
            name: object.name.clone(),
        }
    }
}
