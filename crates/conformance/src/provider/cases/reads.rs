//! Reading: zones, parts of a zone, its history, and the form in which things would be read back.

use std::collections::BTreeSet;
use std::time::Duration;

use zonewright_core::capability::Audit;
use zonewright_core::provider::{Cursor, Listing, Read, Record, Token};
use zonewright_core::{DnsName, RecordSet, RecordType, Ttl};

use crate::provider::Harness;
use crate::provider::specimen::of_type;
use crate::provider::view;
use crate::provider::walk::Walk;
use crate::run::note;

const A: RecordType = RecordType::A;

/// The zone is listed and found by its id; two listings are equal.
pub async fn finds_its_zone(harness: &dyn Harness) {
    let walk = Walk::start(harness).await;
    let zones = walk.provider().zones().await.unwrap_or_else(|e| panic!("zones: {e:?}"));
    assert!(zones.contains(walk.zone()), "{:?} is not among {zones:?}", walk.zone());
    let ids: BTreeSet<_> = zones.iter().map(|zone| zone.key.clone()).collect();
    assert_eq!(ids.len(), zones.len(), "each zone comes once");
    let found = walk.provider().zone(&walk.zone().key.zone).await.unwrap_or_else(|e| panic!("zone: {e:?}"));
    assert_eq!(found.map(|zone| (zone.key, zone.name)), Some((walk.zone().key.clone(), walk.zone().name.clone())));
    assert_eq!(walk.list().await, walk.list().await, "two listings of one state");
}

/// Where the provider knows that every server answers a change, it says so in the end, after each change; where it
/// cannot, it says that, and never an error or a promise.
pub async fn changes_are_served(harness: &dyn Harness) {
    let mut walk = Walk::start(harness).await;
    for state in [vec![walk.set("www", A, 60, &["192.0.2.1"])], vec![]] {
        walk.reach(&state).await;
        loop {
            let served = walk.provider().served(walk.zone()).await;
            match served.unwrap_or_else(|error| panic!("whether changes are served: {error:?}")) {
                Some(true) => break,
                Some(false) => tokio::time::sleep(Duration::from_millis(100)).await,
                None => return note("the provider does not know when a change is served"),
            }
        }
    }
}

/// A zone as it was read at some time, with the mark of that time.
struct Reading {
    view: BTreeSet<Record>,
    token: Token,
}

impl Reading {
    async fn take(walk: &Walk<'_>) -> Option<Self> {
        let (sets, token) = walk.list_with_token().await;
        if token.is_none() {
            assert_eq!(walk.capability.audit, Audit::Listing, "a cheap audit is declared, yet a listing has no token");
            note("the provider has no history");
        }
        Some(Self { view: view::records(&sets), token: token? })
    }

    /// Brings the reading up to date by what changed since, and demands that it is what a listing gives.
    async fn follow(&mut self, walk: &Walk<'_>) {
        match walk.provider().records(walk.zone(), Read::Since(&self.token)).await {
            Ok(Listing::Unchanged) => {}
            Ok(Listing::Delta { steps, token }) => {
                view::apply(&mut self.view, &steps);
                self.token = token;
            }
            Ok(Listing::Full { sets, token }) => {
                self.view = view::records(&view::by_key(sets, "the listing"));
                self.token = token.unwrap_or_else(|| panic!("a listing lost its token"));
            }
            other => panic!("a read since {:?} gave {other:?}", self.token),
        }
        let now = view::records(&walk.list().await);
        let lost: Vec<_> = now.difference(&self.view).collect();
        let surplus: Vec<_> = self.view.difference(&now).collect();
        assert!(lost.is_empty() && surplus.is_empty(), "the history leads astray: lost {lost:?}, surplus {surplus:?}");
    }
}

/// What changed since a listing leads to what a listing would give, after each of our changes and after many.
pub async fn history_shows_own_changes(harness: &dyn Harness) {
    let mut walk = Walk::start(harness).await;
    let Some(mut near) = Reading::take(&walk).await else { return };
    near.follow(&walk).await;
    let Some(mut far) = Reading::take(&walk).await else { return };
    let txt = |data: &[&str]| walk.set("www", RecordType::Txt, 60, data);
    let www = |ttl, data: &[&str]| walk.set("www", A, ttl, data);
    let states = [
        vec![www(60, &["192.0.2.1"])],
        vec![www(60, &["192.0.2.1", "192.0.2.2"]), txt(&["\"a\"", "\"b\""])],
        vec![www(600, &["192.0.2.2"]), txt(&["\"b\""])],
        vec![walk.set("*", RecordType::Txt, 60, &["\"wild\""]), txt(&["\"c\""])],
        vec![],
    ];
    for state in states {
        let wild = walk.capability.wildcards;
        let state: Vec<RecordSet> = state.into_iter().filter(|set| wild || !set.key.name.is_wildcard()).collect();
        walk.reach(&state).await;
        near.follow(&walk).await;
        near.follow(&walk).await;
    }
    far.follow(&walk).await;
}

/// The history shows changes that others make.
pub async fn history_shows_foreign_changes(harness: &dyn Harness) {
    let mut walk = Walk::start(harness).await;
    let Some(mut reading) = Reading::take(&walk).await else { return };
    walk.foreign(walk.set("theirs", A, 300, &["192.0.2.1", "192.0.2.2"])).await;
    reading.follow(&walk).await;
    walk.reach(&[walk.set("ours", A, 300, &["192.0.2.1"])]).await;
    walk.foreign(walk.set("theirs", A, 300, &["192.0.2.2", "192.0.2.3"])).await;
    reading.follow(&walk).await;
    walk.foreign(walk.set("theirs", A, 900, &["192.0.2.2", "192.0.2.3"])).await;
    reading.follow(&walk).await;
}

