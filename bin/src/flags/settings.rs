//! Texts by flag name to settings: the command line, else the environment, else the settings file, else the default.

use std::collections::BTreeMap;

use zonewright_core::catalog::Settings;

use super::environment::{self, Environment};
use super::set::FlagSet;
use super::value;

/// Texts by flag.
pub(super) type Texts = BTreeMap<&'static str, Vec<String>>;

/// Gives every flag of the set a value.
///
/// # Errors
/// What is wrong with a text, and where it stands.
pub(super) fn fill(
    set: &FlagSet,
    mut given: BTreeMap<&'static str, Vec<String>>,
    environment: Environment<'_>,
) -> Result<Settings, String> {
    let mut settings = Settings::default();
    let mut from_file = file(set, &given, environment)?;
    for row in set.rows() {
        let spec = &row.spec;
        let from_environment = |problem| format!("{problem} (environment variable {})", spec.env());
        if let Some(texts) = given.remove(spec.name) {
            let value = value::parse(spec, texts).map_err(|problem| format!("{problem} (flag --{})", spec.name))?;
            settings.set(spec.name, value, true);
            continue;
        }
        let texts = environment::texts(spec, environment).map_err(from_environment)?;
        if !texts.is_empty() {
            settings.set(spec.name, value::parse(spec, texts).map_err(from_environment)?, true);
        } else if let Some(texts) = from_file.remove(spec.name) {
            let value =
                value::parse(spec, texts).map_err(|problem| format!("{problem} (settings file, {})", spec.name))?;
            settings.set(spec.name, value, true);
        } else {
            settings.set(spec.name, value::default(spec)?, false);
        }
    }
    Ok(settings)
}

/// What the settings file says, if there is one.
fn file(set: &FlagSet, given: &Texts, environment: Environment<'_>) -> Result<Texts, String> {
    let Some(row) = set.row("config") else { return Ok(Texts::new()) };
    let named = given.get(row.spec.name).cloned();
    let named = named.map_or_else(|| environment::texts(&row.spec, environment), Ok)?;
    match named.last().filter(|path| !path.is_empty()) {
        Some(path) => read(path, set),
        None => Ok(Texts::new()),
    }
}

#[cfg(feature = "config-file")]
fn read(path: &str, set: &FlagSet) -> Result<Texts, String> {
    super::file::read(path, set)
}

#[cfg(not(feature = "config-file"))]
fn read(path: &str, _: &FlagSet) -> Result<Texts, String> {
    Err(format!("--config {path}: settings files are not compiled into this build (Cargo feature config-file)"))
}
