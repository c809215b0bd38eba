//! Which names the server end answers for.
//!
//! In: the domain filter of the flags, and the zones of the provider. Out: the zones that count, and the filter that
//! callers get: the zones as far as the flags let them, so that nobody plans what has no place here.

use zonewright_core::filter::{DomainFilter, FilterError};
use zonewright_core::{DnsName, Zone};

use crate::wire::Filter;

/// The domain filter of the flags, as it was given and as it works.
#[derive(Debug, Clone, Default)]
pub struct ServedNames {
    include: Vec<String>,
    exclude: Vec<String>,
    regex_include: String,
    regex_exclude: String,
    filter: DomainFilter,
}

impl ServedNames {
    /// The scope of the four flags together; if either regular expression is set, the lists are not looked at.
    ///
    /// # Errors
    /// [`FilterError::Regex`] names the flag.
    pub fn new(include: &[String], exclude: &[String], regex: &str, regex_exclude: &str) -> Result<Self, FilterError> {
        Ok(Self {
            include: include.to_vec(),
            exclude: exclude.to_vec(),
            regex_include: regex.to_owned(),
            regex_exclude: regex_exclude.to_owned(),
            filter: DomainFilter::new(include, exclude, regex, regex_exclude)?,
        })
    }

    /// Whether a name is in scope.
    pub(super) fn takes(&self, name: &DnsName) -> bool {
        self.filter.matches(name)
    }

    /// The zones that can hold names in scope.
    pub(super) fn of(&self, mut zones: Vec<Zone>) -> Vec<Zone> {
        zones.retain(|zone| self.filter.matches_zone(&zone.name));
        zones
    }

    /// The filter that callers get. Without any zone it is that of the flags: what is planned then is refused aloud.
    pub(super) fn offered(&self, zones: &[Zone]) -> Filter {
        if !self.regex_include.is_empty() || !self.regex_exclude.is_empty() {
            let (regex_include, regex_exclude) = (self.regex_include.clone(), self.regex_exclude.clone());
            return Filter { regex_include, regex_exclude, ..Filter::default() };
        }
        let whole = zones.is_empty() || zones.iter().any(|zone| zone.name.is_root());
        let mut include =
            if whole { self.include.clone() } else { zones.iter().flat_map(|zone| self.part(zone)).collect() };
        let mut exclude = self.exclude.clone();
        for list in [&mut include, &mut exclude] {
            list.retain(|entry| !entry.trim().is_empty());
            list.sort();
            list.dedup();
        }
        Filter { include, exclude, ..Filter::default() }
    }

    /// What of a zone is in scope: all of it, or the entries below its apex.
    fn part(&self, zone: &Zone) -> Vec<String> {
        let bare = DomainFilter::plain(&self.include, &[]);
        if bare.matches(&zone.name) {
            return vec![zone.name.as_str().to_owned()];
        }
        let name = |entry: &String| DnsName::parse(entry.trim().trim_start_matches('.')).ok();
        let below = |entry: &&String| name(entry).is_some_and(|name| name.is_within(&zone.name));
        self.include.iter().filter(below).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use zonewright_core::zone::InstanceId;

    use super::*;

    fn owned(list: &[&str]) -> Vec<String> {
        list.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn callers_see_the_zones_as_far_as_the_flags_let_them() {
        let check = |zones: &[&str], include: &[&str], exclude: &[&str], expected: &[&str]| {
            let scope = ServedNames::new(&owned(include), &owned(exclude), "", "").unwrap();
            let zone = |name: &&str| Zone::new(&InstanceId::from("i"), name, DnsName::parse(name).unwrap());
            let offered = scope.offered(&scope.of(zones.iter().map(zone).collect()));
            assert_eq!((offered.include, offered.exclude), (owned(expected), owned(exclude)), "{zones:?} {include:?}");
        };
        check(&["b.test", "a.test"], &[], &[], &["a.test", "b.test"]);
        check(&["a.test", "b.test"], &["a.test"], &[], &["a.test"]);
        check(&["a.test", "b.org"], &["test"], &["x.a.test"], &["a.test"]);
        check(&["a.test", "b.test"], &["x.a.test", "y.a.test"], &[], &["x.a.test", "y.a.test"]);
        check(&["a.test"], &[".a.test"], &[], &[".a.test"]);
        check(&["a.test", "b.test"], &[], &["b.test"], &["a.test"]);
        check(&["."], &[], &[], &[]);
        check(&["."], &["a.test", ""], &[], &["a.test"]);
        check(&["b.test"], &["a.test"], &[], &["a.test"]);
    }

    #[test]
    fn expressions_go_out_as_they_are() {
        let scope = ServedNames::new(&owned(&["a.test"]), &[], "x$", "y").unwrap();
        let offered = scope.offered(&[]);
        assert_eq!((offered.regex_include.as_str(), offered.regex_exclude.as_str()), ("x$", "y"));
        assert!(offered.include.is_empty());
        assert!(scope.takes(&DnsName::parse("a.x").unwrap()) && !scope.takes(&DnsName::parse("y.x").unwrap()));
        assert!(ServedNames::new(&[], &[], "(", "").is_err());
    }
}
