//! A controller at work, and the objects of one test.
//!
//! In: a lane, and the command line with the services of its providers. Out: namespaces, Secrets, Clusters and DNSRecords, written
//! and read as Gardener does.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use zonewright_testkit::KubeApi;
use zonewright_testkit::kube::User;

use super::accept::{self, OPERATION, PATIENCE, TIMESTAMP, accepted};
use super::seed::{CLUSTERS, Lane, OWN, path_of};
use crate::daemon::{CommandLine, Daemon, text};
use crate::{LATER, until};

/// Numbers namespaces.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// The finalizer of DNSRecords.
pub(super) const FINALIZER: &str = "extensions.gardener.cloud/dnsrecord";

/// The namespace of a shoot, and what runs there.
#[derive(Debug)]
pub(super) struct World {
    // In this order on drop: the controller ends before its objects are taken away.
    pub(super) controller: Option<Daemon>,
    pub(super) line: CommandLine,
    pub(super) namespace: String,
    pub(super) lane: Lane,
}

impl World {
    /// A shoot in a free class of the shared API server; the controller with these types is not started yet.
    #[track_caller]
    pub(super) fn new(types: &str) -> Self {
        Self::at_lane(Lane::shared(), types)
    }

    /// The same at an API server of its own.
    #[track_caller]
    pub(super) fn alone(types: &str) -> Self {
        Self::at_lane(Lane::own(), types)
    }

    #[track_caller]
    pub(super) fn at_lane(lane: Lane, types: &str) -> Self {
        let command = line(&lane, types);
        let world = Self { controller: None, line: command, namespace: String::new(), lane };
        let namespace = world.shoot();
        Self { namespace, ..world }
    }

    /// With further arguments.
    pub(super) fn arg(mut self, argument: &str) -> Self {
        self.line = self.line.arg(argument);
        self
    }

    pub(super) fn env(mut self, name: &str, value: &str) -> Self {
        self.line = self.line.env(name, value);
        self
    }

    pub(super) fn kube(&self) -> &KubeApi {
        &self.lane.kube
    }

    /// Starts the controller (again), and waits until it is ready.
    #[track_caller]
    pub(super) fn start(&mut self) {
        let controller = self.line.start();
        controller.ready();
        self.controller = Some(controller);
    }

    #[track_caller]
    pub(super) fn started(mut self) -> Self {
        self.start();
        self
    }

    #[track_caller]
    pub(super) fn daemon(&self) -> &Daemon {
        self.controller.as_ref().expect("the controller was started")
    }

    /// Kills the controller as a crash would.
    pub(super) fn kill(&mut self) {
        if let Some(mut controller) = self.controller.take() {
            controller.kill();
        }
    }

    /// The namespace of another shoot, with its Cluster.
    #[track_caller]
    pub(super) fn shoot(&self) -> String {
        let namespace = self.plain_shoot();
        self.cluster(&namespace, &json!({ "status": { "lastOperation": { "state": "Succeeded" } } }));
        namespace
    }

    /// The namespace of a shoot without a Cluster.
    #[track_caller]
    pub(super) fn plain_shoot(&self) -> String {
        let namespace = format!("shoot--e2e--{}", COUNT.fetch_add(1, Ordering::Relaxed));
        let labels = json!({ "gardener.cloud/role": "shoot" });
        let object = json!({ "metadata": { "name": namespace, "labels": labels } });
        self.kube().post("/api/v1/namespaces", &object).expect_success();
        namespace
    }

    /// Writes the Cluster of a shoot: `shoot` is the embedded object.
    #[track_caller]
    pub(super) fn cluster(&self, namespace: &str, shoot: &Value) {
        let mut shoot = shoot.clone();
        shoot["apiVersion"] = json!("core.gardener.cloud/v1beta1");
        shoot["kind"] = json!("Shoot");
        let spec = json!({ "cloudProfile": {}, "seed": {}, "shoot": shoot });
        let object = json!({
            "apiVersion": "extensions.gardener.cloud/v1alpha1", "kind": "Cluster", "metadata": { "name": namespace },
            "spec": spec,
        });
        self.kube().apply(&format!("{CLUSTERS}/{namespace}"), &object.to_string()).expect_success();
    }

    /// Writes a Secret of the shoot; the keys as they stand in it.
    #[track_caller]
    pub(super) fn secret(&self, name: &str, keys: &[(&str, &str)]) {
        self.secret_in(&self.namespace, name, keys);
    }

