//! How far what is known of each kind can be trusted, and what is not known.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tokio::time::Instant;
use zonewright_core::endpoint::KindId;
use zonewright_core::source::{Evidence, KindState};

use super::{Index, SERVERS_OWN, has_servers_own};
use crate::evidence::KindTrust;
use crate::kind::Kind;
use crate::store::ObjectKey;
use crate::unread::has_labels;

impl Index {
    /// The trust in each kind at `now`.
    pub fn states(&self, now: Instant) -> BTreeMap<KindId, KindState> {
        let states = self.views.iter().map(|(kind, view)| (kind, self.state(*kind, view, now)));
        states.filter_map(|(kind, state)| Some((self.ids.get(kind)?.clone(), state))).collect()
    }

    fn state(&self, kind: Kind, view: &KindTrust, now: Instant) -> KindState {
        let mut state = view.state(self.store.len(kind), now);
        state.of_server = usize::from(has_servers_own(kind) && self.store.holds(kind, SERVERS_OWN.0, SERVERS_OWN.1));
        state.unreadable = self.unread.of_kind(kind).count();
        // The nameless one comes first.
        let nameless = self.unread.of_kind(kind).next().is_some_and(|key| key.name.is_empty());
        state.complete &= !nameless && (!self.unread.hides(kind) || has_labels(&self.roles, kind));
        state
    }

    /// The trust in everything at `now`.
    pub fn evidence(&self, now: Instant) -> Evidence {
        let mut resources: BTreeMap<Arc<str>, BTreeSet<KindId>> = BTreeMap::new();
        for role in self.roles.iter() {
            let kinds = || role.reads.keys().filter_map(|kind| self.ids.get(kind).cloned());
            for label in &role.labels {
                resources.entry(Arc::clone(label)).or_default().extend(kinds());
            }
        }
        let open = self.roles.iter().filter(|role| role.kind.is_polled()).map(|role| role.kind.id()).collect();
        Evidence { kinds: self.states(now), resources, open }
    }

    /// The names of the objects of a kind that mappers looked up, there or not.
    pub fn wanted(&self, kind: Kind) -> BTreeSet<Arc<str>> {
        self.readers.objects_read(kind)
    }

    /// The next moment after `now` at which the trust in a view changes by itself.
    pub fn next_expiry(&self, now: Instant) -> Option<Instant> {
        self.views.values().filter_map(|view| view.expiry(now)).min()
    }

    /// The kinds of which not everything was read, each with an object that is there and cannot be read, if that is why.
    pub fn unread(&self) -> impl Iterator<Item = (Kind, Option<&ObjectKey>)> {
        let views =
            self.views.iter().map(|(kind, view)| (*kind, view.is_complete(), self.unread.of_kind(*kind).next()));
        views
            .filter(|(_, complete, object)| !complete || object.is_some())
            .map(|(kind, complete, object)| (kind, object.filter(|_| complete)))
    }
}
