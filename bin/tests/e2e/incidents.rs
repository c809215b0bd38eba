//! What went wrong elsewhere, each incident by its name: the daemon against a real DNS server, and where the cluster plays a
//! part, a real API server.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use serde_json::json;
use tempfile::TempDir;
use zonewright_testkit::DnsSoftware::Bind;
use zonewright_testkit::{Fault, proxy, require};

use crate::cluster::{HOSTNAME, Space, shared};
use crate::daemon::{CommandLine, state_folder, text};
use crate::manifests::{folder, service, write};
use crate::site::{Site, ZONE};
use crate::{LATER, SOON, needs, until};

const HELD: &str = "zonewright_held_deletes{zone=\"rfc2136/shop.test\"}";

fn line(site: &Site, folder: &Path, state: &str) -> CommandLine {
    let line = site.provider(site.dns.addr().port()).args(&["--source=service", "--interval=1s"]);
    line.arg(format!("--manifests={}", text(folder))).arg(format!("--state-dir={state}"))
}

/// Services of many names each, 88 to one of them.
fn many(folder: &Path, count: usize) {
    let mut file = String::new();
    for first in (0..count).step_by(88) {
        let hosts: Vec<String> = (first..count.min(first + 88)).map(|n| format!("n{n}.{ZONE}")).collect();
        let _ = write!(
            file,
            "---\napiVersion: v1\nkind: Service\nmetadata:\n  name: s{first}\n  namespace: default\n  annotations:\n    \
             {HOSTNAME}: \"{}\"\nspec: {{type: LoadBalancer}}\nstatus: {{loadBalancer: {{ingress: [{{ip: 192.0.2.1}}]}}}}\n",
            hosts.join(",")
        );
    }
    write(folder, "many.yaml", &file);
}

struct Big {
    site: Site,
    folder: TempDir,
    state: (TempDir, String),
}

impl Big {
    /// A zone that a daemon has filled with so many names, and is stopped.
    fn new(count: usize) -> Self {
        let big = Self { site: Site::start(Bind), folder: folder(), state: state_folder() };
        many(big.folder.path(), count);
        let ended = big.line().arg("--once").run();
        assert_eq!(ended.status.code(), Some(0), "{}", ended.log);
        assert_eq!(big.site.ours().len(), count);
        big
    }

    fn line(&self) -> CommandLine {
        line(&self.site, self.folder.path(), &self.state.1)
    }
}

/// A release that read another annotation prefix saw no names at all, and 8,764 records were to be deleted.
#[test]
fn another_annotation_prefix_deletes_none_of_8764_names() {
    require!(Bind.tools());
    let big = Big::new(8_764);
    let (serial, zone) = (big.site.serial(), big.site.zone());
    let daemon = big.line().arg("--annotation-prefix=own.example/").start();
    daemon.says_within(&["8764 deletes in zone shop.test are held", "zonewright approve"], LATER);
    daemon.says(&["8764 records of ours are asked for by no object"]);
    daemon.measures(HELD, 8_764.0);
    assert_eq!((big.site.serial(), big.site.zone() == zone), (serial, true), "not one update");
    drop(daemon);
    // Of the two well-known prefixes either is doubt for the other: not even the brake is needed.
    let daemon = big.line().arg("--annotation-prefix=external-dns.alpha.kubernetes.io/").start();
    daemon.says_within(&["8764 records of ours are asked for with annotations of the other well-known prefix"], LATER);
    daemon.ready_within(LATER);
    daemon.measures(HELD, 0.0);
    assert_eq!((big.site.serial(), big.site.zone() == zone), (serial, true), "not one update");
    drop(daemon);
    // The prefix is put right: nothing is left to do.
    let ended = big.line().arg("--once").run();
    assert_eq!(ended.status.code(), Some(0), "{}", ended.log);
    assert_eq!(big.site.serial(), serial);
}

