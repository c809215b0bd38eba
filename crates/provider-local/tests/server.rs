//! The running server: its zone files, its sockets, its counters, and how the catalog builds it.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use zonewright_core::catalog::{FlagValue, ProviderConfig, Settings};
use zonewright_core::change::{Blame, Change, Group, Outcome, Step};
use zonewright_core::error::ErrorKind;
use zonewright_core::provider::{Listing, Provider, Read};
use zonewright_core::shared::Shared;
use zonewright_core::zone::{InstanceId, ZoneId};
use zonewright_core::{DnsName, RData, RecordKey, RecordSet, RecordType, Ttl, Zone};
use zonewright_provider_local::{ENTRY, Local, LocalConfig};

fn name(text: &str) -> DnsName {
    DnsName::parse(text).unwrap()
}

fn address(owner: &str, data: &str) -> RecordSet {
    RecordSet::simple(name(owner), RecordType::A, Ttl::from_secs(60), [RData::parse(RecordType::A, data).unwrap()])
}

fn create(set: RecordSet) -> Group {
    Group::of(Step::record(Change::Create { to: set }, None), vec![])
}

/// Writes a file as a person did some time ago.
fn edit(file: &Path, text: &str) {
    fs::write(file, text).unwrap();
    age(file);
}

/// The lines that do not hold `part`.
fn without(text: &str, part: &str) -> String {
    text.split_inclusive('\n').filter(|line| !line.contains(part)).collect()
}

fn age(file: &Path) {
    let file = fs::File::options().append(true).open(file).unwrap();
    file.set_modified(SystemTime::now() - Duration::from_secs(10)).unwrap();
}

async fn start(dir: &Path, zones: &[&str]) -> Arc<Local> {
    let config = LocalConfig::with_zones(zones.iter().copied()).unwrap();
    Local::start(LocalConfig { dir: Some(dir.to_owned()), ..config }).await.unwrap()
}

fn zone(local: &Local, text: &str) -> Zone {
    local.find_zone(&name(text)).unwrap()
}

async fn apply(local: &Local, set: RecordSet) -> Outcome {
    local.apply(&zone(local, "example.test"), &[create(set)]).await.remove(0)
}

#[tokio::test]
async fn zones_survive_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let first = start(dir.path(), &["example.test"]).await;
    let unknown = RecordSet::simple(
        name("tlsa.example.test"),
        RecordType::Other(52),
        Ttl::from_secs(5),
        [RData::parse(RecordType::Other(52), "\\# 4 03010102").unwrap()],
    );
    first.insert(&name("example.test"), unknown).unwrap();
    assert!(matches!(apply(&first, address("www.example.test", "192.0.2.1")).await, Outcome::Applied));
    let (before, serial) = (first.dump(&name("example.test")).unwrap(), first.serial(&name("example.test")).unwrap());
    let Listing::Full { token: Some(token), .. } =
        first.records(&zone(&first, "example.test"), Read::All).await.unwrap()
    else {
        panic!("a listing with a token")
    };
    drop(first);

    let second = start(dir.path(), &[]).await;
    assert_eq!(second.dump(&name("example.test")).unwrap(), before);
    assert_eq!(second.serial(&name("example.test")).unwrap(), serial);
    let since = second.records(&zone(&second, "example.test"), Read::Since(&token)).await.unwrap();
    assert!(matches!(since, Listing::Full { .. }), "the history ended with the process: {since:?}");
    let files: Vec<_> = fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(files, ["example.test.zone"], "nothing else is left in the folder");
}

#[tokio::test]
async fn a_file_edited_by_hand_is_read_before_the_zone_is_changed() {
    let dir = tempfile::tempdir().unwrap();
    let local = start(dir.path(), &["example.test"]).await;
    let file = dir.path().join("example.test.zone");
    let serial = local.serial(&name("example.test")).unwrap();
    let edited = fs::read_to_string(&file).unwrap() + "hand 60 IN A 192.0.2.77\n";
    edit(&file, &edited);
    let refused = apply(&local, address("hand.example.test", "192.0.2.1")).await;
    assert_eq!(refused.error().map(|e| e.kind), Some(ErrorKind::Conflict), "{refused:?}");
    assert!(matches!(apply(&local, address("www.example.test", "192.0.2.1")).await, Outcome::Applied));
    assert!(fs::read_to_string(&file).unwrap().contains("hand.example.test. 60 IN A 192.0.2.77"));
    assert!(local.serial(&name("example.test")).unwrap() > serial + 1, "the edit counts as a change");
}

