//! One provider for each credential, at providers that are built from an entry.

use std::sync::atomic::{AtomicUsize, Ordering};

use secrecy::SecretString;

use super::*;
use crate::testing::Script;

/// How many providers were built, in what all instances have in common.
#[derive(Debug, Default)]
struct Built(AtomicUsize);

const ENTRY: ProviderEntry = ProviderEntry::new("script", "a test", |config| {
    Box::pin(async move {
        config.shared.get::<Built>().0.fetch_add(1, Ordering::Relaxed);
        Ok(Arc::new(Script::with_zones(&["example.com"])) as Arc<dyn Provider>)
    })
});

fn login(secret: &str) -> Login {
    let credentials = BTreeMap::from([("key".to_owned(), SecretString::from(secret))]);
    Login { credentials, ..Login::default() }
}

#[tokio::test(start_paused = true)]
async fn one_provider_for_each_credential() {
    let shared = Shared::default();
    let backends = [Backend { kind: ProviderKind::Route53, entry: ENTRY }];
    let accounts = ProviderAccounts::new(&backends, Settings::default(), shared.clone(), Arc::default());
    let open = async |secret: &str| accounts.account(ProviderKind::Route53, login(secret)).await.unwrap();
    let (one, same, other) = (open("a").await, open("a").await, open("b").await);
    assert!(Arc::ptr_eq(&one, &same) && !Arc::ptr_eq(&one, &other));
    assert_eq!(shared.get::<Built>().0.load(Ordering::Relaxed), 2);
    assert!(matches!(
        accounts.account(ProviderKind::Rfc2136, login("a")).await,
        Err(OperationFailure::Configuration(_))
    ));
    drop((one, same));
    tokio::time::advance(Duration::from_mins(59)).await;
    accounts.drop_unused();
    assert_eq!(accounts.len(), 2);
    tokio::time::advance(Duration::from_mins(2)).await;
    accounts.drop_unused();
    assert_eq!(accounts.len(), 1, "the other one is in use");
}

#[tokio::test(start_paused = true)]
async fn a_zone_is_asked_for_once() {
    let script = Arc::new(Script::with_zones(&["example.com"]));
    let account = crate::testing::account(&script);
    let id = ZoneId::from("example.com");
    for _ in 0..3 {
        assert!(account.zone(&id).await.unwrap().is_some());
    }
    assert_eq!(script.asked(), 1);
    account.forget(&id);
    script.drop_zone("example.com");
    assert!(account.zone(&id).await.unwrap().is_none());
}
