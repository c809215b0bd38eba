//! Peers that are old, sloppy or out of order: each is reported in a sentence, and never half believed.

use std::sync::Arc;
use std::time::Duration;

use crate::common::{Answer, MEDIA, Peer, answer, config, listed, set, with_media, zone};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use zonewright_core::catalog::FlagValue;
use zonewright_core::change::{Change, Group, Outcome, Step};
use zonewright_core::error::Retry;
use zonewright_core::provider::{Adjustment, Provider, Read};
use zonewright_core::zone::InstanceId;
use zonewright_core::{DnsName, Error, ErrorKind, Zone};
use zonewright_provider_webhook::Webhook;

fn root() -> Zone {
    Zone::new(&InstanceId::from("default"), ".", DnsName::root())
}

fn create(name: &str) -> Group {
    Group::of(Step::record(Change::Create { to: set(&format!("{name} A 192.0.2.1")) }, None), vec![])
}

/// Demands that an error is of this kind and says these things.
fn check(error: &Error, kind: ErrorKind, parts: &[&str]) {
    assert_eq!(error.kind, kind, "{error:?}");
    for part in parts {
        assert!(error.chain().contains(part), "{part:?} is not in {}", error.chain());
    }
}

#[tokio::test]
async fn what_is_no_webhook_provider_is_reported() {
    use ErrorKind::{Configuration, Protocol, Throttled, Unauthorized, Unavailable};
    let html = with_media(200, "text/html", "<html>");
    for (given, kind, part) in [
        (html.clone(), Protocol, "Content-Type \"text/html\"; a webhook provider answers with"),
        (Answer { headers: vec![], ..html }, Protocol, "answered with no Content-Type"),
        (with_media(200, "application/json", "{}"), Protocol, "some other server, or a very old provider"),
        (with_media(200, "application/external.dns.webhook+json;version=2", "{}"), Protocol, "speaks version \"2\""),
        (answer(200, "<html>"), Protocol, "not the JSON of the protocol (it begins with \"<html>\")"),
        (answer(200, ""), Protocol, "not the JSON"),
        (answer(200, "{} {}"), Protocol, "trailing"),
        (
            answer(404, "nothing here"),
            Configuration,
            "404 Not Found (\"nothing here\"); the protocol has 200; is this address",
        ),
        (answer(401, ""), Unauthorized, "asks for credentials"),
        (answer(429, ""), Throttled, "429"),
        (answer(500, "boom\u{7}"), Unavailable, "500 Internal Server Error (\"boom \")"),
    ] {
        let peer = Peer::start().await;
        peer.says("GET /", given);
        let error = peer.provider().zones().await.unwrap_err();
        check(&error, kind, &[part, &peer.url]);
        assert_eq!(error.retry, Retry::Backoff);
    }
}

