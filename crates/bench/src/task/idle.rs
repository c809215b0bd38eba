//! What the daemon asks while nothing changes.

use std::collections::BTreeMap;
use std::thread::sleep;

use anyhow::Result;
use serde_json::Value;
use zonewright_testkit::KubeApi;
use zonewright_testkit::kube::User;

use crate::build::FULL;
use crate::lab::{Cluster, DaemonSetup, Dns, From};
use crate::options::Options;
use crate::report::{Section, milliseconds};
use crate::tap::{Counts, Tap};

pub(super) fn run(options: &Options, cluster: &Cluster) -> Result<String> {
    let setup = DaemonSetup::new(FULL)?;
    let kube = cluster.with(options.names);
    let dns = Dns::start(0);
    // A first daemon writes the records; the one that is watched finds all as it should be.
    let mut first = setup.start(From::Cluster(kube), &dns, dns.server.addr(), &[])?;
    dns.converged(options.names, &mut first)?;
    dns.verify(options.names)?;
    drop(first);

    let tap = Tap::start(dns.server.addr())?;
    let interval = format!("--interval={}s", options.interval.as_secs());
    let mut daemon = setup.start(From::Cluster(kube), &dns, tap.addr(), &[interval])?;
    sleep(options.interval);
    let starting = tap.take();
    let (requests, processor) = (requests(kube).len(), daemon.processor()?);
    eprintln!("    watching for {:?}", options.idle);
    sleep(options.idle);
    daemon.check()?;
    let idle = tap.take();
    let processor = daemon.processor()?.saturating_sub(processor);
    let asked = tally(&self::requests(kube)[requests..]);

    let about = format!(
        "A daemon with {} names and `--interval={}s` that finds everything as it should be: requests within {:?}, counted \
         by a proxy in front of BIND and by the API server's audit log. A watch that the API server ends after its time \
         limit is opened again from where it was.",
        options.names,
        options.interval.as_secs(),
        options.idle
    );
    let rows = [
        vec!["DNS, the start".to_owned(), shown(&starting)],
        vec!["DNS, idle".to_owned(), shown(&idle)],
        vec!["API server, idle".to_owned(), shown(&asked)],
        vec!["processor time, idle".to_owned(), milliseconds(processor)],
    ];
    Ok(Section::new("Idle", &about).table(&["where", "requests"], &rows).finish())
}

/// What the daemon's user has asked so far. A watch that only ends is not asked again.
fn requests(kube: &KubeApi) -> Vec<String> {
    let events = kube.audit_log_of(User::Zonewright);
    let asked = events.iter().filter(|event| event["verb"] != "watch" || event["stage"] == "ResponseStarted");
    asked.map(|event| format!("{} {}", word(event, "verb"), resource(event))).collect()
}

fn word<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or("?")
}

fn resource(event: &Value) -> &str {
    event["objectRef"]["resource"].as_str().unwrap_or_else(|| word(event, "requestURI"))
}

fn tally(requests: &[String]) -> Counts {
    let mut counts = BTreeMap::new();
    for request in requests {
        *counts.entry(request.clone()).or_default() += 1;
    }
    counts
}

/// `3 SOA, 1 AXFR`, or `none`.
pub(super) fn shown(counts: &Counts) -> String {
    let texts: Vec<String> = counts.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
    if texts.is_empty() { "none".to_owned() } else { texts.join(", ") }
}
