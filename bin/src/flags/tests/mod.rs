//! The grammar and the checks, as the specification of external-dns states them, and our own rules.

mod arbitrary;
mod checks;
mod grammar;
mod tables;
mod words;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::time::Duration;

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
