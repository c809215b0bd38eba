//! Provider-specific settings of a record set: declared in a table, parsed once, reported when they are wrong.

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
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A text, as the provider reads it.
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
        /// The smallest value that is taken.
        min: i64,
        /// The largest value that is taken.
        max: i64,
    },
    /// One of the listed words.
    Choice(&'static [&'static str]),
    /// Any text; the provider checks it.
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
    /// What it does, as the provider's page shows it: one sentence.
    pub doc: &'static str,
}

/// Every option that a provider knows.
///
/// ```
/// use zonewright_core::options::{OptionKind, OptionReader, OptionSpec, OptionTable};
///
/// const TABLE: OptionTable = OptionTable {
///     annotations: &[OptionSpec { key: "cloud-proxied", kind: OptionKind::Bool, default: "false", doc: "Proxy." }],
///     ..OptionTable::NONE
/// };
/// let reader = OptionReader::new(TABLE, ["dns.example.com/".into()]);
/// let stated = [("dns.example.com/cloud-proxied".into(), "true".into())].into();
/// let (options, problems) = reader.parse(&stated);
/// assert_eq!(options.get("cloud-proxied").map(ToString::to_string).as_deref(), Some("true"));
/// assert!(problems.is_empty());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OptionTable {
    /// The options whose key an object states as it is, e.g. `aws/weight`.
    pub specs: &'static [OptionSpec],
    /// Those that are annotations themselves: an object states them behind an annotation prefix that is in force. Their key here
    /// is what follows the prefix, and so it stands in [`Options`].
    pub annotations: &'static [OptionSpec],
    /// Keys without `/`, and keys that begin with this prefix, are passed on as text (the webhook protocol).
    pub open_prefix: Option<&'static str>,
}

impl OptionTable {
    /// A provider without options.
    pub const NONE: Self = Self { specs: &[], annotations: &[], open_prefix: None };
}

/// A table, and the annotation prefixes that are in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OptionReader {
    table: OptionTable,
    prefixes: Arc<[Arc<str>]>,
}

impl From<OptionTable> for OptionReader {
    /// Without any prefix.
    fn from(table: OptionTable) -> Self {
        Self::new(table, [])
    }
}

impl OptionReader {
    /// A reader; each of the prefixes ends with a slash, and an earlier one goes before a later one.
    pub fn new(table: OptionTable, prefixes: impl IntoIterator<Item = Arc<str>>) -> Self {
        Self { table, prefixes: prefixes.into_iter().collect() }
    }

    /// Whether keys are passed on that no table knows.
    pub fn is_open(&self) -> bool {
        self.table.open_prefix.is_some()
    }

    /// Parses an object's properties. Returns the options, and a sentence for each key that is meant for this provider
    /// (by its prefix) and wrong. Keys of other providers are left alone: one object may feed several.
    pub fn parse(&self, properties: &Properties) -> (Options, Vec<String>) {
        let (mut options, mut problems) = (Options::default(), Vec::new());
        for (key, text) in properties {
            if let Some(spec) = self.spec(key) {
                // Where an object states an annotation under two prefixes, the first of them counts.
                let first = || {
                    self.prefixes
                        .iter()
                        .map(|prefix| format!("{prefix}{}", spec.key))
                        .find(|k| properties.contains_key(&**k))
                };
                if *spec.key != **key && first().is_some_and(|first| first != **key) {
                    continue;
                }
                match spec.kind.parse(text) {
                    Ok(value) => options.set(spec.key, value),
                    Err(expected) => problems.push(format!("option {key}={text:?}: {expected}")),
                }
            } else if self.table.open_prefix.is_some_and(|prefix| !key.contains('/') || key.starts_with(prefix)) {
                options.set(key, OptionValue::Text(text.clone()));
            } else if let Some(known) = self.alike(key) {
                problems.push(format!("option {key} is unknown; known are {}", known.join(", ")));
            }
        }
        (options, problems)
    }

    /// What follows an annotation prefix that is in force.
    fn annotation<'k>(&self, key: &'k str) -> Option<&'k str> {
        self.prefixes.iter().find_map(|prefix| key.strip_prefix(&**prefix))
    }

    fn spec(&self, key: &str) -> Option<&'static OptionSpec> {
        let annotation = self.annotation(key);
        let stated = self.table.specs.iter().find(|spec| spec.key == key);
        stated.or_else(|| self.table.annotations.iter().find(|spec| Some(spec.key) == annotation))
    }

    /// The options of this table that begin as the key does: up to `/`, an annotation up to `-`.
    fn alike(&self, key: &str) -> Option<Vec<&'static str>> {
        let (specs, key, end) = match self.annotation(key) {
            Some(annotation) => (self.table.annotations, annotation, '-'),
            None => (self.table.specs, key, '/'),
        };
        let stem = |key: &str| key.split_once(end).map(|(stem, _)| stem.to_owned());
        let asked = stem(key)?;
        let known: Vec<&'static str> = specs.iter().map(|spec| spec.key).collect();
        known.iter().any(|known| stem(known).as_ref() == Some(&asked)).then_some(known)
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
        annotations: &[OptionSpec { key: "cloud-proxied", kind: OptionKind::Bool, default: "false", doc: "Proxy." }],
        open_prefix: None,
    };

    fn parse(table: OptionTable, pairs: &[(&str, &str)]) -> (Vec<String>, Vec<String>) {
        let properties = pairs.iter().map(|(k, v)| (Arc::from(*k), Arc::from(*v))).collect();
        let (options, problems) = OptionReader::new(table, ["p/".into(), "q/".into()]).parse(&properties);
        (options.iter().map(|(k, v)| format!("{k}={v}")).collect(), problems)
    }

    #[test]
    fn good_values_are_typed_and_bad_ones_reported() {
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
        let open = OptionTable { open_prefix: Some("webhook/"), ..OptionTable::NONE };
        let (options, problems) = parse(open, &[("webhook/a", "1"), ("alias", "true"), ("aws/weight", "1")]);
        assert_eq!(options, ["alias=true", "webhook/a=1"]);
        assert!(problems.is_empty());
    }

    #[test]
    fn annotations_are_known_under_the_prefixes_in_force() {
        let one = |pairs: &[(&str, &str)]| parse(TABLE, pairs);
        assert_eq!(one(&[("p/cloud-proxied", "true")]).0, ["cloud-proxied=true"]);
        assert_eq!(one(&[("q/cloud-proxied", "true"), ("p/cloud-proxied", "false")]).0, ["cloud-proxied=false"]);
        assert_eq!(one(&[("r/cloud-proxied", "true"), ("cloud-proxied", "true")]), (vec![], vec![]));
        let (options, problems) = one(&[("p/cloud-proxid", "true"), ("p/hostname", "x")]);
        assert!(options.is_empty() && problems.len() == 1 && problems[0].contains("cloud-proxied"), "{problems:?}");
    }
}
