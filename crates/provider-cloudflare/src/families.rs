//! Names that one request reads together.
//!
//! In: names. Out: families, each of a name and those that end as it does. What must hold: every name is in one family. Whether all
//! records of a family fit on a page is known only when they are asked for: a family that is too large is split.

use std::collections::{BTreeMap, BTreeSet};

use zonewright_core::DnsName;

/// Names, each with those that end as it does: a claim's name often is that of its record with a prefix.
#[derive(Debug)]
pub(crate) struct Families<'a> {
    /// All of the names.
    pub(crate) names: &'a BTreeSet<DnsName>,
    /// Each with its shortest name first.
    all: Vec<Vec<&'a DnsName>>,
    /// The position of each name's family.
    positions: BTreeMap<&'a DnsName, usize>,
}

impl<'a> Families<'a> {
    /// The families of names. More records than fit on a page end as one of those that stand `alone`, such as the apex.
    pub(crate) fn new(names: &'a BTreeSet<DnsName>, alone: impl Fn(&DnsName) -> bool) -> Self {
        let mut made = Self { names, all: Vec::new(), positions: BTreeMap::new() };
        made.add(names.iter(), alone);
        made
    }

    fn add(&mut self, names: impl Iterator<Item = &'a DnsName>, alone: impl Fn(&DnsName) -> bool) {
        let from = self.all.len();
        let mut by_length: Vec<&DnsName> = names.collect();
        by_length.sort_by_key(|name| name.as_str().len());
        for name in by_length {
            let ends_so = |family: &Vec<&DnsName>| {
                family.first().is_some_and(|first| !alone(first) && name.as_str().ends_with(first.as_str()))
            };
            let known = self.all.iter().skip(from).position(ends_so).map(|at| from + at);
            let at = known.unwrap_or(self.all.len());
            match self.all.get_mut(at) {
                Some(family) => family.push(name),
                None => self.all.push(vec![name]),
            }
            self.positions.insert(name, at);
        }
    }

    /// How many there are: the requests that read all of them, as far as it is known.
    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    /// The position of a name's family.
    pub(crate) fn position(&self, name: &DnsName) -> Option<usize> {
        self.positions.get(name).copied()
    }

    /// The names of the family at a position, the shortest first.
    pub(crate) fn at(&self, position: usize) -> Option<&[&'a DnsName]> {
        self.all.get(position).map(Vec::as_slice)
    }

    /// Splits a family whose records do not fit on a page: its shortest name, as which they all end, stays there alone, and the others
    /// become families of their own, behind all that are there. That name.
    pub(crate) fn split(&mut self, position: usize) -> Option<&'a DnsName> {
        let family = self.all.get_mut(position)?;
        let others = family.split_off(family.len().min(1));
        let first = family.first().copied();
        self.add(others.into_iter(), |_| false);
        first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> BTreeSet<DnsName> {
        names.iter().map(|name| DnsName::parse(name).unwrap()).collect()
    }

    fn of(names: &BTreeSet<DnsName>) -> Families<'_> {
        Families::new(names, |name| name.as_str() == "a.test")
    }

    #[track_caller]
    fn shows(families: &Families<'_>, expected: &[&str]) {
        let shown = |family: &Vec<&DnsName>| family.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(" ");
        assert_eq!(families.all.iter().map(shown).collect::<Vec<_>>(), expected);
        for (at, family) in families.all.iter().enumerate() {
            assert!(family.iter().all(|name| families.position(name) == Some(at)), "{family:?}");
        }
    }

    #[test]
    fn names_of_one_ending_are_asked_for_together() {
        let check = |given: &[&str], expected: &[&str]| shows(&of(&names(given)), expected);
        check(&["www.a.test", "claims.a-www.a.test"], &["www.a.test claims.a-www.a.test"]);
        check(&["www.a.test", "a-www.a.test", "www-claim.a.test"], &["www.a.test a-www.a.test", "www-claim.a.test"]);
        check(&["a.test", "cname-a.test", "claims.a.test"], &["a.test", "cname-a.test", "claims.a.test"]);
        check(&["b.a.test", "c.a.test"], &["b.a.test", "c.a.test"]);
        check(&[], &[]);
    }

    #[test]
    fn of_a_family_that_is_too_large_a_name_stays_with_that_of_its_claim() {
        let names =
            names(&["dev.a.test", "a-dev.a.test", "b.dev.a.test", "a-b.dev.a.test", "c.dev.a.test", "x.a.test"]);
        let mut families = of(&names);
        shows(&families, &["x.a.test", "dev.a.test a-dev.a.test b.dev.a.test c.dev.a.test a-b.dev.a.test"]);
        let at = families.position(&DnsName::parse("a-b.dev.a.test").unwrap()).unwrap();
        assert_eq!(families.split(at).map(DnsName::as_str), Some("dev.a.test"));
        let split = ["x.a.test", "dev.a.test", "a-dev.a.test", "b.dev.a.test a-b.dev.a.test", "c.dev.a.test"];
        shows(&families, &split);
        families.split(at);
        shows(&families, &split);
        assert_eq!((families.split(9), families.len()), (None, 5));
    }
}
