//! Somebody at a keyboard: in, a edit; out, the change that it comes to, if a zone file allows it.

use serde_json::Value;
use zonewright_core::{RData, RecordData, RecordKey, RecordSet, RecordType};

use super::World;
use crate::chance::mix;
use crate::line::lock;
use crate::names::{Saying, data_of, saying, set, speaks, text};
use crate::setup::Company;
use crate::step::ManualEdit;
use crate::truth::{Author, Objects, Truth, with};

/// One in so many processes that end in the middle finds that a name was taken before it is there again.
const TAKEN: u64 = 4;

impl World {
    /// While a process is down, somebody now and then takes a name that it was about to publish: its claim may stand already.
    pub(super) fn usurp(&self, daemon: usize) {
        let nonce = mix(lock(&self.weather).nonce, 5);
        if self.setup.company == Company::Claimless || !nonce.is_multiple_of(TAKEN) {
            return;
        }
        let sight = self.sight(daemon);
        let asks = sight.names().into_iter().flat_map(|name| sight.asks(&name));
        let stands = |key: &RecordKey| {
            let truth = self.truth();
            truth.zones.iter().any(|content| content.sets.contains_key(key))
        };
        let bare: Vec<RecordKey> = asks.map(|ask| ask.key).filter(|key| !stands(key)).collect();
        let at = usize::try_from(nonce / TAKEN).unwrap_or(0).checked_rem(bare.len());
        if let Some(key) = at.and_then(|at| bare.get(at))
            && matches!(key.rtype, RecordType::A | RecordType::Aaaa | RecordType::Cname)
        {
            self.human(key, &ManualEdit::Write(data_of(2, 0, key.rtype)));
        }
    }

    pub(super) fn human(&self, key: &RecordKey, edit: &ManualEdit) {
        let mut truth = self.truth();
        // Of twins it is now the one and now the other.
        let nonce = lock(&self.weather).nonce;
        let instance = usize::from(self.setup.twins && mix(nonce, 3).is_multiple_of(2));
        let zone = truth.zone_of(instance, &key.name);
        if truth.objects.is_some() && edit_objects(&mut truth, zone, key, edit) {
            return;
        }
        let stands = truth.zones[zone].sets.get(key).cloned();
        let stood = stands.is_some();
        let apex = truth.zones[zone].zone.name.clone();
        let mut places = truth.places(zone, key);
        places.retain(|(place, _)| place.name.is_within(&apex));
        let places: Vec<RecordKey> = places.into_iter().map(|(place, _)| place).collect();
        // Where claims move, people go by where one stands.
        let holds_text = |place: &&RecordKey| truth.zones[zone].sets.contains_key(place);
        let first = places.first().filter(|_| truth.affixes.len() < 2);
        let place = places.iter().find(holds_text).or(first).cloned();
        let claim = place.as_ref().and_then(|place| truth.zones[zone].sets.get(place).cloned());
        let claim_to_age = claim.clone().filter(|_| matches!(edit, ManualEdit::Age(_)));
        let old = claim_to_age.as_ref().and_then(|claim| truth.old_place(key, &claim.key, &apex));
        // Beside a CNAME none could be written.
        let old = old.filter(|old| key.rtype != RecordType::Cname || old.name != key.name);
        let change = match edit {
            ManualEdit::Age(false) => None,
            ManualEdit::Age(true) => beside_an_address(&truth, zone, key).filter(|_| old.is_some()),
            ManualEdit::Write(data) => write(&truth, zone, key, data),
            ManualEdit::Add(_) if stands.is_none() || key.rtype == RecordType::Cname => None,
            ManualEdit::Add(data) => stands.map(|stands| {
                (
                    key.clone(),
                    Some(with(
                        Some(&stands),
                        &RecordSet { data: RecordData::records([data.clone()]), ..stands.clone() },
                    )),
                )
            }),
            ManualEdit::Remove => stands.map(|_| (key.clone(), None)),
            ManualEdit::Disown => claim.map(|claim| (claim.key, None)),
            // A text that nobody wrote yet is not given away: it would be its new owner's as soon as somebody writes it.
            ManualEdit::Assign(_) if stands.is_none() && key.rtype == RecordType::Txt => None,
            ManualEdit::Assign(owner) => place.map(|place| {
                let says =
                    format!("\"heritage=external-dns,external-dns/owner={owner},external-dns/resource=service/ns/o9\"");
                (place.clone(), Some(text(&place, &says)))
            }),
            ManualEdit::Unlabel => {
                claim.and_then(|claim| unlabelled(&claim)).map(|claim| (claim.key.clone(), Some(claim)))
            }
            ManualEdit::Remark | ManualEdit::Dispute => claim.map(|claim| {
                let stranger = "heritage=external-dns,external-dns/owner=stranger";
                let says = if *edit == ManualEdit::Dispute { stranger } else { "a remark" };
                let more = text(&claim.key, says);
                (claim.key.clone(), Some(RecordSet { ttl: claim.ttl, ..with(Some(&claim), &more) }))
            }),
            ManualEdit::Scribble => {
                claim.map(|claim| (claim.key.clone(), Some(text(&claim.key, "heritage=external-dns,scribble"))))
            }
        };
        let aged = claim_to_age.and_then(|claim| aged(claim, old?));
        // A zone file's own rules hold for humans too.
        let legal = |(key, to): &(RecordKey, Option<RecordSet>)| {
            to.is_none() || truth.rows().hindered(&truth.zones[zone].sets, key, true).is_none()
        };
        let changes: Vec<_> = aged.into_iter().flatten().chain(change).collect();
        if !changes.is_empty() && changes.iter().all(legal) {
            truth.unpaired |= match edit {
                ManualEdit::Age(_) => true,
                ManualEdit::Remove => stood,
                ManualEdit::Assign(_) => !stood,
                _ => false,
            };
            truth.foreign(Author::Human, zone, &changes);
        }
    }
}

