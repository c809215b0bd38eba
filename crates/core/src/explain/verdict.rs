//! A cause with the blanks of its sentences filled in.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use super::cause::Cause;

/// The blanks that a sentence or an advice may have.
pub const BLANKS: &[&str] =
    &["by", "detail", "expected", "flag", "hash", "name", "object", "owner", "record", "value", "when", "zone"];

/// Why something is as it is, for people and for programs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// The cause.
    pub cause: Cause,
    /// The sentence that names it.
    pub sentence: String,
    /// The sentence that says what to do.
    pub advice: String,
    /// What was filled in.
    pub about: BTreeMap<String, String>,
}

impl Verdict {
    /// A verdict whose blanks are filled with these texts.
    ///
    /// ```
    /// use zonewright_core::explain::{Cause, Verdict};
    ///
    /// let verdict = Verdict::new(Cause::NameFiltered, [("name", "web.example.net"), ("flag", "--domain-filter=example.com")]);
    /// assert_eq!(verdict.sentence, "web.example.net is outside of --domain-filter=example.com, so it is not published.");
    /// ```
    pub fn new<T: ToString>(cause: Cause, about: impl IntoIterator<Item = (&'static str, T)>) -> Self {
        let row = cause.row();
        let about: BTreeMap<String, String> =
            about.into_iter().map(|(blank, text)| (blank.to_owned(), text.to_string())).collect();
        Self { cause, sentence: filled(row.sentence, &about), advice: filled(row.advice, &about), about }
    }
}

/// The text with its blanks filled in; one that nothing is known of reads "(not known)".
fn filled(text: &str, about: &BTreeMap<String, String>) -> String {
    let mut out = String::new();
    let mut parts = text.split('{');
    out.push_str(parts.next().unwrap_or_default());
    for part in parts {
        let (blank, rest) = part.split_once('}').unwrap_or((part, ""));
        let value = about.get(blank).map(|text| text.trim().trim_end_matches('.')).filter(|text| !text.is_empty());
        // Writing into a string cannot fail.
        let _ = write!(out, "{}{rest}", value.unwrap_or("(not known)"));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_are_filled_once_and_without_a_second_full_stop() {
        let verdict = Verdict::new(Cause::RecordRefused, [("name", "{detail}.example"), ("detail", "no room.")]);
        assert_eq!(verdict.sentence, "The provider refuses {detail}.example: no room.");
        assert_eq!(
            verdict.advice,
            "Mend what the answer names; it is tried again at (not known), and at once when its object changes."
        );
    }
}