#[tokio::test]
async fn a_broken_file_stops_only_its_own_zone_and_is_not_overwritten() {
    let dir = tempfile::tempdir().unwrap();
    let broken = "$TTL 60\n@ IN NS localhost.\nwww IN A 192.0.2.300\n";
    let file = dir.path().join("bad.test.zone");
    fs::write(&file, broken).unwrap();
    fs::write(dir.path().join("clash.test.zone"), "@ 60 IN NS localhost.\na 60 IN A 192.0.2.1\na 60 IN CNAME b\n")
        .unwrap();
    let local = start(dir.path(), &["bad.test", "example.test"]).await;
    assert!(matches!(apply(&local, address("www.example.test", "192.0.2.1")).await, Outcome::Applied));
    for (apex, part) in [("bad.test", "bad.test.zone: line 3"), ("clash.test", "clash.test.zone: line 3")] {
        let error = local.records(&zone(&local, apex), Read::All).await.unwrap_err();
        assert!(error.to_string().contains(part), "{error}");
        let lost = address(&format!("x.{apex}"), "192.0.2.1");
        let outcome = local.apply(&zone(&local, apex), &[create(lost)]).await.remove(0);
        assert!(matches!(outcome, Outcome::NotSent(_)), "{outcome:?}");
    }
    assert_eq!(fs::read_to_string(&file).unwrap(), broken);
    edit(&file, &broken.replace("300", "30"));
    assert_eq!(local.dump(&name("bad.test")).unwrap().len(), 2, "a repaired file is taken up without a restart");
}

#[tokio::test]
async fn a_file_that_cannot_be_read_at_the_start_stops_only_its_own_zone() {
    let dir = tempfile::tempdir().unwrap();
    let (latin, folder) = (dir.path().join("latin.test.zone"), dir.path().join("folder.test.zone"));
    let text = b"$TTL 60\n@ IN NS localhost.\nwww IN A 192.0.2.30 ; m\xfcde\n";
    fs::write(&latin, text).unwrap();
    age(&latin);
    fs::create_dir(&folder).unwrap();
    let local = start(dir.path(), &["latin.test", "example.test"]).await;
    assert!(matches!(apply(&local, address("www.example.test", "192.0.2.1")).await, Outcome::Applied));
    for (apex, part) in [("latin.test", "latin.test.zone: not UTF-8"), ("folder.test", "folder.test.zone")] {
        let error = local.records(&zone(&local, apex), Read::All).await.unwrap_err();
        assert!(error.to_string().contains(part), "{error}");
        let lost = address(&format!("x.{apex}"), "192.0.2.1");
        let outcome = local.apply(&zone(&local, apex), &[create(lost)]).await.remove(0);
        assert!(matches!(outcome, Outcome::NotSent(_)), "{outcome:?}");
    }
    assert_eq!(fs::read(&latin).unwrap(), text);
    edit(&latin, &String::from_utf8_lossy(text));
    assert_eq!(local.dump(&name("latin.test")).unwrap().len(), 2, "it is taken up without a restart");
}

/// A person's editor or script may empty a file before it writes it, or end in between.
#[tokio::test]
async fn a_file_that_is_not_whole_is_not_overwritten() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("example.test.zone");
    let local = start(dir.path(), &["example.test"]).await;
    local.insert(&name("example.test"), address("foreign.example.test", "192.0.2.7")).unwrap();
    let (whole, before) = (fs::read_to_string(&file).unwrap(), local.dump(&name("example.test")).unwrap());
    let records_only = without(&whole, " SOA ");
    for (text, part) in [("", "no records"), ("; only a note\n", "no records"), (records_only.as_str(), "SOA")] {
        edit(&file, text);
        let outcome = apply(&local, address("www.example.test", "192.0.2.1")).await;
        let Outcome::NotSent(error) = &outcome else { panic!("{text:?}: {outcome:?}") };
        assert_eq!(error.kind, ErrorKind::Unavailable, "{text:?}: {error}");
        assert!(error.context.contains("example.test.zone") && error.context.contains(part), "{text:?}: {error}");
        assert_eq!(fs::read_to_string(&file).unwrap(), text, "untouched");
    }
    edit(&file, &whole);
    assert_eq!(local.dump(&name("example.test")).unwrap(), before);
    assert!(matches!(apply(&local, address("www.example.test", "192.0.2.1")).await, Outcome::Applied));
    assert!(fs::read_to_string(&file).unwrap().contains("foreign.example.test. 60 IN A 192.0.2.7"));
}

#[tokio::test]
async fn a_file_that_is_being_written_is_neither_believed_nor_overwritten() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("example.test.zone");
    let local = start(dir.path(), &["example.test"]).await;
    local.insert(&name("example.test"), address("foreign.example.test", "192.0.2.7")).unwrap();
    let (whole, before) = (fs::read_to_string(&file).unwrap(), local.dump(&name("example.test")).unwrap());
    // It holds the SOA and half of the rest, and this very moment is its time. A time ahead of the clock, so that no test is too slow.
    let half = without(&whole, "foreign");
    fs::write(&file, &half).unwrap();
    fs::File::options()
        .append(true)
        .open(&file)
        .unwrap()
        .set_modified(SystemTime::now() + Duration::from_mins(1))
        .unwrap();
    assert_eq!(local.dump(&name("example.test")).unwrap(), before, "read as it was");
    let outcome = apply(&local, address("www.example.test", "192.0.2.1")).await;
    let Outcome::NotSent(error) = &outcome else { panic!("{outcome:?}") };
    assert!(error.kind == ErrorKind::Unavailable && error.context.contains("another program"), "{error}");
    assert_eq!(fs::read_to_string(&file).unwrap(), half, "untouched");
    edit(&file, &format!("{whole}more 60 IN A 192.0.2.8\n"));
    assert!(matches!(apply(&local, address("www.example.test", "192.0.2.1")).await, Outcome::Applied));
    let stands = fs::read_to_string(&file).unwrap();
    for label in ["foreign", "more", "www"] {
        assert!(stands.contains(&format!("{label}.example.test.")), "{label}: {stands}");
    }
}

