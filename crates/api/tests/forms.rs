//! The forms on the socket: what each request and answer looks like, read back as it was, and what is said of bad input.
//!
//! `BLESS=1` writes `tests/forms/lines.txt`. A line that changes there breaks commands and daemons that are apart by a release,
//! unless `VERSION` changes too.

use std::fmt::Debug;
use std::fmt::Write as _;

use zonewright_api::{
    Approve, Approved, Ask, ChangedRecord, ClaimChange, ContestedName, Explain, Explanation, HeldPlan, HeldPlans,
    History, HistoryAnswer, HistoryEntry, JournalStart, ListedOwner, ListedRecord, ListedZone, OwnerList, Owners,
    OwnershipKind, Pinned, PinnedNames, Pins, PlanUndo, Plans, RecordList, Records, ShownSet, Undo, UndoPlan,
    UndoResult, UndoZone, Unpin, Unpinned, VERSION, Where, WireError, ZoneList, Zones, decode_answer, decode_request,
    encode_answer, encode_request,
};
use zonewright_core::clock::Timestamp;
use zonewright_core::explain::{
    Cause, Considered, Dropped, Finding, HeldDelete, NameExplanation, ParkedName, PublishedSet, Subject,
    UnreadAnnotation, ZoneExplanation,
};
use zonewright_core::guard::BrakeScope;
use zonewright_core::{DnsName, RData, RecordSet, RecordType, Ttl};

const TOKEN: &str = "t0k3n";

fn text(text: &str) -> String {
    text.to_owned()
}

fn name(text: &str) -> DnsName {
    DnsName::parse(text).expect("a name")
}

fn pinned() -> Pinned {
    let (zone, plan) = (text("rfc2136/example.com"), text("0b1e"));
    let (since, until) = (text("2026-01-01T00:00:00Z"), text("2026-01-02T00:00:00Z"));
    Pinned { zone, plan, since, until, names: vec![name("www.example.com")] }
}

fn held(count: usize, place: Where) -> HeldPlan {
    let (hash, reason, approve) = (text("3f2a"), text("too many deletes"), text("zonewright approve 3f2a"));
    HeldPlan { hash, scope: BrakeScope::Process, reason, count, approve, place }
}

fn held_plans() -> HeldPlans {
    let zones = [(text("rfc2136/a.example"), 30), (text("rfc2136/b.example"), 12)].into();
    let deletes = vec![text("www.example.com A 192.0.2.1")];
    let one = Where::Zone { zone: text("rfc2136/example.com"), since: Timestamp(1_767_225_600_000), deletes };
    let contested = ContestedName { zone: name("example.com"), name: name("api.example.com"), text: text("owner b") };
    HeldPlans {
        plans: vec![held(42, Where::Zones { zones }), held(1, one)],
        contested: vec![contested],
        pinned: vec![pinned()],
        place: None,
    }
}

fn changes() -> HistoryAnswer {
    let data = RData::parse(RecordType::A, "192.0.2.1").expect("data");
    let set = RecordSet::simple(name("www.example.com"), RecordType::A, Ttl::from_secs(300), [data]);
    let change =
        ChangedRecord { text: format!("+ {set}"), verb: text("create"), claim: false, from: None, to: Some(set) };
    let claim = ClaimChange {
        text: text("claim of www.example.com A: owner a -> nobody"),
        record: text("www.example.com A"),
        from: Some(text("a")),
        to: None,
        resource: Some(text("service/shop/web")),
    };
    let entry = HistoryEntry {
        id: 7,
        time: text("2026-01-01T00:00:00Z"),
        zone: text("rfc2136/example.com"),
        name: name("www.example.com"),
        plan: text("abc"),
        cause: text("round"),
        changes: vec![change],
        claims: vec![claim],
        objects: vec![text("Service shop/web")],
        outcome: text("refused"),
        found: true,
        error: Some(text("REFUSED")),
    };
    HistoryAnswer { place: text("/state/journal"), oldest: None, unreadable: 2, entries: vec![entry] }
}

fn record() -> ListedRecord {
    let data = RData::parse(RecordType::A, "192.0.2.1").expect("data");
    let set = RecordSet::simple(name("www.example.com"), RecordType::A, Ttl::from_secs(300), [data]);
    let zone = text("rfc2136/example.com");
    let (ownership, owner, resource) = (OwnershipKind::Ours, Some(text("b")), Some(text("service/shop/web")));
    ListedRecord { zone, set: ShownSet::from(&set), ownership, owner, resource }
}

