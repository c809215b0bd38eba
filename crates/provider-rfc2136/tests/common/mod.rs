//! What the integration tests share: a provider in front of a real server, and short words for records and groups.
#![allow(dead_code, reason = "each test file uses its own part")]
#![allow(unreachable_pub, clippy::unwrap_used, reason = "only tests are compiled with this")]

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use zonewright_core::catalog::{FlagKind, FlagValue, ProviderConfig, Settings};
use zonewright_core::change::{Change, Group, Outcome, Step};
use zonewright_core::duration::{self, Signed, Units};
use zonewright_core::provider::{Listing, Provider, Read};
use zonewright_core::shared::Shared;
use zonewright_core::zone::{InstanceId, ZoneId};
use zonewright_core::{DnsName, RData, RecordSet, RecordType, Ttl, Zone};
use zonewright_provider_rfc2136::{FLAGS, Rfc2136};
use zonewright_testkit::{DnsServer, DnsSoftware, Key, ZoneSpec};

/// The zone of most tests.
pub const ZONE: &str = "example.test";

/// One named test for each server and case.
#[macro_export]
macro_rules! battery {
    ($($case:ident),+ $(,)?) => {$(
        mod $case {
            use zonewright_testkit::{DnsSoftware, require};

            #[tokio::test]
            async fn bind() {
                require!(DnsSoftware::Bind.tools());
                super::$case(DnsSoftware::Bind).await;
            }

            #[tokio::test]
            async fn knot() {
                require!(DnsSoftware::Knot.tools());
                super::$case(DnsSoftware::Knot).await;
            }

            #[tokio::test]
            async fn powerdns() {
                require!(DnsSoftware::PowerDns.tools());
                super::$case(DnsSoftware::PowerDns).await;
            }
        }
    )+};
}

/// Settings as the command line would give them: `name=value`, lists by repeating.
pub fn settings(given: &[(&str, String)]) -> Settings {
    let mut settings = Settings::default();
    for flag in FLAGS {
        let values: Vec<String> = given.iter().filter(|(name, _)| *name == flag.name).map(|(_, v)| v.clone()).collect();
        let text = values.last().cloned().unwrap_or_else(|| flag.default.to_owned());
        let value = match flag.kind {
            FlagKind::Bool => FlagValue::Bool(text == "true"),
            FlagKind::Int => FlagValue::Int(text.parse().unwrap()),
            FlagKind::List => FlagValue::List(values.clone()),
            FlagKind::Secret => FlagValue::Secret(text.into()),
            FlagKind::Duration => {
                let Signed { length, negative } = duration::parse(&text, Units::DaysAndWeeks).unwrap();
                FlagValue::Duration { length, negative }
            }
            _ => FlagValue::Text(text),
        };
        settings.set(flag.name, value, !values.is_empty());
    }
    settings
}

/// A provider with these flags.
pub fn provider(given: &[(&str, String)]) -> Rfc2136 {
    try_provider(given).unwrap()
}

/// A provider with these flags, or why there is none.
pub fn try_provider(given: &[(&str, String)]) -> zonewright_core::Result<Rfc2136> {
    Rfc2136::new(&ProviderConfig {
        instance: InstanceId::from("default"),
        settings: settings(given),
        credentials: BTreeMap::new(),
        shared: Shared::default(),
    })
}

/// The flags for a key.
pub fn signed_by(key: &Key) -> Vec<(&'static str, String)> {
    vec![
        ("rfc2136-tsig-keyname", key.name.clone()),
        ("rfc2136-tsig-secret", key.secret.clone()),
        ("rfc2136-tsig-secret-alg", key.algorithm.name().to_owned()),
    ]
}

/// The flags for [`ZONE`] at these addresses with this key.
pub fn flags(addresses: &[SocketAddr], key: &Key) -> Vec<(&'static str, String)> {
    let hosts = addresses.iter().map(|address| ("rfc2136-host", address.to_string()));
    hosts.chain([("rfc2136-zone", ZONE.to_owned())]).chain(signed_by(key)).collect()
}

