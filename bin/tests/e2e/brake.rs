//! The brake at sizes that a company has: many small zones together, and one held plan that no ConfigMap holds.

use std::fmt::Write as _;

use serde_json::{Value, json};
use zonewright_testkit::DnsSoftware::Bind;
use zonewright_testkit::{DnsServer, Key, ZoneSpec, require, tools};

use crate::cluster::{self, Space, TARGET};
use crate::daemon::{CommandLine, Ended, state_folder, text};
use crate::manifests::{folder, write};
use crate::pod::{CONFIGMAPS, HELD, mounts};
use crate::site::{OWNER, Site, ZONE};
use crate::{LATER, needs, until};

const ZONES: usize = 30;

const OWNED: &str = "zonewright_owned_records{zone=\"rfc2136/shop.test\"}";

/// Nine Services of one zone.
fn nine(zone: &str) -> String {
    (0..9).fold(String::new(), |mut all, n| {
        let _ = writeln!(
            all,
            "---\napiVersion: v1\nkind: Service\nmetadata:\n  name: s{n}-{zone}\n  namespace: shop\n  annotations:\n    \
             external-dns.kubernetes.io/hostname: s{n}.{zone}\nspec:\n  type: LoadBalancer\nstatus:\n  loadBalancer:\n    \
             ingress:\n      - ip: 192.0.2.{n}"
        );
        all
    })
}

fn addresses(dns: &DnsServer, zones: &[String]) -> usize {
    let of = |zone: &String| dns.axfr(zone).iter().filter(|record| record.contains(" A 192.0.2.")).count();
    zones.iter().map(of).sum()
}

#[track_caller]
fn ends(line: &CommandLine, status: i32, text: &str) -> Ended {
    let ended = line.run();
    assert_eq!(ended.status.code(), Some(status), "{}", ended.log);
    assert!(ended.log.lines().last().is_some_and(|last| last.contains(text)), "{text:?} in {}", ended.log);
    ended
}

/// Each zone by itself may lose its nine names. All of them together may not.
#[test]
fn thirty_zones_of_nine_names_are_not_emptied_one_by_one() {
    require!(Bind.tools());
    let zones: Vec<String> = (0..ZONES).map(|n| format!("z{n}.test")).collect();
    let (key, folder, state) = (Key::new("ddns"), folder(), state_folder());
    let specs: Vec<ZoneSpec> = zones.iter().map(|zone| ZoneSpec::new(zone, "")).collect();
    let dns = Bind.start(&specs, std::slice::from_ref(&key));
    for zone in &zones {
        write(folder.path(), &format!("{zone}.yaml"), &nine(zone));
    }
    let line = CommandLine::default().args(&["--provider=rfc2136", "--rfc2136-host=127.0.0.1", "--policy=sync"]);
    let line = line.args(&["--metrics-address=127.0.0.1:0", "--source=service", "--txt-owner-id=me", "--once"]);
    let line = line.args(&["--rfc2136-tsig-secret-alg=hmac-sha256", "--rfc2136-tsig-keyname=ddns"]);
    let line = zones.iter().fold(line, |line, zone| line.arg(format!("--rfc2136-zone={zone}")));
    let line = line.arg(format!("--rfc2136-port={}", dns.addr().port())).arg(format!("--state-dir={}", state.1));
    let line = line.arg(format!("--manifests={}", text(folder.path())));
    let line = line.env("EXTERNAL_DNS_RFC2136_TSIG_SECRET", &key.secret);
    ends(&line, 0, "270 created");

    // With a prefix of one's own nobody asks for anything.
    let blind = line.clone().arg("--annotation-prefix=dns.company.example/");
    let held = ends(&blind, 3, "0 created, 0 updated, 0 deleted, 270 held").log;
    assert!(held.contains("namespaces shop (270)") && held.contains(" and 27 more"), "{held}");
    assert_eq!(addresses(&dns, &zones), 270);

    // One hash approves all of them.
    let ask = |words: &[&str]| {
        let line =
            CommandLine::default().args(&[words[0], "--txt-owner-id=me"]).arg(format!("--state-dir={}", state.1));
        line.args(&words[1..]).run()
    };
    let plans = ask(&["plans"]);
    let joint = plans.log.split("30 zones").nth(1).unwrap_or_else(|| panic!("no plan of 30 zones in {}", plans.log));
    let Some(rest) = joint.split("zonewright approve ").nth(1) else { panic!("no hash in {}", plans.log) };
    let hash: String = rest.chars().take_while(char::is_ascii_hexdigit).collect();
    let approved = ask(&["approve", &hash]);
    assert!(approved.status.success(), "{}", approved.log);
    ends(&blind, 0, "0 created, 0 updated, 270 deleted, 0 held");
    assert_eq!(addresses(&dns, &zones), 0);
}

