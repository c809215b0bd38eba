//! One record as an object keeps it. In: a record set with what is known of its owner. Out: a JSON object that begins with
//! the four fields of external-dns' proposal, and the same read back.
//!
//! | field | value |
//! |---|---|
//! | `dnsname` | the name, absolute, without final dot |
//! | `owner` | whose it is; empty where nobody says so |
//! | `target` | the data; several values are joined with `;`; of a record of others with very many, how many |
//! | `type` | the record type |
//! | `targets` | each value, where there are several or none |
//! | `alias` | true: `target` is a provider's alias target |
//! | `zone` | instance and zone, as `rfc2136/example.org`; an entry without it says nothing about any record |
//! | `setIdentifier` | the set identifier |
//! | `policy` | the routing policy, as `weighted:10` |
//! | `resource` | the resource that holds the name |
//! | `labels` | further labels |
//! | `intent` | digest: the entry speaks for the record only while it stands exactly so |
//! | `by` | which process announced it: two of one owner must not take back each other's word |
//! | `given` | true: handed to `owner` by the owner of this object; always with `intent` |
//! | `lost` | true: the record stood, and was missing when the zone was last read |
//! | `next` | what the entry says once the record stands as the digest in `next.intent`: resource and labels |

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use zonewright_core::claim::OwnerId;
use zonewright_core::in_set::policy_key;
use zonewright_core::record::{RecordData, SetId};
use zonewright_core::{DnsName, RecordKey, RecordSet, RecordType, ZoneKey};

use super::right::{Kind, Next, Right, Seal};

/// What several values of a record set are joined with.
const JOINT: &str = ";";

/// A record and whose it is.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Entry {
    pub(super) dnsname: String,
    pub(super) owner: String,
    pub(super) target: String,
    #[serde(rename = "type")]
    pub(super) rtype: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) targets: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "is_false")]
    pub(super) alias: bool,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) zone: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) set_identifier: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) policy: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) resource: Option<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) labels: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) intent: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) by: Option<String>,
    #[serde(default, skip_serializing_if = "is_false")]
    pub(super) given: bool,
    #[serde(default, skip_serializing_if = "is_false")]
    pub(super) lost: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) next: Option<NextEntry>,
}

/// [`Next`] as an entry has it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct NextEntry {
    pub(super) intent: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) resource: Option<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) labels: BTreeMap<String, String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_false(value: &bool) -> bool {
    !value
}

/// Which record of which zone.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct ZoneRecord {
    /// First, so that an object is in the order of the names.
    pub(super) key: RecordKey,
    /// Instance and zone as text.
    pub(super) zone: Arc<str>,
}

impl ZoneRecord {
    pub(super) fn new(zone: &ZoneKey, key: &RecordKey) -> Self {
        Self { key: key.clone(), zone: Arc::from(zone.to_string()) }
    }
}

/// A field that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Flaw {
    pub(super) field: &'static str,
    pub(super) problem: String,
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.problem)
    }
}

fn flaw(field: &'static str, found: &str, expected: &str) -> Flaw {
    Flaw { field, problem: format!("found {found:?}, expected {expected}") }
}

impl Entry {
    /// The entry of a record set; without a right, it belongs to `elsewhere`, or to nobody.
    pub(super) fn of(place: &ZoneRecord, set: &RecordSet, right: Option<&Right>, elsewhere: Option<&OwnerId>) -> Self {
        let mut entry = Self {
            dnsname: place.key.name.to_string(),
            rtype: place.key.rtype.to_string(),
            zone: place.zone.to_string(),
            set_identifier: place.key.set_id.as_ref().map(|id| id.as_str().to_owned()),
            owner: elsewhere.map(ToString::to_string).unwrap_or_default(),
            ..Self::default()
        };
        entry.hold(set);
        if let Some(right) = right {
            entry.belong(right);
        }
        entry
    }

    /// An entry for a claim on a record of which nothing more is known.
    pub(super) fn bare(place: &ZoneRecord, right: &Right) -> Self {
        let set = RecordSet::simple(place.key.name.clone(), place.key.rtype, None, []);
        Self::of(place, &set, Some(right), None)
    }

    fn hold(&mut self, set: &RecordSet) {
        self.policy = (!set.routing.is_simple()).then(|| policy_key(&set.routing));
        let texts: Vec<String> = match &set.data {
            RecordData::Alias(alias) => {
                (self.target, self.alias) = (alias.target.to_string(), true);
                return;
            }
            RecordData::Records(records) => records.iter().map(ToString::to_string).collect(),
            RecordData::Items(_) => vec![set.data.to_string()],
        };
        let texts: Vec<String> = texts.into_iter().map(|text| shown(set.key.rtype, text)).collect();
        self.target = texts.join(JOINT);
        self.targets = (texts.len() != 1).then_some(texts);
    }

    /// Its length in an object, in bytes.
    pub(super) fn length(&self) -> usize {
        serde_json::to_string(self).map_or(usize::MAX, |text| text.len())
    }

