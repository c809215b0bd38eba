//! The form in which a set is read back, and what the service would refuse of it.
//!
//! Limits: <https://learn.microsoft.com/azure/azure-resource-manager/management/azure-subscription-service-limits>

use zonewright_core::provider::Adjustment;
use zonewright_core::rdata::Txt;
use zonewright_core::{DnsName, RData, RecordData, RecordSet, Ttl};

use crate::arm::Kind;
use crate::convert::{DEFAULT_TTL, types, write};

/// Most records of a set.
const RECORDS: usize = 20;
/// Most characters of all texts of a set.
const TEXTS: usize = 4_096;

/// What becomes of a wanted set.
pub(crate) fn adjust(kind: Kind, set: &RecordSet) -> Adjustment {
    match refusal(kind, set) {
        Some(why) => Adjustment::Refused(why),
        None => Adjustment::to(RecordSet { ttl: set.ttl.or_else(|| Ttl::from_secs(DEFAULT_TTL)), ..set.clone() }),
    }
}

/// Why the service would refuse this set, whatever else stands in the zone.
pub(crate) fn refusal(kind: Kind, set: &RecordSet) -> Option<String> {
    let rtype = set.key.rtype;
    if !types(kind).contains(&rtype) {
        return Some(format!("{kind} has no records of type {rtype}"));
    }
    if set.key.set_id.is_some() || !set.routing.is_simple() {
        return Some(format!("{kind} has no routing policies, and no set identifiers"));
    }
    if let Some(why) = refused_name(kind, &set.key.name) {
        return Some(why);
    }
    let RecordData::Records(records) = &set.data else {
        return Some(format!("alias records of {kind} are not published"));
    };
    if records.len() > RECORDS {
        return Some(format!("the set has {} records; {kind} takes at most {RECORDS}", records.len()));
    }
    let characters = |record: &RData| match record {
        RData::Txt(text) => Txt::joined(text).len(),
        _ => 0,
    };
    let all: usize = records.iter().map(characters).sum();
    if all > TEXTS {
        return Some(format!("the texts have {all} characters; {kind} takes at most {TEXTS} in a set"));
    }
    write(kind, set).err()
}

/// Why no record can stand at this name.
fn refused_name(kind: Kind, name: &DnsName) -> Option<String> {
    for (at, label) in name.labels().enumerate() {
        if label == "*" && at == 0 {
            continue;
        }
        if label.contains('*') {
            return Some(format!(
                "{name}: {kind} takes an asterisk only as the whole first label; where this is the claim of a wildcard, set \
                 --txt-wildcard-replacement, such as any"
            ));
        }
        if !label.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte)) {
            return Some(format!("{name}: {kind} takes names of letters, digits, `-` and `_`"));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use zonewright_core::record::{Routing, SetId};
    use zonewright_core::{DnsName, RecordType};

    use super::*;

    fn set(name: &str, rtype: RecordType, data: &[String]) -> RecordSet {
        let data = data.iter().map(|text| RData::parse(rtype, text).unwrap());
        RecordSet::simple(DnsName::parse(name).unwrap(), rtype, None, data)
    }

    fn a(name: &str, count: usize) -> RecordSet {
        set(name, RecordType::A, &(0..count).map(|last| format!("192.0.2.{last}")).collect::<Vec<_>>())
    }

    fn txt(characters: usize) -> RecordSet {
        let strings: Vec<String> = "x"
            .repeat(characters)
            .as_bytes()
            .chunks(255)
            .map(|c| format!("\"{}\"", String::from_utf8_lossy(c)))
            .collect();
        set("www.example.org", RecordType::Txt, &[strings.join(" ")])
    }

    #[track_caller]
    fn check(kind: Kind, set: &RecordSet, refused: Option<&str>) {
        match (adjust(kind, set), refused) {
            (Adjustment::Refused(why), Some(said)) => assert!(why.contains(said), "{why}"),
            (Adjustment::As { sets, .. }, None) => assert_eq!(sets[0].ttl.map(Ttl::secs), Some(300)),
            (other, said) => panic!("{other:?}; expected {said:?}"),
        }
    }

    #[test]
    fn limits() {
        for kind in [Kind::Public, Kind::Private] {
            check(kind, &a("www.example.org", 19), None);
            check(kind, &a("www.example.org", 20), None);
            check(kind, &a("www.example.org", 21), Some("at most 20"));
            check(kind, &txt(4_096), None);
            check(kind, &txt(4_097), Some("at most 4096"));
        }
        check(Kind::Public, &set("example.org", RecordType::Caa, &["0 issue \";\"".to_owned()]), None);
        check(Kind::Private, &set("example.org", RecordType::Caa, &["0 issue \";\"".to_owned()]), Some("type CAA"));
    }

    #[test]
    fn names() {
        for (name, refused) in [
            ("*.example.org", None),
            ("_sip._tcp.example.org", None),
            ("a-*.example.org", Some("--txt-wildcard-replacement")),
            ("x.*.example.org", Some("asterisk")),
            ("a/b.example.org", Some("letters, digits")),
        ] {
            check(Kind::Public, &a(name, 1), refused);
        }
    }

    #[test]
    fn what_the_service_has_not() {
        let mut routed = a("www.example.org", 1);
        routed.key.set_id = SetId::new("one");
        check(Kind::Public, &routed, Some("identifiers"));
        let weighted = RecordSet { routing: Routing::Weighted { weight: 1 }, ..a("www.example.org", 1) };
        check(Kind::Private, &weighted, Some("routing"));
    }
}