fn undo_plan() -> UndoPlan {
    let zone = UndoZone {
        zone: text("rfc2136/example.com"),
        changes: vec![text("- www.example.com 300 A 192.0.2.1")],
        skipped: vec![(text("api.example.com A"), text("it changed since"))],
        cut: vec![name("www.example.com")],
    };
    let oldest = Some(JournalStart { at: Timestamp(5_000), utc: text("1970-01-01T00:00:05Z") });
    UndoPlan { plan: text("0b1e"), groups: 1, zones: vec![zone], hold: text("24h0m0s"), oldest, dry_run: false }
}

fn explanation() -> Explanation {
    let verdict = Finding::new(Cause::UnderWay, [("name", "www.example.com"), ("record", "www.example.com A")]);
    let unread = UnreadAnnotation {
        key: text("external-dns.kubernetes.io/hostnames"),
        value: text("www.example.com"),
        cause: Cause::MisspeltAnnotation,
        expected: text("external-dns.kubernetes.io/hostname"),
    };
    let dropped =
        Dropped { cause: Cause::LabelFilter, by: text("--label-filter=a=b"), names: vec![name("www.example.com")] };
    let object = Considered {
        object: text("Service shop/web"),
        source: text("service"),
        asks: vec![text("www.example.com A 192.0.2.1")],
        names: vec![name("www.example.com")],
        pending: vec![text("api.example.com: no address")],
        read: vec![text("external-dns.kubernetes.io/ttl=60")],
        unread: vec![unread],
        dropped: vec![dropped],
        notes: vec![text("InvalidTTL: no TTL")],
    };
    let published = PublishedSet {
        record: text("www.example.com 300 A 192.0.2.1"),
        owner: text("ours"),
        resource: Some(text("service/shop/web")),
        claims: vec![text("a-www.example.com")],
        since: Some(text("2026-01-01T00:00:00Z")),
        by: vec![text("Service shop/web")],
    };
    let at = text("2026-01-01T00:00:00Z");
    let zone = ZoneExplanation {
        zone: text("example.com"),
        chosen: true,
        wanted: vec![text("www.example.com A 192.0.2.1")],
        published: vec![published],
        deleted: Some(text("2026-01-01T00:00:00Z in plan 3f2a: www.example.com 300 A 192.0.2.1")),
        left_undone: vec![text("www.example.com A: the policy allows no updates")],
        notes: vec![text("Service shop/web: TTLAdjusted: 60 is used")],
        held: Some(HeldDelete { hash: text("3f2a"), reason: text("too many"), since: at.clone() }),
        parked: Some(ParkedName { attempts: 2, next: at, error: text("REFUSED") }),
        trouble: Some(text("no answer")),
        last_answer: Some(text("REFUSED")),
        served: vec![text("www.example.com 300 A 192.0.2.1")],
    };
    let explained = NameExplanation {
        name: name("www.example.com"),
        verdict: verdict.clone(),
        further: vec![verdict.clone()],
        zones: vec![zone],
    };
    let (subject, place) = (text("www.example.com"), text("the running daemon"));
    Explanation { subject, verdict, place, objects: vec![object], names: vec![explained], more_names: 0 }
}

/// Writes a request and its answer, reads both back, and notes the lines.
fn check<A>(out: &mut String, request: A, answer: A::Answer)
where
    A: Ask + Clone,
    A::Answer: Clone + Debug + PartialEq,
{
    let line = encode_request(TOKEN, request.clone());
    assert_eq!(decode_request(&line, TOKEN), Ok(request.into()), "{line}");
    out.push_str(&line);
    let line = encode_answer(Ok(answer.clone()));
    assert_eq!(decode_answer::<A>(&line), Ok(answer), "{line}");
    let _ = writeln!(out, "    {}", line.trim_end());
}

