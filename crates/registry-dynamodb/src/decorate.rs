//! What a group needs so that its records are claimed by rows.
//!
//! In: groups of record changes, the rows in memory and what is published. Out: the same groups, or the sentence that says
//! why one cannot be carried out. Rows are no records, so nothing is added for them: they are written when a group is
//! prepared. What is added is the end of TXT records that claim the same records: whatever is changed moves into the table.

use std::collections::BTreeSet;
use std::sync::Arc;

use zonewright_core::change::{Change, Group, Precondition, Role, Step, StoreStep};
use zonewright_core::claim::{Claim, OwnerId, Ownership, judge};
use zonewright_core::registry::{ClaimFormat as _, Dropped, OwnershipChange, Published};
use zonewright_core::zone::{Zone, ZoneKey};
use zonewright_core::{DnsName, RecordKey, RecordSet, RecordType};
use zonewright_registry::txt::TxtRegistry;

use super::key;
use super::rows::Rows;

/// One zone, seen with everything that its instance publishes and with the rows of the table.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    pub(crate) me: &'a OwnerId,
    pub(crate) table: &'a str,
    pub(crate) txt: &'a TxtRegistry,
    pub(crate) rows: &'a Rows,
    pub(crate) zone: &'a Zone,
    pub(crate) published: &'a dyn Published,
}

/// Hides records that have a row of ours: they do not rest on TXT records any more.
struct Veiled<'a> {
    view: View<'a>,
    record: &'a RecordKey,
}

impl Published for Veiled<'_> {
    fn find(&self, near: &ZoneKey, key: &RecordKey) -> Option<(ZoneKey, RecordSet)> {
        let (zone, set) = self.view.published.find(near, key)?;
        let moved = || self.view.row_confirmed(&zone, key);
        (key == self.record || !moved()).then_some((zone, set))
    }

    fn zones_at(&self, name: &DnsName) -> Vec<(Zone, bool)> {
        self.view.published.zones_at(name)
    }
}

