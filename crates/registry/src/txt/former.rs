//! Claims that former settings put elsewhere.
//!
//! In: the sites where a record's claims were found, and what is published. Out: those that may be taken as
//! they read. What must hold: a name that one record's claim has by some settings and
//! another's by others makes nobody the owner as long as both records stand, and is never cleared away while one of them needs
//! it.

use zonewright_core::claim::{Claim, ClaimRank, OwnerId};
use zonewright_core::{DnsName, RecordKey, RecordType};

use super::affix::Affixes;
use super::rules::apex_type;
use super::view::{Format, Site, View, text_key};

/// Stands for the owner that cannot be determined. No owner id has a comma, so nobody can be taken for it.
const DOUBTFUL: &str =
    "unknown (the claim may be that of another record, by the former names of --txt-former-prefix and the like)";

/// Takes out what may be another record's claim. Where no claim at today's place settles it, the owner is unknown, unless
/// the doubt is only whether one more claim of ours is on this record.
pub(super) fn undoubted(view: &View<'_>, key: &RecordKey, sites: Vec<Site>) -> Vec<Site> {
    let (mut doubtful, mut sure): (Vec<Site>, Vec<Site>) =
        sites.into_iter().partition(|site| rival(view, key, site.format, &site.set.key.name).is_some());
    let owner = &view.rules.owner;
    let is_ours = |site: &Site| site.claims.iter().all(|claim| claim.owner == *owner);
    if sure.iter().any(|site| site.format != Format::Old && is_ours(site)) {
        doubtful.retain(|site| !is_ours(site));
    }
    if !sure.iter().any(|site| site.format == Format::Current) {
        // A name without a type says little: where another record has it with a type, it says nothing.
        sure.extend(
            doubtful.into_iter().filter(|site| site.format != Format::Old).map(|site| without_owner(site, DOUBTFUL)),
        );
    }
    sure
}

/// A site whose owner cannot be determined: `stand_in` is named in its place.
pub(super) fn without_owner(site: Site, stand_in: &str) -> Site {
    let owner = OwnerId::new(stand_in);
    let unknown = owner.zip(site.claims.first()).map(|(owner, claim)| Claim {
        owner,
        resource: None,
        labels: Vec::new(),
        rank: ClaimRank::Typed,
        current: false,
        site: claim.site.clone(),
    });
    Site { claims: unknown.into_iter().collect(), ..site }
}

/// Another record that stands and has its claim at the same name, by settings that do not lead there from `key`.
pub(super) fn rival(view: &View<'_>, key: &RecordKey, format: Format, name: &DnsName) -> Option<RecordKey> {
    if view.rules.earlier.is_empty() || apex_type(view.zone, name).is_some() {
        return None;
    }
    let mut foreign = view.rules.all_affixes().filter(|affixes| !leads(affixes, key, format, name));
    foreign.find_map(|affixes| {
        let sources = affixes.sources(name).into_iter();
        let mut others = sources.map(|(name, rtype)| RecordKey { name, rtype, set_id: key.set_id.clone() });
        others.find(|other| other != key && view.stands(other))
    })
}

/// Whether these affixes lead from `key` to the name of a claim in this format.
fn leads(affixes: &Affixes, key: &RecordKey, format: Format, name: &DnsName) -> bool {
    let made = match format {
        Format::Old => affixes.old(&key.name),
        Format::Alias => affixes.typed(&key.name, RecordType::Cname),
        Format::Current | Format::Elsewhere | Format::Former => affixes.typed(&key.name, key.rtype),
    };
    made.as_ref() == Ok(name)
}

/// Whether a claim stands where that on `key` is written today, whoever's it is.
pub(super) fn has_claim_at_home(view: &View<'_>, key: &RecordKey) -> bool {
    let target = view.rules.target(view.zone, key).ok();
    let set = target.and_then(|name| view.here(&text_key(&name, key.set_id.as_ref())));
    set.is_some_and(|set| !view.is_ordinary(&set))
}
