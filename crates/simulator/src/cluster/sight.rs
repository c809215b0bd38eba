//! What one daemon can know of its cluster, by the flags it was started with.
//!
//! In: the view, which sources are read, and whether the annotations have the prefix that is read. Out: who asks for what, and how
//! far that can be trusted.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use zonewright_core::{DnsName, RData, RecordKey, RecordType};

use super::spec::{Id, KINDS, Spec, label, names_of, routing};
use super::{Ask, Cluster, Former, Inner};
use crate::names::{ADDRESSES, Rows};

/// What a daemon reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sees {
    /// Which kinds are among its sources.
    pub(crate) kinds: [bool; 2],
    /// Whether it reads the annotations that the objects have: else they ask for nothing.
    pub(crate) prefix: bool,
}

impl Sees {
    /// All sources, with the right prefix.
    pub(crate) const ALL: Self = Self { kinds: [true, true], prefix: true };

    fn reads(self, id: Id) -> bool {
        self.prefix && self.kinds[id.kind]
    }
}

/// A cluster, as far as one daemon sees it.
#[derive(Debug, Clone)]
pub(crate) struct Sight {
    pub(crate) cluster: Arc<Cluster>,
    pub(crate) sees: Sees,
    /// What set identifiers are to the provider: where it knows none, what is asked for with one is asked for as the plain set.
    pub(crate) rows: Rows,
    /// The instance for which it looks; what names another one is none of its business. `None` looks at everything.
    pub(crate) instance: Option<usize>,
}

fn kind_of(resource: &str) -> Option<usize> {
    let source = resource.split('/').next().unwrap_or_default();
    KINDS.iter().position(|(known, _)| *known == source)
}