impl View<'_> {
    fn zone_id(&self) -> &str {
        self.zone.key.zone.as_str()
    }

    /// The record set of `key` in this very zone.
    fn here(&self, key: &RecordKey) -> Option<RecordSet> {
        let (zone, set) = self.published.find(&self.zone.key, key)?;
        (zone == self.zone.key).then_some(set)
    }

    /// The other zones in which a record stands, or may stand since they are not read yet, if its row is ours and names no zone.
    pub(crate) fn elsewhere(&self, key: &RecordKey) -> BTreeSet<String> {
        let found = key::text(key).ok().and_then(|key| self.rows.only(&key).ok().flatten());
        if !found.is_some_and(|found| found.row.owner == *self.me && found.row.is_everywhere()) {
            return BTreeSet::new();
        }
        let above = std::iter::successors(Some(key.name.clone()), DnsName::parent);
        let zones = above.flat_map(|name| self.published.zones_at(&name));
        let others = zones.filter(|(zone, _)| zone.key != self.zone.key);
        let stands = |zone: &ZoneKey| self.published.find(zone, key).is_some_and(|(holder, _)| holder == *zone);
        let holds = others.filter(|(zone, complete)| !complete || stands(&zone.key));
        holds.map(|(zone, _)| zone.key.zone.as_str().to_owned()).collect()
    }

    fn row_confirmed(&self, zone: &ZoneKey, key: &RecordKey) -> bool {
        let found = key::text(key).ok().and_then(|key| self.rows.only(&key).ok().flatten());
        found.is_some_and(|found| found.row.owner == *self.me && found.row.is_confirmed(zone.zone.as_str()))
    }

    /// The claims of TXT records. One that has a row of its own is a record that an object asked for, and claims nothing.
    fn txt_claims(&self, key: &RecordKey) -> Vec<Claim> {
        let mut claims = self.txt.claims(self.zone, key, self.published);
        claims.retain(|claim| !claim.site.as_ref().is_some_and(|(_, set)| self.has_row(&set.key)));
        claims
    }

    /// Whether anybody's row speaks of a record.
    pub(crate) fn has_row(&self, key: &RecordKey) -> bool {
        key::text(key).is_ok_and(|key| !self.rows.at(&key).is_empty())
    }

    /// Everything that claims a record. A row of ours hides TXT records of ours; those of others beside it are a dispute.
    pub(crate) fn claims(&self, key: &RecordKey) -> Vec<Claim> {
        let txt = self.txt_claims(key);
        let moved = txt.iter().all(|claim| claim.owner != *self.me);
        let canonical = key::text(key).unwrap_or_default();
        let rows = self.rows.at(&canonical).iter().filter_map(|stored| stored.row.as_ref().ok());
        let speaking = rows.filter(|row| row.owner != *self.me || row.speaks(self.zone_id(), self.here(key).as_ref()));
        let mut claims: Vec<Claim> = speaking.map(|row| row.claim(row.is_confirmed(self.zone_id()) && moved)).collect();
        let has_row = !claims.is_empty();
        let rest = txt.into_iter().filter(|claim| !(has_row && claim.owner == *self.me));
        claims.extend(rest.map(|claim| Claim { current: false, ..claim }));
        claims
    }

    fn ownership(&self, key: &RecordKey) -> Ownership {
        judge(&self.claims(key), Some(self.me))
    }

    pub(crate) fn decorate(&self, group: Group) -> Result<Group, (Group, Dropped)> {
        let mut next = group.clone();
        let mut withdrawn = Withdrawn::default();
        for step in next.steps.iter_mut().filter(|step| step.role == Role::Record) {
            match self.claim_step(step, &mut withdrawn) {
                Ok(()) => {}
                Err(reason) => return Err((group, Dropped { reason })),
            }
        }
        Ok(withdrawn.add_to(next))
    }

    fn claim_step(&self, step: &mut Step, withdrawn: &mut Withdrawn) -> Result<(), String> {
        let key = step.change.key().clone();
        self.rows.only(&key::text(&key)?).map_err(|problem| format!("{key}: {problem}"))?;
        let ownership = self.ownership(&key);
        match (&step.change, ownership) {
            (Change::Create { .. }, Ownership::Ours(_) | Ownership::Unclaimed) => self.check_own_place(&key),
            (Change::Update { from, .. } | Change::Delete { from }, Ownership::Ours(claim)) => {
                self.withdraw(from, withdrawn)?;
                step.held = claim.map(Box::new);
                Ok(())
            }
            (_, other) => Err(self.not_ours(&key, &other)),
        }
    }

    /// A TXT record cannot be created where a claim stands.
    fn check_own_place(&self, key: &RecordKey) -> Result<(), String> {
        let standing = Some(key).filter(|key| key.rtype == RecordType::Txt).and_then(|key| self.here(key));
        match standing.filter(|set| self.txt.is_claim(set)) {
            Some(set) => Err(format!("{key} cannot be created: an ownership record stands there ({})", set.data)),
            None => Ok(()),
        }
    }

    /// What takes our TXT claims on a record away, as far as no other record needs them.
    fn withdraw(&self, record: &RecordSet, withdrawn: &mut Withdrawn) -> Result<(), String> {
        if !judge(&self.txt_claims(&record.key), Some(self.me)).is_ours() {
            return Ok(());
        }
        let veiled = Veiled { view: *self, record: &record.key };
        match self.txt.assign(self.zone, record, &OwnershipChange::Disown, &veiled) {
            Ok(group) => group.map_or(Ok(()), |group| withdrawn.add(group)),
            Err(dropped) => Err(dropped.reason),
        }
    }

    /// Brings a claim of ours to where it belongs: from TXT records into the table, or from a write that was begun to a
    /// right that stands.
    pub(crate) fn upgrade(&self, record: &RecordSet) -> Option<Group> {
        let ownership = self.ownership(&record.key);
        let claim = ownership.claim().filter(|claim| !claim.current)?;
        let mut withdrawn = Withdrawn::default();
        self.withdraw(record, &mut withdrawn).ok()?;
        let (resource, labels) = (claim.resource.clone(), claim.labels.clone());
        if withdrawn.steps.is_empty() {
            // Another record needs the TXT records: they go with that one.
            let moved = self.row_confirmed(&self.zone.key, &record.key);
            return (!moved).then(|| change(record, Some(self.me.clone()), resource, labels));
        }
        let group = Group {
            name: record.key.name.clone(),
            steps: Vec::new(),
            stored: vec![StoreStep::assign(record.clone(), Some(self.me.clone()), resource, labels)],
            requires: vec![Precondition::Exact(record.clone())],
            objects: Vec::new(),
        };
        Some(withdrawn.add_to(group))
    }

    pub(crate) fn assign(&self, record: &RecordSet, wanted: &OwnershipChange) -> Result<Option<Group>, Dropped> {
        let dropped = |reason| Dropped { reason };
        let key = &record.key;
        let canonical = key::text(key).map_err(dropped)?;
        let row = self.rows.only(&canonical).map_err(|problem| dropped(format!("{key}: {problem}")))?;
        let owner = match (wanted, self.ownership(key)) {
            (OwnershipChange::Take(_), Ownership::Ours(_)) | (OwnershipChange::Disown, Ownership::Unclaimed) => {
                return Ok(None);
            }
            (OwnershipChange::Give(owner), Ownership::Foreign(other)) if *owner == other => return Ok(None),
            (OwnershipChange::Take(resource), Ownership::Unclaimed) => {
                return Ok(Some(change(record, Some(self.me.clone()), resource.clone(), Vec::new())));
            }
            (OwnershipChange::Give(owner), Ownership::Ours(_)) => Some(owner.clone()),
            (OwnershipChange::Disown, Ownership::Ours(_)) => None,
            (OwnershipChange::Disown, Ownership::Disputed(owners)) if owners.contains(self.me) => None,
            (_, other) => return Err(dropped(self.not_ours(key, &other))),
        };
        let own = row.filter(|found| found.row.owner == *self.me && found.row.speaks(self.zone_id(), Some(record)));
        let Some(found) = own else { return self.txt.assign(self.zone, record, wanted, self.published) };
        if judge(&self.txt_claims(key), Some(self.me)).is_ours() {
            let reason = format!("{key} is also claimed by a TXT record of ours; that one has to be gone first");
            return Err(dropped(reason));
        }
        let others = found.row.other_zones(self.zone_id());
        if owner.is_some() && !others.is_empty() {
            let others = others.join(", ");
            return Err(dropped(format!(
                "the row {:?} also speaks for zone {others}; it can have one owner",
                found.key
            )));
        }
        Ok(Some(change(record, owner, found.row.resource.clone(), found.row.labels.clone())))
    }

    fn not_ours(&self, key: &RecordKey, ownership: &Ownership) -> String {
        let table = self.table;
        match ownership {
            Ownership::Foreign(owner) => {
                format!("{key} belongs to another owner: {:?}, by table {table:?} or a TXT record", owner.as_str())
            }
            Ownership::Disputed(owners) => {
                let owners: Vec<String> = owners.iter().map(|owner| format!("{:?}", owner.as_str())).collect();
                let owners = owners.join(", ");
                format!(
                    "{key} is claimed by several owners: {owners}, by table {table:?} and TXT records; it is left alone \
                         until one claim is removed"
                )
            }
            Ownership::Unclaimed | Ownership::Ours(_) => {
                format!("{key} has no row of {:?} in table {table:?}", self.me.as_str())
            }
        }
    }
}

