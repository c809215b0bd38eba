//! The records of record sets: what is accepted of each type, and the form in which the service keeps it.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, Ipv6Addr};

use serde_json::{Map, Value, json};

use super::refusal::Refusal;
use super::zone::Kind;

/// Most records of a set: <https://learn.microsoft.com/azure/azure-resource-manager/management/azure-subscription-service-limits>.
const RECORDS: usize = 20;
/// Most bytes of one string of a text (RFC 1035 3.3.14), and of all texts of a set.
const STRING: usize = 255;
const TEXTS: usize = 4_096;

/// A type of record sets, with the names of its property in answers; none where such zones do not have the type.
#[derive(Debug)]
pub(super) struct RecordType {
    pub(super) name: &'static str,
    public: &'static str,
    private: Option<&'static str>,
    /// Its property is one object instead of a list.
    pub(super) single: bool,
}

const fn list(name: &'static str, public: &'static str, private: Option<&'static str>) -> RecordType {
    RecordType { name, public, private, single: false }
}

const TYPES: &[RecordType] = &[
    list("A", "ARecords", Some("aRecords")),
    list("AAAA", "AAAARecords", Some("aaaaRecords")),
    list("CAA", "caaRecords", None),
    RecordType { single: true, ..list("CNAME", "CNAMERecord", Some("cnameRecord")) },
    list("MX", "MXRecords", Some("mxRecords")),
    list("NS", "NSRecords", None),
    list("PTR", "PTRRecords", Some("ptrRecords")),
    RecordType { single: true, ..list("SOA", "SOARecord", Some("soaRecord")) },
    list("SRV", "SRVRecords", Some("srvRecords")),
    list("TXT", "TXTRecords", Some("txtRecords")),
];

impl RecordType {
    /// The type of this name, if such zones have it.
    pub(super) fn find(kind: Kind, name: &str) -> Option<&'static Self> {
        TYPES.iter().find(|known| known.name == name).filter(|known| known.property(kind).is_some())
    }

    /// The types that are not this one.
    pub(super) fn others(&self) -> impl Iterator<Item = &'static Self> {
        let name = self.name;
        TYPES.iter().filter(move |known| known.name != name)
    }

    /// The name of the property with the records.
    pub(super) fn property(&self, kind: Kind) -> Option<&'static str> {
        if kind == Kind::Public { Some(self.public) } else { self.private }
    }

    /// The property under any name that a client may have for it: case does not count, and leaves no other difference.
    pub(super) fn in_request<'a>(&self, properties: &'a Map<String, Value>) -> Option<&'a Value> {
        property(properties, self.public)
    }

    /// The records that a client sends, as they are kept.
    ///
    /// # Errors
    /// The first that is wrong, or what is wrong with all of them together.
    pub(super) fn read(&self, sent: &Value) -> Result<Vec<Value>, Refusal> {
        let sent = match sent {
            Value::Array(records) if !self.single => records.clone(),
            Value::Object(_) if self.single => vec![sent.clone()],
            _ => return Err(Refusal::content(&format!("{} has a wrong form", self.public))),
        };
        if sent.len() > RECORDS {
            return Err(Refusal::bad(format!("A record set may not have more than {RECORDS} records.")));
        }
        let mut records = Vec::new();
        let mut seen = BTreeSet::new();
        for one in &sent {
            let record = record(self.name, one)?;
            let text = record.to_string();
            // Case does not distinguish names, but texts.
            if !seen.insert(if self.name == "TXT" { text } else { text.to_ascii_lowercase() }) {
                return Err(Refusal::bad(format!("The record set has the record '{record}' more than once.")));
            }
            records.push(record);
        }
        let bytes = |record: &Value| texts(record).iter().map(|text| text.len()).sum::<usize>();
        if self.name == "TXT" && records.iter().map(bytes).sum::<usize>() > TEXTS {
            let text =
                format!("The combined length of all TXT records in a record set may not exceed {TEXTS} characters.");
            return Err(Refusal::bad(text));
        }
        Ok(records)
    }
}

/// A property by its name in any case.
pub(super) fn property<'a>(properties: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    let found = properties.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
    found.map(|(_, value)| value).filter(|value| !value.is_null())
}

/// The strings of a text record.
fn texts(record: &Value) -> Vec<&str> {
    record["value"].as_array().map(|texts| texts.iter().filter_map(Value::as_str).collect()).unwrap_or_default()
}

