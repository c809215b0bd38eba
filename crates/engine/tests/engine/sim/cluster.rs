//! A source whose objects and evidence the test sets.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use tokio::sync::Notify;
use zonewright_core::choice::Choice;
use zonewright_core::endpoint::{
    Endpoint, EndpointExtras, Extras, Mapped, ObjectPolicy, ObjectRef, Origin, OtherPrefix, Pending, Sharing, Targets,
    TypeMeta, Uid, Unknown,
};
use zonewright_core::record::SetId;
use zonewright_core::source::{
    Evidence, KindState, ObjectState, ObjectUpdate, PublishedNames, Review, Source, SourceErrors, Update,
};
use zonewright_core::{RecordData, RecordSet, Ttl};

use super::{name, set};

/// A source that holds what the test puts in.
pub(crate) struct Cluster {
    objects: Mutex<BTreeMap<String, (ObjectRef, Arc<Mapped>)>>,
    updates: Mutex<Vec<ObjectUpdate>>,
    state: Mutex<KindState>,
    /// The view of another kind that the mapping of Services reads, where there is one.
    nodes: Mutex<Option<KindState>>,
    changed: Notify,
    pub(crate) errors: Mutex<SourceErrors>,
    /// The last object that the slow pass showed.
    reviewed: Mutex<String>,
    /// How many objects were shown, in complete snapshots or by the slow pass.
    pub(crate) shown: AtomicUsize,
    /// The next change of an object is not reported.
    deaf: AtomicBool,
}

pub(crate) const SERVICES: &str = "services";

pub(crate) fn object(who: &str) -> ObjectRef {
    ObjectRef {
        types: TypeMeta::new("v1", "Service"),
        namespace: Arc::from("ns"),
        name: Arc::from(who),
        uid: Uid::from(&*format!("uid-{who}")),
    }
}

impl Cluster {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            objects: Mutex::default(),
            updates: Mutex::default(),
            state: Mutex::new(KindState { complete: true, fresh: true, settled: true, ..KindState::default() }),
            nodes: Mutex::default(),
            changed: Notify::new(),
            errors: Mutex::default(),
            reviewed: Mutex::default(),
            shown: AtomicUsize::new(0),
            deaf: AtomicBool::new(false),
        })
    }

    /// The next change of an object gets lost.
    pub(crate) fn lose_next(&self) {
        self.deaf.store(true, Ordering::SeqCst);
    }

    fn update(&self, who: &str, state: ObjectState) {
        if self.deaf.swap(false, Ordering::SeqCst) {
            return;
        }
        self.updates.lock().unwrap().push(ObjectUpdate { source: Arc::from("service"), object: object(who), state });
        self.changed.notify_one();
    }

    /// `lines` as [`set`]; `pending:NAME` is a name without targets; `policy:WORD` is the object's policy; `label:TEXT` its label
    /// in claims; `ttl:SECONDS` its TTL; `choice:NAMES` the instances that it names; `prop:KEY=VALUE` a property; `unknown` asks for something that is not known; `other:LINE` is asked for under an annotation prefix that is not in
    /// force.
    pub(crate) fn put(&self, who: &str, lines: &[&str]) {
        let label = lines.iter().find_map(|line| line.strip_prefix("label:")).map(str::to_owned);
        let label: Option<Arc<str>> = Some(Arc::from(label.unwrap_or_else(|| format!("service/ns/{who}"))));
        let created = who.bytes().map(i64::from).sum();
        let choice = lines.iter().find_map(|l| l.strip_prefix("choice:")).and_then(Choice::parse);
        let origin =
            Origin { source: Arc::from("service"), rank: 0, object: object(who), created: Some(created), choice };
        let origin = Arc::new(origin);
        let policy = lines.iter().find_map(|l| l.strip_prefix("policy:")).and_then(ObjectPolicy::parse);
        let set_id = lines.iter().find_map(|l| l.strip_prefix("set:")).and_then(SetId::new);
        let ttl = lines.iter().find_map(|l| l.strip_prefix("ttl:")?.parse().ok()).and_then(Ttl::from_secs);
        let stated = lines.iter().filter_map(|l| l.strip_prefix("prop:")?.split_once('='));
        let properties = stated.map(|(key, value)| (key.into(), value.into())).collect();
        let extras: Extras = EndpointExtras { set_id, properties, ..EndpointExtras::default() }.into();
        let mut mapped = Mapped { kinds: [Arc::from(SERVICES)].into(), ..Mapped::default() };
        let endpoint = |line: &str| {
            let RecordSet { key, data: RecordData::Records(records), .. } = set(line) else { unreachable!() };
            Endpoint {
                name: key.name,
                rtype: key.rtype,
                targets: Targets::Records(records),
                ttl,
                origin: origin.clone(),
                resource: label.clone(),
                sharing: Sharing::Holder,
                policy,
                extras: extras.clone(),
            }
        };
        let other: Vec<Endpoint> = lines.iter().filter_map(|l| l.strip_prefix("other:")).map(endpoint).collect();
        if !other.is_empty() {
            let prefix = Arc::from("external-dns.alpha.kubernetes.io/");
            let other = OtherPrefix { prefix, endpoints: other, pending: [].into(), object: object(who) };
            mapped.other_prefix = Some(Box::new(other));
        }
        for line in lines {
            if let Some(text) = line.strip_prefix("pending:") {
                mapped.pending.push(Pending {
                    name: name(text),
                    resource: label.clone(),
                    reason: "blank status".to_owned(),
                });
                continue;
            }
            let is_unknown = ["unknown", "unknown for now"].contains(line);
            if is_unknown {
                let (resource, reason) = (label.clone(), "a template failed".to_owned());
                mapped.unknown.push(Unknown { resource, reason, passing: *line != "unknown" });
            }
            let is_setting = |start: &&str| line.starts_with(*start);
            if !is_unknown
                && !["policy:", "set:", "prop:", "label:", "ttl:", "choice:", "other:"].iter().any(is_setting)
            {
                mapped.endpoints.push(endpoint(line));
            }
        }
        let mapped = Arc::new(mapped);
        self.objects.lock().unwrap().insert(who.to_owned(), (object(who), mapped.clone()));
        self.update(who, ObjectState::Present(mapped));
    }

    /// A DELETE event.
    pub(crate) fn delete(&self, who: &str) {
        self.objects.lock().unwrap().remove(who);
        self.update(who, ObjectState::Gone { tombstone: true });
    }

    /// The object is missing from a new list.
    pub(crate) fn vanish(&self, who: &str) {
        self.objects.lock().unwrap().remove(who);
        self.update(who, ObjectState::Gone { tombstone: false });
    }

    pub(crate) fn vanish_all(&self) {
        let all: Vec<String> = self.objects.lock().unwrap().keys().cloned().collect();
        for who in all {
            self.vanish(&who);
        }
    }

    /// Sets how far the view can be trusted.
    pub(crate) fn trust(&self, complete: bool, fresh: bool) {
        *self.state.lock().unwrap() = KindState { complete, fresh, settled: true, ..KindState::default() };
        self.changed.notify_one();
    }

    /// The view is doubted because it looks empty, and for nothing else; `number` is that of this doubt.
    pub(crate) fn doubt(&self, number: u64) {
        let state = KindState { fresh: true, settled: true, doubted: Some(number), ..KindState::default() };
        *self.state.lock().unwrap() = state;
        self.changed.notify_one();
    }

    /// From now on the mapping of Services reads another kind, whose view is doubted because it looks empty, or not.
    pub(crate) fn doubt_nodes(&self, number: Option<u64>) {
        let state = KindState { fresh: true, settled: true, complete: number.is_none(), ..KindState::default() };
        *self.nodes.lock().unwrap() = Some(KindState { doubted: number, ..state });
        self.changed.notify_one();
    }

    /// From now on the mapping of Services reads another kind, of which there are so many objects.
    pub(crate) fn nodes(&self, objects: usize) {
        let state = KindState { complete: true, fresh: true, settled: true, objects, ..KindState::default() };
        *self.nodes.lock().unwrap() = Some(state);
        self.changed.notify_one();
    }

    /// Whether there are objects that cannot be read.
    pub(crate) fn spoil(&self, unreadable: bool) {
        self.state.lock().unwrap().unreadable = usize::from(unreadable);
        self.changed.notify_one();
    }

    pub(crate) fn unsettle(&self) {
        *self.state.lock().unwrap() = KindState::default();
    }
}

