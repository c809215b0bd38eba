//! A broken rule, as the Kubernetes API reports one.

use std::fmt;

/// Longest part of a value that an error repeats, in characters.
const SHOWN: usize = 80;

/// One broken rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldError {
    /// The path of the field, such as `spec.values[1]`.
    pub field: String,
    /// In which way it is wrong.
    pub problem: Problem,
    /// The value as it was given, where there is one.
    pub value: Option<String>,
    /// What was expected.
    pub expected: String,
}

/// In which way a field is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Problem {
    /// It is not there, or empty.
    Required,
    /// Its value breaks a rule.
    Invalid,
    /// Its value is none of those that are known.
    NotSupported,
    /// Nothing may change there now.
    Forbidden,
}

impl Problem {
    /// The reason in the causes of a `Status` (meta/v1, `CauseType`).
    pub fn cause(self) -> &'static str {
        match self {
            Self::Required => "FieldValueRequired",
            Self::Invalid => "FieldValueInvalid",
            Self::NotSupported => "FieldValueNotSupported",
            Self::Forbidden => "FieldValueForbidden",
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Required => "Required value",
            Self::Invalid => "Invalid value",
            Self::NotSupported => "Unsupported value",
            Self::Forbidden => "Forbidden",
        }
    }
}

impl FieldError {
    pub(crate) fn required(field: &str, expected: &str) -> Self {
        Self { field: field.to_owned(), problem: Problem::Required, value: None, expected: expected.to_owned() }
    }

    pub(crate) fn forbidden(field: &str, why: &str) -> Self {
        Self { field: field.to_owned(), problem: Problem::Forbidden, value: None, expected: why.to_owned() }
    }

    pub(crate) fn invalid(field: &str, value: &str, expected: String) -> Self {
        Self { field: field.to_owned(), problem: Problem::Invalid, value: Some(shortened(value)), expected }
    }

    pub(crate) fn not_supported(field: &str, value: &str, known: &[&str]) -> Self {
        let expected = format!("supported values: {}", known.join(", "));
        Self { field: field.to_owned(), problem: Problem::NotSupported, value: Some(shortened(value)), expected }
    }

    /// The problem without the field, as it stands in a cause.
    pub fn message(&self) -> String {
        match &self.value {
            Some(value) => format!("{}: {value:?}: {}", self.problem.words(), self.expected),
            None => format!("{}: {}", self.problem.words(), self.expected),
        }
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.message())
    }
}

/// A value without its end, if it is long.
fn shortened(value: &str) -> String {
    match value.char_indices().nth(SHOWN) {
        None => value.to_owned(),
        Some((at, _)) => format!("{}...", value.get(..at).unwrap_or_default()),
    }
}
