//! The grammar and the checks, as the specification of external-dns states them, and our own rules.

mod checks;
mod grammar;
mod tables;
mod words;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::time::Duration;

use proptest::prelude::*;
use secrecy::ExposeSecret;
use zonewright_core::catalog::{FlagKind, FlagSpec, FlagValue, ProviderEntry};
use zonewright_core::options::OptionTable;
use zonewright_core::{Error, ErrorKind};

use super::set::Owner;
use super::*;

const fn entry(name: &'static str, aliases: &'static [&'static str], flags: &'static [FlagSpec]) -> ProviderEntry {
    ProviderEntry {
        name,
        aliases,
        about: "for tests",
        flags,
        options: OptionTable::NONE,
        secret_keys: &[],
        build: |_| Box::pin(async { Err(Error::new(ErrorKind::Unsupported, "build", "a test builds nothing")) }),
    }
}

/// Providers as a usual build has them, and one of a third party.
fn catalog() -> Catalog {
    const ACME: &[FlagSpec] = &[FlagSpec::new("acme-token", FlagKind::Secret, "Token")];
    Catalog::empty().with(entry("local", &["inmemory"], &[])).with(entry("rfc2136", &[], &[])).with(entry(
        "acme",
        &["acme-dns"],
        ACME,
    ))
}

/// The least command line that works.
const BASE: &str = "--source=service --provider=local --policy=sync --manifests=m";

fn read(line: &[&str], variables: &[(&str, &str)]) -> Result<Invocation, Stop> {
    let variables: BTreeMap<_, _> = variables.iter().map(|(k, v)| (format!("EXTERNAL_DNS_{k}"), *v)).collect();
    parse(&catalog(), line.iter().map(OsString::from), &|name| variables.get(name).map(OsString::from))
}

/// [`BASE`] and more arguments, split at blanks.
fn with(more: &str) -> Result<Invocation, Stop> {
    read(&BASE.split_whitespace().chain(more.split_whitespace()).collect::<Vec<_>>(), &[])
}

/// [`BASE`] and environment variables.
fn with_env(variables: &[(&str, &str)]) -> Result<Invocation, Stop> {
    read(&BASE.split_whitespace().collect::<Vec<_>>(), variables)
}

fn refusal(result: Result<Invocation, Stop>) -> String {
    match result {
        Err(Stop::Refusal(text)) => text,
        other => panic!("expected a refusal, got {other:?}"),
    }
}

/// A flag's value as text.
fn show(settings: &Settings, name: &str) -> String {
    match settings.value(name) {
        Some(FlagValue::Bool(on)) => on.to_string(),
        Some(FlagValue::Text(text)) => text.clone(),
        Some(FlagValue::Secret(secret)) => secret.expose_secret().to_owned(),
        Some(FlagValue::Int(number)) => number.to_string(),
        Some(FlagValue::Duration { length, negative }) => {
            let sign = if *negative { "-" } else { "" };
            format!("{sign}{}", zonewright_core::duration::show(*length))
        }
        Some(FlagValue::List(list)) => list.join(","),
        Some(FlagValue::Map(map)) => map.iter().map(|(k, v)| format!("{k}={v}")).collect::<Vec<_>>().join(","),
        None => "not declared".to_owned(),
    }
}

#[test]
fn secrets_never_print() {
    let invocation = with("--provider-cache-time=1s --txt-owner-id=o --rfc2136-tsig-secret=hush").unwrap();
    assert!(!format!("{invocation:?}").contains("hush"));
    for arguments in [
        "--rfc2136-tsig-secret=hush --rfc2136-tsig-secret=hush",
        "--rfc2136-tsig-secret=hush --once=true",
        "--rfc2136-tsig-secrett=hush",
    ] {
        assert!(!refusal(with(arguments)).contains("hush"), "{arguments}");
    }
}

/// Pieces from which a command line may be made: real ones, near misses and anything.
fn argument() -> impl Strategy<Value = String> {
    let names: Vec<&'static str> = FlagSet::daemon(&catalog()).rows().iter().map(|row| row.spec.name).collect();
    let name = proptest::sample::select(names);
    prop_oneof![
        (name.clone(), ".{0,8}").prop_map(|(name, value)| format!("--{name}={value}")),
        name.clone().prop_map(|name| format!("--{name}")),
        name.prop_map(|name| format!("--no-{name}")),
        "[-=@ a-z0-9]{0,6}".prop_filter("no argument file", |text| !text.contains('@')),
        "[^@].{0,12}",
        proptest::sample::select(BASE.split(' ').collect::<Vec<_>>()).prop_map(str::to_owned),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_command_line_panics(line in proptest::collection::vec(argument(), 0..8), value in ".{0,12}") {
        let arguments = line.iter().map(OsString::from);
        match parse(&catalog(), arguments, &|_| Some(OsString::from(&value))) {
            Ok(invocation) => prop_assert!(invocation.command == Command::Plans || !invocation.settings.text("policy").is_empty()),
            Err(Stop::Answer(text)) => prop_assert!(!text.is_empty()),
            Err(Stop::Refusal(text)) => prop_assert!(!text.is_empty()),
        }
    }

    #[test]
    fn what_is_given_is_what_is_read(owner in "[^-@].{0,20}", filters in proptest::collection::vec("[a-z.,-]{1,9}", 1..4)) {
        prop_assume!(!owner.contains('\0'));
        let mut line: Vec<String> = BASE.split(' ').map(str::to_owned).collect();
        line.extend(["--txt-owner-id".to_owned(), owner.clone()]);
        line.extend(filters.iter().map(|filter| format!("--domain-filter={filter}")));
        let settings = parse(&catalog(), line.iter().map(OsString::from), &|_| None).unwrap().settings;
        prop_assert_eq!(settings.text("txt-owner-id"), owner);
        prop_assert_eq!(settings.list("domain-filter"), filters);
    }
}