impl Sight {
    fn shown<'a>(&self, inner: &'a Inner) -> impl Iterator<Item = (&'a Id, &'a Spec)> {
        let (sees, instance) = (self.sees, self.instance);
        let meant = move |spec: &Spec| instance.is_none_or(|instance| spec.is_for(instance));
        inner.shown.iter().filter(move |(id, spec)| sees.reads(**id) && meant(spec))
    }

    /// Who asks for a name under the set identifier of a key.
    pub(crate) fn asks_beside(&self, key: &RecordKey) -> Vec<Ask> {
        let mut asks = self.asks(&key.name);
        asks.retain(|ask| self.rows.same(&ask.key, key));
        asks
    }

    /// Who asks for a name.
    pub(crate) fn asks(&self, name: &DnsName) -> Vec<Ask> {
        let inner = self.cluster.lock();
        let of = |(id, spec): (&Id, &Spec)| {
            let label = label(*id);
            let (ttl, has_policy) = (spec.ttl, spec.policy.is_some());
            let wants = spec.wants.iter().filter(|(key, _)| key.name == *name);
            let ask = |(key, data): &(RecordKey, Vec<RData>)| {
                let (data, label, routing) = (data.clone(), label.clone(), routing(spec, key));
                let key = self.rows.held(key, !routing.is_simple());
                Ask { key, data, label, ttl, has_policy, routing }
            };
            wants.map(ask).collect::<Vec<_>>()
        };
        self.shown(&inner).flat_map(of).collect()
    }

    /// Whether what was asked for under one key, with or without a weight, may be in the row of another one.
    fn may_be_beside(&self, asked: &RecordKey, key: &RecordKey) -> bool {
        self.rows.same(&self.rows.held(asked, true), key)
    }

    /// Whether another type was asked for at a name not long ago: it may be on its way.
    pub(crate) fn asked_otherwise(&self, key: &RecordKey, time: Duration) -> bool {
        let inner = self.cluster.lock();
        let past = inner.past.get(&key.name);
        past.is_some_and(|past| {
            let other = |other: &RecordKey| self.may_be_beside(other, key) && other.rtype != key.rtype;
            past.iter().any(|(until, asks)| until.elapsed() < time && asks.iter().any(|ask| other(&ask.key)))
        })
    }

    /// Whether the object behind a label asked, at some time not long ago, for no address at the place of one, or how far what is asked
    /// for can be trusted changed since: a plan of that time may be on its way, which had nothing to put there.
    pub(crate) fn asked_for_no_address(&self, key: &RecordKey, resource: &str, time: Duration) -> bool {
        let inner = self.cluster.lock();
        let own = |ask: &&Former| {
            let meant = self.instance.is_none_or(|instance| ask.choice.is_none_or(|chosen| chosen == instance));
            meant && self.sees.reads(ask.id) && label(ask.id) == resource
        };
        let address = |ask: &Former| ADDRESSES.contains(&ask.key.rtype) && self.may_be_beside(&ask.key, key);
        let mut past = inner.past.get(&key.name).into_iter().flatten().filter(|(until, _)| until.elapsed() <= time);
        inner.trusted.elapsed() <= time || past.any(|(_, asks)| !asks.iter().filter(own).any(address))
    }

    /// Whether a type that excludes this one is asked for at its name, or was not long ago.
    pub(crate) fn asks_for_another_type(&self, key: &RecordKey, time: Duration) -> bool {
        let inner = self.cluster.lock();
        let mut shown = self.shown(&inner).flat_map(|(_, spec)| &spec.wants);
        let past = inner.past.get(&key.name).into_iter().flatten().filter(|(until, _)| until.elapsed() < time);
        let excludes = |other: &RecordKey| self.may_be_beside(other, key) && other.rtype.excludes(key.rtype);
        shown.any(|(other, _)| excludes(other)) || past.flat_map(|(_, asks)| asks).any(|ask| excludes(&ask.key))
    }

    /// The types that the object behind a label asks for at a name in place of this one, and this type itself where it is to be of the
    /// other kind; none if it also asks for this set.
    pub(crate) fn asks_instead(&self, key: &RecordKey, resource: Option<&str>) -> BTreeSet<RecordType> {
        let own: Vec<Ask> = self.asks_beside(key).into_iter().filter(|ask| Some(&*ask.label) == resource).collect();
        if own.iter().any(|ask| ask.key == *key) {
            return BTreeSet::new();
        }
        let instead = own.iter().filter(|ask| self.rows.takes_place(&ask.key, key));
        instead.map(|ask| ask.key.rtype).collect()
    }

    /// Every name that is shown or pending.
    pub(crate) fn names(&self) -> BTreeSet<DnsName> {
        self.shown(&self.cluster.lock()).flat_map(|(_, spec)| names_of(spec)).cloned().collect()
    }

    /// Every name that some object asks for without targets.
    pub(crate) fn pending(&self) -> BTreeSet<DnsName> {
        self.shown(&self.cluster.lock()).flat_map(|(_, spec)| spec.pending.clone()).collect()
    }

    /// Whether something cannot be told, so that removals wait.
    pub(crate) fn waits_for_anything(&self) -> bool {
        self.shown(&self.cluster.lock()).any(|(_, spec)| spec.unknown)
    }

    /// Whether what is asked for at a name, or how far it can be trusted, changed lately.
    pub(crate) fn changed_within(&self, name: &DnsName, time: Duration) -> bool {
        let inner = self.cluster.lock();
        inner.trusted.elapsed() <= time || inner.changed.get(name).is_some_and(|at| at.elapsed() <= time)
    }

    /// Whether a removal may not rest on the view of what this label stands for. A kind that is not read is in no doubt: nobody
    /// asks for it.
    pub(crate) fn is_doubtful(&self, resource: Option<&str>) -> bool {
        let inner = self.cluster.lock();
        let bad = |kind: usize| self.sees.kinds[kind] && !(inner.trust[kind].complete && inner.trust[kind].fresh);
        let unknown = |id: &Id, spec: &Spec| spec.unknown && resource == Some(&label(*id));
        if self.shown(&inner).any(|(id, spec)| unknown(id, spec)) {
            return true;
        }
        match resource {
            None => (0..KINDS.len()).any(bad),
            Some(resource) => kind_of(resource).is_some_and(bad),
        }
    }

    /// Whether what a label rests on is in doubt only because it looks empty: its watches are open.
    pub(crate) fn only_looks_empty(&self, resource: Option<&str>) -> bool {
        let inner = self.cluster.lock();
        let meant = resource.and_then(kind_of);
        let concerns = |kind: &usize| self.sees.kinds[*kind] && meant.is_none_or(|meant| meant == *kind);
        (0..KINDS.len()).filter(concerns).all(|kind| inner.trust[kind].fresh)
    }

    /// Whether what a label rests on is in no other doubt than when it had been in doubt so often. A doubt that came and went is none.
    pub(crate) fn is_same_doubt(&self, resource: Option<&str>, then: [u64; 2]) -> bool {
        let meant = resource.and_then(kind_of);
        let inner = self.cluster.lock();
        let pairs = inner.doubts.iter().zip(&then).enumerate();
        let concerns = |kind: usize| meant.is_none_or(|meant| meant == kind) && !inner.trust[kind].complete;
        pairs.filter(|(kind, _)| concerns(*kind)).all(|(_, (now, then))| now == then)
    }

    /// How often each kind has come into doubt.
    pub(crate) fn doubts(&self) -> [u64; 2] {
        self.cluster.lock().doubts
    }

    /// Whether the object behind a label has asked for a name without targets for less than `grace`.
    pub(crate) fn is_pending(&self, name: &DnsName, resource: Option<&str>, grace: Duration) -> bool {
        let inner = self.cluster.lock();
        inner.pending.iter().any(|((id, of), since)| {
            self.sees.reads(*id)
                && of == name
                && resource.is_none_or(|text| text == label(*id))
                && since.elapsed() < grace
        })
    }

    /// Whether a DELETE event proves that the object behind a label is gone from a name.
    pub(crate) fn is_buried(&self, name: &DnsName, resource: Option<&str>) -> bool {
        resource.is_some_and(|text| {
            let seen = kind_of(text).is_some_and(|kind| self.sees.kinds[kind]);
            let inner = self.cluster.lock();
            seen && (inner.buried_labels.contains(text) || inner.buried.contains(&(text.to_owned(), name.clone())))
        })
    }

    /// Whether a DELETE event proved that until not long ago: what was planned then may be on its way.
    pub(crate) fn was_buried(&self, name: &DnsName, resource: Option<&str>, time: Duration) -> bool {
        resource.is_some_and(|text| {
            let inner = self.cluster.lock();
            let at = [inner.risen.get(&(text.to_owned(), name.clone())), inner.risen_labels.get(text)];
            at.into_iter().flatten().any(|at| at.elapsed() < time)
        })
    }
}
