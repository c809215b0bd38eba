use serde_json::{Value, json};

use super::*;
use crate::fake::{Fake, Step};

const PATH: &str = "/api/v1/namespaces/dns/configmaps";

fn get(number: usize) -> String {
    format!("GET {PATH}/zonewright-me-journal-{number}")
}

fn put(number: usize) -> String {
    format!("PUT {PATH}/zonewright-me-journal-{number}")
}

fn post() -> String {
    format!("POST {PATH}")
}

fn journal(steps: Vec<Step>, object_size: usize) -> (ConfigMapJournal, Fake) {
    let fake = Fake::new(steps);
    (ConfigMapJournal::new(&fake.cluster(), "dns", "me", RingLimits { objects: 2, object_size }), fake)
}

fn missing(number: usize) -> Step {
    Step::refused(&get(number), 404, "NotFound", "not found")
}

/// An object with pieces of lines.
fn object(number: usize, sequence: u64, version: &str, pieces: &[&[&str]]) -> Value {
    let mut slot = Slot { number, sequence, object: ConfigMap::default() };
    slot.object.metadata.name = Some(format!("zonewright-me-journal-{number}"));
    slot.object.metadata.resource_version = Some(version.to_owned());
    for piece in pieces {
        slot.add(&compress(&lines(piece)).unwrap());
    }
    let mut value = serde_json::to_value(slot.object).unwrap();
    value["data"] = json!({ "theirs": "kept" });
    value
}

fn lines(lines: &[&str]) -> Vec<String> {
    lines.iter().map(|line| (*line).to_owned()).collect()
}

/// The text in an object that was sent.
fn text(sent: &Value) -> String {
    let object: ConfigMap = serde_json::from_value(sent.clone()).unwrap();
    String::from_utf8(Slot { number: 0, sequence: 1, object }.text()).unwrap()
}

async fn read(journal: &ConfigMapJournal) -> Vec<String> {
    let mut pieces = Vec::new();
    let mut visit = |piece: &[u8]| {
        pieces.push(String::from_utf8(piece.to_vec()).unwrap());
        ControlFlow::Continue(())
    };
    journal.read(&mut visit).await.unwrap();
    pieces
}

#[tokio::test]
async fn an_append_is_one_request_once_the_ring_is_known() {
    let made = object(0, 1, "1", &[]);
    let again = object(0, 1, "2", &[]);
    let steps = vec![missing(0), missing(1), Step::json(&post(), &made), Step::json(&put(0), &again)];
    let (journal, fake) = journal(steps, 1_000);
    assert!(read(&journal).await.is_empty());
    journal.append(&lines(&["one", "two"])).await.unwrap();
    journal.append(&lines(&["three"])).await.unwrap();
    assert_eq!(fake.requests().len(), 4);
    assert_eq!(text(&fake.sent(2)), "one\ntwo\n");
    assert_eq!(text(&fake.sent(3)), "one\ntwo\nthree\n");
    assert_eq!(fake.sent(3)["metadata"]["resourceVersion"], "1", "what was read or written last");
    assert_eq!(fake.sent(2)["metadata"]["annotations"][SEQUENCE], "1");
}

#[tokio::test]
async fn a_full_object_is_followed_by_the_oldest_which_is_emptied() {
    let (newest, oldest) = (object(1, 8, "5", &[&["c"], &["d"]]), object(0, 7, "4", &[&["a"], &["b"]]));
    let steps = vec![
        Step::json(&get(0), &oldest),
        Step::json(&get(1), &newest),
        Step::json(&get(0), &oldest),
        Step::json(&put(0), &object(0, 9, "6", &[])),
    ];
    let (journal, fake) = journal(steps, 50);
    assert_eq!(read(&journal).await, ["c\nd\n", "a\nb\n"], "the newest first");
    journal.append(&lines(&["e"])).await.unwrap();
    let sent = fake.sent(3);
    assert_eq!((text(&sent).as_str(), &sent["metadata"]["annotations"][SEQUENCE]), ("e\n", &json!("9")));
    assert_eq!((&sent["metadata"]["resourceVersion"], &sent["data"]["theirs"]), (&json!("4"), &json!("kept")));
}

