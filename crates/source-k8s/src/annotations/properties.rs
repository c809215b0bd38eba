//! Provider-specific properties that annotations state, as text: what they mean is for the provider's table to say.

use std::sync::Arc;

use zonewright_core::options::Properties;

use super::Annotations;

/// Beginnings of keys that become `<word>/<rest>`.
const FAMILIES: [(&str, &str); 5] = [
    ("aws-", "aws/"),
    ("scw-", "scw/"),
    ("coredns-", "coredns/"),
    // External-dns has no such properties; these are the names under which they were proposed there.
    ("google-", "google/"),
    ("webhook-", "webhook/"),
];

const CLOUDFLARE: &str = "cloudflare-";

/// What distinguishes Cloudflare's settings, in the order in which it is looked for anywhere in the key.
const CLOUDFLARE_SETTINGS: [&str; 5] = ["custom-hostname", "proxied", "region-key", "record-comment", "tags"];

/// The properties of an object, and a sentence for each annotation that looks like one and is none.
///
/// Cloudflare's keep their whole annotation key as name, under the first prefix in force.
pub fn properties(annotations: &Annotations<'_>) -> (Properties, Vec<String>) {
    let mut properties = Properties::new();
    let mut problems = Vec::new();
    for prefix in annotations.prefixes.iter() {
        // Of one key under several prefixes the first in force counts, and of several keys for one property too.
        for (key, annotation) in annotations.under(prefix).filter(|(key, a)| annotations.find(key) == Some(*a)) {
            match property(annotations.prefixes.first(), key, annotation.value) {
                Ok(Some(name)) => _ = properties.entry(name).or_insert_with(|| Arc::from(annotation.value)),
                Ok(None) => {}
                Err(expected) => problems.push(format!("{}={:?}: {expected}", annotation.key, annotation.value)),
            }
        }
    }
    (properties, problems)
}

/// Whether a key (without prefix) stands for a property, whatever its value.
pub(crate) fn is_property(key: &str) -> bool {
    !matches!(property("", key, ""), Ok(None))
}

/// The property that a key (without prefix) stands for.
fn property(first_prefix: &str, key: &str, value: &str) -> Result<Option<Arc<str>>, String> {
    if let Some((beginning, word)) = FAMILIES.iter().find(|(beginning, _)| key.starts_with(beginning)) {
        return Ok(Some(Arc::from(format!("{word}{}", &key[beginning.len()..]))));
    }
    if key.starts_with(CLOUDFLARE) {
        let setting = CLOUDFLARE_SETTINGS.into_iter().find(|setting| key.contains(setting));
        return setting.map(|setting| Some(Arc::from(format!("{first_prefix}{CLOUDFLARE}{setting}")))).ok_or_else(
            || format!("there is no such setting; known after {CLOUDFLARE} are {}", CLOUDFLARE_SETTINGS.join(", ")),
        );
    }
    match (key, value) {
        ("azure-tags", _) => Ok(Some(Arc::from("azure/tags"))),
        ("record-type", _) => Ok(Some(Arc::from("record-type"))),
        ("alias", "true") => Ok(Some(Arc::from("alias"))),
        ("alias", "false") => Ok(None),
        ("alias", _) => Err("expected `true` or `false`".to_owned()),
        _ => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::annotations::Prefixes;
    use crate::objects::TextMap;

    fn read(prefixes: &[&str], pairs: &[(&'static str, &'static str)]) -> (Vec<String>, Vec<String>) {
        let prefixes = Prefixes::parse(prefixes).unwrap();
        let all: TextMap = pairs.iter().copied().collect();
        let (properties, problems) = properties(&Annotations::new(&prefixes, &all));
        (properties.iter().map(|(name, value)| format!("{name}={value}")).collect(), problems)
    }

    #[test]
    fn names() {
        for (pair, expected) in [
            (("p/aws-weight", "10"), &["aws/weight=10"][..]),
            (("p/aws-", "x"), &["aws/=x"]),
            (("p/scw-a", "1"), &["scw/a=1"]),
            (("p/coredns-group", "g1"), &["coredns/group=g1"]),
            (("p/google-weight", "10"), &["google/weight=10"]),
            (("p/webhook-x/y", "1"), &["webhook/x/y=1"]),
            (("p/azure-tags", "a=b, c=d"), &["azure/tags=a=b, c=d"]),
            (("p/azure-tags-x", "1"), &[]),
            (("p/record-type", ""), &["record-type="]),
            (("p/record-type", "ptr"), &["record-type=ptr"]),
            (("p/alias", "true"), &["alias=true"]),
            (("p/alias", "false"), &[]),
            (("p/set-identifier", "a"), &[]),
            (("p/hostname", "a"), &[]),
            (("p/cloudflare-proxied", "false"), &["p/cloudflare-proxied=false"]),
            (("p/cloudflare-proxied-x", "true"), &["p/cloudflare-proxied=true"]),
            (("p/cloudflare-custom-hostname", "a"), &["p/cloudflare-custom-hostname=a"]),
            (("p/cloudflare-region-key", "eu"), &["p/cloudflare-region-key=eu"]),
            (("p/cloudflare-record-comment", "c"), &["p/cloudflare-record-comment=c"]),
            (("p/cloudflare-tags", "t"), &["p/cloudflare-tags=t"]),
            (("other/aws-weight", "10"), &[]),
        ] {
            let (found, problems) = read(&["p/"], &[pair]);
            assert_eq!(found, expected, "{pair:?}");
            assert!(problems.is_empty(), "{problems:?}");
        }
    }

    #[test]
    fn what_looks_like_a_property_and_is_none_is_reported() {
        for (pair, key, expected) in [
            (("p/alias", "True"), "p/alias=\"True\"", "expected `true` or `false`"),
            (("p/alias", "AAAA"), "p/alias=\"AAAA\"", "expected `true` or `false`"),
            (("p/cloudflare-proxy", "true"), "p/cloudflare-proxy=\"true\"", "proxied"),
        ] {
            let (found, problems) = read(&["p/"], &[pair]);
            assert!(found.is_empty(), "{found:?}");
            assert!(problems[0].starts_with(key) && problems[0].contains(expected), "{problems:?}");
        }
    }

    #[test]
    fn a_fall_back_prefix_adds_but_does_not_override() {
        let pairs = [
            ("p/aws-weight", "1"),
            ("q/aws-weight", "2"),
            ("q/aws-region", "eu"),
            ("q/cloudflare-proxied", "true"),
            ("p/alias", "false"),
            ("q/alias", "true"),
        ];
        let (found, _) = read(&["p/", "q/"], &pairs);
        assert_eq!(found, ["aws/region=eu", "aws/weight=1", "p/cloudflare-proxied=true"]);
    }
}
