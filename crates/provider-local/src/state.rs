//! The zones behind one lock, shared by the provider and the server, with their files and counters.
//!
//! In: groups, foreign sets, questions. Out: outcomes and views. What must hold: a change is in force only after its file
//! was written; a zone whose file is broken is neither served nor overwritten; a file that cannot be read is not overwritten, and
//! keeps no other zone from being served; a file that another program wrote is read before the zone is changed through the
//! provider, and is left alone while it is being written.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use tokio::sync::watch;
use zonewright_core::change::{Blame, Group, Outcome};
use zonewright_core::error::{Error, ErrorKind, Result};
use zonewright_core::{DnsName, RData, RecordKey, RecordSet, RecordType, Ttl};

use crate::answer::Found;
use crate::calls::Calls;
use crate::config::LocalConfig;
use crate::folder::{AT_REST, Folder, Stamp};
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
    file: Known,
}

/// What is known of the file of a zone.
#[derive(Debug, Default)]
struct Known {
    /// What was read or written last.
    stamp: Option<Stamp>,
    /// Whether that held an SOA record: then a file without one is not the whole of it.
    has_soa: bool,
    /// Another stamp, and when it was seen first.
    pending: Option<(Stamp, Instant)>,
}

impl Known {
    /// Whether a file with another stamp is at rest: by its own time, or, where that is ahead of the clock, by how long it has
    /// been seen so.
    fn is_at_rest(&mut self, stamp: Stamp) -> bool {
        let seen = self.pending.filter(|(pending, _)| *pending == stamp).map_or_else(Instant::now, |(_, seen)| seen);
        self.pending = Some((stamp, seen));
        stamp.is_at_rest() || seen.elapsed() >= AT_REST
    }
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

