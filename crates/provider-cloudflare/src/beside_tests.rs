use zonewright_core::change::Step;
use zonewright_core::zone::InstanceId;
use zonewright_core::{RData, RecordKey};

use super::*;
use crate::wire;

const NAME: &str = "www.example.org";

fn zone() -> Zone {
    Zone::new(&InstanceId::from("i"), "z", DnsName::parse("example.org").unwrap())
}

fn set(rtype: RecordType, hostnames: &str, region: &str) -> RecordSet {
    let text = if rtype == RecordType::A { "192.0.2.1" } else { "2001:db8::1" };
    let data = RData::parse(rtype, text).unwrap();
    let mut set = RecordSet::simple(DnsName::parse(NAME).unwrap(), rtype, None, [data]);
    set_text(&mut set.options, HOSTNAMES, hostnames);
    set_text(&mut set.options, REGION, region);
    set
}

fn beside(hostnames: &[(&str, &str)], regions: &[(&str, &str)]) -> Beside {
    let hostname = |(hostname, origin): &(&str, &str)| Hostname {
        id: format!("id-{hostname}"),
        name: (*hostname).to_owned(),
        custom_origin_server: Some((*origin).to_owned()),
    };
    let region = |(name, key): &(&str, &str)| ((*name).to_owned(), (*key).to_owned());
    Beside {
        hostnames: Table::Known(hostnames.iter().map(hostname).collect()),
        regions: Table::Known(regions.iter().map(region).collect()),
    }
}

fn group(changes: Vec<Change>) -> Group {
    let steps = changes.into_iter().map(|change| Step::record(change, None)).collect();
    Group { name: DnsName::parse(NAME).unwrap(), steps, stored: vec![], requires: vec![], objects: vec![] }
}

fn standing(types: &[RecordType]) -> Groups {
    let name = DnsName::parse(NAME).unwrap();
    types.iter().map(|rtype| (RecordKey::simple(name.clone(), *rtype), Vec::<wire::Record>::new())).collect()
}

fn shown(ask: Ask) -> String {
    match ask {
        Ask::Change(_, request) => format!("Change {request:?}"),
        Ask::Remove(_, request) => format!("Remove {request:?}"),
    }
}

fn requests(beside: &Beside, group: &Group, standing: &Groups) -> Vec<String> {
    requests_of(beside, &[group], standing)
}

fn requests_of(beside: &Beside, groups: &[&Group], standing: &Groups) -> Vec<String> {
    let manage = Hostnames { min_tls: "1.0".to_owned(), authority: None };
    let one = |(name, wanted): (DnsName, OfName)| beside.requests(&zone(), &name, &wanted, Some(&manage));
    let nothing = ending(groups, standing).into_iter().map(|name| (name, OfName::default()));
    let all = nothing.chain(asked(groups)).flat_map(one);
    all.map(|request| request.map_or_else(|error| error.context, shown)).collect()
}

const ONE: &str = "Change Request(POST \"/zones/{zone}/custom_hostnames\")";
const GONE: &str = "Remove Request(DELETE \"/zones/{zone}/custom_hostnames/{id}\")";
const REGION_GONE: &str = "Change Request(DELETE \"/zones/{zone}/addressing/regional_hostnames/{name}\")";

#[test]
fn host_names_follow_the_sets_of_their_origin() {
    use RecordType::{A, Aaaa};
    let create = |rtype, hostnames: &str| Change::Create { to: set(rtype, hostnames, "") };
    let both = group(vec![create(A, "a.example,b.example"), create(Aaaa, "a.example,b.example")]);
    assert_eq!(requests(&beside(&[], &[]), &both, &standing(&[])), [ONE, ONE], "once each, whatever the types");
    let stands = beside(&[("a.example", NAME), ("c.example", NAME)], &[]);
    assert_eq!(requests(&stands, &both, &standing(&[])), [GONE, ONE]);
    let other = beside(&[("a.example", "other.example.org")], &[]);
    let made = requests(&other, &group(vec![create(A, "a.example")]), &standing(&[]));
    assert!(made.len() == 1 && made[0].contains("belongs to other.example.org"), "{made:?}");
}

