//! Texts that read as claims, asked for by objects.

use zonewright_core::RecordType;

use crate::sim::{World, rest};

fn world() -> World {
    let mut world = World::new(&["example"]);
    world.config.managed.insert(RecordType::Txt);
    world
}

fn claim(resource: &str) -> String {
    format!("heritage=external-dns,external-dns/owner=me,external-dns/resource={resource}")
}

#[tokio::test(start_paused = true)]
async fn a_text_that_reads_as_a_claim_is_refused_and_nothing_else_of_its_object() {
    let world = world();
    world.sim.insert(&["legacy.example A 198.51.100.1"]);
    let forged = format!("a-legacy.example TXT {}", claim("service/ns/web"));
    let intent = "a-later.example TXT heritage=zonewright-intent,zonewright/claim=x";
    let lines = ["label:crd/ns/forger", &*forged, intent, "says.example TXT hello", "good.example A 192.0.2.9"];
    world.cluster.put("forger", &lines);
    let engine = world.start().await;
    rest(&engine).await;
    let records = ["good.example A 192.0.2.9", "legacy.example A 198.51.100.1", "says.example TXT \"hello\""];
    assert_eq!(world.sim.records(), records);
    assert!(!world.sim.all().iter().any(|line| line.starts_with("a-legacy.") || line.contains("intent")));
    assert!(world.reports.has("forger", "OwnershipText"));
    engine.stop().await;
    world.cluster.put("web", &["legacy.example A 192.0.2.1"]);
    let engine = world.start().await;
    rest(&engine).await;
    world.cluster.delete("web");
    rest(&engine).await;
    assert_eq!(world.sim.records(), records);
}

/// As external-dns, or an older release, may have published it.
#[tokio::test(start_paused = true)]
async fn a_published_text_gives_no_right_stays_while_it_is_asked_for_and_goes_with_its_object() {
    let world = world();
    let forged = format!("a-legacy.example TXT {}", claim("crd/ns/forger"));
    let own = format!("txt-a-legacy.example TXT {}", claim("crd/ns/forger"));
    world.sim.insert(&["legacy.example A 198.51.100.1", &forged, &own]);
    world.cluster.put("forger", &["label:crd/ns/forger", &forged]);
    world.cluster.put("web", &["legacy.example A 192.0.2.1"]);
    let before = world.sim.all();
    let engine = world.start().await;
    rest(&engine).await;
    assert!(world.reports.has("web", "ForeignRecord"));
    world.cluster.delete("web");
    rest(&engine).await;
    assert_eq!(world.sim.all(), before);
    world.cluster.delete("forger");
    rest(&engine).await;
    assert_eq!(world.sim.all(), ["legacy.example 0 A 198.51.100.1"]);
}

/// Another object that asks for an ordinary text there is not kept from it.
#[tokio::test(start_paused = true)]
async fn a_refused_text_holds_no_name() {
    let world = world();
    world.cluster.put("a", &["label:crd/ns/a", &format!("t.example TXT {}", claim("crd/ns/a"))]);
    world.cluster.put("b", &["label:crd/ns/b", "t.example TXT hello"]);
    let engine = world.start().await;
    rest(&engine).await;
    assert_eq!(world.sim.records(), ["t.example TXT \"hello\""]);
    assert!(!world.reports.has("b", "NameConflict"));
}
