//! The extension controller of Gardener: a DNSRecord's whole life on a real API server, against BIND and Route 53, as Gardener
//! itself drives it.
//!
//! The controller has the rights that its own deployment states, and no others.

use std::path::Path;

use serde_json::{Value, json};
use zonewright_fakes::route53::Route53;
use zonewright_testkit::kube::User;
use zonewright_testkit::{DnsSoftware, KubeApi};

use crate::cluster::Space;
use crate::daemon::{CommandLine, Daemon, text};
use crate::site::{Site, ZONE};
use crate::{SOON, needs, until};

const API: &str = "/apis/extensions.gardener.cloud/v1alpha1";
/// What a deployment of the controller may do.
const RIGHTS: &[(&str, &str, &[&str])] = &[
    ("extensions.gardener.cloud", "dnsrecords", &["get", "list", "watch", "patch", "update"]),
    ("extensions.gardener.cloud", "dnsrecords/status", &["get", "patch", "update"]),
    ("extensions.gardener.cloud", "clusters", &["get", "list", "watch"]),
    ("", "namespaces", &["get", "list", "watch"]),
    ("", "secrets", &["get"]),
    ("events.k8s.io", "events", &["create", "patch"]),
    ("coordination.k8s.io", "leases", &["get", "create", "update", "patch"]),
];

/// An API server that knows Gardener's kinds, whose user `zonewright` has the rights of the controller.
#[track_caller]
fn garden() -> KubeApi {
    let kube = KubeApi::start();
    for name in ["dnsrecords", "clusters"] {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../deploy/gardener/crds/{name}.yaml"));
        let text = std::fs::read_to_string(file).expect("the kind's definition");
        let object: Value = serde_saphyr::from_str(&text).expect("YAML");
        kube.apply_crd(&format!("{name}.extensions.gardener.cloud"), &object.to_string());
    }
    let rules: Vec<Value> = RIGHTS
        .iter()
        .map(|(group, resource, verbs)| json!({ "apiGroups": [group], "resources": [resource], "verbs": verbs }))
        .collect();
    let rbac = "/apis/rbac.authorization.k8s.io/v1";
    let role = json!({ "metadata": { "name": "gardener" }, "rules": rules });
    kube.post(&format!("{rbac}/clusterroles"), &role).expect_success();
    let binding = json!({
        "metadata": { "name": "gardener" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "gardener" },
        "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": User::Zonewright.name() }],
    });
    kube.post(&format!("{rbac}/clusterrolebindings"), &binding).expect_success();
    kube.wait_until_may(User::Zonewright, "watch", "extensions.gardener.cloud", "dnsrecords");
    kube
}

fn line(space: &Space<'_>) -> CommandLine {
    CommandLine::default()
        .args(&[
            "gardener",
            "--metrics-bind-address=127.0.0.1:0",
            "--health-bind-address=0",
            "--heartbeat-namespace=default",
        ])
        .args(&["--leader-election-namespace=default", "--leader-election=true"])
        .arg(format!("--kubeconfig={}", text(&space.kubeconfig())))
}

/// The Secret `dns` for a server that takes dynamic updates.
#[track_caller]
fn updates(space: &Space<'_>, site: &Site) {
    let data = json!({ "stringData": {
        "Server": format!("127.0.0.1:{}", site.dns.addr().port()),
        "Zone": format!("{ZONE}."),
        "TSIGKeyName": format!("{}.", site.key.name),
        "TSIGSecret": site.key.secret,
        "TSIGSecretAlgorithm": "hmac-sha256",
    } });
    secret(space, data);
}

#[track_caller]
fn secret(space: &Space<'_>, mut object: Value) {
    object["metadata"] = json!({ "name": "dns" });
    space.kube.post(&space.path("secrets"), &object).expect_success();
}

/// One DNSRecord, as Gardener sees it.
struct Record<'s> {
    space: &'s Space<'s>,
    name: &'static str,
}

