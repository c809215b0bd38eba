//! The model of a cluster: which objects there are, and what its view shows of them.
//!
//! In: what happens to objects and to watches. Out: a source for each daemon process. The view may lag (a lost watch), or
//! show less than there is (an empty answer), and says so, or lies.

mod feed;
mod sight;
mod spec;

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::sync::Notify;
use tokio::time::Instant;
use zonewright_core::endpoint::Mapped;
use zonewright_core::record::{Routing, SetId};
use zonewright_core::source::{Evidence, ObjectState};
use zonewright_core::{DnsName, RData, RecordKey, RecordType, Ttl};

use self::feed::{Feed, evidence};
use self::spec::{label, mapped, names_of};
use crate::names::data_of;

pub(crate) use self::sight::{Sees, Sight};
pub(crate) use self::spec::{Id, KINDS, Spec};

/// One request at a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ask {
    pub(crate) key: RecordKey,
    pub(crate) data: Vec<RData>,
    pub(crate) label: String,
    pub(crate) ttl: Option<Ttl>,
    pub(crate) has_policy: bool,
    pub(crate) routing: Routing,
}

/// A key that an object asked for once, and the instance that it named then.
#[derive(Debug)]
struct Former {
    id: Id,
    key: RecordKey,
    choice: Option<usize>,
}

#[derive(Debug, Clone, Copy)]
struct Trust {
    complete: bool,
    fresh: bool,
}

#[derive(Debug)]
struct Inner {
    /// What there is.
    truth: BTreeMap<Id, Spec>,
    /// What the view shows, and what that maps to.
    shown: BTreeMap<Id, Spec>,
    maps: BTreeMap<Id, Arc<Mapped>>,
    /// What the sources say of the kinds, but for the trust in them.
    evidence: Evidence,
    /// What was asked for at a name until some moment.
    past: HashMap<DnsName, VecDeque<(Instant, Vec<Former>)>>,
    trust: [Trust; 2],
    /// How often each kind has come into doubt.
    doubts: [u64; 2],
    /// When what is asked for at a name last changed, and when the trust did.
    changed: HashMap<DnsName, Instant>,
    trusted: Instant,
    pending: BTreeMap<(Id, DnsName), Instant>,
    /// Labels of objects whose DELETE event was seen, with the names that they asked for and do not ask for again.
    buried: BTreeSet<(String, DnsName)>,
    /// Labels of objects that were seen to go while it could not be told what they asked for: the proof is for all of theirs.
    buried_labels: BTreeSet<String>,
    /// When an object came back to a name that it was proven to be gone from.
    risen: BTreeMap<(String, DnsName), Instant>,
    /// When an object came back that was proven to be gone from all names.
    risen_labels: BTreeMap<String, Instant>,
    feeds: Vec<Weak<Feed>>,
}

/// A cluster.
#[derive(Debug)]
pub(crate) struct Cluster(Mutex<Inner>);

impl Inner {
    /// Shows what became of one object, and tells it.
    fn show(&mut self, id: Id, to: Option<&Spec>, tombstone: bool) {
        let now = Instant::now();
        let former = self.shown.get(&id).cloned();
        if former.as_ref() == to {
            return;
        }
        for name in former.iter().chain(to).flat_map(names_of) {
            self.changed.insert(name.clone(), now);
            let of = |(id, spec): (&Id, &Spec)| {
                let keys = spec.wants.iter().map(|(key, _)| key).filter(|key| key.name == *name);
                keys.map(|key| Former { id: *id, key: key.clone(), choice: spec.choice }).collect::<Vec<_>>()
            };
            let asks = self.shown.iter().flat_map(of).collect();
            let past = self.past.entry(name.clone()).or_default();
            past.push_back((now, asks));
            past.drain(..past.len().saturating_sub(64));
        }
        if former.as_ref().is_some_and(|spec| spec.unknown) || to.is_some_and(|spec| spec.unknown) {
            self.trusted = now;
        }
        self.pending.retain(|(who, name), _| *who != id || to.is_some_and(|spec| spec.pending.contains(name)));
        let state = if let Some(spec) = to {
            for name in &spec.pending {
                self.pending.entry((id, name.clone())).or_insert(now);
            }
            let everywhere = self.buried_labels.remove(&label(id));
            if everywhere {
                self.risen_labels.insert(label(id), now);
            }
            for name in names_of(spec) {
                let grave = (label(id), name.clone());
                if self.buried.remove(&grave) || everywhere {
                    self.risen.insert(grave, now);
                }
            }
            self.shown.insert(id, spec.clone());
            let map = mapped(id, spec);
            self.maps.insert(id, map.clone());
            ObjectState::Present(map)
        } else {
            self.shown.remove(&id);
            self.maps.remove(&id);
            if tombstone {
                if former.as_ref().is_some_and(|spec| spec.unknown) {
                    self.buried_labels.insert(label(id));
                }
                self.buried.extend(former.iter().flat_map(names_of).map(|name| (label(id), name.clone())));
            }
            ObjectState::Gone { tombstone }
        };
        self.feeds.retain(|feed| feed.strong_count() > 0);
        for feed in self.feeds.iter().filter_map(Weak::upgrade) {
            feed.push(id, state.clone());
        }
    }

