//! `zonewright records`, `zones` and `owners`: what the daemon reads in its zones, whose it is, and how each zone is doing.
//!
//! The daemon answers over its socket; nothing is read anew.

mod table;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::process::ExitCode;

use zonewright_api::{
    ListedOwner, ListedRecord, ListedZone, OwnerList, Owners, OwnershipKind, RecordList, Records, ShownSet, ZoneList,
    Zones,
};
use zonewright_core::catalog::Settings;
use zonewright_core::claim::Ownership;
use zonewright_core::record::RecordSet;
use zonewright_core::zone::Zone;
use zonewright_core::{DnsName, Error, ErrorKind, Result};
use zonewright_engine::{Engine, ZoneStatus};

use crate::ask::{as_json, ask};
use crate::{output, state_dir};
use table::Table;

/// What the daemon answers to `zonewright records`.
pub(crate) fn records(engine: &Engine, asked: &Records) -> RecordList {
    let mut list = RecordList::default();
    let limit = asked.limit.unwrap_or(usize::MAX);
    for state in engine.zones().into_iter().filter(|state| is_meant(&state.zone, asked)) {
        let zone = state.zone.key.to_string();
        if let Some(why) = &state.problem {
            list.unread.push(format!("{zone}: {why}"));
        }
        let whole = asked.name.as_ref().is_none_or(|name| *name == state.zone.name);
        engine.each_record(&state.zone, |set, ownership| {
            if !whole && Some(&set.key.name) != asked.name.as_ref() {
                return;
            }
            let record = listed(&zone, &set, ownership);
            if asked.owner.as_ref().is_some_and(|owner| record.owner.as_ref() != Some(owner)) {
                return;
            }
            if list.records.len() < limit {
                list.records.push(record);
            } else {
                list.more += 1;
            }
        });
    }
    list
}

fn is_meant(zone: &Zone, asked: &Records) -> bool {
    let key = &zone.key;
    let named = |text: &String| {
        let apex = DnsName::parse(text).is_ok_and(|name| name == zone.name);
        apex || key.to_string() == *text || key.zone.as_str() == text
    };
    let within = asked.name.as_ref().is_none_or(|name| name.is_within(&zone.name));
    within && asked.zone.as_ref().is_none_or(named)
}

fn listed(zone: &str, set: &RecordSet, ownership: Ownership) -> ListedRecord {
    let (ownership, owner, resource) = match ownership {
        Ownership::Ours(claim) => {
            let resource = claim.as_ref().and_then(|claim| claim.resource.as_ref()).map(ToString::to_string);
            (OwnershipKind::Ours, claim.map(|claim| claim.owner.to_string()), resource)
        }
        Ownership::Foreign(owner) => (OwnershipKind::Foreign, Some(owner.to_string()), None),
        Ownership::Unclaimed => (OwnershipKind::Unclaimed, None, None),
        Ownership::Disputed(owners) => {
            let owners: Vec<String> = owners.iter().map(ToString::to_string).collect();
            (OwnershipKind::Disputed, Some(owners.join(",")), None)
        }
    };
    ListedRecord { zone: zone.to_owned(), set: ShownSet::from(set), ownership, owner, resource }
}

/// What the daemon answers to `zonewright zones`.
pub(crate) fn zones(engine: &Engine) -> ZoneList {
    let zone = |state: ZoneStatus| {
        let (mut records, mut owned) = (0, 0);
        engine.each_record(&state.zone, |_, ownership| {
            records += 1;
            owned += usize::from(ownership.is_ours());
        });
        let ZoneStatus { zone, problem, held, refused, left_alone, contested } = state;
        ListedZone {
            zone: zone.key.to_string(),
            name: zone.title(),
            instance: zone.key.instance.to_string(),
            id: zone.key.zone.to_string(),
            public: zone.visibility == zonewright_core::zone::Visibility::Public,
            problem,
            records,
            owned,
            held,
            refused,
            left_alone,
            contested,
        }
    };
    let unlisted = engine.unlisted().into_iter().map(|(instance, why)| (instance.to_string(), why));
    ZoneList { zones: engine.zones().into_iter().map(zone).collect(), unlisted: unlisted.collect() }
}