/// A group that changes no record; only what the table says of one.
fn change(
    record: &RecordSet,
    owner: Option<OwnerId>,
    resource: Option<Arc<str>>,
    labels: Vec<(Arc<str>, Arc<str>)>,
) -> Group {
    Group::stored(StoreStep::assign(record.clone(), owner, resource, labels))
}

/// The end of TXT records.
#[derive(Default)]
struct Withdrawn {
    steps: Vec<Step>,
    requires: Vec<Precondition>,
}

impl Withdrawn {
    fn add(&mut self, group: Group) -> Result<(), String> {
        for step in group.steps {
            match self.steps.iter().find(|other| other.change.key() == step.change.key()) {
                Some(other) if other.change == step.change => {}
                Some(_) => {
                    return Err(format!("the ownership record {} would change twice at once", step.change.key()));
                }
                None => self.steps.push(step),
            }
        }
        self.requires.extend(group.requires);
        Ok(())
    }

    /// The TXT records go first: one may stand where a CNAME of the group comes.
    fn add_to(self, group: Group) -> Group {
        let steps: Vec<Step> = self.steps.into_iter().chain(group.steps).collect();
        let mut requires = group.requires;
        for condition in self.requires {
            let changed = |set: &RecordSet| steps.iter().any(|step| step.change.key() == &set.key);
            let needless = matches!(&condition, Precondition::Exact(set) if changed(set));
            if !needless && !requires.contains(&condition) {
                requires.push(condition);
            }
        }
        Group { steps, requires, ..group }
    }
}
