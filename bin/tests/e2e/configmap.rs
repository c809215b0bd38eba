//! The daemon with its claims in ConfigMaps: nothing of them in the zone, one list of everything that the zone holds, with
//! exactly the rights of `deploy/kustomize` base and of its component `registry-configmap`.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use zonewright_testkit::DnsSoftware::Bind;
use zonewright_testkit::kube::User;
use zonewright_testkit::{Fault, KubeApi, proxy};

use crate::cluster::{Space, TTL, shared};
use crate::daemon::{CommandLine, Daemon, ends};
use crate::site::{OWNER, Site, ZONE};
use crate::{LATER, SOON, needs, until};

/// A zone, and a namespace with Services and the objects of the registry.
struct Shop<'k> {
    site: Site,
    space: Space<'k>,
}

impl<'k> Shop<'k> {
    #[track_caller]
    fn new(kube: &'k KubeApi) -> Self {
        let shop = Self { site: Site::start(Bind), space: Space::new(kube) };
        grant(&shop.space);
        shop
    }

    fn line(&self) -> CommandLine {
        let line = self.site.line(&self.space).args(&["--registry=configmap", "--interval=1s"]);
        line.arg(format!("--registry-namespace={}", self.space.name))
    }

    /// The command line of a command that reads no objects but those of the registry.
    fn order(&self, word: &str) -> CommandLine {
        self.line().without("--source").without("--state-dir").ordered(word)
    }

    fn object(&self) -> Option<Value> {
        let answer = self.space.kube.get(&format!("{}/{OWNER}-registry", self.space.path("configmaps")));
        (answer.status == 200).then(|| answer.expect_success())
    }

    /// The list of records.
    fn records(&self) -> Vec<Value> {
        let object = self.object().unwrap_or_default();
        let text = object["data"]["records"].as_str().unwrap_or("[]");
        serde_json::from_str(text).unwrap_or_else(|problem| panic!("data.records: {problem}: {text}"))
    }

    /// Host, target and resource of each record that the list gives us.
    fn owned(&self) -> Vec<String> {
        let word = |value: &Value| value.as_str().unwrap_or("-").replace(&format!(".{ZONE}"), "");
        let line = |record: &Value| {
            let open = if record.get("intent").or(record.get("next")).is_some() { " open" } else { "" };
            let words = ["dnsname", "type", "target", "resource"].map(|field| word(&record[field]));
            words.join(" ").replace(&self.space.name, "ns") + open
        };
        self.records().iter().filter(|record| record["owner"] == OWNER).map(line).collect()
    }

    /// Waits until zone and list show exactly these records, and the zone no claim.
    #[track_caller]
    fn holds(&self, zone: &[&str], list: &[&str]) {
        self.site.shows(zone);
        let shown = zonewright_testkit::poll(SOON, || (self.owned() == list).then_some(()));
        assert!(shown.is_some(), "the list holds {:#?}, expected {list:#?}", self.owned());
        assert_eq!(self.site.claims(), Vec::<String>::new(), "no claim stands in the zone");
    }
}

/// Begins a test with a shop of its own: binds the shop and its two parts to these names.
macro_rules! shop {
    ($shop:ident, $site:ident, $space:ident) => {
        needs!(Bind);
        let kube = shared();
        let $shop = Shop::new(&kube);
        let Shop { site: $site, space: $space } = &$shop;
    };
}

/// Gives the daemon's user the rights of the component in a namespace: the file's own Role and binding, with the user in the
/// place of the service account.
#[track_caller]
fn grant(space: &Space<'_>) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/kustomize/registry-configmap/rbac.yaml");
    let text = std::fs::read_to_string(file).expect("rbac.yaml is there");
    let objects: Vec<Value> = serde_saphyr::from_multiple(&text).expect("rbac.yaml is YAML");
    let kinds: Vec<&str> = objects.iter().filter_map(|object| object["kind"].as_str()).collect();
    assert_eq!(kinds, ["Role", "RoleBinding"]);
    for mut object in objects {
        let plural = if object["kind"] == "Role" { "roles" } else { "rolebindings" };
        if object.get("subjects").is_some() {
            object["subjects"] = json!([
                { "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": User::Zonewright.name() }
            ]);
        }
        let path = format!("/apis/rbac.authorization.k8s.io/v1/namespaces/{}/{plural}", space.name);
        space.kube.post(&path, &object).expect_success();
    }
    let path = space.path("configmaps");
    until("the grant", SOON, || space.kube.get_as(User::Zonewright, &path).status == 200);
}

/// Waits until a first round over everything found nothing to do.
#[track_caller]
fn rests(daemon: &Daemon) {
    daemon.ready();
    let idle = "external_dns_controller_no_op_runs_total";
    until("a round without changes", SOON, || daemon.metric(idle).is_some_and(|rounds| rounds >= 1.0));
}

