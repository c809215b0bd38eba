//! Records that take each other's place: what goes and what comes stand or fall together.

use zonewright_core::RecordType;

use crate::sim::{World, rest};

const COUNT: usize = 30;

fn put_all(world: &World, record: &str) {
    for n in 0..COUNT {
        world.cluster.put(&format!("lb{n}"), &[&format!("n{n}.example {record}")]);
    }
}

fn stand(world: &World, record: &str) -> usize {
    world.sim.records().iter().filter(|line| line.ends_with(record)).count()
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_refuses_the_other_family_leaves_what_stands() {
    for split in [false, true] {
        let world = World::new(&["example"]);
        if split {
            world.sim.split();
        }
        put_all(&world, "A 192.0.2.1");
        let engine = world.start().await;
        rest(&engine).await;
        world.sim.refuse_type(Some(RecordType::Aaaa));
        put_all(&world, "AAAA 2001:db8::1");
        rest(&engine).await;
        assert_eq!((stand(&world, "A 192.0.2.1"), world.sim.records().len()), (COUNT, COUNT), "split: {split}");
        assert!((0..COUNT).all(|n| world.reports.has(&format!("lb{n}"), "RecordRefused")));
        world.sim.refuse_type(None);
        put_all(&world, "AAAA 2001:db8::2");
        rest(&engine).await;
        assert_eq!((stand(&world, "AAAA 2001:db8::2"), world.sim.records().len()), (COUNT, COUNT), "split: {split}");
    }
}

#[tokio::test(start_paused = true)]
async fn exchanges_do_not_use_up_the_brake_and_other_deletes_do() {
    let world = World::new(&["example"]);
    put_all(&world, "A 192.0.2.1");
    world.cluster.put("gone", &["gone.example A 192.0.2.9"]);
    let engine = world.start().await;
    rest(&engine).await;
    put_all(&world, "AAAA 2001:db8::1");
    rest(&engine).await;
    assert_eq!(stand(&world, "AAAA 2001:db8::1"), COUNT);
    world.cluster.vanish("gone");
    rest(&engine).await;
    assert_eq!(stand(&world, "A 192.0.2.9"), 0, "an ordinary delete is not held");
}

/// Each object drops one of its two families: those are ordinary deletes.
#[tokio::test(start_paused = true)]
async fn a_family_that_is_dropped_beside_a_change_of_the_other_is_counted() {
    let world = World::new(&["example"]);
    for n in 0..COUNT {
        world
            .cluster
            .put(&format!("lb{n}"), &[&format!("n{n}.example A 192.0.2.1"), &format!("n{n}.example AAAA 2001:db8::1")]);
    }
    let engine = world.start().await;
    rest(&engine).await;
    put_all(&world, "AAAA 2001:db8::2");
    rest(&engine).await;
    assert_eq!((stand(&world, "AAAA 2001:db8::2"), stand(&world, "A 192.0.2.1")), (COUNT, COUNT), "held");
    assert_eq!(engine.plans().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_holder_of_a_cname_keeps_its_name_until_it_stops_asking() {
    let world = World::new(&["example"]);
    world.cluster.put("b", &["x.example CNAME lb.test"]);
    let engine = world.start().await;
    rest(&engine).await;
    world.cluster.put("a", &["x.example A 192.0.2.1"]);
    rest(&engine).await;
    assert_eq!(world.sim.records(), ["x.example CNAME lb.test."]);
    assert!(world.reports.has("a", "NameConflict"));
    engine.stop().await;
    let engine = world.start().await;
    rest(&engine).await;
    assert_eq!(world.sim.records(), ["x.example CNAME lb.test."], "also after a restart");
    world.cluster.delete("b");
    rest(&engine).await;
    assert_eq!(world.sim.records(), ["x.example A 192.0.2.1"]);
}

/// A claim where it was written before 2022, at the name of its record, is no reason against a CNAME there: it goes with what it
/// speaks for, or alone where that is gone.
#[tokio::test(start_paused = true)]
async fn an_old_claim_of_ours_makes_way_for_a_cname() {
    let claim = "\"heritage=external-dns,external-dns/owner=me,external-dns/resource=service/ns/s\"";
    let old = format!("n.example TXT {claim}");
    let typed = format!("aaaa-n.example TXT {claim}");
    // What stands, and why no CNAME comes there if none does.
    let cases: &[(&[&str], Option<&str>)] = &[
        (&["n.example A 192.0.2.1", &old], None),
        (&["n.example AAAA 2001:db8::1", &typed, &old], None),
        (&[&old], None),
        // Another record needs it, somebody else's text stands beside it, it is another owner's.
        (&["n.example A 192.0.2.1", "n.example MX 10_mail.other.", &old], Some("CnameConflict")),
        (&["n.example A 192.0.2.1", &format!("{old} hello")], Some("CnameConflict")),
        (&["n.example A 192.0.2.1", &old.replace("owner=me", "owner=other")], Some("ForeignRecord")),
    ];
    for (standing, why) in cases {
        for split in [false, true] {
            let world = World::new(&["example"]);
            if split {
                world.sim.split();
            }
            world.sim.insert(standing);
            let before = world.sim.records();
            world.cluster.put("s", &["n.example CNAME t.other."]);
            let engine = world.start().await;
            rest(&engine).await;
            let what = format!("{standing:?}, split: {split}: {:?}", world.sim.all());
            let old_stands = world.sim.all().iter().any(|line| line.starts_with("n.example 0 TXT"));
            if let Some(why) = why {
                assert_eq!(world.sim.records(), before, "{what}");
                assert!(old_stands && world.reports.has("s", why), "{what}");
            } else {
                assert_eq!(world.sim.records(), ["n.example CNAME t.other."], "{what}");
                assert!(world.sim.all().iter().any(|line| line.starts_with("cname-n.example ")), "{what}");
                assert_eq!(world.sim.all().len(), 2, "{what}");
            }
        }
    }
}
