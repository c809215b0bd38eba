//! A zone of a project, tried and emptied past the provider.

use async_trait::async_trait;
use serde_json::{Value, json};
use zonewright_conformance::live::{EmptyZone, pick, settings};
use zonewright_conformance::provider::Harness;
use zonewright_core::catalog::{FlagValue, ProviderConfig};
use zonewright_core::provider::Provider;
use zonewright_core::shared::Shared;
use zonewright_core::zone::InstanceId;
use zonewright_core::{Error, ErrorKind, RecordSet, Result, Zone};
use zonewright_http::{Client, Connection, Fixed, Method, Proxies, Request};
use zonewright_provider_clouddns::{CloudDns, FLAGS};

use crate::form;

/// Where the API is, below the address of the service.
const API: &str = "/dns/v1";
/// Changes of one request.
const CHANGES: usize = 100;

/// Whom to be, and where.
#[derive(Debug)]
pub(crate) struct Access {
    pub(crate) token: String,
    /// Without a path.
    pub(crate) endpoint: String,
    pub(crate) project: String,
    /// Requests a second in place of the default; 0 is no limit.
    pub(crate) qps: Option<i64>,
}

impl Access {
    /// As the variables of the environment say.
    ///
    /// # Errors
    /// One is missing.
    #[allow(dead_code, reason = "the test states its own")]
    pub(crate) fn of_environment() -> Result<Self> {
        let variable = |name: &str| {
            let given = std::env::var(name).ok().filter(|text| !text.trim().is_empty());
            let missing =
                || Error::new(ErrorKind::Configuration, "try a zone", format!("expected the variable {name}"));
            given.map(|text| text.trim().to_owned()).ok_or_else(missing)
        };
        Ok(Self {
            token: variable("GOOGLE_ACCESS_TOKEN")?,
            endpoint: "https://dns.googleapis.com".to_owned(),
            project: variable("GOOGLE_CLOUD_PROJECT")?,
            qps: None,
        })
    }
}

/// The provider, and the zone by a client of its own.
pub(crate) struct Tried {
    provider: CloudDns,
    zone: Zone,
    past: Client,
    project: String,
}

impl Tried {
    /// The zone of this id or name.
    ///
    /// # Errors
    /// It is not there; there are several; the service cannot be asked.
    pub(crate) async fn new(zone: &str, access: &Access) -> Result<Self> {
        let provider = CloudDns::new(&config(access))?;
        let zone = pick(provider.zones().await?, zone)?;
        let connection = Connection { proxies: Proxies::from_env()?, ..Connection::default() };
        let credentials = Fixed::bearer(&access.token.as_str().into())?;
        let base = format!("{}{API}", access.endpoint);
        let past = Client::builder(&base)?.connection(connection).credentials(credentials).build()?;
        Ok(Self { provider, zone, past, project: access.project.clone() })
    }

    fn request(&self, method: Method, template: &'static str) -> Request {
        Request::new(method, template).set("project", &self.project).set("zone", &self.zone.key.zone)
    }

    /// The sets of the zone, or those of one name and type.
    async fn sets(&self, of: Option<(&Value, &Value)>) -> Result<Vec<Value>> {
        const READ: &str = "read the zone";
        let mut sets = Vec::new();
        let mut next: Option<String> = None;
        loop {
            let mut request = self.request(Method::GET, "/projects/{project}/managedZones/{zone}/rrsets");
            if let Some((name, kind)) = of {
                request = request.query("name", name.as_str().unwrap_or_default());
                request = request.query("type", kind.as_str().unwrap_or_default());
            }
            if let Some(token) = &next {
                request = request.query("pageToken", token);
            }
            let page: Value = self.past.json(READ, &request).await?;
            let some = page["rrsets"].as_array();
            sets.extend(some.ok_or_else(|| Error::new(ErrorKind::Protocol, READ, "the answer has no list"))?.clone());
            let Some(token) = page["nextPageToken"].as_str() else { return Ok(sets) };
            next = Some(token.to_owned());
        }
    }

    /// Those that do not make the zone.
    async fn besides(&self) -> Result<Vec<Value>> {
        let apex = format!("{}.", self.zone.name);
        let makes = |set: &Value| set["name"] == *apex && (set["type"] == "SOA" || set["type"] == "NS");
        Ok(self.sets(None).await?.into_iter().filter(|set| !makes(set)).collect())
    }

    async fn send(&self, change: &Value) -> Result<()> {
        let request = self.request(Method::POST, "/projects/{project}/managedZones/{zone}/changes").json(change);
        Ok(self.past.json::<Value>("write to the zone", &request).await.map(drop)?)
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
        let theirs = form::theirs(&set);
        let stands = self.sets(Some((&theirs["name"], &theirs["type"]))).await;
        let deletions = stands.expect("the zone is read past the provider");
        let change = json!({ "deletions": deletions, "additions": [theirs] });
        self.send(&change).await.expect("the set is written past the provider");
    }

    async fn dump(&self) -> Vec<RecordSet> {
        let sets = self.sets(None).await.expect("the zone is read past the provider");
        sets.iter().map(form::ours).collect()
    }

    /// The service's locations are its regions.
    fn locations(&self) -> [&'static str; 2] {
        ["europe-west1", "us-east1"]
    }
}

#[async_trait]
impl EmptyZone for Tried {
    async fn others(&self) -> Result<Vec<String>> {
        let text = |value: &Value| value.as_str().unwrap_or("?").to_owned();
        let line = |set: &Value| format!("{} {}", text(&set["name"]), text(&set["type"]));
        Ok(self.besides().await?.iter().map(line).collect())
    }

    async fn empty(&self) -> Result<()> {
        for some in self.besides().await?.chunks(CHANGES) {
            self.send(&json!({ "deletions": some })).await?;
        }
        Ok(())
    }
}

/// Each flag with its default, and the access that is given.
fn config(access: &Access) -> ProviderConfig {
    let mut settings = settings(FLAGS);
    settings.set("google-project", FlagValue::Text(access.project.clone()), true);
    if let Some(qps) = access.qps {
        settings.set("google-api-qps", FlagValue::Int(qps), true);
    }
    let given = [("accessToken", &access.token), ("endpoint", &access.endpoint)];
    let credentials = given.map(|(name, value)| (name.to_owned(), value.as_str().into())).into_iter().collect();
    ProviderConfig { instance: InstanceId::from("live"), settings, credentials, shared: Shared::default() }
}
