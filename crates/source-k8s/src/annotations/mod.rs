//! Annotations: the prefix in force, the keys behind it, and the grammar of their values.
//!
//! In come the annotations of an object, out go typed values and, for what does not parse, a sentence. What must hold:
//! exactly one prefix is in force unless the user asked for a fall-back, and nothing outside this module joins a prefix
//! and a key.

mod prefixes;
mod properties;
mod values;

use std::collections::BTreeSet;

pub use prefixes::{ALPHA_PREFIX, DEFAULT_PREFIX, Prefixes};
pub(crate) use properties::is_property;
pub use properties::properties;
pub use values::{Elements, elements, ttl};

use crate::objects::TextMap;

/// DNS names to create.
pub const HOSTNAME: &str = "hostname";
/// DNS names that point to an internal address.
pub const INTERNAL_HOSTNAME: &str = "internal-hostname";
/// Targets instead of those that the object states.
pub const TARGET: &str = "target";
/// TTL of the records.
pub const TTL: &str = "ttl";
/// Who shall handle the object.
pub const CONTROLLER: &str = "controller";
/// Which node addresses a NodePort service publishes.
pub const ACCESS: &str = "access";
/// Which addresses a headless service publishes.
pub const ENDPOINTS_TYPE: &str = "endpoints-type";
/// Where the names of an Ingress come from.
pub const INGRESS_HOSTNAME_SOURCE: &str = "ingress-hostname-source";
/// Distinguishes record sets of one name and type.
pub const SET_IDENTIFIER: &str = "set-identifier";

/// The value of [`CONTROLLER`] that means us.
pub const CONTROLLER_VALUE: &str = "dns-controller";
/// What the object allows to be done with its names; the same whatever the prefix.
pub const POLICY: &str = "zonewright.dev/policy";
/// The class of an Ingress, before `spec.ingressClassName` was there.
pub const INGRESS_CLASS: &str = "kubernetes.io/ingress.class";

/// The Ingress that an Istio or Gloo gateway stands behind.
pub const INGRESS: &str = "ingress";
/// The Service in front of an Ambassador Host; no prefix.
pub const AMBASSADOR_SERVICE: &str = "external-dns.ambassador-service";

/// Where the names of a Gateway API route come from.
pub const GATEWAY_HOSTNAME_SOURCE: &str = "gateway-hostname-source";

/// The name of a Service, as mate reads it; no prefix.
pub const MATE_NAME: &str = "zalando.org/dnsname";
/// The names of a Service, as molecule reads them; no prefix.
pub const MOLECULE_NAMES: &str = "domainName";
/// Names at external addresses, as kops' dns-controller reads them; no prefix.
pub const KOPS_EXTERNAL: &str = "dns.alpha.kubernetes.io/external";
/// Names at internal addresses, as kops' dns-controller reads them; no prefix.
pub const KOPS_INTERNAL: &str = "dns.alpha.kubernetes.io/internal";

/// The external address of a Node whose status has none, as kops' dns-controller planned to read it; no prefix.
pub const KOPS_EXTERNAL_IP: &str = "dns.alpha.kubernetes.io/external-ip";

/// Keys that the compatibility modes read.
const COMPATIBILITY: [&str; 5] = [MATE_NAME, MOLECULE_NAMES, KOPS_EXTERNAL, KOPS_INTERNAL, KOPS_EXTERNAL_IP];

/// Whether a key is read without any prefix.
pub(crate) fn is_compatible(key: &str) -> bool {
    COMPATIBILITY.contains(&key) || matches!(key, INGRESS_CLASS | AMBASSADOR_SERVICE)
}

/// Whether what stands before the slash of a key may have been meant as the prefix.
pub(crate) fn looks_like_prefix(prefix: &str) -> bool {
    ["external-dns", "externaldns", "external_dns"].iter().any(|word| prefix.contains(word))
}

/// An annotation that is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Annotation<'a> {
    /// Its whole key.
    pub key: &'a str,
    /// Its value.
    pub value: &'a str,
}

/// The annotations of one object under the prefixes in force.
#[derive(Debug, Clone, Copy)]
pub struct Annotations<'a> {
    prefixes: &'a Prefixes,
    all: &'a TextMap,
}

impl<'a> Annotations<'a> {
    /// A view of `all`.
    pub fn new(prefixes: &'a Prefixes, all: &'a TextMap) -> Self {
        Self { prefixes, all }
    }

    /// The annotation of a key (without prefix), under the first prefix that has it.
    pub fn find(&self, key: &str) -> Option<Annotation<'a>> {
        self.prefixes
            .iter()
            .find_map(|prefix| self.under(prefix).find(|(rest, _)| *rest == key).map(|(_, found)| found))
    }

    /// The value of a key without any prefix.
    pub fn plain(&self, key: &str) -> Option<&'a str> {
        self.all.get(key)
    }

    /// What is written under one prefix: the key behind it, and the annotation.
    fn under(&self, prefix: &'a str) -> impl Iterator<Item = (&'a str, Annotation<'a>)> + use<'a> {
        self.all.iter().filter_map(move |(key, value)| Some((key.strip_prefix(prefix)?, Annotation { key, value })))
    }

    /// The well-known prefix that the object was written for, if that one is not in force and none of those that are
    /// occurs. Where only prefixes of the user's own are in force, others belong to other instances.
    pub fn other_prefix(&self) -> Option<&'static str> {
        let other = self.prefixes.other_known()?;
        (carries(self.all, other) && !self.prefixes.iter().any(|prefix| carries(self.all, prefix))).then_some(other)
    }
}

