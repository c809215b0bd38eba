//! One seed whose provider is a real one, at its service on loopback.

use std::collections::BTreeMap;
use std::sync::Mutex;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};
use zonewright_conformance::live::settings;
use zonewright_core::catalog::{FlagKind, FlagSpec, FlagValue, ProviderConfig, ProviderEntry, Settings};
use zonewright_fakes::azure::{self, AzureDns};
use zonewright_fakes::clouddns::{self, CloudDns};
use zonewright_fakes::cloudflare::{self, Cloudflare};
use zonewright_fakes::route53::{Fault, Route53};
use zonewright_http::Patience;
use zonewright_provider_azure as azure_provider;
use zonewright_provider_clouddns as google_provider;
use zonewright_provider_cloudflare as cloudflare_provider;
use zonewright_provider_route53 as aws_provider;

use super::super::super::*;
use super::super::seed::Seed;
use crate::accounts::Backend;
use crate::types::ABANDON;

/// The zone of every service.
const ZONE: &str = "shop.test";
/// The account of the key that the Route 53 on loopback knows.
const ACCOUNT: &str = "000000000001";

/// Which service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cloud {
    Aws,
    Google,
    Azure,
    Cloudflare,
}

impl Cloud {
    pub(super) const ALL: [Self; 4] = [Self::Aws, Self::Google, Self::Azure, Self::Cloudflare];

    fn kind(self) -> ProviderKind {
        match self {
            Self::Aws => ProviderKind::Route53,
            Self::Google => ProviderKind::CloudDns,
            Self::Azure => ProviderKind::AzureDns,
            Self::Cloudflare => ProviderKind::Cloudflare,
        }
    }

    /// The provider's entry, and that entry led to the service on loopback.
    fn entry(self) -> ProviderEntry {
        match self {
            Self::Aws => {
                ProviderEntry { build: |config| (aws_provider::ENTRY.build)(led(config, &[])), ..aws_provider::ENTRY }
            }
            Self::Google => ProviderEntry {
                build: |config| (google_provider::ENTRY.build)(led(config, &[("accessToken", clouddns::TOKEN)])),
                ..google_provider::ENTRY
            },
            Self::Azure => ProviderEntry {
                build: |config| (azure_provider::ENTRY.build)(led_to_cloud(config)),
                ..azure_provider::ENTRY
            },
            Self::Cloudflare => ProviderEntry {
                build: |config| (cloudflare_provider::ENTRY.build)(led(config, &[])),
                ..cloudflare_provider::ENTRY
            },
        }
    }

