use super::*;
use crate::change::{Change, Step};
use crate::provider::Record;
use crate::record::{AliasTarget, RecordData, Routing, SetId};
use crate::testing::{name, set};

fn full(lines: &[&str]) -> Listing {
    Listing::Full { sets: lines.iter().map(|l| set(l)).collect(), token: Some(Token("1".to_owned())) }
}

fn shown(view: &ZoneView) -> Vec<String> {
    view.sets().map(|set| set.to_string()).collect()
}

fn names(changed: &Changed) -> Vec<&str> {
    changed.keys().map(DnsName::as_str).collect()
}

fn record(line: &str) -> Record {
    let set = set(line);
    Record { name: set.key.name, ttl: set.ttl.unwrap(), data: set.data.as_records()[0].clone() }
}

const NONE: Duration = Duration::ZERO;

#[tokio::test(start_paused = true)]
async fn a_listing_that_began_before_a_write_does_not_undo_it() {
    let mut view = ZoneView::default();
    view.take(full(&["a.example A ttl=1 192.0.2.1", "b.example A ttl=1 192.0.2.2"]), None, Instant::now(), NONE);
    let began = Instant::now();
    tokio::time::advance(Duration::from_secs(1)).await;
    let change = Change::Delete { from: set("a.example A ttl=1 192.0.2.1") };
    view.write(&Group::of(Step::record(change, None), vec![]), Instant::now(), Clone::clone);
    let stale = || full(&["a.example A ttl=1 192.0.2.1", "b.example A ttl=1 192.0.2.7"]);
    let changed = view.take(stale(), None, began, NONE);
    assert_eq!(names(&changed), ["b.example"]);
    assert_eq!(changed[&name("b.example")], [set("b.example A ttl=1 192.0.2.2")], "what stood there");
    assert_eq!(shown(&view), ["b.example 1 A 192.0.2.7"]);
    tokio::time::advance(Duration::from_secs(1)).await;
    view.take(stale(), None, Instant::now(), Duration::from_secs(5));
    assert_eq!(shown(&view).len(), 1, "within the time in which reads may lag behind writes");
    tokio::time::advance(Duration::from_secs(9)).await;
    view.take(stale(), None, Instant::now(), Duration::from_secs(5));
    assert_eq!(shown(&view).len(), 2, "later the listing is right");
}

/// What was read of one name says nothing of how far a listing lags behind what was written to another.
#[tokio::test(start_paused = true)]
async fn a_targeted_read_does_not_let_a_lagging_listing_undo_a_write() {
    let mut view = ZoneView::default();
    let stale = || full(&["a.example A ttl=1 192.0.2.1", "b.example A ttl=1 192.0.2.2"]);
    view.take(stale(), None, Instant::now(), NONE);
    let change = Change::Delete { from: set("a.example A ttl=1 192.0.2.1") };
    view.write(&Group::of(Step::record(change, None), vec![]), Instant::now(), Clone::clone);
    tokio::time::advance(Duration::from_secs(1)).await;
    let asked = BTreeSet::from([name("b.example")]);
    view.take(Listing::Names(vec![set("b.example A ttl=1 192.0.2.2")]), Some(&asked), Instant::now(), NONE);
    view.take(stale(), None, Instant::now(), Duration::from_secs(5));
    assert_eq!(shown(&view), ["b.example 1 A 192.0.2.2"]);
    tokio::time::advance(Duration::from_secs(9)).await;
    view.take(stale(), None, Instant::now(), Duration::from_secs(5));
    assert_eq!(shown(&view).len(), 2, "later the listing is right");
}

#[tokio::test(start_paused = true)]
async fn deltas_apply_in_order_and_own_writes_are_no_news() {
    let mut view = ZoneView::default();
    view.take(full(&["a.example A ttl=1 192.0.2.1 192.0.2.2"]), None, Instant::now(), NONE);
    let delta = Listing::Delta {
        steps: vec![
            Delta {
                removed: vec![record("a.example A ttl=1 192.0.2.1")],
                added: vec![record("c.example A ttl=1 192.0.2.3")],
            },
            Delta { removed: vec![record("c.example A ttl=1 192.0.2.3")], added: vec![] },
        ],
        token: Token("3".to_owned()),
    };
    let changed = view.take(delta.clone(), None, Instant::now(), NONE);
    assert_eq!(names(&changed), ["a.example"], "what came and went again is no change");
    assert_eq!(shown(&view), ["a.example 1 A 192.0.2.2"]);
    assert_eq!(view.token(), Some(&Token("3".to_owned())));
}

