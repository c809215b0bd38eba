//! How many DNS messages a change costs.

use std::time::Duration;

use anyhow::Result;
use zonewright_testkit::{KubeApi, wait_for};

use super::idle::shown;
use crate::answer::Asker;
use crate::build::FULL;
use crate::lab::{Cluster, DaemonSetup, Dns, From};
use crate::objects;
use crate::options::Options;
use crate::report::Section;
use crate::tap::{Counts, Tap};

/// Names that are changed one by one.
const SINGLE: u32 = 20;
/// Names that are changed at once, beside the others.
const BULK: u32 = 1_000;
const PATIENCE: Duration = Duration::from_mins(1);
/// No audit falls into a measurement.
const NO_AUDIT: &str = "--interval=1h";

pub(super) fn run(options: &Options, cluster: &Cluster) -> Result<String> {
    let setup = DaemonSetup::new(FULL)?;
    let kube = cluster.with(options.names);
    let names = options.names;
    let dns = Dns::start(0);
    let tap = Tap::start(dns.server.addr())?;
    // The deletes of a benchmark are no accident.
    let flags = [NO_AUDIT, "--no-brake"].map(str::to_owned);
    let mut daemon = setup.start(From::Cluster(kube), &dns, tap.addr(), &flags)?;
    dns.converged(names, &mut daemon)?;
    dns.verify(names)?;
    let mut rows = vec![row(&format!("start with {names} new names"), names, &tap.take())];

    let mut asker = Asker::new(dns.server.addr())?;
    let mut step = |what: &str, count: u32, act: &dyn Fn(&KubeApi, std::ops::Range<u32>), wanted: Option<u8>| {
        let range = names..names + count;
        if count == BULK {
            act(kube, range.clone());
            settle(&mut asker, range, wanted);
        } else {
            for number in range {
                act(kube, number..number + 1);
                settle(&mut asker, number..number + 1, wanted);
            }
        }
        rows.push(row(what, count, &tap.take()));
        anyhow::Ok(())
    };
    for (how, count) in [("one after the other", SINGLE), ("as fast as the API server takes them", BULK)] {
        step(&format!("{count} creates, {how}"), count, &objects::create, Some(0))?;
        step(&format!("{count} changes, {how}"), count, &|kube, range| objects::change(kube, range, 1), Some(1))?;
        step(&format!("{count} deletes, {how}"), count, &objects::delete, None)?;
    }
    daemon.check()?;
    let about = format!(
        "Requests to BIND, counted by a proxy in front of it, with {names} names in the zone. A change is a record and its \
         claim in one UPDATE message; a first change of a text costs one more question to each server, once, to learn \
         whether it compares letters exactly."
    );
    let head = ["what", "requests", "requests a name"];
    Ok(Section::new("Messages", &about).table(&head, &rows).finish())
}

/// Waits until all names have the address of the round, or none.
fn settle(asker: &mut Asker, range: std::ops::Range<u32>, round: Option<u8>) {
    for number in range {
        let (host, wanted) = (objects::host(number), round.map(|round| objects::address(number, round)));
        wait_for(&host, PATIENCE, || (asker.address(&host).ok()? == wanted).then_some(()));
    }
}

fn row(what: &str, names: u32, counts: &Counts) -> Vec<String> {
    let total: u64 = counts.values().sum();
    #[expect(clippy::cast_precision_loss, reason = "counts of requests")]
    let each = total as f64 / f64::from(names);
    vec![what.to_owned(), shown(counts), format!("{each:.3}")]
}
