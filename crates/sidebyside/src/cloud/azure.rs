//! Azure DNS.
//!
//! external-dns asks for no address of the service, so it is led there: by a proxy whose certificate for the service's name is of an
//! authority that both programs are configured to trust. Their tokens come from a metadata server, as on a machine with an identity.

use serde_json::{Value, json};
use tempfile::NamedTempFile;
use zonewright_fakes::azure::{self, Kind, RecordSet};
use zonewright_testkit::Outside;

use super::{Calls, Cloud};
use crate::cost::{Conflict, Measured};
use crate::shapes::service;

const SUBSCRIPTION: &str = "00000000-0000-0000-0000-000000000001";
const GROUP: &str = "shop";
/// The service's name.
const HOST: &str = "management.azure.com";
/// Records that a set has at most.
const RECORDS: usize = 20;

/// The service on loopback with its public or private zones, the proxy in front of it, and `azure.json`.
#[derive(Debug)]
pub struct AzureDns<const PRIVATE: bool = false> {
    service: azure::AzureDns,
    outside: Outside,
    file: NamedTempFile,
}

impl<const PRIVATE: bool> AzureDns<PRIVATE> {
    /// The service without zones.
    ///
    /// # Panics
    /// There is no room for `azure.json`.
    pub fn start() -> Self {
        let service = azure::AzureDns::start();
        service.set_machine(Some(&[]));
        let address = service.url().trim_start_matches("http://").parse().expect("the service has an address");
        let file = NamedTempFile::new().expect("a file");
        let content = json!({
            "tenantId": "tenant", "subscriptionId": SUBSCRIPTION, "resourceGroup": GROUP, "useManagedIdentityExtension": true,
        });
        std::fs::write(file.path(), content.to_string()).expect("azure.json");
        Self { service, outside: Outside::of(address, HOST), file }
    }

    /// Adds a zone; its id.
    pub fn add(&self, zone: &str) -> String {
        let kind = if PRIVATE { Kind::Private } else { Kind::Public };
        self.service.add_zone(kind, SUBSCRIPTION, GROUP, zone)
    }

    /// The service itself, past both programs.
    pub fn fake(&self) -> &azure::AzureDns {
        &self.service
    }
}

impl<const PRIVATE: bool> Cloud for AzureDns<PRIVATE> {
    const PROVIDER: &'static str = if PRIVATE { "azure-private-dns" } else { "azure" };
    const READ: &'static str = "ListRecordSets";
    const WRITES: &'static [&'static str] = &["PutRecordSet", "DeleteRecordSet"];
    const CHANGES: &'static [&'static str] = &[];

    fn environment(&self) -> Vec<(&'static str, String)> {
        vec![
            ("EXTERNAL_DNS_AZURE_CONFIG_FILE", self.file.path().display().to_string()),
            ("AZURE_POD_IDENTITY_AUTHORITY_HOST", self.service.url()),
            // external-dns takes another address of the machine's tokens only in the form that web apps have.
            ("IDENTITY_ENDPOINT", format!("{}/msi/token", self.service.url())),
            ("IDENTITY_HEADER", "of-this-machine".to_owned()),
            ("HTTPS_PROXY", self.outside.proxy()),
            ("SSL_CERT_FILE", self.outside.authority().display().to_string()),
        ]
    }

    /// Without those for tokens.
    fn calls(&self) -> Calls {
        let calls = self.service.calls().into_iter();
        calls.filter(|(name, _)| name != "Token" && name != "Metadata").collect()
    }

    fn requests(&self) -> usize {
        self.service.requests()
    }
}

impl Measured for AzureDns {
    const FLAGS: &'static [&'static str] = &[];
    const PACE: (&'static str, u32) = ("--azure-api-qps", 10);
    const PAGE: usize = 100;
    const ZONES: &'static [&'static str] = &["ListZones", "GetZone"];
    const CONFLICTS: &'static [Conflict] =
        &[Conflict { what: "a foreign CNAME", kind: "CNAME", value: "elsewhere.example.net" }];
    /// What a public zone holds at most.
    const LARGE: (usize, &'static str) = (10_000, "10,000");

    fn start() -> Self {
        Self::start()
    }

    fn add(&self, zone: &str) -> String {
        Self::add(self, zone)
    }

    fn make_room(&self, zone: &str, records: usize) {
        self.service.set_limit(zone, records);
    }

    fn put(&self, zone: &str, name: &str, kind: &str, value: &str) {
        let apex = zone.rsplit('/').next().unwrap_or_default();
        let name = name.strip_suffix(apex).unwrap_or(name).trim_end_matches('.');
        let record = match kind {
            "A" => json!({ "ipv4Address": value }),
            "CNAME" => json!({ "cname": value }),
            _ => json!({ "value": [value] }),
        };
        self.service.put(zone, RecordSet::new(name, kind, 60, vec![record]));
    }

    fn values(&self, zone: &str) -> Vec<String> {
        let sets = self.service.sets(zone).into_iter().filter(|set| !["SOA", "NS"].contains(&set.kind.as_str()));
        let text = |record: &Value| {
            let fields = ["ipv4Address", "cname"].into_iter().find_map(|field| record[field].as_str());
            fields.or(record["value"][0].as_str()).unwrap_or_default().to_owned()
        };
        sets.filter_map(|set| set.records.first().map(text)).collect()
    }

    /// One record more than a set may have.
    fn refused(zone: &str) -> Value {
        let addresses: Vec<String> = (0..=RECORDS).map(|n| format!("198.18.0.{n}")).collect();
        let addresses: Vec<&str> = addresses.iter().map(String::as_str).collect();
        service("bad", &format!("bad.{zone}"), &addresses, &[])
    }
}
