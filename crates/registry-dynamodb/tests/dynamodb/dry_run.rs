//! A dry run beside a row whose write is still open: it is ours, and only a write could settle it.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::runtime::Builder;
use zonewright_core::intent::digest;

use crate::sim::World;
use crate::support::{TABLE, loaded, service, set, shown};

/// The engine comes to rest, sends nothing, and does not look at the row again and again.
#[test]
fn a_dry_run_leaves_an_open_row_and_rests() {
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let rested = runtime.block_on(async {
        let mut world = World::new(&["example"]);
        world.config.dry_run = true;
        world.sim.insert(&["www.example A 192.0.2.1"]);
        world.cluster.put("web", &["www.example A 192.0.2.1"]);
        let table = service();
        let labels = json!({
            "resource": { "S": "service/default/web" },
            "zonewright-zones": { "S": "" },
            "zonewright-open": { "S": format!("{}@example", digest(&set("www.example A 192.0.2.1"))) },
        });
        let row = json!({ "k": { "S": "www.example#A#" }, "o": { "S": "me" }, "l": { "M": labels } });
        table.put(TABLE, row.as_object().unwrap().clone());
        let before = shown(&table);
        let engine = world.start_with(Arc::new(loaded(&table, "me").await)).await;
        let rested = tokio::time::timeout(Duration::from_secs(20), engine.settled()).await.is_ok();
        rested && shown(&table) == before && world.sim.calls().1 == 0
    });
    // A loop that never waits would hold up the end of the runtime.
    runtime.shutdown_background();
    assert!(rested, "the row is looked at without end, or something was written");
}
