//! Record sets in the form of the service, both ways.
//!
//! In: single records of an answer. Out: [`RecordSet`]s, each of all records of a name and type. What must hold: what is written
//! is read back the same; what is not understood is kept as it is, and is never taken for something else.
//!
//! <https://developers.cloudflare.com/api/resources/dns/subresources/records/>

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::{Value, json};
use zonewright_core::options::{OptionValue, Options};
use zonewright_core::rdata::{Caa, Content, Naptr, Opaque, Svcb};
use zonewright_core::{DnsName, RData, RecordData, RecordKey, RecordSet, RecordType, Ttl};

use crate::options::{COMMENT, MIXED, PROXIED, TAGS, set, tags, text};
use crate::wire;

/// The TTL that leaves the choice to the service.
pub(crate) const AUTOMATIC: u32 = 1;

/// What a record has beside its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RecordProperties {
    /// In seconds; 1 is automatic.
    pub(crate) ttl: u32,
    /// Whether requests go through the service; absent for the types that have no choice.
    pub(crate) proxied: Option<bool>,
    /// Empty where there is none.
    pub(crate) comment: String,
    /// Sorted, each once.
    pub(crate) tags: Vec<String>,
}

impl RecordProperties {
    /// Those of a record that was read.
    pub(crate) fn read(record: &wire::Record, rtype: RecordType) -> Self {
        Self {
            ttl: record.ttl.unwrap_or(AUTOMATIC),
            proxied: is_proxiable(rtype).then(|| record.proxied.unwrap_or(false)),
            comment: record.comment.clone().unwrap_or_default(),
            tags: tags(record.tags.as_deref().unwrap_or_default()),
        }
    }

    /// Those that a set states.
    pub(crate) fn of(set: &RecordSet) -> Self {
        let proxied = is_proxiable(set.key.rtype).then(|| set.options.get(PROXIED) == Some(&OptionValue::Bool(true)));
        let ttl = set.ttl.map_or(AUTOMATIC, Ttl::secs);
        Self {
            ttl: if proxied == Some(true) { AUTOMATIC } else { ttl },
            proxied,
            comment: text(&set.options, COMMENT),
            tags: tags(text(&set.options, TAGS).split(',')),
        }
    }

    fn options(&self) -> Options {
        let mut options = Options::default();
        if let Some(proxied) = self.proxied {
            options.set(PROXIED, OptionValue::Bool(proxied));
        }
        set(&mut options, COMMENT, &self.comment);
        set(&mut options, TAGS, &self.tags.join(","));
        options
    }

    /// What differs from others, in words; empty if nothing does.
    fn difference(&self, other: &Self) -> Vec<&'static str> {
        let all = [
            ("ttl", self.ttl == other.ttl),
            ("proxied", self.proxied == other.proxied),
            ("comment", self.comment == other.comment),
            ("tags", self.tags == other.tags),
        ];
        all.into_iter().filter(|(_, same)| !same).map(|(what, _)| what).collect()
    }
}

/// Whether records of this type can be proxied.
pub(crate) fn is_proxiable(rtype: RecordType) -> bool {
    rtype.is_address() || rtype == RecordType::Cname
}

/// The key of a record.
///
/// # Errors
/// A sentence about the name or type that cannot be read.
pub(crate) fn key(record: &wire::Record) -> Result<RecordKey, String> {
    let name = DnsName::parse(&record.name).map_err(|error| error.to_string())?;
    let rtype = record.rtype.parse().map_err(|error| format!("{}: {error}", record.name))?;
    Ok(RecordKey::simple(name, rtype))
}

/// Records by their keys, and a sentence for each that cannot be read.
pub(crate) fn grouped(records: Vec<wire::Record>) -> (BTreeMap<RecordKey, Vec<wire::Record>>, Vec<String>) {
    let (mut groups, mut unread) = (BTreeMap::<RecordKey, Vec<wire::Record>>::new(), Vec::new());
    for record in records {
        match key(&record) {
            Ok(key) => groups.entry(key).or_default().push(record),
            Err(error) => unread.push(error),
        }
    }
    (groups, unread)
}

