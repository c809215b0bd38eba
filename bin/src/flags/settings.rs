//! Texts by flag name to settings: the command line, else the environment, else the default.

use std::collections::BTreeMap;

use zonewright_core::catalog::Settings;

use super::environment::{self, Environment};
use super::set::FlagSet;
use super::value;

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
    for row in set.rows() {
        let spec = &row.spec;
        let from_environment = |problem| format!("{problem} (environment variable {})", spec.env());
        if let Some(texts) = given.remove(spec.name) {
            let value = value::parse(spec, texts).map_err(|problem| format!("{problem} (flag --{})", spec.name))?;
            settings.set(spec.name, value, true);
            continue;
        }
        let texts = environment::texts(spec, environment).map_err(from_environment)?;
        if texts.is_empty() {
            settings.set(spec.name, value::default(spec)?, false);
        } else {
            settings.set(spec.name, value::parse(spec, texts).map_err(from_environment)?, true);
        }
    }
    Ok(settings)
}
