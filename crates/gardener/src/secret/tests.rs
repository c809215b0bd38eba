//! Both namings of each type's keys, and what is wrong with a Secret.

use serde_json::json;

use super::*;

/// `key=value` pairs, values as they are.
fn values(pairs: &[&str]) -> SecretValues {
    let pair = |text: &&str| text.split_once('=').map(|(key, value)| (key.to_owned(), value.to_owned().into()));
    SecretValues(pairs.iter().filter_map(pair).collect())
}

/// The credentials and flags that come of it, as `key=value`, sorted.
fn login(kind: ProviderKind, pairs: &[&str], wanted: SpecHints<'_>) -> Result<Vec<String>, String> {
    let login = kind.login(&values(pairs), wanted)?;
    let secrets = login.credentials.iter().map(|(key, value)| format!("{key}={}", value.expose_secret()));
    let flags = login.flags.iter().map(|(key, value)| format!("--{key}={}", text_of(value)));
    Ok(secrets.chain(flags).collect())
}

const NOTHING: SpecHints<'_> = SpecHints { region: None, zone: None, alone: false, tokens: None };

fn federated(place: &str) -> SpecHints<'_> {
    SpecHints { tokens: Some((Path::new("/tokens"), place)), ..NOTHING }
}

/// The name of the file of a Secret.
fn file(place: &str) -> String {
    let name = hex(&Sha256::digest(place.as_bytes()));
    format!("/tokens/{name}")
}

#[test]
fn workload_identities() {
    let check = |kind: ProviderKind, pairs: &[&str], expected: &[String]| {
        let login = kind.login(&values(pairs), federated("ns/dns")).unwrap();
        let shown = login.credentials.iter().map(|(key, value)| format!("{key}={}", value.expose_secret()));
        assert_eq!(shown.collect::<Vec<_>>(), expected);
        let token = login.token.unwrap();
        assert_eq!((token.path.display().to_string(), token.text.expose_secret()), (file("ns/dns"), "t0ken"));
    };
    let path = file("ns/dns");
    let aws = ["region=us-west-2".to_owned(), "roleARN=arn".to_owned(), format!("webIdentityTokenFile={path}")];
    check(ProviderKind::Route53, &["token=t0ken", "roleARN=arn"], &aws);
    check(
        ProviderKind::Route53,
        &["token=t0ken\n", r#"config={"kind":"WorkloadIdentityConfig","roleARN":"arn"}"#],
        &aws,
    );
    let azure = json!({
        "cloud": null, "subscriptionId": "s", "tenantId": "t", "aadClientId": "c", "useWorkloadIdentityExtension": true,
        "aadFederatedTokenFile": path,
    });
    let azure = [format!("azure.json={azure}")];
    check(ProviderKind::AzureDns, &["token=t0ken", "subscriptionID=s", "tenantID=t", "clientID=c"], &azure);
    let config = r#"config={"subscriptionID":"s","tenantID":"t","clientID":"c"}"#;
    check(ProviderKind::AzureDns, &["token=t0ken", config], &azure);
    let external = |source: &str| {
        json!({
            "type": "external_account", "audience": "a", "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
            "token_url": "https://sts.googleapis.com/v1/token", "credential_source": { "file": source },
        })
    };
    let mut expected = external(&path);
    expected["credential_source"]["format"] = json!({ "type": "text" });
    let google = [format!("credentials={expected}")];
    let stated = external("/etc/passwd");
    check(ProviderKind::CloudDns, &["token=t0ken", "projectID=p", &format!("credentialsConfig={stated}")], &google);
    check(ProviderKind::CloudDns, &["token=t0ken", "projectID=p", &format!("config={stated}")], &google);
    let config = json!({ "projectID": "p", "credentialsConfig": stated });
    check(ProviderKind::CloudDns, &["token=t0ken", &format!("config={config}")], &google);
    // Another address would be sent the token.
    for (field, url) in [
        ("token_url", "https://sts.example.com/v1/token"),
        ("service_account_impersonation_url", "https://example.com/:generateAccessToken"),
    ] {
        let mut stated = external("/x");
        stated[field] = url.into();
        let pairs = ["token=t0ken", "projectID=p", &format!("credentialsConfig={stated}")];
        let error = ProviderKind::CloudDns.login(&values(&pairs), federated("ns/dns")).unwrap_err();
        assert!(error.contains(field), "{error}");
    }
}

/// A renewed token is the same account; the same role in another Secret is another one, or naming a role would be enough to have it.
#[test]
fn a_workload_identity_is_that_of_its_secret() {
    let id = |token: &str, place: &str| {
        let pairs = [format!("token={token}"), "roleARN=arn".to_owned()];
        let pairs = pairs.each_ref().map(String::as_str);
        ProviderKind::Route53.login(&values(&pairs), federated(place)).unwrap().id(ProviderKind::Route53)
    };
    assert_eq!(id("one", "ns/dns"), id("two", "ns/dns"));
    assert_ne!(id("one", "ns/dns"), id("one", "other/dns"));
}

#[test]
fn a_token_is_kept_for_this_user_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let keep = |text: &str| {
        let token = WorkloadToken { path: folder.path().join("t"), text: text.into() };
        token.keep().unwrap();
        std::fs::read_to_string(&token.path).unwrap()
    };
    assert_eq!((keep("one"), keep("two"), keep("two")), ("one".into(), "two".into(), "two".into()));
    let mode = std::fs::metadata(folder.path().join("t")).unwrap().permissions().mode();
    assert_eq!(mode & 0o077, 0);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left beside it");
}

