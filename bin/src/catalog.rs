//! The providers that this program was built with.
//!
//! A third party adds its own to [`Catalog::built_in`] with [`Catalog::with`] and hands the catalogue to
//! [`run`](crate::run).

use zonewright_core::catalog::ProviderEntry;

/// A list of providers, each under its own name and aliases.
#[derive(Debug, Clone, Default)]
pub struct Catalog {
    entries: Vec<ProviderEntry>,
}

impl Catalog {
    /// A catalogue without providers.
    pub fn empty() -> Self {
        Self::default()
    }

    /// The providers whose Cargo feature is on.
    pub fn built_in() -> Self {
        let catalog = Self::empty();
        #[cfg(feature = "provider-local")]
        let catalog = catalog.with(zonewright_provider_local::ENTRY);
        #[cfg(feature = "provider-rfc2136")]
        let catalog = catalog.with(zonewright_provider_rfc2136::ENTRY);
        #[cfg(feature = "provider-webhook")]
        let catalog = catalog.with(zonewright_provider_webhook::ENTRY);
        catalog
    }

    /// The same catalogue with one more provider. A name that is there already means the new one from here on.
    #[must_use]
    pub fn with(mut self, entry: ProviderEntry) -> Self {
        self.entries.retain(|old| old.name != entry.name);
        self.entries.push(entry);
        self.entries.sort_by_key(|entry| entry.name);
        self
    }

    /// All entries in the order of their names.
    pub fn entries(&self) -> &[ProviderEntry] {
        &self.entries
    }

    /// The provider of this name or alias.
    pub fn find(&self, name: &str) -> Option<&ProviderEntry> {
        self.entries.iter().find(|entry| Self::answers_to(entry, name))
    }

    /// Every name and alias, in alphabetical order.
    pub fn names(&self) -> Vec<&'static str> {
        let both = |entry: &ProviderEntry| std::iter::once(entry.name).chain(entry.aliases.iter().copied());
        let mut names: Vec<&'static str> = self.entries.iter().flat_map(both).collect();
        names.sort_unstable();
        names
    }

    /// Whether `name` is the entry's name or one of its aliases.
    pub fn answers_to(entry: &ProviderEntry, name: &str) -> bool {
        entry.name == name || entry.aliases.contains(&name)
    }
}
