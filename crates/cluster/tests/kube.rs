//! The client against a real API server.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise, in its helping functions too")]

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout};
use zonewright_cluster::{
    Cluster, ConfigMapJournal, ConfigMapStore, ConnectOptions, EventOptions, EventReporter, RingLimits, WatchEvent,
    WatchSpec, connect, watch,
};
use zonewright_core::ErrorKind;
use zonewright_core::endpoint::{Note, ObjectRef, Reporter, TypeMeta};
use zonewright_core::store::JournalStore;
use zonewright_core::store::StateStore;
use zonewright_testkit::kube::User;
use zonewright_testkit::{KubeApi, require};

const SERVICES: &str = "/api/v1/namespaces/default/services";
/// Longer than anything here takes on a busy machine.
const PATIENCE: Duration = Duration::from_mins(2);

#[derive(Debug, Clone, Deserialize)]
struct Service {
    metadata: Metadata,
    spec: Spec,
}

#[derive(Debug, Clone, Deserialize)]
struct Metadata {
    name: String,
}

#[derive(Debug, Clone, Deserialize)]
struct Spec {
    #[serde(rename = "type")]
    kind: String,
}

/// A watch of Services, and everything that it has reported.
struct Watching {
    events: mpsc::Receiver<WatchEvent<Service>>,
    reported: Vec<String>,
}

impl Watching {
    fn start(cluster: &Cluster, spec: WatchSpec) -> Self {
        let (sink, events) = mpsc::channel(100);
        let cluster = cluster.clone();
        tokio::spawn(async move { watch(&cluster, spec, sink).await });
        Self { events, reported: Vec::new() }
    }

    /// Waits until an object is known: by the watch, or by a list that was made anew because the watch broke, which then is
    /// read to its end.
    async fn until_known(&mut self, name: &str) {
        let (applied, listed) = (format!("applied {name} LoadBalancer"), format!("listed {name}"));
        let reported = self.until_any(&[&applied, &listed]).await;
        if reported.last() == Some(&listed) {
            self.until("open").await;
        }
    }

    /// Waits until this is reported; returns what was reported since the last call, this included.
    async fn until(&mut self, wanted: &str) -> Vec<String> {
        self.until_any(&[wanted]).await
    }

    async fn until_any(&mut self, wanted: &[&str]) -> Vec<String> {
        let reported = timeout(PATIENCE, async {
            loop {
                let word = word(&self.events.recv().await.expect("the watch runs"));
                self.reported.push(word.clone());
                if wanted.contains(&&*word) {
                    return std::mem::take(&mut self.reported);
                }
            }
        });
        reported.await.unwrap_or_else(|_| panic!("waited in vain for {wanted:?}, reported: {:?}", self.reported))
    }
}

fn word(event: &WatchEvent<Service>) -> String {
    match event {
        WatchEvent::Begin => "begin".to_owned(),
        WatchEvent::Listed(object) => format!("listed {}", object.metadata.name),
        WatchEvent::Done => "done".to_owned(),
        WatchEvent::Applied(object) => format!("applied {} {}", object.metadata.name, object.spec.kind),
        WatchEvent::Deleted(key) => format!("deleted {}/{}", key.namespace, key.name),
        WatchEvent::Unreadable { key, .. } => format!("unreadable {}", key.name),
        WatchEvent::Open => "open".to_owned(),
        WatchEvent::Lost { .. } => "lost".to_owned(),
        WatchEvent::Denied { .. } => "denied".to_owned(),
        WatchEvent::Forbidden { verb, .. } => format!("forbidden {verb}"),
        WatchEvent::OtherVersion { .. } => "other version".to_owned(),
    }
}

async fn cluster(kube: &KubeApi, user: User) -> Cluster {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let options =
        ConnectOptions { kubeconfig: Some(kube.kubeconfig(user)), qps: 100, burst: 100, ..ConnectOptions::default() };
    connect(&options).await.unwrap()
}

fn services() -> WatchSpec {
    WatchSpec::new("", "v1", "services", "Service", true)
}

fn service(name: &str) -> Value {
    json!({ "metadata": { "name": name, "labels": { "name": name } }, "spec": { "type": "LoadBalancer", "ports": [{ "port": 80 }] } })
}

