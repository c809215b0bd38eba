//! One seed: an API server that is a value, a provider that follows a script, and one process after the other between them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout};
use zonewright_cluster::PatchTarget;
use zonewright_core::catalog::{ProviderEntry, Settings};
use zonewright_core::endpoint::Note;
use zonewright_core::provider::Provider;
use zonewright_core::shared::Shared;
use zonewright_registry::noop::NoopRegistry;

use super::super::*;
use crate::accounts::Backend;
use crate::filter::RecordFilter;
use crate::secret::SecretValues;
use crate::testing::{Fuse, Script, Upset};
use crate::types::{OPERATION, RecordName, SecretObject, SecretRef, TIMESTAMP};

/// Where the entry of the catalogue finds the scripts, by the id of the key.
#[derive(Debug, Default)]
struct Scripts(Mutex<BTreeMap<String, Arc<Script>>>);

const ENTRY: ProviderEntry = ProviderEntry::new("script", "a test", |config| {
    Box::pin(async move {
        let key = config.credentials["accessKeyID"].expose_secret().to_owned();
        let script = config.shared.get::<Scripts>().0.lock().unwrap().get(&key).cloned();
        script.map(|script| script as Arc<dyn Provider>).ok_or_else(|| Error::new(ErrorKind::Protocol, "build", "none"))
    })
});

/// An API server that holds objects as they are.
#[derive(Debug, Default)]
pub(super) struct Api {
    pub(super) objects: Mutex<BTreeMap<RecordName, Value>>,
    /// Whether the Secret is there.
    pub(super) secret: Mutex<bool>,
    pub(super) statuses: Mutex<usize>,
    /// How many objects were created.
    pub(super) created: AtomicUsize,
    /// Object and reason of each event.
    pub(super) events: Mutex<Vec<String>>,
    /// What they say.
    pub(super) messages: Mutex<Vec<String>>,
    /// What each write that was carried out said, as [`what`].
    pub(super) log: Mutex<Vec<String>>,
    /// Data of Secrets that are other than the rest, by name.
    pub(super) secrets: Mutex<BTreeMap<String, Value>>,
    pub(super) fuse: Arc<Fuse>,
}

fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else { return target.clone_from(patch) };
    if !target.is_object() {
        *target = json!({});
    }
    for (key, value) in patch {
        if value.is_null() {
            target.as_object_mut().unwrap().remove(key);
        } else {
            merge(&mut target[key], value);
        }
    }
}

/// What a patch says, in two or three words; one that may be carried out in any version of the object says so.
fn what(part: PatchTarget, patch: &Value) -> String {
    let (meta, status) = (&patch["metadata"], &patch["status"]);
    let locked = if meta["resourceVersion"].is_string() { "" } else { " in any version" };
    if part == PatchTarget::Object {
        let text = match &meta["finalizers"] {
            Value::Array(names) if !names.is_empty() => "finalizer",
            Value::Array(_) | Value::Null if meta.get("finalizers").is_some() => "no finalizer",
            _ => "no request",
        };
        return format!("{text}{locked}");
    }
    let last = &status["lastOperation"];
    match (last["type"].as_str(), last["state"].as_str()) {
        (Some(kind), Some(state)) => format!("{kind} {state}"),
        _ => "mark".to_owned(),
    }
}

impl Api {
    pub(super) fn read(&self, name: &RecordName) -> Option<DnsRecord> {
        let objects = self.objects.lock().unwrap();
        objects.get(name).map(|object| serde_json::from_value(object.clone()).unwrap())
    }

    pub(super) fn change(
        &self,
        name: &RecordName,
        part: PatchTarget,
        patch: &Value,
    ) -> zonewright_core::Result<DnsRecord> {
        let mut objects = self.objects.lock().unwrap();
        let gone = || Error::new(ErrorKind::NotFound, "change object", "gone");
        let object = objects.get_mut(name).ok_or_else(gone)?;
        let version = &object["metadata"]["resourceVersion"];
        if patch["metadata"].get("resourceVersion").is_some_and(|named| named != version) {
            return Err(Error::new(ErrorKind::Conflict, "change object", "another version"));
        }
        let next = version.as_str().unwrap_or("0").parse::<u64>().unwrap() + 1;
        let counted = |object: &Value| (object["spec"].clone(), object["metadata"]["deletionTimestamp"].is_string());
        let before = counted(object);
        let mut patch = patch.clone();
        patch.as_object_mut().unwrap().retain(|key, _| (key == "status") == (part == PatchTarget::Status));
        merge(object, &patch);
        object["metadata"]["resourceVersion"] = next.to_string().into();
        if counted(object) != before {
            object["metadata"]["generation"] = (object["metadata"]["generation"].as_i64().unwrap() + 1).into();
        }
        let record: DnsRecord = serde_json::from_value(object.clone()).unwrap();
        if record.is_deleting() && record.metadata.finalizers.is_empty() {
            objects.remove(name);
        }
        Ok(record)
    }
}

