//! Groups as one batch of changes.
//!
//! In: groups of one call. Out: one request of `CREATE`s and `DELETE`s, and what became of each group. What must hold: everything that
//! a group demands of the zone is part of the request, or was read right before it.
//!
//! <https://docs.aws.amazon.com/Route53/latest/APIReference/API_ChangeResourceRecordSets.html>

use std::collections::{BTreeMap, BTreeSet, HashMap};

use aws_sdk_route53::types::{
    Change as WireChange, ChangeAction, ChangeBatch, ResourceRecordSet, ResourceRecordSetFailover,
};
use zonewright_core::change::{Change, Group, Outcome, Precondition};
use zonewright_core::provider::Listing;
use zonewright_core::zone::ZoneId;
use zonewright_core::{DnsName, Error, ErrorKind, RecordKey, RecordSet, Zone};

use crate::exact::Exact;
use crate::refusal::Said;
use crate::served::Served;
use crate::service::Service;
use crate::{records, refusal};

pub(crate) const APPLY: &str = "apply changes";

/// What one group sends: what goes, then what comes.
#[derive(Debug, Default)]
pub(crate) struct Wire {
    pub(crate) deletes: Vec<ResourceRecordSet>,
    pub(crate) creates: Vec<ResourceRecordSet>,
    /// What has to stand and stays as it is: it goes and comes back, so that the service compares it.
    kept: Vec<ResourceRecordSet>,
}

impl Wire {
    /// All that stands after the request.
    pub(crate) fn to(&self) -> impl Iterator<Item = &ResourceRecordSet> {
        self.creates.iter().chain(&self.kept)
    }

    /// All that is sent.
    pub(crate) fn sets(&self) -> impl Iterator<Item = &ResourceRecordSet> {
        self.deletes.iter().chain(&self.kept).chain(self.to())
    }
}

/// Carries groups out in one request, or in two where what they demand besides does not fit into one.
pub(crate) async fn apply(
    service: &Service,
    zone: &Zone,
    groups: &[Group],
    exact: &Exact,
    served: &Served,
) -> Vec<Outcome> {
    let mut outcomes: Vec<Option<Outcome>> = vec![None; groups.len()];
    let absent = absences(service, zone, groups, exact).await;
    let mut wires: Vec<(usize, Wire)> = Vec::new();
    let mut written: BTreeSet<&RecordKey> = BTreeSet::new();
    for (at, group) in groups.iter().enumerate() {
        let outcome = match wire(zone, group, exact) {
            _ if group.changes_nothing() => Err(Outcome::Applied),
            _ if group.changes().any(|change| written.contains(change.key())) => {
                let text = format!("{}: another group of the call writes the same record set", group.name);
                Err(Outcome::refused(Error::new(ErrorKind::Invalid, APPLY, text)))
            }
            Err(why) => Err(Outcome::refused(Error::new(ErrorKind::Invalid, APPLY, format!("{}: {why}", group.name)))),
            Ok(_) if contradicts(group) => {
                let text = format!("{}: what is demanded of one record set contradicts itself", group.name);
                Err(Outcome::refused(Error::new(ErrorKind::Conflict, APPLY, text)))
            }
            Ok(wire) => absent.check(group).map(|()| wire),
        };
        match outcome {
            Ok(wire) => {
                written.extend(group.changes().map(Change::key));
                wires.push((at, wire));
            }
            Err(outcome) => outcomes[at] = Some(outcome),
        }
    }
    for part in parts(wires) {
        let made = send(service, zone, groups, &part, served).await;
        for ((at, _), outcome) in part.iter().zip(made) {
            outcomes[*at] = Some(outcome);
        }
    }
    let unsent = || Outcome::NotSent(Error::new(ErrorKind::Unavailable, APPLY, "the group was not reached"));
    outcomes.into_iter().map(|outcome| outcome.unwrap_or_else(unsent)).collect()
}

