//! The names and labels that one mapping asks for.

use std::sync::Arc;

use crate::endpoint::{Mapped, OtherPrefix};
use crate::name::DnsName;
use crate::plan::OtherPrefixRequest;

/// Every endpoint and pending name, also under a prefix that is not in force: name and label.
pub(super) fn asked_by(mapped: &Mapped) -> impl Iterator<Item = (&DnsName, &Option<Arc<str>>)> {
    let other = || mapped.other_prefix.iter();
    let endpoints = mapped.endpoints.iter().chain(other().flat_map(|other| &other.endpoints));
    let pending = mapped.pending.iter().chain(other().flat_map(|other| &other.pending));
    endpoints.map(|e| (&e.name, &e.resource)).chain(pending.map(|p| (&p.name, &p.resource)))
}

pub(super) fn names_of(mapped: &Mapped) -> impl Iterator<Item = &DnsName> {
    asked_by(mapped).map(|(name, _)| name)
}

pub(super) fn labels_of(mapped: &Mapped) -> impl Iterator<Item = &Arc<str>> {
    asked_by(mapped).map(|(_, label)| label).chain(mapped.unknown.iter().map(|u| &u.resource)).flatten()
}

pub(super) fn requests_at(other: &OtherPrefix, name: &DnsName) -> impl Iterator<Item = OtherPrefixRequest> {
    let endpoints = other.endpoints.iter().filter(move |e| e.name == *name);
    let pending = other.pending.iter().filter(move |p| p.name == *name);
    let endpoints = endpoints.map(move |endpoint| OtherPrefixRequest::of_endpoint(other, endpoint));
    endpoints.chain(pending.map(move |pending| OtherPrefixRequest::of_pending(other, pending)))
}
