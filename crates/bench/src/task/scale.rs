//! What a name costs: in time at the start, in memory, and at rest, from a thousand names to some hundred thousand.
//!
//! Each size is measured with each program in turn, on a fresh server, beside an `nsupdate` that brings the same records. Where there is a
//! second program (`--old=`), it reads the same objects.

use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use tempfile::TempDir;
use zonewright_testkit::KubeApi;

use crate::answer::Asker;
use crate::bare;
use crate::build::FULL;
use crate::daemon::{Daemon, Memory};
use crate::lab::{DaemonSetup, Dns, From, PATIENCE, cluster};
use crate::objects;
use crate::objects::Kind;
use crate::options::{Options, Place, Row};
use crate::report::{Section, Times, kilobytes_each, megabytes, microseconds_each, milliseconds, ratio, seconds};

/// Records in one message of `nsupdate`.
const BATCH: usize = 500;
/// Changes of one object each whose answer is waited for.
const CHANGES: u32 = 50;
/// New names of a single pass, and how long it may take.
const ONCE: [u32; 2] = [60, 1_000];
/// Who uses less than a tenth of a processor for so long has started.
const QUIET: Duration = Duration::from_secs(5);
/// One that always uses more is not waited for any longer.
const LONGEST_START: Duration = Duration::from_mins(3);
/// The single passes are made where there are just so many Services.
const FIRST: u32 = 1_000;

const HEAD: [&str; 12] = [
    "names",
    "program",
    "start",
    "to `nsupdate`",
    "processor, start",
    "a name",
    "change, p50 / p99",
    "processor, a minute later / at rest",
    "memory after the start / later / peak",
    "own memory, later",
    "a name",
    "memory at rest",
];

pub(super) fn run(options: &Options) -> Result<String> {
    let mut setups = vec![("now", DaemonSetup::of(options.new.as_deref(), FULL)?)];
    if let Some(old) = &options.old {
        setups.push(("before", DaemonSetup::of(Some(old), FULL)?));
    }
    let mut lab = Lab::default();
    let (mut rows, mut passes) = (Vec::new(), Vec::new());
    for (number, row) in options.scale.iter().enumerate() {
        lab.fill(*row)?;
        if number == 0 && row.names == FIRST && row.place == Place::Cluster(Kind::Service) {
            passes = single_passes(&setups, &lab)?;
        }
        let bare = nsupdate(*row)?;
        eprintln!("    {row:?}: nsupdate {}", seconds(bare));
        rows.push(line(*row, "`nsupdate`", [seconds(bare), "1.00".to_owned()], microseconds_each(bare, row.names)));
        for (program, setup) in &setups {
            let measured = measure(setup, &lab, *row, options)?;
            eprintln!("    {row:?} {program}: {measured:?}");
            rows.push(measured.line(*row, program, bare));
        }
    }
    let about = "From the start of the process until the last new name is answered, each a record and a claim; then the status of one Service \
                 is changed, time after time; then nothing happens for some minutes, with `--interval=1m`, but that the events of new names still \
                 go out. At rest is a second process, which finds all of it in place. The two programs read the same objects, one after \
                 the other.";
    let mut section = Section::new("Scale", about).table(&HEAD, &rows);
    if !passes.is_empty() {
        section = section.table(&["a single pass (`--once`)", "program", "time from start to end"], &passes);
    }
    Ok(section.finish())
}

/// Where the objects are.
#[derive(Default)]
struct Lab {
    /// An API server with so many objects of a kind.
    kube: Option<(KubeApi, Kind, u32)>,
    folder: Option<TempDir>,
}

