//! The parents of a route: which of them are this source's concern, and what is known of them.
//!
//! In come the references of a route and what controllers say about them; out go parents. What must hold: what the flags
//! leave out leaves no trace, not even a pending name; a parent that should be there and is not does.

use std::fmt;
use std::sync::Arc;

use super::mapper::Mapper;
use crate::kind::Kind;
use crate::lookup::ReadScope;
use crate::objects::{Condition, GATEWAY_GROUP, Gateway, ListenerSet, ParentRef};

/// A parent of a route.
#[derive(Debug)]
pub(super) struct Parent<'a> {
    /// The reference, with its section and port.
    pub(super) reference: &'a ParentRef,
    /// What a controller says about the route; empty where none has said anything.
    pub(super) conditions: &'a [Condition],
    /// What stands behind the reference.
    pub(super) found: Found,
}

/// What stands behind a reference.
#[derive(Debug)]
pub(super) enum Found {
    /// Nothing: which object is missing.
    Missing(Name),
    /// A Gateway.
    Gateway(Arc<Gateway>),
    /// A ListenerSet and its Gateway.
    Set(Arc<ListenerSet>, Arc<Gateway>),
}

/// Kind, namespace and name, as people write them.
#[derive(Debug)]
pub(super) struct Name(&'static str, Arc<str>, Arc<str>);

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}/{}", self.0, self.1, self.2)
    }
}

impl Found {
    /// The object that the reference means.
    pub(super) fn name(&self) -> Name {
        match self {
            Self::Missing(Name(kind, namespace, name)) => Name(kind, Arc::clone(namespace), Arc::clone(name)),
            Self::Gateway(gateway) => gateway_name(gateway),
            Self::Set(set, _) => {
                Name("ListenerSet", Arc::clone(&set.metadata.namespace), Arc::clone(&set.metadata.name))
            }
        }
    }
}

/// The name of a Gateway.
pub(super) fn gateway_name(gateway: &Gateway) -> Name {
    Name("Gateway", Arc::clone(&gateway.metadata.namespace), Arc::clone(&gateway.metadata.name))
}

impl<'a> Mapper<'_, 'a> {
    /// The parents that are this source's concern: those that a controller speaks of and the route still refers to, then
    /// those that it refers to and nobody speaks of.
    pub(super) fn parents(&self) -> Vec<Parent<'a>> {
        let own = &self.route.metadata.namespace;
        let references = &self.route.spec.parent_refs;
        let statuses = &self.route.status.parents;
        let answered = statuses
            .iter()
            .filter(|entry| references.iter().any(|reference| reference.same_object(&entry.parent_ref, own)))
            .map(|entry| (&entry.parent_ref, &*entry.conditions));
        let open = references
            .iter()
            .filter(|reference| !statuses.iter().any(|entry| entry.parent_ref.same_object(reference, own)))
            .map(|reference| (reference, &[][..]));
        let parent = |(reference, conditions)| Some(Parent { reference, conditions, found: self.find(reference)? });
        answered.chain(open).filter_map(parent).collect()
    }

    /// What a reference means; `None` if it is not this source's concern.
    fn find(&self, reference: &ParentRef) -> Option<Found> {
        let namespace = reference.namespace(&self.route.metadata.namespace);
        match (reference.group(), reference.kind()) {
            (GATEWAY_GROUP, "Gateway") => {
                self.gateway(namespace, &reference.name).map(|found| found.map_or_else(Found::Missing, Found::Gateway))
            }
            (GATEWAY_GROUP, "ListenerSet") => self.set(namespace, &reference.name),
            _ => None,
        }
    }

    fn set(&self, namespace: &str, name: &str) -> Option<Found> {
        let (lookup, options) = (self.scope.lookup, self.scope.options);
        if !lookup.reads(Kind::ListenerSet) {
            return None;
        }
        let Some(set) = lookup.object::<ListenerSet>(Kind::ListenerSet, namespace, name) else {
            return Some(Found::Missing(Name("ListenerSet", Arc::from(namespace), Arc::from(name))));
        };
        let chosen = options.annotation_filter.matches(&set.metadata.annotations);
        if !chosen || options.accepts_controller(&set.metadata).is_err() {
            return None;
        }
        let parent = &set.spec.parent_ref;
        let found = self.gateway(parent.namespace(&set.metadata.namespace), &parent.name)?;
        Some(found.map_or_else(Found::Missing, |gateway| Found::Set(set, gateway)))
    }

    /// A Gateway, or the name of the one that is missing; `None` for one that flags leave out.
    fn gateway(&self, namespace: &str, name: &str) -> Option<Result<Arc<Gateway>, Name>> {
        let options = self.scope.options;
        let named = options.gateway_name.is_empty() || options.gateway_name == name;
        if !named || !ReadScope::of(&options.gateway_namespace).has(namespace) {
            return None;
        }
        let Some(gateway) = self.scope.lookup.object::<Gateway>(Kind::Gateway, namespace, name) else {
            return Some(Err(Name("Gateway", Arc::from(namespace), Arc::from(name))));
        };
        let chosen = options.gateway_label_filter.matches(&gateway.metadata.labels);
        (chosen && options.accepts_controller(&gateway.metadata).is_ok()).then_some(Ok(gateway))
    }
}
