//! What the registry noop adds, and what neither it nor txt keeps outside the zone: nothing.

use zonewright_core::registry::{ClaimFormat as _, Registry};
use zonewright_registry::noop::NoopRegistry;

use crate::support::{World, group, key, registry};

#[test]
fn noop_adds_nothing() {
    let world = World::new("zone ex.com\nwww.ex.com A 192.0.2.1\na-www.ex.com TXT !other");
    let delete = group(&world, "- www.ex.com A");
    assert_eq!(NoopRegistry.decorate(world.zone(), vec![delete.clone()], &world), [Ok(delete)]);
    assert_eq!(NoopRegistry.owner(), None);
    assert!(NoopRegistry.claims(world.zone(), &key("www.ex.com A"), &world).is_empty());
    assert!(NoopRegistry.claim_names(world.zone(), &key("www.ex.com A")).is_empty());
}

#[tokio::test]
async fn nothing_is_kept_outside_the_zone() {
    let world = World::new("zone ex.com");
    let create = group(&world, "+ www.ex.com A 192.0.2.1");
    for registry in [&registry("", "", "") as &dyn Registry, &NoopRegistry] {
        registry.load().await.unwrap();
        assert_eq!(registry.prepare(world.zone(), vec![create.clone()]).await, [Ok(create.clone())]);
        registry.commit(world.zone(), std::slice::from_ref(&create), &[]).await.unwrap();
    }
}
