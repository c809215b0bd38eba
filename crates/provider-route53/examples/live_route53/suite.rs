//! A zone of an account, tried and emptied past the provider.

use std::sync::Arc;

use async_trait::async_trait;
use aws_sdk_route53::Client;
use aws_sdk_route53::types::{
    AliasTarget as WireAlias, Change, ChangeAction, ChangeBatch, ResourceRecord, ResourceRecordSet, RrType,
};
use zonewright_aws::{Access, AccessConfig, sdk_http_client};
use zonewright_conformance::live::{EmptyZone, pick, settings};
use zonewright_conformance::provider::Harness;
use zonewright_core::catalog::{FlagValue, ProviderConfig};
use zonewright_core::provider::Provider;
use zonewright_core::rdata::Txt;
use zonewright_core::record::{AliasTarget, Routing, SetId};
use zonewright_core::shared::Shared;
use zonewright_core::zone::InstanceId;
use zonewright_core::{RData, RecordData, RecordKey, RecordSet, RecordType, Result, Ttl, Zone};
use zonewright_http::{Account, Connection, Proxies, RequestTimes};
use zonewright_provider_route53::{FLAGS, Route53, name, txt};

/// What differs from a run of the terminal.
#[derive(Debug, Default)]
pub(crate) struct Options {
    /// An access key, its secret and an address, in place of those that are found.
    pub(crate) access: Option<[String; 3]>,
    /// Requests a second in place of the default; 0 is no limit.
    pub(crate) qps: Option<i64>,
}

/// The provider, and the zone by a client of its own.
pub(crate) struct Tried {
    provider: Route53,
    zone: Zone,
    past: Access<Client>,
}

impl Tried {
    /// The zone of this id or name.
    ///
    /// # Errors
    /// It is not there; there are several; the account cannot be asked.
    pub(crate) async fn new(zone: &str, options: &Options) -> Result<Self> {
        let config = config(options);
        let provider = Route53::new(&config)?;
        let zone = pick(provider.zones().await?, zone)?;
        let connection = Connection { proxies: Proxies::from_env()?, ..Connection::default() };
        let http = sdk_http_client(&connection, RequestTimes::default(), str::to_owned)?;
        let access = match &options.access {
            Some([id, secret, endpoint]) => AccessConfig {
                keys: Some(zonewright_aws::AccessKeys { id: id.clone(), secret: secret.clone().into(), token: None }),
                endpoint: Some(endpoint.clone()),
                ..AccessConfig::default()
            },
            None => AccessConfig::default(),
        };
        let past = Access::new(access, http, Account::unlimited("past the provider"), |config| Client::new(config));
        Ok(Self { provider, zone, past })
    }

    /// Every set of the zone.
    async fn sets(&self) -> Result<Vec<ResourceRecordSet>> {
        let mut sets = Vec::new();
        let mut start: Option<(String, RrType, Option<String>)> = None;
        loop {
            let page = self
                .past
                .call("read the zone", self.zone.name.as_str(), |client| {
                    let request = client.list_resource_record_sets().hosted_zone_id(self.zone.key.zone.as_str());
                    let request = match &start {
                        Some((name, rtype, id)) => request
                            .start_record_name(name)
                            .start_record_type(rtype.clone())
                            .set_start_record_identifier(id.clone()),
                        None => request,
                    };
                    async move { request.send().await }
                })
                .await?;
            sets.extend(page.resource_record_sets().iter().cloned());
            start = match (page.is_truncated(), page.next_record_name(), page.next_record_type()) {
                (true, Some(name), Some(rtype)) => {
                    Some((name.to_owned(), rtype.clone(), page.next_record_identifier().map(str::to_owned)))
                }
                _ => return Ok(sets),
            };
        }
    }

