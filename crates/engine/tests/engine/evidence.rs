//! Doubt goes by object: what is not known of one holds back what it had, and nothing else.

use std::time::Duration;

use zonewright_core::contend::SameName;

use crate::sim::{World, after, rest};

/// What was published for these Services by an earlier process.
async fn published(world: &World, whom: &[&str]) {
    for who in whom {
        world.cluster.put(who, &[&format!("{who}.example A 192.0.2.1")]);
    }
    let engine = world.start().await;
    rest(&engine).await;
    assert_eq!(world.sim.records().len(), whom.len());
    engine.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_object_that_cannot_be_read_keeps_its_own_records_and_no_others() {
    let world = World::new(&["example"]);
    published(&world, &["a", "b", "c"]).await;
    world.cluster.put("a", &["unknown"]);
    world.cluster.spoil(true);
    world.cluster.vanish("b");
    world.cluster.put("c", &["c.example A 192.0.2.3"]);
    let engine = world.start().await;
    rest(&engine).await;
    assert_eq!(world.sim.records(), ["a.example A 192.0.2.1", "c.example A 192.0.2.3"]);
    after(&engine, Duration::from_hours(1)).await;
    assert_eq!(world.sim.records().len(), 2, "for as long as it cannot be read");
    world.cluster.put("a", &["d.example A 192.0.2.4"]);
    world.cluster.spoil(false);
    rest(&engine).await;
    assert_eq!(world.sim.records(), ["c.example A 192.0.2.3", "d.example A 192.0.2.4"]);
}

/// A route whose Gateway is missing: the names were the Gateway's, so they are not known. A new process has its own grace.
#[tokio::test(start_paused = true)]
async fn doubt_that_passes_keeps_what_is_published_for_the_grace() {
    let world = World::new(&["example"]);
    published(&world, &["a", "b"]).await;
    world.cluster.put("a", &["unknown for now"]);
    for restarted in [false, true] {
        let engine = world.start().await;
        after(&engine, Duration::from_mins(4)).await;
        assert_eq!(world.sim.records(), ["a.example A 192.0.2.1", "b.example A 192.0.2.1"]);
        if restarted {
            after(&engine, Duration::from_mins(2)).await;
            assert_eq!(world.sim.records(), ["b.example A 192.0.2.1"]);
        }
        engine.stop().await;
    }
}

/// Its DELETE event is a proof like that of any other: nothing is counted, though nobody ever knew what it asked for.
#[tokio::test(start_paused = true)]
async fn the_deletion_of_an_unreadable_object_is_proof() {
    let world = World::new(&["example"]);
    let whom: Vec<String> = (0..30).map(|n| format!("s{n}")).collect();
    let whom: Vec<&str> = whom.iter().map(String::as_str).collect();
    published(&world, &whom).await;
    for who in &whom {
        world.cluster.put(who, &["unknown"]);
    }
    let engine = world.start().await;
    rest(&engine).await;
    assert_eq!(world.sim.records().len(), 30);
    for who in &whom {
        world.cluster.delete(who);
    }
    rest(&engine).await;
    assert!(world.sim.records().is_empty(), "{:?}", engine.plans());
}

/// A claim without a label may be the unreadable object's, and so may a part of a record that several objects make up.
#[tokio::test(start_paused = true)]
async fn without_a_label_one_unreadable_object_holds_back_all() {
    let mut world = World::new(&["example"]);
    let legacy = "a-old.example TXT \"heritage=external-dns,external-dns/owner=me\"";
    world.sim.insert(&["old.example A 192.0.2.7", legacy]);
    world.cluster.spoil(true);
    let engine = world.start().await;
    rest(&engine).await;
    assert_eq!(world.sim.records(), ["old.example A 192.0.2.7"]);
    world.cluster.spoil(false);
    rest(&engine).await;
    assert!(world.sim.records().is_empty());
    engine.stop().await;

    world.config.names.same_name = SameName::Union;
    world.cluster.put("a", &["x.example A 192.0.2.1"]);
    world.cluster.put("b", &["x.example A 192.0.2.2"]);
    let engine = world.start().await;
    rest(&engine).await;
    world.cluster.put("b", &["unknown"]);
    world.cluster.spoil(true);
    world.cluster.put("a", &["x.example A 192.0.2.3"]);
    rest(&engine).await;
    assert_eq!(world.sim.records(), ["x.example A 192.0.2.1 ; 192.0.2.2 ; 192.0.2.3"]);
}

/// Nine records stay below every number of the brake.
#[tokio::test(start_paused = true)]
async fn names_of_the_other_prefix_stay_until_their_annotation_goes() {
    let world = World::new(&["example"]);
    let whom: Vec<String> = (0..9).map(|n| format!("s{n}")).collect();
    let whom: Vec<&str> = whom.iter().map(String::as_str).collect();
    published(&world, &whom).await;
    for who in &whom {
        world.cluster.put(who, &[&format!("other:{who}.example A 192.0.2.1")]);
    }
    let before = world.sim.all();
    let engine = world.start().await;
    after(&engine, Duration::from_hours(2)).await;
    assert_eq!(world.sim.all(), before);
    assert!(whom.iter().all(|who| world.reports.has(who, "KeptForOtherPrefix")));
    // Nobody else gets such a name.
    world.cluster.put("z", &["s0.example A 192.0.2.9"]);
    rest(&engine).await;
    assert_eq!(world.sim.all(), before);
    assert!(world.reports.has("z", "KeptForOtherPrefix"));
    world.cluster.put("s0", &[]);
    rest(&engine).await;
    assert!(world.sim.records().contains(&"s0.example A 192.0.2.9".to_owned()));
    world.cluster.put("s1", &["s1.example A 192.0.2.2", "other:s1.example A 192.0.2.1"]);
    world.cluster.put("s2", &[]);
    world.cluster.delete("s3");
    rest(&engine).await;
    let records = world.sim.records();
    for gone in ["s2.example", "s3.example"] {
        assert!(!records.iter().any(|record| record.starts_with(gone)), "{records:?}");
    }
    assert!(records.contains(&"s1.example A 192.0.2.1".to_owned()), "what it holds comes from the other prefix");
    world.cluster.put("s1", &["s1.example A 192.0.2.2"]);
    rest(&engine).await;
    assert!(world.sim.records().contains(&"s1.example A 192.0.2.2".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn the_other_prefix_means_nothing_where_nothing_is_published_for_it_or_without_the_brake() {
    let mut world = World::new(&["example"]);
    published(&world, &["a", "b"]).await;
    world.cluster.put("a", &["other:a.example A 192.0.2.1"]);
    // What it was published with is not what it asks for there, and it asks for it here too: it follows.
    world.cluster.put("b", &["b.example A 192.0.2.3", "other:b.example A 192.0.2.2"]);
    world.cluster.put("c", &["other:c.example A 192.0.2.1"]);
    let engine = world.start().await;
    rest(&engine).await;
    assert_eq!(world.sim.records(), ["a.example A 192.0.2.1", "b.example A 192.0.2.3"], "nothing is created");
    engine.stop().await;
    world.config.brake.enabled = false;
    let engine = world.start().await;
    rest(&engine).await;
    assert_eq!(world.sim.records(), ["b.example A 192.0.2.3"]);
}

/// What a mass of annotations under the other prefix leaves, once it goes, is counted as any other delete.
#[tokio::test(start_paused = true)]
async fn annotations_that_go_are_counted() {
    let world = World::new(&["example"]);
    let whom: Vec<String> = (0..60).map(|n| format!("s{n}")).collect();
    let whom: Vec<&str> = whom.iter().map(String::as_str).collect();
    published(&world, &whom).await;
    for who in &whom {
        world.cluster.put(who, &[&format!("other:{who}.example A 192.0.2.1")]);
    }
    let engine = world.start().await;
    rest(&engine).await;
    for who in &whom {
        world.cluster.put(who, &[]);
    }
    rest(&engine).await;
    assert_eq!(world.sim.records().len(), 60);
    assert_eq!(engine.plans().len(), 1);
}
