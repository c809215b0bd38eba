//! What the same work costs at a cloud: requests of each operation, by each program.
//!
//! In: the two programs. Out: a table in Markdown. Both begin with the same records, which external-dns wrote. An external-dns
//! round is one run with `--once`; Zonewright runs all the time, and its requests are counted until it falls silent.

use std::time::Duration;

use anyhow::{Result, bail, ensure};
use serde_json::Value;
use tokio::time::sleep;

use crate::cloud::{Calls, Cloud, Programs, Running, Which, calm, since};
use crate::work::{RECORDS, Work, named, title};

/// Names of a step with many changes, and of one with very many.
const MANY: usize = 100;
const VERY_MANY: usize = 1_000;
/// How long nothing changes.
const IDLE: Duration = Duration::from_hours(1);
/// How much faster than in production that time goes by: intervals are shorter, and paces faster, by this.
const FASTER: u32 = 20;
/// A program that asks for nothing this long has done its work.
const SILENT: Duration = Duration::from_secs(4);
/// How the addresses of new names begin.
const NEW: &str = "203.0.";

const FLAGS: &[&str] = &[
    "--source=service",
    "--registry=txt",
    "--policy=sync",
    "--txt-owner-id=x",
    "--txt-prefix=claims.",
    "--domain-filter=test",
];

/// A cloud whose costs are measured.
pub trait Measured: Cloud + Sized {
    /// Flags of both programs.
    const FLAGS: &'static [&'static str];
    /// Zonewright's flag for requests a second, and its default.
    const PACE: (&'static str, u32);
    /// Most records on a page that either program asks for.
    const PAGE: usize;
    /// The operations that list zones.
    const ZONES: &'static [&'static str];
    /// What a name can meet that another writer made meanwhile.
    const CONFLICTS: &'static [Conflict];
    /// Records of a large zone, and the same for people.
    const LARGE: (usize, &'static str) = (100_000, "100,000");
    /// Whether external-dns writes nothing of a batch of which one record is refused.
    const ALL_OR_NOTHING: bool = false;

    /// The service without zones.
    fn start() -> Self;

    /// Adds a zone; its id.
    fn add(&self, zone: &str) -> String;

    /// Lets so many records into a zone.
    fn make_room(&self, zone: &str, records: usize);

    /// Puts a record in place, past both programs. The name has no final dot.
    fn put(&self, zone: &str, name: &str, kind: &str, value: &str);

    /// The first value of each record that clients write.
    fn values(&self, zone: &str) -> Vec<String>;

    /// An object for a zone whose record the service refuses.
    fn refused(zone: &str) -> Value;
}

/// A foreign record.
#[derive(Debug)]
pub struct Conflict {
    /// For people.
    pub what: &'static str,
    /// Its type.
    pub kind: &'static str,
    /// What it holds.
    pub value: &'static str,
}

/// One row.
#[derive(Debug)]
struct Row {
    what: String,
    external_dns: Calls,
    zonewright: Calls,
}

/// Measures, and prints the table.
///
/// # Errors
/// A program cannot be started or does not end, or did not do its work.
pub async fn measure<C: Measured>(programs: &Programs) -> Result<()> {
    let mut rows = steps::<C>(programs, 1).await?;
    rows.push(large::<C>(programs).await?);
    rows.extend(steps::<C>(programs, 50).await?);
    let (few, some, many) =
        tokio::try_join!(idle::<C>(programs, 1), idle::<C>(programs, 50), idle::<C>(programs, 500))?;
    rows.extend([few, some, many]);
    println!("| zones and work | external-dns | | | | Zonewright | | | |\n|---|---|---|---|---|---|---|---|---|");
    println!("| | all | zones | records | change | all | zones | records | change |");
    for row in rows {
        println!("| {} | {} | {} |", row.what, cells::<C>(&row.external_dns), cells::<C>(&row.zonewright));
    }
    Ok(())
}

