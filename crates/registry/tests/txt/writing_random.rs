//! Claims beside records that are drawn at random: what is written is read back, nothing of others changes, and nothing panics.

use std::sync::Arc;

use proptest::prelude::*;
use zonewright_core::change::{Change, Group, Step};
use zonewright_core::claim::judge;
use zonewright_core::record::RecordData;
use zonewright_core::registry::ClaimFormat as _;
use zonewright_core::{DnsName, RecordSet, RecordType};

use crate::support::{World, decorate, key, record, registry};

const CONFIGS: [(&str, &str, &str); 8] = [
    ("", "", ""),
    ("txt-", "", "any"),
    ("%{record_type}", "", ""),
    ("%{record_type}.", "", "any"),
    ("x-%{record_type}-y.", "", ""),
    ("", "-txt", ""),
    ("", "-.%{record_type}", "any"),
    ("", ".sfx.x", ""),
];

fn any_record() -> impl Strategy<Value = RecordSet> {
    let host = prop_oneof![
        "[a-z0-9-]{1,8}(\\.[a-z]{1,4}){0,2}\\.ex\\.com",
        Just("*.ex.com".to_owned()),
        Just("any.ex.com".to_owned()),
        Just("ex.com".to_owned()),
        Just("_apex.ex.com".to_owned()),
        Just("www.ex.com".to_owned()),
        Just("aaawww.ex.com".to_owned())
    ];
    let data = prop::sample::select(vec!["A 192.0.2.1", "AAAA 2001:db8::1", "CNAME x.org", "MX 10 x.org", "TXT text"]);
    (host, data).prop_map(|(host, data)| record(&format!("{host} {data}")))
}

