//! What stands where the claims on a record may stand.
//!
//! In: a zone, a record's key and what is published. Out: the places in the order of their rank, and the sets there. What those
//! say is read in `claims`.

use zonewright_core::claim::{Claim, OwnerId};
use zonewright_core::options::OptionValue;
use zonewright_core::record::{RecordData, SetId};
use zonewright_core::registry::Published;
use zonewright_core::zone::{Zone, ZoneKey};
use zonewright_core::{DnsName, RData, RecordKey, RecordSet, RecordType};

use super::affix::{Affixes, TYPES};
use super::rules::{Rules, apex_name, apex_type};

/// Why claims on a record may stand at a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    /// Claims are written there today.
    Current,
    /// The typed name of external-dns: outside the record's zone, or around a label in its own script.
    Elsewhere,
    /// Where former settings put it.
    Former,
    /// The typed name of a CNAME, for an A record that is an alias.
    Alias,
    /// The name without a type.
    Old,
}

/// A name where claims on a record may stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ClaimPlace {
    /// The name.
    pub(super) name: DnsName,
    /// The format whose rule gives this name.
    pub(super) format: Format,
    /// Whether nobody looks there by the settings of today.
    pub(super) earlier: bool,
}

/// The record set at one of the places, if it holds claims.
#[derive(Debug, Clone)]
pub(super) struct Site {
    /// Why it was looked at.
    pub(super) format: Format,
    /// Whether nobody looks there by the settings of today.
    pub(super) earlier: bool,
    /// The zone that holds it.
    pub(super) zone: ZoneKey,
    /// The set as it was read.
    pub(super) set: RecordSet,
    /// What it says.
    pub(super) claims: Vec<Claim>,
}

impl Site {
    /// Whether every claim in the set is that of `owner`.
    pub(super) fn is_of(&self, owner: &OwnerId) -> bool {
        self.claims.iter().all(|claim| claim.owner == *owner)
    }
}

/// One zone, seen with everything that its instance publishes.
pub(super) struct View<'a> {
    pub(super) rules: &'a Rules,
    pub(super) zone: &'a Zone,
    pub(super) published: &'a dyn Published,
}

/// The places for the claims on `key`, by rank; each name once. Names that cannot exist are left out.
pub(super) fn places(rules: &Rules, zone: &Zone, key: &RecordKey) -> Vec<ClaimPlace> {
    let mut places: Vec<ClaimPlace> = Vec::with_capacity(4);
    let mut add = |name: Option<DnsName>, format, earlier| {
        if let Some(name) = name.filter(|name| places.iter().all(|place| place.name != *name)) {
            places.push(ClaimPlace { name, format, earlier });
        }
    };
    let typed = rules.affixes.typed(&key.name, key.rtype);
    add(Rules::target_of(typed.clone(), zone, key).ok(), Format::Current, false);
    add(typed.ok(), Format::Elsewhere, false);
    add(rules.affixes.international(&key.name, key.rtype), Format::Elsewhere, false);
    for affixes in &rules.earlier {
        let typed = affixes.typed(&key.name, key.rtype);
        add(Rules::target_of(typed.clone(), zone, key).ok(), Format::Former, true);
        add(typed.ok(), Format::Former, true);
    }
    if rules.moves_old && key.name == zone.name {
        add(apex_name(zone, key.rtype).ok(), Format::Former, true);
    }
    for (affixes, earlier) in rules.all_affixes().zip([false].into_iter().chain(std::iter::repeat(true))) {
        if key.rtype == RecordType::A {
            add(affixes.typed(&key.name, RecordType::Cname).ok(), Format::Alias, earlier);
        }
    }
    for (affixes, earlier) in rules.all_affixes().zip([false].into_iter().chain(std::iter::repeat(true))) {
        let reads = |old: &DnsName| key.rtype != RecordType::Aaaa && may_be_old(rules, zone, affixes, old);
        add(affixes.old(&key.name).ok().filter(reads), Format::Old, earlier);
    }
    places
}

/// Whether an old-format claim by these affixes may stand at a name. Not where any settings see a type in it.
fn may_be_old(rules: &Rules, zone: &Zone, affixes: &Affixes, old: &DnsName) -> bool {
    let others = || rules.all_affixes().filter(|other| *other != affixes);
    !affixes.is_typed(old) && !is_apex_name(zone, old) && !others().any(|other| other.marks(old))
}

/// Whether claims on the zone's apex are written at `name`: with the prefix `txt-` the old-format claim of a host `_apex`
/// would be read there too.
fn is_apex_name(zone: &Zone, name: &DnsName) -> bool {
    apex_type(zone, name).is_some()
}

/// Whether a set holds what looks like a claim and does not open.
pub(super) fn holds_closed(rules: &Rules, set: &RecordSet) -> bool {
    set.data.as_records().iter().any(|data| matches!(data, RData::Txt(txt) if rules.codec.is_closed(txt)))
}

impl View<'_> {
    /// The set of `key` in this very zone.
    pub(super) fn here(&self, key: &RecordKey) -> Option<RecordSet> {
        let (zone, set) = self.published.find(&self.zone.key, key)?;
        (zone == self.zone.key).then_some(set)
    }

    /// The TXT set at `name` in this zone with the set identifier of a record.
    pub(super) fn text_at(&self, name: &DnsName, set_id: Option<&SetId>) -> Option<RecordSet> {
        self.here(&text_key(name, set_id))
    }
}

/// The types whose records may have a claim of the old format.
pub(super) fn reads_old() -> impl Iterator<Item = RecordType> {
    TYPES.into_iter().filter(|rtype| *rtype != RecordType::Aaaa)
}

pub(super) fn text_key(name: &DnsName, set_id: Option<&SetId>) -> RecordKey {
    RecordKey { name: name.clone(), rtype: RecordType::Txt, set_id: set_id.cloned() }
}

/// Whether a provider resolves the record itself. A webhook keeps the word in the property `alias`.
pub(super) fn is_alias(set: &RecordSet) -> bool {
    match set.options.get("alias") {
        Some(OptionValue::Text(word)) => matches!(&**word, "true" | "A"),
        Some(OptionValue::Bool(on)) => *on,
        _ => matches!(set.data, RecordData::Alias(_)),
    }
}