#[tokio::test(start_paused = true)]
async fn a_written_claim_counts_as_read_only_after_a_later_reading() {
    let claim = set("a-w.example TXT ttl=1 heritage=external-dns");
    let step = Step::claim(Change::Create { to: claim.clone() });
    let group = Group { name: name("w.example"), steps: vec![step], stored: vec![], requires: vec![], objects: vec![] };
    let written = || {
        let mut view = ZoneView::default();
        view.take(full(&[]), None, Instant::now(), NONE);
        view.write(&group, Instant::now(), Clone::clone);
        assert!(!view.is_read(&claim.key.name) && view.is_read(&name("w.example")));
        view
    };
    let lines = &["a-w.example TXT ttl=1 heritage=external-dns"];
    let delta = |added| Listing::Delta { steps: vec![Delta { removed: vec![], added }], token: Token("2".to_owned()) };
    let asked = BTreeSet::from([claim.key.name.clone()]);
    let early = Instant::now();
    tokio::time::advance(Duration::from_secs(1)).await;
    // The answer; what was asked for; whether the question was put after the write; whether the claim counts as read.
    for (listing, asked, late, read) in [
        (full(lines), None, true, true),
        (full(lines), None, false, false),
        (delta(vec![record(lines[0])]), None, true, true),
        (delta(vec![record(lines[0])]), None, false, false),
        (delta(vec![record("b.example A ttl=1 192.0.2.1")]), None, true, false),
        (Listing::Unchanged, None, true, false),
        (Listing::Names(vec![claim.clone()]), Some(&asked), true, true),
    ] {
        let mut view = written();
        tokio::time::advance(Duration::from_secs(1)).await;
        let began = if late { Instant::now() } else { early };
        let what = format!("{listing:?} {late}");
        view.take(listing, asked, began, NONE);
        assert_eq!(view.is_read(&claim.key.name), read, "{what}");
    }
}

