//! Whether there is room for a claim, and for a record beside the claims that stand.
//!
//! In: what a group would write, and the view. Out: nothing, or the sentence that says what is in the way.

use zonewright_core::claim::judge;
use zonewright_core::{DnsName, RecordKey, RecordSet, RecordType};

use super::Draft;
use crate::txt::intents::{holds_intent, is_void};
use crate::txt::record::{is_record, mistaken};
use crate::txt::view::{Format, text_key};

impl Draft<'_> {
    /// A TXT record cannot be created where a claim stands: that would change the claim.
    pub(super) fn check_own_place(&self, key: &RecordKey) -> Result<(), String> {
        let standing = self.view.here(key).filter(|_| key.rtype == RecordType::Txt);
        match standing.filter(|set| !self.view.rules.heritages(set).is_empty()) {
            Some(set) => Err(format!("{key} cannot be created: an ownership record stands there ({})", set.data)),
            None => Ok(()),
        }
    }

    /// A CNAME stands alone, not beside a claim that stays.
    pub(super) fn check_name(&self, key: &RecordKey) -> Result<(), String> {
        let text = text_key(&key.name, key.set_id.as_ref());
        let stays = !self.gone.contains(&text) && self.changes().all(|change| *change.key() != text);
        match self.view.here(&text).filter(|set| stays && !self.view.rules.heritages(set).is_empty()) {
            Some(set) => Err(format!(
                "{key} cannot be created: an ownership record stands there ({}), and a CNAME stands alone",
                set.data
            )),
            None => Ok(()),
        }
    }

    /// No new record comes under a claim that another record stands on: either would lose it by the other's end.
    pub(super) fn check_alone(&self, key: &RecordKey) -> Result<(), String> {
        let target = self.target(key)?;
        let others = self.view.reliant(key, Format::Current, &target, &self.gone);
        others.first().map_or(Ok(()), |other| Err(shared(key, &target, other)))
    }

    /// No new claim makes a record ours that is not.
    pub(super) fn check_foreign(&self, key: &RecordKey, target: &DnsName) -> Result<(), String> {
        let is_ours = |key: &RecordKey| judge(&self.view.claims(key), Some(&self.view.rules.owner)).is_ours();
        let others = self.view.reliant(key, Format::Current, target, &self.gone);
        others.iter().find(|other| !is_ours(other)).map_or(Ok(()), |other| Err(shared(key, target, other)))
    }

    /// By the settings of other times a name may be that of several claims. None may make the text of another read as a record,
    /// nor be read as one itself: whoever stands on it would be without a claim.
    pub(super) fn check_readings(&self, key: &RecordKey, claim: &RecordSet) -> Result<(), String> {
        let name = &claim.key.name;
        if let Some(other) = mistaken(self.view, key, claim) {
            return Err(format!(
                "the ownership record of {key} belongs at {name}, and once it stands there the ownership record {} would \
                 read as a TXT record; another --txt-prefix or --txt-suffix distinguishes them",
                other.key
            ));
        }
        if is_record(self.view, &self.view.zone.key, claim) {
            return Err(format!(
                "the ownership record of {key} belongs at {name}, and would read as a TXT record there: by the former \
                 names another ownership record speaks for it; another --txt-prefix or --txt-suffix distinguishes them"
            ));
        }
        Ok(())
    }

    /// Nothing stands where a new claim is to come.
    pub(super) fn check_free(&self, key: &RecordKey, target: &DnsName) -> Result<(), String> {
        let cname = RecordKey::simple(target.clone(), RecordType::Cname);
        let text = self.view.text_at(target, key.set_id.as_ref()).filter(|set| !is_void(self.view, set));
        let in_the_way = text.or_else(|| self.view.here(&cname));
        let Some(set) = in_the_way else { return Ok(()) };
        let what = if holds_intent(&set) {
            "an unfinished write"
        } else if !self.view.is_ordinary(&set) {
            "an ownership record without an owner"
        } else {
            "a record that is no ownership record"
        };
        Err(format!("the ownership record of {key} belongs at {target}, but {what} stands there: {set}"))
    }
}

pub(super) fn shared(key: &RecordKey, target: &DnsName, other: &RecordKey) -> String {
    format!(
        "{key} would share its ownership record at {target} with {other}, which stands already; another --txt-prefix, \
         --txt-suffix or --txt-wildcard-replacement distinguishes them"
    )
}
