//! Command-line flags as values.

/// The type of a flag's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlagKind {
    /// `--flag` or `--no-flag`, without a value.
    Bool,
    /// Free text, once.
    Text,
    /// Free text that is never printed, once.
    Secret,
    /// A whole number; a fraction is cut off, as external-dns does.
    Int,
    /// A whole number in Go's syntax of `int64` (`0x1f`, `1_000`); a fraction is an error. For the few flags that
    /// external-dns reads so.
    Int64,
    /// A Go duration such as `1m30s`, see [`crate::duration::parse`].
    Duration,
    /// A regular expression in RE2 syntax.
    Regex,
    /// One of the listed words.
    Choice(&'static [&'static str]),
    /// Free text, repeatable; commas are not split.
    List,
    /// One of the listed words, repeatable.
    ChoiceList(&'static [&'static str]),
    /// `key=value` or `key:value`, repeatable.
    Map,
}

impl FlagKind {
    /// Whether the flag may be given more than once.
    pub fn repeats(self) -> bool {
        matches!(self, Self::List | Self::ChoiceList(_) | Self::Map)
    }
}

/// One command-line flag with its environment variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlagSpec {
    /// Long name without the dashes, e.g. `txt-owner-id`.
    pub name: &'static str,
    /// Type of the value.
    pub kind: FlagKind,
    /// Default in the flag's own grammar; empty means unset. A repeatable flag has at most one default value.
    pub default: &'static str,
    /// One sentence for the help text, without a final full stop.
    pub help: &'static str,
    /// The flag that took the place of this one. A value given here counts there, with a warning, unless that one is given
    /// too.
    pub renamed_to: Option<&'static str>,
    /// The Cargo feature that this flag needs beside that of its owner.
    pub feature: Option<FlagFeature>,
}

/// A Cargo feature without which one flag of a provider cannot be obeyed.
///
/// Where it is not built, the flag is refused once its provider is chosen, with `remedy`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlagFeature {
    /// Name of the feature in the program's manifest.
    pub name: &'static str,
    /// Whether this build has it: `cfg!(feature = "...")`, evaluated in the crate that declares the flag.
    pub is_built: bool,
    /// What to do without it, as the end of a sentence.
    pub remedy: &'static str,
}

impl FlagSpec {
    /// A flag without a default.
    ///
    /// ```
    /// use zonewright_core::catalog::{FlagKind, FlagSpec};
    ///
    /// const TIMEOUT: FlagSpec =
    ///     FlagSpec::new("acme-timeout", FlagKind::Duration, "Longest wait for an answer of Acme").or("10s");
    /// assert_eq!(TIMEOUT.env(), "EXTERNAL_DNS_ACME_TIMEOUT");
    /// ```
    pub const fn new(name: &'static str, kind: FlagKind, help: &'static str) -> Self {
        Self { name, kind, default: "", help, renamed_to: None, feature: None }
    }

    /// The same flag with a default in its own grammar.
    #[must_use]
    pub const fn or(self, default: &'static str) -> Self {
        Self { default, ..self }
    }

    /// The same flag as the former name of another one.
    #[must_use]
    pub const fn renamed_to(self, name: &'static str) -> Self {
        Self { renamed_to: Some(name), ..self }
    }

    /// The same flag, to be obeyed only in builds with this feature.
    #[must_use]
    pub const fn needs(self, feature: FlagFeature) -> Self {
        Self { feature: Some(feature), ..self }
    }

    /// The environment variable that stands in for the flag: `EXTERNAL_DNS_` and the name in upper case with every
    /// run of other characters as one underscore.
    pub fn env(&self) -> String {
        let mut out = String::from("EXTERNAL_DNS_");
        let mut gap = false;
        for c in self.name.chars() {
            if c.is_ascii_alphanumeric() || c == '_' {
                out.push(c.to_ascii_uppercase());
                gap = false;
            } else if !gap {
                out.push('_');
                gap = true;
            }
        }
        out
    }
}
