//! Claims in ConfigMaps beside the daemon: nothing of them is in the zones.
//!
//! One object, `<owner>-registry`, lists all records of the zones as JSON (`entry` has the fields); past 900 KB it
//! is split over `<owner>-registry-1` and so on, by a hash of the name. In: the objects, through a [`DocumentStore`], and what the
//! engine reads and is about to write. Out: claims, and objects that hold them. What must hold:
//!
//! - what a group announces is in the object before the group is sent, and counts for nothing but exactly that (`right`): a
//!   crash strands no record, and a refused record never turns into a right;
//! - an object that cannot be read stops everything; one that is gone takes its claims with it, so that its records are
//!   nobody's and are left alone (`keep`);
//! - claims of other owners are read from their objects in the same store, and never from what ours notes of them.
//!
//! Records of nobody and of others are listed for whoever looks at the object; the process keeps no copy of them (`table`).

pub(crate) mod assign;
mod document;
mod entry;
mod flags;
mod follow;
mod keep;
mod name;
mod right;
mod step;
mod table;

use std::collections::{BTreeSet, HashSet};
use std::fmt;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::{Mutex, MutexGuard};
use zonewright_core::change::{Group, Outcome, StoreStep};
use zonewright_core::claim::{Claim, OwnerId, Ownership, judge};
use zonewright_core::documents::DocumentStore;
use zonewright_core::error::{Error, ErrorKind, Retry};
use zonewright_core::record::SetId;
use zonewright_core::registry::{
    ClaimAnomaly, ClaimFormat, ClaimStore, Contents, Dropped, ExternalChanges, OwnershipChange, Published, StaleClaims,
};
use zonewright_core::{DnsName, RData, RecordKey, RecordSet, Result, Zone};

pub use flags::ENTRY;

use entry::{Entry, ZoneRecord};
use keep::{Edit, Edits, Flight, Keeper, Over, Writer};
use right::{Right, Seal};
use step::Action;

/// Longest text of one object in bytes; a ConfigMap holds 1 MiB at most, names and notes included.
pub const LONGEST: usize = 900_000;

/// Groups that are announced at once: each announcement writes every object that lists one of their names.
const PIECE: usize = 4_000;

/// Settings of the ConfigMap registry.
#[derive(Clone)]
pub struct ConfigMapConfig {
    /// `--txt-owner-id`: who we are.
    pub owner: OwnerId,
    /// Where the objects are.
    pub store: Arc<dyn DocumentStore>,
    /// Longest text of one object in bytes; what is longer is split.
    pub limit: usize,
}

