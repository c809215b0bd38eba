//! Credentials: both namings, blanks, what is missing, and what is renewed.

use serde_json::{Value, json};
use zonewright_testkit::DnsSoftware::Bind;
use zonewright_testkit::{KubeApi, require};

use super::clouds::{ACCOUNT, KEY, a, aws, with};
use super::texts::update;
use super::world::World;
use crate::needs;
use crate::site::Site;

const SECRET: &str = "s3cr3t-of-the-key";

#[test]
fn both_namings_and_blanks() {
    require!(KubeApi::TOOLS);
    let (aws, world) = aws();
    for (name, keys) in [
        ("short", vec![("accessKeyID", KEY), ("secretAccessKey", SECRET)]),
        ("printed", vec![("accessKeyId", KEY), ("secretAccessKey", SECRET)]),
        ("long", vec![("AWS_ACCESS_KEY_ID", KEY), ("AWS_SECRET_ACCESS_KEY", SECRET), ("AWS_REGION", "eu-west-1")]),
        ("blank", vec![("accessKeyID", " AKIDFAKE\n"), ("secretAccessKey", "\ts3cr3t-of-the-key \n")]),
        // The extension's own names go first.
        (
            "both",
            vec![
                ("accessKeyID", KEY),
                ("secretAccessKey", SECRET),
                ("AWS_ACCESS_KEY_ID", "AKIDNOBODY"),
                ("AWS_SECRET_ACCESS_KEY", "x"),
            ],
        ),
    ] {
        let secret = format!("dns-{name}");
        world.secret(&secret, &keys);
        let fields = json!({ "secretRef": { "name": secret, "namespace": world.namespace } });
        world.record(name).created(&with(a(name, "192.0.2.1"), &fields));
    }
    assert_eq!(aws.shown().len(), 5, "{:?}", aws.shown());
}

#[test]
fn both_namings_at_a_dns_server() {
    needs!(Bind);
    let site = Site::start(Bind);
    let world = World::new("rfc2136").started();
    let address = site.dns.addr().to_string();
    let (name, key) = (format!("{}.", site.key.name.trim_end_matches('.')), site.key.secret.as_str());
    world.secret(
        "lower",
        &[
            ("server", &address),
            ("zone", "shop.test"),
            ("tsigKeyName", &name),
            ("tsigSecret", key),
            ("algorithm", "hmac-sha256."),
        ],
    );
    world.secret(
        "upper",
        &[
            ("Server", &address),
            ("Zone", "shop.test."),
            ("TSIGKeyName", &name),
            ("TSIGSecret", key),
            ("TSIGSecretAlgorithm", "hmac-sha256"),
        ],
    );
    for secret in ["lower", "upper"] {
        let fields = json!({ "secretRef": { "name": secret, "namespace": world.namespace } });
        world.record(secret).created(&with(update(secret, "A", &["192.0.2.1"]), &fields));
    }
    site.shows(&["lower 120 A 192.0.2.1", "upper 120 A 192.0.2.1"]);
    for secret in ["lower", "upper"] {
        world.record(secret).deleted();
    }
    site.shows(&[]);
}

/// A key that the server does not take, in both ways: the other secret under its name, and another name.
#[test]
fn a_wrong_key_at_a_dns_server() {
    needs!(Bind);
    let site = Site::start(Bind);
    let world = World::new("rfc2136").started();
    let address = site.dns.addr().to_string();
    let secret = |key: &str, secret: &str| {
        let keys = [("server", address.as_str()), ("zone", "shop.test"), ("tsigKeyName", key), ("tsigSecret", secret)];
        world.secret("dns", &keys);
    };
    secret(&site.key.name, "YW5vdGhlci1zM2NyM3Qtb2Ytc29tZWJvZHktZWxzZQ==");
    let object = world.record("web");
    object.create(&update("web", "A", &["192.0.2.1"]));
    assert_eq!(object.fails(&[]), ["ERR_INFRA_UNAUTHENTICATED"]);
    secret("nobodys-key", &site.key.secret);
    object.ask("reconcile", &json!({ "ttl": 60 }));
    object.shows("observed", |object| object["status"]["observedGeneration"] == object["metadata"]["generation"]);
    assert_eq!(object.fails(&[]), ["ERR_INFRA_UNAUTHENTICATED"]);
    assert!(!object.get().to_string().contains("s3cr3t") && !world.daemon().log().contains("YW5vdGhlci1"));
    secret(&site.key.name, &site.key.secret);
    object.does("reconcile", &Value::Null);
    site.shows(&["web 60 A 192.0.2.1"]);
    object.deleted();
    site.shows(&[]);
}

/// What is missing is said by name, and never what is there.
#[test]
fn what_is_missing_is_named() {
    require!(KubeApi::TOOLS);
    let (aws, world) = aws();
    world.secret("half", &[("accessKeyID", KEY)]);
    world.secret("other", &[("secretAccessKey", SECRET), ("note", "blank")]);
    for (name, secret, texts) in [
        ("half", "half", &["secretAccessKey"][..]),
        ("other", "other", &["accessKeyID"]),
        ("none", "nowhere", &["nowhere"]),
    ] {
        let object = world.record(name);
        let fields = json!({ "secretRef": { "name": secret, "namespace": world.namespace } });
        object.create(&with(a(name, "192.0.2.1"), &fields));
        let codes = object.fails(texts);
        assert!(!codes.is_empty(), "{name}");
        let text = object.get().to_string();
        assert!(!text.contains(SECRET) && !text.contains(KEY), "{text}");
    }
    let log = world.daemon().log();
    assert!(!log.contains(SECRET), "a secret is in the log");
    // It is served as soon as the Secret is there, and asked for again.
    world.secret("nowhere", &[("accessKeyID", KEY), ("secretAccessKey", SECRET)]);
    world.record("none").does("reconcile", &Value::Null);
    aws.shows(&["none.shop.test A 120 192.0.2.1"]);
}

