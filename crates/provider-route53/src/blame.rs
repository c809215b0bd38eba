//! Which sets a refused batch is refused for.
//!
//! In: the sentences of an `InvalidChangeBatch`. Out: what each names, and whether it says that the zone is not what was assumed. The
//! service names sets as `[name='www.example.org.', type='A', set identifier='blue']`, or speaks of an `RRSet of type A with DNS
//! name www.example.org.`.

use aws_sdk_route53::types::{AliasTarget, ResourceRecordSet};
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

/// Whether a sentence that quotes this set could be read as one about another. Identifiers and values are any text of an object, and the
/// service quotes them as they are; in names it escapes whatever could be taken for its own words.
pub(crate) fn is_misleading(set: &ResourceRecordSet) -> bool {
    let speaks = |text: &str| text.contains("name=") || text.contains("DNS name ");
    let identifier = |id: &str| id.contains(['\'', ']']) || speaks(id);
    let target = |alias: &AliasTarget| speaks(alias.dns_name()) || speaks(alias.hosted_zone_id());
    set.set_identifier().is_some_and(identifier)
        || set.alias_target().is_some_and(target)
        || set.resource_records().iter().any(|record| speaks(record.value()))
}

/// The sets that a sentence names, in any of the service's forms; for sentences in which no set [misleads](is_misleading).
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
    use aws_sdk_route53::types::{ResourceRecord, RrType};

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

    /// What the service would quote of an object is not taken for its own words.
    #[test]
    fn texts_of_objects_that_could_name_other_sets_are_seen() {
        let set = || ResourceRecordSet::builder().name("a.example.org.").r#type(RrType::Txt).ttl(300);
        let identified = |id: &str| set().set_identifier(id).build().unwrap();
        let value = |text: &str| {
            set().resource_records(ResourceRecord::builder().value(text).build().unwrap()).build().unwrap()
        };
        let alias = |zone: &str, name: &str| {
            let alias = AliasTarget::builder().hosted_zone_id(zone).dns_name(name).evaluate_target_health(false);
            set().alias_target(alias.build().unwrap()).build().unwrap()
        };
        let forged = "x', name='victim.example.org.', type='A";
        assert_eq!(named(&format!("[name='a.example.org.', type='A', set-identifier='{forged}']")).len(), 2);
        let misleading = [forged, "blue', type='A", "blue'", "blue]", "name=", "with DNS name victim.example.org. "];
        for set in misleading.map(identified) {
            assert!(is_misleading(&set), "{set:?}");
        }
        for set in [value("\"[name='victim.example.org.']\""), alias("Z1", "name='b."), alias("name='b.", "a.")] {
            assert!(is_misleading(&set), "{set:?}");
        }
        let heritage = "\"heritage=external-dns,external-dns/owner=me,external-dns/resource=service/one/it's\"";
        for set in [identified("blue/green 1"), value(heritage), alias("Z1", "b.example.org."), set().build().unwrap()]
        {
            assert!(!is_misleading(&set), "{set:?}");
        }
    }

    #[test]
    fn conflicts() {
        assert!(is_conflict("Tried to delete resource record set [name='a.', type='A'] but it was not found"));
        assert!(!is_conflict("Invalid Resource Record: FATAL problem"));
    }
}
