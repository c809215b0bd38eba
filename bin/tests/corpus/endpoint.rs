//! Endpoints in the form in which they are compared.
//!
//! In: an endpoint as it was recorded or sent. Out: a [`Shape`]; two endpoints that mean the same have equal shapes, and
//! endpoints that differ in anything else have different ones.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::IpAddr;

use crate::recorded::{Endpoint, Update};

/// An endpoint without what carries no meaning: order, case, spelling, empty values.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Shape {
    pub(crate) key: Key,
    /// Seconds; 0 is unset.
    pub(crate) ttl: i64,
    pub(crate) targets: BTreeSet<String>,
    properties: Vec<(String, String)>,
    labels: BTreeMap<String, String>,
}

/// What an endpoint is found by.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) name: String,
    pub(crate) record_type: String,
    pub(crate) set: String,
}

/// The two sides of a changed endpoint.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Turn {
    pub(crate) from: Shape,
    pub(crate) to: Shape,
}

impl Shape {
    pub(crate) fn of(endpoint: &Endpoint) -> Self {
        let record_type = endpoint.record_type.clone();
        let targets = endpoint.targets.iter().map(|target| target_value(&record_type, target)).collect();
        let name = ascii_name(&endpoint.dns_name);
        let key = Key { name, record_type, set: endpoint.set_identifier.clone() };
        Self {
            key,
            ttl: endpoint.record_ttl.max(0),
            targets,
            properties: properties(endpoint),
            labels: labels(endpoint),
        }
    }
}

impl Turn {
    /// Both sides of an update in the form that `shape` gives them.
    pub(crate) fn of(update: &Update, shape: impl Fn(&Endpoint) -> Shape) -> Self {
        Self { from: shape(&update.from), to: shape(&update.to) }
    }
}

/// Sorted, without those of other providers: `aws/weight`, but not `webhook/weight` and `weight`.
fn properties(endpoint: &Endpoint) -> Vec<(String, String)> {
    let all = endpoint.provider_specific.iter();
    let ours = all.filter(|property| !property.name.contains('/') || property.name.starts_with("webhook/"));
    let mut pairs: Vec<_> = ours.map(|property| (property.name.clone(), property.value.clone())).collect();
    pairs.sort();
    pairs
}

/// Without empty ones, and without the nonce, which is a matter of chance.
fn labels(endpoint: &Endpoint) -> BTreeMap<String, String> {
    let labels = endpoint.labels.iter().filter(|(key, value)| !value.is_empty() && *key != "txt-encryption-nonce");
    labels
        .map(|(key, value)| match key.as_str() {
            "ownedRecord" => (key.clone(), ascii_name(value)),
            _ => (key.clone(), value.clone()),
        })
        .collect()
}

/// A target of this record type: addresses by value, host names as names, numbers by value, texts without quotes.
fn target_value(record_type: &str, target: &str) -> String {
    match record_type {
        "A" | "AAAA" => target.parse::<IpAddr>().map_or_else(|_| ascii_name(target), |address| address.to_string()),
        "CNAME" | "DNAME" | "NS" | "PTR" => ascii_name(target),
        "MX" | "SRV" => target.split_whitespace().map(field).collect::<Vec<_>>().join(" "),
        "TXT" => target
            .strip_prefix('"')
            .and_then(|text| text.strip_suffix('"'))
            .map_or_else(|| target.to_owned(), str::to_owned),
        _ => target.to_owned(),
    }
}

/// A number or a host name.
fn field(text: &str) -> String {
    text.parse::<u32>().map_or_else(|_| ascii_name(text), |number| number.to_string())
}

/// The name in lower case, with A-labels, without a final dot.
pub(crate) fn ascii_name(name: &str) -> String {
    labels_of(name, |label| idna::domain_to_ascii(label).unwrap_or_else(|_| label.to_lowercase()))
}

/// The name in lower case, with U-labels, without a final dot.
pub(crate) fn unicode_name(name: &str) -> String {
    labels_of(&ascii_name(name), |label| idna::domain_to_unicode(label).0)
}

/// The name with its labels in another form; plain labels only become lower case.
fn labels_of(name: &str, form: impl Fn(&str) -> String) -> String {
    let international = |label: &str| !label.is_ascii() || label.starts_with("xn--");
    let label = |label: &str| if international(label) { form(label) } else { label.to_ascii_lowercase() };
    name.strip_suffix('.').unwrap_or(name).split('.').map(label).collect::<Vec<_>>().join(".")
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name, self.record_type)?;
        if !self.set.is_empty() {
            write!(f, " set={:?}", self.set)?;
        }
        Ok(())
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.key.fmt(f)?;
        if self.ttl != 0 {
            write!(f, " ttl={}", self.ttl)?;
        }
        write!(f, " [{}]", self.targets.iter().map(String::as_str).collect::<Vec<_>>().join(", "))?;
        if !self.properties.is_empty() {
            write!(f, " {{{}}}", pairs(self.properties.iter().map(|(name, value)| (name, value))))?;
        }
        if !self.labels.is_empty() {
            write!(f, " ({})", pairs(&self.labels))?;
        }
        Ok(())
    }
}

impl fmt::Display for Turn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}  =>  {}", self.from, self.to)
    }
}

