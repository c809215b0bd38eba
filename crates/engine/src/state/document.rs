//! The document that survives restarts: what is kept of each zone, and how an earlier process's is taken over.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use zonewright_core::clock::Timestamp;
use zonewright_core::error::{Error, ErrorKind, Result};
use zonewright_core::guard::{Approval, BrakeScope, HeldPlan, JointPlan, Window, hash};
use zonewright_core::record::RecordKey;
use zonewright_core::store::StateStore;

use crate::known_kinds::KnownKinds;
use crate::pins::Pin;

/// What is kept of one zone.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ZoneState {
    #[serde(default)]
    pub(crate) window: Window,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) held: Option<HeldPlan>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) approvals: Vec<Approval>,
    /// Names that an undo set back.
    #[serde(rename = "holds", default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) pins: Vec<Pin>,
    /// When the zone came, where another of its name was served already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) came_beside: Option<Timestamp>,
    /// Records were made while nobody knew what was saved, also of approvals of their deletes.
    #[serde(skip)]
    pub(crate) made_blindly: bool,
}

impl ZoneState {
    /// Whether nothing of it matters any more: nothing was deleted or owned within the window, and nothing is held or approved.
    pub(crate) fn is_idle(&self, window: Duration, now: Timestamp) -> bool {
        let approved = self.approvals.iter().any(|approval| approval.until > now);
        self.window.is_over(window, now) && self.held.is_none() && self.pins.is_empty() && !approved
    }

    /// Deletes that approvals cover were done, or their records are gone: they are covered no more.
    pub(crate) fn spend<'a>(&mut self, keys: impl IntoIterator<Item = &'a RecordKey>) -> bool {
        let mut spent = false;
        for key in keys {
            for approval in &mut self.approvals {
                spent |= approval.spend(key);
            }
        }
        spent
    }

    /// A delete is about to be sent. Returns whether an approval covers it and did not know.
    pub(crate) fn send(&mut self, key: &RecordKey) -> bool {
        self.approvals.iter_mut().fold(false, |any, approval| any | approval.send(key))
    }

    /// A delete was not carried out. Returns whether it was known to be sent.
    pub(crate) fn not_done(&mut self, key: &RecordKey) -> bool {
        self.approvals.iter_mut().fold(false, |any, approval| any | approval.not_done(key))
    }
}

/// The document in the store.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StateDocument {
    /// Zones by their key as text.
    #[serde(default)]
    pub(crate) zones: BTreeMap<String, ZoneState>,
    /// What is known of the kinds that sources read.
    #[serde(flatten)]
    pub(crate) kinds: KnownKinds,
    /// Approvals that were taken from where the document is kept, and still stand there: each counts once.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(crate) taken: BTreeSet<String>,
}

/// The document of a store; `None` if there is none yet.
///
/// # Errors
/// As the store; [`ErrorKind::Invalid`] if what it holds is no state.
pub(crate) async fn read(store: &dyn StateStore) -> Result<Option<StateDocument>> {
    let Some(text) = store.load().await? else { return Ok(None) };
    let foreign = |e| {
        let text = format!("{}: what is saved there is no state", store.place());
        Error::new(ErrorKind::Invalid, "read state", text).caused_by(e)
    };
    serde_json::from_slice::<StateDocument>(&text).map(Some).map_err(foreign)
}

impl StateDocument {
    pub(crate) fn pins(&self) -> Vec<(String, Pin)> {
        let zones = self.zones.iter();
        zones.flat_map(|(zone, state)| state.pins.iter().map(|hold| (zone.clone(), hold.clone()))).collect()
    }

    /// Joins what an earlier process saved and what this one noted before it could read that.
    pub(crate) fn join(&mut self, earlier: Self) {
        for (zone, mut state) in earlier.zones {
            let own = self.zones.entry(zone).or_default();
            own.window.join(state.window);
            if std::mem::take(&mut own.made_blindly) {
                state.approvals.iter_mut().for_each(Approval::end);
            }
            own.approvals.extend(state.approvals);
            own.pins.extend(state.pins);
            own.held = own.held.take().or(state.held);
            own.came_beside = state.came_beside.or(own.came_beside);
        }
        self.kinds.join(earlier.kinds);
        self.taken.extend(earlier.taken);
    }

    /// Another process goes on with this document.
    pub(crate) fn take_over(&mut self, now: Timestamp, approval_ttl: Duration) {
        for zone in self.zones.values_mut() {
            zone.window.taken_over(now);
            for approval in &mut zone.approvals {
                approval.taken_over();
                approval.until = approval.until.min(now.plus(approval_ttl));
                // Only what looked so from the beginning is doubted by a new process for the same reason.
                approval.kinds.retain(|_, doubt| *doubt == 0);
            }
        }
    }
}

impl StateDocument {
    /// The plans that were held by a judgement over more than their zone, where there are several of a kind.
    pub(crate) fn joint(&self) -> Vec<JointPlan> {
        let mut scopes: BTreeMap<(BrakeScope, &str), Vec<(&String, &HeldPlan)>> = BTreeMap::new();
        for (zone, state) in &self.zones {
            let Some(held) = &state.held else { continue };
            let of = match held.scope {
                BrakeScope::Zone => continue,
                BrakeScope::Instance => zone.split_once('/').map_or(zone.as_str(), |(instance, _)| instance),
                BrakeScope::Process => "",
            };
            scopes.entry((held.scope, of)).or_default().push((zone, held));
        }
        let several = scopes.into_iter().filter(|(_, plans)| plans.len() > 1);
        let joined = several.map(|((scope, of), plans)| {
            let all = plans.iter().map(|(zone, held)| format!("{zone} {}", held.hash));
            let newest = plans.iter().max_by_key(|(_, held)| held.since).map(|(_, held)| held.reason.clone());
            JointPlan {
                hash: hash(of, all),
                scope,
                zones: plans.iter().map(|(zone, held)| ((*zone).clone(), held.held.len())).collect(),
                reason: newest.unwrap_or_default(),
            }
        });
        joined.collect()
    }
}
