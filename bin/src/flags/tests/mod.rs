//! The grammar and the checks, as the specification of external-dns states them, and our own rules.

mod arbitrary;
mod checks;
mod gardener;
mod grammar;
mod tables;
mod words;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::time::Duration;

use secrecy::ExposeSecret;
use zonewright_core::catalog::{FlagFeature, FlagKind, FlagSpec, FlagValue, ProviderEntry};
use zonewright_core::{Error, ErrorKind};

use super::owner::FlagOwner;
use super::*;

const fn entry(name: &'static str, aliases: &'static [&'static str], flags: &'static [FlagSpec]) -> ProviderEntry {
    let empty = ProviderEntry::new(name, "for tests", |_| {
        Box::pin(async { Err(Error::new(ErrorKind::Unsupported, "build", "a test builds nothing")) })
    });
    ProviderEntry { aliases, flags, ..empty }
}

/// A provider of a third party, with one flag of each sort that an entry can declare.
const ACME: ProviderEntry = ProviderEntry {
    check: |settings| if settings.int("acme-size") < 1 { Err("acme-size is too small".to_owned()) } else { Ok(()) },
    unserved: Some("it serves itself"),
    ..entry(
        "acme",
        &["acme-dns"],
        &[
            FlagSpec::new("acme-token", FlagKind::Secret, "Token"),
            FlagSpec::new("acme-size", FlagKind::Int, "Size").or("5"),
            FlagSpec::new("acme-fast", FlagKind::Bool, "Be fast"),
            FlagSpec::new("acme-quick", FlagKind::Bool, "Former name").renamed_to("acme-fast"),
            FlagSpec::new("acme-bytes", FlagKind::Int, "Former name").renamed_to("acme-size"),
            FlagSpec::new("acme-rare", FlagKind::Bool, "What few builds have").needs(FlagFeature {
                name: "acme-rare",
                is_built: false,
                remedy: "do without",
            }),
        ],
    )
};

/// Providers as a usual build has them, and one of a third party.
fn catalog() -> Catalog {
    Catalog::empty().with(entry("local", &["inmemory"], &[])).with(entry("rfc2136", &[], &[])).with(ACME)
}

/// The least command line for [`ACME`], and more arguments.
fn acme(more: &str) -> Result<Invocation, Stop> {
    let line = format!("--source=service --provider=acme --policy=sync --manifests=m {more}");
    read(&line.split_whitespace().collect::<Vec<_>>(), &[])
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