/// What the daemon answers to `zonewright owners`.
pub(crate) fn owners(engine: &Engine) -> OwnerList {
    let mut list = OwnerList::default();
    let mut by_owner: BTreeMap<String, BTreeMap<String, usize>> = BTreeMap::new();
    for id in engine.own_ids() {
        by_owner.entry(id.to_string()).or_default();
    }
    let ours: Vec<String> = by_owner.keys().cloned().collect();
    for state in engine.zones() {
        let zone = state.zone.key.to_string();
        engine.each_record(&state.zone, |_, ownership| {
            let owner = match ownership {
                Ownership::Ours(Some(claim)) => claim.owner.to_string(),
                Ownership::Foreign(owner) => owner.to_string(),
                Ownership::Ours(None) | Ownership::Unclaimed => return list.unclaimed += 1,
                Ownership::Disputed(_) => return list.disputed += 1,
            };
            *by_owner.entry(owner).or_default().entry(zone.clone()).or_default() += 1;
        });
    }
    let owner = |(owner, zones): (String, BTreeMap<String, usize>)| ListedOwner {
        ours: ours.contains(&owner),
        records: zones.values().sum(),
        owner,
        zones,
    };
    list.owners = by_owner.into_iter().map(owner).collect();
    list
}

/// `zonewright records`: prints them; status 1 where nothing matched what was asked for.
///
/// # Errors
/// Flags that make no sense; no daemon answers.
pub(crate) async fn show_records(settings: &Settings, name: &str) -> Result<ExitCode> {
    let wrong = |text: String| Error::new(ErrorKind::Configuration, "read the flags", text);
    let limit = usize::try_from(settings.int("limit")).map_err(|_| wrong("--limit cannot be negative".to_owned()))?;
    let some = |flag: &str| Some(settings.text(flag)).filter(|text| !text.is_empty()).map(str::to_owned);
    let parse = |name: &str| DnsName::parse(name).map_err(|problem| wrong(format!("{name:?}: {problem}")));
    let asked = Records {
        name: Some(name).filter(|name| !name.is_empty()).map(parse).transpose()?,
        zone: some("zone"),
        owner: some("owner"),
        limit: Some(limit).filter(|limit| *limit > 0),
    };
    let narrowed = asked.name.is_some() || asked.zone.is_some() || asked.owner.is_some();
    let list = ask(&state_dir::meant(settings), asked).await?;
    let status = if narrowed && list.records.is_empty() { ExitCode::FAILURE } else { ExitCode::SUCCESS };
    let text = if is_json(settings) { as_json(&list) } else { record_table(&list) };
    Ok(output::print(text).or_failure(status))
}

/// What `zonewright zones` prints.
///
/// # Errors
/// No daemon answers.
pub(crate) async fn show_zones(settings: &Settings) -> Result<String> {
    let list = ask(&state_dir::meant(settings), Zones {}).await?;
    Ok(if is_json(settings) { as_json(&list) } else { zone_table(&list) })
}

/// What `zonewright owners` prints.
///
/// # Errors
/// No daemon answers.
pub(crate) async fn show_owners(settings: &Settings) -> Result<String> {
    let list = ask(&state_dir::meant(settings), Owners {}).await?;
    Ok(if is_json(settings) { as_json(&list) } else { owner_table(&list) })
}

fn is_json(settings: &Settings) -> bool {
    settings.text("output") == "json"
}

fn record_table(list: &RecordList) -> String {
    let mut table = Table::new(&["NAME", "TTL", "TYPE", "DATA", "OWNER", "RESOURCE"]);
    for ListedRecord { set, ownership, owner, resource, .. } in &list.records {
        let id = set.set_id.as_ref().map(|id| format!(" ({id})")).unwrap_or_default();
        let owner = match (ownership, owner) {
            (OwnershipKind::Ours, None) => "ours".to_owned(),
            (OwnershipKind::Ours, Some(owner)) => owner.clone(),
            (OwnershipKind::Unclaimed, _) => "-".to_owned(),
            (OwnershipKind::Foreign, owner) => format!("{} (not ours)", owner.as_deref().unwrap_or_default()),
            (OwnershipKind::Disputed, owner) => format!("{} (disputed)", owner.as_deref().unwrap_or_default()),
        };
        table.row([
            set.name.clone(),
            set.ttl.map_or_else(|| "-".to_owned(), |ttl| ttl.to_string()),
            format!("{}{id}", set.rtype),
            set.data.join(" ; "),
            owner,
            resource.clone().unwrap_or_else(|| "-".to_owned()),
        ]);
    }
    let mut out = table.to_string();
    if list.records.is_empty() {
        "No record matches.\n".clone_into(&mut out);
    }
    if list.more > 0 {
        let _ = writeln!(out, "{} more; --limit=0 shows all.", list.more);
    }
    for zone in &list.unread {
        let _ = writeln!(out, "Not up to date: {zone}");
    }
    out
}

