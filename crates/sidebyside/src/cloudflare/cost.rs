//! What the same work costs at Cloudflare: requests of each operation, by each program.
//!
//! In: the two programs. Out: a table in Markdown. Both begin with the same records, which external-dns wrote. An external-dns
//! round is one run with `--once`; Zonewright runs all the time, and its requests are counted until it falls silent.

use std::time::Duration;

use anyhow::{Result, ensure};
use tokio::time::sleep;
use zonewright_fakes::cloudflare::{Cloudflare, Plan, Record};
use zonewright_sidebyside::cloud::{Calls, Cloud, Programs, Running, Which, calm, since};
use zonewright_sidebyside::shapes::service;
use zonewright_sidebyside::work::{RECORDS, Work, named, title};

/// Names of a step with many changes.
const MANY: usize = 100;
/// A quarter of an hour, ten times as fast as in production: intervals are shorter, and paces faster, by this.
const QUARTER: Duration = Duration::from_secs(90);
const FASTER: u32 = 10;
/// A program that asks for nothing this long has done its work.
const SILENT: Duration = Duration::from_secs(4);

const FLAGS: &[&str] = &[
    "--source=service",
    "--registry=txt",
    "--policy=sync",
    "--txt-owner-id=x",
    "--txt-prefix=claims.",
    "--domain-filter=test",
    "--batch-change-interval=0s",
];
/// While steps are counted no audit is to fall between them.
const STEPS: &[&str] = &["--interval=1h", "--cloudflare-api-qps=50"];

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
pub(crate) async fn measure(programs: &Programs) -> Result<()> {
    println!("| zones and work | external-dns | | | | Zonewright | | | |\n|---|---|---|---|---|---|---|---|---|");
    println!("| | all | zones | records | change | all | zones | records | change |");
    for zones in [1, 50] {
        for row in steps(programs, zones).await?.into_iter().chain([idle(programs, zones).await?]) {
            println!("| {} | {} | {} |", row.what, cells(&row.external_dns), cells(&row.zonewright));
        }
    }
    Ok(())
}

/// All requests, and those of each operation.
fn cells(calls: &Calls) -> String {
    let sum = |wanted: &dyn Fn(&str) -> bool| -> usize {
        calls.iter().filter(|(name, _)| wanted(name)).map(|(_, count)| count).sum()
    };
    let all = sum(&|name| !Cloudflare::CHANGES.contains(&name));
    let zones = sum(&|name| matches!(name, "ListZones" | "GetZone"));
    let records = sum(&|name| name == Cloudflare::READ);
    let change = sum(&|name| Cloudflare::WRITES.contains(&name));
    format!("**{all}** | {zones} | {records} | {change}")
}

/// A service with the records of `work`, written by external-dns.
async fn filled(programs: &Programs, work: &Work) -> Result<(Cloudflare, Vec<String>)> {
    let service = Cloudflare::start();
    let zones: Vec<String> =
        (0..work.zones).map(|n| service.add_zone(&format!("zone{n}.test"), Plan::Business)).collect();
    let ended = programs.once(Which::ExternalDns, &service, &work.objects, FLAGS).await?;
    let created: usize = zones.iter().map(|zone| service.records(zone).len()).sum();
    ensure!(created == 2 * RECORDS, "external-dns created {created} records at the start:\n{}", ended.output);
    Ok((service, zones))
}

/// Both programs, each at a service of its own.
struct Pair<'a> {
    programs: &'a Programs,
    theirs: Cloudflare,
    ours: Cloudflare,
    zones: Vec<String>,
    daemon: Running,
}

impl Pair<'_> {
    /// What both do about these objects; at the end, `count` records have to hold addresses that start so.
    async fn step(&mut self, what: &str, work: &Work, shown: &str, count: usize) -> Result<Row> {
        let what = format!("{}: {what}", title(work.zones));
        let external_dns = self.programs.once(Which::ExternalDns, &self.theirs, &work.objects, FLAGS).await?;
        let before = self.ours.calls();
        self.daemon.replace(&work.objects)?;
        for _ in 0..120 {
            if since(&before, &self.ours.calls()).contains_key("BatchRecords") {
                break;
            }
            sleep(Duration::from_millis(250)).await;
        }
        let zonewright = calm(&self.ours, &before, SILENT).await?;
        for (which, service) in [(Which::ExternalDns, &self.theirs), (Which::Zonewright, &self.ours)] {
            let records = self.zones.iter().flat_map(|zone| service.records(zone));
            let found = records.filter(|record| record.content.starts_with(shown)).count();
            let name = which.name();
            ensure!(found == count, "{what}: {name} published {found} of {count}:\n{}", self.daemon.output());
        }
        Ok(Row { what, external_dns: external_dns.calls, zonewright })
    }

    /// Puts a record of somebody else in place, at both services.
    fn foreign(&self, record: &Record) {
        for service in [&self.theirs, &self.ours] {
            if let Some(zone) = self.zones.first() {
                service.put(zone, record.clone());
            }
        }
    }
}