/// The set that these records of one key are. Where they differ in more than their values, it has the properties of the one with
/// the least value, and says that they differ: then it equals nothing that is wanted, and is put right.
pub(crate) fn read(key: &RecordKey, records: &[wire::Record]) -> RecordSet {
    let mut members: Vec<(RData, RecordProperties)> =
        records.iter().map(|record| (value(key.rtype, record), RecordProperties::read(record, key.rtype))).collect();
    members.sort_by(|(one, _), (other, _)| one.cmp(other));
    let mut options = Options::default();
    let mut ttl = None;
    if let Some((_, first)) = members.first() {
        (options, ttl) = (first.options(), Ttl::from_secs(first.ttl));
        let mut differs: Vec<&str> = members.iter().flat_map(|(_, other)| first.difference(other)).collect();
        differs.sort_unstable();
        differs.dedup();
        set(&mut options, MIXED, &differs.join(","));
    }
    let data = RecordData::records(members.into_iter().map(|(data, _)| data));
    RecordSet { key: key.clone(), ttl, data, options, routing: zonewright_core::record::Routing::Simple }
}

/// The value of a record; as it is written where it cannot be read.
pub(crate) fn value(rtype: RecordType, record: &wire::Record) -> RData {
    let content = record.content.clone().unwrap_or_default();
    let data = match (rtype, &record.data) {
        (RecordType::Mx, _) => match record.priority {
            Some(priority) => RData::parse(rtype, &format!("{priority} {content}")).ok(),
            None => RData::parse(rtype, &content).ok(),
        },
        (RecordType::Srv, None) if content.split_whitespace().count() == 3 => {
            RData::parse(rtype, &format!("{} {content}", record.priority.unwrap_or(0))).ok()
        }
        (_, Some(data)) => in_parts(rtype, data).or_else(|| RData::parse(rtype, &content).ok()),
        (_, None) => RData::parse(rtype, &content).ok(),
    };
    data.unwrap_or_else(|| RData::Other(Box::new(Opaque { rtype, content: Content::Text(content) })))
}

/// The value of a type that comes in parts.
fn in_parts(rtype: RecordType, data: &Value) -> Option<RData> {
    let text = |key: &str| data.get(key).and_then(Value::as_str);
    let name = |key: &str| DnsName::parse(text(key)?).ok();
    let bytes = |key: &str| text(key).map(|text| text.as_bytes().to_vec());
    Some(match rtype {
        RecordType::Srv => RData::Srv {
            priority: number(data, "priority")?,
            weight: number(data, "weight")?,
            port: number(data, "port")?,
            target: name("target")?,
        },
        RecordType::Caa => RData::Caa(Box::new(Caa {
            flags: number(data, "flags")?,
            tag: Arc::from(text("tag")?.to_ascii_lowercase()),
            value: Arc::from(bytes("value")?),
        })),
        RecordType::Naptr => RData::Naptr(Box::new(Naptr {
            order: number(data, "order")?,
            preference: number(data, "preference")?,
            flags: bytes("flags")?,
            services: bytes("service")?,
            regexp: bytes("regex")?,
            replacement: name("replacement")?,
        })),
        RecordType::Https | RecordType::Svcb => {
            let priority: u16 = number(data, "priority")?;
            let parameters = text("value").unwrap_or_default();
            RData::parse(rtype, format!("{priority} {} {parameters}", text("target")?).trim_end()).ok()?
        }
        _ => return None,
    })
}

/// A number, which the service also writes as text.
fn number<T: TryFrom<u64>>(data: &Value, key: &str) -> Option<T> {
    let value = data.get(key)?;
    let number = value.as_u64().or_else(|| value.as_str()?.trim().parse().ok());
    // A whole number may come as 10.0.
    let number = number.or_else(|| value.as_f64().and_then(|number| format!("{number}").parse().ok()));
    T::try_from(number?).ok()
}

