//! Records as the API writes them, and our sets: the way between them is written here once more, so that a mistake of the provider's
//! own does not cancel itself out.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use zonewright_core::options::OptionValue;
use zonewright_core::{DnsName, RData, RecordData, RecordSet, RecordType, Ttl};

/// Records of the API as sets, each of one name and type.
///
/// # Panics
/// A record cannot be read, or differs from the others of its set in more than its value.
pub(crate) fn ours(records: &[Value]) -> Vec<RecordSet> {
    let mut sets: BTreeMap<(String, String), RecordSet> = BTreeMap::new();
    for record in records {
        let one = set_of(record);
        let key = (text(record, "name").to_owned(), text(record, "type").to_owned());
        let set = sets.entry(key).or_insert_with(|| one.clone());
        assert_eq!((set.ttl, &set.options), (one.ttl, &one.options), "{record}: as the others of its set");
        let both = set.data.as_records().iter().chain(one.data.as_records()).cloned().collect::<Vec<_>>();
        set.data = RecordData::records(both);
    }
    sets.into_values().collect()
}

fn text<'a>(record: &'a Value, field: &str) -> &'a str {
    record[field].as_str().expect("the field is a text")
}

/// A record as a set of one.
fn set_of(record: &Value) -> RecordSet {
    let rtype: RecordType = text(record, "type").parse().expect("a type that we know");
    let value = match (&record["data"], rtype) {
        (Value::Null, RecordType::Mx) => format!("{} {}", record["priority"], text(record, "content")),
        (Value::Null, _) => text(record, "content").to_owned(),
        (data, _) if data.is_object() && !parts(rtype).is_empty() => in_order(rtype, data),
        _ => text(record, "content").to_owned(),
    };
    let data = RData::parse(rtype, &value).expect("a value of its type");
    let name = DnsName::parse(text(record, "name")).expect("a name");
    let ttl = record["ttl"].as_u64().and_then(|ttl| Ttl::from_secs(u32::try_from(ttl).ok()?));
    let mut set = RecordSet::simple(name, rtype, ttl, [data]);
    if matches!(rtype, RecordType::A | RecordType::Aaaa | RecordType::Cname) {
        set.options.set("cloudflare-proxied", OptionValue::Bool(record["proxied"] == true));
    }
    if let Some(comment) = record["comment"].as_str() {
        set.options.set("cloudflare-record-comment", OptionValue::Text(comment.into()));
    }
    let tags: Vec<&str> = record["tags"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    if !tags.is_empty() {
        set.options.set("cloudflare-tags", OptionValue::Text(tags.join(",").into()));
    }
    set
}

/// The parts of a type in the order of a master file, and which of them stand in quotes; none where the value is one text.
fn parts(rtype: RecordType) -> &'static [(&'static str, bool)] {
    match rtype {
        RecordType::Srv => &[("priority", false), ("weight", false), ("port", false), ("target", false)],
        RecordType::Caa => &[("flags", false), ("tag", false), ("value", true)],
        RecordType::Naptr => &[
            ("order", false),
            ("preference", false),
            ("flags", true),
            ("service", true),
            ("regex", true),
            ("replacement", false),
        ],
        RecordType::Https | RecordType::Svcb => &[("priority", false), ("target", false), ("value", false)],
        _ => &[],
    }
}

fn in_order(rtype: RecordType, data: &Value) -> String {
    let part = |(key, quoted): &(&str, bool)| match &data[*key] {
        Value::String(text) if *quoted => format!("\"{text}\""),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    parts(rtype).iter().map(part).collect::<Vec<_>>().join(" ")
}

/// The records of one of our sets, as the API takes them.
pub(crate) fn theirs(set: &RecordSet) -> Vec<Value> {
    let one = |data: &RData| {
        let value = data.to_string();
        let bare = value.trim_end_matches('.');
        let mut record = json!({
            "name": set.key.name.as_str(), "type": set.key.rtype.to_string(), "ttl": set.ttl.map_or(1, Ttl::secs),
        });
        match data {
            RData::A(_) | RData::Aaaa(_) | RData::Txt(_) => record["content"] = json!(value),
            RData::Mx { preference, .. } => {
                record["priority"] = json!(preference);
                record["content"] = json!(bare.split_once(' ').map(|(_, host)| host));
            }
            RData::Cname(_) | RData::Ns(_) | RData::Ptr(_) => record["content"] = json!(bare),
            _ => record["data"] = apart(set.key.rtype, &value),
        }
        record
    };
    set.data.as_records().iter().map(one).collect()
}

fn apart(rtype: RecordType, text: &str) -> Value {
    let parts = parts(rtype);
    let words = text.splitn(parts.len(), ' ').chain(std::iter::repeat(""));
    let mut data = json!({});
    for ((key, quoted), word) in parts.iter().zip(words) {
        let word = if *quoted { word.trim_matches('"') } else { word };
        let is_host = matches!(*key, "target" | "replacement") && word != ".";
        let word = if is_host { word.trim_end_matches('.') } else { word };
        let is_text = *quoted || matches!(*key, "target" | "replacement" | "value" | "tag");
        let number = || word.parse::<u64>().expect("a number of the set");
        data[*key] = if is_text { json!(word) } else { json!(number()) };
    }
    data
}
