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
pub struct Finding {
    /// The cause, a row of the table.
    pub cause: Cause,
    /// The sentence that names it.
    pub sentence: String,
    /// The sentence that says what to do.
    pub advice: String,
    /// What was filled in.
    pub about: BTreeMap<String, String>,
}

impl Finding {
    /// A finding whose blanks are filled with these texts.
    ///
    /// ```
    /// use zonewright_core::explain::{Cause, Finding};
    ///
    /// let verdict = Finding::new(Cause::NameFiltered, [("name", "web.example.net"), ("flag", "--domain-filter=example.com")]);
    /// assert_eq!(verdict.sentence, "web.example.net is outside of --domain-filter=example.com, so it is not published.");
    /// ```
    pub fn new<T: ToString>(cause: Cause, about: impl IntoIterator<Item = (&'static str, T)>) -> Self {
        let row = cause.row();
        let about: BTreeMap<String, String> =
            about.into_iter().map(|(blank, text)| (blank.to_owned(), text.to_string())).collect();
        Self { cause, sentence: filled(row.sentence, &about), advice: filled(row.advice, &about), about }
    }
}

/// The commands of a daemon's own folder, which find it by these flags alone. The others take all of the daemon's flags.
const SHORT_COMMANDS: &[&str] = &["approve", "plans", "undo"];

impl Finding {
    /// The verdict with commands that can be pasted: those that need nothing but the daemon's folder and owner get `flags`, each of
    /// which begins with a blank.
    ///
    /// ```
    /// use zonewright_core::explain::{Cause, Finding};
    ///
    /// let verdict = Finding::new(Cause::RecordPinned, [("name", "a.example")]).with_flags(" --txt-owner-id=me");
    /// assert!(verdict.advice.starts_with("Run `zonewright undo --unpin a.example --txt-owner-id=me` to"));
    /// ```
    #[must_use]
    pub fn with_flags(mut self, flags: &str) -> Self {
        self.advice = pasteable(&self.advice, flags);
        self
    }
}

/// The text in which each command between backticks has these flags.
fn pasteable(text: &str, flags: &str) -> String {
    let part = |(at, part): (usize, &str)| {
        let mut words = part.split(' ');
        let command = (words.next() == Some("zonewright")).then(|| words.next()).flatten();
        let short = at % 2 == 1 && command.is_some_and(|word| SHORT_COMMANDS.contains(&word));
        if short && !part.contains(flags) { format!("{part}{flags}") } else { part.to_owned() }
    };
    text.split('`').enumerate().map(part).collect::<Vec<_>>().join("`")
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
    fn commands_of_the_folder_get_its_flags_and_others_do_not() {
        let flags = " --state-dir=/s --txt-owner-id=me";
        for (text, expected) in [
            ("Look with `zonewright plans`.", "Look with `zonewright plans --state-dir=/s --txt-owner-id=me`."),
            (
                "`zonewright plans --state-dir=/s --txt-owner-id=me`",
                "`zonewright plans --state-dir=/s --txt-owner-id=me`",
            ),
            ("`zonewright adopt a` with the flags of the daemon", "`zonewright adopt a` with the flags of the daemon"),
            ("zonewright plans", "zonewright plans"),
            ("a `", "a `"),
        ] {
            assert_eq!(pasteable(text, flags), expected);
        }
        assert_eq!(pasteable("`zonewright plans`", ""), "`zonewright plans`");
    }

    #[test]
    fn blanks_are_filled_once_and_without_a_second_full_stop() {
        let verdict = Finding::new(Cause::RecordRefused, [("name", "{detail}.example"), ("detail", "no room.")]);
        assert_eq!(verdict.sentence, "The provider refuses {detail}.example: no room.");
        assert_eq!(
            verdict.advice,
            "Mend what the answer names; it is tried again at (not known), and at once when its object changes."
        );
    }
}