fn without(reported: &[String], word: &str) -> Vec<String> {
    reported.iter().filter(|reported| *reported != word).cloned().collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn services_are_listed_changed_and_deleted() {
    require!(KubeApi::TOOLS);
    let kube = KubeApi::start();
    let cluster = cluster(&kube, User::Admin).await;
    kube.post(SERVICES, &service("web")).expect_success();
    let mut all = Watching::start(&cluster, services());
    assert_eq!(all.until("open").await, ["begin", "listed kubernetes", "listed web", "done", "open"]);
    assert_eq!(
        (cluster.calls().of("watch", "services"), cluster.calls().of("list", "services")),
        (1, 0),
        "a streaming list"
    );

    let named =
        WatchSpec { namespace: Some("default".to_owned()), label_selector: Some("name=web".to_owned()), ..services() };
    let mut selected = Watching::start(&cluster, named);
    assert_eq!(selected.until("open").await, ["begin", "listed web", "done", "open"]);

    kube.post(SERVICES, &service("shop")).expect_success();
    kube.patch(&format!("{SERVICES}/web"), &json!({ "spec": { "type": "ClusterIP" } })).expect_success();
    kube.delete(&format!("{SERVICES}/web")).expect_success();
    let expected = ["applied shop LoadBalancer", "applied web ClusterIP", "deleted default/web"];
    assert_eq!(all.until("deleted default/web").await, expected);
    assert_eq!(selected.until("deleted default/web").await, expected[1..]);

    let mut unknown =
        Watching::start(&cluster, WatchSpec::new("gateway.networking.k8s.io", "v1", "httproutes", "HTTPRoute", true));
    assert_eq!(unknown.until("denied").await, ["denied"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_outlives_the_api_server() {
    require!(KubeApi::TOOLS);
    let mut kube = KubeApi::start_apart();
    let cluster = cluster(&kube, User::Admin).await;
    kube.post(SERVICES, &service("web")).expect_success();
    let mut watching = Watching::start(&cluster, services());
    watching.until("open").await;

    // Killed and started: the watch goes on where it broke.
    kube.kill_api();
    assert_eq!(watching.until("lost").await, ["lost"]);
    kube.start_api();
    let ready = Instant::now();
    assert_eq!(without(&watching.until("open").await, "lost"), ["open"]);
    println!("open {:?} after the API server was ready again", ready.elapsed());
    kube.delete(&format!("{SERVICES}/web")).expect_success();
    assert_eq!(watching.until("deleted default/web").await, ["deleted default/web"]);

    // Ended in order, which closes watches cleanly: lost all the same.
    kube.stop_api();
    assert_eq!(watching.until("lost").await, ["lost"]);
    kube.start_api();
    assert_eq!(without(&watching.until("open").await, "lost"), ["open"]);

    // Its version compacted away: listed again.
    kube.post("/api/v1/namespaces/default/configmaps", &json!({ "metadata": { "name": "newer" } })).expect_success();
    kube.expire_versions();
    // A server that is still starting may open the watch before it sees that the version is gone.
    watching.until("begin").await;
    assert_eq!(watching.until("open").await, ["listed kubernetes", "done", "open"]);

    // Everything gone: an empty list, and no tombstone.
    kube.post(SERVICES, &service("gone")).expect_success();
    watching.until_known("gone").await;
    kube.wipe_and_restart();
    // The new server makes its own Service at a moment of its choice.
    let reported = without(&without(&watching.until("open").await, "lost"), "listed kubernetes");
    assert_eq!(reported, ["begin", "done", "open"]);
    kube.post(SERVICES, &service("new")).expect_success();
    let reported = watching.until_any(&["applied new LoadBalancer", "listed new"]).await;
    assert!(!reported.iter().any(|word| word.starts_with("deleted")), "{reported:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_frozen_api_server_is_noticed() {
    require!(KubeApi::TOOLS);
    let kube = KubeApi::start();
    let cluster = cluster(&kube, User::Admin).await;
    let mut watching = Watching::start(&cluster, services());
    watching.until("open").await;
    kube.pause();
    let frozen = Instant::now();
    assert_eq!(watching.until("lost").await, ["lost"]);
    println!("lost {:?} after the API server froze", frozen.elapsed());
    assert!(frozen.elapsed() < Duration::from_secs(40), "{:?}", frozen.elapsed());
    kube.resume();
    assert_eq!(without(&watching.until("open").await, "lost"), ["open"]);
    kube.post(SERVICES, &service("web")).expect_success();
    watching.until("applied web LoadBalancer").await;
}

fn note(reason: &'static str, message: &str) -> Note {
    let object = ObjectRef {
        types: TypeMeta::new("v1", "Service"),
        namespace: "default".into(),
        name: "web".into(),
        uid: "b7c1a5c4-0000-4000-8000-000000000001".into(),
    };
    Note::warning(&object, reason, message)
}

/// The notes and counts of the events in `default`, sorted.
fn posted(kube: &KubeApi) -> Vec<(String, i64)> {
    let list = kube.get("/apis/events.k8s.io/v1/namespaces/default/events").expect_success();
    let ours = list["items"].as_array().unwrap().iter().filter(|event| event["reportingController"] == "zonewright");
    let mut posted: Vec<_> = ours
        .map(|event| (event["note"].as_str().unwrap().to_owned(), event["series"]["count"].as_i64().unwrap_or(1)))
        .collect();
    posted.sort();
    posted
}

async fn post(cluster: &Cluster, dry_run: bool, notes: &[Note]) {
    let (reporter, poster) = EventReporter::new(cluster, EventOptions { dry_run, instance: "zonewright-0".to_owned() });
    for note in notes {
        reporter.report(note);
    }
    poster.run(std::future::ready(())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rights_are_used_as_far_as_they_go() {
    require!(KubeApi::TOOLS);
    let kube = KubeApi::start();
    let cluster = cluster(&kube, User::Zonewright).await;
    let store = ConfigMapStore::new(&cluster, "default", "My.Owner");

    // No right at all.
    assert_eq!(Watching::start(&cluster, services()).until("forbidden list").await, ["forbidden list"]);
    assert_eq!(store.load().await.unwrap_err().kind, ErrorKind::Unauthorized);
    post(&cluster, false, &[note("One", "not allowed")]).await;
    assert_eq!(posted(&kube), []);

    // `watch` is missing.
    kube.grant("lists", &json!([{ "apiGroups": [""], "resources": ["services"], "verbs": ["list"] }]));
    kube.wait_until_may(User::Zonewright, "list", "", "services");
    assert!(!kube.may(User::Zonewright, "watch", "", "services"));
    let reported = Watching::start(&cluster, services()).until("forbidden watch").await;
    assert_eq!(reported, ["begin", "listed kubernetes", "done", "forbidden watch"]);

    // Events and the store.
    let rules = json!([
        { "apiGroups": ["events.k8s.io"], "resources": ["events"], "verbs": ["create", "patch"] },
        { "apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "create", "update"] },
    ]);
    kube.grant("writes", &rules);
    kube.wait_until_may(User::Zonewright, "update", "", "configmaps");
    post(&cluster, true, &[note("One", "dry")]).await;
    assert_eq!(posted(&kube), []);
    // What is reported of an object at once is one event; reported again by another process it is a series.
    post(&cluster, false, &[note("One", "first"), note("One", "second"), note("One", "first")]).await;
    post(&cluster, false, &[note("One", "first")]).await;
    post(&cluster, false, &[note("One", "first"), note("One", "second")]).await;
    assert_eq!(posted(&kube), [("(1) first; (2) second".to_owned(), 2), ("first".to_owned(), 1)]);

    keeps_documents(&kube, &cluster, &store).await;
    keeps_a_journal(&kube, &cluster).await;
}

/// Everything in a journal, the newest object first, each in the order in which it was written.
async fn lines(journal: &ConfigMapJournal) -> Vec<String> {
    let mut lines = Vec::new();
    let mut visit = |piece: &[u8]| {
        lines.extend(String::from_utf8(piece.to_vec()).unwrap().lines().map(str::to_owned));
        ControlFlow::Continue(())
    };
    journal.read(&mut visit).await.unwrap();
    lines
}

async fn keeps_a_journal(kube: &KubeApi, cluster: &Cluster) {
    // Every object holds two pieces of this size.
    let limits = RingLimits { objects: 3, object_size: 60 };
    let open = || ConfigMapJournal::new(cluster, "default", "My.Owner", limits);
    let journal = open();
    assert!(lines(&journal).await.is_empty());
    let writes = || cluster.calls().of("update", "configmaps") + cluster.calls().of("create", "configmaps");
    let before = writes();
    for number in 0..9 {
        journal.append(&[format!("line {number}")]).await.unwrap();
    }
    assert_eq!(writes() - before, 9, "one write for each");
    let kept = ["line 8", "line 6", "line 7", "line 4", "line 5"];
    assert_eq!(lines(&journal).await, kept);
    assert_eq!(lines(&open()).await, kept, "by another process");

    // Two processes that do not know of each other lose nothing of each other's.
    let (one, two) = (open(), open());
    for number in 0..4 {
        let (first, second) = ([format!("one {number}")], [format!("two {number}")]);
        let (first, second) = futures::join!(one.append(&first), two.append(&second));
        first.and(second).unwrap();
    }
    let all = lines(&open()).await;
    assert!(all.contains(&"one 3".to_owned()) && all.contains(&"two 3".to_owned()), "{all:?}");
    assert!(all.iter().collect::<BTreeSet<_>>().len() == all.len(), "nothing twice: {all:?}");

    // Another client removes an object: what it held is gone, and no more than that.
    let path = |number: usize| {
        let name = ConfigMapStore::new(cluster, "default", "My.Owner").name().to_owned();
        format!("/api/v1/namespaces/default/configmaps/{name}-journal-{number}")
    };
    for number in 0..3 {
        kube.delete(&path(number)).expect_success();
    }
    one.append(&["after".to_owned()]).await.unwrap();
    assert_eq!(lines(&open()).await, ["after"]);
}

async fn keeps_documents(kube: &KubeApi, cluster: &Cluster, store: &ConfigMapStore) {
    assert_eq!(store.load().await.unwrap(), None);
    store.save(b"{\"a\":1}").await.unwrap();
    assert_eq!(store.load().await.unwrap().as_deref(), Some(b"{\"a\":1}".as_slice()));
    let path = format!("/api/v1/namespaces/default/configmaps/{}", store.name());
    kube.patch(&path, &json!({ "data": { "theirs": "kept" } })).expect_success();
    let others = (0..4).map(|number| {
        let (cluster, text) = (cluster.clone(), format!("{{\"n\":{number}}}"));
        async move { ConfigMapStore::new(&cluster, "default", "My.Owner").save(text.as_bytes()).await }
    });
    futures::future::try_join_all(others).await.unwrap();
    let found = kube.get(&path).expect_success();
    assert_eq!(found["data"]["theirs"], "kept");
    assert!(found["data"]["state.json"].as_str().unwrap().starts_with("{\"n\":"));
}
