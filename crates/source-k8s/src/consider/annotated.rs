//! Which annotations of an object are read, and which look as if they should be.

use zonewright_core::choice::CHOICE;
use zonewright_core::explain::{Cause, UnreadAnnotation, nearest};

use crate::annotations::{self, ALPHA_PREFIX, DEFAULT_PREFIX, is_property};
use crate::objects::TextMap;
use crate::options::SourceOptions;

/// Every key that a mapper reads behind a prefix.
const KEYS: &[&str] = &[
    annotations::HOSTNAME,
    annotations::INTERNAL_HOSTNAME,
    annotations::TARGET,
    annotations::TTL,
    annotations::CONTROLLER,
    annotations::ACCESS,
    annotations::ENDPOINTS_TYPE,
    annotations::INGRESS_HOSTNAME_SOURCE,
    annotations::SET_IDENTIFIER,
    annotations::INGRESS,
    annotations::GATEWAY_HOSTNAME_SOURCE,
    "alias",
    "record-type",
    "azure-tags",
];

/// Keys that are read whatever the prefix.
const PLAIN: &[&str] = &[annotations::POLICY, CHOICE];

/// The prefix of our own keys.
const OWN: &str = "zonewright.dev/";

/// What is known of one annotation.
enum AnnotationUse {
    Read,
    Unread(Cause, String),
    /// It is none of ours.
    Foreign,
}

fn judge(key: &str, options: &SourceOptions) -> AnnotationUse {
    let prefixes = &options.annotation_prefixes;
    let filters = options.annotation_filter.keys().any(|filtered| filtered == key);
    if filters || PLAIN.contains(&key) || annotations::is_compatible(key) {
        return AnnotationUse::Read;
    }
    if let Some(rest) = prefixes.iter().find_map(|prefix| key.strip_prefix(prefix)) {
        let prefix = key.strip_suffix(rest).unwrap_or_default();
        let meant = || format!("{prefix}{}", nearest(rest, KEYS.iter().copied()).unwrap_or(annotations::HOSTNAME));
        return if KEYS.contains(&rest) || is_property(rest) {
            AnnotationUse::Read
        } else {
            AnnotationUse::Unread(Cause::MisspeltAnnotation, meant())
        };
    }
    if let Some(prefix) = [DEFAULT_PREFIX, ALPHA_PREFIX].into_iter().find(|prefix| key.starts_with(prefix)) {
        return AnnotationUse::Unread(Cause::OtherPrefix, prefix.to_owned());
    }
    if key.starts_with(OWN) {
        return match nearest(key, PLAIN.iter().copied()) {
            Some(meant) => AnnotationUse::Unread(Cause::MisspeltAnnotation, meant.to_owned()),
            None => AnnotationUse::Foreign,
        };
    }
    // A prefix that was written from memory.
    match key.rsplit_once('/') {
        Some((prefix, rest))
            if annotations::looks_like_prefix(prefix) && nearest(rest, KEYS.iter().copied()).is_some() =>
        {
            let rest = nearest(rest, KEYS.iter().copied()).unwrap_or(annotations::HOSTNAME);
            AnnotationUse::Unread(Cause::MisspeltAnnotation, format!("{}{rest}", prefixes.first()))
        }
        _ => AnnotationUse::Foreign,
    }
}

/// The annotations that are read, as `KEY=VALUE`.
pub(super) fn read(all: &TextMap, options: &SourceOptions) -> Vec<String> {
    let read = all.iter().filter(|(key, _)| matches!(judge(key, options), AnnotationUse::Read));
    read.map(|(key, value)| format!("{key}={value}")).collect()
}

/// The annotations that nothing reads, though they look as if they were meant.
pub(super) fn unread(all: &TextMap, options: &SourceOptions) -> Vec<UnreadAnnotation> {
    let unread = |(key, value): (&str, &str)| match judge(key, options) {
        AnnotationUse::Unread(cause, expected) => {
            Some(UnreadAnnotation { key: key.to_owned(), value: value.to_owned(), cause, expected })
        }
        AnnotationUse::Read | AnnotationUse::Foreign => None,
    };
    all.iter().filter_map(unread).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_and_what_was_meant() {
        let options = SourceOptions::default();
        for (key, expected) in [
            ("external-dns.kubernetes.io/hostname", "read"),
            ("external-dns.kubernetes.io/aws-weight", "read"),
            ("external-dns.kubernetes.io/hostnames", "external-dns.kubernetes.io/hostname"),
            ("external-dns.kubernetes.io/tll", "external-dns.kubernetes.io/ttl"),
            ("external-dns.alpha.kubernetes.io/hostname", "external-dns.alpha.kubernetes.io/"),
            ("externaldns.kubernetes.io/hostname", "external-dns.kubernetes.io/hostname"),
            ("external-dns.io/host-name", "external-dns.kubernetes.io/hostname"),
            ("zonewright.dev/policy", "read"),
            ("zonewright.dev/polcy", "zonewright.dev/policy"),
            ("kubernetes.io/ingress.class", "read"),
            ("example.com/owner", "foreign"),
        ] {
            let found = match judge(key, &options) {
                AnnotationUse::Read => "read".to_owned(),
                AnnotationUse::Foreign => "foreign".to_owned(),
                AnnotationUse::Unread(_, expected) => expected,
            };
            assert_eq!(found, expected, "{key}");
        }
    }
}
