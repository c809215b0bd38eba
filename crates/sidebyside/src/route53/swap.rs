//! The swap at Route 53: what one program wrote leaves the other nothing to do.

use anyhow::Result;
use zonewright_fakes::route53::{RecordSet, Route53};
use zonewright_sidebyside::cloud::Programs;
use zonewright_sidebyside::swap::{self, Case, EITHER, Terms};

use crate::objects::{self, HEALTH_CHECK, ZONE};

const ACCOUNT: &str = "000000000001";

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
    "--managed-record-types=MX",
    "--managed-record-types=SRV",
    "--aws-batch-change-interval=0s",
];

const OURS: &[&str] = &["--aws-api-qps=0", "--no-brake"];

const PLAIN: Case =
    Case { name: "no prefix", flags: &[], private: false, objects: objects::settled, restless: false, first: EITHER };

const CASES: &[Case] = &[
    PLAIN,
    Case { name: "prefix with a dot", flags: &["--txt-prefix=claims."], ..PLAIN },
    Case { name: "prefix with the type", flags: &["--txt-prefix=%{record_type}-claim."], ..PLAIN },
    Case { name: "suffix", flags: &["--txt-suffix=-claim"], ..PLAIN },
    Case { name: "wildcard replacement", flags: &["--txt-wildcard-replacement=any"], ..PLAIN },
    Case {
        name: "CNAME preferred",
        flags: &["--aws-prefer-cname", "--txt-prefix=claim-"],
        objects: objects::below_apex,
        ..PLAIN
    },
    Case { name: "health not evaluated", flags: &["--no-aws-evaluate-target-health"], ..PLAIN },
    Case { name: "NS managed too", flags: &["--managed-record-types=NS"], ..PLAIN },
    Case {
        name: "claims encrypted",
        flags: &[
            "--txt-prefix=claims.",
            "--txt-encrypt-enabled",
            "--txt-encrypt-aes-key=0123456789abcdef0123456789abcdef",
        ],
        ..PLAIN
    },
    Case { name: "public zones only", flags: &["--aws-zone-type=public"], private: true, ..PLAIN },
    Case {
        name: "a private zone beside",
        flags: &["--txt-prefix=claims."],
        private: true,
        objects: objects::without_same_zone,
        ..PLAIN
    },
    Case { name: "what external-dns always writes again", objects: objects::restless, restless: true, ..PLAIN },
];

/// A service with its zones.
#[derive(Debug)]
struct Account {
    service: Route53,
    zones: Vec<String>,
    foreign: RecordSet,
}

impl Account {
    fn new(private: bool) -> Self {
        let service = Route53::start();
        service.register_health_check(HEALTH_CHECK);
        let mut zones = vec![service.add_zone(ACCOUNT, ZONE, false, &[])];
        zones.extend(private.then(|| service.add_zone(ACCOUNT, ZONE, true, &[])));
        let foreign = RecordSet::new("legacy.shop.test.", "A", 3600, &["198.51.100.7"]);
        for zone in &zones {
            service.put(zone, foreign.clone());
        }
        Self { service, zones, foreign }
    }
}

impl swap::Account for Account {
    type Service = Route53;

    fn service(&self) -> &Route53 {
        &self.service
    }

    /// Every set but SOA and NS of the apex.
    fn sets(&self) -> Vec<String> {
        let apex = format!("{ZONE}.");
        let made = |set: &RecordSet| set.name == apex && matches!(set.kind.as_str(), "SOA" | "NS");
        let all = self.zones.iter().flat_map(|zone| self.service.sets(zone).into_iter().map(move |set| (zone, set)));
        all.filter(|(_, set)| !made(set)).map(|(zone, set)| format!("{zone} {set:?}")).collect()
    }

    fn foreign(&self) -> usize {
        self.zones.len()
    }

    /// external-dns writes no claim for the apex where its name falls outside of the zone: such a record is nobody's, and stays.
    fn not_empty(&self) -> Vec<String> {
        let mut wrong = Vec::new();
        for zone in &self.zones {
            let sets = self.service.sets(zone);
            if !sets.contains(&self.foreign) {
                wrong.push(format!("the foreign record of {zone} is gone"));
            }
            let apex = format!("{ZONE}.");
            let left = sets.iter().filter(|set| set.name != apex && **set != self.foreign);
            wrong.extend(left.map(|set| format!("left without its object: {set:?}")));
        }
        wrong
    }
}

/// Plays every case; whether nothing differed.
///
/// # Errors
/// A program cannot be started, or does not end.
pub(crate) async fn play(programs: &Programs, verbose: bool) -> Result<bool> {
    let terms = Terms { flags: FLAGS, ours: OURS };
    swap::play(programs, &terms, CASES, |case| Account::new(case.private), verbose).await
}
