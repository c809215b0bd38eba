//! Claims between a zone and the one above it.
//!
//! External-dns puts the claim on a zone's apex into the zone above. There it stands where the claim on a record of the same key
//! in the zone above would stand too, which is what is left after a time in which the lower zone was not listed and its names went
//! to the upper one. Such a claim speaks for one record at most: for that of the zone that holds it, if there is one, and for none
//! as long as the lower zone may hold another that has no claim of its own.

use zonewright_core::zone::{Zone, ZoneKey};
use zonewright_core::{RecordKey, RecordType};

use super::former::{has_claim_at_home, without_owner};
use super::view::{Format, Site, View, reads_old};

/// Stands for the owner that cannot be determined. No owner id has a comma, so nobody can be taken for it.
const DOUBTFUL: &str =
    "unknown (the ownership record may be that of the zone below, which has a record of this name and type too)";

/// Whether a claim on `key` that stands in another `zone` speaks for a record of that zone: then it gives no right to the record
/// of the same key in this one. (The NS records of a delegation stand there always, and have nothing to do with it.)
pub(super) fn speaks_there(view: &View<'_>, format: Format, zone: &ZoneKey, key: &RecordKey) -> bool {
    let holds = |rtype: RecordType| {
        let other = RecordKey { rtype, ..key.clone() };
        view.published.find(zone, &other).is_some_and(|(holder, _)| holder == *zone)
    };
    match format {
        Format::Old => reads_old().filter(|rtype| *rtype != RecordType::Ns).any(holds),
        Format::Alias => holds(RecordType::Cname) || holds(key.rtype),
        Format::Current | Format::Elsewhere | Format::Former => holds(key.rtype),
    }
}

/// A claim of this zone on a record of this zone, with an unknown owner in place of its own if it may be meant for the apex of
/// the zone below.
pub(super) fn undoubted(view: &View<'_>, key: &RecordKey, site: Site) -> Site {
    if site.zone != view.zone.key || key.name == view.zone.name || !may_be_of_below(view, key) {
        return site;
    }
    without_owner(site, DOUBTFUL)
}

/// Whether a zone whose apex has the name of `key` may hold such a record without a claim of its own.
fn may_be_of_below(view: &View<'_>, key: &RecordKey) -> bool {
    let unclaimed = |zone: &Zone| {
        let below = View { rules: view.rules, zone, published: view.published };
        below.here(key).is_some() && !has_claim_at_home(&below, key)
    };
    view.published.zones_at(&key.name).iter().any(|(zone, read)| !read || unclaimed(zone))
}
