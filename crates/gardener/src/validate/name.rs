//! Names of records and of targets: lower case, at least two labels, letters, digits and hyphens.

use super::FieldError;

/// Longest name without its final dot (RFC 1035 2.3.4).
const MAX_NAME: usize = 253;
/// Longest label.
const MAX_LABEL: usize = 63;

/// What else than host names a place may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NamePosition {
    /// A name with addresses or a target: its first label may be `*`.
    Record,
    /// A name with texts: its first label may begin with `_`.
    Texts,
    /// What a CNAME points to.
    Target,
}

impl NamePosition {
    /// The place of the name of a record of this type.
    pub(super) fn of_record(record_type: &str) -> Self {
        if record_type == "TXT" { Self::Texts } else { Self::Record }
    }
}

/// What is wrong with a name, if anything is. One final dot is taken, and means nothing.
pub(super) fn error(field: &str, name: &str, place: NamePosition) -> Option<FieldError> {
    if name.is_empty() {
        return Some(FieldError::required(field, "a fully qualified domain name is expected, such as api.example.com"));
    }
    problem(name, place).map(|problem| FieldError::invalid(field, name, problem))
}

fn problem(name: &str, place: NamePosition) -> Option<String> {
    let name = name.strip_suffix('.').unwrap_or(name);
    if name.len() > MAX_NAME {
        return Some(format!("it has {} characters; at most {MAX_NAME} are expected", name.len()));
    }
    let rest = match place {
        NamePosition::Record => name.strip_prefix("*.").unwrap_or(name),
        NamePosition::Texts => name.strip_prefix('_').unwrap_or(name),
        NamePosition::Target => name,
    };
    if let Some(problem) = rest.split('.').find_map(|label| of_label(label, place)) {
        return Some(problem);
    }
    (!rest.contains('.')).then(|| "a name of at least two labels is expected, such as api.example.com".to_owned())
}

fn of_label(label: &str, place: NamePosition) -> Option<String> {
    if label.is_empty() {
        return Some("it has an empty label: two dots in a row, or one at the start".to_owned());
    }
    if label.len() > MAX_LABEL {
        return Some(format!("the label {label:?} has {} characters; at most {MAX_LABEL} are expected", label.len()));
    }
    if label.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return Some(format!("the label {label:?} has upper-case letters; lower-case ones are expected"));
    }
    if label == "*" {
        return Some(match place {
            NamePosition::Record => "a wildcard is expected as the whole first label, and only there".to_owned(),
            NamePosition::Texts => "a record of texts has no wildcard".to_owned(),
            NamePosition::Target => "the target of a CNAME has no wildcard".to_owned(),
        });
    }
    let known = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if !label.bytes().all(known) {
        let besides = if place == NamePosition::Texts { " (and one underscore at the start of the name)" } else { "" };
        return Some(format!("the label {label:?}: letters, digits and hyphens are expected{besides}"));
    }
    (label.starts_with('-') || label.ends_with('-'))
        .then(|| format!("the label {label:?} begins or ends with a hyphen"))
}