impl<'s> Record<'s> {
    #[track_caller]
    fn create(space: &'s Space<'s>, name: &'static str, annotations: &Value, spec: Value) -> Self {
        let mut spec = spec;
        spec["secretRef"] = json!({ "name": "dns", "namespace": space.name });
        let object = json!({
            "apiVersion": "extensions.gardener.cloud/v1alpha1",
            "kind": "DNSRecord",
            "metadata": { "name": name, "annotations": annotations },
            "spec": spec,
        });
        let record = Self { space, name };
        space.kube.post(&record.collection(), &object).expect_success();
        record
    }

    fn collection(&self) -> String {
        format!("{API}/namespaces/{}/dnsrecords", self.space.name)
    }

    fn path(&self) -> String {
        format!("{}/{}", self.collection(), self.name)
    }

    #[track_caller]
    fn change(&self, patch: &Value) {
        self.space.kube.patch(&self.path(), patch).expect_success();
    }

    /// Asks for an operation, as gardenlet does, with whatever else changes.
    #[track_caller]
    fn asks(&self, operation: &str, spec: &Value) {
        let annotations = json!({ "gardener.cloud/operation": operation, "gardener.cloud/timestamp": now() });
        self.change(&json!({ "metadata": { "annotations": annotations }, "spec": spec }));
    }

    fn object(&self) -> Value {
        self.space.kube.get(&self.path()).body
    }

    fn is_gone(&self) -> bool {
        self.space.kube.get(&self.path()).status == 404
    }

    /// Whether what Gardener waits for has come: section 2.8 of its contract in one sentence.
    fn is_done(&self) -> bool {
        let object = self.object();
        let (meta, status) = (&object["metadata"], &object["status"]);
        let asked = meta["annotations"]["gardener.cloud/timestamp"].as_str().unwrap_or_default();
        let seconds = |text: &str| text.get(..19).unwrap_or_default().to_owned();
        let updated = status["lastOperation"]["lastUpdateTime"].as_str().unwrap_or_default();
        status["lastError"].is_null()
            && status["observedGeneration"] == meta["generation"]
            && meta["annotations"]["gardener.cloud/operation"].is_null()
            && status["lastOperation"]["state"] == "Succeeded"
            && seconds(asked) <= seconds(updated)
    }

    #[track_caller]
    fn done(&self, kind: &str) -> Value {
        until(&format!("{} to be done: {:#}", self.name, self.object()["status"]), SOON, || {
            self.is_done() && self.object()["status"]["lastOperation"]["type"] == kind
        });
        self.object()
    }

    /// Waits for an error of these codes with this text.
    #[track_caller]
    fn fails(&self, codes: &[&str], text: &str) {
        let met = || {
            let error = self.object()["status"]["lastError"].clone();
            let found = if error["codes"].is_null() { json!([]) } else { error["codes"].clone() };
            found == json!(codes) && error["description"].as_str().is_some_and(|said| said.contains(text))
        };
        assert!(
            zonewright_testkit::poll(SOON, || met().then_some(())).is_some(),
            "{} says {:#}",
            self.name,
            self.object()["status"]
        );
    }

    #[track_caller]
    fn deletes(&self) {
        self.space.kube.delete(&self.path()).expect_success();
    }

    #[track_caller]
    fn goes(&self) {
        self.deletes();
        until(&format!("{} to be gone: {:#}", self.name, self.object()["status"]), SOON, || self.is_gone());
    }
}

