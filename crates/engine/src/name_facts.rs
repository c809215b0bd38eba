//! What the pure stages ask about one name, answered from the context.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use zonewright_core::claim::Ownership;
use zonewright_core::clock::Timestamp;
use zonewright_core::contend::{ContentionFacts, PublishedRecord};
use zonewright_core::desired::{Asked, Desired};
use zonewright_core::endpoint::{Endpoint, KindId, Sharing, Unknown};
use zonewright_core::guard::{Approval, Digest};
use zonewright_core::name::DnsName;
use zonewright_core::plan::{OtherPrefixRequest, PlanFacts};
use zonewright_core::record::{RecordKey, RecordSet};
use zonewright_core::rtype::RecordType;
use zonewright_core::source::Evidence;

use crate::admit::Unwritable;
use crate::provider_instance::ProviderInstance;
use crate::state::State;
use crate::zone_handle::ZoneHandle;

/// The record sets at one name, and whose they are.
pub(crate) struct NameContentionFacts<'a> {
    pub(crate) published: &'a [RecordSet],
    pub(crate) ownership: HashMap<RecordKey, Ownership>,
    pub(crate) inherited: &'a HashSet<RecordKey>,
    pub(crate) first_reading: bool,
}

impl<'a> NameContentionFacts<'a> {
    pub(crate) fn new(
        instance: &ProviderInstance,
        handle: &ZoneHandle,
        published: &'a [RecordSet],
        inherited: &'a HashSet<RecordKey>,
        first_reading: bool,
    ) -> Self {
        let ownership =
            published.iter().map(|set| (set.key.clone(), instance.ownership(&handle.zone, &set.key))).collect();
        Self { published, ownership, inherited, first_reading }
    }
}

impl ContentionFacts for NameContentionFacts<'_> {
    fn ours(&self, key: &RecordKey) -> Option<PublishedRecord<'_>> {
        let set = self.published.iter().find(|set| set.key == *key)?;
        match self.ownership.get(key)? {
            Ownership::Ours(claim) => Some(PublishedRecord { set, claim: claim.as_ref() }),
            _ => None,
        }
    }

    fn published(&self, rtype: RecordType) -> Vec<PublishedRecord<'_>> {
        let of_type = self.published.iter().filter(|set| set.key.rtype == rtype);
        of_type.filter_map(|set| self.ours(&set.key)).collect()
    }

    fn may_inherit(&self, key: &RecordKey) -> bool {
        self.first_reading || self.inherited.contains(key)
    }
}

/// Everything else that the plan of one name rests on.
pub(crate) struct NamePlanFacts<'a> {
    pub(crate) instance: &'a ProviderInstance,
    pub(crate) handle: &'a ZoneHandle,
    pub(crate) name: &'a DnsName,
    pub(crate) asked: &'a Asked<'a>,
    /// The other zone of this one's name that what is asked for at the name goes to.
    pub(crate) elsewhere: Option<Arc<ZoneHandle>>,
    /// What is asked for and cannot be written.
    pub(crate) unmet: &'a [Unwritable],
    pub(crate) desired: &'a Desired,
    pub(crate) evidence: &'a Evidence,
    pub(crate) state: &'a State,
    pub(crate) grace: Duration,
    pub(crate) now: Timestamp,
    /// Objects that ask for one name are joined.
    pub(crate) joined: bool,
    /// The brake is not switched off.
    pub(crate) guarded: bool,
    /// All sets of a name stand in one room ([`Capability::one_kind`](zonewright_core::capability::Capability::one_kind)).
    pub(crate) one_kind: bool,
}

