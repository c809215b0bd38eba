//! The form in which a set is read back, and what the service would refuse of it.
//!
//! Limits: <https://docs.aws.amazon.com/Route53/latest/DeveloperGuide/DNSLimitations.html>

use std::sync::Arc;

use zonewright_core::provider::Adjustment;
use zonewright_core::record::{AliasTarget, Routing};
use zonewright_core::{RData, RecordData, RecordSet, RecordType};

use crate::options::HEALTH_CHECK;
use crate::{convert, default_ttl, interpret};

/// Most records of one set.
const RECORDS: usize = 400;
/// Most characters of one value.
const VALUE: usize = 4_000;
/// Most characters of the values of one request.
pub(crate) const CHARACTERS: usize = 32_000;
/// Most characters of a set identifier.
const IDENTIFIER: usize = 128;

/// What becomes of a wanted set.
pub(crate) fn adjust(set: &RecordSet) -> Adjustment {
    if let Some(why) = refusal(set) {
        return Adjustment::Refused(why);
    }
    let data = match &set.data {
        RecordData::Alias(alias) => RecordData::Alias(AliasTarget {
            target: convert::target(&alias.target),
            zone: alias.zone.as_deref().map(|id| Arc::from(interpret::bare(id))),
            evaluate_health: alias.evaluate_health,
        }),
        data => data.clone(),
    };
    let ttl = match data {
        RecordData::Alias(_) => None,
        _ => set.ttl.or_else(|| Some(default_ttl())),
    };
    Adjustment::to(RecordSet { data, ttl, ..set.clone() })
}

/// Why the service would refuse this set, whatever else stands in the zone.
fn refusal(set: &RecordSet) -> Option<String> {
    if !crate::types().contains(&set.key.rtype) {
        return Some(format!("Route 53 has no records of type {}", set.key.rtype));
    }
    if let Some(id) = set.key.set_id.as_ref().filter(|id| id.as_str().chars().count() > IDENTIFIER) {
        let length = id.as_str().chars().count();
        return Some(format!("the set identifier has {length} characters; Route 53 takes at most {IDENTIFIER}"));
    }
    if let Some(why) = refused_routing(set) {
        return Some(why);
    }
    match &set.data {
        RecordData::Records(records) => refused_records(records),
        RecordData::Alias(_) if !matches!(set.key.rtype, RecordType::A | RecordType::Aaaa) => {
            Some(format!("an alias of type {} is not published; expected A or AAAA", set.key.rtype))
        }
        RecordData::Alias(alias) if alias.zone.is_none() => {
            Some("the hosted zone of the alias is not known".to_owned())
        }
        RecordData::Alias(_) => None,
        RecordData::Items(_) => Some("the sets of a routing policy stand apart here".to_owned()),
    }
}

fn refused_routing(set: &RecordSet) -> Option<String> {
    let is_alias = matches!(set.data, RecordData::Alias(_));
    match &set.routing {
        Routing::Weighted { weight } if *weight > 255 => Some(format!("the weight {weight} is above 255")),
        Routing::Geoproximity { bias, .. } if !(-99..=99).contains(bias) => {
            Some(format!("the bias {bias} is outside -99 to 99"))
        }
        Routing::Failover { primary: true } if !is_alias && set.options.get(HEALTH_CHECK).is_none() => {
            Some("the primary of a failover needs a health check; expected aws/health-check-id beside it".to_owned())
        }
        Routing::Multivalue if is_alias => Some("an alias cannot take part in multivalue answers".to_owned()),
        Routing::Simple => None,
        routing if set.key.set_id.is_none() => {
            let kind = routing.kind().map_or_else(String::new, |kind| kind.to_string());
            Some(format!("{kind} routing needs a set identifier"))
        }
        _ => None,
    }
}

fn refused_records(records: &[RData]) -> Option<String> {
    if records.len() > RECORDS {
        return Some(format!("the set has {} records; Route 53 takes at most {RECORDS}", records.len()));
    }
    let lengths: Vec<usize> = records.iter().map(|record| convert::text(record).chars().count()).collect();
    if let Some(length) = lengths.iter().find(|length| **length > VALUE) {
        return Some(format!("a value has {length} characters; Route 53 takes at most {VALUE}"));
    }
    let total: usize = lengths.iter().sum();
    // An update takes the old values away in the same request.
    (total > CHARACTERS / 2)
        .then(|| format!("the values have {total} characters; they are published up to {}", CHARACTERS / 2))
}

#[cfg(test)]
mod tests {
    use zonewright_core::record::SetId;
    use zonewright_core::{DnsName, RecordKey, Ttl};

    use super::*;

    fn txt(texts: &[String]) -> RecordSet {
        let name = DnsName::parse("www.example.org").unwrap();
        let records = texts.iter().map(|text| RData::parse(RecordType::Txt, text).unwrap());
        RecordSet::simple(name, RecordType::Txt, None, records)
    }

    #[track_caller]
    fn refused(set: &RecordSet) -> String {
        match adjust(set) {
            Adjustment::Refused(why) => why,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_ttl_is_there_and_an_alias_has_none() {
        let set = txt(&["\"a\"".to_owned()]);
        assert_eq!(adjust(&set).sets()[0].ttl, Ttl::from_secs(300));
        let alias = AliasTarget {
            target: "LB.example.net.".into(),
            zone: Some("/hostedzone/Z1".into()),
            evaluate_health: true,
        };
        let key = RecordKey { rtype: RecordType::A, ..set.key.clone() };
        let set = RecordSet { key, ttl: Ttl::from_secs(60), data: RecordData::Alias(alias), ..set };
        let adjusted = adjust(&set);
        let expected = AliasTarget { target: "lb.example.net".into(), zone: Some("Z1".into()), evaluate_health: true };
        assert_eq!((adjusted.sets()[0].ttl, &adjusted.sets()[0].data), (None, &RecordData::Alias(expected)));
    }

    #[test]
    fn limits() {
        let many = |n: usize| (0..n).map(|i| format!("\"{i}\"")).collect::<Vec<_>>();
        assert_eq!(adjust(&txt(&many(400))).sets().len(), 1);
        assert!(refused(&txt(&many(401))).contains("at most 400"));
        let long = |n: usize| format!("\"{}\"", "x".repeat(255)).repeat(n);
        assert_eq!(adjust(&txt(&[long(15)])).sets().len(), 1);
        assert!(refused(&txt(&[long(16)])).contains("at most 4000"));
        let key = |n: usize| RecordKey { set_id: SetId::new(&"i".repeat(n)), ..txt(&many(1)).key };
        let routing = Routing::Weighted { weight: 1 };
        let set = |n| RecordSet { key: key(n), routing: routing.clone(), ..txt(&many(1)) };
        assert_eq!(adjust(&set(128)).sets().len(), 1);
        assert!(refused(&set(129)).contains("at most 128"));
        assert!(refused(&RecordSet { key: txt(&many(1)).key, ..set(1) }).contains("needs a set identifier"));
        assert!(refused(&RecordSet { routing: Routing::Weighted { weight: 256 }, ..set(1) }).contains("above 255"));
        assert!(
            refused(&RecordSet { routing: Routing::Failover { primary: true }, ..set(1) }).contains("health check")
        );
        assert_eq!(adjust(&RecordSet { routing: Routing::Failover { primary: false }, ..set(1) }).sets().len(), 1);
    }
}
