//! How many records an object and a namespace may have (`--max-records-per-object`, `--max-records-per-namespace`).
//!
//! In come the records that the objects of one namespace ask for, each with what is known of its publication; out goes which of
//! them wait. Pure. What must hold: a published record is never refused; what was let in once keeps its place as long as it is
//! asked for; the order is the same whenever the input is.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use crate::endpoint::{Endpoint, ObjectRef};
use crate::record::RecordKey;
use crate::source::Presence;

/// The limits, in records (name, type and set identifier); 0 is no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct QuotaLimits {
    /// Of all objects of one namespace together. Objects outside namespaces have none.
    pub per_namespace: usize,
    /// Of one object.
    pub per_object: usize,
}

impl QuotaLimits {
    /// Whether nothing is limited.
    pub fn are_off(self) -> bool {
        self == Self::default()
    }
}

/// A record that an object asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestedRecord {
    /// Name, type and set identifier of the record.
    pub key: RecordKey,
    /// The object that asks for it.
    pub object: ObjectRef,
    /// When the object was created, in seconds since 1970; `None` counts as last.
    pub created: Option<i64>,
    /// Whether it is published.
    pub presence: Presence,
}

/// A record of an object.
pub type ObjectRecord = (ObjectRef, RecordKey);

/// Which limit keeps a record out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ExceededLimit {
    /// The object has as many as it may have.
    Object,
    /// The namespace has.
    Namespace,
}

/// What was decided for one namespace.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Decision {
    /// Those that may be published, as far as it is known what is.
    pub admitted: HashSet<ObjectRecord>,
    /// Those that wait, with the limit that they wait for.
    pub refused: HashMap<ObjectRecord, ExceededLimit>,
}

/// Decides over one namespace. `items` are in the order of the objects and, in each, of its endpoints; `former` are those that
/// were let in before.
fn decide(items: &[RequestedRecord], limits: QuotaLimits, former: &HashSet<ObjectRecord>) -> Decision {
    let place = |item: &RequestedRecord| (item.object.clone(), item.key.clone());
    let rank = |item: &RequestedRecord| match item.presence {
        Presence::Held => 0,
        Presence::Unread => 1,
        Presence::Free if former.contains(&place(item)) => 2,
        Presence::Free => 3,
    };
    let mut order: Vec<(u8, &RequestedRecord)> = items.iter().map(|item| (rank(item), item)).collect();
    let seniority = |(rank, item): &(u8, &RequestedRecord)| (*rank, item.created.unwrap_or(i64::MAX));
    // Stable: what is equal so far stays in the order in which it came.
    order.sort_by(|a, b| seniority(a).cmp(&seniority(b)).then_with(|| a.1.object.path().cmp(&b.1.object.path())));
    let mut decision = Decision::default();
    let mut of_namespace: HashSet<&RecordKey> = HashSet::new();
    let mut of_objects: HashMap<&ObjectRef, HashSet<&RecordKey>> = HashMap::new();
    for (rank, item) in order {
        let own = of_objects.entry(&item.object).or_default();
        let full =
            |limit: usize, known: &HashSet<&RecordKey>| limit > 0 && known.len() >= limit && !known.contains(&item.key);
        let cause = if full(limits.per_object, own) {
            Some(ExceededLimit::Object)
        } else if full(limits.per_namespace, &of_namespace) && !item.object.namespace.is_empty() {
            Some(ExceededLimit::Namespace)
        } else {
            None
        };
        if let Some(cause) = cause.filter(|_| rank > 1) {
            decision.refused.insert(place(item), cause);
            continue;
        }
        own.insert(&item.key);
        of_namespace.insert(&item.key);
        if item.presence != Presence::Unread {
            decision.admitted.insert(place(item));
        }
    }
    decision
}

/// What is decided at present, by namespace.
#[derive(Debug, Default)]
pub struct Quotas {
    spaces: BTreeMap<Arc<str>, Decision>,
}

/// What a new decision changes.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct QuotaChange {
    /// Records whose turn it is now, or is no longer.
    pub changed: BTreeSet<RecordKey>,
    /// How many records wait in the namespace.
    pub waiting: usize,
    /// The objects of which other records wait than before, each with those that do, in order.
    pub reported: BTreeMap<ObjectRef, BTreeMap<RecordKey, ExceededLimit>>,
}

impl Quotas {
    /// Decides anew over one namespace.
    pub fn settle(&mut self, namespace: &Arc<str>, items: &[RequestedRecord], limits: QuotaLimits) -> QuotaChange {
        let former = self.spaces.remove(namespace).unwrap_or_default();
        let decision = decide(items, limits, &former.admitted);
        let mut settled = QuotaChange { waiting: decision.refused.len(), ..QuotaChange::default() };
        let differs = |(place, cause): &(&ObjectRecord, &ExceededLimit), other: &Decision| {
            other.refused.get(*place) != Some(*cause)
        };
        let came: Vec<&ObjectRecord> =
            decision.refused.iter().filter(|entry| differs(entry, &former)).map(|(place, _)| place).collect();
        let went = former.refused.keys().filter(|place| !decision.refused.contains_key(*place));
        settled.changed = came.iter().copied().chain(went).map(|(_, key)| key.clone()).collect();
        let news: HashSet<&ObjectRef> = came.into_iter().map(|(object, _)| object).collect();
        for ((object, key), cause) in decision.refused.iter().filter(|((object, _), _)| news.contains(object)) {
            settled.reported.entry(object.clone()).or_default().insert(key.clone(), *cause);
        }
        if !items.is_empty() {
            self.spaces.insert(namespace.clone(), decision);
        }
        settled
    }

