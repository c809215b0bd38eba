//! A record set: as the API writes it, and what is demanded of one that a client writes.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::refusal::Refusal;
use super::value::{RecordType, property};
use super::zone::{Kind, Zone};

/// The longest time to live, in seconds.
const TTL: u64 = 2_147_483_647;

/// The types of sets that may stand for an Azure resource.
const ALIASES: &[&str] = &["A", "AAAA", "CNAME"];

/// A record set as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordSet {
    /// Relative to the zone, in lower case; `@` at the apex.
    pub name: String,
    /// The type, as `A`.
    pub kind: String,
    /// In seconds.
    pub ttl: u64,
    /// The records as the API writes them, as `{"ipv4Address":"192.0.2.1"}`; none in a set that stands for a resource.
    pub records: Vec<Value>,
    /// Notes of clients.
    pub metadata: BTreeMap<String, String>,
    /// Another one after each change.
    pub etag: String,
    /// The id of the Azure resource whose addresses or name are answered (an alias record set).
    pub target: Option<String>,
}

impl RecordSet {
    /// A set of these records, as the API writes them.
    ///
    /// ```
    /// use serde_json::json;
    /// use zonewright_fakes::azure::RecordSet;
    ///
    /// let set = RecordSet::new("www", "A", 300, vec![json!({ "ipv4Address": "192.0.2.1" })]);
    /// assert_eq!((set.name.as_str(), set.etag.as_str()), ("www", ""));
    /// ```
    pub fn new(name: &str, kind: &str, ttl: u64, records: Vec<Value>) -> Self {
        let (name, kind) = (name.to_owned(), kind.to_owned());
        Self { name, kind, ttl, records, metadata: BTreeMap::new(), etag: String::new(), target: None }
    }

    /// As the API writes it.
    pub(super) fn json(&self, zone: &Zone) -> Value {
        let mut properties = json!({ "fqdn": zone.fqdn(&self.name) });
        properties[if zone.kind == Kind::Public { "TTL" } else { "ttl" }] = json!(self.ttl);
        if !self.metadata.is_empty() {
            properties["metadata"] = json!(self.metadata);
        }
        let found = RecordType::find(zone.kind, &self.kind);
        if let Some((found, name)) = found.and_then(|found| Some((found, found.property(zone.kind)?))) {
            if !found.single && self.target.is_none() {
                properties[name] = json!(self.records);
            } else if let Some(record) = self.records.first() {
                properties[name] = record.clone();
            }
        }
        if zone.kind == Kind::Public {
            properties["provisioningState"] = json!("Succeeded");
            properties["targetResource"] = self.target.as_ref().map_or_else(|| json!({}), |id| json!({ "id": id }));
        } else {
            properties["isAutoRegistered"] = json!(false);
        }
        json!({
            "id": format!("{}/{}/{}", zone.id, self.kind, self.name), "name": self.name, "etag": self.etag,
            "type": format!("Microsoft.Network/{}/{}", zone.kind.resource_type(), self.kind),
            "properties": properties,
        })
    }

    /// A set as a client writes it, in the form in which it is stored. What the client does not write comes from `base`, if
    /// there is one.
    ///
    /// # Errors
    /// The first thing that is wrong with it.
    pub(super) fn read(
        sent: &Value,
        name: &str,
        record_type: &RecordType,
        kind: Kind,
        base: Option<&Self>,
    ) -> Result<Self, Refusal> {
        let sent = sent.as_object().ok_or_else(|| Refusal::content("the body is no object"))?;
        check_type(sent, record_type)?;
        let empty = Map::new();
        let properties = property(sent, "properties").and_then(Value::as_object).unwrap_or(&empty);
        let (records, target) = read_records(properties, record_type, kind, base)?;
        let ttl = match property(properties, "TTL") {
            Some(ttl) => ttl.as_u64().filter(|ttl| (1..=TTL).contains(ttl)),
            None => base.map(|base| base.ttl),
        };
        let ttl = ttl.ok_or_else(|| Refusal::bad(format!("The TTL of a record set is a number from 1 to {TTL}.")))?;
        let metadata = match property(properties, "metadata") {
            Some(metadata) => read_metadata(metadata)?,
            None => base.map(|base| base.metadata.clone()).unwrap_or_default(),
        };
        Ok(Self { metadata, target, ..Self::new(name, record_type.name, ttl, records) })
    }
}

/// Whether a body says no other type than its path: neither by its field for it nor by its records.
fn check_type(sent: &Map<String, Value>, record_type: &RecordType) -> Result<(), Refusal> {
    let wrong = |other: &str| Refusal::bad(format!("The record set is of type {}, not {other}.", record_type.name));
    let said = property(sent, "type").and_then(Value::as_str).map(|said| said.rsplit('/').next().unwrap_or_default());
    if let Some(other) = said.filter(|said| !said.eq_ignore_ascii_case(record_type.name)) {
        return Err(wrong(other));
    }
    let Some(properties) = property(sent, "properties").and_then(Value::as_object) else { return Ok(()) };
    let other = record_type.others().find(|other| is_filled(other.in_request(properties)));
    other.map_or(Ok(()), |other| Err(wrong(other.name)))
}