impl Lab {
    /// Makes the objects that a row needs, besides those that are there.
    fn fill(&mut self, row: Row) -> Result<()> {
        self.folder = None;
        let kind = match row.place {
            Place::Cluster(kind) => kind,
            Place::Folder => {
                let folder = tempfile::Builder::new().prefix("zonewright-bench-").tempdir()?;
                objects::manifests(folder.path(), row.names)?;
                self.folder = Some(folder);
                return Ok(());
            }
        };
        self.kube = self.kube.take().filter(|(_, there, _)| *there == kind);
        let (kube, _, there) = self.kube.get_or_insert_with(|| (cluster(), kind, 0));
        if *there < row.names {
            eprintln!("    creating objects {there} to {}: {kind:?}", row.names);
            kind.create(kube, *there..row.names);
            *there = row.names;
        }
        Ok(())
    }

    fn from(&self) -> Result<From<'_>> {
        let folder = self.folder.as_ref().map(|folder| From::Folder(folder.path()));
        folder.or_else(|| self.kube().map(|(kube, _)| From::Cluster(kube))).context("there are no objects")
    }

    fn kube(&self) -> Option<(&KubeApi, Kind)> {
        self.kube.as_ref().filter(|_| self.folder.is_none()).map(|(kube, kind, _)| (kube, *kind))
    }
}

/// What one program took.
#[derive(Debug)]
struct Measured {
    start: Duration,
    processor: Duration,
    changes: Option<Times>,
    /// Processor time in a minute some time after the start.
    later: Duration,
    first: Memory,
    last: Memory,
    /// What a second process takes, which finds all in place: processor time in a minute, and memory.
    at_rest: (Duration, Memory),
}

impl Measured {
    fn line(&self, row: Row, program: &str, bare: Duration) -> Vec<String> {
        let changes = self.changes.as_ref().map_or_else(
            || "-".to_owned(),
            |times| format!("{} / {}", milliseconds(times.percentile(50)), milliseconds(times.percentile(99))),
        );
        let memory = [self.first.now, self.last.now, self.last.peak].map(megabytes).join(" / ");
        let start = [seconds(self.start), ratio(self.start, bare)];
        let mut line = line(row, program, start, microseconds_each(self.start, row.names));
        for (cell, text) in [
            (4, seconds(self.processor)),
            (6, changes),
            (7, format!("{} / {}", milliseconds(self.later), milliseconds(self.at_rest.0))),
            (8, memory),
            (9, megabytes(self.last.own)),
            (10, kilobytes_each(self.last.own, row.names)),
            (11, megabytes(self.at_rest.1.now)),
        ] {
            line[cell] = text;
        }
        line
    }
}

fn line(row: Row, program: &str, [start, ratio]: [String; 2], each: String) -> Vec<String> {
    let beside = if row.foreign > 0 { format!(" beside {} foreign", row.foreign) } else { String::new() };
    let place = match row.place {
        Place::Cluster(Kind::Service) => "",
        Place::Cluster(Kind::Ingress) => ", Ingresses",
        Place::Folder => ", folder of manifests",
    };
    let none = String::new;
    let names = format!("{}{beside}{place}", row.names);
    vec![names, program.to_owned(), start, ratio, none(), each, none(), none(), none(), none(), none(), none()]
}

fn nsupdate(row: Row) -> Result<Duration> {
    let dns = Dns::start(row.foreign);
    let lines: Vec<String> = (0..row.names).flat_map(objects::records).collect();
    bare::feed(&dns.server, &dns.key, objects::ZONE, &lines, BATCH)
}

fn measure(setup: &DaemonSetup, lab: &Lab, row: Row, options: &Options) -> Result<Measured> {
    let dns = Dns::start(row.foreign);
    // Objects that other rows need are not this one's.
    let kind = lab.kube().map_or(Kind::Service, |(_, kind)| kind);
    let more = ["--interval=1m".to_owned(), kind.source().to_owned()];
    let start = || setup.start(lab.from()?, &dns, dns.server.addr(), &more);
    let mut daemon = start()?;
    let end = dns.converged(row.names, &mut daemon)?;
    let (took, processor) = (end - daemon.begun, daemon.processor()?);
    let changes = lab.kube().map(|(kube, kind)| changes(kube, kind, &dns, row)).transpose()?;
    dns.verify(row.names)?;
    let first = daemon.memory()?;
    let (later, last) = minute(&mut daemon, options)?;
    drop(daemon);
    let at_rest = minute(&mut start()?, options)?;
    Ok(Measured { start: took, processor, changes, later, first, last, at_rest })
}