#[test]
fn records_come_change_and_go_and_the_list_says_so() {
    shop!(shop, site, space);
    space.balancer("web", &format!("web.{ZONE}"), &["192.0.2.1"]);
    space.balancer("cloud", &format!("cloud.{ZONE}"), &["lb.cloud.test"]);
    space.balancer("taken", &format!("taken.{ZONE}"), &["192.0.2.9"]);
    let mut daemon = shop.line().start();
    let (web, cloud) = ("web A 192.0.2.1 service/ns/web", "cloud CNAME lb.cloud.test service/ns/cloud");
    shop.holds(&["cloud 0 CNAME lb.cloud.test.", "web 0 A 192.0.2.1"], &[cloud, web]);

    // The object is the one of the proposal: a list of records with these four fields, and those of nobody besides.
    let four = |name: &str, rtype: &str| {
        let record = shop.records().into_iter().find(|record| record["dnsname"] == name && record["type"] == rtype);
        let record = record.unwrap_or_else(|| panic!("the list has no {name} {rtype}: {:#?}", shop.records()));
        ["dnsname", "owner", "target", "type"].map(|field| record[field].as_str().expect("a text").to_owned())
    };
    assert_eq!(four("web.shop.test", "A"), ["web.shop.test", OWNER, "192.0.2.1", "A"]);
    assert_eq!(four("cloud.shop.test", "CNAME"), ["cloud.shop.test", OWNER, "lb.cloud.test", "CNAME"]);
    assert_eq!(four("taken.shop.test", "A"), ["taken.shop.test", "", "198.51.100.3", "A"]);
    assert_eq!(four("mail.shop.test", "A"), ["mail.shop.test", "", "198.51.100.1;198.51.100.2", "A"]);
    assert_eq!(four("alias.shop.test", "CNAME"), ["alias.shop.test", "", "mail.shop.test", "CNAME"]);
    let listed: BTreeSet<String> = shop.records().iter().map(|record| record["dnsname"].to_string()).collect();
    let published = site.zone();
    let names: BTreeSet<String> = published
        .iter()
        .filter_map(|record| record.split(['.', ' ']).next())
        .filter(|label| !label.is_empty() && !label.starts_with('*'))
        .map(str::to_lowercase)
        .collect();
    let missing: Vec<&String> = names.iter().filter(|name| !listed.iter().any(|text| text.contains(*name))).collect();
    assert!(missing.is_empty(), "{missing:?} are not listed: {listed:?}");
    space.expect_event("taken", "ForeignRecord", &["taken.shop.test A", "nobody claims"]);

    // A restart after a crash finds everything as it was, and writes nothing.
    rests(&daemon);
    let version = |shop: &Shop<'_>| shop.object().expect("the object")["metadata"]["resourceVersion"].clone();
    let (serial, stood) = (site.serial(), version(&shop));
    daemon.kill();
    let daemon = shop.line().start();
    rests(&daemon);
    assert_eq!((site.serial(), version(&shop)), (serial, stood));

    // Update, change of type, delete, create.
    space.reached_at("services", "web", &["192.0.2.2", "192.0.2.3"]);
    space.reached_at("services", "cloud", &["192.0.2.4"]);
    space.balancer("new", &format!("new.{ZONE}"), &["192.0.2.5"]);
    shop.holds(
        &["cloud 0 A 192.0.2.4", "new 0 A 192.0.2.5", "web 0 A 192.0.2.2", "web 0 A 192.0.2.3"],
        &[
            "cloud A 192.0.2.4 service/ns/cloud",
            "new A 192.0.2.5 service/ns/new",
            "web A 192.0.2.2;192.0.2.3 service/ns/web",
        ],
    );
    for name in ["web", "new", "taken"] {
        space.delete("services", name);
    }
    shop.holds(&["cloud 0 A 192.0.2.4"], &["cloud A 192.0.2.4 service/ns/cloud"]);

    // What others do in the zone shows in the list; who writes another owner into it takes the record away from us.
    site.dns.nsupdate(&format!("update delete cloud.{ZONE} A"));
    site.shows(&["cloud 0 A 192.0.2.4"]);
    let path = format!("{}/{OWNER}-registry", space.path("configmaps"));
    let text = shop.object().expect("the object")["data"]["records"].as_str().expect("a text").to_owned();
    let handed = text.replace(&format!("\"owner\":\"{OWNER}\""), "\"owner\":\"by-hand\"");
    space.kube.patch(&path, &json!({ "data": { "records": handed } })).expect_success();
    space.reached_at("services", "cloud", &["192.0.2.6"]);
    space.expect_event("cloud", "ForeignRecord", &["cloud.shop.test", "by-hand"]);
    site.shows(&["cloud 0 A 192.0.2.4"]);
    assert!(daemon.terminate().status.success());
}

