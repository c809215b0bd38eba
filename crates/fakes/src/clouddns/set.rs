//! A record set: as the API writes it, and what is demanded of one that a change adds.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::quota::Quota;
use super::refusal::Refusal;
use super::value::{is_kind, is_routed, name, value};

/// A record set as it is stored.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordSet {
    /// The owner, in lower case with a final dot.
    pub name: String,
    /// The type.
    pub kind: String,
    /// In seconds.
    pub ttl: u32,
    /// The values in their order; none where there is a routing policy.
    pub rrdatas: Vec<String>,
    /// The routing policy, as the API writes it.
    pub routing: Option<Value>,
}

impl RecordSet {
    /// A set without a routing policy.
    pub fn new(name: &str, kind: &str, ttl: u32, values: &[&str]) -> Self {
        let rrdatas = values.iter().map(|value| (*value).to_owned()).collect();
        Self { name: name.to_owned(), kind: kind.to_owned(), ttl, rrdatas, routing: None }
    }

    /// A set with this routing policy, as the API writes it.
    pub fn routed(name: &str, kind: &str, ttl: u32, policy: Value) -> Self {
        Self { routing: Some(policy), ..Self::new(name, kind, ttl, &[]) }
    }

    /// As the API writes it.
    pub(super) fn json(&self) -> Value {
        let mut set = json!({ "kind": "dns#resourceRecordSet", "name": self.name, "type": self.kind, "ttl": self.ttl });
        match &self.routing {
            Some(policy) => set["routingPolicy"] = policy.clone(),
            None => set["rrdatas"] = json!(self.rrdatas),
        }
        set
    }

    /// A set as a client writes it, in the form in which it is stored; `place` is its place in the change.
    ///
    /// # Errors
    /// The first thing that is wrong with it.
    pub(super) fn read(sent: &Value, place: &str, quota: Quota) -> Result<Self, Refusal> {
        let fields = sent.as_object().ok_or_else(|| Refusal::invalid(place, &sent.to_string()))?;
        let text = |field: &str| fields.get(field).and_then(Value::as_str);
        let given = text("name").ok_or_else(|| Refusal::required(&format!("{place}.name")))?;
        let name = name(given).ok_or_else(|| Refusal::invalid(&format!("{place}.name"), given))?;
        let kind = text("type").ok_or_else(|| Refusal::required(&format!("{place}.type")))?;
        if !is_kind(kind) {
            return Err(Refusal::invalid(&format!("{place}.type"), kind));
        }
        let ttl = fields.get("ttl").ok_or_else(|| Refusal::required(&format!("{place}.ttl")))?;
        let seconds = ttl.as_i64().or_else(|| ttl.as_str()?.parse().ok());
        let seconds = seconds.and_then(|ttl| i32::try_from(ttl).ok()).and_then(|ttl| u32::try_from(ttl).ok());
        let ttl = seconds.ok_or_else(|| Refusal::invalid(&format!("{place}.ttl"), &ttl.to_string()))?;
        let policy = fields.get("routingPolicy").filter(|policy| !policy.is_null());
        let plain = fields.get("rrdatas").and_then(Value::as_array).filter(|values| !values.is_empty());
        let (rrdatas, routing) = match (plain, policy) {
            (Some(_), Some(_)) => return Err(Refusal::invalid(place, "both rrdatas and routingPolicy")),
            (None, None) => return Err(Refusal::required(&format!("{place}.rrdatas"))),
            (Some(values), None) => (read_values(kind, values, &format!("{place}.rrdata"), quota)?, None),
            (None, Some(policy)) => {
                (Vec::new(), Some(read_policy(kind, policy, &format!("{place}.routingPolicy"), quota)?))
            }
        };
        Ok(Self { name, kind: kind.to_owned(), ttl, rrdatas, routing })
    }

    /// The same set in the very words of a client, if it says any values.
    pub(super) fn as_sent(&self, sent: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let rrdatas = sent["rrdatas"].as_array().map(|values| values.iter().map(text).collect()).unwrap_or_default();
        Self { rrdatas, routing: sent.get("routingPolicy").filter(|policy| !policy.is_null()).cloned(), ..self.clone() }
    }

    /// Whether this is what a client says stands: values in any order.
    pub(super) fn is_named_by(&self, other: &Self) -> bool {
        let sorted = |values: &[String]| values.iter().cloned().collect::<BTreeSet<_>>();
        self.ttl == other.ttl && self.routing == other.routing && sorted(&self.rrdatas) == sorted(&other.rrdatas)
    }

    /// Bytes of all values.
    pub(super) fn size(&self) -> usize {
        let items =
            self.routing.iter().flat_map(items).filter_map(|item| item["rrdatas"].as_array().cloned()).flatten();
        let routed: usize = items.filter_map(|value| value.as_str().map(str::len)).sum();
        self.rrdatas.iter().map(String::len).sum::<usize>() + routed
    }

