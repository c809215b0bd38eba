//! What a provider declares about itself, once: its name, its flags, its options, its secrets, and how to build it.
//!
//! The daemon, the Gardener extension and configuration objects all build providers from the same entry, any number of
//! instances at run time. A flag is declared as a value ([`FlagSpec`]), so that the parser, the help text and the
//! reference documentation read one table.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use secrecy::SecretString;

use crate::error::Error;
use crate::options::OptionTable;
use crate::provider::Provider;
use crate::shared::Shared;
use crate::zone::InstanceId;

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
}

impl FlagSpec {
    /// A flag without a default.
    pub const fn new(name: &'static str, kind: FlagKind, help: &'static str) -> Self {
        Self { name, kind, default: "", help }
    }

    /// The same flag with a default in its own grammar.
    #[must_use]
    pub const fn or(self, default: &'static str) -> Self {
        Self { default, ..self }
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

/// The value of one flag after parsing.
#[derive(Debug, Clone)]
pub enum FlagValue {
    /// Value of a [`FlagKind::Bool`].
    Bool(bool),
    /// Value of a [`FlagKind::Text`], [`FlagKind::Regex`] or [`FlagKind::Choice`].
    Text(String),
    /// Value of a [`FlagKind::Secret`].
    Secret(SecretString),
    /// Value of a [`FlagKind::Int`].
    Int(i64),
    /// Value of a [`FlagKind::Duration`]; negative durations keep their sign in the flag.
    Duration {
        /// Length without its sign.
        length: Duration,
        /// Whether the text began with a minus sign.
        negative: bool,
    },
    /// Values of a [`FlagKind::List`] or [`FlagKind::ChoiceList`] in the order given.
    List(Vec<String>),
    /// Values of a [`FlagKind::Map`].
    Map(BTreeMap<String, String>),
}

/// Parsed flag values by name. Every declared flag has a value: what was given, or its default.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    values: BTreeMap<&'static str, FlagValue>,
    given: std::collections::BTreeSet<&'static str>,
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

/// What a provider is built from.
#[derive(Debug, Clone)]
pub struct ProviderConfig {
    /// Name of this instance; `default` for the one that the flags describe.
    pub instance: InstanceId,
    /// Values of the provider's flags (and of the core flags that some providers read, such as `domain-filter`).
    pub settings: Settings,
    /// Secrets by the keys of [`ProviderEntry::secret_keys`], for instances that are configured by objects.
    pub credentials: BTreeMap<String, SecretString>,
    /// What all instances of the process have in common.
    pub shared: Shared,
}

/// Builds a provider; see [`ProviderEntry::build`].
pub type BuildProvider = fn(ProviderConfig) -> BoxFuture<'static, Result<Arc<dyn Provider>, Error>>;

/// Everything that the rest of the program knows about one kind of provider.
#[derive(Clone, Copy)]
pub struct ProviderEntry {
    /// Value of `--provider`.
    pub name: &'static str,
    /// Other accepted values of `--provider` (`azure-dns` for `azure`).
    pub aliases: &'static [&'static str],
    /// One line for the list of providers.
    pub about: &'static str,
    /// The flags that belong to this provider.
    pub flags: &'static [FlagSpec],
    /// The provider-specific options of a record set.
    pub options: OptionTable,
    /// Keys under which a Secret holds this provider's credentials.
    pub secret_keys: &'static [&'static str],
    /// Builds an instance; connects lazily, so that an unreachable server is no error here.
    pub build: BuildProvider,
}

impl std::fmt::Debug for ProviderEntry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ProviderEntry").field("name", &self.name).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_never_print_secrets() {
        let mut settings = Settings::default();
        settings.set("rfc2136-tsig-secret", FlagValue::Secret("c2VjcmV0".into()), true);
        assert!(!format!("{settings:?}").contains("c2VjcmV0"));
        assert!(settings.secret("rfc2136-tsig-secret").is_some());
    }

    #[test]
    fn environment_names() {
        let env = |name| FlagSpec::new(name, FlagKind::Text, "").env();
        assert_eq!(env("txt-owner-id"), "EXTERNAL_DNS_TXT_OWNER_ID");
        assert_eq!(env("rfc2136-host"), "EXTERNAL_DNS_RFC2136_HOST");
        assert_eq!(env("a--b"), "EXTERNAL_DNS_A_B");
    }
}