#[tokio::test]
async fn what_somebody_else_wrote_meanwhile_is_read_and_kept() {
    let steps = vec![
        Step::json(&get(0), &object(0, 1, "1", &[&["a"]])),
        missing(1),
        Step::refused(&put(0), 409, "Conflict", "modified"),
        Step::json(&get(0), &object(0, 1, "2", &[&["a"], &["theirs"]])),
        missing(1),
        Step::json(&put(0), &object(0, 1, "3", &[])),
    ];
    let (journal, fake) = journal(steps, 1_000);
    journal.append(&lines(&["ours"])).await.unwrap();
    assert_eq!(text(&fake.sent(5)), "a\ntheirs\nours\n");
}

#[tokio::test]
async fn an_object_that_somebody_else_has_begun_meanwhile_is_not_emptied() {
    let full = object(0, 1, "1", &[&["a"], &["b"]]);
    let theirs = object(1, 2, "5", &[&["x"]]);
    let steps = vec![
        Step::json(&get(0), &full),
        missing(1),
        // Between the two, another process went on.
        Step::json(&get(1), &theirs),
        Step::json(&get(0), &full),
        Step::json(&get(1), &theirs),
        Step::json(&put(1), &object(1, 2, "6", &[])),
    ];
    let (journal, fake) = journal(steps, 50);
    read(&journal).await;
    journal.append(&lines(&["y"])).await.unwrap();
    assert_eq!(text(&fake.sent(5)), "x\ny\n");
}

#[tokio::test]
async fn after_a_failure_the_ring_is_read_again() {
    let steps = vec![
        missing(0),
        missing(1),
        Step::unreachable(&post()),
        // It was carried out all the same.
        Step::json(&get(0), &object(0, 1, "1", &[&["one"]])),
        missing(1),
        Step::json(&put(0), &object(0, 1, "2", &[])),
    ];
    let (journal, fake) = journal(steps, 1_000);
    let error = journal.append(&lines(&["one"])).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Unavailable);
    journal.append(&lines(&["two"])).await.unwrap();
    assert_eq!(text(&fake.sent(5)), "one\ntwo\n");
}

#[tokio::test]
async fn a_missing_right_is_named() {
    let (journal, _fake) =
        journal(vec![missing(0), missing(1), Step::refused(&post(), 403, "Forbidden", "cannot do that")], 100);
    let error = journal.append(&lines(&["one"])).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Unauthorized);
    assert!(
        error.context.contains("ConfigMaps dns/zonewright-me-journal-*: the right to create ConfigMaps"),
        "{error}"
    );
}

#[tokio::test]
async fn what_is_too_large_for_one_object_goes_in_parts() {
    // Digits without a pattern, so that they cannot be compressed much.
    let noise = |seed: u64, length: usize| -> String {
        let mut state = seed;
        let mut digit = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            char::from(b'!' + u8::try_from((state >> 33) % 90).unwrap())
        };
        (0..length).map(|_| digit()).collect()
    };
    let two = [noise(1, LARGEST), noise(2, LARGEST)].map(|line| line[..LARGEST * 3 / 4].to_owned());
    let steps = vec![
        missing(0),
        missing(1),
        Step::json(&post(), &object(0, 1, "1", &[])),
        missing(1),
        Step::json(&post(), &object(1, 2, "2", &[])),
    ];
    let (journal, fake) = journal(steps, 100_000);
    journal.append(&two).await.unwrap();
    assert_eq!([text(&fake.sent(2)), text(&fake.sent(4))], two.map(|line| format!("{line}\n")));
    let error = journal.append(&[noise(3, 2 * LARGEST)]).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Invalid, "a single line");
}

#[tokio::test]
async fn a_damaged_piece_spoils_no_other() {
    let mut damaged = object(0, 1, "1", &[&["one"], &["two"], &["three"]]);
    let piece = damaged["binaryData"]["000001.gz"].as_str().unwrap().to_owned();
    damaged["binaryData"]["000001.gz"] = json!(format!("{}AAAA", &piece[..8]));
    let (journal, _fake) = journal(vec![Step::json(&get(0), &damaged), missing(1)], 100);
    let text = read(&journal).await.concat();
    assert!(text.starts_with("one\n") && text.ends_with("\nthree\n"), "{text:?}");
}
