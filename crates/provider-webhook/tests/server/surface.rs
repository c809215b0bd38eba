//! The routes: status, media type and body of each answer.

use std::sync::atomic::Ordering;

use crate::common::MEDIA;
use crate::site::{Setting, Site};

const ONE: &str = r#"{"dnsName":"a.example.test","targets":["192.0.2.1"],"recordType":"A","recordTTL":60}"#;

#[tokio::test]
async fn whatever_is_no_known_path_is_the_negotiation() {
    let zones = vec!["example.test", "other.test"];
    let site =
        Site::start(Setting { zones, include: vec!["example.test", "x.other.test"], ..Setting::default() }).await;
    for (method, path) in
        [("GET", "/"), ("POST", "/"), ("GET", "/records/"), ("PUT", "/applychanges"), ("GET", "/x?y=1")]
    {
        let answer = site.ask(method, path, "").await;
        assert_eq!((answer.status, answer.media.as_str()), (200, MEDIA), "{method} {path}");
        assert_eq!(answer.body, "{\"include\":[\"example.test\",\"x.other.test\"]}\n", "{method} {path}");
    }
}

#[tokio::test]
async fn records_are_those_of_all_zones_in_scope() {
    let zones = vec!["example.test", "other.test"];
    let site = Site::start(Setting { zones, include: vec!["example.test"], ..Setting::default() }).await;
    site.holds("a.example.test A ttl=60 192.0.2.2 192.0.2.1");
    site.holds("t.example.test TXT ttl=0 x_<y>");
    let answer = site.ask("GET", "/records", "").await;
    assert_eq!((answer.status, answer.media.as_str()), (200, MEDIA));
    for expected in [
        r#"{"dnsName":"a.example.test","targets":["192.0.2.1","192.0.2.2"],"recordType":"A","recordTTL":60}"#,
        r#"{"dnsName":"t.example.test","targets":["x \u003cy\u003e"],"recordType":"TXT"}"#,
    ] {
        assert!(answer.body.contains(expected), "{expected} is not in {}", answer.body);
    }
    assert!(answer.body.starts_with('[') && answer.body.ends_with("]\n"));
    assert!(!answer.body.contains("SOA") && !answer.body.contains("other.test"), "{}", answer.body);

    let empty = Site::start(Setting { include: vec!["elsewhere.test"], ..Setting::default() }).await;
    assert_eq!(empty.ask("GET", "/records", "").await.body, "null\n");
}

#[tokio::test]
async fn other_methods_are_bad_requests() {
    let site = Site::usual().await;
    for (method, path) in [
        ("PUT", "/records"),
        ("DELETE", "/records"),
        ("HEAD", "/records"),
        ("GET", "/adjustendpoints"),
        ("PUT", "/adjustendpoints"),
    ] {
        assert_eq!(site.ask(method, path, "").await.status, 400, "{method} {path}");
    }
}