/// What a daemon takes in a minute in which nothing happens, and its memory after it.
fn minute(daemon: &mut Daemon, options: &Options) -> Result<(Duration, Memory)> {
    // What a start leaves behind is cleared up within its first intervals.
    sleep(options.settle);
    // A second process is still reading where there is very much.
    let waited = Instant::now();
    while waited.elapsed() < LONGEST_START {
        let before = daemon.processor()?;
        sleep(QUIET);
        if daemon.processor()?.saturating_sub(before) < QUIET / 10 {
            break;
        }
    }
    daemon.check()?;
    let before = (Instant::now(), daemon.threads()?);
    sleep(options.idle);
    daemon.check()?;
    let spent = daemon.threads()?.since(&before.1);
    Ok((spent.mul_f64(60.0 / before.0.elapsed().as_secs_f64()), daemon.memory()?))
}

/// From the API server's confirmation of a change to the answer, some times.
fn changes(kube: &KubeApi, kind: Kind, dns: &Dns, row: Row) -> Result<Times> {
    let mut asker = Asker::new(dns.server.addr())?;
    let mut times = Vec::new();
    for round in 0..CHANGES {
        let number = round * (row.names / CHANGES).max(1) % row.names;
        let current = asker.address(&objects::host(number))?;
        // Another one than now, whatever an earlier program left.
        let wanted = [101, 102].map(|round| objects::address(number, round)).into_iter().find(|a| Some(*a) != current);
        let wanted = wanted.context("two addresses are never both in force")?;
        kube.patch_status(&kind.path(number), &objects::status(wanted)).expect_success();
        let begun = Instant::now();
        times.push(asker.until(&objects::host(number), Some(wanted), PATIENCE)?.saturating_duration_since(begun));
    }
    Ok(Times::new(times))
}

/// How long a single pass takes that brings so many new names, with the events of all of them.
fn single_passes(setups: &[(&str, DaemonSetup)], lab: &Lab) -> Result<Vec<Vec<String>>> {
    let mut rows = Vec::new();
    for names in ONCE {
        for (program, setup) in setups {
            let dns = Dns::start(0);
            // The others are out of sight.
            let filter = format!("--regex-domain-filter={}", first_names(names));
            let more = ["--once".to_owned(), filter];
            let mut daemon: Daemon = setup.start(lab.from()?, &dns, dns.server.addr(), &more)?;
            let took = daemon.ended(PATIENCE)?;
            dns.verify(names)?;
            eprintln!("    --once {names} {program}: {}", seconds(took));
            rows.push(vec![format!("{names} new names"), (*program).to_owned(), seconds(took)]);
        }
    }
    Ok(rows)
}

/// A pattern of the first so many names, and the zone; by whole tens.
fn first_names(names: u32) -> String {
    let zone = objects::ZONE.replace('.', "\\.");
    let tens = names / 10;
    let numbers: Vec<String> = (0..tens).map(|ten| format!("{ten:04}")).collect();
    format!("^((a-)?n({})[0-9]\\.)?{zone}$", numbers.join("|"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_names_are_distinguished_from_the_others() {
        assert_eq!(first_names(20), "^((a-)?n(0000|0001)[0-9]\\.)?bench\\.test$");
        let row = Row { names: 7, foreign: 9, place: Place::Folder };
        let cells = line(row, "now", ["1".to_owned(), "2".to_owned()], "3".to_owned());
        assert_eq!((cells.len(), cells[0].as_str()), (HEAD.len(), "7 beside 9 foreign, folder of manifests"));
    }
}
