//! What the sets of one name have in common: its custom host names and its region are settings of the name, which all its sets are
//! read with.
//!
//! In: wanted sets, and the form in which each is published. Out: the same, with the settings of the name in each. What must hold:
//! the sets of a name agree; else each would undo in its turn what the other one asks for.

use std::collections::BTreeMap;

use zonewright_core::provider::Adjustment;
use zonewright_core::{DnsName, RecordSet, RecordType};

use crate::convert::is_proxiable;
use crate::options::{HOSTNAMES, REGION, list, set as set_text, text};

/// What one set asks for.
#[derive(Debug)]
struct Ask {
    /// Where it stands among the sets.
    at: usize,
    rtype: RecordType,
    hostnames: String,
    region: String,
    /// Whether its object states the region, be it that it wants none.
    is_stated: bool,
}

impl Ask {
    /// Which region goes before others: one that is stated, that none is wanted, that of the flag; the first type of each.
    fn rank(&self) -> (bool, bool, RecordType) {
        (!self.is_stated, self.region.is_empty(), self.rtype)
    }
}

/// Gives each set of a name the custom host names that any of them asks for, and one region; an object whose region is not that one
/// gets an event. Sets that are refused ask for nothing.
pub(crate) fn agree(asked: &[RecordSet], answers: &mut [Adjustment]) {
    let mut names: BTreeMap<&DnsName, Vec<Ask>> = BTreeMap::new();
    for (at, (set, answer)) in asked.iter().zip(answers.iter()).enumerate() {
        if let (Adjustment::As { sets, .. }, true) = (answer, is_proxiable(set.key.rtype)) {
            let of = |key| sets.first().map(|set| text(&set.options, key)).unwrap_or_default();
            let (hostnames, region) = (of(HOSTNAMES), of(REGION));
            let ask = Ask { at, rtype: set.key.rtype, hostnames, region, is_stated: set.options.get(REGION).is_some() };
            names.entry(&set.key.name).or_default().push(ask);
        }
    }
    for asks in names.into_values().filter(|asks| asks.len() > 1) {
        let all = asks.iter().map(|ask| ask.hostnames.as_str()).collect::<Vec<_>>().join(",");
        let hostnames = list(&all).join(",");
        let Some(first) = asks.iter().min_by_key(|ask| ask.rank()) else { continue };
        for ask in &asks {
            let Some(Adjustment::As { sets, notes }) = answers.get_mut(ask.at) else { continue };
            for set in sets {
                set_text(&mut set.options, HOSTNAMES, &hostnames);
                set_text(&mut set.options, REGION, &first.region);
            }
            if ask.is_stated && ask.region != first.region {
                notes.push(format!(
                    "a name has one region, and the {} records ask for {}; {} is left out",
                    first.rtype,
                    shown(&first.region),
                    shown(&ask.region)
                ));
            }
        }
    }
}

fn shown(region: &str) -> &str {
    if region.is_empty() { "none" } else { region }
}

#[cfg(test)]
mod tests {
    use zonewright_core::RData;

    use super::*;

    /// A set that states both texts; a region that is not stated is that of the flag, `us`.
    fn set(rtype: RecordType, hostnames: &str, region: Option<&str>) -> (RecordSet, Adjustment) {
        let data = match rtype {
            RecordType::A => "192.0.2.1",
            RecordType::Aaaa => "2001:db8::1",
            _ => "text",
        };
        let name = DnsName::parse("www.example.org").unwrap();
        let mut asked = RecordSet::simple(name, rtype, None, [RData::parse(rtype, data).unwrap()]);
        if let Some(region) = region {
            asked.options.set(REGION, zonewright_core::options::OptionValue::Text(region.into()));
        }
        let mut form = asked.clone();
        set_text(&mut form.options, HOSTNAMES, hostnames);
        set_text(&mut form.options, REGION, if is_proxiable(rtype) { region.unwrap_or("us") } else { "" });
        (asked, Adjustment::As { sets: vec![form], notes: Vec::new() })
    }

    /// Custom host names, region and number of notes of each set.
    fn agreed(sets: Vec<(RecordSet, Adjustment)>) -> Vec<String> {
        let (asked, mut answers): (Vec<_>, Vec<_>) = sets.into_iter().unzip();
        agree(&asked, &mut answers);
        let line = |answer: Adjustment| match answer {
            Adjustment::As { sets, notes } => {
                let of = |key| text(&sets[0].options, key);
                format!("[{}] {} {}", of(HOSTNAMES), of(REGION), notes.len())
            }
            other => format!("{other:?}"),
        };
        answers.into_iter().map(line).collect()
    }

    #[test]
    fn the_sets_of_a_name_have_the_same_settings() {
        use RecordType::{A, Aaaa, Txt};
        let check = |sets, expected: &[&str]| assert_eq!(agreed(sets), expected);
        check(vec![set(A, "b.example", None)], &["[b.example] us 0"]);
        check(
            vec![set(A, "b.example", None), set(Aaaa, "a.example", None)],
            &["[a.example,b.example] us 0", "[a.example,b.example] us 0"],
        );
        check(vec![set(A, "a.example", None), set(Aaaa, "", None)], &["[a.example] us 0", "[a.example] us 0"]);
        check(vec![set(A, "", None), set(Aaaa, "", Some("eu"))], &["[] eu 0", "[] eu 0"]);
        check(vec![set(A, "", Some("jp")), set(Aaaa, "", Some("eu"))], &["[] jp 0", "[] jp 1"]);
        check(vec![set(A, "", Some("")), set(Aaaa, "", Some("eu"))], &["[] eu 1", "[] eu 0"]);
        check(vec![set(A, "", Some("")), set(Aaaa, "", None)], &["[]  0", "[]  0"]);
        check(vec![set(Txt, "", None), set(A, "a.example", None)], &["[]  0", "[a.example] us 0"]);
    }

    #[test]
    fn a_set_that_is_refused_asks_for_nothing() {
        let (asked, _) = set(RecordType::A, "a.example", Some("eu"));
        let refused = (asked, Adjustment::Refused("no".to_owned()));
        let others = agreed(vec![refused, set(RecordType::Aaaa, "b.example", None)]);
        assert_eq!(others[1], "[b.example] us 0");
    }
}
