use std::collections::BTreeMap;

use zonewright_core::catalog::FlagValue;
use zonewright_core::shared::Shared;

use super::*;

const FILE: &str =
    r#"{"tenantId":"t","subscriptionId":"sub","resourceGroup":"shop","aadClientId":"c","aadClientSecret":"s3cret"}"#;

fn parse(file: &str, given: &[(&'static str, FlagValue)]) -> Result<Config> {
    let mut settings = Settings::default();
    settings.set("azure-maxretries-count", FlagValue::Int(3), false);
    settings.set("azure-config-file", text("/nowhere/azure.json"), false);
    for (name, value) in given {
        settings.set(name, value.clone(), true);
    }
    let credentials = [("azure.json", file)].into_iter().filter(|(_, text)| !text.is_empty());
    let config = ProviderConfig {
        instance: InstanceId::from("azure"),
        settings,
        credentials: credentials.map(|(key, text)| (key.to_owned(), text.into())).collect::<BTreeMap<_, _>>(),
        shared: Shared::default(),
    };
    Config::parse(&config, Kind::Public, &|_| None)
}

fn text(text: &str) -> FlagValue {
    FlagValue::Text(text.to_owned())
}

#[test]
fn the_file_says_where_the_zones_are_and_flags_say_more() {
    let config = parse(FILE, &[]).unwrap();
    assert_eq!((config.subscription.as_str(), config.group.as_str()), ("sub", "shop"));
    assert_eq!((config.endpoint.as_str(), config.attempts), ("https://management.azure.com", 4));
    let given = [("azure-subscription-id", text("other")), ("azure-resource-group", text(" mail "))];
    let config = parse(FILE, &given).unwrap();
    assert_eq!((config.subscription.as_str(), config.group.as_str()), ("other", "mail"));
}

#[test]
fn repeats() {
    for (flag, expected) in [(3, 4), (0, 4), (-1, 1), (7, 8)] {
        assert_eq!(attempts(flag), expected, "{flag}");
    }
}

#[test]
fn what_is_missing_is_named_and_nothing_is_given_away() {
    for (file, given, named) in [
        ("", vec![], "failed to read Azure config file '/nowhere/azure.json'"),
        ("{", vec![], "failed to read Azure config file"),
        (r#"{"cloud":"Mars"}"#, vec![], "unknown cloud name"),
        (r#"{"resourceGroup":"g"}"#, vec![], "--azure-subscription-id"),
        (r#"{"subscriptionId":"s"}"#, vec![], "--azure-resource-group"),
        (r#"{"subscriptionId":"s","resourceGroup":"g"}"#, vec![], "no credentials provided for Azure API"),
        ("", vec![("azure-config-file", text(""))], "no Azure config file specified"),
    ] {
        let error = parse(file, &given).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Configuration);
        assert!(error.to_string().contains(named) && !error.to_string().contains("s3cret"), "{error}");
    }
}

/// No flag is taken and then forgotten.
#[test]
fn every_flag_changes_something() {
    let names = |name: &str| FlagValue::List(vec![name.to_owned()]);
    let values: &[(&'static str, FlagValue)] = &[
        ("azure-resource-group", text("other")),
        ("azure-subscription-id", text("other")),
        ("azure-user-assigned-identity-client-id", text("identity")),
        ("azure-zones-cache-duration", FlagValue::Duration { length: Duration::from_secs(7), negative: false }),
        ("azure-maxretries-count", FlagValue::Int(7)),
        ("azure-api-qps", FlagValue::Int(7)),
        ("zone-id-filter", names("z1")),
        ("zone-name-filter", names("example.org")),
    ];
    let machine = r#"{"subscriptionId":"sub","resourceGroup":"shop","useManagedIdentityExtension":true}"#;
    let shown = |given: &[(&'static str, FlagValue)]| format!("{:?}", parse(machine, given).unwrap());
    // The Secret's text goes before a file.
    for flag in FLAGS.iter().filter(|flag| flag.name != "azure-config-file") {
        let value = values.iter().find(|(name, _)| *name == flag.name);
        let value = value.unwrap_or_else(|| panic!("--{} has no line here", flag.name)).clone();
        assert_ne!(shown(&[value]), shown(&[]), "--{}", flag.name);
    }
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), FILE.replace("shop", "of-the-file")).unwrap();
    let given = [("azure-config-file", text(file.path().to_str().unwrap()))];
    assert_eq!(parse("", &given).unwrap().group, "of-the-file");
}

/// A Secret that names no cloud is of the cloud of the file that the flag names; one that names a cloud is of that.
#[test]
fn a_secret_without_a_cloud_is_of_that_of_the_process() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("azure.json");
    let stack = r#"{"cloud":"AzureStackCloud","activeDirectoryAuthorityHost":"https://login.local",
        "resourceManagerEndpoint":"https://arm.local","aadClientSecret":"s3cret-of-the-process"}"#;
    std::fs::write(&path, stack).unwrap();
    let given = [("azure-config-file", text(&path.display().to_string()))];
    assert_eq!(parse(FILE, &given).unwrap().endpoint, "https://arm.local");
    assert_eq!(
        parse(FILE, &[]).unwrap().endpoint,
        "https://management.azure.com",
        "the default of the flag is no order"
    );
    let china = FILE.replacen('{', r#"{"cloud":"AzureChinaCloud","#, 1);
    assert_eq!(parse(&china, &given).unwrap().endpoint, "https://management.chinacloudapi.cn");
    let missing = parse(FILE, &[("azure-config-file", text("/nowhere/azure.json"))]).unwrap_err();
    assert!(missing.to_string().contains("/nowhere/azure.json"), "{missing}");
}
