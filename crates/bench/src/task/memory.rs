//! How much memory the daemon takes.

use anyhow::Result;

use crate::answer::Asker;
use crate::build::{FULL, PLAIN};
use crate::lab::{Cluster, DaemonSetup, Dns, From, PATIENCE};
use crate::objects;
use crate::options::Options;
use crate::report::{Section, megabytes};

pub(super) fn run(options: &Options, cluster: &Cluster) -> Result<String> {
    let kube = cluster.with(options.names);
    let mut rows = Vec::new();
    for (base, features, allocator) in [(10, PLAIN, "the system's allocator"), (20, FULL, "mimalloc")] {
        let setup = DaemonSetup::new(features)?;
        let dns = Dns::start(0);
        for (round, what) in [(1, "all names new"), (2, "all names there")] {
            let mut daemon = setup.start(From::Cluster(kube), &dns, dns.server.addr(), &[])?;
            dns.converged(options.names, &mut daemon)?;
            // A change goes through the whole daemon: after it, the start is over.
            let (number, wanted) = (options.names / 2, objects::address(options.names / 2, base + round));
            kube.patch_status(&objects::path(number), &objects::status(wanted)).expect_success();
            Asker::new(dns.server.addr())?.until(&objects::host(number), Some(wanted), PATIENCE)?;
            let memory = daemon.memory()?;
            rows.push(vec![format!("{what}, {allocator}"), megabytes(memory.peak), megabytes(memory.now)]);
        }
    }
    let about = format!(
        "Resident memory of the daemon with {} Services, each a record and a claim: the most since its start, and after it.",
        options.names
    );
    Ok(Section::new("Memory", &about).table(&["what", "peak", "after"], &rows).finish())
}
