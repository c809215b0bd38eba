//! The environment variable that stands in for a flag.

use std::ffi::OsString;

use zonewright_core::catalog::FlagSpec;

/// Looks up an environment variable.
pub type Environment<'a> = &'a dyn Fn(&str) -> Option<OsString>;

/// The texts that the environment holds for a flag; none if the variable is unset or empty. A repeatable flag has one
/// text on each line.
///
/// # Errors
/// The variable is not UTF-8.
pub(super) fn texts(spec: &FlagSpec, environment: Environment<'_>) -> Result<Vec<String>, String> {
    let Some(value) = environment(&spec.env()).filter(|value| !value.is_empty()) else { return Ok(Vec::new()) };
    let value = value.into_string().map_err(|_| "the value is not UTF-8".to_owned())?;
    if !spec.kind.repeats() {
        return Ok(vec![value]);
    }
    let value = value.strip_suffix('\n').unwrap_or(&value);
    Ok(value.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line).to_owned()).collect())
}
