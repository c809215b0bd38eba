//! What is reported to the engine of an object: changes, and how it went.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::json;
use zonewright_core::source::{ObjectState, ObjectUpdate, Review, SeenKinds, Update};
use zonewright_source_k8s::annotations::{DEFAULT_PREFIX, Prefixes};
use zonewright_source_k8s::feed::FeedEvent;
use zonewright_source_k8s::index::Index;
use zonewright_source_k8s::kind::Kind;
use zonewright_source_k8s::objects::Service;
use zonewright_source_k8s::options::{SourceKind, SourceOptions};
use zonewright_source_k8s::selector::MetadataSelector;
use zonewright_source_k8s::store::{Object, ObjectKey};

use crate::support::{Engine, apply, balancer, headless, index, list, node, node_port, object, options, unreadable};

const WEB: &str = "Service a/web";

fn web() -> Object {
    balancer("a", "web", "web.example.com", "192.0.2.1")
}

fn key() -> ObjectKey {
    ObjectKey::new(Kind::Service, "a", "web")
}

/// An index that has reported one Service, and the engine that took it.
fn taken() -> (Index, Engine) {
    let mut index = index();
    let mut engine = Engine::default();
    apply(&mut index, list(Kind::Service, [web()]));
    engine.take(index.take(false));
    assert_eq!(engine.endpoints(), ["web.example.com A 192.0.2.1"]);
    (index, engine)
}

fn gone(object: &str, tombstone: bool) -> BTreeMap<String, bool> {
    BTreeMap::from([(object.to_owned(), tombstone)])
}

#[test]
fn only_a_delete_event_is_a_tombstone() {
    let cases = [
        ("DELETE event", vec![FeedEvent::Deleted(key())], true),
        ("relist without it", list(Kind::Service, []), false),
        ("vanished file", vec![FeedEvent::Removed(vec![key()])], false),
        (
            "DELETE event within a list",
            vec![FeedEvent::Begin(Kind::Service), FeedEvent::Deleted(key()), FeedEvent::Done(Kind::Service)],
            true,
        ),
        (
            "DELETE event of what a list held",
            vec![
                FeedEvent::Begin(Kind::Service),
                FeedEvent::Listed(web()),
                FeedEvent::Deleted(key()),
                FeedEvent::Done(Kind::Service),
            ],
            true,
        ),
    ];
    for (what, events, tombstone) in cases {
        let (mut index, mut engine) = taken();
        apply(&mut index, events);
        assert_eq!(engine.take(index.take(false)), gone(WEB, tombstone), "{what}");
        assert!(engine.endpoints().is_empty());
        assert!(index.take(false).objects.is_empty(), "{what}: reported once");
    }
}

#[test]
fn a_list_that_breaks_off_removes_nothing() {
    let (mut index, mut engine) = taken();
    apply(&mut index, [FeedEvent::Begin(Kind::Service), FeedEvent::Begin(Kind::Service), FeedEvent::Listed(web())]);
    assert!(engine.take(index.take(false)).is_empty());
    apply(&mut index, [FeedEvent::Done(Kind::Service)]);
    assert!(engine.take(index.take(false)).is_empty());
    assert_eq!(engine.endpoints().len(), 1);
}

#[test]
fn an_object_that_came_back_before_it_was_reported_is_not_gone() {
    let (mut index, mut engine) = taken();
    apply(&mut index, [FeedEvent::Deleted(key()), FeedEvent::Applied(web())]);
    assert_eq!(index.take(false).objects, []);
    apply(&mut index, [FeedEvent::Removed(vec![key()])]);
    assert_eq!(engine.take(index.take(false)), gone(WEB, false), "the old tombstone is not kept");
}

#[test]
fn an_object_made_anew_is_another_object() {
    let with_uid = |uid: &str| {
        object(
            Kind::Ingress,
            json!({
                "metadata": {"namespace": "a", "name": "web", "uid": uid},
                "spec": {"rules": [{"host": "web.example.com"}]},
                "status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}},
            }),
        )
    };
    for (events, tombstone) in [
        (vec![FeedEvent::Deleted(ObjectKey::new(Kind::Ingress, "a", "web")), FeedEvent::Applied(with_uid("2"))], true),
        (list(Kind::Ingress, [with_uid("2")]), false),
    ] {
        let mut index = index();
        let mut engine = Engine::default();
        apply(&mut index, [FeedEvent::Applied(with_uid("1"))]);
        engine.take(index.take(false));
        apply(&mut index, events);
        assert_eq!(engine.take(index.take(false)), gone("Ingress a/web", tombstone));
        let uids: Vec<String> = engine.objects.keys().map(|(_, object)| object.uid.to_string()).collect();
        assert_eq!(uids, ["2"]);
    }
}