    /// Whether an endpoint has to wait.
    pub fn refuses(&self, endpoint: &Endpoint) -> bool {
        let object = &endpoint.origin.object;
        self.spaces
            .get(&object.namespace)
            .filter(|decision| !decision.refused.is_empty())
            .is_some_and(|decision| decision.refused.contains_key(&(object.clone(), endpoint.key())))
    }

    /// The namespaces about which anything was decided.
    pub fn namespaces(&self) -> impl Iterator<Item = &Arc<str>> {
        self.spaces.keys()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::rtype::RecordType;
    use crate::testing::{name, object};

    fn item(who: &str, record: &str, created: i64, presence: Presence) -> RequestedRecord {
        let key = RecordKey::simple(name(&format!("{record}.example")), RecordType::A);
        RequestedRecord { key, object: object("Service", who), created: Some(created), presence }
    }

    fn limits(per_namespace: usize, per_object: usize) -> QuotaLimits {
        QuotaLimits { per_namespace, per_object }
    }

    /// The records that wait, as `object record`.
    fn waiting(decision: &Decision) -> Vec<String> {
        let mut all: Vec<String> = decision
            .refused
            .keys()
            .map(|(object, key)| format!("{} {}", object.name, key.name.as_str().trim_end_matches(".example")))
            .collect();
        all.sort();
        all
    }

    #[test]
    fn published_ones_first_then_the_oldest_object_then_its_order() {
        use Presence::{Free, Held, Unread};
        let items = [
            item("new", "n1", 9, Free),
            item("new", "n2", 9, Held),
            item("old", "o2", 1, Free),
            item("old", "o1", 1, Free),
            item("far", "f1", 5, Unread),
        ];
        for (limits, expected) in [
            (limits(0, 0), &[][..]),
            (limits(5, 2), &[]),
            (limits(4, 0), &["new n1"]),
            (limits(3, 0), &["new n1", "old o1"]),
            (limits(2, 0), &["new n1", "old o1", "old o2"]),
            (limits(1, 0), &["new n1", "old o1", "old o2"]),
            (limits(0, 1), &["new n1", "old o1"]),
            (limits(3, 1), &["new n1", "old o1"]),
        ] {
            let decision = decide(&items, limits, &HashSet::new());
            assert_eq!(waiting(&decision), expected, "{limits:?}");
        }
    }

    #[test]
    fn a_place_is_kept_and_passed_on_when_it_is_left() {
        let mut quotas = Quotas::default();
        let space: Arc<str> = Arc::from("ns");
        let (young, old) = (item("young", "y", 9, Presence::Free), item("old", "o", 1, Presence::Free));
        assert_eq!(quotas.settle(&space, std::slice::from_ref(&young), limits(1, 0)), QuotaChange::default());
        let settled = quotas.settle(&space, &[old.clone(), young.clone()], limits(1, 0));
        assert_eq!(
            (settled.waiting, settled.reported.len()),
            (1, 1),
            "who came later waits, though older: {settled:?}"
        );
        assert_eq!(quotas.settle(&space, &[old.clone(), young], limits(1, 0)).reported.len(), 0, "reported once");
        let settled = quotas.settle(&space, std::slice::from_ref(&old), limits(1, 0));
        assert_eq!(settled.changed, BTreeSet::from([old.key]));
        assert_eq!(settled.waiting, 0);
        quotas.settle(&space, &[], limits(1, 0));
        assert_eq!(quotas.namespaces().count(), 0);
    }

    #[test]
    fn a_record_that_several_objects_share_counts_once() {
        let items = [item("a", "x", 1, Presence::Free), item("b", "x", 2, Presence::Free)];
        assert_eq!(waiting(&decide(&items, limits(1, 1), &HashSet::new())), [""; 0]);
    }

    fn any_item() -> impl Strategy<Value = RequestedRecord> {
        let presence = prop_oneof![Just(Presence::Held), Just(Presence::Free), Just(Presence::Unread)];
        (0..4_u8, 0..6_u8, presence)
            .prop_map(|(who, record, presence)| item(&who.to_string(), &record.to_string(), i64::from(who), presence))
    }

    proptest! {
        #[test]
        fn limits_hold_for_what_is_new(items in prop::collection::vec(any_item(), 0..20), space in 0..6_usize, own in 0..4_usize) {
            let decision = decide(&items, limits(space, own), &HashSet::new());
            for item in &items {
                let place = (item.object.clone(), item.key.clone());
                prop_assert!(item.presence == Presence::Free || !decision.refused.contains_key(&place));
            }
            let new: BTreeSet<&RecordKey> = items
                .iter()
                .filter(|item| decision.admitted.contains(&(item.object.clone(), item.key.clone())))
                .map(|item| &item.key)
                .collect();
            let published: BTreeSet<&RecordKey> =
                items.iter().filter(|item| item.presence != Presence::Free).map(|item| &item.key).collect();
            prop_assert!(space == 0 || new.len() <= space.max(published.len()));
            prop_assert_eq!(&decision, &decide(&items, limits(space, own), &HashSet::new()));
        }
    }
}
