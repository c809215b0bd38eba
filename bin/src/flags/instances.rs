//! The provider instances of a settings file: the list `providers:`.
//!
//! In: the list, the flags that providers have, and the settings of the process. Out: for each entry the settings of its provider. What
//! must hold: what is wrong names the entry and the key, and no value is printed: it may be a secret.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use config::{Value, ValueKind};
use zonewright_core::catalog::{FlagKind, ProviderEntry, Settings};
use zonewright_core::choice::Chooser;
use zonewright_core::filter::DomainFilter;
use zonewright_core::zone::InstanceId;

use super::file::{shaped, table, unknown};
use super::owner::FlagOwner;
use super::set::{FlagRow, FlagSet};
use super::value;
use crate::catalog::Catalog;
use crate::instance::InstanceSettings;

/// The key of the list.
pub(super) const KEY: &str = "providers";

/// The flags whose values an entry may have of its own, beside those of its provider.
const FILTERS: [&str; 4] = ["domain-filter", "exclude-domains", "regex-domain-filter", "regex-domain-exclusion"];

/// What an entry may say.
const KEYS: [&str; 5] = ["name", "type", "flags", "chosen-by", "named-only"];

/// The entries of the settings file at `path`; none if it has no list.
///
/// # Errors
/// What is wrong, with the entry and the key.
pub(super) fn read(
    path: &str,
    set: &FlagSet,
    catalog: &Catalog,
    process: &Settings,
) -> Result<Vec<InstanceSettings>, String> {
    let fault = |problem: String| format!("--config {path}: {problem}");
    let list = match table(path)?.remove(KEY).map(|value| value.kind) {
        None => return Ok(Vec::new()),
        Some(ValueKind::Array(entries)) if !entries.is_empty() => entries,
        Some(_) => return Err(fault(format!("{KEY}: expected a list of providers, each with name, type and flags"))),
    };
    let mut instances: Vec<InstanceSettings> = Vec::new();
    for (at, entry) in list.into_iter().enumerate() {
        let ValueKind::Table(keys) = entry.kind else {
            return Err(fault(format!("{KEY}[{at}]: expected a table with name, type and flags")));
        };
        let named = text(keys.get("name")).unwrap_or_else(|| at.to_string());
        let instance = Entry { set, catalog, process }
            .read(keys)
            .map_err(|problem| fault(format!("{KEY}[{named}]: {problem}")))?;
        if instances.iter().any(|other| other.id == instance.id) {
            return Err(fault(format!("{KEY}[{named}]: this name is taken by another entry")));
        }
        instances.push(instance);
    }
    Ok(instances)
}

fn text(value: Option<&Value>) -> Option<String> {
    match value.map(|value| &value.kind) {
        Some(ValueKind::String(text)) => Some(text.clone()),
        _ => None,
    }
}

/// What an entry is read with.
struct Entry<'a> {
    set: &'a FlagSet,
    catalog: &'a Catalog,
    process: &'a Settings,
}

impl Entry<'_> {
    fn read(&self, mut keys: config::Map<String, Value>) -> Result<InstanceSettings, String> {
        let id = id(keys.remove("name").as_ref())?;
        let kind = text(keys.remove("type").as_ref())
            .ok_or_else(|| "type: expected the name of a provider, as --provider takes it".to_owned())?;
        let entry = self.catalog.provider(&kind).ok_or_else(|| {
            format!(
                "type: {kind:?} is no provider of this build; expected one of {}",
                self.catalog.provider_names().join(", ")
            )
        })?;
        let mut settings = self.base(entry, &kind)?;
        for (key, value) in table_of("flags", keys.remove("flags"))? {
            let row = self.flag(entry, &key).map_err(|problem| format!("flags: {problem}"))?;
            set_value(&mut settings, row, value).map_err(|problem| format!("flags: {problem}"))?;
        }
        let filtered = FILTERS.iter().any(|name| keys.contains_key(*name));
        for name in FILTERS.iter().filter(|_| filtered) {
            let row = self.set.row(name).ok_or_else(|| format!("{name} is no flag"))?;
            settings.set(row.spec.name, value::default(&row.spec)?, false);
            if let Some(value) = keys.remove(*name) {
                set_value(&mut settings, row, value)?;
            }
        }
        let filter = if filtered { filter(&settings)? } else { DomainFilter::default() };
        let chooser = chooser(&id, keys.remove("chosen-by"), keys.remove("named-only"))?;
        if let Some(key) = keys.keys().next() {
            let known: Vec<&str> = KEYS.into_iter().chain(FILTERS).collect();
            return Err(format!("{key:?} is no key of an entry; expected some of {}", known.join(", ")));
        }
        (entry.check)(&settings)?;
        Ok(InstanceSettings { id, settings, chooser, filter })
    }

    /// The settings of the process, with the provider's own flags at their defaults.
    fn base(&self, entry: &ProviderEntry, kind: &str) -> Result<Settings, String> {
        let mut settings = self.process.clone();
        for row in self.set.rows().iter().filter(|row| belongs(row, entry)) {
            settings.set(row.spec.name, value::default(&row.spec)?, false);
        }
        if let Some(row) = self.set.row("provider") {
            settings.set(row.spec.name, value::parse(&row.spec, vec![kind.to_owned()])?, true);
        }
        Ok(settings)
    }

    fn flag(&self, entry: &ProviderEntry, key: &str) -> Result<&FlagRow, String> {
        let row = self.set.row(key).ok_or_else(|| unknown(key, self.set))?;
        if !belongs(row, entry) {
            return Err(format!("--{key} is no flag of provider {}", entry.name));
        }
        Ok(row)
    }
}

