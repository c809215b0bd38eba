//! What a flag belongs to: a word for the tables of flags, which know nothing of each other.

use zonewright_core::catalog::{FlagSpec, ProviderEntry, RegistryEntry};

/// What a flag belongs to.
#[derive(Debug, Clone, Copy)]
pub(super) enum FlagOwner {
    /// The program: the flag always means something.
    Core,
    /// Any of these values of `--source`.
    Sources(&'static [&'static str]),
    /// Any of these values that external-dns takes for `--registry`.
    Registries(&'static [&'static str]),
    /// Any of these values that external-dns takes for `--provider`.
    Providers(&'static [&'static str]),
    /// A provider of the catalogue.
    Provider(ProviderEntry),
    /// A registry of the catalogue.
    Registry(RegistryEntry),
    /// `--webhook-server`.
    Server,
}

/// Flags that stand under one heading and belong to the same thing.
#[derive(Debug, Clone, Copy)]
pub(super) struct FlagGroup {
    /// Heading in the help text.
    pub(super) heading: &'static str,
    /// What they belong to.
    pub(super) owner: FlagOwner,
    /// The flags that belong to this owner.
    pub(super) flags: &'static [FlagSpec],
}
