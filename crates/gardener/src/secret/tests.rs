//! Both namings of each type's keys, and what is wrong with a Secret.

use super::*;

/// `key=value` pairs, values as they are.
fn values(pairs: &[&str]) -> Values {
    let pair = |text: &&str| text.split_once('=').map(|(key, value)| (key.to_owned(), value.to_owned().into()));
    Values(pairs.iter().filter_map(pair).collect())
}

/// The credentials and flags that come of it, as `key=value`, sorted.
fn login(kind: Kind, pairs: &[&str], wanted: Wanted<'_>) -> Result<Vec<String>, String> {
    let login = kind.login(&values(pairs), wanted)?;
    let secrets = login.credentials.iter().map(|(key, value)| format!("{key}={}", value.expose_secret()));
    let flags = login.flags.iter().map(|(key, value)| format!("--{key}={}", text_of(value)));
    Ok(secrets.chain(flags).collect())
}

const NOTHING: Wanted<'_> = Wanted { region: None, zone: None };

#[test]
fn both_namings() {
    let check = |kind: Kind, pairs: &[&str], expected: &[&str]| {
        assert_eq!(login(kind, pairs, NOTHING).unwrap(), expected, "{pairs:?}");
    };
    let aws = ["accessKeyID=id", "region=us-west-2", "secretAccessKey=key"];
    check(Kind::Route53, &["accessKeyID=id", "secretAccessKey=key"], &aws);
    check(Kind::Route53, &["accessKeyId=id", "secretAccessKey=key"], &aws);
    check(Kind::Route53, &["AWS_ACCESS_KEY_ID=id", "AWS_SECRET_ACCESS_KEY=key"], &aws);
    check(Kind::Route53, &["accessKeyID= id\n", "secretAccessKey=\tkey\n"], &aws);
    check(Kind::Route53, &["accessKeyID=id", "AWS_ACCESS_KEY_ID=other", "secretAccessKey=key"], &aws);
    check(Kind::Route53, &["accessKeyID=", "AWS_ACCESS_KEY_ID=id", "secretAccessKey=key"], &aws);
    check(
        Kind::Route53,
        &["AWS_ACCESS_KEY_ID=id", "AWS_SECRET_ACCESS_KEY=key", "AWS_REGION=eu-west-1", "AWS_SESSION_TOKEN=t"],
        &["accessKeyID=id", "region=eu-west-1", "secretAccessKey=key", "sessionToken=t"],
    );
    check(Kind::Cloudflare, &["apiToken=t"], &["apiToken=t"]);
    check(Kind::Cloudflare, &["CLOUDFLARE_API_TOKEN=t "], &["apiToken=t"]);
    let updates = [
        "algorithm=hmac-sha256",
        "server=ns:53",
        "tsigKeyName=k.",
        "tsigSecret=c2VjcmV0",
        "--rfc2136-zone=example.com",
    ];
    check(
        Kind::Rfc2136,
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
        Kind::Rfc2136,
        &["server=ns:53", "zone=Example.com", "tsigKeyName=k.", "tsigSecret=c2VjcmV0", "algorithm=hmac-sha256"],
        &updates,
    );
    let file = r#"azure.json={"aadClientId":"c","aadClientSecret":"x","cloud":"AzureUSGovernmentCloud","subscriptionId":"s","tenantId":"t"}"#;
    let azure = [file, "--azure-resource-group=*"];
    let short = ["subscriptionID=s", "tenantID=t", "clientID=c", "clientSecret=x", "azureCloud=azureGOVERNMENT"];
    check(Kind::AzureDns, &short, &azure);
    check(Kind::AzurePrivateDns, &short, &azure);
    check(
        Kind::AzureDns,
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
    let region = Wanted { region: Some("ap-south-1"), zone: None };
    let found = login(Kind::Route53, &["accessKeyID=id", "secretAccessKey=key", "region=eu-west-1"], region).unwrap();
    assert!(found.contains(&"region=ap-south-1".to_owned()), "{found:?}");
    let account = r#"serviceaccount.json={"type":"service_account","project_id":"own"}"#;
    let project = |zone: Option<&str>| {
        let login = Kind::CloudDns.login(&values(&[account]), Wanted { region: None, zone }).unwrap();
        login.scope
    };
    let of = |name: &str| Scope::Project(name.to_owned());
    assert_eq!(project(None), of("own"));
    assert_eq!(project(Some("example-com")), of("own"));
    assert_eq!(project(Some("other/example-com")), of("other"));
}

#[test]
fn the_zone_of_dynamic_updates_may_be_in_the_spec() {
    let key = ["server=ns", "tsigKeyName=k", "tsigSecret=c2VjcmV0"];
    let wanted = Wanted { region: None, zone: Some("Example.com.") };
    let found = login(Kind::Rfc2136, &key, wanted).unwrap();
    assert_eq!(found.last().map(String::as_str), Some("--rfc2136-zone=example.com"));
    assert!(login(Kind::Rfc2136, &key, NOTHING).unwrap_err().contains("spec.zone"));
}

#[test]
fn what_is_missing_is_named_and_no_value_is_shown() {
    let check = |kind: Kind, pairs: &[&str], texts: &[&str]| {
        let error = login(kind, pairs, NOTHING).unwrap_err();
        assert!(texts.iter().all(|text| error.contains(text)), "{error}");
        assert!(!error.contains("s3cr3t"), "{error}");
    };
    check(Kind::Route53, &[], &["accessKeyID or accessKeyId or AWS_ACCESS_KEY_ID", "aws-route53"]);
    check(Kind::Route53, &["accessKeyID=id", "secretAccessKey= "], &["secretAccessKey"]);
    check(Kind::Route53, &["token=s3cr3t", "roleARN=arn"], &["workload identity"]);
    check(Kind::CloudDns, &[], &["serviceaccount.json"]);
    check(Kind::CloudDns, &["serviceaccount.json=s3cr3t"], &["no JSON"]);
    check(Kind::CloudDns, &[r#"serviceaccount.json={"type":"authorized_user","x":"s3cr3t"}"#], &["service_account"]);
    check(Kind::CloudDns, &[r#"serviceaccount.json={"type":"service_account"}"#], &["project_id"]);
    check(Kind::AzureDns, &["subscriptionID=s"], &["tenantID or AZURE_TENANT_ID"]);
    check(Kind::Cloudflare, &["apiKey=s3cr3t"], &["apiToken or CLOUDFLARE_API_TOKEN"]);
    check(Kind::Rfc2136, &["Server=ns", "Zone=z"], &["tsigKeyName or TSIGKeyName"]);
}

#[test]
fn another_secret_is_another_account_and_the_same_is_the_same() {
    let id = |kind: Kind, pairs: &[&str]| kind.login(&values(pairs), NOTHING).unwrap().id(kind);
    let one = id(Kind::Route53, &["accessKeyID=id", "secretAccessKey=key"]);
    assert_eq!(one, id(Kind::Route53, &["AWS_ACCESS_KEY_ID=id ", "AWS_SECRET_ACCESS_KEY=key"]));
    assert_ne!(one, id(Kind::Route53, &["accessKeyID=id", "secretAccessKey=new"]));
    assert_ne!(one, id(Kind::Route53, &["accessKeyID=id", "secretAccessKey=key", "region=eu-west-1"]));
    assert_ne!(one, id(Kind::Cloudflare, &["apiToken=key"]));
}

#[test]
fn values_come_in_base64() {
    let secret: SecretObject =
        serde_json::from_str(r#"{ "data": { "apiToken": "dG9rZW4K", "bad": "%%%", "bytes": "/w==" } }"#).unwrap();
    let values = Values::of(&secret);
    assert_eq!(values.first(&["bad", "bytes", "apiToken"]), Some("token"));
    assert!(!format!("{values:?} {secret:?}").contains("token\n"), "secrets never print");
}
