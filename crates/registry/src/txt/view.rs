//! What stands where the claims on a record may stand.
//!
//! In: a zone, a record's key and what is published. Out: the places in the order of their rank, what was found there,
//! and who else relies on it. Nothing here decides; `decorate` does.

use std::collections::BTreeSet;

use zonewright_core::claim::{Claim, ClaimRank, OwnerId};
use zonewright_core::options::OptionValue;
use zonewright_core::record::{RecordData, SetId};
use zonewright_core::registry::Published;
use zonewright_core::zone::{Zone, ZoneKey};
use zonewright_core::{DnsName, RData, RecordKey, RecordSet, RecordType};

use super::affix::{Affixes, TYPES};
use super::intents::begun;
use super::record::is_record;
use super::value::Heritage;
use super::{TxtRegistry, apex, apex_name, apex_type, former};

/// Stands for the owner of a claim that does not open. No owner id has a comma, so nobody can be taken for it.
const CLOSED: &str = "unknown (its claim is encrypted, and not with the key given here)";

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
pub(super) struct Place {
    /// The name.
    pub(super) name: DnsName,
    /// Why there.
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
    pub(super) registry: &'a TxtRegistry,
    pub(super) zone: &'a Zone,
    pub(super) published: &'a dyn Published,
}

/// The places for the claims on `key`, by rank; each name once. Names that cannot exist are left out.
pub(super) fn places(registry: &TxtRegistry, zone: &Zone, key: &RecordKey) -> Vec<Place> {
    let mut places: Vec<Place> = Vec::with_capacity(4);
    let mut add = |name: Option<DnsName>, format, earlier| {
        if let Some(name) = name.filter(|name| places.iter().all(|place| place.name != *name)) {
            places.push(Place { name, format, earlier });
        }
    };
    add(registry.target(zone, key).ok(), Format::Current, false);
    add(registry.affixes.typed(&key.name, key.rtype).ok(), Format::Elsewhere, false);
    add(registry.affixes.international(&key.name, key.rtype), Format::Elsewhere, false);
    for affixes in &registry.earlier {
        add(TxtRegistry::target_by(affixes, zone, key).ok(), Format::Former, true);
        add(affixes.typed(&key.name, key.rtype).ok(), Format::Former, true);
    }
    if registry.moves_old && key.name == zone.name {
        add(apex_name(zone, key.rtype).ok(), Format::Former, true);
    }
    for (affixes, earlier) in registry.all_affixes().zip([false].into_iter().chain(std::iter::repeat(true))) {
        if key.rtype == RecordType::A {
            add(affixes.typed(&key.name, RecordType::Cname).ok(), Format::Alias, earlier);
        }
    }
    for (affixes, earlier) in registry.all_affixes().zip([false].into_iter().chain(std::iter::repeat(true))) {
        let reads = |old: &DnsName| key.rtype != RecordType::Aaaa && may_be_old(registry, zone, affixes, old);
        add(affixes.old(&key.name).ok().filter(reads), Format::Old, earlier);
    }
    places
}

/// Whether an old-format claim by these affixes may stand at a name. Not where any settings see a type in it.
fn may_be_old(registry: &TxtRegistry, zone: &Zone, affixes: &Affixes, old: &DnsName) -> bool {
    let others = || registry.all_affixes().filter(|other| *other != affixes);
    !affixes.is_typed(old) && !is_apex_name(zone, old) && !others().any(|other| other.marks(old))
}

/// Whether claims on the zone's apex are written at `name`: with the prefix `txt-` the old-format claim of a host `_apex`
/// would be read there too.
fn is_apex_name(zone: &Zone, name: &DnsName) -> bool {
    apex_type(zone, name).is_some()
}

