//! Routing policies, which stand in one record set with all their items.
//!
//! In: the policy of an answer. Out: its items (weights, places), or, where it is of another kind (failover), the whole of it as one
//! value that nobody here writes. What must hold: an item that is read and written again is the same, with everything that belongs
//! to it; what belongs to the policy as a whole (health check, fencing) stays as it stood.
//!
//! <https://cloud.google.com/dns/docs/reference/rest/v1/ResourceRecordSet#RRSetRoutingPolicy>

use std::sync::Arc;

use serde_json::{Map, Value, json};
use zonewright_core::rdata::Content;
use zonewright_core::record::{Geolocation, Item, Routing};
use zonewright_core::{RData, RecordData, RecordType};

use crate::convert::{opaque, values};

/// The largest weight of an item.
pub(crate) const WEIGHT: u32 = 1_000;

/// A kind of policy whose items are known: the key of the policy, and of what an item is chosen by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Weights,
    Places,
}

impl Kind {
    const ALL: [Self; 2] = [Self::Weights, Self::Places];

    fn key(self) -> &'static str {
        match self {
            Self::Weights => "wrr",
            Self::Places => "geo",
        }
    }

    fn chosen_by(self) -> &'static str {
        match self {
            Self::Weights => "weight",
            Self::Places => "location",
        }
    }

    /// The kind of a policy, and its items; `None` for a policy that is not understood as a whole.
    fn of(policy: &Map<String, Value>) -> Option<(Self, &Vec<Value>)> {
        const KINDS: [&str; 3] = ["wrr", "geo", "primaryBackup"];
        let mut stated = KINDS.into_iter().filter(|key| !is_nothing(policy.get(*key)));
        let (key, None) = (stated.next()?, stated.next()) else { return None };
        let kind = Self::ALL.into_iter().find(|kind| kind.key() == key)?;
        Some((kind, policy.get(key)?.get("items")?.as_array()?))
    }
}

/// Whether a field says no more than one that is left out.
pub(crate) fn is_nothing(value: Option<&Value>) -> bool {
    match value {
        None | Some(Value::Null) => true,
        Some(Value::Array(items)) => items.is_empty(),
        Some(_) => false,
    }
}

/// Reads a policy.
pub(crate) fn read(rtype: RecordType, policy: &Map<String, Value>) -> RecordData {
    let items = Kind::of(policy)
        .and_then(|(kind, items)| items.iter().map(|value| item(rtype, kind, value)).collect::<Option<Vec<Item>>>());
    match items {
        Some(items) if !items.is_empty() => RecordData::items(items),
        _ => RecordData::Records(vec![opaque(rtype, Value::Object(policy.clone()).to_string())]),
    }
}

/// One item. What it has besides its choice and its values counts as a value: then it equals no item that is wanted. The service's own
/// signatures do not.
fn item(rtype: RecordType, kind: Kind, value: &Value) -> Option<Item> {
    let fields = value.as_object()?;
    let routing = match (kind, fields.get(kind.chosen_by())) {
        (Kind::Weights, weight) => Routing::Weighted { weight: whole(weight)? },
        (Kind::Places, place) => Routing::Geolocation { location: at(place?.as_str()?) },
    };
    let texts: Vec<String> = match fields.get("rrdatas") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(texts)) => {
            texts.iter().map(|text| text.as_str().map(str::to_owned)).collect::<Option<_>>()?
        }
        Some(_) => return None,
    };
    let known = ["kind", "rrdatas", "signatureRrdatas", kind.chosen_by()];
    let further: Map<String, Value> = fields
        .iter()
        .filter(|(key, value)| !known.contains(&key.as_str()) && !is_nothing(Some(value)))
        .map(|(key, value)| (key.clone(), value.clone()))
        .chain(fraction(kind, fields))
        .collect();
    let mut records: Vec<RData> = values(rtype, &texts).collect();
    if !further.is_empty() {
        records.push(opaque(rtype, Value::Object(further).to_string()));
    }
    match RecordData::records(records) {
        RecordData::Records(records) => Some(Item { routing, records }),
        _ => None,
    }
}

/// A weight without what stands behind its point. One that is left out is 0.
fn whole(weight: Option<&Value>) -> Option<u32> {
    let Some(weight) = weight.filter(|weight| !weight.is_null()) else { return Some(0) };
    let weight = weight.as_f64().filter(|weight| *weight >= 0.0)?;
    format!("{}", weight.trunc()).parse().ok()
}

/// A weight that is no whole number, which only others write.
fn fraction(kind: Kind, fields: &Map<String, Value>) -> Option<(String, Value)> {
    let weight = fields.get("weight").filter(|_| kind == Kind::Weights)?;
    (weight.as_f64()?.fract() != 0.0).then(|| ("weight".to_owned(), weight.clone()))
}