/// A read of some names gives what a full listing has at them, and nothing at names without records.
pub async fn a_read_of_names_equals_that_part_of_the_whole(harness: &dyn Harness) {
    let mut walk = Walk::start(harness).await;
    let mut sets: Vec<RecordSet> = (0..9).map(|i| walk.set(&format!("n{i}"), A, 60, &["192.0.2.1"])).collect();
    sets.push(walk.set("n1", RecordType::Txt, 60, &["\"beside\""]));
    sets.push(walk.set("below.n1", A, 60, &["192.0.2.1"]));
    if walk.capability.wildcards {
        sets.push(walk.set("*", A, 60, &["192.0.2.1"]));
    }
    walk.reach(&sets).await;
    walk.foreign(walk.set("theirs", RecordType::Txt, 60, &["\"x\""])).await;
    let apex = walk.zone().name.clone();
    for labels in [vec![], vec!["n1"], vec!["n1", "n2", "missing", "theirs", "*", "n"], vec!["missing"]] {
        let names: BTreeSet<DnsName> = labels.iter().map(|label| walk.name(label)).collect();
        compare(&walk, &names).await;
    }
    compare(&walk, &BTreeSet::from([apex, walk.name("n3")])).await;
}

async fn compare(walk: &Walk<'_>, names: &BTreeSet<DnsName>) {
    let found = match walk.provider().records(walk.zone(), Read::Names(names)).await {
        Ok(Listing::Names(sets)) => view::by_key(sets, "the read of names"),
        other => panic!("a read of names gave {other:?}"),
    };
    let mut expected = walk.list().await;
    expected.retain(|key, _| names.contains(&key.name));
    assert!(found == expected, "a read of {names:?} differs:{}", view::difference(&found, &expected));
}

/// Adjusting twice is adjusting once, equal input gives equal output, and what is adjusted reads back as it is.
pub async fn adjust_is_idempotent_and_true(harness: &dyn Harness) {
    let mut walk = Walk::start(harness).await;
    let types = RecordType::WRITABLE.into_iter().filter(|rtype| walk.writes(*rtype));
    let range = walk.capability.ttl;
    let ttls = [None, Some(range.min), Some(range.max), Some(range.default), Ttl::from_secs(1), Some(Ttl::MAX)];
    let plain = |(i, rtype): (usize, RecordType)| {
        let (label, data, _) = of_type(rtype);
        RecordSet { ttl: ttls[i % ttls.len()], ..walk.set(label, rtype, 60, data) }
    };
    let wanted: Vec<RecordSet> = types.enumerate().map(plain).collect();
    let once = walk.adjusted(&wanted).await;
    assert_eq!(once, walk.adjusted(&wanted).await, "equal input");
    assert_eq!(once, walk.adjusted(&once).await, "adjusting twice");
    for set in &once {
        let fits = set.ttl.is_none_or(|ttl| range.clamp(ttl) == ttl);
        assert!(fits, "{set} is adjusted to a TTL outside {range:?}");
    }
    walk.reach(&once).await;
    for set in &once {
        let stands = walk.standing(set);
        assert!(set.is_met_by(&stands), "{set} was adjusted, yet {stands} is read back");
        // An open TTL asks for nothing; what is written then is the default that the capability names.
        let default = set.ttl.is_some() || stands.ttl.is_none_or(|ttl| ttl == range.default);
        assert!(default, "{stands} is read back; adjust left its TTL open, and the default is {}", range.default);
    }
    assert!(walk.adjusted(&[]).await.is_empty(), "adjusting nothing gives nothing");
}

/// A page of a listing is the same when it is asked for again, so that a listing goes on from a page that failed; no set is on two
/// pages, and every page before the last one says where it goes on.
pub async fn a_page_can_be_asked_again(harness: &dyn Harness) {
    let mut walk = Walk::start(harness).await;
    let many: Vec<RecordSet> = (0..7).map(|i| walk.set(&format!("p{i}"), A, 60, &["192.0.2.1"])).collect();
    walk.reach(&many).await;
    let mut pages: Vec<Vec<RecordSet>> = Vec::new();
    let mut cursors: Vec<Cursor> = Vec::new();
    loop {
        let read = cursors.last().map_or(Read::All, Read::From);
        let (first, again) = (page(&walk, read).await, page(&walk, read).await);
        assert_eq!(first, again, "page {}, asked for twice", pages.len() + 1);
        pages.push(first.0);
        let Some(next) = first.1 else { break };
        assert!(!cursors.contains(&next), "page {} leads back to an earlier one", pages.len());
        cursors.push(next);
    }
    if cursors.is_empty() {
        note("listings come in one page");
    }
    let all: Vec<RecordSet> = pages.concat();
    let keys: BTreeSet<_> = all.iter().map(|set| set.key.clone()).collect();
    assert_eq!(keys.len(), all.len(), "a set is on two pages");
    assert_eq!(view::by_key(all, "the pages"), walk.list().await, "the pages together are the listing");
    walk.reach(&[]).await;
}

/// A page, and where it goes on.
async fn page(walk: &Walk<'_>, read: Read<'_>) -> (Vec<RecordSet>, Option<Cursor>) {
    match walk.provider().records(walk.zone(), read).await {
        Ok(Listing::Page { sets, next }) => (sets, Some(next)),
        Ok(Listing::Full { sets, .. }) => (sets, None),
        other => panic!("a read of {read:?} gave {other:?}; expected a page"),
    }
}
