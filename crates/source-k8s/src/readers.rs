//! Who read what: the reverse of the dependencies that lookups note.
//!
//! In come, for each mapped object, the things its mapper read; out comes, for a changed object, the set of readers to
//! map again. What must hold: a reader whose result could differ is in that set. A pod asks no more than the selectors
//! that share one of its labels, so the answer does not grow with the number of Services in its namespace.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::kind::Kind;
use crate::lookup::{Dependency, LabelMap, selects};
use crate::objects::{EndpointSlice, TextMap};
use crate::store::{Object, ObjectKey};

/// One object as mapped by one source.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Reader {
    /// Position of the source among those of the index.
    pub source: usize,
    /// The object.
    pub key: ObjectKey,
}

/// Kind, namespace and the first label of a selector; an empty selector has none.
type Anchor = (Kind, Option<Arc<str>>, Option<(String, String)>);

/// The reverse index.
#[derive(Debug, Default)]
pub struct Readers {
    /// What each reader read when it was last mapped.
    reads: BTreeMap<Reader, BTreeSet<Dependency>>,
    /// Readers by everything but selectors.
    plain: BTreeMap<Dependency, BTreeSet<Reader>>,
    /// Readers by selector.
    selectors: BTreeMap<Anchor, BTreeMap<Arc<LabelMap>, BTreeSet<Reader>>>,
}

impl Readers {
    /// Notes what a reader read; replaces what it read before.
    pub fn set(&mut self, reader: &Reader, reads: BTreeSet<Dependency>) {
        if self.reads.get(reader).is_some_and(|old| *old == reads) {
            return;
        }
        self.forget(reader);
        for dependency in &reads {
            self.add(reader, dependency);
        }
        if !reads.is_empty() {
            self.reads.insert(reader.clone(), reads);
        }
    }

    /// Number of readers and of the things that they read.
    pub fn len(&self) -> usize {
        self.reads.len() + self.plain.len() + self.selectors.len()
    }

    /// Whether nobody read anything.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Forgets a reader.
    pub fn forget(&mut self, reader: &Reader) {
        for dependency in self.reads.remove(reader).unwrap_or_default() {
            self.remove(reader, &dependency);
        }
    }

    /// The readers of an object that was `old` and is `new` now.
    pub fn affected(&self, old: Option<&Object>, new: Option<&Object>) -> BTreeSet<Reader> {
        let mut found = BTreeSet::new();
        for object in old.into_iter().chain(new) {
            let key = object.key();
            self.collect(&Dependency::All(key.kind), &mut found);
            self.collect_indexed(object, &key.namespace, &mut found);
            self.collect(&Dependency::Object(key), &mut found);
        }
        found
    }

    /// The readers that may have missed an object of which nothing but its name is known.
    pub fn may_have_missed(&self, key: &ObjectKey) -> BTreeSet<Reader> {
        let mut found = BTreeSet::new();
        self.collect(&Dependency::Object(key.clone()), &mut found);
        self.collect(&Dependency::All(key.kind), &mut found);
        if key.kind == Kind::EndpointSlice {
            let from = Dependency::Slices { namespace: Arc::clone(&key.namespace), service: Arc::default() };
            let slices = self.plain.range(from..).take_while(|(dependency, _)| dependency.may_miss(key));
            found.extend(slices.flat_map(|(_, readers)| readers).cloned());
        }
        let here = |(kind, namespace, _): &Anchor| {
            *kind == key.kind && namespace.as_ref().is_none_or(|namespace| *namespace == key.namespace)
        };
        let selectors = self.selectors.iter().filter(|(anchor, _)| here(anchor));
        found.extend(selectors.flat_map(|(_, selectors)| selectors.values().flatten()).cloned());
        found
    }

    /// The names of the objects of a cluster-scoped kind that a reader read.
    pub fn objects_read(&self, kind: Kind) -> BTreeSet<Arc<str>> {
        let from = Dependency::Object(ObjectKey::new(kind, "", ""));
        let read = self.plain.range(from..).map_while(|(dependency, _)| match dependency {
            Dependency::Object(key) if key.kind == kind => Some(Arc::clone(&key.name)),
            _ => None,
        });
        read.collect()
    }

    fn collect_indexed(&self, object: &Object, namespace: &Arc<str>, found: &mut BTreeSet<Reader>) {
        if let Some(service) = object.body::<EndpointSlice>().and_then(|slice| slice.service()) {
            let slices = Dependency::Slices { namespace: Arc::clone(namespace), service: Arc::from(service) };
            self.collect(&slices, found);
        }
        if self.selectors.is_empty() {
            return;
        }
        if let Some(labels) = object.selectable() {
            self.collect_selected(object.kind(), labels, namespace, found);
        }
    }

    fn collect_selected(&self, kind: Kind, labels: &TextMap, namespace: &Arc<str>, found: &mut BTreeSet<Reader>) {
        for namespace in [None, Some(namespace)] {
            let anchors = labels.iter().map(|(key, value)| Some((key.to_owned(), value.to_owned()))).chain([None]);
            for anchor in anchors {
                let Some(selectors) = self.selectors.get(&(kind, namespace.cloned(), anchor)) else { continue };
                for (_, readers) in selectors.iter().filter(|(selector, _)| selects(selector, labels)) {
                    found.extend(readers.iter().cloned());
                }
            }
        }
    }

    fn collect(&self, dependency: &Dependency, found: &mut BTreeSet<Reader>) {
        found.extend(self.plain.get(dependency).into_iter().flatten().cloned());
    }

    fn add(&mut self, reader: &Reader, dependency: &Dependency) {
        let readers = match dependency {
            Dependency::Selected { kind, namespace, selector } => {
                let selectors = self.selectors.entry(anchor(*kind, namespace.as_ref(), selector)).or_default();
                selectors.entry(Arc::clone(selector)).or_default()
            }
            plain => self.plain.entry(plain.clone()).or_default(),
        };
        readers.insert(reader.clone());
    }

    fn remove(&mut self, reader: &Reader, dependency: &Dependency) {
        match dependency {
            Dependency::Selected { kind, namespace, selector } => {
                let anchor = anchor(*kind, namespace.as_ref(), selector);
                let Some(selectors) = self.selectors.get_mut(&anchor) else { return };
                withdraw(selectors, selector, reader);
                if selectors.is_empty() {
                    self.selectors.remove(&anchor);
                }
            }
            plain => withdraw(&mut self.plain, plain, reader),
        }
    }
}

fn anchor(kind: Kind, namespace: Option<&Arc<str>>, selector: &LabelMap) -> Anchor {
    (kind, namespace.cloned(), selector.iter().next().map(|(key, value)| (key.clone(), value.clone())))
}

fn withdraw<K: Ord>(readers: &mut BTreeMap<K, BTreeSet<Reader>>, key: &K, reader: &Reader) {
    if let Some(set) = readers.get_mut(key) {
        set.remove(reader);
        if set.is_empty() {
            readers.remove(key);
        }
    }
}