    /// For messages: `www.example.org. (A)`.
    pub(super) fn shown(&self) -> String {
        format!("{} ({})", self.name, self.kind)
    }
}

/// The items of a weighted or geographic policy.
fn items(policy: &Value) -> Vec<Value> {
    ["wrr", "geo"].into_iter().filter_map(|of| policy[of]["items"].as_array().cloned()).flatten().collect()
}

fn read_values(kind: &str, values: &[Value], place: &str, quota: Quota) -> Result<Vec<String>, Refusal> {
    if values.len() > quota.values {
        return Err(Refusal::quota(place, "resourceRecordsPerRrset", quota.values));
    }
    if values.len() > 1 && matches!(kind, "CNAME" | "SOA" | "ALIAS") {
        return Err(Refusal::invalid(place, "more than one value"));
    }
    let mut read: Vec<String> = Vec::new();
    for (at, given) in values.iter().enumerate() {
        let place = format!("{place}[{at}]");
        let text = given.as_str().ok_or_else(|| Refusal::invalid(&place, &given.to_string()))?;
        let kept = value(kind, text).ok_or_else(|| Refusal::invalid(&place, text))?;
        if read.contains(&kept) {
            return Err(Refusal::new(400, "duplicate", format!("Duplicate value for '{place}': '{text}'")));
        }
        read.push(kept);
    }
    Ok(read)
}

/// A routing policy as it is stored: with what the service adds to each part.
fn read_policy(kind: &str, policy: &Value, place: &str, quota: Quota) -> Result<Value, Refusal> {
    let wrong = |why: &str| Refusal::invalid(place, why);
    let fields: &Map<String, Value> = policy.as_object().ok_or_else(|| wrong("no object"))?;
    if !is_routed(kind) {
        return Err(wrong(&format!("type {kind} has no routing policies")));
    }
    let kinds: Vec<&str> = ["wrr", "geo", "primaryBackup"].into_iter().filter(|of| fields.contains_key(*of)).collect();
    let [of] = kinds.as_slice() else { return Err(wrong("expected one of wrr, geo and primaryBackup")) };
    let known = ["wrr", "geo", "primaryBackup", "kind", "healthCheck"];
    if let Some(unknown) = fields.keys().find(|field| !known.contains(&field.as_str())) {
        return Err(wrong(unknown));
    }
    let mut policy = policy.clone();
    policy["kind"] = json!("dns#rRSetRoutingPolicy");
    if *of == "primaryBackup" {
        return Ok(policy);
    }
    let place = format!("{place}.{of}");
    let sent = policy[*of]["items"].as_array().cloned().unwrap_or_default();
    if sent.is_empty() {
        return Err(Refusal::required(&format!("{place}.item")));
    }
    if sent.len() > quota.items {
        return Err(Refusal::quota(&place, "itemsPerRoutingPolicy", quota.items));
    }
    let mut items = Vec::new();
    let mut locations = BTreeSet::new();
    for (at, item) in sent.into_iter().enumerate() {
        let place = format!("{place}.item[{at}]");
        items.push(read_item(kind, of, item, &place, quota)?);
        let location = items.last().and_then(|item| item["location"].as_str());
        if location.is_some_and(|location| !locations.insert(location.to_owned())) {
            return Err(Refusal::invalid(&format!("{place}.location"), "two items of one location"));
        }
    }
    policy[*of]["items"] = json!(items);
    policy[*of]["kind"] =
        json!(if *of == "wrr" { "dns#rRSetRoutingPolicyWrrPolicy" } else { "dns#rRSetRoutingPolicyGeoPolicy" });
    if *of == "geo" && policy["geo"]["enableFencing"].is_null() {
        policy["geo"]["enableFencing"] = json!(false);
    }
    Ok(policy)
}

