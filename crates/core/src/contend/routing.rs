//! One routing policy for all sets of a name and type, where each set is a record of its own.
//!
//! In: what is asked for at one name, and what is published there. Out: the same without those that ask for another kind of
//! policy (none is a kind too) than the name has; each of them is reported. The service refuses a mixture, and with it the whole call.

use std::collections::{BTreeMap, BTreeSet};

use super::{ContentionFacts, Note};
use crate::capability::RoutingKind;
use crate::endpoint::{Endpoint, ObjectRef};
use crate::rtype::RecordType;

/// Leaves the endpoints of one kind for each type: that which the holder of a published set asks for (of both kinds the published one),
/// else that which is published, else that of an object that changes the type of its own, else that of the oldest object.
pub(super) fn keep_one_kind<'e>(
    endpoints: &[&'e Endpoint],
    scene: &dyn ContentionFacts,
    notes: &mut Vec<Note>,
) -> Vec<&'e Endpoint> {
    let mut kinds: BTreeMap<RecordType, BTreeSet<Option<RoutingKind>>> = BTreeMap::new();
    for endpoint in endpoints {
        kinds.entry(endpoint.rtype).or_default().insert(endpoint.extras.routing.kind());
    }
    let mut kept = endpoints.to_vec();
    for (rtype, _) in kinds.iter().filter(|(_, kinds)| kinds.len() > 1) {
        let rivals: Vec<&Endpoint> = endpoints.iter().copied().filter(|e| e.rtype == *rtype).collect();
        let Some(home) = home(&rivals, *rtype, scene) else { continue };
        let stays = |endpoint: &&Endpoint| {
            endpoint.rtype != *rtype || endpoint.extras.routing.kind() == home.extras.routing.kind()
        };
        notes.extend(kept.iter().filter(|endpoint| !stays(endpoint)).map(|endpoint| lost(endpoint, home)));
        kept.retain(stays);
    }
    kept
}

/// The endpoint whose kind of policy the name has.
fn home<'e>(rivals: &[&'e Endpoint], rtype: RecordType, scene: &dyn ContentionFacts) -> Option<&'e Endpoint> {
    let published = scene.published(rtype);
    // Where no claim says whose a set is, one of an object's endpoints does, and it speaks for all of them.
    let holds = |e: &&&Endpoint| published.iter().any(|record| record.is_held_by(e));
    let holders: BTreeSet<&ObjectRef> = rivals.iter().filter(holds).map(|e| &e.origin.object).collect();
    let holder = |e: &&&Endpoint| holders.contains(&e.origin.object);
    let alike = |e: &&&Endpoint| published.iter().any(|record| record.set.routing.kind() == e.extras.routing.kind());
    let age = |e: &&&Endpoint| (e.origin.created.unwrap_or(i64::MAX), e.origin.object.clone());
    let replaced = RecordType::WRITABLE.into_iter().filter(|other| rtype.replaces(*other));
    let replaced: Vec<_> = replaced.flat_map(|other| scene.published(other)).collect();
    let elsewhere = |e: &&&Endpoint| replaced.iter().any(|record| record.is_held_by(e));
    let first = |of: &dyn Fn(&&&'e Endpoint) -> bool| rivals.iter().filter(of).min_by_key(age).copied();
    let keeps: &dyn Fn(&&&'e Endpoint) -> bool = &|e| holder(e) && alike(e);
    let held = || first(keeps).or_else(|| first(&holder)).or_else(|| first(&alike));
    held().or_else(|| first(&elsewhere)).or_else(|| first(&|_| true))
}

fn lost(endpoint: &Endpoint, home: &Endpoint) -> Note {
    let name = |endpoint: &Endpoint| {
        endpoint.extras.routing.kind().map_or_else(|| "no routing policy".to_owned(), |kind| format!("{kind} routing"))
    };
    let key = endpoint.key();
    let text = format!(
        "{key} is left out: it asks for {}, and {} for {} at the same name and type; all sets of a name and type have one kind",
        name(endpoint),
        home.origin.object,
        name(home)
    );
    Note::warning(&endpoint.origin.object, "RoutingConflict", text)
}