#[test]
fn both_namings() {
    let check = |kind: ProviderKind, pairs: &[&str], expected: &[&str]| {
        assert_eq!(login(kind, pairs, NOTHING).unwrap(), expected, "{pairs:?}");
    };
    let aws = ["accessKeyID=id", "region=us-west-2", "secretAccessKey=key"];
    check(ProviderKind::Route53, &["accessKeyID=id", "secretAccessKey=key"], &aws);
    check(ProviderKind::Route53, &["accessKeyId=id", "secretAccessKey=key"], &aws);
    check(ProviderKind::Route53, &["AWS_ACCESS_KEY_ID=id", "AWS_SECRET_ACCESS_KEY=key"], &aws);
    check(ProviderKind::Route53, &["accessKeyID= id\n", "secretAccessKey=\tkey\n"], &aws);
    check(ProviderKind::Route53, &["accessKeyID=id", "AWS_ACCESS_KEY_ID=other", "secretAccessKey=key"], &aws);
    check(ProviderKind::Route53, &["accessKeyID=", "AWS_ACCESS_KEY_ID=id", "secretAccessKey=key"], &aws);
    check(
        ProviderKind::Route53,
        &["AWS_ACCESS_KEY_ID=id", "AWS_SECRET_ACCESS_KEY=key", "AWS_REGION=eu-west-1", "AWS_SESSION_TOKEN=t"],
        &["accessKeyID=id", "region=eu-west-1", "secretAccessKey=key", "sessionToken=t"],
    );
    check(ProviderKind::Cloudflare, &["apiToken=t"], &["apiToken=t"]);
    check(ProviderKind::Cloudflare, &["CLOUDFLARE_API_TOKEN=t "], &["apiToken=t"]);
    let updates = [
        "algorithm=hmac-sha256",
        "server=ns:53",
        "tsigKeyName=k.",
        "tsigSecret=c2VjcmV0",
        "--rfc2136-zone=example.com",
    ];
    check(
        ProviderKind::Rfc2136,
        &[
            "Server=ns:53",
            "Zone=example.com.",
            "TSIGKeyName=k.",
            "TSIGSecret=c2VjcmV0",
            "TSIGSecretAlgorithm=hmac-sha256",
        ],
        &updates,
    );
    check(
        ProviderKind::Rfc2136,
        &["server=ns:53", "zone=Example.com", "tsigKeyName=k.", "tsigSecret=c2VjcmV0", "algorithm=hmac-sha256"],
        &updates,
    );
    let file = r#"azure.json={"aadClientId":"c","aadClientSecret":"x","cloud":"AzureUSGovernmentCloud","subscriptionId":"s","tenantId":"t"}"#;
    let azure = [file, "--azure-resource-group=*"];
    let short = ["subscriptionID=s", "tenantID=t", "clientID=c", "clientSecret=x", "azureCloud=azureGOVERNMENT"];
    check(ProviderKind::AzureDns, &short, &azure);
    check(ProviderKind::AzurePrivateDns, &short, &azure);
    check(
        ProviderKind::AzureDns,
        &[
            "AZURE_SUBSCRIPTION_ID=s",
            "AZURE_TENANT_ID=t",
            "AZURE_CLIENT_ID=c",
            "AZURE_CLIENT_SECRET=x",
            "AZURE_CLOUD=AzureGovernment",
        ],
        &azure,
    );
}

