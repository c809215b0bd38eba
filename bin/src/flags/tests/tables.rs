//! The tables themselves: complete, consistent, and shown.

use super::set::FlagRow;
use super::*;

/// Name, type and default of every flag of external-dns.
const PEER: &str = include_str!("../../../tests/data/external-dns-flags.tsv");

fn kind(spec: &FlagSpec) -> String {
    let words = |words: &[&str]| words.join(", ");
    match spec.kind {
        FlagKind::Bool => "bool".to_owned(),
        FlagKind::Text | FlagKind::Secret => "string".to_owned(),
        FlagKind::Int64 => "int64".to_owned(),
        FlagKind::Int => "int".to_owned(),
        FlagKind::Duration => "duration".to_owned(),
        FlagKind::Regex => "regex".to_owned(),
        FlagKind::Choice(choices) => format!("enum{{{}}}", words(choices)),
        FlagKind::List => "[]string".to_owned(),
        FlagKind::ChoiceList(_) => "[]enum".to_owned(),
        FlagKind::Map => "map".to_owned(),
    }
}

#[test]
fn every_flag_of_external_dns_is_known_with_its_type_and_default() {
    let set = FlagSet::daemon(&catalog());
    let line = "--source=service --provider=local --policy=sync --manifests=m";
    let settings = read(&line.split(' ').collect::<Vec<_>>(), &[]).unwrap().settings;
    let mut count = 0;
    for row in PEER.lines() {
        let cells: Vec<&str> = row.split('\t').collect();
        let [name, expected_kind, default] = cells.as_slice() else { panic!("{row}") };
        let spec = &set.row(name).unwrap_or_else(|| panic!("--{name} is missing")).spec;
        count += 1;
        if matches!(*name, "source" | "provider" | "policy") {
            continue;
        }
        let kind = kind(spec);
        // We take the flag more than once.
        let kind = if *name == "annotation-prefix" { "string".to_owned() } else { kind };
        // Registries of our own.
        let kind = if *name == "registry" { kind.replace("configmap, ", "").replace("memory, ", "") } else { kind };
        assert_eq!(kind, *expected_kind, "--{name}");
        let default = match (*default, spec.kind) {
            ("", FlagKind::Bool) => "false",
            ("", FlagKind::Int | FlagKind::Int64) => "0",
            (other, _) => other,
        };
        // The service gives so many, and counts requests.
        let default = if *name == "cloudflare-dns-records-per-page" { "5000" } else { default };
        assert_eq!(show(&settings, name), default, "--{name}");
    }
    assert_eq!(count, 179);
}

#[test]
fn every_default_is_a_value_of_its_kind() {
    for row in FlagSet::daemon(&catalog()).rows() {
        assert!(value::default(&row.spec).is_ok(), "--{}", row.spec.name);
        assert!(!row.spec.help.ends_with('.') && !row.spec.help.is_empty(), "--{}", row.spec.name);
    }
}

#[test]
fn no_two_flags_have_the_same_variable_or_negation() {
    let set = FlagSet::daemon(&catalog());
    let variables: std::collections::BTreeSet<_> = set.rows().iter().map(|row| row.spec.env()).collect();
    assert_eq!(variables.len(), set.rows().len());
    assert!(set.rows().iter().all(|row| !row.spec.name.starts_with("no-")));
}

/// Of external-dns' flags, the entries and the table of flags of what is not here must say the same: where the entry is
/// compiled out, the row of the table is what parses the flag.
#[test]
fn other_crates_declare_the_same_flags() {
    let alone = FlagSet::daemon(&Catalog::empty());
    let kind = |kind: FlagKind| match kind {
        FlagKind::Choice(words) => {
            let mut words = words.to_vec();
            words.sort_unstable();
            format!("one of {words:?}")
        }
        other => format!("{other:?}"),
    };
    let catalog = Catalog::built_in();
    let of_providers = catalog.providers().iter().flat_map(|entry| entry.flags);
    let of_registries = catalog.registries().iter().flat_map(|entry| entry.flags);
    for spec in of_providers.chain(of_registries) {
        let Some(FlagRow { spec: here, .. }) = alone.row(spec.name) else {
            assert!(PEER.lines().all(|row| row.split('\t').next() != Some(spec.name)), "--{} has no row", spec.name);
            continue;
        };
        assert_eq!(kind(here.kind), kind(spec.kind), "--{}", spec.name);
        let default = |spec: &FlagSpec| format!("{:?}", value::default(spec));
        assert_eq!(default(here), default(spec), "--{}", spec.name);
    }
}

/// `BLESS=1` in the environment writes the page instead.
#[cfg(all(feature = "provider-local", feature = "provider-rfc2136"))]
#[test]
fn the_reference_page_is_current() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/flags.md");
    let page = reference(&Catalog::built_in());
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(path, &page).unwrap();
    }
    let stored = std::fs::read_to_string(path).unwrap_or_default();
    assert!(stored == page, "docs/flags.md is old: run `zonewright docs flags >docs/flags.md`");
}

#[cfg(feature = "all-sources")]
#[test]
fn short_help_shows_what_is_here() {
    let catalog = catalog();
    let Err(Stop::Answer(short)) = parse(&catalog, [OsString::from("--help")], &|_| None) else { panic!() };
    let Err(Stop::Answer(long)) = parse(&catalog, [OsString::from("--help-long")], &|_| None) else { panic!() };
    for name in [
        "--interval",
        "--rfc2136-host",
        "--txt-prefix",
        "--acme-token",
        "--tls-ca",
        "--gateway-name",
        "--create-ptr",
        "Brake on deletes:",
        "--webhook-server",
    ] {
        assert!(short.contains(name), "{name}");
    }
    for name in ["--aws-zone-type", "--crd-registry-namespace", "godaddy"] {
        assert!(!short.contains(name), "{name}");
    }
    assert!(!short.contains("--acme-rare"));
    for name in ["--aws-zone-type", "--crd-registry-namespace", "--acme-rare", "godaddy"] {
        assert!(long.contains(name), "{name}");
    }
    let short = short.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(short.contains("EXTERNAL_DNS_INTERVAL") && short.contains("default: 1m0s"));
    assert!(!short.contains("--no-once") && short.contains("default: on; --no-brake turns it off"));
}

#[test]
fn an_owner_of_several_is_selected_by_any() {
    let set = FlagSet::daemon(&catalog());
    let row = set.row("tls-ca").unwrap();
    assert!(row.owners.iter().any(|owner| matches!(owner, FlagOwner::Providers(names) if names.contains(&"rfc2136"))));
    let selection = |provider: &str| Selection {
        provider: provider.to_owned(),
        sources: vec!["service".to_owned()],
        registry: "txt".to_owned(),
        instances: false,
        webhook_server: false,
    };
    assert!(row.is_selected(&selection("pdns")) && row.is_selected(&selection("rfc2136")));
    assert!(!row.is_selected(&selection("local")));
}
