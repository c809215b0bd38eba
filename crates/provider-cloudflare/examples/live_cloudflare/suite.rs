//! A zone of an account, tried and emptied past the provider.

use async_trait::async_trait;
use serde_json::{Value, json};
use zonewright_conformance::live::{EmptyZone, pick, settings};
use zonewright_conformance::provider::Harness;
use zonewright_core::catalog::{FlagValue, ProviderConfig};
use zonewright_core::provider::Provider;
use zonewright_core::shared::Shared;
use zonewright_core::zone::InstanceId;
use zonewright_core::{Error, ErrorKind, RecordSet, Result, Zone};
use zonewright_http::{Client, Connection, Fixed, HeaderName, Method, Proxies, Request};
use zonewright_provider_cloudflare::{Cloudflare, FLAGS};

use crate::form;

/// Records on a page.
const PAGE: usize = 100;

/// What differs from a run of the terminal.
#[derive(Debug, Default)]
pub(crate) struct Options {
    /// A token and the address of the service, in place of those that are found.
    pub(crate) access: Option<[String; 2]>,
    /// Requests a second in place of the default; 0 is no limit.
    pub(crate) qps: Option<i64>,
}

/// The provider, and the zone by a client of its own.
pub(crate) struct Tried {
    provider: Cloudflare,
    zone: Zone,
    past: Client,
}

impl Tried {
    /// The zone of this id or name.
    ///
    /// # Errors
    /// It is not there; there are several; the service cannot be asked.
    pub(crate) async fn new(zone: &str, options: &Options) -> Result<Self> {
        let provider = Cloudflare::new(&config(options))?;
        let zone = pick(provider.zones().await?, zone)?;
        let variable = |name: &str| std::env::var(name).ok().filter(|text| !text.trim().is_empty());
        let (base, credentials) = if let Some([token, base]) = &options.access {
            (base.clone(), Fixed::bearer(&token.as_str().into())?)
        } else {
            let base = variable("CLOUDFLARE_BASE_URL");
            let base = base.unwrap_or_else(|| "https://api.cloudflare.com/client/v4".to_owned());
            (base, credentials(variable)?)
        };
        let connection = Connection { proxies: Proxies::from_env()?, ..Connection::default() };
        let past = Client::builder(&base)?.connection(connection).credentials(credentials).build()?;
        Ok(Self { provider, zone, past })
    }

    fn request(&self, method: Method, template: &'static str) -> Request {
        Request::new(method, template).set("zone", &self.zone.key.zone)
    }

    /// Every record of the zone.
    async fn records(&self) -> Result<Vec<Value>> {
        let mut records = Vec::new();
        for page in 1.. {
            let request = self.request(Method::GET, "/zones/{zone}/dns_records");
            let request = request.query("page", page).query("per_page", PAGE);
            let answer: Value = self.past.json("read the zone", &request).await?;
            match answer["result"].as_array() {
                Some(some) if !some.is_empty() => records.extend(some.iter().cloned()),
                Some(_) => break,
                None => return Err(Error::new(ErrorKind::Protocol, "read the zone", "the answer has no list")),
            }
        }
        Ok(records)
    }

    async fn send(&self, batch: &Value) -> Result<()> {
        let request = self.request(Method::POST, "/zones/{zone}/dns_records/batch").json(batch);
        Ok(self.past.json::<Value>("write to the zone", &request).await.map(drop)?)
    }
}

/// Those of the environment, found as the provider finds them.
fn credentials(variable: impl Fn(&str) -> Option<String>) -> Result<Fixed> {
    if let Some(token) = variable("CF_API_TOKEN") {
        let token = match token.strip_prefix("file:") {
            Some(path) => std::fs::read_to_string(path.trim()).map_err(|error| {
                Error::new(ErrorKind::Configuration, "read credentials", format!("{path} cannot be read: {error}"))
            })?,
            None => token,
        };
        return Fixed::bearer(&token.trim().into());
    }
    let text = |name: &str| variable(name).unwrap_or_default().into();
    let email = Fixed::of(HeaderName::from_static("x-auth-email"), text("CF_API_EMAIL"))?;
    email.and(HeaderName::from_static("x-auth-key"), text("CF_API_KEY"))
}

#[async_trait]
impl Harness for Tried {
    fn provider(&self) -> &dyn Provider {
        &self.provider
    }

    fn zone(&self) -> &Zone {
        &self.zone
    }

    async fn insert(&self, set: RecordSet) {
        let batch = json!({ "posts": form::theirs(&set) });
        self.send(&batch).await.expect("the set is written past the provider");
    }

    async fn dump(&self) -> Vec<RecordSet> {
        form::ours(&self.records().await.expect("the zone is read past the provider"))
    }
}

#[async_trait]
impl EmptyZone for Tried {
    /// The service lists neither the SOA nor the NS records that make a zone.
    async fn others(&self) -> Result<Vec<String>> {
        let line =
            |record: &Value| [&record["name"], &record["type"]].map(|text| text.as_str().unwrap_or("?")).join(" ");
        Ok(self.records().await?.iter().map(line).collect())
    }

    async fn empty(&self) -> Result<()> {
        for some in self.records().await?.chunks(PAGE) {
            let deletes: Vec<Value> = some.iter().map(|record| json!({ "id": record["id"] })).collect();
            self.send(&json!({ "deletes": deletes })).await?;
        }
        Ok(())
    }
}

/// Each flag with its default, and the access that is given.
fn config(options: &Options) -> ProviderConfig {
    let mut settings = settings(FLAGS);
    if let Some(qps) = options.qps {
        settings.set("cloudflare-api-qps", FlagValue::Int(qps), true);
    }
    let given = options.access.iter().flat_map(|access| ["apiToken", "endpoint"].into_iter().zip(access));
    let credentials = given.map(|(name, value)| (name.to_owned(), value.as_str().into())).collect();
    ProviderConfig { instance: InstanceId::from("live"), settings, credentials, shared: Shared::default() }
}