/// The records of a set, or the resource that it stands for.
fn read_records(
    properties: &Map<String, Value>,
    record_type: &RecordType,
    kind: Kind,
    base: Option<&RecordSet>,
) -> Result<(Vec<Value>, Option<String>), Refusal> {
    let sent = property(properties, "targetResource").and_then(|target| property(target.as_object()?, "id"));
    let target = match sent.filter(|id| id.as_str() != Some("")) {
        Some(id) => Some(read_target(id, record_type.name, kind)?),
        None => base.and_then(|base| base.target.clone()),
    };
    let records = match record_type.in_request(properties) {
        Some(records) => record_type.read(records)?,
        None => base.map(|base| base.records.clone()).unwrap_or_default(),
    };
    if target.is_some() && !records.is_empty() {
        return Err(Refusal::bad("A record set has either records or a target resource, not both."));
    }
    if target.is_none() && records.is_empty() && record_type.single {
        return Err(Refusal::bad(format!("A record set of type {} needs a record.", record_type.name)));
    }
    Ok((records, target))
}

/// Whether a property has records; clients send empty lists of other types too.
fn is_filled(property: Option<&Value>) -> bool {
    property.is_some_and(|value| value.as_array().is_none_or(|records| !records.is_empty()))
}

fn read_target(id: &Value, record_type: &str, kind: Kind) -> Result<String, Refusal> {
    let id = id.as_str().unwrap_or_default();
    if kind == Kind::Private || !ALIASES.contains(&record_type) {
        return Err(Refusal::bad(format!("A record set of type {record_type} has no target resource.")));
    }
    if !id.to_ascii_lowercase().starts_with("/subscriptions/") {
        return Err(Refusal::bad(format!("The target resource '{id}' is not the id of a resource.")));
    }
    Ok(id.to_owned())
}

fn read_metadata(sent: &Value) -> Result<BTreeMap<String, String>, Refusal> {
    let wrong = || Refusal::content("metadata are texts by names");
    let pairs = sent.as_object().ok_or_else(wrong)?.iter();
    pairs.map(|(name, text)| Ok((name.clone(), text.as_str().ok_or_else(wrong)?.to_owned()))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(kind: &str, properties: &Value, base: Option<&RecordSet>) -> Result<RecordSet, String> {
        let of = RecordType::find(Kind::Public, kind).unwrap();
        let read = RecordSet::read(&json!({ "properties": properties }), "www", of, Kind::Public, base);
        read.map_err(|refusal| refusal.message)
    }

    #[test]
    fn a_set_is_read_in_any_case() {
        let body = json!({ "ttl": 60, "arecords": [{ "ipv4address": "192.0.2.1" }], "Metadata": { "a": "b" } });
        let set = read("A", &body, None).unwrap();
        assert_eq!(set.records, [json!({ "ipv4Address": "192.0.2.1" })]);
        assert_eq!((set.ttl, set.metadata["a"].as_str()), (60, "b"));
        let merged = read("A", &json!({ "TTL": 61 }), Some(&set)).unwrap();
        assert_eq!(merged, RecordSet { ttl: 61, ..set });
    }

    #[test]
    fn what_is_wrong_is_named() {
        let id = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Network/publicIPAddresses/a";
        for (kind, properties, expected) in [
            ("A", json!({ "ARecords": [] }), "The TTL"),
            ("A", json!({ "TTL": 0 }), "The TTL"),
            ("A", json!({ "TTL": 2_147_483_648_u64 }), "The TTL"),
            (
                "A",
                json!({ "TTL": 1, "AAAARecords": [{ "ipv6Address": "::1" }] }),
                "The record set is of type A, not AAAA.",
            ),
            ("A", json!({ "TTL": 1, "metadata": { "a": 1 } }), "The request content was invalid"),
            ("CNAME", json!({ "TTL": 1 }), "A record set of type CNAME needs a record."),
            ("TXT", json!({ "TTL": 1, "targetResource": { "id": id } }), "A record set of type TXT has no target"),
            ("A", json!({ "TTL": 1, "targetResource": { "id": "x" } }), "The target resource 'x'"),
            (
                "A",
                json!({ "TTL": 1, "targetResource": { "id": id }, "ARecords": [{ "ipv4Address": "192.0.2.1" }] }),
                "A record set has either",
            ),
        ] {
            let message = read(kind, &properties, None).unwrap_err();
            assert!(message.starts_with(expected), "{properties}: {message}");
        }
        assert!(read("A", &json!({ "TTL": 1, "MXRecords": [] }), None).is_ok());
        assert_eq!(
            read("CNAME", &json!({ "TTL": 1, "targetResource": { "id": id } }), None).unwrap().target.as_deref(),
            Some(id)
        );
    }
}