/// A provider that keeps no options with texts shows a claim without those that it was written with. That is no change by others, where
/// anything else is one, and so is a later one.
#[tokio::test(start_paused = true)]
async fn options_that_a_claim_loses_are_no_news() {
    let plain = set("a-w.example TXT ttl=1 heritage=external-dns");
    let with = |options: &[&str], set: &RecordSet| {
        let mut set = set.clone();
        for key in options {
            set.options.set(key, crate::options::OptionValue::Bool(true));
        }
        set
    };
    let view = || {
        let mut view = ZoneView::default();
        view.take(full(&[]), None, Instant::now(), NONE);
        let steps = vec![Step::claim(Change::Create { to: with(&["proxied"], &plain) })];
        let group = Group { name: name("w.example"), steps, stored: vec![], requires: vec![], objects: vec![] };
        view.write(&group, Instant::now(), Clone::clone);
        view
    };
    let other = set("a-w.example TXT ttl=1 heritage=other");
    let address = with(&["proxied"], &set("a-w.example A ttl=1 192.0.2.1"));
    for (read, news) in [
        (vec![plain.clone()], false),
        (vec![with(&["proxied"], &plain)], false),
        (vec![other], true),
        (vec![plain.clone(), address], true),
        (vec![], true),
    ] {
        let all = Listing::Full { sets: read.clone(), token: None };
        let asked = BTreeSet::from([plain.key.name.clone()]);
        for (listing, asked) in [(all, None), (Listing::Names(read.clone()), Some(&asked))] {
            let mut view = view();
            tokio::time::advance(Duration::from_secs(1)).await;
            let changed = view.take(listing, asked, Instant::now(), NONE);
            assert_eq!(!changed.is_empty(), news, "{read:?}");
            assert_eq!(view.at(&plain.key.name).len(), read.len(), "what was read is what stands");
            let again = Listing::Full { sets: vec![with(&["other"], &plain)], token: None };
            tokio::time::advance(Duration::from_secs(1)).await;
            assert!(!view.take(again, None, Instant::now(), NONE).is_empty(), "{read:?}: later it is a change");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_kept_small_comes_back_whole() {
    let mut rare = set("b.example A ttl=1 192.0.2.1 192.0.2.2");
    rare.key.set_id = SetId::new("blue");
    rare.routing = Routing::Weighted { weight: 7 };
    rare.options.set("k", crate::options::OptionValue::Int(3));
    let alias = AliasTarget { target: "lb.example".into(), zone: None, evaluate_health: true };
    let alias = RecordSet { data: RecordData::Alias(alias), ttl: None, ..set("c.example A 192.0.2.1") };
    let sets = vec![set("a.example A ttl=1 192.0.2.1"), rare, alias];
    let mut view = ZoneView::default();
    view.take(Listing::Full { sets: sets.clone(), token: None }, None, Instant::now(), NONE);
    assert_eq!(view.sets().collect::<Vec<_>>(), sets);
    for set in &sets {
        assert_eq!(view.find(&set.key).as_ref(), Some(set));
        assert!(view.holds(&set.key) && !view.holds(&RecordKey { rtype: RecordType::Mx, ..set.key.clone() }));
    }
    assert!(std::mem::size_of::<Slim>() <= 80, "{} bytes", std::mem::size_of::<Slim>());
}

#[tokio::test(start_paused = true)]
async fn a_listing_may_come_in_any_order() {
    let mut view = ZoneView::default();
    let take = |view: &mut ZoneView, lines: &[&str]| -> Vec<String> {
        view.take(full(lines), None, Instant::now(), NONE).keys().map(ToString::to_string).collect()
    };
    let lines = ["c.example A ttl=1 192.0.2.1", "a.example A ttl=1 192.0.2.1", "c.example AAAA ttl=1 2001:db8::1"];
    take(&mut view, &lines);
    assert_eq!((view.len(), view.at(&name("c.example")).len()), (3, 2));
    assert_eq!(take(&mut view, &[lines[2], lines[1], lines[0]]), [""; 0]);
    assert_eq!(
        take(&mut view, &["d.example A ttl=1 192.0.2.1", lines[0], "b.example A ttl=1 192.0.2.1"]),
        ["a.example", "b.example", "c.example", "d.example"]
    );
    assert_eq!(view.names().map(ToString::to_string).collect::<Vec<_>>(), ["b.example", "c.example", "d.example"]);
}

#[tokio::test(start_paused = true)]
async fn a_targeted_read_empties_names_that_hold_nothing() {
    let mut view = ZoneView::default();
    view.take(full(&["a.example A ttl=1 192.0.2.1"]), None, Instant::now(), NONE);
    let asked = BTreeSet::from([name("a.example")]);
    let changed = view.take(Listing::Names(vec![]), Some(&asked), Instant::now(), NONE);
    assert_eq!(names(&changed), ["a.example"]);
    assert!(view.is_empty());
}

/// What was read of a name by itself is newer than a listing that lags; a later one, or one that does not lag, counts.
#[tokio::test(start_paused = true)]
async fn a_lagging_listing_does_not_undo_a_targeted_read() {
    let lag = Duration::from_secs(5);
    let asked = BTreeSet::from([name("a.example")]);
    let mut view = ZoneView::default();
    let stale = || full(&["b.example A ttl=1 192.0.2.2"]);
    view.take(stale(), None, Instant::now(), lag);
    tokio::time::advance(Duration::from_mins(1)).await;
    let found = || Listing::Names(vec![set("a.example TXT ttl=1 theirs")]);
    view.take(found(), Some(&asked), Instant::now(), NONE);
    tokio::time::advance(Duration::from_secs(4)).await;
    view.take(stale(), None, Instant::now(), lag);
    assert_eq!(shown(&view).len(), 2, "it is older than what was read");
    tokio::time::advance(Duration::from_secs(2)).await;
    view.take(stale(), None, Instant::now(), lag);
    assert_eq!(shown(&view).len(), 1);
    view.take(found(), Some(&asked), Instant::now(), NONE);
    view.take(stale(), None, Instant::now(), NONE);
    assert_eq!(shown(&view).len(), 1, "it does not lag");
}

/// A name that keeps what was written is not known beyond that: no delta shows what a listing showed that was passed over.
#[tokio::test(start_paused = true)]
async fn what_a_listing_showed_otherwise_at_a_written_name_is_listed_again() {
    let mut view = ZoneView::default();
    view.take(full(&["a.example A ttl=1 192.0.2.1"]), None, Instant::now(), NONE);
    let began = Instant::now();
    tokio::time::advance(Duration::from_secs(1)).await;
    let change = Change::Create { to: set("a.example AAAA ttl=1 2001:db8::1") };
    view.write(&Group::of(Step::record(change, None), vec![]), Instant::now(), Clone::clone);
    // Another writer took the A away before the listing began, and our write was not there yet.
    view.take(full(&[]), None, began, NONE);
    assert_eq!(shown(&view).len(), 2);
    assert_eq!(view.token(), None, "what changes since that listing is not all");
    tokio::time::advance(Duration::from_secs(1)).await;
    view.take(full(&["a.example AAAA ttl=1 2001:db8::1"]), None, Instant::now(), NONE);
    assert_eq!(shown(&view), ["a.example 1 AAAA 2001:db8::1"]);
    assert!(view.token().is_some());
}

/// Numbers are kept as sets come and go, and names that changed are known one by one, up to a bound.
#[tokio::test(start_paused = true)]
async fn a_view_counts_itself() {
    let mut view = ZoneView::default();
    let check = |view: &mut ZoneView, touched: &[&str]| {
        let mut counted: BTreeMap<RecordType, usize> = BTreeMap::new();
        view.sets().for_each(|set| *counted.entry(set.key.rtype).or_default() += 1);
        assert_eq!((view.types(), view.len()), (&counted, counted.values().sum()));
        assert_eq!(view.take_touched(), Touched::Names(touched.iter().map(|text| name(text)).collect()));
        assert!(!view.is_touched());
    };
    view.take(full(&["a.example A ttl=1 192.0.2.1", "a.example TXT ttl=1 x"]), None, Instant::now(), NONE);
    check(&mut view, &["a.example"]);
    let delta =
        Delta { removed: vec![record("a.example TXT ttl=1 x")], added: vec![record("b.example A ttl=1 192.0.2.2")] };
    let delta = Listing::Delta { steps: vec![delta], token: Token("2".to_owned()) };
    view.take(delta, None, Instant::now(), NONE);
    check(&mut view, &["a.example", "b.example"]);
    view.take(full(&["b.example A ttl=1 192.0.2.2"]), None, Instant::now(), NONE);
    check(&mut view, &["a.example"]);
    let group = Group::of(Step::record(Change::Delete { from: set("b.example A ttl=1 192.0.2.2") }, None), Vec::new());
    view.write(&group, Instant::now(), RecordSet::clone);
    check(&mut view, &["b.example"]);
    let many: Vec<String> = (0..=MOST_TOUCHED).map(|n| format!("n{n}.example A ttl=1 192.0.2.1")).collect();
    view.take(full(&many.iter().map(String::as_str).collect::<Vec<_>>()), None, Instant::now(), NONE);
    assert_eq!((view.take_touched(), view.len()), (Touched::All, MOST_TOUCHED + 1));
}

#[tokio::test(start_paused = true)]
async fn a_walk_in_parts_sees_every_set_once() {
    let mut view = ZoneView::default();
    let lines = [
        "a.example A ttl=1 192.0.2.1",
        "a.example TXT ttl=1 x",
        "b.example A ttl=1 192.0.2.1",
        "c.example A ttl=1 192.0.2.1",
    ];
    view.take(full(&lines), None, Instant::now(), NONE);
    let (mut seen, mut last, mut parts) = (Vec::new(), None, 0);
    while let Some((sets, end)) = view.after(last.as_ref(), 2) {
        seen.extend(sets);
        last = Some(end);
        parts += 1;
    }
    assert_eq!((seen, parts), (view.sets().collect(), 2));
}
