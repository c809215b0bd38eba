//! The settings file of `--config`: the same settings under the names of their flags, in YAML, TOML or JSON.
//!
//! In comes a path, out come the texts of each flag as the command line would give them. What must hold: a key that is no
//! flag is an error that names the nearest one, no value of the file is ever printed: it may be a secret, and no text is
//! made of a number or a switch, since `007` and `1e3` are no longer what was written once the file is parsed.

use std::collections::BTreeMap;
use std::path::Path;

use config::{Config, ConfigError, File, FileFormat, Map, Value, ValueKind};
use zonewright_core::catalog::{FlagKind, FlagSpec};

use super::set::FlagSet;
use super::settings::Texts;

/// From this likeness on a name is proposed (0 to 1, as Jaro and Winkler count).
const ALIKE: f64 = 0.8;

/// Reads the file.
///
/// # Errors
/// The file cannot be read, is of no known form, names something that is no flag, or holds a value of another shape than
/// the flag takes.
pub(super) fn read(path: &str, set: &FlagSet) -> Result<Texts, String> {
    let fault = |problem: &dyn std::fmt::Display| format!("--config {path}: {problem}");
    let mut texts = Texts::new();
    // Entries are read by themselves, once the settings of the process are known.
    for (key, value) in table(path)?.into_iter().filter(|(key, _)| key != super::instances::KEY) {
        let row = set.row(&key).ok_or_else(|| fault(&unknown(&key, set)))?;
        if row.spec.name == "config" {
            return Err(fault(&"a settings file cannot name another one"));
        }
        texts.insert(row.spec.name, shaped(&row.spec, value).map_err(|problem| fault(&format!("{key}: {problem}")))?);
    }
    Ok(texts)
}

/// The keys of the file with their values.
///
/// # Errors
/// The file cannot be read, or is of no known form.
pub(super) fn table(path: &str) -> Result<Map<String, Value>, String> {
    let fault = |problem: &dyn std::fmt::Display| format!("--config {path}: {problem}");
    let format = format(path).map_err(|problem| fault(&problem))?;
    let file = Config::builder().add_source(File::from(Path::new(path)).format(format)).build();
    file.and_then(|file| file.cache.into_table()).map_err(|error| fault(&without_lines(&error)))
}

/// What a parser says, without the lines of the file that some quote below it.
fn without_lines(error: &ConfigError) -> String {
    error.to_string().lines().next().unwrap_or_default().to_owned()
}

fn format(path: &str) -> Result<FileFormat, String> {
    let extension = Path::new(path).extension().and_then(|text| text.to_str()).unwrap_or_default();
    match extension {
        "yaml" | "yml" => Ok(FileFormat::Yaml),
        "toml" => Ok(FileFormat::Toml),
        "json" => Ok(FileFormat::Json),
        other => Err(format!("the ending {other:?} says no form; expected .yaml, .yml, .toml or .json")),
    }
}

pub(super) fn unknown(key: &str, set: &FlagSet) -> String {
    let written = key.to_lowercase().replace('_', "-");
    let written = written.strip_prefix("no-").unwrap_or(&written);
    let likeness = |name: &str| strsim::jaro_winkler(name, written);
    let nearest = set.rows().iter().map(|row| row.spec.name).max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
    match nearest.filter(|name| likeness(name) >= ALIKE) {
        Some(name) => format!("{key:?} is no flag; did you mean {name:?}?"),
        None => format!("{key:?} is no flag; keys are the names of flags without the dashes before them"),
    }
}

/// The texts of a value; a list only where the flag repeats, a table only where it takes pairs.
pub(super) fn shaped(spec: &FlagSpec, value: Value) -> Result<Vec<String>, String> {
    let single = |value| single(spec.kind, value);
    match value.kind {
        ValueKind::Array(items) if spec.kind.repeats() => items.into_iter().map(single).collect(),
        ValueKind::Array(_) => Err("expected one value, found a list".to_owned()),
        ValueKind::Table(pairs) if spec.kind == FlagKind::Map => {
            let pairs: BTreeMap<String, Value> = pairs.into_iter().collect();
            let pair = |(key, value)| Ok(format!("{key}={}", single(value).map_err(|e| format!("{key}: {e}"))?));
            pairs.into_iter().map(pair).collect()
        }
        _ => single(value).map(|text| vec![text]),
    }
}

fn single(kind: FlagKind, value: Value) -> Result<String, String> {
    use ValueKind::{Array, Boolean, Float, I64, I128, Nil, String as Text, Table, U64, U128};
    let expected = if is_free_text(kind) { "text in quotes" } else { "text, a number or a switch" };
    let found = match value.kind {
        Nil => return Ok(String::new()),
        Text(text) => return Ok(text),
        Array(_) => "a list",
        Table(_) => "a table",
        I64(_) | I128(_) | U64(_) | U128(_) | Float(_) if is_free_text(kind) => "a number",
        Boolean(_) if is_free_text(kind) => "a switch (true or false)",
        exact => return Ok(exact.to_string()),
    };
    Err(format!("expected {expected}, found {found}"))
}

