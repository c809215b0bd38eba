//! From what is wanted to what a provider can hold.
//!
//! Once, before the plan: done inside a provider, a lossy step cannot converge, since the desired set would never equal
//! what is read back. Every loss is a note.

use crate::capability::{Capability, RoutingSupport, TargetCount};
use crate::contend::Wanted;
use crate::endpoint::{Note, Targets};
use crate::options::OptionReader;
use crate::rdata::RData;
use crate::record::{RecordData, RecordSet};
use crate::rtype::RecordType;
use crate::zone::Zone;

/// The result for one wanted set: the set as far as the provider can hold it (nothing if it cannot), and what was lost.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Lowered {
    /// What can be held.
    pub set: Option<RecordSet>,
    /// What the holder should know.
    pub notes: Vec<Note>,
}

/// Lowers one wanted set to what `zone` can hold; `published` is what stands there under its key.
pub fn lower(
    wanted: &Wanted,
    zone: &Zone,
    capability: &Capability,
    options: &OptionReader,
    published: Option<&RecordSet>,
) -> Lowered {
    let mut out = Lowered::default();
    let mut report = |reason, text: String| out.notes.push(Note::warning(&wanted.origin.object, reason, text));
    if let Some((reason, text)) = refusal(wanted, zone, capability) {
        report(reason, text);
        return out;
    }
    let data = match &wanted.targets {
        Targets::Alias(alias) => RecordData::Alias((**alias).clone()),
        Targets::Records(records) => {
            let one = capability.targets == TargetCount::First || wanted.key.rtype == RecordType::Cname;
            if one && records.len() > 1 {
                let kept = first(records, published);
                let why =
                    if wanted.key.rtype == RecordType::Cname { "a CNAME holds one" } else { "this provider holds one" };
                report(
                    "FirstTargetOnly",
                    format!("{} has {} targets, {why}: {kept} is published", wanted.key, records.len()),
                );
                RecordData::records([kept.clone()])
            } else {
                RecordData::records(records.iter().cloned())
            }
        }
    };
    let ttl = wanted.ttl.map(|ttl| capability.ttl.clamp(ttl));
    if let (Some(asked), Some(given)) = (wanted.ttl, ttl)
        && asked != given
    {
        report("TTLAdjusted", format!("{}: TTL {asked} is outside what this zone takes, {given} is used", wanted.key));
    }
    let (parsed, problems) = options.parse(&wanted.properties);
    for problem in problems {
        report("InvalidOption", format!("{}: {problem}", wanted.key));
    }
    out.set = Some(RecordSet { key: wanted.key.clone(), ttl, data, routing: wanted.routing.clone(), options: parsed });
    out
}

/// Why a wanted set cannot stand in this zone at all.
fn refusal(wanted: &Wanted, zone: &Zone, capability: &Capability) -> Option<(&'static str, String)> {
    let (key, rtype) = (&wanted.key, wanted.key.rtype);
    let apex = key.name == zone.name;
    if !capability.types.has(rtype) {
        return Some(("UnsupportedType", format!("{key}: this provider has no records of type {rtype}")));
    }
    if key.name.is_wildcard() && !capability.wildcards {
        return Some(("UnsupportedWildcard", format!("{key}: this provider has no wildcard records")));
    }
    if apex && capability.cname.alone && !capability.cname.flattened && rtype == RecordType::Cname {
        let text =
            format!("{key}: a CNAME cannot stand at the apex of zone {}; point it to addresses instead", zone.name);
        return Some(("CnameAtApex", text));
    }
    if key.makes_zone(&zone.name) {
        return Some(("ApexDelegation", format!("{key}: NS and SOA records at the apex of a zone are never touched")));
    }
    if matches!(wanted.targets, Targets::Alias(_)) && !capability.alias {
        return Some(("UnsupportedAlias", format!("{key}: this provider has no alias records")));
    }
    if let Some(text) = routing_refusal(wanted, capability) {
        return Some(("UnsupportedRouting", format!("{key}: {text}")));
    }
    let to_itself = |data: &RData| matches!(data, RData::Cname(target) | RData::Dname(target) if *target == key.name);
    if wanted.targets.as_records().iter().any(to_itself) {
        return Some(("SelfReference", format!("{key} points to itself")));
    }
    None
}

/// Why the routing policy of a wanted set cannot be had.
fn routing_refusal(wanted: &Wanted, capability: &Capability) -> Option<String> {
    let kind = wanted.routing.kind()?;
    if capability.routing == RoutingSupport::None {
        return Some("this provider has no routing policies".to_owned());
    }
    if !capability.routing.has(kind) {
        return Some(format!("this provider has no {kind} routing"));
    }
    if matches!(capability.routing, RoutingSupport::InSet(_)) && wanted.key.rtype == RecordType::Txt {
        return Some("texts cannot be items of a routing policy here: claims stand in the same record sets".to_owned());
    }
    let none = wanted.key.set_id.is_none();
    none.then(|| format!("{kind} routing needs a set identifier, which distinguishes its sets; none is stated"))
}

