//! Whose a record is, by everything that was found where claims on it may stand; and who else relies on that.
//!
//! In: a [`View`] and a record's key. Out: the claims by rank, those that have been left behind, and the records whose right hangs
//! on one. Nothing here decides; `decorate` does.

use std::collections::BTreeSet;

use zonewright_core::claim::{Claim, ClaimRank, OwnerId};
use zonewright_core::record::SetId;
use zonewright_core::zone::ZoneKey;
use zonewright_core::{DnsName, RecordKey, RecordSet};

use super::affix::TYPES;
use super::intents::begun;
use super::record::is_record;
use super::rules::apex_type;
use super::value::Heritage;
use super::view::{ClaimPlace, Format, Site, View, holds_closed, is_alias, places, reads_old, text_key};
use super::{apex, former};

/// Stands for the owner of a claim that does not open. No owner id has a comma, so nobody can be taken for it.
const CLOSED: &str = "unknown (its claim is encrypted, and not with the key given here)";

/// Our claims on `key` in this zone that go once today's stands: nobody looks there any more, and no record needs them.
pub(super) fn leftovers(view: &View<'_>, key: &RecordKey) -> Vec<Site> {
    let (owner, zone) = (&view.rules.owner, &view.zone.key);
    let is_left = |site: &Site| match site.format {
        Format::Current | Format::Elsewhere => false,
        Format::Former => true,
        Format::Alias | Format::Old => site.earlier || view.rules.moves_old,
    };
    let goes = |site: &Site| {
        let ours = is_left(site) && site.zone == *zone && site.is_of(owner);
        ours && view.reliant(key, site.format, &site.set.key.name, &BTreeSet::new()).is_empty()
    };
    view.sites(key).into_iter().filter(goes).collect()
}