#[tokio::test]
async fn a_change_that_cannot_be_saved_is_not_in_force() {
    let dir = tempfile::tempdir().unwrap();
    let inner = dir.path().join("zones");
    let local = start(&inner, &["example.test"]).await;
    let before = local.dump(&name("example.test")).unwrap();
    fs::remove_dir_all(&inner).unwrap();
    let outcome = apply(&local, address("www.example.test", "192.0.2.1")).await;
    assert!(matches!(&outcome, Outcome::NotSent(error) if error.kind == ErrorKind::Unavailable), "{outcome:?}");
    assert_eq!(local.dump(&name("example.test")).unwrap(), before);
    fs::create_dir_all(&inner).unwrap();
    assert!(matches!(apply(&local, address("www.example.test", "192.0.2.1")).await, Outcome::Applied));
}

#[tokio::test]
async fn a_busy_port_is_reported_and_is_free_after_the_end() {
    let first = Local::start(LocalConfig::default()).await.unwrap();
    let config = LocalConfig { listen: first.addr(), ..LocalConfig::default() };
    let error = Local::start(config.clone()).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Configuration);
    assert!(error.to_string().contains(&format!("--local-listen={} is in use", first.addr())), "{error}");
    drop(first);
    let deadline = Instant::now() + Duration::from_secs(10);
    while let Err(error) = Local::start(config.clone()).await {
        assert!(Instant::now() < deadline, "still busy: {error}");
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn the_bad_group_is_named_and_the_others_are_not() {
    let local = Local::start(LocalConfig::with_zones(["example.test"]).unwrap()).await.unwrap();
    local.insert(&name("example.test"), address("taken.example.test", "192.0.2.1")).unwrap();
    let groups = ["a", "taken", "b"].map(|label| create(address(&format!("{label}.example.test"), "192.0.2.9")));
    let outcomes = local.apply(&zone(&local, "example.test"), &groups).await;
    let blames: Vec<Blame> = outcomes
        .iter()
        .map(|outcome| match outcome {
            Outcome::Refused { blame, .. } => *blame,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(blames, [Blame::Batch, Blame::Group, Blame::Batch]);
}

#[tokio::test]
async fn calls_are_counted_and_changes_reported() {
    let local = Local::start(LocalConfig::with_zones(["example.test"]).unwrap()).await.unwrap();
    let mut revision = local.subscribe();
    assert!(!revision.has_changed().unwrap());
    assert!(matches!(apply(&local, address("www.example.test", "192.0.2.1")).await, Outcome::Applied));
    assert!(revision.has_changed().unwrap());
    let seen = *revision.borrow_and_update();
    local.remove(&name("example.test"), &RecordKey::simple(name("www.example.test"), RecordType::A)).unwrap();
    assert!(*revision.borrow_and_update() > seen);
    local.records(&zone(&local, "example.test"), Read::All).await.unwrap();
    let calls = local.calls();
    assert_eq!((calls.apply, calls.groups, calls.list, calls.since, calls.requests()), (1, 1, 1, 0, 2));
}

#[tokio::test]
async fn zones_may_lie_inside_each_other() {
    let local = Local::start(LocalConfig::with_zones(["example.test", "sub.example.test"]).unwrap()).await.unwrap();
    let ids: Vec<String> = local.zones().await.unwrap().iter().map(|zone| zone.key.to_string()).collect();
    assert_eq!(ids, ["default/example.test", "default/sub.example.test"]);
    assert_eq!(local.zone(&ZoneId::from("nope.test")).await.unwrap(), None);
}

#[tokio::test]
async fn the_catalog_builds_it_from_either_zone_flag() {
    let mut settings = Settings::default();
    settings.set("local-listen", FlagValue::Text("127.0.0.1:0".to_owned()), true);
    settings.set("inmemory-zone", FlagValue::List(vec!["example.test".to_owned()]), true);
    let config = ProviderConfig {
        instance: InstanceId::from("lab"),
        settings,
        credentials: BTreeMap::new(),
        shared: Shared::default(),
    };
    let provider = (ENTRY.build)(config).await.unwrap();
    let zones = provider.zones().await.unwrap();
    assert_eq!(zones.iter().map(|zone| zone.key.to_string()).collect::<Vec<_>>(), ["lab/example.test"]);
    assert_eq!((ENTRY.name, ENTRY.aliases), ("local", ["inmemory"].as_slice()));
}
