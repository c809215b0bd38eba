//! What the engine is told of an object: changes, and how it went.

use std::collections::BTreeMap;

use serde_json::json;
use zonewright_core::source::ObjectState;
use zonewright_source_k8s::feed::Event;
use zonewright_source_k8s::index::Index;
use zonewright_source_k8s::kind::Kind;
use zonewright_source_k8s::store::{Object, ObjectKey};

use crate::support::{Engine, apply, balancer, index, list, object};

const WEB: &str = "Service a/web";

fn web() -> Object {
    balancer("a", "web", "web.example.com", "192.0.2.1")
}

fn key() -> ObjectKey {
    ObjectKey::new(Kind::Service, "a", "web")
}

/// An index that has told of one Service, and the engine that heard it.
fn told() -> (Index, Engine) {
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
        ("DELETE event", vec![Event::Deleted(key())], true),
        ("relist without it", list(Kind::Service, []), false),
        ("vanished file", vec![Event::Removed(vec![key()])], false),
        (
            "DELETE event within a list",
            vec![Event::Begin(Kind::Service), Event::Deleted(key()), Event::Done(Kind::Service)],
            true,
        ),
        (
            "DELETE event of what a list held",
            vec![Event::Begin(Kind::Service), Event::Listed(web()), Event::Deleted(key()), Event::Done(Kind::Service)],
            true,
        ),
    ];
    for (what, events, tombstone) in cases {
        let (mut index, mut engine) = told();
        apply(&mut index, events);
        assert_eq!(engine.take(index.take(false)), gone(WEB, tombstone), "{what}");
        assert!(engine.endpoints().is_empty());
        assert!(index.take(false).objects.is_empty(), "{what}: told once");
    }
}

#[test]
fn a_list_that_breaks_off_removes_nothing() {
    let (mut index, mut engine) = told();
    apply(&mut index, [Event::Begin(Kind::Service), Event::Begin(Kind::Service), Event::Listed(web())]);
    assert!(engine.take(index.take(false)).is_empty());
    apply(&mut index, [Event::Done(Kind::Service)]);
    assert!(engine.take(index.take(false)).is_empty());
    assert_eq!(engine.endpoints().len(), 1);
}

#[test]
fn an_object_that_came_back_before_it_was_told_is_not_gone() {
    let (mut index, mut engine) = told();
    apply(&mut index, [Event::Deleted(key()), Event::Applied(web())]);
    assert_eq!(index.take(false).objects, []);
    apply(&mut index, [Event::Removed(vec![key()])]);
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
        (vec![Event::Deleted(ObjectKey::new(Kind::Ingress, "a", "web")), Event::Applied(with_uid("2"))], true),
        (list(Kind::Ingress, [with_uid("2")]), false),
    ] {
        let mut index = index();
        let mut engine = Engine::default();
        apply(&mut index, [Event::Applied(with_uid("1"))]);
        engine.take(index.take(false));
        apply(&mut index, events);
        assert_eq!(engine.take(index.take(false)), gone("Ingress a/web", tombstone));
        let uids: Vec<&str> = engine.objects.keys().map(|(_, object)| &*object.uid).collect();
        assert_eq!(uids, ["2"]);
    }
}

#[test]
fn a_removed_annotation_is_an_edit() {
    let (mut index, mut engine) = told();
    apply(&mut index, [Event::Applied(balancer("a", "web", "", "192.0.2.1"))]);
    let update = index.take(false);
    let [change] = &update.objects[..] else { panic!("one change, found {update:?}") };
    assert!(matches!(&change.state, ObjectState::Present(mapped) if mapped.endpoints.is_empty()), "{change:?}");
    engine.take(update);
    engine.take(index.take(true));
    assert_eq!(engine.objects.len(), 1, "a snapshot still says that it is there");
}

#[test]
fn an_object_that_never_asked_is_not_told() {
    let mut index = index();
    apply(&mut index, [Event::Applied(balancer("a", "quiet", "", "192.0.2.1"))]);
    assert!(index.take(false).objects.is_empty());
    assert!(index.take(true).objects.is_empty());
    apply(&mut index, [Event::Deleted(ObjectKey::new(Kind::Service, "a", "quiet"))]);
    assert!(index.take(false).objects.is_empty());
}

#[test]
fn a_snapshot_does_not_lose_a_tombstone() {
    let (mut index, mut engine) = told();
    apply(&mut index, [Event::Applied(balancer("a", "other", "o.example.com", "192.0.2.2")), Event::Deleted(key())]);
    let update = index.take(true);
    assert!(update.complete);
    assert_eq!(engine.take(update), gone(WEB, true));
    assert_eq!(engine.endpoints(), ["o.example.com A 192.0.2.2"]);
    let again = index.take(true);
    assert!(again.objects.iter().all(|change| matches!(change.state, ObjectState::Present(_))));
}

#[test]
fn an_unreadable_object_stays_as_it_was() {
    let (mut index, mut engine) = told();
    apply(&mut index, [Event::Unreadable(key())]);
    apply(&mut index, [Event::Begin(Kind::Service), Event::Unreadable(key()), Event::Done(Kind::Service)]);
    assert!(engine.take(index.take(false)).is_empty());
    assert_eq!(engine.endpoints(), ["web.example.com A 192.0.2.1"]);
}

#[test]
fn a_result_names_the_kinds_that_it_rests_on() {
    let (_, engine) = told();
    let kinds: Vec<String> =
        engine.objects.values().flat_map(|mapped| &mapped.kinds).map(ToString::to_string).collect();
    assert_eq!(kinds, ["services"]);
}