#[tokio::test]
async fn bodies_are_read_as_go_reads_them() {
    let site = Site::usual().await;
    for (path, body, expected) in [
        ("/records", "null", 204),
        ("/records", "{}", 204),
        ("/records", r#"{"create":null,"Delete":[null],"unknown":[7]} and more"#, 204),
        ("/records", "", 400),
        ("/records", "[]", 400),
        ("/records", "{\"create\":[", 400),
        ("/records", r#"{"create":{"dnsName":"a"}}"#, 400),
        ("/records", r#"{"create":[{"dnsName":"a","targets":"b"}]}"#, 400),
        ("/records", r#"{"create":[{"dnsName":"a","recordTTL":"60"}]}"#, 400),
        ("/adjustendpoints", "null", 200),
        ("/adjustendpoints", "[] []", 200),
        ("/adjustendpoints", "[null]", 200),
        ("/adjustendpoints", "{}", 400),
        ("/adjustendpoints", "<html>", 400),
    ] {
        let answer = site.ask("POST", path, body).await;
        assert_eq!(answer.status, expected, "{path} {body}: {answer:?}");
        match expected {
            200 => assert_eq!((answer.body.as_str(), answer.media.as_str()), ("null\n", MEDIA), "{path} {body}"),
            204 => assert_eq!(answer.body, "", "{path} {body}"),
            _ => assert!(answer.body.contains("not the JSON of the protocol"), "{path} {body}: {answer:?}"),
        }
    }
    assert!(site.stands().is_empty());
}

#[tokio::test]
async fn a_body_may_be_as_large_as_the_limit_and_no_larger() {
    let body = format!("{{\"create\":[{ONE}]}}");
    let site = Site::start(Setting { limit: Some(body.len()), ..Setting::default() }).await;
    let answer = site.post(&format!("{body} ")).await;
    assert_eq!(answer.status, 413);
    assert!(answer.body.contains("--webhook-provider-max-body-size"), "{answer:?}");
    assert_eq!(site.ask("POST", "/adjustendpoints", &format!("[{}]", " ".repeat(body.len()))).await.status, 413);
    assert!(site.stands().is_empty());
    assert_eq!(site.post(&body).await.status, 204);
    assert_eq!(site.stands(), ["a.example.test 60 A 192.0.2.1"]);
}

#[tokio::test]
async fn endpoints_come_back_as_they_would_be_read() {
    let site = Site::usual().await;
    let asked = r#"[
        {"DNSName":"Bücher.Example.test.","recordType":"CNAME","targets":["Y.Example.Test.","x.test"],"recordTTL":60,
         "labels":{"resource":"service/a/b"},"providerSpecific":[{"name":"aws/weight","value":"1"}]},
        {"dnsName":"b.example.test","recordType":"AAAA","targets":["2001:DB8:0::1","2001:db8::1"],"recordTTL":5,
         "setIdentifier":"blue"},
        {"dnsName":"a.elsewhere.test","recordType":"A","targets":["192.0.2.1"],"providerSpecific":[{"name":"p","value":"v"}]},
        {"dnsName":"c.example.test","recordType":"A","targets":["nonsense"]}
    ]"#;
    let expected = concat!(
        r#"[{"dnsName":"xn--bcher-kva.example.test","targets":["y.example.test"],"recordType":"CNAME","recordTTL":60,"labels":{"resource":"service/a/b"}},"#,
        r#"{"dnsName":"b.example.test","targets":["2001:db8::1"],"recordType":"AAAA","recordTTL":5},"#,
        r#"{"dnsName":"a.elsewhere.test","targets":["192.0.2.1"],"recordType":"A","providerSpecific":[{"name":"p","value":"v"}]},"#,
        r#"{"dnsName":"c.example.test","targets":["nonsense"],"recordType":"A"}]"#,
        "\n"
    );
    let once = site.ask("POST", "/adjustendpoints", asked).await;
    assert_eq!((once.status, once.media.as_str(), once.body.as_str()), (200, MEDIA, expected));
    assert_eq!(site.ask("POST", "/adjustendpoints", &once.body).await.body, expected, "asked again");
    assert!(site.stands().is_empty());
}

#[tokio::test]
async fn an_error_of_the_provider_is_500_and_fails_the_probe() {
    let site = Site::usual().await;
    site.behind.broken.store(true, Ordering::Relaxed);
    let create = format!("{{\"create\":[{ONE}]}}");
    for (method, path, body) in [
        ("GET", "/", ""),
        ("GET", "/records", ""),
        ("POST", "/adjustendpoints", "[]"),
        ("POST", "/records", create.as_str()),
    ] {
        let answer = site.ask(method, path, body).await;
        assert_eq!(answer.status, 500, "{method} {path}");
        assert!(answer.body.contains("the back end is away"), "{method} {path}: {answer:?}");
    }
    assert!(site.server.readable().unwrap_err().contains("the back end is away"));
    site.behind.broken.store(false, Ordering::Relaxed);
    assert_eq!(site.ask("GET", "/records", "").await.status, 200);
    assert_eq!(site.server.readable(), Ok(()));
    assert!(site.stands().is_empty());
}