/// Whether any annotation begins with `prefix`.
pub(crate) fn carries(all: &TextMap, prefix: &str) -> bool {
    all.iter().any(|(key, _)| key.starts_with(prefix))
}

/// Which annotations are worth keeping in memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnnotationFilterKeys {
    prefixes: Vec<Box<str>>,
    keys: BTreeSet<Box<str>>,
}

impl AnnotationFilterKeys {
    /// Keeps what begins with one of `prefixes` or a well-known one, or looks like one that was misspelt, what a mapper reads
    /// without a prefix, and `keys`, which filters read.
    pub fn new<'a>(prefixes: impl IntoIterator<Item = &'a str>, keys: impl IntoIterator<Item = &'a str>) -> Self {
        let known = [DEFAULT_PREFIX, ALPHA_PREFIX, "zonewright.dev/"];
        let plain = COMPATIBILITY.into_iter().chain([INGRESS_CLASS, AMBASSADOR_SERVICE]);
        Self {
            prefixes: prefixes.into_iter().chain(known).map(Box::from).collect(),
            keys: keys.into_iter().chain(plain).map(Box::from).collect(),
        }
    }

    /// Whether an annotation of this key is kept.
    pub fn keeps(&self, key: &str) -> bool {
        self.keys.contains(key)
            || self.prefixes.iter().any(|prefix| key.starts_with(&**prefix))
            || key.split_once('/').is_some_and(|(prefix, _)| looks_like_prefix(prefix))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prefixes(list: &[&str]) -> Prefixes {
        Prefixes::parse(list).unwrap()
    }

    fn map(pairs: &[(&'static str, &'static str)]) -> TextMap {
        pairs.iter().copied().collect()
    }

    #[test]
    fn the_first_prefix_that_has_the_key_wins() {
        let all = map(&[("new.example/ttl", "1"), ("old.example/ttl", "2"), ("old.example/target", "t")]);
        for (list, key, expected) in [
            (&["new.example/"][..], TTL, Some(("new.example/ttl", "1"))),
            (&["new.example/"], TARGET, None),
            (&["new.example/", "old.example/"], TTL, Some(("new.example/ttl", "1"))),
            (&["old.example/", "new.example/"], TTL, Some(("old.example/ttl", "2"))),
            (&["new.example/", "old.example/"], TARGET, Some(("old.example/target", "t"))),
            (&["new.example/"], "tt", None),
        ] {
            let list = prefixes(list);
            let found = Annotations::new(&list, &all).find(key).map(|a| (a.key, a.value));
            assert_eq!(found, expected, "{list:?} {key}");
        }
    }

    #[test]
    fn objects_written_for_another_prefix() {
        let alpha = &[("external-dns.alpha.kubernetes.io/hostname", "a")][..];
        let both = &[("external-dns.alpha.kubernetes.io/hostname", "a"), ("external-dns.kubernetes.io/ttl", "1")][..];
        for (list, pairs, expected) in [
            (&[DEFAULT_PREFIX][..], alpha, Some(ALPHA_PREFIX)),
            (&[DEFAULT_PREFIX], both, None),
            (&[DEFAULT_PREFIX], &[], None),
            (&[DEFAULT_PREFIX, ALPHA_PREFIX], alpha, None),
            (&[ALPHA_PREFIX], alpha, None),
            (&[ALPHA_PREFIX], &[("external-dns.kubernetes.io/ttl", "1")], Some(DEFAULT_PREFIX)),
            (&["split.example/"], alpha, None),
        ] {
            let list = prefixes(list);
            assert_eq!(Annotations::new(&list, &map(pairs)).other_prefix(), expected, "{list:?} {pairs:?}");
        }
    }

    #[test]
    fn what_is_kept() {
        let keep = AnnotationFilterKeys::new(["split.example/"], ["tier"]);
        for (key, kept) in [
            ("split.example/hostname", true),
            ("external-dns.kubernetes.io/ttl", true),
            ("external-dns.alpha.kubernetes.io/ttl", true),
            ("zonewright.dev/policy", true),
            ("tier", true),
            ("kubernetes.io/ingress.class", true),
            ("zalando.org/dnsname", true),
            ("domainName", true),
            ("external-dns.ambassador-service", true),
            ("dns.alpha.kubernetes.io/internal", true),
            ("kubectl.kubernetes.io/last-applied-configuration", false),
            ("tiers", false),
        ] {
            assert_eq!(keep.keeps(key), kept, "{key}");
        }
    }
}
