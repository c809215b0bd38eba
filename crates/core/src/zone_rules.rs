//! Which of a provider's zones are managed, by rules of names and ids: kops' `--zone`.
//!
//! In come the rules as the user wrote them, and the zones of a provider; out go the zones to manage, at most one of each name, and the
//! names of which there are too many. What must hold: a zone that no rule lets through is never managed, and of two zones of one name
//! that the rules do not distinguish neither is. Pure.

use std::collections::BTreeMap;

use crate::name::DnsName;
use crate::zone::Zone;

/// Any name, or any id.
const ANY: &str = "*";

/// Rules that choose zones: `example.com`, `example.com/ID`, `*/ID`, and the wildcard `*` (or `*/*`).
///
/// ```
/// use zonewright_core::zone_rules::ZoneRules;
///
/// assert!(ZoneRules::parse(["example.com/Z1", "*"]).is_ok());
/// assert!(ZoneRules::parse(["a..b"]).is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ZoneRules {
    /// Those that say something, in order.
    explicit: Vec<ZoneRuleText>,
    wildcard: bool,
}

/// One rule that is no wildcard; at least one of the two is there.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ZoneRuleText {
    name: Option<DnsName>,
    id: Option<String>,
}

/// What the rules make of a list of zones.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selected {
    /// The zones to manage, in the order of the list.
    pub managed: Vec<Zone>,
    /// The zones of each name of which several are left, by name: none of them is managed.
    pub ambiguous: BTreeMap<DnsName, Vec<Zone>>,
}

impl ZoneRules {
    /// Reads rules; white space around one and empty ones do not count. Without any rule every zone is meant.
    ///
    /// # Errors
    /// A rule whose name is no DNS name; the sentence names the rule and what was expected.
    pub fn parse<'t>(texts: impl IntoIterator<Item = &'t str>) -> Result<Self, String> {
        let (mut explicit, mut wildcard, mut any) = (Vec::new(), false, false);
        for text in texts.into_iter().map(str::trim).filter(|text| !text.is_empty()) {
            any = true;
            match rule(text)? {
                ZoneRuleText { name: None, id: None } => wildcard = true,
                rule => explicit.push(rule),
            }
        }
        Ok(Self { explicit, wildcard: wildcard || !any })
    }

    /// Chooses among all zones of a provider.
    ///
    /// Of each name those zones count that a rule names; where none does and there is a wildcard, all zones of the name. One that is
    /// left alone is managed.
    pub fn select(&self, zones: &[Zone]) -> Selected {
        let mut by_name: BTreeMap<&DnsName, Vec<&Zone>> = BTreeMap::new();
        for zone in zones {
            by_name.entry(&zone.name).or_default().push(zone);
        }
        let mut selected = Selected::default();
        let mut keys = Vec::new();
        for (name, all) in by_name {
            let named: Vec<&Zone> = all.iter().copied().filter(|zone| self.names(zone)).collect();
            match if named.is_empty() && self.wildcard { all } else { named }.as_slice() {
                [] => {}
                [one] => keys.push(&one.key),
                many => drop(selected.ambiguous.insert(name.clone(), many.iter().copied().cloned().collect())),
            }
        }
        let managed = zones.iter().filter(|zone| keys.contains(&&zone.key));
        let by_wildcard = |zone: &Zone| !self.explicit.is_empty() && !self.names(zone);
        selected.managed = managed.map(|zone| Zone { by_wildcard: by_wildcard(zone), ..zone.clone() }).collect();
        selected
    }

    /// Whether an explicit rule takes the zone, by either id that it has. The first rule with its name decides: with another id it is a
    /// definite no, whatever stands behind it.
    fn names(&self, zone: &Zone) -> bool {
        let verdict = self.explicit.iter().find_map(|ZoneRuleText { name, id }| {
            let fits = id.as_deref().is_none_or(|id| zone.has_id(id));
            match name {
                Some(name) if *name == zone.name => Some(fits),
                Some(_) => None,
                None => fits.then_some(true),
            }
        });
        verdict == Some(true)
    }
}