    /// The sets that do not make the zone one.
    async fn besides(&self) -> Result<Vec<ResourceRecordSet>> {
        let apex = name::write(&self.zone.name);
        let makes = |set: &ResourceRecordSet| set.name() == apex && matches!(set.r#type(), RrType::Soa | RrType::Ns);
        Ok(self.sets().await?.into_iter().filter(|set| !makes(set)).collect())
    }

    async fn send(&self, action: ChangeAction, sets: &[ResourceRecordSet]) -> Result<()> {
        let change = |set: &ResourceRecordSet| {
            Change::builder()
                .action(action.clone())
                .resource_record_set(set.clone())
                .build()
                .expect("action and set are there")
        };
        let batch = ChangeBatch::builder().set_changes(Some(sets.iter().map(change).collect())).build();
        let batch = batch.expect("the changes are there");
        self.past
            .call("write to the zone", self.zone.name.as_str(), |client| {
                let request = client.change_resource_record_sets().hosted_zone_id(self.zone.key.zone.as_str());
                let request = request.change_batch(batch.clone());
                async move { request.send().await }
            })
            .await?;
        Ok(())
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
        self.send(ChangeAction::Upsert, &[theirs(&set)]).await.expect("the set is written past the provider");
    }

    async fn dump(&self) -> Vec<RecordSet> {
        let sets = self.sets().await.expect("the zone is read past the provider");
        sets.iter().filter(|set| *set.r#type() != RrType::Soa).map(ours).collect()
    }

    fn alias_targets(&self) -> [AliasTarget; 2] {
        ["one-1", "two-2"].map(|balancer| AliasTarget {
            target: format!("{balancer}.eu-west-1.elb.amazonaws.com").into(),
            zone: Some("Z32O12XQLNTSW2".into()),
            evaluate_health: false,
        })
    }
}

#[async_trait]
impl EmptyZone for Tried {
    async fn others(&self) -> Result<Vec<String>> {
        let sets = self.besides().await?;
        Ok(sets.iter().map(|set| format!("{} {}", set.name(), set.r#type().as_str())).collect())
    }

    async fn empty(&self) -> Result<()> {
        for some in self.besides().await?.chunks(100) {
            self.send(ChangeAction::Delete, some).await?;
        }
        Ok(())
    }
}

/// Each flag with its default, and the access that is given.
fn config(options: &Options) -> ProviderConfig {
    let mut settings = settings(FLAGS);
    if let Some(qps) = options.qps {
        settings.set("aws-api-qps", FlagValue::Int(qps), true);
    }
    let names = ["accessKeyID", "secretAccessKey", "endpoint"];
    let given = options.access.iter().flat_map(|access| names.into_iter().zip(access));
    let credentials = given.map(|(name, value)| (name.to_owned(), value.clone().into())).collect();
    ProviderConfig { instance: InstanceId::from("live"), settings, credentials, shared: Shared::default() }
}

/// A set of the suite's in the service's form; simple ones and aliases.
fn theirs(set: &RecordSet) -> ResourceRecordSet {
    let out =
        ResourceRecordSet::builder().name(name::write(&set.key.name)).r#type(RrType::from(&*set.key.rtype.to_string()));
    let out = if let RecordData::Alias(alias) = &set.data {
        let zone = alias.zone.as_deref().unwrap_or_default();
        let target = WireAlias::builder()
            .hosted_zone_id(zone)
            .dns_name(&*alias.target)
            .evaluate_target_health(alias.evaluate_health);
        out.alias_target(target.build().expect("target and zone are there"))
    } else {
        let text = |data: &RData| match data {
            RData::Txt(text) => txt::write(text.strings()),
            other => other.to_string(),
        };
        let record = |data| ResourceRecord::builder().value(text(data)).build().expect("the value is there");
        let records = set.data.as_records().iter().map(record).collect();
        out.ttl(set.ttl.map_or(300, |ttl| i64::from(ttl.secs()))).set_resource_records(Some(records))
    };
    out.build().expect("name and type are there")
}

/// A set of the service as the suite's.
fn ours(set: &ResourceRecordSet) -> RecordSet {
    let rtype: RecordType = set.r#type().as_str().parse().expect("a type of the service");
    let value = |text: &str| match rtype {
        RecordType::Txt => RData::Txt(Txt::from_strings(txt::read(text).expect("a TXT value of the service"))),
        _ => RData::parse(rtype, text).expect("a value of the service"),
    };
    let data = match set.alias_target() {
        Some(alias) => RecordData::Alias(AliasTarget {
            target: alias.dns_name().trim_end_matches('.').into(),
            zone: Some(Arc::from(alias.hosted_zone_id())),
            evaluate_health: alias.evaluate_target_health(),
        }),
        None => RecordData::records(set.resource_records().iter().map(|record| value(record.value()))),
    };
    let ttl = set.ttl().and_then(|ttl| Ttl::from_secs(u32::try_from(ttl).ok()?));
    let name = name::read(set.name()).expect("a name of the service");
    let routing = match set.weight() {
        Some(weight) => Routing::Weighted { weight: u32::try_from(weight).unwrap_or(0) },
        None => Routing::Simple,
    };
    let key = RecordKey { name, rtype, set_id: set.set_identifier().and_then(SetId::new) };
    RecordSet { key, ttl, data, routing, options: zonewright_core::options::Options::default() }
}