    /// Adds a zone: as its file has it, else a new one. A file that cannot be read costs no other zone anything; it is tried again.
    fn add(&self, apex: &DnsName) -> Result<()> {
        let mut zones = self.write();
        if zones.0.contains_key(apex) {
            return Ok(());
        }
        let mut slot = Slot { table: Ok(self.fresh(apex)), file: Known::default() };
        if let Some(folder) = &self.folder {
            match (folder.read(apex), &slot.table) {
                (Ok(Some((text, stamp))), _) => self.take_in(apex, &mut slot, folder, &text, stamp),
                (Ok(None), Ok(table)) => self.save(table, &mut slot.file)?,
                (Ok(None), Err(_)) => {}
                (Err(error), _) => {
                    let problem = error.chain();
                    tracing::error!(zone = %apex, %problem, "zone file cannot be read; the zone is not served");
                    slot.table = Err(problem);
                }
            }
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

    /// Reads the file again if another program wrote it and is at rest; returns whether the zone is as its file has it.
    fn reload(&self, apex: &DnsName, slot: &mut Slot) -> Result<bool> {
        let Some(folder) = &self.folder else { return Ok(true) };
        let stamp = folder.stamp(apex)?;
        if stamp == slot.file.stamp {
            return Ok(true);
        }
        if stamp.is_some_and(|stamp| !slot.file.is_at_rest(stamp)) {
            return Ok(false);
        }
        match folder.read(apex)? {
            None => slot.file.stamp = None,
            Some((_, read)) if Some(read) != stamp => return Ok(false),
            Some((text, read)) => self.take_in(apex, slot, folder, &text, read),
        }
        Ok(true)
    }

    /// Makes a zone what its file has.
    fn take_in(&self, apex: &DnsName, slot: &mut Slot, folder: &Folder, text: &str, stamp: Stamp) {
        let expects_soa = slot.file.has_soa;
        let floor = slot.file.stamp.and(slot.table.as_ref().ok()).map(|table| table.soa.serial.wrapping_add(1));
        *slot = match self.parse(apex, text, floor, expects_soa) {
            Ok((table, has_soa)) => {
                tracing::info!(zone = %apex, "read zone file");
                Slot { table: Ok(table), file: Known { stamp: Some(stamp), has_soa, pending: None } }
            }
            Err(error) => {
                let problem = folder.broken(apex, &error);
                tracing::error!(zone = %apex, %problem, "zone file is broken; the zone is not served");
                Slot { table: Err(problem), file: Known { stamp: Some(stamp), has_soa: expects_soa, pending: None } }
            }
        };
    }

    /// The zone of a text, and whether that has an SOA record. `floor`: the serial to rise to at least, if the zone was served
    /// before; `expects_soa`: whether the text before had an SOA record.
    fn parse(
        &self,
        apex: &DnsName,
        text: &str,
        floor: Option<u32>,
        expects_soa: bool,
    ) -> Result<(ZoneTable, bool), FileError> {
        let content = zonefile::read(apex, text)?;
        let part = |problem: &str| Err(FileError { line: text.lines().count().max(1), problem: problem.to_owned() });
        if content.soa.is_none() && content.sets.is_empty() {
            return part("there are no records; expected those of the zone, or no file for a new zone");
        }
        if content.soa.is_none() && expects_soa {
            return part("the SOA record is gone, which the file had; expected the whole zone");
        }
        let mut table = self.fresh(apex);
        let has_soa = content.soa.is_some();
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
        Ok((table, has_soa))
    }

    /// Writes the file of a zone, unless another program has changed it since it was read.
    fn save(&self, table: &ZoneTable, file: &mut Known) -> Result<()> {
        let Some(folder) = &self.folder else { return Ok(()) };
        let text = zonefile::write(&table.apex, &table.soa, table.sets());
        let stamp = folder.write(&table.apex, &text, file.stamp)?;
        *file = Known { stamp, has_soa: true, pending: None };
        Ok(())
    }

    /// The apexes of all zones, broken ones too.
    pub(crate) fn zones(&self) -> Vec<DnsName> {
        self.read().0.keys().cloned().collect()
    }

    /// Looks at all zones in one state, as the server does.
    pub(crate) fn look<T>(&self, look: impl FnOnce(&Zones) -> T) -> T {
        look(&self.read())
    }

    /// Looks at one zone, as its file has it now, or had it before another program began to write it.
    pub(crate) fn view<T>(&self, apex: &DnsName, look: impl FnOnce(&ZoneTable) -> T) -> Result<T> {
        let mut zones = self.write();
        Ok(look(self.open_zone(&mut zones, apex, "list records")?.0))
    }

    /// A zone that is as its file has it.
    fn open_to_write<'a>(
        &self,
        zones: &'a mut Zones,
        apex: &DnsName,
        operation: &'static str,
    ) -> Result<(&'a mut ZoneTable, &'a mut Known)> {
        match (self.open_zone(zones, apex, operation)?, &self.folder) {
            ((_, _, false), Some(folder)) => Err(folder.being_written(apex, operation)),
            ((table, file, _), _) => Ok((table, file)),
        }
    }

    /// A zone, what is known of its file, and whether the zone is as its file has it.
    fn open_zone<'a>(
        &self,
        zones: &'a mut Zones,
        apex: &DnsName,
        operation: &'static str,
    ) -> Result<(&'a mut ZoneTable, &'a mut Known, bool)> {
        let known: Vec<&str> = zones.0.keys().map(DnsName::as_str).collect();
        let missing = format!("there is no zone {apex}; there are [{}]", known.join(", "));
        let slot = zones.0.get_mut(apex).ok_or_else(|| Error::new(ErrorKind::NotFound, operation, missing))?;
        let is_current = self.reload(apex, slot)?;
        match &mut slot.table {
            Ok(table) => Ok((table, &mut slot.file, is_current)),
            Err(problem) => Err(Error::new(ErrorKind::Unavailable, operation, problem.clone())),
        }
    }

    /// Carries groups out, all or none.
    pub(crate) fn apply(&self, apex: &DnsName, groups: &[Group]) -> Vec<Outcome> {
        let all = |outcome: Outcome| vec![outcome; groups.len()];
        let mut zones = self.write();
        let (table, file) = match self.open_to_write(&mut zones, apex, "apply") {
            Ok(open) => open,
            Err(error) => return all(Outcome::NotSent(error)),
        };
        let staged = match table.stage(groups) {
            Ok(staged) => staged,
            Err(verdicts) => return refusals(verdicts),
        };
        match self.finish(table, file, staged) {
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
        let (table, file) = self.open_to_write(&mut zones, apex, "insert")?;
        let staged = table.stage_foreign(key, set).map_err(refuse)?;
        self.finish(table, file, staged)
    }

    fn finish(&self, table: &mut ZoneTable, file: &mut Known, staged: Staged) -> Result<()> {
        match self.save(table, file) {
            Ok(()) => {
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