/// The present time as gardenlet writes it.
fn now() -> String {
    let output = std::process::Command::new("date").args(["-u", "+%Y-%m-%dT%H:%M:%S.%NZ"]).output().expect("date runs");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

fn reconcile() -> Value {
    json!({ "gardener.cloud/operation": "reconcile", "gardener.cloud/timestamp": now() })
}

#[track_caller]
fn started(space: &Space<'_>) -> Daemon {
    let daemon = line(space).start();
    daemon.ready();
    daemon
}

/// Created, changed by annotation, left alone without one, deleted.
#[test]
fn the_life_of_a_dns_record() {
    needs!(DnsSoftware::Bind);
    let (kube, site) = (garden(), Site::start(DnsSoftware::Bind));
    let space = Space::new(&kube);
    updates(&space, &site);
    let daemon = started(&space);
    let spec = json!({ "type": "rfc2136", "name": format!("api.{ZONE}"), "recordType": "A", "values": ["192.0.2.1"] });
    let record = Record::create(&space, "internal", &reconcile(), spec);
    let object = record.done("Create");
    assert_eq!(object["metadata"]["finalizers"], json!(["extensions.gardener.cloud/dnsrecord"]));
    assert_eq!(object["status"]["zone"], ZONE);
    assert_eq!(object["status"]["conditions"][0]["type"], "Created");
    site.shows(&["api 120 A 192.0.2.1"]);

    record.asks("reconcile", &json!({ "values": ["192.0.2.3", "192.0.2.2"], "ttl": 60 }));
    record.done("Reconcile");
    site.shows(&["api 60 A 192.0.2.2", "api 60 A 192.0.2.3"]);

    // The same again: the status is written, the zone is not.
    let (serial, before) = (site.serial(), record.object()["metadata"]["resourceVersion"].clone());
    record.asks("reconcile", &json!({}));
    record.done("Reconcile");
    assert_eq!(site.serial(), serial);
    assert_ne!(record.object()["metadata"]["resourceVersion"], before);

    // Without an annotation nothing happens, until the next one.
    record.change(&json!({ "spec": { "values": ["192.0.2.9"] } }));
    let other =
        json!({ "type": "rfc2136", "name": format!("x.{ZONE}"), "recordType": "TXT", "values": ["a \"b\"", ""] });
    let other = Record::create(&space, "other", &json!({}), other);
    other.done("Create");
    site.shows(&["api 60 A 192.0.2.2", "api 60 A 192.0.2.3", "x 120 TXT \"\"", "x 120 TXT \"a \\\"b\\\"\""]);

    record.goes();
    other.goes();
    site.shows(&[]);
    let lease = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
    let beat = kube.get(&format!("{lease}/gardener-extension-heartbeat")).expect_success();
    assert_eq!(beat["spec"]["leaseDurationSeconds"], 30);
    assert!(kube.get(&format!("{lease}/zonewright-gardener-leader-election")).status == 200);
    assert_eq!(daemon.count("level=error"), 0, "{}", daemon.log());
}

/// Migrated to another seed: the record stays, and is taken up there.
#[test]
fn a_control_plane_moves_to_another_seed() {
    needs!(DnsSoftware::Bind);
    let site = Site::start(DnsSoftware::Bind);
    let (source, destination) = (garden(), garden());
    let (here, there) = (Space::new(&source), Space::new(&destination));
    updates(&here, &site);
    updates(&there, &site);
    let (_first, _second) = (started(&here), started(&there));
    let spec = json!({ "type": "rfc2136", "name": format!("api.{ZONE}"), "recordType": "A", "values": ["192.0.2.1"] });
    let old = Record::create(&here, "internal", &reconcile(), spec.clone());
    old.done("Create");
    old.asks("migrate", &json!({}));
    let object = old.done("Migrate");
    assert!(object["metadata"]["finalizers"].is_null(), "{object:#}");
    old.goes();
    site.shows(&["api 120 A 192.0.2.1"]);

    let new = Record::create(&there, "internal", &json!({ "gardener.cloud/operation": "wait-for-state" }), spec);
    new.asks("restore", &json!({ "values": ["192.0.2.2"] }));
    let object = new.done("Restore");
    assert_eq!(object["status"]["zone"], ZONE);
    site.shows(&["api 120 A 192.0.2.2"]);
    new.goes();
    site.shows(&[]);
}

/// What cannot be served says so in its status, with the right code, and holds up no other.
#[test]
fn what_cannot_be_served_says_so() {
    needs!(DnsSoftware::Bind);
    let (kube, site) = (garden(), Site::start(DnsSoftware::Bind));
    let space = Space::new(&kube);
    updates(&space, &site);
    let _daemon = started(&space);
    let spec = |name: &str, kind: &str, values: &[&str]| json!({ "type": "rfc2136", "name": format!("{name}{ZONE}"), "recordType": kind, "values": values });
    let of = |name: &'static str, spec| Record::create(&space, name, &reconcile(), spec);
    let outside = json!({ "type": "rfc2136", "name": "api.other.org", "recordType": "A", "values": ["192.0.2.1"] });
    let outside = of("outside", outside);
    let value = of("value", spec("value.", "A", &["2001:db8::1"]));
    let good = of("good", spec("good.", "A", &["192.0.2.1"]));
    good.done("Create");
    outside.fails(&["ERR_CONFIGURATION_PROBLEM"], "no zone");
    value.fails(&["ERR_CONFIGURATION_PROBLEM"], "IPv4 address");
    // Of two objects of one second the UID decides.
    let created = good.object()["metadata"]["creationTimestamp"].as_str().unwrap_or_default().to_owned();
    until("the next second", SOON, || now().get(..19) > created.get(..19));
    let second = of("second", spec("good.", "A", &["192.0.2.2"]));
    second.fails(&["ERR_CONFIGURATION_PROBLEM"], "good");
    site.shows(&["good 120 A 192.0.2.1"]);
    // A loser never deletes; once the winner is gone, the next one has the name.
    second.goes();
    site.shows(&["good 120 A 192.0.2.1"]);
    let third = of("third", spec("good.", "A", &["192.0.2.3"]));
    third.fails(&["ERR_CONFIGURATION_PROBLEM"], "good");
    good.goes();
    third.done("Create");
    site.shows(&["good 120 A 192.0.2.3"]);
    // What never sent anything goes without its provider.
    kube.delete(&format!("{}/dns", space.path("secrets"))).expect_success();
    outside.goes();
    value.goes();
    third.deletes();
    third.fails(&[], "is not there");
    updates(&space, &site);
    until("third to be gone", SOON, || third.is_gone());
    site.shows(&[]);
}

/// Route 53: an alias in both shapes, zones that are listed once, and a credential that is replaced.
#[test]
fn aliases_at_route53() {
    needs!(DnsSoftware::Bind);
    let kube = garden();
    let space = Space::new(&kube);
    let service = Route53::start();
    let zone = service.add_zone("000000000001", "shop.test", false, &[]);
    secret(&space, json!({ "stringData": { "accessKeyID": "AKIDFAKE", "secretAccessKey": "s3cr3t-of-the-key" } }));
    let daemon = line(&space)
        .args(&["--aws-api-qps=100", "--types=aws-route53"])
        .env("AWS_ENDPOINT_URL", &service.url())
        .env("AWS_EC2_METADATA_DISABLED", "true")
        .start();
    daemon.ready();
    let spec = json!({
        "type": "aws-route53", "name": "api.shop.test", "recordType": "CNAME",
        "values": ["web-1.eu-west-1.elb.amazonaws.com"],
    });
    let record = Record::create(&space, "external", &reconcile(), spec);
    let object = record.done("Create");
    assert_eq!(object["status"]["zone"], zone);
    let shown = || {
        let sets = service.sets(&zone).into_iter().filter(|set| !["SOA", "NS"].contains(&set.kind.as_str()));
        sets.map(|set| format!("{} {}", set.kind, if set.alias.is_some() { "alias" } else { "values" }))
            .collect::<Vec<_>>()
    };
    assert_eq!(shown(), ["A alias"]);
    let lists = || service.calls().get("ListHostedZones").copied().unwrap_or_default();
    let listed = lists();
    record.change(&json!({ "metadata": { "annotations": { "dns.gardener.cloud/ip-stack": "dual-stack" } } }));
    record.asks("reconcile", &json!({}));
    until("both aliases", SOON, || shown() == ["A alias", "AAAA alias"]);
    record.done("Reconcile");
    record.asks("reconcile", &json!({ "values": ["web.other.org"] }));
    until("a CNAME", SOON, || shown() == ["CNAME values"]);
    record.done("Reconcile");
    assert_eq!(lists(), listed, "the zone is known");
    record.goes();
    assert!(shown().is_empty());
    assert_eq!(service.calls().get("UPSERT"), None, "nothing is overwritten blindly");
}
