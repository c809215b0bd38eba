//! Values of flags after parsing.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use secrecy::SecretString;

/// The value of one flag after parsing.
#[derive(Debug, Clone)]
pub enum FlagValue {
    /// Value of a [`super::FlagKind::Bool`].
    Bool(bool),
    /// Value of a [`super::FlagKind::Text`], [`super::FlagKind::Regex`] or [`super::FlagKind::Choice`].
    Text(String),
    /// Value of a [`super::FlagKind::Secret`].
    Secret(SecretString),
    /// Value of a [`super::FlagKind::Int`] or [`super::FlagKind::Int64`].
    Int(i64),
    /// Value of a [`super::FlagKind::Duration`]; negative durations keep their sign in the flag.
    Duration {
        /// Length without its sign.
        length: Duration,
        /// Whether the text began with a minus sign.
        negative: bool,
    },
    /// Values of a [`super::FlagKind::List`] or [`super::FlagKind::ChoiceList`] in the order given.
    List(Vec<String>),
    /// Values of a [`super::FlagKind::Map`].
    Map(BTreeMap<String, String>),
}

/// Parsed flag values by name. Every declared flag has a value: what was given, or its default.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    values: BTreeMap<&'static str, FlagValue>,
    given: BTreeSet<&'static str>,
}

impl Settings {
    /// Stores a value; `given` says that the user set it (command line, environment or file).
    pub fn set(&mut self, name: &'static str, value: FlagValue, given: bool) {
        self.values.insert(name, value);
        if given {
            self.given.insert(name);
        }
    }

    /// Whether the user set this flag, rather than its default standing.
    pub fn given(&self, name: &str) -> bool {
        self.given.contains(name)
    }

    /// Names of the flags that the user set, in alphabetical order.
    pub fn all_given(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.given.iter().copied()
    }

    /// The value as stored.
    pub fn value(&self, name: &str) -> Option<&FlagValue> {
        self.values.get(name)
    }

    /// Value of a bool flag; `false` if it is not declared.
    pub fn bool(&self, name: &str) -> bool {
        matches!(self.values.get(name), Some(FlagValue::Bool(true)))
    }

    /// Value of a text flag; empty if it is unset or not declared.
    pub fn text(&self, name: &str) -> &str {
        match self.values.get(name) {
            Some(FlagValue::Text(text)) => text,
            _ => "",
        }
    }

    /// Value of a secret flag; `None` if it is unset or empty.
    pub fn secret(&self, name: &str) -> Option<&SecretString> {
        use secrecy::ExposeSecret;
        match self.values.get(name) {
            Some(FlagValue::Secret(secret)) if !secret.expose_secret().is_empty() => Some(secret),
            _ => None,
        }
    }

    /// Value of an integer flag; 0 if it is not declared.
    pub fn int(&self, name: &str) -> i64 {
        match self.values.get(name) {
            Some(FlagValue::Int(n)) => *n,
            _ => 0,
        }
    }

    /// Value of a duration flag; zero if it is unset or negative.
    pub fn duration(&self, name: &str) -> Duration {
        match self.values.get(name) {
            Some(FlagValue::Duration { length, negative: false }) => *length,
            _ => Duration::ZERO,
        }
    }

    /// Whether a duration flag was given with a minus sign.
    pub fn is_negative(&self, name: &str) -> bool {
        matches!(self.values.get(name), Some(FlagValue::Duration { length, negative: true }) if !length.is_zero())
    }

    /// Values of a repeatable flag in the order given; empty strings stay, see [`Settings::nonempty`].
    pub fn list(&self, name: &str) -> &[String] {
        match self.values.get(name) {
            Some(FlagValue::List(list)) => list,
            _ => &[],
        }
    }

    /// Values of a repeatable flag without the empty ones (`--zone-id-filter=` alone is the same as not giving it).
    pub fn nonempty(&self, name: &str) -> Vec<String> {
        self.list(name).iter().filter(|v| !v.trim().is_empty()).cloned().collect()
    }
}
