//! What is reported when a template cannot be read, or gives nothing for an object. Each names its flag and place.

use std::fmt;

/// A place in the values of one flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// Which value of the flag, from 0.
    pub value: usize,
    /// Line in that value, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "value {}, line {}, column {}", self.value, self.line, self.column)
    }
}

/// A flag whose values are no template. Found at start, before any object.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{flag}[{index}] {text:?}: {position}: {message}")]
pub struct TemplateError {
    /// The flag, as given to [`Template::parse`](crate::Template::parse).
    pub flag: String,
    /// The first value with which the text is wrong, from 0.
    pub index: usize,
    /// That value.
    pub text: String,
    /// Where the parser stopped.
    pub position: Position,
    /// What was found, and what was expected.
    pub message: String,
}

/// A template that gives nothing for one object. What is owned for the object should be kept.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{flag} on {object}: {}{message}", position.map(|p| format!("{p}: ")).unwrap_or_default())]
pub struct TemplateFailure {
    /// The flag of the template.
    pub flag: String,
    /// Where it failed; absent when the result as a whole is at fault.
    pub position: Option<Position>,
    /// The object as `Kind namespace/name`.
    pub object: String,
    /// What was found, and what was expected; both readings of the object where both were tried.
    pub message: String,
}

/// An error at a byte of the joined text, before its flag and value are known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TextError {
    pub(crate) offset: usize,
    pub(crate) message: String,
}

impl TextError {
    pub(crate) fn new(offset: usize, message: impl Into<String>) -> Self {
        Self { offset, message: message.into() }
    }
}