/// A record as it is kept: with the API's names for its fields, addresses in their shortest form, names as they were sent.
fn record(kind: &str, sent: &Value) -> Result<Value, Refusal> {
    let fields = sent.as_object().ok_or_else(|| Refusal::content("a record is no object"))?;
    let fields = Fields(fields);
    Ok(match kind {
        "A" => json!({ "ipv4Address": fields.address::<Ipv4Addr>("ipv4Address", "IPv4")? }),
        "AAAA" => json!({ "ipv6Address": fields.address::<Ipv6Addr>("ipv6Address", "IPv6")? }),
        "CNAME" => json!({ "cname": fields.host("cname")? }),
        "NS" => json!({ "nsdname": fields.host("nsdname")? }),
        "PTR" => json!({ "ptrdname": fields.host("ptrdname")? }),
        "MX" => {
            json!({ "preference": fields.number("preference", 65_535)?, "exchange": fields.host_or_root("exchange")? })
        }
        "SRV" => json!({
            "priority": fields.number("priority", 65_535)?, "weight": fields.number("weight", 65_535)?,
            "port": fields.number("port", 65_535)?, "target": fields.host_or_root("target")?,
        }),
        "TXT" => json!({ "value": fields.strings("value")? }),
        "CAA" => json!({
            "flags": fields.number("flags", 255)?, "tag": fields.tag("tag")?, "value": fields.text("value")?,
        }),
        _ => json!({
            "host": fields.text("host").unwrap_or_default(), "email": fields.text("email")?,
            "serialNumber": fields.number("serialNumber", u32::MAX.into())?,
            "refreshTime": fields.number("refreshTime", u32::MAX.into())?,
            "retryTime": fields.number("retryTime", u32::MAX.into())?,
            "expireTime": fields.number("expireTime", u32::MAX.into())?,
            "minimumTTL": fields.number("minimumTTL", u32::MAX.into())?,
        }),
    })
}

/// The fields of a record as a client sends them.
struct Fields<'a>(&'a Map<String, Value>);

impl Fields<'_> {
    fn text(&self, name: &str) -> Result<&str, Refusal> {
        let text = property(self.0, name).and_then(Value::as_str).filter(|text| !text.is_empty());
        text.ok_or_else(|| Refusal::bad(format!("The record has no '{name}'.")))
    }

    fn address<T: std::str::FromStr + ToString>(&self, name: &str, of: &str) -> Result<String, Refusal> {
        let text = self.text(name)?;
        let address: Option<T> = text.parse().ok();
        let wrong = || Refusal::bad(format!("The value '{text}' is not a valid {of} address."));
        Ok(address.ok_or_else(wrong)?.to_string())
    }

    fn number(&self, name: &str, most: u64) -> Result<u64, Refusal> {
        let number = property(self.0, name).and_then(Value::as_u64).filter(|number| *number <= most);
        number.ok_or_else(|| Refusal::bad(format!("The value of '{name}' is not a number from 0 to {most}.")))
    }

    fn host(&self, name: &str) -> Result<&str, Refusal> {
        let text = self.text(name)?;
        let bare = text.strip_suffix('.').unwrap_or(text);
        if is_name(bare) { Ok(text) } else { Err(Refusal::name(text)) }
    }

    /// The root says that there is no such service (RFC 2782, RFC 7505).
    fn host_or_root(&self, name: &str) -> Result<&str, Refusal> {
        if self.text(name)? == "." { Ok(".") } else { self.host(name) }
    }

    fn tag(&self, name: &str) -> Result<&str, Refusal> {
        let tag = self.text(name)?;
        let known = ["issue", "issuewild", "iodef"].contains(&tag);
        if known { Ok(tag) } else { Err(Refusal::bad(format!("The CAA tag '{tag}' is not known."))) }
    }

    fn strings(&self, name: &str) -> Result<Vec<&str>, Refusal> {
        let sent = property(self.0, name).and_then(Value::as_array).filter(|sent| !sent.is_empty());
        let sent = sent.ok_or_else(|| Refusal::bad(format!("The record has no '{name}'.")))?;
        let mut strings = Vec::new();
        for string in sent {
            let string = string.as_str().ok_or_else(|| Refusal::content("a string of a TXT record is none"))?;
            if string.len() > STRING {
                let text = format!("The value '{string}' is too long: a string of a TXT record has at most {STRING}.");
                return Err(Refusal::bad(text));
            }
            strings.push(string);
        }
        Ok(strings)
    }
}