    fn relist(&mut self, kind: usize) {
        let ids: BTreeSet<Id> =
            self.shown.keys().chain(self.truth.keys()).copied().filter(|id| id.kind == kind).collect();
        for id in ids {
            let spec = self.truth.get(&id).cloned();
            self.show(id, spec.as_ref(), false);
        }
    }

    fn trust(&mut self, kind: usize, trust: Trust) {
        self.trust[kind] = trust;
        self.trusted = Instant::now();
        for feed in self.feeds.iter().filter_map(Weak::upgrade) {
            feed.changed.notify_one();
        }
    }
}

impl Cluster {
    pub(crate) fn new() -> Arc<Self> {
        let whole = Trust { complete: true, fresh: true };
        Arc::new(Self(Mutex::new(Inner {
            truth: BTreeMap::new(),
            shown: BTreeMap::new(),
            maps: BTreeMap::new(),
            evidence: evidence(),
            past: HashMap::new(),
            trust: [whole; 2],
            doubts: [0; 2],
            changed: HashMap::new(),
            trusted: Instant::now(),
            pending: BTreeMap::new(),
            buried: BTreeSet::new(),
            buried_labels: BTreeSet::new(),
            risen_labels: BTreeMap::new(),
            risen: BTreeMap::new(),
            feeds: Vec::new(),
        })))
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A source for a new process that sees so much.
    pub(crate) fn feed(self: &Arc<Self>, sees: Sees) -> Arc<Feed> {
        let feed = Arc::new(Feed { cluster: self.clone(), sees, queue: Mutex::default(), changed: Notify::new() });
        self.lock().feeds.push(Arc::downgrade(&feed));
        feed
    }

    /// An object comes or changes.
    pub(crate) fn put(&self, id: Id, spec: &Spec) {
        let mut inner = self.lock();
        inner.truth.insert(id, spec.clone());
        if inner.trust[id.kind].fresh {
            inner.show(id, Some(spec), false);
        }
    }

    /// The first record that an object asks for, as it is published where sets are weighted or simple.
    pub(crate) fn first_key(&self, id: Id) -> Option<RecordKey> {
        let inner = self.lock();
        let spec = inner.truth.get(&id)?;
        let (key, _) = spec.wants.first()?;
        Some(RecordKey { set_id: key.set_id.clone().filter(|_| spec.weight.is_some()), ..key.clone() })
    }

    /// An object that asks for weighted sets asks for simple ones, and the other way round.
    pub(crate) fn reweigh(&self, id: Id) {
        let spec = self.lock().truth.get(&id).cloned();
        if let Some(spec) = spec {
            self.put(id, &spec.reweighed());
        }
    }

    /// An object is gone from a new list, and another one asks for the same sets, of the other kind.
    pub(crate) fn succeed(&self, id: Id, heir: Id) {
        let spec = self.lock().truth.get(&id).cloned();
        if let Some(spec) = spec {
            self.vanish(id);
            self.put(heir, &spec.reweighed());
        }
    }

    /// An object asks for one set, beside the first one of another object and of its kind.
    pub(crate) fn join(&self, id: Id, other: Id) {
        let joined = {
            let inner = self.lock();
            let spec = inner.truth.get(&other).filter(|_| id != other);
            let Some((spec, (key, data))) = spec.and_then(|spec| Some((spec, spec.wants.first()?))) else { return };
            let taken: Vec<&RecordKey> =
                inner.truth.values().flat_map(|spec| &spec.wants).map(|(key, _)| key).collect();
            let free = ["a", "b", "c"].iter().map(|id| RecordKey { set_id: SetId::new(id), ..key.clone() });
            let free = free.into_iter().find(|key| !taken.contains(&key));
            free.map(|key| Spec { wants: vec![(key, data.clone())], weight: spec.weight, ..Spec::default() })
        };
        if let Some(spec) = joined {
            self.put(id, &spec);
        }
    }

    /// The others that ask for a name of an object are gone from a new list.
    pub(crate) fn leave_alone(&self, id: Id) {
        let others: Vec<Id> = {
            let inner = self.lock();
            let Some(spec) = inner.truth.get(&id) else { return };
            let shares = |other: &Spec| names_of(other).any(|name| names_of(spec).any(|own| own == name));
            let shares = |(other, spec): (&Id, &Spec)| (*other != id && shares(spec)).then_some(*other);
            inner.truth.iter().filter_map(shares).collect()
        };
        for other in others {
            self.vanish(other);
        }
    }

    /// An object that asks for A records asks for AAAA records, and the other way round.
    pub(crate) fn turn(&self, id: Id) {
        let spec = self.lock().truth.get(&id).cloned();
        let Some(spec) = spec else { return };
        let mut wants: Vec<(RecordKey, Vec<RData>)> = Vec::new();
        for (key, data) in spec.wants {
            let rtype = match key.rtype {
                RecordType::A => RecordType::Aaaa,
                RecordType::Aaaa => RecordType::A,
                other => other,
            };
            let data = if rtype == key.rtype { data } else { vec![data_of(1, id.number, rtype)] };
            wants.push((RecordKey { rtype, ..key }, data));
        }
        self.put(id, &Spec { wants, ..spec });
    }

    /// An object loses its addresses: its names are pending.
    pub(crate) fn blank(&self, id: Id) {
        let spec = self.lock().truth.get(&id).cloned();
        if let Some(spec) = spec {
            let mut pending: Vec<DnsName> = names_of(&spec).cloned().collect();
            pending.sort();
            pending.dedup();
            self.put(id, &Spec { wants: Vec::new(), pending, ..spec });
        }
    }

    /// An object goes: by a DELETE event where the watch is open.
    pub(crate) fn delete(&self, id: Id) {
        let mut inner = self.lock();
        inner.truth.remove(&id);
        if inner.trust[id.kind].fresh {
            inner.show(id, None, true);
        }
    }

    /// An object goes, and only a new list shows it.
    pub(crate) fn vanish(&self, id: Id) {
        let mut inner = self.lock();
        inner.truth.remove(&id);
        if inner.trust[id.kind].fresh {
            inner.show(id, None, false);
        }
    }

    /// The watch of a kind is lost: what happens is not shown.
    pub(crate) fn lose_watch(&self, kind: usize) {
        let complete = self.lock().trust[kind].complete;
        self.lock().trust(kind, Trust { complete, fresh: false });
    }

    /// The view of a kind shows nothing. It says so, unless it lies.
    pub(crate) fn empty(&self, kind: usize, lies: bool) {
        let mut inner = self.lock();
        if !lies {
            inner.doubts[kind] += 1;
        }
        inner.trust(kind, Trust { complete: lies, fresh: true });
        let ids: Vec<Id> = inner.shown.keys().copied().filter(|id| id.kind == kind).collect();
        for id in ids {
            inner.show(id, None, false);
        }
    }

    /// The watch is back: the view shows what there is.
    pub(crate) fn mend(&self, kind: usize) {
        let mut inner = self.lock();
        inner.relist(kind);
        inner.trust(kind, Trust { complete: true, fresh: true });
    }
}
