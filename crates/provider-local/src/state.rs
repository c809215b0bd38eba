//! The zones behind one lock, shared by the provider and the server, with their files and counters.
//!
//! In: groups, foreign sets, questions. Out: outcomes and views. What must hold: a change is in force only after its file
//! was written; a zone whose file is broken is neither served nor overwritten; a file that another program wrote is read
//! before the zone is read or changed through the provider.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{SystemTime, UNIX_EPOCH};

use tokio::sync::watch;
use zonewright_core::change::{Blame, Group, Outcome};
use zonewright_core::error::{Error, ErrorKind, Result};
use zonewright_core::{DnsName, RData, RecordKey, RecordSet, RecordType, Ttl};

use crate::answer::Found;
use crate::calls::Calls;
use crate::config::LocalConfig;
use crate::folder::{Folder, Stamp};
use crate::journal::Journal;
use crate::rules;
use crate::soa::{self, Soa};
use crate::table::{Staged, ZoneTable};
use crate::zonefile::{self, FileError};

/// One zone and its file.
#[derive(Debug)]
struct Slot {
    /// The zone, or what is wrong with its file.
    table: Result<ZoneTable, String>,
    stamp: Option<Stamp>,
}

/// All zones by apex.
#[derive(Debug, Default)]
pub(crate) struct Zones(BTreeMap<DnsName, Slot>);

impl Zones {
    /// The zone that a name belongs to: the one with the longest apex.
    pub(crate) fn find(&self, name: &DnsName) -> Found<'_> {
        let mut up = std::iter::successors(Some(name.clone()), DnsName::parent);
        let slot = up.find_map(|apex| self.0.get(&apex));
        slot.map_or(Found::Nothing, |slot| slot.table.as_ref().map_or(Found::Broken, Found::Zone))
    }
}

/// Everything that provider and server share.
#[derive(Debug)]
pub(crate) struct State {
    zones: RwLock<Zones>,
    folder: Option<Folder>,
    calls: Mutex<Calls>,
    revision: watch::Sender<u64>,
    /// Number of the next journal; begins at the time of the start, so that no two processes share one.
    epoch: AtomicU64,
    journal: usize,
}

impl State {
    /// Reads the folder, if there is one, and makes the zones that are configured and have no file.
    pub(crate) fn open(config: &LocalConfig) -> Result<Self> {
        let folder = config.dir.as_deref().map(Folder::open).transpose()?;
        let state = Self {
            zones: RwLock::default(),
            folder,
            calls: Mutex::default(),
            revision: watch::Sender::new(0),
            epoch: AtomicU64::new(nanoseconds()),
            journal: config.journal,
        };
        let stored = state.folder.as_ref().map_or(Ok(Vec::new()), Folder::zones)?;
        for apex in stored.iter().chain(&config.zones) {
            state.add(apex)?;
        }
        Ok(state)
    }

    /// Adds a zone: as its file has it, else a new one.
    fn add(&self, apex: &DnsName) -> Result<()> {
        let mut zones = self.write();
        if zones.0.contains_key(apex) {
            return Ok(());
        }
        let mut slot = Slot { table: Ok(self.fresh(apex)), stamp: None };
        if !self.reload(apex, &mut slot)? {
            slot.stamp = self.save(slot.table.as_ref().ok())?;
        }
        zones.0.insert(apex.clone(), slot);
        Ok(())
    }

    fn fresh(&self, apex: &DnsName) -> ZoneTable {
        let soa = Soa::fresh(apex, u32::try_from(nanoseconds() / 1_000_000_000).unwrap_or(1));
        let journal = Journal::new(self.epoch.fetch_add(1, Ordering::Relaxed), self.journal);
        let mut table = ZoneTable::new(apex.clone(), soa, journal);
        table.load(own_servers(apex));
        table
    }

    /// Reads the file again if another program wrote it; returns whether there is a file.
    fn reload(&self, apex: &DnsName, slot: &mut Slot) -> Result<bool> {
        let Some(folder) = &self.folder else { return Ok(false) };
        let stamp = folder.stamp(apex)?;
        if stamp == slot.stamp {
            return Ok(stamp.is_some());
        }
        let Some((text, stamp)) = folder.read(apex)? else {
            slot.stamp = None;
            return Ok(false);
        };
        let floor = slot.stamp.and(slot.table.as_ref().ok()).map(|table| table.soa.serial.wrapping_add(1));
        slot.stamp = Some(stamp);
        slot.table = self.parse(apex, &text, floor).map_err(|error| folder.broken(apex, &error));
        match &slot.table {
            Ok(_) => tracing::info!(zone = %apex, "read zone file"),
            Err(problem) => tracing::error!(zone = %apex, %problem, "zone file is broken; the zone is not served"),
        }
        Ok(true)
    }

    /// `floor`: the serial to rise to at least, if the zone was served before.
    fn parse(&self, apex: &DnsName, text: &str, floor: Option<u32>) -> Result<ZoneTable, FileError> {
        let content = zonefile::read(apex, text)?;
        let mut table = self.fresh(apex);
        if let Some(soa) = content.soa {
            table.soa = Soa { serial: soa.serial.max(floor.unwrap_or(0)), ..soa };
        }
        content.sets.values().for_each(|(_, set)| table.load(set.clone()));
        // The last record of a name is the one that an error names.
        let mut placed: Vec<&(usize, RecordSet)> = content.sets.values().collect();
        placed.sort_by_key(|(line, _)| std::cmp::Reverse(*line));
        for (line, set) in placed {
            let fail = |problem| FileError { line: *line, problem: format!("{}: {problem}", set.key) };
            rules::check_name(&table, &set.key.name).map_err(fail)?;
        }
        Ok(table)
    }

