//! What the same work costs at Route 53: requests of each operation, by each program.
//!
//! In: the two programs. Out: a table in Markdown. Both begin with the same records, which external-dns wrote. An external-dns
//! round is one run with `--once`; Zonewright runs all the time, and its requests are counted until it falls silent.

use std::time::Duration;

use anyhow::{Result, bail, ensure};
use tokio::time::sleep;
use zonewright_fakes::route53::{RecordSet, Route53};
use zonewright_sidebyside::cloud::{Calls, Programs, Running, Which, calm, since};
use zonewright_sidebyside::shapes::service;
use zonewright_sidebyside::work::{RECORDS, Work, named, title};

const ACCOUNT: &str = "000000000001";
/// Names of a step with many changes.
const MANY: usize = 100;
/// Record sets on a page of the service.
const PAGE: usize = 300;
/// How long nothing changes.
const QUARTER: Duration = Duration::from_mins(15);
/// How much faster than in production that time goes by: intervals are shorter, and paces faster, by this.
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
    "--aws-batch-change-interval=0s",
];
/// While steps are counted no audit is to fall between them.
const STEPS: &[&str] = &["--interval=1h", "--aws-api-qps=50"];

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
    let mut rows = Vec::new();
    for zones in [1, 50] {
        rows.extend(steps(programs, zones).await?);
        rows.push(idle(programs, zones).await?);
    }
    rows.push(idle(programs, 500).await?);
    println!("| zones and work | external-dns | | | | Zonewright | | | |\n|---|---|---|---|---|---|---|---|---|");
    println!("| | all | zones | records | change | all | zones | records | change |");
    for row in rows {
        println!("| {} | {} | {} |", row.what, cells(&row.external_dns), cells(&row.zonewright));
    }
    Ok(())
}

/// All requests, and those of each operation.
fn cells(calls: &Calls) -> String {
    let of = |name: &str| calls.get(name).copied().unwrap_or_default();
    let requests = calls.iter().filter(|(name, _)| !["CREATE", "DELETE", "UPSERT"].contains(&name.as_str()));
    let all: usize = requests.map(|(_, count)| count).sum();
    let [zones, records, change] = ["ListHostedZones", "ListResourceRecordSets", "ChangeResourceRecordSets"].map(of);
    format!("**{all}** | {zones} | {records} | {change}")
}

/// A service with the records of `work`, written by external-dns.
async fn filled(programs: &Programs, work: &Work) -> Result<(Route53, Vec<String>)> {
    let service = Route53::start();
    let zones = (0..work.zones).map(|n| service.add_zone(ACCOUNT, &format!("zone{n}.test"), false, &[])).collect();
    let ended = programs.once(Which::ExternalDns, &service, &work.objects, FLAGS).await?;
    let created = ended.calls.get("CREATE").copied().unwrap_or_default();
    ensure!(created == 2 * RECORDS, "external-dns created {created} sets at the start:\n{}", ended.output);
    Ok((service, zones))
}

/// Both programs, each at a service of its own.
struct Pair<'a> {
    programs: &'a Programs,
    theirs: Route53,
    ours: Route53,
    zones: Vec<String>,
    daemon: Running,
}

