//! The JSON of the protocol.
//!
//! In: bodies of answers. Out: bodies of requests. As in the peers, which are written in Go: keys are read in any case,
//! unknown ones are passed over, `null` stands for an empty value, empty values are not written. A body must be one
//! whole JSON value; what is cut or followed by something else is an error.

use std::collections::BTreeMap;

use serde::de::{self, DeserializeOwned, Deserializer};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One record set as the protocol has it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Endpoint {
    #[serde(rename = "dnsName", skip_serializing_if = "String::is_empty")]
    pub(crate) name: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) targets: Vec<String>,
    #[serde(rename = "recordType", skip_serializing_if = "String::is_empty")]
    pub(crate) rtype: String,
    #[serde(rename = "setIdentifier", skip_serializing_if = "String::is_empty")]
    pub(crate) set_id: String,
    /// Seconds; 0 is unset, and so is anything below.
    #[serde(rename = "recordTTL", skip_serializing_if = "is_zero")]
    pub(crate) ttl: i64,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) labels: BTreeMap<String, String>,
    #[serde(rename = "providerSpecific", skip_serializing_if = "Vec::is_empty")]
    pub(crate) properties: Vec<Property>,
}

/// A provider-specific setting.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Property {
    pub(crate) name: String,
    pub(crate) value: String,
}

/// Everything that one call changes; old and new sides of an update are paired by position.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Changes {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) create: Vec<Endpoint>,
    #[serde(rename = "updateOld", skip_serializing_if = "Vec::is_empty")]
    pub(crate) update_old: Vec<Endpoint>,
    #[serde(rename = "updateNew", skip_serializing_if = "Vec::is_empty")]
    pub(crate) update_new: Vec<Endpoint>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) delete: Vec<Endpoint>,
}

impl Endpoint {
    /// The endpoint with these labels.
    pub(crate) fn labelled(self, labels: BTreeMap<String, String>) -> Self {
        Self { labels, ..self }
    }
}

impl Changes {
    /// Adds other changes at the end of each list.
    pub(crate) fn append(&mut self, other: Self) {
        self.create.extend(other.create);
        self.update_old.extend(other.update_old);
        self.update_new.extend(other.update_new);
        self.delete.extend(other.delete);
    }

    /// These changes, and others after them.
    pub(crate) fn followed_by(mut self, other: Self) -> Self {
        self.append(other);
        self
    }
}

/// The domain filter of the negotiation.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Filter {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) include: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) exclude: Vec<String>,
    #[serde(rename = "regexInclude", skip_serializing_if = "String::is_empty")]
    pub(crate) regex_include: String,
    #[serde(rename = "regexExclude", skip_serializing_if = "String::is_empty")]
    pub(crate) regex_exclude: String,
    /// Whether the key `filters` is there, which old documents of the protocol name and nobody reads.
    #[serde(skip)]
    pub(crate) outdated: bool,
}

/// A list of endpoints, and what its form shows of its author.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct List {
    pub(crate) endpoints: Vec<Endpoint>,
    /// The whole list is `null`.
    pub(crate) is_null: bool,
    /// So many elements are `null`.
    pub(crate) nulls: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde calls")]
fn is_zero(ttl: &i64) -> bool {
    *ttl == 0
}

/// Reads a body that is one whole JSON value.
///
/// # Errors
/// Where it is malformed, cut short, of another shape, or followed by something.
pub(crate) fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, serde_json::Error> {
    serde_json::from_slice(body)
}

/// The fields of one object by their keys in lower case; `null` is an object without fields.
pub(crate) struct Fields(BTreeMap<String, Value>);

impl Fields {
    /// The field of this key; an absent or `null` one is empty.
    pub(crate) fn take<T: DeserializeOwned + Default, E: de::Error>(&mut self, key: &str) -> Result<T, E> {
        let Some(value) = self.0.remove(&key.to_ascii_lowercase()) else { return Ok(T::default()) };
        let value: Option<T> = serde_json::from_value(value).map_err(|error| E::custom(format!("{key}: {error}")))?;
        Ok(value.unwrap_or_default())
    }
}

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let fields: Option<BTreeMap<String, Value>> = Option::deserialize(deserializer)?;
        let lower = |(key, value): (String, Value)| (key.to_ascii_lowercase(), value);
        Ok(Self(fields.unwrap_or_default().into_iter().map(lower).collect()))
    }
}

/// Reads a struct from [`Fields`]: each field of it from the key that is named.
macro_rules! from_fields {
    ($of:ty, $($field:ident = $key:literal),+) => {
        impl<'de> Deserialize<'de> for $of {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let mut all = $crate::wire::Fields::deserialize(deserializer)?;
                Ok(Self { $($field: all.take($key)?,)+ })
            }
        }
    };
}
#[cfg(feature = "server")]
pub(crate) use from_fields;

/// A text that is `null` is an empty one.
fn empty(text: Option<String>) -> String {
    text.unwrap_or_default()
}

impl<'de> Deserialize<'de> for Endpoint {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut fields = Fields::deserialize(deserializer)?;
        let name: String = fields.take("dnsName")?;
        let named = |error: D::Error| de::Error::custom(format!("endpoint {name:?}: {error}"));
        let labels: BTreeMap<String, Option<String>> = fields.take("labels").map_err(named)?;
        Ok(Self {
            targets: fields.take::<Vec<Option<String>>, _>("targets").map_err(named)?.into_iter().map(empty).collect(),
            rtype: fields.take("recordType").map_err(named)?,
            set_id: fields.take("setIdentifier").map_err(named)?,
            ttl: fields.take::<i64, _>("recordTTL").map_err(named)?.max(0),
            labels: labels.into_iter().map(|(key, value)| (key, empty(value))).collect(),
            properties: fields.take("providerSpecific").map_err(named)?,
            name,
        })
    }
}

