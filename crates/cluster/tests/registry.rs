//! The ConfigMap registry against a real API server.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise, in its helping functions too")]

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};
use zonewright_cluster::{Cluster, ConfigMapDocuments, ConnectOptions, connect};
use zonewright_core::change::{Change, Group, Outcome, Step};
use zonewright_core::claim::judge;
use zonewright_core::documents::{Document, DocumentStore};
use zonewright_core::registry::{ClaimStore as _, Contents, Published, Registry};
use zonewright_core::zone::InstanceId;
use zonewright_core::{DnsName, ErrorKind, RData, RecordKey, RecordSet, RecordType, Zone, ZoneKey};
use zonewright_registry::configmap::{ConfigMapConfig, ConfigMapRegistry, LONGEST};
use zonewright_testkit::kube::User;
use zonewright_testkit::{KubeApi, require};

const OBJECTS: &str = "/api/v1/namespaces/default/configmaps";
const OBJECT: &str = "/api/v1/namespaces/default/configmaps/external-dns-1-registry";

async fn cluster(kube: &KubeApi, user: User) -> Cluster {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let options =
        ConnectOptions { kubeconfig: Some(kube.kubeconfig(user)), qps: 100, burst: 100, ..ConnectOptions::default() };
    connect(&options).await.unwrap()
}

fn registry(cluster: &Cluster, limit: usize) -> ConfigMapRegistry {
    let store = Arc::new(ConfigMapDocuments::new(cluster, "default"));
    let config = ConfigMapConfig::new("external-dns-1", store).unwrap();
    ConfigMapRegistry::new(ConfigMapConfig { limit, ..config })
}

fn set(name: &str, rtype: RecordType, data: &str) -> RecordSet {
    RecordSet::simple(DnsName::parse(name).unwrap(), rtype, None, [RData::parse(rtype, data).unwrap()])
}

struct Zones(Zone, BTreeMap<RecordKey, RecordSet>);

impl Zones {
    fn new(sets: impl IntoIterator<Item = RecordSet>) -> Self {
        let zone = Zone::new(&InstanceId::from("sim"), "org", DnsName::parse("org").unwrap());
        Self(zone, sets.into_iter().map(|set| (set.key.clone(), set)).collect())
    }

    /// Creates records with a registry; each must go through.
    async fn create(&mut self, registry: &dyn Registry, sets: impl IntoIterator<Item = RecordSet>) {
        let group = |to| Group::of(Step::record(Change::Create { to }, Some("service/ns/web".into())), vec![]);
        let groups: Vec<Group> = sets.into_iter().map(group).collect();
        let ready: Vec<Group> =
            registry.prepare(&self.0, groups).await.into_iter().map(|answer| answer.unwrap()).collect();
        for to in ready.iter().flat_map(Group::changes).filter_map(Change::to) {
            self.1.insert(to.key.clone(), to.clone());
        }
        let outcomes: Vec<Outcome> = ready.iter().map(|_| Outcome::Applied).collect();
        registry.commit(&self.0, &ready, &outcomes).await.unwrap();
    }

    fn is_ours(&self, registry: &dyn Registry, key: &RecordKey) -> bool {
        judge(&registry.claims(&self.0, key, self), registry.owner()).is_ours()
    }
}

impl Contents for Zones {
    fn find(&self, key: &RecordKey) -> Option<RecordSet> {
        self.1.get(key).cloned()
    }

    fn each(&self, visit: &mut dyn FnMut(RecordSet)) {
        self.1.values().cloned().for_each(visit);
    }
}

impl Published for Zones {
    fn find(&self, near: &ZoneKey, key: &RecordKey) -> Option<(ZoneKey, RecordSet)> {
        self.1.get(key).map(|set| (near.clone(), set.clone()))
    }

    fn zones_at(&self, _: &DnsName) -> Vec<(Zone, bool)> {
        Vec::new()
    }
}