    /// What the Secret holds.
    fn secret(self) -> Value {
        let keys: &[(&str, &str)] = match self {
            Self::Aws => &[("accessKeyID", "AKIDFAKE"), ("secretAccessKey", "s3cr3t")],
            Self::Google => &[("serviceaccount.json", r#"{ "type": "service_account", "project_id": "shop" }"#)],
            Self::Azure => {
                &[("subscriptionID", "sub-1"), ("tenantID", "tenant"), ("clientID", "app"), ("clientSecret", "s3cr3t")]
            }
            Self::Cloudflare => &[("apiToken", cloudflare::TOKEN)],
        };
        keys.iter().map(|(key, value)| ((*key).to_owned(), json!(STANDARD.encode(value)))).collect()
    }
}

/// Where the service is, for the entries.
#[derive(Debug, Default)]
struct Url(Mutex<String>);

/// A configuration that leads to the service, with these credentials in place of what Google would exchange for a token.
fn led(mut config: ProviderConfig, token: &[(&str, &str)]) -> ProviderConfig {
    let url = config.shared.get::<Url>().0.lock().unwrap().clone();
    if !token.is_empty() {
        config.credentials = token.iter().map(|(key, value)| ((*key).to_owned(), (*value).into())).collect();
    }
    config.credentials.insert("endpoint".to_owned(), url.into());
    config
}

/// The same where `azure.json` says which cloud it is.
fn led_to_cloud(mut config: ProviderConfig) -> ProviderConfig {
    let url = config.shared.get::<Url>().0.lock().unwrap().clone();
    let mut file: Value = serde_json::from_str(config.credentials["azure.json"].expose_secret()).unwrap();
    file["cloud"] = json!("AzureStackCloud");
    file["activeDirectoryAuthorityHost"] = json!(url);
    file["resourceManagerEndpoint"] = json!(url);
    config.credentials.insert("azure.json".to_owned(), file.to_string().into());
    config
}

/// The settings of a process without flags.
fn defaults(flags: &[FlagSpec]) -> Settings {
    let mut settings = settings(flags);
    for flag in flags.iter().filter(|flag| matches!(flag.kind, FlagKind::Text)) {
        settings.set(flag.name, FlagValue::Text(flag.default.to_owned()), false);
    }
    settings
}

/// A service on loopback with one zone.
enum Service {
    Aws(Route53, String),
    Google(CloudDns, String),
    Azure(AzureDns, String),
    Cloudflare(Cloudflare, String),
}

impl Service {
    fn start(cloud: Cloud) -> Self {
        match cloud {
            Cloud::Aws => {
                let service = Route53::start();
                let zone = service.add_zone(ACCOUNT, ZONE, false, &[]);
                Self::Aws(service, zone)
            }
            Cloud::Google => {
                let service = CloudDns::start();
                let zone = service.add_zone("shop", "shop", "shop.test.", clouddns::Kind::Public);
                Self::Google(service, zone)
            }
            Cloud::Azure => {
                let service = AzureDns::start();
                service.allow_secret("tenant", "app", "s3cr3t");
                let zone = service.add_zone(azure::Kind::Public, "sub-1", "shop", ZONE);
                Self::Azure(service, zone)
            }
            Cloud::Cloudflare => {
                let service = Cloudflare::start();
                let zone = service.add_zone(ZONE, cloudflare::Plan::Enterprise);
                Self::Cloudflare(service, zone)
            }
        }
    }

    fn url(&self) -> String {
        match self {
            Self::Aws(service, _) => service.url(),
            Self::Google(service, _) => service.url(),
            Self::Azure(service, _) => service.url(),
            Self::Cloudflare(service, _) => service.url(),
        }
    }

    fn calls(&self) -> BTreeMap<String, usize> {
        match self {
            Self::Aws(service, _) => service.calls(),
            Self::Google(service, _) => service.calls(),
            Self::Azure(service, _) => service.calls(),
            Self::Cloudflare(service, _) => service.calls(),
        }
    }

    fn fail(&self, fault: Fault, times: usize) {
        match self {
            Self::Aws(service, _) => service.fail_any(0, fault, times),
            Self::Google(service, _) => service.fail_any(0, fault, times),
            Self::Azure(service, _) => service.fail_any(0, fault, times),
            Self::Cloudflare(service, _) => service.fail_any(0, fault, times),
        }
    }

    /// How many addresses stand in a zone.
    fn addresses_in(&self, zone: &str) -> usize {
        let count = |kinds: Vec<String>| kinds.iter().filter(|kind| ["A", "AAAA"].contains(&kind.as_str())).count();
        count(match self {
            Self::Aws(service, _) => service.sets(zone).into_iter().map(|set| set.kind).collect(),
            Self::Google(service, _) => service.sets(zone).into_iter().map(|set| set.kind).collect(),
            Self::Azure(service, _) => service.sets(zone).into_iter().map(|set| set.kind).collect(),
            Self::Cloudflare(service, _) => service.records(zone).into_iter().map(|record| record.kind).collect(),
        })
    }

    /// The same of the zone that it started with.
    fn addresses(&self) -> usize {
        let (Self::Aws(_, zone) | Self::Google(_, zone) | Self::Azure(_, zone) | Self::Cloudflare(_, zone)) = self;
        self.addresses_in(zone)
    }
}

/// A seed with the service of its objects.
pub(super) struct Site {
    pub(super) seed: Seed,
    service: Option<Service>,
    cloud: Cloud,
    /// What was asked of the API server, and when.
    asked: Arc<Mutex<Vec<(String, Instant)>>>,
}

/// The timer of tokio, which the tests hurry.
use tokio::time::Instant;

impl Site {
    /// `timeout` is the longest time of a request.
    pub(super) fn new(cloud: Cloud, timeout: Duration) -> Self {
        Self::with(cloud, timeout, 5)
    }

    /// With so many attempts at once.
    pub(super) fn with(cloud: Cloud, timeout: Duration, at_once: usize) -> Self {
        let service = Service::start(cloud);
        let mut seed = Seed::new(&[]);
        seed.shared.get::<Patience>().set(timeout, Duration::from_millis(200));
        service.url().clone_into(&mut *seed.shared.get::<Url>().0.lock().unwrap());
        let entry = cloud.entry();
        let backends = [Backend { kind: cloud.kind(), entry }];
        seed.reconciler = Seed::process_of(&seed.api, &seed.shared, &backends, (defaults(entry.flags), at_once));
        let asked: Arc<Mutex<Vec<(String, Instant)>>> = Arc::default();
        let recorded = asked.clone();
        seed.script.fuse.plan(move |what| {
            recorded.lock().unwrap().push((what.to_owned(), Instant::now()));
            None
        });
        let site = Self { seed, service: Some(service), cloud, asked };
        site.secret("dns");
        site
    }

    fn service(&self) -> &Service {
        self.service.as_ref().expect("the test has not ended the service")
    }

    /// Another Secret with the credentials of the account.
    pub(super) fn secret(&self, name: &str) {
        self.seed.api.secrets.lock().unwrap().insert(name.to_owned(), self.cloud.secret());
    }

    /// Creates an object of the service's type: `name-below-the-zone TYPE value...`.
    pub(super) fn create(&self, secret: &str, name: &str, line: &str) {
        let (host, rest) = line.split_once(' ').unwrap();
        self.seed.create_with(secret, name, &format!("{host}.{ZONE} {rest}"), "reconcile");
        self.seed.change(name, &json!({ "spec": { "type": self.cloud.kind().as_str() } }));
    }

    /// A Secret with the credentials of the account, but for the value of this key.
    pub(super) fn secret_with(&self, name: &str, key: &str, value: &str) {
        let mut data = self.cloud.secret();
        data[key] = json!(STANDARD.encode(value));
        self.seed.api.secrets.lock().unwrap().insert(name.to_owned(), data);
    }

    /// A Secret with this token of Cloudflare.
    pub(super) fn token(&self, secret: &str, token: &str) {
        self.secret_with(secret, "apiToken", token);
    }

    /// The service at Cloudflare, and its zone.
    pub(super) fn cloudflare(&self) -> (&Cloudflare, &str) {
        let Service::Cloudflare(service, zone) = self.service() else { panic!("the test is of another service") };
        (service, zone)
    }

    /// The service at Amazon, and its zone.
    pub(super) fn aws(&self) -> (&Route53, &str) {
        let Service::Aws(service, zone) = self.service() else { panic!("the test is of another service") };
        (service, zone)
    }

    fn google(&self) -> &CloudDns {
        let Service::Google(service, _) = self.service() else { panic!("the test is of another service") };
        service
    }

    /// A managed zone of the same name and domain in another project of Google.
    pub(super) fn zone_of_project(&self, project: &str) -> String {
        self.google().add_zone(project, "shop", "shop.test.", clouddns::Kind::Public)
    }

    /// The service at Azure, and its zone.
    pub(super) fn azure(&self) -> (&AzureDns, &str) {
        let Service::Azure(service, zone) = self.service() else { panic!("the test is of another service") };
        (service, zone)
    }

    /// Puts an address of somebody else's into a zone of Google.
    pub(super) fn put_address(&self, zone: &str, host: &str) {
        let set = clouddns::RecordSet::new(&format!("{host}.{ZONE}."), "A", 120, &["192.0.2.1"]);
        self.google().put(zone, set);
    }

    /// How many addresses stand in this zone of the service.
    pub(super) fn addresses_in(&self, zone: &str) -> usize {
        self.service().addresses_in(zone)
    }

    /// The object names this zone as given up.
    pub(super) fn gives_up(&self, name: &str, zone: &str) {
        self.seed.change(name, &json!({ "metadata": { "annotations": { ABANDON: zone } } }));
    }

    /// What the last error of an object says.
    pub(super) fn error(&self, name: &str) -> String {
        self.seed.status(name)["lastError"]["description"].as_str().unwrap_or_default().to_owned()
    }

    /// Whether this was reported of an object.
    pub(super) fn reported(&self, event: &str) -> bool {
        self.seed.api.events.lock().unwrap().iter().any(|known| known == event)
    }

    /// From now on so many requests fail so; 0 ends it.
    pub(super) fn fail(&self, fault: Fault, times: usize) {
        self.service().fail(fault, times);
    }

    /// How long a service that throttles asks callers to wait, where it asks for a time.
    pub(super) fn set_retry_after(&self, seconds: u64) {
        match self.service() {
            Service::Aws(..) => {}
            Service::Google(service, _) => service.set_retry_after(seconds),
            Service::Azure(service, _) => service.set_retry_after(seconds),
            Service::Cloudflare(service, _) => service.set_retry_after(seconds),
        }
    }

    /// The service is not there any more.
    pub(super) fn end_service(&mut self) {
        self.service = None;
    }

    pub(super) fn requests(&self) -> usize {
        match self.service() {
            Service::Aws(service, _) => service.requests(),
            Service::Google(service, _) => service.requests(),
            Service::Azure(service, _) => service.requests(),
            Service::Cloudflare(service, _) => service.requests(),
        }
    }

    /// Requests that ask for a change.
    pub(super) fn writes(&self) -> usize {
        let reads = ["List", "Get", "Verify"];
        let calls = self.service().calls().into_iter();
        calls.filter(|(call, _)| !reads.iter().any(|read| call.starts_with(read))).map(|(_, count)| count).sum()
    }

    pub(super) fn addresses(&self) -> usize {
        self.service().addresses()
    }

    /// When this was asked of the API server.
    pub(super) fn times(&self, what: &str) -> Vec<Instant> {
        let asked = self.asked.lock().unwrap();
        asked.iter().filter(|(asked, _)| asked == what).map(|(_, at)| *at).collect()
    }

    /// From the beginning of each attempt so far to that of the next one.
    pub(super) fn pauses(&self) -> Vec<Duration> {
        self.times("read object").windows(2).map(|two| two[1] - two[0]).collect()
    }

    pub(super) fn attempts(&self) -> usize {
        self.times("read object").len()
    }

    /// How often this was written.
    pub(super) fn written(&self, what: &str) -> usize {
        self.seed.api.log.lock().unwrap().iter().filter(|line| *line == what).count()
    }
}
