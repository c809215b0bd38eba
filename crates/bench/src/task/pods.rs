//! How much memory the daemon takes in a cluster with many Pods: where nothing needs them, and where headless Services do.

use std::thread::sleep;
use std::time::Duration;

use anyhow::Result;
use zonewright_testkit::KubeApi;

use crate::build::FULL;
use crate::daemon::{Daemon, Memory};
use crate::headless::Crowd;
use crate::lab::{DaemonSetup, Dns, From, cluster};
use crate::objects;
use crate::options::Options;
use crate::report::{Section, megabytes};

/// With this, only load balancers are read, and nothing of Pods.
const BALANCERS: &str = "--service-type-filter=LoadBalancer";
/// The daemon counts as done when it has used no processor time for so long.
const REST: Duration = Duration::from_secs(2);

pub(super) fn run(options: &Options) -> Result<String> {
    let (services, pods) = (options.services, options.pods);
    let crowd = Crowd { services, pods };
    let setup = DaemonSetup::new(FULL)?;
    let kube = cluster();
    let measure = |more: &[&str]| measure(&setup, &kube, services, more);
    let mut rows = Vec::new();
    let mut row = |what: &str, memory: Memory| {
        eprintln!("    {what}: {}", megabytes(memory.peak));
        rows.push(vec![what.to_owned(), megabytes(memory.peak), megabytes(memory.now)]);
    };

    eprintln!("    creating {services} load balancers");
    objects::create(&kube, 0..services);
    row("load balancers, no Pods", measure(&[BALANCERS])?);
    row("load balancers, no Pods, all types read", measure(&[])?);
    eprintln!("    creating {pods} Pods");
    crowd.create_pods(&kube);
    row("load balancers, Pods that nothing needs", measure(&[BALANCERS])?);
    row("load balancers, Pods, all types read", measure(&[])?);
    objects::delete(&kube, 0..services);
    crowd.create_services(&kube);
    row("headless Services over the Pods", measure(&[])?);

    let about = format!(
        "Resident memory of the daemon with {services} Services, each a name, beside {pods} Pods; the image's features. Nothing \
         needs Pods with `{BALANCERS}`. A name of a headless Service has the addresses of {} Pods.",
        pods / services
    );
    Ok(Section::new("Pods", &about).table(&["what", "peak", "after"], &rows).finish())
}

/// The memory of a daemon that has published everything into an empty zone and has come to rest.
fn measure(setup: &DaemonSetup, kube: &KubeApi, names: u32, more: &[&str]) -> Result<Memory> {
    let dns = Dns::start(0);
    let more: Vec<String> = more.iter().map(|argument| (*argument).to_owned()).collect();
    let mut daemon = setup.start(From::Cluster(kube), &dns, dns.server.addr(), &more)?;
    dns.converged(names, &mut daemon)?;
    rest(&mut daemon)?;
    daemon.memory()
}

fn rest(daemon: &mut Daemon) -> Result<()> {
    let mut before = daemon.processor()?;
    loop {
        sleep(REST);
        daemon.check()?;
        let now = daemon.processor()?;
        // A tick or two go into metrics and watches.
        if now.saturating_sub(before) <= Duration::from_millis(20) {
            return Ok(());
        }
        before = now;
    }
}
