use std::time::Duration;

use zonewright_core::testing::set;

use super::*;

/// Zones of one brake, and what they did and want.
#[derive(Default)]
struct Books {
    ledger: BrakeLedger,
    windows: BTreeMap<String, Window>,
}

fn keys(zone: &str, count: usize) -> BTreeMap<RecordKey, Option<Arc<str>>> {
    let key = |n| set(&format!("n{n}.{} A 192.0.2.1", zone.replace('/', "."))).key;
    (0..count).map(|n| (key(n), Some(Arc::from(if n % 2 == 0 { "shop" } else { "web" })))).collect()
}

impl Books {
    /// `zone` owns so many records and wants so many of them deleted. Returns the zones that may have room since.
    fn wants(&mut self, zone: &str, owned: usize, wanted: usize) -> Vec<String> {
        let instance = InstanceId::from(zone.split('/').next().unwrap());
        self.windows.entry(zone.to_owned()).or_default();
        self.ledger.note(zone, &instance, ZoneLoad::new(keys(zone, wanted), 0, owned, owned))
    }

    fn done(&mut self, zone: &str, count: usize) {
        let all = keys("done", count);
        let window = self.windows.entry(zone.to_owned()).or_default();
        window.deleted(all.iter().map(|(key, namespace)| (key, namespace.as_ref())), Timestamp(0));
    }

    fn judge(&mut self, zone: &str) -> Option<Hold> {
        let Self { ledger, windows } = self;
        let windows = Windows {
            of: &|label| windows.get(label),
            all: &|| windows.iter().map(|(label, window)| (label.as_str(), window)).collect(),
        };
        ledger.judge(&Brake::default(), zone, None, &windows, Timestamp(0))
    }

    fn scope(&mut self, zone: &str) -> Option<BrakeScope> {
        self.judge(zone).map(|hold| hold.scope)
    }
}

/// Thirty zones of nine names each lose all of them: no zone has ten, and none may lose more than a tenth of all.
#[test]
fn many_small_zones_are_judged_together() {
    let mut books = Books::default();
    for zone in 0..30 {
        books.wants(&format!("i/z{zone:02}"), 9, 9);
    }
    for zone in 0..30 {
        let hold = books.judge(&format!("i/z{zone:02}")).unwrap();
        assert_eq!((hold.scope, hold.floor), (BrakeScope::Process, true));
        assert_eq!(
            hold.reason,
            "270 deletes are wanted in all zones of the instance and 0 were done within the last 1h0m0s; at most 27 of 270 \
             owned records may go in that time: zones i/z00 (9), i/z01 (9), i/z02 (9) and 27 more; namespaces shop (150), \
             web (120)"
        );
    }
}

#[test]
fn what_zones_did_one_after_another_adds_up() {
    let mut books = Books::default();
    let mut gone = 0;
    for zone in 0..10 {
        let label = format!("i/z{zone}");
        books.wants(&label, 9, 6);
        if books.judge(&label).is_none() {
            let all: BTreeSet<RecordKey> = keys(&label, 6).into_keys().collect();
            books.ledger.gone(&label, &all);
            books.done(&label, 6);
            gone += 6;
        }
    }
    assert_eq!(gone, 18, "within the twenty that always pass");
}

#[test]
fn a_zone_that_is_held_by_itself_does_not_hold_up_the_others() {
    let mut books = Books::default();
    books.wants("i/large", 500, 500);
    books.wants("i/other", 40, 3);
    assert_eq!((books.scope("i/large"), books.scope("i/other")), (Some(BrakeScope::Zone), None));
    // Nor does an instance.
    for zone in 0..5 {
        books.wants(&format!("j/z{zone}"), 30, 15);
    }
    assert_eq!(books.scope("j/z0"), Some(BrakeScope::Instance));
    assert_eq!((books.scope("i/large"), books.scope("i/other")), (Some(BrakeScope::Zone), None));
}

