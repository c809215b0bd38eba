//! What it costs to keep the list of all records in ConfigMaps.

use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use zonewright_testkit::kube::User;
use zonewright_testkit::{KubeApi, free_port, wait_for};

use crate::answer::Asker;
use crate::build::PLAIN;
use crate::daemon::Daemon;
use crate::lab::{Cluster, DaemonSetup, Dns, From, PATIENCE};
use crate::objects::{self, OWNER};
use crate::options::Options;
use crate::report::{Section, megabytes, milliseconds, seconds};

/// Records that are changed one by one.
const SINGLE: u32 = 20;
/// Where the objects are.
const OBJECTS: &str = "/api/v1/namespaces/bench/configmaps";
/// The audit of the zone; a resync comes with each.
const INTERVAL: &str = "--interval=10s";

pub(super) fn run(options: &Options, cluster: &Cluster) -> Result<String> {
    let setup = DaemonSetup::new(PLAIN)?;
    let kube = cluster.with(options.names);
    grant(kube);
    let dns = Dns::start(options.foreign);
    let mut rows = Vec::new();
    let mut row = |what: String, value: String| rows.push(vec![what, value]);

    let mut daemon = Run::start(&setup, kube, &dns)?;
    let begun = daemon.daemon.begun;
    let last = dns.converged(options.names, &mut daemon.daemon)?;
    row(format!("start with {} new names: until the last is answered", options.names), seconds(last - begun));
    let listed = options.names + options.foreign;
    let sizes = complete(kube, listed as usize, options.names as usize)?;
    row("until the list is complete".to_owned(), seconds(begun.elapsed()));
    row("writes of objects until then".to_owned(), written(kube, 0).to_string());
    row("objects".to_owned(), sizes.len().to_string());
    row("size of an object, smallest and largest".to_owned(), spread(&sizes));
    row("resident memory, peak and after".to_owned(), daemon.memory()?);

    let before = written(kube, 0);
    let mut asker = Asker::new(dns.server.addr())?;
    let mut longest = Duration::ZERO;
    for number in 0..SINGLE {
        let wanted = objects::address(number, 50);
        kube.patch_status(&objects::path(number), &objects::status(wanted)).expect_success();
        let confirmed = Instant::now();
        let seen = asker.until(&objects::host(number), Some(wanted), PATIENCE)?;
        longest = longest.max(seen.saturating_duration_since(confirmed));
        settled(kube, &objects::host(number), &wanted.to_string())?;
    }
    row(
        format!("writes for each of {SINGLE} changed records, one after the other"),
        each(written(kube, before), SINGLE),
    );
    row("longest time from the change to the answer".to_owned(), milliseconds(longest));
    row("resident memory after them, peak and now".to_owned(), daemon.memory()?);
    drop(daemon);

    let before = written(kube, 0);
    let mut daemon = Run::start(&setup, kube, &dns)?;
    daemon.ready()?;
    row("restart that finds all as it is: until it is ready".to_owned(), seconds(daemon.daemon.begun.elapsed()));
    let processor = daemon.daemon.processor()?;
    row("processor time of that".to_owned(), seconds(processor));
    sleep(Duration::from_secs(30));
    daemon.daemon.check()?;
    let idle = daemon.daemon.processor()?.saturating_sub(processor) / 3;
    row("processor time of an audit with nothing new".to_owned(), milliseconds(idle));
    row("resident memory of a restart, peak and now".to_owned(), daemon.memory()?);
    row("writes of a restart and three audits".to_owned(), written(kube, before).to_string());

    let about = format!(
        "`--registry=configmap` with {} Services beside {} records of others, all of them in the list; {INTERVAL}. Writes are \
         counted by the API server's audit log; objects of 900 KB are split, and each write replaces one of them.",
        options.names, options.foreign
    );
    Ok(Section::new("ConfigMap registry", &about).table(&["what", "reached"], &rows).finish())
}

/// A daemon and the address of its probes.
struct Run {
    daemon: Daemon,
    port: u16,
}

impl Run {
    fn start(setup: &DaemonSetup, kube: &KubeApi, dns: &Dns) -> Result<Self> {
        let port = free_port();
        let flags = ["--registry=configmap", "--registry-namespace=bench", INTERVAL].map(str::to_owned);
        let flags: Vec<String> = flags.into_iter().chain([format!("--metrics-address=127.0.0.1:{port}")]).collect();
        let daemon = setup.start(From::Cluster(kube), dns, dns.server.addr(), &flags)?;
        Ok(Self { daemon, port })
    }

