//! Names of the objects. In: an owner id, which may hold anything. Out: `<owner>-registry` and, for further shards,
//! `<owner>-registry-1` and so on.
//!
//! An owner of `a-z`, `0-9` and inner dashes is taken as it is. Any other is made valid: lower case, other characters become
//! `-`, and a dot with 16 hexadecimal digits of the owner's SHA-256 follows. No plain owner has a dot, so the two kinds never
//! meet, and `a.b` and `a_b` stay apart.

use std::fmt::Write;

use sha2::{Digest, Sha256};

/// What the name of every first object ends with.
const SUFFIX: &str = "-registry";
/// An object name has 253 characters at most; this leaves room for the number of a shard.
const LONGEST: usize = 200;

/// The name of the first object of an owner.
pub(super) fn base(owner: &str) -> String {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let ends = !owner.is_empty() && !owner.starts_with('-') && !owner.ends_with('-');
    if ends && owner.chars().all(plain) && owner.len() <= LONGEST {
        return format!("{owner}{SUFFIX}");
    }
    let safe: String = owner.to_ascii_lowercase().chars().map(|c| if plain(c) { c } else { '-' }).collect();
    let short: String = safe.trim_matches('-').chars().take(40).collect();
    let short = Some(short.trim_matches('-')).filter(|text| !text.is_empty()).unwrap_or("owner");
    format!("{short}.{}{SUFFIX}", digest(owner))
}

/// The name of a shard; the first one has no number.
pub(super) fn of_shard(base: &str, shard: usize) -> String {
    if shard == 0 { base.to_owned() } else { format!("{base}-{shard}") }
}

/// Which shard a name is, if it is one.
pub(super) fn shard_of(base: &str, name: &str) -> Option<usize> {
    if name == base {
        return Some(0);
    }
    let number: usize = name.strip_prefix(base)?.strip_prefix('-')?.parse().ok()?;
    (of_shard(base, number) == name).then_some(number)
}

/// 16 hexadecimal digits.
fn digest(text: &str) -> String {
    Sha256::digest(text).iter().take(8).fold(String::new(), |mut out, byte| {
        write!(out, "{byte:02x}").expect("writing to a string cannot fail");
        out
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn plain_owners_stay_and_others_are_made_valid() {
        let check = |owner: &str, expected: &str| assert_eq!(base(owner), expected, "{owner}");
        check("external-dns-1", "external-dns-1-registry");
        check("default", "default-registry");
        check("My.Cluster", &format!("my-cluster.{}-registry", digest("My.Cluster")));
        check("-", &format!("owner.{}-registry", digest("-")));
        check("b\u{fc}cher", &format!("b-cher.{}-registry", digest("b\u{fc}cher")));
        let twins = ["a.b", "a_b", "a-b", "A-B", "a-b-", "a b"];
        assert_eq!(twins.map(base).into_iter().collect::<BTreeSet<_>>().len(), twins.len());
    }

    #[test]
    fn shards_are_numbered() {
        let check = |name: &str, expected: Option<usize>| assert_eq!(shard_of("me-registry", name), expected, "{name}");
        check("me-registry", Some(0));
        check("me-registry-1", Some(1));
        check("me-registry-17", Some(17));
        check("me-registry-0", None);
        check("me-registry-01", None);
        check("me-registry-1-registry", None);
        check("me-registry-", None);
        check("other-registry", None);
        assert_eq!(of_shard("me-registry", 17), "me-registry-17");
    }

    proptest::proptest! {
        #[test]
        fn every_owner_becomes_a_name(owner in ".{0,300}") {
            let name = base(&owner);
            proptest::prop_assert!(name.len() <= 230, "{}", name);
            let label = |label: &str| {
                !label.is_empty() && !label.starts_with('-') && !label.ends_with('-')
                    && label.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
            };
            proptest::prop_assert!(name.split('.').all(label), "{}", name);
        }
    }
}