/// A region of Google's as a place.
pub(crate) fn at(region: &str) -> Geolocation {
    Geolocation { country: Some(Arc::from(region)), ..Geolocation::default() }
}

/// The region of a place.
///
/// # Errors
/// Why it is none.
fn region(place: &Geolocation) -> Result<&str, String> {
    match place {
        Geolocation { continent: None, country: Some(region), subdivision: None } if !region.is_empty() => Ok(region),
        _ => Err("Cloud DNS routes by its own regions, not by continent, country or subdivision; expected \
             google-location, such as europe-west3"
            .to_owned()),
    }
}

/// Whether the service has this policy.
///
/// # Errors
/// Why it has not.
pub(crate) fn check(routing: &Routing) -> Result<(), String> {
    match routing {
        Routing::Weighted { weight } if *weight <= WEIGHT => Ok(()),
        Routing::Weighted { weight } => Err(format!("the weight {weight} is above {WEIGHT}")),
        Routing::Geolocation { location } => region(location).map(drop),
        Routing::Simple => Err("an item of a routing policy has no policy".to_owned()),
        other => {
            let kind = other.kind().map_or_else(String::new, |kind| kind.to_string());
            Err(format!("Cloud DNS routes by weight or location here, and not by {kind}"))
        }
    }
}

/// Writes items as a policy. `stood` is the policy that they take the place of: items that stay are sent as they were read, and so is
/// what belongs to all of them.
///
/// # Errors
/// What of an item the service has no form for.
pub(crate) fn write(
    rtype: RecordType,
    items: &[Item],
    stood: Option<&Map<String, Value>>,
) -> Result<Map<String, Value>, String> {
    let kind = match items.first().map(|item| &item.routing) {
        Some(Routing::Geolocation { .. }) => Kind::Places,
        _ => Kind::Weights,
    };
    let stood = stood.and_then(|policy| Some((policy, Kind::of(policy).filter(|(of, _)| *of == kind)?.1)));
    let mut left: Vec<&Value> = stood.map(|(_, items)| items.iter().collect()).unwrap_or_default();
    let mut written = Vec::new();
    for wanted in items {
        check(&wanted.routing)?;
        if (matches!(wanted.routing, Routing::Geolocation { .. })) != (kind == Kind::Places) {
            return Err("all items of a routing policy are of one kind".to_owned());
        }
        let same = left.iter().position(|value| item(rtype, kind, value).as_ref() == Some(wanted));
        written.push(match same {
            Some(at) => left.remove(at).clone(),
            None => composed(wanted)?,
        });
    }
    let mut policy = stood.map(|(policy, _)| policy.clone()).unwrap_or_default();
    let body = policy.entry(kind.key()).or_insert_with(|| json!({}));
    if let Some(body) = body.as_object_mut() {
        body.insert("items".to_owned(), Value::Array(written));
    }
    Ok(policy)
}

fn composed(item: &Item) -> Result<Value, String> {
    let mut fields = Map::new();
    match &item.routing {
        Routing::Weighted { weight } => fields.insert("weight".to_owned(), json!(weight)),
        Routing::Geolocation { location } => fields.insert("location".to_owned(), json!(region(location)?)),
        _ => None,
    };
    let (further, texts): (Vec<_>, Vec<_>) = item.records.iter().partition(|data| object(data).is_some());
    fields.insert("rrdatas".to_owned(), texts.iter().map(ToString::to_string).collect());
    fields.extend(further.into_iter().filter_map(object).flatten());
    Ok(Value::Object(fields))
}

/// What [`item`] or [`read`] kept as one value.
fn object(data: &RData) -> Option<Map<String, Value>> {
    let RData::Other(kept) = data else { return None };
    match &kept.content {
        Content::Text(text) if text.starts_with('{') => serde_json::from_str(text).ok(),
        _ => None,
    }
}

/// The policy that was not understood, and stands as the only value of its set.
pub(crate) fn of_opaque(records: &[RData]) -> Option<Map<String, Value>> {
    match records {
        [one] => object(one),
        _ => None,
    }
}

/// Whether two policies are the same, whatever their kinds are called and however their numbers are written.
pub(crate) fn is_same(one: &Map<String, Value>, other: &Map<String, Value>) -> bool {
    plain(&Value::Object(one.clone())) == plain(&Value::Object(other.clone()))
}

fn plain(value: &Value) -> Value {
    match value {
        Value::Object(fields) => fields
            .iter()
            .filter(|(key, value)| *key != "kind" && !is_nothing(Some(value)))
            .map(|(key, value)| (key.clone(), plain(value)))
            .collect::<Map<_, _>>()
            .into(),
        Value::Array(items) => items.iter().map(plain).collect::<Vec<_>>().into(),
        Value::Number(number) => number.as_f64().map_or_else(|| value.clone(), |number| json!(number)),
        other => other.clone(),
    }
}

#[cfg(test)]
#[path = "policy_tests.rs"]
mod tests;
