use std::ops::Range;

use super::*;
use crate::testing::set;

const MINUTE: i64 = 60_000;
const HOUR: Duration = Duration::from_hours(1);

/// Records of the given numbers.
fn keys(numbers: Range<usize>) -> BTreeSet<RecordKey> {
    numbers.map(|number| set(&format!("n{number}.example A 192.0.2.1")).key).collect()
}

fn at(minute: i64) -> Timestamp {
    Timestamp(minute * MINUTE)
}

fn done(window: &Window, wanted: &BTreeSet<RecordKey>, minute: i64) -> usize {
    window.deletes(HOUR, wanted, at(minute))
}

fn deleted(window: &mut Window, keys: &BTreeSet<RecordKey>, minute: i64) {
    window.deleted(keys.iter().map(|key| (key, None)), at(minute));
}

#[test]
fn what_was_deleted_within_the_hour_counts() {
    let (mut window, none) = (Window::default(), BTreeSet::new());
    deleted(&mut window, &keys(0..15), 0);
    deleted(&mut window, &keys(15..20), 30);
    assert_eq!([45, 60, 61, 91].map(|minute| done(&window, &none, minute)), [20, 20, 5, 0]);
}

#[test]
fn a_delete_whose_answer_is_lost_is_one_however_often_it_is_tried() {
    let (mut window, lost, none) = (Window::default(), keys(0..15), BTreeSet::new());
    for _ in 0..3 {
        window.may_have_deleted(&lost, at(0));
    }
    assert_eq!((done(&window, &lost, 0), done(&window, &none, 0)), (0, 15), "the same once more; others on top");
    for (key, former) in window.may_have_deleted(&lost, at(1)) {
        window.not_deleted(&key, former);
    }
    assert_eq!(done(&window, &none, 1), 15, "refused now, but maybe done before");
    for (key, former) in window.may_have_deleted(&keys(30..35), at(1)) {
        window.not_deleted(&key, former);
    }
    assert_eq!(done(&window, &none, 1), 15, "refused, and never tried before");
    deleted(&mut window, &lost, 0);
    assert_eq!(done(&window, &lost, 0), 15, "done at last, and once more is another");
    assert_eq!(done(&window, &lost, 61), 0);
}

#[test]
fn what_was_made_since_was_gone_in_between() {
    let (mut window, lost) = (Window::default(), keys(0..15));
    window.may_have_deleted(&lost, at(0));
    for key in &lost {
        window.created(key);
    }
    assert_eq!((done(&window, &lost, 0), done(&window, &lost, 61)), (15, 0));
}

#[test]
fn another_process_counts_what_is_open_as_done() {
    let (mut window, lost) = (Window::default(), keys(0..15));
    window.may_have_deleted(&lost, at(0));
    let kept: Window = serde_json::from_str(&serde_json::to_string(&window).unwrap()).unwrap();
    assert_eq!(kept, window);
    // When they were done, within the time that a call may take, is not known either: they count from then on.
    let mut late = kept;
    late.taken_over(at(2));
    assert_eq!((done(&late, &lost, 2), done(&late, &lost, 61), done(&late, &lost, 63)), (15, 15, 0));
    window.trim(HOUR, at(61));
    assert_eq!(window, Window::default());
}

/// A process whose clock was wrong noted times that are far ahead: they must not hold deletes for ever.
#[test]
fn times_in_the_future_count_as_now_for_the_next_process() {
    let day = 24 * 60;
    let (mut window, none) = (Window::default(), BTreeSet::new());
    deleted(&mut window, &keys(0..20), 365 * day);
    window.may_have_deleted(&keys(20..25), at(365 * day));
    window.owns(100, at(365 * day));
    window.owns(3, at(366 * day));
    window.taken_over(at(0));
    assert_eq!((done(&window, &none, 0), done(&window, &none, 60), done(&window, &none, 61)), (25, 25, 0));
    assert_eq!((window.peak(HOUR, at(60)), window.peak(HOUR, at(61))), (100, 3));
}

#[test]
fn the_most_that_was_owned_within_the_window_is_known() {
    let mut window = Window::default();
    window.owns(12, at(0));
    window.owns(4, at(10));
    assert_eq!((window.peak(HOUR, at(60)), window.peak(HOUR, at(75))), (12, 4));
    window.trim(HOUR, at(75));
    assert_eq!(window.peaks.0.len(), 1);
}

#[test]
fn namespaces_of_deletes_are_remembered_as_long_as_they_count() {
    let mut window = Window::default();
    let (shop, web): (Arc<str>, Arc<str>) = (Arc::from("shop"), Arc::from("web"));
    let records = keys(0..3);
    window.deleted(records.iter().zip([Some(&shop), Some(&shop), None]), at(0));
    window.deleted(records.iter().take(1).map(|key| (key, Some(&web))), at(30));
    let named = |minute| window.namespaces(HOUR, at(minute)).map(|(n, c)| format!("{n} {c}")).collect::<Vec<_>>();
    assert_eq!((named(45), named(75)), (vec!["shop 2".to_owned(), "web 1".to_owned()], vec!["web 1".to_owned()]));
    let mut trimmed = window.clone();
    trimmed.trim(HOUR, at(75));
    assert_eq!(trimmed.namespaces.len(), 1);
}

#[test]
fn a_window_that_was_read_late_is_joined() {
    let (mut early, mut late, none) = (Window::default(), Window::default(), BTreeSet::new());
    deleted(&mut early, &keys(0..10), 0);
    early.owns(40, at(0));
    early.may_have_deleted(&keys(50..52), at(5));
    deleted(&mut late, &keys(10..15), 10);
    late.owns(30, at(10));
    late.may_have_deleted(&keys(50..51), at(10));
    late.join(early);
    assert_eq!((done(&late, &none, 10), done(&late, &none, 61)), (17, 7));
    assert_eq!((late.peak(HOUR, at(10)), late.peak(HOUR, at(75))), (40, 30));
}