fn read_item(kind: &str, of: &str, mut item: Value, place: &str, quota: Quota) -> Result<Value, Refusal> {
    if !item.is_object() {
        return Err(Refusal::invalid(place, &item.to_string()));
    }
    let values = item["rrdatas"].as_array().cloned().unwrap_or_default();
    let checked = item.get("healthCheckedTargets").is_some_and(|targets| !targets.is_null());
    if values.is_empty() && !checked {
        return Err(Refusal::required(&format!("{place}.rrdata")));
    }
    item["rrdatas"] = json!(read_values(kind, &values, &format!("{place}.rrdata"), quota)?);
    if of == "wrr" {
        let weight = item["weight"].as_f64().or_else(|| item["weight"].as_str()?.parse().ok());
        let place = format!("{place}.weight");
        let weight = weight.ok_or_else(|| Refusal::required(&place))?;
        if !(0.0..=1000.0).contains(&weight) {
            return Err(Refusal::invalid(&place, &weight.to_string()));
        }
        item["weight"] = json!(weight);
        item["kind"] = json!("dns#rRSetRoutingPolicyWrrPolicyWrrPolicyItem");
    } else {
        let place = format!("{place}.location");
        let location = item["location"].as_str().ok_or_else(|| Refusal::required(&place))?;
        let mut parts = location.rsplit('-');
        let numbered = parts.next().is_some_and(|last| last.ends_with(|letter: char| letter.is_ascii_digit()));
        if !numbered || parts.next().is_none_or(str::is_empty) {
            return Err(Refusal::invalid(&place, location));
        }
        item["kind"] = json!("dns#rRSetRoutingPolicyGeoPolicyGeoPolicyItem");
    }
    Ok(item)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(sent: &Value) -> String {
        RecordSet::read(sent, "entity.change.additions[0]", Quota::default()).unwrap_err().body()["error"]["message"]
            .as_str()
            .unwrap()
            .to_owned()
    }

    fn sent(change: &[(&str, Value)]) -> Value {
        let mut set = json!({ "name": "www.example.org.", "type": "A", "ttl": 300, "rrdatas": ["192.0.2.1"] });
        for (field, value) in change {
            set[field] = value.clone();
        }
        set
    }

    #[test]
    fn a_set_is_kept_as_it_was_sent() {
        let read = RecordSet::read(&sent(&[("name", json!("WWW.example.org."))]), "x", Quota::default()).unwrap();
        assert_eq!(read, RecordSet::new("www.example.org.", "A", 300, &["192.0.2.1"]));
        assert_eq!(read.json()["rrdatas"], json!(["192.0.2.1"]));
        let other = RecordSet::new("www.example.org.", "A", 300, &["192.0.2.2", "192.0.2.1"]);
        let turned = RecordSet::new("www.example.org.", "A", 300, &["192.0.2.1", "192.0.2.2"]);
        assert!(other.is_named_by(&turned) && !other.is_named_by(&read));
    }

    #[test]
    fn what_is_wrong_is_named() {
        let many: Vec<String> = (0..101).map(|n| format!("192.0.2.{n}")).collect();
        let at = "entity.change.additions[0]";
        for (change, expected) in [
            (("name", json!("www.example.org")), format!("Invalid value for '{at}.name': 'www.example.org'")),
            (("type", json!("URI")), format!("Invalid value for '{at}.type': 'URI'")),
            (("ttl", json!(-1)), format!("Invalid value for '{at}.ttl': '-1'")),
            (("ttl", Value::Null), format!("Invalid value for '{at}.ttl': 'null'")),
            (("rrdatas", json!(["x"])), format!("Invalid value for '{at}.rrdata[0]': 'x'")),
            (("rrdatas", json!([])), format!("Required field '{at}.rrdatas' not specified")),
            (
                ("rrdatas", json!(["192.0.2.1", "192.0.2.1"])),
                format!("Duplicate value for '{at}.rrdata[1]': '192.0.2.1'"),
            ),
            (("rrdatas", json!(many)), format!("Quota exceeded for '{at}.rrdata': resourceRecordsPerRrset is 100")),
            (("routingPolicy", json!({})), format!("Invalid value for '{at}': 'both rrdatas and routingPolicy'")),
        ] {
            assert_eq!(message(&sent(&[change])), expected);
        }
    }

    #[test]
    fn policies_have_their_form() {
        let routed = |kind: &str, policy: Value| {
            sent(&[("type", json!(kind)), ("rrdatas", Value::Null), ("routingPolicy", policy)])
        };
        let item = |weight: f64| json!({ "weight": weight, "rrdatas": ["192.0.2.1"] });
        let geo = |location: &str| json!({ "location": location, "rrdatas": ["192.0.2.1"] });
        let read =
            RecordSet::read(&routed("A", json!({ "wrr": { "items": [item(1.0), item(0.0)] } })), "x", Quota::default())
                .unwrap();
        let stored = &read.routing.as_ref().unwrap()["wrr"]["items"];
        assert_eq!((&stored[0]["weight"], read.size()), (&json!(1.0), 18));
        let read =
            RecordSet::read(&routed("A", json!({ "geo": { "items": [geo("us-east1")] } })), "x", Quota::default())
                .unwrap();
        assert_eq!(read.json()["routingPolicy"]["geo"]["enableFencing"], json!(false));
        let place = "Invalid value for 'entity.change.additions[0].routingPolicy";
        for (kind, policy, expected) in [
            ("A", json!({ "wrr": { "items": [item(-1.0)] } }), format!("{place}.wrr.item[0].weight': '-1'")),
            ("A", json!({ "geo": { "items": [geo("mars")] } }), format!("{place}.geo.item[0].location': 'mars'")),
            (
                "A",
                json!({ "geo": { "items": [geo("us-east1"), geo("us-east1")] } }),
                format!("{place}.geo.item[1].location': 'two items of one location'"),
            ),
            ("NS", json!({ "wrr": { "items": [item(1.0)] } }), format!("{place}': 'type NS has no routing policies'")),
            ("A", json!({}), format!("{place}': 'expected one of wrr, geo and primaryBackup'")),
        ] {
            assert_eq!(message(&routed(kind, policy)), expected);
        }
    }
}
