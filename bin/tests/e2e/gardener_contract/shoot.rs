//! The life of a shoot: its three records, its control plane moved to another seed with another controller, and its end.

use serde_json::{Value, json};
use zonewright_testkit::{KubeApi, require};

use super::accept::{self, OPERATION, TIMESTAMP};
use super::clouds::{AWS, Aws, a, record};
use super::world::World;

#[test]
fn a_shoot_lives_moves_and_goes() {
    require!(KubeApi::TOOLS);
    let aws = Aws::new();
    let source = aws.leads(World::new(AWS)).started();
    let internal = ("foo-internal", a("api.foo.internal", "192.0.2.1"));
    let external = ("foo-external", a("api.foo", "192.0.2.1"));
    let ingress = ("foo-ingress", record("*.ingress.foo", "CNAME", &["lb.example.com"]));
    let records = [&internal, &external, &ingress];
    for (name, spec) in records {
        source.record(name).created(spec);
    }
    let shown = |address: &str| {
        [
            format!("api.foo.internal.shop.test A 120 {address}"),
            format!("api.foo.shop.test A 120 {address}"),
            "*.ingress.foo.shop.test CNAME 120 lb.example.com".to_owned(),
        ]
    };
    let stands = |address: &str| {
        let mut expected = shown(address);
        expected.sort();
        let dotless = || aws.shown().iter().map(|line| line.trim_end_matches('.').to_owned()).collect::<Vec<_>>();
        assert_eq!(dotless(), expected);
    };
    stands("192.0.2.1");

    // The control plane leaves: nothing changes in the zone, and the objects go.
    for (name, _) in records {
        source.record(name).does("migrate", &Value::Null);
    }
    for (name, _) in records {
        source.record(name).deleted();
    }
    stands("192.0.2.1");

    // It arrives: the objects wait for their state, and are restored at other addresses.
    let destination = aws.leads(World::alone(AWS)).started();
    for (name, spec) in records {
        let annotations = json!({ OPERATION: "wait-for-state", TIMESTAMP: accept::now() });
        destination.record(name).put(spec, &annotations);
    }
    for (name, spec) in records {
        let values = if spec["recordType"] == "A" { json!({ "values": ["192.0.2.2"] }) } else { Value::Null };
        destination.record(name).does("restore", &values);
        let zone = destination.record(name).status()["zone"].clone();
        assert_eq!(zone, json!(aws.zone));
    }
    stands("192.0.2.2");

    // The source seed's controller is still there, and writes nothing more.
    let writes = aws.writes();
    for (name, _) in records {
        destination.record(name).does("reconcile", &Value::Null);
    }
    assert_eq!(aws.writes(), writes);
    for (name, _) in records {
        destination.record(name).deleted();
    }
    aws.shows(&[]);
    drop((destination, source));
}

/// Gardener replaces an object whose type of record changes: delete, wait, create.
#[test]
fn a_balancer_that_gets_a_host_name_is_another_object() {
    require!(KubeApi::TOOLS);
    let aws = Aws::new();
    let world = aws.leads(World::new(AWS)).started();
    let object = world.record("foo-external");
    object.created(&a("api.foo", "192.0.2.1"));
    object.deleted();
    object.created(&record("api.foo", "CNAME", &["lb.example.com"]));
    let shown = aws.shown();
    assert!(shown.len() == 1 && shown[0].contains("CNAME 120 lb.example.com"), "{shown:?}");
    object.deleted();
    aws.shows(&[]);
}
