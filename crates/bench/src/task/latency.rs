//! How long a changed object takes to be answered, beside the bare update.

use std::time::{Duration, Instant};

use anyhow::Result;
use zonewright_testkit::KubeApi;

use crate::answer::Asker;
use crate::bare::Nsupdate;
use crate::build::FULL;
use crate::lab::{Cluster, DaemonSetup, Dns, From};
use crate::objects::{self, ZONE};
use crate::options::Options;
use crate::report::{Section, Times, milliseconds};

/// How long one change may take before the benchmark gives up.
const PATIENCE: Duration = Duration::from_secs(30);

/// Times of all changes, and processor time for each.
struct Measured {
    times: Times,
    processor: Duration,
}

pub(super) fn run(options: &Options, cluster: &Cluster) -> Result<String> {
    let setup = DaemonSetup::new(FULL)?;
    let kube = cluster.with(options.names);
    let mut rows = Vec::new();
    for (round, foreign) in [(1, 0), (3, options.foreign)] {
        let dns = Dns::start(foreign);
        let ours = daemon(&setup, kube, &dns, options, round)?;
        dns.verify(options.names)?;
        let bare = nsupdate(&dns, options, round + 1)?;
        rows.push(row(&format!("daemon, {foreign} records of others"), &ours));
        rows.push(row(&format!("`nsupdate`, {foreign} records of others"), &bare));
        let beyond = |percent| {
            let (ours, bare) = (ours.times.percentile(percent), bare.times.percentile(percent));
            milliseconds(ours.saturating_sub(bare))
        };
        rows.push(vec!["daemon beyond `nsupdate`".to_owned(), beyond(50), beyond(99), beyond(100), String::new()]);
    }
    let about = format!(
        "{} changes of the status of one Service each, one after the other, with {} names in the zone: from the API \
         server's confirmation of the change until BIND answers with the new address. The bare update is the same change \
         of the record by an `nsupdate` that is kept open, from the moment that it is handed over.",
        options.changes, options.names
    );
    Ok(Section::new("Latency", &about)
        .table(&["what", "p50", "p99", "longest", "processor time a change"], &rows)
        .finish())
}

fn row(what: &str, measured: &Measured) -> Vec<String> {
    let Measured { times, processor } = measured;
    let processor = if processor.is_zero() { String::new() } else { milliseconds(*processor) };
    let cells = [times.median(), times.percentile(99), times.longest()].map(milliseconds);
    std::iter::once(what.to_owned()).chain(cells).chain([processor]).collect()
}

/// The numbers to change, spread over all names.
fn numbers(options: &Options) -> impl Iterator<Item = u32> {
    let step = (options.names / options.changes).max(1);
    let names = options.names;
    (0..options.changes).map(move |change| change * step % names)
}

fn daemon(setup: &DaemonSetup, kube: &KubeApi, dns: &Dns, options: &Options, round: u8) -> Result<Measured> {
    let mut daemon = setup.start(From::Cluster(kube), dns, dns.server.addr(), &[])?;
    dns.converged(options.names, &mut daemon)?;
    dns.verify(options.names)?;
    let mut asker = Asker::new(dns.server.addr())?;
    let before = daemon.processor()?;
    let mut times = Vec::new();
    for number in numbers(options) {
        let wanted = objects::address(number, round);
        kube.patch_status(&objects::path(number), &objects::status(wanted)).expect_success();
        let confirmed = Instant::now();
        let seen = asker.until(&objects::host(number), Some(wanted), PATIENCE)?;
        times.push(seen.saturating_duration_since(confirmed));
    }
    let processor = daemon.processor()?.saturating_sub(before) / options.changes;
    daemon.check()?;
    Ok(Measured { times: Times::new(times), processor })
}

fn nsupdate(dns: &Dns, options: &Options, round: u8) -> Result<Measured> {
    let mut nsupdate = Nsupdate::start(&dns.server, &dns.key, ZONE)?;
    let mut asker = Asker::new(dns.server.addr())?;
    let mut times = Vec::new();
    for number in numbers(options) {
        let (host, wanted) = (objects::host(number), objects::address(number, round));
        let begun = Instant::now();
        nsupdate.say(&format!("update delete {host} A\nupdate add {host} 0 A {wanted}\nsend\n"))?;
        times.push(asker.until(&host, Some(wanted), PATIENCE)? - begun);
    }
    nsupdate.finish()?;
    Ok(Measured { times: Times::new(times), processor: Duration::ZERO })
}
