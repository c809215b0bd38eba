//! Groups as one batch of changes.
//!
//! In: groups of one call. Out: one request, and what became of each group. What must hold: every name that the groups change or
//! demand something of is read right before, since the service knows no conditions. What is taken away or changed is named by the
//! id that was read; a batch in which one of them is gone is refused as a whole.
//!
//! <https://developers.cloudflare.com/api/resources/dns/subresources/records/methods/batch/>

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use zonewright_core::capability::CnameRules;
use zonewright_core::change::{Blame, Change, Group, Outcome, Precondition, StoreStep};
use zonewright_core::{DnsName, Error, ErrorKind, RData, RecordKey, RecordSet, Zone};
use zonewright_http::{Delivery, Failure, Repeat, Request, Share};

use crate::adjust::refusal;
use crate::beside::{Beside, beside_of};
use crate::client::Service;
use crate::convert::{self, RecordProperties};
use crate::error::has_no_room;
use crate::operation::{APPLY, WRITE_RECORDS};
use crate::options::MIXED;
use crate::records::Groups;
use crate::wire;

/// What a CNAME may stand beside: nothing, and at the apex, where it is flattened, everything but addresses.
pub(crate) const CNAME: CnameRules = CnameRules { alone: true, flattened: true };

/// The names of which something must be known before the groups are sent.
pub(crate) fn names<'a>(groups: impl IntoIterator<Item = &'a Group>) -> BTreeSet<DnsName> {
    let wanted = |group: &Group| {
        let changed = group.changes().map(|change| change.key().name.clone());
        let required = required(group).map(|required| match required {
            Precondition::Exact(set) => set.key.name,
            Precondition::Absent(key) => key.name,
            Precondition::NameNotInUse(name) => name,
        });
        changed.chain(required).collect::<Vec<_>>()
    };
    groups.into_iter().filter(|group| !group.changes_nothing()).flat_map(wanted).collect()
}

/// What a group needs of sets that it does not change itself: where its claims are kept elsewhere, of the records that they speak for too.
fn required(group: &Group) -> impl Iterator<Item = Precondition> + '_ {
    let claimed = group.stored.iter().filter_map(StoreStep::record).cloned().map(Precondition::Exact);
    group.requires.iter().cloned().chain(claimed)
}

/// What a group sends, or why it is not sent.
pub(crate) fn batch(zone: &Zone, group: &Group, standing: &Groups, beside: &Beside) -> Result<wire::Batch, Outcome> {
    let refused = |kind, text: String| Outcome::refused(Error::new(kind, APPLY, text));
    if let Some(why) = unmet(zone, group, standing, beside) {
        return Err(refused(ErrorKind::Conflict, why));
    }
    let mut batch = wire::Batch::default();
    for change in group.changes().filter(|change| change.from() != change.to()) {
        let key = change.key();
        if !key.name.is_within(&zone.name) {
            return Err(refused(ErrorKind::Invalid, format!("{key} is outside zone {}", zone.name)));
        }
        let here = standing.get(key).map(Vec::as_slice).unwrap_or_default();
        let part = changes(key, here, change).map_err(|why| refused(ErrorKind::Invalid, format!("{key}: {why}")))?;
        batch.extend(part);
    }
    Ok(batch)
}

/// What makes of the records of a key those that a change states. A delete takes away the records that it names and no other.
fn changes(key: &RecordKey, here: &[wire::Record], change: &Change) -> Result<wire::Batch, String> {
    let mut batch = wire::Batch::default();
    let id = |record: &wire::Record| wire::Id { id: record.id.clone() };
    let Some(to) = change.to() else {
        let going = change.from().map(|from| from.data.as_records()).unwrap_or_default();
        let goes = |record: &&wire::Record| going.contains(&convert::value(key.rtype, record));
        batch.deletes = here.iter().filter(goes).map(id).collect();
        return Ok(batch);
    };
    if let Some(why) = refusal(to) {
        return Err(why);
    }
    let properties = RecordProperties::of(to);
    let mut missing: Vec<&RData> = to.data.as_records().iter().collect();
    let mut left: Vec<&wire::Record> = Vec::new();
    for record in here {
        let value = convert::value(key.rtype, record);
        match missing.iter().position(|data| **data == value) {
            Some(at) => {
                let data = missing.remove(at);
                if RecordProperties::read(record, key.rtype) != properties {
                    batch.patches.push(convert::change(key, record, data, &properties)?);
                }
            }
            None => left.push(record),
        }
    }
    // A record whose value goes becomes one whose value comes; so it keeps what else the service holds of it.
    let mut left = left.into_iter();
    for data in missing {
        match left.next() {
            Some(record) => batch.patches.push(convert::change(key, record, data, &properties)?),
            None => batch.posts.push(convert::record(key, data, &properties)?),
        }
    }
    batch.deletes = left.map(id).collect();
    Ok(batch)
}

/// The first thing that a group needs of the zone and that does not hold.
fn unmet(zone: &Zone, group: &Group, standing: &Groups, beside: &Beside) -> Option<String> {
    let stale = group.changes().find_map(|change| match change {
        Change::Create { to } => in_the_way(zone, group, to, standing),
        Change::Update { from, .. } | Change::Delete { from } => differs(from, standing, Some(beside)),
    });
    stale.or_else(|| {
        required(group).find_map(|required| match required {
            Precondition::Exact(set) => differs(&set, standing, None),
            Precondition::Absent(key) => standing.contains_key(&key).then(|| format!("{key} stands, and was not to")),
            Precondition::NameNotInUse(name) => {
                let found = standing.keys().find(|key| key.name == name);
                found.map(|found| format!("{found} stands, and nothing was to at that name"))
            }
        })
    })
}

