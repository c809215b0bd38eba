//! Which kinds former processes knew to have several objects, and how an empty list right after a start is doubted by that.
//!
//! In: how far the sources' views can be trusted, what was saved. Out: the same views, with such a kind doubted as a source doubts
//! one that becomes empty while it looks.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use tracing::warn;
use zonewright_core::source::{DOUBT_FROM, Evidence, KindState};

/// The number of this doubt: it is the same for every process that finds the kind so.
pub(crate) const FROM_THE_START: u64 = 0;

/// What is saved of the kinds that sources read, each by its text: `services`, `ingresses.networking.k8s.io`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct KnownKinds {
    /// Those of which objects were seen.
    #[serde(default)]
    pub(crate) seen: BTreeSet<String>,
    /// Those of which [`DOUBT_FROM`] or more objects were there when that was last known for certain.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    several: BTreeSet<String>,
}

impl KnownKinds {
    /// Joins what an earlier process saved.
    pub(crate) fn join(&mut self, earlier: Self) {
        self.seen.extend(earlier.seen);
        self.several.extend(earlier.several);
    }

    /// Takes in how many objects there are of each kind. Returns whether that is news.
    pub(crate) fn note(&mut self, evidence: &Evidence) -> bool {
        let mut news = false;
        for (kind, state) in &evidence.kinds {
            if state.objects > 0 && !self.seen.contains(&**kind) {
                news |= self.seen.insert(kind.to_string());
            }
            let known = self.several.contains(&**kind);
            if state.is_evidence() && known != (state.telling() >= DOUBT_FROM) {
                news |= if known { self.several.remove(&**kind) } else { self.several.insert(kind.to_string()) };
            }
        }
        news
    }

    /// These are known to be empty.
    fn end(&mut self, kinds: &BTreeSet<String>) -> bool {
        let before = self.several.len();
        self.several.retain(|kind| !kinds.contains(kind));
        self.several.len() != before
    }
}

/// Where what could be read only later is on its way to the plans.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Late {
    /// It was read, and no view was compared with it.
    Read,
    /// A view was compared with it, which the plans do not know yet.
    Compared,
    /// The plans know it, or there was none.
    #[default]
    Known,
}

/// The kinds of which this process has seen no object, and the one before several.
#[derive(Debug, Default)]
pub(crate) struct EmptiedKinds {
    kinds: BTreeSet<String>,
    late: Late,
    /// Those that are doubted for it, each reported once.
    doubted: BTreeSet<String>,
}

impl EmptiedKinds {
    /// As a process begins that goes on with what is known.
    pub(crate) fn of(known: &KnownKinds) -> Self {
        Self { kinds: known.several.clone(), ..Self::default() }
    }

    /// What an earlier process saved can be read only now.
    pub(crate) fn join(&mut self, earlier: &KnownKinds) {
        self.kinds.extend(earlier.several.iter().cloned());
        self.late = if self.kinds.is_empty() { Late::Known } else { Late::Read };
    }

    /// Whether plans go by a view that was not compared with what an earlier process saved.
    pub(crate) fn is_unknown_to_plans(&self) -> bool {
        self.late != Late::Known
    }

    /// The plans go by the view that was compared last.
    pub(crate) fn applied(&mut self) {
        if self.late == Late::Compared {
            self.late = Late::Known;
        }
    }

    /// Those that are doubted.
    pub(crate) fn doubted(&self) -> &BTreeSet<String> {
        &self.doubted
    }

    /// These are empty, and `known` to be so from now on. Returns whether that is news to what is saved.
    pub(crate) fn end(&mut self, ended: &BTreeSet<String>, known: &mut KnownKinds) -> bool {
        self.kinds.retain(|kind| !ended.contains(kind));
        self.doubted.retain(|kind| !ended.contains(kind));
        known.end(ended)
    }

    /// Nothing is doubted for it any more.
    pub(crate) fn believe(&mut self) {
        *self = Self::default();
    }

    /// Doubts those that are empty to the end of their list.
    pub(crate) fn doubt(&mut self, evidence: &mut Evidence) {
        if self.late == Late::Read {
            self.late = Late::Compared;
        }
        for (kind, state) in &mut evidence.kinds {
            if !state.complete || !self.kinds.contains(&**kind) {
                continue;
            }
            if state.telling() > 0 {
                self.kinds.remove(&**kind);
                self.doubted.remove(&**kind);
                continue;
            }
            *state = KindState { complete: false, doubted: Some(FROM_THE_START), ..*state };
            if self.doubted.insert(kind.to_string()) {
                warn!(
                    kind = &**kind,
                    "the list holds no object, and an earlier process saw {DOUBT_FROM} or more: nothing is deleted for that \
                     until one appears, or the deletes are approved"
                );
            }
        }
    }
}
