//! Where an old side may stand: also in zones that its name would belong to if a nearer one were not there.
//!
//! In: the zones, and a bundle. Out: for each old side the zones to look into, and the names to be read there before anything is done.
//! A record that was written before a nearer zone was made, or by another rule of zones, stands there still; the list of records has it,
//! so a caller asks for its end. What must hold: new sides go by the rule alone; where a nearer zone of the same visibility may depend on
//! a record (its glue is an address record in both zones), nothing goes without a claim; at the apex of the nearer zone, whose claim
//! external-dns puts into the zone above, nothing of the upper zone goes while the nearer one has such a record too; of two zones of one
//! name and visibility, which are copies of each other, the one that the rule leaves out stays as it is.

use zonewright_core::{DnsName, Zone};

use super::ask::Bundle;
use super::horizon::ZoneNames;
use super::place::{Objection, Places, sides};

/// A zone in which an old side may stand.
pub(super) struct OldPlace<'a> {
    /// Its position.
    pub(super) place: usize,
    pub(super) zone: &'a Zone,
    /// As in [`super::place::Pair`].
    pub(super) claimed_only: bool,
    /// As in [`super::place::Pair`].
    pub(super) apex_of: Vec<usize>,
}

impl<'a> Places<'a> {
    /// The zones in which an old side of this name may stand.
    ///
    /// # Errors
    /// There is none.
    pub(super) fn zones_of_old(&self, name: &DnsName) -> Result<Vec<OldPlace<'a>>, Objection> {
        let by_rule = self.zones_of(name)?;
        let is_by_rule = |place: usize| by_rule.iter().any(|(known, _)| *known == place);
        let is_copy = |zone: &Zone| by_rule.iter().any(|(_, known)| is_alike(known, zone) && known.name == zone.name);
        let covering = self.zones.iter().enumerate().filter(|(_, zone)| name.is_within(&zone.name));
        let kept: Vec<(usize, &'a Zone)> =
            covering.filter(|(place, zone)| is_by_rule(*place) || !is_copy(zone)).collect();
        let old_place = |&(place, zone): &(usize, &'a Zone)| {
            if is_by_rule(place) {
                return OldPlace { place, zone, claimed_only: false, apex_of: Vec::new() };
            }
            let is_below = |near: &Zone| is_alike(near, zone) && near.name.label_count() > zone.name.label_count();
            let below = || kept.iter().filter(|(_, near)| is_below(near));
            let apex_of = below().filter(|(_, near)| near.name == *name).map(|(near, _)| *near).collect();
            OldPlace { place, zone, claimed_only: below().next().is_some(), apex_of }
        };
        Ok(kept.iter().map(old_place).collect())
    }

    /// The names of a bundle's old sides by the positions of the zones in which they may stand, if one of them may in several: what
    /// stands there has to be read before [`Places::groups`].
    pub(super) fn names_to_read(&self, bundle: &Bundle) -> ZoneNames {
        let (mut names, mut is_shared) = (ZoneNames::new(), false);
        let olds = sides(bundle, self.options).map(|(olds, _)| olds).unwrap_or_default();
        for name in olds.into_iter().map(|old| old.key.name) {
            let zones = self.zones_of_old(&name).unwrap_or_default();
            is_shared |= zones.len() > 1;
            for OldPlace { place, .. } in zones {
                names.entry(place).or_default().insert(name.clone());
            }
        }
        if is_shared { names } else { ZoneNames::new() }
    }
}

/// Whether both are public, or both private.
fn is_alike(one: &Zone, other: &Zone) -> bool {
    one.visibility == other.visibility
}
