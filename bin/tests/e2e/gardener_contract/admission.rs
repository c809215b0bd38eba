//! The admission webhook, called by a real kube-apiserver: every rule of the kind, on creation, change and deletion.

use std::fs;

use serde_json::{Value, json};
use zonewright_testkit::{Certificate, KubeApi, free_port, require};

use super::clouds::{a, record, with};
use super::seed::{Lane, deploy};
use super::world::{Record, World};
use crate::daemon::{CommandLine, text};
use crate::{LATER, until};

const CONFIGURATIONS: &str = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";

/// The configuration of the manifests, with an address in the place of a Service, that fails closed.
fn configuration(port: u16, ca_pem: &str) -> Value {
    let mut whole: Value = serde_saphyr::from_str(&deploy("admission/webhook.yaml")).expect("webhook.yaml is YAML");
    let webhook = &mut whole["webhooks"][0];
    let path = webhook["clientConfig"]["service"]["path"].as_str().expect("a path").to_owned();
    webhook["clientConfig"] = json!({ "url": format!("https://127.0.0.1:{port}{path}"), "caBundle": base64(ca_pem) });
    webhook["failurePolicy"] = json!("Fail");
    whole
}

fn base64(text: &str) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(text)
}

/// A creation that is refused, with the field and these words.
#[track_caller]
fn refused(object: &Record<'_>, spec: &Value, texts: &[&str]) {
    let collection = object.path.rsplit_once('/').expect("a path").0;
    let answer = object.world.kube().post(collection, &object.object(spec, &json!({})));
    let message = answer.body["message"].as_str().unwrap_or_default();
    let found = texts.iter().all(|text| message.contains(text));
    assert!(answer.status == 422 && found, "{}: {} {message}, expected {texts:?}", object.name, answer.status);
    assert!(message.contains("dnsrecords.zonewright.dev"), "{message}");
}

/// A change of the spec, refused likewise.
#[track_caller]
fn change_refused(object: &Record<'_>, spec: &Value, texts: &[&str]) {
    let answer = object.world.kube().patch(&object.path, &json!({ "spec": spec }));
    let message = answer.body["message"].as_str().unwrap_or_default();
    assert!(
        answer.status == 422 && texts.iter().all(|text| message.contains(text)),
        "{spec}: {} {message}",
        answer.status
    );
}

