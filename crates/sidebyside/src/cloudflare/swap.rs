//! The swap at Cloudflare: what one program wrote leaves the other nothing to do.

use anyhow::Result;
use zonewright_fakes::cloudflare::{Cloudflare, Plan, Record};
use zonewright_sidebyside::cloud::Programs;
use zonewright_sidebyside::swap::{self, Case, EITHER, Terms};

use crate::objects::{self, ZONE};

const FLAGS: &[&str] = &[
    "--source=service",
    "--source=crd",
    "--registry=txt",
    "--policy=sync",
    "--txt-owner-id=x",
    "--domain-filter=shop.test",
    "--managed-record-types=A",
    "--managed-record-types=AAAA",
    "--managed-record-types=CNAME",
    "--managed-record-types=TXT",
    "--managed-record-types=NS",
    "--batch-change-interval=0s",
];

const OURS: &[&str] = &["--cloudflare-api-qps=0", "--no-brake"];

const PLAIN: Case = Case {
    name: "prefix",
    flags: &["--txt-prefix=claims."],
    private: false,
    objects: objects::settled,
    restless: false,
    first: EITHER,
};

const CASES: &[Case] = &[
    PLAIN,
    Case { name: "no prefix", flags: &[], ..PLAIN },
    Case { name: "prefix with the type", flags: &["--txt-prefix=%{record_type}-claim."], ..PLAIN },
    Case { name: "suffix", flags: &["--txt-suffix=-claim"], ..PLAIN },
    Case { name: "proxied by default", flags: &["--txt-prefix=claims.", "--cloudflare-proxied"], ..PLAIN },
    Case {
        name: "comment by default",
        flags: &["--txt-prefix=claims.", "--cloudflare-record-comment=managed here"],
        ..PLAIN
    },
    Case {
        name: "small pages and large batches",
        flags: &["--txt-prefix=claims.", "--cloudflare-dns-records-per-page=5", "--batch-change-size=1000"],
        ..PLAIN
    },
    Case {
        name: "claims encrypted",
        flags: &[
            "--txt-prefix=claims.",
            "--txt-encrypt-enabled",
            "--txt-encrypt-aes-key=0123456789abcdef0123456789abcdef",
        ],
        ..PLAIN
    },
    Case { name: "tags", objects: objects::with_tags, ..PLAIN },
    Case {
        name: "custom host names",
        flags: &["--txt-prefix=claims.", "--cloudflare-custom-hostnames"],
        objects: objects::with_hostnames,
        restless: true,
        ..PLAIN
    },
    Case {
        name: "regions",
        flags: &["--txt-prefix=claims.", "--cloudflare-regional-services"],
        objects: objects::with_regions,
        ..PLAIN
    },
    Case {
        name: "a region by default",
        flags: &["--txt-prefix=claims.", "--cloudflare-region-key=eu"],
        objects: objects::with_regions,
        ..PLAIN
    },
];

/// A service with one zone.
#[derive(Debug)]
struct Account {
    service: Cloudflare,
    zone: String,
    foreign: Record,
}

impl Account {
    fn new() -> Self {
        let service = Cloudflare::start();
        let zone = service.add_zone(ZONE, Plan::Enterprise);
        service.put(&zone, Record::new("legacy.shop.test", "A", "198.51.100.7").with_ttl(3600));
        let foreign = service.records(&zone).remove(0);
        Self { service, zone, foreign }
    }
}

impl swap::Account for Account {
    type Service = Cloudflare;

    fn service(&self) -> &Cloudflare {
        &self.service
    }

    /// Records, and custom and regional host names.
    fn sets(&self) -> Vec<String> {
        let records = self.service.records(&self.zone).into_iter().map(|record| format!("{} {record}", record.id));
        let hostnames = self.service.hostnames(&self.zone).into_iter();
        let hostnames = hostnames.map(|of| format!("{} {} at {:?}", of.id, of.hostname, of.origin));
        let regions = self.service.regions(&self.zone).into_iter();
        let regions = regions.map(|of| format!("{} in {}", of.hostname, of.region));
        records.chain(hostnames).chain(regions).collect()
    }

    fn foreign(&self) -> usize {
        1
    }

    /// external-dns writes no claim for the apex where its name falls outside of the zone: such a record is nobody's, and stays.
    fn not_empty(&self) -> Vec<String> {
        let (mut records, zone) = (self.service.records(&self.zone), &self.zone);
        let is_there = records.contains(&self.foreign);
        records.retain(|record| *record != self.foreign && record.name != ZONE);
        let records = records.into_iter().map(|record| record.to_string());
        let hostnames = self.service.hostnames(zone).into_iter().map(|of| of.hostname);
        let regions = self.service.regions(zone).into_iter().map(|of| of.hostname).filter(|hostname| hostname != ZONE);
        let left = records.chain(hostnames).chain(regions).map(|what| format!("left without its object: {what}"));
        let gone = (!is_there).then(|| "the foreign record is gone".to_owned());
        gone.into_iter().chain(left).collect()
    }
}

/// Plays every case; whether nothing differed.
///
/// # Errors
/// A program cannot be started, or does not end.
pub(crate) async fn play(programs: &Programs, verbose: bool) -> Result<bool> {
    let terms = Terms { flags: FLAGS, ours: OURS };
    swap::play(programs, &terms, CASES, |_| Account::new(), verbose).await
}