    fn save(&self, table: Option<&ZoneTable>) -> Result<Option<Stamp>> {
        match (&self.folder, table) {
            (Some(folder), Some(table)) => {
                folder.write(&table.apex, &zonefile::write(&table.apex, &table.soa, table.sets()))
            }
            _ => Ok(None),
        }
    }

    /// The apexes of all zones, broken ones too.
    pub(crate) fn zones(&self) -> Vec<DnsName> {
        self.read().0.keys().cloned().collect()
    }

    /// Looks at all zones in one state, as the server does.
    pub(crate) fn look<T>(&self, look: impl FnOnce(&Zones) -> T) -> T {
        look(&self.read())
    }

    /// Looks at one zone, as its file has it now.
    pub(crate) fn view<T>(&self, apex: &DnsName, look: impl FnOnce(&ZoneTable) -> T) -> Result<T> {
        let mut zones = self.write();
        Ok(look(self.open_zone(&mut zones, apex, "list records")?.0))
    }

    fn open_zone<'a>(
        &self,
        zones: &'a mut Zones,
        apex: &DnsName,
        operation: &'static str,
    ) -> Result<(&'a mut ZoneTable, &'a mut Option<Stamp>)> {
        let known: Vec<&str> = zones.0.keys().map(DnsName::as_str).collect();
        let missing = format!("there is no zone {apex}; there are [{}]", known.join(", "));
        let slot = zones.0.get_mut(apex).ok_or_else(|| Error::new(ErrorKind::NotFound, operation, missing))?;
        self.reload(apex, slot)?;
        match &mut slot.table {
            Ok(table) => Ok((table, &mut slot.stamp)),
            Err(problem) => Err(Error::new(ErrorKind::Unavailable, operation, problem.clone())),
        }
    }

    /// Carries groups out, all or none.
    pub(crate) fn apply(&self, apex: &DnsName, groups: &[Group]) -> Vec<Outcome> {
        let all = |outcome: Outcome| vec![outcome; groups.len()];
        let mut zones = self.write();
        let (table, stamp) = match self.open_zone(&mut zones, apex, "apply") {
            Ok(open) => open,
            Err(error) => return all(Outcome::NotSent(error)),
        };
        let staged = match table.stage(groups) {
            Ok(staged) => staged,
            Err(verdicts) => return refusals(verdicts),
        };
        match self.finish(table, stamp, staged) {
            Ok(()) => all(Outcome::Applied),
            Err(error) => all(Outcome::NotSent(error)),
        }
    }

    /// Puts a set in place, or takes it out, as another writer would.
    pub(crate) fn put(&self, apex: &DnsName, key: &RecordKey, set: Option<RecordSet>) -> Result<()> {
        let refuse = |problem| Error::new(ErrorKind::Invalid, "insert", problem);
        rules::check_place(apex, key).map_err(refuse)?;
        set.as_ref().map_or(Ok(()), rules::check_content).map_err(refuse)?;
        let mut zones = self.write();
        let (table, stamp) = self.open_zone(&mut zones, apex, "insert")?;
        let staged = table.stage_foreign(key, set).map_err(refuse)?;
        self.finish(table, stamp, staged)
    }

    fn finish(&self, table: &mut ZoneTable, stamp: &mut Option<Stamp>, staged: Staged) -> Result<()> {
        match self.save(Some(table)) {
            Ok(saved) => {
                *stamp = saved;
                table.commit(&staged);
                self.revision.send_modify(|revision| *revision += 1);
                Ok(())
            }
            Err(error) => {
                table.revert(staged);
                Err(error)
            }
        }
    }

    /// Counts a call.
    pub(crate) fn count(&self, count: impl FnOnce(&mut Calls)) {
        count(&mut self.counters());
    }

    /// The counters now.
    pub(crate) fn calls(&self) -> Calls {
        self.counters().clone()
    }

    /// Signals each change of any zone.
    pub(crate) fn subscribe(&self) -> watch::Receiver<u64> {
        self.revision.subscribe()
    }

    // A reader that panicked left nothing half-done, and writers stage before they change: the state stays good.
    fn counters(&self) -> MutexGuard<'_, Calls> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read(&self) -> RwLockReadGuard<'_, Zones> {
        self.zones.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Zones> {
        self.zones.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A refused call: the groups that are to blame, and the others, which may go through without them.
fn refusals(verdicts: Vec<Option<Error>>) -> Vec<Outcome> {
    let first = verdicts.iter().flatten().next().map_or_else(String::new, ToString::to_string);
    let bystander =
        || Error::new(ErrorKind::Conflict, "apply", format!("another group of the call was refused: {first}"));
    let outcome = |verdict: Option<Error>| match verdict {
        Some(error) => Outcome::refused(error),
        None => Outcome::Refused { error: bystander(), blame: Blame::Batch },
    };
    verdicts.into_iter().map(outcome).collect()
}

fn own_servers(apex: &DnsName) -> RecordSet {
    RecordSet::simple(apex.clone(), RecordType::Ns, Some(Ttl::from_wire(3600)), [RData::Ns(soa::localhost())])
}

/// Since 1970.
fn nanoseconds() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}
