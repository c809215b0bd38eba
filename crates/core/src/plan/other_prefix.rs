//! Records that objects ask for under a well-known annotation prefix that is not in force.
//!
//! Whoever forgets `--annotation-prefix` takes the annotations of every object away at once, and means none of it. In come
//! such a request and a published record of ours; out goes the reason to leave the record as it is. What must hold: nothing
//! is created for such a request, and a record that its holder asks for under a prefix in force follows that holder.

use std::sync::Arc;

use super::row::Row;
use super::{Placed, Why};
use crate::endpoint::{Endpoint, ObjectRef, OtherPrefix, Pending, Sharing};
use crate::rdata::RData;
use crate::record::{RecordKey, RecordSet, SetId};
use crate::rtype::RecordType;

/// What one object asks for at a name under a prefix that is not in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherPrefixRequest {
    prefix: Arc<str>,
    object: ObjectRef,
    /// The label that its claim would carry.
    resource: Option<Arc<str>>,
    /// `None` where the targets are not known now, and so neither the type.
    rtype: Option<RecordType>,
    set_id: Option<SetId>,
    targets: Vec<RData>,
    /// It is one member of the name among others.
    shared: bool,
}

impl OtherPrefixRequest {
    /// The prefix, with its final slash.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// The object that asks.
    pub fn object(&self) -> &ObjectRef {
        &self.object
    }

    /// A request with its targets.
    pub fn of_endpoint(other: &OtherPrefix, endpoint: &Endpoint) -> Self {
        Self {
            prefix: other.prefix.clone(),
            object: other.object.clone(),
            resource: endpoint.resource.clone(),
            rtype: Some(endpoint.rtype),
            set_id: endpoint.extras.set_id.clone(),
            targets: endpoint.targets.as_records().to_vec(),
            shared: endpoint.sharing == Sharing::Union,
        }
    }

    /// A request without targets.
    pub fn of_pending(other: &OtherPrefix, pending: &Pending) -> Self {
        Self {
            prefix: other.prefix.clone(),
            object: other.object.clone(),
            resource: pending.resource.clone(),
            rtype: None,
            set_id: None,
            targets: Vec::new(),
            shared: false,
        }
    }

    /// Whether the record may have been published for this object: by its claim, or for lack of a label.
    fn is_held_by(&self, resource: Option<&Arc<str>>) -> bool {
        resource.is_none() || self.resource.as_ref() == resource
    }

    /// Whether the claim names an object of the same namespace: of several that ask for one record it names but one.
    fn is_near(&self, resource: Option<&Arc<str>>) -> bool {
        let namespace =
            resource.and_then(|label| label.split_once('/')?.1.split_once('/')).map(|(namespace, _)| namespace);
        namespace == Some(&*self.object.namespace)
    }

    /// A provider without set identifiers publishes the plain set.
    fn is_about(&self, key: &RecordKey) -> bool {
        key.set_id.is_none() || self.rtype.is_none() || self.set_id == key.set_id
    }

    fn why(&self) -> Why {
        Why::OtherPrefix { object: self.object.clone(), prefix: self.prefix.clone() }
    }
}

impl Row<'_> {
    /// Why a record must neither go nor give way to another: an object asks for it under the other prefix, and its holder
    /// does not ask for it under one in force.
    pub(super) fn asked_under_other_prefix(&self, set: &RecordSet, resource: Option<&Arc<str>>) -> Option<Why> {
        let key = &set.key;
        let mut asked = self.facts.other_prefix().iter().filter(|request| request.is_about(key)).peekable();
        asked.peek()?;
        let placed = self.placed.iter().any(|p| p.set.key == *key);
        let holder_asks = self.placed.iter().any(|p| p.wanted.resource.as_ref() == resource);
        let keeps = |request: &&OtherPrefixRequest| {
            let own = request.is_held_by(resource) && (resource.is_some() || !placed);
            let of_this_type = request.rtype.is_none_or(|rtype| rtype == key.rtype) || !holder_asks;
            (own || request.is_near(resource) && !placed) && of_this_type
        };
        asked.find(keeps).map(OtherPrefixRequest::why)
    }

    /// Why a record must not be changed to what its holder asks for under a prefix in force: what it holds comes from the
    /// other prefix. Returns also whether members may be added all the same.
    pub(super) fn unchanged_for_other_prefix(
        &self,
        placed: &Placed,
        published: &RecordSet,
        resource: Option<&Arc<str>>,
    ) -> Option<(Why, bool)> {
        let (old, new) = (published.data.as_records(), placed.set.data.as_records());
        let gone: Vec<&RData> = old.iter().filter(|data| !new.contains(data)).collect();
        let same = gone.is_empty() && old.len() == new.len();
        let keeps = |request: &&OtherPrefixRequest| {
            let here = request.is_about(&published.key) && request.rtype == Some(published.key.rtype);
            let stated = |data: &RData| request.targets.contains(data);
            let from_there = gone.iter().any(|data| stated(data)) || same && !request.shared && old.iter().any(stated);
            here && (request.shared || request.is_held_by(resource)) && from_there
        };
        self.facts.other_prefix().iter().find(keeps).map(|request| (request.why(), request.shared))
    }
}