impl Reporter for Api {
    fn report(&self, note: &Note) {
        self.events.lock().unwrap().push(format!("{} {}", note.object.name, note.reason));
        self.messages.lock().unwrap().push(note.message.clone());
    }
}

#[async_trait]
impl Objects for Api {
    async fn record(&self, name: &RecordName) -> zonewright_core::Result<Option<DnsRecord>> {
        self.fuse.call().await;
        planned(self.fuse.upset("read object").await)?;
        Ok(self.read(name))
    }

    async fn secret(&self, secret: &SecretRef) -> zonewright_core::Result<Option<SecretValues>> {
        self.fuse.call().await;
        planned(self.fuse.upset("read Secret").await)?;
        if !*self.secret.lock().unwrap() {
            return Ok(None);
        }
        let id = STANDARD.encode(&secret.name);
        let usual = json!({ "accessKeyID": id, "secretAccessKey": "a2V5" });
        let data = self.secrets.lock().unwrap().get(&secret.name).cloned().unwrap_or(usual);
        let secret: SecretObject = serde_json::from_value(json!({ "data": data })).unwrap();
        Ok(Some(SecretValues::of(&secret)))
    }

    async fn merge(&self, name: &RecordName, part: PatchTarget, patch: &Value) -> zonewright_core::Result<DnsRecord> {
        self.fuse.call().await;
        let what = what(part, patch);
        let upset = self.fuse.upset(&what).await;
        if let Some(Upset::Refused(_)) = upset {
            planned(upset)?;
        }
        let changed = self.change(name, part, patch);
        if changed.is_ok() {
            self.log.lock().unwrap().push(what);
        }
        if part == PatchTarget::Status {
            *self.statuses.lock().unwrap() += 1;
        }
        self.fuse.call().await;
        planned(upset)?;
        changed
    }
}

/// The error of a call that was upset.
fn planned(upset: Option<Upset>) -> zonewright_core::Result<()> {
    match upset {
        None => Ok(()),
        Some(Upset::Refused(kind)) => Err(Error::new(kind, "ask the API server", "as planned")),
        Some(_) => Err(Error::new(ErrorKind::Timeout, "ask the API server", "no answer")),
    }
}

/// An attempt that takes longer waits for ever: longer than reads are repeated, and shorter than a call may take.
const KILLED: Duration = Duration::from_secs(20);

/// One process after the other, on the same API server and provider.
pub(super) struct Seed {
    pub(super) api: Arc<Api>,
    pub(super) script: Arc<Script>,
    pub(super) reconciler: Arc<Reconciler>,
    pub(super) shared: Shared,
    /// Versions of objects that the watch has reported.
    pub(super) seen: Mutex<BTreeSet<(RecordName, String)>>,
}

impl Seed {
    pub(super) fn new(zones: &[&str]) -> Self {
        let script = Arc::new(Script::with_zones(zones));
        let api = Arc::new(Api { secret: Mutex::new(true), fuse: script.fuse.clone(), ..Api::default() });
        let shared = Shared::default();
        shared.get::<Scripts>().0.lock().unwrap().insert("dns".to_owned(), script.clone());
        let reconciler = Self::process(&api, &shared);
        Self { api, script, reconciler, shared, seen: Mutex::default() }
    }

    /// Another account, whose Secret has this name.
    pub(super) fn account(&self, secret: &str, zones: &[&str]) -> Arc<Script> {
        let script = Arc::new(Script::with_zones(zones));
        self.shared.get::<Scripts>().0.lock().unwrap().insert(secret.to_owned(), script.clone());
        script
    }

    pub(super) fn process(api: &Arc<Api>, shared: &Shared) -> Arc<Reconciler> {
        let backends = [Backend { kind: ProviderKind::Route53, entry: ENTRY }];
        Self::process_of(api, shared, &backends, (Settings::default(), 5))
    }

    /// A process that serves these types, with these flags and so many attempts at once for each account.
    pub(super) fn process_of(
        api: &Arc<Api>,
        shared: &Shared,
        backends: &[Backend],
        (settings, at_once): (Settings, usize),
    ) -> Arc<Reconciler> {
        let types: Vec<String> = backends.iter().map(|backend| backend.kind.as_str().to_owned()).collect();
        let scope = RecordFilter::new(&[], &types, false);
        Arc::new(Reconciler {
            objects: api.clone(),
            accounts: ProviderAccounts::new(backends, settings, shared.clone(), Arc::default()),
            registry: Arc::new(NoopRegistry),
            world: Arc::new(Mutex::new(ClusterState::new(scope, at_once))),
            tally: ControllerMetrics::default(),
            reporter: api.clone(),
        })
    }

    /// The process is killed, and started again: everything is listed.
    pub(super) fn restart(&mut self) {
        self.script.fuse.set(None);
        self.seen.lock().unwrap().clear();
        self.reconciler = Self::process(&self.api, &self.shared);
        self.deliver_all();
    }

