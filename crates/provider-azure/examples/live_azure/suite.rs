//! A zone of an account, tried and emptied past the provider.

use async_trait::async_trait;
use serde_json::Value;
use zonewright_conformance::live::{EmptyZone, pick, settings};
use zonewright_conformance::provider::Harness;
use zonewright_core::catalog::{FlagValue, ProviderConfig};
use zonewright_core::provider::Provider;
use zonewright_core::shared::Shared;
use zonewright_core::zone::InstanceId;
use zonewright_core::{Error, ErrorKind, RecordSet, Result, Zone};
use zonewright_http::{Client, Connection, Fixed, Method, Proxies, Request};
use zonewright_provider_azure::{AzureDns, FLAGS};

use crate::form;

/// The versions of the interface of public and of private zones.
const VERSIONS: [&str; 2] = ["2018-05-01", "2024-06-01"];
/// Where all sets of a zone are, of either kind.
const ALL: [&str; 2] = [
    "/subscriptions/{subscription}/resourceGroups/{group}/providers/Microsoft.Network/dnsZones/{zone}/all",
    "/subscriptions/{subscription}/resourceGroups/{group}/providers/Microsoft.Network/privateDnsZones/{zone}/ALL",
];
/// Where one set is.
const ONE: [&str; 2] = [
    "/subscriptions/{subscription}/resourceGroups/{group}/providers/Microsoft.Network/dnsZones/{zone}/{type}/{name}",
    "/subscriptions/{subscription}/resourceGroups/{group}/providers/Microsoft.Network/privateDnsZones/{zone}/{type}/{name}",
];
/// Types that make a zone, at its apex.
const MADE: &[&str] = &["SOA", "NS"];

/// Whom to be, and where.
#[derive(Debug)]
pub(crate) struct Access {
    pub(crate) token: String,
    pub(crate) endpoint: String,
    pub(crate) subscription: String,
    pub(crate) group: String,
    /// Whether private zones are tried.
    pub(crate) private: bool,
    /// Writes a second in place of the default; 0 is no limit.
    pub(crate) qps: Option<i64>,
}

impl Access {
    /// As the variables of the environment say.
    ///
    /// # Errors
    /// One is missing.
    #[allow(dead_code, reason = "the test states its own")]
    pub(crate) fn of_environment(private: bool) -> Result<Self> {
        let variable = |name: &str| {
            let given = std::env::var(name).ok().filter(|text| !text.trim().is_empty());
            let missing =
                || Error::new(ErrorKind::Configuration, "try a zone", format!("expected the variable {name}"));
            given.map(|text| text.trim().to_owned()).ok_or_else(missing)
        };
        Ok(Self {
            token: variable("AZURE_ACCESS_TOKEN")?,
            endpoint: "https://management.azure.com".to_owned(),
            subscription: variable("AZURE_SUBSCRIPTION_ID")?,
            group: variable("AZURE_RESOURCE_GROUP")?,
            private,
            qps: None,
        })
    }
}

/// The provider, and the zone by a client of its own.
pub(crate) struct Tried {
    provider: AzureDns,
    zone: Zone,
    past: Client,
    subscription: String,
    group: String,
    private: bool,
}

impl Tried {
    /// The zone of this id or name.
    ///
    /// # Errors
    /// It is not there; there are several; the service cannot be asked.
    pub(crate) async fn new(zone: &str, access: &Access) -> Result<Self> {
        let config = config(access);
        let provider = if access.private { AzureDns::private(&config)? } else { AzureDns::public(&config)? };
        let zone = pick(provider.zones().await?, zone)?;
        let connection = Connection { proxies: Proxies::from_env()?, ..Connection::default() };
        let credentials = Fixed::bearer(&access.token.as_str().into())?;
        let past = Client::builder(&access.endpoint)?.connection(connection).credentials(credentials).build()?;
        let Access { subscription, group, private, .. } = access;
        let (subscription, group, private) = (subscription.clone(), group.clone(), *private);
        Ok(Self { provider, zone, past, subscription, group, private })
    }

    /// What holds for this kind of zones.
    fn of(&self, [public, private]: [&'static str; 2]) -> &'static str {
        if self.private { private } else { public }
    }

    fn request(&self, method: Method, template: &'static str) -> Request {
        Request::new(method, template)
            .set("subscription", &self.subscription)
            .set("group", &self.group)
            .set("zone", &self.zone.name)
            .query("api-version", self.of(VERSIONS))
    }

    fn set_request(&self, method: Method, kind: &str, name: &str) -> Request {
        self.request(method, self.of(ONE)).set("type", kind).set("name", name)
    }

    /// Every set of the zone.
    async fn sets(&self) -> Result<Vec<Value>> {
        const READ: &str = "read the zone";
        let template = self.of(ALL);
        let mut page: Value = self.past.json(READ, &self.request(Method::GET, template)).await?;
        let mut sets = Vec::new();
        loop {
            let some = page["value"].as_array();
            sets.extend(some.ok_or_else(|| Error::new(ErrorKind::Protocol, READ, "the answer has no list"))?.clone());
            let Some(next) = page["nextLink"].as_str() else { return Ok(sets) };
            let link = self.past.link(READ, next)?;
            page = self.past.json(READ, &Request::link(Method::GET, link, template)).await?;
        }
    }

    /// Those that do not make the zone.
    async fn besides(&self) -> Result<Vec<Value>> {
        let makes = |set: &Value| set["name"] == "@" && MADE.contains(&form::kind(set));
        Ok(self.sets().await?.into_iter().filter(|set| !makes(set)).collect())
    }
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
        let name = form::relative(set.key.name.as_str(), self.zone.name.as_str());
        let request =
            self.set_request(Method::PUT, &set.key.rtype.to_string(), name).json(&form::body(&set, self.private));
        self.past.send("write to the zone", &request).await.expect("the set is written past the provider");
    }

    async fn dump(&self) -> Vec<RecordSet> {
        let sets = self.sets().await.expect("the zone is read past the provider");
        sets.iter().map(|set| form::ours(set, self.zone.name.as_str())).collect()
    }
}

#[async_trait]
impl EmptyZone for Tried {
    async fn others(&self) -> Result<Vec<String>> {
        let line = |set: &Value| format!("{} {}", set["name"].as_str().unwrap_or("?"), form::kind(set));
        Ok(self.besides().await?.iter().map(line).collect())
    }

    async fn empty(&self) -> Result<()> {
        for set in self.besides().await? {
            let request = self.set_request(Method::DELETE, form::kind(&set), set["name"].as_str().unwrap_or("?"));
            self.past.send("write to the zone", &request).await?;
        }
        Ok(())
    }
}

/// Each flag with its default, and the access that is given.
fn config(access: &Access) -> ProviderConfig {
    let mut settings = settings(FLAGS);
    let texts = [("azure-subscription-id", &access.subscription), ("azure-resource-group", &access.group)];
    for (flag, text) in texts {
        settings.set(flag, FlagValue::Text(text.clone()), true);
    }
    if let Some(qps) = access.qps {
        settings.set("azure-api-qps", FlagValue::Int(qps), true);
    }
    let given = [("accessToken", &access.token), ("endpoint", &access.endpoint)];
    let credentials = given.map(|(name, value)| (name.to_owned(), value.as_str().into())).into_iter().collect();
    ProviderConfig { instance: InstanceId::from("live"), settings, credentials, shared: Shared::default() }
}