/// All requests, and those of each operation.
fn cells<C: Measured>(calls: &Calls) -> String {
    let sum = |wanted: &dyn Fn(&str) -> bool| -> usize {
        calls.iter().filter(|(name, _)| wanted(name)).map(|(_, count)| count).sum()
    };
    let all = sum(&|name| !C::CHANGES.contains(&name));
    let zones = sum(&|name| C::ZONES.contains(&name));
    let records = sum(&|name| name == C::READ);
    let change = sum(&|name| C::WRITES.contains(&name));
    format!("**{all}** | {zones} | {records} | {change}")
}

fn flags<C: Measured>() -> Vec<&'static str> {
    [FLAGS, C::FLAGS].concat()
}

/// The flags of Zonewright while steps are counted, between which no audit is to fall.
fn at_rest<C: Measured>() -> [String; 2] {
    ["--interval=1h".to_owned(), format!("{}=0", C::PACE.0)]
}

/// A service with the records of `work`, written by external-dns, and the ids of its zones.
async fn filled<C: Measured>(programs: &Programs, work: &Work) -> Result<(C, Vec<String>)> {
    let service = C::start();
    let zones: Vec<String> = (0..work.zones).map(|n| service.add(&format!("zone{n}.test"))).collect();
    for zone in &zones {
        service.make_room(zone, 2 * C::LARGE.0);
    }
    let ended = programs.once(Which::ExternalDns, &service, &work.objects, &flags::<C>()).await?;
    let created: usize = zones.iter().map(|zone| service.values(zone).len()).sum();
    ensure!(created == 2 * RECORDS, "external-dns created {created} records at the start:\n{}", ended.output);
    Ok((service, zones))
}

/// Starts Zonewright, which has nothing to do, and waits until it knows that.
async fn started<C: Measured>(programs: &Programs, ours: &C, work: &Work) -> Result<(Running, Calls)> {
    let (before, rest) = (ours.calls(), at_rest::<C>());
    let flags: Vec<&str> = flags::<C>().into_iter().chain(rest.iter().map(String::as_str)).collect();
    let daemon = programs.start(Which::Zonewright, ours, &work.objects, &flags).await?;
    let calls = calm(ours, &before, SILENT).await?;
    Ok((daemon, calls))
}

/// Both programs, each at a service of its own.
struct Pair<'a, C> {
    programs: &'a Programs,
    theirs: C,
    ours: C,
    zones: Vec<String>,
    daemon: Running,
}

impl<C: Measured> Pair<'_, C> {
    /// What both do about these objects; at the end, `count` records have to hold addresses that start so.
    async fn step(&mut self, what: &str, work: &Work, shown: &str, count: usize) -> Result<Row> {
        let row = self.act(what, work).await?;
        self.published(&row.what, Which::ExternalDns, shown, count)?;
        self.published(&row.what, Which::Zonewright, shown, count)?;
        Ok(row)
    }

    /// As [`Self::step`], with one object among them that is refused. Where that costs external-dns its batch, what it published
    /// is reported, and no demand.
    async fn spoilt(&mut self, what: &str, work: &mut Work, count: usize) -> Result<Row> {
        work.objects.pop();
        work.objects.push(C::refused("zone0.test"));
        let row = self.act(what, work).await?;
        work.objects.pop();
        if C::ALL_OR_NOTHING {
            eprintln!("{}: external-dns has {} of {count}", row.what, self.count(&self.theirs, NEW));
        } else {
            self.published(&row.what, Which::ExternalDns, NEW, count)?;
        }
        self.published(&row.what, Which::Zonewright, NEW, count)?;
        Ok(row)
    }

    async fn act(&self, what: &str, work: &Work) -> Result<Row> {
        let what = format!("{}: {what}", title(work.zones));
        eprintln!("{what}");
        let external_dns = self.programs.once(Which::ExternalDns, &self.theirs, &work.objects, &flags::<C>()).await?;
        let before = self.ours.calls();
        self.daemon.replace(&work.objects)?;
        for _ in 0..120 {
            if since(&before, &self.ours.calls()).keys().any(|name| C::WRITES.contains(&name.as_str())) {
                break;
            }
            sleep(Duration::from_millis(250)).await;
        }
        let zonewright = calm(&self.ours, &before, SILENT).await?;
        Ok(Row { what, external_dns: external_dns.calls, zonewright })
    }

    fn count(&self, service: &C, shown: &str) -> usize {
        let values = self.zones.iter().flat_map(|zone| service.values(zone));
        values.filter(|value| value.starts_with(shown)).count()
    }

    fn published(&self, what: &str, which: Which, shown: &str, count: usize) -> Result<()> {
        let service = if which == Which::ExternalDns { &self.theirs } else { &self.ours };
        let (found, name) = (self.count(service, shown), which.name());
        ensure!(found == count, "{what}: {name} published {found} of {count}:\n{}", self.daemon.output());
        Ok(())
    }

    /// Puts a foreign record in place, at both services.
    fn foreign(&self, name: &str, conflict: &Conflict) {
        for service in [&self.theirs, &self.ours] {
            if let Some(zone) = self.zones.first() {
                service.put(zone, name, conflict.kind, conflict.value);
            }
        }
    }
}

