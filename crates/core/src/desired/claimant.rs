//! Who asks: an object, and the source that reads it.

use std::fmt;
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

impl fmt::Display for Claimant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.namespace {
            "" => write!(f, "{} {}", self.kind, self.name),
            namespace => write!(f, "{} {namespace}/{}", self.kind, self.name),
        }
    }
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
