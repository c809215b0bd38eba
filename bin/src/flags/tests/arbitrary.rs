//! Arbitrary command lines, argument files and settings files: an invocation that makes sense or a sentence, never a
//! panic, and never a secret in the sentence.

use std::path::Path;

use proptest::prelude::*;
use serde_json::{Map, Value};

use super::*;

/// Stands for every secret.
const HUSH: &str = "hush-7Qx";

/// A sample in the test command, more in the soak: each case builds the table of all flags.
fn cases(sample: u32) -> ProptestConfig {
    let cases = if std::env::var_os("ZONEWRIGHT_SOAK").is_some() { 20_000 } else { sample };
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

fn names() -> Vec<&'static str> {
    FlagSet::daemon(&catalog()).rows().iter().map(|row| row.spec.name).collect()
}

/// Pieces from which a command line may be made: real ones, near misses and anything.
fn argument() -> impl Strategy<Value = String> {
    let name = proptest::sample::select(names());
    prop_oneof![
        (name.clone(), ".{0,8}").prop_map(|(name, value)| format!("--{name}={value}")),
        name.clone().prop_map(|name| format!("--{name}")),
        name.prop_map(|name| format!("--no-{name}")),
        "[-=@ a-z0-9]{0,6}".prop_filter("no argument file", |text| !text.contains('@')),
        "[^@].{0,12}",
        proptest::sample::select(BASE.split(' ').collect::<Vec<_>>()).prop_map(str::to_owned),
    ]
}

/// What a flag may be given in a file: mostly of a shape that some flag takes.
fn value() -> impl Strategy<Value = Value> {
    let text = prop_oneof![
        ".{0,8}",
        "[a-z0-9.:/=-]{0,8}",
        proptest::sample::select(vec!["service", "local", "sync", "1m", "-5s", "true", "", "(", HUSH])
            .prop_map(str::to_owned),
    ];
    let leaf = prop_oneof![
        1 => Just(Value::Null),
        1 => any::<bool>().prop_map(Value::from),
        1 => any::<i64>().prop_map(Value::from),
        1 => any::<u64>().prop_map(Value::from),
        1 => any::<f64>().prop_map(Value::from),
        4 => text.prop_map(Value::from),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::vec((".{0,4}", inner), 0..4)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
        ]
    })
}

/// A table of flags, sometimes with a key that is none.
fn table() -> impl Strategy<Value = Map<String, Value>> {
    let key = prop_oneof![9 => proptest::sample::select(names()).prop_map(str::to_owned), 1 => "[a-z-]{0,12}"];
    proptest::collection::vec((key, value()), 0..6).prop_map(|pairs| pairs.into_iter().collect())
}

/// The three forms of a settings file.
const FORMS: [&str; 3] = ["json", "yaml", "toml"];

fn written(form: &str, table: &Map<String, Value>) -> String {
    match form {
        "toml" => {
            let lines: Vec<String> = table.iter().map(|(key, value)| format!("{key:?} = {}\n", toml(value))).collect();
            lines.concat()
        }
        // JSON is YAML.
        _ => Value::Object(table.clone()).to_string(),
    }
}

/// TOML has no null; an empty text says the same.
fn toml(value: &Value) -> String {
    match value {
        Value::Null => "\"\"".to_owned(),
        Value::Array(items) => format!("[{}]", items.iter().map(toml).collect::<Vec<_>>().join(", ")),
        Value::Object(pairs) => {
            let pairs = pairs.iter().map(|(key, value)| format!("{} = {}", Value::from(key.as_str()), toml(value)));
            format!("{{{}}}", pairs.collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

/// Writes `text` where `name` says, and parses [`BASE`] with `argument` before that path.
fn with_file(name: &str, text: &[u8], argument: &str, base: &str) -> Result<Invocation, Stop> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, text).unwrap();
    let line = base.split_whitespace().map(str::to_owned).chain([pointing(argument, &path)]);
    parse(&catalog(), line.map(OsString::from), &|_| None)
}

fn pointing(argument: &str, path: &Path) -> String {
    format!("{argument}{}", path.display())
}

/// Sense, or something to print.
fn hold(result: Result<Invocation, Stop>) -> Result<(), TestCaseError> {
    match result {
        Ok(Invocation { command, settings, .. }) => {
            prop_assert!(command == Command::Plans || !settings.text("policy").is_empty());
        }
        Err(Stop::Answer(text) | Stop::Refusal(text)) => prop_assert!(!text.is_empty()),
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases(64))]

    #[test]
    fn soak_no_command_line_panics(line in proptest::collection::vec(argument(), 0..8), value in ".{0,12}") {
        hold(parse(&catalog(), line.iter().map(OsString::from), &|_| Some(OsString::from(&value))))?;
    }

    #[test]
    fn soak_no_settings_file_panics(form in proptest::sample::select(FORMS.to_vec()), table in table(), full in any::<bool>()) {
        let text = written(form, &table);
        hold(with_file(&format!("a.{form}"), text.as_bytes(), "--config=", if full { BASE } else { "" }))?;
    }

    /// What is no settings file at all, or one that was damaged.
    #[test]
    fn soak_no_damaged_file_panics(
        form in proptest::sample::select(FORMS.to_vec()),
        table in table(),
        at in any::<proptest::sample::Index>(),
        cut in 0..20_usize,
        put in prop_oneof![proptest::collection::vec(any::<u8>(), 0..9), "[\\[\\]{}:,=&*!|>#'\" \n\t-]{0,9}".prop_map(String::into_bytes)],
    ) {
        let mut text = written(form, &table).into_bytes();
        let at = at.index(text.len() + 1);
        let end = text.len().min(at + cut);
        text.splice(at..end, put);
        hold(with_file(&format!("a.{form}"), &text, "--config=", BASE))?;
    }

    #[test]
    fn soak_no_argument_file_panics(lines in proptest::collection::vec(argument(), 0..8), end in proptest::sample::select(vec!["\n", "\r\n", "\n\n#"])) {
        hold(with_file("arguments", lines.join(end).as_bytes(), "@", ""))?;
    }

    #[test]
    fn a_secret_in_a_file_is_never_shown(form in proptest::sample::select(FORMS.to_vec()), mut table in table(), listed in any::<bool>()) {
        table.retain(|_, value| !value.to_string().contains(HUSH));
        let secret = if listed { Value::from(vec![HUSH, HUSH]) } else { HUSH.into() };
        table.insert("rfc2136-tsig-secret".to_owned(), secret);
        let result = with_file(&format!("a.{form}"), written(form, &table).as_bytes(), "--config=", BASE);
        prop_assert!(!format!("{result:?}").contains(HUSH), "{result:?}");
    }

    #[cfg(feature = "config-file")]
    #[test]
    fn what_a_file_gives_is_what_is_read(
        form in proptest::sample::select(FORMS.to_vec()),
        owner in "[a-z -~]{1,20}",
        filters in proptest::collection::vec("[a-z.,-]{1,9}", 1..4),
    ) {
        let table = Map::from_iter([
            ("txt-owner-id".to_owned(), Value::from(owner.as_str())),
            ("domain-filter".to_owned(), Value::from(filters.clone())),
        ]);
        let settings = with_file(&format!("a.{form}"), written(form, &table).as_bytes(), "--config=", BASE).unwrap().settings;
        prop_assert_eq!(settings.text("txt-owner-id"), owner);
        prop_assert_eq!(settings.list("domain-filter"), filters);
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