/// Start, one change, many, and many with one that cannot be.
async fn steps<C: Measured>(programs: &Programs, zones: usize) -> Result<Vec<Row>> {
    let mut work = Work::new(zones);
    let (theirs, ids) = filled::<C>(programs, &work).await?;
    let (ours, _) = filled::<C>(programs, &work).await?;
    let external_dns = programs.once(Which::ExternalDns, &theirs, &work.objects, &flags::<C>()).await?.calls;
    let (daemon, zonewright) = started(programs, &ours, &work).await?;
    let what = format!("{}: start, {RECORDS} records, nothing to do", title(zones));
    let mut rows = vec![Row { what, external_dns, zonewright }];
    let mut pair = Pair { programs, theirs, ours, zones: ids, daemon };
    work.moved(1, 100);
    rows.push(pair.step("one address changes", &work, "198.51.100.", 1).await?);
    work.objects.push(named("one", 0, "203.0.113.1"));
    rows.push(pair.step("one new name", &work, NEW, 1).await?);
    work.objects.pop();
    rows.push(pair.step("that name goes", &work, NEW, 0).await?);
    work.moved(MANY, 101);
    rows.push(pair.step("100 addresses change at once", &work, "198.51.101.", MANY).await?);
    let mut new = 0;
    for (at, conflict) in C::CONFLICTS.iter().enumerate() {
        pair.foreign(&format!("new{at}-0.zone0.test"), conflict);
        work.more(&format!("new{at}-"), MANY);
        new += MANY - 1;
        let what = format!("100 new names, at one of which {} came", conflict.what);
        rows.push(pair.step(&what, &work, NEW, new).await?);
    }
    for (count, words) in [(MANY, "100"), (VERY_MANY, "1,000")] {
        work.more(&format!("last{count}-"), count);
        new += count - 1;
        rows.push(pair.spoilt(&format!("{words} new names, one of which the service refuses"), &mut work, new).await?);
        // What is refused goes, so that it spoils no further row.
        pair.step("what is refused goes", &work, NEW, new).await?;
    }
    pair.daemon.end().await?;
    Ok(rows)
}

