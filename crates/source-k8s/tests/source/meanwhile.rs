//! Objects are mapped without the index; what changes meanwhile is not lost.

use std::collections::BTreeMap;

use zonewright_core::source::ObjectState;
use zonewright_source_k8s::feed::FeedEvent;
use zonewright_source_k8s::kind::Kind;
use zonewright_source_k8s::store::ObjectKey;

use crate::support::{Engine, apply, balancer, headless, index, list, pod, slice};

fn gone(tombstone: bool) -> BTreeMap<String, bool> {
    BTreeMap::from([("Service a/web".to_owned(), tombstone)])
}

#[test]
fn what_was_read_and_changes_is_mapped_again() {
    let (mut index, mut engine) = (index(), Engine::default());
    apply(&mut index, list(Kind::Service, [headless("a", "web", "web.test", "web")]));
    apply(&mut index, list(Kind::Pod, [pod("a", "p1", "web", "n1", "")]));
    apply(&mut index, list(Kind::EndpointSlice, [slice("a", "s1", "web", "p1", "192.0.2.1", true)]));
    let batch = index.begin();
    // The index does not know yet what this mapping reads.
    apply(&mut index, [FeedEvent::Applied(slice("a", "s1", "web", "p1", "192.0.2.2", true))]);
    let mapped = batch.map();
    engine.take(index.finish(mapped, false));
    assert_eq!(engine.endpoints(), ["web.test A 192.0.2.1"]);
    assert!(index.is_dirty());
    engine.take(index.take(false));
    assert_eq!(engine.endpoints(), ["web.test A 192.0.2.2"]);
    assert!(index.is_mapped());
}

#[test]
fn a_delete_meanwhile_is_reported_with_its_proof() {
    let web = |address: &str| balancer("a", "web", "web.test", address);
    let key = ObjectKey::new(Kind::Service, "a", "web");
    let (mut index, mut engine) = (index(), Engine::default());
    apply(&mut index, list(Kind::Service, [web("192.0.2.1")]));
    engine.take(index.take(false));
    apply(&mut index, [FeedEvent::Applied(web("192.0.2.2"))]);
    let mapped = index.begin().map();
    apply(&mut index, [FeedEvent::Deleted(key.clone())]);
    assert!(!index.is_mapped());
    let update = index.finish(mapped, false);
    assert!(update.objects.iter().all(|object| !matches!(object.state, ObjectState::Gone { .. })), "{update:?}");
    engine.take(update);
    assert_eq!(engine.take(index.take(false)), gone(true));
    // One that the engine does not know is not reported at all.
    apply(&mut index, [FeedEvent::Applied(web("192.0.2.3"))]);
    let mapped = index.begin().map();
    apply(&mut index, [FeedEvent::Deleted(key)]);
    assert!(index.finish(mapped, true).objects.is_empty());
    assert!(index.take(false).objects.is_empty());
}

#[test]
fn a_batch_that_never_comes_back_is_part_of_the_next() {
    let (mut index, mut engine) = (index(), Engine::default());
    apply(&mut index, list(Kind::Service, [balancer("a", "web", "web.test", "192.0.2.1")]));
    drop(index.begin());
    engine.take(index.take(false));
    assert_eq!(engine.endpoints(), ["web.test A 192.0.2.1"]);
}