/// Start, one change, many, and many with one that cannot be.
async fn steps(programs: &Programs, zones: usize) -> Result<Vec<Row>> {
    let mut work = Work::new(zones);
    let (theirs, ids) = filled(programs, &work).await?;
    let (ours, _) = filled(programs, &work).await?;
    let external_dns = programs.once(Which::ExternalDns, &theirs, &work.objects, FLAGS).await?.calls;
    let before = ours.calls();
    let daemon = programs.start(Which::Zonewright, &ours, &work.objects, &[FLAGS, STEPS].concat()).await?;
    let zonewright = calm(&ours, &before, SILENT).await?;
    let what = format!("{}: start, {RECORDS} records, nothing to do", title(zones));
    let mut rows = vec![Row { what, external_dns, zonewright }];
    let mut pair = Pair { programs, theirs, ours, zones: ids, daemon };
    work.moved(1, 100);
    rows.push(pair.step("one address changes", &work, "198.51.100.", 1).await?);
    work.objects.push(named("one", 0, "203.0.113.1"));
    rows.push(pair.step("one new name", &work, "203.0.113.", 1).await?);
    work.objects.pop();
    rows.push(pair.step("that name goes", &work, "203.0.113.", 0).await?);
    work.moved(MANY, 101);
    rows.push(pair.step("100 addresses change at once", &work, "198.51.101.", MANY).await?);
    pair.foreign(&Record::new("other0.zone0.test", "CNAME", "elsewhere.example.net"));
    work.more("other", MANY);
    rows.push(pair.step("100 new names, at one of which a foreign CNAME came", &work, "203.0.113.", 99).await?);
    work.more("last", MANY);
    work.objects.pop();
    // Nobody on the internet reaches this address.
    work.objects.push(service("bad", "bad.zone0.test", &["10.0.0.1"], &[("cloudflare-proxied", "true")]));
    rows.push(pair.step("100 new names, one of which the service refuses", &work, "203.0.113.", 198).await?);
    pair.daemon.end().await?;
    Ok(rows)
}

/// A quarter of an hour without changes, with an interval of a minute.
async fn idle(programs: &Programs, zones: usize) -> Result<Row> {
    let work = Work::new(zones);
    let (theirs, _) = filled(programs, &work).await?;
    let (ours, _) = filled(programs, &work).await?;
    let interval = format!("--interval={}s", 60 / FASTER);
    let pace = format!("--cloudflare-api-qps={}", 4 * FASTER);
    let flags = [FLAGS, &[interval.as_str()]].concat();
    let first = programs.start(Which::ExternalDns, &theirs, &work.objects, &flags).await?;
    let second =
        programs.start(Which::Zonewright, &ours, &work.objects, &[flags.as_slice(), &[pace.as_str()]].concat()).await?;
    // The start has a row of its own.
    sleep(Duration::from_secs(20)).await;
    let (before_theirs, before_ours) = (theirs.calls(), ours.calls());
    sleep(QUARTER).await;
    let external_dns = since(&before_theirs, &theirs.calls());
    let zonewright = since(&before_ours, &ours.calls());
    first.end().await?;
    second.end().await?;
    Ok(Row { what: format!("{}: a quarter of an hour, nothing to do", title(zones)), external_dns, zonewright })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_told_by_what_they_are_for() {
        let calls =
            |counts: &[(&str, usize)]| counts.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect();
        let all = [("BatchRecords", 2), ("posts", 200), ("ListZones", 1), ("ListRecords", 7), ("PatchRecord", 3)];
        assert_eq!(cells(&calls(&all)), "**13** | 1 | 7 | 5");
        assert_eq!(cells(&calls(&[("GetZone", 1), ("ListCustomHostnames", 1)])), "**2** | 1 | 0 | 0");
    }
}