#[test]
fn a_removed_annotation_is_an_edit() {
    let (mut index, mut engine) = taken();
    apply(&mut index, [FeedEvent::Applied(balancer("a", "web", "", "192.0.2.1"))]);
    let update = index.take(false);
    let [change] = &update.objects[..] else { panic!("one change, found {update:?}") };
    assert!(matches!(&change.state, ObjectState::Present(mapped) if mapped.endpoints.is_empty()), "{change:?}");
    engine.take(update);
    engine.take(index.take(true));
    assert_eq!(engine.objects.len(), 1, "a snapshot still says that it is there");
}

#[test]
fn an_object_that_never_asked_is_not_reported() {
    let mut index = index();
    apply(&mut index, [FeedEvent::Applied(balancer("a", "quiet", "", "192.0.2.1"))]);
    assert!(index.take(false).objects.is_empty());
    assert!(index.take(true).objects.is_empty());
    apply(&mut index, [FeedEvent::Deleted(ObjectKey::new(Kind::Service, "a", "quiet"))]);
    assert!(index.take(false).objects.is_empty());
}

#[test]
fn a_snapshot_does_not_lose_a_tombstone() {
    let (mut index, mut engine) = taken();
    apply(
        &mut index,
        [FeedEvent::Applied(balancer("a", "other", "o.example.com", "192.0.2.2")), FeedEvent::Deleted(key())],
    );
    let update = index.take(true);
    assert!(update.complete);
    assert_eq!(engine.take(update), gone(WEB, true));
    assert_eq!(engine.endpoints(), ["o.example.com A 192.0.2.2"]);
    let again = index.take(true);
    assert!(again.objects.iter().all(|change| matches!(change.state, ObjectState::Present(_))));
}

#[test]
fn an_unreadable_object_stays_as_it_was() {
    let (mut index, mut engine) = taken();
    apply(&mut index, [unreadable(key())]);
    apply(&mut index, [FeedEvent::Begin(Kind::Service), unreadable(key()), FeedEvent::Done(Kind::Service)]);
    assert!(engine.take(index.take(false)).is_empty());
    assert_eq!(engine.endpoints(), ["web.example.com A 192.0.2.1"]);
}

/// It is told and counted like one that was never read, until it can be read again; nothing else changes, also where no more is kept of
/// it than who it is.
#[test]
fn an_object_that_becomes_unreadable_is_told_and_counted_while_its_mapping_stays() {
    let states = |index: &Index| {
        let kind = &index.states(tokio::time::Instant::now())[&Kind::Service.id()];
        (kind.unreadable, kind.complete, index.table_sizes()["unread"])
    };
    let told = |engine: &Engine| -> Vec<String> {
        let notes = engine.objects.values().flat_map(|mapped| &mapped.notes);
        notes.map(|note| format!("{} {}: {}", note.object, note.reason, note.message)).collect()
    };
    for little in [false, true] {
        let mut index = if little { index().keeping_little() } else { index() };
        let mut engine = Engine::default();
        apply(&mut index, list(Kind::Service, [web()]));
        engine.take(index.take(false));
        for expected in [1, 0] {
            apply(&mut index, [unreadable(key())]);
            assert!(index.is_dirty() || expected == 0, "somebody has to look");
            let update = index.take(false);
            assert_eq!(update.objects.len(), expected, "once");
            engine.take(update);
            let text = "it cannot be read: spec: expected a map; what is published for this object stays as it is";
            assert_eq!(told(&engine), [format!("{WEB} UnreadableObject: {text}")]);
            assert_eq!(
                (engine.endpoints(), unknown(&engine)),
                (vec!["web.example.com A 192.0.2.1".to_owned()], vec![])
            );
            assert_eq!(states(&index), (1, true, 1));
        }
        apply(&mut index, [FeedEvent::Applied(web())]);
        engine.take(index.take(false));
        assert_eq!((told(&engine), states(&index)), (vec![], (0, true, 0)));
        assert_eq!(engine.endpoints(), ["web.example.com A 192.0.2.1"]);
        apply(&mut index, [unreadable(key())]);
        engine.take(index.take(false));
        apply(&mut index, [FeedEvent::Deleted(key())]);
        assert_eq!(engine.take(index.take(false)), gone(WEB, true));
        assert_eq!(states(&index), (0, true, 0));
    }
}

fn unknown(engine: &Engine) -> Vec<String> {
    let all = engine.objects.values().flat_map(|mapped| &mapped.unknown);
    all.map(|u| format!("{}: {}", u.resource.as_deref().unwrap_or("-"), u.reason)).collect()
}