impl Pair<'_> {
    /// What both do about these objects; at the end, `count` sets have to hold addresses that start so.
    async fn step(&mut self, what: &str, work: &Work, shown: &str, count: usize) -> Result<Row> {
        let what = format!("{}: {what}", title(work.zones));
        let external_dns = self.programs.once(Which::ExternalDns, &self.theirs, &work.objects, FLAGS).await?;
        let before = self.ours.calls();
        self.daemon.replace(&work.objects)?;
        for _ in 0..120 {
            if since(&before, &self.ours.calls()).contains_key("ChangeResourceRecordSets") {
                break;
            }
            sleep(Duration::from_millis(250)).await;
        }
        let zonewright = calm(&self.ours, &before, SILENT).await?;
        for (which, service) in [(Which::ExternalDns, &self.theirs), (Which::Zonewright, &self.ours)] {
            let sets = self.zones.iter().flat_map(|zone| service.sets(zone));
            let found = sets.filter(|set| set.values.iter().any(|value| value.starts_with(shown))).count();
            let name = which.name();
            ensure!(found == count, "{what}: {name} published {found} of {count}:\n{}", self.daemon.output());
        }
        Ok(Row { what, external_dns: external_dns.calls, zonewright })
    }

    /// Puts a record of somebody else in place, at both services.
    fn foreign(&self, set: &RecordSet) {
        for service in [&self.theirs, &self.ours] {
            if let Some(zone) = self.zones.first() {
                service.put(zone, set.clone());
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
    pair.foreign(&RecordSet::new("new0.zone0.test.", "A", 60, &["198.51.102.1"]));
    work.more("new", MANY);
    rows.push(
        pair.step("100 new names, at one of which a foreign record of the type came", &work, "203.0.113.", 99).await?,
    );
    pair.foreign(&RecordSet::new("other0.zone0.test.", "CNAME", 60, &["elsewhere.example.net."]));
    work.more("other", MANY);
    rows.push(pair.step("100 new names, at one of which a foreign CNAME came", &work, "203.0.113.", 198).await?);
    work.more("last", MANY);
    work.objects.pop();
    // A weight needs an identifier beside it.
    work.objects.push(service("bad", "bad.zone0.test", &["203.0.113.200"], &[("aws-weight", "10")]));
    rows.push(pair.step("100 new names, one of which the service refuses", &work, "203.0.113.", 297).await?);
    pair.daemon.end().await?;
    Ok(rows)
}

/// A quarter of an hour without changes, for both programs at the same time.
async fn idle(programs: &Programs, zones: usize) -> Result<Row> {
    let work = Work::new(zones);
    let (theirs, _) = filled(programs, &work).await?;
    let (ours, _) = filled(programs, &work).await?;
    let (interval, pace) = (format!("--interval={}s", 60 / FASTER), format!("--aws-api-qps={}", 5 * FASTER));
    let flags = [FLAGS, &[interval.as_str()]].concat();
    let first = programs.start(Which::ExternalDns, &theirs, &work.objects, &flags).await?;
    let second =
        programs.start(Which::Zonewright, &ours, &work.objects, &[flags.as_slice(), &[pace.as_str()]].concat()).await?;
    // Each zone has the records, a claim for each, and its own two sets.
    let pages = zones * (2 * RECORDS / zones + 2).div_ceil(PAGE);
    tokio::try_join!(read(&theirs, pages), read(&ours, pages))?;
    let before = (theirs.calls(), ours.calls());
    sleep(QUARTER / FASTER).await;
    let (external_dns, zonewright) = (since(&before.0, &theirs.calls()), since(&before.1, &ours.calls()));
    first.end().await?;
    second.end().await?;
    Ok(Row { what: format!("{}: a quarter of an hour, nothing to do", title(zones)), external_dns, zonewright })
}

/// Waits until so many pages of records were read from now on.
async fn read(service: &Route53, pages: usize) -> Result<()> {
    let before = service.calls();
    for _ in 0..4_000 {
        if since(&before, &service.calls()).get("ListResourceRecordSets").is_some_and(|reads| *reads >= pages) {
            return Ok(());
        }
        sleep(Duration::from_millis(50)).await;
    }
    bail!("not {pages} pages were asked for, but {:?}", since(&before, &service.calls()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calls(counts: &[(&str, usize)]) -> Calls {
        counts.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
    }

    #[test]
    fn requests_are_told_by_what_they_are_for() {
        let all =
            [("ChangeResourceRecordSets", 2), ("CREATE", 200), ("ListHostedZones", 1), ("ListResourceRecordSets", 7)];
        assert_eq!(cells(&calls(&all)), "**10** | 1 | 7 | 2");
        assert_eq!(cells(&calls(&[("GetHostedZone", 1)])), "**1** | 0 | 0 | 0");
    }

    #[test]
    fn only_what_came_since_counts() {
        let (before, after) = (calls(&[("a", 1), ("b", 2)]), calls(&[("a", 1), ("b", 5), ("c", 1)]));
        assert_eq!(since(&before, &after), calls(&[("b", 3), ("c", 1)]));
    }
}