    /// The same without its values, if it is longer than `longest`: for a record of which it only says that it is there.
    pub(super) fn within(self, longest: usize) -> Self {
        // Each value is there twice, and a character is written with six at most.
        if self.target.len() <= longest / 16 || self.length() <= longest {
            return self;
        }
        let count = self.targets.as_ref().map_or(1, Vec::len);
        Self { target: format!("{count} values, too long for this list"), targets: None, ..self }
    }

    /// Takes over what a right says.
    pub(super) fn belong(&mut self, right: &Right) {
        self.owner = right.owner.to_string();
        self.resource = right.resource.as_deref().map(str::to_owned);
        self.labels = texts(&right.labels);
        self.intent = right.only.map(|seal| seal.to_string());
        self.given = right.kind == Kind::Given;
        self.lost = right.lost;
        self.next = right.next.as_ref().map(|next| NextEntry {
            intent: next.seal.to_string(),
            resource: next.resource.as_deref().map(str::to_owned),
            labels: texts(&next.labels),
        });
    }

    /// Which record it speaks of.
    ///
    /// # Errors
    /// The first field that cannot be read.
    pub(super) fn place(&self) -> Result<ZoneRecord, Flaw> {
        let name =
            DnsName::parse(&self.dnsname).map_err(|e| flaw("dnsname", &self.dnsname, &format!("a name: {e}")))?;
        let rtype: RecordType = self.rtype.parse().map_err(|_| flaw("type", &self.rtype, "a record type"))?;
        let set_id = self.set_identifier.as_deref().and_then(SetId::new);
        Ok(ZoneRecord { key: RecordKey { name, rtype, set_id }, zone: Arc::from(&*self.zone) })
    }

    /// What it says about the owner of its record, in an object of `holder`; nothing where nobody owns it.
    ///
    /// # Errors
    /// The first field that cannot be read.
    pub(super) fn right(&self, place: &ZoneRecord, holder: &OwnerId) -> Result<Option<Right>, Flaw> {
        let Some(owner) = OwnerId::new(&self.owner).filter(|_| !self.zone.is_empty()) else { return Ok(None) };
        let kind = match (self.given, owner == *holder) {
            (true, _) => Kind::Given,
            (false, true) => Kind::Own,
            (false, false) => Kind::Noted,
        };
        let only = self.intent.as_deref().map(|text| seal("intent", text)).transpose()?;
        if kind == Kind::Given && only.is_none() {
            return Err(flaw("intent", "", "the digest of the record that was given"));
        }
        let next = match &self.next {
            None => None,
            Some(next) => Some(Box::new(Next {
                seal: seal("next.intent", &next.intent)?,
                resource: next.resource.as_deref().map(Arc::from),
                labels: pairs(&next.labels),
            })),
        };
        let resource = self.resource.as_deref().map(Arc::from);
        let labels = pairs(&self.labels);
        Ok(Some(Right {
            owner,
            kind,
            resource,
            labels,
            only,
            next,
            seen: self.seal(&place.key),
            absent: 0,
            lost: self.lost,
        }))
    }

    /// The digest of the record as the entry shows it.
    pub(super) fn seal(&self, key: &RecordKey) -> Seal {
        // Entries from before there was a field for it have the policy among their values.
        let is_policy = |text: &str| self.policy.is_none() && key.set_id.is_some() && text.starts_with('=');
        let meant = |text: &String| if is_policy(text) { text.clone() } else { meant(key.rtype, text) };
        let values = match (&self.targets, self.alias) {
            (_, true) => vec![format!("alias of {}", self.target)],
            (Some(targets), _) => targets.iter().map(meant).collect(),
            (None, _) => vec![meant(&self.target)],
        };
        let policy = self.policy.iter().map(|policy| format!("={policy}"));
        Seal::of_texts(key, values.into_iter().chain(policy).collect())
    }
}

/// Whether the data of a type is one name: the proposal shows it without the final dot.
fn is_name(rtype: RecordType) -> bool {
    matches!(rtype, RecordType::Cname | RecordType::Ns | RecordType::Ptr)
}

fn shown(rtype: RecordType, text: String) -> String {
    match text.strip_suffix('.') {
        Some(short) if is_name(rtype) && !short.is_empty() => short.to_owned(),
        _ => text,
    }
}

/// The opposite of [`shown`].
fn meant(rtype: RecordType, text: &str) -> String {
    match DnsName::parse(text) {
        Ok(name) if is_name(rtype) && !name.is_root() => format!("{name}."),
        _ => text.to_owned(),
    }
}

fn seal(field: &'static str, text: &str) -> Result<Seal, Flaw> {
    Seal::parse(text).ok_or_else(|| flaw(field, text, "a digest of 16 hexadecimal digits"))
}

fn texts(labels: &[(Arc<str>, Arc<str>)]) -> BTreeMap<String, String> {
    labels.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect()
}

fn pairs(labels: &BTreeMap<String, String>) -> Vec<(Arc<str>, Arc<str>)> {
    labels.iter().map(|(key, value)| (Arc::from(&**key), Arc::from(&**value))).collect()
}

#[cfg(test)]
mod tests;
