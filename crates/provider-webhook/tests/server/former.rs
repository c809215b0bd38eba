//! A zone within another, and what an older rule has left in the one above: what moves is brought to the nearer zone first, and what may be
//! glue stays.

use serde_json::{Value, json};
use zonewright_core::change::Outcome;
use zonewright_core::zone::Visibility;
use zonewright_core::{Error, ErrorKind};

use crate::horizon::{INTERNAL, Site, done, internal, nested};
use crate::site::Answer;

const TEXT: &str = "\"heritage=external-dns,external-dns/owner=me\"";

/// A claim with this text, on the name that it is for.
fn claim(name: &str, record: &str, text: &str) -> Value {
    json!({"dnsName": name, "recordType": "TXT", "targets": [text], "recordTTL": 60, "labels": {"ownedRecord": record}})
}

/// The address of the nearer zone's apex.
fn apex(target: &str) -> Value {
    json!({"dnsName": "in.example.test", "recordType": "A", "targets": [target], "recordTTL": 60})
}

/// The claim on it, which has its place in the zone above.
fn its_claim() -> Value {
    claim("a-in.example.test", "in.example.test", TEXT)
}

/// The same as they stand.
const APEX: &str = "in.example.test 60 A 10.0.0.1";
const ITS_CLAIM: &str = "a-in.example.test 60 TXT \"heritage=external-dns,external-dns/owner=me\"";

/// The zone above holds the claim and an address, and the nearer one another address, if any.
async fn with_apex(above: &str, inside: Option<&str>) -> Site {
    let site = nested(Visibility::Public).await;
    site.holds(0, &format!("a-in.example.test TXT ttl=60 {TEXT}"));
    site.holds(0, &format!("in.example.test A ttl=60 {above}"));
    if let Some(target) = inside {
        site.holds(1, &format!("in.example.test A ttl=60 {target}"));
    }
    site
}

fn conflict(answer: &Answer) -> Option<String> {
    let refusal = &answer.json()["refused"][0];
    let (kind, outcome) = (refusal["kind"].as_str()?, refusal["outcome"].as_str()?);
    ((answer.status, kind, outcome) == (500, "conflict", "refused")).then(|| refusal["error"].to_string())
}

/// What becomes of a change that is not carried out.
fn faults() -> [Outcome; 3] {
    let error = |kind| Error::new(kind, "change records", "as planned");
    [
        Outcome::refused(error(ErrorKind::Invalid)),
        Outcome::NotSent(error(ErrorKind::Unavailable)),
        Outcome::Unknown(error(ErrorKind::Timeout)),
    ]
}

#[tokio::test]
async fn an_old_record_above_stays_until_the_new_one_is_accepted_below() {
    let own_claim = claim("a-db.in.example.test", "db.in.example.test", TEXT);
    let other_type = json!({"dnsName": "db.in.example.test", "recordType": "CNAME", "targets": ["h.test"]});
    for inner in [Visibility::Private, Visibility::Public] {
        for (fault, new) in
            faults().into_iter().flat_map(|fault| [(fault.clone(), internal("10.0.0.2")), (fault, other_type.clone())])
        {
            let site = nested(inner).await;
            for line in INTERNAL {
                site.holds(0, line);
            }
            let before = site.stands();
            let body = json!({"updateOld": [internal("10.0.0.1"), own_claim], "updateNew": [new, own_claim]});
            site.fails(Some((1, fault.clone())));
            let answer = site.post(body.clone()).await;
            assert_eq!((answer.status, site.stands()), (500, before), "{inner:?} {fault:?} {answer:?}");
            site.fails(None);
            done(&site.post(body).await);
            let [above, inside] = site.stands();
            assert_eq!((above.len(), inside.len()), (0, 2), "{inner:?} {fault:?}: {above:?} {inside:?}");
        }
    }
}

