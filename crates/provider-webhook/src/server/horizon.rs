//! Names that are in several zones (split horizon, or a zone within another): which old side stands in which of them.
//!
//! In: the pairs of a bundle, and what was read at these names. Out: pairs with one old side at most, which stands in its zone.
//! A caller gets the records of all zones in one list, so it states whatever stands in any of them, and what stands in two of
//! them twice. What must hold: each old side stands in one of the zones at least; a zone with nothing at these names
//! bars no other; where the caller states claims, a zone without any of them, or with another claim in their place, has
//! nothing that is the caller's; nor has a zone that demands a claim where none is stated; a claim that may be that of the apex below
//! speaks for no record of its own zone.

use std::collections::{BTreeMap, BTreeSet};

use zonewright_core::claim_text::reads_as_claim;
use zonewright_core::{DnsName, ErrorKind, RecordKey, RecordSet, Result};

use super::place::{Objection, Pair, Pairs};

/// Names, by the position of the zone.
pub(super) type ZoneNames = BTreeMap<usize, BTreeSet<DnsName>>;

/// What stands at such names, by the position of the zone.
pub(super) type Standing = BTreeMap<usize, Result<BTreeMap<RecordKey, RecordSet>>>;

type Sets = BTreeMap<RecordKey, RecordSet>;

const UNCLAIMED: &str =
    "stands above the zone that its name belongs to, where nothing goes without the claim that is stated";
const BELOW_TOO: &str =
    "stands above the zone of that name, which has such a record too; the claim may be for that one";

/// The pairs with those old sides that stand in their zone, for the names that are in several.
///
/// # Errors
/// A zone could not be read, an old side stands nowhere, or something else stands where the new side should go.
pub(super) fn settled(mut pairs: Pairs, shared: &ZoneNames, read: &Standing) -> Result<Pairs, Objection> {
    let (mut stated, mut found, mut kept): (Vec<RecordSet>, Vec<RecordSet>, Vec<(RecordSet, &str)>) =
        Default::default();
    for (place, names) in shared {
        let Some(pairs) = pairs.get_mut(place) else { continue };
        let sets = match read.get(place) {
            Some(Ok(sets)) => sets,
            Some(Err(error)) => return Err(Objection { kind: error.kind, text: error.chain() }),
            None => continue,
        };
        let mut here: Vec<(&RecordKey, &mut Pair)> =
            pairs.iter_mut().filter(|(key, pair)| names.contains(&key.name) && !pair.elsewhere).collect();
        let is_callers = is_callers(&here, sets);
        let stands = here.iter().find_map(|(key, _)| sets.get(key));
        if let Some(other) = stands.filter(|_| !is_callers && here.iter().any(|(_, pair)| pair.to.is_some())) {
            return Err(conflict(format!("{} holds {} without the claim that is stated", other.key, other.data)));
        }
        for (key, pair) in &mut here {
            let why_kept = if pair.claimed_only && !is_callers {
                Some(UNCLAIMED)
            } else {
                may_be_glue(key, pair, read).then_some(BELOW_TOO)
            };
            let there = sets.get(key).filter(|_| is_callers && why_kept.is_none());
            stated.extend(pair.from.iter().cloned());
            if let Some(why) = why_kept {
                kept.extend(sets.get(key).and_then(|there| meant(&pair.from, there)).map(|there| (there, why)));
            }
            pair.from = there.and_then(|there| meant(&pair.from, there)).into_iter().collect();
            found.extend(pair.from.iter().cloned());
            let (Some(there), Some((to, _))) = (there, &pair.to) else { continue };
            if to.data == there.data && (pair.from.is_empty() || to.ttl == there.ttl) {
                // An earlier request did it in this zone, and not in another.
                **pair = Pair::default();
            } else if pair.from.is_empty() {
                return Err(conflict(format!("{key} holds {}; expected what is stated, or nothing", there.data)));
            }
        }
    }
    match stated.iter().find(|old| !found.iter().any(|there| is_same(old, there))) {
        Some(old) => Err(match kept.iter().find(|(there, _)| is_same(old, there)) {
            Some((_, why)) => conflict(format!("{} {why}", old.key)),
            None => conflict(format!("{} is not there in any of its zones; expected {}", old.key, old.data)),
        }),
        None => Ok(pairs),
    }
}

/// Whether a record at the apex of a nearer zone may be that zone's glue: the nearer zone has such a record too, or was not read. Claims
/// are no glue, and say themselves whose they are; with a claim that stayed the record would count as the caller's next time.
fn may_be_glue(key: &RecordKey, pair: &Pair, read: &Standing) -> bool {
    let holds = |near: &usize| {
        let sets = read.get(near).and_then(|read| read.as_ref().ok());
        sets.is_none_or(|sets| sets.keys().any(|there| there.name == key.name && there.rtype == key.rtype))
    };
    !pair.from.iter().all(is_claim) && pair.apex_of.iter().any(holds)
}

/// Whether all that a set holds reads as ownership records; an alias holds none.
pub(super) fn is_claim(set: &RecordSet) -> bool {
    let records = set.data.as_records();
    !records.is_empty() && records.iter().all(reads_as_claim)
}

/// Whether what stands in a zone can be the caller's: of the claims that are stated one stands at least, and no other claim in their
/// place. A caller without claims says whose something is by its content alone.
fn is_callers(here: &[(&RecordKey, &mut Pair)], sets: &Sets) -> bool {
    let claims: Vec<_> =
        here.iter().filter(|(_, pair)| !pair.from.is_empty() && pair.from.iter().all(is_claim)).collect();
    let is_known = |pair: &Pair, there: &RecordSet| {
        let new = pair.to.iter().map(|(to, _)| to);
        pair.from.iter().chain(new).any(|set| set.data == there.data)
    };
    if claims.is_empty() {
        return here.iter().all(|(_, pair)| !pair.claimed_only);
    }
    let standing: Vec<bool> = claims.iter().filter_map(|(key, pair)| Some(is_known(pair, sets.get(*key)?))).collect();
    !standing.is_empty() && standing.iter().all(|known| *known)
}

/// The old side that stands there: at best with the same TTL, which the provider may compare.
fn meant(from: &[RecordSet], there: &RecordSet) -> Option<RecordSet> {
    let alike = || from.iter().filter(|old| old.data == there.data);
    alike().find(|old| old.ttl == there.ttl).or_else(|| alike().next()).cloned()
}

/// Whether two old sides are one: zones may differ in whether they have set identifiers.
fn is_same(one: &RecordSet, other: &RecordSet) -> bool {
    one.key.name == other.key.name && one.key.rtype == other.key.rtype && one.data == other.data
}

fn conflict(text: String) -> Objection {
    Objection { kind: ErrorKind::Conflict, text }
}