#[test]
fn every_request_and_answer_is_read_back_and_keeps_its_form() {
    let mut out = String::new();
    check(&mut out, Plans {}, held_plans());
    check(&mut out, Plans {}, HeldPlans::default());
    let approved = Approved { approved: text("3f2a"), zone: text("rfc2136/example.com"), deletes: 1 };
    check(&mut out, Approve { hash: text("3f2a") }, approved);
    let asked = History {
        name: Some(name("www.example.com")),
        zone: Some(text("example.com")),
        since: Some(Timestamp(7)),
        plan: Some(text("abc")),
        limit: Some(100),
    };
    check(&mut out, asked, changes());
    check(&mut out, History::default(), HistoryAnswer::default());
    let asked = PlanUndo { since: Some(Timestamp(7)), plan: None, zone: Some(text("z")), pin_for: 86_400_000 };
    check(&mut out, asked, undo_plan());
    let done = UndoResult {
        restored: vec![name("www.example.com")],
        failed: vec![(text("- api.example.com"), text("refused"))],
        dry: 0,
        unsaved: Some(text("no room")),
    };
    check(&mut out, Undo { hash: text("0b1e") }, done);
    check(&mut out, Pins {}, PinnedNames { pinned: vec![pinned()], place: None });
    check(&mut out, Unpin { name: Some(name("www.example.com")) }, Unpinned { names: vec![name("www.example.com")] });
    check(&mut out, Unpin::default(), Unpinned::default());
    let about = |text: &str| Explain { about: Subject::parse(text).expect("a subject") };
    check(&mut out, about("www.example.com"), explanation());
    check(&mut out, about("service/shop/web"), Explanation { more_names: 3, ..explanation() });
    check(
        &mut out,
        Records { name: Some(name("www.example.com")), zone: None, owner: Some(text("b")), limit: Some(7) },
        RecordList { records: vec![record()], more: 2, unread: vec![text("rfc2136/b.example: REFUSED")] },
    );
    let zone = ListedZone {
        zone: text("rfc2136/example.com"),
        name: text("example.com"),
        instance: text("rfc2136"),
        id: text("example.com"),
        public: true,
        problem: Some(text("REFUSED")),
        records: 7,
        owned: 6,
        held: 5,
        refused: 4,
        left_alone: 3,
        contested: 2,
    };
    check(&mut out, Zones {}, ZoneList { zones: vec![zone], unlisted: vec![(text("aws"), text("no answer"))] });
    let zones = [(text("rfc2136/example.com"), 2)].into();
    let owner = ListedOwner { owner: text("b"), ours: false, records: 2, zones };
    check(&mut out, Owners {}, OwnerList { owners: vec![owner], unclaimed: 1, disputed: 3 });
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/forms/lines.txt");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(path, &out).expect("the forms");
    }
    assert_eq!(out, std::fs::read_to_string(path).unwrap_or_default(), "tests/forms/lines.txt is another");
}

#[test]
fn bad_requests_are_answered_in_a_sentence() {
    let line = |version: &str, request: &str| format!("{{{version}\"token\":\"{TOKEN}\",\"request\":{request}}}");
    let current = |request: &str| line(&format!("\"version\":{VERSION},"), request);
    for (line, expected) in [
        (text("GET / HTTP/1.1"), "the request is no JSON"),
        (text(""), "the request is no JSON"),
        (text("7"), "the request is no JSON"),
        (text("{}"), "the token is wrong"),
        (current("{\"command\":\"plans\"}").replace(TOKEN, "x"), "the token is wrong"),
        (format!("{{\"command\":\"plans\",\"token\":\"{TOKEN}\"}}"), "the command speaks a version before 1"),
        (line("\"version\":99,", "{\"command\":\"plans\"}"), "the command speaks version 99 of the control protocol"),
        (current("{\"command\":\"explode\"}"), "unknown variant `explode`, expected one of `plans`, `approve`"),
        (current("{}"), "missing field `command`"),
        (current("null"), "the request is not understood"),
        (current("{\"command\":\"approve\"}"), "missing field `hash`"),
        (current("{\"command\":\"approve\",\"hash\":7}"), "invalid type"),
        (current("{\"command\":\"history\",\"name\":\"a..b\"}"), "a..b"),
        (current("{\"command\":\"unpin\",\"everything\":true}"), "unknown field `everything`"),
    ] {
        let problem = decode_request(&line, TOKEN).expect_err(&line);
        assert!(problem.contains(expected) && !problem.contains(TOKEN), "{line}: {problem}");
    }
}

#[test]
fn answers_that_are_none() {
    let refused = encode_answer(Err::<Approved, _>(text("no plan 3f2a is held now")));
    for (line, expected) in [
        (refused.as_str(), Err(WireError::Refused(text("no plan 3f2a is held now")))),
        ("{\"version\":99,\"error\":\"use the same release\"}", Err(WireError::Refused(text("use the same release")))),
    ] {
        assert_eq!(decode_answer::<Approve>(line), expected);
    }
    for (line, expected) in [
        ("", "the answer is no JSON"),
        ("{\"version\":1}", "the answer is not understood"),
        ("{\"version\":99,\"answer\":{}}", "the daemon speaks version 99"),
        ("{\"error\":\"expected one of the commands plans, approve\"}", "the daemon speaks a version before 1"),
    ] {
        let Err(WireError::Protocol(problem)) = decode_answer::<Approve>(line) else { panic!("{line}") };
        assert!(problem.contains(expected), "{line}: {problem}");
    }
}