/// Whether this is a name without a final dot: labels of letters, digits, hyphens and underscores, `*` the first of them at most.
pub(super) fn is_name(text: &str) -> bool {
    let label = |(at, label): (usize, &str)| {
        let letters = label.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
        (1..=63).contains(&label.len()) && (letters || at == 0 && label == "*")
    };
    text.len() <= 253 && text.split('.').enumerate().all(label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_labels() {
        for name in ["www", "a.b", "*", "*.a", "_sip._tcp", "A-1", "a.".repeat(126).trim_end_matches('.')] {
            assert!(is_name(name), "{name}");
        }
        for name in ["", ".", "a.", "a..b", "a.*", "a*", "a b", "\u{e9}", &"a".repeat(64), &"aaa.".repeat(64)] {
            assert!(!is_name(name), "{name}");
        }
    }

    #[track_caller]
    fn read(kind: &str, sent: &Value) -> Result<Vec<Value>, String> {
        let found = RecordType::find(Kind::Public, kind).expect("a type");
        found.read(sent).map_err(|refusal| refusal.message)
    }

    #[test]
    fn records_have_their_form() {
        for (kind, sent, kept) in [
            ("A", json!([{ "IPv4Address": "192.0.2.1" }]), Some(json!([{ "ipv4Address": "192.0.2.1" }]))),
            ("A", json!([]), Some(json!([]))),
            ("A", json!([{ "ipv4Address": "192.0.2" }]), None),
            ("A", json!([{ "ipv4Address": "192.0.2.1" }, { "ipv4Address": "192.0.2.1" }]), None),
            ("A", json!({ "ipv4Address": "192.0.2.1" }), None),
            ("AAAA", json!([{ "ipv6Address": "2001:DB8::0" }]), Some(json!([{ "ipv6Address": "2001:db8::" }]))),
            ("CNAME", json!({ "cname": "Web.example.org." }), Some(json!([{ "cname": "Web.example.org." }]))),
            ("CNAME", json!({ "cname": "\"web\"" }), None),
            ("CNAME", json!([{ "cname": "web" }]), None),
            ("MX", json!([{ "preference": 70_000, "exchange": "m.org" }]), None),
            ("MX", json!([{ "preference": 0, "exchange": "." }]), Some(json!([{ "preference": 0, "exchange": "." }]))),
            ("SRV", json!([{ "priority": 1, "weight": 2, "port": 3 }]), None),
            ("NS", json!([{ "nsdname": "A.org" }, { "nsdname": "a.org" }]), None),
            ("CAA", json!([{ "flags": 0, "tag": "other", "value": "x" }]), None),
            (
                "TXT",
                json!([{ "value": ["a", "b"] }, { "value": ["A", "b"] }]),
                Some(json!([{ "value": ["a", "b"] }, { "value": ["A", "b"] }])),
            ),
            ("TXT", json!([{ "value": [] }]), None),
            ("TXT", json!([{ "value": ["a".repeat(256)] }]), None),
        ] {
            assert_eq!(read(kind, &sent).ok().map(Value::Array), kept, "{kind} {sent}");
        }
    }

    #[test]
    fn a_set_has_its_limits() {
        let addresses = |count: usize| (0..count).map(|n| json!({ "ipv4Address": format!("192.0.2.{n}") })).collect();
        assert!(read("A", &Value::Array(addresses(20))).is_ok());
        assert!(read("A", &Value::Array(addresses(21))).unwrap_err().contains("more than 20"));
        let long = json!([{ "value": vec!["a".repeat(255); 16] }, { "value": ["a".repeat(16)] }]);
        assert!(read("TXT", &long).is_ok());
        let long = json!([{ "value": vec!["a".repeat(255); 16] }, { "value": ["a".repeat(17)] }]);
        assert!(read("TXT", &long).unwrap_err().contains("4096"));
    }

    #[test]
    fn private_zones_have_fewer_types() {
        assert!(["NS", "CAA"].iter().all(|name| RecordType::find(Kind::Private, name).is_none()));
        let of = |kind| RecordType::find(kind, "AAAA").and_then(|found| found.property(kind));
        assert_eq!((of(Kind::Public), of(Kind::Private)), (Some("AAAARecords"), Some("aaaaRecords")));
    }
}
