//! Cloudflare.

use serde_json::Value;
use zonewright_fakes::cloudflare::{self, Cloudflare, Plan, Record};

use super::{Calls, Cloud};
use crate::cost::{Conflict, Measured};
use crate::shapes::service;

impl Cloud for Cloudflare {
    const PROVIDER: &'static str = "cloudflare";
    const READ: &'static str = "ListRecords";
    const WRITES: &'static [&'static str] = &[
        "BatchRecords",
        "CreateRecord",
        "ReplaceRecord",
        "PatchRecord",
        "DeleteRecord",
        "CreateCustomHostname",
        "PatchCustomHostname",
        "DeleteCustomHostname",
        "CreateRegionalHostname",
        "PatchRegionalHostname",
        "DeleteRegionalHostname",
    ];
    const CHANGES: &'static [&'static str] = &["deletes", "patches", "posts", "puts"];

    fn environment(&self) -> Vec<(&'static str, String)> {
        vec![("CLOUDFLARE_BASE_URL", self.url()), ("CF_API_TOKEN", cloudflare::TOKEN.to_owned())]
    }

    fn calls(&self) -> Calls {
        Self::calls(self)
    }

    fn requests(&self) -> usize {
        Self::requests(self)
    }
}

impl Measured for Cloudflare {
    const FLAGS: &'static [&'static str] = &["--batch-change-interval=0s"];
    const PACE: (&'static str, u32) = ("--cloudflare-api-qps", 4);
    const PAGE: usize = 100;
    const ZONES: &'static [&'static str] = &["ListZones", "GetZone"];
    // Another address of the name is no conflict here.
    const CONFLICTS: &'static [Conflict] =
        &[Conflict { what: "a foreign CNAME", kind: "CNAME", value: "elsewhere.example.net" }];

    // A hundred pages: what is ten times as large costs ten times the pages, and many minutes of the fake's.
    const LARGE: (usize, &'static str) = (10_000, "10,000");

    fn start() -> Self {
        Self::start()
    }

    fn add(&self, zone: &str) -> String {
        self.add_zone(zone, Plan::Business)
    }

    fn make_room(&self, zone: &str, records: usize) {
        self.set_record_limit(zone, records);
    }

    fn put(&self, zone: &str, name: &str, kind: &str, value: &str) {
        Self::put(self, zone, Record::new(name, kind, value));
    }

    fn values(&self, zone: &str) -> Vec<String> {
        self.records(zone).into_iter().map(|record| record.content).collect()
    }

    /// Nobody on the internet reaches this address, so nothing can stand before it.
    fn refused(zone: &str) -> Value {
        service("bad", &format!("bad.{zone}"), &["10.0.0.1"], &[("cloudflare-proxied", "true")])
    }
}
