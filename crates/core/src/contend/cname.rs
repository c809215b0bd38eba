//! A CNAME and what it excludes: one of them gets the name.
//!
//! In: what is asked for at one name, and what is published there. Out: the same without the CNAMEs, or without what they exclude;
//! each that is left out is reported. What must hold: the outcome does not change once it is published; and nobody who merely has
//! something beside a CNAME takes the name from its object.

use super::{ContentionFacts, NameRules, Note, PublishedRecord, RecordKey, RecordType, Row};
use crate::endpoint::Endpoint;

/// A CNAME stands alone. It yields to any other wanted type, whatever its age, unless an object that holds the name asks for it
/// and no holder asks for another type: then the others yield.
pub(super) fn settle(
    at: &dyn Fn(RecordType) -> RecordKey,
    types: &mut Row<'_>,
    rules: NameRules,
    scene: &dyn ContentionFacts,
    notes: &mut Vec<Note>,
) {
    let excluded = |rtype: &RecordType| rules.excludes(RecordType::Cname, *rtype);
    if !types.contains_key(&RecordType::Cname) || !types.keys().any(excluded) {
        return;
    }
    let keys = RecordType::WRITABLE.map(at);
    let published: Vec<PublishedRecord<'_>> = keys.iter().filter_map(|key| scene.ours(key)).collect();
    let cnames = types.get(&RecordType::Cname).into_iter().flatten().copied().collect::<Vec<_>>();
    let others = types.iter().filter(|(rtype, _)| excluded(rtype)).flat_map(|(_, all)| all).copied();
    if let Some(holder) = holder(&cnames, &others.collect::<Vec<_>>(), rules, &published) {
        for (rtype, endpoints) in types.iter().filter(|(rtype, _)| excluded(rtype)) {
            let text = format!(
                "{} is left out: {} holds the name with a CNAME, which stands alone; it is released when that object no \
                 longer requests it",
                at(*rtype),
                holder.origin.object
            );
            let note = |e: &&Endpoint| Note::warning(&e.origin.object, "NameConflict", text.clone());
            notes.extend(endpoints.iter().map(note));
        }
        types.retain(|rtype, _| !excluded(rtype));
        return;
    }
    let Some(cnames) = types.remove(&RecordType::Cname) else { return };
    let others = types.keys().filter(|rtype| excluded(rtype)).map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let key = at(RecordType::Cname);
    for endpoint in cnames {
        let text = format!("{key} is left out: {others} is wanted at the same name, and a CNAME stands alone");
        notes.push(Note::warning(&endpoint.origin.object, "CnameConflict", text));
    }
}

/// Leaves either the CNAMEs or what they exclude, where they are asked for under different identifiers and all sets of a name have to
/// agree. `asked` is all that is asked for: what an object asks for keeps its name for it, also where it gets nothing by that since
/// its kind of routing is not the name's.
pub(super) fn keep_apart<'e>(
    endpoints: &[&'e Endpoint],
    asked: &[&'e Endpoint],
    rules: NameRules,
    scene: &dyn ContentionFacts,
    notes: &mut Vec<Note>,
) -> Vec<&'e Endpoint> {
    let is_cname = |endpoint: &&Endpoint| endpoint.rtype == RecordType::Cname;
    let excluded = |endpoint: &&Endpoint| rules.excludes(RecordType::Cname, endpoint.rtype);
    let cnames: Vec<&Endpoint> = endpoints.iter().copied().filter(is_cname).collect();
    let others: Vec<&Endpoint> = asked.iter().copied().filter(excluded).collect();
    let apart = cnames.iter().any(|cname| others.iter().any(|other| other.extras.set_id != cname.extras.set_id));
    if !apart {
        return endpoints.to_vec();
    }
    let published: Vec<_> = RecordType::WRITABLE.into_iter().flat_map(|rtype| scene.published(rtype)).collect();
    let cname_stays = holder(&cnames, &others, rules, &published).is_some();
    let goes = |endpoint: &&Endpoint| if cname_stays { excluded(endpoint) } else { is_cname(endpoint) };
    for endpoint in endpoints.iter().filter(|endpoint| goes(endpoint)) {
        let text = format!("{} is left out: a CNAME stands alone, under any set identifier", endpoint.key());
        notes.push(Note::warning(&endpoint.origin.object, "CnameConflict", text));
    }
    endpoints.iter().copied().filter(|endpoint| !goes(endpoint)).collect()
}

/// The CNAME for which `others`, all that CNAMEs exclude, yield: its object holds a record that is published at the name and asks for
/// none of them, and nobody who asks for one of them holds such a record.
fn holder<'e>(
    cnames: &[&'e Endpoint],
    others: &[&Endpoint],
    rules: NameRules,
    published: &[PublishedRecord<'_>],
) -> Option<&'e Endpoint> {
    let asks_both = |cname: &Endpoint| others.iter().any(|other| other.origin.object == cname.origin.object);
    let is_excluded = |record: &&PublishedRecord<'_>| rules.excludes(RecordType::Cname, record.set.key.rtype);
    let holds_excluded =
        |other: &&Endpoint| published.iter().filter(is_excluded).any(|record| record.is_held_by(other));
    if rules.cname_yields || others.iter().any(holds_excluded) {
        return None;
    }
    let holds = |cname: &Endpoint| published.iter().any(|record| record.is_held_by(cname));
    cnames.iter().copied().find(|cname| holds(cname) && !asks_both(cname))
}