    fn deliver_all(&self) {
        let names: Vec<RecordName> = self.api.objects.lock().unwrap().keys().cloned().collect();
        for name in names {
            self.deliver(&name);
        }
    }

    /// The watch reports an object as it is.
    fn deliver(&self, name: &RecordName) {
        match self.api.read(name) {
            Some(record) => {
                let version = record.metadata.resource_version.clone();
                if self.seen.lock().unwrap().insert((name.clone(), version)) {
                    self.reconciler.world().record(record);
                }
            }
            None => self.reconciler.world().gone(name),
        }
    }

    pub(super) fn name(text: &str) -> RecordName {
        RecordName { namespace: "ns".to_owned(), name: text.to_owned() }
    }

    /// Creates a DNSRecord: `dns-name TYPE value...`, asked for by this operation.
    pub(super) fn create(&self, name: &str, line: &str, operation: &str) {
        self.create_with("dns", name, line, operation);
    }

    /// The same with this Secret.
    pub(super) fn create_with(&self, secret: &str, name: &str, line: &str, operation: &str) {
        let words: Vec<&str> = line.split(' ').collect();
        // No version comes twice, also where an object of this name was there before.
        let version = (self.api.created.fetch_add(1, Ordering::Relaxed) * 1_000 + 1).to_string();
        let object = json!({
            "metadata": {
                "name": name, "namespace": "ns", "uid": format!("{name}-{version}"), "generation": 1,
                "resourceVersion": version,
                "creationTimestamp": format!("2026-01-31T12:00:{:02}Z", self.api.objects.lock().unwrap().len()),
                "annotations": { OPERATION: operation },
            },
            "spec": {
                "type": "aws-route53", "secretRef": { "name": secret }, "name": words[0], "recordType": words[1],
                "values": &words[2..],
            },
        });
        self.api.objects.lock().unwrap().insert(Self::name(name), object);
        self.deliver(&Self::name(name));
    }

    pub(super) fn change(&self, name: &str, patch: &Value) {
        let _ = self.api.change(&Self::name(name), PatchTarget::Object, patch);
        self.deliver(&Self::name(name));
    }

    pub(super) fn asks(&self, name: &str, operation: &str, spec: &Value) {
        let annotations = json!({ OPERATION: operation, TIMESTAMP: Timestamp::now().to_string() });
        self.change(name, &json!({ "metadata": { "annotations": annotations }, "spec": spec }));
    }

    pub(super) fn deletes(&self, name: &str) {
        let found = self.api.read(&Self::name(name));
        if found.is_some_and(|record| record.metadata.finalizers.is_empty()) {
            self.api.objects.lock().unwrap().remove(&Self::name(name));
        }
        self.change(name, &json!({ "metadata": { "deletionTimestamp": "2026-01-31T13:00:00Z" } }));
    }

    /// Works on what is due until nothing is, or only pauses are left; `false` if the process was killed meanwhile.
    pub(super) async fn works(&self) -> bool {
        loop {
            let attempts = self.reconciler.world().queue.begin(Instant::now());
            if attempts.is_empty() {
                return true;
            }
            for attempt in attempts {
                let Ok(finished) = timeout(KILLED, self.reconciler.attempt(&attempt)).await else {
                    return false;
                };
                self.reconciler.world().queue.finish(&attempt, finished, Instant::now(), 0.0);
                self.deliver(&attempt.name);
            }
        }
    }

    /// Works, pauses included.
    pub(super) async fn settles(&self) {
        for _ in 0..50 {
            assert!(self.works().await, "nobody kills it");
            let Some(next) = self.reconciler.world().queue.next() else { return };
            tokio::time::sleep_until(next).await;
        }
        panic!("it does not settle: {:#?}", self.api.objects.lock().unwrap());
    }

    pub(super) fn status(&self, name: &str) -> Value {
        self.api.objects.lock().unwrap().get(&Self::name(name)).map_or(Value::Null, |object| object["status"].clone())
    }

    /// `type state`, and the codes of the error if there is one.
    pub(super) fn says(&self, name: &str) -> String {
        let status = self.status(name);
        let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
        let last = format!("{} {}", text(&status["lastOperation"]["type"]), text(&status["lastOperation"]["state"]));
        let codes = status["lastError"]["codes"].as_array().map(|codes| codes.iter().map(text).collect::<Vec<_>>());
        codes.map_or(last.clone(), |codes| format!("{last} {}", codes.join(",")))
    }

    pub(super) fn is_gone(&self, name: &str) -> bool {
        self.api.read(&Self::name(name)).is_none()
    }

    /// What Gardener waits for.
    pub(super) fn is_done(&self, name: &str) -> bool {
        let record = self.api.read(&Self::name(name)).unwrap();
        record.status.last_error.is_none()
            && record.status.observed_generation == record.metadata.generation
            && record.annotation(OPERATION).is_none()
            && record.last().is_some_and(|(_, state)| state == "Succeeded")
    }

    pub(super) fn statuses(&self) -> usize {
        *self.api.statuses.lock().unwrap()
    }
}