/// What somebody does to claims in objects or rows. Returns whether the edit is one of these.
fn edit_objects(truth: &mut Truth, zone: usize, key: &RecordKey, edit: &ManualEdit) -> bool {
    if truth.objects.as_ref().is_some_and(Objects::are_rows) {
        return edit_rows(truth, key, edit);
    }
    match edit {
        ManualEdit::Write(_) | ManualEdit::Add(_) | ManualEdit::Remove => return false,
        ManualEdit::Disown => truth.edit_entries(zone, key, &|_| false),
        ManualEdit::Assign(owner) => truth.edit_entries(zone, key, &|entry| {
            entry["owner"] = serde_json::Value::from(*owner);
            true
        }),
        ManualEdit::Dispute => truth.dispute(zone, key),
        ManualEdit::Scribble => {
            let owner = truth.parties.first().and_then(|party| party.owner.clone());
            truth.lose_object(&owner.unwrap_or_default());
        }
        ManualEdit::Unlabel => truth.edit_entries(zone, key, &|entry| {
            if let Some(entry) = entry.as_object_mut() {
                entry.remove("resource");
            }
            true
        }),
        ManualEdit::Remark | ManualEdit::Age(_) => {}
    }
    true
}

fn edit_rows(truth: &mut Truth, key: &RecordKey, edit: &ManualEdit) -> bool {
    let set = |row: &mut Value, name: &str, value: &str| row[name] = Value::from(value);
    match edit {
        ManualEdit::Write(_) | ManualEdit::Add(_) | ManualEdit::Remove => return false,
        ManualEdit::Disown => truth.edit_rows(key, &|_| false),
        ManualEdit::Assign(owner) => truth.edit_rows(key, &|row| {
            set(row, "o", owner);
            true
        }),
        ManualEdit::Dispute => truth.dispute_row(key),
        ManualEdit::Scribble => truth.edit_rows(key, &|row| {
            set(row, "l", "scribble");
            true
        }),
        ManualEdit::Unlabel => truth.edit_rows(key, &|row| {
            if let Some(labels) = row.get_mut("l").and_then(Value::as_object_mut) {
                labels.remove("resource");
            }
            true
        }),
        ManualEdit::Age(_) => {}
        ManualEdit::Remark => truth.edit_rows(key, &|row| {
            if let Some(labels) = row.get_mut("l").and_then(Value::as_object_mut) {
                labels.insert("remark".to_owned(), Value::from("by hand"));
            }
            true
        }),
    }
    true
}

/// A claim at its place of old in place of the one that it has. The first half of a write never stood there.
fn aged(claim: RecordSet, old: RecordKey) -> Option<[(RecordKey, Option<RecordSet>); 2]> {
    let to = RecordSet { key: old, ..claim.clone() };
    let is_claim = |data: &RData| matches!(saying(data), Saying::Claim { .. });
    (to.key != claim.key && claim.data.as_records().iter().all(is_claim))
        .then(|| [(claim.key, None), (to.key.clone(), Some(to))])
}

/// A claim that names no object.
fn unlabelled(claim: &RecordSet) -> Option<RecordSet> {
    let owner = claim.data.as_records().iter().find_map(|data| match saying(data) {
        Saying::Claim { owner, .. } => Some(owner),
        _ => None,
    })?;
    let says = text(&claim.key, &format!("\"heritage=external-dns,external-dns/owner={owner}\""));
    Some(RecordSet { ttl: claim.ttl, ..says })
}

/// An AAAA record beside an A record, where none stands.
fn beside_an_address(truth: &Truth, zone: usize, key: &RecordKey) -> Option<(RecordKey, Option<RecordSet>)> {
    let beside = RecordKey { rtype: RecordType::Aaaa, ..key.clone() };
    let free = key.rtype == RecordType::A && !truth.zones[zone].sets.contains_key(&beside);
    free.then(|| write(truth, zone, &beside, &data_of(2, 0, RecordType::Aaaa))).flatten()
}

fn write(truth: &Truth, zone: usize, key: &RecordKey, data: &RData) -> Option<(RecordKey, Option<RecordSet>)> {
    let to = set(key, [data.clone()]);
    let same = truth.zones[zone].sets.get(key) == Some(&to);
    // A text where a claim stands would take it away; there is a edit for that.
    let claim = truth.zones[zone].sets.get(key).is_some_and(speaks);
    let at_apex = key.rtype == RecordType::Cname && key.name == truth.zones[zone].zone.name;
    (!(same || claim || at_apex)).then(|| (key.clone(), Some(to)))
}