/// A server with [`ZONE`] and a provider in front of it.
pub struct Site {
    pub server: DnsServer,
    pub key: Key,
    pub provider: Rfc2136,
    pub zone: Zone,
}

impl Site {
    /// Starts a server whose zone holds `records` besides SOA, NS and the name server's address.
    pub async fn start(software: DnsSoftware, records: &str) -> Self {
        let key = Key::new("DDNS.Key");
        let server = software.start(&[ZoneSpec::new(ZONE, records)], std::slice::from_ref(&key));
        let provider = provider(&flags(&[server.addr()], &key));
        let zone = zone(&provider).await;
        Self { server, key, provider, zone }
    }

    /// Applies groups in one call. PowerDNS answers SERVFAIL while its database is locked by its own bookkeeping; that is
    /// waited out.
    pub async fn apply(&self, groups: &[Group]) -> Vec<Outcome> {
        let deadline = Instant::now() + Duration::from_secs(20);
        loop {
            let outcomes = self.provider.apply(&self.zone, groups).await;
            let is_busy = outcomes.iter().any(|o| o.error().is_some_and(|error| error.context.contains("SERVFAIL")));
            if !is_busy || Instant::now() > deadline {
                return outcomes;
            }
        }
    }

    /// Lists the zone: one line for each record, sorted; without the NS and address that every zone begins with.
    pub async fn lines(&self) -> Vec<String> {
        lines(&full(self.provider.records(&self.zone, Read::All).await.unwrap()))
    }

    /// Reads single names, as [`Site::lines`] shows them.
    pub async fn names(&self, names: &[&str]) -> Vec<String> {
        let names: BTreeSet<DnsName> = names.iter().map(|text| name(text)).collect();
        match self.provider.records(&self.zone, Read::Names(&names)).await.unwrap() {
            Listing::Names(sets) => lines(&sets),
            other => panic!("{other:?}"),
        }
    }
}

/// The zone of a provider.
pub async fn zone(provider: &Rfc2136) -> Zone {
    provider.zone(&ZoneId::from(ZONE)).await.unwrap().unwrap()
}

/// The sets of a full listing.
pub fn full(listing: Listing) -> Vec<RecordSet> {
    match listing {
        Listing::Full { sets, .. } => sets,
        other => panic!("a full listing was expected: {other:?}"),
    }
}

/// One line for each set, sorted by key; without the NS and address that every zone begins with.
pub fn lines(sets: &[RecordSet]) -> Vec<String> {
    let basic =
        |line: &String| line.starts_with("example.test 300 NS ns1.") || line.starts_with("ns1.example.test 300 A ");
    sets.iter().map(ToString::to_string).filter(|line| !basic(line)).collect()
}

/// A name, under [`ZONE`] unless it ends with a dot.
pub fn name(text: &str) -> DnsName {
    match text {
        "@" => DnsName::parse(ZONE).unwrap(),
        absolute if absolute.ends_with('.') => DnsName::parse(absolute).unwrap(),
        relative => DnsName::parse(&format!("{relative}.{ZONE}")).unwrap(),
    }
}

/// A record set from `name ttl type data`; `-` is no TTL, ` ; ` parts the data of several records.
pub fn set(text: &str) -> RecordSet {
    let mut words = text.splitn(4, ' ');
    let mut word = || words.next().unwrap();
    let (owner, ttl, rtype, data) = (name(word()), word(), word().parse::<RecordType>().unwrap(), word());
    let ttl = (ttl != "-").then(|| Ttl::from_secs(ttl.parse().unwrap()).unwrap());
    RecordSet::simple(owner, rtype, ttl, data.split(" ; ").map(|one| RData::parse(rtype, one).unwrap()))
}