#[test]
fn an_unreadable_object_is_reported_with_its_label() {
    let (mut index, mut engine) = (index(), Engine::default());
    apply(&mut index, list(Kind::Service, [balancer("a", "other", "o.example.com", "192.0.2.2")]));
    apply(&mut index, [unreadable(key())]);
    engine.take(index.take(false));
    assert_eq!(unknown(&engine), ["service/a/web: it cannot be read: spec: expected a map"]);
    let notes: Vec<_> = engine.objects.values().flat_map(|mapped| &mapped.notes).collect();
    assert_eq!(
        (notes.len(), notes[0].reason, notes[0].object.uid.to_string()),
        (1, "UnreadableObject", "u-1".to_owned())
    );
    apply(&mut index, [unreadable(key())]);
    assert!(index.take(false).objects.is_empty(), "the same again is no news");
    let mut read = index.take(true);
    apply(&mut index, [FeedEvent::Applied(balancer("a", "web", "web.example.com", "192.0.2.1"))]);
    read.objects.extend(index.take(false).objects);
    engine.take(read);
    assert!(unknown(&engine).is_empty());
    assert_eq!(engine.endpoints(), ["o.example.com A 192.0.2.2", "web.example.com A 192.0.2.1"]);

    let (mut index, mut engine) = (self::index(), Engine::default());
    apply(&mut index, [unreadable(key())]);
    engine.take(index.take(false));
    apply(&mut index, [FeedEvent::Deleted(key())]);
    assert_eq!(engine.take(index.take(false)), gone(WEB, true), "its deletion is a proof like any other");
}

/// What leads to an object that cannot be read is not known either; what does not, is.
#[test]
fn those_that_read_an_unreadable_object_are_doubted_with_it() {
    let (mut index, mut engine) = (index(), Engine::default());
    let hidden = ObjectKey::new(Kind::Node, "", "n2");
    apply(&mut index, list(Kind::Node, [node("n1", "192.0.2.9", "1")]));
    apply(&mut index, [FeedEvent::Applied(node_port("a", "np", "np.example.com", "x", "Cluster"))]);
    apply(&mut index, [FeedEvent::Applied(balancer("a", "lb", "lb.example.com", "192.0.2.1"))]);
    engine.take(index.take(false));
    assert!(unknown(&engine).is_empty());
    apply(&mut index, [unreadable(hidden.clone())]);
    engine.take(index.take(false));
    assert_eq!(unknown(&engine), ["service/a/np: Node n2, which it leads to, cannot be read"]);
    apply(&mut index, [FeedEvent::Deleted(hidden)]);
    engine.take(index.take(false));
    assert!(unknown(&engine).is_empty());
}