/// Killed again and again while it creates, changes and deletes: every record is recognised afterwards.
#[test]
fn killed_in_the_middle_it_knows_its_records_again() {
    shop!(shop, site, space);
    let (tcp, udp) = proxy::both(site.dns.addr());
    let delay = Fault::Delay(Duration::from_millis(30));
    space.services(120, ZONE);
    let line = shop.line().without("--rfc2136-port").arg(format!("--rfc2136-port={}", tcp.addr().port()));
    let line = line.args(&["--rfc2136-batch-change-size=5", "--no-brake"]);
    tcp.set(delay);
    udp.set(delay);
    let killed = |what: &str, done: &dyn Fn() -> bool| {
        let mut daemon = line.start();
        until(what, SOON, done);
        daemon.kill();
    };
    killed("the first names", &|| !site.ours().is_empty());
    killed("some more names", &|| site.ours().len() > 40);
    assert!(site.ours().len() < 120, "it was killed in the middle");
    for n in 0..60 {
        space.annotate("services", &format!("s{n}"), &[(TTL, "60")]);
    }
    let short = || site.ours().iter().filter(|record| record.contains(" 60 A ")).count();
    killed("the first changes", &|| short() > 0);
    for n in 60..120 {
        space.delete("services", &format!("s{n}"));
    }
    killed("the first deletes", &|| site.ours().len() < 110);
    tcp.set(Fault::Pass);
    udp.set(Fault::Pass);
    let daemon = line.start();
    until("everything as it is wanted", LATER, || site.ours().len() == 60 && short() == 60);
    rests(&daemon);
    // Entries of deletes that were cut off go once three readings have not shown their records.
    let ended = zonewright_testkit::poll(LATER, || {
        let list = shop.owned();
        (list.len() == 60 && list.iter().all(|line| !line.ends_with(" open"))).then_some(())
    });
    assert!(ended.is_some(), "{:#?}", shop.owned());
    assert_eq!(daemon.count("ForeignRecord"), 0, "none of its own was taken for a foreign one");
    assert_eq!(site.claims(), Vec::<String>::new());
}

/// Claims are taken, given up and ended by command.
#[test]
fn records_are_adopted_and_an_owner_leaves_for_good() {
    shop!(shop, site, space);
    site.dns.nsupdate(&format!("update add web.{ZONE} 0 A 192.0.2.1\nupdate add api.{ZONE} 0 A 192.0.2.7"));
    space.balancer("web", &format!("web.{ZONE}"), &["192.0.2.1"]);
    space.balancer("api", &format!("api.{ZONE}"), &["192.0.2.2"]);
    space.balancer("own", &format!("own.{ZONE}"), &["192.0.2.3"]);
    let daemon = shop.line().start();
    let records = ["api 0 A 192.0.2.7", "own 0 A 192.0.2.3", "web 0 A 192.0.2.1"];
    let own = "own A 192.0.2.3 service/ns/own";
    shop.holds(&records, &[own]);
    assert!(daemon.terminate().status.success());

    // What matches is taken, what differs is left.
    let serial = site.serial();
    let adopt = shop.line().ordered("adopt");
    ends(&adopt, 2, &["web.shop.test", "nothing was done"]);
    assert_eq!(shop.owned(), [own]);
    ends(&adopt.arg("--yes"), 0, &["1 done, 0 failed", "wants 192.0.2.2"]);
    assert_eq!(site.serial(), serial, "no record changes");
    let web = "web A 192.0.2.1 service/ns/web";
    // Until the next reading the claim counts for the record as it was adopted, and no other.
    assert_eq!(shop.owned(), [own.to_owned(), format!("{web} open")]);
    let daemon = shop.line().start();
    shop.holds(&records, &[own, web]);
    space.reached_at("services", "web", &["192.0.2.8"]);
    let web = "web A 192.0.2.8 service/ns/web";
    let records = ["api 0 A 192.0.2.7", "own 0 A 192.0.2.3", "web 0 A 192.0.2.8"];
    shop.holds(&records, &[own, web]);
    assert!(daemon.terminate().status.success());

    // An owner that leaves: its records go, and the claim of one that is gone already.
    site.dns.nsupdate(&format!("update delete own.{ZONE} A"));
    ends(
        &shop.order("drain"),
        2,
        &["- web.shop.test", "own.shop.test A  a claim without a record", "nothing was done"],
    );
    assert_eq!(shop.owned(), [own, web]);
    ends(&shop.order("drain").arg("--yes"), 0, &["2 done, 0 failed", "0 changes remain"]);
    assert_eq!(site.ours(), ["api 0 A 192.0.2.7"]);
    assert_eq!(shop.owned(), Vec::<String>::new());
}
