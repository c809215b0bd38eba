//! How long a start with nothing but new names takes, beside `nsupdate` that is handed the finished records.

use std::time::Duration;

use anyhow::Result;

use crate::bare;
use crate::build::FULL;
use crate::lab::{Cluster, DaemonSetup, Dns, From};
use crate::objects;
use crate::options::Options;
use crate::report::{Section, Times, ratio, seconds};

/// Records in one message of `nsupdate`.
const BATCH: usize = 500;

pub(super) fn run(options: &Options, cluster: &Cluster) -> Result<String> {
    let setup = DaemonSetup::new(FULL)?;
    let folder = setup.folder().join("manifests");
    std::fs::create_dir(&folder)?;
    objects::manifests(&folder, options.names)?;
    let kube = cluster.with(options.names);

    let baseline = repeat(options, || nsupdate(options.names))?;
    let rows = [
        baseline.row(&format!("`nsupdate`, messages of {BATCH} records"), baseline.wall),
        repeat(options, || daemon(&setup, From::Folder(&folder), options.names))?
            .row("daemon, folder of manifests", baseline.wall),
        repeat(options, || daemon(&setup, From::Cluster(kube), options.names))?
            .row("daemon, kube-apiserver", baseline.wall),
    ];
    let about = format!(
        "From the start of the process until the last of {} new names is answered; each is a record and a claim. \
         Median of {} runs, each on a fresh server.",
        options.names, options.runs
    );
    Ok(Section::new("Start", &about).table(&["what", "time", "ratio", "processor time"], &rows).finish())
}

/// What a start took, or the medians of several.
struct Taken {
    wall: Duration,
    /// `None` where it was not measured.
    processor: Option<Duration>,
}

impl Taken {
    fn row(&self, what: &str, base: Duration) -> Vec<String> {
        let processor = self.processor.map_or_else(|| "-".to_owned(), seconds);
        vec![what.to_owned(), seconds(self.wall), ratio(self.wall, base), processor]
    }
}

/// The medians of as many runs as were asked for.
fn repeat(options: &Options, mut run: impl FnMut() -> Result<Taken>) -> Result<Taken> {
    let runs = (0..options.runs).map(|_| run()).collect::<Result<Vec<_>>>()?;
    let wall = Times::new(runs.iter().map(|taken| taken.wall).collect()).median();
    let processor: Vec<Duration> = runs.iter().filter_map(|taken| taken.processor).collect();
    let processor = (!processor.is_empty()).then(|| Times::new(processor).median());
    eprintln!("    {}", seconds(wall));
    Ok(Taken { wall, processor })
}

fn nsupdate(names: u32) -> Result<Taken> {
    let dns = Dns::start(0);
    let lines: Vec<String> = (0..names).flat_map(objects::records).collect();
    let wall = bare::feed(&dns.server, &dns.key, objects::ZONE, &lines, BATCH)?;
    dns.verify(names)?;
    Ok(Taken { wall, processor: None })
}

fn daemon(setup: &DaemonSetup, from: From<'_>, names: u32) -> Result<Taken> {
    let dns = Dns::start(0);
    let mut daemon = setup.start(from, &dns, dns.server.addr(), &[])?;
    let end = dns.converged(names, &mut daemon)?;
    let processor = daemon.processor()?;
    dns.verify(names)?;
    Ok(Taken { wall: end - daemon.begun, processor: Some(processor) })
}
