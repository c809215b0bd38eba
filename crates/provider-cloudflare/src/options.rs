//! The options of a record set, as objects state them by annotations: `cloudflare-proxied` under the prefix in force.

use std::sync::Arc;

use zonewright_core::options::{OptionKind, OptionSpec, OptionTable, OptionValue, Options};

/// Whether requests go through the service.
pub(crate) const PROXIED: &str = "cloudflare-proxied";
/// A text for people beside the record.
pub(crate) const COMMENT: &str = "cloudflare-record-comment";
/// Pairs of `name:value` beside the record, separated by commas.
pub(crate) const TAGS: &str = "cloudflare-tags";
/// Names of customers that are answered by this record's host, separated by commas.
pub(crate) const HOSTNAMES: &str = "cloudflare-custom-hostname";
/// Where requests are handled.
pub(crate) const REGION: &str = "cloudflare-region-key";
/// In what the records of one set differ from each other; read only, so that a set that another writer changed in part is put right.
pub(crate) const MIXED: &str = "cloudflare-mixed";

const fn option(key: &'static str, kind: OptionKind, default: &'static str, doc: &'static str) -> OptionSpec {
    OptionSpec { key, kind, default, doc }
}

/// What an object can state.
pub const OPTIONS: OptionTable = OptionTable {
    annotations: &[
        option(PROXIED, OptionKind::Bool, "--cloudflare-proxied", "Requests go through Cloudflare: A, AAAA and CNAME"),
        option(COMMENT, OptionKind::Text, "--cloudflare-record-comment", "Text for people beside the records"),
        option(TAGS, OptionKind::Text, "none", "Tags of the records, as `name:value`, separated by commas; paid plans"),
        option(
            HOSTNAMES,
            OptionKind::Text,
            "none",
            "Custom host names that this name is the origin of, separated by commas; with --cloudflare-custom-hostnames",
        ),
        option(
            REGION,
            OptionKind::Text,
            "--cloudflare-region-key",
            "Region in which requests are handled; with --cloudflare-regional-services",
        ),
    ],
    ..OptionTable::NONE
};

/// The text of an option; empty where there is none.
pub(crate) fn text(options: &Options, key: &str) -> String {
    options.get(key).map(ToString::to_string).unwrap_or_default()
}

/// Sets an option to a text, or takes it away where the text is empty.
pub(crate) fn set(options: &mut Options, key: &str, text: &str) {
    if text.is_empty() {
        options.remove(key);
    } else {
        options.set(key, OptionValue::Text(Arc::from(text)));
    }
}

/// The entries of a list that is separated by commas: without blanks around them, none empty, sorted, each once.
pub(crate) fn list(text: &str) -> Vec<String> {
    let mut entries: Vec<String> = text.split(',').map(|entry| entry.trim().to_owned()).collect();
    entries.retain(|entry| !entry.is_empty());
    entries.sort();
    entries.dedup();
    entries
}

/// Tags as they are compared: the case of their names does not count.
pub(crate) fn tags(tags: impl IntoIterator<Item = impl AsRef<str>>) -> Vec<String> {
    let plain = |tag: &str| match tag.split_once(':') {
        Some((name, value)) => format!("{}:{}", name.trim().to_lowercase(), value.trim()),
        None => tag.trim().to_lowercase(),
    };
    let mut tags: Vec<String> = tags.into_iter().map(|tag| plain(tag.as_ref())).filter(|tag| !tag.is_empty()).collect();
    tags.sort();
    tags.dedup();
    tags
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_have_one_spelling() {
        assert_eq!(list(" b.example , a.example,,b.example"), ["a.example", "b.example"]);
        assert_eq!(tags(list("Team:Web, env:Prod,team:Web")), ["env:Prod", "team:Web"]);
        assert!(list(" , ").is_empty());
    }
}
