//! Objects without a mark, from another seed or of another controller, and what they leave behind.

use serde_json::json;
use zonewright_core::testing::set;

use super::seed::Seed;
use super::{LINE, ZONES};

/// However often its deletion fails, the record of an object that came from another seed is not forgotten.
#[tokio::test(start_paused = true)]
async fn a_restored_object_is_not_deleted_without_its_provider() {
    let seed = Seed::new(ZONES);
    seed.script.put(set("x.example.com A ttl=120 192.0.2.1"));
    seed.script.unreadable(Some(zonewright_core::ErrorKind::Unavailable));
    seed.create("a", LINE, "restore");
    assert!(seed.works().await);
    assert_eq!((seed.says("a").as_str(), &seed.status("a")["providerStatus"]), ("Restore Error", &json!(null)));
    seed.deletes("a");
    for attempt in 0..3 {
        assert!(seed.works().await);
        assert!(!seed.is_gone("a") && seed.says("a") == "Delete Error", "attempt {attempt}");
        tokio::time::advance(std::time::Duration::from_mins(1)).await;
    }
    seed.script.unreadable(None);
    seed.settles().await;
    assert!(seed.is_gone("a") && seed.script.shown().is_empty());
}
