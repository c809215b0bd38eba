//! Zones as plain text files: `NAME.zone` in a folder, one record on each line as `name ttl type data`.
//!
//! In come record sets and groups of changes, out go files. What must hold: a file is read whole or not at all, a call takes
//! effect as a whole or not at all, and a line that was not understood is an error, never dropped.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use zonewright_core::capability::{Audit, Capability, TtlRange};
use zonewright_core::catalog::{FlagKind, FlagSpec, ProviderConfig, ProviderEntry};
use zonewright_core::change::{Blame, Change, Group, Outcome, Precondition};
use zonewright_core::endpoint::Endpoint;
use zonewright_core::interpret::Interpretation;
use zonewright_core::provider::{Adjustment, Listing, Provider, Read};
use zonewright_core::record::{RecordData, Routing};
use zonewright_core::zone::{InstanceId, ZoneId};
use zonewright_core::{DnsName, Error, ErrorKind, RData, RecordKey, RecordSet, RecordType, Result, Ttl, Zone};

/// The catalog entry: all that the program has to know.
pub const ENTRY: ProviderEntry = ProviderEntry {
    flags: &[FlagSpec::new("file-folder", FlagKind::Text, "Folder of the zone files NAME.zone")],
    check: |settings| match settings.text("file-folder") {
        "" => Err("--file-folder is required".to_owned()),
        _ => Ok(()),
    },
    ..ProviderEntry::new("file", "Plain text files in a folder", |config| {
        Box::pin(async move { Ok(Arc::new(FileProvider::new(&config)) as Arc<dyn Provider>) })
    })
};

/// The TTL of a set that asks for none, in seconds.
const TTL: u32 = 300;

/// Most changes in one call.
const BATCH: usize = 1_000;

/// What a zone holds.
type Sets = BTreeMap<RecordKey, RecordSet>;

/// The provider.
#[derive(Debug)]
pub struct FileProvider {
    instance: InstanceId,
    folder: PathBuf,
    /// One call at a time looks at the files.
    turn: Mutex<()>,
}

impl FileProvider {
    /// A provider with this configuration. Reads nothing.
    pub fn new(config: &ProviderConfig) -> Self {
        let folder = PathBuf::from(config.settings.text("file-folder"));
        Self { instance: config.instance.clone(), folder, turn: Mutex::default() }
    }

    fn turn(&self) -> MutexGuard<'_, ()> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn path(&self, apex: &DnsName) -> PathBuf {
        self.folder.join(format!("{apex}.zone"))
    }

    fn named(&self, apex: DnsName) -> Zone {
        Zone::new(&self.instance, apex.as_str(), apex.clone())
    }

    fn load(&self, apex: &DnsName) -> Result<Sets> {
        let path = self.path(apex);
        let place = path.display();
        let text = fs::read_to_string(&path).map_err(|error| failed("read the zone", place.to_string(), error))?;
        let mut sets = Sets::new();
        for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let wrong =
                || Error::new(ErrorKind::Protocol, "read the zone", format!("{place}:{}: {line:?}", number + 1));
            let set = parse(line).ok_or_else(wrong)?;
            match sets.get_mut(&set.key) {
                Some(known) => {
                    let both = known.data.as_records().iter().chain(set.data.as_records());
                    known.data = RecordData::records(both.cloned());
                }
                None => drop(sets.insert(set.key.clone(), set)),
            }
        }
        Ok(sets)
    }

    /// Writes another file and renames it: whoever reads sees the old zone or the new one.
    fn save(&self, apex: &DnsName, sets: &Sets) -> Result<()> {
        let (path, draft) = (self.path(apex), self.folder.join(format!("{apex}.draft")));
        let lines = sets.values().flat_map(|set| set.data.as_records().iter().map(move |data| line(set, data)));
        fs::write(&draft, lines.collect::<String>())
            .and_then(|()| fs::rename(&draft, &path))
            .map_err(|error| failed("write the zone", path.display().to_string(), error))
    }
}

fn failed(operation: &'static str, context: String, error: std::io::Error) -> Error {
    let missing = error.kind() == std::io::ErrorKind::NotFound;
    let kind = if missing { ErrorKind::NotFound } else { ErrorKind::Unavailable };
    Error::new(kind, operation, context).caused_by(error)
}

fn parse(line: &str) -> Option<RecordSet> {
    let mut words = line.splitn(4, ' ');
    let name = DnsName::parse(words.next()?).ok()?;
    let ttl = Ttl::from_secs(words.next()?.parse().ok()?)?;
    let rtype: RecordType = words.next()?.parse().ok()?;
    let data = RData::parse(rtype, words.next()?).ok()?;
    Some(RecordSet::simple(name, rtype, Some(ttl), [data]))
}

fn line(set: &RecordSet, data: &RData) -> String {
    let ttl = set.ttl.map_or(TTL, Ttl::secs);
    format!("{} {ttl} {} {data}\n", set.key.name, set.key.rtype)
}

#[async_trait]
impl Provider for FileProvider {
    fn capability(&self, _zone: Option<&Zone>) -> Capability {
        // A file does not show what changed in it: it is read whole.
        Capability { audit: Audit::Listing, ..Capability::authoritative(BATCH, TtlRange::any(Ttl::from_wire(TTL))) }
    }

