//! Invariant 9: after any events, the incremental result equals mapping every object from scratch.

use std::collections::BTreeMap;

use crate::support::{Engine, apply, balancer, headless, index, ingress, list, node, node_port, pod, slice};
use proptest::prelude::*;
use zonewright_source_k8s::feed::FeedEvent;
use zonewright_source_k8s::kind::Kind;
use zonewright_source_k8s::store::{Object, ObjectKey};

const NAMESPACES: [&str; 2] = ["a", "b"];
const APPS: [&str; 3] = ["web", "db", ""];

/// What happens next.
#[derive(Debug, Clone)]
enum Step {
    Put(Object),
    Delete(usize),
    Vanish(usize),
    /// A list of a kind that misses every n-th object.
    Relist(Kind, usize),
    Take {
        everything: bool,
    },
}

fn word<const N: usize>(words: [&'static str; N]) -> impl Strategy<Value = &'static str> {
    prop::sample::select(words.to_vec())
}

fn service() -> impl Strategy<Value = Object> {
    let host = word(["one.example.com", "two.example.com", ""]);
    (0..4, word(NAMESPACES), word(["s1", "s2", "s3"]), host, word(APPS), word(["Local", "Cluster"])).prop_map(
        |(shape, namespace, name, host, app, policy)| match shape {
            0 => balancer(namespace, name, host, "192.0.2.1"),
            1 => balancer(namespace, name, host, "192.0.2.2"),
            2 => headless(namespace, name, host, app),
            _ => node_port(namespace, name, host, app, policy),
        },
    )
}

fn other() -> impl Strategy<Value = Object> {
    let nodes = ["n1", "n2", "n3"];
    let pods = ["p1", "p2", "p3"];
    let address = || word(["198.51.100.1", "198.51.100.2"]);
    prop_oneof![
        (word(NAMESPACES), word(pods), word(APPS), word(nodes), word(["", "h1"]))
            .prop_map(|(namespace, name, app, node, hostname)| pod(namespace, name, app, node, hostname)),
        (word(NAMESPACES), word(["e1", "e2"]), word(["s1", "s2", "s3"]), word(pods), address(), any::<bool>())
            .prop_map(|(namespace, name, service, pod, address, ready)| slice(
                namespace, name, service, pod, address, ready
            )),
        (word(nodes), address(), word(["1", "2"])).prop_map(|(name, address, beat)| node(name, address, beat)),
        (word(NAMESPACES), word(["i1", "i2"]), word(["one.example.com", "three.example.com"]), address())
            .prop_map(|(namespace, name, host, address)| ingress(namespace, name, host, address)),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let kinds = prop::sample::select(vec![Kind::Service, Kind::Ingress, Kind::EndpointSlice, Kind::Pod, Kind::Node]);
    prop_oneof![
        4 => service().prop_map(Step::Put),
        6 => other().prop_map(Step::Put),
        2 => any::<prop::sample::Index>().prop_map(|at| Step::Delete(at.index(1_000))),
        1 => any::<prop::sample::Index>().prop_map(|at| Step::Vanish(at.index(1_000))),
        1 => (kinds, 1..4_usize).prop_map(|(kind, skip)| Step::Relist(kind, skip)),
        2 => prop::bool::weighted(0.2).prop_map(|everything| Step::Take { everything }),
    ]
}

/// The cluster as it really is, and what it reports.
#[derive(Debug, Default)]
struct Truth {
    objects: BTreeMap<ObjectKey, Object>,
}

impl Truth {
    fn events(&mut self, step: &Step) -> Vec<FeedEvent> {
        match step {
            Step::Put(object) => {
                self.objects.insert(object.key(), object.clone());
                vec![FeedEvent::Applied(object.clone())]
            }
            Step::Delete(at) => self.drop_nth(*at).into_iter().map(FeedEvent::Deleted).collect(),
            Step::Vanish(at) => self.drop_nth(*at).map(|key| FeedEvent::Removed(vec![key])).into_iter().collect(),
            Step::Relist(kind, skip) => {
                let keys: Vec<ObjectKey> = self.objects.keys().filter(|key| key.kind == *kind).cloned().collect();
                keys.iter().step_by(*skip + 1).for_each(|key| drop(self.objects.remove(key)));
                list(*kind, self.objects.values().filter(|object| object.kind() == *kind).cloned())
            }
            Step::Take { .. } => Vec::new(),
        }
    }

    fn drop_nth(&mut self, at: usize) -> Option<ObjectKey> {
        let key = self.objects.keys().nth(at % self.objects.len().max(1)).cloned()?;
        self.objects.remove(&key);
        Some(key)
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn incremental_equals_from_scratch(steps in prop::collection::vec(step(), 1..60), little in any::<bool>()) {
        let mut truth = Truth::default();
        let mut live = if little { index().keeping_little() } else { index() };
        let mut engine = Engine::default();
        for step in &steps {
            let events = truth.events(step);
            apply(&mut live, events);
            if let Step::Take { everything } = step {
                engine.take(live.take(*everything));
            }
        }
        engine.take(live.take(false));

        let mut fresh = index();
        apply(&mut fresh, truth.objects.into_values().map(FeedEvent::Applied));
        let mut scratch = Engine::default();
        scratch.take(fresh.take(true));
        prop_assert_eq!(engine.asking(), scratch.asking());

        let mut snapshot = Engine::default();
        snapshot.take(live.take(true));
        prop_assert_eq!(snapshot, engine);
    }
}