#[tokio::test]
async fn records_that_cannot_be_trusted_are_no_records() {
    use ErrorKind::{Configuration, Protocol, Unavailable};
    let json = |body: &str| answer(200, body);
    for (given, kind, part) in [
        (json("<html>"), Protocol, "it begins with \"<html>\""),
        (json(""), Protocol, "EOF"),
        (json(r#"[{"dnsName":"a.b","recordType":"A"},"#), Protocol, "EOF"),
        (json("[] []"), Protocol, "trailing"),
        (json(r#"{"items":[]}"#), Protocol, "expected a sequence"),
        (json(r#"[{"dnsName":"a.b","targets":"1.2.3.4"}]"#), Protocol, "endpoint \"a.b\": targets"),
        (json(r#"[{"dnsName":"a.b","providerSpecific":{"a":"b"}}]"#), Protocol, "endpoint \"a.b\": providerSpecific"),
        (with_media(200, "application/external.dns.webhook+json;version=2", "[]"), Protocol, "version \"2\""),
        (answer(204, ""), Protocol, "204 No Content; the protocol has 200"),
        (answer(206, "[]"), Protocol, "206"),
        (answer(404, ""), Configuration, "404"),
        (answer(500, ""), Unavailable, "500"),
    ] {
        let peer = Peer::start().await;
        peer.says("GET /records", given);
        let error = peer.provider().records(&root(), Read::All).await.unwrap_err();
        check(&error, kind, &[part]);
    }
}

#[tokio::test]
async fn sloppy_answers_are_read_and_reported_once() {
    let a = r#"{"dnsName":"a.b","recordType":"A","targets":["192.0.2.1"]}"#;
    let more = r#"{"dnsName":"A.B","recordType":"A","targets":["192.0.2.2"],"recordTTL":9}"#;
    let line = "a.b 0 A 192.0.2.1";
    for (given, expected, reported) in [
        (
            with_media(200, "application/json", &format!("[{a}]")),
            vec![line],
            "GET /records with Content-Type \"application/json\"",
        ),
        (Answer { status: 200, body: format!("[{a}]"), ..Answer::default() }, vec![line], "with no Content-Type"),
        (with_media(200, &MEDIA.replace(';', "; "), &format!("[{a}]")), vec![line], "json; version=1"),
        (answer(200, "null"), vec![], "answered GET /records with null"),
        (answer(200, &format!("[null,{a},null]")), vec![line], "lists 2 endpoints that are null"),
        (answer(200, &format!("[{a},{{\"recordType\":\"A\"}}]")), vec![line], "lists the name \"\": empty name"),
        (answer(200, &format!("[{a},{{\"dnsName\":\"a..b\"}}]")), vec![line], "lists the name \"a..b\""),
        (answer(200, &format!("[{a},{more}]")), vec!["a.b 0 A 192.0.2.1 ; 192.0.2.2"], "lists a.b A more than once"),
    ] {
        let peer = Peer::start().await;
        peer.says("GET /records", given);
        let provider = peer.provider();
        for _ in 0..2 {
            assert_eq!(listed(&provider).await, expected, "{reported}");
        }
        let sentences = provider.reported();
        assert!(
            matches!(sentences.as_slice(), [one] if one.contains(reported) && one.contains("; the protocol ")),
            "{reported}: {sentences:?}"
        );
    }
}

#[tokio::test]
async fn a_similar_media_type_and_an_outdated_filter_are_reported() {
    let peer = Peer::start().await;
    peer.says("GET /", with_media(200, &MEDIA.to_uppercase(), r#"{"filters":["example.com"]}"#));
    let provider = peer.provider();
    assert!(zone(&provider).await.covers(&DnsName::parse("a.other").unwrap()));
    let reported = provider.reported().join("\n");
    assert!(reported.contains("`filters`") && reported.contains("GET of its address"), "{reported}");
}

#[tokio::test]
async fn a_peer_without_adjustendpoints_leaves_endpoints_as_they_are() {
    for status in [404, 405, 501] {
        let peer = Peer::start().await;
        peer.says("POST /adjustendpoints", answer(status, ""));
        let provider = peer.provider();
        let wanted = [set("a.b A ttl=60 192.0.2.1")];
        let adjusted = provider.adjust(&root(), &wanted).await;
        assert_eq!(adjusted.iter().flat_map(Adjustment::sets).collect::<Vec<_>>(), [&wanted[0]]);
        assert!(
            matches!(provider.reported().as_slice(), [one] if one.contains("very old")),
            "{:?}",
            provider.reported()
        );
    }
}

#[tokio::test]
async fn adjusting_fails_as_a_whole() {
    for (given, kind, part) in [
        (answer(500, "boom"), ErrorKind::Unavailable, "boom"),
        (answer(400, "no such type"), ErrorKind::Invalid, "no such type"),
        (answer(204, ""), ErrorKind::Protocol, "the protocol has 200"),
        (answer(200, "[{]"), ErrorKind::Protocol, "not the JSON"),
    ] {
        let peer = Peer::start().await;
        peer.says("POST /adjustendpoints", given);
        let adjusted = peer.provider().adjust(&root(), &[set("a.b A 192.0.2.1")]).await;
        let [Adjustment::Unknown(error)] = adjusted.as_slice() else { panic!("{adjusted:?}") };
        check(error, kind, &[part]);
        assert_eq!(error.retry, Retry::Backoff, "a peer that is mended is noticed");
    }
}

#[tokio::test]
async fn an_answer_is_read_up_to_the_limit_and_not_a_byte_further() {
    let body = r#"[{"dnsName":"a.b","recordType":"A","targets":["192.0.2.1"]}]"#;
    let exact = i64::try_from(body.len()).unwrap();
    for (limit, fits) in [(exact, true), (exact - 1, false), (0, true), (-1, true)] {
        let peer = Peer::start().await;
        peer.says("GET /records", answer(200, body));
        let config = config(&peer.url, &[("webhook-provider-max-body-size", FlagValue::Int(limit))]);
        let read = Webhook::new(&config).unwrap().records(&root(), Read::All).await;
        match read {
            Ok(_) => assert!(fits, "{limit}"),
            Err(error) => {
                assert!(!fits, "{limit}: {error}");
                check(&error, ErrorKind::Configuration, &["--webhook-provider-max-body-size"]);
            }
        }
    }
}

#[tokio::test]
async fn redirections_are_followed_as_far_as_they_can_be_trusted() {
    let to = |status, location: &str| Answer {
        status,
        headers: vec![("location", location.to_owned())],
        ..Answer::default()
    };
    let peer = Peer::start().await;
    peer.says("GET /", to(302, "/new/"));
    peer.says("GET /new/", answer(200, "{}"));
    peer.says("POST /records", to(307, "/elsewhere"));
    peer.says("POST /elsewhere", Answer { status: 204, ..Answer::default() });
    let provider = peer.provider();
    let zone = zone(&provider).await;
    assert!(matches!(provider.apply(&zone, &[create("a.b")]).await.as_slice(), [Outcome::Applied]));
    assert_eq!(provider.reported().len(), 2, "{:?}", provider.reported());
    assert!(
        provider.reported()[0].contains("set --webhook-provider-url to the new address"),
        "{:?}",
        provider.reported()
    );

    for (location, part) in
        [("/records", "one redirection too many"), ("", "leads nowhere"), ("ftp://a/b", "leads nowhere")]
    {
        peer.says("GET /records", to(301, location));
        let error = provider.records(&zone, Read::All).await.unwrap_err();
        check(&error, ErrorKind::Configuration, &[part]);
    }
    // After 303 the records are read, to see whether something was done.
    peer.script().answers.remove("GET /records");
    for status in [301, 302, 303] {
        peer.says("POST /records", to(status, "/elsewhere"));
        let outcomes = provider.apply(&zone, &[create("a.b"), create("b.b")]).await;
        for outcome in &outcomes {
            let Outcome::Refused { error, .. } = outcome else { panic!("{outcomes:?}") };
            check(error, ErrorKind::Configuration, &["would turn a POST into a GET"]);
        }
    }
}

#[tokio::test]
async fn a_peer_that_is_away_is_waited_for() {
    let free = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", free.local_addr().unwrap());
    drop(free);
    let provider = Webhook::new(&config(&url, &[])).unwrap();
    let error = provider.zones().await.unwrap_err();
    check(&error, ErrorKind::Unavailable, &["cannot connect; check --webhook-provider-url", &url]);
    let outcomes = provider.apply(&root(), &[create("a.b"), create("b.b")]).await;
    assert!(outcomes.iter().all(|outcome| matches!(outcome, Outcome::NotSent(_))), "{outcomes:?}");
}

#[tokio::test]
async fn a_query_of_the_address_is_sent_and_never_shown() {
    let peer = Peer::start().await;
    peer.says("GET /records", answer(500, ""));
    let provider = Webhook::new(&config(&format!("{}/?token=s3cret", peer.url), &[])).unwrap();
    let zone = zone(&provider).await;
    let error = provider.records(&zone, Read::All).await.unwrap_err();
    check(&error, ErrorKind::Unavailable, &["500", &peer.url]);
    peer.says("GET /records", Answer { headers: vec![("location", "/x?token=s3cret".to_owned())], ..answer(301, "") });
    peer.says("GET /x", answer(500, ""));
    let redirected = provider.records(&zone, Read::All).await.unwrap_err();
    let reported = provider.reported().join(" ");
    assert!(reported.contains("redirects GET /records to"), "{reported}");
    let shown = format!("{error:?} {redirected:?} {reported} {provider:?}");
    assert!(!shown.contains("s3cret"), "{shown}");
}

/// A peer that reads a request, answers with these bytes, and then hangs up, or waits for ever.
async fn raw(bytes: &'static str, hangs_up: bool) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        let mut kept = Vec::new();
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = [0; 4096];
            let _ = stream.read(&mut request).await;
            let _ = stream.write_all(bytes.as_bytes()).await;
            if !hangs_up {
                kept.push(stream);
            }
        }
    });
    url
}

#[tokio::test]
async fn after_a_cut_or_a_long_silence_nobody_knows() {
    let short = |name| (name, FlagValue::Duration { length: Duration::from_millis(60), negative: false });
    let cases = [
        ("", true, ErrorKind::Unavailable, "the connection broke"),
        ("HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\n[", true, ErrorKind::Unavailable, "the connection broke"),
        ("HTTP/1.1 204 No Con", true, ErrorKind::Unavailable, "the connection broke"),
        ("garbage\r\n\r\n", true, ErrorKind::Unavailable, "the connection broke"),
        ("", false, ErrorKind::Timeout, "--webhook-provider-read-timeout"),
        (
            "HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\n[",
            false,
            ErrorKind::Timeout,
            "no complete answer within 0.12 s",
        ),
    ];
    for (bytes, hangs_up, kind, part) in cases {
        let url = raw(bytes, hangs_up).await;
        let timeouts = [short("webhook-provider-read-timeout"), short("webhook-provider-write-timeout")];
        let provider = Webhook::new(&config(&url, &timeouts)).unwrap();
        check(&provider.records(&root(), Read::All).await.unwrap_err(), kind, &[part]);
        let outcomes = provider.apply(&root(), &[create("a.b"), create("b.b")]).await;
        for outcome in &outcomes {
            let Outcome::Unknown(error) = outcome else { panic!("{bytes:?}: {outcomes:?}") };
            check(error, kind, &[part]);
        }
    }
}

#[tokio::test]
async fn https_trusts_the_authority_that_was_given() {
    let certified = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let ca = folder.path().join("ca.pem");
    std::fs::write(&ca, certified.cert.pem()).unwrap();
    let key = tokio_rustls::rustls::pki_types::PrivateKeyDer::try_from(certified.signing_key.serialize_der()).unwrap();
    let ring = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
    let tls = tokio_rustls::rustls::ServerConfig::builder_with_provider(ring)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certified.cert.der().clone()], key)
        .unwrap();
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(tls));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://localhost:{}", listener.local_addr().unwrap().port());
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let Ok(mut stream) = acceptor.accept(stream).await else { continue };
            let _ = stream.read(&mut [0; 4096]).await;
            let text = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: {MEDIA}\r\nconnection: close\r\ncontent-length: 2\r\n\r\n{{}}"
            );
            let _ = stream.write_all(text.as_bytes()).await;
            let _ = stream.shutdown().await;
        }
    });
    let trusted = [("tls-ca", FlagValue::Text(ca.display().to_string()))];
    assert_eq!(Webhook::new(&config(&url, &trusted)).unwrap().zones().await.unwrap().len(), 1);
    let strange = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    std::fs::write(&ca, strange.cert.pem()).unwrap();
    let error = Webhook::new(&config(&url, &trusted)).unwrap().zones().await.unwrap_err();
    check(&error, ErrorKind::Unavailable, &["cannot connect", "certificate"]);
    for (text, part) in [("/does/not/exist", "--tls-ca /does/not/exist"), ("/dev/null", "holds no certificate")] {
        let given = [("tls-ca", FlagValue::Text(text.to_owned()))];
        check(&Webhook::new(&config(&url, &given)).unwrap_err(), ErrorKind::Configuration, &[part]);
    }
}