/// A daemon was given another owner id, and what it had published belonged to nobody it knew.
#[test]
fn another_owner_id_changes_nothing() {
    require!(Bind.tools());
    let big = Big::new(60);
    let zone = big.site.zone();
    let renamed = big.line().without("--txt-owner-id").arg("--txt-owner-id=renamed").arg("--once").run();
    assert!(renamed.log.contains("belongs to owner e2e"), "{}", renamed.log);
    assert_eq!(big.site.zone(), zone);
    // Named as the former owner, its records are taken over; they themselves stay as they are.
    let line = big.line().without("--txt-owner-id").args(&["--txt-owner-id=renamed", "--migrate-from-txt-owner=e2e"]);
    assert_eq!(line.arg("--once").run().status.code(), Some(0));
    let records = |zone: &[String]| zone.iter().filter(|r| !r.contains("heritage=")).cloned().collect::<Vec<_>>();
    assert_eq!(records(&big.site.zone()), records(&zone));
    assert!(big.site.claims().iter().all(|claim| claim.contains("owner=renamed")));
}

/// A controller blanks the status of its load balancers while it is rolled out.
#[test]
fn a_blank_status_during_a_rollout_takes_no_name_away() {
    needs!(Bind);
    let (kube, site) = (shared(), Site::start(Bind));
    let space = Space::new(&kube);
    for n in 0..12 {
        space.balancer(&format!("b{n}"), &format!("b{n}.{ZONE}"), &["192.0.2.1"]);
    }
    let daemon = site.line(&space).arg("--interval=1s").start();
    until("twelve names", SOON, || site.ours().len() == 12);
    daemon.ready();
    let (serial, zone) = (site.serial(), site.zone());
    for n in 0..12 {
        space.reached_at("services", &format!("b{n}"), &[]);
    }
    space.expect_event("b11", "PendingTargets", &["b11.shop.test", "is kept"]);
    // A restart in the middle of it does not know of the former addresses.
    assert!(daemon.terminate().status.success());
    let daemon = site.line(&space).arg("--interval=1s").start();
    daemon.ready();
    assert_eq!((site.serial(), site.zone()), (serial, zone));
    space.reached_at("services", "b0", &["192.0.2.2"]);
    until("the new address", SOON, || site.ours().contains(&"b0 0 A 192.0.2.2".to_owned()));
    assert_eq!(site.ours().len(), 12);
}

/// Two clusters were given the same owner id: each takes the records of the other for its own orphans.
#[test]
fn two_writers_with_one_owner_id_end_in_no_endless_fight() {
    require!(Bind.tools());
    let (site, mine, theirs) = (Site::start(Bind), folder(), folder());
    let (state, other) = (state_folder(), state_folder());
    write(mine.path(), "web.yaml", &service("web", "web", "192.0.2.1"));
    write(theirs.path(), "api.yaml", &service("api", "api", "192.0.2.2"));
    let mut one = line(&site, mine.path(), &state.1).start();
    let mut two = line(&site, theirs.path(), &other.1).start();
    // Each puts back what the other takes away, until one of them sees what is going on and says so.
    until("the fight to be named", LATER, || one.count("RecordContested") + two.count("RecordContested") > 0);
    assert!(one.runs() && two.runs());
    let named = [&one, &two].map(crate::daemon::Daemon::log);
    assert!(named.iter().any(|log| log.contains("keeps changing")), "{named:?}");
    // From then on a name is put back at most once in five minutes: the zone comes to rest.
    let rest = || {
        let serial = site.serial();
        std::thread::sleep(Duration::from_secs(3));
        site.serial() == serial
    };
    until("the zone to rest", LATER, rest);
}

/// The claim was written and its record was not, and from then on a foreign record counted as ours.
#[test]
fn a_record_that_is_refused_leaves_no_claim_behind() {
    require!(Bind.tools());
    let (mut site, folder, state) = (Site::start(Bind), folder(), state_folder());
    write(folder.path(), "a.yaml", &service("a", "first", "192.0.2.1"));
    let daemon = line(&site, folder.path(), &state.1).without("--interval").arg("--interval=1h").start();
    site.shows(&["first 0 A 192.0.2.1"]);
    daemon.ready();
    // The daemon has not seen these: BIND would take the claim and drop the CNAME without a word.
    site.dns
        .nsupdate("update add mailer.shop.test 60 MX 10 mail.shop.test.\nupdate add host.shop.test 60 A 203.0.113.1");
    let foreign = site.zone();
    write(
        folder.path(),
        "b.yaml",
        &service("b", "mailer", "192.0.2.2").replace("ip: 192.0.2.2", "hostname: lb.cloud.test"),
    );
    write(folder.path(), "c.yaml", &service("c", "host", "192.0.2.3"));
    write(folder.path(), "d.yaml", &service("d", "last", "192.0.2.4"));
    until("the last one", SOON, || site.dig("last", "A") == ["192.0.2.4"]);
    daemon.says(&["mailer.shop.test CNAME"]);
    daemon.says(&["host.shop.test A"]);
    let now = site.zone();
    assert!(foreign.iter().all(|record| now.contains(record)), "{now:#?}");
    for claim in ["cname-mailer", "a-host"] {
        assert_eq!(site.dig(claim, "TXT"), Vec::<String>::new(), "{claim}");
    }
    // What others put there is left to them for good.
    std::fs::remove_file(folder.path().join("c.yaml")).expect("remove a manifest");
    std::fs::remove_file(folder.path().join("d.yaml")).expect("remove a manifest");
    until("the last one to go", SOON, || site.dig("last", "A").is_empty());
    assert_eq!(site.dig("host", "A"), ["203.0.113.1"]);
    drop(daemon);
    site.dns.nsupdate("update delete mailer.shop.test MX\nupdate delete host.shop.test A");
    site.release("first.shop.test");
}

