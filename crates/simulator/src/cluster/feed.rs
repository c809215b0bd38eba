//! The view of a cluster as a source of the engine: in, what became of objects; out, the updates since they were last taken,
//! or everything, and how far the view can be trusted.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use tokio::sync::Notify;
use zonewright_core::endpoint::ObjectRef;
use zonewright_core::explain::{Consideration, Subject};
use zonewright_core::source::{
    Evidence, KindState, ObjectState, ObjectUpdate, PublishedNames, Review, Source, SourceErrors, Update,
};

use super::sight::Sees;
use super::spec::{Id, KINDS, Spec, mapped, object};
use super::{Cluster, Trust};

/// The source of one process.
#[derive(Debug)]
pub(crate) struct Feed {
    pub(super) cluster: Arc<Cluster>,
    pub(super) sees: Sees,
    pub(super) queue: Mutex<Vec<ObjectUpdate>>,
    pub(super) changed: Notify,
}

impl Feed {
    pub(super) fn push(&self, id: Id, state: ObjectState) {
        let update = update(id, self.read(id, state));
        if self.sees.kinds[id.kind] {
            self.queue.lock().unwrap_or_else(PoisonError::into_inner).push(update);
            self.changed.notify_one();
        }
    }

    /// What the mapping makes of an object: nothing, where its annotations are not those that are read.
    fn read(&self, id: Id, state: ObjectState) -> ObjectState {
        match state {
            ObjectState::Present(_) if !self.sees.prefix => ObjectState::Present(mapped(id, &Spec::default())),
            state => state,
        }
    }
}

#[async_trait]
impl Source for Feed {
    async fn changed(&self) {
        self.changed.notified().await;
    }

    fn take(&self, everything: bool) -> Update {
        let inner = self.cluster.lock();
        let updates = std::mem::take(&mut *self.queue.lock().unwrap_or_else(PoisonError::into_inner));
        if !everything {
            return Update { complete: false, objects: updates };
        }
        let known: BTreeSet<ObjectRef> = inner.shown.keys().map(|id| object(*id)).collect();
        let read = |id: &&Id| self.sees.kinds[id.kind];
        let gone = updates
            .into_iter()
            .filter(|update| matches!(update.state, ObjectState::Gone { .. }) && !known.contains(&update.object));
        let present = inner.maps.iter().filter(|(id, _)| read(id));
        let present = present.map(|(id, map)| update(*id, self.read(*id, ObjectState::Present(map.clone()))));
        Update { complete: true, objects: gone.chain(present).collect() }
    }

    /// Everything at once: a world is small.
    fn review(&self, _: usize) -> Review {
        let inner = self.cluster.lock();
        let read = |id: &&Id| self.sees.kinds[id.kind];
        let present = inner.maps.iter().filter(|(id, _)| read(id));
        let present = present.map(|(id, map)| update(*id, self.read(*id, ObjectState::Present(map.clone()))));
        Review { objects: present.collect(), last: true }
    }

    fn errors(&self) -> SourceErrors {
        SourceErrors::default()
    }

    fn use_published(&self, _: Arc<dyn PublishedNames>) {}

    fn published_read(&self) -> bool {
        false
    }

    fn consider(&self, _: &Subject) -> Vec<Consideration> {
        Vec::new()
    }

    fn evidence(&self) -> Evidence {
        let inner = self.cluster.lock();
        let mut evidence = inner.evidence.clone();
        for (at, (_, kind)) in KINDS.iter().enumerate() {
            let Trust { complete, fresh } = inner.trust[at];
            let objects = inner.shown.keys().filter(|id| id.kind == at).count();
            if !self.sees.kinds[at] {
                evidence.kinds.remove(*kind);
                evidence.resources.remove(KINDS[at].0);
            } else if let Some(state) = evidence.kinds.get_mut(*kind) {
                let doubted = (!complete).then_some(inner.doubts[at]);
                *state = KindState { complete, fresh, settled: true, objects, doubted, ..KindState::default() };
            }
        }
        evidence
    }
}

pub(super) fn evidence() -> Evidence {
    let kinds = KINDS.iter().map(|(_, kind)| (Arc::from(*kind), KindState::default()));
    let resources = KINDS.iter().map(|(source, kind)| (Arc::from(*source), BTreeSet::from([Arc::from(*kind)])));
    Evidence { kinds: kinds.collect(), resources: resources.collect(), open: BTreeSet::new() }
}

pub(super) fn update(id: Id, state: ObjectState) -> ObjectUpdate {
    ObjectUpdate { source: Arc::from(KINDS[id.kind].0), object: object(id), state }
}
