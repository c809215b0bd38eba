//! The one option of a record set: its metadata, as objects state them by the annotation `azure-tags`.
//!
//! In: `k=v, k2=v2`. Out: the same sorted, in one spelling, so that equal metadata are equal texts. What must hold: any metadata that
//! stand in a zone have a spelling, and are written back as they were.

use std::collections::BTreeMap;

use zonewright_core::options::{OptionKind, OptionSpec, OptionTable, OptionValue, Options};

/// The metadata.
pub(crate) const TAGS: &str = "azure/tags";
/// Before each key of the metadata, where a DNSEndpoint states it as external-dns keeps it.
pub(crate) const METADATA: &str = "azure/metadata-";
/// The list of these keys.
pub(crate) const KEYS: &str = "azure/metadata-keys";

/// What an object can state.
pub const OPTIONS: OptionTable = OptionTable {
    specs: &[OptionSpec {
        key: TAGS,
        kind: OptionKind::Text,
        default: "none",
        doc: "Metadata of the record set, as `team=web, env=prod`",
    }],
    ..OptionTable::NONE
};

/// Metadata by their keys.
pub(crate) type Metadata = BTreeMap<String, String>;

/// Reads a text, and what of it is no metadata.
pub(crate) fn parse(text: &str) -> (Metadata, Vec<String>) {
    if let Ok(metadata) = serde_json::from_str(text) {
        return (metadata, Vec::new());
    }
    let (mut metadata, mut left) = (Metadata::new(), Vec::new());
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        match part.split_once('=').map(|(key, value)| (key.trim(), value.trim())) {
            Some((key, value)) if !key.is_empty() && !value.is_empty() => {
                metadata.insert(key.to_owned(), value.to_owned());
            }
            _ => left.push(part.to_owned()),
        }
    }
    (metadata, left)
}

/// Metadata in their one spelling; as a JSON object where `k=v` would be read as something else.
pub(crate) fn spell(metadata: &Metadata) -> String {
    let pairs: Vec<String> = metadata.iter().map(|(key, value)| format!("{key}={value}")).collect();
    let plain = pairs.join(",");
    if parse(&plain) == (metadata.clone(), Vec::new()) { plain } else { serde_json::json!(metadata).to_string() }
}

/// The metadata of a set.
pub(crate) fn of(options: &Options) -> Metadata {
    match options.get(TAGS) {
        Some(OptionValue::Text(text)) => parse(text).0,
        _ => Metadata::new(),
    }
}

/// Metadata as the option; none at all where there are none.
pub(crate) fn options(metadata: &Metadata) -> Options {
    let mut options = Options::default();
    if !metadata.is_empty() {
        options.set(TAGS, OptionValue::Text(spell(metadata).into()));
    }
    options
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn texts() {
        for (text, expected, left) in [
            ("b=2, a=1", "a=1,b=2", vec![]),
            (" a = x=y ,", "a=x=y", vec![]),
            ("a=1,b,=2,c=", "a=1", vec!["b", "=2", "c="]),
            ("", "", vec![]),
            (r#"{"a":"1,2"}"#, r#"{"a":"1,2"}"#, vec![]),
        ] {
            let (metadata, found) = parse(text);
            assert_eq!((spell(&metadata).as_str(), found), (expected, left.into_iter().map(str::to_owned).collect()));
        }
    }

    proptest! {
        #[test]
        fn any_metadata_have_a_spelling(metadata in prop::collection::btree_map("[ -~é]{0,8}", "[ -~é]{0,8}", 0..4)) {
            prop_assert_eq!(parse(&spell(&metadata)).0, metadata.clone());
            prop_assert_eq!(of(&options(&metadata)), metadata);
        }
    }
}