/// Without its Secret an object that has records cannot be deleted, and says so; with it again it goes.
#[test]
fn a_deletion_waits_for_its_secret() {
    require!(KubeApi::TOOLS);
    let (aws, world) = aws();
    world.secret("own", &[("accessKeyID", KEY), ("secretAccessKey", SECRET)]);
    let object = world.record("web");
    let fields = json!({ "secretRef": { "name": "own", "namespace": world.namespace } });
    object.created(&with(a("web", "192.0.2.1"), &fields));
    let path = format!("/api/v1/namespaces/{}/secrets/own", world.namespace);
    world.kube().delete(&path).expect_success();
    object.delete();
    object.fails(&["own"]);
    aws.shows(&["web.shop.test A 120 192.0.2.1"]);
    world.secret("own", &[("accessKeyID", KEY), ("secretAccessKey", SECRET)]);
    object.ask_if_there("reconcile");
    object.is_gone();
    aws.shows(&[]);
}

/// The former key is taken away, and the Secret renewed: the next request uses the new one, at the end too.
#[test]
fn a_renewed_secret_is_used() {
    require!(KubeApi::TOOLS);
    let (aws, world) = aws();
    let object = world.record("web");
    object.created(&a("web", "192.0.2.1"));
    let renew = |from: &str, to: &str| {
        aws.service.allow_key(to, ACCOUNT);
        world.secret("dns", &[("accessKeyID", to), ("secretAccessKey", SECRET)]);
        aws.service.expire(from);
    };
    renew(KEY, "AKIDSECOND");
    object.does("reconcile", &json!({ "values": ["192.0.2.2"] }));
    aws.shows(&["web.shop.test A 120 192.0.2.2"]);
    renew("AKIDSECOND", "AKIDTHIRD");
    object.deleted();
    aws.shows(&[]);
}

#[test]
fn without_a_namespace_the_secret_is_that_of_the_object() {
    require!(KubeApi::TOOLS);
    let (aws, world) = aws();
    let object = world.record("web");
    object.created(&with(a("web", "192.0.2.1"), &json!({ "secretRef": { "name": "dns" } })));
    let empty = world.record("empty");
    empty.created(&with(a("empty", "192.0.2.2"), &json!({ "secretRef": { "name": "dns", "namespace": "" } })));
    aws.shows(&["empty.shop.test A 120 192.0.2.2", "web.shop.test A 120 192.0.2.1"]);
    object.deleted();
    empty.deleted();
    aws.shows(&[]);
}

/// A workload identity: a token for a role, which Gardener renews before it ends. The next request uses the new one.
#[test]
fn a_workload_identity() {
    require!(KubeApi::TOOLS);
    const ROLE: &str = "arn:aws:iam::000000000001:role/dns";
    let (aws, world) = aws();
    aws.service.allow_web_identity(ROLE, "eyJ-first-t0ken", ACCOUNT);
    let config = json!({ "apiVersion": "aws.provider.extensions.gardener.cloud/v1alpha1", "kind": "WorkloadIdentityConfig", "roleARN": ROLE });
    let config = config.to_string();
    world.secret("dns", &[("token", "eyJ-first-t0ken"), ("config", &config)]);
    let object = world.record("web");
    object.created(&a("web", "192.0.2.1"));
    aws.shows(&["web.shop.test A 120 192.0.2.1"]);
    // Renewed, and what the former one had given has ended.
    aws.service.allow_web_identity(ROLE, "eyJ-second-t0ken", ACCOUNT);
    world.secret("dns", &[("token", "eyJ-second-t0ken"), ("config", &config)]);
    for key in aws.service.keys_of(ACCOUNT).iter().filter(|key| *key != KEY) {
        aws.service.expire(key);
    }
    object.does("reconcile", &json!({ "values": ["192.0.2.2"] }));
    aws.shows(&["web.shop.test A 120 192.0.2.2"]);
    // Whoever names the role and has no token for it gets nothing of it.
    world.secret("stolen", &[("token", "eyJ-another-t0ken"), ("roleARN", ROLE)]);
    let other = world.record("other");
    let fields = json!({ "secretRef": { "name": "stolen", "namespace": world.namespace } });
    other.create(&with(a("other", "192.0.2.3"), &fields));
    assert_eq!(other.fails(&["InvalidIdentityToken"]), ["ERR_INFRA_UNAUTHENTICATED"]);
    // The service that gives roles is busy: that passes.
    aws.service.fail("AssumeRoleWithWebIdentity", zonewright_fakes::route53::Fault::Throttled, 1000);
    world.secret("third", &[("token", "eyJ-second-t0ken"), ("roleARN", ROLE)]);
    let waits = world.record("waits");
    let fields = json!({ "secretRef": { "name": "third", "namespace": world.namespace } });
    let asked = waits.create(&with(a("waits", "192.0.2.4"), &fields));
    assert_eq!(waits.fails(&[]), [""; 0], "{:#}", waits.status());
    aws.service.fail("AssumeRoleWithWebIdentity", zonewright_fakes::route53::Fault::Throttled, 0);
    waits.answers(&asked);
    object.deleted();
    aws.shows(&["waits.shop.test A 120 192.0.2.4"]);
    let log = world.daemon().log();
    assert!(!log.contains("t0ken"), "a token is in the log");
}
