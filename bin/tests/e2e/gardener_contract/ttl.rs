//! How long resolvers may keep a record.

use serde_json::{Value, json};
use zonewright_testkit::{KubeApi, require};

use super::clouds::{a, aws, with};

#[test]
fn the_ttl_is_120_unless_it_is_said_and_is_changed_alone() {
    require!(KubeApi::TOOLS);
    let (aws, world) = aws();
    let object = world.record("web");
    object.created(&a("web", "192.0.2.1"));
    aws.shows(&["web.shop.test A 120 192.0.2.1"]);
    assert!(object.get()["spec"]["ttl"].is_null(), "it is not written back");
    object.does("reconcile", &json!({ "ttl": 30 }));
    aws.shows(&["web.shop.test A 30 192.0.2.1"]);
    object.does("reconcile", &json!({ "ttl": null }));
    aws.shows(&["web.shop.test A 120 192.0.2.1"]);
    let writes = aws.writes();
    object.does("reconcile", &json!({ "ttl": 120 }));
    object.does("reconcile", &Value::Null);
    assert_eq!(aws.writes(), writes);
    world.record("none").created(&with(a("none", "192.0.2.2"), &json!({ "ttl": 0 })));
    aws.shows(&["none.shop.test A 0 192.0.2.2", "web.shop.test A 120 192.0.2.1"]);
}