fn pairs<'a>(of: impl IntoIterator<Item = (&'a String, &'a String)>) -> String {
    of.into_iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// The shape of a host with these fields beside its name and type.
    fn shape(fields: &Value) -> Shape {
        let mut endpoint = json!({"dnsName": "web.example.com", "recordType": "A"});
        let fields = fields.as_object().expect("an object").clone();
        endpoint.as_object_mut().expect("an object").extend(fields);
        Shape::of(&serde_json::from_value(endpoint).expect("an endpoint"))
    }

    #[test]
    fn what_means_the_same_is_the_same() {
        let check = |one: Value, other: Value| assert_eq!(shape(&one), shape(&other), "{one} {other}");
        check(json!({"dnsName": "Web.Example.COM."}), json!({}));
        check(json!({"dnsName": "bücher.test"}), json!({"dnsName": "XN--BCHER-KVA.test."}));
        check(
            json!({"targets": ["192.0.2.2", "192.0.2.1"]}),
            json!({"targets": ["192.0.2.1", "192.0.2.2", "192.0.2.1"]}),
        );
        check(json!({"targets": ["2001:DB8:0::1"]}), json!({"targets": ["2001:db8::1"]}));
        check(json!({"targets": null, "labels": null, "providerSpecific": null}), json!({}));
        for kind in ["CNAME", "DNAME", "NS", "PTR"] {
            check(
                json!({"recordType": kind, "targets": ["LB.test."]}),
                json!({"recordType": kind, "targets": ["lb.test"]}),
            );
        }
        check(
            json!({"recordType": "MX", "targets": ["010  MAIL.test."]}),
            json!({"recordType": "MX", "targets": ["10 mail.test"]}),
        );
        check(
            json!({"recordType": "SRV", "targets": ["0 50 80 A.test."]}),
            json!({"recordType": "SRV", "targets": ["0 50 80 a.test"]}),
        );
        check(json!({"recordType": "TXT", "targets": ["\"a B\""]}), json!({"recordType": "TXT", "targets": ["a B"]}));
        check(json!({"recordTTL": 0}), json!({}));
        check(json!({"recordTTL": -1}), json!({}));
        check(json!({"labels": {"owner": "", "txt-encryption-nonce": "abc"}}), json!({}));
        check(json!({"labels": {"ownedRecord": "Web.test."}}), json!({"labels": {"ownedRecord": "web.test"}}));
        let property = |name: &str| json!({"name": name, "value": "1"});
        check(json!({"providerSpecific": [property("aws/weight")]}), json!({}));
        check(
            json!({"providerSpecific": [property("webhook/a"), property("alias")]}),
            json!({"providerSpecific": [property("alias"), property("webhook/a")]}),
        );
    }

    #[test]
    fn what_means_something_else_is_something_else() {
        let check = |one: Value, other: Value| assert_ne!(shape(&one), shape(&other), "{one} {other}");
        check(json!({"dnsName": "web.example.com.."}), json!({}));
        check(json!({"dnsName": "*.example.com"}), json!({}));
        check(json!({"dnsName": "faß.test"}), json!({"dnsName": "fas.test"}));
        check(json!({"recordType": "AAAA"}), json!({}));
        check(json!({"recordType": "a"}), json!({}));
        check(json!({"setIdentifier": "blue"}), json!({}));
        check(json!({"setIdentifier": "blue"}), json!({"setIdentifier": "Blue"}));
        check(json!({"recordTTL": 60}), json!({}));
        check(json!({"targets": ["192.0.2.1"]}), json!({"targets": ["192.0.2.2"]}));
        check(json!({"targets": ["192.0.2.1"]}), json!({"targets": ["192.0.2.1", "192.0.2.2"]}));
        check(json!({"targets": ["::ffff:192.0.2.1"]}), json!({"targets": ["192.0.2.1"]}));
        check(json!({"recordType": "TXT", "targets": ["A"]}), json!({"recordType": "TXT", "targets": ["a"]}));
        check(json!({"recordType": "TXT", "targets": ["\""]}), json!({"recordType": "TXT", "targets": [""]}));
        check(
            json!({"recordType": "MX", "targets": ["10 m.test"]}),
            json!({"recordType": "MX", "targets": ["20 m.test"]}),
        );
        check(json!({"labels": {"owner": "me"}}), json!({}));
        check(json!({"labels": {"owner": "me"}}), json!({"labels": {"owner": "Me"}}));
        check(json!({"providerSpecific": [{"name": "webhook/a", "value": "1"}]}), json!({}));
        check(
            json!({"providerSpecific": [{"name": "a", "value": "1"}]}),
            json!({"providerSpecific": [{"name": "a", "value": "2"}]}),
        );
    }

    #[test]
    fn shapes_are_readable() {
        let all = json!({
            "setIdentifier": "blue", "recordTTL": 60, "targets": ["192.0.2.1", "192.0.2.2"],
            "labels": {"owner": "me"}, "providerSpecific": [{"name": "alias", "value": "true"}],
        });
        let expected = "web.example.com A set=\"blue\" ttl=60 [192.0.2.1, 192.0.2.2] {alias=true} (owner=me)";
        assert_eq!(shape(&all).to_string(), expected);
        assert_eq!(shape(&json!({})).to_string(), "web.example.com A []");
    }
}
