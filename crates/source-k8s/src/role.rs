//! The work of one source on one kind: which objects it maps, what a mapping may read, and the mapper.

use std::fmt;
use std::sync::Arc;

use zonewright_core::endpoint::Mapped;

use crate::kind::Kind;
use crate::lookup::{Lookup, ReadScope, Reads};
use crate::options::{SourceKind, SourceOptions};
use crate::store::Object;

/// What a mapper is given besides its object.
#[derive(Debug, Clone, Copy)]
pub struct MapScope<'a> {
    /// Whose mapper it is.
    pub role: &'a SourceRole,
    /// The options of all sources.
    pub options: &'a SourceOptions,
    /// What the cluster holds, as far as the source sees it.
    pub lookup: &'a Lookup<'a>,
}

/// A pure function from an object, and what it looks up, to what the object asks for.
pub type MapFn = fn(&Object, &MapScope<'_>) -> Mapped;

/// One source's work on one kind.
#[derive(Clone)]
pub struct SourceRole {
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

impl fmt::Debug for SourceRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SourceRole").field("source", &self.source).field("kind", &self.kind).finish_non_exhaustive()
    }
}

impl SourceRole {
    /// A role that sees the objects of its own kind in the namespace of `--namespace`.
    pub(crate) fn new(source: SourceKind, kind: Kind, label: &str, options: &SourceOptions, map: MapFn) -> Self {
        let reads = Reads::from([(kind, ReadScope::of(&options.namespace))]);
        Self { source, kind, labels: vec![Arc::from(label)], reads, map }
    }

    /// The same role, which also reads these kinds as far as `reach`.
    pub(crate) fn reading(mut self, kinds: impl IntoIterator<Item = Kind>, reach: &ReadScope) -> Self {
        self.reads.extend(kinds.into_iter().map(|kind| (kind, reach.clone())));
        self
    }

    /// How far it sees the objects that it maps.
    pub fn reach(&self) -> Option<&ReadScope> {
        self.reads.get(&self.kind)
    }
}

/// What all roles read, and how far altogether.
pub fn reads<'a>(roles: impl IntoIterator<Item = &'a SourceRole>) -> Reads {
    let mut all = Reads::new();
    for (kind, reach) in roles.into_iter().flat_map(|role| &role.reads) {
        let joined = all.remove(kind).map_or_else(|| reach.clone(), |known: ReadScope| known.join(reach));
        all.insert(*kind, joined);
    }
    all
}