/// Ten thousand names are held, over a restart, and go when they are approved: the plan lies in several ConfigMaps.
#[test]
fn ten_thousand_held_names_survive_a_restart() {
    needs!(Bind);
    if !mounts() {
        tools::tell("brake::ten_thousand", "the kernel lets nobody make mount namespaces");
        return;
    }
    let (kube, account) = (cluster::own(), tempfile::tempdir().expect("a folder"));
    let space = Space::new(&kube);
    // As an earlier daemon left the zone: to let one create it all costs half a minute of a processor.
    let mut published = String::new();
    for object in 0..10 {
        let host = |n: usize| {
            format!(
                "n{n}-of-{object}-among-ten-thousand.in-a-part-of-the-company-that-likes.very-long-names-of-hosts-indeed"
            )
        };
        let (name, namespace) = (format!("i{object}"), &space.name);
        let claim = format!(
            "heritage=external-dns,external-dns/owner={OWNER},external-dns/resource=ingress/{namespace}/{name}"
        );
        for host in (0..1_000).map(host) {
            let _ = writeln!(published, "{host} 300 IN A 192.0.2.1\na-{host} 300 IN TXT \"{claim}\"");
        }
        let rules: Vec<Value> = (0..1_000).map(|n| json!({ "host": format!("{}.{ZONE}", host(n)) })).collect();
        space.create("ingresses", &name, &[(TARGET, "192.0.2.1")], json!({ "spec": { "rules": rules } }));
    }
    let mut site = Site::with(Bind, &published);
    site.release("-among-ten-thousand.");
    let line = site.line(&space).without("--kubeconfig").without("--state-dir").in_pod(&kube, account.path());

    // A transfer of this zone takes half a second of a processor: what stands there is looked at where the daemon is at rest.
    let blind = line.arg("--label-filter=team=nobody");
    let mut daemon = blind.start();
    daemon.measures_within(HELD, 10_000.0, 8 * LATER);
    let parts = || {
        let list = kube.get(CONFIGMAPS).expect_success();
        let names =
            list["items"].as_array().into_iter().flatten().filter_map(|object| object["metadata"]["name"].as_str());
        names.filter(|name| name.starts_with("zonewright-e2e-state-")).count()
    };
    until("a state in several parts", LATER, || parts() > 1);
    let hash = |daemon: &crate::daemon::Daemon| -> String {
        let said = daemon.says_within(&["zonewright approve"], LATER);
        let rest = said.split("zonewright approve ").nth(1).expect("a hash").to_owned();
        rest.chars().take_while(char::is_ascii_hexdigit).collect()
    };
    let shown = hash(&daemon);
    daemon.kill();
    let daemon = blind.start();
    daemon.measures_within(HELD, 10_000.0, 8 * LATER);
    assert_eq!(site.ours().len(), 10_000);

    let path = format!("{CONFIGMAPS}/zonewright-e2e");
    // The daemon may save its state at the same moment: what it wrote stays.
    kube.patch(&path, &json!({ "metadata": { "annotations": { "zonewright.dev/approve": shown } } })).expect_success();
    daemon.measures_within(OWNED, 0.0, 8 * LATER);
    assert_eq!(site.ours(), [""; 0]);
    drop(daemon);
}
