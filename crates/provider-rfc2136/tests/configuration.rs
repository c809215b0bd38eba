//! Flags and secrets: what is accepted, and what is said about the rest.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

mod common;

use std::collections::BTreeMap;

use common::*;
use zonewright_core::catalog::ProviderConfig;
use zonewright_core::provider::{Adjustment, Provider};
use zonewright_core::shared::Shared;
use zonewright_core::zone::InstanceId;
use zonewright_core::{ErrorKind, Ttl};
use zonewright_provider_rfc2136::{ENTRY, Rfc2136};

const SECRET: &str = "c2VjcmV0LWtleS1vY3RldHM=";

/// Flags that work, with some left out and some added.
fn with(without: &str, more: &[(&'static str, &str)]) -> Vec<(&'static str, String)> {
    let good = [
        ("rfc2136-host", "192.0.2.53"),
        ("rfc2136-zone", "example.test"),
        ("rfc2136-tsig-keyname", "key"),
        ("rfc2136-tsig-secret", SECRET),
        ("rfc2136-tsig-secret-alg", "hmac-sha512"),
    ];
    let kept = good.iter().filter(|(name, _)| *name != without && !more.iter().any(|(n, _)| n == name));
    kept.chain(more).map(|(name, value)| (*name, (*value).to_owned())).collect()
}

#[test]
fn what_is_wrong_is_named() {
    let kerberos = if cfg!(feature = "gss-tsig") {
        "--rfc2136-gss-tsig needs --rfc2136-kerberos-realm, --rfc2136-kerberos-username and --rfc2136-kerberos-password"
    } else {
        "--rfc2136-gss-tsig is not compiled into this build: build it with the Cargo feature rfc2136-gss-tsig"
    };
    for (without, more, expected) in [
        ("rfc2136-host", vec![], "--rfc2136-host is not given"),
        ("", vec![("rfc2136-host", "")], "--rfc2136-host is not given"),
        ("", vec![("rfc2136-host", "192.0.2.1:dns")], "--rfc2136-host \"192.0.2.1:dns\""),
        ("", vec![("rfc2136-host", "[2001:db8::1")], "--rfc2136-host"),
        ("", vec![("rfc2136-port", "70000")], "--rfc2136-port 70000"),
        ("", vec![("rfc2136-port", "-1")], "--rfc2136-port -1"),
        ("rfc2136-zone", vec![], "--rfc2136-zone"),
        ("", vec![("rfc2136-zone", ".")], "--rfc2136-zone"),
        ("", vec![("rfc2136-zone", "a..b")], "--rfc2136-zone: name \"a..b\""),
        ("rfc2136-tsig-keyname", vec![], "--rfc2136-tsig-keyname"),
        ("rfc2136-tsig-secret", vec![], "--rfc2136-tsig-secret"),
        ("", vec![("rfc2136-tsig-secret", "not base64!")], "--rfc2136-tsig-secret is not base64"),
        ("", vec![("rfc2136-tsig-secret-alg", "hmac-sha3")], "\"hmac-sha3\" is not supported TSIG algorithm"),
        ("", vec![("rfc2136-gss-tsig", "true")], kerberos),
        ("", vec![("rfc2136-gss-tsig", "true"), ("rfc2136-insecure", "true")], "mutually exclusive"),
        ("", vec![("rfc2136-min-ttl", "-5s")], "TTL specified for rfc2136 is negative"),
        ("", vec![("rfc2136-batch-change-size", "0")], "batch size specified for rfc2136 cannot be less than 1"),
        ("", vec![("rfc2136-use-tls", "true"), ("tls-ca", "/does/not/exist")], "--tls-ca /does/not/exist"),
        ("", vec![("rfc2136-use-tls", "true"), ("tls-client-cert", "x")], "--tls-client-cert-key go together"),
        ("", vec![("rfc2136-load-balancing-strategy", "best")], "--rfc2136-load-balancing-strategy \"best\""),
    ] {
        let error = try_provider(&with(without, &more)).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Configuration);
        assert!(error.context.contains(expected), "{error}");
        assert!(!error.chain().contains(SECRET) && !error.chain().contains("not base64!"), "{error:?}");
    }
}

/// What the command line is refused for, in the words of external-dns.
#[test]
fn flags_that_contradict_each_other() {
    let check = |given: &[(&str, &str)]| {
        let given: Vec<(&str, String)> = given.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        (ENTRY.check)(&settings(&given)).err().unwrap_or_default()
    };
    let kerberos = "--rfc2136-gss-tsig needs --rfc2136-kerberos-realm, --rfc2136-kerberos-username and --rfc2136-kerberos-password";
    for (given, expected) in [
        (&[][..], ""),
        (&[("rfc2136-min-ttl", "-1s")], "TTL specified for rfc2136 is negative"),
        (
            &[("rfc2136-insecure", "true"), ("rfc2136-gss-tsig", "true")],
            "--rfc2136-insecure and --rfc2136-gss-tsig are mutually exclusive arguments",
        ),
        (&[("rfc2136-gss-tsig", "true"), ("rfc2136-kerberos-realm", "R")], kerberos),
        (&[("rfc2136-batch-change-size", "0")], "batch size specified for rfc2136 cannot be less than 1"),
    ] {
        assert_eq!(check(given), expected, "{given:?}");
    }
}

#[test]
fn what_is_right_is_taken() {
    for (without, more, expected) in [
        ("", vec![], "port: 53"),
        ("", vec![("rfc2136-port", "5353")], "port: 5353"),
        ("", vec![("rfc2136-host", "ns.example.org:54")], "port: 54"),
        ("", vec![("rfc2136-host", "[2001:db8::1]:54")], "host: \"2001:db8::1\", port: 54"),
        ("", vec![("rfc2136-host", "2001:db8::1")], "host: \"2001:db8::1\", port: 53"),
        ("", vec![("rfc2136-use-tls", "true"), ("rfc2136-skip-tls-verify", "true")], "port: 853"),
        ("rfc2136-tsig-secret-alg", vec![], "algorithm: Sha256"),
        ("", vec![("rfc2136-tsig-keyname", "Key.Example.")], "DnsName(key.example)"),
        ("rfc2136-tsig-secret", vec![("rfc2136-insecure", "true")], "identity: Nobody"),
        ("", vec![("rfc2136-load-balancing-strategy", "random")], "strategy: Random"),
    ] {
        let text = format!("{:?}", provider(&with(without, &more)));
        assert!(text.contains(expected), "{expected}: {text}");
        assert!(!text.contains(SECRET) && !text.contains("secret-key"), "{text}");
    }
}

#[tokio::test]
async fn zones_come_from_the_flags() {
    let flags = with(
        "",
        &[("rfc2136-zone", "Example.Test."), ("rfc2136-zone", "sub.example.test"), ("rfc2136-zone", "example.test")],
    );
    let zones = provider(&flags).zones().await.unwrap();
    let ids: Vec<&str> = zones.iter().map(|zone| zone.key.zone.as_str()).collect();
    assert_eq!(ids, ["example.test", "sub.example.test"]);
}

#[tokio::test]
async fn secrets_of_an_object_beat_flags() {
    for keys in [
        ["Server", "Zone", "TSIGKeyName", "TSIGSecret", "TSIGSecretAlgorithm"],
        ["server", "zone", "tsigKeyName", "tsigSecret", "algorithm"],
    ] {
        assert!(keys.iter().all(|key| ENTRY.secret_keys.contains(key)));
        let values = ["ns.example.org:5353", "other.test.", "Object.Key.", SECRET, "hmac-sha384."];
        let credentials: BTreeMap<_, _> =
            keys.iter().zip(values).map(|(k, v)| ((*k).to_owned(), v.to_owned().into())).collect();
        let config = ProviderConfig {
            instance: InstanceId::from("object"),
            settings: settings(&with("", &[])),
            credentials,
            shared: Shared::default(),
        };
        let provider = Rfc2136::new(&config).unwrap();
        let text = format!("{provider:?}");
        for expected in ["ns.example.org", "5353", "object.key", "Sha384"] {
            assert!(text.contains(expected), "{expected}: {text}");
        }
        let zones = (ENTRY.build)(config).await.unwrap().zones().await.unwrap();
        assert_eq!(zones[0].key.to_string(), "object/other.test");
    }
}

#[tokio::test]
async fn ttls_are_raised_and_left_open() {
    let provider = provider(&with("", &[("rfc2136-min-ttl", "60s")]));
    let zone = zone(&provider).await;
    let wanted = ["a 30 A 192.0.2.1", "a 90 A 192.0.2.1", "a - A 192.0.2.1"].map(set);
    let adjusted = provider.adjust(&zone, &wanted).await;
    let of = |one: &Adjustment| one.sets().iter().map(|set| set.ttl.map(Ttl::secs)).collect::<Vec<_>>();
    let ttls: Vec<Vec<Option<u32>>> = adjusted.iter().map(of).collect();
    let expected = [vec![Some(60)], vec![Some(90)], vec![None]];
    assert_eq!(ttls, expected);
    let capability = provider.capability(Some(&zone));
    assert_eq!((capability.ttl.min.secs(), capability.ttl.default.secs()), (60, 60));
}

/// The flag's default is external-dns' own, and it is followed only by those who ask for it.
#[test]
fn messages_are_long_unless_a_size_is_given() {
    let size = |more: &[(&'static str, &str)]| provider(&with("", more)).capability(None).batch.changes;
    assert_eq!(size(&[]), 1_000);
    assert_eq!(size(&[("rfc2136-batch-change-size", "50")]), 50);
}

#[cfg(feature = "gss-tsig")]
#[test]
fn kerberos_needs_all_three() {
    let user = [
        ("rfc2136-gss-tsig", "true"),
        ("rfc2136-kerberos-realm", "corp.example"),
        ("rfc2136-kerberos-username", "updater"),
        ("rfc2136-kerberos-password", "battery staple"),
    ];
    // No TSIG key is asked for.
    let text = format!("{:?}", provider(&with("rfc2136-tsig-secret", &user)));
    assert!(text.contains("realm: \"CORP.EXAMPLE\", user: \"updater\""), "{text}");
    assert!(!text.contains("battery") && !text.contains("staple"), "{text}");
    for missing in ["rfc2136-kerberos-realm", "rfc2136-kerberos-username", "rfc2136-kerberos-password"] {
        for instead in [None, Some("")] {
            let mut given: Vec<_> = user.iter().filter(|(name, _)| *name != missing).copied().collect();
            given.extend(instead.map(|value| (missing, value)));
            let error = try_provider(&with("", &given)).unwrap_err();
            assert_eq!(error.kind, ErrorKind::Configuration);
            assert!(error.context.contains("--rfc2136-gss-tsig needs --rfc2136-kerberos-realm"), "{error}");
            assert!(!error.chain().contains("battery"), "{error}");
        }
    }
}
