//! The swap at Cloud DNS: what one program wrote leaves the other nothing to do.

use anyhow::Result;
use zonewright_fakes::clouddns::{Kind, RecordSet};
use zonewright_sidebyside::cloud::{CloudDns, Programs, Which};
use zonewright_sidebyside::swap::{self, Case, EITHER, Terms};

use crate::objects::{self, INNER, ZONE};

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
    "--managed-record-types=NS",
    "--google-batch-change-interval=0s",
];

const OURS: &[&str] = &["--google-api-qps=0", "--no-brake"];

const PLAIN: Case =
    Case { name: "no prefix", flags: &[], private: false, objects: objects::settled, restless: false, first: EITHER };

const CASES: &[Case] = &[
    PLAIN,
    Case { name: "prefix with a dot", flags: &["--txt-prefix=claims."], ..PLAIN },
    Case {
        name: "prefix with the type",
        flags: &["--txt-prefix=%{record_type}-claim.", "--txt-wildcard-replacement=any"],
        ..PLAIN
    },
    Case { name: "suffix", flags: &["--txt-suffix=-claim"], ..PLAIN },
    Case { name: "wildcard replacement", flags: &["--txt-wildcard-replacement=any"], ..PLAIN },
    Case { name: "project stated", flags: &["--txt-prefix=claims.", "--google-project=shop"], ..PLAIN },
    Case { name: "small batches", flags: &["--txt-prefix=claims.", "--google-batch-change-size=4"], ..PLAIN },
    Case { name: "a zone by its name", flags: &["--txt-prefix=claims.", "--zone-id-filter=shop-test"], ..PLAIN },
    // What goes has to be stated as it stands, and external-dns states the text that it would encrypt itself: a claim that Zonewright
    // encrypted is read by it, and cannot be taken away.
    Case {
        name: "claims encrypted",
        first: &[Which::ExternalDns],
        flags: &[
            "--txt-prefix=claims.",
            "--txt-encrypt-enabled",
            "--txt-encrypt-aes-key=0123456789abcdef0123456789abcdef",
        ],
        ..PLAIN
    },
    // Without the flag external-dns takes one of two zones of a name, by chance.
    Case {
        name: "public zones only",
        flags: &["--txt-prefix=claims.", "--google-zone-visibility=public"],
        private: true,
        ..PLAIN
    },
    Case {
        name: "private zones only",
        flags: &["--txt-prefix=claims.", "--google-zone-visibility=private"],
        private: true,
        ..PLAIN
    },
];

/// A service with its zones, and a private one within them.
#[derive(Debug)]
struct Account {
    service: CloudDns,
    zones: Vec<String>,
    inner: String,
    foreign: RecordSet,
}

impl Account {
    fn new(private: bool) -> Self {
        let service = CloudDns::start();
        let mut zones = vec![service.add(ZONE, Kind::Public)];
        zones.extend(private.then(|| service.add(ZONE, Kind::Private)));
        let foreign = RecordSet::new("legacy.shop.test.", "A", 3600, &["198.51.100.7"]);
        for zone in &zones {
            service.fake().put(zone, foreign.clone());
        }
        let inner = service.add(INNER, Kind::Private);
        Self { service, zones, inner, foreign }
    }
}

impl swap::Account for Account {
    type Service = CloudDns;

    fn service(&self) -> &CloudDns {
        &self.service
    }

    /// Every set but SOA and NS of the apex.
    fn sets(&self) -> Vec<String> {
        let apexes = [ZONE, INNER].map(|zone| format!("{zone}."));
        let made = |set: &RecordSet| apexes.contains(&set.name) && matches!(set.kind.as_str(), "SOA" | "NS");
        let made = &made;
        let sets = |zone| self.service.fake().sets(zone).into_iter().filter(move |set| !made(set));
        self.zones
            .iter()
            .chain([&self.inner])
            .flat_map(|zone| sets(zone).map(move |set| format!("{zone} {set:?}")))
            .collect()
    }

    fn foreign(&self) -> usize {
        self.zones.len()
    }

    /// external-dns writes no claim for the apex where its name falls outside of the zone: such a record is nobody's, and stays.
    fn not_empty(&self) -> Vec<String> {
        let (mut wrong, apex) = (Vec::new(), format!("{ZONE}."));
        for zone in &self.zones {
            let sets = self.service.fake().sets(zone);
            if !sets.contains(&self.foreign) {
                wrong.push(format!("the foreign record of {zone} is gone"));
            }
            let left = sets.iter().filter(|set| set.name != apex && **set != self.foreign);
            wrong.extend(left.map(|set| format!("left without its object: {set:?}")));
        }
        let left = self.service.fake().sets(&self.inner);
        let left = left.iter().filter(|set| set.name != format!("{INNER}."));
        wrong.extend(left.map(|set| format!("left without its object: {set:?}")));
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