/// The value of a record as it is sent.
///
/// # Errors
/// A sentence about what the service has no form for.
pub(crate) fn content(data: &RData) -> Result<wire::Content, String> {
    let content = |text: String| wire::Content { text: Some(text), ..wire::Content::default() };
    let parts = |data: Value| wire::Content { data: Some(data), ..wire::Content::default() };
    Ok(match data {
        RData::A(_) | RData::Aaaa(_) | RData::Txt(_) => content(data.to_string()),
        RData::Cname(name) | RData::Ns(name) | RData::Ptr(name) => content(host(name)),
        RData::Mx { preference, exchange } => wire::Content { priority: Some(*preference), ..content(host(exchange)) },
        RData::Srv { priority, weight, port, target } => {
            parts(json!({ "priority": priority, "weight": weight, "port": port, "target": host(target) }))
        }
        RData::Caa(caa) => parts(json!({ "flags": caa.flags, "tag": &*caa.tag, "value": utf8(&caa.value, "value")? })),
        RData::Naptr(naptr) => parts(json!({
            "order": naptr.order,
            "preference": naptr.preference,
            "flags": utf8(&naptr.flags, "flags")?,
            "service": utf8(&naptr.services, "service")?,
            "regex": utf8(&naptr.regexp, "expression")?,
            "replacement": host(&naptr.replacement),
        })),
        RData::Svcb(svcb) | RData::Https(svcb) => {
            parts(json!({ "priority": svcb.priority, "target": host(&svcb.target), "value": parameters(svcb) }))
        }
        RData::Dname(_) | RData::Other(_) => {
            return Err(format!("Cloudflare has no form for {} data {data}", data.rtype()));
        }
    })
}

/// A name as the service writes it: without a final dot, but for the root.
fn host(name: &DnsName) -> String {
    if name.is_root() { ".".to_owned() } else { name.as_str().to_owned() }
}

/// The parameters of a service binding, without its priority and target.
fn parameters(svcb: &Svcb) -> String {
    svcb.to_string().splitn(3, ' ').nth(2).unwrap_or_default().to_owned()
}

fn utf8(bytes: &[u8], what: &str) -> Result<String, String> {
    let text = String::from_utf8(bytes.to_vec());
    text.map_err(|_| format!("the {what} is no UTF-8 text, and Cloudflare takes no other"))
}

/// A record of a set as it is sent anew.
///
/// # Errors
/// As [`content`].
pub(crate) fn record(key: &RecordKey, data: &RData, properties: &RecordProperties) -> Result<wire::Body, String> {
    Ok(wire::Body {
        id: None,
        name: key.name.as_str().to_owned(),
        rtype: key.rtype.to_string(),
        value: content(data)?,
        ttl: properties.ttl,
        proxied: properties.proxied,
        comment: Some(properties.comment.clone()).filter(|comment| !comment.is_empty()),
        tags: Some(properties.tags.clone()).filter(|tags| !tags.is_empty()),
    })
}

/// A record as it is sent over one that stands: comment and tags are named where they differ, everything else that the service
/// keeps of the record stays as it is.
///
/// # Errors
/// As [`content`].
pub(crate) fn change(
    key: &RecordKey,
    standing: &wire::Record,
    data: &RData,
    properties: &RecordProperties,
) -> Result<wire::Body, String> {
    let before = RecordProperties::read(standing, key.rtype);
    Ok(wire::Body {
        id: Some(standing.id.clone()),
        comment: (before.comment != properties.comment).then(|| properties.comment.clone()),
        tags: (before.tags != properties.tags).then(|| properties.tags.clone()),
        ..record(key, data, properties)?
    })
}

/// The length of a value in characters, as the service counts them.
pub(crate) fn length(data: &RData) -> usize {
    let mut text = String::new();
    // Writing to a text does not fail.
    let _ = write!(text, "{data}");
    text.chars().count()
}

#[cfg(test)]
#[path = "convert_tests.rs"]
mod tests;