    /// Waits until the probe says so.
    fn ready(&mut self) -> Result<()> {
        while self.daemon.begun.elapsed() < PATIENCE {
            self.daemon.check()?;
            if status(self.port).is_some_and(|status| status == "200") {
                return Ok(());
            }
            sleep(Duration::from_millis(20));
        }
        anyhow::bail!("the daemon is not ready after {PATIENCE:?}")
    }

    fn memory(&self) -> Result<String> {
        let memory = self.daemon.memory()?;
        Ok(format!("{}, {}", megabytes(memory.peak), megabytes(memory.now)))
    }
}

/// The status of `/readyz`.
fn status(port: u16) -> Option<String> {
    use std::io::{Read as _, Write as _};
    let mut stream = std::net::TcpStream::connect(("127.0.0.1", port)).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(5))).ok()?;
    stream.write_all(b"GET /readyz HTTP/1.1\r\nHost: daemon\r\nConnection: close\r\n\r\n").ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    answer.split(' ').nth(1).map(str::to_owned)
}

/// The rights of the component `registry-configmap`.
fn grant(kube: &KubeApi) {
    let verbs = ["get", "list", "create", "patch"];
    kube.grant("zonewright-registry", &json!([{ "apiGroups": [""], "resources": ["configmaps"], "verbs": verbs }]));
    wait_for("the grant", Duration::from_mins(1), || {
        (kube.get_as(User::Zonewright, OBJECTS).status == 200).then_some(())
    });
}

/// The texts of the objects.
fn texts(kube: &KubeApi) -> Vec<String> {
    let list = kube.get(&format!("{OBJECTS}?labelSelector=zonewright.dev%2Fregistry")).expect_success();
    let items = list["items"].as_array().cloned().unwrap_or_default();
    items.iter().filter_map(|item| item["data"]["records"].as_str().map(str::to_owned)).collect()
}

/// Waits until the objects list this many addresses, and this many of them as ours and for good. Returns their sizes.
fn complete(kube: &KubeApi, listed: usize, ours: usize) -> Result<Vec<usize>> {
    let begun = Instant::now();
    loop {
        let texts = texts(kube);
        let count = |what: &str| texts.iter().map(|text| text.matches(what).count()).sum::<usize>();
        let owner = format!("\"owner\":\"{OWNER}\"");
        // The name server has an address too.
        let found = (count("\"type\":\"A\"") >= listed, count(&owner), count("\"intent\""));
        if found == (true, ours, 0) {
            return Ok(texts.iter().map(String::len).collect());
        }
        ensure!(begun.elapsed() < PATIENCE, "the list is not complete: {found:?}");
        sleep(Duration::from_millis(500));
    }
}

/// Waits until the list shows a record with this target.
fn settled(kube: &KubeApi, host: &str, target: &str) -> Result<()> {
    let begun = Instant::now();
    let line = format!("\"dnsname\":\"{host}\",\"owner\":\"{OWNER}\",\"target\":\"{target}\"");
    while !texts(kube).iter().any(|text| text.contains(&line)) {
        ensure!(begun.elapsed() < PATIENCE, "the list does not show {line}");
        sleep(Duration::from_millis(50));
    }
    Ok(())
}

/// Writes of ConfigMaps by the daemon so far, less those of before.
fn written(kube: &KubeApi, before: usize) -> usize {
    let write = |event: &&Value| {
        let verb = event["verb"].as_str().unwrap_or_default();
        event["objectRef"]["resource"] == "configmaps"
            && event["objectRef"]["namespace"] == "bench"
            && ["create", "patch", "update"].contains(&verb)
    };
    kube.audit_log_of(User::Zonewright).iter().filter(write).count() - before
}

fn spread(sizes: &[usize]) -> String {
    let kilobytes = |size: Option<&usize>| size.map_or(0, |size| size / 1000);
    format!("{} KB, {} KB", kilobytes(sizes.iter().min()), kilobytes(sizes.iter().max()))
}

fn each(writes: usize, records: u32) -> String {
    let writes = u32::try_from(writes).context("a count").unwrap_or(u32::MAX);
    format!("{:.2}", f64::from(writes) / f64::from(records))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_shown() {
        assert_eq!(spread(&[900_999, 12_000, 500_000]), "12 KB, 900 KB");
        assert_eq!(spread(&[]), "0 KB, 0 KB");
        assert_eq!(each(30, 20), "1.50");
    }
}