fn belongs(row: &FlagRow, entry: &ProviderEntry) -> bool {
    row.owners.iter().any(|owner| matches!(owner, FlagOwner::Provider(other) if other.name == entry.name))
}

/// A name as it stands in logs, metrics and states before the zone's.
fn id(value: Option<&Value>) -> Result<InstanceId, String> {
    let expected = "expected 1 to 63 lower-case letters, digits and hyphens, such as `internal`";
    let name = text(value).ok_or_else(|| format!("name: {expected}"))?;
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let whole = !name.is_empty() && name.len() <= 63 && name.chars().all(fits);
    if whole && !name.starts_with('-') && !name.ends_with('-') {
        Ok(InstanceId::from(name.as_str()))
    } else {
        Err(format!("name: {expected}"))
    }
}

fn table_of(key: &str, value: Option<Value>) -> Result<BTreeMap<String, Value>, String> {
    match value.map(|value| value.kind) {
        None | Some(ValueKind::Nil) => Ok(BTreeMap::new()),
        Some(ValueKind::Table(table)) => Ok(table.into_iter().collect()),
        Some(_) => Err(format!("{key}: expected a table with the provider's flags as keys")),
    }
}

fn set_value(settings: &mut Settings, row: &FlagRow, value: Value) -> Result<(), String> {
    let name = row.spec.name;
    let texts = shaped(&row.spec, value).map_err(|problem| format!("{name}: {problem}"))?;
    settings.set(name, value::parse(&row.spec, texts).map_err(|problem| format!("{name}: {problem}"))?, true);
    Ok(())
}

fn filter(settings: &Settings) -> Result<DomainFilter, String> {
    DomainFilter::new(
        settings.list("domain-filter"),
        settings.list("exclude-domains"),
        settings.text("regex-domain-filter"),
        settings.text("regex-domain-exclusion"),
    )
    .map_err(|error| error.to_string())
}

fn chooser(id: &InstanceId, names: Option<Value>, named_only: Option<Value>) -> Result<Chooser, String> {
    let mut chooser = Chooser::new(id);
    if let Some(value) = names {
        let spec = zonewright_core::catalog::FlagSpec::new("chosen-by", FlagKind::List, "");
        let names = shaped(&spec, value).map_err(|problem| format!("chosen-by: {problem}"))?;
        chooser.names = names.iter().map(|name| Arc::from(name.trim())).collect::<BTreeSet<Arc<str>>>();
        if chooser.names.iter().any(|name| name.is_empty() || name.contains(',')) {
            return Err("chosen-by: a name cannot be empty or hold a comma".to_owned());
        }
    }
    chooser.named_only = match named_only.map(|value| value.kind) {
        None => false,
        Some(ValueKind::Boolean(on)) => on,
        Some(_) => return Err("named-only: expected true or false".to_owned()),
    };
    Ok(chooser)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::super::{Stop, parse};
    use super::*;

    fn parsed(text: &str, more: &[&str]) -> Result<Vec<InstanceSettings>, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.yaml");
        std::fs::write(&path, text).unwrap();
        let config = format!("--config={}", path.display());
        let arguments = ["--source=service", "--policy=sync", &config].into_iter().chain(more.iter().copied());
        match parse(&Catalog::built_in(), arguments.map(OsString::from), &|_| None) {
            Ok(invocation) => Ok(invocation.instances),
            Err(Stop::Refusal(problem)) => Err(problem),
            Err(Stop::Answer(text)) => panic!("{text}"),
        }
    }

    const TWO: &str = "
txt-owner-id: me
domain-filter: [example.org]
providers:
- name: public
  type: rfc2136
  flags: {rfc2136-host: [192.0.2.1], rfc2136-zone: [example.org], rfc2136-insecure: true}
- name: internal
  type: rfc2136
  domain-filter: [a.example.org]
  chosen-by: [internal, lab]
  named-only: true
  flags: {rfc2136-host: [192.0.2.2], rfc2136-zone: [example.org], rfc2136-insecure: true, rfc2136-port: 5353}