/// One rule: `NAME`, `NAME/ID`, where `*` or nothing stands for any.
fn rule(text: &str) -> Result<ZoneRuleText, String> {
    let (name, id) = text.split_once('/').unwrap_or((text, ANY));
    let said = |part: &str| !part.is_empty() && part != ANY;
    let name = Some(name.trim()).filter(|name| said(name)).map(|name| {
        DnsName::parse(name).map_err(|error| {
            format!("{text:?}: {error}; expected the name of a zone, NAME/ID, */ID or * for every zone")
        })
    });
    let id = Some(id.trim()).filter(|id| said(id)).map(|id| id.strip_prefix("/hostedzone/").unwrap_or(id).to_owned());
    Ok(ZoneRuleText { name: name.transpose()?, id })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::zone::{InstanceId, ZoneId};

    /// `NAME/ID`, or `NAME/ID=ITS-OTHER-ID`.
    fn zone(text: &str) -> Zone {
        let (name, ids) = text.split_once('/').unwrap();
        let (id, other) = ids.split_once('=').map_or((ids, None), |(id, other)| (id, Some(ZoneId::from(other))));
        Zone { other_id: other, ..Zone::new(&InstanceId::from("i"), id, DnsName::parse(name).unwrap()) }
    }

    fn shown(zones: &[Zone]) -> String {
        zones.iter().map(|zone| format!("{}/{}", zone.name, zone.key.zone)).collect::<Vec<_>>().join(" ")
    }

    /// Rules, zones, what is managed, and the names of which there are too many.
    #[test]
    fn every_rule() {
        for (rules, zones, managed, ambiguous) in [
            // No rule, and the wildcards.
            ("", "a.com/1 b.com/2", "a.com/1 b.com/2", ""),
            ("*", "a.com/1 b.com/2", "a.com/1 b.com/2", ""),
            ("*/*", "a.com/1 b.com/2", "a.com/1 b.com/2", ""),
            // A name.
            ("a.com", "a.com/1 b.com/2", "a.com/1", ""),
            ("a.com.", "a.com/1 b.com/2", "a.com/1", ""),
            ("A.com", "a.com/1 b.com/2", "a.com/1", ""),
            (" a.com ", "a.com/1 b.com/2", "a.com/1", ""),
            ("a.com/*", "a.com/1 b.com/2", "a.com/1", ""),
            ("a.com", "x.a.com/1 aa.com/2", "", ""),
            // A name and an id.
            ("a.com/1", "a.com/1 a.com/2 b.com/3", "a.com/1", ""),
            ("a.com/9", "a.com/1 a.com/2", "", ""),
            ("a.com/1,b.com/3", "a.com/1 a.com/2 b.com/3", "a.com/1 b.com/3", ""),
            ("a.com//hostedzone/1", "a.com/1 a.com/2", "a.com/1", ""),
            // An id.
            ("*/2", "a.com/1 a.com/2 b.com/3", "a.com/2", ""),
            ("/2", "a.com/1 a.com/2 b.com/3", "a.com/2", ""),
            ("*/2,*/3", "a.com/1 a.com/2 b.com/3", "a.com/2 b.com/3", ""),
            // A zone that has two ids is named by either.
            ("*/11", "a.com/x=11 a.com/y=12 b.com/11=9", "a.com/x b.com/11", ""),
            ("*/y", "a.com/x=11 a.com/y=12", "a.com/y", ""),
            ("a.com/12", "a.com/x=11 a.com/y=12", "a.com/y", ""),
            ("a.com/y", "a.com/x=11 a.com/y=12", "a.com/y", ""),
            ("a.com/1", "a.com/x=11 a.com/y=12", "", ""),
            // Two zones of one name: neither, unless a rule distinguishes them.
            ("", "a.com/1 a.com/2 b.com/3", "b.com/3", "a.com"),
            ("*", "a.com/1 a.com/2", "", "a.com"),
            ("a.com", "a.com/1 a.com/2", "", "a.com"),
            ("*/1,*/2", "a.com/1 a.com/2", "", "a.com"),
            ("*,a.com/2", "a.com/1 a.com/2 b.com/3", "a.com/2 b.com/3", ""),
            // Where no rule names a zone of the name, the wildcard has all of them.
            ("*,b.com/9", "a.com/1 b.com/3", "a.com/1 b.com/3", ""),
            ("b.com/9", "a.com/1 b.com/3", "", ""),
            // The first rule with the name decides: another id is a definite no.
            ("a.com/9,*/1", "a.com/1", "", ""),
            ("*/1,a.com/9", "a.com/1", "a.com/1", ""),
            ("a.com/9,a.com", "a.com/1", "", ""),
            ("a.com,a.com/9", "a.com/1", "a.com/1", ""),
            ("a.com/1,a.com/2", "a.com/1 a.com/2", "a.com/1", ""),
            // Empty rules say nothing.
            (" , a.com,", "a.com/1 b.com/2", "a.com/1", ""),
        ] {
            let parsed = ZoneRules::parse(rules.split(',')).unwrap();
            let zones: Vec<Zone> = zones.split(' ').map(zone).collect();
            let selected = parsed.select(&zones);
            let names: Vec<&str> = selected.ambiguous.keys().map(DnsName::as_str).collect();
            assert_eq!(
                (shown(&selected.managed), names.join(" ")),
                (managed.to_owned(), ambiguous.to_owned()),
                "{rules}"
            );
        }
    }

    /// Rules, and those of two zones that nobody asked for by name or id.
    #[test]
    fn what_only_a_wildcard_takes_beside_other_rules_is_marked() {
        for (rules, marked) in
            [("", ""), ("*", ""), ("a.com", ""), ("a.com,*/*", "b.com/2"), ("*,*/2", "a.com/1"), ("*/*,a.com,*/2", "")]
        {
            let zones = [zone("a.com/1"), zone("b.com/2")];
            let mut managed = ZoneRules::parse(rules.split(',')).unwrap().select(&zones).managed;
            managed.retain(|zone| zone.by_wildcard);
            assert_eq!(shown(&managed), marked, "{rules}");
        }
    }

    #[test]
    fn a_rule_that_is_none_says_what_was_expected() {
        let problem = ZoneRules::parse(["*", "a..b/1"]).unwrap_err();
        assert!(problem.contains("\"a..b/1\"") && problem.contains("expected the name of a zone"), "{problem}");
    }

    fn rules() -> impl Strategy<Value = Vec<String>> {
        let part =
            prop::sample::select(vec!["*", "a.com", "b.com", "*/1", "a.com/1", "a.com/2", "b.com/3", "*/*", " "]);
        prop::collection::vec(part.prop_map(str::to_owned), 0..4)
    }

    fn zones() -> impl Strategy<Value = Vec<Zone>> {
        let all = vec!["a.com/1", "a.com/2", "b.com/3", "b.com/4", "c.com/5"];
        prop::sample::subsequence(all, 0..=5).prop_map(|texts| texts.into_iter().map(zone).collect())
    }

    proptest! {
        /// At most one zone of a name is managed, a name is never both managed and ambiguous, the order of the list does not count,
        /// and what a wildcard alone manages is what no rule at all manages.
        #[test]
        fn whatever_the_rules(texts in rules(), zones in zones()) {
            let parsed = ZoneRules::parse(texts.iter().map(String::as_str)).unwrap();
            let selected = parsed.select(&zones);
            for zone in &selected.managed {
                prop_assert!(zones.iter().any(|listed| listed.key == zone.key));
                prop_assert_eq!(selected.managed.iter().filter(|other| other.name == zone.name).count(), 1);
                prop_assert!(!selected.ambiguous.contains_key(&zone.name));
            }
            let reversed: Vec<Zone> = zones.iter().rev().cloned().collect();
            let mut again = parsed.select(&reversed);
            again.managed.reverse();
            prop_assert_eq!(&again.managed, &selected.managed);
            let alone = ZoneRules::parse(selected.managed.iter().map(|zone| zone.key.zone.as_str()).map(|_| "*")).unwrap();
            prop_assert_eq!(shown(&alone.select(&selected.managed).managed), shown(&selected.managed));
        }

        #[test]
        fn nothing_panics(texts in prop::collection::vec(".{0,20}", 0..4)) {
            let _ = ZoneRules::parse(texts.iter().map(String::as_str));
        }
    }
}
