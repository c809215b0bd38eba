//! Record sets as the API writes them, and our sets: the way between them is written here once more, so that a mistake of the
//! provider's own does not cancel itself out.

#![allow(dead_code, clippy::unwrap_used, reason = "not every test uses all of it; each stops at the first surprise")]

use serde_json::{Value, json};
use zonewright_core::rdata::{Content, Opaque, Txt};
use zonewright_core::{DnsName, RData, RecordSet, RecordType, Ttl};

/// A set of the API, of a zone of this apex.
pub(crate) fn ours(set: &Value, apex: &str) -> RecordSet {
    let name = absolute(set["name"].as_str().unwrap(), apex);
    let rtype: RecordType = kind(set).parse().unwrap();
    let properties = set["properties"].as_object().unwrap();
    let of_type = |key: &str| key.to_ascii_lowercase().trim_end_matches('s').eq(&property(rtype).to_ascii_lowercase());
    let records = properties.iter().find(|(key, _)| of_type(key)).map(|(_, value)| value);
    let records = match records {
        Some(Value::Array(records)) => records.clone(),
        Some(record) => vec![record.clone()],
        None => Vec::new(),
    };
    let ttl = properties
        .get("TTL")
        .or(properties.get("ttl"))
        .and_then(Value::as_u64)
        .and_then(|ttl| Ttl::from_secs(u32::try_from(ttl).ok()?));
    RecordSet::simple(DnsName::parse(&name).unwrap(), rtype, ttl, records.iter().map(|record| value(rtype, record)))
}

/// The body that writes one of our sets to a public or a private zone.
pub(crate) fn body(set: &RecordSet, private: bool) -> Value {
    let records: Vec<Value> = set.data.as_records().iter().map(record).collect();
    let rtype = set.key.rtype;
    let (ttl, property) = if private {
        ("ttl", format!("{}Record", rtype.to_string().to_ascii_lowercase()))
    } else {
        ("TTL", property(rtype))
    };
    let mut properties = json!({ ttl: set.ttl.map_or(300, Ttl::secs) });
    match rtype {
        RecordType::Cname => properties[property] = records[0].clone(),
        _ => properties[format!("{property}s")] = json!(records),
    }
    json!({ "properties": properties })
}

/// The type of a set of the API.
pub(crate) fn kind(set: &Value) -> &str {
    set["type"].as_str().unwrap().rsplit('/').next().unwrap()
}

fn property(rtype: RecordType) -> String {
    if rtype == RecordType::Caa { "caaRecord".to_owned() } else { format!("{rtype}Record") }
}

/// A name in its zone.
pub(crate) fn relative<'n>(name: &'n str, apex: &str) -> &'n str {
    if name == apex { "@" } else { name.strip_suffix(apex).unwrap().strip_suffix('.').unwrap() }
}

/// A whole name.
pub(crate) fn absolute(name: &str, apex: &str) -> String {
    if name == "@" { apex.to_owned() } else { format!("{name}.{apex}") }
}

/// One record of ours.
pub(crate) fn value(rtype: RecordType, record: &Value) -> RData {
    let text = |field: &str| record[field].as_str().unwrap();
    let parsed = |text: String| RData::parse(rtype, &text).unwrap();
    match rtype {
        RecordType::A => parsed(text("ipv4Address").to_owned()),
        RecordType::Aaaa => parsed(text("ipv6Address").to_owned()),
        RecordType::Cname => parsed(text("cname").to_owned()),
        RecordType::Ns => parsed(text("nsdname").to_owned()),
        RecordType::Ptr => parsed(text("ptrdname").to_owned()),
        RecordType::Mx => parsed(format!("{} {}", record["preference"], text("exchange"))),
        RecordType::Srv => {
            parsed(format!("{} {} {} {}", record["priority"], record["weight"], record["port"], text("target")))
        }
        RecordType::Caa => parsed(format!("{} {} \"{}\"", record["flags"], text("tag"), text("value"))),
        RecordType::Txt => {
            let strings = record["value"].as_array().unwrap().iter();
            RData::Txt(Txt::from_strings(strings.map(|string| string.as_str().unwrap().as_bytes().to_vec())))
        }
        RecordType::Soa => {
            let numbers = ["serialNumber", "refreshTime", "retryTime", "expireTime", "minimumTTL"];
            let numbers = numbers.map(|field| record[field].to_string()).join(" ");
            let content = Content::Text(format!("{} {} {numbers}", text("host"), text("email")));
            RData::Other(Box::new(Opaque { rtype, content }))
        }
        other => panic!("{other}"),
    }
}

/// One record of theirs.
pub(crate) fn record(record: &RData) -> Value {
    match record {
        RData::A(address) => json!({ "ipv4Address": address.to_string() }),
        RData::Aaaa(address) => json!({ "ipv6Address": address.to_string() }),
        RData::Cname(target) => json!({ "cname": target.to_string() }),
        RData::Ns(target) => json!({ "nsdname": target.to_string() }),
        RData::Ptr(target) => json!({ "ptrdname": target.to_string() }),
        RData::Mx { preference, exchange } => json!({ "preference": preference, "exchange": exchange.to_string() }),
        RData::Srv { priority, weight, port, target } => {
            json!({ "priority": priority, "weight": weight, "port": port, "target": target.to_string() })
        }
        RData::Caa(caa) => {
            json!({ "flags": caa.flags, "tag": *caa.tag, "value": String::from_utf8_lossy(&caa.value) })
        }
        RData::Txt(text) => {
            let strings: Vec<_> = text.strings().map(|string| String::from_utf8(string.to_vec()).unwrap()).collect();
            json!({ "value": strings })
        }
        other => panic!("{other}"),
    }
}