fn zone_table(list: &ZoneList) -> String {
    let columns = ["ZONE", "PROVIDER", "ID", "RECORDS", "OURS", "HELD", "REFUSED", "LEFT ALONE", "CONTESTED", "STATE"];
    let mut table = Table::new(&columns);
    for zone in &list.zones {
        let number = |number: usize| number.to_string();
        table.row([
            zone.name.clone(),
            zone.instance.clone(),
            format!("{}{}", zone.id, if zone.public { "" } else { " (private)" }),
            number(zone.records),
            number(zone.owned),
            number(zone.held),
            number(zone.refused),
            number(zone.left_alone),
            number(zone.contested),
            zone.problem.clone().unwrap_or_else(|| "ready".to_owned()),
        ]);
    }
    let mut out = if list.zones.is_empty() { "No zone is known.\n".to_owned() } else { table.to_string() };
    for (instance, why) in &list.unlisted {
        let _ = writeln!(out, "The zones of {instance} cannot be listed: {why}");
    }
    out
}

fn owner_table(list: &OwnerList) -> String {
    let mut table = Table::new(&["OWNER", "RECORDS", "ZONES"]);
    for ListedOwner { owner, ours, records, zones } in &list.owners {
        let zones: Vec<String> = zones.iter().map(|(zone, count)| format!("{zone} ({count})")).collect();
        let owner = format!("{owner}{}", if *ours { " (this daemon)" } else { "" });
        table.row([owner, records.to_string(), if zones.is_empty() { "-".to_owned() } else { zones.join(", ") }]);
    }
    let mut out = table.to_string();
    let _ = writeln!(out, "{} records of managed types without an owner, {} disputed.", list.unclaimed, list.disputed);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(ownership: OwnershipKind, owner: Option<&str>) -> ListedRecord {
        let text = |text: &str| text.to_owned();
        let (name, rtype, data) = (text("a.example"), text("A"), vec![text("192.0.2.1"), text("192.0.2.2")]);
        let set = ShownSet { name, rtype, set_id: None, ttl: Some(60), data, routing: None };
        let resource = (ownership == OwnershipKind::Ours).then(|| text("service/shop/web"));
        ListedRecord { zone: text("i/example"), set, ownership, owner: owner.map(text), resource }
    }

    #[test]
    fn records_as_people_read_them() {
        let records = vec![
            record(OwnershipKind::Ours, Some("me")),
            record(OwnershipKind::Foreign, Some("other")),
            record(OwnershipKind::Unclaimed, None),
            record(OwnershipKind::Disputed, Some("a,b")),
        ];
        let list = RecordList { records, more: 2, unread: vec!["i/z: REFUSED".to_owned()] };
        assert_eq!(
            record_table(&list),
            "NAME       TTL  TYPE  DATA                   OWNER             RESOURCE\n\
             a.example  60   A     192.0.2.1 ; 192.0.2.2  me                service/shop/web\n\
             a.example  60   A     192.0.2.1 ; 192.0.2.2  other (not ours)  -\n\
             a.example  60   A     192.0.2.1 ; 192.0.2.2  -                 -\n\
             a.example  60   A     192.0.2.1 ; 192.0.2.2  a,b (disputed)    -\n\
             2 more; --limit=0 shows all.\nNot up to date: i/z: REFUSED\n"
        );
        assert_eq!(record_table(&RecordList::default()), "No record matches.\n");
    }

    #[test]
    fn zones_and_owners_as_people_read_them() {
        let zone = ListedZone {
            name: "example".to_owned(),
            instance: "rfc2136".to_owned(),
            id: "example".to_owned(),
            public: true,
            records: 3,
            owned: 2,
            ..ListedZone::default()
        };
        let list = ZoneList { zones: vec![zone], unlisted: vec![("aws".to_owned(), "no answer".to_owned())] };
        assert_eq!(
            zone_table(&list),
            "ZONE     PROVIDER  ID       RECORDS  OURS  HELD  REFUSED  LEFT ALONE  CONTESTED  STATE\n\
             example  rfc2136   example  3        2     0     0        0           0          ready\n\
             The zones of aws cannot be listed: no answer\n"
        );
        let owner =
            ListedOwner { owner: "me".to_owned(), ours: true, records: 2, zones: [("i/example".to_owned(), 2)].into() };
        assert_eq!(
            owner_table(&OwnerList { owners: vec![owner], unclaimed: 1, disputed: 0 }),
            "OWNER             RECORDS  ZONES\nme (this daemon)  2        i/example (2)\n\
             1 records of managed types without an owner, 0 disputed.\n"
        );
    }
}
