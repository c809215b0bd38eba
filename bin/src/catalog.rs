//! The providers and registries that this program was built with.
//!
//! A third party adds its own to [`Catalog::built_in`] with [`Catalog::with`] and hands the catalogue to
//! [`run`](crate::run). One in the tree gets a line below and a feature in the manifest; nothing else names it.

use zonewright_core::catalog::{ProviderEntry, RegistryEntry};

/// A provider or registry of the source tree, as it is known also where it is compiled out.
#[derive(Debug, Clone, Copy)]
pub(crate) struct InTree {
    /// The Cargo feature that compiles it in.
    pub(crate) feature: &'static str,
    /// Its name and aliases.
    pub(crate) names: &'static [&'static str],
}

macro_rules! in_tree {
    ($table:ident, $add:ident: $($feature:literal, $names:expr => $entry:expr;)*) => {
        /// What the source tree has, whether or not it is compiled in.
        pub(crate) const $table: &[InTree] = &[$(InTree { feature: $feature, names: &$names }),*];

        fn $add(catalog: Catalog) -> Catalog {
            $(#[cfg(feature = $feature)] let catalog = catalog.$add($entry);)*
            catalog
        }
    };
}

in_tree! { PROVIDERS, with:
    "provider-azure", ["azure", "azure-dns"] => zonewright_provider_azure::ENTRY;
    "provider-azure", ["azure-private-dns"] => zonewright_provider_azure::PRIVATE_ENTRY;
    "provider-clouddns", ["google"] => zonewright_provider_clouddns::ENTRY;
    "provider-cloudflare", ["cloudflare"] => zonewright_provider_cloudflare::ENTRY;
    "provider-local", ["local", "inmemory"] => zonewright_provider_local::ENTRY;
    "provider-rfc2136", ["rfc2136"] => zonewright_provider_rfc2136::ENTRY;
    "provider-route53", ["aws"] => zonewright_provider_route53::ENTRY;
    "provider-webhook", ["webhook"] => zonewright_provider_webhook::ENTRY;
}

in_tree! { REGISTRIES, with_registry:
    "cluster", ["configmap"] => zonewright_registry::configmap::ENTRY;
    "kops", ["memory"] => zonewright_registry::memory::ENTRY;
    "registry-dynamodb", ["dynamodb"] => zonewright_registry_dynamodb::ENTRY;
}

/// A list of providers and registries, each under its own name.
#[derive(Debug, Clone, Default)]
pub struct Catalog {
    providers: Vec<ProviderEntry>,
    registries: Vec<RegistryEntry>,
}

impl Catalog {
    /// A catalogue without providers, with the registries that need nothing: `txt` and `noop`.
    pub fn empty() -> Self {
        let registries = [zonewright_registry::txt::flags::ENTRY, zonewright_registry::noop::ENTRY];
        registries.into_iter().fold(Self::default(), Self::with_registry)
    }

    /// The providers and registries whose Cargo feature is on.
    pub fn built_in() -> Self {
        with_registry(with(Self::empty()))
    }

    /// The same catalogue with one more provider. A name that is there already means the new one from here on.
    #[must_use]
    pub fn with(mut self, entry: ProviderEntry) -> Self {
        self.providers.retain(|old| old.name != entry.name);
        self.providers.push(entry);
        self.providers.sort_by_key(|entry| entry.name);
        self
    }

    /// The same catalogue with one more registry. A name that is there already means the new one from here on.
    #[must_use]
    pub fn with_registry(mut self, entry: RegistryEntry) -> Self {
        self.registries.retain(|old| old.name != entry.name);
        self.registries.push(entry);
        self
    }

    /// All providers in the order of their names.
    pub fn providers(&self) -> &[ProviderEntry] {
        &self.providers
    }

    /// All registries in the order in which they were added.
    pub fn registries(&self) -> &[RegistryEntry] {
        &self.registries
    }

    /// The provider of this name or alias.
    pub fn provider(&self, name: &str) -> Option<&ProviderEntry> {
        self.providers.iter().find(|entry| entry.answers_to(name))
    }

    /// The registry of this name.
    pub fn registry(&self, name: &str) -> Option<&RegistryEntry> {
        self.registries.iter().find(|entry| entry.name == name)
    }

    /// Every name and alias of a provider, in alphabetical order.
    pub fn provider_names(&self) -> Vec<&'static str> {
        let both = |entry: &ProviderEntry| std::iter::once(entry.name).chain(entry.aliases.iter().copied());
        let mut names: Vec<&'static str> = self.providers.iter().flat_map(both).collect();
        names.sort_unstable();
        names
    }

    /// The name of every registry, in alphabetical order.
    pub fn registry_names(&self) -> Vec<&'static str> {
        let mut names: Vec<&'static str> = self.registries.iter().map(|entry| entry.name).collect();
        names.sort_unstable();
        names
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table here and the entry say the same, so that a build without it answers as one with it.
    #[test]
    fn the_tables_are_those_of_the_entries() {
        let catalog = Catalog::built_in();
        for InTree { feature, names } in PROVIDERS {
            let Some(entry) = names.first().and_then(|name| catalog.provider(name)) else { continue };
            assert_eq!((entry.feature, entry.name), (*feature, names[0]));
            assert_eq!(entry.aliases, &names[1..], "{}", entry.name);
        }
        for InTree { feature, names } in REGISTRIES {
            let Some(entry) = names.first().and_then(|name| catalog.registry(name)) else { continue };
            assert_eq!((entry.feature, entry.name), (*feature, names[0]));
        }
    }

    #[test]
    fn pages_exist() {
        let catalog = Catalog::built_in();
        let providers = catalog.providers().iter().map(|entry| (entry.name, entry.page));
        for (name, page) in providers.chain(catalog.registries().iter().map(|entry| (entry.name, entry.page))) {
            let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(page);
            assert!(path.is_file(), "{name}: {}", path.display());
        }
    }

    #[test]
    fn a_name_means_what_was_added_last() {
        let build: zonewright_core::catalog::BuildProvider = |_| {
            Box::pin(async {
                Err(zonewright_core::Error::new(zonewright_core::ErrorKind::Unsupported, "build", "a test"))
            })
        };
        let entry = |about| ProviderEntry::new("acme", about, build);
        let catalog = Catalog::empty().with(entry("old")).with(entry("new"));
        assert_eq!(catalog.providers().iter().map(|entry| entry.about).collect::<Vec<_>>(), ["new"]);
    }
}
