//! From the text of an execution to names and pairs. In comes the text; out come trimmed items without duplicates, sorted.
//! No item is empty, and none holds a sign that a value was absent.

use std::collections::BTreeSet;

use crate::limits;

/// A name and what it should point at.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pair {
    /// The name.
    pub host: String,
    /// An address or a host name.
    pub target: String,
}

/// An item that is no pair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// The item as the template gave it.
    pub item: String,
    /// Why it was left out.
    pub reason: &'static str,
}

/// What `--fqdn-target-template` gives for one object.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Pairs {
    /// The pairs, sorted by item.
    pub pairs: Vec<Pair>,
    /// The items that are no pairs, to be reported.
    pub skipped: Vec<Skipped>,
}

/// Splits at `,`; each item loses white space at both ends and then one final dot.
pub(crate) fn names(text: &str) -> Result<Vec<String>, String> {
    let mut items = BTreeSet::new();
    for item in text.split(',').map(str::trim) {
        let item = item.strip_suffix('.').unwrap_or(item);
        if let Some(sign) = ["<no value>", "<nil>"].into_iter().find(|sign| item.contains(sign)) {
            return Err(format!("a value is absent: the template gives {item:?}, which holds {sign}"));
        }
        if !item.is_empty() {
            items.insert(item);
        }
        if items.len() > limits::NAMES {
            return Err(format!("the template gives more than {} names", limits::NAMES));
        }
    }
    Ok(items.into_iter().map(str::to_owned).collect())
}

/// Splits each item at its first `:`, so that a target may be an IPv6 address.
pub(crate) fn pairs(items: Vec<String>) -> Pairs {
    let mut out = Pairs::default();
    for item in items {
        match pair(&item) {
            Ok(pair) => out.pairs.push(pair),
            Err(reason) => out.skipped.push(Skipped { item, reason }),
        }
    }
    out
}

fn pair(item: &str) -> Result<Pair, &'static str> {
    let (host, target) = item.split_once(':').ok_or("expected host:target, found no colon")?;
    match (host.trim(), target.trim()) {
        ("", _) => Err("expected host:target, found no host"),
        (_, "") => Err("expected host:target, found no target"),
        (host, target) => Ok(Pair { host: host.to_owned(), target: target.to_owned() }),
    }
}
