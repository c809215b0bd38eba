//! Who asks: an object, and the source that reads it.

use std::fmt;
use std::sync::Arc;

use crate::endpoint::{ObjectRef, TypeMeta};

/// One object as one source reads it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Claimant {
    reading: Arc<Reading>,
    pub(super) namespace: Arc<str>,
    name: Arc<str>,
}

/// A kind as one source reads it.
#[derive(Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Reading {
    source: Arc<str>,
    types: Arc<TypeMeta>,
}

impl fmt::Display for Claimant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = &self.reading.types.kind;
        match &*self.namespace {
            "" => write!(f, "{kind} {}", self.name),
            namespace => write!(f, "{kind} {namespace}/{}", self.name),
        }
    }
}

/// Makes claimants, with what those of one kind have in common kept once.
#[derive(Debug, Default)]
pub(super) struct Claimants(Vec<Arc<Reading>>);

impl Claimants {
    pub(super) fn claimant(&mut self, source: &Arc<str>, object: &ObjectRef) -> Claimant {
        let ObjectRef { types, namespace, name, uid: _ } = object;
        let is = |known: &&Arc<Reading>| known.source == *source && known.types == *types;
        let known = self.0.iter().find(is).cloned();
        let reading = known.unwrap_or_else(|| {
            let reading = Arc::new(Reading { source: source.clone(), types: types.clone() });
            self.0.push(reading.clone());
            reading
        });
        Claimant { reading, namespace: namespace.clone(), name: name.clone() }
    }
}