proptest! {
    #[test]
    fn what_is_written_is_read_back_as_ours(
        config in prop::sample::select(CONFIGS.to_vec()),
        set in any_record(),
        resource in prop::option::of("[a-z/=\" -]{0,20}"),
        labels in prop::collection::btree_map("[a-z]{1,6}", "[a-zA-Z0-9=/]{0,6}", 0..3),
    ) {
        let (registry, mut world) = (registry(config.0, config.1, config.2), World::new("zone ex.com"));
        let mut labels: Vec<(Arc<str>, Arc<str>)> = labels.iter().map(|(k, v)| (Arc::from(&**k), Arc::from(&**v))).collect();
        labels.retain(|(k, _)| !["owner", "resource"].contains(&&**k));
        let resource: Option<Arc<str>> = resource.map(Arc::from);
        let step = Step { labels: labels.clone(), ..Step::record(Change::Create { to: set.clone() }, resource.clone()) };
        let result = registry.decorate(world.zone(), vec![Group::of(step, vec![])], &world).remove(0);
        if let Ok(group) = result {
            world.apply(&group);
            let claims = registry.claims(world.zone(), &set.key, &world);
            let ownership = judge(&claims, registry.owner());
            let claim = ownership.claim().expect("ours");
            prop_assert!(claim.current);
            prop_assert_eq!(&claim.resource, &resource);
            prop_assert_eq!(&claim.labels, &labels);
        } else {
            prop_assert!(resource.is_some_and(|r| r.ends_with('"')), "only labels can stand against it");
        }
    }

    /// Any run of creates, updates and deletes: whatever comes out can be carried out, every record that stands is ours, and
    /// no claim outlives its record.
    #[test]
    fn records_and_claims_stand_together(
        config in prop::sample::select(CONFIGS.to_vec()),
        sets in prop::collection::vec((any_record(), any::<bool>()), 1..16),
    ) {
        let (registry, mut world) = (registry(config.0, config.1, config.2), World::new("zone ex.com"));
        let mut standing: Vec<RecordSet> = Vec::new();
        for (set, delete) in sets {
            let at = standing.iter().position(|other| other.key == set.key);
            let clash = |other: &RecordSet| other.key.name == set.key.name && other.key.rtype.excludes(set.key.rtype);
            let change = match at {
                Some(at) if delete => Change::Delete { from: world.record(&standing[at].key) },
                Some(at) => Change::Update { from: world.record(&standing[at].key), to: set.clone() },
                None if standing.iter().any(clash) => continue,
                None => Change::Create { to: set.clone() },
            };
            let group = Group::of(Step::record(change.clone(), None), vec![]);
            let Ok(group) = registry.decorate(world.zone(), vec![group], &world).remove(0) else { continue };
            world.apply(&group);
            standing.retain(|other| other.key != set.key);
            standing.extend(change.to().cloned());
            for set in &standing {
                let ownership = judge(&registry.claims(world.zone(), &set.key, &world), registry.owner());
                prop_assert!(ownership.is_ours(), "{} after {}", set, change);
            }
            if change.to().is_none() {
                let left = registry.claims(world.zone(), change.key(), &world);
                prop_assert!(left.is_empty(), "{left:?} after {change}");
            }
        }
    }

    /// One round over a zone of ours, theirs and nobody's: the groups can be carried out in any order, nothing that is not
    /// ours changes or becomes ours, and what we were asked to write is ours.
    #[test]
    fn foreign_records_are_sacred(
        config in prop::sample::select(CONFIGS.to_vec()),
        seed in prop::collection::vec((any_record(), 0..6_usize), 0..8),
        wanted in prop::collection::vec((any_record(), any::<bool>()), 1..8),
        backwards in any::<bool>(),
    ) {
        let (registry, mut world) = (registry(config.0, config.1, config.2), World::new("zone ex.com"));
        for (set, claim) in &seed {
            let names: Vec<DnsName> = registry.claim_names(world.zone(), &set.key).into_iter().collect();
            world.put(set.clone());
            let owner = if claim % 2 == 0 { "me" } else { "other" };
            if let Some(name) = names.get(claim / 2) {
                world.put(record(&format!("{name} TXT !{owner}")));
            }
        }
        let ours = |world: &World, set: &RecordSet| {
            judge(&registry.claims(world.zone(), &set.key, world), registry.owner()).is_ours()
        };
        let before = world.records();
        let mut groups: Vec<Group> = Vec::new();
        for (set, delete) in wanted {
            let clash = |other: &RecordSet| other.key.name == set.key.name && other.key.rtype.excludes(set.key.rtype);
            let asked = groups.iter().flat_map(Group::changes).filter_map(Change::to).cloned().collect::<Vec<_>>();
            let again = groups.iter().any(|group| group.changes().any(|change| *change.key() == set.key));
            let from = before.iter().find(|other| other.key == set.key && !registry.is_claim(other)).cloned();
            let change = match from {
                Some(from) if delete => Change::Delete { from },
                Some(from) => Change::Update { from, to: set.clone() },
                None => Change::Create { to: set.clone() },
            };
            let in_the_way = |other: &&RecordSet| !registry.is_claim(other) && clash(other);
            if !again && !asked.iter().any(clash) && !before.iter().any(|other| in_the_way(&other)) {
                groups.push(Group::of(Step::record(change, None), vec![]));
            }
        }
        let mut results: Vec<Group> = registry.decorate(world.zone(), groups, &world).into_iter().flatten().collect();
        if backwards {
            results.reverse();
        }
        let foreign: Vec<&RecordSet> = before.iter().filter(|set| !registry.is_claim(set) && !ours(&world, set)).collect();
        let others_claims: Vec<&RecordSet> = before.iter().filter(|set| set.data.to_string().contains("owner=other")).collect();
        let foreign: Vec<RecordSet> = foreign.into_iter().cloned().collect();
        for group in &results {
            // A CNAME is not created where a claim stands that has to stay: the provider refuses it, and says so.
            if world.holds(group) {
                world.apply(group);
            } else {
                let at_name = |set: &RecordSet| set.key.name == group.name && registry.is_claim(set);
                prop_assert!(world.records().iter().any(at_name), "{group:?} cannot be carried out");
            }
        }
        let after = world.records();
        for set in foreign.iter().chain(others_claims) {
            prop_assert!(after.contains(set), "{set} was changed");
        }
        for set in &foreign {
            prop_assert!(!ours(&world, set), "{set} became ours");
        }
        for change in results.iter().flat_map(Group::changes).filter(|change| !change.to().is_some_and(|to| registry.is_claim(to))) {
            if let Some(to) = change.to().filter(|to| after.iter().any(|set| to.is_met_by(set))) {
                prop_assert!(ours(&world, to), "{to} is not ours");
            }
        }
    }

    #[test]
    fn arbitrary_text_never_panics(text in "\\PC{0,60}", host in "[a-z*.]{1,12}") {
        let mut world = World::new("zone ex.com\nwww.ex.com A 192.0.2.1\na-www.ex.com TXT !me");
        let data = RecordData::records([zonewright_core::RData::Txt(zonewright_core::rdata::Txt::from_text(&text))]);
        world.edit(&key("a-www.ex.com TXT"), |set| set.data = data);
        let registry = registry("", "", "");
        let _ = registry.is_claim(&world.record(&key("a-www.ex.com TXT")));
        let _ = decorate(&registry, &world, &["- www.ex.com A", "+ x.ex.com A 192.0.2.1"]);
        if let Ok(name) = DnsName::parse(&host) {
            let key = zonewright_core::RecordKey::simple(name, RecordType::A);
            let _ = (registry.claims(world.zone(), &key, &world), registry.claim_names(world.zone(), &key));
        }
    }
}