/// How a set that stands differs from what is expected of it. What is only required is compared by its data, what is changed by
/// everything.
fn differs(expected: &RecordSet, standing: &Groups, beside: Option<&Beside>) -> Option<String> {
    let key = &expected.key;
    let Some(records) = standing.get(key) else { return Some(format!("{key} does not stand any more")) };
    let found = convert::read(key, records);
    if found.data != expected.data {
        return Some(format!("{key} holds {}, and {} was expected", found.data, expected.data));
    }
    let beside = beside?;
    let same = found.ttl == expected.ttl || expected.ttl.is_none();
    let properties = RecordProperties::of(&found) == RecordProperties::of(expected)
        && found.options.get(MIXED) == expected.options.get(MIXED);
    let names = beside.of(&key.name, key.rtype) == beside_of(expected);
    (!(same && properties && names)).then(|| format!("{key} has other properties than were expected"))
}

/// What stands where a group creates a set, but for what the group itself takes away.
fn in_the_way(zone: &Zone, group: &Group, to: &RecordSet, standing: &Groups) -> Option<String> {
    let goes =
        |key: &RecordKey| group.changes().any(|change| matches!(change, Change::Delete { from } if from.key == *key));
    let apex = to.key.name == zone.name;
    let stands = |key: &&RecordKey| {
        key.name == to.key.name
            && (key.rtype == to.key.rtype || !goes(key) && CNAME.excludes(to.key.rtype, key.rtype, apex))
    };
    standing.keys().find(stands).map(|found| format!("{found} stands where {} is to be created", to.key))
}

/// Keys that two groups of one call write: the later one is refused.
pub(crate) fn written_twice(groups: &[Group]) -> BTreeSet<usize> {
    let mut written: BTreeMap<&RecordKey, usize> = BTreeMap::new();
    let mut twice = BTreeSet::new();
    for (at, group) in groups.iter().enumerate() {
        for change in group.changes() {
            if *written.entry(change.key()).or_insert(at) != at {
                twice.insert(at);
            }
        }
    }
    twice
}

/// Sends one batch, not later than so long from now: what was read for it is good for no longer. It is not repeated where it may have been
/// carried out.
pub(crate) async fn send(service: &Service, zone: &Zone, batch: &wire::Batch, time: Duration) -> Result<(), Failure> {
    let request = Request::new(zonewright_http::Method::POST, "/zones/{zone}/dns_records/batch");
    let request = request.set("zone", &zone.key.zone).json(batch).repeat(Repeat::IfNotCarriedOut);
    let request = request.share(Share::Next).within(time);
    service.change(WRITE_RECORDS, &request).await
}

/// What became of the groups of a batch that failed, by their positions. `sent` are those with changes in it, each with whether it leaves
/// more records than there were. The service says what was wrong first, and not with which change: of several groups each may be at fault.
pub(crate) fn failed(failure: &Failure, sent: &[(usize, bool)]) -> BTreeMap<usize, Outcome> {
    let error = || failure.error.clone();
    let too_many: BTreeSet<usize> =
        if has_no_room(failure) { without_room(sent).collect() } else { BTreeSet::default() };
    let outcome = |at: usize| match failure.delivery {
        Delivery::NotSent => Outcome::NotSent(error()),
        Delivery::Unknown => Outcome::Unknown(error()),
        Delivery::Refused if sent.len() > 1 && !too_many.contains(&at) => {
            Outcome::Refused { error: error(), blame: Blame::Batch }
        }
        Delivery::Refused => Outcome::refused(error()),
    };
    sent.iter().map(|(at, _)| (*at, outcome(*at))).collect()
}

/// The groups that are not sent again to a zone without room for all: of those that leave more records than there were, all but the
/// first quarter. So the room that is left is found in a few calls, and what needs none soon goes alone.
fn without_room(sent: &[(usize, bool)]) -> impl Iterator<Item = usize> {
    let growing = sent.iter().filter(|(_, grows)| *grows);
    let again = match growing.clone().count() {
        0 | 1 => 0,
        more => more.div_ceil(4),
    };
    growing.skip(again).map(|(at, _)| *at)
}

/// What becomes of a group that takes away the last record of one of these names, beside which something could not be taken away: it
/// waits, and holds up no other one.
pub(crate) fn kept(group: &Group, stays: &BTreeMap<DnsName, Error>) -> Option<Outcome> {
    let goes = |change: &&Change| change.to().is_none() && convert::is_proxiable(change.key().rtype);
    let error = group.changes().filter(goes).find_map(|change| stays.get(&change.key().name))?;
    if error.kind == ErrorKind::Throttled {
        return Some(Outcome::NotSent(error.clone()));
    }
    let mut error = of_group(error);
    error.context = format!("{} stays until what it has beside its records is gone: {}", group.name, error.context);
    Some(Outcome::refused(error))
}

/// The error of what stands beside records as that of its group: that the service cannot answer for it says nothing of the zone.
pub(crate) fn of_group(error: &Error) -> Error {
    let mut error = error.clone();
    if matches!(
        error.kind,
        ErrorKind::Configuration
            | ErrorKind::NotFound
            | ErrorKind::Protocol
            | ErrorKind::Timeout
            | ErrorKind::Unavailable
    ) {
        error.kind = ErrorKind::Invalid;
    }
    error
}