/// The changes of a group, and what must stand for them.
fn wire(zone: &Zone, group: &Group, exact: &Exact) -> Result<Wire, String> {
    let id = &zone.key.zone;
    let mut wire = Wire::default();
    for change in group.changes().filter(|change| change.from() != change.to()) {
        let key = change.key();
        if !key.name.is_within(&zone.name) {
            return Err(format!("{key} is outside zone {}", zone.name));
        }
        if let Some(from) = change.from() {
            wire.deletes.push(exact.spelling(id, from)?);
        }
        if let Some(to) = change.to() {
            if !crate::types().contains(&key.rtype) {
                return Err(format!("Route 53 has no records of type {}", key.rtype));
            }
            let to = crate::convert::write(to)?;
            if needs_health_check(&to) {
                return Err(format!(
                    "{key} would be the primary of a failover, which Route 53 takes without a health check only as an alias, and the \
                     claim on an alias is a text; expected aws-health-check-id on the object, or claims outside of the zone \
                     (--registry)"
                ));
            }
            wire.creates.push(to);
        }
    }
    let changed: BTreeSet<&RecordKey> =
        group.changes().filter(|change| change.from() != change.to()).map(Change::key).collect();
    let mut kept: BTreeSet<&RecordKey> = BTreeSet::new();
    for set in standing(group) {
        if !changed.contains(&set.key) && kept.insert(&set.key) {
            wire.kept.push(exact.spelling(id, set)?);
        }
    }
    Ok(wire)
}

/// Whether the service refuses a set for want of a health check. A claim has the routing policy of its record and is no alias.
fn needs_health_check(set: &ResourceRecordSet) -> bool {
    let primary = set.failover() == Some(&ResourceRecordSetFailover::Primary);
    primary && set.alias_target().is_none() && set.health_check_id().is_none()
}

/// The sets that must stand as they are, and that the group does not change.
pub(crate) fn standing(group: &Group) -> impl Iterator<Item = &RecordSet> {
    let unchanged = group.changes().filter(|change| change.from() == change.to()).filter_map(Change::from);
    let required = group.requires.iter().filter_map(|required| match required {
        Precondition::Exact(set) => Some(set),
        Precondition::Absent(_) | Precondition::NameNotInUse(_) => None,
    });
    required.chain(unchanged)
}

/// Whether one set is demanded to stand in two ways: then one of them does not hold.
fn contradicts(group: &Group) -> bool {
    let mut demanded: BTreeMap<&RecordKey, &RecordSet> = BTreeMap::new();
    let olds = group.changes().filter_map(Change::from);
    olds.chain(standing(group)).any(|set| demanded.insert(&set.key, set).is_some_and(|before| before != set))
}

/// What was read of the names at which something must not stand.
struct Absences(Result<BTreeSet<RecordKey>, Error>);

/// The service has no way to say "nothing stands there" but for what is created: the names are read right before.
async fn absences(service: &Service, zone: &Zone, groups: &[Group], exact: &Exact) -> Absences {
    let names: BTreeSet<DnsName> =
        groups.iter().flat_map(|group| must_be_free(group).map(|(name, _)| name.clone())).collect();
    if names.is_empty() {
        return Absences(Ok(BTreeSet::new()));
    }
    let listing = records::names(service, zone, &names, exact).await;
    Absences(listing.map(|listing| match listing {
        Listing::Names(sets) => sets.into_iter().map(|set| set.key).collect(),
        _ => BTreeSet::new(),
    }))
}

/// Names, and the key at each that must not stand; all of them without one. What the group creates is the service's to see.
fn must_be_free(group: &Group) -> impl Iterator<Item = (&DnsName, Option<&RecordKey>)> {
    let created = |key: &RecordKey| group.changes().any(|change| change.from().is_none() && change.key() == key);
    group.requires.iter().filter_map(move |required| match required {
        Precondition::Absent(key) if !created(key) => Some((&key.name, Some(key))),
        Precondition::NameNotInUse(name) => Some((name, None)),
        Precondition::Absent(_) | Precondition::Exact(_) => None,
    })
}