/// The published target while it is still wanted, else the first one that is wanted.
fn first<'a>(records: &'a [RData], published: Option<&RecordSet>) -> &'a RData {
    let standing = published.map_or(&[][..], |set| set.data.as_records());
    records.iter().find(|data| standing.contains(data)).unwrap_or(&records[0])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contend::{Contended, ContentionFacts, NameRules, PublishedRecord, contend};
    use crate::endpoint::Endpoint;
    use crate::options::{OptionKind, OptionSpec, OptionTable};
    use crate::record::{RecordKey, Ttl};
    use crate::testing::{capability, endpoint, name, set};
    use crate::zone::InstanceId;

    struct Nothing;

    impl ContentionFacts for Nothing {
        fn ours(&self, _: &RecordKey) -> Option<PublishedRecord<'_>> {
            None
        }

        fn published(&self, _: RecordType) -> Vec<PublishedRecord<'_>> {
            Vec::new()
        }

        fn may_inherit(&self, _: &RecordKey) -> bool {
            false
        }
    }

    fn wanted(endpoint: &Endpoint) -> Wanted {
        let Contended { mut wanted, .. } = contend(&endpoint.name, &[endpoint], NameRules::default(), &Nothing);
        wanted.remove(0)
    }

    fn check(
        line: &str,
        change: impl FnOnce(&mut Capability),
        published: Option<&str>,
        expected: &str,
        reasons: &[&str],
    ) {
        let zone = Zone::new(&InstanceId::from("i"), "z", name("example"));
        let mut capability = capability();
        change(&mut capability);
        let lowered = lower(
            &wanted(&endpoint("Ingress", "a", line)),
            &zone,
            &capability,
            &OptionTable::NONE.into(),
            published.map(set).as_ref(),
        );
        assert_eq!(lowered.set.map(|s| s.to_string()).unwrap_or_default(), expected, "{line}");
        assert_eq!(lowered.notes.iter().map(|n| n.reason).collect::<Vec<_>>(), reasons, "{line}");
    }

    #[test]
    fn what_cannot_stand_is_refused_with_its_reason() {
        let none = |_: &mut Capability| {};
        check("example CNAME b.c", none, None, "", &["CnameAtApex"]);
        check("example NS ns.b.c", none, None, "", &["ApexDelegation"]);
        check("a.example CNAME a.example", none, None, "", &["SelfReference"]);
        check("a.example TYPE65280 x", none, None, "", &["UnsupportedType"]);
        check("*.example A 192.0.2.1", |c| c.wildcards = false, None, "", &["UnsupportedWildcard"]);
        check("sub.example NS ns.b.c", none, None, "sub.example NS ns.b.c.", &[]);
    }

    #[test]
    fn the_first_target_stays_while_it_is_wanted() {
        let first = |c: &mut Capability| c.targets = TargetCount::First;
        let line = "a.example A 192.0.2.9 192.0.2.1";
        check(line, first, None, "a.example A 192.0.2.9", &["FirstTargetOnly"]);
        check(line, first, Some("a.example A 192.0.2.1"), "a.example A 192.0.2.1", &["FirstTargetOnly"]);
        check(line, first, Some("a.example A 192.0.2.7"), "a.example A 192.0.2.9", &["FirstTargetOnly"]);
        check("a.example CNAME y.z x.z", |_| {}, None, "a.example CNAME y.z.", &["FirstTargetOnly"]);
        check(line, |_| {}, None, "a.example A 192.0.2.1 ; 192.0.2.9", &[]);
    }

    #[test]
    fn a_ttl_out_of_range_is_moved_into_it() {
        let floor = |c: &mut Capability| c.ttl.min = Ttl::from_secs(60).unwrap();
        check("a.example A ttl=5 192.0.2.1", floor, None, "a.example 60 A 192.0.2.1", &["TTLAdjusted"]);
        check("a.example A 192.0.2.1", floor, None, "a.example A 192.0.2.1", &[]);
    }

    #[test]
    fn bad_options_are_reported_and_left_out() {
        let table = OptionTable {
            specs: &[OptionSpec { key: "x/n", kind: OptionKind::Int { min: 0, max: 9 }, default: "0", doc: "N." }],
            ..OptionTable::NONE
        };
        let mut asking = endpoint("Ingress", "a", "a.example A 192.0.2.1");
        asking.extras.edit(|extras| extras.properties.insert("x/n".into(), "ten".into()));
        let zone = Zone::new(&InstanceId::from("i"), "z", name("example"));
        let lowered = lower(&wanted(&asking), &zone, &capability(), &table.into(), None);
        assert!(lowered.set.is_some_and(|s| s.options.is_empty()));
        assert!(lowered.notes[0].message.contains("x/n=\"ten\""), "{}", lowered.notes[0].message);
    }
}
