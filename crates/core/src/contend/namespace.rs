//! Members of one name from one namespace (`--union-namespaces=same`).
//!
//! In: what is asked for at one name, and what is published there. Out: the same without the members of other namespaces than
//! the one that holds the name, each of which is reported.

use super::{ContentionFacts, Note, PublishedRecord, RecordKey, RecordType, Row, SameName, Targets, union_of};
use crate::endpoint::Endpoint;

/// Leaves the members of one namespace: that of the holder of a published record, else of those who ask for what is
/// published, else of the oldest object.
pub(super) fn keep_one(
    at: &dyn Fn(RecordType) -> RecordKey,
    types: &mut Row<'_>,
    mode: SameName,
    scene: &dyn ContentionFacts,
    notes: &mut Vec<Note>,
) {
    let members: Vec<&Endpoint> = types.values().flatten().copied().filter(|e| union_of(e, mode).is_some()).collect();
    let Some(first) = members.first() else { return };
    if members.iter().all(|member| namespace(member) == namespace(first)) {
        return;
    }
    let keys = RecordType::WRITABLE.map(at);
    let standings: Vec<PublishedRecord<'_>> = keys.iter().filter_map(|key| scene.ours(key)).collect();
    let Some(home) = home(&members, &standings) else { return };
    let stays = |endpoint: &&Endpoint| union_of(endpoint, mode).is_none() || namespace(endpoint) == home;
    for (rtype, endpoints) in types.iter_mut() {
        let left_out = endpoints.iter().filter(|endpoint| !stays(endpoint)).map(|endpoint| {
            let text = format!(
                "{} is held by objects of namespace {home:?}, and its members come from one namespace \
                 (--union-namespaces=same)",
                at(*rtype)
            );
            Note::warning(&endpoint.origin.object, "NameConflict", text)
        });
        notes.extend(left_out);
        endpoints.retain(stays);
    }
    types.retain(|_, endpoints| !endpoints.is_empty());
}

fn namespace(endpoint: &Endpoint) -> &str {
    &endpoint.origin.object.namespace
}

/// The namespace that holds the name. Members come and go, so it is enough that one of the holder's namespace still asks.
fn home<'a>(members: &[&'a Endpoint], standings: &[PublishedRecord<'_>]) -> Option<&'a str> {
    let named = standings.iter().filter_map(|standing| namespace_of(standing.claim?.resource.as_deref()?));
    let mut holding =
        named.filter_map(|named| members.iter().map(|member| namespace(member)).find(|namespace| *namespace == named));
    holding.next().or_else(|| {
        let publishes = |member: &&&Endpoint| standings.iter().any(|standing| shares(member, standing));
        let oldest = |of: &mut dyn Iterator<Item = &&'a Endpoint>| {
            of.min_by_key(|e| (e.origin.created.unwrap_or(i64::MAX), e.origin.object.path()))
                .map(|member| namespace(member))
        };
        oldest(&mut members.iter().filter(publishes)).or_else(|| oldest(&mut members.iter()))
    })
}

/// The namespace in a label `kind/namespace/name`; objects of the cluster itself have none.
fn namespace_of(resource: &str) -> Option<&str> {
    let mut parts = resource.split('/');
    let (_, namespace, _) = (parts.next()?, parts.next()?, parts.next()?);
    Some(namespace)
}

/// Whether a claim that names nobody may be this member's: it asks for something that is published.
fn shares(member: &Endpoint, standing: &PublishedRecord<'_>) -> bool {
    let unnamed = standing.claim.is_none_or(|claim| claim.resource.is_none());
    let Targets::Records(targets) = &member.targets else { return false };
    unnamed
        && member.rtype == standing.set.key.rtype
        && targets.iter().any(|data| standing.set.data.as_records().contains(data))
}
