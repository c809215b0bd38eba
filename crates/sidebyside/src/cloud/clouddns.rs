//! Google Cloud DNS.
//!
//! external-dns asks for no address of the service, so it is led there: by a proxy whose certificate for the service's name is of an
//! authority that both programs are configured to trust. Its token comes from a metadata server, as on a machine of the project.

use serde_json::Value;
use zonewright_fakes::clouddns::{self, Kind, RecordSet};
use zonewright_testkit::Outside;

use super::{Calls, Cloud};
use crate::cost::{Conflict, Measured};
use crate::shapes::service;

const PROJECT: &str = "shop";
/// The service's name.
const HOST: &str = "dns.googleapis.com";
/// Values that a set has at most.
const VALUES: usize = 100;

/// The service on loopback, and the proxy in front of it.
#[derive(Debug)]
pub struct CloudDns {
    service: clouddns::CloudDns,
    outside: Outside,
}

impl CloudDns {
    /// The service without zones.
    ///
    /// # Panics
    /// It does not say where it listens: a mistake of the fake.
    pub fn start() -> Self {
        let service = clouddns::CloudDns::start();
        service.set_machine(Some(PROJECT));
        let address = service.url().trim_start_matches("http://").parse().expect("the service has an address");
        Self { service, outside: Outside::of(address, HOST) }
    }

    /// Adds a zone, public or private; its id.
    pub fn add(&self, zone: &str, kind: Kind) -> String {
        let name = format!("{}{}", zone.replace('.', "-"), if kind == Kind::Private { "-private" } else { "" });
        self.service.add_zone(PROJECT, &name, &format!("{zone}."), kind)
    }

    /// The service itself, past both programs.
    pub fn fake(&self) -> &clouddns::CloudDns {
        &self.service
    }
}

impl Cloud for CloudDns {
    const PROVIDER: &'static str = "google";
    const READ: &'static str = "ListRecordSets";
    const WRITES: &'static [&'static str] = &["CreateChange"];
    const CHANGES: &'static [&'static str] = &[];

    fn environment(&self) -> Vec<(&'static str, String)> {
        vec![
            ("CLOUDSDK_API_ENDPOINT_OVERRIDES_DNS", self.service.url()),
            ("GCE_METADATA_HOST", self.service.url().trim_start_matches("http://").to_owned()),
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

impl Measured for CloudDns {
    const FLAGS: &'static [&'static str] = &["--google-batch-change-interval=0s"];
    const PACE: (&'static str, u32) = ("--google-api-qps", 10);
    const PAGE: usize = 1_000;
    const ZONES: &'static [&'static str] = &["ListZones", "GetZone"];
    const CONFLICTS: &'static [Conflict] = &[
        Conflict { what: "a foreign record of the type", kind: "A", value: "198.51.102.1" },
        Conflict { what: "a foreign CNAME", kind: "CNAME", value: "elsewhere.example.net." },
    ];
    const ALL_OR_NOTHING: bool = true;

    fn start() -> Self {
        Self::start()
    }

    fn add(&self, zone: &str) -> String {
        Self::add(self, zone, Kind::Public)
    }

    fn make_room(&self, zone: &str, records: usize) {
        self.service.set_limit(zone, records);
    }

    fn put(&self, zone: &str, name: &str, kind: &str, value: &str) {
        self.service.put(zone, RecordSet::new(&format!("{name}."), kind, 60, &[value]));
    }

    fn values(&self, zone: &str) -> Vec<String> {
        let sets = self.service.sets(zone).into_iter().filter(|set| !["SOA", "NS"].contains(&set.kind.as_str()));
        sets.filter_map(|set| set.rrdatas.into_iter().next()).collect()
    }

    /// One value more than a set may have.
    fn refused(zone: &str) -> Value {
        let addresses: Vec<String> = (0..=VALUES).map(|n| format!("198.18.0.{n}")).collect();
        let addresses: Vec<&str> = addresses.iter().map(String::as_str).collect();
        service("bad", &format!("bad.{zone}"), &addresses, &[])
    }
}