/// One record that the server refuses held up all others.
#[test]
fn a_bad_record_in_a_thousand_is_one_bad_record() {
    require!(Bind.tools());
    let (site, folder, state) = (Site::start(Bind), folder(), state_folder());
    let daemon = line(&site, folder.path(), &state.1).without("--interval").arg("--interval=1h").start();
    daemon.ready();
    // It came after the zone was read, so only the server knows.
    site.dns.nsupdate("update add n500.shop.test 60 A 203.0.113.5");
    many(folder.path(), 1_000);
    until("the others", LATER, || site.ours().len() == 1_000);
    daemon.says(&["n500.shop.test A"]);
    assert_eq!(site.dig("n500", "A"), ["203.0.113.5"]);
    assert!(!site.claims().iter().any(|claim| claim.starts_with("a-n500 ")));
    assert_eq!(site.claims().len(), 999);
}

/// Every answer of the provider is an error for a long time. (Ten minutes of it run on a paused clock, in the engine's own
/// tests.)
#[test]
fn errors_of_the_provider_end_no_process_and_nothing_is_lost() {
    require!(Bind.tools());
    let (site, folder, state) = (Site::start(Bind), folder(), state_folder());
    let (tcp, udp) = proxy::both(site.dns.addr());
    write(folder.path(), "a.yaml", &service("a", "a", "192.0.2.1"));
    let line = line(&site, folder.path(), &state.1).without("--rfc2136-port");
    let mut daemon = line.arg(format!("--rfc2136-port={}", tcp.addr().port())).start();
    site.shows(&["a 0 A 192.0.2.1"]);
    daemon.ready();
    for (n, fault) in [Fault::Garbage, Fault::Drop, Fault::CutAfter(0), Fault::CutAfter(40)].into_iter().enumerate() {
        tcp.set(fault);
        udp.set(fault);
        write(folder.path(), &format!("f{n}.yaml"), &service(&format!("f{n}"), &format!("f{n}"), "192.0.2.9"));
        daemon.unready(&["zone shop.test"], LATER);
        assert!(daemon.runs() && daemon.page("/healthz").0 == 200);
    }
    assert_eq!(site.ours().iter().filter(|record| record.starts_with("a ")).count(), 1);
    tcp.set(Fault::Pass);
    udp.set(Fault::Pass);
    until("all of it", LATER, || site.ours().len() == 5);
    daemon.ready_within(LATER);
}

/// Ending the daemon, or uninstalling it, deletes nothing.
#[test]
fn records_outlive_the_daemon() {
    needs!(Bind);
    let (kube, mut site) = (shared(), Site::start(Bind));
    let space = Space::new(&kube);
    space.services(12, ZONE);
    let daemon = site.line(&space).start();
    until("twelve names", SOON, || site.ours().len() == 12);
    daemon.ready();
    let zone = site.zone();
    assert!(daemon.terminate().status.success());
    assert_eq!(site.zone(), zone);
    // Its rights are taken away first, as an uninstall may do it.
    let daemon = site.line(&space).start();
    daemon.ready();
    space.change("services", "s0", &json!({ "metadata": { "labels": { "seen": "yes" } } }));
    assert!(daemon.terminate().status.success());
    assert_eq!(site.zone(), zone);
    site.release("heritage=external-dns,external-dns/owner=e2e");
}