impl Absences {
    fn check(&self, group: &Group) -> Result<(), Outcome> {
        for (name, key) in must_be_free(group) {
            let standing = match &self.0 {
                Ok(standing) => standing,
                Err(error) => return Err(Outcome::NotSent(error.clone())),
            };
            let found = standing.iter().find(|there| there.name == *name && key.is_none_or(|key| key == *there));
            if let Some(found) = found {
                let text = format!("{found} stands, and was not to");
                return Err(Outcome::refused(Error::new(ErrorKind::Conflict, APPLY, text)));
            }
        }
        Ok(())
    }
}

/// The service's limits of one request.
const VALUES: usize = 1_000;

/// As many groups in each request as it may hold; the caller counted no more than the changes themselves.
fn parts(wires: Vec<(usize, Wire)>) -> Vec<Vec<(usize, Wire)>> {
    let mut parts: Vec<Vec<(usize, Wire)>> = Vec::new();
    let mut filled = (0, 0);
    for (at, wire) in wires {
        let values: usize = wire.sets().map(|set| set.resource_records().len().max(1)).sum();
        let characters: usize = wire
            .sets()
            .flat_map(ResourceRecordSet::resource_records)
            .map(|record| record.value().chars().count())
            .sum();
        let fits = filled.0 + values <= VALUES && filled.1 + characters <= crate::adjust::CHARACTERS;
        if let Some(part) = parts.last_mut().filter(|_| fits) {
            part.push((at, wire));
            filled = (filled.0 + values, filled.1 + characters);
        } else {
            parts.push(vec![(at, wire)]);
            filled = (values, characters);
        }
    }
    parts
}

/// Sends one request.
async fn send(
    service: &Service,
    zone: &Zone,
    groups: &[Group],
    part: &[(usize, Wire)],
    served: &Served,
) -> Vec<Outcome> {
    let all = |outcome: &Outcome| vec![outcome.clone(); part.len()];
    let batch = match batch(part) {
        Ok(batch) => batch,
        Err(why) => return all(&Outcome::NotSent(Error::new(ErrorKind::Invalid, APPLY, why))),
    };
    let what = format!("zone {} ({})", zone.name, zone.key.zone);
    let id: &ZoneId = &zone.key.zone;
    let sent = service
        .write(
            APPLY,
            &what,
            |client| {
                let request =
                    client.change_resource_record_sets().hosted_zone_id(id.as_str()).change_batch(batch.clone());
                async move { request.send().await }
            },
            Said::of,
        )
        .await;
    match sent {
        Ok(answer) => {
            if let Some(info) = answer.change_info() {
                served.accepted(id, info.id());
            }
            all(&Outcome::Applied)
        }
        Err((failure, said)) => refusal::outcomes(&failure, &said, groups, part),
    }
}

/// What the groups demand. What several of them demand alike is there once: the service takes no change twice.
fn demanded(part: &[(usize, Wire)]) -> Vec<&ResourceRecordSet> {
    let (mut all, mut by_key) = (Vec::new(), HashMap::<_, Vec<&ResourceRecordSet>>::new());
    for set in part.iter().flat_map(|(_, wire)| &wire.kept) {
        let of_key = by_key.entry((set.name(), set.r#type().as_str(), set.set_identifier())).or_default();
        if !of_key.contains(&set) {
            of_key.push(set);
            all.push(set);
        }
    }
    all
}

/// What goes before what comes: one name may do both.
fn batch(part: &[(usize, Wire)]) -> Result<ChangeBatch, String> {
    let kept = demanded(part);
    let deletes = part.iter().flat_map(|(_, wire)| &wire.deletes).chain(kept.iter().copied());
    let deletes = deletes.map(|set| (ChangeAction::Delete, set));
    let creates = part.iter().flat_map(|(_, wire)| &wire.creates).chain(kept.iter().copied());
    let creates = creates.map(|set| (ChangeAction::Create, set));
    let change = |(action, set): (ChangeAction, &ResourceRecordSet)| {
        WireChange::builder().action(action).resource_record_set(set.clone()).build()
    };
    let changes =
        deletes.chain(creates).map(change).collect::<Result<Vec<_>, _>>().map_err(|error| error.to_string())?;
    ChangeBatch::builder().set_changes(Some(changes)).build().map_err(|error| error.to_string())
}