/// Whether every text is a value, so that it counts how a number was written.
fn is_free_text(kind: FlagKind) -> bool {
    matches!(kind, FlagKind::Text | FlagKind::Secret | FlagKind::Regex | FlagKind::List | FlagKind::Map)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::Catalog;

    fn read_text(name: &str, text: &str) -> Result<Texts, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        read(path.to_str().unwrap(), &FlagSet::daemon(&Catalog::built_in()))
    }

    fn shown(texts: &Texts) -> Vec<String> {
        texts.iter().map(|(name, values)| format!("{name}={}", values.join("|"))).collect()
    }

    #[test]
    fn the_three_forms_say_the_same() {
        let expected =
            ["aws-sd-create-tag=a=1|b=2", "interval=2m", "kube-api-qps=7", "once=true", "source=service|ingress"];
        for (name, text) in [
            (
                "a.yaml",
                "source: [service, ingress]\nonce: true\ninterval: 2m\nkube-api-qps: 7\naws-sd-create-tag: {b: '2', a: '1'}\n",
            ),
            (
                "a.toml",
                "source = [\"service\", \"ingress\"]\nonce = true\ninterval = \"2m\"\nkube-api-qps = 7\n[aws-sd-create-tag]\nb = \"2\"\na = \"1\"\n",
            ),
            (
                "a.json",
                r#"{"source": ["service", "ingress"], "once": true, "interval": "2m", "kube-api-qps": 7, "aws-sd-create-tag": {"b": "2", "a": "1"}}"#,
            ),
        ] {
            assert_eq!(shown(&read_text(name, text).unwrap()), expected, "{name}");
        }
    }

    #[test]
    fn a_damaged_file_does_not_show_its_secrets() {
        for (name, text) in [
            ("a.toml", "txt-encrypt-aes-key = geheim\n"),
            ("a.toml", "txt-encrypt-aes-key = \"geheim\n"),
            ("a.yaml", "txt-encrypt-aes-key: \"geheim\n"),
            ("a.yaml", "txt-encrypt-aes-key: *geheim\n"),
            ("a.yaml", "txt-encrypt-aes-key: geheim: x\n"),
            ("a.json", "{\"txt-encrypt-aes-key\": geheim}"),
            ("a.json", "{\"txt-encrypt-aes-key\": \"geheim}"),
            ("a.yaml", "txt-encrypt-aes-key: [geheim]\n"),
            ("a.yaml", "txt-encrypt-aes-key: {geheim: x}\n"),
        ] {
            let problem = read_text(name, text).unwrap_err();
            assert!(!problem.contains("geheim") && !problem.contains('\n'), "{name} {text:?}: {problem}");
        }
    }

    /// What is as exact as it was written.
    #[test]
    fn numbers_of_flags_that_take_numbers() {
        for (text, expected) in [
            ("kube-api-qps: 5.9\n", "kube-api-qps=5.9"),
            ("kube-api-qps: -7\n", "kube-api-qps=-7"),
            ("interval: 0\n", "interval=0"),
            ("once: 1\n", "once=1"),
            ("txt-owner-id: '007'\n", "txt-owner-id=007"),
            ("txt-owner-id: v1\n", "txt-owner-id=v1"),
        ] {
            assert_eq!(shown(&read_text("a.yaml", text).unwrap()), [expected], "{text:?}");
        }
    }

    #[test]
    fn problems_say_what_was_expected() {
        for (name, text, expected) in [
            ("a.yaml", "txt-owner: x\n", "\"txt-owner\" is no flag; did you mean \"txt-owner-id\"?"),
            ("a.yaml", "Txt-Owner-Id: x\n", "\"Txt-Owner-Id\" is no flag; did you mean \"txt-owner-id\"?"),
            ("a.yaml", "TXT_OWNER_ID: x\n", "\"TXT_OWNER_ID\" is no flag; did you mean \"txt-owner-id\"?"),
            ("a.yaml", "no-once: true\n", "\"no-once\" is no flag; did you mean \"once\"?"),
            ("a.yaml", "no_events: true\n", "\"no_events\" is no flag; did you mean \"events\"?"),
            ("a.yaml", "zzz: x\n", "\"zzz\" is no flag; keys are the names of flags"),
            ("a.yaml", "interval: [1m]\n", "interval: expected one value, found a list"),
            ("a.yaml", "source: [[a]]\n", "source: expected text, a number or a switch, found a list"),
            ("a.yaml", "namespace: {a: b}\n", "namespace: expected text in quotes, found a table"),
            ("a.yaml", "txt-owner-id: 007\n", "txt-owner-id: expected text in quotes, found a number"),
            ("a.toml", "txt-owner-id = 1e3\n", "txt-owner-id: expected text in quotes, found a number"),
            ("a.json", "{\"txt-owner-id\": 7}", "txt-owner-id: expected text in quotes, found a number"),
            ("a.yaml", "txt-owner-id: true\n", "txt-owner-id: expected text in quotes, found a switch"),
            ("a.yaml", "txt-encrypt-aes-key: 0123\n", "txt-encrypt-aes-key: expected text in quotes, found a number"),
            ("a.yaml", "domain-filter: [a.org, 1.10]\n", "domain-filter: expected text in quotes, found a number"),
            ("a.yaml", "domain-filter: 1\n", "domain-filter: expected text in quotes, found a number"),
            ("a.yaml", "regex-domain-filter: 1.10\n", "regex-domain-filter: expected text in quotes, found a number"),
            ("a.yaml", "aws-sd-create-tag: {a: 01}\n", "aws-sd-create-tag: a: expected text in quotes, found a number"),
            (
                "a.yaml",
                "aws-sd-create-tag: {a: no, b: false}\n",
                "aws-sd-create-tag: b: expected text in quotes, found a switch",
            ),
            ("a.yaml", "policy: {a: b}\n", "policy: expected text, a number or a switch, found a table"),
            ("a.yaml", "config: b.yaml\n", "cannot name another one"),
            ("a.ini", "", "the ending \"ini\" says no form"),
            ("a.json", "{", "--config "),
        ] {
            let problem = read_text(name, text).unwrap_err();
            assert!(problem.contains(expected), "{text:?}: {problem}");
        }
        let missing = read("/nowhere/a.yaml", &FlagSet::daemon(&Catalog::built_in())).unwrap_err();
        assert!(missing.starts_with("--config /nowhere/a.yaml: "), "{missing}");
    }
}
