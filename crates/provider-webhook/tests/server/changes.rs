//! POST /records: what is done, what is refused, and what stands afterwards.

use crate::site::{Setting, Site};

fn endpoint(line: &str) -> String {
    let (name, rest) = line.split_once(' ').unwrap();
    let (rtype, target) = rest.split_once(' ').unwrap();
    format!(r#"{{"dnsName":"{name}.example.test","recordType":"{rtype}","targets":["{target}"],"recordTTL":60}}"#)
}

fn list(lines: &[&str]) -> String {
    format!("[{}]", lines.iter().map(|line| endpoint(line)).collect::<Vec<_>>().join(","))
}

fn create(lines: &[&str]) -> String {
    format!(r#"{{"create":{}}}"#, list(lines))
}

fn delete(lines: &[&str]) -> String {
    format!(r#"{{"delete":{}}}"#, list(lines))
}

fn update(old: &[&str], new: &[&str]) -> String {
    format!(r#"{{"updateOld":{},"updateNew":{}}}"#, list(old), list(new))
}

#[tokio::test]
async fn records_come_change_and_go() {
    let site = Site::usual().await;
    for (body, stands) in [
        (
            create(&["a A 192.0.2.1", "b A 192.0.2.1"]),
            vec!["a.example.test 60 A 192.0.2.1", "b.example.test 60 A 192.0.2.1"],
        ),
        (
            update(&["a A 192.0.2.1", "b A 192.0.2.1"], &["a A 192.0.2.2", "b A 192.0.2.3"]),
            vec!["a.example.test 60 A 192.0.2.2", "b.example.test 60 A 192.0.2.3"],
        ),
        (
            format!(r#"{{"create":{},"delete":{}}}"#, list(&["a CNAME b.test"]), list(&["a A 192.0.2.2"])),
            vec!["a.example.test 60 CNAME b.test.", "b.example.test 60 A 192.0.2.3"],
        ),
        (delete(&["b A 192.0.2.3"]), vec!["a.example.test 60 CNAME b.test."]),
        (delete(&["a CNAME B.test."]), vec![]),
    ] {
        let answer = site.post(&body).await;
        assert_eq!((answer.status, answer.body.as_str()), (204, ""), "{body}");
        assert_eq!(site.stands(), stands, "{body}");
    }
}

/// For a provider with preconditions, and for one that would do whatever it is asked.
#[tokio::test]
async fn what_has_changed_meanwhile_is_refused_and_kept() {
    for naive in [false, true] {
        let site = Site::start(Setting { naive, ..Setting::default() }).await;
        site.holds("a.example.test A ttl=60 192.0.2.9");
        let before = site.stands();
        for body in [
            create(&["a A 192.0.2.1"]),
            create(&["a A 192.0.2.9"]),
            create(&["a CNAME b.test"]),
            update(&["a A 192.0.2.1"], &["a A 192.0.2.2"]),
            update(&["b A 192.0.2.1"], &["b A 192.0.2.2"]),
            delete(&["a A 192.0.2.1"]),
            delete(&["b A 192.0.2.1"]),
            delete(&["a TXT x"]),
        ] {
            let answer = site.post(&body).await;
            assert_eq!(answer.status, 500, "{body}");
            let expected =
                if body.contains("b.example.test") { "b.example.test conflict" } else { "a.example.test conflict" };
            assert_eq!(answer.refused(), [expected], "{body}: {answer:?}");
            assert_eq!(answer.json()["applied"], 0, "{body}");
            assert_eq!(site.stands(), before, "{body}");
        }
    }
}

#[tokio::test]
async fn a_bad_record_takes_only_its_own_name_along() {
    for naive in [false, true] {
        let site = Site::start(Setting { naive, ..Setting::default() }).await;
        site.holds("taken.example.test A ttl=60 192.0.2.9");
        let bad = r#"{"dnsName":"a..b","recordType":"A","targets":["192.0.2.1"]},{"dnsName":"x.elsewhere.test","recordType":"A","targets":["192.0.2.1"]}"#;
        let good = list(&["g1 A 192.0.2.1", "taken A 192.0.2.1", "bad A nonsense", "bad TXT fine", "g2 TXT x"]);
        let answer = site.post(&format!(r#"{{"create":[{bad},{}}}"#, good.trim_start_matches('['))).await;
        assert_eq!((answer.status, answer.media.as_str()), (500, "application/json"));
        assert_eq!(
            answer.refused(),
            ["a..b invalid", "bad.example.test invalid", "taken.example.test conflict", "x.elsewhere.test not_found"]
        );
        assert_eq!(answer.json()["applied"], 2);
        assert_eq!(
            site.stands(),
            ["g1.example.test 60 A 192.0.2.1", "g2.example.test 60 TXT \"x\"", "taken.example.test 60 A 192.0.2.9"]
        );
    }
}

#[tokio::test]
async fn a_record_and_its_claim_come_together_or_not_at_all() {
    let site = Site::usual().await;
    site.holds("a-taken.example.test TXT ttl=60 theirs");
    let claim = |name: &str| {
        format!(
            r#"{{"dnsName":"a-{name}.example.test","recordType":"TXT","targets":["\"ours\""],"labels":{{"ownedRecord":"{name}.example.test"}}}}"#
        )
    };
    let (records, claims) =
        (list(&["free A 192.0.2.1", "taken A 192.0.2.1"]), [claim("free"), claim("taken")].join(","));
    let answer = site.post(&format!(r#"{{"create":[{claims},{}}}"#, records.trim_start_matches('['))).await;
    assert_eq!(answer.refused(), ["taken.example.test conflict"]);
    let stands = site.stands();
    assert!(
        stands.iter().any(|line| line.starts_with("free.")) && stands.iter().any(|line| line.starts_with("a-free."))
    );
    assert!(!stands.iter().any(|line| line.starts_with("taken.")), "{stands:?}");
}

/// Two zones are no atomic whole: what is done in the first stands, and the answer does not say that nothing was done.
#[tokio::test]
async fn half_of_a_pair_in_two_zones_is_reported_as_unknown() {
    let zones = vec!["example.test", "sub.example.test"];
    let site = Site::start(Setting { zones, ..Setting::default() }).await;
    let claim = r#"{"dnsName":"a-sub.example.test","recordType":"TXT","targets":["ours"],"labels":{"ownedRecord":"sub.example.test"}}"#;
    let record = endpoint("sub A 192.0.2.1");
    let sub = zonewright_core::DnsName::parse("sub.example.test").unwrap();
    site.local.insert(&sub, crate::common::set("sub.example.test A ttl=60 192.0.2.9")).unwrap();
    let answer = site.post(&format!(r#"{{"create":[{claim},{record}]}}"#)).await;
    let refused = answer.json()["refused"][0].clone();
    assert_eq!((refused["outcome"].as_str(), refused["kind"].as_str()), (Some("unknown"), Some("conflict")));
}

#[tokio::test]
async fn a_dry_run_says_yes_and_does_nothing() {
    let site = Site::start(Setting { dry_run: true, ..Setting::default() }).await;
    site.holds("b.example.test A ttl=60 192.0.2.1");
    for body in [create(&["a A 192.0.2.1"]), delete(&["b A 192.0.2.1"])] {
        assert_eq!(site.post(&body).await.status, 204, "{body}");
    }
    assert_eq!(site.stands(), ["b.example.test 60 A 192.0.2.1"]);
    assert_eq!(site.post(&create(&["a A nonsense"])).await.status, 500);
}

#[tokio::test]
async fn names_outside_of_the_filter_are_refused() {
    let site = Site::start(Setting { include: vec!["in.example.test"], ..Setting::default() }).await;
    let answer = site.post(&create(&["x.in A 192.0.2.1", "out A 192.0.2.1"])).await;
    assert_eq!((answer.status, answer.refused()), (500, vec!["out.example.test invalid".to_owned()]));
    assert_eq!(site.stands(), ["x.in.example.test 60 A 192.0.2.1"]);
}
