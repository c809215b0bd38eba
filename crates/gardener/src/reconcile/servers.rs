//! Records at DNS servers, whose provider has the zones that its login names and no others.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use secrecy::ExposeSecret as _;
use zonewright_core::capability::Capability;
use zonewright_core::catalog::{ProviderEntry, Settings};
use zonewright_core::change::{Group, Outcome};
use zonewright_core::endpoint::Endpoint;
use zonewright_core::interpret::Interpretation;
use zonewright_core::provider::{Adjustment, Listing, Provider, Read};
use zonewright_core::zone::{InstanceId, ZoneId};
use zonewright_core::{RecordSet, Result};

use super::*;
use crate::accounts::Backend;
use crate::testing::Script;
use crate::types::ABANDON;

/// A server that holds every zone of the script, by a provider that has these.
struct Narrow {
    server: Arc<Script>,
    zones: Vec<String>,
}

/// The servers of the tests, by their names in Secrets.
#[derive(Default)]
struct Servers(Mutex<std::collections::BTreeMap<String, Arc<Script>>>);

const ENTRY: ProviderEntry = ProviderEntry::new("narrow", "a test", |config| {
    Box::pin(async move {
        let name = config.credentials["server"].expose_secret().to_owned();
        let server = config.shared.get::<Servers>().0.lock().unwrap()[&name].clone();
        Ok(Arc::new(Narrow { server, zones: config.settings.nonempty("rfc2136-zone") }) as Arc<dyn Provider>)
    })
});

#[async_trait::async_trait]
impl Provider for Narrow {
    fn capability(&self, zone: Option<&Zone>) -> Capability {
        self.server.capability(zone)
    }

    async fn zones(&self) -> Result<Vec<Zone>> {
        let zone = |id: &String| Zone::new(&InstanceId::from("narrow"), id, DnsName::parse(id).unwrap());
        Ok(self.zones.iter().map(zone).collect())
    }

    async fn zone(&self, id: &ZoneId) -> Result<Option<Zone>> {
        Ok(self.zones().await?.into_iter().find(|zone| zone.key.zone == *id))
    }

    async fn records(&self, zone: &Zone, read: Read<'_>) -> Result<Listing> {
        self.server.records(zone, read).await
    }

    fn interpret(&self, zone: &Zone, endpoint: &Endpoint) -> Interpretation {
        self.server.interpret(zone, endpoint)
    }

    async fn adjust(&self, zone: &Zone, sets: &[RecordSet]) -> Vec<Adjustment> {
        self.server.adjust(zone, sets).await
    }

    async fn apply(&self, zone: &Zone, groups: &[Group]) -> Vec<Outcome> {
        self.server.apply(zone, groups).await
    }

    async fn served(&self, zone: &Zone) -> Result<Option<bool>> {
        self.server.served(zone).await
    }
}

/// A seed with a server that holds `example.com` and `com`, and a record in the first.
async fn site() -> Seed {
    let mut seed = Seed::new(&["example.com", "com"]);
    let servers = seed.shared.get::<Servers>();
    servers.0.lock().unwrap().insert("ns".to_owned(), seed.script.clone());
    let backends = [Backend { kind: ProviderKind::Rfc2136, entry: ENTRY }];
    seed.reconciler = Seed::process_of(&seed.api, &seed.shared, &backends, (Settings::default(), 5));
    secret_names(&seed, "example.com");
    seed.create("a", LINE, "reconcile");
    seed.change("a", &json!({ "spec": { "type": "rfc2136" } }));
    seed.settles().await;
    assert!(seed.is_done("a") && seed.status("a")["zone"] == "example.com");
    seed
}

/// The Secret names this zone from now on.
fn secret_names(seed: &Seed, zone: &str) {
    let keys = [("server", "ns"), ("zone", zone), ("tsigKeyName", "k"), ("tsigSecret", "c2VjcmV0")];
    let data: Value = keys.iter().map(|(key, value)| ((*key).to_owned(), json!(STANDARD.encode(value)))).collect();
    seed.api.secrets.lock().unwrap().insert("dns".to_owned(), data);
}

#[tokio::test(start_paused = true)]
async fn a_zone_that_the_mark_alone_names_is_asked_for_at_the_server() {
    for deleted in [false, true] {
        let seed = site().await;
        secret_names(&seed, "com");
        if deleted {
            seed.change("a", &json!({ "spec": { "zone": "com" } }));
            seed.deletes("a");
            seed.settles().await;
            assert!(seed.is_gone("a") && seed.script.shown().is_empty(), "{:?}", seed.script.shown());
        } else {
            seed.asks("a", "reconcile", &json!({ "zone": "com" }));
            seed.settles().await;
            assert!(seed.is_done("a") && seed.status("a")["providerStatus"]["zones"] == json!(["com"]));
            assert_eq!(seed.script.shown(), [SHOWN], "in one of the two zones");
        }
    }
}

/// A server that refuses says nothing of the zone.
#[tokio::test(start_paused = true)]
async fn only_the_word_of_the_server_makes_a_zone_of_the_mark_gone() {
    let seed = site().await;
    secret_names(&seed, "com");
    seed.change("a", &json!({ "spec": { "zone": "com" } }));
    seed.script.unreadable(Some(ErrorKind::Unauthorized));
    seed.deletes("a");
    assert!(seed.works().await);
    assert!(!seed.is_gone("a"), "the record stands: {:?}", seed.script.shown());
    assert_eq!(seed.says("a"), "Delete Error ERR_INFRA_UNAUTHORIZED");
    seed.script.unreadable(None);
    seed.script.drop_zone("example.com");
    seed.settles().await;
    assert!(seed.is_gone("a"));
}

/// A server that does not serve the zone any more refuses, as one does that does not know the key.
#[tokio::test(start_paused = true)]
async fn a_zone_that_its_server_refuses_for_ever_is_given_up_by_its_name() {
    for secret in [true, false] {
        let seed = site().await;
        seed.script.unreadable(Some(ErrorKind::Unauthorized));
        // Without the Secret no server can be asked.
        *seed.api.secret.lock().unwrap() = secret;
        seed.deletes("a");
        assert!(seed.works().await);
        let names = |zone: &str| {
            seed.change("a", &json!({ "metadata": { "annotations": { ABANDON: zone } } }));
        };
        names("com");
        assert!(seed.works().await);
        assert!(!seed.is_gone("a") && seed.says("a").starts_with("Delete Error"), "Secret: {secret}");
        names("example.com");
        assert!(seed.works().await);
        assert!(seed.is_gone("a"), "Secret: {secret}: {:#}", seed.status("a"));
        assert_eq!(seed.script.shown(), [SHOWN], "it was not reached");
        assert!(seed.api.events.lock().unwrap().contains(&"a ZoneAbandoned".to_owned()), "Secret: {secret}");
    }
}
