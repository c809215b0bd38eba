//! What becomes of the TXT set that holds our claim when its record changes.
//!
//! In: the set as it stands, the record before and after, and what the claim shall say. Out: the set that shall stand, or
//! nothing if the standing one will do. What is not our claim in the set stays as it was read; so does our claim itself where
//! it already says what it should, for another writer of the same labels may spell, pack or seal them in other bytes.

use zonewright_core::options::OptionValue;
use zonewright_core::{RData, RecordData, RecordSet};

use super::intents;
use super::rules::Rules;
use super::value::Heritage;

/// The set that shall stand in place of `standing`, or `None` if that one will do. `from` is the record as it was published,
/// absent where it is created or stays. `formed` also asks for the form that is written today; `text` makes the new claim.
pub(super) fn rewritten(
    rules: &Rules,
    standing: &RecordSet,
    (from, to): (Option<&RecordSet>, &RecordSet),
    formed: bool,
    text: impl FnOnce() -> Result<RData, String>,
    heritage: &Heritage,
) -> Result<Option<RecordSet>, String> {
    let (says, alike) = (says(rules, standing, heritage, formed), are_alike(standing, from, to));
    if says && alike && standing.routing == to.routing {
        return Ok(None);
    }
    let data = if says {
        standing.data.clone()
    } else {
        RecordData::records(foreign_members(rules, standing).into_iter().chain([text()?]))
    };
    let options = if alike { standing.options.clone() } else { to.options.clone() };
    Ok(Some(RecordSet { data, routing: to.routing.clone(), options, ..standing.clone() }))
}

/// The members of a set that are neither claims nor intents of ours.
pub(super) fn foreign_members(rules: &Rules, set: &RecordSet) -> Vec<RData> {
    let heritages = rules.heritages(set);
    let claims = |data: &RData| heritages.iter().any(|(at, heritage)| *at == data && rules.is_ours(heritage));
    let is_ours = |data: &RData| claims(data) || intents::is_ours(rules, set, data);
    set.data.as_records().iter().filter(|data| !is_ours(data)).cloned().collect()
}

/// Whether our one claim in a set says what `heritage` says, in whatever spelling; `formed` also asks for the form that is
/// written today, plain or sealed.
fn says(rules: &Rules, set: &RecordSet, heritage: &Heritage, formed: bool) -> bool {
    let heritages = rules.heritages(set);
    let mut ours = heritages.iter().filter(|(_, standing)| rules.is_ours(standing));
    let (Some((data, standing)), None) = (ours.next(), ours.next()) else { return false };
    let is_in_form = || matches!(data, RData::Txt(txt) if rules.codec.is_in_form(txt));
    heritage.says(standing) && (!formed || is_in_form())
}

/// Whether a claim has the options of its record. Where set identifiers distinguish several sets they have to be equal.
/// Elsewhere, as in external-dns, they follow the record when it is updated; an option that the record had and its claim
/// has not is one that the provider does not keep on TXT records, and says nothing.
fn are_alike(claim: &RecordSet, from: Option<&RecordSet>, to: &RecordSet) -> bool {
    if claim.key.set_id.is_some() {
        return claim.options == to.options;
    }
    let Some(from) = from else { return true };
    let is_kept = |key: &str| claim.options.get(key).is_some() || from.options.get(key).is_none();
    let differs = |(key, _): (&str, &OptionValue)| is_kept(key) && claim.options.get(key) != to.options.get(key);
    !claim.options.iter().chain(to.options.iter()).any(differs)
}