impl ConfigMapConfig {
    /// Claims of `owner` on `store`.
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`] if `owner` is empty.
    pub fn new(owner: &str, store: Arc<dyn DocumentStore>) -> Result<Self> {
        let context = "owner id cannot be empty";
        let empty = || Error::new(ErrorKind::Configuration, "configure the configmap registry", context);
        let owner = OwnerId::new(owner).ok_or_else(|| empty().retry(Retry::Never))?;
        Ok(Self { owner, store, limit: LONGEST })
    }
}

impl fmt::Debug for ConfigMapConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConfigMapConfig")
            .field("owner", &self.owner)
            .field("limit", &self.limit)
            .finish_non_exhaustive()
    }
}

/// The registry of `--registry=configmap`.
pub struct ConfigMapRegistry {
    keeper: Keeper,
    writer: Mutex<Writer>,
    /// Distinguishes what this process announced from what others did.
    process: String,
}

impl fmt::Debug for ConfigMapRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConfigMapRegistry").field("owner", &self.keeper.owner).finish_non_exhaustive()
    }
}

/// The name of the first object of an owner, `<owner>-registry` where the owner is a valid name.
pub fn object_name(owner: &OwnerId) -> String {
    name::base(owner.as_str())
}

/// A group with what is written ahead of it.
struct Prepared {
    group: Group,
    /// Each record, with what our entry said before, and the entry that is to be written ahead.
    records: Vec<(ZoneRecord, Flight)>,
}

impl ConfigMapRegistry {
    /// A registry by `config`. Nothing is read yet.
    pub fn new(config: ConfigMapConfig) -> Self {
        let ConfigMapConfig { owner, store, limit } = config;
        let chance = RandomState::new().build_hasher().finish();
        Self { keeper: Keeper::new(owner, store, limit), writer: Mutex::default(), process: format!("{chance:016x}") }
    }

    fn me(&self) -> &OwnerId {
        &self.keeper.owner
    }

    /// What is said of a record; the lock is not held on.
    fn rights(&self, place: &ZoneRecord) -> Vec<Right> {
        self.keeper.table().rights(place)
    }

    fn of_record(&self, zone: &Zone, record: &RecordSet) -> Vec<Claim> {
        step::claims(&self.rights(&ZoneRecord::new(&zone.key, &record.key)), Some(Seal::of(record)))
    }

    /// Whether our objects perhaps say something else of a record than `former`.
    fn is_unsure(&self, writer: &Writer, place: &ZoneRecord, former: Option<&Right>) -> bool {
        let table = self.keeper.table();
        writer.dirty.contains_key(place) || !table.is_as(place, former) || !table.is_in_order()
    }

    fn check(&self, zone: &Zone, group: &Group) -> Result<(), String> {
        Action::all(group).try_for_each(|action| {
            let place = ZoneRecord::new(&zone.key, action.key());
            step::check(self.me(), action, &self.rights(&place))?;
            step::check_length(self.me(), action, &place, self.keeper.table().longest)
        })
    }

    /// What must be written before a group is sent.
    fn ahead(&self, zone: &Zone, group: Group) -> Result<Prepared, (Group, Dropped)> {
        if let Err(reason) = self.check(zone, &group) {
            return Err((group, Dropped { reason }));
        }
        let mut prepared = Prepared { group, records: Vec::new() };
        for action in Action::all(&prepared.group) {
            let place = ZoneRecord::new(&zone.key, action.key());
            let table = self.keeper.table();
            let base = table.own(&place).cloned();
            let claims = step::claims(&table.rights(&place), action.from().map(Seal::of));
            let ownership = judge(&claims, Some(self.me()));
            let right = step::ahead(self.me(), action, base.as_ref(), ownership.claim());
            let by = || Some(self.process.clone());
            let ahead = right.zip(step::subject(action));
            let ahead = ahead.map(|(right, set)| Entry { by: by(), ..Entry::of(&place, set, Some(&right), None) });
            drop(table);
            prepared.records.push((place, Flight { former: base, ahead }));
        }
        Ok(prepared)
    }

    /// Takes over what became of one action, and notes the edit that its entry needs.
    fn settle(&self, writer: &mut Writer, place: ZoneRecord, action: Action<'_>, flight: Flight, outcome: &Outcome) {
        let mut table = self.keeper.table_mut();
        table.unsettle(&place.zone);
        let (right, stands) = match outcome {
            Outcome::Unknown(_) => return,
            Outcome::Applied => (step::done(self.me(), action), action.to()),
            _ if action.ends() => return,
            Outcome::Refused { .. } | Outcome::NotSent(_) => (flight.former.clone(), action.from()),
        };
        let subject = stands.or_else(|| step::subject(action));
        let right = right.zip(subject).map(|(right, subject)| Right { seen: Seal::of(subject), ..right });
        table.set(&place, right.clone());
        let to = match (stands, right.zip(subject)) {
            (Some(set), _) => Some(table.entry(&place, set)),
            (None, right) => right.map(|(right, subject)| Entry::of(&place, subject, Some(&right), None)),
        };
        let over = match flight.ahead {
            _ if action.ends() => Vec::new(),
            Some(ahead) => vec![Over::Entry(Box::new(ahead))],
            None => vec![Over::Right(flight.former)],
        };
        writer.dirty.insert(place, Edit { to, over, ahead: false });
    }

    async fn writer(&self) -> MutexGuard<'_, Writer> {
        self.writer.lock().await
    }
}

impl ClaimFormat for ConfigMapRegistry {
    fn owner(&self) -> Option<&OwnerId> {
        Some(self.me())
    }

    fn is_claim(&self, _set: &RecordSet) -> bool {
        false
    }

    fn is_record(&self, _zone: &Zone, _set: &RecordSet, _published: &dyn Published) -> bool {
        true
    }

    fn claims(&self, zone: &Zone, key: &RecordKey, published: &dyn Published) -> Vec<Claim> {
        let rights = self.rights(&ZoneRecord::new(&zone.key, key));
        if rights.is_empty() {
            return Vec::new();
        }
        let standing = published.find(&zone.key, key).filter(|(holder, _)| *holder == zone.key);
        step::claims(&rights, standing.map(|(_, set)| Seal::of(&set)))
    }

    fn item_of(&self, _text: &RData) -> Option<SetId> {
        None
    }

    fn claim_names(&self, _zone: &Zone, _key: &RecordKey) -> BTreeSet<DnsName> {
        BTreeSet::new()
    }

    fn decorate(
        &self,
        zone: &Zone,
        groups: Vec<Group>,
        published: &dyn Published,
    ) -> Vec<Result<Group, (Group, Dropped)>> {
        let checked = |group: Group| {
            let stop = group.records().find_map(|step| {
                // A record that is not there may be claimed all the same.
                let claims = self.claims(zone, step.change.key(), published);
                let ownership = judge(&claims, Some(self.me()));
                let fresh = step.change.from().is_none() && ownership == Ownership::Unclaimed;
                (!fresh && !ownership.is_ours()).then(|| step::not_ours(step.change.key(), self.me(), &ownership))
            });
            match stop {
                None => Ok(group),
                Some(reason) => Err((group, Dropped { reason })),
            }
        };
        groups.into_iter().map(checked).collect()
    }

    fn anomaly(&self, _zone: &Zone, _set: &RecordSet, _published: &dyn Published) -> Option<ClaimAnomaly> {
        None
    }

    /// A claim that another owner's object hands to us is written into ours.
    fn upgrade(&self, zone: &Zone, record: &RecordSet, _published: &dyn Published) -> Option<Group> {
        let ownership = judge(&self.of_record(zone, record), Some(self.me()));
        let claim = ownership.claim().filter(|claim| !claim.current)?;
        Some(assign::handed(record, Some(self.me()), claim.resource.clone(), &claim.labels))
    }

    /// No record set holds claims.
    fn collect_stale_claims(
        &self,
        _zone: &Zone,
        _set: &RecordSet,
        _litter: StaleClaims,
        _published: &dyn Published,
    ) -> Option<Group> {
        None
    }

    fn assign(
        &self,
        zone: &Zone,
        record: &RecordSet,
        change: &OwnershipChange,
        _published: &dyn Published,
    ) -> Result<Option<Group>, Dropped> {
        assign::assign(self.me(), record, change, &self.of_record(zone, record))
    }
}

#[async_trait]
impl ClaimStore for ConfigMapRegistry {
    async fn load(&self) -> Result<()> {
        let mut writer = self.writer().await;
        self.keeper.load(&mut writer).await
    }

    async fn resync(&self, zone: &Zone, contents: &dyn Contents, changed: bool) -> Result<ExternalChanges> {
        let mut writer = self.writer().await;
        let text: Arc<str> = Arc::from(zone.key.to_string());
        // Nothing of the zone is under way now: what is still noted so was given up on the way.
        writer.flight.retain(|place, _| place.zone != text);
        let waits = writer.dirty.keys().any(|place| place.zone == text);
        let waits = waits || self.keeper.table().has_news(&text);
        if changed || waits || !self.keeper.table().is_settled(&text) {
            self.follow(&mut writer, zone, contents).await?;
        }
        writer.rest();
        Ok(self.keeper.table_mut().external_changes(&text))
    }

    fn item_keys(&self, zone: &Zone, names: &BTreeSet<DnsName>) -> BTreeSet<RecordKey> {
        self.keeper.table().item_keys(&zone.key, names)
    }

    fn leftovers(&self, zone: &Zone, published: &dyn Published) -> Vec<Group> {
        let stands = |key: &RecordKey| published.find(&zone.key, key).is_some_and(|(holder, _)| holder == zone.key);
        let keys = self.keeper.table().owned(&zone.key);
        keys.into_iter().filter(|key| !stands(key)).map(|key| Group::stored(StoreStep::end(key))).collect()
    }

    fn piece(&self) -> usize {
        PIECE
    }

    async fn prepare(&self, zone: &Zone, groups: Vec<Group>) -> Vec<Result<Group, (Group, Dropped)>> {
        let mut writer = self.writer().await;
        if let Err(problem) = self.keeper.load(&mut writer).await {
            let reason = format!("the claim cannot be checked: {}", problem.chain());
            return groups.into_iter().map(|group| Err((group, Dropped { reason: reason.clone() }))).collect();
        }
        let planned: Vec<Result<Prepared, (Group, Dropped)>> =
            groups.into_iter().map(|group| self.ahead(zone, group)).collect();
        let records = || planned.iter().flatten().flat_map(|prepared| &prepared.records);
        let edit = |(place, flight): &(ZoneRecord, Flight)| {
            // What is still to be written of it is newer than what stands.
            let known = || vec![Over::Right(flight.former.clone())];
            let over = writer.dirty.get(place).map_or_else(known, Edit::around);
            Some((place.clone(), Edit { to: Some(flight.ahead.clone()?), over, ahead: true }))
        };
        let edits: Edits = records().filter_map(edit).collect();
        // What is not written yet of a record that is changed again must stand before that; and of an entry in two objects one speaks.
        let waits = records().any(|(place, _)| writer.dirty.contains_key(place)) || !self.keeper.table().is_in_order();
        let written: Vec<(ZoneRecord, Option<Right>)> = edits
            .iter()
            .filter_map(|(place, edit)| Some((place.clone(), edit.to.as_ref()?.right(place, self.me()).ok()?)))
            .collect();
        writer.flight.extend(records().cloned());
        // Notes on earlier writes, in whose place something is to be written now.
        let mut notes: Edits =
            edits.keys().filter_map(|place| Some((place.clone(), writer.dirty.get(place)?.clone()))).collect();
        let (mut refused, problem) =
            if edits.is_empty() && !waits { (HashSet::new(), None) } else { self.keeper.put(&mut writer, edits).await };
        // What was written first may have been read again for the rest.
        let stands = |(place, right): &(ZoneRecord, Option<Right>)| self.keeper.table().is_as(place, right.as_ref());
        refused.extend(written.into_iter().filter(|one| !stands(one)).map(|(place, _)| place));
        let answers = planned.into_iter().map(|planned| {
            let prepared = planned?;
            let changed = |(place, flight): &(ZoneRecord, Flight)| match flight.ahead {
                Some(_) => refused.contains(place),
                // Nothing had to be written of it, and what was read for the others may say something else.
                None => self.is_unsure(&writer, place, flight.former.as_ref()),
            };
            if !prepared.records.iter().any(changed) {
                return Ok(prepared.group);
            }
            for (place, flight) in prepared.records {
                // A note on an earlier write still has to be written.
                if let Some(ahead) = flight.ahead {
                    writer.dirty.remove(&place);
                    writer.dirty.extend(notes.remove_entry(&place).map(|(place, note)| (place, note.or_over(ahead))));
                }
                writer.flight.remove(&place);
            }
            let problem = problem.as_ref().map_or_else(|| "another writer changed its entry".to_owned(), Error::chain);
            let reason = format!("the claim could not be written ahead: {problem}");
            Err((prepared.group, Dropped { reason }))
        });
        answers.collect()
    }

    async fn commit(&self, zone: &Zone, groups: &[Group], outcomes: &[Outcome]) -> Result<()> {
        let mut writer = self.writer().await;
        for (group, outcome) in groups.iter().zip(outcomes) {
            for action in Action::all(group) {
                let place = ZoneRecord::new(&zone.key, action.key());
                let Some(flight) = writer.flight.remove(&place) else { continue };
                self.settle(&mut writer, place, action, flight, outcome);
            }
        }
        // With more groups under way the next intents are written soon, and this along with them; until then the intents say it.
        if !writer.flight.is_empty() && !groups.is_empty() {
            return Ok(());
        }
        let (_, problem) = self.keeper.put(&mut writer, Edits::new()).await;
        problem.map_or(Ok(()), Err)
    }
}