#[async_trait]
impl Source for Cluster {
    async fn changed(&self) {
        self.changed.notified().await;
    }

    fn take(&self, everything: bool) -> Update {
        let updates = std::mem::take(&mut *self.updates.lock().unwrap());
        if !everything {
            return Update { complete: false, objects: updates };
        }
        // A process that begins reviews from the beginning.
        self.reviewed.lock().unwrap().clear();
        // Tombstones are reported even with a complete snapshot, before it.
        let gone = updates.into_iter().filter(|u| matches!(u.state, ObjectState::Gone { .. }));
        let objects = self.objects.lock().unwrap();
        self.shown.fetch_add(objects.len(), Ordering::SeqCst);
        let present = objects.values().map(|(object, mapped)| ObjectUpdate {
            source: Arc::from("service"),
            object: object.clone(),
            state: ObjectState::Present(mapped.clone()),
        });
        Update {
            complete: true,
            objects: gone.filter(|u| !objects.contains_key(&*u.object.name)).chain(present).collect(),
        }
    }

    fn review(&self, most: usize) -> Review {
        let objects = self.objects.lock().unwrap();
        let mut at = self.reviewed.lock().unwrap();
        let rest = objects.iter().filter(|(who, _)| **who > *at);
        let part: Vec<_> = rest.take(most.max(1)).collect();
        let last = part.len() < most.max(1) || objects.keys().next_back() == part.last().map(|(who, _)| *who);
        *at = part.last().filter(|_| !last).map(|(who, _)| (*who).clone()).unwrap_or_default();
        self.shown.fetch_add(part.len(), Ordering::SeqCst);
        let present = part.into_iter().map(|(_, (object, mapped))| ObjectUpdate {
            source: Arc::from("service"),
            object: object.clone(),
            state: ObjectState::Present(mapped.clone()),
        });
        Review { objects: present.collect(), last }
    }

    fn use_published(&self, _: Arc<dyn PublishedNames>) {}

    fn published_read(&self) -> bool {
        false
    }

    fn consider(&self, _: &zonewright_core::explain::Subject) -> Vec<zonewright_core::explain::Consideration> {
        Vec::new()
    }

    fn errors(&self) -> SourceErrors {
        self.errors.lock().unwrap().clone()
    }

    fn evidence(&self) -> Evidence {
        let kind: Arc<str> = Arc::from(SERVICES);
        let state = *self.state.lock().unwrap();
        let objects = self.objects.lock().unwrap().len();
        let nodes = (*self.nodes.lock().unwrap()).map(|state| (Arc::from("nodes"), state));
        let kinds: BTreeMap<Arc<str>, KindState> =
            [(kind, KindState { objects, ..state })].into_iter().chain(nodes).collect();
        Evidence {
            resources: BTreeMap::from([(Arc::from("service"), kinds.keys().cloned().collect())]),
            kinds,
            open: BTreeSet::new(),
        }
    }
}
