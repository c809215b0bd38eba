//! What a provider or a registry declares about itself, once: its name, its flags with their checks, and how to build it.
//!
//! The daemon, the Gardener extension and configuration objects all build from the same entry, any number of instances at
//! run time. A flag is declared as a value ([`FlagSpec`]), so that the parser, the help text and the reference
//! documentation read one table.

mod flag;
mod settings;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use futures::future::BoxFuture;
use secrecy::SecretString;

use crate::capability::Capability;
use crate::documents::DocumentStore;
use crate::error::Error;
use crate::options::OptionTable;
use crate::provider::Provider;
use crate::registry::Registry;
use crate::shared::Shared;
use crate::zone::InstanceId;

pub use flag::{FlagFeature, FlagKind, FlagSpec};
pub use settings::{FlagValue, Settings};

/// Checks the settings of what was chosen, before anything is built. It does no I/O.
///
/// # Errors
/// One sentence that names the flag.
pub type CheckSettings = fn(&Settings) -> Result<(), String>;

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
///
/// ```
/// use zonewright_core::catalog::{FlagKind, FlagSpec, ProviderConfig, ProviderEntry};
/// # use std::sync::Arc;
/// # use futures::future::BoxFuture;
/// # use zonewright_core::{Error, ErrorKind, provider::Provider};
/// # fn build(_: ProviderConfig) -> BoxFuture<'static, Result<Arc<dyn Provider>, Error>> {
/// #     Box::pin(async { Err(Error::new(ErrorKind::Unsupported, "build", "an example")) })
/// # }
///
/// pub const ENTRY: ProviderEntry = ProviderEntry {
///     flags: &[FlagSpec::new("acme-token", FlagKind::Secret, "Token for the Acme API")],
///     check: |settings| match settings.secret("acme-token") {
///         Some(_) => Ok(()),
///         None => Err("--acme-token is required".to_owned()),
///     },
///     ..ProviderEntry::new("acme", "Zones at Acme", build)
/// };
/// assert!(ENTRY.answers_to("acme"));
/// ```
#[derive(Clone, Copy)]
pub struct ProviderEntry {
    /// Value of `--provider`.
    pub name: &'static str,
    /// Other accepted values of `--provider` (`azure-dns` for `azure`).
    pub aliases: &'static [&'static str],
    /// One line for the list of providers.
    pub about: &'static str,
    /// The Cargo feature of the program that compiles it in; empty for a provider from outside of the source tree.
    pub feature: &'static str,
    /// The page about it, a path in the source tree or an address; empty if there is none.
    pub page: &'static str,
    /// The flags that belong to this provider.
    pub flags: &'static [FlagSpec],
    /// Checks its flags, where it is chosen.
    pub check: CheckSettings,
    /// The provider-specific options of a record set.
    pub options: OptionTable,
    /// Keys under which a Secret holds this provider's credentials.
    pub secret_keys: &'static [&'static str],
    /// Whether it asks a webhook, whose calls external-dns counts under names of their own.
    pub webhook: bool,
    /// Why `--webhook-server` cannot serve it, as the end of a sentence; `None` if it can.
    pub unserved: Option<&'static str>,
    /// What an instance with the defaults of its flags can do, for the table of providers; `None` where it depends on the other
    /// side.
    pub capability: fn() -> Option<Capability>,
    /// Builds an instance; connects lazily, so that an unreachable server is no error here.
    pub build: BuildProvider,
}

impl ProviderEntry {
    /// An entry without aliases, flags, options and secrets.
    pub const fn new(name: &'static str, about: &'static str, build: BuildProvider) -> Self {
        Self {
            name,
            aliases: &[],
            about,
            feature: "",
            page: "",
            flags: &[],
            check: |_| Ok(()),
            options: OptionTable::NONE,
            secret_keys: &[],
            webhook: false,
            unserved: None,
            capability: || None,
            build,
        }
    }

    /// Whether `name` is the entry's name or one of its aliases.
    pub fn answers_to(&self, name: &str) -> bool {
        self.name == name || self.aliases.contains(&name)
    }
}

impl fmt::Debug for ProviderEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProviderEntry").field("name", &self.name).finish_non_exhaustive()
    }
}

/// What a registry is built from.
#[derive(Clone)]
pub struct RegistryConfig {
    /// Values of the registry's flags, and of the core flags that all registries read, such as `txt-owner-id`.
    pub settings: Settings,
    /// The documents of [`RegistryEntry::keeps_documents`]; `None` where there is no cluster.
    pub documents: Option<Arc<dyn DocumentStore>>,
}

impl fmt::Debug for RegistryConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RegistryConfig").field("settings", &self.settings).finish_non_exhaustive()
    }
}

/// Builds a registry; see [`RegistryEntry::build`].
pub type BuildRegistry = fn(RegistryConfig) -> BoxFuture<'static, Result<Arc<dyn Registry>, Error>>;

/// Everything that the rest of the program knows about one kind of registry.
#[derive(Clone, Copy)]
pub struct RegistryEntry {
    /// Value of `--registry`.
    pub name: &'static str,
    /// One line for the list of registries.
    pub about: &'static str,
    /// The Cargo feature of the program that compiles it in; empty if it is always there, or from outside of the source tree.
    pub feature: &'static str,
    /// The page about it, a path in the source tree or an address; empty if there is none.
    pub page: &'static str,
    /// The flags that belong to this registry. Several registries may declare the same one.
    pub flags: &'static [FlagSpec],
    /// Checks its flags, where it is chosen.
    pub check: CheckSettings,
    /// Whether it keeps its claims as documents in the cluster, so that it needs a connection to one.
    pub keeps_documents: bool,
    /// Builds it; a store that is out of reach is no error here.
    pub build: BuildRegistry,
}

impl RegistryEntry {
    /// An entry without flags, which keeps no documents.
    pub const fn new(name: &'static str, about: &'static str, build: BuildRegistry) -> Self {
        Self { name, about, feature: "", page: "", flags: &[], check: |_| Ok(()), keeps_documents: false, build }
    }
}

impl fmt::Debug for RegistryEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RegistryEntry").field("name", &self.name).finish_non_exhaustive()
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