impl View<'_> {
    /// Everything that claims `key`, by rank, with doubt where it may be another record's claim.
    pub(super) fn sites(&self, key: &RecordKey) -> Vec<Site> {
        let sites = self.all_sites(key);
        if self.rules.earlier.is_empty() { sites } else { former::undoubted(self, key, sites) }
    }

    /// Everything that may claim `key`, by rank. A place inside this zone counts only if this zone holds it.
    pub(super) fn all_sites(&self, key: &RecordKey) -> Vec<Site> {
        let alias = || self.here(key).is_some_and(|set| is_alias(&set));
        let places = places(self.rules, self.zone, key).into_iter();
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
        if self.rules.is_moving() && is_current && !leftovers(self, key).is_empty() {
            for claim in &mut claims {
                claim.current = false;
            }
        }
        claims
    }

    fn site(&self, place: &ClaimPlace, key: &RecordKey) -> Option<Site> {
        let text = text_key(&place.name, key.set_id.as_ref());
        let (zone, set) = self.published.find(&self.zone.key, &text)?;
        if zone != self.zone.key
            && (place.name.is_within(&self.zone.name) || apex::speaks_there(self, place.format, &zone, key))
        {
            return None;
        }
        let claims = self.read(place.format, key, &zone, &set);
        let ClaimPlace { format, earlier, .. } = *place;
        let counts = !claims.is_empty() && !is_record(self, &zone, &set);
        counts.then(|| apex::undoubted(self, key, Site { format, earlier, zone, set, claims }))
    }

    fn read(&self, format: Format, key: &RecordKey, zone: &ZoneKey, set: &RecordSet) -> Vec<Claim> {
        let done = |set| !self.rules.awaits_rewrite(set).0 && self.rules.is_in_form(set);
        let is_current = format == Format::Current && *zone == self.zone.key && done(set);
        let claim = |owner, heritage: &Heritage| Claim {
            owner,
            resource: heritage.resource(),
            labels: heritage.further(),
            rank: if format == Format::Old { ClaimRank::Old } else { ClaimRank::Typed },
            current: is_current,
            site: Some((zone.clone(), set.clone())),
        };
        let heritages = self.rules.heritages(set);
        let ours = || self.rules.owner.clone();
        let owner = |heritage: &Heritage| if self.rules.is_ours(heritage) { Some(ours()) } else { heritage.owner() };
        let read = heritages.iter().filter_map(|(_, heritage)| Some(claim(owner(heritage)?, heritage)));
        // Other names may well hold long tokens that are no claims.
        let counts =
            matches!(format, Format::Current | Format::Elsewhere | Format::Former) && holds_closed(self.rules, set);
        let closed = OwnerId::new(CLOSED).filter(|_| counts).map(|owner| claim(owner, &Heritage::default()));
        // A write that was begun speaks for the record that it announced, as if it had been finished.
        let begun = begun(self.rules, set).into_iter().filter(|begun| begun.speaks_for(key, self, set));
        let begun = begun.filter_map(|begun| {
            let heritage = begun.claim.as_ref();
            let owner = heritage.map_or_else(|| OwnerId::new(CLOSED), owner)?;
            Some(Claim { current: false, ..claim(owner, heritage.unwrap_or(&Heritage::default())) })
        });
        read.chain(closed).chain(begun).collect()
    }

    /// Whether a claim on `key` stands where it would be written today, whatever it says.
    pub(super) fn is_at_home(&self, key: &RecordKey, claim: &Claim) -> bool {
        let target = self.rules.target(self.zone, key);
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

    /// The typed claims of ours because of which other records do not need the old-format claim at `claim`, which speaks for `key`
    /// too: without them it must not go. Those in other zones are left out.
    pub(super) fn instead_of_old(
        &self,
        key: &RecordKey,
        claim: &DnsName,
        gone: &BTreeSet<RecordKey>,
    ) -> Vec<RecordSet> {
        let mut others = self.of_old_format(claim, key.set_id.as_ref());
        others.retain(|other| other != key && !gone.contains(other) && self.stands(other));
        let claims = others.iter().flat_map(|other| self.claims(other));
        let typed = claims.filter(|claim| claim.rank == ClaimRank::Typed && claim.owner == self.rules.owner);
        let here = typed.filter_map(|claim| claim.site.filter(|(zone, _)| *zone == self.zone.key));
        here.map(|(_, set)| set).collect()
    }

    /// Every key whose typed claim has this name: by today's settings, or by former ones where it has none by today's.
    fn of_typed_name(&self, claim: &DnsName, set_id: Option<&SetId>) -> Vec<RecordKey> {
        let key = |(name, rtype)| RecordKey { name, rtype, set_id: set_id.cloned() };
        let apex = apex_type(self.zone, claim).map(|rtype| (self.zone.name.clone(), rtype));
        let today = self.rules.affixes.sources(claim).into_iter().chain(apex).map(key);
        let mut all: Vec<RecordKey> = today.collect();
        for other in self.rules.earlier.iter().flat_map(|affixes| affixes.sources(claim)).map(key) {
            if !all.contains(&other) && !former::has_claim_at_home(self, &other) {
                all.push(other);
            }
        }
        all
    }

    /// Every key whose old-format claim has this name.
    fn of_old_format(&self, claim: &DnsName, set_id: Option<&SetId>) -> Vec<RecordKey> {
        let names: BTreeSet<DnsName> = self.rules.all_affixes().flat_map(|by| by.old_sources(claim)).collect();
        let of = |name: DnsName, rtype| RecordKey { name, rtype, set_id: set_id.cloned() };
        reads_old().flat_map(|rtype| names.iter().map(move |name| of(name.clone(), rtype))).collect()
    }

    /// Whether some record at the name and set identifier of `key` has a typed claim of `owner` in this zone.
    pub(super) fn holds_name(&self, key: &RecordKey, owner: &OwnerId) -> bool {
        let of_type = |rtype| RecordKey { rtype, ..key.clone() };
        let holds = |key: &RecordKey, claim: &Claim| claim.owner == *owner && self.is_at_home(key, claim);
        TYPES.into_iter().map(of_type).any(|key| self.claims(&key).iter().any(|claim| holds(&key, claim)))
    }

    pub(super) fn has_typed_claim(&self, key: &RecordKey) -> bool {
        self.claims(key).iter().any(|claim| claim.rank == ClaimRank::Typed)
    }
}
