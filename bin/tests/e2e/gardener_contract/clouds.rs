//! The services of providers, each with one zone in which others have a record, and the controller that is led to them.

use serde_json::{Value, json};
use zonewright_fakes::route53::{RecordSet, Route53};

use super::world::World;
use crate::{LATER, until};

/// The zone of every test.
pub(super) const ZONE: &str = "shop.test";
/// The account of the key that the service knows from the start.
pub(super) const ACCOUNT: &str = "000000000001";
pub(super) const KEY: &str = "AKIDFAKE";
/// The type of DNSRecords at Route 53.
pub(super) const AWS: &str = "aws-route53";

/// Route 53 with a public zone.
#[derive(Debug)]
pub(super) struct Aws {
    pub(super) service: Route53,
    pub(super) zone: String,
    foreign: RecordSet,
}

impl Aws {
    pub(super) fn new() -> Self {
        let service = Route53::start();
        let zone = service.add_zone(ACCOUNT, ZONE, false, &[]);
        let foreign = RecordSet::new("legacy.shop.test.", "A", 3600, &["198.51.100.7"]);
        service.put(&zone, foreign.clone());
        Self { service, zone, foreign }
    }

    /// Leads a controller here, and gives the shoot its Secret `dns`.
    pub(super) fn leads(&self, world: World) -> World {
        world.secret("dns", &[("accessKeyID", KEY), ("secretAccessKey", "s3cr3t-of-the-key")]);
        let world = world.arg("--aws-api-qps=100").env("AWS_ENDPOINT_URL", &self.service.url());
        world.env("AWS_EC2_METADATA_DISABLED", "true")
    }

    /// Everything in a zone but SOA, NS and the foreign record: `name TYPE TTL values`, sorted.
    pub(super) fn shown_in(&self, zone: &str) -> Vec<String> {
        let sets = self.service.sets(zone);
        let ours = sets.iter().filter(|set| !["SOA", "NS"].contains(&set.kind.as_str()) && **set != self.foreign);
        let mut shown: Vec<String> = ours.map(line_of).collect();
        shown.sort();
        shown
    }

    pub(super) fn shown(&self) -> Vec<String> {
        self.shown_in(&self.zone)
    }

    #[track_caller]
    pub(super) fn shows(&self, expected: &[&str]) {
        let mut expected: Vec<String> = expected.iter().map(|line| (*line).to_owned()).collect();
        expected.sort();
        let shown = zonewright_testkit::poll(LATER, || (self.shown() == expected).then_some(()));
        assert!(shown.is_some(), "the zone holds {:#?}, expected {expected:#?}", self.shown());
    }

    /// How often an operation was called.
    pub(super) fn calls(&self, operation: &str) -> usize {
        self.service.calls().get(operation).copied().unwrap_or(0)
    }

    /// How many calls asked for changes.
    pub(super) fn writes(&self) -> usize {
        self.calls("ChangeResourceRecordSets")
    }

    /// How many calls asked which zones there are.
    pub(super) fn listings(&self) -> usize {
        self.calls("ListHostedZones") + self.calls("ListHostedZonesByName")
    }

    /// Waits until another change was asked for.
    #[track_caller]
    pub(super) fn is_asked_to_write(&self, before: usize) {
        until("a call that asks for a change", LATER, || self.writes() > before);
    }
}

impl Drop for Aws {
    fn drop(&mut self) {
        let there = self.service.sets(&self.zone);
        if !std::thread::panicking() && !there.is_empty() {
            assert!(there.contains(&self.foreign), "a record of others was touched");
        }
    }
}

/// Route 53 and a controller that works there.
#[track_caller]
pub(super) fn aws() -> (Aws, World) {
    let aws = Aws::new();
    let world = aws.leads(World::new(AWS)).started();
    (aws, world)
}

/// The same, where the controller is not started yet.
#[track_caller]
pub(super) fn aws_before() -> (Aws, World) {
    let aws = Aws::new();
    let world = aws.leads(World::new(AWS));
    (aws, world)
}

/// The spec of an A record at Route 53.
pub(super) fn a(name: &str, address: &str) -> Value {
    record(name, "A", &[address])
}

/// The spec of a record at Route 53; the name below the zone, or `@`.
pub(super) fn record(name: &str, record_type: &str, values: &[&str]) -> Value {
    let name = if name == "@" { ZONE.to_owned() } else { format!("{name}.{ZONE}") };
    json!({ "type": AWS, "name": name, "recordType": record_type, "values": values })
}

/// A spec with further fields.
pub(super) fn with(mut spec: Value, fields: &Value) -> Value {
    for (field, value) in fields.as_object().into_iter().flatten() {
        spec[field] = value.clone();
    }
    spec
}

fn line_of(set: &RecordSet) -> String {
    let name = set.name.trim_end_matches('.').replace("\\052", "*");
    let kind = &set.kind;
    if let Some(alias) = &set.alias {
        return format!(
            "{name} {kind} alias {} {} {}",
            alias.name.trim_end_matches('.'),
            alias.zone,
            alias.evaluate_health
        );
    }
    let mut values = set.values.clone();
    values.sort();
    format!("{name} {kind} {} {}", set.ttl.unwrap_or_default(), values.join(" "))
}
