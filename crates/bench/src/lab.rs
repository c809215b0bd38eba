//! A DNS server, perhaps a cluster, and the daemon between them.

use std::cell::OnceCell;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use serde_json::json;
use tempfile::TempDir;
use zonewright_testkit::kube::User;
use zonewright_testkit::{DnsServer, DnsSoftware, Key, KubeApi, ZoneSpec, free_port, wait_for};

use crate::answer::Asker;
use crate::daemon::Daemon;
use crate::objects::{self, OWNER, ZONE};

/// How long convergence may take before the benchmark gives up.
pub(crate) const PATIENCE: Duration = Duration::from_mins(15);
/// How many of the new names are asked for; each piece of the daemon's work brings hundreds.
const SAMPLES: u32 = 200;

/// BIND with the zone and a key.
#[derive(Debug)]
pub(crate) struct Dns {
    pub(crate) server: DnsServer,
    pub(crate) key: Key,
    /// How many records of others the zone holds.
    foreign: u32,
}

impl Dns {
    /// A server whose zone holds this many records of others.
    pub(crate) fn start(foreign: u32) -> Self {
        let key = Key::new("bench");
        let zone = ZoneSpec::new(ZONE, &objects::foreign(foreign));
        Self { server: DnsSoftware::Bind.start(&[zone], std::slice::from_ref(&key)), key, foreign }
    }

    /// Waits until all of `count` names are served, and returns the moment.
    pub(crate) fn converged(&self, count: u32, daemon: &mut Daemon) -> Result<Instant> {
        let mut asker = Asker::new(self.server.addr())?;
        let step = count.div_ceil(SAMPLES).max(1) as usize;
        let mut last = Instant::now();
        for number in (0..count).step_by(step).chain([count - 1]) {
            last = loop {
                daemon.check()?;
                match asker.until(&objects::host(number), None, Duration::from_secs(1)) {
                    Ok(at) => break at,
                    Err(error) => ensure!(daemon.begun.elapsed() < PATIENCE, error),
                }
            };
        }
        Ok(last)
    }

    /// The whole truth, after the time was taken: samples do not show the last piece of very many names.
    ///
    /// # Errors
    /// The zone comes to hold another number of records besides those of others.
    pub(crate) fn verify(&self, names: u32) -> Result<()> {
        // SOA, NS and its address; a record and a claim for each name.
        let expected = (3 + self.foreign + 2 * names) as usize;
        let begun = Instant::now();
        loop {
            let records = self.server.axfr(ZONE).len();
            if records == expected {
                return Ok(());
            }
            ensure!(begun.elapsed() < PATIENCE, "the zone holds {records} records; expected {expected}");
            thread::sleep(Duration::from_secs(1));
        }
    }
}

/// The cluster that all benchmarks of a run share, made when the first one asks for it: filling it takes longer than most
/// measurements. Each benchmark leaves the same Services behind, though with other addresses.
#[derive(Debug, Default)]
pub(crate) struct Cluster(OnceCell<KubeApi>);

impl Cluster {
    /// The cluster, with `names` Services.
    pub(crate) fn with(&self, names: u32) -> &KubeApi {
        self.0.get_or_init(|| {
            let kube = cluster();
            eprintln!("    creating {names} Services");
            objects::create(&kube, 0..names);
            kube
        })
    }
}

/// A cluster where the daemon's user may do what the shipped role allows.
pub(crate) fn cluster() -> KubeApi {
    let kube = KubeApi::start_at_full_speed();
    let rule = |groups: &[&str], resources: &[&str], verbs: &[&str]| json!({ "apiGroups": groups, "resources": resources, "verbs": verbs });
    let read = ["get", "list", "watch"];
    let rules = [
        rule(&[""], &["services", "pods", "nodes"], &read),
        rule(&["discovery.k8s.io"], &["endpointslices"], &read),
        rule(&["networking.k8s.io"], &["ingresses"], &read),
        rule(&["", "events.k8s.io"], &["events"], &["create", "patch"]),
    ];
    kube.grant("zonewright", &json!(rules));
    wait_for("the grant", Duration::from_mins(1), || {
        (kube.get_as(User::Zonewright, "/api/v1/services?limit=1").status == 200).then_some(())
    });
    objects::namespace(&kube);
    kube
}

/// Where the daemon reads objects.
#[derive(Debug, Clone, Copy)]
pub(crate) enum From<'a> {
    Cluster(&'a KubeApi),
    Folder(&'a Path),
}

/// What a daemon is started with.
#[derive(Debug)]
pub(crate) struct DaemonSetup {
    binary: PathBuf,
    folder: TempDir,
}

impl DaemonSetup {
    /// Builds the daemon with these features.
    pub(crate) fn new(features: &str) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("zonewright-bench-").tempdir()?;
        Ok(Self { binary: crate::build::daemon(features, folder.path())?, folder })
    }

    /// With a binary that is there, else one with these features.
    pub(crate) fn of(binary: Option<&Path>, features: &str) -> Result<Self> {
        let Some(binary) = binary else { return Self::new(features) };
        let folder = tempfile::Builder::new().prefix("zonewright-bench-").tempdir()?;
        Ok(Self { binary: binary.to_owned(), folder })
    }

    /// A folder for files of the benchmark.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Starts the daemon on `dns`, reached at `address`.
    pub(crate) fn start(&self, from: From<'_>, dns: &Dns, address: SocketAddr, more: &[String]) -> Result<Daemon> {
        let mut arguments = vec![
            "--provider=rfc2136".to_owned(),
            format!("--rfc2136-host={}", address.ip()),
            format!("--rfc2136-port={}", address.port()),
            format!("--rfc2136-zone={ZONE}"),
            format!("--rfc2136-tsig-keyname={}", dns.key.name),
            format!("--rfc2136-tsig-secret={}", dns.key.secret),
            format!("--rfc2136-tsig-secret-alg={}", dns.key.algorithm.name()),
            "--policy=sync".to_owned(),
            format!("--txt-owner-id={OWNER}"),
        ];
        if !more.iter().any(|flag| flag.starts_with("--source=")) {
            arguments.push(objects::Kind::Service.source().to_owned());
        }
        // A flag is given once: where it matters the benchmark has chosen the port.
        if !more.iter().any(|flag| flag.starts_with("--metrics-address=")) {
            arguments.push(format!("--metrics-address=127.0.0.1:{}", free_port()));
        }
        arguments.push(match from {
            From::Cluster(kube) => format!("--kubeconfig={}", kube.kubeconfig(User::Zonewright).display()),
            From::Folder(folder) => format!("--manifests={}", folder.display()),
        });
        arguments.extend_from_slice(more);
        Daemon::start(&self.binary, &arguments, &self.folder.path().join("daemon.log"))
    }
}