impl NamePlanFacts<'_> {
    /// Names those of which it is not known what they ask for under this label, if there are any.
    fn unknown(&self, resource: Option<&Arc<str>>) -> Option<KindId> {
        let name = |unknown: &Unknown| unknown.resource.clone().unwrap_or_else(|| Arc::from("objects without a label"));
        self.desired.unknown(resource, self.grace, self.now).map(name)
    }

    /// The doubt about kinds that an operator accepted for the delete of this record, by all approvals that cover it: each knows the doubt
    /// alone that was shown with its plan.
    fn accepted(&self, key: &RecordKey) -> BTreeSet<(KindId, u64)> {
        let speaks = |approval: &&Approval| !approval.kinds.is_empty() && approval.open.contains_key(key);
        self.state.look(&self.handle.label(), |state| {
            let mut speaking = state.approvals.iter().filter(speaks).peekable();
            if speaking.peek().is_none() {
                return BTreeSet::new();
            }
            let Some(set) = self.handle.view().find(key) else { return BTreeSet::new() };
            let digest = Digest::of(&set, self.ownership(key).claim());
            let covering = speaking.filter(|approval| approval.covers(key, &digest, self.now));
            covering.flat_map(|approval| approval.kinds.clone()).collect()
        })
    }

    fn doubtful(&self, resource: Option<&Arc<str>>) -> Vec<KindId> {
        let Some(resource) = resource else { return self.evidence.doubtful_unlabelled(self.evidence.kinds.keys()) };
        let kind = resource.split('/').next().unwrap_or_default();
        // A claim of a kind that no source reads is an orphan: there is nothing to wait for.
        let kinds = self.evidence.resources.get(kind).into_iter().flatten();
        // Where several objects make up one record, its label names but one of them; in an open kind any label may stand.
        let mut doubtful =
            if self.joined { self.evidence.doubtful_unlabelled(kinds) } else { self.evidence.doubtful(kinds) };
        doubtful.extend(self.evidence.doubtful_unlabelled(&self.evidence.open));
        doubtful
    }

    /// Whether the labels of those that ask for the name do not say whose each part of the record is.
    fn is_shared(&self) -> bool {
        self.joined || self.asked.endpoints.iter().any(|e| e.resource.is_none() || e.sharing == Sharing::Union)
    }
}

impl PlanFacts for NamePlanFacts<'_> {
    fn ownership(&self, key: &RecordKey) -> Ownership {
        self.instance.ownership(&self.handle.zone, key)
    }

    fn doubt(&self, resource: Option<&Arc<str>>) -> Vec<KindId> {
        self.doubtful(resource).into_iter().chain(self.unknown(resource)).collect()
    }

    fn unaccepted(&self, key: &RecordKey, mut doubt: Vec<KindId>) -> Vec<KindId> {
        if doubt.is_empty() {
            return doubt;
        }
        let shown = self.accepted(key);
        let doubted = |kind: &KindId| self.evidence.kinds.get(kind).filter(|state| state.fresh)?.doubted;
        doubt.retain(|kind| doubted(kind).is_none_or(|number| !shown.contains(&(kind.clone(), number))));
        doubt
    }

    fn doubt_of_claimants(&self) -> Vec<KindId> {
        let labels: BTreeSet<_> =
            self.asked.endpoints.iter().filter_map(|endpoint| endpoint.resource.as_ref()).collect();
        let unknown = labels.into_iter().filter_map(|label| self.unknown(Some(label)));
        let kinds = &self.asked.kinds;
        let doubtful =
            if self.is_shared() { self.evidence.doubtful_unlabelled(kinds) } else { self.evidence.doubtful(kinds) };
        doubtful.into_iter().chain(unknown).collect()
    }

    fn pending(&self, resource: Option<&Arc<str>>) -> Option<String> {
        let waiting = |since: Timestamp| since.plus(self.grace) > self.now;
        self.asked
            .pending
            .iter()
            .find(|(pending, since)| waiting(*since) && (resource.is_none() || pending.resource.as_ref() == resource))
            .map(|(pending, _)| pending.reason.clone())
    }

    fn other_prefix(&self) -> &[OtherPrefixRequest] {
        if self.guarded { &self.asked.other_prefix } else { &[] }
    }

    fn unmet(&self, key: &RecordKey, resource: Option<&Arc<str>>) -> bool {
        let asks = |endpoint: &&Endpoint| resource.is_none() || endpoint.resource.as_ref() == resource;
        if self.elsewhere.is_some() && self.asked.endpoints.iter().any(asks) {
            return true;
        }
        let takes_place = |wanted: &RecordKey| {
            let type_changes = wanted.rtype.excludes(key.rtype) || wanted.rtype.replaces(key.rtype);
            // In one room, sets of another kind of routing take its place as well, and types exclude each other under any identifier.
            let kind_changes = wanted.rtype == key.rtype && wanted.set_id.is_some() != key.set_id.is_some();
            if self.one_kind { type_changes || kind_changes } else { type_changes && wanted.set_id == key.set_id }
        };
        let replaces = |wanted: &Unwritable| {
            takes_place(&wanted.key) && resource.is_some() && wanted.resource.as_ref() == resource
        };
        self.unmet.iter().any(|wanted| wanted.key == *key || replaces(wanted))
    }

    fn is_proven_gone(&self, resource: Option<&Arc<str>>) -> bool {
        self.desired.is_proven_gone(self.name, resource)
    }
}
