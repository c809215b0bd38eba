use std::collections::BTreeMap;

use zonewright_core::catalog::FlagValue;
use zonewright_core::shared::Shared;

use super::*;

fn parse(given: &[(&'static str, FlagValue)], environment: &[(&str, &str)]) -> Result<Config, Error> {
    let mut settings = Settings::default();
    settings.set("batch-change-size", FlagValue::Int(200), false);
    settings.set("cloudflare-api-qps", FlagValue::Int(4), false);
    settings.set("cloudflare-dns-records-per-page", FlagValue::Int(5_000), false);
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
    Config::parse(&config, variable)
}

const TOKENED: &[(&str, &str)] = &[("CF_API_TOKEN", "t0ken")];

#[test]
fn defaults_are_those_of_external_dns_but_for_larger_pages() {
    let config = parse(&[], TOKENED).unwrap();
    assert_eq!((config.page, config.pace.batch, config.base.as_str()), (Some(5_000), 200, BASE));
    assert_eq!(config.defaults, Defaults::default());
    assert!(!format!("{config:?}").contains("t0ken"));
}

#[test]
fn no_window_has_more_requests_than_the_service_allows() {
    let rate = parse(&[], TOKENED).unwrap().pace.rate().unwrap();
    assert_eq!((rate.requests.get() + rate.burst.get(), rate.period), (1_200, Duration::from_mins(5)));
    assert_eq!(parse(&[("cloudflare-api-qps", FlagValue::Int(0))], TOKENED).unwrap().pace.rate(), None);
}

#[test]
fn a_region_switches_regions_on() {
    let text = |text: &str| FlagValue::Text(text.to_owned());
    let region = |given: &[(&'static str, FlagValue)]| parse(given, TOKENED).unwrap().defaults.region;
    assert_eq!(region(&[("cloudflare-region-key", text("eu"))]).as_deref(), Some("eu"));
    assert_eq!(region(&[("cloudflare-regional-services", FlagValue::Bool(true))]).as_deref(), Some(""));
    assert_eq!(region(&[]), None);
}

#[test]
fn what_is_wrong_is_named() {
    let int = FlagValue::Int;
    for (given, environment, named) in [
        (vec![("cloudflare-dns-records-per-page", int(5_001))], TOKENED, "--cloudflare-dns-records-per-page"),
        (vec![("batch-change-size", int(0))], TOKENED, "--batch-change-size"),
        (vec![("cloudflare-api-qps", int(-1))], TOKENED, "--cloudflare-api-qps"),
        (vec![], &[], "CF_API_TOKEN"),
        (vec![], &[("CF_API_KEY", "k")], "CF_API_EMAIL"),
    ] {
        let error = parse(&given, environment).unwrap_err();
        assert!(error.kind == ErrorKind::Configuration && error.context.contains(named), "{error}");
    }
}

#[test]
fn the_service_may_be_elsewhere() {
    let environment = [TOKENED[0], ("CLOUDFLARE_BASE_URL", "http://127.0.0.1:1/client/v4")];
    assert_eq!(parse(&[], &environment).unwrap().base, "http://127.0.0.1:1/client/v4");
}

/// No flag is taken and then forgotten.
#[test]
fn every_flag_changes_something() {
    let text = |text: &str| FlagValue::Text(text.to_owned());
    let values: &[(&'static str, FlagValue)] = &[
        ("cloudflare-proxied", FlagValue::Bool(true)),
        ("cloudflare-custom-hostnames", FlagValue::Bool(true)),
        ("cloudflare-custom-hostnames-min-tls-version", text("1.3")),
        ("cloudflare-custom-hostnames-certificate-authority", text("google")),
        ("cloudflare-dns-records-per-page", FlagValue::Int(7)),
        ("cloudflare-regional-services", FlagValue::Bool(true)),
        ("cloudflare-region-key", text("eu")),
        ("cloudflare-record-comment", text("managed")),
        ("cloudflare-api-qps", FlagValue::Int(7)),
        ("batch-change-size", FlagValue::Int(7)),
        ("batch-change-interval", FlagValue::Duration { length: Duration::from_secs(7), negative: false }),
        ("zone-id-filter", FlagValue::List(vec!["z1".to_owned()])),
    ];
    let shown = |given: &[(&'static str, FlagValue)]| format!("{:?}", parse(given, TOKENED).unwrap());
    for flag in FLAGS {
        let value = values.iter().find(|(name, _)| *name == flag.name);
        let value = value.unwrap_or_else(|| panic!("--{} has no line here", flag.name)).clone();
        // Both are of custom host names.
        let base = [("cloudflare-custom-hostnames", FlagValue::Bool(true))];
        let base: Vec<_> = base.into_iter().filter(|(name, _)| flag.name.starts_with(&format!("{name}-"))).collect();
        assert_ne!(shown(&[base.clone(), vec![value]].concat()), shown(&base), "--{}", flag.name);
    }
}
