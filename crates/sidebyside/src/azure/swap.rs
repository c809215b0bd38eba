//! The swap at Azure DNS and Azure Private DNS: what one program wrote leaves the other nothing to do.

use anyhow::Result;
use serde_json::json;
use zonewright_fakes::azure::RecordSet;
use zonewright_sidebyside::cloud::{AzureDns, Programs};
use zonewright_sidebyside::swap::{self, Case, EITHER, Terms};

use crate::objects::{self, ZONE};

const FLAGS: &[&str] = &[
    "--source=service",
    "--source=crd",
    "--registry=txt",
    "--policy=sync",
    "--txt-owner-id=x",
    "--domain-filter=shop.test",
    // An asterisk is taken as the whole first label alone, which the claim of a wildcard has not.
    "--txt-wildcard-replacement=any",
    "--managed-record-types=A",
    "--managed-record-types=AAAA",
    "--managed-record-types=CNAME",
    "--managed-record-types=TXT",
    "--managed-record-types=MX",
    "--managed-record-types=NS",
];

const OURS: &[&str] = &["--azure-api-qps=0", "--no-brake"];

const PLAIN: Case =
    Case { name: "no prefix", flags: &[], private: false, objects: objects::public, restless: false, first: EITHER };

const PUBLIC: &[Case] = &[
    PLAIN,
    Case { name: "prefix with a dot", flags: &["--txt-prefix=claims."], ..PLAIN },
    Case { name: "prefix with the type", flags: &["--txt-prefix=%{record_type}-claim."], ..PLAIN },
    Case { name: "suffix", flags: &["--txt-suffix=-claim"], ..PLAIN },
    Case { name: "a zone by its name", flags: &["--txt-prefix=claims.", "--zone-name-filter=shop.test"], ..PLAIN },
    Case {
        name: "claims encrypted",
        flags: &[
            "--txt-prefix=claims.",
            "--txt-encrypt-enabled",
            "--txt-encrypt-aes-key=0123456789abcdef0123456789abcdef",
        ],
        ..PLAIN
    },
];

const PRIVATE: &[Case] = &[
    Case { name: "private, no prefix", private: true, objects: objects::private, ..PLAIN },
    Case {
        name: "private, prefix with a dot",
        flags: &["--txt-prefix=claims."],
        private: true,
        objects: objects::private,
        ..PLAIN
    },
];

/// A service with one zone.
#[derive(Debug)]
struct Account<const OF_PRIVATE: bool> {
    service: AzureDns<OF_PRIVATE>,
    zone: String,
    foreign: RecordSet,
}

impl<const OF_PRIVATE: bool> Account<OF_PRIVATE> {
    fn new() -> Self {
        let service = AzureDns::start();
        let zone = service.add(ZONE);
        let set = RecordSet::new("legacy", "A", 3600, vec![json!({ "ipv4Address": "198.51.100.7" })]);
        service.fake().put(&zone, set);
        let foreign = service.fake().sets(&zone).into_iter().find(|set| set.name == "legacy");
        Self { service, zone, foreign: foreign.expect("it was put there") }
    }

    /// All but what makes the zone.
    fn besides(&self) -> impl Iterator<Item = RecordSet> {
        let made = |set: &RecordSet| set.name == "@" && matches!(set.kind.as_str(), "SOA" | "NS");
        self.service.fake().sets(&self.zone).into_iter().filter(move |set| !made(set))
    }
}

impl<const OF_PRIVATE: bool> swap::Account for Account<OF_PRIVATE> {
    type Service = AzureDns<OF_PRIVATE>;

    fn service(&self) -> &Self::Service {
        &self.service
    }

    /// With their ETags: a write of the same content is one.
    fn sets(&self) -> Vec<String> {
        self.besides().map(|set| format!("{set:?}")).collect()
    }

    fn foreign(&self) -> usize {
        1
    }

    /// external-dns writes no claim for the apex where its name falls outside of the zone: such a record is nobody's, and stays.
    fn not_empty(&self) -> Vec<String> {
        let gone = (!self.besides().any(|set| set == self.foreign)).then(|| "the foreign record is gone".to_owned());
        let left = self.besides().filter(|set| set.name != "@" && *set != self.foreign);
        gone.into_iter().chain(left.map(|set| format!("left without its object: {set:?}"))).collect()
    }
}

/// Plays every case; whether nothing differed.
///
/// # Errors
/// A program cannot be started, or does not end.
pub(crate) async fn play(programs: &Programs, verbose: bool) -> Result<bool> {
    let terms = Terms { flags: FLAGS, ours: OURS };
    let public = swap::play(programs, &terms, PUBLIC, |_| Account::<false>::new(), verbose).await?;
    let private = swap::play(programs, &terms, PRIVATE, |_| Account::<true>::new(), verbose).await?;
    Ok(public && private)
}
