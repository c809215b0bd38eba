//! Provider-specific settings of a record set: declared in a table, parsed once, told when they are wrong.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// Provider-specific properties as an object states them: key to text, e.g. `aws/weight` to `10`.
pub type Properties = BTreeMap<Arc<str>, Arc<str>>;

/// Before the key of a label of external-dns (`label/resource`), where a provider with an open table is asked to adjust a
/// set. Labels are no content: they are taken off again.
pub const LABEL_PREFIX: &str = "label/";

/// Parsed settings of one record set. A provider reads back every option that it declares, else it could not be compared.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Options(BTreeMap<Arc<str>, OptionValue>);

impl Options {
    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&OptionValue> {
        self.0.get(key)
    }

    /// Sets a key.
    pub fn set(&mut self, key: &str, value: OptionValue) {
        self.0.insert(Arc::from(key), value);
    }

    /// Takes a key out.
    pub fn remove(&mut self, key: &str) -> Option<OptionValue> {
        self.0.remove(key)
    }

    /// Takes off the labels.
    pub fn drop_labels(&mut self) {
        self.0.retain(|key, _| !key.starts_with(LABEL_PREFIX));
    }

    /// All keys and values in the order of the keys.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &OptionValue)> {
        self.0.iter().map(|(k, v)| (&**k, v))
    }

    /// Whether nothing is set.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// A parsed setting.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum OptionValue {
    /// A switch.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// Text.
    Text(Arc<str>),
}

impl fmt::Display for OptionValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(b) => write!(f, "{b}"),
            Self::Int(n) => write!(f, "{n}"),
            Self::Text(text) => f.write_str(text),
        }
    }
}

/// The type of an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OptionKind {
    /// `true` or `false`.
    Bool,
    /// A whole number within bounds.
    Int {
        /// Smallest value.
        min: i64,
        /// Largest value.
        max: i64,
    },
    /// One of the listed words.
    Choice(&'static [&'static str]),
    /// Any text.
    Text,
}

impl OptionKind {
    fn parse(self, text: &str) -> Result<OptionValue, String> {
        match self {
            Self::Bool => text.parse().map(OptionValue::Bool).map_err(|_| "expected `true` or `false`".to_owned()),
            Self::Int { min, max } => match text.parse() {
                Ok(n) if (min..=max).contains(&n) => Ok(OptionValue::Int(n)),
                _ => Err(format!("expected a whole number from {min} to {max}")),
            },
            Self::Choice(words) if words.contains(&text) => Ok(OptionValue::Text(Arc::from(text))),
            Self::Choice(words) => Err(format!("expected one of {}", words.join(", "))),
            Self::Text => Ok(OptionValue::Text(Arc::from(text))),
        }
    }
}

/// One option that a provider knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OptionSpec {
    /// Property name, e.g. `aws/weight`.
    pub key: &'static str,
    /// Type of the value.
    pub kind: OptionKind,
    /// What holds where it is not set, in words.
    pub default: &'static str,
    /// One sentence.
    pub doc: &'static str,
}

/// Every option that a provider knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OptionTable {
    /// The options.
    pub specs: &'static [OptionSpec],
    /// Keys without `/`, and keys that begin with this prefix, are passed on as text (the webhook protocol).
    pub open_prefix: Option<&'static str>,
}

impl OptionTable {
    /// A provider without options.
    pub const NONE: Self = Self { specs: &[], open_prefix: None };

    /// Parses an object's properties. Returns the options, and a sentence for each key that is meant for this provider
    /// (by its prefix) and wrong. Keys of other providers are left alone: one object may feed several.
    pub fn parse(&self, properties: &Properties) -> (Options, Vec<String>) {
        let mut options = Options::default();
        let mut problems = Vec::new();
        for (key, text) in properties {
            if let Some(spec) = self.specs.iter().find(|s| s.key == &**key) {
                match spec.kind.parse(text) {
                    Ok(value) => options.set(key, value),
                    Err(expected) => problems.push(format!("option {key}={text:?}: {expected}")),
                }
            } else if self.open_prefix.is_some_and(|prefix| !key.contains('/') || key.starts_with(prefix)) {
                options.set(key, OptionValue::Text(text.clone()));
            } else if self.is_ours(key) {
                let known = self.specs.iter().map(|s| s.key).collect::<Vec<_>>().join(", ");
                problems.push(format!("option {key} is unknown; known are {known}"));
            }
        }
        (options, problems)
    }

    /// Whether a key has the prefix (up to `/`) that this table's keys have.
    fn is_ours(&self, key: &str) -> bool {
        let prefix = |key: &str| key.split_once('/').map(|(prefix, _)| prefix.to_owned());
        prefix(key).is_some_and(|p| self.specs.iter().any(|s| prefix(s.key).as_ref() == Some(&p)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: OptionTable = OptionTable {
        specs: &[
            OptionSpec { key: "x/weight", kind: OptionKind::Int { min: 0, max: 255 }, default: "0", doc: "Share." },
            OptionSpec { key: "x/proxied", kind: OptionKind::Bool, default: "false", doc: "Proxy." },
            OptionSpec { key: "x/tier", kind: OptionKind::Choice(&["a", "b"]), default: "a", doc: "Tier." },
        ],
        open_prefix: None,
    };

    fn parse(table: OptionTable, pairs: &[(&str, &str)]) -> (Vec<String>, Vec<String>) {
        let properties = pairs.iter().map(|(k, v)| (Arc::from(*k), Arc::from(*v))).collect();
        let (options, problems) = table.parse(&properties);
        (options.iter().map(|(k, v)| format!("{k}={v}")).collect(), problems)
    }

    #[test]
    fn good_values_are_typed_and_bad_ones_told() {
        let (options, problems) = parse(
            TABLE,
            &[("x/weight", "10"), ("x/proxied", "yes"), ("x/tier", "c"), ("x/wieght", "1"), ("y/other", "1")],
        );
        assert_eq!(options, ["x/weight=10"]);
        assert_eq!(problems.len(), 3, "{problems:?}");
        assert!(problems.iter().any(|p| p.contains("x/proxied") && p.contains("`true` or `false`")));
        assert!(problems.iter().any(|p| p.contains("x/wieght") && p.contains("x/weight")));
    }

    #[test]
    fn an_open_table_passes_text() {
        let open = OptionTable { specs: &[], open_prefix: Some("webhook/") };
        let (options, problems) = parse(open, &[("webhook/a", "1"), ("alias", "true"), ("aws/weight", "1")]);
        assert_eq!(options, ["alias=true", "webhook/a=1"]);
        assert!(problems.is_empty());
    }
}
