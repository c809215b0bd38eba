//! Record sets as the API writes them, and our sets: the way between them is written here once more, so that a mistake of the
//! provider's own does not cancel itself out.

#![allow(dead_code, clippy::unwrap_used, reason = "not every test uses all of it; each stops at the first surprise")]

use serde_json::{Value, json};
use zonewright_core::record::{Geolocation, Item, Routing};
use zonewright_core::{DnsName, RData, RecordData, RecordSet, RecordType, Ttl};

/// A set of the API.
pub(crate) fn ours(set: &Value) -> RecordSet {
    let rtype: RecordType = set["type"].as_str().unwrap().parse().unwrap();
    let list = |values: &Value| -> Vec<RData> {
        let values = values.as_array().into_iter().flatten();
        values.map(|text| RData::parse(rtype, text.as_str().unwrap()).unwrap()).collect()
    };
    let name = DnsName::parse(set["name"].as_str().unwrap()).unwrap();
    let ttl = set["ttl"].as_u64().and_then(|ttl| Ttl::from_secs(u32::try_from(ttl).ok()?));
    let plain = RecordSet::simple(name, rtype, ttl, list(&set["rrdatas"]));
    let policy = &set["routingPolicy"];
    if policy.is_null() {
        return plain;
    }
    let items = |key: &str| policy[key]["items"].as_array().cloned().unwrap_or_default();
    let item = |routing: Routing, item: &Value| Item { routing, records: list(&item["rrdatas"]) };
    let weighted = items("wrr").into_iter().map(|value| {
        let weight = value["weight"].as_f64().unwrap().to_string().parse().unwrap();
        item(Routing::Weighted { weight }, &value)
    });
    let placed = items("geo").into_iter().map(|value| {
        let country = Some(value["location"].as_str().unwrap().into());
        item(Routing::Geolocation { location: Geolocation { country, ..Geolocation::default() } }, &value)
    });
    RecordSet { data: RecordData::items(weighted.chain(placed)), ..plain }
}

/// One of our sets as the API has it.
pub(crate) fn theirs(set: &RecordSet) -> Value {
    let texts = |records: &[RData]| records.iter().map(ToString::to_string).collect::<Vec<_>>();
    let item = |item: &Item| match &item.routing {
        Routing::Weighted { weight } => ("wrr", json!({ "weight": weight, "rrdatas": texts(&item.records) })),
        Routing::Geolocation { location } => {
            ("geo", json!({ "location": location.country.as_deref().unwrap(), "rrdatas": texts(&item.records) }))
        }
        other => panic!("{other:?}"),
    };
    let mut theirs = json!({
        "name": format!("{}.", set.key.name.as_str()),
        "type": set.key.rtype.to_string(),
        "ttl": set.ttl.map_or(300, Ttl::secs),
    });
    match &set.data {
        RecordData::Items(items) => {
            let (kinds, items): (Vec<&str>, Vec<Value>) = items.iter().map(item).unzip();
            theirs["routingPolicy"] = json!({ kinds[0]: { "items": items } });
        }
        data => theirs["rrdatas"] = json!(texts(data.as_records())),
    }
    theirs
}