from_fields!(Property, name = "name", value = "value");

impl<'de> Deserialize<'de> for Filter {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut fields = Fields::deserialize(deserializer)?;
        Ok(Self {
            include: fields.take("include")?,
            exclude: fields.take("exclude")?,
            regex_include: fields.take("regexInclude")?,
            regex_exclude: fields.take("regexExclude")?,
            outdated: fields.0.contains_key("filters"),
        })
    }
}

impl<'de> Deserialize<'de> for List {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Some(elements) = Option::<Vec<Option<Endpoint>>>::deserialize(deserializer)? else {
            return Ok(Self { is_null: true, ..Self::default() });
        };
        let nulls = elements.iter().filter(|element| element.is_none()).count();
        Ok(Self { endpoints: elements.into_iter().flatten().collect(), is_null: false, nulls })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(json: &str) -> Result<Endpoint, String> {
        read(json.as_bytes()).map_err(|error| error.to_string())
    }

    fn written(json: &str) -> String {
        serde_json::to_string(&endpoint(json).unwrap()).unwrap()
    }

    #[test]
    fn keys_in_any_case_and_empty_values() {
        let full = r#"{"dnsName":"a.b","targets":["1.2.3.4"],"recordType":"A","setIdentifier":"x","recordTTL":60,"labels":{"owner":"me"},"providerSpecific":[{"name":"webhook/foo","value":"bar"}]}"#;
        for (json, expected) in [
            (full, full),
            (r#"{"DNSName":"x","Targets":["1"],"recordttl":5}"#, r#"{"dnsName":"x","targets":["1"],"recordTTL":5}"#),
            (
                r#"{"dnsName":"x","targets":null,"labels":null,"providerSpecific":null,"recordTTL":null}"#,
                r#"{"dnsName":"x"}"#,
            ),
            (r#"{"dnsName":"x","recordTTL":-1,"unknown":{"a":[1]}}"#, r#"{"dnsName":"x"}"#),
            (
                r#"{"dnsName":"x","providerSpecific":[{"Name":"n"},null]}"#,
                r#"{"dnsName":"x","providerSpecific":[{"name":"n","value":""},{"name":"","value":""}]}"#,
            ),
            (
                r#"{"dnsName":"x","targets":["1",null],"labels":{"owner":null}}"#,
                r#"{"dnsName":"x","targets":["1",""],"labels":{"owner":""}}"#,
            ),
            ("{}", "{}"),
        ] {
            assert_eq!(written(json), expected, "{json}");
        }
    }

    #[test]
    fn other_shapes_are_errors_that_say_where() {
        for (json, part) in [
            (r#"{"dnsName":"x","targets":"1.2.3.4"}"#, "endpoint \"x\": targets"),
            (r#"{"dnsName":"x","providerSpecific":{"a":"b"}}"#, "endpoint \"x\": providerSpecific"),
            (r#"{"dnsName":"x","recordTTL":"60"}"#, "endpoint \"x\": recordTTL"),
            (r#"{"dnsName":7}"#, "dnsName"),
            (r#"{"dnsName":"x"} {}"#, "trailing"),
            (r#"{"dnsName":"x"#, "EOF"),
            ("[]", "expected a map"),
            ("<html>", "expected value"),
        ] {
            let error = endpoint(json).expect_err(json);
            assert!(error.contains(part), "{json}: {error}");
        }
    }

    #[test]
    fn lists() {
        let list = |json: &str| read::<List>(json.as_bytes()).map(|l| (l.endpoints.len(), l.is_null, l.nulls));
        assert_eq!(list("[]").unwrap(), (0, false, 0));
        assert_eq!(list("null\n").unwrap(), (0, true, 0));
        assert_eq!(list(r#"[{"dnsName":"a"},null]"#).unwrap(), (1, false, 1));
        for json in ["", "{}", r#"{"items":[]}"#, r#"[{"dnsName":"a"},"#, "[] []", "[7]"] {
            assert!(list(json).is_err(), "{json}");
        }
    }

    #[test]
    fn changes_leave_empty_lists_out() {
        let one = Endpoint { name: "a".to_owned(), ..Endpoint::default() };
        let changes = Changes { update_old: vec![one.clone()], update_new: vec![one], ..Changes::default() };
        let json = serde_json::to_string(&changes).unwrap();
        assert_eq!(json, r#"{"updateOld":[{"dnsName":"a"}],"updateNew":[{"dnsName":"a"}]}"#);
    }

    #[test]
    fn filters_are_written_without_what_is_empty() {
        let list = |text: &str| vec![text.to_owned()];
        let lists = Filter { include: list("a"), exclude: list("b.a"), ..Filter::default() };
        let expressions = Filter { regex_include: "x$".to_owned(), regex_exclude: "y".to_owned(), ..Filter::default() };
        for (filter, expected) in [
            (Filter { outdated: true, ..Filter::default() }, "{}"),
            (lists, r#"{"include":["a"],"exclude":["b.a"]}"#),
            (expressions, r#"{"regexInclude":"x$","regexExclude":"y"}"#),
        ] {
            assert_eq!(serde_json::to_string(&filter).unwrap(), expected);
        }
    }

    #[test]
    fn filters() {
        let filter = |json: &str| read::<Filter>(json.as_bytes());
        assert_eq!(filter("null").unwrap(), Filter::default());
        assert_eq!(filter(r#"{"Include":["a"],"exclude":null}"#).unwrap().include, ["a"]);
        assert_eq!(filter(r#"{"regexinclude":"x"}"#).unwrap().regex_include, "x");
        assert!(filter(r#"{"filters":["a"]}"#).unwrap().outdated);
        assert!(filter(r#"["a"]"#).is_err());
    }
}
