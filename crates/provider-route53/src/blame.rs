//! Which sets a refused batch is refused for.
//!
//! In: the sentences of an `InvalidChangeBatch`. Out: what each names, and whether it says that the zone is not what was assumed. The
//! service names sets as `[name='www.example.org.', type='A', set identifier='blue']`, or speaks of an `RRSet of type A with DNS
//! name www.example.org.`.

use zonewright_core::{DnsName, RecordType};

use crate::name;

/// What one sentence names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Named {
    pub(crate) name: DnsName,
    pub(crate) rtype: Option<RecordType>,
    pub(crate) set_id: Option<String>,
}

/// Whether a sentence says that something else stands there than was assumed.
pub(crate) fn is_conflict(message: &str) -> bool {
    ["already exists", "was not found", "not found", "do not match", "conflicts with other records"]
        .iter()
        .any(|text| message.contains(text))
}

/// The sets that a sentence names, in any of the service's forms.
pub(crate) fn named(message: &str) -> Vec<Named> {
    let mut found = Vec::new();
    for part in message.split("name='").skip(1) {
        let Some((text, rest)) = part.split_once('\'') else { continue };
        // What follows belongs to this set up to the end of its bracket.
        let rest = rest.split(']').next().unwrap_or_default();
        found.extend(of(text, quoted(rest, "type='"), quoted(rest, "identifier='")));
    }
    if found.is_empty() {
        // The rest of such a sentence speaks of others with "the same DNS name".
        let first = message.split("with DNS name ").nth(1).and_then(|part| part.split([' ', ',']).next());
        found.extend(first.and_then(|text| of(text, None, None)));
    }
    found
}

fn quoted<'t>(text: &'t str, before: &str) -> Option<&'t str> {
    text.split_once(before)?.1.split_once('\'').map(|(value, _)| value)
}

fn of(text: &str, rtype: Option<&str>, set_id: Option<&str>) -> Option<Named> {
    let name = name::read(text).ok()?;
    Some(Named { name, rtype: rtype.and_then(|text| text.parse().ok()), set_id: set_id.map(str::to_owned) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(message: &str, expected: &[(&str, Option<RecordType>, Option<&str>)]) {
        let expected: Vec<Named> = expected
            .iter()
            .map(|(name, rtype, set_id)| Named {
                name: DnsName::parse(name).unwrap(),
                rtype: *rtype,
                set_id: set_id.map(str::to_owned),
            })
            .collect();
        assert_eq!(named(message), expected, "{message}");
    }

    #[test]
    fn sets_are_named() {
        let a = Some(RecordType::A);
        check(
            "[Tried to create resource record set [name='www.example.org.', type='A'] but it already exists]",
            &[("www.example.org", a, None)],
        );
        check(
            "Tried to delete resource record set [name='\\052.example.org.', type='A', set identifier='blue'] but the values \
             provided do not match the current values",
            &[("*.example.org", a, Some("blue"))],
        );
        check(
            "RRSet of type CNAME with DNS name www.example.org. is not permitted as it conflicts with other records with the \
             same DNS name in zone example.org.",
            &[("www.example.org", None, None)],
        );
        check(
            "[Invalid Resource Record: 'FATAL problem: ARRDATAIllegalIPv4Address (Value is not a valid IPv4 address) encountered \
             with '1.2.3'']",
            &[],
        );
        check("name='a..b.' and name='", &[]);
    }

    #[test]
    fn conflicts() {
        assert!(is_conflict("Tried to delete resource record set [name='a.', type='A'] but it was not found"));
        assert!(!is_conflict("Invalid Resource Record: FATAL problem"));
    }
}
