//! A daemon that lives long: names come and go, cycle after cycle, and what it keeps must not grow.

use anyhow::Result;

use crate::build::FULL;
use crate::lab::{Cluster, DaemonSetup, Dns, From};
use crate::objects;
use crate::options::Options;
use crate::report::{Section, megabytes, milliseconds};

/// Names that come and go in each cycle.
const NAMES: u32 = 1_000;

pub(super) fn run(options: &Options, cluster: &Cluster) -> Result<String> {
    let setup = DaemonSetup::of(options.new.as_deref(), FULL)?;
    let kube = cluster.with(NAMES);
    let dns = Dns::start(0);
    let mut daemon = setup.start(From::Cluster(kube), &dns, dns.server.addr(), &["--no-brake".to_owned()])?;
    dns.converged(NAMES, &mut daemon)?;
    // A sixth of the whole is early: ten minutes of an hour.
    let early = (options.cycles / 6).max(1);
    let mut rows = Vec::new();
    for cycle in 1..=options.cycles {
        objects::delete(kube, 0..NAMES);
        objects::create(kube, 0..NAMES);
        dns.converged(NAMES, &mut daemon)?;
        if cycle == early || cycle == options.cycles || cycle % (options.cycles / 3).max(1) == 0 {
            let (memory, processor) = (daemon.memory()?, daemon.processor()?);
            eprintln!("    cycle {cycle}: {}", megabytes(memory.now));
            rows.push(vec![cycle.to_string(), megabytes(memory.now), megabytes(memory.peak), milliseconds(processor)]);
        }
    }
    daemon.check()?;
    dns.verify(NAMES)?;
    let about = format!(
        "{NAMES} Services are deleted and made anew {} times, as fast as the API server takes them; each is a record and a claim. \
         Resident memory after some of the cycles; the one after {early} stands for ten minutes of an hour.",
        options.cycles
    );
    Ok(Section::new("Churn", &about).table(&["cycle", "memory", "peak", "processor time so far"], &rows).finish())
}