#[test]
fn region_and_project_of_the_spec() {
    let region = SpecHints { region: Some("ap-south-1"), ..NOTHING };
    let found =
        login(ProviderKind::Route53, &["accessKeyID=id", "secretAccessKey=key", "region=eu-west-1"], region).unwrap();
    assert!(found.contains(&"region=ap-south-1".to_owned()), "{found:?}");
    let account = r#"serviceaccount.json={"type":"service_account","project_id":"own"}"#;
    let project = |zone: Option<&str>| {
        let login = ProviderKind::CloudDns.login(&values(&[account]), SpecHints { zone, ..NOTHING }).unwrap();
        login.scope
    };
    let of = |name: &str| ZoneScope::Project(name.to_owned());
    assert_eq!(project(None), of("own"));
    assert_eq!(project(Some("example-com")), of("own"));
    assert_eq!(project(Some("other/example-com")), of("other"));
}

#[test]
fn the_zone_of_dynamic_updates_may_be_in_the_spec() {
    let key = ["server=ns", "tsigKeyName=k", "tsigSecret=c2VjcmV0"];
    let wanted = SpecHints { zone: Some("Example.com."), ..NOTHING };
    let found = login(ProviderKind::Rfc2136, &key, wanted).unwrap();
    assert_eq!(found.last().map(String::as_str), Some("--rfc2136-zone=example.com"));
    assert!(login(ProviderKind::Rfc2136, &key, NOTHING).unwrap_err().contains("spec.zone"));
    let root = [key.as_slice(), &["zone=."]].concat();
    for (pairs, zone) in [(key.as_slice(), Some(".")), (&root, None)] {
        let error = login(ProviderKind::Rfc2136, pairs, SpecHints { zone, ..NOTHING }).unwrap_err();
        assert!(error.contains("the root is not served"), "{error}");
    }
}

