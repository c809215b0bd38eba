//! Route 53.

use serde_json::Value;
use zonewright_fakes::route53::{RecordSet, Route53};

use super::{Calls, Cloud};
use crate::cost::{Conflict, Measured};
use crate::shapes::service;

const ACCOUNT: &str = "000000000001";

impl Cloud for Route53 {
    const PROVIDER: &'static str = "aws";
    const READ: &'static str = "ListResourceRecordSets";
    const WRITES: &'static [&'static str] = &["ChangeResourceRecordSets"];
    const CHANGES: &'static [&'static str] = &["CREATE", "DELETE", "UPSERT"];

    fn environment(&self) -> Vec<(&'static str, String)> {
        let fixed = [
            ("AWS_REGION", "eu-west-1"),
            ("AWS_EC2_METADATA_DISABLED", "true"),
            ("AWS_ACCESS_KEY_ID", "AKIDFAKE"),
            ("AWS_SECRET_ACCESS_KEY", "not-looked-at"),
        ];
        let fixed = fixed.into_iter().map(|(name, value)| (name, value.to_owned()));
        fixed.chain([("AWS_ENDPOINT_URL", self.url())]).collect()
    }

    fn calls(&self) -> Calls {
        Self::calls(self)
    }

    fn requests(&self) -> usize {
        Self::requests(self)
    }
}

impl Measured for Route53 {
    const FLAGS: &'static [&'static str] = &["--aws-batch-change-interval=0s"];
    const PACE: (&'static str, u32) = ("--aws-api-qps", 5);
    const PAGE: usize = 300;
    const ZONES: &'static [&'static str] = &["ListHostedZones"];
    const CONFLICTS: &'static [Conflict] = &[
        Conflict { what: "a foreign record of the type", kind: "A", value: "198.51.102.1" },
        Conflict { what: "a foreign CNAME", kind: "CNAME", value: "elsewhere.example.net." },
    ];

    fn start() -> Self {
        Self::start()
    }

    fn add(&self, zone: &str) -> String {
        self.add_zone(ACCOUNT, zone, false, &[])
    }

    fn make_room(&self, zone: &str, records: usize) {
        self.set_limit(zone, records);
    }

    fn put(&self, zone: &str, name: &str, kind: &str, value: &str) {
        Self::put(self, zone, RecordSet::new(&format!("{name}."), kind, 60, &[value]));
    }

    fn values(&self, zone: &str) -> Vec<String> {
        let sets = self.sets(zone).into_iter().filter(|set| !["SOA", "NS"].contains(&set.kind.as_str()));
        sets.filter_map(|set| set.values.into_iter().next()).collect()
    }

    /// A weight needs an identifier beside it.
    fn refused(zone: &str) -> Value {
        service("bad", &format!("bad.{zone}"), &["198.18.0.1"], &[("aws-weight", "10")])
    }
}
