use secrecy::SecretString;

use super::*;

/// Settings as the parser makes them: each flag with its default, and what is given.
fn config(given: &[(&'static str, FlagValue)]) -> ProviderConfig {
    let mut settings = Settings::default();
    for flag in FLAGS {
        let value = match flag.kind {
            FlagKind::Bool => FlagValue::Bool(flag.default == "true"),
            FlagKind::Int => FlagValue::Int(flag.default.parse().unwrap()),
            FlagKind::Duration => {
                let seconds = flag.default.trim_end_matches('s').parse().unwrap();
                FlagValue::Duration { length: Duration::from_secs(seconds), negative: false }
            }
            _ => continue,
        };
        settings.set(flag.name, value, false);
    }
    for (name, value) in given {
        settings.set(name, value.clone(), true);
    }
    ProviderConfig {
        instance: InstanceId::from("aws"),
        settings,
        credentials: BTreeMap::new(),
        shared: zonewright_core::shared::Shared::default(),
    }
}

fn list(texts: &[&str]) -> FlagValue {
    FlagValue::List(texts.iter().map(|text| (*text).to_owned()).collect())
}

#[test]
fn defaults_are_the_services_limits() {
    let config = Config::parse(&config(&[])).unwrap();
    let batch = config.batch;
    assert_eq!((batch.changes, batch.values, batch.size), (1_000, Some(1_000), Some(32_000)));
    assert_eq!((batch.interval, batch.update), (Duration::from_secs(1), 2));
    assert_eq!((config.accounts.len(), config.pace.qps, config.pace.attempts), (1, 5, 3));
    assert!(config.evaluate_health && !config.prefer_cname);
}

#[test]
fn more_than_the_service_takes_is_not_sent() {
    let large = FlagValue::Int(50_000);
    let flags = ["aws-batch-change-size", "aws-batch-change-size-bytes", "aws-batch-change-size-values"];
    let batch = Config::parse(&config(&flags.map(|flag| (flag, large.clone())))).unwrap().batch;
    assert_eq!((batch.changes, batch.values, batch.size), (1_000, Some(1_000), Some(32_000)));
}

#[test]
fn accounts() {
    let given = [
        ("aws-profile", list(&["one", "", "two"])),
        ("aws-assume-role", FlagValue::Text("arn:aws:iam::1:role/dns".to_owned())),
        ("aws-assume-role-external-id", FlagValue::Secret("s3cret".into())),
        ("aws-zone-role", FlagValue::Map([("/hostedzone/Z1".to_owned(), "arn:aws:iam::2:role/z".to_owned())].into())),
    ];
    let config = Config::parse(&config(&given)).unwrap();
    let shown: Vec<String> = config.accounts.iter().map(ToString::to_string).collect();
    assert_eq!(shown, ["role arn:aws:iam::1:role/dns by profile one", "role arn:aws:iam::1:role/dns by profile two"]);
    let (zone, access) = config.zone_roles.first_key_value().unwrap();
    assert_eq!((zone.as_str(), access.to_string()), ("Z1", "role arn:aws:iam::2:role/z by profile one".to_owned()));
    assert!(!format!("{config:?}").contains("s3cret"), "a secret is printed");
}

#[test]
fn a_secret_takes_the_place_of_flags() {
    let mut from = config(&[]);
    for (key, value) in [("accessKeyID", "AKID"), ("secretAccessKey", "s3cret"), ("region", "eu-west-1")] {
        from.credentials.insert(key.to_owned(), SecretString::from(value));
    }
    let config = Config::parse(&from).unwrap();
    assert_eq!(config.accounts[0].to_string(), "access key AKID");
    assert_eq!(config.accounts[0].region.as_deref(), Some("eu-west-1"));
    assert!(!format!("{config:?}").contains("s3cret"), "a secret is printed");
}

#[test]
fn bad_flags_are_named() {
    for (flag, value) in [
        ("aws-batch-change-size", FlagValue::Int(0)),
        ("aws-batch-change-size-values", FlagValue::Int(-1)),
        ("aws-api-retries", FlagValue::Int(-1)),
        ("aws-api-qps", FlagValue::Int(-5)),
        ("aws-zone-vpc", list(&["vpc-1"])),
        ("aws-zone-vpc", list(&["eu-west-1/1"])),
        ("aws-zone-role", FlagValue::Map([("Z1".to_owned(), "role".to_owned())].into())),
        ("regex-domain-filter", FlagValue::Text("(".to_owned())),
    ] {
        let error = Config::parse(&config(&[(flag, value)])).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Configuration);
        assert!(error.context.contains(flag), "{flag}: {error}");
    }
}

/// As in external-dns: <https://kubernetes-sigs.github.io/external-dns/latest/docs/tutorials/aws/>.
#[test]
fn tags_of_zones() {
    for (given, expected) in [
        (&["team"] as &[&str], vec![("team", None)]),
        (&[" team = "], vec![("team", None)]),
        (&["team=a=b", "stage"], vec![("stage", None), ("team", Some("a=b"))]),
        (&["=x", " ", "="], vec![]),
        (&["team=a", "team=b"], vec![("team", Some("b"))]),
    ] {
        let select = Config::parse(&config(&[("aws-zone-tags", list(given))])).unwrap().select;
        let tags: Vec<_> = select.tags.iter().map(|(key, value)| (key.as_str(), value.as_deref())).collect();
        assert_eq!(tags, expected, "{given:?}");
    }
}

/// What the log says of an entry without a tag is what becomes of the zones.
#[test]
fn an_entry_without_a_tag_narrows_nothing_and_says_so() {
    let said = |texts: &[&str]| tags(&texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>()).1;
    let alone = "--aws-zone-tags==x names no tag, so it narrows nothing; without another tag every zone is taken, whatever its tags";
    assert_eq!(said(&["=x"]), [alone]);
    assert_eq!(said(&["=x", "team=web"]), ["--aws-zone-tags==x names no tag, so it narrows nothing"]);
    assert_eq!(said(&["team", "team=web"]), [] as [&str; 0]);
}

/// It is for the role of a zone as well, and without any role it is for nothing.
#[test]
fn an_external_id_needs_no_role_of_the_account() {
    let id = ("aws-assume-role-external-id", FlagValue::Secret("s3cret".into()));
    assert!(Config::parse(&config(std::slice::from_ref(&id))).is_ok());
    let roles = FlagValue::Map([("Z1".to_owned(), "arn:aws:iam::2:role/z".to_owned())].into());
    let config = Config::parse(&config(&[id, ("aws-zone-role", roles)])).unwrap();
    let (_, access) = config.zone_roles.first_key_value().unwrap();
    let id = access.external_id.as_ref().map(SecretString::expose_secret);
    assert_eq!(id, Some("s3cret"));
}

/// No flag is taken and then forgotten.
#[test]
fn every_flag_changes_something() {
    let text = |text: &str| FlagValue::Text(text.to_owned());
    let role = ("aws-assume-role", text("arn:aws:iam::1:role/dns"));
    let values: &[(&'static str, FlagValue)] = &[
        ("aws-zone-type", text("private")),
        ("aws-zone-tags", list(&["team=web"])),
        ("aws-zone-vpc", list(&["eu-west-1/vpc-0a1b2c"])),
        ("aws-zone-role", FlagValue::Map([("Z1".to_owned(), "arn:aws:iam::2:role/z".to_owned())].into())),
        ("aws-profile", list(&["other"])),
        ("aws-assume-role", role.1.clone()),
        ("aws-assume-role-external-id", FlagValue::Secret("s3cret".into())),
        ("aws-batch-change-size", FlagValue::Int(7)),
        ("aws-batch-change-size-bytes", FlagValue::Int(7)),
        ("aws-batch-change-size-values", FlagValue::Int(7)),
        ("aws-batch-change-interval", FlagValue::Duration { length: Duration::from_secs(7), negative: false }),
        ("aws-evaluate-target-health", FlagValue::Bool(false)),
        ("aws-api-retries", FlagValue::Int(7)),
        ("aws-api-qps", FlagValue::Int(7)),
        ("aws-prefer-cname", FlagValue::Bool(true)),
        ("aws-zones-cache-duration", FlagValue::Duration { length: Duration::from_secs(7), negative: false }),
        ("aws-zone-match-parent", FlagValue::Bool(true)),
        ("zone-id-filter", list(&["Z1"])),
    ];
    let shown = |given: &[(&'static str, FlagValue)]| format!("{:?}", Config::parse(&config(given)).unwrap());
    for flag in FLAGS {
        let value = values.iter().find(|(name, _)| *name == flag.name);
        let value = value.unwrap_or_else(|| panic!("--{} has no line here", flag.name)).clone();
        // An external id is for a role.
        let base: Vec<_> = [role.clone()].into_iter().filter(|_| flag.name.ends_with("external-id")).collect();
        assert_ne!(shown(&[base.clone(), vec![value]].concat()), shown(&base), "--{}", flag.name);
    }
}