/// A group of changes, the first one's name being the group's.
pub fn group(changes: impl IntoIterator<Item = Change>) -> Group {
    let mut steps = changes.into_iter().map(|change| Step::record(change, None));
    let mut group = Group::of(steps.next().unwrap(), Vec::new());
    group.steps.extend(steps);
    group
}

/// A group that creates one set.
pub fn create(text: &str) -> Group {
    group([Change::Create { to: set(text) }])
}

/// A group that deletes one set.
pub fn delete(text: &str) -> Group {
    group([Change::Delete { from: set(text) }])
}

/// A group that changes one set.
pub fn update(from: &str, to: &str) -> Group {
    group([Change::Update { from: set(from), to: set(to) }])
}

/// Asserts that everything was applied.
#[track_caller]
pub fn all_applied(outcomes: &[Outcome]) {
    for outcome in outcomes {
        assert!(matches!(outcome, Outcome::Applied), "{outcome:?}");
    }
}

/// Each outcome as `label`, or `label kind blame` with a refusal.
pub fn shown(outcomes: &[Outcome]) -> Vec<String> {
    let one = |outcome: &Outcome| match outcome {
        Outcome::Applied => "applied".to_owned(),
        Outcome::Refused { error, blame } => format!("refused {} {blame:?}", error.kind.label()),
        Outcome::NotSent(error) => format!("not_sent {}", error.kind.label()),
        Outcome::Unknown(error) => format!("unknown {}", error.kind.label()),
    };
    outcomes.iter().map(one).collect()
}

/// Zone-file text of so many lines.
pub fn repeated(count: usize, line: impl Fn(usize) -> String) -> String {
    (0..count).map(line).collect::<Vec<_>>().join("\n")
}

/// The address of a server that is replaced by another while clients keep theirs; streams only.
pub async fn replaceable(upstream: SocketAddr) -> (SocketAddr, Arc<Mutex<SocketAddr>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let upstream = Arc::new(Mutex::new(upstream));
    let current = Arc::clone(&upstream);
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            let towards = *current.lock().unwrap();
            tokio::spawn(async move {
                let mut server = TcpStream::connect(towards).await.unwrap();
                let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
            });
        }
    });
    (address, upstream)
}

/// What becomes of a question for a difference (IXFR) on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Obstacle {
    /// The connection is closed.
    Closes,
    /// Nothing comes.
    Stalls,
    /// The answer is one to another question.
    AnswersAnother,
}

/// The address of a server behind something that does not know the question for a difference; streams only.
pub async fn obstacle(server: SocketAddr, obstacle: Obstacle) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let upstream = TcpStream::connect(server).await.unwrap();
            let (mut requests, client) = client.into_split();
            let (answers, mut upstream) = upstream.into_split();
            tokio::spawn(async move {
                // A transfer has a connection of its own, on which the first request is the only one.
                let mut back = Some((answers, client));
                while let Ok(length) = requests.read_u16().await {
                    let mut request = vec![0; usize::from(length)];
                    requests.read_exact(&mut request).await.unwrap();
                    // Type and class (IXFR, IN) behind the name of the zone.
                    let is_ixfr = request.windows(5).any(|part| part == [0, 0, 251, 0, 1]);
                    match (obstacle, back.as_mut()) {
                        (Obstacle::Closes, _) if is_ixfr => return,
                        (Obstacle::AnswersAnother, Some((_, client))) if is_ixfr => {
                            request[2] |= 0x80;
                            request[13] ^= 1;
                            client.write_u16(length).await.unwrap();
                            client.write_all(&request).await.unwrap();
                        }
                        _ if is_ixfr => {}
                        _ => {
                            upstream.write_u16(length).await.unwrap();
                            upstream.write_all(&request).await.unwrap();
                            if let Some((mut answers, mut client)) = back.take() {
                                tokio::spawn(async move { tokio::io::copy(&mut answers, &mut client).await });
                            }
                        }
                    }
                }
            });
        }
    });
    address
}
