use std::collections::BTreeMap;

use zonewright_core::catalog::FlagValue;
use zonewright_core::shared::Shared;

use super::*;

fn parse(given: &[(&'static str, FlagValue)], environment: &[(&str, &str)]) -> Result<Config> {
    let mut settings = Settings::default();
    settings.set("google-batch-change-size", FlagValue::Int(1_000), false);
    settings.set("google-api-qps", FlagValue::Int(10), false);
    for (name, value) in given {
        settings.set(name, value.clone(), true);
    }
    let config = ProviderConfig {
        instance: InstanceId::from("default"),
        settings,
        credentials: BTreeMap::new(),
        shared: Shared::default(),
    };
    let variable =
        |name: &str| environment.iter().find(|(known, _)| *known == name).map(|(_, text)| (*text).to_owned());
    Config::parse(&config, &variable)
}

fn text(text: &str) -> FlagValue {
    FlagValue::Text(text.to_owned())
}

#[test]
fn defaults_are_those_of_external_dns() {
    let config = parse(&[], &[]).unwrap();
    assert_eq!((config.base.as_str(), config.pace.batch), ("https://dns.googleapis.com/dns/v1", 1_000));
    assert_eq!((config.project, config.selection.visibility), (None, None));
}

#[test]
fn flags() {
    let given = [
        ("google-project", text(" shop-123 ")),
        ("google-zone-visibility", text("private")),
        ("google-batch-change-size", FlagValue::Int(0)),
        ("zone-id-filter", FlagValue::List(vec![String::new(), " 12 ".to_owned()])),
    ];
    let config = parse(&given, &[(ROOT_VARIABLE, "http://127.0.0.1:1/")]).unwrap();
    assert_eq!(config.base, "http://127.0.0.1:1/dns/v1");
    assert_eq!(config.project.as_deref(), Some("shop-123"));
    assert_eq!((config.pace.batch, config.selection.visibility), (UNLIMITED, Some(Visibility::Private)));
    assert_eq!(config.selection.ids, ["12"]);
}

#[test]
fn no_minute_has_more_requests_than_are_allowed() {
    let rate = parse(&[], &[]).unwrap().pace.rate().unwrap();
    assert_eq!((rate.requests.get() + rate.burst.get(), rate.period), (600, Duration::from_mins(1)));
    assert_eq!(parse(&[("google-api-qps", FlagValue::Int(0))], &[]).unwrap().pace.rate(), None);
}

#[test]
fn what_is_wrong_is_named() {
    for (flag, value) in [
        ("google-batch-change-size", FlagValue::Int(-1)),
        ("google-api-qps", FlagValue::Int(-1)),
        ("google-project", text("my project/x")),
    ] {
        let error = parse(&[(flag, value)], &[]).unwrap_err();
        assert!(error.kind == ErrorKind::Configuration && error.context.contains(flag), "{error}");
    }
}

/// No flag is taken and then forgotten.
#[test]
fn every_flag_changes_something() {
    let values: &[(&'static str, FlagValue)] = &[
        ("google-project", text("shop-123")),
        ("google-batch-change-size", FlagValue::Int(7)),
        ("google-batch-change-interval", FlagValue::Duration { length: Duration::from_secs(7), negative: false }),
        ("google-zone-visibility", text("public")),
        ("google-api-qps", FlagValue::Int(7)),
        ("zone-id-filter", FlagValue::List(vec!["12".to_owned()])),
    ];
    let shown = |given: &[(&'static str, FlagValue)]| format!("{:?}", parse(given, &[]).unwrap());
    for flag in FLAGS {
        let value = values.iter().find(|(name, _)| *name == flag.name);
        let value = value.unwrap_or_else(|| panic!("--{} has no line here", flag.name)).clone();
        assert_ne!(shown(&[value]), shown(&[]), "--{}", flag.name);
    }
}
