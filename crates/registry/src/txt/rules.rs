//! What the settings say of claims: pure functions of a record's key and of what a set holds.
//!
//! In: settings that were checked. Out: whose a claim is, where it is written and where it may have been written before.
//! Nothing here looks at what is published.

use zonewright_core::claim::{Claim, OwnerId};
use zonewright_core::endpoint::ObjectPolicy;
use zonewright_core::name::NameError;
use zonewright_core::plan::{FORMER_OWNER_LABEL, POLICY_LABEL};
use zonewright_core::zone::Zone;
use zonewright_core::{DnsName, RData, RecordKey, RecordSet, RecordType};

use super::affix::{Affixes, TYPES};
use super::value::{Codec, Heritage};

/// What the settings say of claims: who we are and were, where claims stand, how they are written.
#[derive(Debug, Clone)]
pub(super) struct Rules {
    pub(super) owner: OwnerId,
    pub(super) former: Option<OwnerId>,
    pub(super) affixes: Affixes,
    /// Other names at which claims stood.
    pub(super) earlier: Vec<Affixes>,
    pub(super) moves_old: bool,
    pub(super) codec: Codec,
}

impl Rules {
    /// The claims in a record set, each with the data that holds it; none if it is no TXT set.
    pub(super) fn heritages<'a>(&self, set: &'a RecordSet) -> Vec<(&'a RData, Heritage)> {
        let read = |data: &'a RData| match data {
            RData::Txt(txt) => Some((data, self.codec.read(txt)?)),
            _ => None,
        };
        set.data.as_records().iter().filter_map(read).collect()
    }

    /// Whether a claim is ours, by today's name or the former one.
    pub(super) fn is_ours(&self, heritage: &Heritage) -> bool {
        self.is_of_us(heritage.owner().as_ref())
    }

    /// Whether an owner is us, by today's name or the former one.
    pub(super) fn is_of_us(&self, owner: Option<&OwnerId>) -> bool {
        owner.is_some_and(|owner| *owner == self.owner || self.is_former(owner))
    }

    pub(super) fn is_former(&self, owner: &OwnerId) -> bool {
        self.former.as_ref() == Some(owner)
    }

    /// Whether every claim of ours in a set has the form that is written today, plain or sealed. As in external-dns another form
    /// is left until its record changes, unless the move of old formats is asked for.
    pub(super) fn is_in_form(&self, set: &RecordSet) -> bool {
        if !self.moves_old {
            return true;
        }
        let bad = |data: &RData| matches!(data, RData::Txt(txt) if !self.codec.is_in_form(txt));
        !self.heritages(set).iter().any(|(data, heritage)| self.is_ours(heritage) && bad(data))
    }

    /// Today's names, then the former ones.
    pub(super) fn all_affixes(&self) -> impl Iterator<Item = &Affixes> {
        std::iter::once(&self.affixes).chain(&self.earlier)
    }

    /// Whether claims may have to go when another stands: settings were changed.
    pub(super) fn is_moving(&self) -> bool {
        self.moves_old || !self.earlier.is_empty()
    }

    /// Whether a set holds a claim that is still to be rewritten, and whether nothing but such makes it ours.
    pub(super) fn awaits_rewrite(&self, set: &RecordSet) -> (bool, bool) {
        if self.former.is_none() {
            return (false, false);
        }
        let owners: Vec<OwnerId> = self.heritages(set).iter().filter_map(|(_, heritage)| heritage.owner()).collect();
        let former = owners.iter().any(|owner| self.is_former(owner));
        (former, former && !owners.contains(&self.owner))
    }

    /// A record that is ours by the former owner's claim alone is not deleted for want of an object: it may be that of
    /// another writer who went by the same name.
    pub(super) fn retain_former(&self, claim: &mut Claim) {
        let only_former = claim.site.as_ref().is_some_and(|(_, set)| self.awaits_rewrite(set).1);
        if claim.owner == self.owner && only_former && claim.label(POLICY_LABEL).is_none() {
            claim.labels.push((POLICY_LABEL.into(), ObjectPolicy::Retain.as_str().into()));
            claim.labels.push((FORMER_OWNER_LABEL.into(), "".into()));
        }
    }

    /// The name where the claim on `key` is written: the typed name, or the `_apex` name if that falls outside the zone.
    pub(super) fn target(&self, zone: &Zone, key: &RecordKey) -> Result<DnsName, NameError> {
        Self::target_by(&self.affixes, zone, key)
    }

    /// As [`TxtRegistry::target`], by other affixes.
    pub(super) fn target_by(affixes: &Affixes, zone: &Zone, key: &RecordKey) -> Result<DnsName, NameError> {
        Self::target_of(affixes.typed(&key.name, key.rtype), zone, key)
    }

    /// As [`Rules::target_by`], of the typed name of external-dns.
    pub(super) fn target_of(
        typed: Result<DnsName, NameError>,
        zone: &Zone,
        key: &RecordKey,
    ) -> Result<DnsName, NameError> {
        let outside = typed.as_ref().is_ok_and(|name| !name.is_within(&zone.name));
        if key.name == zone.name && !zone.name.is_root() && (typed.is_err() || outside) {
            return apex_name(zone, key.rtype);
        }
        typed
    }
}

/// What follows the type in the first label of an in-zone claim on an apex record.
const APEX: &str = "-_apex";

/// The in-zone name for the claim on an apex record, whatever the affixes.
pub(super) fn apex_name(zone: &Zone, rtype: RecordType) -> Result<DnsName, NameError> {
    zone.name.prepend(&format!("{}{APEX}", rtype.lower()))
}

/// The type of whose apex record `name` is the in-zone claim. Asked for every name that is planned, and nearly always in
/// vain: so the text is looked at before any name is made.
pub(super) fn apex_type(zone: &Zone, name: &DnsName) -> Option<RecordType> {
    let is_there = |rtype: &RecordType| apex_name(zone, *rtype).as_ref() == Ok(name);
    name.as_str().contains(APEX).then(|| TYPES.into_iter().find(is_there)).flatten()
}