/// What was not taken away above is taken away by the same request once more.
#[tokio::test]
async fn a_move_that_was_half_done_is_finished() {
    let site = nested(Visibility::Public).await;
    for line in INTERNAL {
        site.holds(0, line);
    }
    let own_claim = claim("a-db.in.example.test", "db.in.example.test", TEXT);
    let body = json!({"updateOld": [internal("10.0.0.1"), own_claim], "updateNew": [internal("10.0.0.2"), own_claim]});
    site.fails(Some((0, Outcome::refused(Error::new(ErrorKind::Invalid, "change records", "as planned")))));
    let answer = site.post(body.clone()).await;
    assert_eq!((answer.status, &answer.json()["refused"][0]["outcome"]), (500, &json!("unknown")), "{answer:?}");
    assert_eq!(site.stands().map(|lines| lines.len()), [2, 2]);
    site.fails(None);
    done(&site.post(body).await);
    assert_eq!(site.stands().map(|lines| lines.len()), [0, 2]);
}

/// The claim of an apex has its place above, where it changes while the record moves.
#[tokio::test]
async fn a_record_of_the_apex_stays_above_with_its_claim_until_it_is_accepted_below() {
    let changed = claim("a-in.example.test", "in.example.test", "\"heritage=external-dns,external-dns/owner=me,x=y\"");
    for fault in faults() {
        let site = with_apex("10.0.0.1", None).await;
        let before = site.stands();
        let body = json!({"updateOld": [apex("10.0.0.1"), its_claim()], "updateNew": [apex("10.0.0.2"), changed]});
        site.fails(Some((1, fault.clone())));
        let answer = site.post(body.clone()).await;
        assert_eq!((answer.status, site.stands()), (500, before), "{fault:?} {answer:?}");
        site.fails(None);
        done(&site.post(body).await);
        let [above, inside] = site.stands();
        assert_eq!((above.len(), inside), (1, vec!["in.example.test 60 A 10.0.0.2".to_owned()]), "{above:?}");
        assert!(above[0].contains("x=y"), "{above:?}");
    }
}

/// The claim on the apex stands above whichever of the two records it is for.
#[tokio::test]
async fn what_may_be_glue_of_the_apex_stays_with_the_claim_of_the_apex_beside_it() {
    let site = with_apex("10.0.0.1", Some("10.0.0.1")).await;
    let new = apex("10.0.0.2");
    done(&site.post(json!({"updateOld": [apex("10.0.0.1"), its_claim()], "updateNew": [new, its_claim()]})).await);
    let (glue, claim) = (APEX.to_owned(), ITS_CLAIM.to_owned());
    assert_eq!(site.stands(), [vec![glue.clone(), claim], vec!["in.example.test 60 A 10.0.0.2".to_owned()]]);

    for old_claim in [false, true] {
        let site = with_apex("10.0.0.1", Some("10.0.0.1")).await;
        let mut asked = vec![apex("10.0.0.1"), its_claim()];
        if old_claim {
            // External-dns' older form of a claim, which stands beside the record.
            for place in [0, 1] {
                site.holds(place, &format!("in.example.test TXT ttl=60 {TEXT}"));
            }
            asked.push(claim_at_apex());
        }
        done(&site.post(json!({"delete": asked})).await);
        assert_eq!(site.stands(), [vec![glue.clone()], vec![]], "{old_claim}");
        // Nor does it go with the next request.
        assert!(conflict(&site.post(json!({"delete": asked})).await).is_some());
        assert_eq!(site.stands(), [vec![glue.clone()], vec![]], "{old_claim}");
    }
}

fn claim_at_apex() -> Value {
    claim("in.example.test", "in.example.test", TEXT)
}

/// Whatever the nearer zone has at its apex: what is asked for stands above it alone, and may be old glue.
#[tokio::test]
async fn what_stands_above_an_apex_that_has_another_record_is_refused() {
    let site = with_apex("10.0.0.1", Some("10.0.0.9")).await;
    let before = site.stands();
    for body in [
        json!({"delete": [apex("10.0.0.1"), its_claim()]}),
        json!({"updateOld": [apex("10.0.0.1"), its_claim()], "updateNew": [apex("10.0.0.9"), its_claim()]}),
    ] {
        let why = conflict(&site.post(body).await).unwrap();
        assert!(why.contains("which has such a record too"), "{why}");
        assert_eq!(site.stands(), before);
    }
}