/// Whether a set holds what looks like a claim and does not open.
pub(super) fn holds_closed(registry: &TxtRegistry, set: &RecordSet) -> bool {
    set.data.as_records().iter().any(|data| matches!(data, RData::Txt(txt) if registry.codec.is_closed(txt)))
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

    /// Everything that claims `key`, by rank, with doubt where it may be another record's claim.
    pub(super) fn sites(&self, key: &RecordKey) -> Vec<Site> {
        let sites = self.all_sites(key);
        if self.registry.earlier.is_empty() { sites } else { former::undoubted(self, key, sites) }
    }

    /// Everything that may claim `key`, by rank. A place inside this zone counts only if this zone holds it.
    pub(super) fn all_sites(&self, key: &RecordKey) -> Vec<Site> {
        let alias = || self.here(key).is_some_and(|set| is_alias(&set));
        let places = places(self.registry, self.zone, key).into_iter();
        places
            .filter(|place| place.format != Format::Alias || alias())
            .filter_map(|place| self.site(&place, key))
            .collect()
    }

    /// The claims on `key`. As in external-dns the name of a CNAME is asked only where no other typed claim stands.
    pub(super) fn claims(&self, key: &RecordKey) -> Vec<Claim> {
        let sites = self.sites(key);
        let is_typed = |site: &Site| matches!(site.format, Format::Current | Format::Elsewhere | Format::Former);
        let typed = sites.iter().any(is_typed);
        let counts = |site: &Site| !(typed && site.format == Format::Alias);
        sites.into_iter().filter(counts).flat_map(|site| site.claims).collect()
    }

    /// As [`View::claims`]; none is current while another of ours is to go.
    pub(super) fn marked_claims(&self, key: &RecordKey) -> Vec<Claim> {
        let mut claims = self.claims(key);
        let is_current = claims.iter().any(|claim| claim.current);
        if self.registry.is_moving() && is_current && !former::leftovers(self, key).is_empty() {
            for claim in &mut claims {
                claim.current = false;
            }
        }
        claims
    }

    fn site(&self, place: &Place, key: &RecordKey) -> Option<Site> {
        let text = text_key(&place.name, key.set_id.as_ref());
        let (zone, set) = self.published.find(&self.zone.key, &text)?;
        if zone != self.zone.key
            && (place.name.is_within(&self.zone.name) || apex::speaks_there(self, place.format, &zone, key))
        {
            return None;
        }
        let claims = self.read(place.format, key, &zone, &set);
        let Place { format, earlier, .. } = *place;
        let counts = !claims.is_empty() && !is_record(self, &zone, &set);
        counts.then(|| apex::undoubted(self, key, Site { format, earlier, zone, set, claims }))
    }

    fn read(&self, format: Format, key: &RecordKey, zone: &ZoneKey, set: &RecordSet) -> Vec<Claim> {
        let done = |set| !self.registry.awaits_rewrite(set).0 && self.registry.is_in_form(set);
        let is_current = format == Format::Current && *zone == self.zone.key && done(set);
        let claim = |owner, heritage: &Heritage| Claim {
            owner,
            resource: heritage.resource(),
            labels: heritage.further(),
            rank: if format == Format::Old { ClaimRank::Old } else { ClaimRank::Typed },
            current: is_current,
            site: Some((zone.clone(), set.clone())),
        };
        let heritages = self.registry.heritages(set);
        let ours = || self.registry.owner.clone();
        let owner = |heritage: &Heritage| if self.registry.is_ours(heritage) { Some(ours()) } else { heritage.owner() };
        let read = heritages.iter().filter_map(|(_, heritage)| Some(claim(owner(heritage)?, heritage)));
        // Other names may well hold long tokens that are no claims.
        let counts =
            matches!(format, Format::Current | Format::Elsewhere | Format::Former) && holds_closed(self.registry, set);
        let closed = OwnerId::new(CLOSED).filter(|_| counts).map(|owner| claim(owner, &Heritage::default()));
        // A write that was begun speaks for the record that it announced, as if it had been finished.
        let begun = begun(self.registry, set).into_iter().filter(|begun| begun.speaks_for(key, self, set));
        let begun = begun.filter_map(|begun| {
            let heritage = begun.claim.as_ref();
            let owner = heritage.map_or_else(|| OwnerId::new(CLOSED), owner)?;
            Some(Claim { current: false, ..claim(owner, heritage.unwrap_or(&Heritage::default())) })
        });
        read.chain(closed).chain(begun).collect()
    }

    /// Whether a claim on `key` stands where it would be written today, whatever it says.
    pub(super) fn is_at_home(&self, key: &RecordKey, claim: &Claim) -> bool {
        let target = self.registry.target(self.zone, key);
        let here = claim.site.as_ref().filter(|(zone, _)| *zone == self.zone.key);
        here.is_some_and(|(_, set)| target.as_ref() == Ok(&set.key.name))
    }

    /// The published records other than `key` and those `gone` whose right hangs on the claims at `claim`, which speak for
    /// `key` in `format`.
    pub(super) fn reliant(
        &self,
        key: &RecordKey,
        format: Format,
        claim: &DnsName,
        gone: &BTreeSet<RecordKey>,
    ) -> Vec<RecordKey> {
        let set_id = key.set_id.as_ref();
        let mut others =
            if format == Format::Old { self.of_old_format(claim, set_id) } else { self.of_typed_name(claim, set_id) };
        others.retain(|other| {
            let needs = || format != Format::Old || !self.has_typed_claim(other);
            other != key && !gone.contains(other) && self.stands(other) && needs()
        });
        others
    }

    /// Every key whose typed claim has this name: by today's settings, or by former ones where it has none by today's.
    fn of_typed_name(&self, claim: &DnsName, set_id: Option<&SetId>) -> Vec<RecordKey> {
        let key = |(name, rtype)| RecordKey { name, rtype, set_id: set_id.cloned() };
        let apex = apex_type(self.zone, claim).map(|rtype| (self.zone.name.clone(), rtype));
        let today = self.registry.affixes.sources(claim).into_iter().chain(apex).map(key);
        let mut all: Vec<RecordKey> = today.collect();
        for other in self.registry.earlier.iter().flat_map(|affixes| affixes.sources(claim)).map(key) {
            if !all.contains(&other) && !former::has_claim_at_home(self, &other) {
                all.push(other);
            }
        }
        all
    }

    /// Every key whose old-format claim has this name.
    fn of_old_format(&self, claim: &DnsName, set_id: Option<&SetId>) -> Vec<RecordKey> {
        let names: BTreeSet<DnsName> = self.registry.all_affixes().flat_map(|by| by.old_sources(claim)).collect();
        let of = |name: DnsName, rtype| RecordKey { name, rtype, set_id: set_id.cloned() };
        reads_old().flat_map(|rtype| names.iter().map(move |name| of(name.clone(), rtype))).collect()
    }

    /// Whether some record at the name and set identifier of `key` has a typed claim of `owner` in this zone.
    pub(super) fn holds_name(&self, key: &RecordKey, owner: &OwnerId) -> bool {
        let of_type = |rtype| RecordKey { rtype, ..key.clone() };
        let holds = |key: &RecordKey, claim: &Claim| claim.owner == *owner && self.is_at_home(key, claim);
        TYPES.into_iter().map(of_type).any(|key| self.claims(&key).iter().any(|claim| holds(&key, claim)))
    }

    fn has_typed_claim(&self, key: &RecordKey) -> bool {
        self.claims(key).iter().any(|claim| claim.rank == ClaimRank::Typed)
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
fn is_alias(set: &RecordSet) -> bool {
    match set.options.get("alias") {
        Some(OptionValue::Text(word)) => matches!(&**word, "true" | "A"),
        Some(OptionValue::Bool(on)) => *on,
        _ => matches!(set.data, RecordData::Alias(_)),
    }
}
