//! Record sets in the form of the service, both ways.
//!
//! In: record sets of an answer. Out: [`RecordSet`]s, and back. What must hold: what is read and written again says the same; what is
//! not understood (alias record sets, types and values of another shape) is kept as text, and never written.

use std::borrow::Cow;

use serde_json::{Map, Value, json};
use zonewright_core::rdata::{Caa, Content, Opaque, Txt};
use zonewright_core::record::Routing;
use zonewright_core::{DnsName, RData, RecordData, RecordKey, RecordSet, RecordType, Ttl};

use crate::arm::Kind;
use crate::options;
use crate::wire::Set;

/// The TTL of sets whose object states none, as in external-dns.
pub(crate) const DEFAULT_TTL: u32 = 300;
/// The name of sets at the apex.
const APEX: &str = "@";

/// A type that can be written, and the names of its property in public and private zones.
struct Shape {
    rtype: RecordType,
    public: &'static str,
    private: Option<&'static str>,
}

const fn shape(rtype: RecordType, public: &'static str, private: Option<&'static str>) -> Shape {
    Shape { rtype, public, private }
}

const SHAPES: &[Shape] = &[
    shape(RecordType::A, "ARecords", Some("aRecords")),
    shape(RecordType::Aaaa, "AAAARecords", Some("aaaaRecords")),
    shape(RecordType::Caa, "caaRecords", None),
    shape(RecordType::Cname, "CNAMERecord", Some("cnameRecord")),
    shape(RecordType::Mx, "MXRecords", Some("mxRecords")),
    shape(RecordType::Ns, "NSRecords", None),
    shape(RecordType::Ptr, "PTRRecords", Some("ptrRecords")),
    shape(RecordType::Srv, "SRVRecords", Some("srvRecords")),
    shape(RecordType::Txt, "TXTRecords", Some("txtRecords")),
];

impl Shape {
    fn property(&self, kind: Kind) -> Option<&'static str> {
        match kind {
            Kind::Public => Some(self.public),
            Kind::Private => self.private,
        }
    }
}

/// The types that zones of this kind have.
pub(crate) fn types(kind: Kind) -> Vec<RecordType> {
    SHAPES.iter().filter(|shape| shape.property(kind).is_some()).map(|shape| shape.rtype).collect()
}

/// A name as the service writes it in its zone.
///
/// # Errors
/// It is outside the zone; a sentence.
pub(crate) fn relative(name: &DnsName, zone: &DnsName) -> Result<String, String> {
    if name == zone {
        return Ok(APEX.to_owned());
    }
    let below = name.as_str().strip_suffix(zone.as_str()).and_then(|head| head.strip_suffix('.'));
    let below = below.filter(|_| name.is_within(zone));
    below.map(str::to_owned).ok_or_else(|| format!("{name} is outside zone {zone}"))
}

/// Reads a set of an answer.
///
/// # Errors
/// Why its name or type cannot be read. Values that cannot be read are kept as text.
pub(crate) fn read(zone: &DnsName, answer: &Set) -> Result<RecordSet, String> {
    let name = if answer.name == APEX { zone.to_string() } else { format!("{}.{zone}", answer.name) };
    let name = DnsName::parse(&name).map_err(|error| error.to_string())?;
    let rtype: RecordType = answer.rtype().parse().map_err(|error| format!("{name}: {error}"))?;
    let seconds = answer.property("TTL").and_then(Value::as_u64).and_then(|ttl| u32::try_from(ttl).ok());
    let metadata = answer.property("metadata").and_then(Value::as_object).into_iter().flatten();
    let metadata = metadata.map(|(key, value)| (key.clone(), value.as_str().unwrap_or_default().to_owned())).collect();
    Ok(RecordSet {
        key: RecordKey::simple(name, rtype),
        ttl: Some(seconds.and_then(Ttl::from_secs).unwrap_or(Ttl::ZERO)),
        data: RecordData::records(records(rtype, answer)),
        routing: Routing::Simple,
        options: options::options(&metadata),
    })
}

fn records(rtype: RecordType, answer: &Set) -> Vec<RData> {
    let target = answer.property("targetResource").and_then(|target| target.get("id")?.as_str());
    if let Some(id) = target.filter(|id| !id.is_empty()) {
        return vec![opaque(rtype, format!("an alias of {id}"))];
    }
    if rtype == RecordType::Soa {
        return vec![soa(answer.property("SOARecord").unwrap_or(&Value::Null))];
    }
    let property = SHAPES.iter().find(|shape| shape.rtype == rtype).and_then(|shape| answer.property(shape.public));
    let found: Vec<RData> = match property {
        Some(Value::Array(records)) => records.iter().map(|record| value(rtype, record)).collect(),
        Some(record) => vec![value(rtype, record)],
        None => Vec::new(),
    };
    // The service lets a set stand without records: its name and type are taken all the same.
    if found.is_empty() { vec![opaque(rtype, "a record set without records".to_owned())] } else { found }
}