    async fn zones(&self) -> Result<Vec<Zone>> {
        let problem = |error| failed("list the zones", self.folder.display().to_string(), error);
        let mut zones = Vec::new();
        for entry in fs::read_dir(&self.folder).map_err(problem)? {
            let name = entry.map_err(problem)?.file_name();
            let Some(apex) = name.to_str().and_then(|name| name.strip_suffix(".zone")) else { continue };
            let wrong = |error| Error::new(ErrorKind::Invalid, "list the zones", format!("{apex}.zone: {error}"));
            zones.push(self.named(DnsName::parse(apex).map_err(wrong)?));
        }
        Ok(zones)
    }

    async fn zone(&self, id: &ZoneId) -> Result<Option<Zone>> {
        Ok(self.zones().await?.into_iter().find(|zone| zone.key.zone == *id))
    }

    async fn records(&self, zone: &Zone, read: Read<'_>) -> Result<Listing> {
        let _turn = self.turn();
        let sets = self.load(&zone.name)?.into_values();
        Ok(match read {
            // A file is one page.
            Read::All | Read::From(_) | Read::Since(_) => Listing::Full { sets: sets.collect(), token: None },
            Read::Names(names) => Listing::Names(sets.filter(|set| names.contains(&set.key.name)).collect()),
        })
    }

    fn interpret(&self, _: &Zone, _: &Endpoint) -> Interpretation {
        // No aliases, no routing policies: everything is published as it is stated.
        Interpretation::as_stated()
    }

    async fn adjust(&self, _zone: &Zone, sets: &[RecordSet]) -> Vec<Adjustment> {
        let filled = |set: &RecordSet| RecordSet { ttl: set.ttl.or(Ttl::from_secs(TTL)), ..set.clone() };
        sets.iter().map(|set| Adjustment::to(filled(set))).collect()
    }

    async fn apply(&self, zone: &Zone, groups: &[Group]) -> Vec<Outcome> {
        let _turn = self.turn();
        let none = |error: Error| vec![Outcome::NotSent(error); groups.len()];
        let before = match self.load(&zone.name) {
            Ok(sets) => sets,
            Err(error) => return none(error),
        };
        let mut after = before.clone();
        for change in groups.iter().flat_map(Group::changes) {
            match change.to() {
                Some(to) => after.insert(to.key.clone(), to.clone()),
                None => after.remove(change.key()),
            };
        }
        let verdicts: Vec<Option<Error>> =
            groups.iter().map(|group| refusal(&zone.name, group, &before, &after).err()).collect();
        if verdicts.iter().any(Option::is_some) {
            let spared = || Error::new(ErrorKind::Conflict, "apply", "another group of the call was refused");
            let outcome = |verdict: Option<Error>| match verdict {
                Some(error) => Outcome::Refused { error, blame: Blame::Group },
                None => Outcome::NotSent(spared()),
            };
            return verdicts.into_iter().map(outcome).collect();
        }
        match self.save(&zone.name, &after) {
            Ok(()) => vec![Outcome::Applied; groups.len()],
            Err(error) => none(error),
        }
    }

    async fn served(&self, _: &Zone) -> Result<Option<bool>> {
        Ok(None)
    }
}

/// Why a group cannot be carried out: a precondition that does not hold before the call, or a zone that would be none after it.
fn refusal(apex: &DnsName, group: &Group, before: &Sets, after: &Sets) -> Result<()> {
    let refused = |kind, text: String| Err(Error::new(kind, "apply", text));
    for condition in group.preconditions() {
        let (holds, what) = match &condition {
            Precondition::Exact(set) => {
                (before.get(&set.key).is_some_and(|found| found.data == set.data), set.to_string())
            }
            Precondition::Absent(key) => (!before.contains_key(key), format!("no {key}")),
            Precondition::NameNotInUse(name) => {
                (before.keys().all(|key| key.name != *name), format!("nothing at {name}"))
            }
        };
        if !holds {
            return refused(ErrorKind::Conflict, format!("{what} was expected and is not so"));
        }
    }
    for to in group.changes().filter_map(Change::to) {
        let plain = to.key.set_id.is_none() && to.routing == Routing::Simple && to.options.is_empty();
        let records = matches!(to.data, RecordData::Records(_));
        if !plain || !records || !RecordType::WRITABLE.contains(&to.key.rtype) {
            return refused(ErrorKind::Unsupported, format!("{to}: files hold plain records only"));
        }
    }
    let names: BTreeSet<&DnsName> = group.changes().map(|change| &change.key().name).collect();
    for name in names {
        let types: Vec<RecordType> = after.keys().filter(|key| key.name == *name).map(|key| key.rtype).collect();
        let alone = !types.contains(&RecordType::Cname) || (types.len() == 1 && name != apex);
        if !alone || !name.is_within(apex) {
            return refused(
                ErrorKind::Invalid,
                format!("{name}: outside of the zone, or a CNAME beside other records"),
            );
        }
    }
    Ok(())
}