/// What an object asks for under the well-known prefix that is not in force, as far as it differs.
#[test]
fn the_other_prefix_is_reported_beside_what_is_asked_for() {
    const ALPHA: &str = "external-dns.alpha.kubernetes.io/";
    let taken = |prefixes: &[&str], annotations: serde_json::Value| -> Vec<String> {
        let annotation_prefixes = Prefixes::parse(prefixes).expect("prefixes");
        let options = SourceOptions { annotation_prefixes, ..options() };
        let keep = options.keep();
        let mut index = Index::new(Arc::new(options), &SeenKinds::default());
        let service = json!({"metadata": {"namespace": "a", "name": "web", "annotations": annotations},
            "spec": {"type": "LoadBalancer"}, "status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}});
        let service = Object::from_value(Kind::Service, service, &keep).expect("a service");
        apply(&mut index, [FeedEvent::Applied(service)]);
        let mut engine = Engine::default();
        engine.take(index.take(false));
        let other = engine.objects.values().filter_map(|mapped| mapped.other_prefix.as_ref());
        other.flat_map(|other| &other.endpoints).map(ToString::to_string).collect()
    };
    let alpha = || json!({format!("{ALPHA}hostname"): "w.example.com"});
    let both =
        |name: &str| json!({format!("{ALPHA}hostname"): "w.example.com", format!("{DEFAULT_PREFIX}hostname"): name});
    assert_eq!(taken(&[DEFAULT_PREFIX], alpha()), ["w.example.com A 192.0.2.1"]);
    assert_eq!(taken(&[ALPHA], json!({format!("{DEFAULT_PREFIX}hostname"): "w.example.com"})).len(), 1);
    assert_eq!(taken(&[DEFAULT_PREFIX], both("v.example.com")), ["w.example.com A 192.0.2.1"]);
    assert!(taken(&[DEFAULT_PREFIX], both("w.example.com")).is_empty(), "the same under both");
    assert!(taken(&[DEFAULT_PREFIX, ALPHA], alpha()).is_empty());
    assert!(taken(&["own.example/"], alpha()).is_empty(), "another instance's");
    assert!(taken(&[DEFAULT_PREFIX], json!({"own.example/hostname": "w.example.com"})).is_empty());
    let target = json!({format!("{DEFAULT_PREFIX}hostname"): "w.example.com", format!("{ALPHA}hostname"): "w.example.com",
        format!("{ALPHA}target"): "192.0.2.7"});
    assert_eq!(taken(&[DEFAULT_PREFIX], target), ["w.example.com A 192.0.2.7"], "other targets");
}

#[test]
fn a_result_names_the_kinds_that_it_rests_on() {
    let (_, engine) = taken();
    let kinds: Vec<String> =
        engine.objects.values().flat_map(|mapped| mapped.kinds.iter()).map(ToString::to_string).collect();
    assert_eq!(kinds, ["services"]);
}

#[test]
fn the_slow_pass_shows_everything_that_was_reported_in_parts() {
    let mut index = index();
    let mut engine = Engine::default();
    let all = (0..7).map(|n| balancer("a", &format!("s{n}"), &format!("n{n}.example.com"), "192.0.2.1"));
    apply(&mut index, list(Kind::Service, all));
    engine.take(index.take(false));
    let pass = |index: &mut Index| {
        let mut seen = Engine::default();
        for parts in 1.. {
            let Review { objects, last } = index.review(3);
            assert!(objects.len() <= 3);
            seen.take(Update { complete: false, objects });
            if last {
                return (parts, seen);
            }
        }
        unreachable!()
    };
    for _ in 0..2 {
        let (parts, seen) = pass(&mut index);
        assert_eq!((parts, &seen), (3, &engine));
    }
    apply(&mut index, [FeedEvent::Deleted(ObjectKey::new(Kind::Service, "a", "s3")), FeedEvent::Applied(web())]);
    engine.take(index.take(false));
    assert_eq!(pass(&mut index), (3, engine));
}

#[test]
fn what_nobody_reads_is_not_kept() {
    let held = |index: &mut Index, object: &Object| {
        apply(index, [FeedEvent::Applied(object.clone())]);
        index.take(false);
        // That of the test, and that in the store.
        object.body::<Service>().map(Arc::strong_count)
    };
    let (plain, headless) = (web(), headless("a", "h", "h.example.com", "web"));
    assert_eq!(held(&mut index(), &plain), Some(2));
    let mut little = index().keeping_little();
    assert_eq!(held(&mut little, &plain), Some(1));
    assert_eq!(held(&mut little, &headless), Some(2), "Pods and slices are read for it");
    assert_eq!(little.table_sizes()["objects"], 2);
    // What is given anew without a change is mapped, and not reported; a change is.
    let mapped = little.remapped();
    apply(&mut little, [FeedEvent::Applied(plain.clone())]);
    assert_eq!((little.take(false).objects.len(), little.remapped()), (0, mapped + 1));
    apply(&mut little, [FeedEvent::Applied(balancer("a", "web", "web.example.com", "192.0.2.2"))]);
    assert_eq!(little.take(false).objects.len(), 1);
    apply(&mut little, [FeedEvent::Deleted(key())]);
    let gone = little.take(false).objects;
    assert!(matches!(gone[..], [ObjectUpdate { state: ObjectState::Gone { tombstone: true }, .. }]), "{gone:?}");
    // Where another source reads Services, they are all kept.
    let sources = vec![SourceKind::Service, SourceKind::IstioGateway];
    let options = SourceOptions { sources, ..options() };
    let mut index = Index::new(Arc::new(options), &SeenKinds::default()).keeping_little();
    assert_eq!(held(&mut index, &plain), Some(2));
}

/// Whoever else reads the object says what is wrong with it.
#[test]
fn a_dns_endpoint_that_a_filter_leaves_out_gets_no_status() {
    let filter = || MetadataSelector::labels("dns=inside").expect("a filter");
    let all = SourceOptions { sources: vec![SourceKind::Crd], ..SourceOptions::default() };
    let few = SourceOptions { label_filter: filter(), ..all.clone() };
    let elsewhere = SourceOptions { namespace: "b".to_owned(), ..all.clone() };
    let labelled = |value: &str, generation: i64| {
        let metadata = json!({"namespace": "a", "name": "e", "generation": generation, "labels": {"dns": value}});
        FeedEvent::Applied(object(Kind::DnsEndpoint, json!({"metadata": metadata, "spec": {}})))
    };
    let due = |index: &mut Index, event: FeedEvent| {
        apply(index, [event]);
        index.take(false);
    };
    let index = |options: &SourceOptions| Index::new(Arc::new(options.clone()), &SeenKinds::default());
    for (options, expected) in [(&all, 1), (&few, 0), (&elsewhere, 0)] {
        let mut index = index(options);
        due(&mut index, labelled("outside", 1));
        assert_eq!(index.take_statuses().len(), expected, "{:?}", options.label_filter);
    }
    let mut index = index(&few);
    due(&mut index, labelled("inside", 1));
    due(&mut index, labelled("outside", 2));
    assert_eq!(index.take_statuses().len(), 0, "what was due before it was left out");
    due(&mut index, labelled("inside", 3));
    assert_eq!(index.take_statuses().len(), 1);
}
