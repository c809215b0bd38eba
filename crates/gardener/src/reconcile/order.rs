//! The order of writes in each operation, and what each of them demands of the object's version.

use serde_json::json;
use zonewright_cluster::PatchTarget;

use super::seed::Seed;
use super::{LINE, SHOWN, ZONES};
use crate::types::FINALIZER;

impl Seed {
    /// What was written since the last time, in order.
    fn written(&self) -> Vec<String> {
        std::mem::take(&mut *self.api.log.lock().unwrap())
    }
}

#[tokio::test(start_paused = true)]
async fn each_operation_writes_in_its_order() {
    let seed = Seed::new(ZONES);
    seed.create("a", LINE, "reconcile");
    seed.settles().await;
    assert_eq!(seed.written(), ["finalizer", "Create Processing", "no request", "mark", "Create Succeeded"]);
    seed.asks("a", "reconcile", &json!({ "values": ["192.0.2.2"] }));
    seed.settles().await;
    assert_eq!(seed.written(), ["Reconcile Processing", "no request", "Reconcile Succeeded"]);
    seed.asks("a", "migrate", &json!({}));
    seed.settles().await;
    assert_eq!(seed.written(), ["Migrate Processing", "Migrate Succeeded", "no finalizer", "no request"]);
    seed.asks("a", "restore", &json!({}));
    seed.settles().await;
    assert_eq!(seed.written(), ["finalizer", "Restore Processing", "Restore Succeeded", "no request"]);
    seed.deletes("a");
    seed.settles().await;
    assert_eq!(seed.written(), ["Delete Processing", "Delete Succeeded", "no finalizer"]);
    assert!(seed.is_gone("a"));
}

/// The finalizer is written into the version that was read: one that another client adds meanwhile stays.
#[tokio::test(start_paused = true)]
async fn a_finalizer_that_comes_meanwhile_stays() {
    let seed = Seed::new(ZONES);
    seed.create("a", LINE, "reconcile");
    let (api, mut first) = (std::sync::Arc::downgrade(&seed.api), true);
    seed.script.fuse.plan(move |what| {
        if what == "finalizer" && std::mem::take(&mut first) {
            let other = json!({ "metadata": { "finalizers": ["example.com/other"] } });
            api.upgrade()?.change(&Seed::name("a"), PatchTarget::Object, &other).unwrap();
        }
        None
    });
    seed.settles().await;
    assert!(seed.is_done("a"));
    let finalizers = seed.api.read(&Seed::name("a")).unwrap().metadata.finalizers;
    assert_eq!(
        (finalizers, seed.script.shown()),
        (vec!["example.com/other".to_owned(), FINALIZER.to_owned()], vec![SHOWN.to_owned()])
    );
}