#[test]
fn what_a_name_has_goes_with_its_last_address() {
    use RecordType::{A, Aaaa};
    let stands = beside(&[("a.example", NAME)], &[(NAME, "eu")]);
    let delete = group(vec![Change::Delete { from: set(A, "a.example", "eu") }]);
    assert_eq!(requests(&stands, &delete, &standing(&[A])), [GONE, REGION_GONE]);
    assert!(requests(&stands, &delete, &standing(&[A, Aaaa])).is_empty(), "the other family is still answered");
}

#[test]
fn the_groups_of_a_name_are_looked_at_together() {
    use RecordType::{A, Aaaa};
    let one = |change| group(vec![change]);
    let create = |rtype| one(Change::Create { to: set(rtype, "a.example", "") });
    let made = requests_of(&beside(&[], &[]), &[&create(A), &create(Aaaa)], &standing(&[]));
    assert_eq!(made, [ONE], "two groups of a call ask for it");
    let stands = beside(&[("a.example", NAME)], &[(NAME, "eu")]);
    let delete = |rtype| one(Change::Delete { from: set(rtype, "a.example", "eu") });
    let both = [&delete(A), &delete(Aaaa)];
    assert_eq!(requests_of(&stands, &both, &standing(&[A, Aaaa])), [GONE, REGION_GONE], "both go at once");
    let update = one(Change::Update { from: set(Aaaa, "a.example", "eu"), to: set(Aaaa, "", "eu") });
    assert_eq!(requests_of(&stands, &[&delete(A), &update], &standing(&[A, Aaaa])), [GONE], "who asked for it goes");
}

#[test]
fn a_region_comes_changes_and_goes() {
    let wanted = |region: &str| group(vec![Change::Create { to: set(RecordType::A, "", region) }]);
    let none = standing(&[]);
    assert_eq!(
        requests(&beside(&[], &[]), &wanted("eu"), &none),
        ["Change Request(POST \"/zones/{zone}/addressing/regional_hostnames\")"]
    );
    let stands = beside(&[], &[(NAME, "us")]);
    let changed = requests(&stands, &wanted("eu"), &none);
    assert_eq!(changed, ["Change Request(PATCH \"/zones/{zone}/addressing/regional_hostnames/{name}\")"]);
    assert_eq!(requests(&stands, &wanted(""), &none), [REGION_GONE]);
    assert!(requests(&stands, &wanted("us"), &none).is_empty());
}

#[test]
fn what_cannot_be_listed_is_left_alone_and_reported() {
    let unknown = Beside { hostnames: Table::Unknown("no such product".to_owned()), regions: Table::Unmanaged };
    let mut set = set(RecordType::A, "a.example", "");
    let notes = unknown.narrow(&mut set.options);
    assert!(notes.len() == 1 && notes[0].contains("no such product") && set.options.is_empty(), "{notes:?}");
    assert!(requests(&unknown, &group(vec![Change::Create { to: set }]), &standing(&[])).is_empty());
}

#[test]
fn the_certificate_is_asked_for_as_external_dns_does() {
    let manage =
        |authority: Option<&str>| Hostnames { min_tls: "1.2".to_owned(), authority: authority.map(str::to_owned) };
    let name = DnsName::parse(NAME).unwrap();
    let made = creation("a.example", &name, &manage(None));
    assert_eq!(
        (&made["custom_origin_server"], &made["ssl"]["settings"]["min_tls_version"]),
        (&json!(NAME), &json!("1.2"))
    );
    assert!(made["ssl"].get("certificate_authority").is_none());
    assert_eq!(creation("a.example", &name, &manage(Some("google")))["ssl"]["certificate_authority"], json!("google"));
}