#[test]
fn what_is_missing_is_named_and_no_value_is_shown() {
    let check = |kind: ProviderKind, pairs: &[&str], texts: &[&str]| {
        let error = login(kind, pairs, federated("ns/dns")).unwrap_err();
        assert!(texts.iter().all(|text| error.contains(text)), "{error}");
        assert!(!error.contains("s3cr3t"), "{error}");
    };
    check(ProviderKind::Route53, &[], &["accessKeyID or accessKeyId or AWS_ACCESS_KEY_ID", "aws-route53"]);
    check(ProviderKind::Route53, &["accessKeyID=id", "secretAccessKey= "], &["secretAccessKey"]);
    check(ProviderKind::Route53, &["token=s3cr3t"], &["roleARN"]);
    check(ProviderKind::Route53, &["token=s3cr3t", "config=s3cr3t"], &["config is no JSON"]);
    check(ProviderKind::AzureDns, &["token=s3cr3t", "subscriptionID=s", "tenantID=t"], &["clientID"]);
    check(ProviderKind::CloudDns, &["token=s3cr3t", "projectID=p"], &["external_account"]);
    check(ProviderKind::CloudDns, &[], &["serviceaccount.json"]);
    check(ProviderKind::CloudDns, &["serviceaccount.json=s3cr3t"], &["no JSON"]);
    check(
        ProviderKind::CloudDns,
        &[r#"serviceaccount.json={"type":"authorized_user","x":"s3cr3t"}"#],
        &["service_account"],
    );
    check(ProviderKind::CloudDns, &[r#"serviceaccount.json={"type":"service_account"}"#], &["project_id"]);
    // It could name any file of this process, and any address to send it to.
    let external = r#"serviceaccount.json={"type":"external_account","credential_source":{"file":"/s3cr3t"}}"#;
    check(ProviderKind::CloudDns, &[external], &["credentialsConfig"]);
    check(ProviderKind::AzureDns, &["subscriptionID=s"], &["tenantID or AZURE_TENANT_ID"]);
    check(ProviderKind::Cloudflare, &["apiKey=s3cr3t"], &["apiToken or CLOUDFLARE_API_TOKEN"]);
    check(ProviderKind::Rfc2136, &["Server=ns", "Zone=z"], &["tsigKeyName or TSIGKeyName"]);
}

/// A zone is named with its subscription, as one of Google is with its project.
#[test]
fn the_subscription_of_the_zone_counts_before_that_of_the_secret() {
    let principal = ["subscriptionID=own", "tenantID=t", "clientID=c", "clientSecret=x"];
    let identity = ["token=t0ken", "subscriptionID=own", "tenantID=t", "clientID=c"];
    for pairs in [principal, identity] {
        for (zone, expected) in [
            (None, "own"),
            (Some("rg/example.com"), "own"),
            (Some("subscriptions/other"), "own"),
            (Some("/subscriptions//resourceGroups/rg"), "own"),
            (Some("/Subscriptions/OWN/resourceGroups/rg/providers/microsoft.network/dnszones/x.y"), "own"),
            (Some(" /subscriptions/other/resourcegroups/rg/providers/microsoft.network/dnszones/x.y"), "other"),
        ] {
            let wanted = SpecHints { zone, ..federated("ns/a") };
            let login = ProviderKind::AzureDns.login(&values(&pairs), wanted).unwrap();
            assert_eq!(login.scope, ZoneScope::Subscription(expected.to_owned()), "{zone:?}");
        }
    }
}

#[test]
fn another_secret_is_another_account_and_the_same_is_the_same() {
    let id = |kind: ProviderKind, pairs: &[&str]| kind.login(&values(pairs), NOTHING).unwrap().id(kind);
    let one = id(ProviderKind::Route53, &["accessKeyID=id", "secretAccessKey=key"]);
    assert_eq!(one, id(ProviderKind::Route53, &["AWS_ACCESS_KEY_ID=id ", "AWS_SECRET_ACCESS_KEY=key"]));
    assert_ne!(one, id(ProviderKind::Route53, &["accessKeyID=id", "secretAccessKey=new"]));
    assert_ne!(one, id(ProviderKind::Route53, &["accessKeyID=id", "secretAccessKey=key", "region=eu-west-1"]));
    assert_ne!(one, id(ProviderKind::Cloudflare, &["apiToken=key"]));
    let of_zone = |alone: bool| {
        let wanted = SpecHints { zone: Some("0a1b"), alone, ..NOTHING };
        ProviderKind::Cloudflare.login(&values(&["apiToken=key"]), wanted).unwrap().id(ProviderKind::Cloudflare)
    };
    assert_eq!(of_zone(false), id(ProviderKind::Cloudflare, &["apiToken=key"]));
    assert_ne!(of_zone(true), of_zone(false), "it has that zone and no other");
}

#[test]
fn values_come_in_base64() {
    let secret: SecretObject =
        serde_json::from_str(r#"{ "data": { "apiToken": "dG9rZW4K", "bad": "%%%", "bytes": "/w==" } }"#).unwrap();
    let values = SecretValues::of(&secret);
    assert_eq!(values.first(&["bad", "bytes", "apiToken"]), Some("token"));
    assert!(!format!("{values:?} {secret:?}").contains("token\n"), "secrets never print");
}