    #[track_caller]
    pub(super) fn secret_in(&self, namespace: &str, name: &str, keys: &[(&str, &str)]) {
        let data: serde_json::Map<String, Value> =
            keys.iter().map(|(key, value)| ((*key).to_owned(), json!(value))).collect();
        let path = format!("/api/v1/namespaces/{namespace}/secrets");
        let object = json!({ "metadata": { "name": name }, "type": "Opaque", "stringData": data });
        if self.kube().get(&format!("{path}/{name}")).status == 404 {
            self.kube().post(&path, &object).expect_success();
        } else {
            // As a whole: keys that are not there any more go.
            self.kube().put(&format!("{path}/{name}"), &object).expect_success();
        }
    }

    /// A DNSRecord of the shoot; `spec` over type, Secret `dns` and class.
    pub(super) fn record(&self, name: &str) -> Record<'_> {
        self.record_in(&self.namespace, name)
    }

    pub(super) fn record_in(&self, namespace: &str, name: &str) -> Record<'_> {
        Record { world: self, path: path_of(namespace, name), namespace: namespace.to_owned(), name: name.to_owned() }
    }
}

/// The controller of a lane.
fn line(lane: &Lane, types: &str) -> CommandLine {
    CommandLine::default()
        .arg("gardener")
        .arg(format!("--kubeconfig={}", text(&lane.kube.kubeconfig(User::Zonewright))))
        .arg(format!("--types={types}"))
        .arg(format!("--extension-classes={}", lane.class))
        .args(&["--leader-election=false", "--health-bind-address=127.0.0.1:0", "--metrics-bind-address=127.0.0.1:0"])
        .arg(format!("--heartbeat-namespace={OWN}"))
}

/// A DNSRecord by its place.
#[derive(Debug)]
pub(super) struct Record<'w> {
    pub(super) world: &'w World,
    pub(super) path: String,
    pub(super) namespace: String,
    pub(super) name: String,
}