/// The start with a zone that holds many foreign records.
async fn large<C: Measured>(programs: &Programs) -> Result<Row> {
    let work = Work::new(1);
    let what = format!("{}: start, {} records, nothing to do", title(1), C::LARGE.1);
    eprintln!("{what}");
    let mut calls = Vec::new();
    for which in [Which::ExternalDns, Which::Zonewright] {
        let (service, zones) = filled::<C>(programs, &work).await?;
        for zone in &zones {
            (2 * RECORDS..C::LARGE.0)
                .for_each(|n| service.put(zone, &format!("foreign{n}.zone0.test"), "A", "198.51.103.1"));
        }
        calls.push(match which {
            Which::ExternalDns => programs.once(which, &service, &work.objects, &flags::<C>()).await?.calls,
            Which::Zonewright => {
                let (daemon, calls) = started(programs, &service, &work).await?;
                daemon.end().await?;
                calls
            }
        });
    }
    let zonewright = calls.pop().unwrap_or_default();
    Ok(Row { what, external_dns: calls.pop().unwrap_or_default(), zonewright })
}

/// An hour without changes, with an interval of a minute, for both programs at the same time.
async fn idle<C: Measured>(programs: &Programs, zones: usize) -> Result<Row> {
    let work = Work::new(zones);
    let (theirs, _) = filled::<C>(programs, &work).await?;
    let (ours, _) = filled::<C>(programs, &work).await?;
    let (name, pace) = C::PACE;
    let (interval, pace) = (format!("--interval={}s", 60 / FASTER), format!("{name}={}", pace * FASTER));
    let flags = [flags::<C>(), vec![interval.as_str()]].concat();
    let first = programs.start(Which::ExternalDns, &theirs, &work.objects, &flags).await?;
    let second =
        programs.start(Which::Zonewright, &ours, &work.objects, &[flags.as_slice(), &[pace.as_str()]].concat()).await?;
    // Each zone has the records, and a claim for each.
    let pages = zones * (2 * RECORDS / zones).div_ceil(C::PAGE);
    tokio::try_join!(read(&theirs, pages), read(&ours, pages))?;
    let before = (theirs.calls(), ours.calls());
    sleep(IDLE / FASTER).await;
    let (external_dns, zonewright) = (since(&before.0, &theirs.calls()), since(&before.1, &ours.calls()));
    first.end().await?;
    second.end().await?;
    Ok(Row { what: format!("{}: an hour, nothing to do", title(zones)), external_dns, zonewright })
}

/// Waits until so many pages of records were read from now on.
async fn read<C: Cloud>(service: &C, pages: usize) -> Result<()> {
    let before = service.calls();
    for _ in 0..4_000 {
        if since(&before, &service.calls()).get(C::READ).is_some_and(|reads| *reads >= pages) {
            return Ok(());
        }
        sleep(Duration::from_millis(50)).await;
    }
    bail!("not {pages} pages were asked for, but {:?}", since(&before, &service.calls()))
}

#[cfg(test)]
mod tests {
    use zonewright_fakes::cloudflare::Cloudflare;
    use zonewright_fakes::route53::Route53;

    use super::*;

    fn calls(counts: &[(&str, usize)]) -> Calls {
        counts.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
    }

    #[test]
    fn requests_are_distinguished_by_their_purpose() {
        let all =
            [("ChangeResourceRecordSets", 2), ("CREATE", 200), ("ListHostedZones", 1), ("ListResourceRecordSets", 7)];
        assert_eq!(cells::<Route53>(&calls(&all)), "**10** | 1 | 7 | 2");
        assert_eq!(cells::<Route53>(&calls(&[("GetHostedZone", 1)])), "**1** | 0 | 0 | 0");
        let all = [("BatchRecords", 2), ("posts", 200), ("ListZones", 1), ("ListRecords", 7), ("PatchRecord", 3)];
        assert_eq!(cells::<Cloudflare>(&calls(&all)), "**13** | 1 | 7 | 5");
        assert_eq!(cells::<Cloudflare>(&calls(&[("GetZone", 1), ("ListCustomHostnames", 1)])), "**2** | 1 | 0 | 0");
    }

    #[test]
    fn only_what_came_since_counts() {
        let (before, after) = (calls(&[("a", 1), ("b", 2)]), calls(&[("a", 1), ("b", 5), ("c", 1)]));
        assert_eq!(since(&before, &after), calls(&[("b", 3), ("c", 1)]));
    }
}