";

    #[test]
    fn entries_have_settings_of_their_own() {
        let found = parsed(TWO, &["--interval=7s"]).unwrap();
        let shown: Vec<_> = found
            .iter()
            .map(|one| {
                let settings = &one.settings;
                let host = settings.list("rfc2136-host").join(",");
                let filter = settings.list("domain-filter").join(",");
                (one.id.as_str(), settings.text("provider"), host, settings.int("rfc2136-port"), filter)
            })
            .collect();
        let expected = [
            ("public", "rfc2136", "192.0.2.1".to_owned(), 0, "example.org".to_owned()),
            ("internal", "rfc2136", "192.0.2.2".to_owned(), 5353, "a.example.org".to_owned()),
        ];
        assert_eq!(shown, expected);
        assert!(
            found.iter().all(
                |one| one.settings.text("txt-owner-id") == "me" && one.settings.duration("interval").as_secs() == 7
            )
        );
        let name = |text: &str| zonewright_core::DnsName::parse(text).unwrap();
        let matches = |at: usize, text: &str| found[at].filter.matches(&name(text));
        assert!(matches(0, "b.example.org") && matches(1, "x.a.example.org") && !matches(1, "b.example.org"));
        let choice = |text: &str| zonewright_core::choice::Choice::parse(text);
        let takes = |at: usize, text: &str| found[at].chooser.takes(choice(text).as_ref());
        assert!(takes(0, "") && takes(0, "public") && !takes(0, "lab"));
        assert!(!takes(1, "") && takes(1, "lab") && takes(1, "internal"));
    }

    #[test]
    fn problems_name_the_entry_and_the_key() {
        let of = |entry: &str| format!("providers:\n- {entry}\n");
        let rfc = "type: rfc2136, flags: {rfc2136-host: [192.0.2.1], rfc2136-zone: [a.test], rfc2136-insecure: true}";
        for (text, more, expected) in [
            ("providers: x\n".to_owned(), &[][..], "providers: expected a list of providers"),
            ("providers: []\n".to_owned(), &[], "providers: expected a list of providers"),
            (of("x"), &[], "providers[0]: expected a table with name, type and flags"),
            (of("{type: rfc2136}"), &[], "providers[0]: name: expected 1 to 63 lower-case letters"),
            (of("{name: A/b, type: rfc2136}"), &[], "providers[A/b]: name: expected"),
            (of("{name: a}"), &[], "providers[a]: type: expected the name of a provider"),
            (of("{name: a, type: none-such}"), &[], "providers[a]: type: \"none-such\" is no provider of this build"),
            (of("{name: a, type: rfc2136, flags: {rfc2136-hosts: [b]}}"), &[], "did you mean \"rfc2136-host\"?"),
            (
                of("{name: a, type: rfc2136, flags: {interval: 1m}}"),
                &[],
                "providers[a]: flags: --interval is no flag of provider rfc2136",
            ),
            (of("{name: a, type: rfc2136, flags: {rfc2136-port: x}}"), &[], "providers[a]: flags: rfc2136-port: "),
            (of("{name: a, type: rfc2136, flags: [x]}"), &[], "providers[a]: flags: expected a table"),
            (
                of(&format!("{{name: a, colour: red, {rfc}}}")),
                &[],
                "providers[a]: \"colour\" is no key of an entry; expected some of name, type",
            ),
            (
                of(&format!("{{name: a, named-only: 7, {rfc}}}")),
                &[],
                "providers[a]: named-only: expected true or false",
            ),
            (of(&format!("{{name: a, chosen-by: ['b,c'], {rfc}}}")), &[], "providers[a]: chosen-by: a name cannot"),
            (
                format!("{}- {{name: a, {rfc}}}\n", of(&format!("{{name: a, {rfc}}}"))),
                &[],
                "providers[a]: this name is taken",
            ),
            (
                of(&format!("{{name: a, {rfc}}}")),
                &["--provider=rfc2136"],
                "--provider does not go with a list of providers",
            ),
            (of(&format!("{{name: a, {rfc}}}")), &["--webhook-server"], "--webhook-server does not go with"),
        ] {
            let problem = parsed(&text, more).unwrap_err();
            assert!(problem.contains(expected), "{text}\n{problem}\n{expected}");
        }
    }

    #[test]
    fn secrets_of_a_damaged_entry_are_not_shown() {
        for flags in [
            "{rfc2136-tsig-secret: [geheim]}",
            "{rfc2136-tsig-secret: {geheim: x}}",
            "{rfc2136-tsig-secret: {a: geheim}}",
        ] {
            let text = format!("providers:\n- {{name: a, type: rfc2136, flags: {flags}}}\n");
            let problem = parsed(&text, &[]).unwrap_err();
            assert!(!problem.contains("geheim"), "{problem}");
        }
    }
}