/// One record; as text where it has another shape.
fn value(rtype: RecordType, record: &Value) -> RData {
    let text = |field: &str| record.get(field)?.as_str();
    let number = |field: &str| record.get(field)?.as_u64();
    let parsed = match rtype {
        RecordType::A => text("ipv4Address").map(str::to_owned),
        RecordType::Aaaa => text("ipv6Address").map(str::to_owned),
        RecordType::Cname => text("cname").map(str::to_owned),
        RecordType::Ns => text("nsdname").map(str::to_owned),
        RecordType::Ptr => text("ptrdname").map(str::to_owned),
        RecordType::Mx => number("preference").zip(text("exchange")).map(|(first, host)| format!("{first} {host}")),
        RecordType::Srv => (|| {
            let (priority, weight, port) = (number("priority")?, number("weight")?, number("port")?);
            Some(format!("{priority} {weight} {port} {}", text("target")?))
        })(),
        RecordType::Caa => return caa(record).unwrap_or_else(|| opaque(rtype, record.to_string())),
        RecordType::Txt => return txt(record).unwrap_or_else(|| opaque(rtype, record.to_string())),
        _ => None,
    };
    let parsed = parsed.and_then(|text| RData::parse(rtype, &text).ok());
    parsed.unwrap_or_else(|| opaque(rtype, record.to_string()))
}

fn txt(record: &Value) -> Option<RData> {
    let strings = record.get("value")?.as_array()?;
    let strings: Option<Vec<Vec<u8>>> =
        strings.iter().map(|string| string.as_str().map(|text| text.as_bytes().to_vec())).collect();
    Some(RData::Txt(Txt::from_strings(strings?)))
}

fn caa(record: &Value) -> Option<RData> {
    let flags = u8::try_from(record.get("flags")?.as_u64()?).ok()?;
    let tag = record.get("tag")?.as_str()?.to_ascii_lowercase();
    let value = record.get("value")?.as_str()?;
    Some(RData::Caa(Box::new(Caa { flags, tag: tag.into(), value: value.as_bytes().into() })))
}

fn soa(record: &Value) -> RData {
    let text = |field: &str| record.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
    let number = |field: &str| record.get(field).and_then(Value::as_u64).unwrap_or_default();
    let numbers = ["serialNumber", "refreshTime", "retryTime", "expireTime", "minimumTTL"].map(number);
    let numbers = numbers.map(|number| number.to_string()).join(" ");
    opaque(RecordType::Soa, format!("{} {} {numbers}", text("host"), text("email")))
}

/// Data that is kept as text.
fn opaque(rtype: RecordType, text: String) -> RData {
    RData::Other(Box::new(Opaque { rtype, content: Content::Text(text) }))
}

/// A set as it is read back: a change may leave its TTL to the service's default.
pub(crate) fn as_read(set: &RecordSet) -> Cow<'_, RecordSet> {
    match set.ttl {
        Some(_) => Cow::Borrowed(set),
        None => Cow::Owned(RecordSet { ttl: Ttl::from_secs(DEFAULT_TTL), ..set.clone() }),
    }
}

/// Whether a set holds something that is only kept as text: it is left alone.
pub(crate) fn is_opaque(set: &RecordSet) -> bool {
    set.data.as_records().iter().any(|record| matches!(record, RData::Other(_)))
}

/// The body of a write of this set.
///
/// # Errors
/// What of it the service has no form for; a sentence.
pub(crate) fn write(kind: Kind, set: &RecordSet) -> Result<Value, String> {
    let rtype = set.key.rtype;
    let property = SHAPES.iter().find(|shape| shape.rtype == rtype).and_then(|shape| shape.property(kind));
    let property = property.ok_or_else(|| format!("{kind} has no records of type {rtype}"))?;
    let RecordData::Records(records) = &set.data else { return Err(format!("{kind} has no alias records here")) };
    let mut written = records.iter().map(record).collect::<Result<Vec<Value>, String>>()?;
    let content = match rtype {
        RecordType::Cname if written.len() == 1 => written.remove(0),
        RecordType::Cname => return Err("a CNAME has one target".to_owned()),
        _ => Value::Array(written),
    };
    let seconds = set.ttl.map_or(DEFAULT_TTL, Ttl::secs);
    let ttl = if kind == Kind::Public { "TTL" } else { "ttl" };
    let mut properties = Map::new();
    properties.insert(ttl.to_owned(), json!(seconds));
    properties.insert("metadata".to_owned(), json!(options::of(&set.options)));
    properties.insert(property.to_owned(), content);
    Ok(json!({ "properties": properties }))
}

fn record(record: &RData) -> Result<Value, String> {
    // Names go without their final dot, as the service's own tools write them; the root is the exception.
    let host = |name: &DnsName| if name.is_root() { ".".to_owned() } else { name.to_string() };
    Ok(match record {
        RData::A(address) => json!({ "ipv4Address": address.to_string() }),
        RData::Aaaa(address) => json!({ "ipv6Address": address.to_string() }),
        RData::Cname(target) => json!({ "cname": host(target) }),
        RData::Ns(target) => json!({ "nsdname": host(target) }),
        RData::Ptr(target) => json!({ "ptrdname": host(target) }),
        RData::Mx { preference, exchange } => json!({ "preference": preference, "exchange": host(exchange) }),
        RData::Srv { priority, weight, port, target } => {
            json!({ "priority": priority, "weight": weight, "port": port, "target": host(target) })
        }
        RData::Caa(caa) => {
            json!({ "flags": caa.flags, "tag": caa.tag.to_string(), "value": text(&caa.value)? })
        }
        RData::Txt(strings) => {
            let strings = strings.strings().map(text).collect::<Result<Vec<_>, _>>()?;
            json!({ "value": strings })
        }
        other => return Err(format!("{other}: is no data that the service takes")),
    })
}

fn text(octets: &[u8]) -> Result<&str, String> {
    std::str::from_utf8(octets)
        .map_err(|_| "a text has bytes that are no UTF-8; the service takes characters".to_owned())
}

#[cfg(test)]
#[path = "convert_tests.rs"]
mod tests;
