//! One TTL for all items of a record set.
//!
//! In: what is wanted at one name, and what stands there. Out: the same with one TTL for the items of a type: that of the set while
//! it holds items of others, else the one that stands while an object of its items asks for it, else that of the oldest of these
//! objects; the others are reported. What must hold: two
//! owners never change the TTL back and forth.

use crate::contend::Wanted;
use crate::endpoint::Note;
use crate::record::{RecordKey, RecordSet, Ttl};
use crate::rtype::RecordType;

/// Brings the items of each type to one TTL. `ours` says whether what stands under a key is ours.
pub fn one_ttl(
    wanted: &mut [Wanted],
    published: &[RecordSet],
    ours: &dyn Fn(&RecordKey) -> bool,
    notes: &mut Vec<Note>,
) {
    for rtype in RecordType::WRITABLE {
        let is_item = |wanted: &&Wanted| wanted.key.rtype == rtype && !wanted.routing.is_simple();
        let stands = |key: &RecordKey| published.iter().any(|set| set.key == *key && ours(key));
        let current =
            published.iter().find(|set| set.key.rtype == rtype && !set.routing.is_simple()).map(|set| set.ttl);
        let age = |wanted: &&Wanted| {
            let origin = &wanted.origin;
            let stands = stands(&wanted.key);
            // An object that leaves the TTL open is content with any.
            let holds = stands && (wanted.ttl.is_none() || Some(wanted.ttl) == current);
            (!holds, !stands, origin.created.unwrap_or(i64::MAX), origin.object.clone(), wanted.key.clone())
        };
        let foreign = published
            .iter()
            .find(|set| set.key.rtype == rtype && !set.routing.is_simple() && !ours(&set.key))
            .map(|set| (set.ttl, "items that are not ours".to_owned()));
        let holder = || wanted.iter().filter(is_item).min_by_key(age).map(|w| (w.ttl, w.origin.object.to_string()));
        let Some((ttl, by)) = foreign.or_else(holder) else { continue };
        for wanted in wanted.iter_mut().filter(|wanted| is_item(&&**wanted)) {
            if let Some(asked) = wanted.ttl.filter(|asked| Some(*asked) != ttl) {
                notes.push(adjusted(wanted, asked, ttl, &by));
            }
            wanted.ttl = ttl;
        }
    }
}

fn adjusted(wanted: &Wanted, asked: Ttl, ttl: Option<Ttl>, by: &str) -> Note {
    let ttl = ttl.map_or_else(|| "the default".to_owned(), |ttl| ttl.to_string());
    let text = format!(
        "{}: the TTL is {ttl} and not {asked}: all items of a name and type share one record set, and its TTL is that of {by}",
        wanted.key
    );
    Note::warning(&wanted.origin.object, "TTLAdjusted", text)
}