#[test]
fn the_api_server_asks_and_each_rule_holds() {
    require!(KubeApi::TOOLS);
    let (folder, port) = (tempfile::tempdir().expect("a folder"), free_port());
    let certificate = Certificate::write(folder.path());
    let webhook = CommandLine::default()
        .args(&["gardener", "--admission", "--health-bind-address=127.0.0.1:0", "--metrics-bind-address=127.0.0.1:0"])
        .arg(format!("--admission-bind-address=127.0.0.1:{port}"))
        .arg(format!("--admission-cert-dir={}", text(folder.path())))
        .start();
    webhook.ready();
    let world = World::at_lane(Lane::own(), "none");
    let kube = world.kube();
    // What stood before the rules came.
    let old = world.record("old");
    old.put(&a("OLD", "2001:db8::1"), &json!({}));
    old.change(&json!({ "metadata": { "finalizers": ["example.com/other"] } }));
    kube.post(CONFIGURATIONS, &configuration(port, &certificate.ca_pem)).expect_success();
    let probe = world.record("probe");
    until("the webhook to be asked", LATER, || {
        let collection = probe.path.rsplit_once('/').expect("a path").0;
        let answer =
            kube.post(&format!("{collection}?dryRun=All"), &probe.object(&a("UPPER", "192.0.2.1"), &json!({})));
        answer.status == 422
    });

    for (name, spec, texts) in [
        ("type", with(a("x", "192.0.2.1"), &json!({ "type": "" })), ["spec.type", "Required"]),
        ("secret", with(a("x", "192.0.2.1"), &json!({ "secretRef": {} })), ["spec.secretRef.name", "Required"]),
        ("region", with(a("x", "192.0.2.1"), &json!({ "region": "" })), ["spec.region", "Invalid"]),
        ("zone", with(a("x", "192.0.2.1"), &json!({ "zone": "" })), ["spec.zone", "Invalid"]),
        ("upper", a("WEB", "192.0.2.1"), ["spec.name", "lower-case"]),
        ("single", with(a("x", "192.0.2.1"), &json!({ "name": "com" })), ["spec.name", "two labels"]),
        ("underscore", a("a_b", "192.0.2.1"), ["spec.name", "letters, digits and hyphens"]),
        ("wildcard", record("*", "TXT", &["t"]), ["spec.name", "no wildcard"]),
        ("kind", record("x", "MX", &["10 mail"]), ["spec.recordType", "A, AAAA, CNAME, TXT"]),
        ("none", record("x", "A", &[]), ["spec.values", "Required"]),
        ("two", record("x", "CNAME", &["a.test", "b.test"]), ["spec.values", "exactly one"]),
        ("target", record("x", "CNAME", &["nothing"]), ["spec.values[0]", "two labels"]),
        ("four", record("x", "A", &["2001:db8::1"]), ["spec.values[0]", "AAAA records"]),
        ("six", record("x", "AAAA", &["192.0.2.1"]), ["spec.values[0]", "A records"]),
        ("ttl", with(a("x", "192.0.2.1"), &json!({ "ttl": -1 })), ["spec.ttl", "2147483647"]),
        ("large", with(a("x", "192.0.2.1"), &json!({ "ttl": 2_147_483_648_i64 })), ["spec.ttl", "2147483647"]),
    ] {
        refused(&world.record(name), &spec, &texts);
    }
    // Every error at once.
    let everything = json!({ "type": "", "name": "COM", "recordType": "MX", "values": [], "secretRef": {} });
    refused(
        &world.record("all"),
        &everything,
        &["spec.type", "spec.name", "spec.recordType", "spec.values", "secretRef"],
    );

    for (name, spec) in [
        ("good", a("web", "192.0.2.1")),
        ("dot", with(a("x", "192.0.2.1"), &json!({ "name": "web.shop.test." }))),
        ("challenge", with(record("x", "TXT", &["", "t"]), &json!({ "name": "_acme-challenge.shop.test" }))),
        ("zero", with(a("x", "192.0.2.1"), &json!({ "ttl": 0 }))),
        ("star", a("*", "192.0.2.1")),
    ] {
        world.record(name).put(&spec, &json!({}));
    }
    let good = world.record("good");
    for (field, value) in [("type", "azure-dns"), ("name", "b.shop.test"), ("recordType", "AAAA")] {
        change_refused(&good, &json!({ field: value }), &[&format!("spec.{field}"), "cannot change"]);
    }
    good.change(&json!({ "spec": { "ttl": 60, "zone": "Z1", "region": "r", "values": ["192.0.2.2"] } }));
    // A class may come and go; that it never becomes another is the schema's own rule.
    good.change(&json!({ "spec": { "class": "seed" } }));
    change_refused(&good, &json!({ "class": "garden" }), &["immutable"]);
    good.change(&json!({ "spec": { "class": null } }));
    // What only the provider knows is kept as it is.
    let unknown = json!({ "proxied": true, "deep": [{ "a": 1 }] });
    good.change(&json!({ "spec": { "providerConfig": unknown } }));
    good.set_status(&json!({ "state": unknown, "providerStatus": unknown }));
    let object = good.get();
    assert_eq!((&object["spec"]["providerConfig"], &object["status"]["state"]), (&unknown, &unknown));

    good.change(&json!({ "metadata": { "finalizers": ["example.com/other"] } }));
    good.delete();
    change_refused(&good, &json!({ "ttl": 30 }), &["spec: Forbidden", "being deleted"]);
    // A finalizer can go, also of an object from before the rules.
    for object in [&good, &old] {
        object.change(&json!({ "metadata": { "annotations": { "a": "b" } } }));
        if object.name == "old" {
            object.delete();
        }
        object.change(&json!({ "metadata": { "finalizers": null } }));
        object.is_gone();
    }

    // A new certificate of a new authority, without a restart.
    let renewed = tempfile::tempdir().expect("a folder");
    let certificate = Certificate::write(renewed.path());
    for file in ["tls.crt", "tls.key"] {
        fs::copy(renewed.path().join(file), folder.path().join(file)).expect("the certificate is renewed");
    }
    let path = format!("{CONFIGURATIONS}/zonewright-gardener-admission");
    let webhooks = configuration(port, &certificate.ca_pem)["webhooks"].clone();
    kube.patch(&path, &json!({ "webhooks": webhooks })).expect_success();
    webhook.says(&["the certificate was renewed"]);
    until("the new certificate to be trusted", LATER, || {
        let collection = probe.path.rsplit_once('/').expect("a path").0;
        let object = probe.object(&a("web", "192.0.2.1"), &json!({}));
        kube.post(&format!("{collection}?dryRun=All"), &object).status == 201
    });
    assert!(webhook.terminate().status.success());
}

/// Of the schema alone: the columns that `kubectl get` shows, and the short name.
#[test]
fn what_kubectl_shows_of_the_kind() {
    let crd: Value = serde_saphyr::from_str(&deploy("crds/dnsrecords.yaml")).expect("YAML");
    let columns: Vec<&str> = crd["spec"]["versions"][0]["additionalPrinterColumns"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|column| column["name"].as_str())
        .collect();
    assert_eq!(columns, ["Type", "Domain Name", "Record Type", "Status", "Age"]);
    assert_eq!(crd["spec"]["names"]["shortNames"], json!(["dns"]));
}