fn records(kube: &KubeApi, path: &str) -> Vec<Value> {
    let object = kube.get(path).expect_success();
    serde_json::from_str(object["data"]["records"].as_str().unwrap()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_object_is_the_one_of_the_proposal() {
    require!(KubeApi::TOOLS);
    let kube = KubeApi::start();
    let cluster = cluster(&kube, User::Admin).await;
    let registry = registry(&cluster, LONGEST);
    let mut zones = Zones::new([set("unmanaged.org", RecordType::Cname, "loadbalancer2.com")]);
    registry.load().await.unwrap();
    registry.resync(&zones.0, &zones, true).await.unwrap();
    let mine = set("foo.org", RecordType::Cname, "loadbalancer1.com");
    zones.create(&registry, [mine.clone()]).await;

    let four = |record: &Value| json!({ "dnsname": record["dnsname"], "owner": record["owner"], "target": record["target"], "type": record["type"] });
    let shown: Vec<Value> = records(&kube, OBJECT).iter().map(four).collect();
    let expected = [
        json!({ "dnsname": "foo.org", "owner": "external-dns-1", "target": "loadbalancer1.com", "type": "CNAME" }),
        json!({ "dnsname": "unmanaged.org", "owner": "", "target": "loadbalancer2.com", "type": "CNAME" }),
    ];
    assert_eq!(shown, expected);

    // Converged: one list of metadata, and no other request.
    registry.load().await.unwrap();
    registry.resync(&zones.0, &zones, true).await.unwrap();
    let before = cluster.calls().total();
    registry.load().await.unwrap();
    registry.resync(&zones.0, &zones, true).await.unwrap();
    assert_eq!(cluster.calls().total() - before, 1, "{:?}", cluster.calls().all());

    // What others keep at the object stays; what they change in the list counts.
    let text = kube.get(OBJECT).expect_success()["data"]["records"].as_str().unwrap().to_owned();
    let handed = text.replace("\"external-dns-1\"", "\"somebody\"");
    let patch = json!({ "metadata": { "labels": { "team": "dns" } }, "data": { "records": handed, "note": "kept" } });
    kube.patch(OBJECT, &patch).expect_success();
    zones.create(&registry, [set("new.org", RecordType::A, "192.0.2.1")]).await;
    assert!(!zones.is_ours(&registry, &mine.key), "an owner changed by hand is respected");
    let object = kube.get(OBJECT).expect_success();
    assert_eq!((&object["data"]["note"], &object["metadata"]["labels"]["team"]), (&json!("kept"), &json!("dns")));
    assert_eq!(records(&kube, OBJECT).len(), 3);

    // An object that is gone takes the claims along.
    kube.delete(OBJECT).expect_success();
    registry.load().await.unwrap();
    assert!(!zones.is_ours(&registry, &set("new.org", RecordType::A, "192.0.2.1").key));
}

#[tokio::test(flavor = "multi_thread")]
async fn writers_that_meet_lose_nothing() {
    require!(KubeApi::TOOLS);
    let kube = KubeApi::start();
    let cluster = cluster(&kube, User::Admin).await;
    // Versions are checked by the server itself.
    let store = ConfigMapDocuments::new(&cluster, "default");
    let document = |text: &str| Document { notes: BTreeMap::new(), text: text.to_owned() };
    let first = store.create("plain", &document("1")).await.unwrap();
    assert_eq!(store.create("plain", &document("2")).await.unwrap_err().kind, ErrorKind::Conflict);
    let second = store.replace("plain", &first, &document("2")).await.unwrap();
    assert_eq!(store.replace("plain", &first, &document("3")).await.unwrap_err().kind, ErrorKind::Conflict);
    assert_eq!(store.read("plain").await.unwrap(), Some((second.clone(), document("2"))));
    kube.delete(&format!("{OBJECTS}/plain")).expect_success();
    assert_eq!(store.replace("plain", &second, &document("3")).await.unwrap_err().kind, ErrorKind::Conflict);

    // Four processes of one owner at once, in small objects that split on the way.
    let writers = (0..4).map(|writer| {
        let cluster = cluster.clone();
        async move {
            let registry = registry(&cluster, 1_000);
            let mut zones = Zones::new([]);
            registry.load().await.unwrap();
            for number in 0..5 {
                let name = format!("w{writer}-n{number}.org");
                let group = Group::of(
                    Step::record(Change::Create { to: set(&name, RecordType::A, "192.0.2.1") }, None),
                    vec![],
                );
                // A writer that loses eight times in a row is asked to try again.
                let ready = loop {
                    if let Ok(group) = registry.prepare(&zones.0, vec![group.clone()]).await.remove(0) {
                        break vec![group];
                    }
                };
                zones.1.extend(
                    ready.iter().flat_map(Group::changes).filter_map(Change::to).map(|to| (to.key.clone(), to.clone())),
                );
                let _ = registry.commit(&zones.0, &ready, &[Outcome::Applied]).await;
            }
            zones.1
        }
    });
    let all = futures::future::join_all(writers).await.into_iter().flatten();
    let zones = Zones::new(all.map(|(_, set)| set));
    let registry = registry(&cluster, 1_000);
    registry.load().await.unwrap();
    registry.resync(&zones.0, &zones, true).await.unwrap();
    assert_eq!(zones.1.len(), 20);
    for key in zones.1.keys() {
        assert!(zones.is_ours(&registry, key), "{key}");
    }
    let list = kube.get(OBJECTS).expect_success();
    let names: Vec<&str> =
        list["items"].as_array().unwrap().iter().filter_map(|item| item["metadata"]["name"].as_str()).collect();
    assert!(names.iter().filter(|name| name.starts_with("external-dns-1-registry")).count() > 1, "{names:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_rights_of_the_component_are_enough_and_needed() {
    require!(KubeApi::TOOLS);
    let kube = KubeApi::start();
    let cluster = cluster(&kube, User::Zonewright).await;
    let registry = registry(&cluster, LONGEST);
    let error = registry.load().await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Unauthorized);
    assert!(error.context.contains("the right to list ConfigMaps in namespace default is missing"), "{error}");

    kube.grant("reads", &json!([{ "apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list"] }]));
    kube.wait_until_may(User::Zonewright, "list", "", "configmaps");
    registry.load().await.unwrap();
    let mut zones = Zones::new([]);
    let error = registry.resync(&zones.0, &zones, true).await.unwrap_err();
    assert!(error.context.contains("the right to create ConfigMaps"), "{error}");

    kube.grant("writes", &json!([{ "apiGroups": [""], "resources": ["configmaps"], "verbs": ["create", "patch"] }]));
    kube.wait_until_may(User::Zonewright, "patch", "", "configmaps");
    registry.resync(&zones.0, &zones, true).await.unwrap();
    zones.create(&registry, [set("foo.org", RecordType::A, "192.0.2.1")]).await;
    assert_eq!(records(&kube, OBJECT).len(), 1);
}