#[test]
fn instances_are_judged_together_too() {
    let mut books = Books::default();
    for instance in ["i", "j", "k"] {
        books.wants(&format!("{instance}/z"), 40, 9);
    }
    let hold = books.judge("i/z").unwrap();
    assert_eq!(hold.scope, BrakeScope::Process);
    assert!(hold.reason.starts_with("27 deletes are wanted in all zones and 0 were done"), "{}", hold.reason);
    assert_eq!(books.wants("j/z", 40, 0), ["i/z"], "what one wants no more is room for the others");
    assert_eq!(books.scope("i/z"), None);
}

/// Twelve records in four zones: each zone may lose its three, but nobody is left without anything.
#[test]
fn the_floor_is_judged_over_all_zones() {
    let mut books = Books::default();
    for zone in 0..4 {
        books.wants(&format!("i/z{zone}"), 3, 3);
    }
    let hold = books.judge("i/z0").unwrap();
    assert!(
        hold.floor && hold.reason.starts_with("12 deletes would leave nothing of the 12 records"),
        "{}",
        hold.reason
    );
    books.wants("i/z3", 3, 2);
    assert_eq!(books.scope("i/z0"), None, "one is left");
}

/// What one zone has just deleted does not count as what another one leaves to its owner.
#[test]
fn what_another_zone_lets_go_is_not_left() {
    let mut books = Books::default();
    books.wants("i/a", 6, 6);
    books.wants("i/b", 6, 0);
    assert_eq!(books.scope("i/a"), None);
    books.ledger.gone("i/a", &keys("i/a", 6).into_keys().collect());
    books.done("i/a", 6);
    books.wants("i/b", 6, 6);
    let hold = books.judge("i/b").unwrap();
    assert!(hold.floor && hold.scope == BrakeScope::Process, "{}", hold.reason);
}

/// A process that was just started knows from the windows what stood in zones where nothing is to be done.
#[test]
fn what_stood_elsewhere_within_the_window_counts_for_the_floor() {
    let mut books = Books::default();
    books.windows.entry("i/other".to_owned()).or_default().owns(8, Timestamp(0));
    books.wants("i/a", 4, 4);
    assert!(books.judge("i/a").unwrap().floor);
}

#[test]
fn a_zone_that_is_gone_counts_by_what_was_done_there_alone() {
    let mut books = Books::default();
    books.wants("i/a", 15, 9);
    books.wants("i/b", 15, 9);
    books.done("i/c", 9);
    assert_eq!(books.scope("i/b"), Some(BrakeScope::Process));
    assert_eq!(books.ledger.forget("i/a"), ["i/b"]);
    assert_eq!(books.scope("i/b"), None, "nine and nine");
    assert_eq!(books.ledger.forget("i/a"), Vec::<String>::new());
    books.done("elsewhere/c", 9);
    assert_eq!(books.scope("i/b"), Some(BrakeScope::Process), "of an instance that is no more, too");
    let hour = Duration::from_hours(1);
    assert_eq!(books.windows["i/c"].deletes(hour, &BTreeSet::new(), Timestamp(0)), 9);
}

/// An earlier process owned more than this one found: where that can be read only after a round began, its judgement counts it all the same,
/// whether or not the zone was judged before. It is forgotten with the window.
#[test]
fn what_stood_before_counts_however_late_it_is_read() {
    for judged in [false, true] {
        let mut books = Books::default();
        let mut earlier = Window::default();
        earlier.owns(15, Timestamp(0));
        if judged {
            books.wants("i/a", 9, 0);
            assert_eq!(books.judge("i/a"), None);
        }
        books.ledger.recall("i/a", &earlier);
        books.wants("i/a", 9, 9);
        assert!(books.judge("i/a").is_some_and(|hold| hold.floor), "judged before: {judged}");
        let Books { ledger, windows } = &mut books;
        let windows = Windows { of: &|label| windows.get(label), all: &Vec::new };
        let later = Timestamp(0).plus(Duration::from_hours(2));
        assert_eq!(ledger.judge(&Brake::default(), "i/a", None, &windows, later), None);
        assert!(ledger.recalled.is_empty());
    }
}