impl Record<'_> {
    /// The object without status: type and Secret `dns`, class, and these fields of the spec; annotations as given.
    pub(super) fn object(&self, spec: &Value, annotations: &Value) -> Value {
        let mut whole = json!({ "secretRef": { "name": "dns", "namespace": self.namespace } });
        if self.world.lane.class != "shoot" {
            whole["class"] = json!(self.world.lane.class);
        }
        for (field, value) in spec.as_object().into_iter().flatten() {
            whole[field] = value.clone();
        }
        json!({
            "apiVersion": "extensions.gardener.cloud/v1alpha1", "kind": "DNSRecord",
            "metadata": { "name": self.name, "annotations": annotations }, "spec": whole,
        })
    }

    /// Creates it with these annotations and no request.
    #[track_caller]
    pub(super) fn put(&self, spec: &Value, annotations: &Value) -> &Self {
        let collection = self.path.rsplit_once('/').expect("a path of a collection and a name").0;
        self.world.kube().post(collection, &self.object(spec, annotations)).expect_success();
        self
    }

    /// Creates it as Gardener does, asking to be reconciled; the timestamp of the request.
    #[track_caller]
    pub(super) fn create(&self, spec: &Value) -> String {
        let asked = accept::now();
        self.put(spec, &json!({ OPERATION: "reconcile", TIMESTAMP: asked }));
        asked
    }

    /// Creates it and waits as Gardener does.
    #[track_caller]
    pub(super) fn created(&self, spec: &Value) -> &Self {
        let asked = self.create(spec);
        self.answers(&asked);
        self
    }

    /// Asks for an operation, with a change of the spec (`null` for none); the timestamp of the request.
    #[track_caller]
    pub(super) fn ask(&self, operation: &str, spec: &Value) -> String {
        let asked = accept::now();
        let mut change = json!({ "metadata": { "annotations": { OPERATION: operation, TIMESTAMP: asked } } });
        if !spec.is_null() {
            change["spec"] = spec.clone();
        }
        self.change(&change);
        asked
    }

    /// Has an object that is to go looked at without its pause; it may be gone by now.
    pub(super) fn hurry(&self) {
        let annotations = json!({ OPERATION: "reconcile", TIMESTAMP: accept::now() });
        let answer = self.world.kube().patch(&self.path, &json!({ "metadata": { "annotations": annotations } }));
        if answer.status != 404 {
            answer.expect_success();
        }
    }

    /// Asks and waits as Gardener does.
    #[track_caller]
    pub(super) fn does(&self, operation: &str, spec: &Value) -> &Self {
        let asked = self.ask(operation, spec);
        self.answers(&asked);
        self
    }

    #[track_caller]
    pub(super) fn change(&self, change: &Value) {
        self.world.kube().patch(&self.path, change).expect_success();
    }

    #[track_caller]
    pub(super) fn set_status(&self, status: &Value) {
        self.world.kube().patch_status(&self.path, status).expect_success();
    }

    #[track_caller]
    pub(super) fn get(&self) -> Value {
        self.world.kube().get(&self.path).expect_success()
    }

    #[track_caller]
    pub(super) fn status(&self) -> Value {
        self.get()["status"].clone()
    }

    /// Gardener's wait: the request is answered within its patience.
    #[track_caller]
    pub(super) fn answers(&self, asked: &str) {
        let done = zonewright_testkit::poll(PATIENCE, || accepted(&self.get(), asked).ok());
        assert!(done.is_some(), "{}: {:?}: {:#}", self.name, accepted(&self.get(), asked), self.get());
    }

    /// Waits for an error whose description holds these texts; its codes.
    #[track_caller]
    pub(super) fn fails(&self, texts: &[&str]) -> Vec<String> {
        let failed = zonewright_testkit::poll(LATER, || {
            let status = self.status();
            let (error, state) = (&status["lastError"], &status["lastOperation"]["state"]);
            let description = error["description"].as_str()?;
            let found = *state == "Error" && texts.iter().all(|text| description.contains(text));
            let codes = error["codes"].as_array().into_iter().flatten().filter_map(Value::as_str);
            found.then(|| codes.map(str::to_owned).collect())
        });
        failed.unwrap_or_else(|| panic!("no error with {texts:?} in {:#}", self.get()))
    }

    /// Waits until the status is like this.
    #[track_caller]
    pub(super) fn shows(&self, what: &str, holds: impl Fn(&Value) -> bool) -> Value {
        let shown = zonewright_testkit::poll(LATER, || Some(self.get()).filter(|object| holds(object)));
        shown.unwrap_or_else(|| panic!("{}: not {what}: {:#}", self.name, self.get()))
    }

    /// Waits for an Event on it with this reason, whose note holds this text.
    #[track_caller]
    pub(super) fn expect_event(&self, reason: &str, text: &str) {
        let path = format!("/apis/events.k8s.io/v1/namespaces/{}/events", self.namespace);
        let events = || -> Vec<Value> {
            let list = self.world.kube().get(&path).expect_success();
            let about = |event: &&Value| event["regarding"]["name"] == self.name.as_str();
            list["items"].as_array().into_iter().flatten().filter(about).cloned().collect()
        };
        let fits =
            |event: &Value| event["reason"] == reason && event["note"].as_str().is_some_and(|note| note.contains(text));
        let found = zonewright_testkit::poll(LATER, || events().iter().any(fits).then_some(()));
        assert!(found.is_some(), "no event {reason} with {text:?} on {}: {:#?}", self.name, events());
    }

    /// Deletes as Gardener does, and does not wait.
    #[track_caller]
    pub(super) fn delete(&self) {
        let annotations = json!({ "confirmation.gardener.cloud/deletion": "true", TIMESTAMP: accept::now() });
        self.change(&json!({ "metadata": { "annotations": annotations } }));
        self.world.kube().delete(&self.path).expect_success();
    }

    /// Waits until it is gone.
    #[track_caller]
    pub(super) fn is_gone(&self) {
        let gone =
            zonewright_testkit::poll(PATIENCE, || (self.world.kube().get(&self.path).status == 404).then_some(()));
        assert!(gone.is_some(), "{} is still there: {:#}", self.name, self.get());
    }

    #[track_caller]
    pub(super) fn deleted(&self) {
        self.delete();
        self.is_gone();
    }
}

/// The state of the last operation.
pub(super) fn state(object: &Value) -> &str {
    object["status"]["lastOperation"]["state"].as_str().unwrap_or_default()
}

/// The type of the last operation.
pub(super) fn operation(object: &Value) -> &str {
    object["status"]["lastOperation"]["type"].as_str().unwrap_or_default()
}

/// Waits until the controller has seen everything so far: an object that is created now was served.
#[track_caller]
pub(super) fn everything_is_seen(world: &World, spec: &Value) {
    let name = format!("sentinel-{}", COUNT.fetch_add(1, Ordering::Relaxed));
    let sentinel = world.record(&name);
    sentinel.created(spec);
    until("the sentinel", LATER, || state(&sentinel.get()) == "Succeeded");
    sentinel.deleted();
}

impl Record<'_> {
    /// Asks for an operation, unless it is gone by now.
    pub(super) fn ask_if_there(&self, operation: &str) {
        let change = json!({ "metadata": { "annotations": { OPERATION: operation, TIMESTAMP: accept::now() } } });
        let _ = self.world.kube().patch(&self.path, &change);
    }
}
